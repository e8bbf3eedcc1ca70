//! `whimbrel compare`: algorithms on a path given by flags. Makes a scenario and runs it.

#[cfg(feature = "transports")]
mod real;
#[cfg(not(feature = "transports"))]
#[path = "no_real.rs"]
mod real;
mod scenario;
mod show;

use crate::failure::BadInput;
use crate::neighbours::Neighbours;
use crate::one_run::Fix;
use crate::origin::Origin;
use crate::play::{PlayArgs, play};
use crate::tested::Tested;
use crate::transports::Transport;
use clap::builder::ArgPredicate;
use scenario::scenario;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_net::Queue;
use whimbrel_sim::scenario::{Scenario, ScenarioError};
use whimbrel_units::{Duration, Probability, Rate};

/// The name for all algorithms.
const EVERY: &str = "all";
/// The default algorithms: the textbook's, the most used ones, one of each kind made for lossy
/// paths, and this project's own. A picture has colors for eight.
const USUAL: &str = "newreno,cubic,bbr,cerl,enhanced-aatp,whimbrel";
/// The same without AATP, which has neither streams nor messages.
const USUAL_OF_TCP: &str = "newreno,cubic,bbr,cerl,whimbrel";

/// The default algorithms of `--real`: each takes two transfers.
const USUAL_REAL: &str = "cubic,bbr,cerl,whimbrel";

/// The keys of the scenario, and the flags that sweep them.
const FLAGS: [(&str, &str); 13] = [
    ("link.L.rate", "--rate"),
    ("link.L.rate.trace", "--rate-trace"),
    ("link.L.delay", "--rtt"),
    ("link.L.queue", "--queue"),
    ("link.L.loss", "--loss"),
    ("flow.controller", "--controllers"),
    ("flow.streams", "--streams"),
    ("flow.messages", "--messages"),
    ("flow.count", "--flows"),
    ("flow.tested.controller", "--controllers"),
    ("flow.tested.streams", "--streams"),
    ("flow.tested.messages", "--messages"),
    ("flow.1.count", "--neighbours"),
];

/// Compare algorithms on a path
///
/// The path is one bottleneck link, given by flags. Each run has flows of one algorithm only, or
/// beside --neighbours. A flag takes a list of values, separated by commas: every combination is
/// run. The table has the best algorithm first, and marks those that must not share a network with
/// others.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel compare
  whimbrel compare --rate 1Gbit/s --rtt 90ms --loss 0% --controllers cubic,bbr
  whimbrel compare --loss 0%,0.1%,1%,5% --flows 4 --seeds 10
  whimbrel compare --controllers cubic,cerl,cubic+cerl --plot windows.svg
  whimbrel compare --loss 0%,1%,5% --report page.html
  whimbrel compare --controllers all
  whimbrel compare --controllers bbr,whimbrel --neighbours cubic:2 --loss 0%
  whimbrel compare --rate-trace starlink.down --rtt 45ms --queue '300 packets'
  whimbrel compare --controllers cubic --trace run.pcapng
  whimbrel compare --messages '20 kB every 10 ms' --streams 1,8
  whimbrel compare --queue '0.5 bdp,1 bdp,2 bdp' --print-scenario > path.toml
  sudo whimbrel compare --real --report real.html

By default senders behave as those of `whimbrel send` and `whimbrel demo` over
QUIC: windows are paced over the round trip, and the retransmission timer may
be as short as 200 ms. --transport tcp simulates TCP, which does not pace.

With --neighbours the rows are those of --controllers, and of the neighbours'
own algorithm if they have one: what they deliver beside it is the 100 % of
`they keep`.

--seeds is a maximum: a combination has no further runs when the confidence
interval (95 %) of its goodput is within 2 %, and an algorithm that must not
share a network has one. With --json, --save or --report every combination has
all of them.

--real sends files over the emulated path, one after the other: over QUIC, and
over the kernel's TCP with its own algorithm if it has one of the name, else
with Whimbrel's. Each takes about --duration. It needs root, or a system that
lets every user make namespaces; without, only the simulation runs.

`whimbrel sim --help` explains the columns.")]
pub struct CompareArgs {
    /// Rate of the bottleneck
    #[arg(long, default_value = "50 Mbit/s", value_delimiter = ',', allow_hyphen_values = true, value_parser = written::<Rate>)]
    rate: Vec<String>,
    /// Recorded rate of the bottleneck instead of --rate, in mahimahi's format; it repeats
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    rate_trace: Option<PathBuf>,
    /// Base RTT, without queueing
    #[arg(long, default_value = "100 ms", value_delimiter = ',', allow_hyphen_values = true, value_parser = half)]
    rtt: Vec<String>,
    /// Buffer size of the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB`
    #[arg(long, default_value = "1 bdp", value_delimiter = ',', allow_hyphen_values = true, value_parser = written::<Queue>)]
    queue: Vec<String>,
    /// Random loss of data packets
    #[arg(long, default_value = "1 %", value_delimiter = ',', allow_hyphen_values = true, value_parser = percent)]
    loss: Vec<String>,
    /// Number of concurrent flows, all with the same algorithm
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    flows: u32,
    /// Flows of other algorithms on the same path, such as `cubic` or `cubic:2,bbr`
    #[arg(long, value_delimiter = ',', value_name = "ALGORITHM[:N]")]
    neighbours: Vec<Neighbours>,
    /// Duration, in simulated time [default with --real: 10 s]
    #[arg(
        long,
        default_value = "30 s",
        default_value_if("real", ArgPredicate::IsPresent, "10 s"),
        value_parser = written::<Duration>
    )]
    duration: String,
    /// Algorithms, or `all`; see `whimbrel controllers`
    #[arg(
        long,
        value_delimiter = ',',
        default_value = USUAL,
        default_value_ifs = [
            ("streams", ArgPredicate::IsPresent, Some(USUAL_OF_TCP)),
            ("messages", ArgPredicate::IsPresent, Some(USUAL_OF_TCP)),
            ("real", ArgPredicate::IsPresent, Some(USUAL_REAL)),
        ],
        value_parser = choice
    )]
    controllers: Vec<String>,
    /// Number of streams of a flow; a loss on one stream does not block the others
    #[arg(long, value_delimiter = ',', value_name = "N")]
    streams: Vec<u32>,
    /// Messages to send instead of endless data: `20 kB every 10 ms`, `1 kB .. 50 kB every 20 ms`
    #[arg(long, value_delimiter = ',')]
    messages: Vec<String>,
    /// Maximum number of runs of each combination, with different seeds
    #[arg(long, default_value_t = 3, value_name = "N")]
    seeds: u32,
    /// How senders detect lost data
    #[arg(long, default_value = "rack", value_parser = ["newreno", "sack", "rack"])]
    recovery: String,
    /// Transport that senders behave like
    #[arg(long, value_enum, default_value = "quic")]
    transport: Transport,
    /// Also send real files over the same path, emulated: over QUIC and over the kernel's TCP
    #[arg(
        long,
        conflicts_with_all = [
            "rate_trace", "flows", "neighbours", "streams", "messages", "seeds", "recovery",
            "transport", "print_scenario", "plot", "save", "iperf3", "files",
        ]
    )]
    real: bool,
    /// Print the scenario file for these flags and exit
    #[arg(long)]
    print_scenario: bool,
    #[command(flatten)]
    play: PlayArgs,
}

/// Checks that the text is a `T`, and keeps the text.
pub fn written<T>(text: &str) -> Result<String, T::Err>
where
    T: FromStr,
{
    text.parse::<T>().map(|_| text.trim().to_owned())
}

/// Checks that the text names an algorithm, or all.
fn choice(text: &str) -> Result<String, <Spec as FromStr>::Err> {
    match text.trim() {
        EVERY => Ok(EVERY.to_owned()),
        text => text.parse::<Spec>().map(|spec| spec.to_string()),
    }
}

/// Checks a fraction of lost packets, and keeps the text.
pub fn percent(text: &str) -> Result<String, String> {
    loss(text).map(|_| text.trim().to_owned())
}

/// Reads a fraction of lost packets. A number without `%` is refused: `0.5` would be every second
/// packet.
///
/// # Errors
/// The reason, with both ways to write what may have been meant.
pub fn loss(text: &str) -> Result<Probability, String> {
    let loss: Probability = text
        .parse()
        .map_err(|error: whimbrel_units::ParseError| error.to_string())?;
    let text = text.trim();
    if text.ends_with('%') || loss.is_zero() {
        return Ok(loss);
    }
    Err(format!(
        "`{text}` has no unit, and would be {loss}; write `{text} %` or `{loss}`"
    ))
}

/// Half of a time: the delay of each direction.
fn half(text: &str) -> Result<String, whimbrel_units::ParseError> {
    Ok(exact(text.parse::<Duration>()? / 2))
}

/// A time for a scenario file: rounded for the reader if that is exact, else in nanoseconds.
pub fn exact(time: Duration) -> String {
    let short = time.to_string();
    if short.parse() == Ok(time) {
        short
    } else {
        format!("{} ns", time.as_nanos())
    }
}

/// Makes the scenario, and runs or prints it.
pub fn run(args: CompareArgs) -> anyhow::Result<ExitCode> {
    if args.real {
        return real::run(&args);
    }
    let (scenario, text) = scenario_of(&args)?;
    if args.print_scenario {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let tested = args.tested();
    let origin = Origin {
        title: &title(&args),
        path: Path::new("compare.toml"),
        text: &text,
        fix: Fix::Flags(&FLAGS),
        tested: tested.as_ref(),
    };
    let how = show::Comparison::new(&args, &scenario)?;
    play(&scenario, &origin, &args.play, &how)?;
    Ok(ExitCode::SUCCESS)
}

impl CompareArgs {
    /// Which flows the rows are about; `None`: all, because there are no neighbours.
    fn tested(&self) -> Option<Tested> {
        let first = self.neighbours.first()?;
        let same = |other: &Neighbours| other.controller == first.controller;
        Some(Tested {
            reference: self
                .neighbours
                .iter()
                .all(same)
                .then(|| first.controller.to_string()),
        })
    }
}

/// The scenario of these flags, and its text.
///
/// # Errors
/// As the command.
pub fn scenario_of(args: &CompareArgs) -> anyhow::Result<(Scenario, String)> {
    let text = scenario(args, args.transport);
    let scenario = Scenario::parse(&text, Path::new("compare")).map_err(|error| by_flag(&error))?;
    Ok((scenario, text))
}

/// The error of the scenario that the flags stand for, in terms of the flags.
fn by_flag(error: &ScenarioError) -> BadInput {
    let key = error.key().replace("flow.0.", "flow.");
    let key = key
        .strip_prefix("run.")
        .map_or(key.clone(), |key| format!("--{key}"));
    let flag = FLAGS
        .iter()
        .find(|(of, _)| *of == key)
        .map_or(key.as_str(), |(_, flag)| flag);
    let why = error.why();
    BadInput::new(if flag.is_empty() {
        why.to_owned()
    } else {
        format!("{flag}: {why}")
    })
}

/// The values that all runs have in common.
fn title(args: &CompareArgs) -> String {
    let whole = |half: &String| {
        half.parse::<Duration>()
            .map_or_else(|_| half.clone(), |d| (d * 2).to_string())
    };
    let rtt: Vec<String> = args.rtt.iter().map(whole).collect();
    let recorded = args.rate_trace.as_ref().map(|file| file.display());
    let rate = recorded.map_or(args.rate.clone(), |file| vec![format!("rate of {file}")]);
    let all = [
        ("", &rate),
        ("RTT ", &rtt),
        ("queue ", &args.queue),
        ("loss ", &args.loss),
    ];
    let fixed = all
        .iter()
        .filter_map(|(name, values)| match values.as_slice() {
            [one] => Some(format!("{name}{one}")),
            _ => None,
        });
    let mut fixed: Vec<String> = fixed.collect();
    if let [one] = args.messages.as_slice() {
        fixed.push(one.clone());
    }
    if let [one] = args.streams.as_slice() {
        fixed.push(format!("{one} streams"));
    }
    fixed.join(", ")
}
