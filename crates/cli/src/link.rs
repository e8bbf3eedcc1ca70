//! `whimbrel link`: real programs behind an emulated path. Turns flags into a path, runs the
//! programs, and shows the statistics of the path.

mod direction;
mod topology;

use crate::failure::BadInput;
use crate::path::{PathArgs, flag};
use crate::print;
use crate::sim;
use direction::{ForwardArgs, ReverseArgs};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use topology::TopologyArgs;
use whimbrel_cc::Spec;
use whimbrel_link::{Layout, LinkError, MAX_INTERFACES, Options, Program};
use whimbrel_net::{Outage, WifiSpec};
use whimbrel_sim::scenario::{Scenario, Written};
use whimbrel_study::real::algorithm::{Congestion, for_tcp};
use whimbrel_study::real::behind_path::{Files, Request, RunError};
use whimbrel_study::real::emulated;
use whimbrel_study::real::link_path::{LinkPath, outage, wifi};
use whimbrel_units::{Duration, ParseError};
use whimbrel_watch::path as live_path;

/// The flags, and groups of flags, that describe one path: a file of paths excludes them.
const ONE_PATH: [&str; 7] = [
    "PathArgs",
    "ForwardArgs",
    "ReverseArgs",
    "wifi",
    "delay_trace",
    "outage",
    "drop",
];

/// Run a program behind an emulated path
///
/// COMMAND runs at the near end of a path (10.77.0.1), in a network of its own that has only the
/// path and a loopback. The command of --far runs at the far end (10.77.0.2). Without COMMAND, your
/// shell runs. Needs root, or a system that lets every user make namespaces. The host's own network
/// is never touched, and nothing stays behind, however it ends.
///
/// Both directions have the same rate, delay and outages, and a queue each, managed alike; random
/// loss and corruption apply from near to far only. The --reverse-* flags say what differs from far
/// to near. --topology makes several named nodes instead of two ends.
#[derive(clap::Args)]
#[command(
    mut_arg("rate_trace", |trace| trace.alias("trace")),
    mut_arg("back_trace", |trace| trace.alias("reverse-trace").conflicts_with("reverse_rate")),
    mut_arg("rtt", |rtt| rtt.conflicts_with_all(["delay", "reverse_delay"])),
    after_help = "\
Both commands find the addresses in WHIMBREL_NEAR and WHIMBREL_FAR, and the two
networks in WHIMBREL_NEAR_NETNS and WHIMBREL_FAR_NETNS, for `nsenter
--net=$WHIMBREL_FAR_NETNS ...`. UDP socket buffers cannot be raised within a
namespace: for fast QUIC, set net.core.rmem_max and net.core.wmem_max on the
host. Exit status: COMMAND's; 128 + signal if one killed it; 127 if it was not
found.

Examples:
  whimbrel link --rate '50 Mbit/s' --delay '50 ms' --loss '1 %' \\
      --far 'whimbrel serve DIR' -- whimbrel send FILE 10.77.0.2
  whimbrel link --rate 10Mbit/s --rtt 600ms --far 'iperf3 -s' -- iperf3 -c \\
      10.77.0.2 -R
  whimbrel link --rate 10Mbit/s --rtt 600ms --watch --far 'iperf3 -s' \\
      -- iperf3 -c 10.77.0.2
  whimbrel link --rate-trace mobile.down --back-trace mobile.up --delay 20ms \\
      --outage 15s..15.2s
  whimbrel link --wifi 65Mbit/s --rtt 20ms --far 'iperf3 -s' -- iperf3 -c \\
      10.77.0.2
  whimbrel link --rate 20Mbit/s --rtt 40ms --aqm codel --ecn --far 'iperf3 -s' \\
      -- iperf3 -c 10.77.0.2
  whimbrel link --scenario path.toml --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --scenario net.toml --link radio,core --far 'iperf3 -s' \\
      -- iperf3 -c 10.77.0.2
  whimbrel link --scenario two.toml --link wifi --link lte \\
      --far 'whimbrel serve DIR' -- whimbrel send FILE 10.77.0.2 \\
          --via whimbrel0 --via whimbrel1
  whimbrel link --topology net.toml --run 'office=iperf3 -s' -- iperf3 -c office
  whimbrel link --rate 100Mbit/s --rtt 40ms --loss 1% --tcp cubic \\
      --json path.json -- ./measure.sh
  whimbrel link --rate 10Mbit/s --rtt 600ms --csv path.csv --pcap path.pcapng \\
      -- ./measure.sh
  whimbrel link --rate 50Mbit/s --rtt 100ms --loss 1% --tcp cerl \\
      --far 'iperf3 -s' -- iperf3 -c 10.77.0.2"
)]
pub struct LinkArgs {
    /// Take the path from a scenario file: the path that `whimbrel sim` simulates. With a sweep,
    /// its first values
    #[arg(
        long,
        value_name = "FILE.toml",
        group = "file",
        conflicts_with_all = ONE_PATH,
        help_heading = "Path"
    )]
    scenario: Option<PathBuf>,
    /// Which link of the scenario, or several one behind the other from near to far: `radio,core`
    /// [default: the only one that flows share]; repeat it to give both ends an interface for each:
    /// whimbrel0, whimbrel1, ...; of a topology, the one that --csv, --pcap and --watch show
    /// [default: the first]
    #[arg(
        long,
        value_name = "NAME[,NAME]",
        requires = "file",
        help_heading = "Path"
    )]
    link: Vec<String>,
    #[command(flatten, next_help_heading = "Path")]
    path: PathArgs,
    #[command(flatten)]
    forward: ForwardArgs,
    /// An 802.11n Wi-Fi channel with this rate on the air instead of a rate; both directions share
    /// it
    #[arg(
        long,
        value_name = "RATE",
        value_parser = wifi_channel,
        conflicts_with_all = [
            "rate", "rate_trace", "aqm", "reverse_rate", "back_trace", "reverse_aqm",
        ],
        help_heading = "Path"
    )]
    wifi: Option<Written<WifiSpec>>,
    /// Recorded one-way delay of each direction instead, one value in milliseconds a line; it
    /// repeats, and packets keep their order
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["delay", "rtt", "reverse_delay"],
        value_parser = flag::<PathBuf>("--delay-trace"),
        help_heading = "Path"
    )]
    delay_trace: Option<Written<PathBuf>>,
    /// How long a line of --delay-trace holds
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10 ms",
        value_parser = flag::<Duration>("--delay-every"),
        help_heading = "Path"
    )]
    delay_every: Written<Duration>,
    /// A span in which everything is lost, both ways, such as `4 s..5 s` from COMMAND's start;
    /// repeatable
    #[arg(long, value_name = "FROM..TO", value_parser = outage, help_heading = "Path")]
    outage: Vec<Outage>,
    /// An instant from COMMAND's start, such as `38 s`: the first packet from near to far then or
    /// later is lost; repeatable
    #[arg(long, value_name = "AT", help_heading = "Path")]
    drop: Vec<Duration>,
    /// Determines which packets are lost and corrupted
    #[arg(long, default_value_t = 1, help_heading = "Path")]
    seed: u64,
    #[command(flatten)]
    reverse: ReverseArgs,
    #[command(flatten)]
    topology: TopologyArgs,

    /// Command at the far end, for `sh -c`; it starts first, has up to 2 s to open a socket, and
    /// ends with COMMAND
    #[arg(long, value_name = "COMMAND")]
    far: Option<OsString>,
    /// TCP congestion control of both ends: the kernel's algorithm of this name if it has one,
    /// else Whimbrel's [default: the host's]
    #[arg(long, value_name = "NAME")]
    tcp: Option<String>,
    /// TCP congestion control of both ends: always Whimbrel's; see `whimbrel controllers`. Shows
    /// each connection at the end, and compares the decisions of a loss classifier with the truth
    #[arg(long, value_name = "CONTROLLER", value_parser = for_tcp, conflicts_with = "tcp")]
    controller: Option<Spec>,
    /// TCP of both ends negotiates ECN, so that a managed queue may mark its packets [default: as
    /// the host]
    #[arg(long)]
    ecn: bool,
    /// Write the statistics of the path, and of connections under Whimbrel's algorithms, to a file
    /// as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write rate, queue, waiting time and losses of each direction over time to a file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Time between the lines of --csv, at least 100 ms
    #[arg(long, value_name = "TIME", default_value = "1 s", requires = "csv")]
    every: Duration,
    /// Write each packet that an end sends or gets to a file as pcapng, with one clock for both ends
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write each UDP datagram that the path loses to a file as CSV, with the cause
    #[arg(long, value_name = "FILE", hide = true)]
    lost: Option<PathBuf>,
    /// Show a live view on the terminal: rate, queue and losses of each direction, and the last
    /// lines of output; the whole output follows at the end. COMMAND has no standard input
    #[arg(long)]
    watch: bool,
    /// Do not show statistics
    #[arg(long, short)]
    quiet: bool,
    /// What to run at the near end [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command behind the path. Its standard output is the command's alone; all else goes to
/// standard error.
pub fn run(args: LinkArgs) -> anyhow::Result<ExitCode> {
    if args.link.len() > MAX_INTERFACES {
        let text = format!(
            "--link: at most {MAX_INTERFACES} links, not {}",
            args.link.len()
        );
        return Err(BadInput::new(text).into());
    }
    let mut options = Options {
        ecn: args.ecn,
        ..Options::default()
    }
    .with_far(args.far.clone().map(Program::Shell));
    let topology = args.topology.read(&args.link, args.seed, &mut options)?;
    let paths = match (&topology, &args.scenario) {
        (Some(topology), _) => topology.paths.clone(),
        (None, Some(file)) => {
            let (text, file) = sim::read(file)?;
            let scenario = Scenario::parse(&text, &file)?;
            emulated::paths(&scenario, &file, &args.link, args.seed)?
        }
        (None, None) => vec![args.path().spec()?],
    };
    if topology.is_none() {
        options.layout = Layout::ends(paths.len());
    }
    let congestion = match (&args.controller, &args.tcp) {
        (Some(spec), _) => Congestion::Whimbrel(spec.clone()),
        (None, Some(name)) => {
            Congestion::named(name).map_err(|why| BadInput::new(format!("--tcp {why}")))?
        }
        (None, None) => Congestion::Host,
    };
    let request = Request {
        options,
        paths,
        topology,
        congestion,
        files: Files {
            json: args.json,
            csv: args.csv,
            every: args.every,
            pcap: args.pcap,
            lost: args.lost,
        },
    };
    let mut ready = request.ready()?;
    let command = match args.command.is_empty() {
        true => shell(args.quiet, ready.options()),
        false => args.command,
    };
    let live = match args.watch {
        true => Some(live_path::Live::open(live_path::title(&command))?),
        false => None,
    };
    if let Some(live) = &live {
        ready.observe(live.observer());
    }
    let waiting = match ready.prepare(command) {
        Ok(waiting) => waiting,
        Err(error) => {
            drop(live);
            return refused(error.into());
        }
    };
    let live = live.map(live_path::Live::start).transpose()?;
    let outcome = waiting.run();
    if let Some(live) = live {
        live.finish()?;
    }
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return refused(error),
    };
    let status = outcome.report.status;
    if !args.quiet {
        print::aside(outcome.text());
    }
    outcome.finish()?;
    Ok(ExitCode::from(status))
}

/// A command that cannot be started has the exit status that a shell returns.
fn refused(error: RunError) -> anyhow::Result<ExitCode> {
    match error {
        RunError::Link(LinkError::Command { status, .. }) => {
            print::note(format_args!("error: {error}"));
            Ok(ExitCode::from(status))
        }
        error => Err(error.into()),
    }
}

/// The user's shell; says where it runs.
fn shell(quiet: bool, options: &Options) -> Vec<OsString> {
    if !quiet {
        let name = |node| options.layout.name(node).unwrap_or_default();
        let nodes = (0..).map_while(|node| {
            let address = options.layout.address(node)?;
            Some(format!("{} {address}", name(node)))
        });
        let nodes: Vec<String> = nodes.collect();
        print::note(format_args!(
            "This shell is at `{}` of {}.",
            name(options.at),
            nodes.join(", ")
        ));
    }
    vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
}

impl LinkArgs {
    /// The path that the flags describe.
    fn path(&self) -> LinkPath {
        LinkPath {
            path: self.path.path(),
            delay: self.forward.delay.clone(),
            aqm: self.forward.aqm.clone(),
            corrupt: self.forward.corrupt.clone(),
            reverse: self.reverse.reverse(),
            wifi: self.wifi.clone(),
            delay_trace: self.delay_trace.clone(),
            delay_every: self.delay_every.clone(),
            outages: self.outage.clone(),
            drops: self.drop.clone(),
            seed: self.seed,
        }
    }
}

fn wifi_channel(text: &str) -> Result<Written<WifiSpec>, ParseError> {
    Ok(Written::new("--wifi", wifi(text)?, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        link: LinkArgs,
    }

    fn args(flags: &str) -> Result<LinkArgs, String> {
        Alone::try_parse_from(["link"].into_iter().chain(flags.split_whitespace()))
            .map(|alone| alone.link)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_scenario_excludes_the_flags_of_both_directions() {
        assert!(args("--scenario path.toml --seed 2").is_ok());
        for flag in ["--rate 1Mbit/s", "--reverse-rate 1Mbit/s", "--rtt 1ms"] {
            let error = args(&format!("--scenario path.toml {flag}")).err();
            let error = error.unwrap_or_else(|| panic!("{flag} was accepted"));
            assert!(error.contains("cannot be used with"), "{error}");
        }
    }

    #[test]
    fn the_command_follows_two_dashes() {
        let args = args("--loss 1% -- ls -l --rate").expect("good flags");
        assert_eq!(args.command, ["ls", "-l", "--rate"]);
    }

    #[test]
    fn errors_name_the_mistake_and_the_remedy() {
        let near = "the nearest are 54 Mbit/s and 57.8 Mbit/s";
        let queue = "write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`";
        for (flags, says) in [
            ("--rate 8mbits", "did you mean `Mbit/s`?"),
            ("--rate 0bit/s", "--outage '4 s..5 s'"),
            ("--wifi 55Mbit/s", near),
            ("--delay 5", "its unit is missing"),
            ("--aqm codle", "did you mean `codel`?"),
            ("--aqm codel?target=5", "its unit is missing"),
            ("--outage 4s", "write e.g. `4 s..5 s`"),
            ("--outage 5s..4s", "has no length"),
            ("--loss 101%", "0 % to 100 %"),
            ("--queue 50pakets", queue),
        ] {
            let taken = || panic!("{flags} were taken");
            let error = args(flags).err().unwrap_or_else(taken);
            assert!(error.contains(says), "{flags}: {error}");
        }
        for flags in [
            "--rtt 5ms --delay 1ms",
            "--rate 1Mbit/s --trace f",
            "--wifi 65Mbit/s --reverse-rate 1Mbit/s",
            "--wifi 65Mbit/s --aqm codel",
            "--delay-trace f --delay 1ms",
            "--back-trace f --reverse-rate 1Mbit/s",
        ] {
            assert!(args(flags).is_err(), "{flags}");
        }
    }

    #[test]
    fn traces_and_drops_have_their_flags() {
        let flags = "--trace a --reverse-trace b --drop 38s --outage 4s..5s --reverse-loss 2%";
        let path = args(flags).expect("good flags").path();
        let file = |file: Option<Written<PathBuf>>| file.map(|file| file.value);
        assert_eq!(file(path.path.rate_trace), Some("a".into()));
        assert_eq!(file(path.path.back_trace), Some("b".into()));
        assert_eq!(path.drops, [Duration::from_secs(38)]);
        assert_eq!(path.outages.len(), 1);
        let loss = path.reverse.loss.expect("a loss");
        assert_eq!(loss.value.get(), 0.02);
    }
}
