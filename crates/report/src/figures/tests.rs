//! Figures of short runs, compared with values calculated by hand.

use super::*;
use crate::figure::{Form, Panel, Plot, Series};
use crate::rows;
use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;

/// All figures of a scenario.
fn drawn(text: &str) -> Vec<Figure> {
    let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
    let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
    let all = figures(&runs, &runs);
    all.iter().for_each(sound);
    let mut ids: Vec<&str> = all.iter().map(|f| f.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len(), "ids are not alike");
    all
}

/// Checks the properties that the page relies on.
fn sound(figure: &Figure) {
    assert!(!figure.title.is_empty() && figure.caption.ends_with('.'));
    let link = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
    assert!(figure.id.chars().all(link), "{}", figure.id);
    let Plot::Panels { panels, .. } = &figure.plot else {
        return;
    };
    assert!(!panels.is_empty());
    for series in panels.iter().flat_map(|panel| &panel.series) {
        let n = series.points.len();
        assert!(n > 0 && n <= 402, "{} has {n} points", series.label);
        assert!(series.points.iter().flatten().all(|x| x.is_finite()));
        for list in [series.spread.len(), series.notes.len()] {
            assert!(list == 0 || list == n, "{}", series.label);
        }
    }
}

fn find<'a>(all: &'a [Figure], id: &str) -> &'a Figure {
    let found = all.iter().find(|figure| figure.id == id);
    found.unwrap_or_else(|| {
        panic!(
            "no {id} among {:?}",
            all.iter().map(|f| &f.id).collect::<Vec<_>>()
        )
    })
}

fn panels(figure: &Figure) -> &[Panel] {
    match &figure.plot {
        Plot::Panels { panels, .. } => panels,
        other => panic!("{other:?}"),
    }
}

fn series<'a>(panel: &'a Panel, form: Form, label: &str) -> &'a Series {
    let found = panel
        .series
        .iter()
        .find(|s| s.form == form && s.label == label);
    found.unwrap_or_else(|| panic!("no {label} in {}", panel.y.label))
}

const STEPS: &str = r#"
[link.L]
rate = [["0 s", "8 Mbit/s"], ["10 s", "4 Mbit/s"]]
delay = "50 ms"
queue = "40 packets"
loss = { outages = [["15 s", "16 s"]] }
[[flow]]
route = ["L"]
[run]
duration = "20 s"
sample = "10 ms"
[sweep]
"flow.controller" = ["newreno", "bbr"]
"#;

#[test]
fn figures_over_time_have_capacity_base_rtt_and_buffer_size() {
    let all = drawn(STEPS);
    let time = panels(find(&all, "time"));
    let names: Vec<&str> = time.iter().map(|panel| panel.y.label.as_str()).collect();
    assert_eq!(
        names,
        ["congestion window", "rate", "smoothed RTT", "queue"]
    );
    let [_, rate, rtt, queue] = time else {
        panic!("four panels")
    };
    let capacity = series(rate, Form::Shade, "capacity");
    let steps = [
        [0.0, 8.0],
        [10.0, 4.0],
        [15.0, 0.0],
        [16.0, 4.0],
        [20.0, 4.0],
    ];
    assert_eq!(
        (rate.y.unit.as_str(), capacity.points.as_slice()),
        ("Mbit/s", &steps[..])
    );
    assert_eq!(capacity.protocol, None);
    // From 5 s to 9 s NewReno fills 8 Mbit/s with segments of 1448 of 1500 bytes, except for losses
    // to a full queue.
    let goodput = &series(rate, Form::Line, "newreno").points;
    let then = goodput
        .iter()
        .filter(|p| (5.0..9.0).contains(&p[0]))
        .map(|p| p[1]);
    let mean = then.clone().sum::<f64>() / then.count() as f64;
    assert!((7.2..7.73).contains(&mean), "{mean}");
    let base = series(rtt, Form::Dashed, "base RTT");
    assert_eq!(base.points, [[0.0, 100.0], [20.0, 100.0]]);
    // 40 packets of 1500 bytes at 4 Mbit/s: 120 ms; 3 ms for the packet in service, and 40 ms for a
    // delayed acknowledgment.
    let srtt = &series(rtt, Form::Line, "newreno").points;
    let before = srtt.iter().filter(|p| p[0] < 15.0).map(|p| p[1]);
    let most = before.clone().fold(0.0, f64::max);
    assert!(
        (190.0..264.0).contains(&most) && before.fold(1e9, f64::min) >= 100.0,
        "{most}"
    );
    let buffer = series(queue, Form::Dashed, "buffer size");
    assert_eq!(
        (queue.y.unit.as_str(), buffer.points[0][1]),
        ("packets", 40.0)
    );
    let waited = series(queue, Form::Line, "newreno").points.iter();
    assert_eq!(waited.map(|p| p[1]).fold(0.0, f64::max), 40.0);
}

#[test]
fn a_buffer_in_bytes_is_drawn_in_the_unit_of_its_queue() {
    let all = drawn(&STEPS.replace("40 packets", "60 kB"));
    let [_, _, _, queue] = panels(find(&all, "time")) else {
        panic!("four panels")
    };
    assert_eq!(queue.y.unit, "kB");
    let buffer = series(queue, Form::Dashed, "buffer size");
    assert_eq!(buffer.points, [[0.0, 60.0], [20.0, 60.0]]);
    let waited = series(queue, Form::Line, "newreno").points.iter();
    let most = waited.map(|p| p[1]).fold(0.0, f64::max);
    assert!((58.0..=60.0).contains(&most), "{most}");
}

#[test]
fn marks_show_when_losses_were_detected_and_repaired() {
    let all = drawn(STEPS);
    let cwnd = &panels(find(&all, "time"))[0];
    let timeout = series(cwnd, Form::Marks, "newreno, timeout");
    // The outage begins at 15 s; the timer is at least a second.
    assert!(
        timeout.points.iter().any(|p| (16.0..18.0).contains(&p[0])),
        "{timeout:?}"
    );
    assert!(
        timeout.notes[0].starts_with("window "),
        "{}",
        timeout.notes[0]
    );
    assert_eq!(timeout.protocol.as_deref(), Some("newreno"));
}

#[test]
fn a_sequence_ends_with_the_delivered_data() {
    let all = drawn(STEPS);
    let panel = &panels(find(&all, "sequence"))[0];
    let scenario = Scenario::parse(STEPS, Path::new("a.toml")).expect("a scenario");
    let run = whimbrel_sim::run(&scenario.points()[0].network(1));
    let line = series(panel, Form::Line, "newreno");
    let last = line.points[line.points.len() - 1];
    // The last sample is at the end, or a sample before it: 10 ms.
    let delivered = run.flows[0].delivered.get() as f64 * 1e-6;
    assert!(
        (last[1] / delivered - 1.0).abs() < 0.005,
        "{last:?} {delivered}"
    );
    let sent = series(panel, Form::Dashed, "newreno, sent")
        .points
        .last()
        .expect("some")[1];
    assert!(sent > last[1], "headers and retransmissions count");
}

const SWEEP: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "1 bdp"
[[flow]]
count = 2
route = ["L"]
[run]
duration = "5 s"
seeds = 3
[sweep]
"link.L.loss" = ["2 %", "0 %"]
"link.L.delay" = ["10 ms", "50 ms", "100 ms"]
"flow.controller" = ["cubic", "cerl"]
"#;

#[test]
fn figures_of_a_sweep_agree_with_its_table() {
    let all = drawn(SWEEP);
    let scenario = Scenario::parse(SWEEP, Path::new("a.toml")).expect("a scenario");
    let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
    let goodput = |loss: &str, delay: &str, controller: &str| {
        let rows = rows(&runs);
        let at = |row: &&crate::Row| {
            let values: Vec<String> = row.parameters.iter().map(|p| p.value.to_string()).collect();
            values == [loss, delay, controller]
        };
        let stat = rows.iter().find(at).expect("a row").goodput;
        (stat.mean * 1e-6, stat.sd.expect("three seeds") * 1e-6)
    };
    let over = find(&all, "over-loss");
    assert_eq!(over.title, "Over loss, delay 50 ms");
    let line = series(&panels(over)[0], Form::MarkedLine, "cerl");
    assert_eq!(
        (line.points[0][0], line.points[1][0]),
        (0.0, 2.0),
        "in order"
    );
    let (mean, sd) = goodput("2 %", "50 ms", "cerl");
    assert!((line.points[1][1] / mean - 1.0).abs() < 1e-4);
    assert!((line.spread[1] / sd - 1.0).abs() < 1e-3);
    let names: Vec<&str> = panels(over).iter().map(|p| p.y.label.as_str()).collect();
    let expected = [
        "goodput",
        "95th percentile of the one-way delay",
        "packets lost",
    ];
    assert_eq!(names, expected);
    // The second cell of the first row: three columns of delay, which has more values, and two rows
    // of loss, in their order in the scenario; relative to 10 Mbit/s.
    let Plot::Heat { x, y, maps, .. } = &find(&all, "map-utilization-delay-loss").plot else {
        panic!("a map")
    };
    assert_eq!((x.values.len(), y.values.len(), maps.len()), (3, 2, 2));
    let cell = maps[1].cells[1].expect("measured");
    assert_eq!(maps[1].label, "cerl");
    assert!((cell / (mean * 10.0) - 1.0).abs() < 1e-4, "{cell} {mean}");
}

#[test]
fn each_run_is_a_mark_of_throughput_against_delay() {
    let all = drawn(SWEEP);
    let titles: Vec<&str> = all
        .iter()
        .filter(|f| f.id.starts_with("tradeoff"))
        .map(|f| f.title.as_str())
        .collect();
    // The first, the last and one between of six settings.
    let expected = [
        "Throughput against delay, loss 2 %, delay 10 ms",
        "Throughput against delay, loss 2 %, delay 100 ms",
        "Throughput against delay, loss 0 %, delay 100 ms",
    ];
    assert_eq!(titles, expected);
    let panel = &panels(find(&all, "tradeoff"))[0];
    let marks = series(panel, Form::Marks, "cubic");
    assert_eq!(marks.notes, ["seed 1", "seed 2", "seed 3"]);
    // Propagation takes 10 ms and transmission 1.2 ms; the queue adds at most 20 ms, or a packet of
    // 1.2 ms if that is longer.
    assert!(
        marks
            .points
            .iter()
            .all(|p| p[0] >= 11.0 && p[0] < 34.0 && p[1] < 9.7),
        "{marks:?}"
    );
    let outline = series(panel, Form::Outline, "cubic");
    assert_eq!(outline.points.first(), outline.points.last());
}

#[test]
fn figures_without_data_are_left_out() {
    let all = drawn(
        "[link.L]\nrate = \"5 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\n[run]\nduration = \"2 s\"\n",
    );
    assert_eq!(
        all,
        [],
        "one run without samples shows nothing beyond its row"
    );
}

#[test]
fn shares_of_flows_on_a_link_add_up_to_one() {
    let all = drawn(
        r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "1 bdp"
[[flow]]
controller = "newreno"
count = 2
route = ["L"]
[[flow]]
controller = "cubic"
start = "5 s"
route = ["L"]
[run]
duration = "20 s"
sample = "20 ms"
"#,
    );
    let [stack, fair] = panels(find(&all, "shares")) else {
        panic!("two panels")
    };
    assert_eq!(stack.series.len(), 3);
    for i in 0..stack.series[0].points.len() {
        let whole: f64 = stack.series.iter().map(|s| s.points[i][1]).sum();
        assert!((whole - 100.0).abs() < 0.02, "{whole}");
    }
    let cubic = series(stack, Form::Stack, "cubic #3");
    let before = cubic.points.iter().filter(|p| p[0] < 4.9);
    assert!(before.clone().count() > 10 && before.clone().all(|p| p[1] == 0.0));
    let jain = series(fair, Form::Line, "Jain's index");
    // The index of three flows is between 1/3 and 1.
    assert!(jain.points.iter().all(|p| (0.333..=1.0).contains(&p[1])));
    // All three are shown over time by name, and the queue that they share once.
    let time = panels(find(&all, "time"));
    let labels: Vec<&str> = time[1].series.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(labels, ["capacity", "newreno #1", "newreno #2", "cubic"]);
    let queues = time[3].series.iter().filter(|s| s.form == Form::Line);
    assert_eq!(
        queues.map(|s| s.label.as_str()).collect::<Vec<_>>(),
        ["queue of L"]
    );
}

#[test]
fn distributions_contain_all_measurements() {
    let all = drawn(
        r#"
[link.L]
rate = "20 Mbit/s"
delay = "25 ms"
loss = "1 %"
[[flow]]
controller = "newreno"
count = 3
messages = { size = "5 kB", every = "20 ms", count = 100 }
route = ["L"]
[run]
duration = "10 s"
seeds = 2
sample = "20 ms"
"#,
    );
    let line = |id: &str| {
        let panel = &panels(find(&all, id))[0];
        panel.series[0].points.clone()
    };
    for id in [
        "rtt-cdf",
        "delay-cdf",
        "message-cdf",
        "goodput-cdf",
        "completion-cdf",
    ] {
        let points = line(id);
        assert_eq!(
            (points[0][1], points[points.len() - 1][1]),
            (0.0, 100.0),
            "{id}"
        );
        assert!(
            points
                .windows(2)
                .all(|p| p[0][0] <= p[1][0] && p[0][1] <= p[1][1]),
            "{id}"
        );
    }
    // At least 25 ms of propagation and 0.6 ms for 1500 bytes, less for the rest of a message.
    let least = line("delay-cdf")[0][0];
    assert!((25.0..25.7).contains(&least), "{least}");
    // Three flows with two seeds.
    let steps = line("completion-cdf").len();
    assert_eq!(steps, 1 + 6);
    // 99 messages after the first, one every 20 ms, and the delay of the last one.
    assert!(line("completion-cdf")[0][0] > 1.98 + 0.025);
}

#[test]
fn flows_that_do_not_complete_are_flows_too() {
    // 4 Mbit/s carry 5 MB in 10 s: the small files arrive, the large one does not.
    let all = drawn(
        r#"
[link.L]
rate = "4 Mbit/s"
delay = "10 ms"
[[flow]]
controller = "newreno"
count = 4
size = "50 kB"
route = ["L"]
[[flow]]
controller = "newreno"
size = "50 MB"
route = ["L"]
[[flow]]
controller = "newreno"
messages = { size = "100 kB", every = "10 ms", count = 1000 }
route = ["L"]
[[flow]]
controller = "newreno"
route = ["L"]
[run]
duration = "10 s"
"#,
    );
    let figure = find(&all, "completion-cdf");
    let points = &panels(figure)[0].series[0].points;
    // The endless flow is none of them.
    assert!(
        (points[points.len() - 1][1] - 400.0 / 6.0).abs() < 1e-2,
        "{points:?}"
    );
    let says = " Not all completed: 4 of 6 of newreno.";
    assert!(figure.caption.ends_with(says), "{}", figure.caption);
    assert!(!find(&all, "goodput-cdf").caption.contains("completed"));
}

#[test]
fn decisions_are_summed_over_all_runs() {
    let all = drawn(SWEEP);
    let scenario = Scenario::parse(SWEEP, Path::new("a.toml")).expect("a scenario");
    let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
    let told = runs.iter().flat_map(|run| &run.outcome.flows);
    let random: u64 = told
        .filter_map(|f| f.discrimination)
        .map(|c| c.random())
        .sum();
    let Plot::Confusion { matrices } = &find(&all, "confusion").plot else {
        panic!("matrices")
    };
    let [cerl] = matrices.as_slice() else {
        panic!("only CERL is asked")
    };
    assert_eq!(cerl.random_as_random + cerl.random_as_congestion, random);
    assert!(random > 100, "{random}");
    // CERL gives no confidence: each wrong decision costs 1.
    let wrong = cerl.random_as_congestion + cerl.congestion_as_random;
    let all = random + cerl.congestion_as_congestion + cerl.congestion_as_random;
    assert_eq!(cerl.brier, Some(wrong as f64 / all as f64));
}

#[test]
fn each_path_of_a_connection_has_its_line_and_its_capacity() {
    let all = drawn(
        r#"
[link.wifi]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
[link.lte]
rate = "4 Mbit/s"
delay = "40 ms"
queue = "1 bdp"
[[flow]]
controller = "newreno"
routes = [["wifi"], ["lte"]]
[run]
duration = "10 s"
sample = "10 ms"
"#,
    );
    let rate = &panels(find(&all, "time"))[1];
    let carried = |label| series(rate, Form::Shade, label).points[0][1];
    assert_eq!(
        (carried("capacity of wifi"), carried("capacity of lte")),
        (5.0, 4.0)
    );
    series(rate, Form::Line, "newreno, wifi");
    series(rate, Form::Line, "newreno, lte");
}

#[test]
fn a_controller_is_labelled_with_those_that_it_ran_beside() {
    let all = drawn(
        r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "1 bdp"
[[flow]]
name = "new"
route = ["L"]
[[flow]]
controller = "newreno"
route = ["L"]
[run]
duration = "5 s"
seeds = 2
[sweep]
"flow.new.controller" = ["cubic", "bbr"]
"#,
    );
    let panel = &panels(find(&all, "tradeoff"))[0];
    let labels: Vec<&str> = panel.series.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(
        labels,
        ["cubic", "newreno beside cubic", "bbr", "newreno beside bbr"]
    );
}
