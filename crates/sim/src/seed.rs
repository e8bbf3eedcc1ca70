//! Random streams. Each link and each source of randomness of a run has a stream of its own, so
//! that the draws of one do not depend on how often another draws.

use whimbrel_cc::TimeOfDay;
use whimbrel_units::Duration;

/// What a random stream is for. Each has a salt, so that two of the same index differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Losses, errors and queue management of a link, by link.
    Link,
    /// Burst lengths of a datagram source, by flow.
    Datagrams,
    /// A congestion controller, by path.
    Controller,
    /// The messages of an application, by flow.
    Messages,
    /// A Wi-Fi channel, by channel.
    WifiChannel,
    /// A protocol stack from outside, by flow.
    Host,
    /// The time of day at which the run begins.
    TimeOfDay,
}

impl Stream {
    const fn salt(self) -> u64 {
        match self {
            Self::Link => 0x6c69_6e6b,
            Self::Datagrams => 0x7564_7000,
            Self::Controller => 0x6c61_7700,
            Self::Messages => 0x6d65_7373,
            Self::WifiChannel => 0x7769_6669,
            Self::Host => 0x686f_7374,
            Self::TimeOfDay => 0x7574_6300,
        }
    }

    /// The seed of stream number `index` in a run with this seed. The seeds of any two streams and
    /// indices are far apart.
    pub const fn seed(self, run: u64, index: usize) -> u64 {
        let mut x = run
            ^ self.salt().rotate_left(32)
            ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The finalizer of SplitMix64.
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// What a controller gets of the run: nothing that it decides depends on anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draw {
    /// Of its random numbers.
    pub seed: u64,
    /// When the run begins: some time of a day, the same for all hosts. Algorithms that act at
    /// certain times must do well whenever a flow begins.
    pub time_of_day: TimeOfDay,
}

impl Draw {
    /// For the near end of a path in a run with this seed.
    pub const fn of(run: u64, path_id: usize) -> Self {
        const DAY_MS: u64 = 24 * 3600 * 1000;
        Self {
            seed: Stream::Controller.seed(run, path_id),
            time_of_day: TimeOfDay {
                utc: Duration::from_millis(Stream::TimeOfDay.seed(run, 0) % DAY_MS),
                synchronized: true,
            },
        }
    }

    /// For the other end.
    pub const fn far(self) -> Self {
        Self {
            seed: !self.seed,
            ..self
        }
    }
}
