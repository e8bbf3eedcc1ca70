//! The real half: this same command as path, receiver and sender, in processes of their own.

use super::host::{Host, Meter};
use super::predict::Prediction;
use super::{DemoArgs, Implementation, Trial};
use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::document::Value;
use whimbrel_units::Bytes;

/// The far end of a path, where the server is.
const SERVER: &str = "10.77.0.2";
/// Interval between looks at the transfers' progress.
const POLL: Duration = Duration::from_millis(250);
/// A transfer is stopped after this many times the longest predicted one ...
const PATIENCE: u32 = 3;
/// ... plus this, for starting the processes and storing the file.
const GRACE: Duration = Duration::from_secs(15);

/// All transfers of a race.
pub struct Race {
    /// In the order of the controllers. `Err`: why there is no measurement.
    pub measurements: Vec<Result<Measurement, String>>,
    /// Whether the system lets us make a path at all.
    pub path_allowed: bool,
    /// The machine during the race.
    pub host: Host,
}

/// One finished transfer: what `whimbrel send --json --samples` (over TCP, the sender of this
/// module) and `whimbrel link --json` report.
#[derive(Deserialize)]
pub struct Measurement {
    /// Seconds from the request to the server's answer that the file is stored.
    pub seconds: f64,
    /// Bits of the file per second.
    pub goodput_bps: f64,
    /// Packets sent; over TCP, segments with data.
    pub sent_packets: u64,
    /// Packets declared lost; over TCP, segments retransmitted.
    pub lost_packets: u64,
    /// The file's BLAKE3 hash, as sender and server computed it.
    pub blake3: String,
    samples: Vec<Sample>,
    /// The emulated path.
    #[serde(skip)]
    pub path: PathReport,
}

#[derive(Deserialize)]
struct Sample {
    t_s: f64,
    delivered_bytes: u64,
    /// The smoothed round-trip time; 0 before the first sample.
    #[serde(default)]
    rtt_ms: f64,
}

/// What the demonstration needs of `whimbrel link --json`.
#[derive(Deserialize, Default)]
pub struct PathReport {
    pub forward: PathDirection,
    pub backward: PathDirection,
    /// Connections under one of Whimbrel's algorithms.
    pub tcp: Option<LinuxReport>,
}

/// What limits the trust in one of Whimbrel's algorithms on Linux TCP.
#[derive(Deserialize, Default)]
pub struct LinuxReport {
    /// Connections that went to the kernel's fallback algorithm.
    pub fallbacks: u64,
    /// Events of connections that were lost.
    pub dropped_events: u64,
}

/// One direction of the path.
#[derive(Deserialize, Default)]
pub struct PathDirection {
    pub lateness_s: Lateness,
    /// Packets that the kernel dropped before the emulator read them, if it counts them.
    pub lost_before_the_path: Option<u64>,
    /// Packets that the emulator had no memory for.
    pub lost_for_memory: u64,
}

/// How late the emulator wrote packets, in seconds.
#[derive(Deserialize, Default)]
pub struct Lateness {
    /// 99 of 100 packets were not later.
    pub p99: f64,
}

impl PathReport {
    /// 99 of 100 packets were not later, in seconds, in the worse direction.
    pub fn lateness_p99_s(&self) -> f64 {
        self.forward
            .lateness_s
            .p99
            .max(self.backward.lateness_s.p99)
    }

    /// Packets that the path lost although the emulated link did not drop them.
    pub fn missed_packets(&self) -> u64 {
        let of = |d: &PathDirection| d.lost_before_the_path.unwrap_or(0) + d.lost_for_memory;
        of(&self.forward) + of(&self.backward)
    }
}

impl Measurement {
    /// Times in seconds and bytes delivered until then, transport overhead included.
    pub fn delivered(&self) -> Vec<(f64, f64)> {
        self.samples
            .iter()
            .map(|s| (s.t_s, s.delivered_bytes as f64))
            .collect()
    }

    /// Times in seconds and the smoothed round-trip time then, in milliseconds.
    pub fn rtts(&self) -> Vec<(f64, f64)> {
        let known = self.samples.iter().filter(|s| s.rtt_ms > 0.0);
        known.map(|s| (s.t_s, s.rtt_ms)).collect()
    }

    /// Packets lost, of those sent.
    pub fn lost(&self) -> f64 {
        self.lost_packets as f64 / self.sent_packets.max(1) as f64
    }

    /// One with this goodput over this path and nothing else, for tests.
    #[cfg(test)]
    pub fn of(goodput_bps: f64, path: PathReport) -> Self {
        Self {
            seconds: 1.0,
            goodput_bps,
            sent_packets: 0,
            lost_packets: 0,
            blake3: String::new(),
            samples: Vec::new(),
            path,
        }
    }
}

/// A measurement for every controller, in order, or why there is none.
///
/// # Errors
/// If the demonstration itself cannot be set up (no space for its files), or is stopped by a
/// signal.
pub fn all(args: &DemoArgs, predictions: &[Prediction]) -> anyhow::Result<Race> {
    let meter = Meter::start();
    let stage = Stage::new()?;
    let ours = |controller: &&Spec| args.implementation(controller) == Implementation::Whimbrel;
    let on_tcp = args.controllers.iter().find(ours).filter(|_| args.tcp);
    if let Err(why) = stage.allows(on_tcp) {
        return Ok(Race {
            measurements: predictions.iter().map(|_| Err(why.clone())).collect(),
            path_allowed: false,
            host: meter.finish(),
        });
    }
    let bars = MultiProgress::new();
    let start = |(controller, prediction): (&Spec, &Prediction)| {
        let bar = bars.add(progress_bar(controller.to_string(), prediction.size));
        stage.start(&args.trial(controller), prediction, bar)
    };
    let transfers = args.controllers.iter().zip(predictions).map(start);
    let transfers = transfers.collect::<anyhow::Result<_>>()?;
    let measurements = stage.finish(transfers)?;
    Ok(Race {
        measurements,
        path_allowed: true,
        host: meter.finish(),
    })
}

/// A bar for a transfer of this size.
pub fn progress_bar(prefix: String, size: Bytes) -> ProgressBar {
    let bar = ProgressBar::new(size.get());
    let template = "{prefix:>12} {wide_bar} {bytes}/{total_bytes} in {elapsed}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(prefix);
    bar
}

/// What transfers need in common.
pub struct Stage {
    /// This command.
    whimbrel: PathBuf,
    /// A signal asked to stop.
    stopped: Arc<AtomicBool>,
    /// Has a directory for each transfer.
    scratch: TempDir,
}

impl Stage {
    /// From here on a signal ends [`Self::finish`], so that files and processes are cleaned up.
    ///
    /// # Errors
    /// If there is no space for files.
    pub fn new() -> anyhow::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&stopped))
                .context("cannot handle signals")?;
        }
        Ok(Self {
            whimbrel: std::env::current_exe().context("cannot find this command's own file")?,
            stopped,
            scratch: tempfile::Builder::new()
                .prefix("whimbrel-demo-")
                .tempdir()
                .context("cannot make a temporary directory")?,
        })
    }

    /// Whether the system lets us make a path at all, and run `on_tcp` on the kernel's TCP; if not,
    /// why.
    pub fn allows(&self, on_tcp: Option<&Spec>) -> Result<(), String> {
        allowed(&self.whimbrel, on_tcp)
    }

    /// Starts a transfer of a file of the predicted size.
    ///
    /// # Errors
    /// If there is no space for its files, or its processes cannot be started.
    pub fn start(
        &self,
        trial: &Trial<'_>,
        prediction: &Prediction,
        bar: ProgressBar,
    ) -> anyhow::Result<Transfer> {
        let own = tempfile::tempdir_in(&self.scratch)?;
        Transfer::start(trial, &self.whimbrel, own, prediction, bar)
    }

    /// Shows progress until all transfers have ended.
    ///
    /// # Errors
    /// If a signal stopped the race.
    pub fn finish(
        &self,
        mut transfers: Vec<Transfer>,
    ) -> anyhow::Result<Vec<Result<Measurement, String>>> {
        loop {
            let mut running = false;
            for transfer in &mut transfers {
                if transfer.is_running() {
                    running = true;
                    let size = transfer.bar.length().unwrap_or(0);
                    transfer.bar.set_position(transfer.stored().min(size));
                } else if !transfer.bar.is_finished() {
                    transfer.bar.finish();
                }
            }
            if self.stopped.load(Ordering::Relaxed) {
                bail!("stopped before all transfers had ended");
            }
            if !running {
                break;
            }
            thread::sleep(POLL);
        }
        Ok(transfers.iter_mut().map(Transfer::result).collect())
    }
}

fn allowed(whimbrel: &Path, on_tcp: Option<&Spec>) -> Result<(), String> {
    let mut command = Command::new(whimbrel);
    command.args(["link", "--quiet"]);
    if let Some(controller) = on_tcp {
        command.args(["--controller", &controller.to_string()]);
    }
    let output = command.args(["--", "true"]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(last_line(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a file of bytes that do not compress, the same for the same seed. Returns its BLAKE3
/// hash.
fn make_file(path: &Path, seed: u64, size: Bytes) -> std::io::Result<String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut out = BufWriter::new(File::create(path)?);
    let mut hasher = blake3::Hasher::new();
    let mut left = size.get();
    let mut block = [0_u8; 65_536];
    while left > 0 {
        let n = block
            .len()
            .min(usize::try_from(left).unwrap_or(block.len()));
        rng.fill_bytes(&mut block[..n]);
        hasher.update(&block[..n]);
        out.write_all(&block[..n])?;
        left -= n as u64;
    }
    out.flush()?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// One transfer under way. Its processes and files end with it.
pub struct Transfer {
    link: Child,
    /// Its files.
    _own: TempDir,
    /// The file's BLAKE3 hash.
    hash: String,
    inbox: PathBuf,
    /// The sender's JSON, in a file: with its samples it is larger than a pipe's buffer.
    summary: PathBuf,
    /// The link's JSON.
    path: PathBuf,
    errors: PathBuf,
    bar: ProgressBar,
    /// The transfer is stopped then.
    deadline: Instant,
    overdue: bool,
}

impl Transfer {
    fn start(
        trial: &Trial<'_>,
        whimbrel: &Path,
        own: TempDir,
        prediction: &Prediction,
        bar: ProgressBar,
    ) -> anyhow::Result<Self> {
        let within = |name: &str| own.path().join(name);
        let (inbox, identity) = (within("inbox"), within("identity"));
        let (summary, errors) = (within("summary"), within("errors"));
        let (path, file) = (within("path"), within("file"));
        fs::create_dir_all(&inbox)?;
        let hash = make_file(&file, trial.seed, prediction.size)
            .context("cannot write the file to send")?;
        let quoted =
            |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let transfer = &trial.transfer;
        let receive = match transfer.tcp {
            false => format!(
                "exec {} serve {} --identity {}",
                quoted(whimbrel),
                quoted(&inbox),
                quoted(&identity)
            ),
            true => format!(
                "exec {} demo-end receive {}",
                quoted(whimbrel),
                quoted(&inbox.join("file"))
            ),
        };
        let controller = transfer.controller.to_string();
        let implementation = trial.implementation;
        let mut link = Command::new(whimbrel);
        link.args(["link", "--quiet", "--seed", &trial.seed.to_string()])
            .args([
                "--rate",
                &format!("{} bit/s", transfer.rate.as_bits_per_sec()),
            ])
            .args(["--rtt", &format!("{} ns", transfer.rtt.as_nanos())])
            .args(["--queue", &Value::from(transfer.queue).to_string()])
            .args(["--loss", &format!("{} %", transfer.loss.get() * 100.0)]);
        for outage in transfer.outages {
            let (from, to) = (outage.from.as_nanos(), outage.to.as_nanos());
            link.args(["--outage", &format!("{from} ns..{to} ns")]);
        }
        link.arg("--json").arg(&path).args(["--far", &receive]);
        if transfer.tcp && implementation == Implementation::Whimbrel {
            link.args(["--controller", &controller]);
        }
        link.arg("--").arg(whimbrel);
        match transfer.tcp {
            false => link
                .arg("send")
                .arg(&file)
                .arg(SERVER)
                .arg("--identity")
                .arg(&identity)
                .args(["--controller", &controller, "--json", "--samples"]),
            true => link.args(["demo-end", "send"]).arg(&file).arg(SERVER),
        };
        // By the socket: a namespace may have the kernel's CUBIC as its default only if the
        // administrator allows it.
        if implementation == Implementation::Kernel {
            link.args(["--congestion", &controller]);
        }
        let link = link
            .stdin(Stdio::null())
            .stdout(File::create(&summary)?)
            .stderr(File::create(&errors)?)
            .spawn()
            .context("cannot start the transfer")?;
        Ok(Self {
            link,
            _own: own,
            hash,
            inbox,
            summary,
            path,
            errors,
            bar,
            deadline: deadline(prediction.longest.into()),
            overdue: false,
        })
    }

    /// Whether it is still running. Stops it if it is overdue.
    fn is_running(&mut self) -> bool {
        if !matches!(self.link.try_wait(), Ok(None)) {
            return false;
        }
        if Instant::now() >= self.deadline {
            self.overdue = true;
            let _ = self.link.kill();
            let _ = self.link.wait();
            return false;
        }
        true
    }

    /// Bytes on the server's disk so far, by the blocks that its files use.
    fn stored(&self) -> u64 {
        let Ok(entries) = fs::read_dir(&self.inbox) else {
            return 0;
        };
        entries
            .flatten()
            .filter_map(|e| e.metadata().ok())
            .map(|m| m.blocks() * 512)
            .sum()
    }

    /// The transfer's summary, after its process has ended.
    fn result(&mut self) -> Result<Measurement, String> {
        let status = self.link.wait().map_err(|e| e.to_string())?;
        if self.overdue {
            return Err(format!(
                "stopped: not finished after {PATIENCE} times the longest predicted time; \
                 the machine or the path did not keep up"
            ));
        }
        if !status.success() {
            let errors = fs::read_to_string(&self.errors).unwrap_or_default();
            return Err(format!("{}: {status}", last_line(&errors)));
        }
        let mut measurement: Measurement = read_json(&self.summary)?;
        measurement.path = read_json(&self.path)?;
        // The sender reports that the server has the file; verify that independently.
        let mut hasher = blake3::Hasher::new();
        let stored =
            File::open(self.inbox.join("file")).map_err(|e| format!("nothing arrived: {e}"))?;
        hasher.update_reader(stored).map_err(|e| e.to_string())?;
        let arrived = hasher.finalize().to_hex();
        if arrived.as_str() != self.hash || measurement.blake3 != self.hash {
            return Err("the stored file differs from the file sent".to_owned());
        }
        Ok(measurement)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // Its namespaces, and all that runs in them, end with it.
        let _ = self.link.kill();
        let _ = self.link.wait();
    }
}

/// When a transfer whose longest predicted duration is this is stopped.
fn deadline(longest: Duration) -> Instant {
    let span = longest.saturating_mul(PATIENCE).saturating_add(GRACE);
    let now = Instant::now();
    // A day is more than anybody waits.
    now.checked_add(span)
        .unwrap_or(now + Duration::from_secs(86_400))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    line.trim().trim_start_matches("error: ").to_owned()
}
