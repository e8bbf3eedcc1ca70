//! `whimbrel demo`: one real file over one emulated path with several controllers, beside the
//! simulator's prediction for the same path. The transport is QUIC, or Linux TCP.

pub mod host;
pub mod measure;
pub mod output;
mod paper;
pub mod predict;
mod show;
mod tcp;
pub mod trust;

pub use tcp::{DemoEndArgs, run as run_end};

use crate::failure::BadInput;
use anyhow::Context;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_net::Queue;
use whimbrel_study::path::fraction;
use whimbrel_study::prediction::Transfer;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// The largest file that a controller sends when `--size` does not set one.
const LARGEST: Bytes = Bytes::new(64 << 20);

/// Race controllers over an emulated lossy path with a real file
///
/// Sends a file with each controller, all at the same time, each through its own `whimbrel link`,
/// from `whimbrel send` to `whimbrel serve`: real QUIC packets, real sockets. Verifies every copy.
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

/// Whose code of an algorithm runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// The kernel's.
    Kernel,
    /// Whimbrel's.
    Whimbrel,
}

impl Implementation {
    /// Whose code of an algorithm runs: over TCP the kernel's, if the kernel has the algorithm.
    pub fn of(controller: &Spec, tcp: bool) -> Self {
        match tcp && whimbrel_link::kernel_has(&controller.to_string()) {
            true => Self::Kernel,
            false => Self::Whimbrel,
        }
    }

    /// `kernel` or `whimbrel`, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Whimbrel => "whimbrel",
        }
    }
}

impl DemoArgs {
    /// Whose code of this algorithm runs.
    fn implementation(&self, controller: &Spec) -> Implementation {
        Implementation::of(controller, self.tcp)
    }
}

/// One transfer: a file over a path under a controller.
pub struct Trial<'a> {
    /// Path, algorithm and transport.
    pub transfer: Transfer<'a>,
    /// Of the random losses.
    pub seed: u64,
    /// Whose code of the algorithm runs.
    pub implementation: Implementation,
}

/// The buffer size of a demonstration's path.
pub const QUEUE: Queue = Queue::Bdp(1.0);

impl DemoArgs {
    /// The transfer of a controller.
    fn trial<'a>(&self, controller: &'a Spec) -> Trial<'a> {
        Trial {
            transfer: Transfer {
                rate: self.rate,
                rtt: self.rtt,
                queue: QUEUE,
                loss: self.loss,
                outages: &[],
                controller,
                tcp: self.tcp,
            },
            seed: self.seed,
            implementation: self.implementation(controller),
        }
    }
}

/// All results of one controller.
struct Contestant {
    controller: Spec,
    implementation: Implementation,
    prediction: predict::Prediction,
    /// `Err`: why there is no measurement.
    measurement: Result<measure::Measurement, String>,
    /// Reasons not to trust the measurement.
    warnings: Vec<String>,
}

/// Predicts, measures, compares.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    if args.paper.is_some() {
        return paper::run(&args);
    }
    if args.size.is_some_and(Bytes::is_zero) {
        return Err(
            BadInput::new("--size: an empty file shows nothing; write e.g. `8 MiB`").into(),
        );
    }
    if args.time.is_zero() {
        return Err(BadInput::new("--time: must be above zero; write e.g. `45 s`").into());
    }
    if args.rate == Rate::ZERO {
        return Err(BadInput::new("--rate: nothing moves at zero; write e.g. `50 Mbit/s`").into());
    }
    let predictions = predict::all(&args)?;
    let race = measure::all(&args, &predictions)?;
    let contestants: Vec<Contestant> = args
        .controllers
        .iter()
        .zip(predictions)
        .zip(race.measurements)
        .map(|((controller, prediction), measurement)| Contestant {
            warnings: match &measurement {
                Ok(measured) => trust::warnings(measured, &prediction, args.rtt, &race.host),
                Err(_) => Vec::new(),
            },
            controller: controller.clone(),
            implementation: args.implementation(controller),
            prediction,
            measurement,
        })
        .collect();
    if let Some(path) = &args.picture {
        let svg = show::picture(&args, &contestants)?;
        fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        show::json(&args, &contestants)?;
    } else {
        show::table(&args, &contestants)?;
    }
    // Without the rights to make a path, the prediction alone is a success. A transfer that failed
    // on a path is not.
    let broken = contestants.iter().any(|c| c.measurement.is_err());
    Ok(ExitCode::from(u8::from(broken && race.path_allowed)))
}
