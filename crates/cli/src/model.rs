//! `whimbrel model`: what theory says of random loss, beside what the simulator says of the same path.

mod show;
mod simulated;
mod theory;

use crate::failure::BadInput;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_model::Law;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Hold theory against the simulator
///
/// Throughput of one flow over the chance that a packet is corrupted, as a share of what the link carries: by closed
/// forms and a Markov chain, and simulated on the same path.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct ModelArgs {
    /// Rate of the link
    #[arg(long, default_value = "5 Mbit/s")]
    rate: Rate,
    /// Propagation there and back; a packet's own time on the link comes on top
    #[arg(long, default_value = "70 ms")]
    rtt: Duration,
    /// Payload of a packet
    #[arg(long, default_value = "1448 B")]
    mss: Bytes,
    /// Headers of a packet
    #[arg(long, default_value = "52 B")]
    header: Bytes,
    /// How many packets may wait before the link [default: as many as it holds]
    #[arg(long, value_name = "PACKETS")]
    buffer: Option<u64>,
    /// The retransmission timer's least time, which PFTK takes for the first timeout
    #[arg(long, default_value = "1 s")]
    min_rto: Duration,
    /// The least packet error probability
    #[arg(long, default_value = "0.01 %")]
    from: Probability,
    /// The greatest one
    #[arg(long, default_value = "10 %")]
    to: Probability,
    /// How many between them, each the same factor above the one before
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    /// Simulated runs of each point, with different seeds; 0: theory alone
    #[arg(long, default_value_t = 3, value_name = "N")]
    seeds: u32,
    /// How long each simulated run is, in its own time
    #[arg(long, default_value = "300 s")]
    duration: Duration,
    /// How the simulated flows find lost data
    #[arg(long, default_value = "rack", value_parser = ["newreno", "sack", "rack"])]
    recovery: String,
    /// Print the scenario file that is simulated, and run nothing
    #[arg(long)]
    print_scenario: bool,
    /// Run on so many threads [default: all cores]; results are the same on any number
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw throughput over the packet error probability
    #[arg(long, value_name = "FILE.svg", value_parser = crate::play::svg_file)]
    plot: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  whimbrel model                                        the emulated link of the TCP-NACK paper
  whimbrel model --rate 50Mbit/s --rtt 100ms --points 13 --plot theory.svg
  whimbrel model --recovery newreno --seeds 10          what repairing one loss each round trip costs
  whimbrel model --buffer 5 --seeds 0                   theory alone, at once
  whimbrel model --print-scenario > path.toml           what is simulated, to be changed

Columns, all in percent of what the link carries:
  simulated  payload that arrived, mean of the seeds ± standard deviation
  chain      the Markov chain over congestion avoidance of the TCP-NACK paper: what all cycles deliver over how long they
             take; what no NACK can tell of, as the headers were struck, is lost
  + flight   the same, where what was sent behind a lost packet counts, too: the most that there can be
  (15) (16)  the same chain as the paper sums it: the mean of the cycles' rates, in which short cycles count as much as
             long ones; every corruption is told of
  PFTK       Padhye and others 1998: with timeouts, each for --min-rto, and no window above link and buffer
  Mathis     1.31/(RTT*sqrt(p)): halving and growing alone
  PFTK and Mathis are of Reno and know no link; they are cut off at what it carries.

What the models do not know:
  Slow start, and ACKs for every second packet (the simulator sends one for each here). The chain knows no timeouts either: with
  --recovery newreno four of ten losses end in one at 10 % errors.";

/// One of the laws that the chain knows, with or without NACK.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// The simulator's controller.
    controller: &'static str,
    law: Law,
    nacks: bool,
}

const FLOWS: [Flow; 4] = [
    Flow {
        controller: "reno",
        law: Law::Reno,
        nacks: false,
    },
    Flow {
        controller: "westwood",
        law: Law::Westwood,
        nacks: false,
    },
    Flow {
        controller: "tcp-nack",
        law: Law::Reno,
        nacks: true,
    },
    Flow {
        controller: "tcp-nack-westwood",
        law: Law::Westwood,
        nacks: true,
    },
];

impl ModelArgs {
    fn packet(&self) -> Bytes {
        self.mss.saturating_add(self.header)
    }

    /// As many packets as the link holds when nobody says otherwise.
    fn buffer(&self) -> u64 {
        self.buffer.unwrap_or_else(|| {
            let under_way = self.rate.bytes_in(self.rtt).get();
            under_way / self.packet().get().max(1) + 1
        })
    }

    /// The probabilities, rounded to three digits so that what is shown is what is run.
    fn errors(&self) -> Result<Vec<Probability>, BadInput> {
        let (from, to) = (self.from.get(), self.to.get());
        if from <= 0.0 || to >= 1.0 || from > to {
            return Err(BadInput::new(
                "packet error probabilities must lie between 0 % and 100 %, --from not above --to",
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

/// Asks all models and the simulator.
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
