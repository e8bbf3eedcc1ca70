//! `whimbrel model`: compares formulas for throughput under random loss with the simulator.

mod show;
mod simulated;
mod theory;

use crate::failure::BadInput;
use crate::svg::svg_file;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_model::Formula;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Compare formulas with the simulator
///
/// Computes the throughput of one flow over the packet error probability, in percent of the
/// capacity of the link: with closed forms, with a Markov chain, and by simulation of the same
/// path.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct ModelArgs {
    /// Rate of the link
    #[arg(long, default_value = "5 Mbit/s")]
    rate: Rate,
    /// Round-trip propagation delay, without the transmission time of a packet
    #[arg(long, default_value = "70 ms")]
    rtt: Duration,
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
    #[arg(long, default_value = "300 s")]
    duration: Duration,
    /// How the simulated senders detect lost data
    #[arg(long, default_value = "rack", value_parser = ["newreno", "sack", "rack"])]
    recovery: String,
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

/// A controller that the chain models, with or without NACK.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// The simulator's controller.
    controller: &'static str,
    formula: Formula,
    nacks: bool,
}

const FLOWS: [Flow; 4] = [
    Flow {
        controller: "reno",
        formula: Formula::Reno,
        nacks: false,
    },
    Flow {
        controller: "westwood",
        formula: Formula::Westwood,
        nacks: false,
    },
    Flow {
        controller: "tcp-nack",
        formula: Formula::Reno,
        nacks: true,
    },
    Flow {
        controller: "tcp-nack-westwood",
        formula: Formula::Westwood,
        nacks: true,
    },
];

impl ModelArgs {
    fn packet(&self) -> Bytes {
        self.mss.saturating_add(self.header)
    }

    /// The buffer size in packets; by default, as many as the link holds.
    fn buffer(&self) -> u64 {
        self.buffer.unwrap_or_else(|| {
            let under_way = self.rate.bytes_in(self.rtt).get();
            under_way / self.packet().get().max(1) + 1
        })
    }

    /// The probabilities, rounded to three digits so that the printed values are the simulated
    /// ones.
    fn errors(&self) -> Result<Vec<Probability>, BadInput> {
        let (from, to) = (self.from.get(), self.to.get());
        if from <= 0.0 || to >= 1.0 || from > to {
            return Err(BadInput::new(
                "packet error probabilities must be between 0 % and 100 %, and --from not above \
                 --to",
            ));
        }
        let steps = f64::from(self.points.max(2) - 1);
        let share = |i: u32| from * (to / from).powf(f64::from(i) / steps);
        let rounded = |i| format!("{:.2e}", share(i)).parse::<f64>();
        let rounded = (0..self.points).filter_map(|i| rounded(i).ok());
        rounded
            .map(|share| Probability::new(share).map_err(BadInput::new))
            .collect()
    }
}

/// Computes all models and runs the simulator.
pub fn run(args: ModelArgs) -> anyhow::Result<ExitCode> {
    let errors = args.errors()?;
    if args.print_scenario {
        let text = simulated::scenario(&args, &errors);
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let theory = theory::all(&args, &errors)?;
    let measured = simulated::all(&args, &errors)?;
    let results = show::Results::new(&args, errors, theory, measured);
    if let Some(path) = &args.plot {
        let svg = results.picture().ok_or_else(|| {
            BadInput::new("a picture needs at least two packet error probabilities: see --points")
        })?;
        fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &results).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", results.text())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
