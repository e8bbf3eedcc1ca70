//! Statistics of a path with hand-overs, recorded or generated:
//!
//! ```text
//! cargo run --release -p whimbrel-net --example path_statistics -- CAPACITY DELAY
//! cargo run --release -p whimbrel-net --example path_statistics -- generated [PATHS [SECONDS]]
//! ```
//!
//! CAPACITY is a trace in mahimahi's format, DELAY a recorded one-way delay (milliseconds, one line
//! for each 10 ms) that holds for both directions. `generated` draws PATHS default low-orbit paths
//! of SECONDS each and puts them together: the numbers are means over the paths.

use std::error::Error;
use std::sync::Arc;
use whimbrel_net::{Delay, DelayTrace, LowOrbit, PathStatistics, Quantiles, ServiceSpec, Trace};
use whimbrel_units::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let all = match args.as_slice() {
        ["generated", rest @ ..] => {
            let number = |at: usize, default| rest.get(at).map_or(Ok(default), |n| n.parse());
            generated(number(0, 100)?, number(1, 120)?)?
        }
        [capacity, delay] => vec![recorded(capacity, delay)?],
        _ => return Err("give CAPACITY and DELAY, or `generated [PATHS [SECONDS]]`".into()),
    };
    print(&all);
    Ok(())
}

fn recorded(capacity: &str, delay: &str) -> Result<PathStatistics, Box<dyn Error>> {
    let trace = Trace::parse(&std::fs::read_to_string(capacity)?)?;
    let delays = DelayTrace::parse(&std::fs::read_to_string(delay)?)?;
    let (length, service) = (trace.period(), ServiceSpec::Trace(Arc::new(trace)));
    let delay = Delay::recorded(Duration::from_millis(10), delays)?;
    PathStatistics::of(&service, &delay, &delay, length).ok_or_else(|| "no capacity".into())
}

fn generated(paths: u64, seconds: u64) -> Result<Vec<PathStatistics>, Box<dyn Error>> {
    let length = Duration::from_secs(seconds);
    let one = |seed| {
        let path = LowOrbit::default().draw(length, seed)?;
        let service = ServiceSpec::Rate(path.forward.rate);
        PathStatistics::of(&service, &path.forward.delay, &path.reverse.delay, length)
            .ok_or_else(|| "no capacity".into())
    };
    (1..=paths).map(one).collect()
}

fn print(all: &[PathStatistics]) {
    println!(
        "{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "p5", "median", "p95", "mean", "max"
    );
    let row = |name: &str, of: fn(&PathStatistics) -> Quantiles| {
        let mean = |value: fn(&Quantiles) -> f64| {
            all.iter().map(|path| value(&of(path))).sum::<f64>() / all.len() as f64
        };
        println!(
            "{name:<34}{:>9.1}{:>9.1}{:>9.1}{:>9.1}{:>9.1}",
            mean(|q| q.p5),
            mean(|q| q.median),
            mean(|q| q.p95),
            mean(|q| q.mean),
            mean(|q| q.max)
        );
    };
    row("capacity, Mbit/s", |path| path.capacity);
    row("RTT of the empty path, ms", |path| path.rtt);
    row("hold, ms", |path| path.hold);
    row("time between holds, s", |path| path.interval);
    row("change of capacity, Mbit/s", |path| path.capacity_jump);
    row("change of RTT, ms", |path| path.rtt_jump);
    let mean =
        |value: fn(&PathStatistics) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let fading = mean(|path| path.fading) * 100.0;
    println!("capacity between holds, standard deviation: {fading:.1} % of the mean");
    println!(
        "RTT, mean change within 10 ms: {:.1} ms",
        mean(|path| path.jitter)
    );
}
