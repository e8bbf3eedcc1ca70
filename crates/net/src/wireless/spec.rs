//! The description of a radio link.

use super::budget::{LIGHT, noise, path_loss};
use super::mode::{Channelization, Mode, Standard, noise_bandwidth};
use whimbrel_units::{
    Decibels, Distance, Duration, Frequency, ParseError, Power, Probability, Rate,
};

/// The packet size for choosing a rate and for the nominal rate.
pub(super) const REFERENCE_PACKET: u32 = 1500;

/// The maximum distance in metres that propagation times count; no signal is received from farther
/// away.
const FARTHEST: f64 = 1e7;

/// A radio link: its power, distance and standard.
#[derive(Debug, Clone, PartialEq)]
pub struct WirelessSpec {
    /// The radio standard.
    pub standard: Standard,
    /// The distance between the antennas.
    pub distance: Distance,
    /// The rate on the air.
    pub rate: RadioRate,
    /// The maximum number of retransmissions of a frame.
    pub retries: u32,
    /// The probability that a packet that failed in all tries is delivered, with wrong bits.
    /// Otherwise the radio's checksum drops it, as real 802.11 always does (9.2.4.8, the FCS).
    pub deliver_corrupted: Probability,
    /// The power of the forward direction's sender.
    pub power: Power,
    /// The power of the reverse direction's sender.
    pub reverse_power: Power,
    /// Gains of both antennas together.
    pub gain: Decibels,
    /// Losses in cables, walls and by misalignment together.
    pub loss: Decibels,
    /// The noise that receivers add to thermal noise.
    pub noise_figure: Decibels,
    /// The carrier frequency.
    pub frequency: Frequency,
    /// Width and guard interval of an 802.16 channel.
    pub channel: Channelization,
    /// The exponent of the path loss; 2 is free space.
    pub exponent: f64,
    /// The distance up to which the loss is that of free space.
    pub reference: Distance,
    /// Standard deviation of the shadowing.
    pub shadowing: Decibels,
    /// Coherence time of the shadowing; `None` if it never changes.
    pub coherence: Option<Duration>,
    /// How long 802.11 waits for acknowledgments.
    pub ack_timeout: AckTimeout,
    /// The length of 802.16's frames.
    pub frame: Duration,
    /// The forward direction's part of each frame.
    pub share: Probability,
    /// The fraction of 802.16's symbols that carries no packets: preambles, maps, gaps.
    pub overhead: Probability,
}

/// The rate that a radio uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RadioRate {
    /// Always this one.
    Fixed(Rate),
    /// The fastest rate at which fewer than this fraction of 1500-byte packets fail at the first
    /// try with the current signal; the slowest rate if there is none. A radio that knows its
    /// signal does so, as ns-3's `IdealWifiManager`; real ones probe, and lose more.
    Auto(Probability),
}

/// How long a sender of 802.11 waits for an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckTimeout {
    /// The standard's timeout: too short beyond 1350 m in 802.11g and 3000 m in 802.11b.
    Standard,
    /// Adjusted to the distance; slots become longer.
    Adjusted,
}

impl WirelessSpec {
    /// A radio of this standard with common settings: 20 dBm and antennas without gain at both
    /// ends, the best rate, 7 tries in 802.11 (dot11ShortRetryLimit) and one in 802.16, no
    /// shadowing.
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

    /// The propagation delay.
    pub fn propagation(&self) -> Duration {
        Duration::from_secs_f64(self.metres() / LIGHT)
    }

    /// The distance in metres, bounded.
    pub(super) fn metres(&self) -> f64 {
        self.distance.metres().min(FARTHEST)
    }
}

fn tenths(tenths: u8) -> Probability {
    Probability::new(f64::from(tenths) / 10.0).unwrap_or_default()
}

/// One direction of a radio link, with results computed that do not change during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Wireless {
    spec: WirelessSpec,
    pub(super) mirrored: bool,
    seed: u64,
    /// The available modes, the slowest first, and the signal-to-noise ratio from which each is
    /// used.
    modes: Vec<(Mode, Decibels)>,
}

impl Wireless {
    /// The forward direction of a link.
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

    /// The same link with this seed of the shadowing, which both directions must share. The default
    /// is 0.
    pub fn seeded(&self, seed: u64) -> Self {
        Self {
            seed,
            ..self.clone()
        }
    }

    /// The reverse direction.
    pub fn mirrored(&self) -> Self {
        Self {
            mirrored: !self.mirrored,
            ..self.clone()
        }
    }

    /// The description of the link.
    pub fn spec(&self) -> &WirelessSpec {
        &self.spec
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The received power, without shadowing.
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

    /// The mode used with this shadowing, and its signal-to-noise ratio.
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

    /// The signal-to-noise ratio, without shadowing.
    pub fn snr(&self) -> Decibels {
        self.mode(Decibels::default()).1
    }

    /// The rate on the air, without shadowing.
    pub fn rate(&self) -> Rate {
        self.mode(Decibels::default()).0.rate()
    }

    /// The probability that one try of a packet of `packet` bytes fails, without shadowing.
    pub fn frame_error(&self, packet: u32) -> Probability {
        let (mode, snr) = self.mode(Decibels::default());
        error(&self.spec, mode, snr, packet)
    }

    /// The probability that all tries of a packet of `packet` bytes fail, without shadowing.
    pub fn residual_error(&self, packet: u32) -> Probability {
        let tries = self.spec.retries.saturating_add(1);
        let residual = self.frame_error(packet).get().powf(f64::from(tries));
        Probability::new(residual).unwrap_or_default()
    }
}

pub(super) fn error(spec: &WirelessSpec, mode: Mode, snr: Decibels, packet: u32) -> Probability {
    let error = mode.frame_error(spec.standard.frame_bytes(packet), snr);
    Probability::new(error).unwrap_or(Probability::ONE)
}

/// The signal-to-noise ratio from which fewer than `target` of such frames fail, to a thousandth of
/// a dB.
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
    fn the_link_budget_matches_hand_calculation() {
        // 20 dBm; 1 m at 2.437 GHz: 20 log10(4 pi 2.437e9 / c) = 40.18 dB; 100 m at 2.7: 54 dB.
        // -74.18 dBm over -100.97 + 7 in 20 MHz: 19.78 dB. At 10 % of 1500 bytes 36 Mbit/s is the
        // fastest (16.3 dB; 48 needs 21.2).
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
    fn directions_differ_only_by_their_powers() {
        let mut spec = at(Standard::Dot11g, 100.0);
        spec.reverse_power = Power::from_dbm(15.0);
        let there = wireless(spec);
        let back = there.mirrored();
        assert!((there.snr().get() - back.snr().get() - 5.0).abs() < 1e-9);
        assert_eq!(back.mirrored(), there);
    }

    #[test]
    fn rates_fall_with_the_distance_until_no_packet_is_received() {
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
    fn the_residual_error_is_the_frame_error_to_the_power_of_tries() {
        // 24 Mbit/s at 13 dB: of 2000-byte frames 0.495 are received (ns-3). A packet of 1964 bytes
        // is such a frame; 0.505^3 = 0.1288 fail in 3 tries.
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
    fn the_throughput_of_dot16_matches_a_vendor_s_catalogue() {
        // Albentia's ALB-250: 37.7 Mbit/s on the air are 34.4 of Ethernet, both directions
        // together.
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
    fn late_acknowledgments_use_up_all_tries() {
        // 4 km: a round trip of 26.7 us exceeds the slot of 9 us: 7 tries per packet, though each
        // is received.
        let mut spec = at(Standard::Dot11g, 4000.0);
        spec.gain = Decibels::new(60.0);
        let adjusted = wireless(spec.clone()).nominal_rate();
        spec.ack_timeout = AckTimeout::Standard;
        let link = wireless(spec);
        assert!(link.residual_error(1500).get() < 1e-9);
        let standard = link.nominal_rate();
        assert!(
            standard.as_bits_per_sec() * 10 < adjusted.as_bits_per_sec(),
            "{standard} {adjusted}"
        );
    }
}
