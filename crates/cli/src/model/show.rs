//! The text, JSON and picture of `model`.

use super::theory::{Prediction, Theory};
use super::{FLOWS, Flow, ModelArgs};
use serde::Serialize;
use whimbrel_report::figures::{Response, response};
use whimbrel_report::{Stat, fill, plain_without};
use whimbrel_units::Probability;

/// All results.
#[derive(Serialize)]
pub struct Results {
    path: PathJson,
    points: Vec<Point>,
}

/// The path, in base units.
#[derive(Serialize)]
struct PathJson {
    rate_bps: u64,
    rtt_s: f64,
    packet_bytes: u64,
    /// Payload that the link carries.
    payload_bps: f64,
    pipe_packets: u64,
    buffer_packets: u64,
    min_rto_s: f64,
    recovery: String,
    duration_s: f64,
}

/// One flow at one packet error probability; fractions of the capacity of the link.
#[derive(Serialize)]
struct Point {
    controller: &'static str,
    packet_error: f64,
    /// One value for each seed.
    simulated: Vec<f64>,
    chain: f64,
    with_flight: f64,
    equation: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pftk: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mathis: Option<f64>,
}

impl Results {
    /// Combines models and simulation.
    pub fn new(
        args: &ModelArgs,
        errors: Vec<Probability>,
        theory: Theory,
        measured: Vec<Vec<Vec<f64>>>,
    ) -> Self {
        let rate = args.rate.as_bits_per_sec();
        let packet = args.packet().get();
        let path = PathJson {
            rate_bps: rate,
            rtt_s: theory.path.rtt(),
            packet_bytes: packet,
            payload_bps: rate as f64 * args.mss.get() as f64 / packet as f64,
            pipe_packets: theory.path.pipe(),
            buffer_packets: args.buffer(),
            min_rto_s: args.min_rto.as_secs_f64(),
            recovery: args.recovery.clone(),
            duration_s: args.duration.as_secs_f64(),
        };
        let mut points = Vec::new();
        for ((flow, predicted), measured) in FLOWS.iter().zip(theory.flows).zip(measured) {
            for ((error, predicted), simulated) in errors.iter().zip(predicted).zip(measured) {
                let Prediction {
                    chain,
                    with_flight,
                    equation,
                    pftk,
                    mathis,
                } = predicted;
                points.push(Point {
                    controller: flow.controller,
                    packet_error: error.get(),
                    simulated,
                    chain,
                    with_flight,
                    equation,
                    pftk,
                    mathis,
                });
            }
        }
        Self { path, points }
    }

    /// The table.
    pub fn text(&self) -> String {
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
        let lines: Vec<Vec<String>> = self.points.iter().map(line).collect();
        let heading = format!(
            "{}; 100 % is {:.3} Mbit/s of payload",
            self.title(),
            self.path.payload_bps / 1e6,
        );
        let table = plain_without(&["Mathis\n%"], &heads, &right, &lines);
        format!("{}\n\n{table}", fill(&heading, " "))
    }

    fn title(&self) -> String {
        let PathJson {
            rate_bps,
            rtt_s,
            pipe_packets,
            buffer_packets,
            packet_bytes,
            ..
        } = &self.path;
        format!(
            "{} Mbit/s, RTT {:.1} ms: the link holds {pipe_packets} packets of {packet_bytes} B, \
             its buffer {buffer_packets}",
            *rate_bps as f64 / 1e6,
            rtt_s * 1e3,
        )
    }

    /// The picture; `None` with fewer than two packet error probabilities.
    pub fn picture(&self) -> Option<String> {
        let mut all: Vec<Response> = FLOWS.iter().map(|flow| self.band(flow)).collect();
        all.push(self.closed_form("PFTK", |point| point.pftk));
        all.push(self.closed_form("Mathis", |point| point.mathis));
        let figure = response(
            &self.title(),
            "packet error probability",
            "utilization",
            &all,
        )?;
        Some(whimbrel_report::svg(&[figure]))
    }

    /// From the chain to the chain with the flight, and the simulated values.
    fn band(&self, flow: &Flow) -> Response {
        let points = || {
            let points = self.points.iter();
            points.filter(|point| point.controller == flow.controller)
        };
        let mean = |point: &Point| Some((point.packet_error, Stat::of(&point.simulated)?.mean));
        Response {
            label: flow.controller.to_owned(),
            protocol: Some(flow.controller.to_owned()),
            predicted: points()
                .map(|point| (point.packet_error, point.chain, point.with_flight))
                .collect(),
            measured: points().filter_map(mean).collect(),
        }
    }

    fn closed_form(&self, name: &str, of: fn(&Point) -> Option<f64>) -> Response {
        let at = |point: &Point| {
            let share = of(point)?;
            Some((point.packet_error, share, share))
        };
        Response {
            label: name.to_owned(),
            protocol: None,
            predicted: self.points.iter().filter_map(at).collect(),
            measured: Vec::new(),
        }
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
