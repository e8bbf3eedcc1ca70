//! `whimbrel demo`: one real file over one emulated path with several controllers, beside the
//! simulator's prediction for the same path. The transport is QUIC, or Linux TCP.

use crate::failure::BadInput;
use crate::{print, real};
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_report::figure::Figure;
use whimbrel_study::atomic_file;
use whimbrel_study::path::fraction;
use whimbrel_study::real::paper::{self, Case};
use whimbrel_study::real::race::Race;
use whimbrel_study::real::two_links::{Link, TwoLinks};
use whimbrel_study::real::{Carrier, Order, Row};
use whimbrel_transfer::default_controller;
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
///
/// With --two-links one file is sent over two links: alone over each, over both at once, and over
/// both while the first one is pulled after three seconds.
#[derive(clap::Args)]
#[command(after_help = "\
Each controller sends what the simulator expects it to deliver in --time, at
most 64 MiB. A transfer that takes more than three times as long as predicted is
stopped.

--json prints one object: transport, rate_bps, rtt_ms, loss, seed, and for each
contestant controller, implementation (\"kernel\" or \"whimbrel\"), bytes, predicted
{goodput_bps, least_bps, greatest_bps}, measured {goodput_bps, seconds,
sent_packets, lost_packets, blake3} or not_measured (why), and warnings: reasons
not to trust the measurement. With --paper: paper, rate_bps, rtt_ms, bytes,
seed, and for each of trials controller, fades {count, seconds},
predicted_seconds, measured (as above) or not_measured, paper_seconds (null in a
tenth of the table), additional {measured, predicted, paper}: the time beyond
that without fades, over the length of the fades, and warnings. With
--two-links: links [{rate_bps, alone_goodput_bps}], together_goodput_bps, and
cut {longest_stall_ms, verified}: the longest time after a link was pulled in
which no data was acknowledged, and whether the copy is verified. What was not
measured is null.

Examples:
  whimbrel demo
  whimbrel demo --two-links
  whimbrel demo --time 15s
  whimbrel demo --tcp
      the kernel's CUBIC, and others on the kernel's TCP
  whimbrel demo --size 64MiB
      the same file for all; CUBIC takes seven minutes
  whimbrel demo --rate 100Mbit/s --rtt 600ms --loss 0.1% \\
      --controllers newreno,cubic,cerl
  whimbrel demo --picture race.svg --json
  whimbrel demo --paper enhanced-aatp
  whimbrel demo --paper enhanced-aatp --full
      1 GB and all fades: a quarter of an hour")]
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
    /// Send one file over two links, 20 Mbit/s x 40 ms and 10 Mbit/s x 80 ms, and pull the first
    #[arg(
        long,
        conflicts_with_all = ["tcp", "paper", "rate", "rtt", "loss", "size", "time", "controllers"]
    )]
    two_links: bool,
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
    /// Draw the data delivered over time, measured and predicted; with --two-links that of each
    /// link
    #[arg(long, value_name = "FILE.svg", value_parser = crate::svg::svg_file)]
    picture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Predicts, measures, compares.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    // Not after the transfers that a file cannot be written.
    if let Some(file) = &args.picture {
        atomic_file::check(file)?;
    }
    if args.paper.is_some() {
        return repeat_paper(&args);
    }
    if args.two_links {
        return over_two_links(&args);
    }
    let race = Race {
        carrier: match args.tcp {
            true => Carrier::Tcp,
            false => Carrier::Quic,
        },
        rate: args.rate,
        rtt: args.rtt,
        loss: args.loss,
        size: args.size,
        time: args.time,
        controllers: args.controllers.clone(),
        seed: args.seed,
    };
    let rows = real::run(race.trials()?, Order::AtOnce)?;
    draw(&args, || race.figure(&rows))?;
    print::result(args.json, || race.json(&rows), || race.text(&rows))?;
    Ok(real::status(rows.iter()))
}

/// Predicts, measures one transfer of the paper after the other, and shows the table.
fn repeat_paper(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let cases = paper::cases(args.full, args.seed)?;
    let trials = cases.iter().map(|case| case.trial.clone()).collect();
    let rows = real::run(trials, Order::InTurn)?;
    let all: Vec<(Case, Row)> = cases.into_iter().zip(rows).collect();
    draw(args, || paper::text::figure(&all))?;
    print::result(
        args.json,
        || paper::text::json(args.full, args.seed, &all),
        || paper::text::table(args.full, &all),
    )?;
    Ok(real::status(all.iter().map(|(_, row)| row)))
}

/// Sends a file over two links, and shows what that gains and what a cut costs.
fn over_two_links(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let link = |mbps: u64, ms| Link {
        rate: Rate::from_bits_per_sec(mbps * 1_000_000),
        rtt: Duration::from_millis(ms),
    };
    let comparison = real::run_two_links(TwoLinks {
        links: [link(20, 40), link(10, 80)],
        size: Bytes::new(24 << 20),
        cut_after: Duration::from_secs(3),
        controller: default_controller(),
        seed: args.seed,
    })?;
    draw(args, || Some(comparison.figure()))?;
    print::result(args.json, || comparison.json(), || comparison.text())?;
    Ok(ExitCode::from(u8::from(comparison.has_failed())))
}

/// Writes the picture, if the user wants one.
fn draw(args: &DemoArgs, figure: impl FnOnce() -> Option<Figure>) -> anyhow::Result<()> {
    let Some(file) = &args.picture else {
        return Ok(());
    };
    let figure =
        figure().ok_or_else(|| BadInput::new("nothing was delivered: there is no picture"))?;
    Ok(atomic_file::write_text(
        file,
        &whimbrel_report::svg(&[figure]),
    )?)
}
