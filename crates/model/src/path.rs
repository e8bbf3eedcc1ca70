//! The path of the chain: one link of constant rate with a buffer, as in section 2.1 of the
//! TCP-NACK paper.
//!
//! * `R_p = R_b/N_TCP`: packets per second
//! * (2) `RTT = 1/R_p + tau_p`: the base RTT
//! * `W_C = R_p*RTT`: the packets that the link holds, one in service and the others in propagation
//! * (3) `W_max = W_C + B`
//!
//! The paper assumes that `W_C` is an integer. It is rounded down here: with one packet more the
//! pipe overflows into the buffer. `R_p*RTT` stays a real number where it measures time.

use crate::error::{MAX_WINDOW, ModelError};
use whimbrel_units::{Bytes, Duration, Rate};

/// One link with a buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPath {
    /// `R_p`.
    packets_per_second: f64,
    /// `R_p*RTT`, not rounded.
    rtt_in_slots: f64,
    /// `W_C`.
    pipe: u64,
    /// `B`.
    buffer: u64,
}

impl ModelPath {
    /// A link of this rate. `propagation` is `tau_p`, the propagation delay in both directions
    /// together; `packet` is the size of a data packet on the wire; `buffer` is the buffer size in
    /// packets without the one in service (the model is wrong for 0: see `cycle.rs`).
    ///
    /// # Errors
    /// If the rate or the packet size is zero, or if link and buffer hold fewer than 2 or more than
    /// [`MAX_WINDOW`] packets.
    pub fn new(
        rate: Rate,
        propagation: Duration,
        packet: Bytes,
        buffer: u64,
    ) -> Result<Self, ModelError> {
        if rate == Rate::ZERO || packet.is_zero() {
            return Err(ModelError::NoRate);
        }
        let packets_per_second = rate.as_bits_per_sec() as f64 / (8.0 * packet.get() as f64);
        let under_way = rate.bytes_in(propagation).get() / packet.get();
        let pipe = under_way.saturating_add(1);
        let largest = pipe.saturating_add(buffer);
        if largest < 2 {
            return Err(ModelError::TooSmall(largest));
        }
        if largest > MAX_WINDOW {
            return Err(ModelError::TooLarge(largest));
        }
        Ok(Self {
            packets_per_second,
            rtt_in_slots: 1.0 + packets_per_second * propagation.as_secs_f64(),
            pipe,
            buffer,
        })
    }

    /// `R_p`: the rate of the link in packets per second; above 0.
    pub fn packets_per_second(&self) -> f64 {
        self.packets_per_second
    }

    /// (2): the base RTT in seconds; above 0.
    pub fn rtt(&self) -> f64 {
        self.rtt_in_slots / self.packets_per_second
    }

    /// `R_p*RTT`: the base RTT in service times of one packet; at least 1.
    pub fn rtt_in_slots(&self) -> f64 {
        self.rtt_in_slots
    }

    /// `W_C`: the packets that the link holds without a queue; at least 1.
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// (3) `W_max`: the maximum window that does not overflow the buffer, in packets; at least 2.
    pub fn max_window(&self) -> u64 {
        self.pipe + self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_5_mbit_and_70_ms_holds_30_packets_of_1500_bytes() {
        // 5 Mbit/s * 70 ms = 43 750 B = 29 packets and a fraction; 30 with the one in service.
        let rate = Rate::from_bits_per_sec(5_000_000);
        let path = ModelPath::new(rate, Duration::from_millis(70), Bytes::new(1500), 20);
        let path = path.expect("a path");
        assert_eq!((path.pipe(), path.max_window()), (30, 50));
        // 2.4 ms of service and 70 ms of propagation.
        assert!((path.rtt() - 0.0724).abs() < 1e-12);
        assert!((path.rtt_in_slots() - 30.1667).abs() < 1e-4);
    }

    #[test]
    fn a_path_that_the_chain_cannot_handle_is_an_error() {
        let path = |bps, ms, buffer| {
            let (rate, delay) = (Rate::from_bits_per_sec(bps), Duration::from_millis(ms));
            ModelPath::new(rate, delay, Bytes::new(1500), buffer)
        };
        assert_eq!(path(0, 70, 10), Err(ModelError::NoRate));
        assert_eq!(path(1_000_000, 0, 0), Err(ModelError::TooSmall(1)));
        let error = path(10_000_000_000, 100, 0).expect_err("83 334 packets");
        assert_eq!(error, ModelError::TooLarge(83_334));
        assert!(error.to_string().contains("at most 2048"), "{error}");
        assert!(path(u64::MAX, u64::MAX / 1_000_000, u64::MAX).is_err());
    }
}
