//! `whimbrel send`: brings a file to a server.

use crate::controllers::for_transfers;
use crate::failure::BadInput;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_report::iperf3;
use whimbrel_transfer::{
    Error, Fingerprint, Identity, IntervalSample, KnownHosts, QlogFolder, SendOptions,
    ServerAddress, Summary, Token, TracePoint, default_state_dir,
};
use whimbrel_units::{Bytes, Duration, Rate};

/// The environment variable a token is taken from, so that it need not stand in a list of processes.
const TOKEN_VARIABLE: &str = "WHIMBREL_TOKEN";
/// Time between points of a trace where nobody says.
const TRACE_INTERVAL: Duration = Duration::from_millis(100);
/// Length of intervals where nobody says: iperf3's.
const INTERVAL: Duration = Duration::from_secs(1);
/// The server said no.
const REFUSED: u8 = 3;
/// The server is not known, or not who it should be.
const UNTRUSTED: u8 = 4;
/// Stopped by Ctrl-C: 128 + SIGINT.
const STOPPED: u8 = 130;

/// Send a file to a server, over QUIC
///
/// The congestion controller is any that `whimbrel controllers` lists, but for those that AATP carries. The command
/// returns when the server has checked the file's hash and has it on disk under its name.
///
/// A server is known by its fingerprint: give it once, it is remembered after that. On the machine that serves, neither
/// token nor fingerprint is needed.
#[derive(clap::Args)]
#[command(after_help = "\
--json prints one object:
  name, bytes            as stored
  seconds, goodput_bps   from the request to the server's word that the file is stored
  connect_seconds        what came before: the name and the handshake
  sent_packets, lost_packets, mtu_bytes
  rtt_ms, min_rtt_ms, cwnd_bytes      at the end
  controller, loss_episodes, reductions, timeouts, spurious
  verdicts               {congestion, random}: episodes by what they were taken for; null if it does not tell
  blake3                 the file's hash; the server computed the same
  samples                with --samples: [{t_s, cwnd_bytes, in_flight_bytes, rtt_ms, delivered_bytes}]
  intervals              what happened in each second (or --interval), in the names and units of `iperf3 -J`:
                         [{streams: [{start, end, seconds, bytes, bits_per_second, retransmits, snd_cwnd, rtt, rttvar,
                         pmtu, ...}], sum}]; times in s since the request, rtt and rttvar in us; bytes were acknowledged
                         and have QUIC's own overhead, retransmits are packets taken for lost
Exit status: 0 stored; 1 failed; 2 wrong usage; 3 refused by the server; 4 the server is not known or not the
one it should be; 130 stopped by Ctrl-C.

Examples:
  whimbrel send movie.mp4 example.org --token ... --fingerprint ...
  WHIMBREL_TOKEN=... whimbrel send movie.mp4 example.org
  whimbrel send movie.mp4 10.77.0.2 --controller cerl?A=0.6 --json --trace cwnd.csv
  whimbrel send movie.mp4 10.77.0.2 --qlog logs")]
pub struct SendArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The server: host, host:port or [IPv6 address]:port (4440 if no port is given)
    #[arg(value_name = "HOST")]
    server: ServerAddress,
    /// The token `whimbrel serve` prints; else it is taken from WHIMBREL_TOKEN
    #[arg(long)]
    token: Option<Token>,
    /// The fingerprint `whimbrel serve` prints; remembered once the server has proved it
    #[arg(long)]
    fingerprint: Option<Fingerprint>,
    /// Congestion controller, with parameters if need be: cerl?A=0.6
    #[arg(long, default_value = "cubic", value_parser = for_transfers)]
    controller: Spec,
    /// Name it is to have there [default: its own]
    #[arg(long)]
    name: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write cwnd, RTT and bytes in flight over time to a CSV file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Put the same into the JSON object
    #[arg(long, requires = "json")]
    samples: bool,
    /// Time between two points of them [default: 100 ms], and length of the intervals of --json [default: 1 s]
    #[arg(long, value_name = "TIME")]
    interval: Option<Duration>,
    /// Log every packet and what the controller did, as qlog: a file DIR/*.sqlog, for qvis and its like
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Most that the qlog files in DIR may take up together; the log ends there, the transfer goes on
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", requires = "qlog")]
    qlog_limit: Bytes,
    /// Where servers are remembered [default: ~/.local/state/whimbrel]
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
}

/// Sends and shows how it went.
pub fn run(args: SendArgs) -> anyhow::Result<ExitCode> {
    let (as_json, with_samples, trace) = (args.json, args.samples, args.trace.clone());
    // Better to fail before the transfer than after it.
    let mut trace = match &trace {
        Some(path) => {
            let file = fs::File::create(path);
            Some((
                path,
                file.with_context(|| format!("{}: cannot write", path.display()))?,
            ))
        }
        None => None,
    };
    let options = options(args)?;
    let runtime = tokio::runtime::Runtime::new().context("the runtime does not start")?;
    let bar = bar();
    let result = runtime.block_on(async {
        let progress = |p: whimbrel_transfer::Progress| {
            bar.set_length(p.size);
            bar.set_position(p.bytes);
        };
        let stop = async {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        };
        whimbrel_transfer::send(options, progress, stop).await
    });
    bar.finish_and_clear();
    let mut summary = match result {
        Ok(summary) => summary,
        Err(error) => return failed(error),
    };
    if let Some((path, file)) = &mut trace {
        let points = summary.samples.as_deref().unwrap_or_default();
        csv(&mut io::BufWriter::new(file), points)
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    if !with_samples {
        summary.samples = None;
    }
    let mut out = io::stdout().lock();
    if as_json {
        let printed = Printed {
            intervals: intervals(&summary),
            summary: &summary,
        };
        serde_json::to_writer(&mut out, &printed).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        show(&mut out, &summary)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    intervals: Vec<iperf3::Interval>,
}

/// The transfer's intervals in iperf3's names.
fn intervals(summary: &Summary) -> Vec<iperf3::Interval> {
    let point = |sample: &IntervalSample| iperf3::Point {
        at: sample.at,
        bytes: sample.acknowledged.get(),
        retransmits: sample.lost_packets,
        state: Some(iperf3::State {
            cwnd: sample.cwnd.get(),
            rtt: sample.srtt,
            rttvar: sample.rttvar,
            pmtu: Some(sample.path_mtu.get()),
        }),
    };
    iperf3::intervals_of(&iperf3::Stream {
        flow: summary.name.clone(),
        controller: summary.controller.clone(),
        start: Duration::ZERO,
        points: summary.intervals.iter().map(point).collect(),
    })
}

fn failed(error: Error) -> anyhow::Result<ExitCode> {
    let code = match &error {
        Error::Refused(_) => REFUSED,
        Error::UnknownServer { .. } | Error::FingerprintMismatch { .. } => UNTRUSTED,
        Error::Stopped => STOPPED,
        _ => return Err(error.into()),
    };
    writeln!(io::stderr(), "error: {error}").ok();
    Ok(ExitCode::from(code))
}

fn options(args: SendArgs) -> anyhow::Result<SendOptions> {
    let state = args.identity.or_else(default_state_dir);
    let known = state
        .as_ref()
        .map(|s| KnownHosts::at(s.join("known_hosts")));
    let mut fingerprint = args.fingerprint;
    let given = match (args.token, std::env::var(TOKEN_VARIABLE)) {
        (Some(token), _) => Some(token),
        (None, Ok(text)) => {
            let token = text
                .parse()
                .map_err(|e| BadInput::new(format!("{TOKEN_VARIABLE}: {e}")))?;
            Some(token)
        }
        (None, Err(_)) => None,
    };
    let token = match given {
        Some(token) => token,
        None => {
            let own = own_identity(state.as_deref())?.ok_or_else(|| {
                BadInput::new(format!(
                    "a token is needed: --token TOKEN or {TOKEN_VARIABLE}; `whimbrel serve` prints it"
                ))
            })?;
            let pinned = match &known {
                Some(known) => known.get(&args.server.to_string())?,
                None => None,
            };
            // Our own token goes to nobody but ourselves.
            if *fingerprint.or(pinned).get_or_insert(own.fingerprint()) != own.fingerprint() {
                let text =
                    "this server is another than the one this machine's token is for: give --token";
                return Err(BadInput::new(text).into());
            }
            fingerprint = Some(own.fingerprint());
            own.token().clone()
        }
    };
    let wants_samples = args.trace.is_some() || args.samples;
    let mut options = SendOptions::new(args.file, args.server, token, args.controller);
    options.name = args.name;
    options.fingerprint = fingerprint;
    options.known_hosts = known;
    options.trace = wants_samples.then(|| args.interval.unwrap_or(TRACE_INTERVAL));
    options.interval = args.json.then(|| args.interval.unwrap_or(INTERVAL));
    options.qlog = match &args.qlog {
        Some(path) => Some(QlogFolder::open(path, args.qlog_limit, args.qlog_limit)?),
        None => None,
    };
    Ok(options)
}

/// The identity `whimbrel serve` made on this machine, if it ever ran here.
fn own_identity(state: Option<&Path>) -> Result<Option<Identity>, Error> {
    match state.filter(|s| s.join("token").exists()) {
        Some(state) => Identity::load_or_create(state).map(Some),
        None => Ok(None),
    }
}

/// Hidden by itself where stderr is no terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let template = "{wide_bar} {bytes}/{total_bytes}  {binary_bytes_per_sec}  {eta} left";
    bar.with_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}

fn show(out: &mut impl Write, s: &Summary) -> io::Result<()> {
    let share = if s.sent_packets == 0 {
        0.0
    } else {
        100.0 * s.lost_packets as f64 / s.sent_packets as f64
    };
    let took = Duration::from_secs_f64(s.seconds);
    let goodput = Rate::from_bits_per_sec(s.goodput_bps as u64);
    writeln!(
        out,
        "stored {}: {} in {took}, {goodput}",
        s.name,
        Bytes::new(s.bytes)
    )?;
    writeln!(
        out,
        "{}: cwnd {}, RTT {:.1} ms (least {:.1} ms), {} of {} packets lost ({share:.2} %)",
        s.controller,
        Bytes::new(s.cwnd_bytes),
        s.rtt_ms,
        s.min_rtt_ms,
        s.lost_packets,
        s.sent_packets,
    )?;
    write!(
        out,
        "{} episodes of loss, {} reduced the window",
        s.loss_episodes, s.reductions
    )?;
    match s.verdicts {
        Some(v) => writeln!(
            out,
            "; taken for congestion {}, for random loss {}",
            v.congestion, v.random
        )?,
        None => writeln!(out)?,
    }
    writeln!(out, "BLAKE3 {}", s.blake3)
}

fn csv(out: &mut impl Write, points: &[TracePoint]) -> io::Result<()> {
    writeln!(out, "t_s,cwnd_bytes,in_flight_bytes,rtt_ms,delivered_bytes")?;
    for p in points {
        let TracePoint {
            t_s,
            cwnd_bytes,
            in_flight_bytes,
            rtt_ms,
            delivered_bytes,
        } = p;
        writeln!(
            out,
            "{t_s:.6},{cwnd_bytes},{in_flight_bytes},{rtt_ms:.3},{delivered_bytes}"
        )?;
    }
    out.flush()
}
