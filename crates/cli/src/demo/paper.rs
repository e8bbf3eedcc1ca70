//! `whimbrel demo --paper enhanced-aatp`: Table 5 of the paper with real files.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 10(9), 987, 2021, section 6.2.
//!
//! The paper does not give the times of the fades; here they are spread evenly over the transfer.
//! BBR is an addition. The scenario with drawn times is `experiments/enhanced-aatp/table-5.toml`.

use super::host::{Host, Meter};
use super::measure::{Measurement, Stage, progress_bar};
use super::output::{json_object, measured_json, not_measured, race_picture, racer, rows};
use super::predict::{self, Prediction};
use super::{DemoArgs, Implementation, Trial, trust};
use crate::failure::BadInput;
use anyhow::Context;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_net::Outage;
use whimbrel_report::figures::Racer;
use whimbrel_study::prediction::Transfer;
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

/// OC-3.
const RATE: Rate = Rate::from_bits_per_sec(148_608_000);
const RTT: Duration = Duration::from_millis(20);
/// The paper's file, and what is sent by default.
const FULL: Bytes = Bytes::new(1_000_000_000);
const TENTH: Bytes = Bytes::new(100_000_000);
/// Runs of the simulator; only BBR's random choices differ.
const SEEDS: u32 = 5;
const CONTROLLERS: [&str; 3] = ["enhanced-aatp", "cubic", "bbr"];

/// A row of the paper's table.
struct Row {
    /// Number of fades; by default one of each length.
    fades: u32,
    length: Duration,
    /// The paper's transmission periods in seconds: Enhanced-AATP's and CUBIC's.
    periods: [f64; 2],
}

const ROWS: [Row; 4] = [
    row(0, 0, [54.0, 57.0]),
    row(10, 500, [59.0, 68.0]),
    row(10, 1000, [64.0, 81.0]),
    row(5, 2000, [64.0, 76.0]),
];

const fn row(fades: u32, length_ms: u64, periods: [f64; 2]) -> Row {
    Row {
        fades,
        length: Duration::from_millis(length_ms),
        periods,
    }
}

impl Row {
    fn count(&self, full: bool) -> u32 {
        if full { self.fades } else { self.fades.min(1) }
    }

    /// The sum of the fades.
    fn total(&self, full: bool) -> Duration {
        self.length * u64::from(self.count(full))
    }

    /// The fades: each in the middle of its part of the transfer.
    fn outages(&self, full: bool) -> Vec<Outage> {
        let count = self.count(full);
        // Within 1 and 50 s, as in the experiment; a tenth of it.
        let first = Duration::from_secs(1);
        let span = Duration::from_secs(if full { 49 } else { 4 });
        let fade = |k: u32| {
            let part = span / u64::from(count);
            let middle = first + part * u64::from(k) + part / 2;
            let from = Time::ZERO + middle - self.length / 2;
            Outage {
                from,
                to: from + self.length,
            }
        };
        (0..count).map(fade).collect()
    }

    /// `none`, `10 x 0.5 s`.
    fn label(&self, full: bool) -> String {
        match self.count(full) {
            0 => "none".to_owned(),
            count => format!("{count} x {}", self.length),
        }
    }

    /// The paper's period of a controller, in seconds.
    fn paper(&self, controller: &Spec) -> Option<f64> {
        let place = CONTROLLERS
            .iter()
            .position(|c| *c == controller.to_string())?;
        self.periods.get(place).copied()
    }
}

/// One transfer and what it is compared with.
struct Compared<'a> {
    row: &'a Row,
    controller: Spec,
    prediction: Prediction,
    measurement: Result<Measurement, String>,
    host: Host,
}

/// Predicts, measures one transfer after the other, and shows the table.
///
/// # Errors
/// If the demonstration cannot be set up, or is stopped.
pub fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let size = if args.full { FULL } else { TENTH };
    let stage = Stage::new()?;
    let allowed = stage.allows(None);
    let mut all = Vec::new();
    for row in &ROWS {
        for name in CONTROLLERS {
            let controller: Spec = name.parse().context("a controller of the paper's table")?;
            let outages = row.outages(args.full);
            let trial = Trial {
                transfer: Transfer {
                    rate: RATE,
                    rtt: RTT,
                    queue: super::QUEUE,
                    loss: Probability::ZERO,
                    outages: &outages,
                    controller: &controller,
                    tcp: false,
                },
                seed: args.seed,
                implementation: Implementation::Whimbrel,
            };
            let prediction = predict::of(&trial, size, SEEDS)?;
            let meter = Meter::start();
            let measurement = match &allowed {
                Err(why) => Err(why.clone()),
                Ok(()) => {
                    let title = format!("{name}, {}", row.label(args.full));
                    let transfer = stage.start(&trial, &prediction, progress_bar(title, size))?;
                    let mut results = stage.finish(vec![transfer])?;
                    results
                        .pop()
                        .unwrap_or_else(|| Err("it did not run".to_owned()))
                }
            };
            all.push(Compared {
                row,
                controller,
                prediction,
                measurement,
                host: meter.finish(),
            });
        }
    }
    if let Some(path) = &args.picture {
        let svg = picture(args, &all)?;
        fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        show_json(args, size, &all)?;
    } else {
        show_table(args, size, &all)?;
    }
    let broken = all.iter().any(|c| c.measurement.is_err());
    Ok(ExitCode::from(u8::from(broken && allowed.is_ok())))
}

impl Compared<'_> {
    fn predicted(&self) -> f64 {
        self.prediction.size.get() as f64 * 8.0 / self.prediction.goodput_bps
    }

    fn measured(&self) -> Option<f64> {
        self.measurement.as_ref().ok().map(|m| m.seconds)
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = |measured| trust::of_machine(measured, RTT, &self.host);
        self.measurement
            .as_ref()
            .map_or_else(|_| Vec::new(), warnings)
    }

    /// The time beyond that without fades, over the length of the fades: measured, predicted, and
    /// the paper's.
    fn additional(&self, full: bool, all: &[Self]) -> Option<[Option<f64>; 3]> {
        let total = self.row.total(full).as_secs_f64();
        let alone = |c: &&Self| c.row.fades == 0 && c.controller == self.controller;
        let base = all.iter().find(alone).filter(|_| total > 0.0)?;
        let over = |a: Option<f64>, b: Option<f64>, fades: f64| Some((a? - b?) / fades);
        let paper = self.row.length.as_secs_f64() * f64::from(self.row.fades);
        let of_paper = |c: &Self| c.row.paper(&c.controller);
        Some([
            over(self.measured(), base.measured(), total),
            over(Some(self.predicted()), Some(base.predicted()), total),
            over(of_paper(self), of_paper(base), paper),
        ])
    }
}

/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 8] = [
    ("fades", false),
    ("controller", false),
    ("real\ns", true),
    ("simulated\ns", true),
    ("paper\ns", true),
    ("more,\nreal", true),
    ("more,\nsim", true),
    ("more,\npaper", true),
];

fn show_table(args: &DemoArgs, size: Bytes, all: &[Compared<'_>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "Table 5 of the Enhanced-AATP paper: {size} over {RATE}, RTT {RTT}, buffer 1 BDP"
    )?;
    let table: Vec<Vec<String>> = all.iter().map(|c| cells(args.full, c, all)).collect();
    rows(&mut out, &COLUMNS, &table)?;
    writeln!(
        out,
        "more: the time beyond that without fades, over the length of the fades (1.00: no more)"
    )?;
    if all.iter().all(|c| c.measurement.is_ok()) {
        writeln!(out, "every copy is verified")?;
    }
    for c in all {
        let name = format!("{}, {} fades", c.controller, c.row.label(args.full));
        for warning in c.warnings() {
            writeln!(out, "do not trust {name}: {warning}")?;
        }
    }
    not_measured(&mut out, all.iter().map(|c| &c.measurement))
}

fn cells(full: bool, c: &Compared<'_>, all: &[Compared<'_>]) -> Vec<String> {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let paper = c.row.paper(&c.controller).filter(|_| full);
    let [real, simulated, papers] = c.additional(full, all).unwrap_or_default();
    vec![
        c.row.label(full),
        c.controller.to_string(),
        cell(c.measured()),
        cell(Some(c.predicted())),
        paper.map_or_else(|| "-".to_owned(), |v| format!("{v:.0}")),
        cell(real),
        cell(simulated),
        cell(papers),
    ]
}

fn show_json(args: &DemoArgs, size: Bytes, all: &[Compared<'_>]) -> anyhow::Result<()> {
    let trial = |c: &Compared<'_>| -> Value {
        let additional = c.additional(args.full, all);
        json!({
            "controller": c.controller.to_string(),
            "fades": {
                "count": c.row.count(args.full),
                "seconds": c.row.length.as_secs_f64(),
            },
            "predicted_seconds": c.predicted(),
            "measured": measured_json(&c.measurement),
            "not_measured": c.measurement.as_ref().err(),
            "paper_seconds": c.row.paper(&c.controller).filter(|_| args.full),
            "additional": additional.map(|[measured, predicted, paper]| json!({
                "measured": measured,
                "predicted": predicted,
                "paper": paper,
            })),
            "warnings": c.warnings(),
        })
    };
    let value = json!({
        "transport": "quic",
        "paper": "enhanced-aatp",
        "rate_bps": RATE.as_bits_per_sec(),
        "rtt_ms": RTT.as_millis_f64(),
        "bytes": size.get(),
        "seed": args.seed,
        "trials": all.iter().map(trial).collect::<Vec<_>>(),
    });
    json_object(&value)
}

/// Data delivered over time through the longest fades.
fn picture(args: &DemoArgs, all: &[Compared<'_>]) -> Result<String, BadInput> {
    let longest = all.iter().map(|c| c.row.length).max();
    let shown = all.iter().filter(|c| Some(c.row.length) == longest);
    let racers: Vec<Racer> = shown
        .clone()
        .map(|c| racer(&c.controller, &c.measurement, &c.prediction))
        .collect();
    let label = shown
        .map(|c| c.row.label(args.full))
        .next()
        .unwrap_or_default();
    let title = format!("{RATE}, RTT {RTT}, fades of {label}");
    race_picture(&title, RATE, &racers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fades_are_spread_over_the_transfer_and_do_not_overlap() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let short = ROWS[3].outages(false);
        assert_eq!(
            short,
            [Outage {
                from: at(2_000),
                to: at(4_000)
            }]
        );
        assert_eq!(ROWS[0].outages(true), []);
        for row in &ROWS[1..] {
            let fades = row.outages(true);
            assert_eq!(fades.len(), row.fades as usize);
            assert!(
                fades.windows(2).all(|two| two[0].to < two[1].from),
                "{fades:?}"
            );
            assert!(fades[0].from > at(1_000) && fades[fades.len() - 1].to < at(50_000));
        }
        assert_eq!(ROWS[2].total(true), Duration::from_secs(10));
        assert_eq!(ROWS[2].total(false), Duration::from_secs(1));
    }

    #[test]
    fn the_additional_time_is_relative_to_the_fades() {
        let compared = |row, seconds: f64| {
            let goodput_bps = TENTH.get() as f64 * 8.0 / seconds;
            let measured =
                Measurement::of(goodput_bps, super::super::measure::PathReport::default());
            Compared {
                row,
                controller: "cubic".parse().expect("registered"),
                prediction: Prediction {
                    size: TENTH,
                    goodput_bps,
                    range_bps: (goodput_bps, goodput_bps),
                    longest: Duration::from_secs(1),
                    delivered: Vec::new(),
                    rtts: Vec::new(),
                    lost: 0.0,
                },
                // One second each.
                measurement: Ok(measured),
                host: Host {
                    used_by_others: None,
                },
            }
        };
        let all = [compared(&ROWS[0], 6.0), compared(&ROWS[3], 10.0)];
        assert!(all[0].additional(false, &all).is_none());
        let [real, simulated, paper] = all[1].additional(false, &all).expect("fades");
        assert_eq!(real, Some(0.0));
        // 4 s more for a fade of 2 s; the paper: 19 s more for 10 s.
        assert!((simulated.expect("a number") - 2.0).abs() < 1e-9);
        assert!((paper.expect("a number") - 1.9).abs() < 1e-9);
        let cells = cells(false, &all[1], &all);
        let expected = [
            "1 x 2 s", "cubic", "1.00", "10.00", "-", "0.00", "2.00", "1.90",
        ];
        assert_eq!(cells, expected);
    }
}
