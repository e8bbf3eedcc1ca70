//! Delays that change, and recorded traces.

use super::*;
use whimbrel_net::{Delay, DelayTrace, JitterDistribution, Noise, QueueLimit, ServiceSpec};
use whimbrel_units::Bytes;

#[test]
fn paths_of_traces_are_relative_to_the_scenario() {
    let folder = std::env::temp_dir().join(format!("whimbrel-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("t"), "0\n1\n2\n").expect("a trace");
    let text = "[link.L]\nrate = { trace = \"t\" }\nqueue = \"1 bdp\"\n[[flow]]\nroute = [\"L\"]\n";
    let path = folder.join("scenario.toml");
    let scenario = Scenario::parse(text, &path).expect("a scenario");
    assert!(matches!(
        link(&scenario.points()[0].network(1), "L").service,
        ServiceSpec::Trace(_)
    ));
    let fail = |name: &str| {
        let text = text.replace("\"t\"", &format!("{name:?}"));
        Scenario::parse(&text, &path)
            .expect_err("no trace")
            .to_string()
    };
    assert!(fail("u").contains("cannot read the trace"), "{}", fail("u"));
    assert!(
        fail("/dev/zero").ends_with("the trace /dev/zero is not a file"),
        "{}",
        fail("/dev/zero")
    );
    std::fs::write(folder.join("bad"), "0\n1\nx\n").expect("a file");
    assert!(
        fail("bad").ends_with("bad: line 3: `x` is not a whole number of milliseconds"),
        "{}",
        fail("bad")
    );
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn a_recorded_delay_keeps_the_order_of_packets_by_default() {
    let folder = std::env::temp_dir().join(format!("whimbrel-delay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("d"), "10\n20.5\n11.5\n").expect("a trace");
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = { trace = \"d\", every = \"10 ms\" }\nqueue = \"1 bdp\"\n\
                reverse = { delay = \"1 ms\" }\n[[flow]]\nroute = [\"L\"]\n";
    let path = folder.join("scenario.toml");
    let read = |text: &str| Scenario::parse(text, &path).map(|s| s.points()[0].network(1));
    let network = read(text).expect("a scenario");
    let forward = link(&network, "L");
    let row = DelayTrace::parse("10\n20.5\n11.5").expect("a trace");
    let recorded = Delay::recorded(Duration::from_millis(10), row).expect("intervals");
    assert_eq!(forward.delay, recorded);
    // 8 Mbit/s x (14 ms + 1 ms), where 14 ms is the mean.
    assert_eq!(forward.queue, QueueLimit::Bytes(Bytes::new(15_000)));
    let free = read(&text.replace("queue", "keep_order = false\nqueue")).expect("a scenario");
    assert_eq!(link(&free, "L").delay, recorded.in_order(false));
    let refused = |text: &str| read(text).expect_err("wrong").to_string();
    std::fs::write(folder.join("bad"), "10\n\n11\n").expect("a file");
    let found = refused(&text.replace("\"d\"", "\"bad\""));
    assert!(
        found.ends_with("bad: line 2: `` is not a delay in milliseconds, from 0 to an hour"),
        "{found}"
    );
    let found = refused(&text.replace("10 ms", "0 s"));
    assert!(
        found.ends_with(
            "link.L.delay.every: a delay must hold for longer than zero before the next"
        ),
        "{found}"
    );
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn steps_of_a_delay_can_repeat() {
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = { every = \"15 s\", steps = [\"25 ms\", \"40 ms\"] }\n\
                queue = \"1 bdp\"\n[[flow]]\nroute = [\"L\"]\n";
    let steps = [25, 40].map(Duration::from_millis).to_vec();
    let row = DelayTrace::new(steps).expect("two");
    let cycle = Delay::cycle(Duration::from_secs(15), row).expect("steps");
    let plain = network(text);
    for name in ["L", "L (reverse)"] {
        assert_eq!(link(&plain, name).delay, cycle);
        // 8 Mbit/s x 80 ms, the maximum.
        assert_eq!(
            link(&plain, name).queue,
            QueueLimit::Bytes(Bytes::new(80_000))
        );
    }
    let kept = network(&text.replace("queue", "keep_order = true\nqueue"));
    for name in ["L", "L (reverse)"] {
        assert_eq!(link(&kept, name).delay, cycle.clone().in_order(true));
    }
}

/// The forward and reverse delay of a link with this line.
fn delays(line: &str) -> [Delay; 2] {
    let network = network(&format!(
        "[link.L]\nrate = \"8 Mbit/s\"\nqueue = \"1 bdp\"\n{line}\n[[flow]]\nroute = [\"L\"]\n"
    ));
    ["L", "L (reverse)"].map(|name| link(&network, name).delay.clone())
}

#[test]
fn a_delay_with_noise_has_defaults_and_each_direction_may_have_its_own() {
    let noise = Noise {
        base: Duration::from_millis(20),
        jitter: Duration::from_millis(4),
        distribution: JitterDistribution::Exponential,
        every: Duration::from_millis(5),
        batch: Duration::ZERO,
    };
    let both = delays("delay = { base = \"20 ms\", jitter = \"4 ms\" }");
    assert_eq!(both, [Delay::noisy(noise), Delay::noisy(noise)]);
    assert!(both[0].keeps_order());
    let [forward, reverse] = delays(
        "delay = \"20 ms\"\nreverse = { delay = { base = \"20 ms\", batch = \"10 ms\", \
         distribution = \"pareto\" } }",
    );
    assert_eq!(forward, Delay::constant(Duration::from_millis(20)));
    let batches = Noise {
        jitter: Duration::ZERO,
        distribution: JitterDistribution::Pareto,
        batch: Duration::from_millis(10),
        ..noise
    };
    assert_eq!(reverse, Delay::noisy(batches));
    // The mean: 20 ms, and half a batch.
    assert_eq!(reverse.nominal(), Duration::from_millis(25));
}

#[test]
fn mistakes_in_noise_are_explained() {
    for (line, why) in [
        (
            "delay = { jitter = \"4 ms\" }",
            "link.L.delay.jitter: needs `base`",
        ),
        (
            "delay = { base = \"1 ms\", jitter = \"4 ms\", distribution = \"expo\" }",
            "unknown distribution `expo`, did you mean `exponential`?",
        ),
        (
            "delay = { base = \"1 ms\", every = \"0 s\" }",
            "link.L.delay.every: must be greater than zero",
        ),
        (
            "delay = { base = \"1 ms\", steps = [\"2 ms\"] }",
            "link.L.delay.steps: cannot be combined with `base`",
        ),
        (
            "delay = { base = \"1 ms\", jiter = \"2 ms\" }",
            "unknown key `jiter`, did you mean `jitter`?",
        ),
    ] {
        let text = format!("[link.L]\n{line}\n[[flow]]\nroute = [\"L\"]\n");
        let found = error(&text);
        assert!(found.contains(why), "expected {why}\nfound {found}");
    }
}
