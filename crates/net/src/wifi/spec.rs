//! The description of a Wi-Fi channel.

use super::mode::{HtMode, NoSuchRate};
use whimbrel_units::{Duration, Probability, Rate};

/// A Wi-Fi channel between two stations with equal parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct WifiSpec {
    /// The mode of data frames.
    pub mode: HtMode,
    /// The maximum aggregate of one access; `None`: each access sends one frame.
    pub aggregation: Option<Aggregation>,
    /// The maximum time of a frame or an aggregate on the air. A single frame that takes longer is
    /// sent nevertheless.
    pub longest: Duration,
    /// The probability that a frame is not received, independently for each transmission and each
    /// frame of an aggregate. Control frames, which are short and slow, are always received.
    pub frame_loss: Probability,
    /// Whether each access begins with RTS and CTS.
    pub rts_cts: bool,
    /// Slots that the channel must be idle after SIFS before the back-off counts; 2 makes it DIFS.
    pub aifsn: u8,
    /// The contention window of the first try: the maximum number of back-off slots.
    pub cw_min: u16,
    /// The maximum of the contention window, which retries double; never below `cw_min`.
    pub cw_max: u16,
    /// The maximum number of transmissions of a frame, the first one included; at least one.
    pub retry_limit: u8,
}

/// Aggregation of frames (A-MPDU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// The maximum number of bytes of an aggregate, at most 65 535.
    pub bytes: u32,
    /// The maximum number of frames of an aggregate, 1 to 64.
    pub frames: u8,
}

impl Aggregation {
    /// The maximum that 802.11n allows: the PSDU's length has 16 bits (aPSDUMaxLength, Table
    /// 19-25), the bitmap of a compressed block ACK has 64 bits (9.3.1.9.3).
    pub const MOST: Self = Self {
        bytes: 65_535,
        frames: 64,
    };
}

impl WifiSpec {
    /// A channel at this rate with the standard's defaults: maximum aggregation, no losses but
    /// collisions, no RTS, EDCA's best effort (Table 9-137: AIFSN 3, window 15 to 1023), seven
    /// tries (dot11ShortRetryLimit), frames of up to 5.484 ms (aPPDUMaxTime of HT-mixed frames,
    /// Table 19-25: the maximum that the 12 bits of length in L-SIG can announce at 6 Mbit/s).
    ///
    /// # Errors
    /// If 802.11n does not have the rate.
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
}
