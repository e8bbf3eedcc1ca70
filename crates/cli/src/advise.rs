//! `whimbrel advise`: which algorithm to use on a path, measured by simulation. With a server, the
//! path is measured first.

mod probe;

use crate::credentials::CredentialArgs;
use crate::path::PathArgs;
use crate::print;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use whimbrel_report::fill;
use whimbrel_study::advice::{json, sentences, table};
use whimbrel_study::advise::{Request, advise};
use whimbrel_study::neighbours::Neighbours;
use whimbrel_study::real::path_measurement::PathMeasurement;
use whimbrel_units::{Bytes, Duration};
use whimbrel_watch::Bar;

/// Advise which algorithm to use on a path
///
/// Simulates all algorithms on the path, alone and beside another flow, and says in three sentences
/// what to use, what it gains over CUBIC, what it does to neighbours, and what can run it today.
///
/// With HOST, where `whimbrel serve` runs, the path is measured first: data that the server
/// discards is sent for some seconds, on long or lossless paths for up to 40. What flags say of the
/// path counts more than what is measured.
#[derive(clap::Args)]
#[command(
    mut_arg("rate", |rate| rate.required_unless_present_any(["rate_trace", "host"])),
    mut_arg("rate_trace", |trace| trace.alias("trace").conflicts_with("host")),
    mut_arg("back_trace", |trace| trace.conflicts_with("host")),
    mut_arg("rtt", |rtt| rtt.required_unless_present("host")),
    after_help = "\
Examples:
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5%
  whimbrel advise --rate 20Mbit/s --rtt 600ms --loss 1% --neighbours bbr
  whimbrel advise --rate-trace starlink.down --rtt 45ms --queue '300 packets'
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5% --size 1GB
  whimbrel advise example.org                measures the path first

The advice has the highest score: that of class A of `whimbrel rank`, alone on
the path, times what the neighbours keep (at most 1), times the share that it
takes beside them over half of a fair share (at most 1). Algorithms that leave a
CUBIC flow less than a quarter of its share on an ordinary path are excluded. Of
scores within 0.03 of the highest, or as near as other seeds might bring them,
the shortest queue decides.

A measurement sends with bbr until the rate no longer rises, then for ten round
trips at the full rate, lets the queue drain, and then sends at 80 % of that
rate: the loss of this part is the path's own. It ends when it is sure, at the
latest after --probe-time or --probe-size; if that is too early there is no
advice. In parentheses are 95 % intervals. The server may refuse a measurement
(`serve --max-probe 0`).

--json prints {path: {host, rate_bps, rtt_ms, loss, queue_bdp, each with its
interval (rate_interval_bps ...: [low, high], null for an open end),
rate_tenths_bps, queue_is_full, late_ms, seconds, bytes} (null without HOST),
use, score, sentences, table: [{algorithm, score, goodput_bps, queue_ms, lost,
share, neighbours_keep, file_seconds (null without --size), carriers}]}."
)]
pub struct AdviseArgs {
    /// A server of `whimbrel serve`, to which the path is measured: `HOST[:PORT]`
    #[arg(value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    path: PathArgs,
    /// Flows that share the path, such as `bbr` or `cubic:2`
    #[arg(long, default_value = "cubic", value_name = "ALGORITHM[:N]")]
    neighbours: Neighbours,
    /// Also simulate how long a file of this size takes
    #[arg(long, conflicts_with = "rate_trace")]
    size: Option<Bytes>,
    /// How long data is sent to HOST at most
    #[arg(long, value_name = "TIME", default_value = "40 s", requires = "host")]
    probe_time: Duration,
    /// How much data is sent to HOST at most
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256 MiB",
        requires = "host"
    )]
    probe_size: Bytes,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Measures, and prints the advice.
pub fn run(args: AdviseArgs) -> anyhow::Result<ExitCode> {
    let probed = match &args.host {
        Some(host) => match probe::measure(&args, host)? {
            Ok(path) => Some(path),
            Err(refused) => return Ok(refused),
        },
        None => None,
    };
    let probed = probed.as_ref();
    for warning in probed.map(PathMeasurement::warnings).unwrap_or_default() {
        print::note(fill(&format!("warning: {warning}"), " "));
    }
    let mut path = args.path.path();
    path.only_one("there is one path; write one value")?;
    // What flags say counts more than what was measured.
    if let Some(probed) = probed {
        probed.complete(&mut path);
    }
    let request = Request {
        path,
        neighbours: args.neighbours,
        size: args.size,
        threads: args.threads,
    };
    let candidates = advise(&request, &Bar::new())?;
    let value = || {
        json(
            &request,
            &candidates,
            probed.map_or(Value::Null, PathMeasurement::as_json),
        )
    };
    let text = || {
        let measured = probed.map(|probed| fill(&probed.sentence(), " ") + "\n\n");
        let sentences = sentences(&request, &candidates);
        let sentences: String = sentences.iter().map(|one| fill(one, " ") + "\n").collect();
        format!(
            "{}{sentences}\n{}",
            measured.unwrap_or_default(),
            table(&candidates)
        )
    };
    print::result(args.json, value, text)
}
