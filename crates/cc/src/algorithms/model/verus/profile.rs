//! Verus's delay profile (section 4 of the paper): the delay for each number of packets
//! outstanding.
//!
//! Points: for each window outstanding a running average of its delays, `d = 7/8*d + 1/8*sample`,
//! as the authors' `wList`. Windows of less than 64 packets have one point each; above, 32 points
//! share each doubling, up to 2^20 packets, and a point averages its windows too. There are 512
//! points in all.
//!
//! Curve: computed from the points once per second. The paper fits a cubic spline (ALGLIB), the
//! code a penalised one.
//!
//! **Departure.** Here the curve is the nondecreasing one closest to the points (isotonic
//! regression by pooling adjacent violators), joined by straight lines. More packets outstanding
//! never wait less, so any decrease is noise or out of date. A spline turns that into a curve that
//! cannot be inverted, and the authors' sender starts over when it cannot find its delay on it. The
//! weight of a point is its number of recent samples, halved at each renewal. So when the path
//! changes, new points outweigh old neighbours, and a point without samples disappears. Points
//! above a window that lost packets are removed at once, as the authors' `curveStop` does at the
//! end of slow start. The paper forgets nothing.
//!
//! Beyond the ends of the curve, delay is taken as proportional to the window, which holds for a
//! queue at a constant rate. Units: packets and seconds.

/// Log2 of the number of points per doubling.
const DETAIL: u32 = 5;
/// Number of points per doubling.
const PER_DOUBLING: u64 = 1 << DETAIL;
/// Windows from 2^20 packets on share the last point.
const MAX_WINDOW: u64 = (1 << 20) - 1;
/// One point for each window below 32, then 15 doublings.
const POINTS: usize = 512;
/// Weight of the old value in a point's running average.
const KEEP: f64 = 7.0 / 8.0;
/// A point with less weight is removed.
const MIN_WEIGHT: f64 = 1.0 / 64.0;

/// The delay profile.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    points: Vec<Point>,
    /// Knots of the curve, ascending in delay and window.
    curve: Vec<Knot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Point {
    window: f64,
    delay: f64,
    /// Number of samples with decreasing weight for older ones; 0: no samples, or removed.
    weight: f64,
}

#[derive(Debug, Clone, Copy)]
struct Knot {
    window: f64,
    delay: f64,
    weight: f64,
}

impl Profile {
    pub fn new() -> Self {
        Self {
            points: vec![Point::default(); POINTS],
            curve: Vec::with_capacity(POINTS),
        }
    }

    /// Adds the delay of a packet that was sent with `window` packets outstanding, itself included;
    /// `delay` is in seconds, above zero.
    pub fn add(&mut self, window: u64, delay: f64) {
        let point = &mut self.points[index(window)];
        let window = window.clamp(1, MAX_WINDOW) as f64;
        let keep = if point.weight > 0.0 { KEEP } else { 0.0 };
        point.window = keep * point.window + (1.0 - keep) * window;
        point.delay = keep * point.delay + (1.0 - keep) * delay;
        point.weight += 1.0;
    }

    /// Computes the curve from the points.
    pub fn interpolate(&mut self) {
        self.curve.clear();
        for point in self.points.iter().filter(|p| p.weight > 0.0) {
            let mut knot = Knot {
                window: point.window,
                delay: point.delay,
                weight: point.weight,
            };
            while let Some(last) = self.curve.pop_if(|last| last.delay >= knot.delay) {
                knot = last.pooled(knot);
            }
            self.curve.push(knot);
        }
    }

    /// Halves the weight of all samples so far.
    pub fn age(&mut self) {
        for point in &mut self.points {
            point.weight /= 2.0;
            if point.weight < MIN_WEIGHT {
                point.weight = 0.0;
            }
        }
    }

    /// Removes the points of windows above `window`.
    pub fn forget_above(&mut self, window: u64) {
        for point in &mut self.points[index(window) + 1..] {
            point.weight = 0.0;
        }
    }

    /// The window in packets for a delay in seconds; `None` before there is a curve.
    pub fn window(&self, delay: f64) -> Option<f64> {
        let above = self.curve.partition_point(|knot| knot.delay <= delay);
        let (a, b) = match (above.checked_sub(1), self.curve.get(above)) {
            (None, None) => return None,
            (None, Some(end)) => return Some(end.window * delay / end.delay),
            (Some(i), None) => return Some(self.curve[i].window * delay / self.curve[i].delay),
            (Some(i), Some(b)) => (self.curve[i], b),
        };
        let share = (delay - a.delay) / (b.delay - a.delay);
        Some(a.window + share * (b.window - a.window))
    }

    /// The delay in seconds for a window in packets; `None` before there is a curve.
    pub fn delay(&self, window: f64) -> Option<f64> {
        let above = self.curve.partition_point(|knot| knot.window <= window);
        let (a, b) = match (above.checked_sub(1), self.curve.get(above)) {
            (None, None) => return None,
            (None, Some(end)) => return Some(end.delay * window / end.window),
            (Some(i), None) => return Some(self.curve[i].delay * window / self.curve[i].window),
            (Some(i), Some(b)) => (self.curve[i], b),
        };
        let share = (window - a.window) / (b.window - a.window);
        Some(a.delay + share * (b.delay - a.delay))
    }
}

impl Knot {
    /// One knot in place of two that violate the order.
    fn pooled(self, other: Self) -> Self {
        let weight = self.weight + other.weight;
        let mean = |a: f64, b: f64| (a * self.weight + b * other.weight) / weight;
        Self {
            window: mean(self.window, other.window),
            delay: mean(self.delay, other.delay),
            weight,
        }
    }
}

/// The index of a window's point.
fn index(window: u64) -> usize {
    let window = window.clamp(1, MAX_WINDOW);
    let doublings = window.ilog2().saturating_sub(DETAIL);
    let at = u64::from(doublings) * PER_DOUBLING + (window >> doublings);
    at as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of these points: window, delay in ms, number of samples.
    fn profile(points: &[(u64, f64, usize)]) -> Profile {
        let mut profile = Profile::new();
        for (window, delay, samples) in points {
            for _ in 0..*samples {
                profile.add(*window, delay / 1000.0);
            }
        }
        profile.interpolate();
        profile
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("there is a curve");
        assert!((found - expected).abs() < 1e-6, "{found}");
    }

    #[test]
    fn the_curve_is_linear_between_points_and_proportional_beyond() {
        let profile = profile(&[(32, 50.0, 1), (64, 100.0, 1), (80, 140.0, 1)]);
        near(profile.window(0.075), 48.0);
        near(profile.window(0.1), 64.0);
        near(profile.window(0.12), 72.0);
        near(profile.window(0.28), 160.0);
        near(profile.window(0.025), 16.0);
        near(profile.delay(48.0), 0.075);
        near(profile.delay(160.0), 0.28);
        near(profile.delay(16.0), 0.025);
    }

    #[test]
    fn a_point_is_a_running_average_with_weight_one_eighth() {
        let mut profile = profile(&[(40, 80.0, 1)]);
        profile.add(40, 0.040);
        profile.interpolate();
        near(profile.delay(40.0), 0.075);
    }

    #[test]
    fn points_that_violate_the_order_are_pooled_by_weight() {
        // 60 ms at 20 packets, with one sample, and 40 ms at 40, with three.
        let profile = profile(&[(20, 60.0, 1), (40, 40.0, 3)]);
        near(profile.delay(35.0), 0.045);
        near(profile.window(0.045), 35.0);
    }

    #[test]
    fn new_samples_outweigh_old_ones() {
        let mut profile = profile(&[(60, 60.0, 8)]);
        for _ in 0..6 {
            profile.age();
        }
        // 8 samples, halved six times, against 7 samples with a longer delay at 30 packets already.
        for _ in 0..7 {
            profile.add(30, 0.1);
        }
        profile.interpolate();
        let delay = profile.delay(30.0).expect("there is a curve");
        assert!((0.09..0.1).contains(&delay), "{delay}");
        for _ in 0..4 {
            profile.age();
        }
        profile.interpolate();
        near(profile.delay(30.0), 0.1);
    }

    #[test]
    fn a_loss_removes_the_points_above_its_window() {
        let mut profile = profile(&[(20, 40.0, 1), (40, 50.0, 1), (60, 90.0, 1)]);
        profile.forget_above(40);
        profile.interpolate();
        near(profile.delay(40.0), 0.05);
        near(profile.delay(60.0), 0.075);
    }

    #[test]
    fn without_points_there_is_no_curve() {
        assert_eq!(profile(&[]).window(0.1), None);
        assert_eq!(profile(&[]).delay(10.0), None);
    }

    #[test]
    fn windows_of_every_size_have_a_point_in_ascending_order() {
        let mut last = 0;
        for window in (0..200_000).chain([MAX_WINDOW, MAX_WINDOW + 1, u64::MAX]) {
            let at = index(window);
            assert!(
                at == last || at == last + 1 || window >= MAX_WINDOW,
                "{window}"
            );
            assert!(at < POINTS);
            last = at;
        }
        assert!((1..64).all(|window| index(window) == window as usize));
        assert_eq!((index(64), index(65), index(66)), (64, 64, 65));
    }

    #[test]
    fn the_curve_rises_for_any_points() {
        // Delays without any order: (i*7919) mod 1009.
        let mut profile = Profile::new();
        for i in 1..20_000u64 {
            profile.add((i * 31) % 5000, ((i * 7919) % 1009 + 1) as f64 / 1000.0);
        }
        profile.interpolate();
        let rises = |f: &dyn Fn(f64) -> Option<f64>, scale: f64| {
            (1..3000).all(|i| f(f64::from(i) * scale) < f(f64::from(i + 1) * scale))
        };
        assert!(rises(&|delay| profile.window(delay), 0.001));
        assert!(rises(&|window| profile.delay(window), 2.0));
    }
}
