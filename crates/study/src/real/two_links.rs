//! One file over two links at once: alone over each, over both, and over both while the faster one
//! is pulled in the middle. Each transfer runs for real over emulated links, beside the simulator's
//! prediction for the same links.

use super::Watch;
use super::emulated;
use super::measurement::Measurement;
use super::transfer::{Files, Stage, carry_by_quic};
use crate::prediction::delivered;
use crate::runs::run_all;
use crate::transport::Transport;
use crate::{Error, Observer};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration as Span;
use whimbrel_cc::Spec;
use whimbrel_link::PathSpec;
use whimbrel_net::{Outage, Queue};
use whimbrel_report::figure::{Axis, Figure, Form, Panel, Plot, Series};
use whimbrel_report::text_table;
use whimbrel_sim::scenario::{
    Direction, Flow, FlowRoute, Link as ScenarioLink, Loss, Run as RunSpec, Scenario, ScenarioSpec,
    Written, constant_rate, half_of,
};
use whimbrel_sim::sweep;
use whimbrel_sim::{FlowSample, PathChoice};
use whimbrel_transfer::Via;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Interval of the samples, which bounds how exactly a stall is known.
const SAMPLING: Span = Span::from_millis(5);
/// Interval of the curves of the simulator.
const CURVES: Duration = Duration::from_millis(100);
/// The buffer of each link, in bandwidth-delay products.
const BUFFER: f64 = 1.0;
/// The outage of a link that was pulled ends long after the transfer.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);
/// No transfer is simulated for longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// One link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Rate in both directions.
    pub rate: Rate,
    /// Base RTT.
    pub rtt: Duration,
}

/// What is compared.
#[derive(Debug, Clone)]
pub struct TwoLinks {
    /// The links; each has a buffer of 1 BDP. The first one is pulled.
    pub links: [Link; 2],
    /// Size of the file.
    pub size: Bytes,
    /// When the first link is pulled, after the start.
    pub cut_after: Duration,
    /// The algorithm of each path.
    pub controller: Spec,
    /// Seed of the file and the links.
    pub seed: u64,
}

/// One transfer, predicted and measured.
#[derive(Debug)]
pub struct Row {
    /// In a few words.
    pub name: String,
    /// Predicted goodput, bit/s.
    pub predicted_bps: f64,
    /// Predicted for each link, if there are several: seconds, and bytes that arrived first on it.
    pub predicted_paths: Vec<Vec<(f64, f64)>>,
    /// The real half, or why there is none.
    pub measured: Result<Measurement, String>,
}

/// All four transfers.
#[derive(Debug)]
pub struct Comparison {
    what: TwoLinks,
    /// Alone over each link, over both, and with the first one pulled.
    pub rows: [Row; 4],
    /// Whether the system allows emulated links at all.
    pub allowed: bool,
}

/// What the simulator says of a transfer.
struct Prediction {
    /// Its time; if it was not complete, the longest time that is simulated.
    seconds: f64,
    /// What it delivered in that time, bytes.
    delivered: Bytes,
    /// What each of its paths has brought, bytes, at times in seconds.
    paths: Vec<Vec<(f64, f64)>>,
}

impl Prediction {
    fn bits_per_second(&self) -> f64 {
        self.delivered.get() as f64 * 8.0 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

impl TwoLinks {
    /// Both links as a scenario; `routes`: the links that the flow uses, `is_cut`: the first one is
    /// pulled.
    fn scenario(&self, routes: &[usize], is_cut: bool) -> Result<Scenario, Error> {
        let [first, second] = self.links;
        let links = [self.link(0, first, is_cut)?, self.link(1, second, false)?];
        let mut flow = Flow::new(Written::new(
            "controller",
            self.controller.clone(),
            self.controller.to_string(),
        ));
        let over: Vec<FlowRoute> = routes.iter().map(|link| FlowRoute::over(*link)).collect();
        flow.routes = flow.count.with(over);
        if let Some(data) = flow.data_mut() {
            data.size = Some(Written::of("size", self.size));
        }
        let mut settings = Transport::Quic.settings();
        settings.tcp.scheduler = PathChoice::Ecf;
        let run = RunSpec {
            duration: Written::of("time", LONGEST),
            sample: Some(CURVES),
            settings,
            ..RunSpec::default()
        };
        let spec = ScenarioSpec::new(links.into(), vec![flow], run);
        Ok(Scenario::new(&spec)?)
    }

    /// One of the links in a scenario.
    fn link(&self, number: usize, link: Link, is_cut: bool) -> Result<ScenarioLink, Error> {
        let loss = is_cut.then(|| {
            let from = Time::ZERO + self.cut_after;
            let outage = Outage {
                from,
                to: from + FOR_EVER,
            };
            let loss = Loss {
                outages: Some(vec![outage]),
                ..Loss::default()
            };
            Written::of("loss", loss)
        });
        let mut written = ScenarioLink::new(&name(number));
        written.forward = Direction {
            rate: Some(constant_rate(&Written::of("rate", link.rate))?),
            delay: Some(half_of(&Written::of("rtt", link.rtt))),
            queue: Some(Written::of("queue", Queue::Bdp(BUFFER))),
            aqm: None,
            loss,
        };
        Ok(written)
    }

    /// What a transfer will do.
    fn predict(
        &self,
        routes: &[usize],
        is_cut: bool,
        observer: &dyn Observer,
    ) -> Result<Prediction, Error> {
        let scenario = self.scenario(routes, is_cut)?;
        let runs = run_all(&sweep::jobs(scenario.points()), None, observer)?;
        let flow = runs.first().and_then(|run| run.outcome.flows.first());
        let (bytes, time) = flow.map_or((self.size, Duration::ZERO), |flow| {
            delivered(flow, self.size)
        });
        let point = |sample: &FlowSample| (sample.at.as_secs_f64(), sample.delivered.get() as f64);
        let paths = flow.iter().flat_map(|flow| &flow.paths);
        let paths = paths.map(|path| path.samples.iter().map(point).collect());
        Ok(Prediction {
            seconds: time.as_secs_f64(),
            delivered: bytes,
            paths: paths.collect(),
        })
    }

    /// The emulated links of a transfer.
    fn emulated(&self, routes: &[usize], is_cut: bool) -> Result<Vec<PathSpec>, Error> {
        let scenario = self.scenario(&[0, 1], is_cut)?;
        let names: Vec<String> = routes.iter().map(|number| name(*number)).collect();
        emulated::paths(&scenario, Path::new("two links"), &names, self.seed)
    }

    /// Predicts all transfers, and measures them, all at the same time.
    ///
    /// # Errors
    /// If the links are wrong, there is no space for files, or it is stopped.
    pub fn run(self, observer: &dyn Observer, watch: &mut Watch<'_>) -> Result<Comparison, Error> {
        let stage = Stage::new(&[])?;
        let allowed = stage.allows_paths().clone();
        let [first, second] = self
            .links
            .map(|link| format!("{}, {}", link.rate, link.rtt));
        let transfers: [(String, &[usize], bool); 4] = [
            (format!("{first} alone"), &[0], false),
            (format!("{second} alone"), &[1], false),
            ("both together".to_owned(), &[0, 1], false),
            (
                format!("both, the first pulled after {}", self.cut_after),
                &[0, 1],
                true,
            ),
        ];
        let mut predicted = Vec::new();
        let mut running = Vec::new();
        for (_, routes, is_cut) in &transfers {
            predicted.push(self.predict(routes, *is_cut, observer)?);
        }
        for ((_, routes, is_cut), prediction) in transfers.iter().zip(&predicted) {
            let paths = self.emulated(routes, *is_cut)?;
            running.push(match &allowed {
                Ok(()) => {
                    let longest = Span::from_secs_f64(prediction.seconds);
                    let carry = |files: &Files| self.carry(&paths, files);
                    Ok(stage.begin((self.size, self.seed), longest, carry)?)
                }
                Err(why) => Err(why.clone()),
            });
        }
        stage.wait(0, &mut running, watch)?;
        let measured = running
            .into_iter()
            .map(|transfer| transfer.and_then(|t| t.result()));
        let mut measured: Vec<_> = measured.collect();
        let rows = std::array::from_fn(|index| Row {
            name: transfers[index].0.clone(),
            predicted_bps: predicted[index].bits_per_second(),
            predicted_paths: std::mem::take(&mut predicted[index].paths),
            measured: std::mem::replace(&mut measured[index], Err(String::new())),
        });
        Ok(Comparison {
            what: self,
            rows,
            allowed: allowed.is_ok(),
        })
    }

    fn carry(&self, paths: &[PathSpec], files: &Files) -> Result<Measurement, String> {
        let via = match paths.len() {
            1 => Vec::new(),
            _ => vec![Via::All],
        };
        carry_by_quic(paths, &self.controller, via, SAMPLING, files)
    }
}

fn name(link: usize) -> String {
    format!("link-{}", link + 1)
}

impl Comparison {
    /// The longest time after the cut in which no data was acknowledged, milliseconds.
    fn longest_stall_ms(&self) -> Option<f64> {
        let measured = self.rows[3].measured.as_ref().ok()?;
        let cut = self.what.cut_after.as_secs_f64();
        let mut last = (cut, 0);
        let mut longest: f64 = 0.0;
        let after = measured.samples.iter().filter(|sample| sample.t_s >= cut);
        for sample in after {
            if sample.delivered_bytes > last.1 {
                longest = longest.max(sample.t_s - last.0);
                last = (sample.t_s, sample.delivered_bytes);
            }
        }
        Some(longest.max(measured.seconds - last.0) * 1000.0)
    }

    /// Whether a transfer failed that the system allows.
    pub fn has_failed(&self) -> bool {
        self.allowed && self.rows.iter().any(|row| row.measured.is_err())
    }

    /// The object that `demo --two-links --json` prints.
    pub fn json(&self) -> Value {
        let goodput = |row: &Row| row.measured.as_ref().ok().map(|m| m.goodput_bps);
        let link = |(link, row): (&Link, &Row)| {
            json!({
                "rate_bps": link.rate.as_bits_per_sec(),
                "alone_goodput_bps": goodput(row),
            })
        };
        let links: Vec<Value> = self.what.links.iter().zip(&self.rows).map(link).collect();
        json!({
            "links": links,
            "together_goodput_bps": goodput(&self.rows[2]),
            "cut": {
                "longest_stall_ms": self.longest_stall_ms(),
                // A copy that differs is no measurement.
                "verified": self.rows[3].measured.is_ok(),
            },
        })
    }

    /// What each link carries over time, both together and with the first one pulled.
    pub fn figure(&self) -> Figure {
        let links = self.what.links.iter();
        let names = links.map(|link| format!("{}, {}", link.rate, link.rtt));
        let names: Vec<String> = names.collect();
        let series = |label: String, form, points: &[(f64, f64)]| Series {
            protocol: None,
            label,
            form,
            points: points.iter().map(|(t, bytes)| [*t, bytes * 1e-6]).collect(),
            spread: Vec::new(),
            notes: Vec::new(),
        };
        let panel = |row: &Row| {
            let measured = row.measured.as_ref().map(|m| m.paths.as_slice());
            let measured = measured.unwrap_or_default().iter().zip(&names);
            let predicted = row.predicted_paths.iter().zip(&names);
            let measured =
                measured.map(|(path, name)| series(name.clone(), Form::Line, &path.sent));
            let predicted = predicted
                .map(|(path, name)| series(format!("{name}, simulated"), Form::Dashed, path));
            Panel {
                y: Axis::new(&row.name, "MB"),
                series: measured.chain(predicted).collect(),
            }
        };
        Figure {
            id: "two-links".to_owned(),
            title: "One file over two links".to_owned(),
            caption: "Bytes sent over each link (lines), and brought over it in the simulator \
                      (dashes)."
                .to_owned(),
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels: self.rows[2..].iter().map(panel).collect(),
            },
        }
    }

    /// A table, and a sentence on the cut.
    pub fn text(&self) -> String {
        let mbps = |bps: f64| format!("{:.2}", bps / 1e6);
        let rows = self.rows.iter().map(|row| {
            let measured = row.measured.as_ref();
            let real = measured.map_or_else(|_| "-".to_owned(), |m| mbps(m.goodput_bps));
            let time = measured.map_or_else(|_| "-".to_owned(), |m| format!("{:.1}", m.seconds));
            let difference = measured.map_or_else(
                |_| "-".to_owned(),
                |m| more(m.goodput_bps / row.predicted_bps),
            );
            vec![
                row.name.clone(),
                real,
                mbps(row.predicted_bps),
                difference,
                time,
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let columns = [
            ("link, one file", false),
            ("real Mbit/s", true),
            ("simulated Mbit/s", true),
            ("%", true),
            ("s", true),
        ];
        let mut text = text_table(&columns, &rows);
        for row in &self.rows {
            if let Err(why) = &row.measured {
                text += &format!("not measured: {}: {why}\n", row.name);
            }
        }
        if let Some(stall) = self.longest_stall_ms() {
            text += &format!(
                "after the cut nothing was acknowledged for {stall:.0} ms at most; every copy is \
                 verified\n"
            );
        }
        text
    }
}

/// By how much a ratio is above one, in whole percent: `+3`, `-14`, and `+0` on either side of it.
fn more(ratio: f64) -> String {
    format!("{:+.0}", ((ratio - 1.0) * 100.0).round() + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_nothing_has_no_minus() {
        assert_eq!(
            [1.03, 0.86, 0.999, 1.0].map(more),
            ["+3", "-14", "+0", "+0"]
        );
    }
}
