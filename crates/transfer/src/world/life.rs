//! A life: clients of a server, what happens to them, and what must hold.

use super::client::{Client, Content, Stamp, State, USERS};
use crate::credentials::identity::Identity;
use crate::scratch_directory::ScratchDirectory;
use crate::server::users::{Rights, User, Users};
use crate::server::{Limits, ServeOptions, Server};
use crate::simulated::calls::{self, Fault, World};
use crate::simulated::disk::{Disk, Order};
use crate::simulated::network::{self, HOST, Host, PORT, SERVER};
use crate::simulated::random::Random;
use crate::simulated::{panics, slow, system};
use crate::storage::KeepFree;
use crate::token::Token;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::net::SocketAddr;
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{AbortHandle, JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep_until};
use whimbrel_cc::fairness::Priority;
use whimbrel_net::{Delay, LinkSpec, LossSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration as Span, Probability, Rate};

/// Transfers at once; the others wait in the queue.
const PLACES: usize = 2;
/// How often the world is looked at.
const TICK: Duration = Duration::from_millis(250);
/// Time between two events, on average; and of a busy server.
const BETWEEN: Duration = Duration::from_secs(5);
const BETWEEN_BUSY: Duration = Duration::from_secs(60);
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
    /// The disk becomes slow, or fast.
    Slow,
}

impl Event {
    /// All of them, and their names.
    pub const ALL: [(Self, &str); 7] = [
        (Self::KillServer, "kill-server"),
        (Self::Crash, "crash"),
        (Self::KillClient, "kill-client"),
        (Self::Outage, "outage"),
        (Self::Move, "move"),
        (Self::Links, "links"),
        (Self::Slow, "slow"),
    ];
}

/// What a life is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub seed: u64,
    pub clients: usize,
    /// What each client does at most: files and directories that it sends or gets.
    pub files: u64,
    /// A busy server, for so many minutes: its clients pause between two jobs. 0: they do all that
    /// they have to do at once.
    pub minutes: u64,
    pub faults: Vec<Fault>,
    pub events: Vec<Event>,
}

/// What has happened in lives.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub simulated: Duration,
    /// CPU time that it took.
    pub cpu: Duration,
    pub stored: u64,
    /// Files that clients got.
    pub got: u64,
    pub events: u64,
    pub faults: u64,
    pub calls: u64,
    pub datagrams: u64,
    /// Of all datagrams.
    pub digest: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.simulated += other.simulated;
        self.cpu += other.cpu;
        self.stored += other.stored;
        self.got += other.got;
        self.events += other.events;
        self.faults += other.faults;
        self.calls += other.calls;
        self.datagrams += other.datagrams;
        self.digest = self.digest.rotate_left(1) ^ other.digest;
    }
}

/// As a line of numbers, which [`Tally::read`] reads.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (simulated, cpu) = (self.simulated.as_millis(), self.cpu.as_millis());
        write!(f, "{simulated} {cpu} {} {} ", self.stored, self.got)?;
        write!(f, "{} {} {} ", self.events, self.faults, self.calls)?;
        write!(f, "{} {}", self.datagrams, self.digest)
    }
}

impl Tally {
    /// What was printed, in whole milliseconds.
    pub fn read(line: &str) -> Self {
        let mut words = line.split(' ');
        let mut next = || {
            let word = words.next().and_then(|word| word.parse().ok());
            word.expect("nine numbers")
        };
        Self {
            simulated: Duration::from_millis(next()),
            cpu: Duration::from_millis(next()),
            stored: next(),
            got: next(),
            events: next(),
            faults: next(),
            calls: next(),
            datagrams: next(),
            digest: next(),
        }
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

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
    next_event: Instant,
    events: u64,
}

/// Lives a life in a thread and a runtime of its own. Returns what has happened, or what did not
/// hold.
pub(super) fn live(plan: &Plan) -> Result<Tally, String> {
    panics::as_errors(std::thread::scope(|scope| {
        scope.spawn(|| live_here(plan)).join()
    }))
}

fn live_here(plan: &Plan) -> Result<Tally, String> {
    system::begin(plan.seed ^ 1 << 60);
    panics::begin();
    // Without I/O: nothing waits for the system, and asking it again and again takes time.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    // Otherwise tokio counts the runtimes of the process, and which of several events that are due
    // at once is handled first depends on how many lives there were before.
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(
        &plan.seed.to_le_bytes(),
    ));
    let runtime = builder.build().map_err(|e| e.to_string())?;
    let lived = runtime.block_on(LocalSet::new().run_until(Life::live(plan)));
    drop(runtime);
    if let Some(panic) = panics::first() {
        return Err(panic);
    }
    lived.map(|tally| Tally {
        cpu: cpu_time(),
        ..tally
    })
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
        let disk = Disk::new(order, &directory);
        calls::replace(Some(World {
            faults: plan.faults.clone(),
            every: (20 + random.below(300)) * if plan.minutes > 0 { 20 } else { 1 },
            ..World::new(disk, Random::new(plan.seed ^ 1 << 62))
        }));
        network::begin(plan.seed, 1 + plan.clients, link(&mut random));
        let now = Instant::now();
        slow::begin(plan.seed ^ 1 << 59);
        let state = State::new(plan.seed ^ 1 << 61, plan.clients);
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
            next_event: now,
            events: 0,
        };
        let lived = life.lives().await;
        life.end();
        let (calls, faults) = calls::with(|w| (w.calls, w.happened)).unwrap_or_default();
        let (datagrams, digest) = network::sent();
        lived.map(|()| Tally {
            simulated: now.elapsed(),
            cpu: Duration::ZERO,
            stored: life.state.borrow().stored,
            got: life.state.borrow().got,
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
        let began = Instant::now();
        let unfair = match self.plan.minutes {
            0 => UNFAIR,
            minutes => Duration::from_secs(60 * minutes),
        };
        while !self.all_done() && began.elapsed() < unfair {
            self.pass().await;
            self.step(true)?;
        }
        // The world is fair again: every transfer ends.
        self.state.borrow_mut().closing = true;
        calls::with(|world| world.faults.clear());
        slow::set(Duration::ZERO);
        self.dark
            .drain(..)
            .for_each(|(host, _)| network::set_dark(host, false));
        let began = Instant::now();
        while !self.all_done() {
            self.pass().await;
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

    /// Lets time pass until something may happen.
    async fn pass(&self) {
        let now = Instant::now();
        let tick = now + TICK;
        let event = Some(self.next_event).filter(|event| *event > now);
        sleep_until(event.map_or(tick, |event| tick.min(event))).await;
    }

    fn all_done(&self) -> bool {
        let state = self.state.borrow();
        (0..self.plan.clients).all(|client| !state.goes_on(client, self.plan.files))
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
            let more = self.state.borrow().goes_on(client, self.plan.files);
            if over && more && now >= *starts {
                self.start_client(client);
            }
        }
        let (lit, dark): (Vec<_>, Vec<_>) =
            self.dark.drain(..).partition(|(_, until)| now >= *until);
        self.dark = dark;
        lit.iter()
            .for_each(|(host, _)| network::set_dark(*host, false));
        if unfair && now >= self.next_event && !self.plan.events.is_empty() {
            self.events += 1;
            let between = match self.plan.minutes {
                0 => BETWEEN,
                _ => BETWEEN_BUSY,
            };
            let wait = self.random.below(2 * between.as_micros() as u64);
            self.next_event = now + Duration::from_micros(wait);
            let event = *self.random.one_of(&self.plan.events);
            self.happen(event)?;
            // Other events leave the disk alone.
            let all = matches!(event, Event::KillServer | Event::Crash);
            self.check(&format!("after {event:?}"), all)?;
        }
        if self
            .random
            .once_in(if self.plan.minutes > 0 { 120 } else { 4 })
        {
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
            Event::Slow => {
                let most = *self.random.one_of(&[0, 0, 30, 300, 3_000]);
                slow::set(Duration::from_millis(most));
            }
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
        let rights = Rights {
            read: true,
            write: true,
            remove: false,
        };
        User {
            name: format!("user-{number}"),
            directory: format!("u{number}").into(),
            ..User::owner(&self.tokens[number], rights, Priority::HIGHEST)
        }
    }

    fn kill_server(&mut self) {
        // Nothing that it has begun goes on.
        calls::with(|world| world.dead = true);
        slow::end_all();
        network::kill(SERVER);
        if let Some(server) = self.server.take() {
            server.abort();
        }
        self.starts = self.soon();
    }

    fn crash(&mut self) -> Result<(), String> {
        self.kill_server();
        let before = self.directory();
        self.directories += 1;
        let directory = self.directory();
        std::fs::create_dir(&directory).map_err(|e| e.to_string())?;
        let crashed = calls::with(|world| world.disk.crash(&directory, &mut world.random));
        crashed.unwrap_or(Ok(())).map_err(|e| e.to_string())?;
        std::fs::remove_dir_all(before).map_err(|e| e.to_string())
    }

    fn start_client(&mut self, client: usize) {
        let work = Client {
            number: client,
            files: self.plan.files,
            busy: self.plan.minutes > 0,
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
        let mut visible = BTreeMap::new();
        look(&directory, "", &mut visible).map_err(|e| format!("{when}: {e}"))?;
        // Nothing is visible but what clients send.
        if let Some(path) = visible.keys().find(|p| !state.expected.contains_key(*p)) {
            return Err(format!("{when}: `{path}` is visible"));
        }
        for (path, expected) in &mut state.expected {
            let stamp = match visible.get(path) {
                Some(stamp) => *stamp,
                None if expected.sure.is_none() => continue,
                None => return Err(format!("{when}: `{path}` is not there; {expected:?}")),
            };
            let seen = expected.seen.filter(|(then, _)| !all && *then == stamp);
            let hash = match seen {
                Some((_, hash)) => hash,
                None => {
                    let found = std::fs::read(directory.join(path));
                    blake3::hash(&found.map_err(|e| format!("`{path}`: {e}"))?)
                }
            };
            let is_one = |c: &Content| c.1 == stamp.1 && state.hashes.get(c) == Some(&hash);
            if !expected.possible().any(is_one) {
                let length = stamp.1;
                return Err(format!(
                    "{when}: `{path}` has {length} bytes that nobody stored: {expected:?}"
                ));
            }
            expected.seen = Some((stamp, hash));
        }
        Ok(())
    }
}

/// What clients see in a directory and below it, apart from directories.
fn look(
    directory: &Path,
    above: &str,
    visible: &mut BTreeMap<String, Stamp>,
) -> Result<(), std::io::Error> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(".whimbrel-") {
            continue;
        }
        let path = format!("{above}{name}");
        if entry.file_type()?.is_dir() {
            look(&entry.path(), &format!("{path}/"), visible)?;
        } else {
            let m = entry.metadata()?;
            visible.insert(path, (m.ino(), m.len(), m.ctime(), m.ctime_nsec()));
        }
    }
    Ok(())
}
