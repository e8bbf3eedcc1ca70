//! `whimbrel tcp`: the TCP connections of a program, or of a running service, under any algorithm.
//! Chooses the connections, runs the program, and shows what happened.

mod outputs;
mod status;

use crate::failure::BadInput;
use crate::print;
use outputs::OutputArgs;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_cc::Spec;
use whimbrel_linux::command::Signals;
use whimbrel_linux::session::{News, Session, SessionError, Subject};
use whimbrel_linux::{Agent, Datapath, MAX_RULES, Network, Options, Selection, values};
use whimbrel_study::atomic_file;
use whimbrel_study::real::algorithm::for_tcp;
use whimbrel_study::tcp::{ConnectionsPage, Summary, text};
use whimbrel_study::{count, provenance};
use whimbrel_units::Duration;

/// Run a program with its Linux TCP connections under any algorithm
///
/// All TCP connections that COMMAND and its children make or accept use the algorithm for the data
/// that they send. COMMAND is not changed: it runs in a control group (cgroup) of its own, whose
/// new sockets an eBPF program moves to the algorithm. Loss detection and retransmission remain the
/// kernel's. With --cgroup, the new connections of a running service are controlled until Ctrl-C.
///
/// If whimbrel does not answer for a second, or is killed, each connection continues under the
/// kernel's algorithm of --fallback. Nothing else of the system is changed, and nothing stays
/// behind.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "status",
    subcommand_help_heading = "Running instances",
    disable_help_subcommand = true,
    after_help = "\
Needs Linux 6.10 or newer with cgroup v2, and root or the capabilities CAP_BPF,
CAP_PERFMON and CAP_NET_ADMIN. `sudo whimbrel tcp -- COMMAND` runs COMMAND as
root too. To run it as yourself:
  sudo whimbrel tcp -- sudo -u $USER COMMAND
or give the program the capabilities once, in a cgroup that your user may
divide; COMMAND does not inherit them:
  sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep $(command -v whimbrel)
  systemd-run --user --scope -p Delegate=yes whimbrel tcp -- COMMAND

COMMAND's output is its own: the summary goes to standard error. --json prints
one object there instead, as the last thing (without COMMAND: on standard
output):
  controller, fallback_controller, exit_status (null without COMMAND)
  connections            [{local, remote, goodput_bps, acked_bytes,
                         received_bytes, began_s, active_s, segments,
                         retransmits, lost, timeouts, episodes, reductions,
                         spurious, verdicts, fallback, ended, dropped_events,
                         cwnd_bytes, ssthresh_bytes, pacing_bps, delivery_bps,
                         phase, in_flight_bytes, rtt_ms, srtt_ms, min_rtt_ms,
                         nacks, nacks_refused, receiver_clock}]
    verdicts             {congestion, random, truth}: episodes of loss by the
                         classifier's decision; null if the algorithm makes none
    fallback             true: it went to fallback_controller
  connections_total, fallbacks, refused, not_chosen, dropped_events, clamped,
  events, unfinished, answer_p50_us, answer_p99_us, cpu_s, realtime, elapsed_s
  nacks                  with --nack: {devices, receiver, sender}, counters of
                         all connections of the machine; else null
Exit status: COMMAND's; 128 + signal if one killed it; 127 if it was not found,
126 if it could not be run; without COMMAND 0; 1 failed; 2 wrong usage.

Examples:
  sudo whimbrel tcp --controller cerl -- curl -T big.iso https://example.org/
  sudo whimbrel tcp --controller bbr --port 873 -- rsync -a DIR host::module
  sudo whimbrel tcp --controller cubic+cerl --to 198.51.100.0/24 --cgroup \\
      /sys/fs/cgroup/system.slice/nginx.service
  sudo whimbrel tcp --controller tcp-nack --nack=eth0 -- COMMAND
  sudo whimbrel tcp status"
)]
pub struct TcpArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// Congestion controller, optionally with parameters: cerl?A=0.6
    #[arg(long, default_value = "cubic", value_parser = for_tcp)]
    controller: Spec,
    /// Control the new connections of this cgroup, such as a service's, instead of COMMAND
    #[arg(long, value_name = "PATH", help_heading = "Connections")]
    cgroup: Option<PathBuf>,
    /// Only connections with this local or remote port; repeatable
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Connections"
    )]
    port: Vec<u16>,
    /// Only connections to these addresses: 10.0.0.0/8, 2001:db8::/32 or one address; repeatable
    #[arg(long, value_name = "ADDRESS/BITS", help_heading = "Connections")]
    to: Vec<Network>,
    /// The kernel's algorithm that takes over if whimbrel does not answer
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = values::fallback)]
    fallback: String,
    /// Answer with real-time priority (SCHED_FIFO): shorter and steadier delays. Needs root or
    /// CAP_SYS_NICE
    #[arg(long)]
    realtime: bool,
    /// Start connections at a rate that the path carried for an earlier one between the same
    /// addresses, carefully (RFC 9959)
    #[arg(long)]
    resume_rate: bool,
    /// While acknowledgments are frequent, answer them once in this time; longer saves CPU time, 0s
    /// answers each at once
    #[arg(long, value_name = "TIME", default_value = "250 us")]
    wake_interval: Duration,
    /// After COMMAND has ended, wait at most this long for its unacknowledged data
    #[arg(long, value_name = "TIME", default_value = "30 s")]
    linger: Duration,
    /// Negative acknowledgments (NACKs) on these network interfaces, separated by commas [default:
    /// all but the loopback]; use it at both ends of the path, with an algorithm such as tcp-nack
    #[arg(
        long,
        value_name = "DEVICES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = devices
    )]
    nack: Option<Devices>,
    #[command(flatten)]
    outputs: OutputArgs,
    /// Time between the points of the time line
    #[arg(
        long,
        value_name = "TIME",
        default_value = "100 ms",
        value_parser = above_zero,
        help_heading = "Time line"
    )]
    sample: Duration,
    /// Print one JSON object at the end instead of the table
    #[arg(long)]
    json: bool,
    /// Write the JSON object to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not show the table, and do not say what is waited for
    #[arg(long, short)]
    quiet: bool,
    /// Write all events to a file, to examine them (whimbrel_linux::recording)
    #[arg(long, value_name = "FILE", hide = true)]
    record: Option<PathBuf>,
    /// What to run
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(clap::Subcommand)]
enum Action {
    Status(status::StatusArgs),
}

/// Runs the command, or controls the cgroup.
pub fn run(args: TcpArgs) -> anyhow::Result<ExitCode> {
    if let Some(Action::Status(args)) = &args.action {
        return status::run(args);
    }
    let subject = subject(&args)?;
    for (flag, given) in [("--port", args.port.len()), ("--to", args.to.len())] {
        if given > MAX_RULES {
            let text = format!("{flag} is given {given} times; at most {MAX_RULES} are possible");
            return Err(BadInput::new(text).into());
        }
    }
    // Fail before the run rather than after it.
    args.outputs.check()?;
    if let Some(path) = &args.output {
        atomic_file::check(path)?;
    }
    let begin = Instant::now();
    let signals = Signals::open()?;
    let options = Options {
        fallback: args.fallback.clone(),
        wake_interval: args.wake_interval,
        real_time: args.realtime,
        resume_rate: args.resume_rate,
        nack: args.nack.clone().map(|devices| devices.0),
        sampling: args.outputs.any().then_some(args.sample),
        record: args.record.clone(),
        ..Options::new(args.controller.clone())
    };
    let silence = options.silence;
    let datapath = Datapath::load(&options)?;
    let agent = Agent::start(datapath, options)?;
    let session = Session {
        subject,
        selection: Selection {
            ports: args.port.clone(),
            networks: args.to.clone(),
        },
        linger: args.linger,
        controller: args.controller.to_string(),
        fallback: args.fallback.clone(),
        signals: &signals,
        begin,
    };
    let ended = match session.run(&agent, |news| say(&args, news)) {
        Ok(ended) => ended,
        Err(SessionError::NotStarted(not_started)) => {
            print::note(format_args!("error: {not_started}"));
            return Ok(ExitCode::from(not_started.status));
        }
        Err(error) => return Err(error.into()),
    };
    let report = agent.finish();
    let summary = Summary {
        controller: &args.controller,
        fallback: &args.fallback,
        silence,
        realtime: args.realtime,
        report: &report,
        ended,
    };
    conclude(&args, &summary, &session)?;
    Ok(ExitCode::from(ended.status.unwrap_or(0)))
}

/// Whose connections the user chose.
fn subject(args: &TcpArgs) -> Result<Subject, BadInput> {
    match (&args.cgroup, args.command.is_empty()) {
        (None, false) => Ok(Subject::Command(args.command.clone())),
        (Some(path), true) => match values::cgroup(path) {
            Ok(cgroup) => Ok(Subject::Service {
                cgroup,
                written: path.clone(),
            }),
            Err(why) => Err(BadInput::new(format!("--cgroup {why}"))),
        },
        (Some(_), false) => Err(BadInput::new(
            "--cgroup is for a service that already runs; COMMAND gets a cgroup of its own: give \
             one of the two",
        )),
        (None, true) => Err(BadInput::new(
            "what to control is missing: add `-- COMMAND` to run a program, or --cgroup PATH for a \
             running service; `whimbrel tcp status` shows running instances",
        )),
    }
}

/// Names of network interfaces; none means all but the loopback.
#[derive(Debug, Clone)]
struct Devices(Vec<String>);

fn devices(text: &str) -> Result<Devices, String> {
    values::devices(text).map(Devices)
}

/// Parses a span of time that is not zero.
fn above_zero(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(Duration::ZERO) => Err("it must be longer than 0 s, such as `100 ms`".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(format!("{error}")),
    }
}

/// Says what happens meanwhile.
fn say(args: &TcpArgs, news: News<'_>) {
    match news {
        News::Shared => print::note(
            "note: another `whimbrel tcp` controls connections of this cgroup; those that it \
             chooses stay with it",
        ),
        _ if args.quiet => {}
        News::Controlling(cgroup) => print::note(format_args!(
            "new connections of {} are under {}, until Ctrl-C",
            cgroup.display(),
            args.controller
        )),
        News::Waiting(unfinished) => print::note(format_args!(
            "waiting for {} with unacknowledged data, at most {} (--linger); Ctrl-C stops waiting",
            count(unfinished as u64, "connection"),
            args.linger
        )),
    }
}

/// Shows and writes what happened.
fn conclude(args: &TcpArgs, summary: &Summary<'_>, session: &Session<'_>) -> anyhow::Result<()> {
    let page = ConnectionsPage {
        summary,
        what: session.subject.words(),
        made: provenance::of_page(session.begin),
    };
    let notes = args.outputs.write(&page)?;
    let controller = args.controller.to_string();
    let json = || {
        summary
            .report
            .json(&controller, &args.fallback, summary.ended)
    };
    if let Some(path) = &args.output {
        atomic_file::write(path, |to| writeln!(to, "{:#}", json()))?;
    }
    if args.json {
        match (&args.output, args.command.is_empty()) {
            (Some(_), _) => {}
            (None, true) => writeln!(io::stdout(), "{:#}", json())?,
            // COMMAND's output is on standard output.
            (None, false) => print::note(format_args!("{:#}", json())),
        }
    } else if !args.quiet {
        let mut text = text(summary);
        for note in notes {
            text += &format!("{note}\n");
        }
        print::aside(text);
    }
    Ok(())
}
