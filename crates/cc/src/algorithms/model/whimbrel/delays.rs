//! What the round-trip times say about the path: base, standing queue, noise.
//!
//! * **Base RTT** T: the minimum of this drain period and of the two before it (`drain.rs`). A path
//!   that became a little longer is therefore believed after three drains, and one drain that other
//!   flows disturb changes nothing.
//! * **Standing RTT**: the minimum of about the last round trip, as Copa's, but over one round trip
//!   instead of half of one, and over 50 ms at most (`mod.rs` says why). A queue that lasts for
//!   less is not standing: bursts, aggregated acknowledgments, and the pulses with which BBR
//!   probes. The price is a later response to a queue that grows: one round trip, which `mod.rs`
//!   accounts for in the stability of the fixed point.
//! * **Noise**: how much the minimum RTT changes from one eighth of that time to the next, on
//!   average over a round trip, in nearly all round trips. A queue cannot change that fast: windows
//!   change it over several round trips, so in an eighth of one by a small part. A Wi-Fi channel, a
//!   scheduler's slots and acknowledgments in batches do. Eighths without a sample are left out: a
//!   slow flow has a few samples in a round trip, and if those did not count, a flow that jitter
//!   has made slow would believe that there is none, and stay slow. An expectile over the round
//!   trips: it follows falls ten times faster than rises, so that what comes and goes is not noise.
//!   That alone needs fifty round trips to learn what a path is like. So the noise is at least what
//!   each of the last [`STEADY`] round trips has shown. Flows of one kind swing around their fixed
//!   point with a period of about twelve round trips; in each half of it their queue turns, and
//!   does not change then.
//!
//! Units: seconds.

use super::{higher, lower};

/// Parts of a round trip in which minima are kept.
const SLICES: usize = 8;

/// How many of them are recent, of those with a sample: a quarter of a round trip. A path that
/// passes packets on in batches delays the first one of a batch most, and its batches may be more
/// than a slice apart.
const RECENT: usize = 2;

/// Drain periods that are remembered.
const PERIODS: usize = 3;

/// How fast the noise is believed to rise and to fall, per round trip.
const NOISE_GAINS: (f64, f64) = (0.02, 0.2);

/// Round trips in a row whose least change is noise at once.
const STEADY: u32 = 6;

/// A change by more than this, s, is an event, not noise.
const MAX_NOISE: f64 = 0.05;

/// Round trips after which the longest queue is forgotten, on average.
const MEMORY: f64 = 500.0;

/// The delays of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delays {
    /// The minimum of each slice, the newest first; infinite without a sample.
    slices: [f64; SLICES],
    /// The minimum of all but the newest, which only the end of a slice changes.
    older: f64,
    slice_began: f64,
    standing: f64,
    /// Minima of the drain periods, the present one first.
    periods: [f64; PERIODS],
    base: f64,
    seen: f64,
    noise: f64,
    /// The least change of the latest round trips, and how many these are.
    steady: (f64, u32),
    /// The minimum of the latest slice with a sample; infinite without one in a round trip.
    previous: f64,
    /// The sum and the number of the changes between slices in this round trip.
    changes: (f64, f64),
    longest: f64,
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, lower)
}

impl Delays {
    pub fn new() -> Self {
        Self {
            slices: [f64::INFINITY; SLICES],
            older: f64::INFINITY,
            slice_began: 0.0,
            standing: f64::INFINITY,
            periods: [f64::INFINITY; PERIODS],
            base: f64::INFINITY,
            seen: 0.0,
            noise: 0.0,
            steady: (f64::INFINITY, 0),
            previous: f64::INFINITY,
            changes: (0.0, 0.0),
            longest: 0.0,
        }
    }

    /// Processes a sample; `span`: the time over which the standing RTT is the minimum, at most a
    /// round trip. The base RTT counts as seen if the sample is within `tolerance` of it.
    pub fn add(&mut self, now: f64, rtt: f64, span: f64, tolerance: f64) {
        self.periods[0] = lower(self.periods[0], rtt);
        self.base = lower(self.base, rtt);
        if rtt <= self.base + tolerance {
            self.seen = now;
        }
        let slice = higher(span / SLICES as f64, 1e-6);
        if now - self.slice_began >= slice {
            let passed = (now - self.slice_began) / slice;
            self.begin_slice(now, passed.min(SLICES as f64) as usize);
        }
        self.slices[0] = lower(self.slices[0], rtt);
        self.standing = lower(self.older, self.slices[0]);
        self.longest = higher(self.longest, self.standing - self.base);
    }

    /// Begins the slice that comes so many after the present one.
    #[inline(never)]
    fn begin_slice(&mut self, now: f64, passed: usize) {
        self.end_slice(passed == SLICES);
        self.slices.rotate_right(passed % SLICES);
        self.slices[..passed].fill(f64::INFINITY);
        self.older = min(&self.slices[1..]);
        self.slice_began = now;
    }

    /// Ends a slice: its minimum is compared with that of the latest one before it, unless the time
    /// since then is as long as all slices (`late`). In that time a queue changes, too.
    fn end_slice(&mut self, late: bool) {
        let min = self.slices[0];
        if self.previous.is_finite() {
            self.changes.0 += (min - self.previous).abs().min(MAX_NOISE);
            self.changes.1 += 1.0;
        }
        self.previous = if late { f64::INFINITY } else { min };
    }

    /// Ends a round trip. Its changes count as noise if `learn`.
    pub fn on_round(&mut self, learn: bool) {
        self.longest -= self.longest / MEMORY;
        let (sum, count) = std::mem::take(&mut self.changes);
        if learn && count > 0.0 {
            self.learn(sum / count);
        }
    }

    /// Learns from the average change of a round trip.
    fn learn(&mut self, change: f64) {
        let (up, down) = NOISE_GAINS;
        let gain = if change > self.noise { up } else { down };
        self.noise += gain * (change - self.noise);
        let (least, rounds) = self.steady;
        self.steady = (lower(least, change), rounds + 1);
        if self.steady.1 >= STEADY {
            self.noise = higher(self.noise, self.steady.0);
            self.steady = (f64::INFINITY, 0);
        }
    }

    /// Whether there was a sample.
    pub fn known(&self) -> bool {
        self.base.is_finite()
    }

    /// Base RTT; infinite before the first sample.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// When it was last seen.
    pub fn seen(&self) -> f64 {
        self.seen
    }

    /// Standing RTT; infinite before the first sample.
    pub fn standing(&self) -> f64 {
        self.standing
    }

    /// The minimum RTT of the last half of a round trip; infinite without a sample.
    pub fn half(&self) -> f64 {
        min(&self.slices[..SLICES / 2])
    }

    /// The delay of the standing queue.
    pub fn queue(&self) -> f64 {
        match self.known() {
            true => self.standing - self.base,
            false => 0.0,
        }
    }

    /// The delay of the queue over the last quarter of a round trip. Where packets come in
    /// `batches`, slices without any do not count.
    pub fn recent_queue(&self, batches: bool) -> f64 {
        if !self.known() {
            return 0.0;
        }
        let slices = self.slices.iter().filter(|it| !batches || it.is_finite());
        slices.take(RECENT).copied().fold(f64::INFINITY, lower) - self.base
    }

    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// The longest standing queue of the last round trips.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// A drain that ends at `now` measured `rtt`: the oldest period is forgotten.
    pub fn end_period(&mut self, now: f64, rtt: f64) {
        self.periods = [rtt, self.periods[0], self.periods[1]];
        self.base = min(&self.periods);
        self.seen = now;
    }

    /// The path is another one since `now`, with this base RTT.
    pub fn rebase(&mut self, now: f64, rtt: f64) {
        self.periods = [rtt; PERIODS];
        self.base = rtt;
        self.seen = now;
        self.longest = 0.0;
        self.slices = [f64::INFINITY; SLICES];
        self.slices[0] = rtt;
        self.older = f64::INFINITY;
        (self.standing, self.previous) = (rtt, rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: f64 = 0.08;

    /// One sample each 5 ms from the delays of `rtts`.
    fn after(rtts: &[f64]) -> Delays {
        let mut delays = Delays::new();
        for (i, rtt) in rtts.iter().enumerate() {
            delays.add(i as f64 * 0.005, *rtt, SRTT, 0.0);
        }
        delays
    }

    #[test]
    fn a_pulse_shorter_than_a_round_trip_is_not_standing() {
        let mut rtts = vec![0.08; 20];
        rtts.extend([0.1; 12]);
        assert_eq!(after(&rtts).queue(), 0.0, "60 ms of 80");
        rtts.extend([0.1; 8]);
        assert!((after(&rtts).queue() - 0.02).abs() < 1e-12, "100 ms");
    }

    #[test]
    fn the_recent_queue_is_seen_within_a_quarter_of_a_round_trip() {
        let mut rtts = vec![0.08; 20];
        rtts.extend([0.1; 6]);
        let delays = after(&rtts);
        assert!((delays.recent_queue(false) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn the_first_packet_of_a_batch_shows_no_queue() {
        let mut delays = after(&[0.08; 20]);
        // The next batch comes after more than a quarter of a round trip.
        delays.add(0.13, 0.1, SRTT, 0.0);
        assert_eq!(delays.recent_queue(true), 0.0);
        assert!((delays.recent_queue(false) - 0.02).abs() < 1e-12);
        delays.add(0.14, 0.1, SRTT, 0.0);
        assert!((delays.recent_queue(true) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_slightly_longer_path_is_believed_after_three_drains() {
        let mut delays = after(&[0.08; 20]);
        for (drain, base) in [(1.0, 0.08), (2.0, 0.08), (3.0, 0.081)] {
            delays.end_period(drain, 0.081);
            assert_eq!(delays.base(), base, "drain {drain}");
        }
    }

    #[test]
    fn a_sample_within_the_tolerance_sees_the_base() {
        let mut delays = after(&[0.08; 2]);
        delays.add(7.0, 0.0805, SRTT, 0.0004);
        assert_eq!(delays.seen(), 0.005);
        delays.add(8.0, 0.0803, SRTT, 0.0004);
        assert_eq!((delays.seen(), delays.base()), (8.0, 0.08));
    }

    /// The noise after 100 round trips of these delays above the base.
    fn noise(delay: impl Fn(f64) -> f64) -> f64 {
        let mut delays = Delays::new();
        for sample in 0..16_000u32 {
            let now = f64::from(sample) * SRTT / 160.0;
            delays.add(now, SRTT + delay(now), SRTT, 0.0);
            if sample % 160 == 159 {
                delays.on_round(true);
            }
        }
        delays.noise()
    }

    #[test]
    fn noise_is_what_changes_faster_than_a_queue() {
        // 2 ms that come and go every 25 ms: a slice is 10 ms.
        let fast = noise(|now| {
            if ((now / 0.025) as u64).is_multiple_of(2) {
                0.0
            } else {
                0.002
            }
        });
        assert!(fast > 0.0003, "{fast}");
        // A queue of 10 ms that builds up and empties within twenty round trips.
        let slow = noise(|now| 0.01 * (1.0 - 2.0 * (now / (20.0 * SRTT) % 1.0 - 0.5).abs()));
        assert!(slow < 0.0002, "{slow}");
    }

    #[test]
    fn a_slow_flow_sees_noise_in_a_few_samples_soon() {
        // Four samples in a round trip, each second one 30 ms late.
        let mut delays = Delays::new();
        for round in 0..STEADY {
            assert!(delays.noise() < 0.02, "round trip {round}");
            for sample in 0..4u32 {
                let now = SRTT * (f64::from(round) + f64::from(sample) / 4.0);
                delays.add(now, SRTT + 0.03 * f64::from(sample % 2), SRTT, 0.0);
            }
            delays.on_round(true);
        }
        assert!(delays.noise() > 0.02, "{}", delays.noise());
        // Round trips without samples, or with one, say nothing.
        let before = delays.noise();
        for round in 0..20u32 {
            delays.add(10.0 + 2.0 * SRTT * f64::from(round), SRTT, SRTT, 0.0);
            delays.on_round(true);
            delays.on_round(true);
        }
        assert_eq!(delays.noise(), before);
    }

    #[test]
    fn a_swing_of_twelve_round_trips_is_not_noise() {
        let swing = |now: f64| 0.01 * (1.0 - (std::f64::consts::TAU * now / (12.0 * SRTT)).cos());
        let noise = noise(swing);
        assert!(noise < 0.0005, "{noise}");
    }

    #[test]
    fn a_queue_that_comes_at_times_is_not_noise() {
        let mut delays = Delays::new();
        for round in 0..400u32 {
            for slice in 0..8u32 {
                let now = f64::from(8 * round + slice) * 0.0101;
                let burst = if round % 20 == 0 {
                    0.01 * f64::from(slice % 2)
                } else {
                    0.0
                };
                delays.add(now, SRTT + burst, SRTT, 0.0);
            }
            delays.on_round(true);
        }
        assert!(delays.noise() < 0.0003, "{}", delays.noise());
    }
}
