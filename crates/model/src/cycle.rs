//! One cycle of congestion avoidance on a pipe with a buffer: which packet is in which burst, which overflows, when each is
//! acknowledged. TCP-NACK paper (G. Olmedo et al., Future Internet 2020, 12, 101), section 2.1, equations (1) to (8), after
//! A. Zanella, G. Procissi, M. Gerla, M. Y. Sanadidi, "TCP Westwood: Analytic Model and Performance Evaluation", GLOBECOM
//! 2001, which could not be read.
//!
//! A cycle begins with a window of `W_0`. Burst 0 has `W_0` packets, each further one a packet more; the cycle ends with its
//! first lost packet. Bursts are counted from 0, packets from 1.
//!
//! * (1) `W_x = W_0 + x`
//! * (4) `n_x = 1 + sum of W_j for j < x = 1 + x*W_0 + x*(x-1)/2`: the first packet of burst x
//! * (5) `n_of = n_cb + 2*(W_C + B)`, cb = W_max - W_0 the burst that just fills pipe and buffer: the packet that overflows
//! * (6) `x_n = floor(1/2 - W_0 + sqrt(W_0^2 - W_0 - 7/4 + 2n))`: the burst of packet n
//! * (7) `r = n - n_{x_n}`: its offset in there
//! * (8) `Dt(n) = RTT*(x_n + 1) + r/R_p` up to packet `n_c`, then `RTT*(c + 1) + (n - n_c)/R_p`; `c = W_C - W_0` the burst that
//!   fills the pipe, `n_c` its first packet
//!
//! **The physics.** While a burst is smaller than the pipe, its packets are acknowledged one packet's service apart, and
//! then the sender waits for the rest of the round trip. From burst c on there is no gap any more: the link is always
//! busy, and what a burst has more than the pipe waits in the buffer. The last packet of the burst of W_max + 1 finds it full.
//!
//! **Where it departs from the paper, and why.**
//! * (4) is printed as a sum up to x+1. The closed form printed behind it is the sum up to x-1, and only that begins with 1.
//! * (6)'s bars are a floor: without one the burst of a packet in its middle would be a fraction.
//! * (8) is printed with `RTT*(x_n - 1)`. With bursts counted from 0, as (1), (4) and (6) count them, packet 2 of W_0 = 2
//!   would be acknowledged at 1/R_p - RTT, before it is sent. With x_n + 1, the ACK of the first packet comes after
//!   one RTT, and both parts meet at n_c: RTT*(c+1). A pipe that is played packet by packet agrees (a test).
//! * `c = W_C - W_0` is 0 at least: after a loss at a full buffer with B > W_C, half the window fills the pipe still.
//! * The paper has W_0 up to W_C. With B > W_C half of W_max + 1 is more.
//!
//! **What the model leaves out.** The cycle is over when the lost packet would have been acknowledged. What was sent behind
//! it, in its burst and the next, counts for nothing, and recovery takes no time. Both are about one window. The packet
//! that the window grows by leaves together with another, and waits for it: with B = 0 it would be lost, long before
//! the pipe is full (a test). (5) needs a buffer of one packet at least.
//!
//! Units: packets, seconds.

use crate::path::Path;

/// A cycle that began with a window of `w_0`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycle<'a> {
    pub path: &'a Path,
    /// `W_0`, packets: 2 to `W_max`.
    pub w_0: u64,
}

/// Packets that follow each other within one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    /// x, from 0.
    pub number: u64,
    /// The number of its first packet, from 1.
    pub first: u64,
    /// How many packets.
    pub packets: u64,
}

impl Cycle<'_> {
    /// (1) `W_x`.
    pub fn window(&self, x: u64) -> u64 {
        self.w_0 + x
    }

    /// (4) `n_x`. Windows are of some thousands at most, so no product overflows.
    pub fn first(&self, x: u64) -> u64 {
        1 + x * self.w_0 + x * x.saturating_sub(1) / 2
    }

    /// `c`: the burst that fills the pipe.
    pub fn fills_pipe(&self) -> u64 {
        self.path.pipe().saturating_sub(self.w_0)
    }

    /// `c + B`: the burst that just fills pipe and buffer.
    fn fills_buffer(&self) -> u64 {
        self.path.largest_window().saturating_sub(self.w_0)
    }

    /// (5) `n_of`: the last packet of the burst behind that one.
    pub fn overflows(&self) -> u64 {
        self.first(self.fills_buffer()) + 2 * self.path.largest_window()
    }

    /// All bursts up to the one that overflows.
    pub fn bursts(&self) -> impl Iterator<Item = Burst> {
        (0..=self.fills_buffer() + 1).map(|number| Burst {
            number,
            first: self.first(number),
            packets: self.window(number),
        })
    }

    /// (8), times R_p: when the acknowledgment of packet n would come, in times of one packet's service since the cycle's
    /// begin; `x` is the packet's burst, (6).
    pub fn ack_slot(&self, x: u64, n: u64) -> f64 {
        let rtt = self.path.rtt_in_slots();
        let c = self.fills_pipe();
        // What lies behind is 1/R_p apart from there.
        let from = x.min(c);
        rtt * (from + 1) as f64 + (n - self.first(from)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe;
    use whimbrel_units::{Bytes, Duration, Rate};

    /// R_p = 1000 packets a second, 4 ms under way: W_C = 5, and B = 2.
    pub fn small() -> Path {
        let rate = Rate::from_bits_per_sec(8_000_000);
        Path::new(rate, Duration::from_millis(4), Bytes::new(1000), 2).expect("a path")
    }

    #[test]
    fn a_cycle_from_4_on_a_pipe_of_5_with_a_buffer_of_2() {
        // Bursts of 4, 5, 6, 7 and 8 packets: 1-4, 5-9, 10-15, 16-22, 23-30. The window of 7 fills all, so the last of 8
        // overflows: n_of = 16 + 2*7 = 30.
        let path = small();
        let cycle = Cycle {
            path: &path,
            w_0: 4,
        };
        let firsts: Vec<u64> = cycle.bursts().map(|burst| burst.first).collect();
        assert_eq!(firsts, [1, 5, 10, 16, 23]);
        assert_eq!((cycle.fills_pipe(), cycle.overflows()), (1, 30));
        // Burst 0 is acknowledged at 5, 6, 7 and 8 ms, burst 1 from 10 ms on without a gap: packet 30 at 10 + 25 ms.
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
    fn a_pipe_that_is_played_packet_by_packet_overflows_and_acknowledges_as_5_and_8_say() {
        for (pipe, buffer) in [(5, 2), (2, 1), (20, 1), (20, 7), (6, 20)] {
            let path = pipe::path(pipe, buffer);
            for w_0 in 2..=path.largest_window() {
                let cycle = Cycle { path: &path, w_0 };
                let played = pipe::play(pipe, buffer, w_0);
                assert_eq!(played.overflows, cycle.overflows(), "{pipe} {buffer} {w_0}");
                let acks = cycle.bursts().flat_map(|burst| {
                    let packets = burst.first..burst.first + burst.packets;
                    packets.map(move |n| (burst.number, n))
                });
                let slots: Vec<f64> = acks.map(|(x, n)| cycle.ack_slot(x, n)).collect();
                // The packet that overflows is acknowledged by nobody.
                assert_eq!(
                    slots[..slots.len() - 1],
                    played.acks,
                    "{pipe} {buffer} {w_0}"
                );
            }
        }
    }

    #[test]
    fn without_a_buffer_a_pipe_loses_the_first_packet_that_its_window_grows_by() {
        // From 2 on a pipe of 20: packets 1 and 2, then 3 and, both at once, 4 and 5. The formulas say the burst of 21.
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
