//! `whimbrel send`: sends a file to a server.

pub mod tree;

use crate::code::MeetArgs;
use crate::credentials::{CredentialArgs, Credentials};
use crate::failure::{BadInput, FAILED, exit_code};
use crate::over_tcp::TransportArgs;
use crate::print;
use crate::priority::priority;
use crate::rates::bandwidth;
use crate::show::{Show, ShowArgs};
use crate::stop::{ctrl_c, runtime};
use anyhow::Context;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_study::atomic_file::AtomicFile;
use whimbrel_study::sent::{self, Sent};
use whimbrel_transfer::service::Location;
use whimbrel_transfer::{
    ClientOptions, DEFAULT_CONTROLLER, DeleteOptions, Filter, Measurement, Outcome, QlogFolder,
    RemotePath, Report, Retry, SendOptions, SendSource, ServerAddress, TreeOptions, transfer,
};
use whimbrel_units::{Bytes, Duration, Rate};

/// Default time between points of a trace.
const TRACE_INTERVAL: Duration = Duration::from_millis(100);
/// Default length of intervals: iperf3's default.
const INTERVAL: Duration = Duration::from_secs(1);
/// Without a terminal, an interrupted transfer is tried again for this long.
const RETRY_FOR: Duration = Duration::from_secs(24 * 3600);
/// What the user writes for standard input.
const STDIN: &str = "-";

/// Send files and directories to a server, over QUIC
///
/// The congestion controller is any of `whimbrel controllers`. The command returns when the server
/// has verified the file's hash and stored the file on disk under its name. An interrupted transfer
/// goes on where it was: by itself, or when the same command is given again.
///
/// A fingerprint identifies the server, a token authorizes the sender. Both are remembered once the
/// server has accepted them. On the machine that runs the server they are not needed.
///
/// Without HOST, three words are shown instead: `whimbrel get THREE-WORDS` on the other machine
/// fetches the files, directly on one network, or over a server at which both meet (--meet).
#[derive(clap::Args)]
#[command(override_usage = "whimbrel send [OPTIONS] PATH... HOST\n       \
                            whimbrel send [OPTIONS] PATH\n       \
                            whimbrel send [OPTIONS] --words PATH...")]
#[command(after_help = "\
--json prints one object:
  name, bytes            as stored
  sent_bytes             bytes of the file sent, repeated ones included
  resumed_bytes          bytes that the server had already, verified by hash
  retries                connections after the first
  transport              \"quic\", or \"tls\" where UDP is blocked; null if there
                         was no connection. With tls, packets, cwnd_bytes,
                         mtu_bytes and episodes are 0
  key_exchange           \"X25519MLKEM768\", or with an older server \"X25519\"
  outcome                \"stored\", \"not stored\" or \"unknown\"
  error                  only after a failure: why. Of the rest the object then
                         has the seven lines above, and the exit status is 1
  seconds, goodput_bps   from the request to the server's confirmation; bytes
                         that the server had already do not count
  connect_seconds        before the request: name resolution and handshake
  sent_packets, lost_packets, mtu_bytes
  rtt_ms, min_rtt_ms, cwnd_bytes      at the end
  controller, loss_episodes, reductions, timeouts, spurious
  verdicts               {congestion, random}: episodes by the controller's
                         decision; null if it makes no such decisions
  bursts                 {bandwidth_bps (measured by trains), priority
                         (granted), weighted_fairness, allocated_bps, noise,
                         lumps, reported, halts}; null unless the controller
                         sends bursts
  saved_path             what an earlier transfer found on the path, with which
                         this one began: {cwnd_bytes, rtt_ms}, or null
  blake3                 the file's hash, which the server has verified
  paths                  one for each interface of --via, otherwise one: [{via,
                         sent_bytes, received_bytes, lost_packets, rtt_ms,
                         state}]; bytes are those of UDP datagrams, via is null
                         if the system chose it, state is open, \"standing by\"
                         for a path with the same bottleneck, silent, opening or
                         closed
  path                   after a lossy transfer what it saw: {lost, random_loss
                         (while the queue was short, without bursts), bursts,
                         min_rtt_ms, max_rtt_ms, rate_bps, full, faster:
                         {controller, times} by a simulation, or null}
  samples                with --samples: [{t_s, cwnd_bytes, in_flight_bytes,
                         rtt_ms, delivered_bytes}]
  intervals              one for each second (or --interval), with the names and
                         units of `iperf3 -J`: [{streams: [{start, end, seconds,
                         bytes, bits_per_second, retransmits, snd_cwnd, rtt,
                         rttvar, pmtu, ...}], sum}]; times are in s since the
                         request, rtt and rttvar in us; bytes are acknowledged
                         bytes with QUIC's overhead; retransmits are packets
                         declared lost. With several paths also paths: [{via,
                         bytes (of UDP datagrams sent), bits_per_second,
                         retransmits, rtt, state}]
With directories or several files: files, bytes, sent_files, unchanged_files,
  stored_bytes (of the files that the server has now), sent_bytes,
  resumed_bytes, retries, seconds, goodput_bps, path (as above), outcome
  (\"stored\" if all files are), removed (with --delete), skipped and failures
  [[path, why]], would_send and would_remove with --dry-run, error after a
  failure
Exit status: 0 stored; 1 failed; 2 wrong usage; 3 refused by the server; 4
unknown server, wrong fingerprint, or no key exchange in common; 130 stopped by
Ctrl-C.

Examples:
  whimbrel send movie.mp4 example.org --fingerprint ...     # asks for the token
  whimbrel send movie.mp4 example.org --token-file FILE
  whimbrel send movie.mp4 --meet example.org                # shows three words
  whimbrel send photos music example.org:backup/ --exclude '*.tmp'
  whimbrel send photos/ example.org:photos/ --delete --dry-run
  tar c . | whimbrel send - example.org:backup.tar
  whimbrel send movie.mp4 10.77.0.2 --controller cerl?A=0.6 --trace cwnd.csv
  whimbrel send movie.mp4 10.77.0.2 --qlog logs")]
pub struct SendArgs {
    /// Files and directories; `-` is standard input, with --name or a PATH behind HOST
    ///
    /// A directory arrives with its name; with a slash at its end, only its content does.
    ///
    /// The last one is the server: `HOST[:PORT][:PATH]`, with a PATH that ends with a slash for a
    /// directory there. HOST is a name, an IPv4 address or an [IPv6 address]; the port is 4440 if
    /// none is given.
    #[arg(value_name = "PATH... HOST", required = true, num_args = 1..)]
    paths: Vec<OsString>,
    /// Show three words instead of naming a server, as with one PATH and no HOST
    #[arg(long, help_heading = "Three words")]
    words: bool,
    #[command(flatten)]
    meet: MeetArgs,
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
    /// Remove on the server, when all is stored, what the directories here do not have; what
    /// --include and --exclude leave out stays
    #[arg(long, help_heading = "Directories")]
    delete: bool,
    /// With --delete: remove nothing if it would be more than N files and directories
    #[arg(
        long,
        value_name = "N",
        requires = "delete",
        help_heading = "Directories"
    )]
    max_delete: Option<u64>,
    /// Show what would be sent and removed
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
    #[command(flatten)]
    show: ShowArgs,
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
    let shown = args.show;
    // Fail before the transfer rather than after it.
    let mut trace = match &trace {
        Some(path) => Some(AtomicFile::open(path)?),
        None => None,
    };
    if let Some(priority) = args.priority
        && !args.controller.entry().is_fed_bursts()
    {
        args.controller = weighted(&args.controller, priority)?;
    }
    let mut paths = std::mem::take(&mut args.paths);
    if args.words || (paths.len() == 1 && !looks_like_a_server(&paths[0])) {
        let sources = paths.into_iter().map(PathBuf::from).collect();
        let meet = args.meet.clone();
        let tree = offered(args, sources)?;
        let runtime = runtime()?;
        return crate::code::send(tree, meet, (as_json, shown), &runtime);
    }
    args.meet.refuse()?;
    let host = paths.pop().unwrap_or_default();
    if paths.is_empty() {
        let text = format!("what is to be sent to {}?", host.to_string_lossy());
        return Err(BadInput::new(text).into());
    }
    let place = place(&host)?;
    let sources: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let credentials = args.credentials.find_for(&place, &args.transport)?;
    let runtime = runtime()?;
    if is_tree(&args, &sources) {
        let tree = tree_options(args, sources, place, &credentials)?;
        return tree::run(tree, (as_json, shown), &credentials, &runtime);
    }
    let file = sources.into_iter().next().unwrap_or_default();
    let options = options(args, file, place, &credentials)?;
    let mut show = Show::new(shown, as_json);
    let work = transfer(options, |update| show.update(update), ctrl_c());
    let mut report = runtime.block_on(work);
    show.end();
    let summary = match &mut report.result {
        Ok(summary) => summary,
        Err(_) => return failed(report, as_json, &credentials),
    };
    credentials.accepted();
    if let Some(file) = trace.take() {
        let points = summary.samples.as_deref().unwrap_or_default();
        file.finish(|mut to| sent::csv(&mut to, points))?;
    }
    if !with_samples {
        summary.samples = None;
    }
    match &report.result {
        _ if shown.quiet && !as_json => Ok(ExitCode::SUCCESS),
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
    print::note(text);
    Ok(ExitCode::from(code))
}

/// The server, and perhaps a path there.
fn place(written: &OsStr) -> anyhow::Result<Location> {
    let text = written.to_string_lossy();
    let parsed = text.parse::<Location>().map_err(BadInput::new)?;
    if !text.contains(':') && Path::new(written).exists() {
        let note = "is taken for the server, the last argument; there is a file of this name";
        print::note(format_args!("note: {text} {note}"));
    }
    Ok(parsed)
}

/// Whether the only argument is a server, because it is no file and has a colon.
fn looks_like_a_server(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text.contains(':') && !Path::new(argument).exists()
}

/// What is sent to the receiver that has the words.
fn offered(args: SendArgs, sources: Vec<PathBuf>) -> anyhow::Result<TreeOptions> {
    if args.delete || args.dry_run || args.name.is_some() {
        let text = "--delete, --dry-run and --name are for a HOST";
        return Err(BadInput::new(text).into());
    }
    let unused = args.qlog.is_some().then_some("--qlog");
    if let Some(name) = unused.or_else(|| args.credentials.given()) {
        let text = format!("{name} is for a HOST, not for three words");
        return Err(BadInput::new(text).into());
    }
    check_tree(&args, &sources)?;
    let mut client = crate::code::stranger()?;
    client.controller = args.controller.clone();
    client.retry = retry(&args);
    args.transport.apply(&mut client);
    Ok(tree_of(args, client, None, sources)?)
}

/// Whether the sources are sent as a tree: several, a directory, or a choice.
fn is_tree(args: &SendArgs, sources: &[PathBuf]) -> bool {
    let chosen = !args.include.is_empty() || !args.exclude.is_empty();
    chosen
        || args.delete
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
    if args.delete && !sources.iter().any(|source| source.is_dir()) {
        return Err(BadInput::new("--delete is for directories").into());
    }
    check_tree(&args, &sources)?;
    let client = client(&args, place.server, credentials)?;
    Ok(tree_of(args, client, place.path, sources)?)
}

/// Refuses what a tree cannot have.
fn check_tree(args: &SendArgs, sources: &[PathBuf]) -> Result<(), BadInput> {
    if args.trace.is_some() || args.samples {
        return Err(BadInput::new("--trace and --samples are for one file"));
    }
    if sources.iter().any(|source| source.as_os_str() == STDIN) {
        let text = "standard input needs a HOST, and cannot be sent with other files";
        return Err(BadInput::new(text));
    }
    Ok(())
}

fn tree_of(
    args: SendArgs,
    client: ClientOptions,
    directory: Option<RemotePath>,
    sources: Vec<PathBuf>,
) -> Result<TreeOptions, BadInput> {
    Ok(TreeOptions {
        directory,
        filter: Filter::new(&args.include, &args.exclude).map_err(BadInput::new)?,
        links: !args.no_links,
        checksum: args.checksum,
        delete: args.delete.then_some(DeleteOptions {
            max: args.max_delete,
        }),
        dry_run: args.dry_run,
        measurement: measurement(&args),
        bandwidth: args.bwlimit,
        attributes: args.xattrs,
        ..TreeOptions::new(client, sources)
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

/// Whether an interrupted transfer goes on.
fn retry(args: &SendArgs) -> Option<Retry> {
    (!args.no_retry).then(|| Retry {
        limit: args
            .retry_for
            .or((!io::stderr().is_terminal()).then_some(RETRY_FOR)),
        from_start: args.retry_for.is_some(),
    })
}

/// How to reach the server.
fn client(
    args: &SendArgs,
    server: ServerAddress,
    credentials: &Credentials,
) -> anyhow::Result<ClientOptions> {
    let controller = args.controller.clone();
    let mut client = credentials.client_that_resumes(ClientOptions::new, server, controller);
    client.retry = retry(args);
    client.priority = args.priority.unwrap_or_default();
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
