//! `whimbrel demo`: one real file over one emulated path with several controllers, beside the
//! simulator's prediction for the same path. The transport is QUIC, or Linux TCP.

mod paper;

use crate::atomic_file;
use crate::failure::BadInput;
use crate::real::{self, RACE};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_net::Queue;
use whimbrel_report::figures::{Racer, race};
use whimbrel_study::path::fraction;
use whimbrel_study::real::algorithm::for_tcp;
use whimbrel_study::real::{Carrier, Length, Measurement, Order, RUNS, Row, Trial};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Race controllers over an emulated lossy path with a real file
///
/// Sends a file with each controller, all at the same time, each over a path of its own, as
/// `whimbrel send` does to `whimbrel serve`: real QUIC packets, real sockets. Verifies every copy.
/// The table shows each measurement beside the simulator's prediction for the same path, and says
/// when a measurement cannot be trusted. If the system does not allow network namespaces, only the
/// prediction is made.
///
/// With --tcp the transport is the kernel's TCP. `cubic` is then the kernel's own, as is every name
/// that the kernel has; all others are Whimbrel's.
///
/// With --paper enhanced-aatp the path and the controllers are those of Table 5 of the
/// Enhanced-AATP paper: OC-3, and fades in which every packet is lost. By default a tenth of the
/// table: 100 MB, and one fade of each length; one transfer after the other, about two minutes.
#[derive(clap::Args)]
#[command(after_help = "\
Each controller sends what the simulator expects it to deliver in --time, at most 64 MiB. A
transfer that takes more than three times as long as predicted is stopped.

--json prints one object: transport, rate_bps, rtt_ms, loss, seed, and for each contestant
controller, implementation (\"kernel\" or \"whimbrel\"), bytes, predicted {goodput_bps, least_bps,
greatest_bps}, measured {goodput_bps, seconds, sent_packets, lost_packets, blake3} or not_measured
(why), and warnings: reasons not to trust the measurement. With --paper: paper, rate_bps, rtt_ms,
bytes, seed, and for each of trials controller, fades {count, seconds}, predicted_seconds,
measured (as above) or not_measured, paper_seconds (null in a tenth of the table), additional
{measured, predicted, paper}: the time beyond that without fades, over the length of the fades, and
warnings.

Examples:
  whimbrel demo
  whimbrel demo --time 15s
  whimbrel demo --tcp                        the kernel's CUBIC, and others on the kernel's TCP
  whimbrel demo --size 64MiB                 the same file for all; CUBIC takes seven minutes
  whimbrel demo --rate 100Mbit/s --rtt 600ms --loss 0.1% --controllers newreno,cubic,cerl
  whimbrel demo --picture race.svg --json
  whimbrel demo --paper enhanced-aatp
  whimbrel demo --paper enhanced-aatp --full       1 GB and all fades: a quarter of an hour")]
pub struct DemoArgs {
    /// Send over the kernel's TCP instead of QUIC
    #[arg(long)]
    tcp: bool,
    /// Repeat a paper's experiment with real files: enhanced-aatp (Table 5)
    #[arg(
        long,
        value_name = "PAPER",
        value_parser = ["enhanced-aatp"],
        conflicts_with_all = ["tcp", "rate", "rtt", "loss", "size", "time", "controllers"]
    )]
    paper: Option<String>,
    /// With --paper: the paper's file of 1 GB, and all its fades
    #[arg(long, requires = "paper")]
    full: bool,
    /// Rate of the path
    #[arg(long, default_value = "50 Mbit/s")]
    rate: Rate,
    /// Base round-trip time of the path
    #[arg(long, default_value = "100 ms")]
    rtt: Duration,
    /// Random loss of data packets
    #[arg(long, default_value = "1 %", allow_hyphen_values = true, value_parser = fraction)]
    loss: Probability,
    /// Size of the file, the same for all controllers [default: see --time]
    #[arg(long)]
    size: Option<Bytes>,
    /// Choose the size of each controller's file so that its transfer takes about this long
    #[arg(long, default_value = "45 s", conflicts_with = "size")]
    time: Duration,
    /// Controllers to race; see `whimbrel controllers`
    #[arg(long, value_delimiter = ',', default_value = "cubic,bbr,cerl,whimbrel")]
    controllers: Vec<Spec>,
    /// Seed of the random losses on the emulated path
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the data delivered over time, measured and predicted
    #[arg(long, value_name = "FILE.svg", value_parser = crate::svg::svg_file)]
    picture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DemoArgs {
    /// The transfer of a controller.
    fn trial(&self, controller: &Spec) -> Trial {
        Trial {
            rate: self.rate,
            rtt: self.rtt,
            queue: Queue::Bdp(1.0),
            loss: self.loss,
            outages: Vec::new(),
            carrier: match self.tcp {
                true => Carrier::Tcp,
                false => Carrier::Quic,
            },
            controller: controller.clone(),
            length: self.size.map_or(Length::Time(self.time), Length::Size),
            seed: self.seed,
            runs: RUNS,
        }
    }

    /// The path in words.
    fn path(&self) -> String {
        let transport = if self.tcp { "Linux TCP, " } else { "" };
        let Self {
            rate, rtt, loss, ..
        } = self;
        format!("{transport}{rate}, RTT {rtt}, {loss} random loss, buffer 1 BDP")
    }
}

/// Predicts, measures, compares.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    if args.paper.is_some() {
        return paper::run(&args);
    }
    let too_small = [
        (
            args.size.is_some_and(Bytes::is_zero),
            "--size: an empty file shows nothing; write e.g. `8 MiB`",
        ),
        (
            args.time.is_zero(),
            "--time: must be above zero; write e.g. `45 s`",
        ),
        (
            args.rate == Rate::ZERO,
            "--rate: nothing moves at zero; write e.g. `50 Mbit/s`",
        ),
    ];
    if let Some((_, why)) = too_small.iter().find(|(wrong, _)| *wrong) {
        return Err(BadInput::new(why).into());
    }
    let trials = args.controllers.iter().map(|spec| args.trial(spec));
    let trials: Vec<Trial> = trials.collect();
    if let Some(wrong) = trials.iter().find(|t| !t.carrier.carries(&t.controller)) {
        for_tcp(&wrong.controller.to_string()).map_err(BadInput::new)?;
    }
    let rows = real::run(trials, Order::AtOnce)?;
    if let Some(file) = &args.picture {
        picture(file, &args.path(), args.rate, &rows)?;
    }
    if args.json {
        let contestants = rows.iter().map(|row| real::json("predicted", row));
        let whole = json!({
            "transport": if args.tcp { "tcp" } else { "quic" },
            "rate_bps": args.rate.as_bits_per_sec(),
            "rtt_ms": args.rtt.as_millis_f64(),
            "loss": args.loss.get(),
            "bytes": args.size.map(Bytes::get),
            "seed": args.seed,
            "contestants": contestants.collect::<Vec<Value>>(),
        });
        writeln!(io::stdout(), "{whole:#}")?;
    } else {
        let columns = match args.tcp {
            // Whose code of an algorithm runs.
            true => [&RACE[..1], &[1], &RACE[1..]].concat(),
            false => RACE.to_vec(),
        };
        real::table(&args.path(), &columns, &rows)?;
        if let Some(sentence) = compared(&rows) {
            writeln!(io::stdout(), "{sentence}")?;
        }
    }
    Ok(real::status(rows.iter()))
}

/// The summary: `cerl is 30 times as fast as cubic`, of the measured goodput where all have been
/// measured, else of the predicted.
fn compared(rows: &[Row]) -> Option<String> {
    let all = rows.iter().all(|row| row.measured.is_ok());
    let word = if all { "" } else { "predicted to be " };
    let goodput = |row: &Row| match all {
        true => row.goodput_bps(),
        false => row.predicted.goodput_bps,
    };
    let ranked = || rows.iter().map(|row| (&row.trial.controller, goodput(row)));
    let (slowest, low) = ranked().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (fastest, high) = ranked().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let times = high / low;
    (times >= 1.05).then(|| format!("{fastest} is {word}{times:.1} times as fast as {slowest}"))
}

/// Draws data delivered over time.
fn picture<'a>(
    file: &Path,
    title: &str,
    rate: Rate,
    rows: impl IntoIterator<Item = &'a Row>,
) -> anyhow::Result<()> {
    let racer = |row: &Row| Racer {
        protocol: row.trial.controller.to_string(),
        measured: row
            .measured
            .as_ref()
            .map_or_else(|_| Vec::new(), Measurement::delivered),
        predicted: row.predicted.delivered.clone(),
    };
    let racers: Vec<Racer> = rows.into_iter().map(racer).collect();
    let figure = race(title, rate, &racers);
    let figure =
        figure.ok_or_else(|| BadInput::new("nothing was delivered: there is no picture"))?;
    let svg = whimbrel_report::svg(&[figure]);
    Ok(atomic_file::write(file, |to| to.write_all(svg.as_bytes()))?)
}
