//! A life: clients of a server, what happens to them, and what must hold.

use super::client::{Client, Content, Stamp, State, USERS};
use crate::credentials::identity::Identity;
use crate::fingerprint::Fingerprint;
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
use std::sync::Arc;
use std::time::{Duration, SystemTime};
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
/// A server forgets a client within this time after the idle timeout.
const FORGOTTEN: Duration = Duration::from_secs(60);
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
    /// The disk is full for a while.
    NoRoom,
    /// Packets above some size vanish from now on, or one in so many is doubled, late or damaged.
    Mangle,
    /// The endpoints of a host get no processor for a while, as of a machine that is suspended.
    Stall,
    /// The clock is set, perhaps wrongly.
    Clock,
    /// A user's token ends, or the user may do other things for a while.
    User,
}

impl Event {
    /// All of them, and their names.
    pub const ALL: [(Self, &str); 12] = [
        (Self::KillServer, "kill-server"),
        (Self::Crash, "crash"),
        (Self::KillClient, "kill-client"),
        (Self::Outage, "outage"),
        (Self::Move, "move"),
        (Self::Links, "links"),
        (Self::Slow, "slow"),
        (Self::NoRoom, "no-room"),
        (Self::Mangle, "mangle"),
        (Self::Stall, "stall"),
        (Self::Clock, "clock"),
        (Self::User, "user"),
    ];
}

/// What a life is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub seed: u64,
    pub clients: usize,
    /// What each client does at most: files and directories that it sends or gets.
    pub files: u64,
    /// A busy server, for so many minutes. 0: the clients do all that they have to do, and end.
    pub minutes: u64,
    /// Mean pause of a busy client between two jobs, seconds.
    pub pause: u64,
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
    fingerprint: Fingerprint,
    users: Vec<OneUser>,
    directories: u64,
    server: Option<(JoinHandle<()>, Arc<Server>)>,
    began: Instant,
    starts: Instant,
    clients: Vec<(Option<AbortHandle>, Instant)>,
    dark: Vec<(Host, Instant)>,
    stalled: Vec<(Host, Instant)>,
    has_room: Instant,
    state: Rc<RefCell<State>>,
    next_event: Instant,
    events: u64,
}

/// A user, and what the operator has changed for a while.
struct OneUser {
    token: Token,
    changed: Option<(Change, Instant)>,
}

/// What an operator changes of a user.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// The token ends then.
    Ends(SystemTime),
    /// The user may not store anything.
    ReadOnly,
    /// The user's files may take so many bytes.
    Quota(u64),
    /// The user's transfers come last.
    Last,
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

/// Removes the hosts for which something was to last until `now`, but not longer by another event.
fn ended(hosts: &mut Vec<(Host, Instant)>, now: Instant) -> Vec<Host> {
    let all = std::mem::take(hosts).into_iter();
    let (ended, left): (Vec<_>, Vec<_>) = all.partition(|(_, until)| now >= *until);
    let ended = ended.into_iter().map(|(host, _)| host);
    let ended = ended.filter(|host| left.iter().all(|(other, _)| other != host));
    let ended = ended.collect();
    *hosts = left;
    ended
}

impl Life {
    async fn live(plan: &Plan) -> Result<Tally, String> {
        let mut random = Random::new(plan.seed);
        let scratch = ScratchDirectory::in_memory();
        let directory = scratch.subdirectory("0");
        let order = *random.one_of(&[Order::Journal, Order::None]);
        let identity = Identity::load_or_create(&scratch.path().join("identity"));
        let identity = identity.map_err(|e| e.to_string())?;
        let mut users = Vec::new();
        for _ in 0..USERS {
            users.push(OneUser {
                token: Token::random().map_err(|e| e.to_string())?,
                changed: None,
            });
        }
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
            fingerprint: identity.fingerprint(),
            users,
            directories: 0,
            server: None,
            began: now,
            starts: now,
            clients: (0..plan.clients).map(|_| (None, now)).collect(),
            dark: Vec::new(),
            stalled: Vec::new(),
            has_room: now,
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
        if let Some((server, _)) = self.server.take() {
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
        let forever = Instant::now() + FAIR;
        self.recover(forever);
        network::set_largest(u32::MAX);
        network::set_mangles(0);
        system::set_wrong(0);
        let began = Instant::now();
        while !self.all_done() {
            self.pass().await;
            self.step(false)?;
            if began.elapsed() > FAIR {
                let left = self.state.borrow().left();
                return Err(format!("in a fair world a wait does not end: {left}"));
            }
        }
        self.check_idle().await?;
        self.crash()?;
        self.check("after the last crash", true)
    }

    /// Some time after the last client has ended, the server has nothing left of any.
    async fn check_idle(&mut self) -> Result<(), String> {
        let idle = Instant::now() + Duration::from(Limits::default().idle) + FORGOTTEN;
        while Instant::now() < idle || self.server.is_none() {
            self.pass().await;
            self.step(false)?;
        }
        let Some((_, server)) = &self.server else {
            return Ok(());
        };
        let (counts, transfers) = (server.counts(), server.receiving().transfers.len());
        if counts.clients + counts.strangers + transfers > 0 {
            return Err(format!(
                "the server keeps {transfers} transfers, {counts:?}"
            ));
        }
        Ok(())
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
        self.recover(now);
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

    /// Ends what was to last until `now`.
    fn recover(&mut self, now: Instant) {
        for host in ended(&mut self.dark, now) {
            network::set_dark(host, false);
        }
        for host in ended(&mut self.stalled, now) {
            network::set_stalled(host, false);
        }
        if now >= self.has_room {
            calls::with(|world| world.full = false);
        }
        let mut changed = false;
        for user in &mut self.users {
            if user.changed.is_some_and(|(_, until)| now >= until) {
                user.changed = None;
                changed = true;
            }
        }
        if changed {
            self.set_users();
        }
    }

    /// The operator tells the server who its users are.
    fn set_users(&self) {
        if let Some((_, server)) = &self.server {
            server.set_users(self.all_users());
        }
    }

    fn all_users(&self) -> Users {
        Users::new((0..USERS).map(|user| self.user(user)))
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
            Event::Move => network::move_host(1 + client, self.random.once_in(3)),
            Event::Links => network::set_links(link(&mut self.random)),
            Event::Slow => {
                let most = *self.random.one_of(&[0, 0, 30, 300, 3_000]);
                slow::set(Duration::from_millis(most));
            }
            Event::NoRoom => {
                self.has_room = self.until(&[1_000, 30_000, 300_000]);
                calls::with(|world| world.full = true);
            }
            Event::Mangle => {
                let largest = [u32::MAX, 9000, 1500, 1420, 1280];
                network::set_largest(*self.random.one_of(&largest));
                network::set_mangles(*self.random.one_of(&[0, 0, 10, 100, 1000]));
            }
            Event::Stall => {
                let host = self.random.below(1 + self.plan.clients as u64) as usize;
                let until = self.until(&[100, 1_000, 10_000, 120_000]);
                network::set_stalled(host, true);
                self.stalled.push((host, until));
            }
            Event::Clock => {
                let wrong = [0, 1, -1, 30, -30, 3600, -3600, 86_400 * 400];
                system::set_wrong(*self.random.one_of(&wrong));
                system::pass(Instant::now() - self.began);
            }
            Event::User => {
                let until = self.until(&[1_000, 10_000, 60_000]);
                let soon = Duration::from_millis(self.random.below(30_000));
                let change = match self.random.below(4) {
                    0 => Change::Ends(SystemTime::now() + soon),
                    1 => Change::ReadOnly,
                    2 => Change::Quota(*self.random.one_of(&[0, 100_000, 2_000_000])),
                    _ => Change::Last,
                };
                let user = self.random.below(USERS as u64) as usize;
                self.users[user].changed = Some((change, until));
                self.set_users();
            }
        }
        Ok(())
    }

    /// After one of these times, milliseconds.
    fn until(&mut self, after: &[u64]) -> Instant {
        Instant::now() + Duration::from_millis(*self.random.one_of(after))
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
            users: Some(self.all_users()),
            limits: Limits {
                connections: PLACES,
                ..Limits::default()
            },
            ..ServeOptions::new(self.directory(), listen)
        };
        // A start without faults: a server that does not start is started again.
        let faults = calls::with(|world| {
            let full = std::mem::take(&mut world.full);
            (std::mem::take(&mut world.faults), full)
        });
        // Its certificate is another one each time, of the same key.
        let identity = Identity::load_or_create(&self.scratch.path().join("identity"));
        let bound = identity
            .and_then(|identity| HOST.sync_scope(SERVER, || Server::bind(options, &identity)));
        let faults = faults.unwrap_or_default();
        calls::with(|world| (world.faults, world.full) = faults);
        match bound {
            Ok(server) => {
                let server = Arc::new(server);
                let running = Arc::clone(&server);
                let serving = async move { running.run(|_| (), pending()).await };
                let serving = tokio::spawn(HOST.scope(SERVER, serving));
                self.server = Some((serving, server));
            }
            Err(error) => {
                self.state.borrow_mut().wrong = Some(format!("the server does not start: {error}"));
            }
        }
    }

    fn user(&self, number: usize) -> User {
        let OneUser { token, changed } = &self.users[number];
        let rights = Rights {
            read: true,
            write: true,
            remove: true,
        };
        let mut user = User {
            name: format!("user-{number}"),
            directory: format!("u{number}").into(),
            ..User::owner(token, rights, Priority::HIGHEST)
        };
        match changed {
            None => {}
            Some((Change::Ends(end), _)) => user.expires = Some(*end),
            Some((Change::ReadOnly, _)) => user.rights.write = false,
            Some((Change::Quota(quota), _)) => user.quota = Some(*quota),
            Some((Change::Last, _)) => user.max_priority = Priority::LOWEST,
        }
        user
    }

    fn kill_server(&mut self) {
        // Nothing that it has begun goes on.
        calls::with(|world| world.dead = true);
        slow::end_all();
        network::kill(SERVER);
        if let Some((server, _)) = self.server.take() {
            server.abort();
        }
        self.starts = self.soon();
    }

    fn crash(&mut self) -> Result<(), String> {
        self.kill_server();
        self.state.borrow_mut().crashed();
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
            pause: Duration::from_secs(self.plan.pause),
            folder: self.scratch.subdirectory(&format!("client-{client}")),
            identity: (self.users[client % USERS].token.clone(), self.fingerprint),
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
                Some(_) if expected.gone => {
                    return Err(format!("{when}: `{path}` was removed: {expected:?}"));
                }
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
