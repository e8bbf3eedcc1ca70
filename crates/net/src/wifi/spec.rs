//! The description of a Wi-Fi channel, as data.

use super::mode::{HtMode, NoSuchRate};
use super::timing::Timing;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// A Wi-Fi channel between two stations of equal rights.
#[derive(Debug, Clone, PartialEq)]
pub struct WifiSpec {
    /// How data is sent.
    pub mode: HtMode,
    /// How much goes into one access to the channel; without, each frame goes alone.
    pub aggregation: Option<Aggregation>,
    /// The longest that a frame or an aggregate takes on the air. A single frame that takes longer is sent all the
    /// same.
    pub longest: Duration,
    /// Each frame, of those in an aggregate each by itself, is not understood with this probability, whenever it is
    /// sent. Control frames, which are short and slow, are always understood.
    pub frame_loss: Probability,
    /// Whether each access begins with a request to send and its answer.
    pub rts_cts: bool,
    /// Slots that the channel must be idle after SIFS before the back-off counts; 2 makes it DIFS.
    pub aifsn: u8,
    /// The contention window of a first try: up to so many slots of back-off.
    pub cw_min: u16,
    /// The contention window that retries double up to; never below `cw_min`.
    pub cw_max: u16,
    /// How often a frame is sent at most, the first time included; at least once.
    pub retry_limit: u8,
}

/// Aggregation of frames (A-MPDU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// Most bytes of an aggregate, at most 65 535.
    pub bytes: u32,
    /// Most frames in an aggregate, 1 to 64.
    pub frames: u8,
}

impl Aggregation {
    /// As much as 802.11n allows: the PSDU's length has 16 bits (aPSDUMaxLength, Table 19-25), a compressed block
    /// ACK's bitmap 64 (9.3.1.9.3).
    pub const MOST: Self = Self {
        bytes: 65_535,
        frames: 64,
    };
}

impl WifiSpec {
    /// A channel at this rate with a standard's defaults: aggregation as far as it goes, no losses but collisions, no
    /// RTS, EDCA's best effort (Table 9-137: AIFSN 3, window 15 to 1023), seven tries (dot11ShortRetryLimit), frames
    /// of up to 5.484 ms (aPPDUMaxTime of HT-mixed frames, Table 19-25: what the 12 bits of length in L-SIG can
    /// announce at 6 Mbit/s).
    ///
    /// # Errors
    /// If 802.11n has no such rate.
    pub fn at(rate: Rate) -> Result<Self, NoSuchRate> {
        Ok(Self {
            mode: HtMode::at(rate)?,
            aggregation: Some(Aggregation::MOST),
            longest: Duration::from_micros(5_484),
            frame_loss: Probability::ZERO,
            rts_cts: false,
            aifsn: 3,
            cw_min: 15,
            cw_max: 1023,
            retry_limit: 7,
        })
    }

    /// Rate of the payload of a frame on the air.
    pub fn rate(&self) -> Rate {
        self.mode.rate()
    }

    /// What one station carries that always has packets of this size and the channel to itself, no frame being lost:
    /// as many packets as fit into an access, over the mean time from one access to the next.
    pub fn saturation(&self, packet: Bytes) -> Rate {
        let size = u32::try_from(packet.get()).unwrap_or(u32::MAX);
        let timing = Timing::new(self);
        let (load, packets) = timing.full_load(size);
        let back_off = timing.slot * u64::from(self.cw_min) / 2;
        let period = timing.aifs + back_off + timing.access(&load);
        Rate::over(packet.times(packets), period)
    }
}
