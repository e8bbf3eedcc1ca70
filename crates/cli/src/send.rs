//! `whimbrel send`: sends a file to a server.

mod tree;

use crate::credentials::{CredentialArgs, Credentials};
use crate::failure::{BadInput, STOPPED};
use crate::over_tcp::{self, TransportArgs};
use crate::print;
use crate::priority::priority;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_study::sent::{self, Sent};
use whimbrel_transfer::service::Location;
use whimbrel_transfer::{
    ClientOptions, DEFAULT_CONTROLLER, Error, Filter, Measurement, Outcome, QlogFolder, Report,
    Retry, SendOptions, SendSource, ServerAddress, TreeOptions, Update, transfer,
};
use whimbrel_units::{Bytes, Duration, Rate};

/// Default time between points of a trace.
const TRACE_INTERVAL: Duration = Duration::from_millis(100);
/// Default length of intervals: iperf3's default.
const INTERVAL: Duration = Duration::from_secs(1);
/// Where nobody watches, an interrupted transfer is tried again for this long.
const RETRY_FOR: Duration = Duration::from_secs(24 * 3600);
/// What the user writes for standard input.
const STDIN: &str = "-";
/// Exit status: the transfer failed.
const FAILED: u8 = 1;
/// Exit status: the server refused the file.
pub const REFUSED: u8 = 3;
/// Exit status: the server is unknown, or its fingerprint is wrong.
pub const UNTRUSTED: u8 = 4;

/// Send files and directories to a server, over QUIC
///
/// The congestion controller is any of `whimbrel controllers`. The command returns when the server
/// has verified the file's hash and stored the file on disk under its name. An interrupted transfer
/// goes on where it was: by itself, or when the same command is given again.
///
/// A fingerprint identifies the server, a token authorizes the sender. Both are remembered once the
/// server has accepted them. On the machine that runs the server they are not needed.
#[derive(clap::Args)]
#[command(after_help = "\
--json prints one object:
  name, bytes            as stored
  sent_bytes             bytes of the file sent, repeated ones included
  resumed_bytes          bytes that the server had already, verified by hash
  retries                connections after the first
  transport              \"quic\", or \"tls\" where UDP is blocked; null if
                         there was no connection. With tls, packets,
                         cwnd_bytes, mtu_bytes and episodes are 0
  key_exchange           \"X25519MLKEM768\", or with an older server \"X25519\"
  outcome                \"stored\", \"not stored\" or \"unknown\"
  error                  only after a failure: why. Of the rest the object then
                         has the seven lines above, and the exit status is 1
  seconds, goodput_bps   from the request to the server's confirmation; bytes that
                         the server had already do not count
  connect_seconds        before the request: name resolution and handshake
  sent_packets, lost_packets, mtu_bytes
  rtt_ms, min_rtt_ms, cwnd_bytes      at the end
  controller, loss_episodes, reductions, timeouts, spurious
  verdicts               {congestion, random}: episodes by the controller's
                         decision; null if it makes no such decisions
  bursts                 {bandwidth_bps (measured by trains), priority (granted),
                         weighted_fairness, allocated_bps, noise, lumps,
                         reported, halts}; null unless the controller sends
                         bursts
  saved_path             what an earlier transfer found on the path, with which
                         this one began: {cwnd_bytes, rtt_ms}, or null
  blake3                 the file's hash, which the server has verified
  paths                  one for each interface of --via, otherwise one: [{via,
                         sent_bytes, received_bytes, lost_packets, rtt_ms, state}];
                         bytes are those of UDP datagrams, via is null if the
                         system chose it, state is open, silent, opening or closed
  path                   after a lossy transfer what it saw: {lost, random_loss
                         (while the queue was short, without bursts), bursts,
                         min_rtt_ms, max_rtt_ms, rate_bps, full, faster: {controller, times} by a
                         simulation, or null}
  samples                with --samples: [{t_s, cwnd_bytes, in_flight_bytes,
                         rtt_ms, delivered_bytes}]
  intervals              one for each second (or --interval), with the names and
                         units of `iperf3 -J`: [{streams: [{start, end, seconds,
                         bytes, bits_per_second, retransmits, snd_cwnd, rtt,
                         rttvar, pmtu, ...}], sum}]; times are in s since the
                         request, rtt and rttvar in us; bytes are acknowledged
                         bytes with QUIC's overhead; retransmits are packets
                         declared lost
With directories or several files: files, bytes, sent_files, unchanged_files,
  sent_bytes, resumed_bytes, retries, seconds, goodput_bps, path (as above),
  outcome (\"stored\" if all files are), skipped and failures [[path, why]], would_send with
  --dry-run, error after a failure
Exit status: 0 stored; 1 failed; 2 wrong usage; 3 refused by the server;
4 unknown server, wrong fingerprint, or no key exchange in common; 130 stopped by Ctrl-C.

Examples:
  whimbrel send movie.mp4 example.org --fingerprint ...     # asks for the token
  whimbrel send movie.mp4 example.org --token-file FILE
  whimbrel send photos music example.org:backup/ --exclude '*.tmp'
  tar c . | whimbrel send - example.org:backup.tar
  whimbrel send movie.mp4 10.77.0.2 --controller cerl?A=0.6 --trace cwnd.csv
  whimbrel send movie.mp4 10.77.0.2 --qlog logs")]
pub struct SendArgs {
    /// Files and directories; `-` is standard input, with --name or a PATH behind HOST
    ///
    /// A directory arrives with its name; with a slash at its end, only its content does.
    #[arg(value_name = "PATH", required = true, num_args = 1..)]
    sources: Vec<PathBuf>,
    /// The server: `HOST[:PORT][:PATH]`, with a PATH that ends with a slash for a directory there
    ///
    /// HOST is a name, an IPv4 address or an [IPv6 address]; the port is 4440 if none is given.
    #[arg(value_name = "HOST")]
    place: OsString,
    /// Only files with such a name, or with such a path below the directory; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Directories")]
    include: Vec<String>,
    /// No files or directories with such a name or path; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Directories")]
    exclude: Vec<String>,
    /// Leave symbolic links out; otherwise those that stay inside the directory are sent as links
    #[arg(long, help_heading = "Directories")]
    no_links: bool,
    /// Compare files that the server has by hash instead of size and time
    #[arg(long, help_heading = "Directories")]
    checksum: bool,
    /// Show what would be sent
    #[arg(long, short = 'n', help_heading = "Directories")]
    dry_run: bool,
    /// Congestion controller, optionally with parameters: cerl?A=0.6
    #[arg(long, default_value = DEFAULT_CONTROLLER)]
    controller: Spec,
    /// Weight against other transfers to the same server, 1 to 8, for controllers that share by
    /// priority (whimbrel; enhanced-aatp, of which the server may grant less) [default: 1]
    #[arg(long, value_name = "N", value_parser = priority)]
    priority: Option<Priority>,
    /// Path of the stored file [default: the file's own name]
    #[arg(long)]
    name: Option<String>,
    /// Give up when nothing has worked for this long; also wait for a server that has never
    /// answered [default: never at a terminal, 24 h elsewhere]
    #[arg(long, value_name = "TIME", conflicts_with = "no_retry")]
    retry_for: Option<Duration>,
    /// Give up at the first interruption
    #[arg(long)]
    no_retry: bool,
    /// The maximum rate of the file's data: `20 Mbit/s`
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    bwlimit: Option<Rate>,
    /// Send extended attributes in the namespace `user`, too
    #[arg(long)]
    xattrs: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write cwnd, RTT and bytes in flight over time to a CSV file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Include these values in the JSON object
    #[arg(long, requires = "json")]
    samples: bool,
    /// Time between such points [default: 100 ms] and length of the intervals of --json [default: 1
    /// s]
    #[arg(long, value_name = "TIME")]
    interval: Option<Duration>,
    /// Log every packet and the state of the controller as qlog, in a file DIR/*.sqlog
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Maximum size of all qlog files in DIR; at the limit the log ends and the transfer continues
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", requires = "qlog")]
    qlog_limit: Bytes,
    /// Write each packet and each decision on a loss to a file as CSV
    #[arg(long, value_name = "FILE", hide = true)]
    packet_log: Option<PathBuf>,
    #[command(flatten)]
    transport: TransportArgs,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Reads a maximum rate.
fn bandwidth(text: &str) -> Result<Rate, String> {
    match text.parse::<Rate>().map_err(|error| error.to_string())? {
        Rate::ZERO => Err("must be above 0; omit --bwlimit for no limit".to_owned()),
        rate => Ok(rate),
    }
}

/// The controller with a weight of its own, if it has one.
fn weighted(controller: &Spec, priority: Priority) -> Result<Spec, BadInput> {
    let weighted = controller
        .clone()
        .with_default("priority", &priority.get().to_string());
    weighted.ok_or_else(|| {
        BadInput::new(format!(
            "--priority: `{controller}` does not share by priority; use --controller whimbrel or \
             enhanced-aatp, or omit --priority"
        ))
    })
}

/// Sends the file and shows the result.
pub fn run(mut args: SendArgs) -> anyhow::Result<ExitCode> {
    let (as_json, with_samples, trace) = (args.json, args.samples, args.trace.clone());
    // Fail before the transfer rather than after it.
    let mut trace = match &trace {
        Some(path) => {
            crate::atomic_file::check(path)?;
            let file = fs::File::create(path);
            Some((
                path,
                file.with_context(|| format!("cannot write {}", path.display()))?,
            ))
        }
        None => None,
    };
    if let Some(priority) = args.priority
        && !args.controller.entry().is_fed_bursts()
    {
        args.controller = weighted(&args.controller, priority)?;
    }
    let place = place(&args.place)?;
    let sources = std::mem::take(&mut args.sources);
    let credentials = args.credentials.find(&place.server, &args.transport)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    if is_tree(&args, &sources) {
        let tree = tree_options(args, sources, place, &credentials)?;
        return tree::run(tree, as_json, &credentials, &runtime);
    }
    let file = sources.into_iter().next().unwrap_or_default();
    let options = options(args, file, place, &credentials)?;
    let bar = bar();
    let mut report = runtime.block_on(async {
        let show = |update| show_update(&bar, update);
        let stop = async {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        };
        transfer(options, show, stop).await
    });
    bar.finish_and_clear();
    let summary = match &mut report.result {
        Ok(summary) => summary,
        Err(_) => return failed(report, as_json, &credentials),
    };
    credentials.accepted();
    if let Some((path, file)) = &mut trace {
        let points = summary.samples.as_deref().unwrap_or_default();
        sent::csv(&mut io::BufWriter::new(file), points)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if !with_samples {
        summary.samples = None;
    }
    match &report.result {
        Ok(summary) if !as_json => print::text(sent::text(summary, &report)),
        _ => print::json_line(&Sent::of(&report, None)),
    }
}

/// Shows why a file was not sent, and what is known of it on the server.
fn failed(report: Report, as_json: bool, credentials: &Credentials) -> anyhow::Result<ExitCode> {
    let Err(error) = &report.result else {
        return Ok(ExitCode::SUCCESS);
    };
    if as_json {
        print::json_line(&Sent::of(&report, Some(error)))?;
    }
    // A program that reads the JSON object gets one status for every failure.
    let code = if as_json { FAILED } else { exit_code(error) };
    credentials.report(error);
    let begun = report.sent_bytes > 0 || report.resumed_bytes > 0;
    let text = match report.outcome {
        Outcome::Unknown => {
            "It is not known whether the file is stored: the same command finds out."
        }
        Outcome::NotStored if begun => {
            "The file is not stored. The same command goes on where this one stopped."
        }
        _ => return Ok(ExitCode::from(code)),
    };
    writeln!(io::stderr(), "{text}").ok();
    Ok(ExitCode::from(code))
}

/// The exit status of an error.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Refused(_) => REFUSED,
        Error::UnknownServer { .. }
        | Error::FingerprintMismatch { .. }
        | Error::KeyExchange { .. } => UNTRUSTED,
        Error::Stopped => STOPPED,
        _ => FAILED,
    }
}

/// Shows progress and interruptions.
pub fn show_update(bar: &ProgressBar, update: Update) {
    match update {
        Update::Progress(progress) => {
            // Data flows again.
            if bar.message() != "" && bar.position() < progress.bytes {
                bar.set_message("");
            }
            bar.set_length(progress.size);
            // What was there already is no speed.
            let resumes = bar.position() == 0 && progress.bytes > 0;
            bar.set_position(progress.bytes);
            if resumes {
                bar.reset_eta();
            }
        }
        Update::OverTcp(control) => say(bar, over_tcp::notice(&control)),
        Update::OnePath => say(bar, over_tcp::ONE_PATH.to_owned()),
        Update::Queued(position) => {
            say(
                bar,
                format!("the server is busy: {} in line", ordinal(position)),
            );
        }
        Update::Interrupted { reason, wait } => {
            let seconds = wait.as_secs_f64();
            say(
                bar,
                format!("interrupted, trying again in {seconds:.0} s: {reason}"),
            );
        }
        _ => {}
    }
}

/// On a terminal beside the bar; as a line elsewhere.
fn say(bar: &ProgressBar, text: String) {
    if bar.is_hidden() {
        writeln!(io::stderr(), "{text}").ok();
    } else {
        bar.set_message(text);
    }
}

/// 1st, 2nd, 3rd, 4th ...
fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

/// The server, and perhaps a path there.
fn place(written: &OsStr) -> anyhow::Result<Location> {
    let text = written.to_string_lossy();
    let parsed = text.parse::<Location>().map_err(BadInput::new)?;
    if !text.contains(':') && Path::new(written).exists() {
        let note = "is taken for the server, the last argument; there is a file of this name";
        writeln!(io::stderr(), "note: {text} {note}").ok();
    }
    Ok(parsed)
}

/// Whether the sources are sent as a tree: several, a directory, or a choice.
fn is_tree(args: &SendArgs, sources: &[PathBuf]) -> bool {
    let chosen = !args.include.is_empty() || !args.exclude.is_empty();
    chosen
        || args.checksum
        || args.dry_run
        || sources.len() > 1
        || sources.iter().any(|source| source.is_dir())
}

fn tree_options(
    args: SendArgs,
    sources: Vec<PathBuf>,
    place: Location,
    credentials: &Credentials,
) -> anyhow::Result<TreeOptions> {
    if args.name.is_some() {
        let text = "--name is for one file; write HOST:DIRECTORY/ for directories";
        return Err(BadInput::new(text).into());
    }
    if args.trace.is_some() || args.samples {
        return Err(BadInput::new("--trace and --samples are for one file").into());
    }
    if sources.iter().any(|source| source.as_os_str() == STDIN) {
        return Err(BadInput::new("standard input cannot be sent with other files").into());
    }
    Ok(TreeOptions {
        directory: place.path,
        filter: Filter::new(&args.include, &args.exclude).map_err(BadInput::new)?,
        links: !args.no_links,
        checksum: args.checksum,
        dry_run: args.dry_run,
        measurement: measurement(&args),
        bandwidth: args.bwlimit,
        attributes: args.xattrs,
        ..TreeOptions::new(client(&args, place.server, credentials)?, sources)
    })
}

/// The path of one file on the server.
fn remote_name(args: &SendArgs, file: &Path, place: &Location) -> anyhow::Result<Option<String>> {
    let text = |name: &std::ffi::OsStr| {
        let utf_8 = name.to_str().map(str::to_owned);
        utf_8.ok_or_else(|| BadInput::new("the file's name is not UTF-8; use --name"))
    };
    let is_stream = file.as_os_str() == STDIN;
    let own = match (&args.name, file.file_name()) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(name)) if !is_stream && place.path.is_some() => Some(text(name)?),
        _ => None,
    };
    match (&place.path, place.is_directory, own) {
        (_, true, None) if is_stream => {
            let text = "standard input needs a name: write HOST:PATH or add --name";
            Err(BadInput::new(text).into())
        }
        (None, _, own) => Ok(own),
        (Some(path), true, Some(own)) => Ok(Some(format!("{path}/{own}"))),
        (Some(path), true, None) => Ok(Some(path.to_string())),
        (Some(path), false, _) => Ok(Some(path.to_string())),
    }
}

/// The options for one file.
fn options(
    args: SendArgs,
    file: PathBuf,
    place: Location,
    credentials: &Credentials,
) -> anyhow::Result<SendOptions> {
    Ok(SendOptions {
        name: remote_name(&args, &file, &place)?,
        measurement: measurement(&args),
        bandwidth: args.bwlimit,
        attributes: args.xattrs,
        client: client(&args, place.server, credentials)?,
        source: match file.as_os_str() == STDIN {
            true => SendSource::stdin(),
            false => SendSource::File(file),
        },
    })
}

/// What to record.
fn measurement(args: &SendArgs) -> Measurement {
    let wants_samples = args.trace.is_some() || args.samples;
    Measurement {
        trace: wants_samples.then(|| args.interval.unwrap_or(TRACE_INTERVAL)),
        interval: Some(args.interval.unwrap_or(INTERVAL)),
        packet_log: args.packet_log.clone(),
    }
}

/// How to reach the server.
fn client(
    args: &SendArgs,
    server: ServerAddress,
    credentials: &Credentials,
) -> anyhow::Result<ClientOptions> {
    let token = credentials.token.clone();
    let mut client = ClientOptions::new(server, token, args.controller.clone());
    client.retry = (!args.no_retry).then(|| Retry {
        limit: args
            .retry_for
            .or((!io::stderr().is_terminal()).then_some(RETRY_FOR)),
        from_start: args.retry_for.is_some(),
    });
    args.transport.apply(&mut client);
    client.tcp_algorithm = Some(over_tcp::algorithm(&client.controller));
    client.priority = args.priority.unwrap_or_default();
    client.fingerprint = credentials.fingerprint;
    client.known_hosts.clone_from(&credentials.known_hosts);
    client.known_paths = args.transport.known_paths(credentials);
    client.qlog = match &args.qlog {
        Some(path) => Some(qlog_folder(path, args.qlog_limit, args.qlog_limit)?),
        None => None,
    };
    Ok(client)
}

/// A folder for qlog files of at most `total` together and `file` each.
pub fn qlog_folder(path: &Path, total: Bytes, file: Bytes) -> anyhow::Result<QlogFolder> {
    QlogFolder::open(path, total, file).context("--qlog: choose another, or raise --qlog-limit")
}

/// The progress bar; hidden if stderr is not a terminal.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    // SI units, as in the result.
    let template = "{wide_bar} {decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}  \
                    {eta} left {msg}";
    bar.with_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}
