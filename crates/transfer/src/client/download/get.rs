//! Gets files and directories from a server.
//!
//! The roles of sender and receiver are those of storing a file, exchanged: an interrupted file
//! goes on where it was, and its hash is checked.

use super::item::{Counts, Item, STALL};
use super::packs::{Outcome as Got, get_small};
use super::place::{Destination, Wanted};
use crate::blocking::blocking;
use crate::cancel::Cancel;
use crate::client::attempts::{Attempts, Task};
use crate::client::filter::Filter;
use crate::client::listing::{Listing, entries};
use crate::client::mirror::{DeleteOptions, Mirror};
use crate::client::options::{ClientOptions, Measurement};
use crate::client::paths::PathSummary;
use crate::client::session::ClientSession;
use crate::client::summary::goodput;
use crate::client::update::{Outcome, Progress, Update};
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::Transport;
use crate::connection::routes::Routes;
use crate::connection::{framing, parameters};
use crate::error::Error;
use crate::file_receiver::Receiver;
use crate::file_sender::{Pace, SMALL};
use crate::path::{RemotePath, printable};
use crate::storage::{Directories, Listed, Lock, Storage, StorageOptions, busy};
use crate::turns::Turns;
use crate::wire::{Entry, Kind, Message, Metadata, PackEntry, Put, Reason, Refusal};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use whimbrel_quic::endpoint::{RecvStream, SendStream};
use whimbrel_units::Rate;

/// Files that are requested at the same time.
const AT_ONCE: usize = 16;
/// A file that changes while it is read is requested again so many times.
const CHANGES: usize = 3;
/// The owner of incomplete files, whose hidden names differ from those of a server here.
const OWNER: &str = "get";

/// Options of [`get`].
#[derive(Debug, Clone)]
pub struct GetOptions {
    /// The server.
    pub client: ClientOptions,
    /// Files and directories on the server.
    pub paths: Vec<Wanted>,
    /// Where they go: into this directory, which is created in one that exists. One file alone gets
    /// this name if there is no such directory, and the path does not end with a slash.
    pub directory: PathBuf,
    /// Replace files that are different.
    pub overwrite: bool,
    /// Which of the files.
    pub filter: Filter,
    /// Remove here, when all files are here, what the server's directories do not have.
    pub delete: Option<DeleteOptions>,
    /// Find out what would be downloaded and removed, and do neither.
    pub dry_run: bool,
    /// The maximum rate of file data.
    pub bandwidth: Option<Rate>,
}

impl GetOptions {
    /// Options with the defaults: files that are different stay.
    pub fn new(client: ClientOptions, paths: Vec<impl Into<Wanted>>, directory: PathBuf) -> Self {
        Self {
            client,
            paths: paths.into_iter().map(Into::into).collect(),
            directory,
            overwrite: false,
            filter: Filter::default(),
            delete: None,
            dry_run: false,
            bandwidth: None,
        }
    }
}

/// The end of getting files.
#[derive(Debug, Serialize)]
pub struct GetReport {
    /// Files that were requested.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these files, those that are here.
    pub stored_files: u64,
    /// Their bytes.
    pub stored_bytes: u64,
    /// Bytes of file data received.
    pub received_bytes: u64,
    /// Bytes that were there already, by size and time or verified by hash.
    pub resumed_bytes: u64,
    /// Connections after the first.
    pub retries: u32,
    /// What carried the last connection; null if there was none.
    pub transport: Option<Transport>,
    /// How the keys of that connection were agreed on, such as `X25519MLKEM768`.
    pub key_exchange: Option<KeyExchange>,
    /// What was done on each path: one for each interface of `--via`, otherwise one. Empty over
    /// TLS.
    pub paths: Vec<PathSummary>,
    /// Time from the first request to the end, seconds.
    pub seconds: f64,
    /// Bytes that were received and stored, over time, bits per second.
    pub goodput_bps: f64,
    /// Whether all files are here.
    pub outcome: Outcome,
    /// Paths of files that would be downloaded, with `dry_run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_get: Vec<String>,
    /// Files and directories that were removed here; with `dry_run`: that would be.
    pub removed: u64,
    /// Paths of what would be removed, with `dry_run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_remove: Vec<String>,
    /// Files that could not be stored, and why.
    pub failures: Vec<(String, String)>,
    /// Why it ended early.
    #[serde(skip)]
    pub error: Option<Error>,
}

/// All files, over all attempts.
struct Get {
    options: GetOptions,
    destination: Destination,
    /// None before the server was asked, and in a dry run whose directory does not exist.
    storage: Option<Storage>,
    items: Option<Vec<Item>>,
    /// The directories that were requested, by their path here; `None` for all of it.
    roots: Vec<Option<RemotePath>>,
    failures: Vec<(String, String)>,
    counts: Arc<Counts>,
    pace: Option<Arc<Pace>>,
    would_get: Vec<String>,
    removed: u64,
    would_remove: Vec<String>,
}

/// Gets files and directories. When `stop` completes, the transfer ends; what has arrived stays
/// under a hidden name, and the same call goes on.
pub async fn get(
    options: GetOptions,
    mut on_update: impl FnMut(Update),
    stop: impl Future<Output = ()>,
) -> GetReport {
    let counts = Arc::<Counts>::default();
    let shown = Arc::clone(&counts);
    let mut task = match Destination::new(&options.directory, &options.paths) {
        Ok(destination) => Get {
            options: options.clone(),
            destination,
            storage: None,
            items: None,
            roots: Vec::new(),
            failures: Vec::new(),
            counts: Arc::clone(&counts),
            pace: options.bandwidth.map(|rate| Arc::new(Pace::new(rate))),
            would_get: Vec::new(),
            removed: 0,
            would_remove: Vec::new(),
        },
        Err(error) => return report(&counts, &[], Vec::new(), 0, 0.0, Some(error)),
    };
    let progress = move |_| {
        let size = shown.size.load(Ordering::Relaxed);
        let all = [&shown.received, &shown.resumed, &shown.holes];
        let bytes = all
            .map(|count| count.load(Ordering::Relaxed))
            .iter()
            .sum::<u64>();
        let (files, all_files) = shown.news.count();
        let mut updates = shown.news.take();
        updates.push(Update::Progress(Progress {
            bytes: bytes.min(size),
            size,
            files,
            all_files,
        }));
        updates
    };
    let (client, nothing) = (&options.client, Measurement::default());
    let (attempts, result) =
        Attempts::run(client, &nothing, &mut task, progress, &mut on_update, stop).await;
    counts.news.take().into_iter().for_each(on_update);
    let items = task.items.unwrap_or_default();
    let seconds = attempts.took.as_secs_f64();
    let report = report(
        &counts,
        &items,
        task.failures,
        attempts.retries,
        seconds,
        result.err(),
    );
    GetReport {
        paths: attempts.paths(),
        transport: attempts.transport,
        key_exchange: attempts.key_exchange,
        would_get: task.would_get,
        removed: task.removed,
        would_remove: task.would_remove,
        ..report
    }
}

fn report(
    counts: &Counts,
    items: &[Item],
    failures: Vec<(String, String)>,
    retries: u32,
    seconds: f64,
    error: Option<Error>,
) -> GetReport {
    let files = || items.iter().filter(|item| item.metadata.kind == Kind::File);
    let stored = || files().filter(|item| item.done && !item.failed);
    let bytes = counts.size.load(Ordering::Relaxed);
    let stored_bytes = stored().map(|item| item.size).sum();
    let received_bytes = counts.received.load(Ordering::Relaxed);
    let resumed_bytes = counts.resumed.load(Ordering::Relaxed);
    let (files, stored_files) = (files().count() as u64, stored().count() as u64);
    GetReport {
        files,
        bytes,
        stored_files,
        stored_bytes,
        received_bytes,
        resumed_bytes,
        retries,
        transport: None,
        key_exchange: None,
        paths: Vec::new(),
        seconds,
        goodput_bps: goodput(
            stored_bytes,
            resumed_bytes,
            received_bytes,
            whimbrel_units::Duration::from_secs_f64(seconds),
        ),
        // A dry run has no failures.
        outcome: match error.is_none() && failures.is_empty() && stored_files == files {
            true => Outcome::Stored,
            false => Outcome::NotStored,
        },
        would_get: Vec::new(),
        removed: 0,
        would_remove: Vec::new(),
        failures,
        error,
    }
}

impl Task for Get {
    type Done = ();

    fn attempt<'a>(&'a mut self, session: &'a ClientSession) -> BoxFuture<'a, Result<(), Error>> {
        let work = async move {
            let connection = &session.connection;
            parameters::admit(connection);
            if let Some(rate) = self.options.bandwidth {
                parameters::limit_rate(connection, rate);
            }
            let routes = Routes::default();
            tokio::select! {
                error = routes.accept(connection, STALL) => return Err(error),
                result = self.content(session, &routes) => result?,
            }
            self.counts.ended().await;
            // The rest is done here: the server may close a connection without requests meanwhile.
            self.others().await?;
            self.mirror().await
        };
        work.boxed()
    }
}

impl Get {
    /// What the server has, and all files of it.
    async fn content(&mut self, session: &ClientSession, routes: &Routes) -> Result<(), Error> {
        // What is done stays known when the connection is lost.
        if self.items.is_none() {
            self.items = Some(self.find(session).await?);
        }
        let items = self.items.as_deref().unwrap_or_default();
        let sizes = items.iter().map(|item| item.size).sum();
        self.counts.size.store(sizes, Ordering::Relaxed);
        let files = items.iter().filter(|item| item.metadata.kind == Kind::File);
        self.counts.news.files(files.count() as u64);
        self.files(session, routes).await
    }

    /// Asks the server what is at the paths, and opens the directory for it.
    async fn find(&mut self, session: &ClientSession) -> Result<Vec<Item>, Error> {
        // An attempt that did not come to the end may have found some.
        self.failures.clear();
        self.roots.clear();
        let mut found = Vec::new();
        for wanted in self.options.paths.clone() {
            let listing = entries(session, wanted.path.as_ref(), true).await?;
            found.push((wanted, listing));
        }
        let is_file =
            |listing: &Listing| matches!(&listing.entries[..], [entry] if entry.path.is_empty());
        for (wanted, listing) in &found {
            wanted.check(is_file(listing))?;
        }
        let one_file = matches!(&found[..], [(_, listing)] if is_file(listing));
        let storage_options = StorageOptions {
            overwrite: self.options.overwrite,
            ..StorageOptions::default()
        };
        let (destination, dry_run) = (self.destination.clone(), self.options.dry_run);
        let opened = blocking(move || destination.open(one_file, dry_run, storage_options));
        let (storage, new_name) = opened.await.map_err(Error::here)?;
        self.storage = storage;
        let mut items = Vec::new();
        for (wanted, listing) in found {
            let is_file = is_file(&listing);
            let top = match &new_name {
                Some(name) => Some(name.clone()),
                None => wanted.top()?,
            };
            self.add(&wanted, top, is_file, listing, &mut items);
        }
        if self.options.paths.len() > 1 {
            self.refuse_same_names(&mut items);
        }
        Ok(items)
    }

    /// Of several files that would have the same name here, only the first is got.
    fn refuse_same_names(&mut self, items: &mut Vec<Item>) {
        let mut first: HashMap<Vec<u8>, RemotePath> = HashMap::new();
        items.retain(|item| {
            if item.metadata.kind == Kind::Directory {
                return true;
            }
            let Some(other) = first.get(item.local.as_bytes()) else {
                first.insert(item.local.as_bytes().to_vec(), item.remote.clone());
                return true;
            };
            // The same one may be named twice.
            if *other != item.remote {
                let why = format!("it would have the same name here as `{other}`");
                self.failures.push((item.remote.to_string(), why));
            }
            false
        });
    }

    /// Adds what the server has at a path; `top` is its place here, `None` for the directory itself.
    fn add(
        &mut self,
        wanted: &Wanted,
        top: Option<RemotePath>,
        is_file: bool,
        listing: Listing,
        items: &mut Vec<Item>,
    ) {
        for left_out in listing.unread {
            let below = printable(&left_out.path);
            let name = match &wanted.path {
                Some(path) => format!("{path}/{below}"),
                None => below,
            };
            self.failures.push((name, left_out.refusal.text));
        }
        if !is_file {
            self.roots.push(top.clone());
        }
        if let (Some(path), Some(top)) = (&wanted.path, &top)
            && !is_file
            && self.options.filter.takes_directories()
        {
            let directory = Metadata::plain(Kind::Directory);
            let (from, to) = (path.clone(), top.clone());
            items.push(Item::new(from, to, 0, directory, Vec::new()));
        }
        let place = |base: &Option<RemotePath>, below: &[u8]| match base {
            Some(base) if below.is_empty() => Ok(base.clone()),
            Some(base) => base.join(below),
            None => RemotePath::new(below),
        };
        for Entry {
            path: below,
            remote,
            target,
        } in listing.entries
        {
            if !self.takes(wanted.path.as_ref(), &below, remote.metadata.kind) {
                continue;
            }
            match (place(&wanted.path, &below), place(&top, &below)) {
                (Ok(from), Ok(to)) => {
                    items.push(Item::new(from, to, remote.size, remote.metadata, target));
                }
                (Ok(_), Err(_)) if top.is_none() && below.starts_with(b".") => {
                    self.failures.push((printable(&below), wanted.hidden()));
                }
                (Err(e), _) | (_, Err(e)) => {
                    self.failures.push((printable(&below), e.to_string()));
                }
            }
        }
    }

    /// Whether the filter takes what the server has at a path below a requested one.
    fn takes(&self, base: Option<&RemotePath>, below: &[u8], kind: Kind) -> bool {
        let filter = &self.options.filter;
        let path = match (below.is_empty(), base) {
            (true, Some(file)) => Path::new(file.file_name()),
            _ => Path::new(OsStr::from_bytes(below)),
        };
        let enters = path.ancestors().skip(1).all(|above| filter.enters(above));
        enters
            && match kind {
                Kind::Directory => filter.takes_directories() && filter.enters(path),
                _ => filter.takes_file(path),
            }
    }

    /// Removes here what the server's directories do not have, if that is wanted.
    async fn mirror(&mut self) -> Result<(), Error> {
        let Some(options) = self.options.delete else {
            return Ok(());
        };
        if !self.failures.is_empty() {
            let (count, done) = (self.failures.len(), "listed or stored");
            return Err(Error::could_not(count, done));
        }
        let items = self.items.as_deref().unwrap_or_default();
        let present = items.iter().map(|item| item.local.as_bytes().to_vec());
        let (present, roots) = (present.collect(), self.roots.clone());
        let (storage, filter) = (self.storage.clone(), self.options.filter.clone());
        let (dry_run, counts) = (self.options.dry_run, Arc::clone(&self.counts));
        let mirroring = blocking(move || {
            let mut mirror = Mirror::new(options, &filter, &present);
            for root in &roots {
                let mut listing = Listing::default();
                // A dry run has not created it.
                let Some(storage) = &storage else { continue };
                match storage.lister(root.as_ref(), true) {
                    Err(Error::Refused(refusal)) if refusal.reason == Reason::Missing => {}
                    Err(error) => return Err(error.here()),
                    Ok(mut lister) => {
                        while let Some(found) = lister.next().map_err(Error::here)? {
                            match found {
                                Listed::Entry(entry) => listing.entries.push(entry),
                                Listed::Unread(unread) => listing.unread.push(unread),
                            }
                        }
                    }
                }
                mirror.add(root.as_ref(), &listing)?;
            }
            let plan = mirror.plan()?;
            let (mut removed, mut failures) = (Vec::new(), Vec::new());
            for path in plan {
                match &storage {
                    Some(storage) if !dry_run => match storage.remove(&path, false, &mut 0) {
                        Ok(_) => {
                            counts.news.removed(path.to_string());
                            removed.push(path.to_string());
                        }
                        Err(error) => failures.push((path.to_string(), error.here().to_string())),
                    },
                    _ => removed.push(path.to_string()),
                }
            }
            Ok::<_, Error>((removed, failures))
        });
        let (removed, mut failures) = mirroring.await?;
        self.removed = removed.len() as u64;
        self.failures.append(&mut failures);
        if dry_run {
            self.would_remove = removed;
        }
        Ok(())
    }

    /// Gets all files, several at once.
    async fn files(&mut self, session: &ClientSession, routes: &Routes) -> Result<(), Error> {
        let items = self.items.as_deref_mut().unwrap_or_default();
        let mut directories = Directories::new();
        let mut waiting = Vec::new();
        // What the files take beside those that they replace, bytes.
        let mut growth = 0u64;
        for (number, item) in items.iter_mut().enumerate().rev() {
            if item.done || item.metadata.kind != Kind::File {
                continue;
            }
            let find = |storage: &Storage| storage.find(&item.local, &mut directories).ok()?;
            let there = self.storage.as_ref().and_then(find);
            if there.is_some_and(|found| {
                found.kind == Kind::File
                    && found.size == item.size
                    && item.metadata.modified == Some(found.modified)
            }) {
                item.done = true;
                self.counts.news.unchanged(1);
                self.counts.was_here(item);
                continue;
            }
            let replaced = there.map_or(0, |found| found.size);
            growth = growth.saturating_add(item.size.saturating_sub(replaced));
            waiting.push((number, item.clone()));
        }
        if let Some(storage) = &self.storage {
            let growth = growth.saturating_sub(storage.partial_bytes());
            if growth > 0 {
                storage.check_space(growth).map_err(Error::here)?;
            }
        }
        if self.options.dry_run {
            let waiting = waiting.iter().rev();
            self.would_get = waiting.map(|(_, item)| item.local.to_string()).collect();
            return Ok(());
        }
        // Only a dry run may have none.
        let Some(storage) = &self.storage else {
            return Ok(());
        };
        if waiting.len() < items.len() {
            let storage = storage.clone();
            let flushed = blocking(move || storage.flush()).await;
            flushed.map_err(Error::here)?;
        }
        // One small file alone is as fast on its own.
        let is_small = |(_, item): &(usize, Item)| item.size <= SMALL;
        let (mut small, mut waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_small);
        if small.len() < 2 {
            waiting.append(&mut small);
        }
        small.reverse();
        let (counts, pace) = (&self.counts, &self.pace);
        let get_one = |(number, item): (usize, Item)| async move {
            (
                number,
                get_file(session, routes, storage, counts, pace.as_ref(), &item).await,
            )
        };
        let mut running = FuturesUnordered::new();
        let (got, mut packed) = mpsc::unbounded_channel();
        let packs = get_small(
            session,
            routes,
            storage,
            counts,
            (small, pace.clone()),
            move |number, what| {
                got.send((number, what)).ok();
            },
        );
        tokio::pin!(packs);
        let mut packs_end = false;
        loop {
            while running.len() < AT_ONCE
                && let Some(next) = waiting.pop()
            {
                running.push(get_one(next));
            }
            let (number, result) = tokio::select! {
                biased;
                Some((number, got)) = packed.recv() => match got {
                    Got::Stored => (number, Ok(())),
                    Got::Failed(error) => (number, Err(error)),
                    Got::Alone => {
                        waiting.push((number, items[number].clone()));
                        continue;
                    }
                },
                Some((number, result)) = running.next() => (number, result),
                result = &mut packs, if !packs_end => {
                    packs_end = true;
                    match result {
                        Ok(()) => continue,
                        Err(error) => return Err(error),
                    }
                }
                else => return Ok(()),
            };
            match result {
                Ok(()) => {
                    items[number].done = true;
                    counts.news.stored(items[number].local.to_string());
                }
                Err(error) if concerns_all(&error) => return Err(error),
                Err(error) => {
                    (items[number].done, items[number].failed) = (true, true);
                    let failure = (items[number].local.to_string(), error.to_string());
                    self.failures.push(failure);
                }
            }
        }
    }

    /// Creates directories and links; a directory's time is set when its files are there.
    async fn others(&mut self) -> Result<(), Error> {
        if self.options.dry_run {
            return Ok(());
        }
        let items = self.items.iter().flatten();
        let others: Vec<Item> = items
            .rev()
            .filter(|item| !item.done && is_other(item))
            .cloned()
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        let Some(storage) = self.storage.clone() else {
            return Ok(());
        };
        let created = blocking(move || {
            let stage = storage.stage().map_err(Error::here)?;
            let mut failures = Vec::new();
            for item in others {
                let entry = PackEntry {
                    path: Vec::new(),
                    metadata: item.metadata,
                    content: item.target.into(),
                };
                let written = stage.write(&item.local, &entry, &mut Directories::new());
                if let Err(error) = written {
                    failures.push((item.local.to_string(), error.here().to_string()));
                }
            }
            Ok::<_, Error>(failures)
        });
        let mut failures = created.await?;
        self.failures.append(&mut failures);
        let items = self.items.iter_mut().flatten();
        items
            .filter(|item| is_other(item))
            .for_each(|item| item.done = true);
        Ok(())
    }
}

/// Whether it is created when all files are there.
fn is_other(item: &Item) -> bool {
    matches!(item.metadata.kind, Kind::Directory | Kind::Link)
}

/// Whether an error of one file ends the whole transfer.
fn concerns_all(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) | Error::Here(refusal) => matches!(
            refusal.reason,
            Reason::DiskFull | Reason::Rights | Reason::Stopping | Reason::Busy
        ),
        Error::File { .. } | Error::Changed(_) => false,
        _ => true,
    }
}

/// Gets one file.
async fn get_file(
    session: &ClientSession,
    routes: &Routes,
    storage: &Storage,
    counts: &Arc<Counts>,
    pace: Option<&Arc<Pace>>,
    item: &Item,
) -> Result<(), Error> {
    let mut changes = 0;
    loop {
        match once(session, routes, storage, counts, pace, item).await {
            Err(Error::Refused(refusal))
                if refusal.reason == Reason::Changed && changes < CHANGES =>
            {
                changes += 1;
            }
            result => return result,
        }
    }
}

async fn once(
    session: &ClientSession,
    routes: &Routes,
    storage: &Storage,
    counts: &Arc<Counts>,
    pace: Option<&Arc<Pace>>,
    item: &Item,
) -> Result<(), Error> {
    let path = item.remote.as_bytes().to_vec();
    let request = Message::Get { path };
    let (mut send, mut receive) = framing::request(&session.connection, &request).await?;
    let streams = (&mut send, &mut receive);
    let result = exchange(session, routes, storage, counts, (pace, item), streams).await;
    if let Err(Error::Here(_) | Error::File { .. }) = &result {
        // Without a word the server would take the end of the stream for a violation of the
        // protocol, and close the connection with all other files on it.
        let refusal = Refusal::new(Reason::Cancelled, "the client cannot store the file");
        framing::write(&mut send, &Message::Refused(refusal))
            .await
            .ok();
    }
    if result.is_ok() {
        counts.confirmed(receive);
    }
    result
}

async fn exchange(
    session: &ClientSession,
    routes: &Routes,
    storage: &Storage,
    counts: &Arc<Counts>,
    (pace, item): (Option<&Arc<Pace>>, &Item),
    (send, receive): (&mut SendStream, &mut RecvStream),
) -> Result<(), Error> {
    let put = loop {
        match framing::read(receive).await? {
            Message::Queued { position } => session.queued.store(position, Ordering::Relaxed),
            Message::Put(put) => break put,
            other => return Err(framing::unexpected(other)),
        }
    };
    let size = put
        .size
        .ok_or_else(|| Error::Protocol("a file without a size".to_owned()))?;
    if let Some(found) = storage.look_up(&item.local).map_err(Error::here)? {
        if found.kind == Kind::File && found.size == size {
            framing::write(send, &Message::Present).await?;
            let finish = match framing::read(receive).await? {
                Message::Finish(finish) => finish,
                other => return Err(framing::unexpected(other)),
            };
            let (storage, local, cancel) = (storage.clone(), item.local.clone(), Cancel::default());
            let _end = cancel.on_drop();
            let comparing = move || storage.has(&local, size, finish.hash, &cancel);
            let compared = session.turns.hash(comparing).await;
            if compared.map_err(Error::here)? {
                counts.was_here(item);
                return confirm(send, size, finish.hash).await;
            }
        }
        if found.kind != Kind::File || !storage.overwrites() {
            return Err(storage.exists_error(&item.local).here());
        }
    }
    let paced = (pace, item);
    let shared = (routes, &session.turns);
    receive_file(shared, storage, counts, paced, (put, size), send, receive).await
}

async fn receive_file(
    (routes, turns): (&Routes, &Turns),
    storage: &Storage,
    counts: &Arc<Counts>,
    (pace, item): (Option<&Arc<Pace>>, &Item),
    (put, size): (Put, u64),
    send: &mut SendStream,
    receive: &mut RecvStream,
) -> Result<(), Error> {
    let partial = match storage.partial(OWNER, &item.local).map_err(Error::here)? {
        Lock::Ours(partial) => Arc::new(partial),
        Lock::Taken => return Err(busy(&item.local).here()),
    };
    partial.set_len(size)?;
    let have = partial.have()?;
    let there = have.bytes();
    // What an earlier connection of this request has brought was not there before it.
    let before = there.saturating_sub(item.arrived());
    if let Err(error) = storage.check_space(size - there.min(size)) {
        if there == 0 {
            partial.remove();
        }
        return Err(error.here());
    }
    let (route, streams) = routes.open(usize::MAX).ok_or(Error::Stopped)?;
    let accepted = Message::Accepted {
        transfer: route.transfer,
        have: have.iter().map(|range| (range.start, range.end)).collect(),
    };
    framing::write(send, &accepted).await?;
    let receiver = Receiver {
        partial: Arc::clone(&partial),
        turns: turns.clone(),
        size: Some(size),
        max_size: size,
        received: Arc::default(),
        stall: STALL,
        pace: pace.cloned(),
        grow: Box::new(|_| Ok(())),
        others_wait: Box::new(|| false),
    };
    let received = Arc::clone(&receiver.received);
    let mut running = Box::pin(receiver.run(send, receive, streams));
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let mut counted = 0;
    let result = loop {
        let done = tokio::select! {
            result = &mut running => Some(result),
            _ = ticks.tick() => None,
        };
        let now = received.load(Ordering::Relaxed);
        counts.received(item, now - counted);
        counted = now;
        if let Some(result) = done {
            break result.map_err(own)?;
        }
    };
    drop(running);
    counts.is_here(item, before);
    let local = item.local.clone();
    let stored = blocking(move || partial.store(&local, &put.metadata));
    stored.await.map_err(Error::here)?;
    confirm(send, result.size, result.hash).await
}

/// Of what ends the reception of a file, a full disk and a wrong hash are found here.
fn own(error: Error) -> Error {
    match &error {
        Error::Refused(refusal) if matches!(refusal.reason, Reason::DiskFull | Reason::Corrupt) => {
            error.here()
        }
        _ => error,
    }
}

/// Tells the server that the file is here.
async fn confirm(send: &mut SendStream, bytes: u64, hash: blake3::Hash) -> Result<(), Error> {
    framing::write(send, &Message::Stored { bytes, hash }).await?;
    send.finish().ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_file_here_is_not_said_to_be_the_servers() {
        for (reason, is_own) in [
            (Reason::DiskFull, true),
            (Reason::Corrupt, true),
            (Reason::Stalled, false),
        ] {
            let error = own(Error::refused(reason, "a text"));
            assert_eq!(matches!(error, Error::Here(_)), is_own, "{error:?}");
        }
    }
}
