//! Sends one file, or standard input.

use crate::client::attempts::{Attempts, Task};
use crate::client::options::{ClientOptions, Measurement};
use crate::client::session::ClientSession;
use crate::client::summary::{
    BurstSummary, SavedPathSummary, Summary, TracePoint, VerdictCounts, goodput,
};
use crate::client::update::{Outcome, Progress, Update};
use crate::connection::close;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::Transport;
use crate::error::Error;
use crate::file_sender::{
    Account, FileSource, Pace, Sending, Sent, Source, StreamSource, open_regular,
};
use crate::lock::lock;
use crate::path::RemotePath;
use crate::random;
use crate::wire::{Kind, Metadata, Put, Reason};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use whimbrel_units::Rate;

/// A file that changes while it is sent is sent again so many times.
const CHANGES: u32 = 3;

/// What messages call standard input.
const STDIN: &str = "standard input";

/// Where the content of a file comes from.
#[derive(Debug, Clone)]
pub enum SendSource {
    /// A file of this computer.
    File(PathBuf),
    /// What can be read once, such as standard input. It has no name of its own.
    Stream(StreamReader),
}

/// A stream to be sent.
#[derive(Clone)]
pub struct StreamReader(Arc<Mutex<Option<Box<dyn Read + Send>>>>);

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamReader")
    }
}

impl SendSource {
    /// A stream of unknown length.
    pub fn stream(reader: impl Read + Send + 'static) -> Self {
        let reader: Box<dyn Read + Send> = Box::new(reader);
        Self::Stream(StreamReader(Arc::new(Mutex::new(Some(reader)))))
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Self::stream(std::io::stdin())
    }
}

/// Options of [`send()`].
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// The server.
    pub client: ClientOptions,
    /// What to send.
    pub source: SendSource,
    /// The path on the server; `None` uses the file's own name.
    pub name: Option<String>,
    /// What to record.
    pub measurement: Measurement,
    /// The maximum rate of file data.
    pub bandwidth: Option<Rate>,
    /// Send extended attributes in the namespace `user`.
    pub attributes: bool,
}

impl SendOptions {
    /// Options with the defaults: the file's own name, no records, the full rate.
    pub fn new(client: ClientOptions, source: SendSource) -> Self {
        Self {
            client,
            source,
            name: None,
            measurement: Measurement::default(),
            bandwidth: None,
            attributes: false,
        }
    }
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
    /// How the keys of that connection were agreed on.
    pub key_exchange: Option<KeyExchange>,
    /// What is known of the file on the server.
    pub outcome: Outcome,
    /// Details, or why the file could not be sent.
    pub result: Result<Summary, Error>,
}

/// Sends one file and waits until the server has stored it on disk under its name. `on_progress` is
/// called ten times per second. When `stop` completes, the transfer ends and the server is
/// notified; what it has stays there for the next attempt.
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
                key_exchange: None,
                outcome: Outcome::NotStored,
                result: Err(error),
            };
        }
    };
    let client = &options.client;
    let (account, size) = (Arc::clone(&job.account), Arc::clone(&job.size));
    let progress = move |delivered: u64| {
        let size = size.load(Ordering::Relaxed);
        let resumed = account.resumed.load(Ordering::Relaxed);
        let bytes = match size {
            0 => resumed + delivered,
            size => (resumed + delivered).min(size),
        };
        vec![Update::Progress(Progress {
            bytes,
            size,
            ..Progress::default()
        })]
    };
    let (attempts, result) = Attempts::run(
        client,
        &options.measurement,
        &mut job,
        progress,
        &mut on_update,
        stop,
    )
    .await;
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
        on_update(Update::Progress(Progress {
            bytes,
            size: bytes,
            ..Progress::default()
        }));
    }
    let sent_bytes = job.account.sent();
    let resumed_bytes = job.account.resumed.load(Ordering::Relaxed);
    let found = job.account.found();
    let took = attempts.took.into();
    Report {
        bytes,
        sent_bytes,
        resumed_bytes,
        retries: attempts.retries,
        transport: attempts.transport.clone(),
        key_exchange: attempts.key_exchange,
        outcome,
        result: result.map(|(size, hash)| Summary {
            goodput_bps: goodput(size, found, sent_bytes, took),
            ..summarize(attempts, &options, &job.name, size, hash)
        }),
    }
}

/// One file, over all attempts.
pub(super) struct Job {
    file: PathBuf,
    attributes: bool,
    name: RemotePath,
    /// The number of this invocation.
    id: [u8; 16],
    pub(super) account: Arc<Account>,
    pub(super) pace: Option<Arc<Pace>>,
    /// Priority of the first chunk; that of later ones is lower.
    pub(super) priority: i32,
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
        let (file, stream) = match &options.source {
            SendSource::File(file) => {
                // Fail before connecting rather than after it.
                open_regular(file)?;
                (file.clone(), None)
            }
            SendSource::Stream(StreamReader(reader)) => {
                let mut reader = lock(reader);
                let used = || std::io::Error::other("it was read already");
                let reader = reader.take().ok_or_else(used);
                let stream = StreamSource::new(reader.map_err(Error::file(STDIN, "read"))?);
                (PathBuf::from(STDIN), Some(Arc::new(Source::Stream(stream))))
            }
        };
        let name = remote_name(options, &file)?;
        Ok(Self {
            pace: options.bandwidth.map(|rate| Arc::new(Pace::new(rate))),
            stream,
            ..Self::of(file, name, options.attributes)?
        })
    }

    /// A file to be sent to this path, without a cap on the rate.
    pub(super) fn of(file: PathBuf, name: RemotePath, attributes: bool) -> Result<Self, Error> {
        Ok(Self {
            file,
            attributes,
            name,
            id: random::bytes()?,
            account: Arc::default(),
            pace: None,
            priority: 0,
            size: Arc::default(),
            announced: AtomicBool::new(false),
            stream: None,
            changes: 0,
        })
    }

    /// Sends the file over one connection. A file that changes meanwhile is compared and sent
    /// again.
    pub(super) async fn send(
        &mut self,
        session: &ClientSession,
    ) -> Result<(u64, blake3::Hash), Error> {
        loop {
            self.account.begin();
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
        let (mut send, mut receive) = connection.open_bi().await.map_err(close::lost)?;
        // Whether the end was announced over an earlier connection and the answer lost, and whether
        // it was announced over this one.
        let before = AtomicBool::new(self.announced.load(Ordering::Relaxed));
        let here = AtomicBool::new(false);
        let sending = Sending {
            connection,
            turns: &session.turns,
            source,
            account: &self.account,
            pace: self.pace.as_deref(),
            priority: self.priority,
            on_queued: &|position| session.queued.store(position, Ordering::Relaxed),
            on_announced: &|announced| {
                here.store(announced, Ordering::Relaxed);
                before.fetch_and(announced, Ordering::Relaxed);
                self.announced.store(announced, Ordering::Relaxed);
            },
        };
        let sent = sending.run(put, &mut send, &mut receive).await;
        if let Err(Error::Refused(refusal)) = &sent
            && here.load(Ordering::Relaxed)
            && says_not_stored(refusal.reason, before.load(Ordering::Relaxed))
        {
            self.announced.store(false, Ordering::Relaxed);
        }
        sent
    }
}

/// Whether a file is surely not stored when an attempt that has announced its end is refused for
/// this reason. `before`: an earlier attempt has announced it, too, and its answer was lost.
fn says_not_stored(reason: Reason, before: bool) -> bool {
    match reason {
        // A server whose disk fails may have given the file its name before.
        Reason::Internal => false,
        // It has found another file there.
        Reason::Exists => true,
        // It says nothing of the attempt before.
        _ => !before,
    }
}

impl Task for Job {
    type Done = (u64, blake3::Hash);

    fn attempt<'a>(
        &'a mut self,
        session: &'a ClientSession,
    ) -> BoxFuture<'a, Result<Self::Done, Error>> {
        self.send(session).boxed()
    }

    fn ended(&mut self, datagrams: u64) {
        self.account.settle(datagrams);
    }
}

/// The path on the server.
fn remote_name(options: &SendOptions, file: &Path) -> Result<RemotePath, Error> {
    let name = match (&options.name, &options.source) {
        (Some(name), _) => name.as_bytes(),
        (None, SendSource::File(file)) => file.file_name().unwrap_or_default().as_bytes(),
        (None, SendSource::Stream(_)) => b"",
    };
    RemotePath::new(name).map_err(|e| Error::file(file, "send")(std::io::Error::other(e)))
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
    let used = attempts.path_use(&options.client, size);
    let samples = || attempts.monitor.samples().into_iter();
    Summary {
        name: name.to_string(),
        bytes: size,
        seconds: attempts.took.as_secs_f64(),
        connect_seconds: attempts.connecting.as_secs_f64(),
        goodput_bps: goodput(size, 0, size, attempts.took.into()),
        lost_packets: used.lost_packets,
        sent_packets: used.sent_packets,
        rtt_ms: now.state.srtt.as_millis_f64(),
        min_rtt_ms: used.min_rtt_ms,
        cwnd_bytes: if quic { now.state.cwnd.get() } else { 0 },
        mtu_bytes: used.mtu_bytes,
        controller: used.controller,
        blake3: hash.to_hex().to_string(),
        loss_episodes: attempts.earlier.episodes + now.episodes.episodes,
        reductions: attempts.earlier.reductions + now.episodes.reductions,
        timeouts: attempts.earlier.timeouts + now.episodes.timeouts,
        spurious: attempts.earlier.spurious + now.episodes.spurious,
        verdicts: VerdictCounts::of(&now),
        bursts: now.bursts.map(BurstSummary::from),
        saved_path: attempts.saved.map(SavedPathSummary::from),
        paths: attempts.paths(),
        samples: options
            .measurement
            .trace
            .filter(|_| quic)
            .map(|_| samples().map(TracePoint::from).collect()),
        intervals: used.intervals,
        transport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_nothing_of_an_attempt_whose_answer_was_lost() {
        for (reason, first, later) in [
            (Reason::DiskFull, true, false),
            (Reason::Rights, true, false),
            (Reason::Stalled, true, false),
            (Reason::Internal, false, false),
            (Reason::Exists, true, true),
        ] {
            let says = [false, true].map(|before| says_not_stored(reason, before));
            assert_eq!(says, [first, later], "{reason:?}");
        }
    }
}
