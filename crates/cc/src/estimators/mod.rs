//! Estimates of the path from acknowledgments.
//!
//! * [`average`]: a running mean of durations
//! * [`delivery_rate`]: the delivery rate of one acknowledgment, for transports
//! * [`max_rate`]: the maximum delivery rate of recent round trips
//! * [`windowed_max`]: the maximum of a sliding window
//! * [`smoothed_rtt`]: the smoothed RTT and its variation (RFC 6298), for transports
//! * [`round_rtt`]: RTT statistics of one round trip
//! * [`rtt_stats`]: RTT statistics of an entire connection

pub(crate) mod average;
pub mod delivery_rate;
pub(crate) mod max_rate;
pub(crate) mod round_rtt;
pub(crate) mod rtt_stats;
pub mod smoothed_rtt;
pub(crate) mod windowed_max;
