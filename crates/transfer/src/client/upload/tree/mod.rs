//! Sends directories and many files.
//!
//! | part | content |
//! |---|---|
//! | `walk` | which files there are |
//! | `pack` | small files, many on one stream |
//! | `exchange` | one attempt over one connection |
//!
//! Small files are packed and need no round trip each. Larger ones are sent as files of their own,
//! several at once. What the server has already, by size and time or by hash, is not sent.

mod exchange;

mod pack;
mod walk;

use super::file::Job;
use crate::blocking::blocking;
use crate::client::attempts::{Attempts, Task};
use crate::client::filter::Filter;
use crate::client::mirror::DeleteOptions;
use crate::client::news::News;
use crate::client::options::{ClientOptions, Measurement};
use crate::client::paths::PathSummary;
use crate::client::session::ClientSession;
use crate::client::summary::{PathUse, goodput};
use crate::client::update::{Outcome, Progress, Update};
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::Transport;
use crate::error::Error;
use crate::file_sender::{Account, Pace};
use crate::path::{RemotePath, printable};
use crate::random;
use crate::wire::Kind;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use walk::{Item, Walk};
use whimbrel_units::Rate;

/// Options of [`send_tree`].
#[derive(Debug, Clone)]
pub struct TreeOptions {
    /// The server.
    pub client: ClientOptions,
    /// Files and directories. A directory whose path ends with a slash stands for its content.
    pub sources: Vec<PathBuf>,
    /// The directory on the server; `None` is the user's own.
    pub directory: Option<RemotePath>,
    /// Which of the files.
    pub filter: Filter,
    /// Send symbolic links that stay inside their tree, as links. Otherwise links are left out.
    pub links: bool,
    /// Compare files that the server has by hash instead of size and time.
    pub checksum: bool,
    /// Remove on the server, when all is stored, what the sources' directories do not have.
    pub delete: Option<DeleteOptions>,
    /// Find out what would be sent and removed, and do neither.
    pub dry_run: bool,
    /// What to record.
    pub measurement: Measurement,
    /// The maximum rate of file data.
    pub bandwidth: Option<Rate>,
    /// Send extended attributes in the namespace `user`.
    pub attributes: bool,
}

impl TreeOptions {
    /// Options with the defaults: all files with their links, into the user's own directory.
    pub fn new(client: ClientOptions, sources: Vec<PathBuf>) -> Self {
        Self {
            client,
            sources,
            directory: None,
            filter: Filter::default(),
            links: true,
            checksum: false,
            delete: None,
            dry_run: false,
            measurement: Measurement::default(),
            bandwidth: None,
            attributes: false,
        }
    }
}

/// The end of a transfer of many files.
#[derive(Debug, Serialize)]
pub struct TreeReport {
    /// Files of the tree.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were sent and are on the server's disk; with `dry_run`: that would be sent.
    pub sent_files: u64,
    /// Files that the server had already.
    pub unchanged_files: u64,
    /// Bytes of the files that are on the server's disk now.
    pub stored_bytes: u64,
    /// Bytes of file data sent, repeated ones included; with `dry_run`: that would be sent.
    pub sent_bytes: u64,
    /// Bytes that the server had already.
    pub resumed_bytes: u64,
    /// Connections after the first.
    pub retries: u32,
    /// What carried the last connection; null if there was none.
    pub transport: Option<Transport>,
    /// How the keys of that connection were agreed on, such as `X25519MLKEM768`.
    pub key_exchange: Option<KeyExchange>,
    /// Time from the first request to the last confirmation, seconds.
    pub seconds: f64,
    /// Bytes that were sent and stored, over time, bits per second.
    pub goodput_bps: f64,
    /// Whether all files are stored.
    pub outcome: Outcome,
    /// Files that were left out, and why.
    pub skipped: Vec<(String, String)>,
    /// Files that could not be sent, and why.
    pub failures: Vec<(String, String)>,
    /// Paths of the files that would be sent, with `dry_run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_send: Vec<String>,
    /// Files and directories that were removed on the server; with `dry_run`: that would be.
    pub removed: u64,
    /// Paths of what would be removed, with `dry_run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_remove: Vec<String>,
    /// How the transfer used its path.
    #[serde(skip)]
    pub path_use: PathUse,
    /// What was done on each path: one for each interface of `--via`, otherwise one. Empty over
    /// TLS.
    pub paths: Vec<PathSummary>,
    /// Why the transfer ended early.
    #[serde(skip)]
    pub error: Option<Error>,
}

/// Sends files and directories, and waits until the server has stored them. When `stop` completes,
/// the transfer ends; what is stored stays, and the same call goes on.
pub async fn send_tree(
    options: TreeOptions,
    mut on_update: impl FnMut(Update),
    stop: impl Future<Output = ()>,
) -> TreeReport {
    let what = options.clone();
    let walk = blocking(move || {
        Walk::new(
            &what.sources,
            what.directory.as_ref(),
            &what.filter,
            what.links,
        )
    });
    let job = walk
        .await
        .and_then(|walk| TreeJob::new(options.clone(), walk));
    let mut job = match job {
        Ok(job) => job,
        Err(error) => return TreeReport::of_error(error),
    };
    let client = &options.client;
    let (size, skipped) = (job.bytes, Arc::clone(&job.unchanged_bytes));
    let (stored, shown) = (Arc::clone(&job.stored_bytes), Arc::clone(&job.news));
    let progress = move |delivered: u64| {
        let before = skipped.load(Ordering::Relaxed) + stored.load(Ordering::Relaxed);
        let (files, all_files) = shown.count();
        let progress = Progress {
            bytes: (before + delivered).min(size),
            size,
            files,
            all_files,
        };
        let mut updates = shown.take();
        updates.push(Update::Progress(progress));
        updates
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
    job.news.take().into_iter().for_each(on_update);
    let seconds = attempts.took.as_secs_f64();
    let report = job.report(attempts.retries, seconds, result.err());
    TreeReport {
        path_use: attempts.path_use(client, report.sent_bytes),
        paths: attempts.paths(),
        transport: attempts.transport,
        key_exchange: attempts.key_exchange,
        ..report
    }
}

impl TreeReport {
    fn of_error(error: Error) -> Self {
        Self {
            files: 0,
            bytes: 0,
            sent_files: 0,
            unchanged_files: 0,
            stored_bytes: 0,
            sent_bytes: 0,
            resumed_bytes: 0,
            retries: 0,
            transport: None,
            key_exchange: None,
            seconds: 0.0,
            goodput_bps: 0.0,
            outcome: Outcome::NotStored,
            skipped: Vec::new(),
            failures: Vec::new(),
            would_send: Vec::new(),
            removed: 0,
            would_remove: Vec::new(),
            path_use: PathUse::default(),
            paths: Vec::new(),
            error: Some(error),
        }
    }
}

/// What is known of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The server must be asked, or the item be sent.
    Open,
    /// The server has it, but may lose it until the request ends.
    Unchanged,
    /// It was sent and is stored.
    Stored,
    /// It cannot be sent.
    Failed,
}

/// A tree, over all attempts.
struct TreeJob {
    options: TreeOptions,
    id: [u8; 16],
    items: Vec<Item>,
    states: Vec<State>,
    /// Transfers of large files, by item.
    large: HashMap<usize, Job>,
    account: Arc<Account>,
    pace: Option<Arc<Pace>>,
    bytes: u64,
    unchanged_bytes: Arc<AtomicU64>,
    /// Bytes that were stored over earlier connections.
    stored_bytes: Arc<AtomicU64>,
    skipped: Vec<(String, String)>,
    failures: Vec<(String, String)>,
    attempts: u32,
    would_send: Vec<String>,
    removed: u64,
    would_remove: Vec<String>,
    roots: Vec<Vec<u8>>,
    present: HashSet<Vec<u8>>,
    news: Arc<News>,
}

impl TreeJob {
    fn new(options: TreeOptions, walk: Walk) -> Result<Self, Error> {
        let Walk {
            items,
            skipped,
            failures,
            roots,
            present,
        } = walk;
        let news = News::default();
        news.files(
            items
                .iter()
                .filter(|item| item.metadata.kind == Kind::File)
                .count() as u64,
        );
        Ok(Self {
            id: random::bytes()?,
            states: vec![State::Open; items.len()],
            bytes: items.iter().map(|item| item.size).sum(),
            items,
            large: HashMap::new(),
            account: Arc::default(),
            pace: options.bandwidth.map(|rate| Arc::new(Pace::new(rate))),
            unchanged_bytes: Arc::default(),
            stored_bytes: Arc::default(),
            skipped,
            failures,
            attempts: 0,
            would_send: Vec::new(),
            removed: 0,
            would_remove: Vec::new(),
            roots,
            present,
            news: Arc::new(news),
            options,
        })
    }

    fn fail(&mut self, number: usize, why: String) {
        self.states[number] = State::Failed;
        let shown = printable(self.items[number].local.as_os_str().as_bytes());
        self.failures.push((shown, why));
    }

    /// An item is stored.
    fn stored(&mut self, number: usize) {
        self.states[number] = State::Stored;
        if self.items[number].metadata.kind == Kind::File {
            self.news.stored(printable(&self.items[number].path));
        }
    }

    /// The path on the server.
    fn remote(&self, number: usize) -> Result<RemotePath, Error> {
        let path = &self.items[number].path;
        let whole = match &self.options.directory {
            Some(directory) => directory.join(path),
            None => RemotePath::new(path),
        };
        whole.map_err(|e| {
            let cause = std::io::Error::other(e.to_string());
            Error::file(&self.items[number].local, "send")(cause)
        })
    }

    fn report(mut self, retries: u32, seconds: f64, error: Option<Error>) -> TreeReport {
        let is_file = |number: &usize| self.items[*number].metadata.kind == Kind::File;
        let count = |state| {
            let numbers = 0..self.items.len();
            numbers
                .filter(|n| is_file(n) && self.states[*n] == state)
                .count() as u64
        };
        let is_stored = |state: &State| matches!(state, State::Stored | State::Unchanged);
        let states = self.items.iter().zip(&self.states);
        let stored = states.filter(|(_, state)| is_stored(state));
        let stored_bytes = stored.map(|(item, _)| item.size).sum();
        let resumed: u64 = self
            .large
            .values()
            .map(|job| job.account.resumed.load(Ordering::Relaxed))
            .sum();
        let found: u64 = self.large.values().map(|job| job.account.found()).sum();
        let sent: u64 = self.large.values().map(|job| job.account.sent()).sum();
        let complete = error.is_none() && self.failures.is_empty() && !self.options.dry_run;
        let sent_bytes = match self.options.dry_run {
            true => self.bytes - self.unchanged_bytes.load(Ordering::Relaxed).min(self.bytes),
            false => sent + self.account.sent(),
        };
        let unchanged = self.unchanged_bytes.load(Ordering::Relaxed);
        let resumed_bytes = resumed + unchanged;
        TreeReport {
            files: (0..self.items.len()).filter(is_file).count() as u64,
            bytes: self.bytes,
            sent_files: match self.options.dry_run {
                true => self.would_send.len() as u64,
                false => count(State::Stored),
            },
            unchanged_files: count(State::Unchanged),
            stored_bytes,
            sent_bytes,
            resumed_bytes,
            retries,
            transport: None,
            key_exchange: None,
            seconds,
            goodput_bps: goodput(
                stored_bytes,
                found + unchanged,
                sent_bytes,
                whimbrel_units::Duration::from_secs_f64(seconds),
            ),
            outcome: if complete {
                Outcome::Stored
            } else {
                Outcome::NotStored
            },
            skipped: std::mem::take(&mut self.skipped),
            failures: std::mem::take(&mut self.failures),
            would_send: std::mem::take(&mut self.would_send),
            removed: self.removed,
            would_remove: std::mem::take(&mut self.would_remove),
            path_use: PathUse::default(),
            paths: Vec::new(),
            error,
        }
    }
}

impl Task for TreeJob {
    type Done = ();

    fn attempt<'a>(&'a mut self, session: &'a ClientSession) -> BoxFuture<'a, Result<(), Error>> {
        self.exchange(session).boxed()
    }

    fn ended(&mut self, datagrams: u64) {
        let large = self.large.values().map(|job| &job.account);
        let mut left = datagrams;
        for account in large.chain([&self.account]) {
            left -= account.settle(left);
        }
    }
}
