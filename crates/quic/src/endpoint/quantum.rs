//! Pauses between batches of packets where a path is fast.
//!
//! noq lets each packet leave as soon as the pacing rate permits it. At 1 Gbit/s that is one in
//! 12 us: each would take a system call at both ends, and a merge by the kernel at neither. Linux
//! lets TCP send the data of a millisecond, at most 64 KiB, at once (`sk_pacing_shift`), and BBR
//! calls this its send quantum (draft-ietf-ccwg-bbr-04 section 4.6.3). So when what the rate
//! permits has left, the connection is left alone until a quantum has come together.
//!
//! A thread that wakes up late may catch up, and noq lets it send up to 256 packets at once then.
//! On a short path that is more than the path and its buffer hold: at 1 Gbit/s and 1 ms a buffer of
//! one BDP has room for 83. So what comes together is at most a part of the window, which noq's
//! pacer does not look at.
//!
//! Where a path is slow each packet leaves by itself: a millisecond has few packets, and the times
//! of arrival of all packets are measured.

use crate::feedback::FAST;
use noq_proto::congestion::ControllerMetrics;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// The window over what may leave at once.
const PART: u64 = 4;
/// What may leave at once however small the window is: as much as an initial window (RFC 9002
/// section 7.7), packets, and the data of this time, by which threads are late.
const FEWEST: u64 = 10;
const USUAL: Duration = Duration::from_micros(250);
/// What may leave at once however large it is: so many packets, and the data of this time. noq
/// permits twice as much, so that its pacer never decides.
const MOST: u64 = 128;
const LATEST: Duration = Duration::from_millis(1);

/// What may leave on a fast path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// Bytes per second.
    rate: u64,
    /// What may leave at once, bytes.
    capacity: u64,
    /// What leaves together, bytes.
    quantum: u64,
    /// The size of a full packet, bytes.
    packet: u64,
}

impl Bucket {
    /// The bucket of a controller. `None` on a slow path, and where the algorithm says itself when
    /// each packet leaves.
    pub fn of(metrics: &ControllerMetrics, packet: u64) -> Option<Self> {
        let quantum = metrics.send_quantum?;
        let rate = metrics.pacing_rate.filter(|rate| *rate >= FAST)?;
        let part = metrics.congestion_window / PART;
        let capacity = part.clamp(bytes_in(rate, USUAL), bytes_in(rate, LATEST));
        let capacity = capacity.clamp(FEWEST * packet, MOST * packet);
        Some(Self {
            rate,
            capacity,
            quantum: quantum.clamp(packet, capacity),
            packet,
        })
    }
}

/// The pause of a connection until its next batch, and what is in its bucket.
#[derive(Debug, Default)]
pub(super) struct Quantum {
    until: Option<Instant>,
    /// Bytes that may leave.
    tokens: u64,
    /// When these were counted; `None` while there is no bucket.
    counted: Option<Instant>,
}

impl Quantum {
    /// Whether packets wait.
    pub fn is_waiting(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// A deadline of noq, or the end of the pause instead.
    pub fn after(&self, deadline: Option<Instant>) -> Option<Instant> {
        self.until.or(deadline)
    }

    /// The number of packets that may leave at `now`, at least one; `None`: as many as noq makes.
    /// It ends the pause, so ask before each transmission, also without a bucket: what is over
    /// would stay the deadline.
    pub fn room(&mut self, now: Instant, bucket: Option<Bucket>) -> Option<NonZeroUsize> {
        self.until = None;
        let Some(bucket) = bucket else {
            self.counted = None;
            return None;
        };
        let passed = self.counted.map(|at| now.saturating_duration_since(at));
        let earned = passed.map_or(bucket.capacity, |passed| bytes_in(bucket.rate, passed));
        // Less than a byte is earned in a time that is counted later.
        if earned > 0 {
            self.tokens = self.tokens.saturating_add(earned);
            self.counted = Some(now);
        }
        self.tokens = self.tokens.min(bucket.capacity);
        NonZeroUsize::new((self.tokens / bucket.packet) as usize).or(Some(NonZeroUsize::MIN))
    }

    /// `sent` bytes left at `now`. If the next packet may not, it waits until there is a quantum.
    pub fn after_transmit(&mut self, now: Instant, sent: u64, bucket: Bucket) {
        self.tokens = self.tokens.saturating_sub(sent);
        if self.tokens >= bucket.packet {
            return;
        }
        let missing = bucket.quantum - self.tokens;
        let time = u128::from(missing) * 1_000_000_000 / u128::from(bucket.rate);
        self.until = Some(now + Duration::from_nanos(time as u64));
    }
}

/// What `rate`, bytes per second, sends in a time.
fn bytes_in(rate: u64, time: Duration) -> u64 {
    let bytes = u128::from(rate) * time.as_nanos() / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1500;

    fn metrics(rate: u64, quantum: u64, window: u64) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.pacing_rate = Some(rate);
        metrics.send_quantum = Some(quantum);
        metrics.congestion_window = window;
        metrics
    }

    /// That of 1 Gbit/s: a packet takes 12 us.
    fn bucket(window: u64) -> Bucket {
        let paced = metrics(125_000_000, 60_000, window * PACKET);
        Bucket::of(&paced, PACKET).expect("a fast path")
    }

    fn room(quantum: &mut Quantum, now: Instant, bucket: Bucket) -> usize {
        quantum.room(now, Some(bucket)).expect("a number").get()
    }

    #[test]
    fn a_fast_path_waits_for_a_quantum() {
        let (now, mut quantum) = (Instant::now(), Quantum::default());
        // A quarter of the window is 60 packets.
        let paced = bucket(240);
        assert_eq!(room(&mut quantum, now, paced), 60);
        quantum.after_transmit(now, 59 * PACKET, paced);
        assert!(!quantum.is_waiting(now), "one more may leave");
        quantum.after_transmit(now, PACKET, paced);
        let until = now + Duration::from_micros(480);
        assert!(quantum.is_waiting(now) && !quantum.is_waiting(until));
        assert_eq!(quantum.after(Some(now)), Some(until));
        assert_eq!(room(&mut quantum, until, paced), 40);
        assert_eq!(quantum.after(Some(now)), Some(now));
    }

    #[test]
    fn a_pause_that_is_over_is_no_deadline_without_a_bucket() {
        let (now, mut quantum) = (Instant::now(), Quantum::default());
        let paced = bucket(240);
        quantum.room(now, Some(paced));
        quantum.after_transmit(now, 60 * PACKET, paced);
        let until = quantum.after(None).expect("waits");
        // The connection has several paths now.
        assert_eq!(quantum.room(until, None), None);
        assert_eq!(
            quantum.after(None),
            None,
            "nothing is to be done at its end"
        );
    }

    #[test]
    fn a_late_thread_catches_up_by_a_part_of_the_window() {
        let now = Instant::now();
        for (window, most) in [(20, 20), (160, 40), (240, 60), (100_000, 83)] {
            let (mut quantum, paced) = (Quantum::default(), bucket(window));
            quantum.room(now, Some(paced));
            quantum.after_transmit(now, 83 * PACKET, paced);
            let late = now + Duration::from_millis(30);
            assert_eq!(room(&mut quantum, late, paced), most, "{window}");
        }
    }

    #[test]
    fn on_average_it_is_the_rate() {
        let (start, mut quantum) = (Instant::now(), Quantum::default());
        let paced = bucket(400);
        let (mut now, mut sent) = (start, 0);
        while now < start + Duration::from_secs(1) {
            let batch = room(&mut quantum, now, paced) as u64 * PACKET;
            quantum.after_transmit(now, batch, paced);
            sent += batch;
            // Woken up 100 us late each time.
            now = quantum.after(None).expect("waits") + Duration::from_micros(100);
        }
        assert!((124_900_000..125_200_000).contains(&sent), "{sent}");
    }

    #[test]
    fn a_slow_path_does_not_wait_and_neither_do_bursts() {
        let (now, mut quantum) = (Instant::now(), Quantum::default());
        let mut bursts = metrics(1_000_000_000, 0, 100 * PACKET);
        bursts.send_quantum = None;
        for slow in [
            metrics(FAST - 1, 15_000, 100 * PACKET),
            ControllerMetrics::default(),
            bursts,
        ] {
            let bucket = Bucket::of(&slow, PACKET);
            assert!(bucket.is_none());
            assert_eq!(quantum.room(now, bucket), None);
            assert!(!quantum.is_waiting(now));
        }
    }
}
