//! The generated cellular path: deterministic, with the mean rate it was given, and with statistics
//! in the bands of recorded paths.

use whimbrel_net::{Cellular, STALL, Trace};
use whimbrel_units::{Duration, Rate};

fn draw(path: &Cellular, seconds: u64, seed: u64) -> (Trace, Trace) {
    let path = path
        .draw(Duration::from_secs(seconds), seed)
        .expect("a path");
    let own = |trace: std::sync::Arc<Trace>| std::sync::Arc::into_inner(trace).expect("one owner");
    (own(path.forward), own(path.reverse))
}

/// Without stalls and hand-overs.
fn steady() -> Cellular {
    Cellular {
        stall_interval: Duration::from_secs(1 << 30),
        handover_interval: Duration::from_secs(1 << 30),
        ..Cellular::default()
    }
}

#[test]
fn a_seed_decides_the_whole_path() {
    let of = |seed| draw(&Cellular::default(), 30, seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).0, of(2).0);
    assert_ne!(of(1).0, of(1).1);
}

#[test]
fn the_mean_rate_is_the_one_that_was_given() {
    // A log-normal rate with s = 0.6 has a relative deviation of 0.66; over 2000 s with a
    // correlation time of 1.5 s the mean is within some percent.
    let (down, up) = draw(&steady(), 2000, 3);
    for (trace, given) in [(down, 12e6), (up, 6e6)] {
        let ratio = trace.mean_rate().as_bits_per_sec() as f64 / given;
        assert!((0.92..1.08).contains(&ratio), "{ratio}");
    }
}

#[test]
fn without_fading_every_window_has_the_same_rate() {
    let path = Cellular {
        fading: 0.0,
        share: 1.0,
        rate: Rate::from_bits_per_sec(12_032_000), // an opportunity each millisecond
        ..steady()
    };
    let (down, up) = draw(&path, 10, 1);
    let windows = down.windows();
    assert!(windows.iter().all(|rate| (rate - 12.032).abs() < 1e-9));
    // Upwards an opportunity takes 2 ms: two or three at each multiple of 5 ms.
    let gap = up.statistics().gap;
    assert!((gap.p5 - 5.0).abs() < 1e-9 && (gap.p95 - 5.0).abs() < 1e-9);
}

#[test]
fn both_ways_stall_as_often_as_they_should() {
    let (down, up) = draw(&Cellular::default(), 4000, 5);
    // A stall each 7 s plus its length, two thirds of them in each direction, and hand-overs and
    // slots without a grant make few gaps of 100 ms.
    for trace in [down, up] {
        let statistics = trace.statistics();
        let interval = statistics.stall_interval().expect("stalls").as_secs_f64();
        assert!((9.5..12.5).contains(&interval), "{interval} s");
        assert!(statistics.stall.p5 >= STALL.as_millis_f64());
        // Pareto: half of the stalls last more than 100 ms * 2^(1/1.35).
        assert!((150.0..195.0).contains(&statistics.stall.median));
        assert!((2000.0..5100.0).contains(&statistics.stall.max));
    }
}

#[test]
fn the_statistics_are_those_of_recorded_paths() {
    for seed in 1..4 {
        let (down, _) = draw(&Cellular::default(), 300, seed);
        let statistics = down.statistics();
        // Of 14 recorded directions: 0.60 to 1.34 with empty windows counted as 50 kbit/s, and 0.13
        // to 0.72; time in stalls 0.1 to 17 %.
        assert!((0.45..1.2).contains(&statistics.fading), "{statistics:?}");
        assert!(
            (0.13..0.75).contains(&statistics.persistence),
            "{statistics:?}"
        );
        assert!((0.005..0.17).contains(&statistics.stalled));
    }
}

#[test]
fn what_was_not_granted_before_a_stall_is_lost() {
    // A grant each 100 ms on average, which carries what came since the last one, and each second a
    // stall: 94 % of the time, less a tenth of a second's worth of two stalls of three.
    let path = Cellular {
        fading: 0.0,
        share: 0.01,
        stall: (Duration::from_millis(100), Duration::from_millis(100)),
        stall_interval: Duration::from_secs(1),
        ..steady()
    };
    let (down, _) = draw(&path, 2000, 1);
    let ratio = down.mean_rate().as_bits_per_sec() as f64 / 12e6;
    assert!((0.86..0.90).contains(&ratio), "{ratio}");
}

#[test]
fn another_cell_has_another_rate() {
    let path = Cellular {
        share: 1.0,
        coherence: Duration::from_secs(1 << 30),
        handover_interval: Duration::from_secs(10),
        ..steady()
    };
    let (down, _) = draw(&path, 1000, 1);
    // About a hundred cells, whose rates differ as `fading` says.
    let statistics = down.statistics();
    assert!((0.4..0.8).contains(&statistics.fading), "{statistics:?}");
}

#[test]
fn a_mistake_says_what_is_out_of_range() {
    let wrong: [(Cellular, &str); 5] = [
        (
            Cellular {
                rate: Rate::ZERO,
                ..steady()
            },
            "a rate",
        ),
        (
            Cellular {
                share: 0.0,
                ..steady()
            },
            "share",
        ),
        (
            Cellular {
                slot: Duration::ZERO,
                ..steady()
            },
            "slot",
        ),
        (
            Cellular {
                stall: (Duration::from_secs(2), Duration::from_secs(1)),
                ..steady()
            },
            "minimum",
        ),
        (
            Cellular {
                fading: f64::NAN,
                ..steady()
            },
            "fading",
        ),
    ];
    for (path, expected) in wrong {
        let why = path.draw(Duration::from_secs(1), 1).expect_err(expected);
        assert!(why.contains(expected), "{why}");
    }
    let path = Cellular::default();
    assert!(path.draw(Duration::ZERO, 1).is_err());
    assert!(path.draw(Duration::from_secs(3600 * 24), 1).is_err());
}

#[test]
fn a_path_of_nothing_but_gaps_is_refused_before_it_takes_memory() {
    let stalls = Cellular {
        stall: (Duration::from_nanos(1), Duration::from_nanos(1)),
        stall_interval: Duration::from_nanos(2),
        ..steady()
    };
    let handovers = Cellular {
        pause: (Duration::ZERO, Duration::from_nanos(1)),
        handover_interval: Duration::from_nanos(2),
        ..steady()
    };
    for path in [stalls, handovers] {
        let why = path
            .draw(Duration::from_secs(1), 1)
            .expect_err("a billion gaps");
        assert!(why.contains("stalls and hand-overs"), "{why}");
    }
}
