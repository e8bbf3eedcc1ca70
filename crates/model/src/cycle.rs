//! One cycle of congestion avoidance on a pipe with a buffer: the burst of each packet, the packet
//! that overflows, and the time of each acknowledgment. TCP-NACK paper (G. Olmedo et al., Future
//! Internet 2020, 12, 101), section 2.1, equations (1) to (8), after A. Zanella, G. Procissi, M.
//! Gerla, M. Y. Sanadidi, "TCP Westwood: Analytic Model and Performance Evaluation", GLOBECOM 2001,
//! which could not be read.
//!
//! A cycle begins with a window of `W_0`. Burst 0 has `W_0` packets, each further burst one packet
//! more; the cycle ends with its first lost packet. Bursts are counted from 0, packets from 1.
//!
//! * (1) `W_x = W_0 + x`
//! * (4) `n_x = 1 + sum of W_j for j < x = 1 + x*W_0 + x*(x-1)/2`: the first packet of burst x
//! * (5) `n_of = n_cb + 2*(W_C + B)`: the packet that overflows; cb = W_max - W_0 is the burst that
//!   just fills pipe and buffer
//! * (6) `x_n = floor(1/2 - W_0 + sqrt(W_0^2 - W_0 - 7/4 + 2n))`: the burst of packet n
//! * (7) `r = n - n_{x_n}`: its offset in the burst
//! * (8) `Dt(n) = RTT*(x_n + 1) + r/R_p` up to packet `n_c`, then `RTT*(c + 1) + (n - n_c)/R_p`:
//!   the time of the acknowledgment; `c = W_C - W_0` is the burst that fills the pipe, `n_c` its
//!   first packet
//!
//! **The physics.** While a burst is smaller than the pipe, its acknowledgments arrive one service
//! time apart, and then the sender waits for the rest of the round trip. From burst c on there is
//! no gap: the link is always busy, and the excess of a burst over the pipe waits in the buffer.
//! The last packet of the burst of W_max + 1 packets finds the buffer full.
//!
//! **Where it departs from the paper, and why.**
//! * (4) is printed as a sum up to x+1. The closed form printed after it is the sum up to x-1, and
//!   only that one begins with 1.
//! * The bars of (6) are a floor: without it the burst of a packet in its middle would be a
//!   fraction.
//! * (8) is printed with `RTT*(x_n - 1)`. With bursts counted from 0, as in (1), (4) and (6),
//!   packet 2 of W_0 = 2 would be acknowledged at 1/R_p - RTT, before it is sent. With x_n + 1, the
//!   ACK of the first packet arrives after one RTT, and both parts agree at n_c: RTT*(c+1). A
//!   packet-by-packet simulation of the pipe confirms it (a test).
//! * `c = W_C - W_0` is at least 0: after a loss at a full buffer with B > W_C, half the window
//!   still fills the pipe.
//! * In the paper W_0 is at most W_C. With B > W_C half of W_max + 1 is greater.
//!
//! **What the model leaves out.** The cycle ends when the lost packet would have been acknowledged.
//! Packets that were sent after it, in its burst and the next, do not count, and recovery takes no
//! time. Both are about one window. The packet by which the window grows leaves together with
//! another packet and waits for it: with B = 0 it would be lost long before the pipe is full (a
//! test). So (5) needs a buffer of at least one packet.
//!
//! Units: packets, seconds.

use crate::path::ModelPath;

/// A cycle that began with a window of `w_0`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycle<'a> {
    pub path: &'a ModelPath,
    /// `W_0`, packets: 2 to `W_max`.
    pub w_0: u64,
}

/// The packets of one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    /// x, from 0.
    pub number: u64,
    /// The number of its first packet, from 1.
    pub first: u64,
    /// Number of packets.
    pub packets: u64,
}

impl Cycle<'_> {
    /// (1) `W_x`.
    pub fn window(&self, x: u64) -> u64 {
        self.w_0 + x
    }

    /// (4) `n_x`. Windows are at most a few thousand, so no product overflows.
    pub fn first(&self, x: u64) -> u64 {
        1 + x * self.w_0 + x * x.saturating_sub(1) / 2
    }

    /// `c`: the burst that fills the pipe.
    pub fn fills_pipe(&self) -> u64 {
        self.path.pipe().saturating_sub(self.w_0)
    }

    /// `c + B`: the burst that just fills pipe and buffer.
    fn fills_buffer(&self) -> u64 {
        self.path.max_window().saturating_sub(self.w_0)
    }

    /// (5) `n_of`: the last packet of the burst after that one.
    pub fn overflows(&self) -> u64 {
        self.first(self.fills_buffer()) + 2 * self.path.max_window()
    }

    /// All bursts up to the one that overflows.
    pub fn bursts(&self) -> impl Iterator<Item = Burst> {
        (0..=self.fills_buffer() + 1).map(|number| Burst {
            number,
            first: self.first(number),
            packets: self.window(number),
        })
    }

    /// (8) times R_p: when the acknowledgment of packet n arrives, in service times of one packet
    /// since the begin of the cycle; `x` is the packet's burst, (6).
    pub fn ack_slot(&self, x: u64, n: u64) -> f64 {
        let rtt = self.path.rtt_in_slots();
        let c = self.fills_pipe();
        // From that burst on acknowledgments are 1/R_p apart.
        let from = x.min(c);
        rtt * (from + 1) as f64 + (n - self.first(from)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe;
    use whimbrel_units::{Bytes, Duration, Rate};

    /// R_p = 1000 packets per second, 4 ms of propagation: W_C = 5, and B = 2.
    pub fn small() -> ModelPath {
        let rate = Rate::from_bits_per_sec(8_000_000);
        ModelPath::new(rate, Duration::from_millis(4), Bytes::new(1000), 2).expect("a path")
    }

    #[test]
    fn a_cycle_from_4_on_a_pipe_of_5_with_a_buffer_of_2() {
        // Bursts of 4, 5, 6, 7 and 8 packets: 1-4, 5-9, 10-15, 16-22, 23-30. The window of 7 fills
        // pipe and buffer, so the last packet of the burst of 8 overflows: n_of = 16 + 2*7 = 30.
        let path = small();
        let cycle = Cycle {
            path: &path,
            w_0: 4,
        };
        let firsts: Vec<u64> = cycle.bursts().map(|burst| burst.first).collect();
        assert_eq!(firsts, [1, 5, 10, 16, 23]);
        assert_eq!((cycle.fills_pipe(), cycle.overflows()), (1, 30));
        // Burst 0 is acknowledged at 5, 6, 7 and 8 ms, burst 1 from 10 ms on without a gap: packet
        // 30 at 10 + 25 ms.
        assert_eq!(cycle.ack_slot(0, 1), 5.0);
        assert_eq!(cycle.ack_slot(0, 4), 8.0);
        assert_eq!(cycle.ack_slot(1, 5), 10.0);
        assert_eq!(cycle.ack_slot(4, 30), 35.0);
    }

    #[test]
    fn equation_6_finds_the_burst_of_every_packet() {
        let path = small();
        for w_0 in 2..=7 {
            let cycle = Cycle { path: &path, w_0 };
            for burst in cycle.bursts() {
                for n in burst.first..burst.first + burst.packets {
                    let w = w_0 as f64;
                    let root = (w * w - w - 1.75 + 2.0 * n as f64).sqrt();
                    assert_eq!((0.5 - w + root).floor(), burst.number as f64, "{w_0} {n}");
                }
            }
        }
    }

    #[test]
    fn a_simulated_pipe_agrees_with_equations_5_and_8() {
        for (pipe, buffer) in [(5, 2), (2, 1), (20, 1), (20, 7), (6, 20)] {
            let path = pipe::path(pipe, buffer);
            for w_0 in 2..=path.max_window() {
                let cycle = Cycle { path: &path, w_0 };
                let played = pipe::play(pipe, buffer, w_0);
                assert_eq!(played.overflows, cycle.overflows(), "{pipe} {buffer} {w_0}");
                let acks = cycle.bursts().flat_map(|burst| {
                    let packets = burst.first..burst.first + burst.packets;
                    packets.map(move |n| (burst.number, n))
                });
                let slots: Vec<f64> = acks.map(|(x, n)| cycle.ack_slot(x, n)).collect();
                // The packet that overflows is not acknowledged.
                assert_eq!(
                    slots[..slots.len() - 1],
                    played.acks,
                    "{pipe} {buffer} {w_0}"
                );
            }
        }
    }

    #[test]
    fn without_a_buffer_the_first_growth_of_the_window_is_lost() {
        // From 2 on a pipe of 20: packets 1 and 2, then 3, then 4 and 5 at once. The formulas give
        // the burst of 21 packets.
        assert_eq!(pipe::play(20, 0, 2).overflows, 5);
        let path = pipe::path(20, 0);
        assert_eq!(
            Cycle {
                path: &path,
                w_0: 2
            }
            .overflows(),
            230
        );
    }
}
