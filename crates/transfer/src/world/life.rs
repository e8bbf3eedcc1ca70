//! A life: clients that send files to a server, what happens to them, and what must hold.

use super::network::{self, HOST, Host};
use super::system;
use crate::client::{
    ClientOptions, Outcome, Report, Retry, SendOptions, SendSource, ServerAddress, transfer,
};
use crate::connection::over_tcp::TransportChoice;
use crate::credentials::identity::Identity;
use crate::defaults::default_controller;
use crate::scratch_directory::ScratchDirectory;
use crate::server::users::{Rights, User, Users};
use crate::server::{Limits, ServeOptions, Server};
use crate::storage::KeepFree;
use crate::storage::world::calls::{self, Fault, World};
use crate::storage::world::disk::{Disk, Order};
use crate::storage::world::random::Random;
use crate::token::Token;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::task::{AbortHandle, JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, interval, sleep};
use whimbrel_cc::fairness::Priority;
use whimbrel_net::{Delay, LinkSpec, LossSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration as Span, Probability, Rate};

/// The host of the server; those of the clients follow.
pub(super) const SERVER: Host = 0;
const PORT: u16 = 4433;
/// Users, among whom the clients are divided. Each has a directory.
const USERS: usize = 2;
/// Transfers at once; the others wait in the queue.
const PLACES: usize = 2;
/// How often something may happen.
const TICK: Duration = Duration::from_millis(50);
/// In a fair world all transfers end within this time.
const FAIR: Duration = Duration::from_secs(900);
/// The world is unfair for at most this time.
const UNFAIR: Duration = Duration::from_secs(1800);

/// What happens beside faults of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The server's process is killed.
    KillServer,
    /// The server's machine crashes.
    Crash,
    /// A client's process is killed.
    KillClient,
    /// Nothing reaches a host for a while.
    Outage,
    /// A client's address changes.
    Move,
    /// The links become other ones.
    Links,
}

impl Event {
    /// All of them, and their names.
    pub const ALL: [(Self, &str); 6] = [
        (Self::KillServer, "kill-server"),
        (Self::Crash, "crash"),
        (Self::KillClient, "kill-client"),
        (Self::Outage, "outage"),
        (Self::Move, "move"),
        (Self::Links, "links"),
    ];
}

/// What a life is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub seed: u64,
    pub clients: usize,
    /// Files that each client sends.
    pub files: u64,
    pub faults: Vec<Fault>,
    pub events: Vec<Event>,
}

/// What has happened in lives.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub simulated: Duration,
    pub stored: u64,
    pub events: u64,
    pub faults: u64,
    pub calls: u64,
    pub datagrams: u64,
    /// Of all datagrams.
    pub digest: u64,
}

/// A content, and its size, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Content(u64, u64);

impl Content {
    fn data(self) -> Vec<u8> {
        let mut data = vec![0; self.1 as usize];
        Random::new(self.0).fill(&mut data);
        data
    }
}

/// What may be at a path; `None` is nothing.
#[derive(Debug)]
struct Expected {
    sure: Option<Content>,
    later: BTreeSet<Content>,
}

/// What clients know, whatever happens to their processes.
struct State {
    random: Random,
    expected: BTreeMap<String, Expected>,
    /// Files that each client has stored, and the one that it is about to.
    done: Vec<u64>,
    current: Vec<Option<(String, Content)>>,
    stored: u64,
    /// The hashes of contents, and of which files one was seen last.
    hashes: BTreeMap<Content, blake3::Hash>,
    seen: BTreeMap<PathBuf, (Stamp, Content)>,
    /// Something that must not be.
    wrong: Option<String>,
}

/// What of a file changes when it is written: inode, length and the time of the last change. That
/// has the ticks of the system's clock, in which a simulated world goes on for long.
type Stamp = (u64, u64, i64, i64);

struct Life {
    plan: Plan,
    random: Random,
    scratch: ScratchDirectory,
    identity: Identity,
    /// Of the users.
    tokens: Vec<Token>,
    directories: u64,
    server: Option<JoinHandle<()>>,
    began: Instant,
    starts: Instant,
    clients: Vec<(Option<AbortHandle>, Instant)>,
    dark: Vec<(Host, Instant)>,
    state: Rc<RefCell<State>>,
    events: u64,
}

/// Lives a life in a thread and a runtime of its own. Returns what has happened, or what did not
/// hold.
pub(super) fn live(plan: &Plan) -> Result<Tally, String> {
    let lived = std::thread::scope(|scope| scope.spawn(|| live_here(plan)).join());
    lived.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

fn live_here(plan: &Plan) -> Result<Tally, String> {
    system::begin(plan.seed ^ 1 << 60);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|e| e.to_string())?;
    let lived = runtime.block_on(LocalSet::new().run_until(Life::live(plan)));
    drop(runtime);
    lived
}

fn link(random: &mut Random) -> LinkSpec {
    let rate = *random.one_of(&[2_000_000, 10_000_000, 50_000_000]);
    let delay = *random.one_of(&[1_000, 20_000, 100_000, 300_000]);
    let loss = *random.one_of(&[0.0, 0.001, 0.02, 0.1]);
    LinkSpec {
        service: ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(rate))),
        delay: Delay::constant(Duration::from_micros(delay).into()),
        queue: QueueLimit::Bytes(Bytes::new(200_000)),
        loss: LossSpec {
            random: Probability::new(loss).unwrap_or(Probability::ZERO),
            ..LossSpec::default()
        },
        ..LinkSpec::default()
    }
}

impl Life {
    async fn live(plan: &Plan) -> Result<Tally, String> {
        let mut random = Random::new(plan.seed);
        let scratch = ScratchDirectory::in_memory();
        let directory = scratch.subdirectory("0");
        let order = *random.one_of(&[Order::Journal, Order::None]);
        let identity = Identity::load_or_create(&scratch.path().join("identity"));
        let tokens = (0..USERS).map(|_| Token::random());
        calls::replace(Some(World {
            disk: Disk::new(order, &directory),
            random: Random::new(plan.seed ^ 1 << 62),
            faults: plan.faults.clone(),
            every: 20 + random.below(300),
            next: VecDeque::new(),
            planted: None,
            flushes: 0,
            late: Vec::new(),
            dead: false,
            calls: 0,
            happened: 0,
        }));
        network::begin(plan.seed, 1 + plan.clients, link(&mut random));
        let now = Instant::now();
        let state = State {
            random: Random::new(plan.seed ^ 1 << 61),
            expected: BTreeMap::new(),
            done: vec![0; plan.clients],
            current: vec![None; plan.clients],
            stored: 0,
            hashes: BTreeMap::new(),
            seen: BTreeMap::new(),
            wrong: None,
        };
        let mut life = Self {
            plan: plan.clone(),
            random,
            scratch,
            identity: identity.map_err(|e| e.to_string())?,
            tokens: tokens
                .collect::<Result<_, _>>()
                .map_err(|e| e.to_string())?,
            directories: 0,
            server: None,
            began: now,
            starts: now,
            clients: (0..plan.clients).map(|_| (None, now)).collect(),
            dark: Vec::new(),
            state: Rc::new(RefCell::new(state)),
            events: 0,
        };
        let lived = life.lives().await;
        life.end();
        let (calls, faults) = calls::with(|w| (w.calls, w.happened)).unwrap_or_default();
        let (datagrams, digest) = network::sent();
        lived.map(|()| Tally {
            simulated: now.elapsed(),
            stored: life.state.borrow().stored,
            events: life.events,
            faults,
            calls,
            datagrams,
            digest,
        })
    }

    fn end(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
        }
        for (client, _) in &mut self.clients {
            if let Some(client) = client.take() {
                client.abort();
            }
        }
    }

    async fn lives(&mut self) -> Result<(), String> {
        let mut ticks = interval(TICK);
        let began = Instant::now();
        while !self.all_done() && began.elapsed() < UNFAIR {
            ticks.tick().await;
            self.step(true)?;
        }
        // The world is fair again: every transfer ends.
        calls::with(|world| world.faults.clear());
        self.dark
            .drain(..)
            .for_each(|(host, _)| network::set_dark(host, false));
        let began = Instant::now();
        while !self.all_done() {
            ticks.tick().await;
            self.step(false)?;
            if began.elapsed() > FAIR {
                let state = self.state.borrow();
                return Err(format!(
                    "in a fair world a wait does not end: {:?}",
                    state.current
                ));
            }
        }
        self.crash()?;
        self.check("after the last crash", true)
    }

    fn all_done(&self) -> bool {
        let state = self.state.borrow();
        state.done.iter().all(|done| *done >= self.plan.files)
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path().join(self.directories.to_string())
    }

    /// What happens in a tick.
    fn step(&mut self, unfair: bool) -> Result<(), String> {
        let now = Instant::now();
        system::pass(now - self.began);
        if calls::with(|world| world.dead) == Some(true) && self.server.is_some() {
            // It died in a call.
            match self.is_on(Event::Crash) && self.random.once_in(2) {
                true => self.crash()?,
                false => self.kill_server(),
            }
        }
        if self.server.is_none() && now >= self.starts {
            self.start_server();
        }
        for client in 0..self.plan.clients {
            let (running, starts) = &self.clients[client];
            let over = running.as_ref().is_none_or(AbortHandle::is_finished);
            let more = self.state.borrow().done[client] < self.plan.files;
            if over && more && now >= *starts {
                self.start_client(client);
            }
        }
        let (lit, dark): (Vec<_>, Vec<_>) =
            self.dark.drain(..).partition(|(_, until)| now >= *until);
        self.dark = dark;
        lit.iter()
            .for_each(|(host, _)| network::set_dark(*host, false));
        if unfair && self.random.once_in(100) && !self.plan.events.is_empty() {
            self.events += 1;
            let event = *self.random.one_of(&self.plan.events);
            self.happen(event)?;
            self.check(&format!("after {event:?}"), true)?;
        }
        if self.random.once_in(20) {
            self.check("at some time", false)?;
        }
        match self.state.borrow_mut().wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }

    fn is_on(&self, event: Event) -> bool {
        self.plan.events.contains(&event)
    }

    fn soon(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(self.random.below(5000))
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        let client = self.random.below(self.plan.clients as u64) as usize;
        match event {
            Event::KillServer => self.kill_server(),
            Event::Crash => self.crash()?,
            Event::KillClient => {
                network::kill(1 + client);
                let starts = self.soon();
                if let (Some(running), _) = &self.clients[client] {
                    running.abort();
                }
                self.clients[client] = (None, starts);
            }
            Event::Outage => {
                let host = self.random.below(1 + self.plan.clients as u64) as usize;
                let long = *self.random.one_of(&[300, 3_000, 30_000, 120_000]);
                network::set_dark(host, true);
                self.dark
                    .push((host, Instant::now() + Duration::from_millis(long)));
            }
            Event::Move => network::move_host(1 + client),
            Event::Links => network::set_links(link(&mut self.random)),
        }
        Ok(())
    }

    fn start_server(&mut self) {
        calls::with(|world| world.dead = false);
        let listen = SocketAddr::new(network::address_of(SERVER), PORT);
        let options = ServeOptions {
            overwrite: true,
            tcp: false,
            keep_free: KeepFree::Bytes(Bytes::new(0)),
            // The time of day is far ahead of that of the files.
            keep_partial: Span::from_secs(1 << 32),
            users: Some(Users::new((0..USERS).map(|user| self.user(user)))),
            limits: Limits {
                connections: PLACES,
                ..Limits::default()
            },
            ..ServeOptions::new(self.directory(), listen)
        };
        // A start without faults: a server that does not start is started again.
        let faults = calls::with(|world| std::mem::take(&mut world.faults));
        let bound = HOST.sync_scope(SERVER, || Server::bind(options, &self.identity));
        calls::with(|world| world.faults = faults.unwrap_or_default());
        match bound {
            Ok(server) => {
                let serving = async move { server.run(|_| (), pending()).await };
                self.server = Some(tokio::spawn(HOST.scope(SERVER, serving)));
            }
            Err(error) => {
                self.state.borrow_mut().wrong = Some(format!("the server does not start: {error}"));
            }
        }
    }

    fn user(&self, number: usize) -> User {
        let write = Rights {
            write: true,
            ..Rights::default()
        };
        User {
            name: format!("user-{number}"),
            directory: format!("u{number}").into(),
            ..User::owner(&self.tokens[number], write, Priority::HIGHEST)
        }
    }

    fn kill_server(&mut self) {
        // Nothing that it has begun goes on.
        calls::with(|world| world.dead = true);
        network::kill(SERVER);
        if let Some(server) = self.server.take() {
            server.abort();
        }
        self.starts = self.soon();
    }

    fn crash(&mut self) -> Result<(), String> {
        self.kill_server();
        std::fs::remove_dir_all(self.directory()).map_err(|e| e.to_string())?;
        self.directories += 1;
        let directory = self.directory();
        std::fs::create_dir(&directory).map_err(|e| e.to_string())?;
        let crashed = calls::with(|world| world.disk.crash(&directory, &mut world.random));
        crashed.unwrap_or(Ok(())).map_err(|e| e.to_string())
    }

    fn start_client(&mut self, client: usize) {
        let work = Client {
            number: client,
            files: self.plan.files,
            folder: self.scratch.subdirectory(&format!("client-{client}")),
            identity: (
                self.tokens[client % USERS].clone(),
                self.identity.fingerprint(),
            ),
            state: Rc::clone(&self.state),
        };
        let running = spawn_local(HOST.scope(1 + client, work.run()));
        self.clients[client] = (Some(running.abort_handle()), Instant::now());
    }

    /// What must hold at all times. With `all` also files are read again that have not changed.
    fn check(&self, when: &str, all: bool) -> Result<(), String> {
        let state = &mut *self.state.borrow_mut();
        let directory = self.directory();
        for (path, expected) in &state.expected {
            let mut possible = expected.sure.iter().chain(&expected.later);
            let whole = directory.join(path);
            let stamp = match std::fs::metadata(&whole) {
                Ok(m) => (m.ino(), m.len(), m.ctime(), m.ctime_nsec()),
                Err(_) if expected.sure.is_none() => continue,
                Err(error) => return Err(format!("{when}: `{path}`: {error}; {expected:?}")),
            };
            let seen = state
                .seen
                .get(&whole)
                .filter(|(then, _)| !all && *then == stamp);
            let found = match seen {
                Some((_, content)) => possible.find(|c| *c == content),
                None => {
                    let found = std::fs::read(&whole).map_err(|e| format!("`{path}`: {e}"))?;
                    let hash = blake3::hash(&found);
                    possible.find(|c| c.1 == stamp.1 && state.hashes.get(c) == Some(&hash))
                }
            };
            let Some(content) = found else {
                let length = stamp.1;
                return Err(format!(
                    "{when}: `{path}` has {length} bytes that nobody stored: {expected:?}"
                ));
            };
            state.seen.insert(whole, (stamp, *content));
        }
        visible(&directory, "", &state.expected).map_err(|e| format!("{when}: {e}"))
    }
}

/// Nothing is visible but what clients send.
fn visible(
    directory: &Path,
    above: &str,
    expected: &BTreeMap<String, Expected>,
) -> Result<(), String> {
    for entry in directory.read_dir().map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{above}{name}");
        if name.starts_with(".whimbrel-") {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            visible(&entry.path(), &format!("{path}/"), expected)?;
        } else if !expected.contains_key(&path) {
            return Err(format!("`{path}` is visible"));
        }
    }
    Ok(())
}

/// A client's process.
struct Client {
    number: usize,
    files: u64,
    folder: PathBuf,
    identity: (Token, crate::fingerprint::Fingerprint),
    state: Rc<RefCell<State>>,
}

impl Client {
    async fn run(self) {
        while self.state.borrow().done[self.number] < self.files {
            let (path, content) = self.next();
            let source = self.folder.join("source");
            if let Err(error) = write(&source, content) {
                self.state.borrow_mut().wrong = Some(error.to_string());
                return;
            }
            let new = self.expect(&path).insert(content);
            let report = transfer(self.options(&path, source), |_| (), pending()).await;
            if !self.ended(&path, content, new, &report) {
                // Its user tries again.
                sleep(Duration::from_secs(1)).await;
            }
        }
    }

    /// What a transfer says counts from now on. Returns whether the file is stored.
    fn ended(&self, path: &str, content: Content, new: bool, report: &Report) -> bool {
        let mut state = self.state.borrow_mut();
        let Some(expected) = state.expected.get_mut(path) else {
            return false;
        };
        match (&report.outcome, &report.result) {
            (Outcome::Stored, _) => {
                *expected = Expected {
                    sure: Some(content),
                    later: BTreeSet::new(),
                };
                state.stored += 1;
                state.done[self.number] += 1;
                state.current[self.number] = None;
                return true;
            }
            (Outcome::NotStored, Err(_)) if new => drop(expected.later.remove(&content)),
            (_, Err(_)) => {}
            (_, Ok(_)) => state.wrong = Some("a transfer ends without a word".to_owned()),
        }
        false
    }

    /// What to send: what a process before this one had begun, or something new.
    fn next(&self) -> (String, Content) {
        let mut state = self.state.borrow_mut();
        if let Some(current) = &state.current[self.number] {
            return current.clone();
        }
        let number = self.number;
        let path = *state.random.one_of(&["a", "b", "d/a"]);
        let most = *state.random.one_of(&[1, 5_000, 300_000, 3_000_000]);
        let content = Content(state.random.below(u64::MAX), state.random.below(most));
        let hash = blake3::hash(&content.data());
        state.hashes.insert(content, hash);
        let next = (format!("u{}/{number}/{path}", number % USERS), content);
        state.current[number] = Some(next.clone());
        next
    }

    fn expect(&self, path: &str) -> std::cell::RefMut<'_, BTreeSet<Content>> {
        std::cell::RefMut::map(self.state.borrow_mut(), |state| {
            let expected = state.expected.entry(path.to_owned());
            let nothing = || Expected {
                sure: None,
                later: BTreeSet::new(),
            };
            &mut expected.or_insert_with(nothing).later
        })
    }

    fn options(&self, path: &str, source: PathBuf) -> SendOptions {
        let server = ServerAddress {
            host: network::address_of(SERVER).to_string(),
            port: PORT,
        };
        let (token, fingerprint) = self.identity.clone();
        let client = ClientOptions {
            fingerprint: Some(fingerprint),
            transport: TransportChoice::Quic,
            retry: Some(Retry {
                limit: None,
                from_start: true,
            }),
            ..ClientOptions::new(server, token, default_controller())
        };
        // The path below the user's directory.
        let name = path.split_once('/').map(|(_, below)| below.to_owned());
        SendOptions {
            name,
            ..SendOptions::new(client, SendSource::File(source))
        }
    }
}

/// Writes a source, which is old.
fn write(path: &Path, content: Content) -> std::io::Result<()> {
    std::fs::write(path, content.data())?;
    let file = std::fs::File::options().write(true).open(path)?;
    file.set_modified(UNIX_EPOCH + Duration::from_secs(content.0 % 1_000_000_000))
}
