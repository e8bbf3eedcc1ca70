//! `whimbrel compare`: algorithms on a path given by flags.

mod real;

use crate::failure::BadInput;
use crate::path::{PathArgs, flag, number};
use crate::run_scenario::{OutputArgs, bar, run_scenario};
use clap::builder::{ArgPredicate, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_sim::Recovery;
use whimbrel_sim::scenario::{Scenario, Written};
use whimbrel_study::compare::{Request, Shown, USUAL, USUAL_OF_TCP};
use whimbrel_study::controllers::Choice;
use whimbrel_study::neighbours::Neighbours;
use whimbrel_study::page::Subject;
use whimbrel_study::path::BASE_RTT;
use whimbrel_study::transport::Transport;
use whimbrel_units::Duration;

/// The default algorithms of `--real`: each takes two transfers.
const USUAL_REAL: &str = "cubic,bbr,cerl,whimbrel";

/// The keys of the scenario, and the flags that sweep them.
const FLAGS: [(&str, &str); 10] = [
    ("link.L.rate", "--rate"),
    (BASE_RTT, "--rtt"),
    ("link.L.queue", "--queue"),
    ("link.L.loss", "--loss"),
    ("flow.controller", "--controllers"),
    ("flow.streams", "--streams"),
    ("flow.messages", "--messages"),
    ("flow.tested.controller", "--controllers"),
    ("flow.tested.streams", "--streams"),
    ("flow.tested.messages", "--messages"),
];

/// Compare algorithms on a path
///
/// The path is one bottleneck link, given by flags. Each run has flows of one algorithm only, or
/// beside --neighbours. A flag takes a list of values, separated by commas: every combination is
/// run. The table has the best algorithm first, and marks those that must not share a network with
/// others.
#[derive(clap::Args)]
#[command(
    mut_arg("rate", |rate| rate.default_value("50 Mbit/s")),
    mut_arg("rtt", |rtt| rtt.default_value("100 ms")),
    mut_arg("queue", |queue| queue.default_value("1 bdp")),
    // A recording has the losses of its path's queue only.
    mut_arg("loss", |loss| {
        loss.help("Random loss of data packets; with --rate-trace the default is 0 %")
            .default_value("1 %")
            .default_value_if("rate_trace", ArgPredicate::IsPresent, "0 %")
    }),
    after_help = "\
Examples:
  whimbrel compare
  whimbrel compare --rate 1Gbit/s --rtt 90ms --loss 0% --controllers cubic,bbr
  whimbrel compare --loss 0%,0.1%,1%,5% --flows 4 --seeds 10
  whimbrel compare --controllers cubic,cerl,cubic+cerl --plot windows.svg
  whimbrel compare --loss 0%,1%,5% --report page.html
  whimbrel compare --controllers all
  whimbrel compare --controllers bbr,whimbrel --neighbours cubic:2 --loss 0%
  whimbrel compare --rate-trace starlink.down --rtt 45ms --queue '300 packets'
  whimbrel compare --rate-trace lte.down --back-trace lte.up --rtt 50ms \\
      --queue '1000 packets'
  whimbrel compare --controllers cubic --trace run.pcapng
  whimbrel compare --messages '20 kB every 10 ms' --streams 1,8
  whimbrel compare --queue '0.5 bdp,1 bdp,2 bdp' --print-scenario > path.toml
  sudo whimbrel compare --real --report real.html

By default senders behave as those of `whimbrel send` and `whimbrel demo` over
QUIC: windows are paced over the round trip, and the retransmission timer may be
as short as 200 ms. --transport tcp simulates TCP, which does not pace.

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

`whimbrel sim --help` explains the columns."
)]
pub struct CompareArgs {
    #[command(flatten)]
    path: PathArgs,
    /// Number of concurrent flows, all with the same algorithm
    #[arg(long, default_value = "1", value_name = "N", value_parser = number::<u32>("--flows"))]
    flows: Written<u32>,
    /// Flows of other algorithms on the same path, such as `cubic` or `cubic:2,bbr`
    #[arg(long, value_delimiter = ',', value_name = "ALGORITHM[:N]")]
    neighbours: Vec<Neighbours>,
    /// Duration, in simulated time [default with --real: 10 s]
    #[arg(
        long,
        default_value = "30 s",
        default_value_if("real", ArgPredicate::IsPresent, "10 s"),
        value_parser = flag::<Duration>("--duration")
    )]
    duration: Written<Duration>,
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
        value_parser = choice("--controllers")
    )]
    controllers: Vec<Written<Choice>>,
    /// Number of streams of a flow; a loss on one stream does not block the others
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N",
        value_parser = number::<u32>("--streams")
    )]
    streams: Vec<Written<u32>>,
    /// Messages to send instead of endless data: `20 kB every 10 ms`, `1 kB .. 50 kB every 20 ms`
    #[arg(long, value_delimiter = ',')]
    messages: Vec<String>,
    /// Maximum number of runs of each combination, with different seeds
    #[arg(long, default_value = "3", value_name = "N", value_parser = number::<u32>("--seeds"))]
    seeds: Written<u32>,
    /// How senders detect lost data
    #[arg(long, default_value = "rack", value_parser = recovery())]
    recovery: Recovery,
    /// Transport that senders behave like
    #[arg(long, default_value = "quic", value_parser = transport())]
    transport: Transport,
    /// Also send real files over the same path, emulated: over QUIC and over the kernel's TCP
    #[arg(
        long,
        conflicts_with_all = [
            "flows", "neighbours", "streams", "messages", "seeds", "recovery", "transport",
            "print_scenario", "plot", "save", "iperf3", "files",
        ]
    )]
    real: bool,
    /// Print the scenario file for these flags and exit
    #[arg(long)]
    print_scenario: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Reads the name of an algorithm, or `all`.
pub fn choice(
    name: &'static str,
) -> impl Fn(&str) -> Result<Written<Choice>, <Spec as FromStr>::Err> + Clone {
    move |text| Ok(Written::new(name, text.parse()?, text.trim()))
}

/// Reads how simulated senders detect lost data.
pub fn recovery() -> impl TypedValueParser<Value = Recovery> {
    PossibleValuesParser::new(["newreno", "sack", "rack"])
        .try_map(|text| text.parse::<Recovery>().map_err(BadInput::new))
}

fn transport() -> impl TypedValueParser<Value = Transport> {
    let values = [
        (
            "quic",
            "`whimbrel send`: paced, with packets and timers as over QUIC",
        ),
        ("tcp", "TCP without pacing, with the timers of RFC 6298"),
    ];
    let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values)
        .try_map(|text| text.parse::<Transport>().map_err(BadInput::new))
}

impl CompareArgs {
    /// What is compared.
    fn request(&self) -> anyhow::Result<Request> {
        let message = |text: &String| Written::parse("--messages", text);
        Ok(Request {
            path: self.path.path(),
            controllers: self.controllers.clone(),
            flows: self.flows.clone(),
            neighbours: self.neighbours.clone(),
            duration: self.duration.clone(),
            streams: self.streams.clone(),
            messages: self
                .messages
                .iter()
                .map(message)
                .collect::<Result<_, _>>()?,
            seeds: self.seeds.clone(),
            recovery: self.recovery,
            transport: self.transport,
        })
    }
}

/// Makes the scenario, and runs or prints it.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    if args.real {
        return real::run(args);
    }
    let request = args.request()?;
    let spec = request.scenario()?;
    let scenario = Scenario::new(&spec)?;
    let text = spec.to_string();
    if args.print_scenario {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let tested = request.tested();
    let subject = Subject {
        title: &request.title(),
        path: Path::new("compare.toml"),
        text: &text,
        tested: tested.as_ref(),
    };
    let how = Shown::new(&request, &scenario, args.output.threads, &bar)?;
    run_scenario(&scenario, &subject, with_flag, &args.output, &how)?;
    Ok(ExitCode::SUCCESS)
}

/// The flag that selects a value of a swept key.
fn with_flag(key: &str, value: &str) -> String {
    match FLAGS.iter().find(|(of, _)| *of == key) {
        // The flag takes the round-trip time, the key the delay of each direction.
        Some((_, "--rtt")) => "--rtt with one value".to_owned(),
        Some((_, flag)) => format!("{flag} '{value}'"),
        None => format!("one value of {key}"),
    }
}
