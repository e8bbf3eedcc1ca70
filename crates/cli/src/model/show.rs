//! What `model` prints and draws.

use super::theory::{Prediction, Theory};
use super::{FLOWS, ModelArgs};
use serde::Serialize;
use whimbrel_report::{Response, ResponseLine, Stat, plain, response};
use whimbrel_units::Probability;

/// Everything that was found.
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
    /// What the link carries of payload.
    payload_bps: f64,
    pipe_packets: u64,
    buffer_packets: u64,
    min_rto_s: f64,
    recovery: String,
    duration_s: f64,
}

/// One flow at one packet error probability; shares of what the link carries.
#[derive(Serialize)]
struct Point {
    controller: &'static str,
    packet_error: f64,
    /// One for each seed.
    simulated: Vec<f64>,
    chain: f64,
    equation: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pftk: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mathis: Option<f64>,
}

impl Results {
    /// Puts theory and measurement side by side.
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
                    equation,
                    pftk,
                    mathis,
                } = predicted;
                points.push(Point {
                    controller: flow.controller,
                    packet_error: error.get(),
                    simulated,
                    chain,
                    equation,
                    pftk,
                    mathis,
                });
            }
        }
        Self { path, points }
    }

    /// For people.
    pub fn text(&self) -> String {
        let heads = [
            "controller",
            "packet\nerror %",
            "simulated\n%",
            "chain\n%",
            "(15) (16)\n%",
            "PFTK\n%",
            "Mathis\n%",
        ]
        .map(str::to_owned);
        let right = [false, true, true, true, true, true, true];
        let lines: Vec<Vec<String>> = self.points.iter().map(line).collect();
        format!("{}\n\n{}", self.title(), plain(&heads, &right, &lines))
    }

    fn title(&self) -> String {
        let PathJson {
            rate_bps,
            rtt_s,
            payload_bps,
            pipe_packets,
            buffer_packets,
            packet_bytes,
            ..
        } = &self.path;
        format!(
            "{} Mbit/s, RTT {:.1} ms: the link holds {pipe_packets} packets of {packet_bytes} B, its buffer {buffer_packets}; \
             100 % is {:.3} Mbit/s of payload",
            *rate_bps as f64 / 1e6,
            rtt_s * 1e3,
            payload_bps / 1e6
        )
    }

    /// For the eye.
    pub fn picture(&self) -> Result<String, whimbrel_report::PictureError> {
        let line = |name: &str, of: &[&Point], y: fn(&Point) -> Option<f64>, measured: bool| {
            let at = |point: &&Point| Some((point.packet_error, y(point)?));
            let mean = |point: &&Point| {
                let simulated = Stat::of(&point.simulated)?;
                Some((point.packet_error, simulated.mean))
            };
            ResponseLine {
                label: name.to_owned(),
                predicted: of.iter().filter_map(at).collect(),
                measured: of.iter().filter(|_| measured).filter_map(mean).collect(),
            }
        };
        let mut lines = Vec::new();
        for flow in FLOWS {
            let of: Vec<&Point> = self
                .points
                .iter()
                .filter(|point| point.controller == flow.controller)
                .collect();
            lines.push(line(flow.controller, &of, |point| Some(point.chain), true));
        }
        let all: Vec<&Point> = self.points.iter().collect();
        lines.push(line("PFTK", &all, |point| point.pftk, false));
        lines.push(line("Mathis", &all, |point| point.mathis, false));
        response(&Response {
            title: self.title(),
            x: "packet error probability".to_owned(),
            y: "share of what the link carries".to_owned(),
            lines,
        })
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
        percent(point.equation),
        maybe(point.pftk),
        maybe(point.mathis),
    ]
}
