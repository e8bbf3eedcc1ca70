//! `compare --real`: the simulator, QUIC and the kernel's TCP on one path, as one table and one
//! page.

mod page;
mod show;

use super::CompareArgs;
use crate::atomic_file;
use crate::demo::host::Meter;
use crate::demo::measure::{Measurement, Stage, progress_bar};
use crate::demo::predict::{self, Prediction};
use crate::demo::{Implementation, Trial, trust};
use crate::failure::BadInput;
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_cc::Spec;
use whimbrel_cc::registry::CONTROLLERS;
use whimbrel_net::Queue;
use whimbrel_sim::scenario::Written;
use whimbrel_study::controllers::chosen;
use whimbrel_study::prediction::Transfer;
use whimbrel_units::{Duration, Probability, Rate};

/// The seed of the losses on the emulated path.
const SEED: u64 = 1;

/// The path, and the time of a transfer.
struct Path {
    rate: Rate,
    rtt: Duration,
    queue: Written<Queue>,
    loss: Probability,
    time: Duration,
    words: String,
}

/// One algorithm over one transport: simulated, and measured.
struct Both {
    controller: Spec,
    /// Over the kernel's TCP instead of QUIC.
    tcp: bool,
    implementation: Implementation,
    simulated: Prediction,
    /// `Err`: why there is no measurement.
    measured: Result<Measurement, String>,
    /// Reasons not to trust the measurement.
    warnings: Vec<String>,
}

impl Both {
    /// `QUIC`, `Linux TCP, the kernel's`, `Linux TCP, Whimbrel's`.
    fn transport(&self) -> &'static str {
        match (self.tcp, self.implementation) {
            (false, _) => "QUIC",
            (true, Implementation::Kernel) => "TCP, the kernel's",
            (true, Implementation::Whimbrel) => "TCP, Whimbrel's",
        }
    }
}

/// Simulates and measures each algorithm, and shows both.
///
/// # Errors
/// If a flag has several values, a file cannot be written, or a signal stops the transfers.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    if let Some(file) = &args.output.report {
        atomic_file::check(file)?;
    }
    let path = path(args)?;
    let controllers = controllers(args)?;
    let stage = Stage::new()?;
    let quic_allowed = stage.allows(None);
    // Whether the kernel takes our algorithms is another question than whether there are paths.
    let ours = controllers
        .iter()
        .find(|spec| on_tcp(spec) && Implementation::of(spec, true) == Implementation::Whimbrel);
    let tcp_allowed = match (&quic_allowed, ours) {
        (Ok(()), Some(spec)) => stage.allows(Some(spec)),
        (allowed, _) => allowed.clone(),
    };
    let trials: Vec<(&Spec, bool)> = controllers
        .iter()
        .flat_map(|spec| [(spec, false), (spec, true)])
        .filter(|(spec, tcp)| !tcp || on_tcp(spec))
        .collect();
    let mut all = Vec::new();
    for (i, (controller, tcp)) in trials.iter().enumerate() {
        let implementation = Implementation::of(controller, *tcp);
        let trial = path.trial(controller, *tcp, implementation);
        let size = predict::suitable_size(&trial, path.time)?;
        let simulated = predict::of(&trial, size, predict::SEEDS)?;
        let allowed = match implementation {
            Implementation::Whimbrel if *tcp => &tcp_allowed,
            _ => &quic_allowed,
        };
        let meter = Meter::start();
        let measured = match allowed {
            Err(why) => Err(why.clone()),
            Ok(()) => {
                let transport = if *tcp { "TCP" } else { "QUIC" };
                let title = format!("{}/{} {controller}, {transport}", i + 1, trials.len());
                let transfer = stage.start(&trial, &simulated, progress_bar(title, size))?;
                let mut results = stage.finish(vec![transfer])?;
                results
                    .pop()
                    .unwrap_or_else(|| Err("it did not run".to_owned()))
            }
        };
        let host = meter.finish();
        let warnings = measured.as_ref().map_or_else(
            |_| Vec::new(),
            |measured| trust::warnings(measured, &simulated, path.rtt, &host),
        );
        all.push(Both {
            controller: (*controller).clone(),
            tcp: *tcp,
            implementation,
            simulated,
            measured,
            warnings,
        });
    }
    if let Some(file) = &args.output.report {
        page::write(file, &path, &all, begin)?;
    }
    if args.output.json {
        show::json(&path, &all)?;
    } else {
        show::table(&path, &all)?;
    }
    // Without the rights to make a path, the simulation alone is a success. A transfer that failed
    // on a path is not.
    let failed = |both: &Both| {
        let allowed = if both.tcp {
            &tcp_allowed
        } else {
            &quic_allowed
        };
        allowed.is_ok() && both.measured.is_err()
    };
    Ok(ExitCode::from(u8::from(all.iter().any(failed))))
}

/// Whether TCP can carry an algorithm.
fn on_tcp(spec: &Spec) -> bool {
    !spec.entry().is_fed_bursts()
}

/// The path that the flags describe, which have one value each.
fn path(args: &CompareArgs) -> anyhow::Result<Path> {
    let path = args.path.path();
    path.only_one("--real has one path; write one value")?;
    let time = args.duration.value;
    if time.is_zero() {
        return Err(args
            .duration
            .fail("must be above zero; write e.g. `10 s`")
            .into());
    }
    let words = path.words().join(", ");
    let (Some(rate), Some(rtt)) = (path.rate.first(), path.rtt.first()) else {
        return Err(BadInput::new("--real needs --rate and --rtt").into());
    };
    let (rate, rtt) = (rate.value, rtt.value);
    let usual = || Written::of("--queue", Queue::Bdp(1.0));
    Ok(Path {
        rate,
        rtt,
        queue: path.queue.into_iter().next().unwrap_or_else(usual),
        loss: path.loss.first().map(|loss| loss.value).unwrap_or_default(),
        time,
        words,
    })
}

impl Path {
    fn trial<'a>(
        &'a self,
        controller: &'a Spec,
        tcp: bool,
        implementation: Implementation,
    ) -> Trial<'a> {
        Trial {
            transfer: Transfer {
                rate: self.rate,
                rtt: self.rtt,
                queue: self.queue.value,
                loss: self.loss,
                outages: &[],
                controller,
                tcp,
            },
            seed: SEED,
            implementation,
        }
    }
}

fn controllers(args: &CompareArgs) -> anyhow::Result<Vec<Spec>> {
    let every = CONTROLLERS.iter().map(|entry| entry.name);
    let all = chosen(&args.controllers, every)?;
    Ok(all.into_iter().map(|controller| controller.value).collect())
}
