//! `whimbrel model`: compares formulas for throughput under random loss with the simulator.

use crate::compare::recovery;
use crate::failure::BadInput;
use crate::path::flag;
use crate::print;
use crate::svg::svg_file;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_sim::Recovery;
use whimbrel_sim::scenario::Written;
use whimbrel_study::atomic_file;
use whimbrel_study::model::{Request, figure, text};
use whimbrel_units::{Bytes, Duration, Probability, Rate};
use whimbrel_watch::Bar;

/// Compare formulas with the simulator
///
/// Computes the throughput of one flow over the packet error probability, in percent of the
/// capacity of the link: with closed forms, with a Markov chain, and by simulation of the same
/// path.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct ModelArgs {
    /// Rate of the link
    #[arg(long, default_value = "5 Mbit/s", value_parser = flag::<Rate>("--rate"))]
    rate: Written<Rate>,
    /// Round-trip propagation delay, without the transmission time of a packet
    #[arg(long, default_value = "70 ms", value_parser = flag::<Duration>("--rtt"))]
    rtt: Written<Duration>,
    /// Payload of a packet
    #[arg(long, default_value = "1448 B")]
    mss: Bytes,
    /// Headers of a packet
    #[arg(long, default_value = "52 B")]
    header: Bytes,
    /// Buffer size in packets [default: as many as the link holds]
    #[arg(long, value_name = "PACKETS")]
    buffer: Option<u64>,
    /// Minimum retransmission timeout, which is the first timeout in PFTK
    #[arg(long, default_value = "1 s")]
    min_rto: Duration,
    /// Minimum packet error probability
    #[arg(long, default_value = "0.01 %")]
    from: Probability,
    /// Maximum packet error probability
    #[arg(long, default_value = "10 %")]
    to: Probability,
    /// Number of probabilities, spaced by a constant factor
    #[arg(
        long,
        default_value_t = 7,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    points: u32,
    /// Number of simulated runs of each point, with different seeds; 0: formulas only
    #[arg(long, default_value_t = 3, value_name = "N")]
    seeds: u32,
    /// Duration of each simulated run, in simulated time
    #[arg(long, default_value = "300 s", value_parser = flag::<Duration>("--duration"))]
    duration: Written<Duration>,
    /// How the simulated senders detect lost data
    #[arg(long, default_value = "rack", value_parser = recovery())]
    recovery: Recovery,
    /// Print the scenario file of the simulation and exit
    #[arg(long)]
    print_scenario: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw throughput over the packet error probability
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  whimbrel model                                the link of the TCP-NACK paper
  whimbrel model --rate 50Mbit/s --rtt 100ms --points 13 --plot theory.svg
  whimbrel model --recovery newreno --seeds 10  with one repair each round trip
  whimbrel model --buffer 5 --seeds 0           formulas only, no simulation
  whimbrel model --print-scenario > path.toml   the simulated scenario, to edit

Columns, all in percent of the capacity of the link:
  simulated  delivered payload, mean over the seeds ± standard deviation
  chain      the Markov chain over congestion avoidance of the TCP-NACK paper:
             what all cycles deliver over their total time; corruption that no
             NACK can report, because it hit the headers, is a loss
  + flight   the same with the data that was sent after a lost packet: an upper
             bound
  (15) (16)  the same chain with the sum of the paper: the mean of the cycles'
             rates, with equal weight for short and long cycles; NACKs report
             every corruption
  PFTK       Padhye and others 1998: with timeouts of --min-rto each, and the
             window limited to link and buffer
  Mathis     1.31/(RTT*sqrt(p)): multiplicative decrease and additive increase
             only
  PFTK and Mathis describe Reno without a link; they are limited to its
  capacity.

Not in the models:
  Slow start, and ACKs for every second packet (the simulator sends one for each
  packet here). The chain has no timeouts, either: with --recovery newreno four
  of ten losses end in one at 10 % errors.";

/// Computes all models and runs the simulator.
pub fn run(args: ModelArgs) -> anyhow::Result<ExitCode> {
    let request = Request {
        rate: args.rate,
        rtt: args.rtt,
        mss: args.mss,
        header: args.header,
        buffer: args.buffer,
        min_rto: args.min_rto,
        from: args.from,
        to: args.to,
        points: args.points,
        seeds: args.seeds,
        duration: args.duration,
        recovery: args.recovery,
        threads: args.threads,
    };
    if args.print_scenario {
        return print::text(request.scenario()?);
    }
    // Not after the runs that a file cannot be written.
    if let Some(path) = &args.plot {
        atomic_file::check(path)?;
    }
    let results = request.run(&Bar::new())?;
    if let Some(path) = &args.plot {
        let figure = figure(&results).ok_or_else(|| {
            BadInput::new("a picture needs at least two packet error probabilities: see --points")
        })?;
        atomic_file::write_text(path, &whimbrel_report::svg(&[figure]))?;
    }
    print::result(args.json, || &results, || text(&results))
}
