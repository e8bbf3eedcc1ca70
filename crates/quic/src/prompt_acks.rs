//! Acknowledgments that measure the path and not the receiver's timer.
//!
//! A receiver acknowledges every second packet at once and a single one after `max_ack_delay`, 25
//! ms unless told otherwise (RFC 9000 section 13.2.1). A sender whose packets are further apart
//! than that, 0.5 Mbit/s of 1500 bytes, sees 25 ms in each of its RTTs, and an algorithm that keeps
//! short queues takes them for one. The ACK frequency extension (draft-ietf-quic-ack-frequency)
//! lets the sender ask for another delay.

use noq_proto::{AckFrequencyConfig, TransportConfig, VarInt};
use std::time::Duration;

/// The longest wait of a single packet for its acknowledgment. Twice as many acknowledgments follow
/// only below 400 packets a second; timers are exact to 1 ms.
const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

/// The sender requests acknowledgments of every second packet, of a single one after 5 ms, and at
/// once of one that is out of order. Peers without the extension go on as before.
pub fn request_prompt_acks(config: &mut TransportConfig) {
    let mut frequency = AckFrequencyConfig::default();
    frequency
        .max_ack_delay(Some(MAX_ACK_DELAY))
        .ack_eliciting_threshold(VarInt::from_u32(1))
        .reordering_threshold(VarInt::from_u32(1));
    config.ack_frequency_config(Some(frequency));
}
