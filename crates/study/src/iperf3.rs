//! One run in the format of `iperf3 -J`.

use crate::atomic_file::AtomicFile;
use crate::{Error, VERSION};
use std::io;
use whimbrel_report::iperf3::Test;
use whimbrel_sim::sweep::Job;
use whimbrel_units::Duration;

/// Default time between its reports: iperf3's own default.
const INTERVAL: Duration = Duration::from_secs(1);

/// Whether the run has a flow with a congestion controller: the format has no others.
pub fn has_controller(job: &Job<'_>) -> bool {
    let flows = job.point.flows();
    flows
        .iter()
        .any(|flow| flow.count > 0 && flow.controller.is_some())
}

/// Plays a run, and writes it with a report for each interval.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    file: AtomicFile,
    job: &Job<'_>,
    interval: Option<Duration>,
    title: &str,
) -> Result<(), Error> {
    let interval = interval.unwrap_or(INTERVAL);
    let mut network = job.point.network(job.seed);
    network.sample = Some(interval);
    let outcome = whimbrel_sim::run(&network);
    let title = match title {
        "" => format!("seed {}", job.seed),
        title => format!("{title}, seed {}", job.seed),
    };
    let test = Test::of_run(&outcome, interval, VERSION, &title);
    file.finish(|to| {
        serde_json::to_writer_pretty(&mut *to, &test).map_err(io::Error::from)?;
        writeln!(to)
    })
}
