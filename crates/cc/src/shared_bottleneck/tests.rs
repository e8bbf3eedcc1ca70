use super::*;

/// Queues that paths fill, in steps of a millisecond.
struct Model {
    /// The paths share one queue.
    common: bool,
    /// By path: its part of the bottleneck's rate.
    parts: [f64; 2],
    /// The queue without a pause at a time, s.
    level: fn(f64) -> f64,
    /// By path: what its pause keeps back of its own queue, s.
    kept: [f64; 2],
    /// Milliseconds in which each path did not send.
    idle: [u32; 2],
    /// Its links have fallen idle for so long, s.
    wasted: f64,
    now: Time,
    /// Acknowledgments on their way.
    coming: Vec<(Time, usize, Duration)>,
    found: SharedBottleneck,
}

const BASE: [u64; 2] = [40, 60];

impl Model {
    fn new(common: bool, parts: [f64; 2], level: fn(f64) -> f64) -> Self {
        Self {
            common,
            parts,
            level,
            kept: [0.0; 2],
            idle: [0; 2],
            wasted: 0.0,
            now: Time::ZERO,
            coming: Vec::new(),
            found: SharedBottleneck::default(),
        }
    }

    fn queue(&self, path: usize, at: f64) -> f64 {
        let kept = match self.common {
            true => self.kept[0] * self.parts[0] + self.kept[1] * self.parts[1],
            false => self.kept[path],
        };
        (self.level)(at) - kept
    }

    /// The queue is what the application has in the windows; `waiting`: more waits.
    fn run(&mut self, seconds: u64, waiting: bool) {
        for _ in 0..seconds * 1000 {
            self.now += Duration::from_millis(1);
            let now = self.now;
            let (arrived, coming) = self.coming.iter().partition(|(at, ..)| *at <= now);
            self.coming = coming;
            let arrived: Vec<(Time, usize, Duration)> = arrived;
            for (at, path, rtt) in arrived {
                let sample = PathSample {
                    at,
                    rtt,
                    min_rtt: Duration::from_millis(BASE[path]),
                    cwnd: Bytes::new(100_000),
                    rate: Rate::from_bits_per_sec((20e6 * self.parts[path]) as u64),
                };
                self.found.on_sample(path as u32, &sample);
            }
            self.found.advance(now, waiting);
            let mut sends = vec![0, 1];
            self.found.keep(now, &mut sends, |path| path as u32);
            for path in 0..2 {
                if !sends.contains(&path) {
                    self.kept[path] += 1e-3;
                    self.idle[path] += 1;
                    continue;
                }
                // The window lets all at once that a pause kept back.
                self.kept[path] = 0.0;
            }
            for path in sends {
                let queue = self.queue(path, now.as_secs_f64());
                self.wasted += (-queue).max(0.0);
                let rtt =
                    Duration::from_millis(BASE[path]) + Duration::from_secs_f64(queue.max(0.0));
                self.coming.push((now + rtt, path, rtt));
            }
        }
    }

    fn standing_by(&self) -> [bool; 2] {
        [0, 1].map(|path| self.found.carrier(path).is_some())
    }
}

/// CUBIC's sawtooth, roughly: 20 to 60 ms in 4 s.
fn sawtooth(at: f64) -> f64 {
    0.02 + 0.01 * (at % 4.0)
}

/// The same with 2 ms of noise.
fn noisy(at: f64) -> f64 {
    let noise = ((at * 1000.0).sin() * 43_758.545).fract().abs();
    sawtooth(at) + 0.002 * noise
}

#[test]
fn of_two_paths_with_one_queue_the_slower_stands_by() {
    for level in [sawtooth, noisy] {
        let mut model = Model::new(true, [0.5, 0.3], level);
        model.run(12, true);
        assert_eq!(model.standing_by(), [false, true]);
        assert!(model.idle[0] < 400, "{} ms of pauses", model.idle[0]);
        // Another flow has a third.
        let mut model = Model::new(true, [0.3, 0.35], level);
        model.run(12, true);
        assert_eq!(model.standing_by(), [true, false]);
    }
}

#[test]
fn queues_that_move_alike_are_not_one() {
    for level in [sawtooth, noisy] {
        let mut model = Model::new(false, [1.0, 1.0], level);
        for _ in 0..300 {
            model.run(1, true);
            assert_eq!(model.standing_by(), [false, false]);
        }
        let pauses = model.idle[0] + model.idle[1];
        assert!((20..2000).contains(&pauses), "{pauses} ms of 300 s");
        assert_eq!(model.wasted, 0.0, "no link falls idle");
    }
}

#[test]
fn a_path_stands_by_for_a_minute_and_longer_when_that_is_confirmed() {
    let mut model = Model::new(true, [0.5, 0.3], sawtooth);
    model.run(12, true);
    let before = model.idle[1];
    model.run(68, true);
    let by = model.idle[1] - before;
    assert!((45_000..66_000).contains(&by), "{by} ms");
    assert_eq!(model.standing_by(), [false, true], "found again");
    let before = model.idle[1];
    model.run(100, true);
    assert_eq!(model.idle[1] - before, 100_000, "two minutes this time");
}

#[test]
fn when_the_routes_have_changed_both_paths_carry_again() {
    let mut model = Model::new(true, [0.5, 0.3], sawtooth);
    model.run(12, true);
    assert_eq!(model.standing_by(), [false, true]);
    model.common = false;
    model.run(65, true);
    assert_eq!(model.standing_by(), [false, false]);
    model.run(100, true);
    assert_eq!(model.standing_by(), [false, false]);
}

#[test]
fn a_path_that_stands_by_carries_when_the_other_cannot() {
    let mut model = Model::new(true, [0.5, 0.3], sawtooth);
    model.run(12, true);
    let usable = |model: &Model, mut paths: Vec<u32>| {
        model.found.keep(model.now, &mut paths, |path| path);
        paths
    };
    assert_eq!(usable(&model, vec![0, 1]), [0]);
    assert_eq!(usable(&model, vec![1]), [1], "the other one is silent");
    model.found.forget(0);
    assert_eq!(model.standing_by(), [false, false]);
}

#[test]
fn nothing_is_tried_while_nothing_waits_or_no_queue_is_there() {
    let mut model = Model::new(true, [0.5, 0.3], sawtooth);
    model.run(30, false);
    assert_eq!(model.idle, [0, 0]);
    let mut model = Model::new(true, [0.5, 0.3], |_| 0.004);
    model.run(30, true);
    assert_eq!(model.idle, [0, 0]);
}

#[test]
fn a_window_that_changes_spoils_a_trial() {
    let sample = |at: u64, cwnd: u64| PathSample {
        at: Time::ZERO + Duration::from_millis(at),
        rtt: Duration::from_millis(60),
        min_rtt: Duration::from_millis(20),
        cwnd: Bytes::new(cwnd),
        rate: Rate::from_bits_per_sec(10_000_000),
    };
    let first = sample(0, 100_000);
    let paths = [(0, &first), (1, &first)];
    let pause = pause_of(&first).expect("long enough");
    assert_eq!(pause, Duration::from_millis(32));
    let mut trial = Trial::new(Time::ZERO, paths[0], pause, &paths[1..]);
    trial.on_sample(1, &sample(10, 80_000));
    assert!(!trial.disturbed);
    trial.on_sample(1, &sample(20, 70_000));
    assert!(trial.disturbed);
}
