//! The real half: this very command as path, server and sender, in processes of their own.

use super::DemoArgs;
use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The far end of a path, where the server is.
const SERVER: &str = "10.77.0.2";
/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// One transfer that happened: what `whimbrel send --json --samples` says of it.
#[derive(Deserialize)]
pub struct Measurement {
    /// From the request to the server's word that the file is stored.
    pub seconds: f64,
    /// Bits of the file per second.
    pub goodput_bps: f64,
    /// QUIC packets sent and lost.
    pub sent_packets: u64,
    /// See above.
    pub lost_packets: u64,
    /// The file's hash, as sender and server computed it.
    pub blake3: String,
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    t_s: f64,
    delivered_bytes: u64,
}

impl Measurement {
    /// Time and bytes delivered until then, transport overhead included.
    pub fn delivered(&self) -> Vec<(f64, f64)> {
        self.samples
            .iter()
            .map(|s| (s.t_s, s.delivered_bytes as f64))
            .collect()
    }
}

/// A measurement for every controller, in order, or why there is none.
///
/// # Errors
/// If the demonstration itself cannot be set up (no room for its files).
pub fn all(args: &DemoArgs) -> anyhow::Result<Vec<Result<Measurement, String>>> {
    let whimbrel = std::env::current_exe().context("this command's own file is not known")?;
    if let Err(why) = allowed(&whimbrel) {
        return Ok(args.controllers.iter().map(|_| Err(why.clone())).collect());
    }
    // Watched from here on, so that what follows is cleared away when somebody has seen enough.
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .context("signals cannot be watched")?;
    }
    let scratch = tempfile::Builder::new()
        .prefix("whimbrel-demo-")
        .tempdir()
        .context("no temporary directory can be made")?;
    let file = scratch.path().join("file");
    let hash = make_file(&file, args).context("the file to send cannot be made")?;
    let bars = MultiProgress::new();
    let races: Vec<Race> = args
        .controllers
        .iter()
        .enumerate()
        .map(|(lane, controller)| {
            let bar = bars.add(ProgressBar::new(args.size.get()));
            let template = "{prefix:>12} {wide_bar} {bytes}/{total_bytes} in {elapsed}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(controller.to_string());
            Race::start(
                args,
                &whimbrel,
                &scratch,
                &file,
                lane,
                &controller.to_string(),
                bar,
            )
        })
        .collect::<anyhow::Result<_>>()?;
    finish(races, &hash, &stopped)
}

/// Whether the system lets us make a path at all.
fn allowed(whimbrel: &Path) -> Result<(), String> {
    let mut command = Command::new(whimbrel);
    let output = command
        .args(["link", "--quiet", "--", "true"])
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(last_line(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(error.to_string()),
    }
}

/// Bytes that nothing can compress, the same for the same seed. Gives their BLAKE3 hash.
fn make_file(path: &Path, args: &DemoArgs) -> std::io::Result<String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let mut out = BufWriter::new(File::create(path)?);
    let mut hasher = blake3::Hasher::new();
    let mut left = args.size.get();
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

/// One transfer under way. Its processes end with it.
struct Race {
    link: Child,
    inbox: PathBuf,
    /// What the sender says of it, in a file: with its samples it is more than a pipe holds.
    summary: PathBuf,
    errors: PathBuf,
    bar: ProgressBar,
}

impl Race {
    fn start(
        args: &DemoArgs,
        whimbrel: &Path,
        scratch: &TempDir,
        file: &Path,
        lane: usize,
        controller: &str,
        bar: ProgressBar,
    ) -> anyhow::Result<Self> {
        let own = scratch.path().join(lane.to_string());
        let (inbox, identity) = (own.join("inbox"), own.join("identity"));
        let (summary, errors) = (own.join("summary"), own.join("errors"));
        fs::create_dir_all(&inbox)?;
        let quoted =
            |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let serve = format!(
            "exec {} serve {} --identity {}",
            quoted(whimbrel),
            quoted(&inbox),
            quoted(&identity)
        );
        let mut link = Command::new(whimbrel);
        link.args(["link", "--quiet", "--seed", &args.seed.to_string()])
            .args(["--rate", &format!("{} bit/s", args.rate.as_bits_per_sec())])
            .args(["--rtt", &format!("{} ns", args.rtt.as_nanos())])
            .args(["--loss", &args.loss.get().to_string()])
            .args(["--far", &serve, "--"])
            .arg(whimbrel)
            .arg("send")
            .arg(file)
            .arg(SERVER)
            .arg("--identity")
            .arg(&identity)
            .args(["--controller", controller, "--json", "--samples"]);
        let link = link
            .stdin(Stdio::null())
            .stdout(File::create(&summary)?)
            .stderr(File::create(&errors)?)
            .spawn()
            .context("the transfer does not start")?;
        Ok(Self {
            link,
            inbox,
            summary,
            errors,
            bar,
        })
    }

    /// What is on the server's disk so far, by the blocks it takes.
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
    fn result(&mut self, hash: &str) -> Result<Measurement, String> {
        let status = self.link.wait().map_err(|e| e.to_string())?;
        if !status.success() {
            let errors = fs::read_to_string(&self.errors).unwrap_or_default();
            return Err(format!("{}: {status}", last_line(&errors)));
        }
        let json = fs::read_to_string(&self.summary).map_err(|e| e.to_string())?;
        let measurement: Measurement = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        // The sender says that the server has it; look for oneself.
        let mut hasher = blake3::Hasher::new();
        let stored =
            File::open(self.inbox.join("file")).map_err(|e| format!("nothing arrived: {e}"))?;
        hasher.update_reader(stored).map_err(|e| e.to_string())?;
        let arrived = hasher.finalize().to_hex();
        if arrived.as_str() != hash || measurement.blake3 != hash {
            return Err("what arrived is not what was sent".to_owned());
        }
        Ok(measurement)
    }
}

impl Drop for Race {
    fn drop(&mut self) {
        // Its namespaces, and all that runs in them, go with it.
        let _ = self.link.kill();
        let _ = self.link.wait();
    }
}

/// Shows progress until all have ended.
///
/// # Errors
/// If it was stopped by a signal.
fn finish(
    mut races: Vec<Race>,
    hash: &str,
    stopped: &AtomicBool,
) -> anyhow::Result<Vec<Result<Measurement, String>>> {
    loop {
        let mut running = false;
        for race in &mut races {
            match race.link.try_wait() {
                Ok(None) => {
                    running = true;
                    let whole = race.bar.length().unwrap_or(0);
                    race.bar.set_position(race.stored().min(whole));
                }
                _ if !race.bar.is_finished() => race.bar.finish(),
                _ => {}
            }
        }
        if stopped.load(Ordering::Relaxed) {
            bail!("stopped before all transfers had ended");
        }
        if !running {
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(races.iter_mut().map(|race| race.result(hash)).collect())
}

fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no word why");
    line.trim().trim_start_matches("error: ").to_owned()
}
