//! `whimbrel link`: real programs behind an emulated path. Turns flags into a path, runs the
//! programs, and shows the statistics of the path.

mod direction;
mod topology;

use crate::failure::BadInput;
use crate::path::{PathArgs, flag};
use crate::sim;
use anyhow::Context;
use direction::{Forward, Reverse};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use topology::TopologyArgs;
use whimbrel_cc::Spec;
use whimbrel_link::{
    Capture, IntervalLog, Layout, LinkError, LossLog, MAX_INTERFACES, Options, PathSpec, Prepared,
    Program,
};
use whimbrel_net::{Delay, Outage, Queue, WifiSpec};
use whimbrel_sim::scenario::{Link, Loss, Scenario, Traces, Written};
use whimbrel_study::real::algorithm::{Congestion, Registered, for_tcp};
use whimbrel_study::real::{emulated, path_table, topology_json, topology_tables};
use whimbrel_study::tcp::on_path;
use whimbrel_units::{Bytes, Duration, ParseError, Rate, Time};
use whimbrel_watch::path as live_path;

/// The flags, and groups of flags, that describe one path: a file of paths excludes them.
const ONE_PATH: [&str; 7] = [
    "PathArgs",
    "Forward",
    "Reverse",
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
Both commands find the addresses in WHIMBREL_NEAR and WHIMBREL_FAR, and the two networks in
WHIMBREL_NEAR_NETNS and WHIMBREL_FAR_NETNS, for `nsenter --net=$WHIMBREL_FAR_NETNS ...`.
UDP socket buffers cannot be raised within a namespace: for fast QUIC, set net.core.rmem_max and
net.core.wmem_max on the host. Exit status: COMMAND's; 128 + signal if one killed it; 127 if it was not found.

Examples:
  whimbrel link --rate '50 Mbit/s' --delay '50 ms' --loss '1 %' \\
      --far 'whimbrel serve DIR' -- whimbrel send FILE 10.77.0.2
  whimbrel link --rate 10Mbit/s --rtt 600ms --far 'iperf3 -s' -- iperf3 -c 10.77.0.2 -R
  whimbrel link --rate 10Mbit/s --rtt 600ms --watch --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --rate-trace mobile.down --back-trace mobile.up --delay 20ms --outage 15s..15.2s
  whimbrel link --wifi 65Mbit/s --rtt 20ms --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --rate 20Mbit/s --rtt 40ms --aqm codel --ecn --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --scenario path.toml --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --scenario net.toml --link radio,core --far 'iperf3 -s' -- iperf3 -c 10.77.0.2
  whimbrel link --scenario two.toml --link wifi --link lte \\
      --far 'whimbrel serve DIR' -- whimbrel send FILE 10.77.0.2 --via whimbrel0 --via whimbrel1
  whimbrel link --topology net.toml --run 'office=iperf3 -s' -- iperf3 -c office
  whimbrel link --rate 100Mbit/s --rtt 40ms --loss 1% --tcp cubic --json path.json -- ./measure.sh
  whimbrel link --rate 10Mbit/s --rtt 600ms --csv path.csv --pcap path.pcapng -- ./measure.sh
  whimbrel link --rate 50Mbit/s --rtt 100ms --loss 1% --tcp cerl --far 'iperf3 -s' -- iperf3 -c 10.77.0.2"
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
    forward: Forward,
    /// An 802.11n Wi-Fi channel with this rate on the air instead of a rate; both directions share
    /// it
    #[arg(
        long,
        value_name = "RATE",
        value_parser = wifi,
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
    reverse: Reverse,
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
    let specs = match (&topology, &args.scenario) {
        (Some(topology), _) => topology.paths.clone(),
        (None, Some(file)) => {
            let (text, file) = sim::read(file)?;
            let scenario = Scenario::parse(&text, &file)?;
            emulated::paths(&scenario, &file, &args.link, args.seed)?
        }
        (None, None) => vec![path(&args)?],
    };
    if topology.is_none() {
        options.layout = Layout::ends(specs.len());
    }
    let congestion = match (&args.controller, &args.tcp) {
        (Some(spec), _) => Congestion::Whimbrel(spec.clone()),
        (None, Some(name)) => {
            Congestion::named(name).map_err(|why| BadInput::new(format!("--tcp {why}")))?
        }
        (None, None) => Congestion::Host,
    };
    if let (Congestion::Whimbrel(spec), Some(_)) = (&congestion, &topology) {
        let text = format!("--tcp {spec}: with --topology only an algorithm of the kernel's own");
        return Err(BadInput::new(text).into());
    }
    // Not after hours of running that it cannot be written.
    let json = args.json.as_deref().map(create).transpose()?;
    let lost = args.lost.as_deref().map(create).transpose()?;
    let lost = lost.map(|(file, path)| (Arc::new(LossLog::new(file)), path));
    let csv = args.csv.as_deref().map(create).transpose()?;
    let csv = csv.map(|(file, path)| (Arc::new(IntervalLog::new(file, args.every)), path));
    let pcap = match args.pcap.as_deref().map(create).transpose()? {
        Some((file, path)) => Some((Arc::new(Capture::new(file)?), path)),
        None => None,
    };
    let command = if args.command.is_empty() {
        shell(args.quiet, &options)
    } else {
        args.command.clone()
    };
    let registered = register(congestion, &mut options)?;
    options
        .observers
        .extend(lost.iter().map(|(lost, _)| Arc::clone(lost) as _));
    options
        .observers
        .extend(csv.iter().map(|(csv, _)| Arc::clone(csv) as _));
    options
        .observers
        .extend(pcap.iter().map(|(pcap, _)| Arc::clone(pcap) as _));
    let live = match args.watch {
        true => Some(live_path::Live::open(live_path::title(&command))?),
        false => None,
    };
    if let Some(live) = &live {
        options.observers.push(live.observer());
    }
    let path = match Prepared::new(&Program::Command(command), &options) {
        Ok(path) => path,
        Err(error) => {
            drop(live);
            return refused(error);
        }
    };
    // From here on the process may have threads.
    let running = registered.map(Registered::start).transpose()?;
    let live = live.map(live_path::Live::start).transpose()?;
    let report = path.run_all(&specs);
    if let Some(live) = live {
        live.finish()?;
    }
    let report = match report {
        Ok(report) => report,
        Err(error) => return refused(error),
    };
    let ended = running.map(|running| running.finish(report.elapsed));
    if !args.quiet {
        let tables = match &topology {
            Some(topology) => topology_tables(&report, topology),
            None => path_table(&report),
        };
        eprint!("{tables}");
        if let Some(ended) = &ended {
            eprint!("\n{}", on_path::text(ended, report.status));
        }
    }
    if let Some((mut file, path)) = json {
        use std::io::Write;
        let mut value = match &topology {
            Some(topology) => topology_json(&report, topology),
            None => report.json(),
        };
        if let Some(ended) = &ended {
            value["tcp"] = on_path::json(ended, report.status);
        }
        writeln!(file, "{value:#}").with_context(|| format!("{}", path.display()))?;
    }
    let ends = [
        lost.map(|(lost, path)| (lost.finish(), path)),
        csv.map(|(csv, path)| (csv.finish(), path)),
        pcap.map(|(pcap, path)| (pcap.finish(), path)),
    ];
    for (result, path) in ends.into_iter().flatten() {
        result.with_context(|| format!("{}", path.display()))?;
    }
    Ok(ExitCode::from(report.status))
}

/// Sets the congestion control of both ends. Registers it with the kernel if it is Whimbrel's.
fn register(congestion: Congestion, options: &mut Options) -> anyhow::Result<Option<Registered>> {
    match congestion {
        Congestion::Host => Ok(None),
        Congestion::Kernel(name) => {
            options.congestion = Some(name);
            Ok(None)
        }
        Congestion::Whimbrel(spec) => {
            let failed = format!("`{spec}` cannot run on Linux TCP");
            Ok(Some(Registered::new(spec, options).context(failed)?))
        }
    }
}

/// A command that cannot be started has the exit status that a shell returns.
fn refused(error: LinkError) -> anyhow::Result<ExitCode> {
    match error {
        LinkError::Command { status, .. } => {
            eprintln!("error: {error}");
            Ok(ExitCode::from(status))
        }
        error => Err(error.into()),
    }
}

fn create(path: &Path) -> anyhow::Result<(std::fs::File, PathBuf)> {
    crate::atomic_file::check(path)?;
    let file = std::fs::File::create(path)
        .map_err(|e| BadInput::new(format!("{}: {e}", path.display())))?;
    Ok((file, path.to_owned()))
}

fn shell(quiet: bool, options: &Options) -> Vec<OsString> {
    if !quiet {
        let name = |node| options.layout.name(node).unwrap_or_default();
        let nodes = (0..).map_while(|node| {
            let address = options.layout.address(node)?;
            Some(format!("{} {address}", name(node)))
        });
        let nodes: Vec<String> = nodes.collect();
        eprintln!(
            "This shell is at `{}` of {}.",
            name(options.at),
            nodes.join(", ")
        );
    }
    vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
}

/// The path that the flags describe.
fn path(args: &LinkArgs) -> anyhow::Result<PathSpec> {
    let mut traces = Traces::default();
    let mut path = args.path.path();
    path.only_one("there is one path; write one value")?;
    let mut link = path.link(&mut traces)?;
    let Link {
        forward, reverse, ..
    } = &mut link;
    args.forward.add_to(forward);
    args.reverse.add_to(reverse)?;
    if let Some(file) = &args.delay_trace {
        let every = &args.delay_every;
        let recorded = Delay::recorded(every.value, traces.delay(file)?);
        forward.delay = Some(file.with(recorded.map_err(|why| every.fail(why))?));
    }
    // What no direction has by itself: outages strike both, drops the first.
    let outages = Some(args.outage.clone()).filter(|outages| !outages.is_empty());
    let drops = args.drop.iter().map(|at| Time::ZERO + *at).collect();
    let loss = forward
        .loss
        .take()
        .map(|loss| loss.value)
        .unwrap_or_default();
    let corrupt = args.forward.corrupt.as_ref().map(|corrupt| corrupt.value);
    forward.loss = Some(Written::of(
        "--loss",
        Loss {
            corrupt: corrupt.unwrap_or_default(),
            outages,
            drops,
            ..loss
        },
    ));
    link.wifi.clone_from(&args.wifi);
    // One bandwidth-delay product, if there is a bandwidth.
    let limited = link.forward.rate.is_some() || link.wifi.is_some();
    let queue = path
        .queue
        .pop()
        .unwrap_or_else(|| Written::of("--queue", Queue::Bdp(1.0)));
    let fits = |rate: bool, queue: &Written<Queue>| rate || matches!(queue.value, Queue::Fixed(_));
    link.forward.queue = Some(queue.clone()).filter(|queue| fits(limited, queue));
    let back = limited || link.reverse.rate.is_some();
    let own = link.reverse.queue.take().unwrap_or(queue);
    link.reverse.queue = Some(own).filter(|queue| fits(back, queue));
    let mtu = Bytes::new(u64::from(whimbrel_link::MTU));
    let [forward, backward] = link.path(mtu)?;
    Ok(PathSpec {
        hops: Vec::new(),
        forward,
        backward,
        wifi: args.wifi.as_ref().map(|wifi| wifi.value.clone()),
        seed: args.seed,
    })
}

fn wifi(text: &str) -> Result<Written<WifiSpec>, ParseError> {
    let spec = WifiSpec::at(Rate::from_str(text)?);
    let spec = spec.map_err(|why| ParseError::new(why.to_string()))?;
    Ok(Written::new("--wifi", spec, text))
}

fn outage(text: &str) -> Result<Outage, ParseError> {
    let example = "write e.g. `4 s..5 s`";
    let (from, to) = text
        .split_once("..")
        .ok_or_else(|| ParseError::new(format!("`{text}` is not a span of time; {example}")))?;
    let (from, to): (Duration, Duration) = (from.parse()?, to.parse()?);
    if from >= to {
        return Err(ParseError::new(format!(
            "an outage from {from} to {to} has no length; {example}"
        )));
    }
    Ok(Outage {
        from: Time::ZERO + from,
        to: Time::ZERO + to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use whimbrel_net::{Aqm, DelayTrace, QueueLimit, ServiceSpec};
    use whimbrel_units::Probability;

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

    fn spec(flags: &str) -> PathSpec {
        path(&args(flags).expect("good flags")).expect("a path")
    }

    #[test]
    fn both_directions_are_equal_except_loss() {
        let spec = spec("--rate 8Mbit/s --rtt 100ms --loss 1% --outage 4s..5s");
        assert_eq!(
            spec.forward.delay,
            Delay::constant(Duration::from_millis(50))
        );
        // 8 Mbit/s x 100 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(100_000)));
        assert_eq!(spec.forward.loss.random.get(), 0.01);
        let mut expected = spec.forward.clone();
        expected.loss.random = Probability::ZERO;
        assert_eq!(spec.backward, expected);
    }

    #[test]
    fn reverse_flags_override_the_reverse_direction() {
        let spec = spec(
            "--rate 8Mbit/s --delay 30ms --queue 7packets --reverse-rate 1Mbit/s --reverse-delay 70ms --reverse-loss 2% --reverse-corrupt 3% --reverse-queue 2bdp",
        );
        assert_eq!(spec.forward.queue, QueueLimit::Packets(7));
        let backward = &spec.backward;
        assert_eq!(
            backward.service.nominal_rate(),
            Some(Rate::from_bits_per_sec(1_000_000))
        );
        assert_eq!(backward.delay, Delay::constant(Duration::from_millis(70)));
        assert_eq!(
            (backward.loss.random.get(), backward.loss.corrupt.get()),
            (0.02, 0.03)
        );
        // 2 x 1 Mbit/s x 100 ms.
        assert_eq!(backward.queue, QueueLimit::Bytes(Bytes::new(25_000)));
    }

    #[test]
    fn wifi_is_one_channel_and_its_rate_sizes_the_queue() {
        let spec = spec("--wifi 65Mbit/s --rtt 8ms --loss 1%");
        let rate = Rate::from_bits_per_sec(65_000_000);
        assert_eq!(spec.wifi.map(|wifi| wifi.rate()), Some(rate));
        // 65 Mbit/s x 8 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(65_000)));
        assert_eq!(spec.backward.queue, spec.forward.queue);
        assert_eq!(spec.forward.loss.random.get(), 0.01);
    }

    #[test]
    fn both_queues_have_the_same_management_unless_overridden() {
        let alike = spec("--rate 12Mbit/s --aqm red?min=6packets");
        let Some(Aqm::Red(red)) = alike.forward.aqm else {
            panic!("{:?}", alike.forward.aqm)
        };
        // 1500 bytes at 12 Mbit/s.
        assert_eq!(red.packet_time, Duration::from_millis(1));
        assert_eq!((red.min, red.max), (6.0, 18.0));
        assert_eq!(alike.backward.aqm, alike.forward.aqm);
        let one = spec("--rate 12Mbit/s --aqm red?min=6packets --reverse-aqm none");
        assert_eq!(one.backward.aqm, None);
        let slow = "--rate 12Mbit/s --aqm red --reverse-rate 120Mbit/s";
        // The reverse queue fits its own rate: 2.5 ms of it are 25 packets.
        let Some(Aqm::Red(reverse)) = spec(slow).backward.aqm else {
            panic!("no RED")
        };
        assert_eq!(reverse.min, 25.0);
    }

    #[test]
    fn a_recorded_delay_applies_to_both_directions_and_a_drop_to_one() {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(b"10\n30\n").expect("written");
        let name = file.path().to_str().expect("a plain name");
        let spec = spec(&format!("--rate 8Mbit/s --delay-trace {name} --drop 38s"));
        let row = DelayTrace::parse("10\n30").expect("a trace");
        let recorded = Delay::recorded(Duration::from_millis(10), row).expect("intervals");
        assert_eq!(spec.forward.delay, recorded);
        assert_eq!(spec.backward.delay, recorded);
        // 8 Mbit/s x twice the mean of 20 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(40_000)));
        assert_eq!(
            spec.forward.loss.drops,
            [Time::ZERO + Duration::from_secs(38)]
        );
        assert_eq!(spec.backward.loss.drops, []);
        assert!(args(&format!("--delay-trace {name} --delay 1ms")).is_err());
        let none = path(&args(&format!("--delay-trace {name} --delay-every 0s")).expect("flags"));
        let error = none.expect_err("no length").to_string();
        assert!(
            error.starts_with("--delay-every: a delay must hold"),
            "{error}"
        );
    }

    #[test]
    fn recorded_rates_of_both_directions_differ() {
        use std::io::Write;
        let file = |text: &str| {
            let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
            file.write_all(text.as_bytes()).expect("written");
            file
        };
        // 1504 bytes each 1 ms, and each 10 ms.
        let (down, up) = (file("1\n"), file("10\n"));
        let name = |file: &tempfile::NamedTempFile| file.path().display().to_string();
        let (down, up) = (name(&down), name(&up));
        let rates = |flags: &str| {
            let spec = spec(flags);
            [spec.forward, spec.backward].map(|one| one.service.nominal_rate())
        };
        let mbit = |n| Some(Rate::from_bits_per_sec(n));
        let both = rates(&format!("--rate-trace {down} --back-trace {up}"));
        assert_eq!(both, [mbit(12_032_000), mbit(1_203_200)]);
        let one = rates(&format!("--rate 8Mbit/s --reverse-trace {up}"));
        assert_eq!(one, [mbit(8_000_000), mbit(1_203_200)]);
        assert!(args(&format!("--back-trace {up} --reverse-rate 1Mbit/s")).is_err());
        let wrong = path(&args("--back-trace /no/file").expect("good flags"));
        let error = wrong.expect_err("no file").to_string();
        let expected = "--back-trace: cannot read the trace /no/file: ";
        assert!(error.starts_with(expected), "{error}");
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
    fn without_flags_the_path_has_no_limits() {
        let spec = spec("");
        assert_eq!(spec.forward, spec.backward);
        assert_eq!(spec.forward.service, ServiceSpec::Unlimited);
        assert_eq!(spec.forward.queue, QueueLimit::Unlimited);
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
        assert!(args("--rtt 5ms --delay 1ms").is_err());
        assert!(args("--rate 1Mbit/s --trace f").is_err());
        assert!(args("--wifi 65Mbit/s --reverse-rate 1Mbit/s").is_err());
        assert!(args("--wifi 65Mbit/s --aqm codel").is_err());
        let endless = path(&args("--aqm mark?threshold=1bdp").expect("good flags"));
        let error = endless.expect_err("no rate").to_string();
        assert!(
            error.starts_with("--aqm: a threshold in `bdp` needs"),
            "{error}"
        );
        let missing = path(&args("--trace /no/such/file").expect("good flags"));
        assert!(
            missing
                .expect_err("no file")
                .to_string()
                .starts_with("--rate-trace: cannot read the trace /no/such/file: ")
        );
    }
}
