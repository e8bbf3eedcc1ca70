//! The airtime of a packet.
//!
//! **802.11** (DCF, IEEE Std 802.11-2016, 10.3 and clauses 15 to 18; the values were checked
//! against secondary sources): idle for DIFS, a back-off uniform from 0 to CW slots, the frame,
//! SIFS, the acknowledgment. A frame without acknowledgment is retransmitted with CW doubled
//! (2 CW + 1).
//!
//! | | slot | SIFS | CW | before a frame's data | acknowledgment |
//! |---|---|---|---|---|---|
//! | DSSS, CCK | 20 us | 10 us | 31 to 1023 | 192 us (long preamble) | 14 bytes at 1 Mbit/s, above that at 2 |
//! | OFDM of 802.11g | 9 us | 10 us | 15 to 1023 | 20 us; symbols of 4 us; 6 us of silence behind | 14 bytes at 6, 12 or 24 Mbit/s, not above the data's |
//!
//! DIFS = SIFS + 2 slots. The slot of 802.11b/g is 9 us, because no station uses 802.11b alone.
//!
//! **Long distances** (10.3.2.9): the sender waits SIFS + slot + aPHY-RX-START-Delay for the start
//! of the acknowledgment, which twice the propagation delay postpones. So the standard's slot of 9
//! us suffices for 1350 m, and 20 us for 3000 m. Beyond that, every frame is retransmitted up to
//! the limit although it arrived, and the sender considers it lost. (Reported for Atheros cards
//! with 802.11b: each frame sent 0.37 times more at 3.49 km, 6.9 times more at 3.83 km;
//! madwifi-devel, 28 May 2009: they wait a little longer than that.) Radios for such distances are
//! configured with them: 802.11's coverage class adds 3 us to slot and timeout for each 450 m
//! begun, which extends DIFS and each slot of the back-off. The standard ends at class 31, 13.95
//! km; drivers continue beyond it, and so does this model.
//!
//! **802.16**: no contention and no acknowledgment. Time is divided into frames of equal length,
//! and each frame into a part for each direction. A packet uses symbols of its direction's part,
//! and continues in the next frame if it does not fit. A set fraction of the symbols is preambles,
//! maps and gaps. Tries follow each other at once (a real ARQ block waits for its frame).

use super::mode::{Mode, Standard};
use super::modulation::Modulation;
use super::spec::{AckTimeout, REFERENCE_PACKET, Wireless, WirelessSpec, error};
use whimbrel_units::{Bytes, Decibels, Duration, Rate, Time};

/// Length of an acknowledgment (9.3.1.4).
const ACK_BITS: u64 = 14 * 8;
/// Preamble and header of DSSS, long.
const DSSS_PREAMBLE: Duration = Duration::from_micros(192);
/// Preamble and SIGNAL of OFDM, and the silence that 802.11g adds after a frame.
const OFDM_PREAMBLE: Duration = Duration::from_micros(20);
const OFDM_SILENCE: Duration = Duration::from_micros(6);
const OFDM_SYMBOL: Duration = Duration::from_micros(4);
/// Service and tail bits of an OFDM frame.
const OFDM_EXTRA_BITS: u64 = 16 + 6;
const SIFS: Duration = Duration::from_micros(10);
const CW_MAX: u32 = 1023;
/// A coverage class: its metres, and the time that it adds to a slot.
const CLASS_METRES: f64 = 450.0;
const CLASS_TIME: Duration = Duration::from_micros(3);

/// The times of a packet's tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Airtime {
    /// Idle time before the back-off.
    pub idle: Duration,
    pub slot: Duration,
    /// The maximum back-off of the first try and of the last, in slots.
    pub cw_min: u32,
    pub cw_max: u32,
    /// The frame itself.
    pub data: Duration,
    /// From the end of the frame to the end of its acknowledgment.
    pub answered: Duration,
    /// From the end of the frame until the sender stops waiting for an acknowledgment.
    pub unanswered: Duration,
    /// Whether an acknowledgment arrives before that.
    pub in_time: bool,
}

impl Airtime {
    /// The times for a packet of `packet` bytes.
    pub fn new(spec: &WirelessSpec, mode: Mode, packet: u32) -> Self {
        let bits = spec.standard.frame_bytes(packet) * 8;
        if spec.standard == Standard::Dot16 {
            let seconds = bits as f64 / mode.rate().as_bits_per_sec().max(1) as f64;
            let of_symbols = (1.0 - spec.overhead.get()).max(1e-3);
            return Self {
                idle: Duration::ZERO,
                slot: Duration::ZERO,
                cw_min: 0,
                cw_max: 0,
                data: Duration::from_secs_f64(seconds / of_symbols),
                answered: Duration::ZERO,
                unanswered: Duration::ZERO,
                in_time: true,
            };
        }
        let dsss = !matches!(mode.modulation, Modulation::Ofdm(_));
        let (slot, cw_min) = if spec.standard == Standard::Dot11b {
            (Duration::from_micros(20), 31)
        } else {
            (Duration::from_micros(9), 15)
        };
        let there_and_back = spec.propagation() * 2;
        // No coverage class is needed where the standard's times suffice.
        let near = there_and_back <= slot;
        let classes = match spec.ack_timeout {
            AckTimeout::Adjusted if !near => (spec.metres() / CLASS_METRES).ceil() as u64,
            _ => 0,
        };
        let slot = slot + CLASS_TIME * classes;
        let start = if dsss { DSSS_PREAMBLE } else { OFDM_PREAMBLE };
        Self {
            idle: SIFS + slot * 2,
            slot,
            cw_min,
            cw_max: CW_MAX,
            data: frame(mode, bits),
            answered: SIFS + acknowledgment(mode) + there_and_back,
            unanswered: SIFS + slot + start,
            in_time: near || spec.ack_timeout == AckTimeout::Adjusted,
        }
    }

    /// The mean time of a packet if a try fails with probability `error`, with at most `retries`
    /// retransmissions.
    pub fn mean(&self, error: f64, retries: u32) -> f64 {
        let (idle, slot) = (self.idle.as_secs_f64(), self.slot.as_secs_f64());
        let data = self.data.as_secs_f64();
        // The probability that the sender considers a try failed.
        let fails = if self.in_time { error } else { 1.0 };
        let end =
            (1.0 - fails) * self.answered.as_secs_f64() + fails * self.unanswered.as_secs_f64();
        let mut sum = 0.0;
        let mut reached = 1.0;
        let mut cw = self.cw_min;
        for _ in 0..=retries {
            sum += reached * (idle + slot * f64::from(cw) / 2.0 + data + end);
            reached *= fails;
            cw = self.wider(cw);
        }
        sum
    }

    /// The contention window of the next try.
    pub fn wider(&self, cw: u32) -> u32 {
        (2 * cw + 1).min(self.cw_max)
    }
}

/// The duration of an 802.11 frame with `bits` bits.
fn frame(mode: Mode, bits: u64) -> Duration {
    let rate = mode.rate().as_bits_per_sec().max(1);
    match mode.modulation {
        Modulation::Ofdm(_) => {
            let of_symbol = (rate * 4 / 1_000_000).max(1);
            let symbols = (bits + OFDM_EXTRA_BITS).div_ceil(of_symbol);
            OFDM_PREAMBLE + OFDM_SYMBOL * symbols + OFDM_SILENCE
        }
        _ => DSSS_PREAMBLE + Duration::from_micros((bits * 1_000_000).div_ceil(rate)),
    }
}

fn acknowledgment(mode: Mode) -> Duration {
    let mbits = mode.rate().as_bits_per_sec() / 1_000_000;
    match mode.modulation {
        Modulation::Ofdm(_) => {
            let of_symbol = match mbits {
                0..12 => 24,
                12..24 => 48,
                _ => 96,
            };
            let symbols = (ACK_BITS + OFDM_EXTRA_BITS).div_ceil(of_symbol);
            OFDM_PREAMBLE + OFDM_SYMBOL * symbols + OFDM_SILENCE
        }
        _ => DSSS_PREAMBLE + Duration::from_micros(ACK_BITS / mbits.clamp(1, 2)),
    }
}

/// A direction's part of each 802.16 frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subframe {
    /// Length of a frame; not zero.
    frame: u64,
    /// Begin of the part in the frame, and its length; the length is not zero.
    from: u64,
    length: u64,
}

impl Subframe {
    /// The forward direction has the first part, the mirrored direction the rest.
    pub fn new(spec: &WirelessSpec, mirrored: bool) -> Self {
        let frame = spec.frame.as_nanos().max(2);
        let first = ((frame as f64 * spec.share.get()) as u64).clamp(1, frame - 1);
        let (from, length) = if mirrored {
            (first, frame - first)
        } else {
            (0, first)
        };
        Self {
            frame,
            from,
            length,
        }
    }

    /// The part's fraction of time.
    pub fn share(&self) -> f64 {
        self.length as f64 / self.frame as f64
    }

    /// When `work` is done that begins at `begins` and proceeds only in this part of each frame.
    pub fn done(&self, begins: Time, work: Duration) -> Time {
        let [frame, from, length] = [self.frame, self.from, self.length].map(u128::from);
        let begins = u128::from(begins.as_nanos());
        let (number, at) = (begins / frame, begins % frame);
        // The frame in which it begins, and how much of that frame's part has passed.
        let (number, gone) = if at >= from + length {
            (number + 1, 0)
        } else {
            (number, at.saturating_sub(from))
        };
        let done = gone + u128::from(work.as_nanos());
        let full = done.saturating_sub(1) / length;
        let end = (number + full) * frame + from + (done - full * length);
        Time::from_nanos(u64::try_from(end).unwrap_or(u64::MAX))
    }
}

impl Wireless {
    pub(super) fn subframe(&self) -> Option<Subframe> {
        let spec = self.spec();
        let dot11 = spec.standard.is_dot11();
        (!dot11).then(|| Subframe::new(spec, self.mirrored))
    }

    /// The rate at which a saturated link serves packets of this size, without shadowing. It
    /// includes packets that are lost after all tries.
    pub fn saturation(&self, packet: Bytes) -> Rate {
        let size = u32::try_from(packet.get()).unwrap_or(u32::MAX);
        let (mode, snr) = self.mode(Decibels::default());
        let error = error(self.spec(), mode, snr, size);
        let busy = Airtime::new(self.spec(), mode, size).mean(error.get(), self.spec().retries);
        let share = self.subframe().map_or(1.0, |subframe| subframe.share());
        let bits = packet.get() as f64 * 8.0;
        Rate::from_bits_per_sec((bits / busy * share) as u64)
    }

    /// [`saturation`](Self::saturation) with packets of 1500 bytes.
    pub fn nominal_rate(&self) -> Rate {
        self.saturation(Bytes::new(REFERENCE_PACKET.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wireless::mode::Channelization;
    use whimbrel_units::{Distance, Probability, Rate};

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn spec(standard: Standard, metres: f64) -> WirelessSpec {
        WirelessSpec::new(standard, Distance::from_metres(metres))
    }

    fn airtime(spec: &WirelessSpec, mbits: f64) -> Airtime {
        let rate = Rate::from_bits_per_sec((mbits * 1e6) as u64);
        let mode = Mode::at(spec.standard, Channelization::default(), rate).expect("a rate");
        Airtime::new(spec, mode, 1500)
    }

    #[test]
    fn a_packet_at_11_mbits_takes_two_milliseconds() {
        // 1536 bytes at 11 Mbit/s: 1117.1 us, so 1118 + 192; DIFS 50; a mean back-off of 15.5 slots
        // of 20; SIFS 10 and an acknowledgment of 192 + 112 / 2. The sum 50 + 310 + 1310 + 10 + 248
        // = 1928 us: 6.2 Mbit/s.
        let near = spec(Standard::Dot11b, 0.0);
        let at = airtime(&near, 11.0);
        assert_eq!((at.idle, at.data, at.answered), (us(50), us(1310), us(258)));
        assert!((at.mean(0.0, 6) - 1928e-6).abs() < 1e-9);
    }

    #[test]
    fn a_packet_at_54_mbits_takes_four_hundred_microseconds() {
        // (16 + 6 + 1536 x 8) / 216 = 57.0: 57 symbols. 20 + 228 + 6; DIFS 28; 7.5 slots of 9; 10 +
        // 20 + 2 x 4 + 6.
        let near = spec(Standard::Dot11g, 0.0);
        let at = airtime(&near, 54.0);
        assert_eq!((at.idle, at.data, at.answered), (us(28), us(254), us(44)));
        assert!((at.mean(0.0, 6) - 393.5e-6).abs() < 1e-9);
    }

    #[test]
    fn each_try_takes_time_with_a_longer_back_off() {
        // Each try fails: 28 + 9 x 7.5 + 254 + timeout (10 + 9 + 20), then the same with 15.5
        // slots: 388.5 + 460.5.
        let near = spec(Standard::Dot11g, 0.0);
        let at = airtime(&near, 54.0);
        assert!(
            (at.mean(1.0, 1) - 849e-6).abs() < 1e-9,
            "{}",
            at.mean(1.0, 1)
        );
        // Half of them fail: the first takes 28 + 67.5 + 254 + (44 + 39) / 2 = 391; the second is
        // needed half the time: 463 / 2.
        assert!((at.mean(0.5, 1) - (391e-6 + 231.5e-6)).abs() < 1e-9);
    }

    #[test]
    fn the_standard_timeout_suffices_for_1350_and_3000_metres() {
        let in_time = |standard, metres, mbits| {
            let mut spec = spec(standard, metres);
            spec.ack_timeout = AckTimeout::Standard;
            airtime(&spec, mbits).in_time
        };
        assert!(in_time(Standard::Dot11g, 1349.0, 54.0));
        assert!(!in_time(Standard::Dot11g, 1350.0, 54.0));
        assert!(in_time(Standard::Dot11b, 2997.0, 11.0));
        assert!(!in_time(Standard::Dot11b, 2999.0, 11.0));
    }

    #[test]
    fn a_radio_configured_for_the_distance_has_longer_slots() {
        // 92 km: 205 begun classes of 450 m, 615 us more; round trip 613.757 us.
        let far = spec(Standard::Dot11g, 92_000.0);
        let at = airtime(&far, 54.0);
        assert!(at.in_time);
        assert_eq!((at.slot, at.idle), (us(624), us(10 + 2 * 624)));
        assert_eq!(at.answered.as_nanos(), 44_000 + 613_758);
        // The mean back-off alone is 7.5 x 624 us: 6.6 ms for a packet instead of 0.4.
        assert!(
            (at.mean(0.0, 6) - 6.850e-3).abs() < 2e-6,
            "{}",
            at.mean(0.0, 6)
        );
    }

    #[test]
    fn a_dot16_packet_takes_its_symbols_and_their_overhead() {
        // 1510 bytes at 37.699 Mbit/s: 320.43 us, of which 92 % are data.
        let mut wimax = spec(Standard::Dot16, 400.0);
        wimax.overhead = Probability::new(0.08).expect("a share");
        let mode = *Mode::all(Standard::Dot16, wimax.channel)
            .last()
            .expect("modes");
        let at = Airtime::new(&wimax, mode, 1500);
        assert!(
            (at.data.as_secs_f64() - 348.3e-6).abs() < 0.1e-6,
            "{}",
            at.data
        );
        assert_eq!(at.mean(0.5, 0), at.data.as_secs_f64());
    }

    #[test]
    fn work_proceeds_only_in_the_direction_s_part_of_each_frame() {
        // Frames of 5 ms, of which the forward direction has the first 3.
        let mut wimax = spec(Standard::Dot16, 0.0);
        wimax.frame = Duration::from_millis(5);
        wimax.share = Probability::new(0.6).expect("a share");
        let ms = |from: f64, work: f64, mirrored| {
            let begins = Time::ZERO + Duration::from_secs_f64(from * 1e-3);
            let work = Duration::from_secs_f64(work * 1e-3);
            Subframe::new(&wimax, mirrored)
                .done(begins, work)
                .as_secs_f64()
                * 1e3
        };
        assert_eq!(ms(1.0, 1.5, false), 2.5);
        assert_eq!(ms(1.0, 2.0, false), 3.0);
        // 2 of the 2.5 ms fit; the rest is done at the beginning of the next frame.
        assert_eq!(ms(1.0, 2.5, false), 5.5);
        assert_eq!(ms(4.0, 1.0, false), 6.0);
        // 7 ms of work: 2, 3 and 2 of three frames.
        assert_eq!(ms(1.0, 7.0, false), 12.0);
        assert_eq!(ms(1.0, 1.0, true), 4.0);
        assert_eq!(ms(3.5, 2.0, true), 8.5);
        assert_eq!(ms(4.0, 0.0, false), 5.0);
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let wimax = spec(Standard::Dot16, 0.0);
        let done = Subframe::new(&wimax, false).done(Time::MAX, Duration::MAX);
        assert_eq!(done, Time::MAX);
    }
}
