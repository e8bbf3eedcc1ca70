//! Statistics of capacity traces, recorded or generated:
//!
//! ```text
//! cargo run --release -p whimbrel-net --example trace_statistics -- FILE...
//! cargo run --release -p whimbrel-net --example trace_statistics -- cellular [PATHS [SECONDS]]
//! ```
//!
//! FILE is a trace in mahimahi's format or a rate as CSV. `cellular` draws PATHS default cellular
//! paths of SECONDS each, and prints means over the paths for each direction.

use std::error::Error;
use whimbrel_net::{Cellular, Trace, TraceStatistics};
use whimbrel_units::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:<28}{:>8}{:>7}{:>7}{:>7}{:>7}{:>7}{:>9}{:>9}{:>10}",
        "", "Mbit/s", "p5", "p50", "p95", "fading", "1 s", "stalls", "longest", "stalled"
    );
    match args.as_slice() {
        [] => return Err("give FILES, or `cellular [PATHS [SECONDS]]`".into()),
        [kind, rest @ ..] if kind == "cellular" => {
            let number = |at: usize, default| rest.get(at).map_or(Ok(default), |n| n.parse());
            let (paths, seconds): (u64, u64) = (number(0, 100)?, number(1, 300)?);
            let mut all = [Vec::new(), Vec::new()];
            for seed in 1..=paths {
                let path = Cellular::default().draw(Duration::from_secs(seconds), seed)?;
                for (all, trace) in all.iter_mut().zip([path.forward, path.reverse]) {
                    all.push(trace.statistics());
                }
            }
            print("cellular, forward", &all[0]);
            print("cellular, reverse", &all[1]);
        }
        files => {
            for file in files {
                let trace = Trace::parse(&std::fs::read_to_string(file)?)
                    .map_err(|error| format!("{file}: {error}"))?;
                let name = file.rsplit('/').next().unwrap_or(file);
                print(name, &[trace.statistics()]);
            }
        }
    }
    Ok(())
}

/// One row: means over these statistics.
fn print(name: &str, all: &[TraceStatistics]) {
    let mean = |value: &dyn Fn(&TraceStatistics) -> f64| {
        all.iter().map(value).sum::<f64>() / all.len() as f64
    };
    println!(
        "{name:<28}{:>8.2}{:>7.2}{:>7.2}{:>7.2}{:>7.2}{:>7.2}{:>7.1} s{:>6.0} ms{:>8.1} %",
        mean(&|s| s.mean.as_bits_per_sec() as f64 / 1e6),
        mean(&|s| s.rate.p5),
        mean(&|s| s.rate.median),
        mean(&|s| s.rate.p95),
        mean(&|s| s.fading),
        mean(&|s| s.persistence),
        mean(&|s| s.length.as_secs_f64() / s.stall.count.max(1) as f64),
        mean(&|s| s.stall.max),
        mean(&|s| s.stalled * 100.0),
    );
}
