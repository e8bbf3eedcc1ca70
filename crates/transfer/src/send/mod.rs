//! Sends files.
//!
//! | part | content |
//! |---|---|
//! | `options` | what the user wants |
//! | `connect`, `session` | a connection on which the client is authenticated |
//! | `attempts`, `retry` | over as many connections as it takes |
//! | `tree` | directories and many files |

mod attempts;
mod connect;
mod options;
mod retry;
mod session;
mod tree;

use crate::sending::{
    Account, FileSource, Pace, Sending, Sent, Source, StreamSource, open_regular,
};
use crate::summary::{BurstSummary, Summary, TracePoint, VerdictCounts, goodput};
use crate::wire::{Kind, Metadata, Put, Reason};
use crate::{Error, RemotePath, Transport, close};
pub(crate) use attempts::{Attempts, Earlier, Task};
pub use options::{Progress, SendOptions, Update};
pub use retry::Retry;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
pub(crate) use session::ClientSession;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use tree::{Filter, TreeOptions, TreeReport, send_tree};

/// A file that changes while it is sent is sent again so many times.
const CHANGES: u32 = 3;

/// What is known of the file on the server when a transfer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is on disk under its name.
    #[serde(rename = "stored")]
    Stored,
    /// It is not.
    #[serde(rename = "not stored")]
    NotStored,
    /// The connection was lost around the server's answer.
    #[serde(rename = "unknown")]
    Unknown,
}

/// The end of a transfer.
#[derive(Debug)]
pub struct Report {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of file data sent, repeated ones included.
    pub sent_bytes: u64,
    /// Bytes that the server had already, verified by hash.
    pub resumed_bytes: u64,
    /// Connections after the first.
    pub retries: u32,
    /// What carried the last connection; `None` if there was none.
    pub transport: Option<Transport>,
    /// What is known of the file on the server.
    pub outcome: Outcome,
    /// Details, or why the file could not be sent.
    pub result: Result<Summary, Error>,
}

/// Sends one file and waits until the server has stored it on disk under its name. `on_progress` is
/// called ten times per second. When `stop` completes, the transfer ends and the server is notified;
/// what it has stays there for the next attempt.
///
/// # Errors
/// If the file cannot be read, the server cannot be reached, has another fingerprint, or refuses
/// the file, or the connection is lost. [`transfer`] also returns what is known of the file then.
pub async fn send(
    options: SendOptions,
    mut on_progress: impl FnMut(Progress),
    stop: impl Future<Output = ()>,
) -> Result<Summary, Error> {
    let on_update = |update| {
        if let Update::Progress(progress) = update {
            on_progress(progress);
        }
    };
    transfer(options, on_update, stop).await.result
}

/// Sends one file as [`send`] does, and reports also what a failed transfer did.
pub async fn transfer(
    options: SendOptions,
    mut on_update: impl FnMut(Update),
    stop: impl Future<Output = ()>,
) -> Report {
    let mut job = match Job::new(&options) {
        Ok(job) => job,
        Err(error) => {
            return Report {
                bytes: 0,
                sent_bytes: 0,
                resumed_bytes: 0,
                retries: 0,
                transport: None,
                outcome: Outcome::NotStored,
                result: Err(error),
            };
        }
    };
    let (account, size) = (Arc::clone(&job.account), Arc::clone(&job.size));
    let progress = move |delivered: u64| {
        let size = size.load(Ordering::Relaxed);
        let resumed = account.resumed.load(Ordering::Relaxed);
        let bytes = match size {
            0 => resumed + delivered,
            size => (resumed + delivered).min(size),
        };
        Progress { bytes, size }
    };
    let (attempts, result) =
        Attempts::run(&options, &mut job, progress, &mut on_update, stop).await;
    let outcome = match &result {
        Ok(_) => Outcome::Stored,
        Err(_) if job.announced.load(Ordering::Relaxed) => Outcome::Unknown,
        Err(_) => Outcome::NotStored,
    };
    let bytes = match &result {
        Ok((size, _)) => *size,
        Err(_) => job.size.load(Ordering::Relaxed),
    };
    if outcome == Outcome::Stored {
        on_update(Update::Progress(Progress { bytes, size: bytes }));
    }
    Report {
        bytes,
        sent_bytes: job.account.sent(),
        resumed_bytes: job.account.resumed.load(Ordering::Relaxed),
        retries: attempts.retries,
        transport: attempts.transport.clone(),
        outcome,
        result: result.map(|(size, hash)| summarize(attempts, &options, &job.name, size, hash)),
    }
}

/// One file, over all attempts.
struct Job {
    file: PathBuf,
    attributes: bool,
    name: RemotePath,
    /// The number of this invocation.
    id: [u8; 16],
    account: Arc<Account>,
    pace: Option<Arc<Pace>>,
    /// Priority of the first chunk; that of later ones is lower.
    priority: i32,
    /// The size, bytes; 0 as long as it is not known.
    size: Arc<AtomicU64>,
    /// The server was told the hash, and has not answered.
    announced: AtomicBool,
    /// Standard input, which can be read only once.
    stream: Option<Arc<Source>>,
    changes: u32,
}

impl Job {
    fn new(options: &SendOptions) -> Result<Self, Error> {
        let is_stream = options.file.as_os_str() == "-";
        if !is_stream {
            // Fail before connecting rather than after it.
            open_regular(&options.file)?;
        }
        let stream = || Source::Stream(StreamSource::new(Box::new(std::io::stdin())));
        Ok(Self {
            pace: options.bandwidth.map(|rate| Arc::new(Pace::new(rate))),
            stream: is_stream.then(|| Arc::new(stream())),
            ..Self::of(
                options.file.clone(),
                remote_name(options)?,
                options.attributes,
            )?
        })
    }

    /// A file to be sent to this path, without a cap on the rate.
    fn of(file: PathBuf, name: RemotePath, attributes: bool) -> Result<Self, Error> {
        Ok(Self {
            file,
            attributes,
            name,
            id: random_id()?,
            account: Arc::default(),
            pace: None,
            priority: 0,
            size: Arc::default(),
            announced: AtomicBool::new(false),
            stream: None,
            changes: 0,
        })
    }

    /// Sends the file over one connection. A file that changes meanwhile is compared and sent again.
    async fn send(&mut self, session: &ClientSession) -> Result<(u64, blake3::Hash), Error> {
        loop {
            self.account.resumed.store(0, Ordering::Relaxed);
            let source = match &self.stream {
                Some(stream) => Arc::clone(stream),
                None => {
                    let file = open_regular(&self.file)?;
                    Arc::new(Source::File(FileSource::new(file, &self.file).await?))
                }
            };
            match self.once(session, &source).await? {
                Sent::Stored { size, hash } => {
                    self.announced.store(false, Ordering::Relaxed);
                    return Ok((size, hash));
                }
                Sent::Changed if self.stream.is_some() => {
                    let text = "the server lost data that cannot be read again";
                    return Err(Error::refused(Reason::Corrupt, text));
                }
                Sent::Changed => {
                    self.changes += 1;
                    if self.changes > CHANGES {
                        return Err(Error::Changed(self.file.clone()));
                    }
                }
            }
        }
    }

    async fn once(&self, session: &ClientSession, source: &Arc<Source>) -> Result<Sent, Error> {
        let metadata = match &**source {
            Source::File(file) => file.metadata(self.attributes)?,
            Source::Stream(_) => Metadata::plain(Kind::File),
        };
        let put = Put {
            id: self.id,
            path: self.name.as_bytes().to_vec(),
            size: source.size(),
            metadata,
        };
        self.size
            .store(source.size().unwrap_or(0), Ordering::Relaxed);
        let connection = &session.connection;
        let streams = connection.open_bi().await;
        let (mut send, mut receive) = streams.map_err(|e| Error::Lost(close::text(&e)))?;
        let sending = Sending {
            connection,
            source,
            account: &self.account,
            pace: self.pace.as_deref(),
            priority: self.priority,
            on_queued: &|position| session.queued.store(position, Ordering::Relaxed),
            on_announced: &|announced| self.announced.store(announced, Ordering::Relaxed),
        };
        let sent = sending.run(put, &mut send, &mut receive).await;
        if let Err(Error::Refused(_)) = &sent {
            self.announced.store(false, Ordering::Relaxed);
        }
        sent
    }
}

impl Task for Job {
    type Done = (u64, blake3::Hash);

    async fn attempt(&mut self, session: &ClientSession) -> Result<Self::Done, Error> {
        self.send(session).await
    }

    fn ended(&mut self, datagrams: u64) {
        self.account.settle(datagrams);
    }
}

/// The path on the server.
fn remote_name(options: &SendOptions) -> Result<RemotePath, Error> {
    let name = match &options.name {
        Some(name) => name.as_bytes(),
        None => options.file.file_name().unwrap_or_default().as_bytes(),
    };
    RemotePath::new(name).map_err(|e| {
        let cause = std::io::Error::other(format!("{e}; choose another with --name"));
        Error::file(&options.file, "send")(cause)
    })
}

/// A number that no other invocation has.
fn random_id() -> Result<[u8; 16], Error> {
    let mut id = [0; 16];
    let filled = SystemRandom::new().fill(&mut id);
    filled.map_err(|_| Error::Identity("the system provided no random numbers".to_owned()))?;
    Ok(id)
}

fn summarize(
    attempts: Attempts,
    options: &SendOptions,
    name: &RemotePath,
    size: u64,
    hash: blake3::Hash,
) -> Summary {
    let now = attempts.monitor.snapshot();
    let transport = attempts.transport.clone().unwrap_or_default();
    let quic = transport == Transport::Quic;
    let used = attempts.path_use(options, size);
    let samples = || attempts.monitor.samples().into_iter();
    Summary {
        name: name.to_string(),
        bytes: size,
        seconds: attempts.took.as_secs_f64(),
        connect_seconds: attempts.connecting.as_secs_f64(),
        goodput_bps: goodput(size, attempts.took.into()),
        lost_packets: used.lost_packets,
        sent_packets: used.sent_packets,
        rtt_ms: now.srtt.as_millis_f64(),
        min_rtt_ms: used.min_rtt_ms,
        cwnd_bytes: if quic { now.cwnd.get() } else { 0 },
        mtu_bytes: used.mtu_bytes,
        controller: used.controller,
        blake3: hash.to_hex().to_string(),
        loss_episodes: attempts.earlier.episodes + now.episodes,
        reductions: attempts.earlier.reductions + now.reductions,
        timeouts: attempts.earlier.timeouts + now.timeouts,
        spurious: attempts.earlier.spurious + now.spurious,
        verdicts: VerdictCounts::of(&now),
        bursts: now.bursts.map(BurstSummary::from),
        samples: options
            .trace
            .filter(|_| quic)
            .map(|_| samples().map(TracePoint::from).collect()),
        intervals: used.intervals,
        transport,
    }
}
