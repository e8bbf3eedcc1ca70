//! Scenarios that are made of types instead of a file.

use super::*;
use whimbrel_units::Probability;

/// One CUBIC flow over 8 Mbit/s, 50 ms each way.
fn typed() -> ScenarioSpec {
    let rate = Written::parse("--rate", "8 Mbit/s").expect("a rate");
    let rtt = Written::parse("--rtt", "100 ms").expect("a time");
    let mut link = Link::new("L");
    link.forward = Direction {
        rate: Some(constant_rate(&rate).expect("above zero")),
        delay: Some(half_of(&rtt)),
        queue: Some(Written::parse("--queue", "1 bdp").expect("a queue")),
        ..Direction::default()
    };
    let flow = Flow::new(Written::parse("--controller", "cubic").expect("one"));
    ScenarioSpec::on(link, vec![flow], Run::default())
}

#[test]
fn types_and_a_file_are_the_same_scenario() {
    let mut spec = typed();
    let losses = ["0 %", "1 %"].map(|text| Written::parse("--loss", text).expect("a fraction"));
    spec.sweep
        .push(Axis::new("link.L.loss", &losses, |spec, loss| {
            let random: Probability = loss.value;
            spec.links[0].forward.loss = Some(loss.with(Loss::random(random)));
        }));
    let controllers = ["cubic", "enhanced-aatp"];
    let controllers = controllers.map(|text| Written::parse("--controllers", text).expect("one"));
    spec.sweep.push(Axis::new(
        "flow.controller",
        &controllers,
        |spec, controller| {
            if let Some(data) = spec.flows[0].data_mut() {
                data.controller = controller;
            }
        },
    ));
    let typed = Scenario::new(&spec).expect("a scenario");
    let read = parse(&spec.to_string());
    assert_eq!(typed.points().len(), 4);
    for (typed, read) in typed.points().iter().zip(read.points()) {
        assert_eq!(typed.parameters(), read.parameters());
        assert_eq!(
            format!("{:?}", typed.network(1)),
            format!("{:?}", read.network(1))
        );
    }
}

#[test]
fn errors_name_the_flag_that_the_value_came_from() {
    let error = |change: fn(&mut ScenarioSpec)| {
        let mut spec = typed();
        change(&mut spec);
        Scenario::new(&spec).expect_err("a mistake").to_string()
    };
    let queue = error(|spec| spec.links[0].forward.rate = None);
    assert!(
        queue.starts_with("--queue: a queue in `bdp` needs a `rate`"),
        "{queue}"
    );
    let duration = error(|spec| spec.run.duration = Written::of("--duration", Duration::ZERO));
    assert_eq!(duration, "--duration: must be greater than zero");
    let flows = error(|spec| spec.flows[0].count = Written::of("--flows", 1_000_000));
    assert_eq!(flows, "--flows: must be from 0 to 100000, not 1000000");
    let streams = error(|spec| {
        spec.flows[0] = Flow::new(Written::parse("c", "enhanced-aatp").expect("one"));
        let data = spec.flows[0].data_mut().expect("data");
        data.streams = Some(Written::of("streams", 2));
    });
    assert!(
        streams.starts_with("streams: `enhanced-aatp` runs over AATP"),
        "{streams}"
    );
    let rate = Written::parse("--rate", "0 bit/s").expect("a rate");
    let zero = constant_rate(&rate).expect_err("zero").to_string();
    assert!(
        zero.starts_with("--rate: must be greater than zero"),
        "{zero}"
    );
    let unknown = Written::<Duration>::parse("rtt", "5 lightyears").expect_err("no time");
    assert_eq!((unknown.place(), unknown.key()), ("", "rtt"));
}

#[test]
fn a_path_alone_is_as_in_the_simulator() {
    let spec = typed();
    let [forward, reverse] = spec.links[0]
        .path(whimbrel_units::Bytes::new(1500))
        .expect("a path");
    let network = Scenario::new(&spec).expect("a scenario").points()[0].network(1);
    assert_eq!(&forward, link(&network, "L"));
    assert_eq!(&reverse, link(&network, "L (reverse)"));
}
