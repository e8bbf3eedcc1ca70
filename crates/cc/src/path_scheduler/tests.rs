use super::*;
use proptest::prelude::*;

fn view(mbps: u64, rtt_ms: u64) -> PathView {
    PathView {
        srtt: Duration::from_millis(rtt_ms),
        rttvar: Duration::ZERO,
        rate: Rate::from_bits_per_sec(mbps * 1_000_000),
    }
}

#[test]
fn the_lowest_rtt_is_first_and_an_unknown_one_last() {
    let paths = [view(1, 0), view(1, 600), view(1, 30)];
    let mut order = [0, 1, 2];
    Scheduler::order(&mut order, |path| paths[path]);
    assert_eq!(order, [2, 1, 0]);
}

#[test]
fn a_slow_path_sends_while_much_waits_and_not_the_last_data() {
    // 50 Mbit/s x 30 ms beside 600 ms: 570 ms of the fast path are 3.56 MB.
    let (fast, slow) = (view(50, 30), view(20, 600));
    let mut scheduler = Scheduler::default();
    let mut sends = |bytes| scheduler.sends(1, &slow, &[fast], Bytes::new(bytes));
    assert!(sends(10_000_000) && sends(3_570_000));
    assert!(!sends(3_550_000) && !sends(0));
    assert!(!sends(3_600_000), "hysteresis");
    assert!(sends(5_000_000));
}

#[test]
fn all_faster_paths_count() {
    let (fast, middle, slow) = (view(50, 30), view(50, 100), view(20, 600));
    let sends =
        |faster: &[PathView]| Scheduler::default().sends(2, &slow, faster, Bytes::new(4_000_000));
    assert!(sends(&[fast]) && sends(&[middle]));
    assert!(!sends(&[fast, middle]));
}

#[test]
fn a_path_of_the_same_rtt_always_sends() {
    let same = view(20, 40);
    assert!(Scheduler::default().sends(1, &same, &[same], Bytes::ZERO));
    let unknown = view(0, 0);
    assert!(Scheduler::default().sends(1, &same, &[unknown], Bytes::ZERO));
}

#[test]
fn an_idle_path_brings_the_last_data_of_a_slow_one_if_it_is_sooner() {
    // 30 ms twice, and 1 MB at 50 Mbit/s: 220 ms.
    let fast = view(50, 30);
    let ms = Duration::from_millis;
    let one = Bytes::new(1_000_000);
    assert!(overtakes(&fast, one, ms(241)));
    assert!(!overtakes(&fast, one, ms(239)), "too little is gained");
    assert!(!overtakes(&fast, one, ms(100)) && !overtakes(&view(50, 0), one, ms(900)));
    assert!(!overtakes(&view(0, 30), one, ms(900)), "it carries nothing");
}

proptest! {
    /// The time for which the equation of the rule holds.
    #[test]
    fn the_time_solves_the_equation(
        paths in prop::collection::vec((1u64..1000, 1u64..2000), 1..5),
        bytes in 0u64..100_000_000,
    ) {
        let paths: Vec<_> = paths.into_iter().map(|(rate, rtt)| view(rate, rtt)).collect();
        let at = time_to_deliver(&paths, Bytes::new(bytes)).expect("they deliver");
        let brought: f64 = paths.iter().map(|path| {
            let span = (at - path.srtt.as_secs_f64()).max(0.0);
            path.rate.as_bytes_per_sec() as f64 * span
        }).sum();
        prop_assert!((brought - bytes as f64).abs() < 1.0 + bytes as f64 * 1e-9);
    }
}
