//! `whimbrel demo`: one real file over one emulated path under several algorithms, beside what the
//! simulator says of the same path.

mod measure;
mod predict;
mod show;

use crate::controllers::for_transfers;
use crate::failure::BadInput;
use anyhow::Context;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Race a real file against itself over a lossy path
///
/// Sends one file with each controller through `whimbrel link`, all at the same time and each over a path of its own, by
/// `whimbrel send` to `whimbrel serve`: real QUIC packets, real sockets. Checks every copy. Beside each measurement stands
/// what the simulator predicts for the same path. Where the system allows no network namespaces, only the prediction is
/// made.
#[derive(clap::Args)]
#[command(after_help = "\
With the defaults CUBIC takes about seven minutes: that is the point.

Examples:
  whimbrel demo
  whimbrel demo --size 8MiB
  whimbrel demo --rate 100Mbit/s --rtt 600ms --loss 0.1% --controllers newreno,cubic,cerl
  whimbrel demo --picture race.svg --json")]
pub struct DemoArgs {
    /// Rate of the path
    #[arg(long, default_value = "50 Mbit/s")]
    rate: Rate,
    /// Round-trip time of the empty path
    #[arg(long, default_value = "100 ms")]
    rtt: Duration,
    /// Random loss of data packets
    #[arg(long, default_value = "1 %")]
    loss: Probability,
    /// Size of the file
    #[arg(long, default_value = "64 MiB")]
    size: Bytes,
    /// Which algorithms; see `whimbrel controllers`. Those that AATP carries are not for real transfers
    #[arg(long, value_delimiter = ',', default_value = "cubic,cerl", value_parser = for_transfers)]
    controllers: Vec<Spec>,
    /// Chooses which packets the emulated path loses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the data delivered over time, measured and predicted
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is known of one controller in the end.
struct Contestant {
    controller: Spec,
    prediction: predict::Prediction,
    /// `Err`: why there is no measurement.
    measurement: Result<measure::Measurement, String>,
}

/// Predicts, measures, compares.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    if args.size.is_zero() {
        return Err(
            BadInput::new("--size: a file of nothing shows nothing; write e.g. `8 MiB`").into(),
        );
    }
    if args.rate == Rate::ZERO {
        return Err(BadInput::new("--rate: nothing moves at zero; write e.g. `50 Mbit/s`").into());
    }
    let predictions = predict::all(&args)?;
    let measured = measure::all(&args)?;
    let contestants: Vec<Contestant> = args
        .controllers
        .iter()
        .zip(predictions)
        .zip(measured)
        .map(|((controller, prediction), measurement)| Contestant {
            controller: controller.clone(),
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
    // The simulated half alone is what was promised where the rights are missing; a transfer that failed is not.
    let broken = contestants.iter().any(|c| c.measurement.is_err());
    let possible = contestants.iter().any(|c| c.measurement.is_ok());
    Ok(ExitCode::from(u8::from(broken && possible)))
}
