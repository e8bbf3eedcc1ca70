//! Verus's delay profile (section 4 of the paper): the delay that goes with each number of packets outstanding.
//!
//! Points: for each outstanding window a running average of the delays seen with it, `d = 7/8*d + 1/8*sample`, as the
//! authors' `wList`. Windows of less than 64 packets have a point each; above, 32 points share each doubling, up to 2^20
//! packets, and a point averages its windows too. 512 points in all, whatever is sent.
//!
//! Curve: made from the points once per second. The paper fits a cubic spline (ALGLIB), the code a penalised one.
//!
//! **Departure.** Here it is the nondecreasing curve that is nearest to the points (isotonic regression by pooling
//! adjacent violators), joined by straight lines. More packets outstanding never wait less, so whatever falls is noise or
//! out of date; a spline passes that on as a curve that cannot be inverted, and the authors' sender starts over when it
//! cannot find its delay on it. A point weighs what was seen of it lately: the count of its samples, halved at each new
//! curve. So when the path changes, what is seen now overrules its neighbours from before, and a point that is not seen
//! any more goes. And what was seen above a window that lost packets goes at once, as the authors' `curveStop` does at
//! the end of slow start. The paper forgets nothing.
//!
//! Beyond the curve's ends delay is taken as proportional to the window, which it is where a queue stands before a constant
//! rate. Units: packets and seconds.

/// Log2 of the points for each doubling.
const DETAIL: u32 = 5;
/// Points for each doubling.
const PER_DOUBLING: u64 = 1 << DETAIL;
/// Windows from 2^20 packets on share the last point.
const GREATEST: u64 = (1 << 20) - 1;
/// One for each window below 32, then 15 doublings.
const POINTS: usize = 512;
/// Weight of the old in a point's running average.
const KEEP: f64 = 7.0 / 8.0;
/// A point that weighs less is forgotten.
const LEAST_WEIGHT: f64 = 1.0 / 64.0;

/// The delay profile.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    points: Vec<Point>,
    /// Knots of the curve, delay and window ascending.
    curve: Vec<Knot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Point {
    window: f64,
    delay: f64,
    /// Samples, the older the less; 0: never seen, or forgotten.
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

    /// A packet that was sent with `window` packets outstanding, itself included, took `delay` seconds, more than zero.
    pub fn add(&mut self, window: u64, delay: f64) {
        let point = &mut self.points[index(window)];
        let window = window.clamp(1, GREATEST) as f64;
        let keep = if point.weight > 0.0 { KEEP } else { 0.0 };
        point.window = keep * point.window + (1.0 - keep) * window;
        point.delay = keep * point.delay + (1.0 - keep) * delay;
        point.weight += 1.0;
    }

    /// Makes the curve anew from the points.
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

    /// What has been seen so far counts half from here on.
    pub fn age(&mut self) {
        for point in &mut self.points {
            point.weight /= 2.0;
            if point.weight < LEAST_WEIGHT {
                point.weight = 0.0;
            }
        }
    }

    /// Windows above this one are not known any more.
    pub fn forget_above(&mut self, window: u64) {
        for point in &mut self.points[index(window) + 1..] {
            point.weight = 0.0;
        }
    }

    /// The window, in packets, that goes with a delay in seconds; `None` before there is a curve.
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

    /// The delay, in seconds, that goes with a window in packets; `None` before there is a curve.
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
    /// One knot in the place of two that contradict each other.
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

/// The point of a window.
fn index(window: u64) -> usize {
    let window = window.clamp(1, GREATEST);
    let doublings = window.ilog2().saturating_sub(DETAIL);
    let at = u64::from(doublings) * PER_DOUBLING + (window >> doublings);
    at as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of these points: window, delay in ms, samples.
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
    fn between_its_points_it_is_straight_and_beyond_them_proportional() {
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
    fn points_that_contradict_each_other_become_one_by_weight() {
        // 60 ms at 20 packets, seen once, and 40 ms at 40, seen three times.
        let profile = profile(&[(20, 60.0, 1), (40, 40.0, 3)]);
        near(profile.delay(35.0), 0.045);
        near(profile.window(0.045), 35.0);
    }

    #[test]
    fn what_is_seen_now_overrules_what_was_seen_long_ago_until_that_is_forgotten() {
        let mut profile = profile(&[(60, 60.0, 8)]);
        for _ in 0..6 {
            profile.age();
        }
        // 8 samples, halved six times, against 7 that say that 30 packets already take longer.
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
    fn after_a_loss_nothing_is_known_above_its_window() {
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
        for window in (0..200_000).chain([GREATEST, GREATEST + 1, u64::MAX]) {
            let at = index(window);
            assert!(
                at == last || at == last + 1 || window >= GREATEST,
                "{window}"
            );
            assert!(at < POINTS);
            last = at;
        }
        assert!((1..64).all(|window| index(window) == window as usize));
        assert_eq!((index(64), index(65), index(66)), (64, 64, 65));
    }

    #[test]
    fn the_curve_rises_whatever_the_points_are() {
        // Delays that jump about: (i*7919) mod 1009 has no order.
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
