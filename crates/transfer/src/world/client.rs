//! A client of a life: what it does, and what it knows.

use crate::client::{
    ClientOptions, DeleteOptions, GetOptions, ListOptions, Listing, Outcome, RemoveOptions, Report,
    Retry, SendOptions, SendSource, ServerAddress, TreeOptions, Update, get, list, remove,
    send_tree, transfer,
};
use crate::connection::over_tcp::TransportChoice;
use crate::defaults::default_controller;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::path::RemotePath;
use crate::simulated::network::{self, PORT, SERVER};
use crate::simulated::random::Random;
use crate::token::Token;
use crate::wire::{Kind, Reason};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::future::pending;
use std::io::{Cursor, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::time::sleep;

/// Users, among whom the clients are divided. Each has a directory.
pub(super) const USERS: usize = 2;

/// What of a file changes when it is written: inode, length and the time of the last change. That
/// has the ticks of the system's clock, in which a simulated world goes on for long.
pub(super) type Stamp = (u64, u64, i64, i64);

/// Files of a directory that is sent, at most.
const FILES: u64 = 12;
/// A user tries again what failed after this time, or a busy one after at most twenty times that.
const AGAIN: Duration = Duration::from_secs(1);

/// A content, and its size, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Content(pub u64, pub u64);

impl Content {
    fn data(self) -> Vec<u8> {
        let mut data = vec![0; self.1 as usize];
        Random::new(self.0).fill(&mut data);
        data
    }

    /// Writes it to a file, which is old.
    fn write(self, path: &Path) -> std::io::Result<()> {
        let mut file = match fs::File::create(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Some(above) = path.parent() {
                    fs::create_dir_all(above)?;
                }
                fs::File::create(path)?
            }
            created => created?,
        };
        file.write_all(&self.data())?;
        file.set_modified(UNIX_EPOCH + Duration::from_secs(self.0 % 1_000_000_000))
    }
}

/// What may be at a path; `None` is nothing.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub sure: Option<Content>,
    pub later: BTreeSet<Content>,
    /// The server has confirmed to a client that it removed the file, and its machine has not
    /// crashed since. A crash may restore the file.
    pub gone: bool,
    /// What was there when it was last looked at.
    pub seen: Option<(Stamp, blake3::Hash)>,
}

impl Expected {
    /// The content is stored, and nothing else is there any more.
    fn stored(content: Content) -> Self {
        Self {
            sure: Some(content),
            ..Self::default()
        }
    }

    /// What may be there.
    pub fn possible(&self) -> impl Iterator<Item = &Content> {
        self.sure.iter().chain(&self.later)
    }
}

/// What a client does.
#[derive(Debug, Clone)]
pub(super) enum Job {
    /// It sends a file, or the same from its standard input.
    File {
        path: String,
        content: Content,
        stream: bool,
    },
    /// It sends a directory with these files, and removes what else is there or not.
    Tree {
        files: Vec<(String, Content)>,
        mirror: bool,
    },
    /// It gets all that it has stored.
    Get,
    /// It lists all that it has stored.
    List,
    /// It removes what is at this path and below it.
    Remove(String),
}

/// A removal that began after so many crashes.
#[derive(Clone, Copy)]
struct Doubt(u64);

/// Whether a path is this one or below it.
fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_missing(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::Refused(refusal)) if refusal.reason == Reason::Missing)
}

/// What clients know, whatever happens to their processes.
pub(super) struct State {
    random: Random,
    /// By path below the server's directory.
    pub expected: BTreeMap<String, Expected>,
    /// What each client has done, and what it is about to do.
    done: Vec<u64>,
    pub current: Vec<Option<Job>>,
    /// Why each client's last attempt failed, for whoever reads that one does not end.
    why: Vec<String>,
    /// Nobody begins anything any more.
    pub closing: bool,
    pub stored: u64,
    /// Files that clients have got.
    pub got: u64,
    /// Crashes of the server's machine.
    crashes: u64,
    /// The hashes of contents.
    pub hashes: BTreeMap<Content, blake3::Hash>,
    /// Something that must not be.
    pub wrong: Option<String>,
}

impl State {
    pub fn new(seed: u64, clients: usize) -> Self {
        Self {
            random: Random::new(seed),
            expected: BTreeMap::new(),
            done: vec![0; clients],
            current: vec![None; clients],
            why: vec![String::new(); clients],
            closing: false,
            stored: 0,
            got: 0,
            crashes: 0,
            hashes: BTreeMap::new(),
            wrong: None,
        }
    }

    /// Whether a client has something to do.
    pub fn goes_on(&self, client: usize, most: u64) -> bool {
        self.current[client].is_some() || !self.closing && self.done[client] < most
    }

    /// What does not end, and why.
    pub fn left(&self) -> String {
        let jobs = self.current.iter().zip(&self.why).enumerate();
        let left = jobs.filter_map(|(client, (job, why))| Some((client, job.as_ref()?, why)));
        let left = left.map(|(client, job, why)| format!("client {client}: {job:?}: {why}"));
        left.collect::<Vec<_>>().join("\n")
    }

    /// A new content, of at most so many bytes.
    fn content(&mut self, most: u64) -> Content {
        let content = Content(self.random.below(u64::MAX), self.random.below(most));
        let hash = blake3::hash(&content.data());
        self.hashes.insert(content, hash);
        content
    }

    /// From now on this may be at a path. Returns whether that is new.
    fn expect(&mut self, path: &str, content: Content) -> bool {
        let expected = self.expected.entry(path.to_owned()).or_default();
        expected.gone = false;
        expected.later.insert(content)
    }

    /// What is at a path and below it, apart from `files`.
    fn others<'a>(
        &'a mut self,
        above: &'a str,
        files: &'a [(String, Content)],
    ) -> impl Iterator<Item = &'a mut Expected> {
        let below = self.expected.iter_mut();
        let below = below.filter(move |(path, _)| is_below(path, above));
        let others = below.filter(|(path, _)| files.iter().all(|(file, _)| file != *path));
        others.map(|(_, expected)| expected)
    }

    /// A client begins to remove something: it may be there or not.
    fn doubt(&mut self, above: &str, files: &[(String, Content)]) -> Doubt {
        for expected in self.others(above, files) {
            expected.later.extend(expected.sure.take());
        }
        Doubt(self.crashes)
    }

    /// The server has confirmed a removal to a client. If the machine has crashed since the removal
    /// began, the crash may have restored the files.
    fn removed(&mut self, above: &str, files: &[(String, Content)], since: Doubt) {
        let gone = self.crashes == since.0;
        self.others(above, files)
            .for_each(|expected| expected.gone = gone);
    }

    /// The machine has crashed. Nobody has promised that what is removed stays removed.
    pub fn crashed(&mut self) {
        self.crashes += 1;
        self.expected.values_mut().for_each(|e| e.gone = false);
    }

    /// This is at a path for sure.
    fn store(&mut self, path: &str, content: Content) {
        let before = self
            .expected
            .insert(path.to_owned(), Expected::stored(content));
        self.stored += 1;
        // What nobody expects any more needs no hash.
        for gone in before.iter().flat_map(Expected::possible) {
            if *gone != content {
                self.hashes.remove(gone);
            }
        }
    }
}

/// Gives a directory, if there is one, a time that does not depend on the real clock.
fn date(directory: &Path) -> std::io::Result<()> {
    match fs::File::open(directory) {
        Ok(opened) => opened.set_modified(UNIX_EPOCH),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A client's process.
pub(super) struct Client {
    pub number: usize,
    pub files: u64,
    /// Whether its work has no end; its files are smaller then.
    pub busy: bool,
    /// Mean pause between two jobs. No pause is more than twice as long.
    pub pause: Duration,
    pub folder: PathBuf,
    pub identity: (Token, Fingerprint),
    pub state: Rc<RefCell<State>>,
}

impl Client {
    pub async fn run(self) {
        while self.state.borrow().goes_on(self.number, self.files) {
            let done = match self.next() {
                Job::File {
                    path,
                    content,
                    stream,
                } => self.file(&path, content, stream).await,
                Job::Tree { files, mirror } => self.tree(&files, mirror).await,
                Job::Get => self.get().await,
                Job::List => self.list().await,
                Job::Remove(path) => self.remove(&path).await,
            };
            let pause = match done {
                Ok(true) => {
                    let mut state = self.state.borrow_mut();
                    state.done[self.number] += 1;
                    state.current[self.number] = None;
                    let most = 2 * self.pause;
                    Duration::from_micros(state.random.below(most.as_micros() as u64))
                }
                // Its user tries again.
                Ok(false) if self.busy => {
                    let most = 20 * AGAIN.as_micros() as u64;
                    AGAIN + Duration::from_micros(self.state.borrow_mut().random.below(most))
                }
                Ok(false) => AGAIN,
                Err(wrong) => {
                    self.state.borrow_mut().wrong = Some(wrong);
                    return;
                }
            };
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    }

    /// What a transfer reports.
    fn hear(&self, update: &Update) {
        let why = match update {
            Update::Interrupted { reason, .. } => reason.clone(),
            Update::Queued(position) => format!("it is number {position} in the queue"),
            _ => return,
        };
        self.state.borrow_mut().why[self.number] = why;
    }

    /// Where the client's files are, below the server's directory.
    fn place(&self) -> String {
        format!("u{}/{}", self.number % USERS, self.number)
    }

    /// What a process before this one had begun, or something new.
    fn next(&self) -> Job {
        let state = &mut *self.state.borrow_mut();
        if let Some(current) = &state.current[self.number] {
            return current.clone();
        }
        let place = self.place();
        let job = match state.random.below(10) {
            0 => Job::Get,
            8 => Job::List,
            9 => Job::Remove(
                match *state.random.one_of(&["a", "b", "d/a", "d", "t", ""]) {
                    "" => place,
                    below => format!("{place}/{below}"),
                },
            ),
            1 | 2 => {
                let files = 1 + state.random.below(FILES);
                let file = |n: u64| {
                    let most = *state.random.one_of(&[1, 5_000, 20_000]);
                    // One is too large for a pack.
                    let most = if n == 7 { 400_000 } else { most };
                    let below = *state.random.one_of(&["", "d/", "d/e/"]);
                    (format!("{place}/t/{below}{n}"), state.content(most))
                };
                let files = (0..files).map(file).collect();
                let mirror = state.random.once_in(3);
                Job::Tree { files, mirror }
            }
            kind => {
                let path = *state.random.one_of(&["a", "b", "d/a"]);
                let sizes = match self.busy {
                    true => [1, 2_000, 20_000, 300_000],
                    false => [1, 5_000, 300_000, 3_000_000],
                };
                let most = *state.random.one_of(&sizes);
                Job::File {
                    path: format!("{place}/{path}"),
                    content: state.content(most),
                    stream: kind == 3,
                }
            }
        };
        state.current[self.number] = Some(job.clone());
        job
    }

    /// Sends a file. Returns whether it is stored.
    async fn file(&self, path: &str, content: Content, stream: bool) -> Result<bool, String> {
        let source = match stream {
            true => SendSource::stream(Cursor::new(content.data())),
            false => {
                let source = self.folder.join("source");
                content.write(&source).map_err(|e| e.to_string())?;
                SendSource::File(source)
            }
        };
        let new = self.state.borrow_mut().expect(path, content);
        // The path below the user's directory.
        let name = path.split_once('/').map(|(_, below)| below.to_owned());
        let options = SendOptions {
            name,
            ..SendOptions::new(self.options(), source)
        };
        let report = transfer(options, |update| self.hear(&update), pending()).await;
        self.ended(path, content, new, &report)
    }

    /// What a transfer says counts from now on.
    fn ended(
        &self,
        path: &str,
        content: Content,
        new: bool,
        report: &Report,
    ) -> Result<bool, String> {
        let mut state = self.state.borrow_mut();
        state.why[self.number] = format!("{:?}", report.result.as_ref().err());
        match (&report.outcome, &report.result) {
            (Outcome::Stored, _) => {
                state.store(path, content);
                return Ok(true);
            }
            (Outcome::NotStored, Err(_)) if new => {
                if let Some(expected) = state.expected.get_mut(path) {
                    expected.later.remove(&content);
                }
            }
            (_, Err(_)) => {}
            (_, Ok(_)) => return Err("a transfer ends without a word".to_owned()),
        }
        Ok(false)
    }

    /// Sends a directory. Returns whether all of it is stored.
    async fn tree(&self, files: &[(String, Content)], mirror: bool) -> Result<bool, String> {
        let folder = self.folder.join("tree");
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let tree = format!("{}/t", self.place());
        let above = format!("{tree}/");
        let doubt = match mirror {
            true => Some(self.begin_to_remove(&tree, files)?),
            false => None,
        };
        for (path, content) in files {
            let below = path.strip_prefix(&above).unwrap_or_default();
            let written = content.write(&folder.join(below));
            written.map_err(|e| e.to_string())?;
            self.state.borrow_mut().expect(path, *content);
        }
        for below in ["", "d", "d/e"] {
            date(&folder.join(below)).map_err(|e| e.to_string())?;
        }
        let directory = RemotePath::new(format!("{}/t", self.number)).map_err(|e| e.to_string())?;
        let options = TreeOptions {
            directory: Some(directory),
            delete: mirror.then(DeleteOptions::default),
            ..TreeOptions::new(self.options(), vec![folder.join("")])
        };
        let report = send_tree(options, |update| self.hear(&update), pending()).await;
        let mut state = self.state.borrow_mut();
        if report.outcome != Outcome::Stored {
            state.why[self.number] = format!("{:?} {:?}", report.error, report.failures);
            return Ok(false);
        }
        for (path, content) in files {
            state.store(path, *content);
        }
        if let Some(doubt) = doubt {
            state.removed(&tree, files, doubt);
        }
        if report.sent_files + report.unchanged_files != files.len() as u64 {
            return Err(format!("a tree of {} files: {report:?}", files.len()));
        }
        Ok(true)
    }

    /// From now on what is there may be removed. What the client has got before that is forgotten:
    /// what it has from now on was got later.
    fn begin_to_remove(&self, above: &str, files: &[(String, Content)]) -> Result<Doubt, String> {
        let doubt = self.state.borrow_mut().doubt(above, files);
        match fs::remove_dir_all(self.folder.join("got")) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(doubt),
        }
    }

    /// Removes what is at a path and below it. Returns whether it is gone.
    async fn remove(&self, path: &str) -> Result<bool, String> {
        let doubt = self.begin_to_remove(path, &[])?;
        let name = path.split_once('/').map_or("", |(_, below)| below);
        let options = RemoveOptions {
            client: self.options(),
            path: RemotePath::new(name).map_err(|e| e.to_string())?,
            recursive: true,
        };
        let removed = remove(options, pending()).await;
        let gone = removed.is_ok() || is_missing(removed.as_ref().err());
        let mut state = self.state.borrow_mut();
        state.why[self.number] = format!("{:?}", removed.err());
        if gone {
            state.removed(path, &[], doubt);
        }
        Ok(gone)
    }

    /// Lists what the server has of this client. Returns whether it did.
    async fn list(&self) -> Result<bool, String> {
        let path = RemotePath::new(self.number.to_string()).map_err(|e| e.to_string())?;
        let options = ListOptions {
            client: self.options(),
            path: Some(path),
            recursive: true,
        };
        let listing = match list(options, pending()).await {
            Ok(listing) => listing,
            // There may be nothing yet.
            Err(error) if is_missing(Some(&error)) => Listing::default(),
            Err(error) => {
                self.state.borrow_mut().why[self.number] = error.to_string();
                return Ok(false);
            }
        };
        if !listing.unread.is_empty() {
            return Err(format!("a listing has gaps: {:?}", listing.unread));
        }
        let place = self.place();
        let state = self.state.borrow();
        let files = listing.entries.iter();
        let files = files.filter(|entry| entry.remote.metadata.kind != Kind::Directory);
        let files: BTreeMap<_, _> = files
            .map(|entry| {
                let below = String::from_utf8_lossy(&entry.path);
                (format!("{place}/{below}"), entry.remote.size)
            })
            .collect();
        for (path, size) in &files {
            let expected = state.expected.get(path);
            let is_possible = |expected: &Expected| {
                !expected.gone && expected.possible().any(|content| content.1 == *size)
            };
            if !expected.is_some_and(is_possible) {
                return Err(format!(
                    "`{path}` is listed with {size} bytes: {expected:?}"
                ));
            }
        }
        let own = state.expected.iter().filter(|(p, _)| is_below(p, &place));
        let mut sure = own.filter(|(_, expected)| expected.sure.is_some());
        match sure.find(|(path, _)| !files.contains_key(*path)) {
            Some((path, _)) => Err(format!("`{path}` is stored and not listed")),
            None => Ok(true),
        }
    }

    /// Gets what the server has of this client. Returns whether all of it is here.
    async fn get(&self) -> Result<bool, String> {
        let folder = self.folder.join("got");
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let path = RemotePath::new(self.number.to_string()).map_err(|e| e.to_string())?;
        let options = GetOptions {
            overwrite: true,
            ..GetOptions::new(self.options(), vec![Some(path)], folder.clone())
        };
        let report = get(options, |update| self.hear(&update), pending()).await;
        let place = format!("{}/", self.place());
        let mut state = self.state.borrow_mut();
        state.why[self.number] = format!("{:?} {:?}", report.error, report.failures);
        let own: Vec<_> = state
            .expected
            .iter()
            .filter(|(path, _)| path.starts_with(&place))
            .collect();
        if report.outcome != Outcome::Stored {
            let missing = is_missing(report.error.as_ref());
            // There may be nothing yet.
            return Ok(missing && own.iter().all(|(_, expected)| expected.sure.is_none()));
        }
        let mut got = 0;
        for (path, expected) in own {
            let below = path.split_once('/').map_or("", |(_, below)| below);
            match fs::read(folder.join(below)) {
                Err(_) if expected.sure.is_none() => {}
                Err(error) => return Err(format!("`{path}` was got, and is not here: {error}")),
                Ok(found) => {
                    got += 1;
                    let hash = blake3::hash(&found);
                    let is_one = |c: &Content| state.hashes.get(c) == Some(&hash);
                    if !expected.possible().any(is_one) {
                        let length = found.len();
                        return Err(format!(
                            "`{path}` was got with {length} bytes that nobody stored: {expected:?}"
                        ));
                    }
                }
            }
        }
        state.got += got;
        Ok(true)
    }

    fn options(&self) -> ClientOptions {
        let (token, fingerprint) = self.identity.clone();
        ClientOptions {
            retry: Some(Retry {
                limit: None,
                from_start: true,
            }),
            ..to_server(token, fingerprint)
        }
    }
}

/// How a client of the world reaches its server; it tries once.
pub(super) fn to_server(token: Token, fingerprint: Fingerprint) -> ClientOptions {
    let server = ServerAddress {
        host: network::address_of(SERVER).to_string(),
        port: PORT,
    };
    ClientOptions {
        fingerprint: Some(fingerprint),
        transport: TransportChoice::Quic,
        ..ClientOptions::new(server, token, default_controller())
    }
}
