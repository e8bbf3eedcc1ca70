//! Measures the path to a server before the advice.

use super::AdviseArgs;
use crate::failure::{BadInput, exit_code};
use crate::over_tcp::TransportArgs;
use crate::stop::runtime;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_study::real::path_measurement::PathMeasurement;
use whimbrel_transfer::{ClientOptions, ServerAddress, default_controller, probe};
use whimbrel_units::Duration;
use whimbrel_watch::path_probe::Progress;

/// The server ends a probe after a minute, of which the last answers need some seconds.
const LONGEST: Duration = Duration::from_secs(50);

/// Measures the path to a server. The inner error is the exit status of a server that refuses.
///
/// # Errors
/// If no credentials are known, or the probe was too short to be sure.
pub fn measure(args: &AdviseArgs, host: &str) -> anyhow::Result<Result<PathMeasurement, ExitCode>> {
    if args.probe_time.is_zero() || args.probe_time > LONGEST {
        let text = format!("--probe-time must be above 0 and at most {LONGEST}");
        return Err(BadInput::new(text).into());
    }
    let host: ServerAddress = host.parse().map_err(BadInput::new)?;
    let transport = TransportArgs::default();
    let credentials = args.credentials.find(&host, &transport)?;
    let options = ClientOptions {
        tcp_algorithm: None,
        ..credentials.client(ClientOptions::for_pipes, host.clone(), default_controller())
    };
    let progress = Progress::new(&host.to_string());
    let runtime = runtime()?;
    let work = probe(options, args.probe_size, args.probe_time, |sample| {
        progress.show(sample);
    });
    let report = match runtime.block_on(work) {
        Ok(report) => report,
        Err(error) => {
            drop(progress);
            let mut out = io::stderr().lock();
            writeln!(out, "error: {host}: {error}").ok();
            if let Some(hint) = credentials.hint(&error) {
                writeln!(out, "{hint}").ok();
            }
            let hint = "without a measurement: whimbrel advise --rate RATE --rtt RTT --loss LOSS";
            writeln!(out, "{hint}").ok();
            return Ok(Err(ExitCode::from(exit_code(&error))));
        }
    };
    drop(progress);
    credentials.accepted();
    let measured = PathMeasurement::of(&host.to_string(), &report);
    let flags = |why: BadInput| BadInput::new(format!("{why} (--probe-time, --probe-size)"));
    Ok(Ok(measured.map_err(flags)?))
}
