//! How a connection finds the rate of the path.
//!
//! The window doubles in each round trip. It has found the path when one of these holds:
//!
//! * **A queue begins**: the minimum RTT of the last quarter of a round trip exceeds the base RTT
//!   by an eighth, at least 4 ms and at most 16 ms (the numbers of HyStart, RFC 9406), and by the
//!   queue that this flow wants. The packet just acknowledged was sent with F bytes in flight, and
//!   Little's law says that these make its RTT: F = C*RTT. So the path holds `C*T = F*T/RTT`,
//!   exactly, while the window is twice F by now. The next window is that, and the queue is gone
//!   one round trip later. If the RTT has grown by less than half of what the flight has grown by
//!   since there was no queue, most of the queue is another flow's (`elasticity.rs`), and startup
//!   goes on until the queue is three times as long. So a short transfer beside a flow that probes
//!   gets its share, and several flows that start at once do not flood a long buffer. The window is
//!   then what is in flight, and `elasticity.rs` needs half of its round trips to find the others.
//! * **The rate no longer grows**: three rounds without a quarter more (BBR's rule). The only one
//!   where a queue cannot be seen: a short buffer with an RTT that varies.
//! * **Losses** that the level of the queue calls congestion, if the queue is this flow's. If it is
//!   another flow's, the buffer is full although this flow has no share yet: the window falls by
//!   CUBIC's factor, once in a round trip, and the search goes on until the rate no longer grows.
//!
//! **On a busy queue** the first RTT contains that queue, and the flow's own packets show on top of
//! it as they would on an empty path.

/// The delay that ends startup, in base RTTs, and its limits, s.
const QUEUE: f64 = 0.125;
const LIMITS: (f64, f64) = (0.004, 0.016);

/// Growth of the rate that counts, and rounds without it.
const GROWTH: (f64, u32) = (1.25, 3);

/// The longest wait of a lone packet for its acknowledgment, s: QUIC's default (RFC 9000 section
/// 18.2), and most of TCP's.
const ACK_DELAY: f64 = 0.025;

/// An acknowledgment of one packet that comes so long after the one before it, s, may have waited
/// for the receiver's timer (40 ms on Linux). Startup is paced: it sends its window in a part of a
/// round trip, and the last packet is alone if their number is odd.
const LONE: f64 = 0.02;

/// Part of the limit up to which there is no queue yet.
const FREE: f64 = 0.25;

/// Growth of the RTT over that of the flight since then, from which on the queue is this flow's.
const OWN: f64 = 0.5;

/// A queue of so many limits ends startup, whoever made it.
const LONG: f64 = 3.0;

/// Whose queue ends startup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Own,
    Others,
}

/// The search for the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Startup {
    /// Bytes per second.
    full_rate: f64,
    rounds: u32,
    /// Bytes in flight when there was no queue yet.
    free: f64,
    /// When the last acknowledgment came, s.
    heard: f64,
    /// Most of the latest queue is other flows'.
    others: bool,
}

impl Startup {
    /// The queue that ends it, s, with base RTT, the queue that the flow wants, and its rate in
    /// packets per second.
    pub fn limit(base: f64, wanted: f64, rate: f64) -> f64 {
        let (min, max) = LIMITS;
        // A paced packet waits for the next one, or for the receiver's timer.
        let waits = if rate * ACK_DELAY < 2.0 {
            ACK_DELAY
        } else {
            0.0
        };
        (QUEUE * base).clamp(min, max).max(wanted) + waits
    }

    /// An acknowledgment of `acked` segments comes at `now`. Returns whether it may have waited for
    /// the receiver's timer, so that its RTT says nothing about a queue.
    pub fn is_lone(&mut self, now: f64, acked: f64) -> bool {
        let before = std::mem::replace(&mut self.heard, now);
        acked < 1.5 && now - before > LONE
    }

    /// A packet sent with `flight` bytes in flight is acknowledged, and `queue` is the delay above
    /// `base`. Returns whose queue ends startup, if it does: this flow's from `limit` on, others'
    /// from [`LONG`] times that.
    pub fn on_queue(&mut self, flight: f64, queue: f64, base: f64, limit: f64) -> Option<Queue> {
        if queue < FREE * limit {
            self.free = flight;
        }
        let growth = (flight - self.free) / flight.max(1.0);
        // A queue that grew while the flight did not is other flows'.
        let own = flight > self.free && queue / (base + queue) >= OWN * growth;
        self.others = !own;
        match own {
            true => (queue >= limit).then_some(Queue::Own),
            false => (queue >= LONG * limit).then_some(Queue::Others),
        }
    }

    /// Whether most of the queue is other flows'.
    pub fn finds_others(&self) -> bool {
        self.others
    }

    /// Ends a round with `rate` bytes per second. Returns whether the rate no longer grows.
    pub fn on_round(&mut self, rate: f64) -> bool {
        let (growth, rounds) = GROWTH;
        if rate >= growth * self.full_rate {
            self.full_rate = rate;
            self.rounds = 0;
        } else {
            self.rounds += 1;
        }
        self.rounds >= rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_that_ends_it_is_an_eighth_of_the_base() {
        for (base, limit) in [(0.01, 0.004), (0.08, 0.01), (0.6, 0.016)] {
            assert!((Startup::limit(base, 0.002, 100.0) - limit).abs() < 1e-12);
        }
        assert_eq!(Startup::limit(0.01, 0.02, 100.0), 0.02, "a slow path");
        let slow = Startup::limit(0.6, 0.002, 30.0);
        assert!(
            (slow - 0.041).abs() < 1e-12,
            "a lone packet waits 25 ms: {slow}"
        );
    }

    #[test]
    fn a_queue_that_another_flow_made_does_not_end_it_until_it_is_long() {
        let (base, limit) = (0.08, 0.01);
        let mut startup = Startup::default();
        // 100 packets fill the path: RTT and flight grow alike.
        assert_eq!(startup.on_queue(100.0, 0.0, base, limit), None);
        assert_eq!(startup.on_queue(110.0, 0.008, base, limit), None);
        let ended = startup.on_queue(115.0, 0.012, base, limit);
        assert_eq!(ended, Some(Queue::Own));
        // The flight has doubled, and the RTT grew by an eighth.
        let mut startup = Startup::default();
        assert_eq!(startup.on_queue(20.0, 0.0, base, limit), None);
        assert_eq!(startup.on_queue(40.0, 0.012, base, limit), None);
        let ended = startup.on_queue(60.0, 0.03, base, limit);
        assert_eq!(ended, Some(Queue::Others));
    }

    #[test]
    fn the_last_packet_of_a_window_waits_for_the_receivers_timer() {
        let mut startup = Startup::default();
        startup.is_lone(1.0, 2.0);
        assert!(!startup.is_lone(1.01, 1.0), "in a train");
        assert!(startup.is_lone(1.05, 1.0));
        assert!(!startup.is_lone(1.4, 2.0), "two packets do not wait");
    }

    #[test]
    fn three_rounds_without_a_quarter_more_end_it() {
        let mut startup = Startup::default();
        let rates = [100.0, 200.0, 400.0, 450.0, 600.0, 610.0, 620.0, 630.0];
        let ended: Vec<bool> = rates.iter().map(|rate| startup.on_round(*rate)).collect();
        assert_eq!(ended.iter().position(|end| *end), Some(7));
    }

    #[test]
    fn a_queue_that_grows_without_this_flow_is_others() {
        let (mut startup, base) = (Startup::default(), 0.1);
        let limit = Startup::limit(base, 0.0, 1000.0);
        assert_eq!(startup.on_queue(10.0, 0.0, base, limit), None);
        assert_eq!(startup.on_queue(10.0, 1.5 * limit, base, limit), None);
        assert!(startup.finds_others());
        let ended = startup.on_queue(10.0, 3.0 * limit, base, limit);
        assert_eq!(ended, Some(Queue::Others));
        assert_eq!(startup.on_queue(20.0, 0.0, base, limit), None);
        let ended = startup.on_queue(40.0, 0.1, base, limit);
        assert_eq!((ended, startup.finds_others()), (Some(Queue::Own), false));
    }
}
