//! The real half: a file from one end of an emulated path to the other, in processes of its own.

use super::algorithm::Registered;
use super::measurement::{Measurement, PathQuality, SAMPLING};
use super::{Carrier, Implementation, Trial, Watch, quic, tcp};
use crate::Error;
use crate::prediction::Prediction;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use whimbrel_cc::Spec;
use whimbrel_link::{DirectionReport, Layout, Options, PathSpec, Prepared, Process, Program, Slot};
use whimbrel_transfer::{Identity, Via};
use whimbrel_units::Bytes;

/// Interval between looks at the transfers' progress.
const POLL: Duration = Duration::from_millis(250);
/// A transfer is stopped after this many times the longest predicted one ...
const PATIENCE: u32 = 3;
/// ... plus this, for starting the processes and storing the file.
const GRACE: Duration = Duration::from_secs(15);
/// No transfer takes longer than a day.
const LONGEST: Duration = Duration::from_secs(86_400);

/// How far a transfer is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes on the receiver's disk so far.
    pub stored: Bytes,
    /// The file's size.
    pub size: Bytes,
    /// It has ended, well or not.
    pub ended: bool,
}

/// What transfers need in common.
pub(super) struct Stage {
    /// Has a directory for each transfer.
    scratch: TempDir,
    /// Whether the system lets us make a path at all; if not, why.
    path: Result<(), String>,
    /// Whether it lets Whimbrel's algorithms run on the kernel's TCP.
    on_tcp: Result<(), String>,
}

impl Stage {
    /// # Errors
    /// If there is no space for files, or the process has several threads.
    pub fn new(trials: &[Trial]) -> Result<Self, Error> {
        let scratch = tempfile::Builder::new().prefix("whimbrel-").tempdir();
        let path = allowed(None)?;
        let ours = trials.iter().find(|trial| is_ours_on_tcp(trial));
        let on_tcp = match (&path, ours) {
            (Ok(()), Some(trial)) => allowed(Some(&trial.controller))?,
            _ => path.clone(),
        };
        Ok(Self {
            scratch: scratch.map_err(|e| Error::failed("cannot make a temporary directory", e))?,
            path,
            on_tcp,
        })
    }

    /// Whether the system allows such a transfer; if not, why.
    pub fn allows(&self, trial: &Trial) -> &Result<(), String> {
        match is_ours_on_tcp(trial) {
            true => &self.on_tcp,
            false => &self.path,
        }
    }

    /// Starts a transfer of a file of the predicted size.
    ///
    /// # Errors
    /// If there is no space for its files, or its process cannot be started.
    pub fn start(&self, trial: &Trial, prediction: &Prediction) -> Result<Transfer, Error> {
        let own = tempfile::tempdir_in(&self.scratch);
        let own = own.map_err(|e| Error::failed("cannot make a temporary directory", e))?;
        Transfer::start(trial, own, prediction)
    }

    /// Whether the system lets us make a path at all; if not, why.
    pub fn allows_paths(&self) -> &Result<(), String> {
        &self.path
    }

    /// Starts the transfer of a file of this size, drawn with this seed, as `carry` does;
    /// `longest`: the longest predicted time.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn begin(
        &self,
        file: (Bytes, u64),
        longest: Duration,
        carry: impl FnOnce(&Files) -> Result<Measurement, String>,
    ) -> Result<Transfer, Error> {
        let own = tempfile::tempdir_in(&self.scratch);
        let own = own.map_err(|e| Error::failed("cannot make a temporary directory", e))?;
        Transfer::begin(own, file, longest, carry)
    }

    /// Reports progress until all transfers have ended; `first`: the number of the first one.
    ///
    /// # Errors
    /// If `watch` stops them.
    pub fn wait(
        &self,
        first: usize,
        transfers: &mut [Result<Transfer, String>],
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        loop {
            let mut running = false;
            for (i, transfer) in transfers.iter_mut().enumerate() {
                let Ok(transfer) = transfer else { continue };
                let progress = transfer.progress();
                running |= !progress.ended;
                if watch(first + i, progress).is_break() {
                    return Err(Error::Stopped);
                }
            }
            if !running {
                return Ok(());
            }
            thread::sleep(POLL);
        }
    }
}

fn is_ours_on_tcp(trial: &Trial) -> bool {
    trial.carrier == Carrier::Tcp && trial.implementation() == Implementation::Whimbrel
}

/// Whether the system lets us make a path, and run `on_tcp` on the kernel's TCP; if not, why.
fn allowed(on_tcp: Option<&Spec>) -> Result<Result<(), String>, Error> {
    let path = PathSpec {
        hops: Vec::new(),
        forward: Default::default(),
        backward: Default::default(),
        wifi: None,
        seed: 1,
    };
    let nothing = || Program::function(|| 0);
    let mut work = Work::start(|| on_paths(&[path], on_tcp, nothing(), None).map(drop))?;
    while work.process.ended().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(work.result())
}

/// A function in a process of its own, and its result.
struct Work<T> {
    process: Process,
    result: Returned<Result<T, String>>,
}

impl<T: Serialize + DeserializeOwned> Work<T> {
    fn start(work: impl FnOnce() -> Result<T, String>) -> Result<Self, Error> {
        let failed = |e| Error::failed("cannot start a process", e);
        let result = Returned::new().map_err(failed)?;
        let process = Process::start(|| result.put(&work())).map_err(failed)?;
        Ok(Self { process, result })
    }

    /// The result, after the process has ended.
    fn result(&self) -> Result<T, String> {
        self.result.get().and_then(|result| result)
    }
}

/// A value that a process hands back.
struct Returned<T>(Slot, std::marker::PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned> Returned<T> {
    fn new() -> Result<Self, whimbrel_link::LinkError> {
        Ok(Self(Slot::new()?, std::marker::PhantomData))
    }

    /// Hands a value back; returns the exit status.
    fn put(&self, value: &T) -> u8 {
        let bytes = serde_json::to_vec(value).map_err(io::Error::from);
        u8::from(bytes.and_then(|bytes| self.0.put(&bytes)).is_err())
    }

    fn get(&self) -> Result<T, String> {
        let bytes = self.0.get().map_err(|e| e.to_string())?;
        let nothing = "a process of the transfer ended without a result";
        serde_json::from_slice(&bytes).map_err(|_| nothing.to_owned())
    }
}

/// Runs a program behind paths, one for each interface, with `on_tcp` as the congestion control of
/// its TCP.
fn on_paths(
    paths: &[PathSpec],
    on_tcp: Option<&Spec>,
    near: Program,
    far: Option<Program>,
) -> Result<PathQuality, String> {
    let mut options = Options {
        layout: Layout::ends(paths.len()),
        ..Options::default()
    }
    .with_far(far);
    let registered = on_tcp.map(|spec| Registered::new(spec.clone(), &mut options));
    let registered = registered.transpose().map_err(|e| {
        let spec = on_tcp.map(ToString::to_string).unwrap_or_default();
        format!("`{spec}` cannot run on Linux TCP: {e}")
    })?;
    let prepared = Prepared::new(&near, &options).map_err(|e| e.to_string())?;
    // From here on the process may have threads.
    let running = registered.map(Registered::start).transpose();
    let running = running.map_err(|e| e.to_string())?;
    let report = prepared.run_all(paths).map_err(|e| e.to_string())?;
    let tcp = running.map(|running| running.finish(report.elapsed).report);
    if report.status > 128 {
        return Err(format!("signal {} killed the sender", report.status - 128));
    }
    let late = |d: &DirectionReport| d.lateness.p99.as_secs_f64();
    let missed = |d: &DirectionReport| d.missed.unwrap_or(0) + d.out_of_memory;
    let more = report.more.iter().flatten();
    let directions = [&report.forward, &report.backward].into_iter().chain(more);
    Ok(PathQuality {
        late_p99_s: directions.clone().map(late).fold(0.0, f64::max),
        missed: directions.map(missed).sum(),
        fallbacks: tcp.as_ref().map_or(0, |tcp| tcp.fallbacks),
        dropped_events: tcp.as_ref().map_or(0, |tcp| tcp.dropped_events),
    })
}

/// The files of a transfer.
#[derive(Clone)]
pub(super) struct Files {
    file: PathBuf,
    inbox: PathBuf,
    identity: PathBuf,
}

/// One transfer under way. Its processes and files end with it.
pub(super) struct Transfer {
    work: Work<Measurement>,
    /// Its files.
    _own: TempDir,
    inbox: PathBuf,
    size: Bytes,
    /// The file's BLAKE3 hash.
    hash: String,
    /// The transfer is stopped then.
    deadline: Instant,
    overdue: bool,
    ended: bool,
}

impl Transfer {
    fn start(trial: &Trial, own: TempDir, prediction: &Prediction) -> Result<Self, Error> {
        let path = trial.emulated()?;
        let (size, longest) = (prediction.size, prediction.longest.into());
        Self::begin(own, (size, trial.seed), longest, |files| {
            carry(trial, path, files)
        })
    }

    /// Carries a file of this size, drawn with this seed, as `carry` does; `longest`: the longest
    /// predicted time.
    fn begin(
        own: TempDir,
        (size, seed): (Bytes, u64),
        longest: Duration,
        carry: impl FnOnce(&Files) -> Result<Measurement, String>,
    ) -> Result<Self, Error> {
        let files = Files {
            file: own.path().join("file"),
            inbox: own.path().join("inbox"),
            identity: own.path().join("identity"),
        };
        let hash = fs::create_dir(&files.inbox).and_then(|()| make_file(&files.file, seed, size));
        let hash = hash.map_err(Error::writing(&files.file))?;
        let work = Work::start(|| carry(&files))?;
        let span = longest.saturating_mul(PATIENCE).saturating_add(GRACE);
        Ok(Self {
            work,
            _own: own,
            inbox: files.inbox,
            size,
            hash,
            deadline: Instant::now() + span.min(LONGEST),
            overdue: false,
            ended: false,
        })
    }

    /// How far it is. An overdue transfer counts as ended.
    fn progress(&mut self) -> Progress {
        self.overdue |= !self.ended && Instant::now() >= self.deadline;
        self.ended |= self.overdue || self.work.process.ended().is_some();
        // The blocks that its files use.
        let entries = fs::read_dir(&self.inbox).into_iter().flatten().flatten();
        let blocks = entries.map(|e| e.metadata().map_or(0, |m| m.blocks()));
        Progress {
            stored: Bytes::new(blocks.sum::<u64>() * 512).min(self.size),
            size: self.size,
            ended: self.ended,
        }
    }

    /// The measurement, after it has ended.
    pub fn result(self) -> Result<Measurement, String> {
        if self.overdue {
            return Err(format!(
                "stopped: not finished after {PATIENCE} times the longest predicted time; the \
                 machine or the path did not keep up"
            ));
        }
        let measurement = self.work.result()?;
        // The sender reports that the receiver has the file; verify that independently.
        let stored = File::open(self.inbox.join("file"));
        let stored = stored.map_err(|e| format!("nothing arrived: {e}"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(stored).map_err(|e| e.to_string())?;
        let arrived = hasher.finalize().to_hex();
        if arrived.as_str() != self.hash || measurement.blake3 != self.hash {
            return Err("the stored file differs from the file sent".to_owned());
        }
        Ok(measurement)
    }
}

/// Carries the file over the path: the work of a transfer's own process.
fn carry(trial: &Trial, path: PathSpec, files: &Files) -> Result<Measurement, String> {
    let controller = trial.controller.clone();
    match trial.carrier {
        Carrier::Quic => carry_by_quic(&[path], &controller, Vec::new(), SAMPLING, files),
        Carrier::Tcp => {
            let text = |error: whimbrel_link::LinkError| error.to_string();
            let sent: Arc<Sent> = Arc::new(Returned::new().map_err(text)?);
            let returned = Arc::clone(&sent);
            let (here, there) = (files.clone(), files.clone());
            // By the socket: a namespace may have the kernel's CUBIC as its default only if the
            // administrator allows it.
            let of_kernel = trial.implementation() == Implementation::Kernel;
            let congestion = of_kernel.then(|| controller.to_string());
            let near = Program::function(move || {
                returned.put(&tcp::send(&here.file, congestion.as_deref()))
            });
            let far = Program::function(move || status(tcp::receive(&there.inbox.join("file"))));
            let on_tcp = is_ours_on_tcp(trial).then_some(&trial.controller);
            finish(on_paths(&[path], on_tcp, near, Some(far))?, &sent)
        }
    }
}

/// What the sender hands back.
type Sent = Returned<Result<Measurement, String>>;

fn finish(quality: PathQuality, sent: &Sent) -> Result<Measurement, String> {
    let mut measurement = sent.get().and_then(|sent| sent)?;
    measurement.path = quality;
    Ok(measurement)
}

/// The same over QUIC and several paths, one for each interface of the near end.
pub(super) fn carry_by_quic(
    paths: &[PathSpec],
    controller: &Spec,
    via: Vec<Via>,
    sampling: Duration,
    files: &Files,
) -> Result<Measurement, String> {
    let sent: Arc<Sent> = Arc::new(Returned::new().map_err(|e| e.to_string())?);
    let returned = Arc::clone(&sent);
    let (here, there) = (files.clone(), files.clone());
    let identity = Identity::load_or_create(&files.identity).map_err(|e| e.to_string())?;
    let identity = Arc::new(identity);
    let (known, controller) = (Arc::clone(&identity), controller.clone());
    let near = Program::function(move || {
        let sent = quic::send(&here.file, &known, &controller, &via, sampling);
        returned.put(&sent)
    });
    let far = Program::function(move || status(quic::serve(&there.inbox, &identity)));
    finish(on_paths(paths, None, near, Some(far))?, &sent)
}

/// The exit status of the far end; an error goes to standard error.
fn status(result: Result<(), String>) -> u8 {
    if let Err(why) = &result {
        let _ = writeln!(io::stderr(), "error: {why}");
    }
    u8::from(result.is_err())
}

/// Writes a file of bytes that do not compress, the same for the same seed. Returns its BLAKE3
/// hash.
fn make_file(path: &Path, seed: u64, size: Bytes) -> io::Result<String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut out = BufWriter::new(File::create(path)?);
    let mut hasher = blake3::Hasher::new();
    let mut left = size.get();
    let mut block = [0_u8; 65_536];
    while left > 0 {
        let n = left.min(block.len() as u64) as usize;
        rng.fill_bytes(&mut block[..n]);
        hasher.update(&block[..n]);
        out.write_all(&block[..n])?;
        left -= n as u64;
    }
    out.flush()?;
    Ok(hasher.finalize().to_hex().to_string())
}
