//! Loss detection on paths where packets overtake each other.
//!
//! RFC 9002 section 6.1 declares a packet lost when three later ones are acknowledged (section
//! 6.1.1), or when a later one is and 9/8 of the RTT have passed (6.1.2), and recommends raising
//! the thresholds where losses turn out to be spurious. noq fixes both for a connection. Three
//! packets are 0.7 ms at 50 Mbit/s: a path with two unequal branches costs a loss-based algorithm
//! nearly all of its goodput.
//!
//! RACK (RFC 8985), which Linux TCP uses, waits for a reordering window of a quarter of the minimum
//! RTT, and drops the threshold of three packets as soon as it has seen reordering (section 6.2).
//! The same is done here from the beginning: time alone decides, after 5/4 of the RTT. A real loss
//! is then repaired a quarter of a round trip later.

use noq_proto::TransportConfig;

/// Packets may be overtaken by any number of others. noq adds it to packet numbers.
const PACKETS: u32 = u32::MAX;
/// A packet is lost this many round-trip times after it was sent, if a later one has arrived: the
/// reordering window of RFC 8985 section 6.2 is a quarter of the RTT.
const TIME: f32 = 1.25;

/// Sets the thresholds of loss detection so that packets may overtake each other by up to a quarter
/// of a round trip.
pub fn tolerate_reordering(config: &mut TransportConfig) {
    config.packet_threshold(PACKETS).time_threshold(TIME);
}
