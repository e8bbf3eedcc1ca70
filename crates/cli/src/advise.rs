//! `whimbrel advise`: which algorithm to use on a path, measured by simulation. With a server, the
//! path is measured first.

#[cfg(feature = "transports")]
mod probe;
#[cfg(not(feature = "transports"))]
#[path = "advise/no_probe.rs"]
mod probe;
mod show;

use crate::compare::percent;
#[cfg(feature = "transports")]
use crate::credentials::CredentialArgs;
use crate::failure::BadInput;
use crate::neighbours::{self, Beside, Neighbours, Path as SharedPath, REFERENCE, TOLERABLE};
use crate::runs::Progress;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_cc::registry;
use whimbrel_rank::score::{SHARE, reach};
use whimbrel_rank::{League, Library, MatrixPoint, Runs, Task, play};
use whimbrel_sim::scenario::document::Document;
use whimbrel_units::{Bytes, Duration, Rate};

/// The algorithm that most senders use: gains are over it.
const USUAL: &str = "cubic";
/// Packets that fit through the path in a run of the first and of the second round.
const PACKETS: (f64, f64) = (120_000.0, 300_000.0);
/// Seconds of a run, at least and at most, and at least this many round trips.
const SECONDS: (f64, f64) = (5.0, 30.0);
const ROUND_TRIPS: f64 = 60.0;
/// Algorithms of the first round that then run beside the neighbours.
const CONTENDERS: usize = 16;
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
///
/// With HOST, where `whimbrel serve` runs, the path is measured first: data that the server
/// discards is sent for some seconds. What flags say of the path counts more than what is measured.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5%
  whimbrel advise --rate 20Mbit/s --rtt 600ms --loss 1% --neighbours bbr
  whimbrel advise --trace starlink.down --rtt 45ms --queue '300 packets'
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5% --size 1GB
  whimbrel advise example.org                measures the path first

The advice has the highest score: that of class A of `whimbrel rank`, alone on
the path, times what the neighbours keep (at most 1), times the share that it
takes beside them over half of a fair share (at most 1). Algorithms that leave a
CUBIC flow less than a quarter of its share on an ordinary path are excluded.

A measurement sends with bbr, for --probe-time or until --probe-size. The rate
is the 90th percentile over half seconds, the RTT the minimum, the random loss
that with a short queue after the start, and the buffer the longest queue. The
server may refuse it (`serve --max-probe 0`).

--json prints {path: {host, rate_bps, rtt_ms, loss, queue_bdp, queue_is_full,
seconds, bytes} (null without HOST), use, score, sentences, table: [{algorithm,
score, goodput_bps, queue_ms, lost, share, neighbours_keep, file_seconds (null
without --size), carriers}]}.")]
pub struct AdviseArgs {
    /// A server of `whimbrel serve`, to which the path is measured: `HOST[:PORT]`
    #[arg(value_name = "HOST")]
    host: Option<String>,
    /// Rate of the bottleneck
    #[arg(long, required_unless_present_any = ["trace", "host"], allow_hyphen_values = true)]
    rate: Option<Rate>,
    /// Base RTT, without queueing
    #[arg(long, required_unless_present = "host", allow_hyphen_values = true)]
    rtt: Option<Duration>,
    /// Random loss of data packets [default: 0 %]
    #[arg(long, allow_hyphen_values = true, value_parser = percent)]
    loss: Option<String>,
    /// Buffer size of the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB` [default: 1 bdp]
    #[arg(long, value_parser = crate::compare::written::<whimbrel_net::Queue>)]
    queue: Option<String>,
    /// Flows that share the path, such as `bbr` or `cubic:2`
    #[arg(long, default_value = USUAL, value_name = "ALGORITHM[:N]")]
    neighbours: Neighbours,
    /// Recorded rate of the bottleneck, in mahimahi's format; it repeats
    #[arg(
        long,
        alias = "rate-trace",
        value_name = "FILE",
        conflicts_with_all = ["rate", "host"]
    )]
    trace: Option<PathBuf>,
    /// Also simulate how long a file of this size takes
    #[arg(long, conflicts_with = "trace")]
    size: Option<Bytes>,
    /// How long data is sent to HOST
    #[arg(long, value_name = "TIME", default_value = "4 s", requires = "host")]
    probe_time: Duration,
    /// How much data is sent to HOST at most
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256 MiB",
        requires = "host"
    )]
    probe_size: Bytes,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    #[cfg(feature = "transports")]
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// The path that the advice is for.
struct Wanted {
    rate: Option<Rate>,
    trace: Option<PathBuf>,
    rtt: Duration,
    loss: String,
    queue: String,
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
    /// How long the file of `--size` takes, seconds.
    takes: Option<f64>,
}

impl Candidate {
    /// An algorithm that starves beside the neighbours is no advice, nor is one that starves them.
    fn score(&self) -> f64 {
        self.alone * reach(self.beside.kept, 1.0) * reach(self.beside.share, SHARE)
    }
}

/// Measures, and prints the advice.
pub fn run(args: AdviseArgs) -> anyhow::Result<ExitCode> {
    let probed = match &args.host {
        Some(host) => match probe::measure(&args, host)? {
            Ok(path) => Some(path),
            Err(refused) => return Ok(refused),
        },
        None => None,
    };
    let probed = probed.as_ref();
    let (measured, sentences) = advice(&args, probed)?;
    let mut out = anstream::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &show::as_json(&measured, &sentences, probed))?;
        writeln!(out)?;
    } else {
        if let Some(probed) = probed {
            writeln!(out, "{}\n", whimbrel_report::fill(&probed.sentence(), " "))?;
        }
        for sentence in &sentences {
            writeln!(out, "{}", whimbrel_report::fill(sentence, " "))?;
        }
        write!(out, "\n{}", show::table(&measured))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What [`run`] prints with `--json`.
///
/// # Errors
/// As the command.
pub fn advice_json(args: &AdviseArgs) -> anyhow::Result<serde_json::Value> {
    let probed = match &args.host {
        Some(host) => match probe::measure(args, host)? {
            Ok(path) => Some(path),
            Err(_) => return Err(BadInput::new(format!("{host}: not measured")).into()),
        },
        None => None,
    };
    let (measured, sentences) = advice(args, probed.as_ref())?;
    Ok(show::as_json(&measured, &sentences, probed.as_ref()))
}

/// Measures. Returns the candidates, best first, and the advice in sentences.
fn advice(
    args: &AdviseArgs,
    own: Option<&probe::Measured>,
) -> anyhow::Result<(Vec<Candidate>, Vec<String>)> {
    let path = &Wanted {
        rate: args.rate.or(own.map(|path| path.rate)),
        trace: args.trace.clone(),
        rtt: args.rtt.or(own.map(|path| path.rtt)).unwrap_or_default(),
        loss: args
            .loss
            .clone()
            .or(own.map(|path| path.loss.to_string()))
            .unwrap_or_else(|| "0 %".to_owned()),
        queue: args
            .queue
            .clone()
            .or(own.map(probe::Measured::queue))
            .unwrap_or_else(|| "1 bdp".to_owned()),
        threads: args.threads,
    };
    if path.rate == Some(Rate::ZERO) {
        return Err(BadInput::new("--rate must be above 0, e.g. `--rate 200Mbit/s`").into());
    }
    if path.rtt.is_zero() {
        return Err(BadInput::new("--rtt must be above 0, e.g. `--rtt 45ms`").into());
    }
    let all: Vec<String> = registry::controllers()
        .iter()
        .map(|e| e.name.to_owned())
        .collect();
    let mut first = alone(path, &all, PACKETS.0, 1)?;
    // On an ordinary path: random loss of this one would hide what the algorithm does.
    let cubic = USUAL.parse().map_err(BadInput::new)?;
    let ordinary = neighbours::beside(&REFERENCE, &cubic, &names(&first), 1, args.threads)?;
    let mut tolerable = ordinary.iter().map(|beside| beside.kept >= TOLERABLE);
    first.retain(|_| tolerable.next().unwrap_or(false));
    first.truncate(CONTENDERS);
    add_neighbours(&mut first, path, &args.neighbours, PACKETS.0, 1)?;
    let mut finalists = names(&first);
    finalists.truncate(FINALISTS);
    if !finalists.iter().any(|name| name == USUAL) {
        finalists.push(USUAL.to_owned());
    }
    let mut measured = alone(path, &finalists, PACKETS.1, SEEDS)?;
    add_neighbours(&mut measured, path, &args.neighbours, PACKETS.1, SEEDS)?;
    let mut sentences = show::sentences(&measured, &args.neighbours);
    if let Some(size) = args.size {
        for (i, one) in measured.iter_mut().enumerate() {
            if i < SHOWN || one.name == USUAL {
                one.takes = Some(probe::takes(path, size, &one.name)?);
            }
        }
        sentences.extend(show::file_sentence(size, &measured));
    }
    Ok((measured, sentences))
}

fn names(candidates: &[Candidate]) -> Vec<String> {
    candidates.iter().map(|one| one.name.clone()).collect()
}

/// Runs each candidate on the path beside the neighbours; then the best comes first.
fn add_neighbours(
    candidates: &mut [Candidate],
    path: &Wanted,
    neighbours: &Neighbours,
    packets: f64,
    seeds: u32,
) -> anyhow::Result<()> {
    let shared = SharedPath {
        rate: rate(path),
        rtt: path.rtt,
        queue: path.queue.clone(),
        loss: path.loss.clone(),
        seconds: seconds(path, packets),
    };
    let names = names(candidates);
    let beside = neighbours::beside(&shared, neighbours, &names, seeds, path.threads)?;
    for (one, beside) in candidates.iter_mut().zip(beside) {
        one.beside = beside;
    }
    candidates.sort_by(|a, b| b.score().total_cmp(&a.score()));
    Ok(())
}

/// The rate as a value of a scenario.
fn rate(args: &Wanted) -> String {
    match (&args.trace, args.rate) {
        (Some(path), _) => format!("{{ trace = {:?} }}", path.display().to_string()),
        (None, Some(rate)) => format!("\"{} bit/s\"", rate.as_bits_per_sec()),
        (None, None) => String::new(),
    }
}

/// Length of a run through which about this many packets fit.
fn seconds(args: &Wanted, packets: f64) -> f64 {
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
    args: &Wanted,
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
            takes: None,
        })
        .collect();
    all.sort_by(|a, b| b.alone.total_cmp(&a.alone));
    Ok(all)
}
