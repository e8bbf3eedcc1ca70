//! The flags.

use crate::hunt::HuntArgs;
use crate::{league, show};
use anyhow::{Context, Result};
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use whimbrel_net::{Delay, JitterDistribution, Noise, Queue};
use whimbrel_rank::{Aim, Class, Library, MatrixPoint, Version};
use whimbrel_sim::scenario::{Flow, Run as RunSpec, Sends, Written};
use whimbrel_stacks::application::{Application, Pauses};
use whimbrel_stacks::catalog::Sender;
use whimbrel_stacks::runs::{self, Played, Task};
use whimbrel_study::atomic_file;
use whimbrel_study::path::{self as study, fraction};
use whimbrel_units::{Bytes, Duration, Probability, Rate, nearest_few};

/// Jitter holds for less than the time between two packets: each packet has its own.
const PACKET: Duration = Duration::from_micros(1);
/// The name of the flow under test on a path from flags.
const TESTED: &str = "tested";

/// Run protocol stacks of others on a simulated path
///
/// Each stack sends data over the same link with the same losses, in virtual time: its own code,
/// without a socket. A sender is a stack and one of its controllers, such as `quinn:cubic`.
#[derive(clap::Parser)]
#[command(
    name = "whimbrel-stacks",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  whimbrel-stacks --list
  whimbrel-stacks
  whimbrel-stacks all:cubic --loss 0.1% --seeds 3
  whimbrel-stacks quinn sim:bbr whimbrel-quic:whimbrel --rate 100Mbit/s
  whimbrel-stacks --points a01,c03,d01 --json
  whimbrel-stacks quinn:bbr --app-rate 2Mbit/s --pauses '2 s:3 s'
  whimbrel-stacks noq:bbr3 --windows windows.csv
  whimbrel-stacks hunt quinn:bbr --against noq:cubic,sim:bbr

Columns: `goodput` is data delivered per second of the run, in Mbit/s, and
`of ideal` the same over what an ideal sender delivers; `queue` the mean wait in
queues; `lost` the packets that the path lost, of those sent; `spurious` the
packets that the sender took for lost, and no link had lost, of those sent;
`hand` the time of the handshake; `cpu` the CPU time of both ends and of the
simulator for a packet. `-`: the stack does not report it."
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Senders: `STACK`, `STACK:CONTROLLER`, `all:FAMILY` (newreno, cubic, bbr), or `all`, which
    /// has these families of Linux and everything of the others
    #[arg(value_name = "SENDER")]
    senders: Vec<String>,
    /// Rate of the bottleneck
    #[arg(long, default_value = "20 Mbit/s", conflicts_with_all = ["rate_trace", "points"])]
    rate: Rate,
    /// Recorded rate of the bottleneck instead of --rate, in mahimahi's format or as CSV; it
    /// repeats
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "points",
        value_parser = flag::<PathBuf>("--rate-trace")
    )]
    rate_trace: Option<Written<PathBuf>>,
    /// Recorded rate of the way back, on which acknowledgments return [default: the same rate]
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "points",
        value_parser = flag::<PathBuf>("--back-trace")
    )]
    back_trace: Option<Written<PathBuf>>,
    /// Base RTT, without queueing
    #[arg(
        long,
        default_value = "40 ms",
        conflicts_with = "points",
        value_parser = flag::<Duration>("--rtt")
    )]
    rtt: Written<Duration>,
    /// Buffer size of the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB`, `unlimited`
    #[arg(
        long,
        default_value = "1 bdp",
        conflicts_with = "points",
        value_parser = flag::<Queue>("--queue")
    )]
    queue: Written<Queue>,
    /// Random loss of data packets
    #[arg(long, default_value = "0 %", conflicts_with = "points", value_parser = fraction)]
    loss: Probability,
    /// Mean jitter of each way, beyond half of the base RTT: for each packet from zero to twice as
    /// much; packets keep their order
    #[arg(long, value_name = "TIME", conflicts_with = "points", value_parser = flag::<Duration>("--jitter"))]
    jitter: Option<Written<Duration>>,
    /// With --jitter: packets overtake those with more jitter, as in netem without a rate
    #[arg(long, requires = "jitter")]
    reorder: bool,
    /// Data to send on a path from flags [default: more than the run can carry]
    #[arg(long, conflicts_with = "points", value_parser = flag::<Bytes>("--size"))]
    size: Option<Written<Bytes>>,
    /// List stacks, versions and controllers
    #[arg(long)]
    list: bool,
    /// Length of a run on a path from flags, in simulated time
    #[arg(
        long,
        default_value = "30 s",
        conflicts_with = "points",
        value_parser = flag::<Duration>("--duration")
    )]
    duration: Written<Duration>,
    /// Number of runs of each sender, with the seeds from 1
    #[arg(long, default_value = "1", value_name = "N")]
    seeds: u32,
    /// Points of the matrix of `whimbrel rank` instead of a path from flags
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    points: Vec<String>,
    /// A folder of points instead of the matrix
    #[arg(long, value_name = "DIR", requires = "points")]
    matrix: Option<PathBuf>,
    /// The application writes at this rate instead of as fast as it can; `sim`, which always has
    /// data, is left out
    #[arg(long, value_name = "RATE")]
    app_rate: Option<Rate>,
    /// The application writes for a while, then pauses, over and over: `2 s:3 s`
    #[arg(long, value_name = "ON:OFF", value_parser = pauses)]
    pauses: Option<Pauses>,
    /// Print JSON: `{runs: [{stack, version, controller, goodput_bps, ...}]}`
    #[arg(long)]
    json: bool,
    /// Write each sender's window over time to this file, as CSV
    #[arg(long, value_name = "FILE")]
    windows: Option<PathBuf>,
    /// Write the results into this Markdown page, between its marks
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Hunt(HuntArgs),
}

impl Args {
    /// Does what they ask for.
    ///
    /// # Errors
    /// The first mistake in them.
    pub fn run(&self) -> Result<()> {
        if let Some(Command::Hunt(hunt)) = &self.command {
            return hunt.run();
        }
        if self.list {
            print!("{}", show::list());
            return Ok(());
        }
        let points = self.paths()?;
        let senders = self.senders()?;
        let page = self.report.as_ref().map(|file| Page::read(file));
        let page = page.transpose()?;
        // Not after the runs that a file cannot be written.
        if let Some(file) = &self.windows {
            atomic_file::check(file)?;
        }
        let application = Application {
            rate: self.app_rate,
            pauses: self.pauses,
        };
        let seeds = RunSpec::seeds(&Written::of("--seeds", self.seeds))?;
        let sample = self.windows.is_some().then(|| Duration::from_millis(50));
        let mut tasks = Vec::new();
        for point in &points {
            for sender in &senders {
                tasks.extend(seeds.iter().map(|&seed| Task {
                    point,
                    sender: sender.clone(),
                    seed,
                    application,
                    sample,
                }));
            }
        }
        let played = self.run_tasks(&tasks)?;
        if let Some(file) = &self.windows {
            atomic_file::write_text(file, &show::windows(&played))?;
        }
        if let Some(page) = page {
            page.write(&self.league(&points, &senders, &played)?)?;
        }
        if self.json {
            println!("{}", show::json(&played)?);
        } else {
            print!("{}", show::table(&played));
        }
        Ok(())
    }

    fn run_tasks(&self, tasks: &[Task<'_>]) -> Result<Vec<Played>> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = self.threads.map_or(cores, NonZeroUsize::get);
        let done = AtomicUsize::new(0);
        let seen = std::io::stderr().is_terminal();
        let played = runs::run_tasks(tasks, threads, |_| {
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            if seen {
                eprint!("\r{n} of {} runs", tasks.len());
            }
        })?;
        if seen {
            eprintln!();
        }
        Ok(played)
    }

    /// The league of these senders, with the scores of the matrix.
    fn league(
        &self,
        points: &[MatrixPoint],
        senders: &[Sender],
        played: &[Played],
    ) -> Result<String> {
        let names = league::references(points);
        let mut tasks = Vec::new();
        for point in points {
            for name in &names {
                let reference = Sender::all_of(&format!("sim:{name}"))?;
                for seed in RunSpec::seeds(&Written::of("--seeds", self.seeds))? {
                    tasks.extend(reference.iter().map(|sender| Task {
                        point,
                        sender: sender.clone(),
                        seed,
                        application: Application::default(),
                        sample: None,
                    }));
                }
            }
        }
        let references = self.run_tasks(&tasks)?;
        Ok(format!(
            "{}\n{}\n{}",
            league::markdown(points, senders, played, &references),
            "The same controllers of different stacks; bold is outside of the range of the others\n\
             without a known fault:\n",
            league::families(points, senders, played)
        ))
    }

    fn senders(&self) -> Result<Vec<Sender>> {
        let names = match self.senders.as_slice() {
            [] => &["all".to_owned()],
            some => some,
        };
        let mut all: Vec<Sender> = Vec::new();
        for name in names {
            for sender in Sender::all_of(name)? {
                if !all.contains(&sender) {
                    all.push(sender);
                }
            }
        }
        if self.app_rate.is_some() || self.pauses.is_some() {
            all.retain(|sender| !sender.is_simulated());
            anyhow::ensure!(
                !all.is_empty(),
                "--app-rate, --pauses: `sim` always has data to send; name other senders"
            );
        }
        Ok(all)
    }

    fn paths(&self) -> Result<Vec<MatrixPoint>> {
        if self.points.is_empty() {
            return Ok(vec![self.path_from_flags()?]);
        }
        let library = match &self.matrix {
            None => Library::matrix(Version::Two)?,
            Some(folder) => Library::folder(folder)?,
        };
        let find = |id: &String| {
            let found = library.points.iter().find(|point| point.id == *id);
            found.cloned().with_context(|| {
                let ids = library.points.iter().map(|point| point.id.as_str());
                format!(
                    "no point `{id}`; near are {}",
                    nearest_few(id, ids, 3).join(", ")
                )
            })
        };
        self.points.iter().map(find).collect()
    }

    fn path_from_flags(&self) -> Result<MatrixPoint> {
        let path = study::Bottleneck {
            rate: match self.rate_trace {
                None => vec![Written::new("--rate", self.rate, self.rate.to_string())],
                Some(_) => Vec::new(),
            },
            rate_trace: self.rate_trace.clone(),
            back_trace: self.back_trace.clone(),
            rtt: vec![self.rtt.clone()],
            queue: vec![self.queue.clone()],
            loss: vec![Written::new("--loss", self.loss, self.loss.to_string())],
        };
        let lost = self.loss.get();
        let mut spec = path.scenario()?;
        if let Some(jitter) = &self.jitter {
            let base = self.rtt.value / 2;
            let delay = jitter.with(
                Delay::noisy(Noise {
                    base,
                    jitter: jitter.value,
                    distribution: JitterDistribution::Uniform,
                    every: PACKET,
                    batch: Duration::ZERO,
                })
                .in_order(!self.reorder),
            );
            for link in &mut spec.links {
                link.forward.delay = Some(delay.clone());
            }
        }
        let mut flow = Flow::new(Written::parse("controller", "cubic")?);
        flow.name = Some(TESTED.to_owned());
        if let Sends::Data(data) = &mut flow.sends {
            data.size = self.size.clone();
        }
        spec.flows.push(flow);
        spec.run.duration = self.duration.clone();
        let aim = Aim::Fill {
            goal: 0.95,
            queue: 1.0,
            lost,
            taken: 0.0,
            overflow: None,
        };
        let mut words = path.words();
        words.extend(
            self.jitter
                .iter()
                .map(|time| format!("jitter {}", time.value)),
        );
        let claim = words.join(", ");
        Ok(MatrixPoint::new(
            "path",
            Class::A,
            &claim,
            aim,
            &self.rtt,
            &[TESTED],
            spec,
        )?)
    }
}

/// Reads the value of a flag with this name.
fn flag<T>(name: &'static str) -> impl Fn(&str) -> Result<Written<T>, T::Err> + Clone
where
    T: FromStr,
    T::Err: std::error::Error,
{
    move |text| Ok(Written::new(name, text.parse()?, text.trim()))
}

/// A Markdown page with marks for results.
struct Page<'a> {
    file: &'a Path,
    text: String,
}

impl<'a> Page<'a> {
    /// Reads the page, and checks that results can be written into it.
    fn read(file: &'a Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let page = Self { file, text };
        page.with("")?;
        Ok(page)
    }

    fn with(&self, results: &str) -> Result<String> {
        show::replace(&self.text, results).with_context(|| {
            format!(
                "{} has no marks for results: write the lines `{}` and `{}` into it",
                self.file.display(),
                show::BEGIN,
                show::END
            )
        })
    }

    fn write(&self, results: &str) -> Result<()> {
        write(self.file, &self.with(results)?)
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn pauses(text: &str) -> Result<Pauses, String> {
    let parts = text.split_once(':');
    let (on, off) = parts.ok_or("write two times: `2 s:3 s`")?;
    let parse = |text: &str| {
        text.trim()
            .parse::<Duration>()
            .map_err(|error| error.to_string())
    };
    let pauses = Pauses {
        on: parse(on)?,
        off: parse(off)?,
    };
    if pauses.off.is_zero() {
        return Err("the pause must be longer than zero".to_owned());
    }
    Ok(pauses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn what_describes_a_path_is_refused_beside_points() {
        let parse = |flags: &str| {
            let words = ["whimbrel-stacks", "--points", "a01"].into_iter();
            Args::try_parse_from(words.chain(flags.split_whitespace())).map_err(|e| e.to_string())
        };
        assert!(parse("--seeds 2 --app-rate 2Mbit/s").is_ok());
        for flags in [
            "--rate 5Mbit/s",
            "--rate-trace f",
            "--back-trace f",
            "--rtt 5ms",
            "--queue 2bdp",
            "--loss 1%",
            "--jitter 1ms",
            "--size 1MB",
            "--duration 5s",
        ] {
            let error = parse(flags).map(drop).expect_err(flags);
            assert!(error.contains("cannot be used with"), "{flags}: {error}");
        }
    }
}
