//! The description of a radio link, as data.

use super::airtime::{Airtime, Subframe};
use super::budget::{LIGHT, noise, path_loss};
use super::mode::{Channelization, Mode, Standard, noise_bandwidth};
use whimbrel_units::{
    Bytes, Decibels, Distance, Duration, Frequency, ParseError, Power, Probability, Rate,
};

/// The packet by which a rate is chosen and capacity stated.
const REFERENCE_PACKET: u32 = 1500;

/// Nothing is heard from farther away, metres; times stay small.
const FARTHEST: f64 = 1e7;

/// A radio link: who sends how loud over which distance.
#[derive(Debug, Clone, PartialEq)]
pub struct WirelessSpec {
    /// The radio standard.
    pub standard: Standard,
    /// Between the antennas.
    pub distance: Distance,
    /// The rate on the air.
    pub rate: RadioRate,
    /// How often a frame that was not understood is sent again at most.
    pub retries: u32,
    /// Of the packets that are still not understood then, the share that is delivered, with wrong bits. The radio's own
    /// check drops the others, as all real 802.11 does with all of them (9.2.4.8, the FCS).
    pub deliver_corrupted: Probability,
    /// Power of the sender of the written direction.
    pub power: Power,
    /// Power of the other one.
    pub reverse_power: Power,
    /// Gains of both antennas together.
    pub gain: Decibels,
    /// Losses in cables, walls and by misalignment together.
    pub loss: Decibels,
    /// What the receivers add to thermal noise.
    pub noise_figure: Decibels,
    /// The carrier.
    pub frequency: Frequency,
    /// The channel of 802.16.
    pub channel: Channelization,
    /// The exponent of the path's loss; 2 is free space.
    pub exponent: f64,
    /// Up to here the loss is that of free space.
    pub reference: Distance,
    /// Standard deviation of the shadowing.
    pub shadowing: Decibels,
    /// How long it lasts, or none if it never changes.
    pub coherence: Option<Duration>,
    /// How long 802.11 waits for acknowledgments.
    pub ack_timeout: AckTimeout,
    /// The length of 802.16's frames.
    pub frame: Duration,
    /// The part of each frame that the written direction has.
    pub share: Probability,
    /// The share of 802.16's symbols that carries no packets: preambles, maps, gaps.
    pub overhead: Probability,
}

/// Which rate a radio uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RadioRate {
    /// Always this one.
    Fixed(Rate),
    /// The fastest at which fewer than this share of 1500-byte packets are not understood at the first try, by the signal
    /// as it is at the moment; the slowest if there is none. It is what a radio does that knows its signal, as ns-3's
    /// `IdealWifiManager`; real ones find out by trying, and lose more.
    Auto(Probability),
}

/// How long a sender of 802.11 waits for an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckTimeout {
    /// As the standard says: too short beyond 1350 m in 802.11g, 3000 m in 802.11b.
    Standard,
    /// The radio was told the distance; its slots grow.
    Adjusted,
}

impl WirelessSpec {
    /// A radio of this standard with usual settings: 20 dBm and antennas without gain at both ends, the best rate, 7
    /// tries in 802.11 (dot11ShortRetryLimit) and one in 802.16, no shadowing.
    pub fn new(standard: Standard, distance: Distance) -> Self {
        let dot11 = standard.is_dot11();
        Self {
            standard,
            distance,
            rate: RadioRate::Auto(tenths(1)),
            retries: if dot11 { 6 } else { 0 },
            deliver_corrupted: Probability::ZERO,
            power: Power::from_dbm(20.0),
            reverse_power: Power::from_dbm(20.0),
            gain: Decibels::default(),
            loss: Decibels::default(),
            noise_figure: Decibels::new(7.0),
            frequency: Frequency::from_hertz(if dot11 { 2.437e9 } else { 5.8e9 }),
            channel: Channelization::default(),
            exponent: 2.7,
            reference: Distance::from_metres(1.0),
            shadowing: Decibels::default(),
            coherence: None,
            ack_timeout: AckTimeout::Adjusted,
            frame: Duration::from_millis(5),
            share: tenths(5),
            overhead: Probability::new(0.08).unwrap_or_default(),
        }
    }

    /// How long the signal is under way.
    pub fn propagation(&self) -> Duration {
        Duration::from_secs_f64(self.metres() / LIGHT)
    }

    /// The distance as far as it takes time.
    pub(super) fn metres(&self) -> f64 {
        self.distance.metres().min(FARTHEST)
    }
}

fn tenths(tenths: u8) -> Probability {
    Probability::new(f64::from(tenths) / 10.0).unwrap_or_default()
}

/// One direction of a radio link, with all worked out that does not change during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Wireless {
    spec: WirelessSpec,
    mirrored: bool,
    seed: u64,
    /// Modes that may be used, the slowest first, and from which ratio of signal to noise each is.
    modes: Vec<(Mode, Decibels)>,
}

impl Wireless {
    /// The written direction of a link.
    ///
    /// # Errors
    /// If the standard does not have the rate.
    pub fn new(spec: WirelessSpec) -> Result<Self, ParseError> {
        let modes = match spec.rate {
            RadioRate::Fixed(rate) => {
                let mode = Mode::at(spec.standard, spec.channel, rate)?;
                vec![(mode, Decibels::new(f64::NEG_INFINITY))]
            }
            RadioRate::Auto(target) => {
                let bytes = spec.standard.frame_bytes(REFERENCE_PACKET);
                let modes = Mode::all(spec.standard, spec.channel).into_iter();
                modes
                    .map(|mode| (mode, needed(mode, bytes, target)))
                    .collect()
            }
        };
        Ok(Self {
            spec,
            mirrored: false,
            seed: 0,
            modes,
        })
    }

    /// The same with another seed for the shadowing, which both directions of a link must share. Before that it is 0.
    pub fn seeded(&self, seed: u64) -> Self {
        Self {
            seed,
            ..self.clone()
        }
    }

    /// The other direction.
    pub fn mirrored(&self) -> Self {
        Self {
            mirrored: !self.mirrored,
            ..self.clone()
        }
    }

    /// How the link is described.
    pub fn spec(&self) -> &WirelessSpec {
        &self.spec
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn subframe(&self) -> Option<Subframe> {
        let dot11 = self.spec.standard.is_dot11();
        (!dot11).then(|| Subframe::new(&self.spec, self.mirrored))
    }

    /// The power that arrives, without shadowing.
    pub fn received(&self) -> Power {
        let spec = &self.spec;
        let sent = if self.mirrored {
            spec.reverse_power
        } else {
            spec.power
        };
        let path = path_loss(spec.distance, spec.reference, spec.frequency, spec.exponent);
        Power::from_dbm(sent.dbm() + spec.gain.get() - path.get() - spec.loss.get())
    }

    /// The mode that is used when shadowing adds so much to the signal, and the ratio of signal to noise in it.
    pub(super) fn mode(&self, shadowing: Decibels) -> (Mode, Decibels) {
        let received = self.received().dbm() + shadowing.get();
        let snr = |mode| {
            let noise = noise(
                noise_bandwidth(mode, self.spec.channel),
                self.spec.noise_figure,
            );
            Decibels::new(received - noise.dbm())
        };
        let (slowest, _) = self.modes[0];
        let mut modes = self.modes.iter().rev().map(|(mode, from)| (*mode, *from));
        let mode = modes
            .find(|(mode, from)| snr(*mode) >= *from)
            .map_or(slowest, |(mode, _)| mode);
        (mode, snr(mode))
    }

    /// The ratio of signal to noise, without shadowing.
    pub fn snr(&self) -> Decibels {
        self.mode(Decibels::default()).1
    }

    /// The rate on the air, without shadowing.
    pub fn rate(&self) -> Rate {
        self.mode(Decibels::default()).0.rate()
    }

    /// The probability that a try of a packet of so many bytes is not understood, without shadowing.
    pub fn frame_error(&self, packet: u32) -> Probability {
        let (mode, snr) = self.mode(Decibels::default());
        error(&self.spec, mode, snr, packet)
    }

    /// The probability that a packet of so many bytes is not understood in all its tries, without shadowing.
    pub fn residual_error(&self, packet: u32) -> Probability {
        let tries = self.spec.retries.saturating_add(1);
        let residual = self.frame_error(packet).get().powf(f64::from(tries));
        Probability::new(residual).unwrap_or_default()
    }

    /// What it carries of packets of this size if it always has some, tries included and those lost for good too, without
    /// shadowing.
    pub fn saturation(&self, packet: Bytes) -> Rate {
        let size = u32::try_from(packet.get()).unwrap_or(u32::MAX);
        let (mode, snr) = self.mode(Decibels::default());
        let error = error(&self.spec, mode, snr, size);
        let busy = Airtime::new(&self.spec, mode, size).mean(error.get(), self.spec.retries);
        let share = self.subframe().map_or(1.0, |subframe| subframe.share());
        let bits = packet.get() as f64 * 8.0;
        Rate::from_bits_per_sec((bits / busy * share) as u64)
    }

    /// [`saturation`](Self::saturation) with packets of 1500 bytes.
    pub fn nominal_rate(&self) -> Rate {
        self.saturation(Bytes::new(REFERENCE_PACKET.into()))
    }
}

pub(super) fn error(spec: &WirelessSpec, mode: Mode, snr: Decibels, packet: u32) -> Probability {
    let error = mode.frame_error(spec.standard.frame_bytes(packet), snr);
    Probability::new(error).unwrap_or(Probability::ONE)
}

/// The ratio of signal to noise from which fewer than `target` of such frames are not understood, to a thousandth of a dB.
fn needed(mode: Mode, bytes: u64, target: Probability) -> Decibels {
    let (mut too_low, mut enough) = (-40.0, 60.0);
    while enough - too_low > 1e-3 {
        let middle = (too_low + enough) / 2.0;
        if mode.frame_error(bytes, Decibels::new(middle)) < target.get() {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Decibels::new(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(standard: Standard, metres: f64) -> WirelessSpec {
        WirelessSpec::new(standard, Distance::from_metres(metres))
    }

    fn wireless(spec: WirelessSpec) -> Wireless {
        Wireless::new(spec).expect("a rate")
    }

    #[test]
    fn the_budget_of_a_link_is_what_is_added_up_by_hand() {
        // 20 dBm; 1 m at 2.437 GHz: 20 log10(4 pi 2.437e9 / c) = 40.18 dB; 100 m at 2.7: 54 dB. -74.18 dBm over -100.97 +
        // 7 in 20 MHz: 19.78 dB. At 10 % of 1500 bytes 36 Mbit/s is the fastest (16.3 dB; 48 needs 21.2).
        let link = wireless(at(Standard::Dot11g, 100.0));
        assert!(
            (link.received().dbm() + 74.18).abs() < 0.01,
            "{}",
            link.received()
        );
        assert!((link.snr().get() - 19.78).abs() < 0.02, "{}", link.snr());
        assert_eq!(link.rate(), Rate::from_bits_per_sec(36_000_000));
    }

    #[test]
    fn directions_differ_by_their_powers_alone() {
        let mut spec = at(Standard::Dot11g, 100.0);
        spec.reverse_power = Power::from_dbm(15.0);
        let there = wireless(spec);
        let back = there.mirrored();
        assert!((there.snr().get() - back.snr().get() - 5.0).abs() < 1e-9);
        assert_eq!(back.mirrored(), there);
    }

    #[test]
    fn rates_fall_with_the_distance_until_nothing_is_understood() {
        for (_, standard) in Standard::ALL {
            let mut last = Rate::from_bits_per_sec(u64::MAX);
            let mut rates = Vec::new();
            for metres in (1..2000).step_by(23) {
                let link = wireless(at(standard, f64::from(metres)));
                assert!(link.rate() <= last, "{standard} {metres}");
                if link.rate() < last {
                    rates.push(link.rate());
                }
                last = link.rate();
                let slowest = link.rate() == link.modes[0].0.rate();
                assert!(slowest || link.frame_error(1500).get() <= 0.1);
            }
            assert!(rates.len() >= 4, "{standard} {rates:?}");
            let far = wireless(at(standard, 100_000.0));
            assert_eq!(far.residual_error(1500), Probability::ONE);
        }
    }

    #[test]
    fn tries_leave_the_error_to_their_power() {
        // 24 Mbit/s at 13 dB: of 2000-byte frames 0.495 are understood (ns-3). A packet of 1964 is such a frame; in 3
        // tries 0.505^3 = 0.1288 are not.
        let mut spec = at(Standard::Dot11g, 1.0);
        spec.rate = RadioRate::Fixed(Rate::from_bits_per_sec(24_000_000));
        spec.retries = 2;
        let near = wireless(spec.clone());
        spec.loss = Decibels::new(near.snr().get() - 13.0);
        let link = wireless(spec);
        assert!((link.snr().get() - 13.0).abs() < 1e-9);
        assert!((link.frame_error(1964).get() - 0.505).abs() < 0.001);
        assert!((link.residual_error(1964).get() - 0.1288).abs() < 0.001);
    }

    #[test]
    fn dot16_carries_what_the_catalogue_says() {
        // Albentia's ALB-250: 37.7 Mbit/s on the air are 34.4 of Ethernet, both directions together.
        let mut spec = at(Standard::Dot16, 10.0);
        spec.share = Probability::new(0.7).expect("a share");
        let there = wireless(spec);
        let sum = there.nominal_rate().as_bits_per_sec()
            + there.mirrored().nominal_rate().as_bits_per_sec();
        assert!((sum as f64 / 34.4e6 - 1.0).abs() < 0.01, "{sum}");
        let share = there.nominal_rate().as_bits_per_sec() as f64 / sum as f64;
        assert!((share - 0.7).abs() < 1e-6);
    }

    #[test]
    fn acknowledgments_that_come_too_late_cost_all_tries() {
        // 4 km: 26.7 us there and back exceed the slot of 9 us: 7 tries a packet, though each is understood.
        let mut spec = at(Standard::Dot11g, 4000.0);
        spec.gain = Decibels::new(60.0);
        let told = wireless(spec.clone()).nominal_rate();
        spec.ack_timeout = AckTimeout::Standard;
        let link = wireless(spec);
        assert!(link.residual_error(1500).get() < 1e-9);
        let untold = link.nominal_rate();
        assert!(
            untold.as_bits_per_sec() * 10 < told.as_bits_per_sec(),
            "{untold} {told}"
        );
    }
}
