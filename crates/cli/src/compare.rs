//! `whimbrel compare`: algorithms on a path given by flags. Writes a scenario and runs that.

use crate::one_run::Fix;
use crate::page::Origin;
use crate::play::{PlayArgs, play};
use clap::builder::ArgPredicate;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_cc::registry::{self, Feed};
use whimbrel_sim::scenario::Scenario;
use whimbrel_units::{Duration, Probability, Rate};

/// Every algorithm of the table.
const EVERY: &str = "all";
/// What is compared when nobody says: the textbook's, what the Internet runs, and a law of each kind that is made for
/// lossy paths. A picture has colours for eight.
const USUAL: &str = "newreno,cubic,bbr,cerl,enhanced-aatp";
/// The same of laws that TCP carries: AATP has neither streams nor messages.
const USUAL_OF_TCP: &str = "newreno,cubic,bbr,cerl";

/// Which flag sweeps which key.
const FLAGS: [(&str, &str); 7] = [
    ("link.L.rate", "--rate"),
    ("link.L.delay", "--rtt"),
    ("link.L.queue", "--queue"),
    ("link.L.loss", "--loss"),
    ("flow.controller", "--controllers"),
    ("flow.streams", "--streams"),
    ("flow.messages", "--messages"),
];

/// Compare algorithms on a path
///
/// One bottleneck link, given by flags; each run has flows of one algorithm only. Lists, separated by
/// commas, are swept: every combination is run.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel compare
  whimbrel compare --rate 1Gbit/s --rtt 90ms --loss 0% --controllers cubic,newreno
  whimbrel compare --loss 0%,0.1%,1%,5% --flows 4 --seeds 10
  whimbrel compare --controllers cubic,cerl,cubic+cerl --plot windows.svg
  whimbrel compare --loss 0%,1%,5% --report page.html
  whimbrel compare --controllers all
  whimbrel compare --controllers cubic --trace run.pcapng
  whimbrel compare --messages '20 kB every 10 ms' --streams 1,8
  whimbrel compare --queue '0.5 bdp,1 bdp,2 bdp' --print-scenario > path.toml

For what the columns mean: whimbrel sim --help")]
pub struct CompareArgs {
    /// Rate of the bottleneck
    #[arg(long, default_value = "50 Mbit/s", value_delimiter = ',', value_parser = written::<Rate>)]
    rate: Vec<String>,
    /// Round-trip time of the empty path
    #[arg(long, default_value = "100 ms", value_delimiter = ',', value_parser = half)]
    rtt: Vec<String>,
    /// What may wait at the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB`
    #[arg(long, default_value = "1 bdp", value_delimiter = ',')]
    queue: Vec<String>,
    /// Random loss of data packets
    #[arg(long, default_value = "1 %", value_delimiter = ',', value_parser = written::<Probability>)]
    loss: Vec<String>,
    /// Flows at once, all with the same algorithm
    #[arg(long, default_value_t = 1, value_name = "N")]
    flows: u32,
    /// How long, in the simulation's time
    #[arg(long, default_value = "30 s", value_parser = written::<Duration>)]
    duration: String,
    /// Which algorithms, or `all`; see `whimbrel controllers`
    #[arg(
        long,
        value_delimiter = ',',
        default_value = USUAL,
        default_value_ifs = [
            ("streams", ArgPredicate::IsPresent, Some(USUAL_OF_TCP)),
            ("messages", ArgPredicate::IsPresent, Some(USUAL_OF_TCP)),
        ],
        value_parser = choice
    )]
    controllers: Vec<String>,
    /// Streams of a flow: what is lost on one holds up no other
    #[arg(long, value_delimiter = ',', value_name = "N")]
    streams: Vec<u32>,
    /// What a flow sends, instead of endless data: `20 kB every 10 ms`, `1 kB .. 50 kB every 20 ms`
    #[arg(long, value_delimiter = ',')]
    messages: Vec<String>,
    /// Runs of each combination, with different seeds
    #[arg(long, default_value_t = 3, value_name = "N")]
    seeds: u32,
    /// How lost data is found
    #[arg(long, default_value = "rack", value_parser = ["newreno", "sack", "rack"])]
    recovery: String,
    /// Print the scenario file that these flags stand for, and run nothing
    #[arg(long)]
    print_scenario: bool,
    #[command(flatten)]
    play: PlayArgs,
}

/// Checks that a `T` was written, and keeps the words.
fn written<T>(text: &str) -> Result<String, T::Err>
where
    T: FromStr,
{
    text.parse::<T>().map(|_| text.trim().to_owned())
}

/// Checks that an algorithm was written, or all of them.
fn choice(text: &str) -> Result<String, <Spec as FromStr>::Err> {
    match text.trim() {
        EVERY => Ok(EVERY.to_owned()),
        text => written::<Spec>(text),
    }
}

/// Half of a time: the delay of each direction.
fn half(text: &str) -> Result<String, whimbrel_units::ParseError> {
    Ok(exact(text.parse::<Duration>()? / 2))
}

/// A time as a scenario has it, short if that loses nothing.
pub fn exact(time: Duration) -> String {
    let short = time.to_string();
    if short.parse() == Ok(time) {
        short
    } else {
        format!("{} ns", time.as_nanos())
    }
}

/// Writes the scenario; runs it, or prints it.
pub fn run(args: CompareArgs) -> anyhow::Result<ExitCode> {
    let text = scenario(&args);
    let scenario = Scenario::parse(&text, Path::new("compare"))?;
    if args.print_scenario {
        use std::io::Write as _;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let origin = Origin {
        title: &title(&args),
        path: Path::new("compare.toml"),
        text: &text,
        fix: Fix::Flags(&FLAGS),
    };
    play(&scenario, &origin, &args.play)?;
    Ok(ExitCode::SUCCESS)
}

fn scenario(args: &CompareArgs) -> String {
    let mut link = String::new();
    let mut sweep = String::new();
    let keys = [
        ("rate", &args.rate),
        ("delay", &args.rtt),
        ("queue", &args.queue),
        ("loss", &args.loss),
    ];
    for (key, values) in keys {
        let note = if key == "delay" { "    # each way" } else { "" };
        match values.as_slice() {
            [one] => line(&mut link, key, format!("{one:?}{note}")),
            several => line(
                &mut sweep,
                &format!("\"link.L.{key}\""),
                format!("{several:?}"),
            ),
        }
    }
    let mut controllers: Vec<&str> = Vec::new();
    for choice in &args.controllers {
        match choice.as_str() {
            EVERY => controllers.extend(every(args).map(|entry| entry.name)),
            one => controllers.push(one),
        }
    }
    line(
        &mut sweep,
        "\"flow.controller\"",
        format!("{controllers:?}"),
    );
    let mut flow = String::new();
    if args.flows != 1 {
        line(&mut flow, "count", args.flows);
        line(
            &mut flow,
            "start",
            "\"0 s .. 1 s\"    # drawn evenly, so that flows are not in step",
        );
    }
    let streams: Vec<String> = args.streams.iter().map(u32::to_string).collect();
    let messages: Vec<String> = args.messages.iter().map(|m| format!("{m:?}")).collect();
    for (key, values) in [("streams", streams), ("messages", messages)] {
        match values.as_slice() {
            [] => {}
            [one] => line(&mut flow, key, one),
            several => line(
                &mut sweep,
                &format!("\"flow.{key}\""),
                format!("[{}]", several.join(", ")),
            ),
        }
    }
    let CompareArgs {
        duration,
        seeds,
        recovery,
        ..
    } = args;
    format!(
        "[link.L]\n{link}\n[[flow]]\n{flow}route = [\"L\"]\n\n\
         [run]\nduration = {duration:?}\nseeds = {seeds}\nrecovery = {recovery:?}\n\n[sweep]\n{sweep}"
    )
}

/// All algorithms, or those that TCP carries if they are to have streams or messages.
fn every(args: &CompareArgs) -> impl Iterator<Item = &'static registry::Entry> {
    let tcp = !args.streams.is_empty() || !args.messages.is_empty();
    registry::CONTROLLERS
        .iter()
        .copied()
        .filter(move |entry| !tcp || entry.feed == Feed::Acknowledgments)
}

fn line(text: &mut String, key: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{key} = {value}");
}

/// What all runs have in common; swept values are for others to say.
fn title(args: &CompareArgs) -> String {
    let whole = |half: &String| {
        half.parse::<Duration>()
            .map_or_else(|_| half.clone(), |d| (d * 2).to_string())
    };
    let rtt: Vec<String> = args.rtt.iter().map(whole).collect();
    let all = [
        ("", &args.rate),
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
