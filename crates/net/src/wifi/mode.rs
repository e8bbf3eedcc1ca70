//! The modes of the high-throughput (HT) physical layer, 802.11n, and the airtime of their frames.
//!
//! IEEE Std 802.11-2016, clause 19 (clause 20 of 802.11-2012):
//! * a symbol carries N_DBPS data bits and takes 4 us, or 3.6 us with the short guard interval
//!   (Table 19-6). N_DBPS is streams x data subcarriers (52 in 20 MHz, 108 in 40 MHz) x bits per
//!   subcarrier x code rate (Tables 19-27 to 19-34); the rate is N_DBPS per symbol time
//! * N_SYM = ceil((8 length + 16 + 6 N_ES) / N_DBPS) (19-32, without STBC): 16 service bits, and 6
//!   tail bits for each of N_ES encoders, one up to 300 Mbit/s and two above (the same tables)
//! * HT-mixed preamble: L-STF 8, L-LTF 8, L-SIG 4, HT-SIG 8, HT-STF 4 us and HT-LTFs of 4 us each;
//!   1, 2, 4, 4 of them for 1, 2, 3, 4 streams (Table 19-13: three streams need four)
//! * TXTIME = preamble + N_SYM symbols, rounded up to a multiple of 4 us with the short guard
//!   interval (19-90, 19-91), because other stations count legacy symbols
//!
//! Modes with unequal modulation and MCS 32 (6 Mbit/s sent twice) are omitted: they are not in use.
//! This is the 5 GHz band; in 2.4 GHz each frame is followed by 6 us of silence.

use std::fmt;
use whimbrel_units::{Duration, Rate};

/// L-STF, L-LTF, L-SIG: the preamble of every OFDM frame (Table 17-5).
const LEGACY_PREAMBLE: Duration = Duration::from_micros(8 + 8 + 4);
/// HT-SIG and HT-STF (Table 19-6).
const HT_SIG_AND_STF: Duration = Duration::from_micros(8 + 4);
/// One HT-LTF, or one legacy symbol.
const LEGACY_SYMBOL: Duration = Duration::from_micros(4);
/// Bits before the first of a frame's bytes (17.3.5.2).
const SERVICE_BITS: u64 = 16;
/// Bits after the last, for each encoder (17.3.5.3).
const TAIL_BITS: u64 = 6;
/// Maximum difference of a written rate from the exact one: tables give one decimal of Mbit/s.
const ROUNDING: u64 = 50_000;

/// Bits on a subcarrier and the code rate, as numerator over denominator, for MCS 0 to 7 (Table
/// 19-27).
const MODULATIONS: [(u64, u64, u64); 8] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
];

/// A mode of 802.11n: modulation and coding scheme, channel width and guard interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HtMode {
    /// 0 to 31: eight modulations with one to four streams.
    mcs: u8,
    wide: bool,
    short_guard: bool,
}

/// No mode of 802.11n has this rate. Its text is meant for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("802.11n has no rate of {asked}; the nearest are {}", self.names())]
pub struct NoSuchRate {
    /// The requested rate.
    pub asked: Rate,
    /// The mode with the next lower rate.
    pub below: Option<HtMode>,
    /// The mode with the next higher rate.
    pub above: Option<HtMode>,
}

impl NoSuchRate {
    fn names(&self) -> String {
        let modes = [self.below, self.above].into_iter().flatten();
        let names: Vec<String> = modes.map(|m| m.written_rate().to_string()).collect();
        names.join(" and ")
    }
}

impl HtMode {
    /// The mode with this rate, written exactly or to one decimal of Mbit/s. If several modes have
    /// the rate, it is the one with the fewest streams, then the narrowest channel, then the long
    /// guard interval: the lowest requirements for a radio. So 30 Mbit/s is MCS 1 in 40 MHz with
    /// the short guard interval.
    ///
    /// # Errors
    /// If no mode has the rate; the error names the nearest rates.
    pub fn at(rate: Rate) -> Result<Self, NoSuchRate> {
        let asked = rate.as_bits_per_sec();
        let distance = |mode: &Self| mode.rate().as_bits_per_sec().abs_diff(asked);
        // The first of several: `all` returns the simplest first.
        let fits = Self::all().find(|mode| distance(mode) <= ROUNDING);
        fits.ok_or_else(|| NoSuchRate {
            asked: rate,
            below: Self::all().filter(|m| m.rate() < rate).min_by_key(distance),
            above: Self::all().filter(|m| m.rate() > rate).min_by_key(distance),
        })
    }

    /// All modes, ordered by streams, width, guard interval and MCS.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..4).flat_map(|more_streams| {
            [false, true].into_iter().flat_map(move |wide| {
                [false, true].into_iter().flat_map(move |short_guard| {
                    (0..8).map(move |modulation| Self {
                        mcs: 8 * more_streams + modulation,
                        wide,
                        short_guard,
                    })
                })
            })
        })
    }

    /// Index of the modulation and coding scheme, 0 to 31.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Spatial streams, 1 to 4.
    pub const fn streams(self) -> u8 {
        self.mcs / 8 + 1
    }

    /// Channel width in MHz, 20 or 40.
    pub const fn width_mhz(self) -> u8 {
        if self.wide { 40 } else { 20 }
    }

    /// Whether the guard interval is 400 ns instead of 800 ns.
    pub const fn has_short_guard(self) -> bool {
        self.short_guard
    }

    /// The rate of the payload on the air.
    pub fn rate(self) -> Rate {
        Rate::from_bits_per_sec(self.bits_per_symbol() * 1_000_000_000 / self.symbol().as_nanos())
    }

    /// The rate as tables give it: with one decimal of Mbit/s.
    fn written_rate(self) -> Rate {
        let bps = self.rate().as_bits_per_sec();
        Rate::from_bits_per_sec((bps + 50_000) / 100_000 * 100_000)
    }

    const fn modulation(self) -> (u64, u64, u64) {
        MODULATIONS[(self.mcs % 8) as usize]
    }

    const fn bits_per_symbol(self) -> u64 {
        let subcarriers = if self.wide { 108 } else { 52 };
        let (bits, numerator, denominator) = self.modulation();
        self.streams() as u64 * subcarriers * bits * numerator / denominator
    }

    const fn symbol(self) -> Duration {
        Duration::from_nanos(if self.short_guard { 3_600 } else { 4_000 })
    }

    /// The mode of control frames: the fastest of the mandatory rates 6, 12 and 24 Mbit/s
    /// (17.2.3.3) that is not faster than this modulation in a legacy frame (10.7.6.5.2 and Table
    /// 10-8).
    pub(super) const fn control(self) -> LegacyMode {
        match self.modulation().0 {
            1 => LegacyMode::BASIC_6,
            2 => LegacyMode::BASIC_12,
            _ => LegacyMode::BASIC_24,
        }
    }

    pub(super) fn timing(self) -> HtTiming {
        let bits_per_symbol = self.bits_per_symbol();
        let long_training_fields = [1, 2, 4, 4][usize::from(self.mcs / 8)];
        // 300 Mbit/s with either guard interval are at most 1200 bits per 4 us.
        let encoders = if bits_per_symbol > 1200 { 2 } else { 1 };
        HtTiming {
            preamble: LEGACY_PREAMBLE + HT_SIG_AND_STF + LEGACY_SYMBOL * long_training_fields,
            bits_per_symbol,
            symbol: self.symbol(),
            frame_bits: SERVICE_BITS + TAIL_BITS * encoders,
        }
    }
}

impl fmt::Display for HtMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = if self.short_guard { "short" } else { "long" };
        write!(
            f,
            "{} (MCS {}, {} MHz, {guard} guard interval)",
            self.written_rate(),
            self.mcs,
            self.width_mhz()
        )
    }
}

/// The durations of HT-mixed frames of one mode.
#[derive(Debug, Clone)]
pub(super) struct HtTiming {
    pub preamble: Duration,
    bits_per_symbol: u64,
    symbol: Duration,
    /// Service and tail bits.
    frame_bits: u64,
}

impl HtTiming {
    /// From the start of a frame until its first `bytes` bytes are decoded.
    #[inline]
    pub fn until_decoded(&self, bytes: u64) -> Duration {
        self.preamble + self.symbol * (8 * bytes + self.frame_bits).div_ceil(self.bits_per_symbol)
    }

    /// TXTIME of a frame of `bytes` bytes.
    pub fn frame(&self, bytes: u64) -> Duration {
        let symbols = (self.until_decoded(bytes) - self.preamble).as_nanos();
        self.preamble + LEGACY_SYMBOL * symbols.div_ceil(LEGACY_SYMBOL.as_nanos())
    }

    /// The size of the largest frame that takes at most `longest`.
    pub fn bytes_within(&self, longest: Duration) -> u64 {
        let legacy_symbols = (longest - self.preamble).as_nanos() / LEGACY_SYMBOL.as_nanos();
        let symbols = legacy_symbols * LEGACY_SYMBOL.as_nanos() / self.symbol.as_nanos();
        (symbols.saturating_mul(self.bits_per_symbol)).saturating_sub(self.frame_bits) / 8
    }
}

/// A mode of the OFDM physical layer before HT, 802.11a.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LegacyMode {
    bits_per_symbol: u64,
}

impl LegacyMode {
    /// 6, 12 and 24 Mbit/s (Table 17-4).
    pub const BASIC_6: Self = Self {
        bits_per_symbol: 24,
    };
    const BASIC_12: Self = Self {
        bits_per_symbol: 48,
    };
    const BASIC_24: Self = Self {
        bits_per_symbol: 96,
    };

    /// TXTIME of a frame of `bytes` bytes (17-29).
    pub fn frame(self, bytes: u64) -> Duration {
        let bits = SERVICE_BITS + 8 * bytes + TAIL_BITS;
        LEGACY_PREAMBLE + LEGACY_SYMBOL * bits.div_ceil(self.bits_per_symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(kbit: u64) -> HtMode {
        HtMode::at(Rate::from_bits_per_sec(kbit * 1000)).expect("a rate of 802.11n")
    }

    fn is(kbit: u64, mcs: u8, width: u8, short_guard: bool) {
        let mode = mode(kbit);
        let found = (mode.mcs(), mode.width_mhz(), mode.has_short_guard());
        assert_eq!(found, (mcs, width, short_guard), "{kbit} kbit/s");
    }

    #[test]
    fn rates_match_the_tables() {
        // Tables 19-27, 19-28, 19-31, 19-32, 19-34: N_DBPS and the rates with long and short guard
        // intervals.
        let bps = |mcs: u8, wide: bool, short_guard: bool| HtMode {
            mcs,
            wide,
            short_guard,
        };
        for (mcs, wide, bits, long, short) in [
            (0, false, 26, 6_500_000, 7_222_222),
            (2, false, 78, 19_500_000, 21_666_666),
            (7, false, 260, 65_000_000, 72_222_222),
            (15, false, 520, 130_000_000, 144_444_444),
            (0, true, 54, 13_500_000, 15_000_000),
            (5, true, 432, 108_000_000, 120_000_000),
            (7, true, 540, 135_000_000, 150_000_000),
            (15, true, 1080, 270_000_000, 300_000_000),
            (21, true, 1296, 324_000_000, 360_000_000),
            (31, true, 2160, 540_000_000, 600_000_000),
        ] {
            assert_eq!(bps(mcs, wide, false).bits_per_symbol(), bits, "MCS {mcs}");
            let rates = [false, true].map(|guard| bps(mcs, wide, guard).rate().as_bits_per_sec());
            assert_eq!(rates, [long, short], "MCS {mcs}");
        }
    }

    #[test]
    fn a_rate_with_several_modes_gets_the_simplest() {
        is(6_500, 0, 20, false);
        is(7_200, 0, 20, true);
        // Not MCS 8 with two streams.
        is(13_000, 1, 20, false);
        is(30_000, 1, 40, true);
        // Not MCS 6 with the short guard interval.
        is(65_000, 7, 20, false);
        is(72_200, 7, 20, true);
        // Not MCS 11 with two streams.
        is(120_000, 5, 40, true);
        is(135_000, 7, 40, false);
        is(150_000, 7, 40, true);
        is(300_000, 15, 40, true);
        is(600_000, 31, 40, true);
        // 77 rates of the equal modulations, each found as tables write it.
        for mode in HtMode::all() {
            let found = HtMode::at(mode.written_rate()).expect("a rate");
            assert_eq!(found.written_rate(), mode.written_rate());
            assert!(found.streams() <= mode.streams());
        }
    }

    #[test]
    fn an_unknown_rate_is_refused_with_the_nearest() {
        let refused = |bps| {
            let rate = Rate::from_bits_per_sec(bps);
            HtMode::at(rate).expect_err("no such rate").to_string()
        };
        assert_eq!(
            refused(100_000_000),
            "802.11n has no rate of 100 Mbit/s; the nearest are 90 Mbit/s and 104 Mbit/s"
        );
        assert_eq!(
            refused(54_000),
            "802.11n has no rate of 54 kbit/s; the nearest are 6.5 Mbit/s"
        );
        assert_eq!(
            refused(1_300_000_000),
            "802.11n has no rate of 1.3 Gbit/s; the nearest are 600 Mbit/s"
        );
    }

    #[test]
    fn frame_durations_match_hand_calculation() {
        // 1538 bytes at 6.5 Mbit/s: (12304 + 22) / 26 = 474.1: 475 symbols of 4 us after 36 us.
        let slow = mode(6_500).timing();
        assert_eq!(slow.frame(1538), Duration::from_micros(36 + 1900));
        // At 30 Mbit/s: 12326 / 108 = 114.1: 115 of 3.6 us are 414 us, rounded up to 416.
        let timing = mode(30_000).timing();
        assert_eq!(timing.frame(1538), Duration::from_micros(36 + 416));
        assert_eq!(timing.until_decoded(1538), Duration::from_micros(36 + 414));
        // At 600 Mbit/s: four streams, so four HT-LTFs, and two encoders: (12304 + 28) / 2160 =
        // 5.7: 6 of 3.6 us are 21.6 us, rounded up to 24.
        let fast = mode(600_000).timing();
        assert_eq!(fast.frame(1538), Duration::from_micros(20 + 12 + 16 + 24));
        // Three streams have four HT-LTFs too: 195 Mbit/s is MCS 23 in 20 MHz.
        assert_eq!(mode(195_000).timing().preamble, Duration::from_micros(48));
    }

    #[test]
    fn control_frame_durations_match_hand_calculation() {
        // An ACK of 14 bytes: 134 bits in symbols of 24, 48 and 96 bits: 6, 3 and 2 of 4 us after
        // 20 us.
        let ack = |kbit| mode(kbit).control().frame(14);
        assert_eq!(ack(6_500), Duration::from_micros(44));
        assert_eq!(ack(30_000), Duration::from_micros(32));
        assert_eq!(ack(120_000), Duration::from_micros(28));
        // A block ACK of 32 bytes at 24 Mbit/s: 278 / 96 = 2.9.
        assert_eq!(mode(300_000).control().frame(32), Duration::from_micros(32));
    }

    #[test]
    fn the_largest_frame_fits_and_one_byte_more_does_not() {
        for mode in HtMode::all() {
            let timing = mode.timing();
            for us in [100, 1_000, 5_484, 10_000] {
                let longest = Duration::from_micros(us);
                let bytes = timing.bytes_within(longest);
                assert!(timing.frame(bytes) <= longest, "{mode}");
                assert!(timing.frame(bytes + 1) > longest, "{mode}");
            }
            assert_eq!(timing.bytes_within(Duration::ZERO), 0);
        }
    }
}
