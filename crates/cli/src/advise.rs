//! `whimbrel advise`: which algorithm to use on a path, measured by simulation.

use crate::compare::percent;
use crate::failure::BadInput;
use crate::neighbours::{self, Beside, Path as SharedPath, REFERENCE, TOLERABLE};
use crate::runs::Progress;
use crate::transports::carriers;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::{Spec, registry};
use whimbrel_rank::{League, Library, MatrixPoint, Runs, Task, play};
use whimbrel_report::plain;
use whimbrel_sim::scenario::document::Document;
use whimbrel_units::{Duration, Rate};

/// The algorithm that most senders use: gains are over it.
const USUAL: &str = "cubic";
/// Packets that fit through the path in a run of the first and of the second round.
const PACKETS: (f64, f64) = (120_000.0, 300_000.0);
/// Seconds of a run, at least and at most, and at least this many round trips.
const SECONDS: (f64, f64) = (5.0, 30.0);
const ROUND_TRIPS: f64 = 60.0;
/// Algorithms in the second round, besides the usual one, and seeds there.
const FINALISTS: usize = 6;
const SEEDS: u32 = 3;
/// Rows of the table.
const SHOWN: usize = 5;
/// Bits of a full packet.
const PACKET: f64 = 12_000.0;

/// Advise which algorithm to use on a path
///
/// Simulates all algorithms on the path, alone and beside another flow, and says in three sentences
/// what to use, what it gains over CUBIC, what it does to neighbours, and what can run it today.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5%
  whimbrel advise --rate 20Mbit/s --rtt 600ms --loss 1% --neighbours bbr
  whimbrel advise --trace starlink.down --rtt 45ms --queue '300 packets'

The advice has the highest score of class A of `whimbrel rank` times the score
of the neighbours' goodput; algorithms that leave a CUBIC flow less than a
quarter of its share on an ordinary path are excluded.

--json prints {use, score, sentences, table: [{algorithm, score, goodput_bps,
queue_ms, lost, neighbours_keep, carriers}]}.")]
pub struct AdviseArgs {
    /// Rate of the bottleneck
    #[arg(long, required_unless_present = "trace", allow_hyphen_values = true)]
    rate: Option<Rate>,
    /// Base RTT, without queueing
    #[arg(long, allow_hyphen_values = true)]
    rtt: Duration,
    /// Random loss of data packets
    #[arg(long, default_value = "0 %", allow_hyphen_values = true, value_parser = percent)]
    loss: String,
    /// Buffer size of the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB`
    #[arg(long, default_value = "1 bdp", value_parser = crate::compare::written::<whimbrel_net::Queue>)]
    queue: String,
    /// Algorithm of the flows that share the path
    #[arg(long, default_value = USUAL)]
    neighbours: Spec,
    /// Recorded rate of the bottleneck, in mahimahi's format
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// What was measured of an algorithm.
struct Candidate {
    name: String,
    /// Alone on the path, from 0 to 1.
    alone: f64,
    /// Data delivered, bit/s.
    goodput: f64,
    /// What an ideal sender delivers, bit/s.
    ideal: f64,
    /// 95th percentile of the queueing delay, seconds.
    queue: f64,
    /// Packets lost to queues, of those sent.
    lost: f64,
    /// Beside a neighbour.
    beside: Beside,
}

impl Candidate {
    fn score(&self) -> f64 {
        self.alone * whimbrel_rank::score::reach(self.beside.kept, 1.0)
    }
}

/// Measures, and prints the advice.
pub fn run(args: AdviseArgs) -> anyhow::Result<ExitCode> {
    let (measured, sentences) = advice(&args)?;
    let mut out = anstream::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &as_json(&measured, &sentences))?;
        writeln!(out)?;
    } else {
        for sentence in &sentences {
            writeln!(out, "{}", crate::compare::fill(sentence, " "))?;
        }
        write!(out, "\n{}", table(&measured))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What [`run`] prints with `--json`.
///
/// # Errors
/// As the command.
pub fn advice_json(args: &AdviseArgs) -> anyhow::Result<serde_json::Value> {
    let (measured, sentences) = advice(args)?;
    Ok(as_json(&measured, &sentences))
}

/// Measures. Returns the candidates, best first, and the advice in three sentences.
fn advice(args: &AdviseArgs) -> anyhow::Result<(Vec<Candidate>, Vec<String>)> {
    if args.rtt.is_zero() {
        return Err(BadInput::new("--rtt must be above 0, e.g. `--rtt 45ms`").into());
    }
    let all: Vec<String> = registry::controllers()
        .iter()
        .map(|e| e.name.to_owned())
        .collect();
    let first = alone(args, &all, PACKETS.0, 1)?;
    let mut finalists: Vec<String> = first.iter().map(|one| one.name.clone()).collect();
    // On an ordinary path: random loss of this one would hide what the algorithm does.
    let ordinary = neighbours::beside(&REFERENCE, USUAL, &finalists, 1, args.threads)?;
    let mut tolerable = ordinary.iter().map(|beside| beside.kept >= TOLERABLE);
    finalists.retain(|_| tolerable.next().unwrap_or(false));
    finalists.truncate(FINALISTS);
    if !finalists.iter().any(|name| name == USUAL) {
        finalists.push(USUAL.to_owned());
    }
    let mut measured = alone(args, &finalists, PACKETS.1, SEEDS)?;
    let names: Vec<String> = measured.iter().map(|one| one.name.clone()).collect();
    let path = SharedPath {
        rate: rate(args),
        rtt: args.rtt,
        queue: args.queue.clone(),
        loss: args.loss.clone(),
        seconds: seconds(args, PACKETS.1),
    };
    let neighbour = args.neighbours.to_string();
    let beside = neighbours::beside(&path, &neighbour, &names, SEEDS, args.threads)?;
    for (one, beside) in measured.iter_mut().zip(beside) {
        one.beside = beside;
    }
    measured.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let sentences = sentences(&measured, &neighbour);
    Ok((measured, sentences))
}

/// The rate as a value of a scenario.
fn rate(args: &AdviseArgs) -> String {
    match (&args.trace, args.rate) {
        (Some(path), _) => format!("{{ trace = {:?} }}", path.display().to_string()),
        (None, Some(rate)) => format!("\"{} bit/s\"", rate.as_bits_per_sec()),
        (None, None) => String::new(),
    }
}

/// Length of a run through which about this many packets fit.
fn seconds(args: &AdviseArgs, packets: f64) -> f64 {
    let bits = args
        .rate
        .map_or(20e6, |rate| rate.as_bits_per_sec() as f64)
        .max(1.0);
    let rtt = args.rtt.as_secs_f64();
    let (least, most) = SECONDS;
    (packets * PACKET / bits)
        .clamp(least, most)
        .max(ROUND_TRIPS * rtt)
        .ceil()
}

/// Runs each algorithm alone on the path; best first.
fn alone(
    args: &AdviseArgs,
    names: &[String],
    packets: f64,
    seeds: u32,
) -> anyhow::Result<Vec<Candidate>> {
    let text = format!(
        "[point]\nclass = \"A\"\nclaim = \"A full link, a short queue.\"\nflows = [\"t\"]\n\
         score = \"fill\"\nrtt = \"{} ns\"\nqueue = 0.25\nlost = {:?}\n\
         [link.L]\nrate = {}\ndelay = \"{} ns\"\nqueue = \"{}\"\nloss = {:?}\n\
         [[flow]]\nname = \"t\"\nroute = [\"L\"]\n[run]\nduration = \"{} s\"\n",
        args.rtt.as_nanos(),
        args.loss,
        rate(args),
        args.rtt.as_nanos() / 2,
        args.queue,
        args.loss,
        seconds(args, packets),
    );
    let document = Document::parse(&text, Path::new("advise"))?;
    let point =
        MatrixPoint::read("advise", &text, document).map_err(|error| BadInput::new(error.why()))?;
    let tasks: Result<Vec<Task<'_>>, _> = names
        .iter()
        .map(|name| Task::new(&point, name, seeds))
        .collect();
    let tasks = tasks?;
    let progress = Progress::new(tasks.len(), "algorithms");
    let measured = play(&tasks, args.threads, |_, _| progress.done())?;
    let runs: Runs = tasks
        .iter()
        .zip(measured)
        .map(|(task, runs)| ((point.id.clone(), task.controller.clone()), runs))
        .collect();
    let rtt = point.rtt.as_secs_f64();
    let library = Library {
        version: String::new(),
        points: vec![point.clone()],
    };
    let league = League::new(&library, names, &runs);
    let mut all: Vec<Candidate> = league
        .cells
        .iter()
        .map(|cell| Candidate {
            name: cell.controller.clone(),
            alone: cell.interval().mean,
            goodput: cell.mean.rate,
            ideal: cell.mean.rate / cell.mean.efficiency.max(1e-9),
            queue: cell.mean.delay * rtt,
            lost: cell.mean.overflow,
            beside: Beside {
                kept: 1.0,
                share: 1.0,
            },
        })
        .collect();
    all.sort_by(|a, b| b.alone.total_cmp(&a.alone));
    Ok(all)
}

fn show(bits: f64) -> String {
    if bits >= 1e6 {
        format!("{:.1} Mbit/s", bits * 1e-6)
    } else {
        format!("{:.0} kbit/s", bits * 1e-3)
    }
}

/// The advice in three sentences.
fn sentences(measured: &[Candidate], neighbour: &str) -> Vec<String> {
    let Some(best) = measured.first() else {
        return Vec::new();
    };
    let usual = measured.iter().find(|one| one.name == USUAL);
    let gain = match usual {
        Some(_) if best.name == USUAL => {
            "Nothing gains over CUBIC here without harming others".to_owned()
        }
        Some(usual) => format!(
            "That is {:.1} times CUBIC's {}",
            best.goodput / usual.goodput.max(1.0),
            show(usual.goodput)
        ),
        None => String::new(),
    };
    let spec = best.name.parse::<Spec>().ok();
    let carriers = spec.as_ref().map_or(String::new(), carriers);
    let (ours, kernel) = carriers.split_once(", kernel").unwrap_or((&carriers, ""));
    let ours: Vec<String> = ours
        .split(", ")
        .map(|word| format!("`whimbrel {word}`"))
        .collect();
    let mut runs = format!("{} run it today", ours.join(" and "));
    if kernel.is_empty() {
        runs += "; the Linux kernel, and so nginx, does not have it";
    } else {
        let name = kernel.trim_matches([' ', '(', ')']);
        let _ = write!(
            runs,
            ", and so do the Linux kernel and nginx on it (`{name}`)"
        );
    }
    vec![
        format!(
            "Use {}: it delivers {} of the {} that the path carries, with a queue of at most {:.0} \
             ms (95 % of the time).",
            best.name,
            show(best.goodput),
            show(best.ideal),
            best.queue * 1e3
        ),
        format!(
            "{gain}; beside one {neighbour} flow it takes {:.2} of a fair share, and that flow \
             keeps {:.0} % of what it has beside its own kind.",
            best.beside.share,
            best.beside.kept * 100.0
        ),
        format!("{runs}."),
    ]
}

fn table(measured: &[Candidate]) -> String {
    let heads = [
        "algorithm",
        "score\n",
        "goodput\nMbit/s",
        "queue p95\nms",
        "overflow\n%",
        "neighbour\nkeeps %",
        "runs on\n",
    ];
    let shown = measured.iter().enumerate();
    let shown = shown.filter(|(i, one)| *i < SHOWN || one.name == USUAL);
    let line = |(_, one): (usize, &Candidate)| {
        let spec = one.name.parse::<Spec>().ok();
        vec![
            one.name.clone(),
            format!("{:.2}", one.score()),
            format!("{:.1}", one.goodput * 1e-6),
            format!("{:.1}", one.queue * 1e3),
            format!("{:.2}", one.lost * 100.0),
            format!("{:.0}", one.beside.kept * 100.0),
            spec.as_ref().map_or(String::new(), carriers),
        ]
    };
    let lines: Vec<Vec<String>> = shown.map(line).collect();
    let right = [false, true, true, true, true, true, false];
    plain(&heads.map(str::to_owned), &right, &lines)
}

fn as_json(measured: &[Candidate], sentences: &[String]) -> serde_json::Value {
    let best = measured.first();
    let row = |one: &Candidate| {
        let spec = one.name.parse::<Spec>().ok();
        json!({
            "algorithm": one.name,
            "score": one.score(),
            "goodput_bps": one.goodput,
            "queue_ms": one.queue * 1e3,
            "lost": one.lost,
            "neighbours_keep": one.beside.kept,
            "carriers": spec.as_ref().map_or(String::new(), carriers),
        })
    };
    json!({
        "use": best.map(|best| &best.name),
        "score": best.map(Candidate::score),
        "sentences": sentences,
        "table": measured.iter().map(row).collect::<Vec<_>>(),
    })
}
