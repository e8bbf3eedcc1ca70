//! The formulas beside the simulated runs, as a table and as a figure.

use super::{MODELLED, PathFacts, Point, Results};
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::{Response, response};
use whimbrel_report::{Stat, fill, plain_without};

/// The table.
pub fn text(results: &Results) -> String {
    let heads = [
        "controller",
        "packet\nerror %",
        "simulated\n%",
        "chain\n%",
        "+ flight\n%",
        "(15) (16)\n%",
        "PFTK\n%",
        "Mathis\n%",
    ]
    .map(str::to_owned);
    let right = [false, true, true, true, true, true, true, true];
    let lines: Vec<Vec<String>> = results.points.iter().map(line).collect();
    let heading = format!(
        "{}; 100 % is {:.3} Mbit/s of payload",
        title(&results.path),
        results.path.payload_bps / 1e6,
    );
    let table = plain_without(&["Mathis\n%"], &heads, &right, &lines);
    format!("{}\n\n{table}", fill(&heading, " "))
}

fn title(path: &PathFacts) -> String {
    let PathFacts {
        rate_bps,
        rtt_s,
        pipe_packets,
        buffer_packets,
        packet_bytes,
        ..
    } = path;
    format!(
        "{} Mbit/s, RTT {:.1} ms: the link holds {pipe_packets} packets of {packet_bytes} B, \
         its buffer {buffer_packets}",
        *rate_bps as f64 / 1e6,
        rtt_s * 1e3,
    )
}

/// Throughput over the packet error probability; `None` with fewer than two probabilities.
pub fn figure(results: &Results) -> Option<Figure> {
    let points = &results.points;
    let mut all: Vec<Response> = MODELLED
        .iter()
        .map(|modelled| band(points, modelled.controller))
        .collect();
    all.push(closed_form(points, "PFTK", |point| point.pftk));
    all.push(closed_form(points, "Mathis", |point| point.mathis));
    response(
        &title(&results.path),
        "packet error probability",
        "utilization",
        &all,
    )
}

/// From the chain to the chain with the flight, and the simulated values.
fn band(points: &[Point], controller: &str) -> Response {
    let own = || points.iter().filter(|point| point.controller == controller);
    let mean = |point: &Point| Some((point.packet_error, Stat::of(&point.simulated)?.mean));
    Response {
        label: controller.to_owned(),
        protocol: Some(controller.to_owned()),
        predicted: own()
            .map(|point| (point.packet_error, point.chain, point.with_flight))
            .collect(),
        measured: own().filter_map(mean).collect(),
    }
}

fn closed_form(points: &[Point], name: &str, of: fn(&Point) -> Option<f64>) -> Response {
    let at = |point: &Point| {
        let share = of(point)?;
        Some((point.packet_error, share, share))
    };
    Response {
        label: name.to_owned(),
        protocol: None,
        predicted: points.iter().filter_map(at).collect(),
        measured: Vec::new(),
    }
}

fn line(point: &Point) -> Vec<String> {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let maybe = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let simulated = Stat::of(&point.simulated);
    vec![
        point.controller.to_owned(),
        format!("{:.3}", point.packet_error * 100.0),
        simulated.map_or_else(|| "-".to_owned(), |stat| stat.show(100.0, 1)),
        percent(point.chain),
        percent(point.with_flight),
        percent(point.equation),
        maybe(point.pftk),
        maybe(point.mathis),
    ]
}
