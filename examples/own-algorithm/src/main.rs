//! `gentle`: Reno that gives up a quarter, not half, of its window after a loss.
use whimbrel_cc::parts::{Aimd, IncreaseDecrease, Window, WindowController};
use whimbrel_cc::registry::{Code, Entry};

#[derive(Debug, Clone)]
struct Gentle;

#[rustfmt::skip] // On two lines.
impl IncreaseDecrease for Gentle {
    fn increase(&self, _: &Window) -> f64 { 1.0 } // segments per window of data
    fn decrease(&mut self, _: &Window) -> f64 { 0.25 } // of the flight
}

const CODE: &[Code] = &[Code {
    path: file!(),
    text: include_str!("main.rs"),
}];
static GENTLE: Entry = Entry::new(
    "gentle",
    "Reno that keeps three quarters",
    CODE,
    |setup, _| Box::new(WindowController::new(setup, Aimd(Gentle))),
);

/// The whole command: `own-algorithm compare --controllers gentle,cubic`.
#[cfg(feature = "command")]
fn main() -> std::process::ExitCode {
    whimbrel_cli::main_with(&[&GENTLE])
}

/// Simulates a scenario file, or one bottleneck that `gentle` and `cubic` share.
#[cfg(not(feature = "command"))]
fn main() -> std::process::ExitCode {
    let Err(error) = simulate(std::env::args().nth(1).as_deref()) else {
        return std::process::ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    std::process::ExitCode::FAILURE
}

#[cfg(not(feature = "command"))]
fn simulate(file: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    const SHARED: &str = "\
        [link.bottleneck]\nrate = \"50 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
        [[flow]]\ncontroller = \"gentle\"\nroute = [\"bottleneck\"]\n\
        [[flow]]\ncontroller = \"cubic\"\nroute = [\"bottleneck\"]\n\
        [run]\nduration = \"30 s\"\n";
    whimbrel_cc::registry::add(&[&GENTLE])?;
    let text = match file {
        None => SHARED.to_owned(),
        Some(file) => {
            std::fs::read_to_string(file).map_err(|why| format!("cannot read {file}: {why}"))?
        }
    };
    let path = file.unwrap_or_default().as_ref();
    let scenario = whimbrel_sim::scenario::Scenario::parse(&text, path)?;
    for (point, seed) in scenario
        .points()
        .iter()
        .flat_map(|p| (1..=3).map(move |s| (p, s)))
    {
        for flow in whimbrel_sim::run(&point.network(seed)).flows {
            let mbits = flow.delivered.get() as f64 * 8e-6 / flow.active.as_secs_f64();
            let name = flow.name.to_string();
            println!("seed {seed}  {name:<10} {mbits:6.2} Mbit/s");
        }
    }
    Ok(())
}
