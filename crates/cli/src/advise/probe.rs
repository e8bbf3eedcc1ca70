//! Measures the path to a server before the advice.

use super::AdviseArgs;
use crate::failure::{BadInput, exit_code};
use crate::over_tcp::TransportArgs;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_study::real::path_measurement::PathMeasurement;
use whimbrel_transfer::{
    ClientOptions, ProbeSample, ProbeStage, ServerAddress, default_controller, probe,
};
use whimbrel_units::Duration;

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
    let credentials = args.credentials.find(&host, &TransportArgs::default())?;
    let token = credentials.token.clone();
    let mut options = ClientOptions::for_pipes(host.clone(), token, default_controller());
    options.fingerprint = credentials.fingerprint;
    options.known_hosts.clone_from(&credentials.known_hosts);
    let progress = Progress::new(&host);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
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
    Ok(Ok(PathMeasurement::of(&host.to_string(), &report)?))
}

/// What the probe does, on a terminal.
struct Progress {
    bar: ProgressBar,
    /// The start of the stage: seconds, bytes, packets sent and lost.
    begin: Cell<Option<ProbeSample>>,
}

impl Progress {
    fn new(host: &ServerAddress) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("measuring the path to {prefix}: {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(host.to_string());
        Self {
            bar,
            begin: Cell::new(None),
        }
    }

    fn show(&self, now: &ProbeSample) {
        let begin = match self.begin.get() {
            Some(begin) if begin.stage == now.stage => begin,
            _ => {
                self.begin.set(Some(*now));
                *now
            }
        };
        let bits = (now.delivered - begin.delivered) as f64 * 8.0;
        let mbits = bits * 1e-6 / (now.at - begin.at).max(1e-3);
        let lost = now.lost_packets.saturating_sub(begin.lost_packets);
        let sent = now.sent_packets.saturating_sub(begin.sent_packets);
        let doing = match now.stage {
            ProbeStage::Startup => "the rate rises".to_owned(),
            ProbeStage::Full => format!("the rate, {mbits:.1} Mbit/s"),
            ProbeStage::Drain => "the queue drains".to_owned(),
            ProbeStage::Calm => format!("the loss, {lost} of {sent} packets"),
            ProbeStage::End => "the last packets arrive".to_owned(),
        };
        self.bar.set_message(format!("{:.0} s, {doing}", now.at));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
