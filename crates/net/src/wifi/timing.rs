//! The durations on a Wi-Fi channel, computed once.
//!
//! IEEE Std 802.11-2016. Data frames: the MAC header of a QoS data frame has 26 bytes (9.2.3, three
//! addresses), the FCS 4, the LLC/SNAP header 8 (RFC 1042): 38 bytes around a packet, unencrypted
//! (CCMP adds 16). In an aggregate, each frame follows a delimiter of 4 bytes and is padded to a
//! multiple of 4, except the last one (9.7.1); its length must fit in the delimiter's 12 bits.

use super::mode::{HtTiming, LegacyMode};
use super::spec::{Aggregation, WifiSpec};
use whimbrel_units::{Bytes, Duration, Rate};

/// aSlotTime (Table 19-25, 5 GHz): the time until a station notices another's access.
const SLOT: Duration = Duration::from_micros(9);
/// aSIFSTime (Table 19-25, 5 GHz).
const SIFS: Duration = Duration::from_micros(16);
/// aPHY-RX-START-Delay of OFDM, which control frames use (Table 17-21): from the start of a frame's
/// signal until the receiver indicates it.
const RX_START_DELAY: Duration = Duration::from_micros(20);
/// Header, FCS and LLC/SNAP around a packet.
const AROUND_PACKET: u64 = 26 + 4 + 8;
const DELIMITER: u64 = 4;
/// The maximum length of a frame that a delimiter can announce.
const LONGEST_AGGREGATED: u64 = 4095;
/// Control frames (9.3.1.2, 9.3.1.3, 9.3.1.4, 9.3.1.9.3), bytes.
const RTS: u64 = 20;
const CTS: u64 = 14;
const ACK: u64 = 14;
/// Compressed, with a bitmap of 64 bits.
const BLOCK_ACK: u64 = 32;

/// Durations on one channel.
#[derive(Debug, Clone)]
pub(super) struct Timing {
    pub slot: Duration,
    pub sifs: Duration,
    /// Idle time before the back-off counts (10.22.2.4).
    pub aifs: Duration,
    /// The idle time after a frame received incorrectly, from its end: EIFS - DIFS + AIFS
    /// (10.3.2.3.7), which leaves time for an acknowledgment at 6 Mbit/s.
    pub eifs: Duration,
    /// How long a sender waits for the start of an acknowledgment (10.3.2.9).
    pub timeout: Duration,
    pub rts: Duration,
    pub cts: Duration,
    ack: Duration,
    block_ack: Duration,
    pub ht: HtTiming,
    pub rts_cts: bool,
    most_bytes: u64,
    most_frames: usize,
}

impl Timing {
    pub fn new(spec: &WifiSpec) -> Self {
        let ht = spec.mode.timing();
        let control = spec.mode.control();
        let aifs = SIFS + SLOT * u64::from(spec.aifsn);
        let most = spec.aggregation.unwrap_or(Aggregation {
            bytes: 0,
            frames: 1,
        });
        let most_bytes = most.bytes.min(Aggregation::MOST.bytes);
        Self {
            slot: SLOT,
            sifs: SIFS,
            aifs,
            eifs: SIFS + LegacyMode::BASIC_6.frame(ACK) + aifs,
            timeout: SIFS + SLOT + RX_START_DELAY,
            rts: control.frame(RTS),
            cts: control.frame(CTS),
            ack: control.frame(ACK),
            block_ack: control.frame(BLOCK_ACK),
            rts_cts: spec.rts_cts,
            most_bytes: u64::from(most_bytes).min(ht.bytes_within(spec.longest)),
            most_frames: usize::from(most.frames.clamp(1, Aggregation::MOST.frames)),
            ht,
        }
    }

    /// The fullest access with packets of this size, and its number of packets.
    pub fn full_load(&self, size: u32) -> (Load, u64) {
        let mut load = Load::default();
        let mut packets = 0;
        while load.take(size, self).is_some() {
            packets += 1;
        }
        (load, packets)
    }

    /// From the start of an access until data is sent.
    pub fn before_data(&self) -> Duration {
        if self.rts_cts {
            self.rts + self.cts + self.sifs * 2
        } else {
            Duration::ZERO
        }
    }

    /// The duration of the acknowledgment of this load.
    pub fn answer(&self, load: &Load) -> Duration {
        if load.frames == 1 {
            self.ack
        } else {
            self.block_ack
        }
    }

    /// From the start of an access to the end of the acknowledgment.
    pub fn access(&self, load: &Load) -> Duration {
        self.before_data() + self.ht.frame(load.bytes()) + self.sifs + self.answer(load)
    }
}

/// The load of one access: a single frame, or an aggregate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    pub frames: usize,
    /// Length of the first frame, which has no delimiter if it is the only one.
    first: u64,
    /// Length as an aggregate, the last frame not padded.
    aggregate: u64,
}

impl Load {
    /// Adds a packet if there is room; the first packet always has room. Returns where its frame
    /// ends in the aggregate.
    #[inline]
    pub fn take(&mut self, size: u32, timing: &Timing) -> Option<u64> {
        let frame = u64::from(size) + AROUND_PACKET;
        let fits = self.frames == 0
            || (self.frames < timing.most_frames
                && self.first <= LONGEST_AGGREGATED
                && frame <= LONGEST_AGGREGATED
                && self.with(frame) <= timing.most_bytes);
        if !fits {
            return None;
        }
        if self.frames == 0 {
            self.first = frame;
        }
        self.aggregate = self.with(frame);
        self.frames += 1;
        Some(self.aggregate)
    }

    #[inline]
    const fn with(&self, frame: u64) -> u64 {
        self.aggregate.next_multiple_of(4) + DELIMITER + frame
    }

    /// Length of the load in bytes.
    pub const fn bytes(&self) -> u64 {
        if self.frames == 1 {
            self.first
        } else {
            self.aggregate
        }
    }
}

impl WifiSpec {
    /// The throughput of one saturated station with packets of this size, alone on the channel and
    /// without loss: the packets that fit into an access, divided by the mean time from one access
    /// to the next.
    pub fn saturation(&self, packet: Bytes) -> Rate {
        let size = u32::try_from(packet.get()).unwrap_or(u32::MAX);
        let timing = Timing::new(self);
        let (load, packets) = timing.full_load(size);
        let back_off = timing.slot * u64::from(self.cw_min) / 2;
        let period = timing.aifs + back_off + timing.access(&load);
        Rate::over(packet.times(packets), period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Rate;

    fn spec(kbit: u64) -> WifiSpec {
        WifiSpec::at(Rate::from_bits_per_sec(kbit * 1000)).expect("a rate")
    }

    fn packets(spec: &WifiSpec, size: u32) -> u64 {
        Timing::new(spec).full_load(size).1
    }

    #[test]
    fn an_aggregate_is_limited_by_bytes_time_and_bitmap() {
        // 4 + 1538 bytes, padded to 1544: 42 of them without the last padding are 64 846 bytes; 43
        // would be more than 65 535.
        let fast = Timing::new(&spec(300_000));
        let (load, count) = fast.full_load(1500);
        assert_eq!((count, load.bytes()), (42, 64_846));
        // 5484 us at 6.5 Mbit/s: 1362 symbols after 36 us are 35 412 bits, 4423 bytes: two packets;
        // three would be 4630.
        assert_eq!(packets(&spec(6_500), 1500), 2);
        // In the 10 ms of 802.11-2012, 8093 bytes: five, 7718.
        let longer = WifiSpec {
            longest: Duration::from_millis(10),
            ..spec(6_500)
        };
        assert_eq!(packets(&longer, 1500), 5);
        assert_eq!(packets(&spec(300_000), 40), 64);
        let few = WifiSpec {
            aggregation: Some(Aggregation {
                bytes: 8_000,
                frames: 64,
            }),
            ..spec(300_000)
        };
        assert_eq!(packets(&few, 1500), 5);
    }

    #[test]
    fn a_frame_too_long_for_an_aggregate_is_sent_alone() {
        let timing = Timing::new(&spec(300_000));
        // 4057 + 38 = 4095 can be announced, one byte more cannot.
        assert_eq!(timing.full_load(4057).1, 15);
        let (load, count) = timing.full_load(4058);
        assert_eq!((count, load.bytes()), (1, 4096));
        assert_eq!(timing.full_load(u32::MAX).1, 1);
        let mut mixed = Load::default();
        assert!(mixed.take(1500, &timing).is_some());
        assert!(mixed.take(5000, &timing).is_none());
        let alone = WifiSpec {
            aggregation: None,
            ..spec(300_000)
        };
        assert_eq!(packets(&alone, 1500), 1);
    }

    #[test]
    fn intervals_match_best_effort_in_5_ghz() {
        let timing = Timing::new(&spec(300_000));
        // 16 + 3 x 9; 16 + 44 + 43; 16 + 9 + 20.
        assert_eq!(timing.aifs, Duration::from_micros(43));
        assert_eq!(timing.eifs, Duration::from_micros(103));
        assert_eq!(timing.timeout, Duration::from_micros(45));
        // 20 bytes at 24 Mbit/s: 182 / 96: 2 symbols.
        assert_eq!(
            (timing.rts, timing.cts),
            (Duration::from_micros(28), Duration::from_micros(28))
        );
        let difs = WifiSpec {
            aifsn: 2,
            ..spec(6_500)
        };
        assert_eq!(Timing::new(&difs).aifs, Duration::from_micros(34));
    }
}
