//! The path between two endpoints, and the loop that drives them.

use super::tasks::{Tasks, Timer};
use super::tls::NAME;
use crate::endpoint::clock::Clock;
use crate::endpoint::core::{Arrival, Core};
use crate::endpoint::inbox::Inbox;
use crate::endpoint::outgoing::Outgoing;
use crate::endpoint::{Connection, Endpoint, Prepared};
use bytes::BytesMut;
use noq_proto::crypto::{CryptoError, HmacKey};
use noq_proto::{
    ClientConfig, ConnectionError, DatagramEvent, EcnCodepoint, EndpointConfig,
    HashedConnectionIdGenerator, ServerConfig,
};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Instant;
use whimbrel_net::{Delay, Fate, Link, LinkSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Headers of IPv4 and UDP, bytes.
const HEADERS: u32 = 28;
/// More rounds at one instant mean that an end never comes to rest.
const MAX_ROUNDS: u32 = 100_000;
/// An end sends so many times at one instant at most.
const MAX_SENT_AT_ONCE: u32 = 20_000;
/// What a system call takes at most (UDP GSO over IPv4), bytes.
const MAX_BATCH: usize = 65_507;

/// A path: a link for each direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path {
    /// From the client to the server.
    pub forth: LinkSpec,
    /// From the server to the client.
    pub back: LinkSpec,
}

impl Path {
    /// The same rate, one-way delay and buffer size in both directions.
    pub fn symmetric(rate: Rate, delay: Duration, queue: Bytes) -> Self {
        let link = LinkSpec {
            service: ServiceSpec::Rate(Schedule::constant(rate)),
            delay: Delay::constant(delay),
            queue: QueueLimit::Bytes(queue),
            ..LinkSpec::default()
        };
        Self {
            forth: link.clone(),
            back: link,
        }
    }
}

/// What a direction has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Bytes that arrived, headers of IP and UDP excluded.
    pub arrived_bytes: u64,
    /// System calls that a driver would have used to send them.
    pub calls: u64,
    /// The largest number of datagrams sent by one of them.
    pub largest_batch: usize,
}

/// A datagram at the moment it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// When it was sent.
    pub sent: Time,
    /// Sent by the client.
    pub forth: bool,
    /// Size without the headers of IP and UDP, bytes.
    pub size: usize,
    /// When it arrives; `None` if it is lost.
    pub arrives: Option<Time>,
    /// It had to leave at once.
    pub exact: bool,
}

struct End {
    endpoint: Endpoint,
    address: SocketAddr,
    link: Link,
    counts: Counts,
    /// This host's clock is ahead of virtual time by this: only differences of its times matter.
    offset: Duration,
    /// The host has no address and no route.
    offline: bool,
}

/// A datagram in flight.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    at: Time,
    number: u64,
    to: usize,
    /// The sender's address and the one it was sent to, when it left.
    source: SocketAddr,
    destination: SocketAddr,
    ecn: u8,
    data: Vec<u8>,
}

/// A client, a server, and the path between them.
pub(crate) struct Network {
    base: Instant,
    now: Time,
    clock: Arc<Mutex<Instant>>,
    /// The client, then the server. Each owns the link that it sends to.
    ends: [End; 2],
    in_flight: BinaryHeap<Reverse<InFlight>>,
    number: u64,
    tasks: Tasks,
    timer: Timer,
    packets: Option<Vec<Packet>>,
    reordering: Option<Reordering>,
    /// The client's links after the first.
    more: Vec<MoreLink>,
    /// The client's links that are cut.
    cut: Vec<bool>,
    attacker: Option<Attacker>,
}

/// Somebody who replaces the source of what a client sends over a link.
struct Attacker {
    link: usize,
    address: SocketAddr,
    /// Bytes of datagrams that the server got from this address and sent to it.
    bytes: [u64; 2],
}

/// The server's number among the ends, which is its identity.
pub(crate) const SERVER: u64 = 2;

/// The configuration of an endpoint with an identity: another one with the same identity takes its
/// connection IDs for its own, and can end its connections by stateless resets.
fn identified_by(identity: u64) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(Identity(identity)));
    config.cid_generator(Arc::new(move || {
        Box::new(HashedConnectionIdGenerator::from_key(identity))
    }));
    config
}

/// Signs so that tests can tell identities apart.
struct Identity(u64);

/// The same in every process.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl HmacKey for Identity {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        for (place, byte) in out.iter_mut().enumerate() {
            *byte = hash(&(self.0, place, data)).to_le_bytes()[0];
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        if own == signature {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

/// One more link of the client.
struct MoreLink {
    address: SocketAddr,
    forth: Link,
    back: Link,
    /// Its datagrams pass the queues of the first link instead.
    is_common: bool,
    /// It leads to this server instead, which has given so many answers.
    elsewhere: Option<noq_proto::Endpoint>,
    answers: u32,
    /// Bytes of datagrams that arrived at the server and at the client.
    arrived: [u64; 2],
}

/// A path on which datagrams from the client overtake each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reordering {
    /// This part of the datagrams takes a detour.
    pub share: f64,
    /// Which takes up to so much longer, distributed uniformly.
    pub detour: Duration,
    /// State of the random numbers (SplitMix64).
    pub state: u64,
}

impl Reordering {
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn more(&mut self) -> Duration {
        if self.random() < self.share {
            self.detour.mul_f64(self.random())
        } else {
            Duration::ZERO
        }
    }
}

impl Network {
    /// Two endpoints without connections, at midnight.
    pub fn new(path: &Path, seed: u64) -> Self {
        Self::at(Duration::ZERO, path, seed)
    }

    /// The same at this time of the day.
    pub fn at(utc: Duration, path: &Path, seed: u64) -> Self {
        let base = Instant::now();
        let clock = Arc::new(Mutex::new(base));
        let end = |index: u8, link: &LinkSpec, server: Option<Arc<ServerConfig>>| {
            let mut noq_seed = [index; 32];
            noq_seed[..8].copy_from_slice(&seed.to_le_bytes());
            let mut config = identified_by(u64::from(index));
            config.rng_seed(Some(noq_seed));
            let proto = noq_proto::Endpoint::new(Arc::new(config), server, true);
            let inbox = Arc::new(Inbox::default());
            let segments = NonZeroUsize::new(64).expect("known");
            let core = Core::new(proto, Arc::clone(&inbox), false, segments);
            let address = SocketAddr::from(([10, 0, 0, index], 4433));
            let clock = Clock::Virtual(Arc::clone(&clock), (base, utc));
            End {
                endpoint: Endpoint::over(core, inbox, clock, None, address),
                address,
                link: Link::new(link, 2 * seed + u64::from(index)),
                counts: Counts::default(),
                offset: Duration::from_secs(1000 * u64::from(index)),
                offline: false,
            }
        };
        let server = super::server_config(super::transport());
        Self {
            ends: [
                end(1, &path.forth, None),
                end(2, &path.back, Some(Arc::new(server))),
            ],
            base,
            now: Time::ZERO,
            clock,
            in_flight: BinaryHeap::new(),
            number: 0,
            tasks: Tasks::default(),
            timer: Timer::default(),
            packets: None,
            reordering: None,
            more: Vec::new(),
            cut: vec![false],
            attacker: None,
        }
    }

    /// From now on what the client sends over this link comes from another address, as the server
    /// sees it; `None`: no more.
    pub fn spoof(&mut self, spoofed: Option<(usize, SocketAddr)>) {
        let bytes = self.spoofed_bytes();
        self.attacker = spoofed.map(|(link, address)| Attacker {
            link,
            address,
            bytes,
        });
    }

    /// Bytes of datagrams that the server got from a spoofed address, and sent to it.
    pub fn spoofed_bytes(&self) -> [u64; 2] {
        self.attacker
            .as_ref()
            .map_or([0; 2], |attacker| attacker.bytes)
    }

    /// The client gets one more link, with an address of its own. Its connections use all of them.
    pub fn add_link(&mut self, path: &Path, seed: u64) {
        let number = self.more.len() as u8 + 1;
        self.more.push(MoreLink {
            address: SocketAddr::from(([10, 1, number, 1], 4433)),
            forth: Link::new(&path.forth, 2 * seed + 1000 * u64::from(number)),
            back: Link::new(&path.back, 2 * seed + 1000 * u64::from(number) + 1),
            is_common: false,
            elsewhere: None,
            answers: 0,
            arrived: [0; 2],
        });
        self.cut.push(false);
        self.links_changed(&vec![true; self.more.len() + 1]);
    }

    /// All links of the client lead through the queues of the first one, or no more.
    pub fn share_bottleneck(&mut self, common: bool) {
        for link in &mut self.more {
            link.is_common = common;
        }
    }

    /// From now on a link of the client leads to another server behind the same address, with this
    /// identity. It answers nothing but by itself.
    pub fn lead_elsewhere(&mut self, link: usize, identity: u64) {
        let server = Arc::new(super::server_config(super::transport()));
        let config = Arc::new(identified_by(identity));
        let other = noq_proto::Endpoint::new(config, Some(server), true);
        self.more[link - 1].elsewhere = Some(other);
    }

    /// How many datagrams the other server behind a link has sent.
    pub fn answered_elsewhere(&self, link: usize) -> u32 {
        self.more[link - 1].answers
    }

    /// From now on this link of the client carries nothing, or everything again. No system notices.
    pub fn cut(&mut self, link: usize, cut: bool) {
        self.cut[link] = cut;
    }

    /// The client's system notices which of its links have an address.
    pub fn links_changed(&mut self, up: &[bool]) {
        let own = std::iter::once(self.ends[0].address);
        let addresses = own.chain(self.more.iter().map(|link| link.address));
        let links = addresses
            .zip(up)
            .map(|(address, up)| crate::endpoint::paths::Link {
                local: up.then_some(address.ip()),
            });
        let links = links.collect();
        let client = self.ends[0].endpoint.shared();
        client.call(|core| core.set_links(links));
    }

    /// Bytes that arrived over a link of the client, at the server and at the client, without the
    /// headers of IP and UDP.
    pub fn arrived_over(&self, link: usize) -> [u64; 2] {
        match link.checked_sub(1) {
            None => self.ends.each_ref().map(|end| end.counts.arrived_bytes),
            Some(index) => self.more[index].arrived,
        }
    }

    /// From now on datagrams from the client overtake each other.
    pub fn reorder(&mut self, reordering: Reordering) {
        self.reordering = Some(reordering);
    }

    /// The current virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The current virtual time, as the ends' clocks show it.
    pub fn instant_now(&self) -> Instant {
        self.instant(self.now)
    }

    /// Virtual time for the tasks.
    pub fn timer(&self) -> Timer {
        self.timer.clone()
    }

    /// The client's endpoint and the server's.
    pub fn endpoints(&self) -> (&Endpoint, &Endpoint) {
        (&self.ends[0].endpoint, &self.ends[1].endpoint)
    }

    /// The client's host moves to another network. Its address here stays the same.
    pub fn change_client_network(&mut self) {
        let segments = NonZeroUsize::new(64).expect("known");
        let client = self.ends[0].endpoint.shared();
        client.call(|core| core.network_changed(false, segments));
    }

    /// The client's host gets this address instead of the one it had; `None`: it has no network
    /// any more. `noticed`: its system reports the change. Packets to and from the old address are
    /// lost.
    pub fn move_client(&mut self, address: Option<SocketAddr>, noticed: bool) {
        let client = &mut self.ends[0];
        client.offline = address.is_none();
        client.address = address.unwrap_or(client.address);
        if noticed {
            let source = address.map(|address| address.ip());
            let shared = Arc::clone(client.endpoint.shared());
            shared.call(|core| core.routes_changed(|_| source));
        }
    }

    /// The client's host wakes from a sleep.
    pub fn wake_client(&mut self) {
        self.ends[0].endpoint.shared().call(Core::host_slept);
    }

    /// A NAT before the client gives it another port: nobody is told.
    pub fn rebind_client(&mut self, port: u16) {
        self.ends[0].address.set_port(port);
    }

    /// What was sent from the client to the server.
    pub fn forth(&self) -> Counts {
        self.ends[0].counts
    }

    /// What was sent from the server to the client.
    pub fn back(&self) -> Counts {
        self.ends[1].counts
    }

    /// Records all packets from now on.
    pub fn record(&mut self) {
        self.packets = Some(Vec::new());
    }

    /// The packets recorded since the last call.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        self.packets
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Adds a task of the application.
    pub fn spawn(&mut self, work: impl Future<Output = ()> + 'static) {
        self.tasks.spawn(work);
    }

    /// Number of tasks that have not ended.
    pub fn unfinished(&self) -> usize {
        self.tasks.unfinished()
    }

    /// A datagram that somebody else sends arrives now, at the server or at the client.
    pub fn inject(&mut self, to_server: bool, data: &[u8]) {
        self.in_flight.push(Reverse(InFlight {
            at: self.now,
            number: self.number,
            to: usize::from(to_server),
            source: self.ends[usize::from(!to_server)].address,
            destination: self.ends[usize::from(to_server)].address,
            ecn: 0,
            data: data.to_vec(),
        }));
    }

    /// Connects client and server. Returns the client's handle and the server's.
    ///
    /// # Panics
    /// If the handshake fails or takes more than a minute.
    pub fn connect(
        &mut self,
        client: impl Into<Prepared<ClientConfig>>,
        server: impl Into<Prepared<Arc<ServerConfig>>>,
    ) -> (Connection, Connection) {
        self.try_connect(client, server)
            .expect("the handshake succeeds")
    }

    /// Connects client and server, which may fail.
    ///
    /// # Errors
    /// The reason at one of the ends.
    pub fn try_connect(
        &mut self,
        client: impl Into<Prepared<ClientConfig>>,
        server: impl Into<Prepared<Arc<ServerConfig>>>,
    ) -> Result<(Connection, Connection), ConnectionError> {
        let connecting = self.ends[0]
            .endpoint
            .connect(client, self.ends[1].address, NAME)
            .expect("a valid configuration");
        let accepting = self.ends[1].endpoint.clone();
        let server = server.into();
        let results = Rc::new(RefCell::new((None, None)));
        let at_client = Rc::clone(&results);
        self.spawn(async move {
            let connected = connecting.await;
            at_client.borrow_mut().0 = Some(connected);
        });
        let at_server = Rc::clone(&results);
        self.spawn(async move {
            let incoming = accepting.accept().await.expect("the endpoint is open");
            let connecting = match incoming.accept_with(server) {
                Ok(connecting) => connecting,
                Err(error) => {
                    at_server.borrow_mut().1 = Some(Err(error));
                    return;
                }
            };
            let connected = connecting.await;
            at_server.borrow_mut().1 = Some(connected);
        });
        let until = self.now + Duration::from_secs(60);
        let watched = Rc::clone(&results);
        self.run_while(until, |_| {
            let results = watched.borrow();
            let failed = matches!(results.0, Some(Err(_))) || matches!(results.1, Some(Err(_)));
            !failed && (results.0.is_none() || results.1.is_none())
        });
        let (at_client, at_server) = results.take();
        match (at_client, at_server) {
            (Some(client), Some(server)) => Ok((client?, server?)),
            (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error),
            _ => Err(ConnectionError::TimedOut),
        }
    }

    /// Runs until virtual time `until`.
    pub fn run_until(&mut self, until: Time) {
        self.run_while(until, |_| true);
    }

    /// Runs until all tasks have ended, at most until `until`. Returns whether they have.
    pub fn run_tasks(&mut self, until: Time) -> bool {
        self.run_while(until, |network| network.unfinished() > 0);
        self.unfinished() == 0
    }

    /// Runs while `go_on` holds, at most until `until`. It is called whenever the ends are at rest.
    pub fn run_while(&mut self, until: Time, mut go_on: impl FnMut(&Self) -> bool) {
        let mut rounds = 0;
        loop {
            self.settle();
            if !go_on(self) {
                return;
            }
            let next = self.next_event();
            rounds = match next {
                Some(at) if at <= self.now => rounds + 1,
                _ => 0,
            };
            assert!(
                rounds < MAX_ROUNDS,
                "at {} an end's deadline does not move",
                self.now.as_secs_f64()
            );
            match next {
                Some(at) if at <= until => self.advance(at),
                _ => {
                    self.advance(until.max(self.now));
                    self.settle();
                    return;
                }
            }
        }
    }

    /// Does all that is due at the present instant.
    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut busy = self.tasks.run();
            while self
                .in_flight
                .peek()
                .is_some_and(|next| next.0.at <= self.now)
            {
                if let Some(Reverse(packet)) = self.in_flight.pop() {
                    self.deliver(packet);
                    busy = true;
                }
            }
            for from in 0..self.ends.len() {
                busy |= self.drive(from);
            }
            if !busy {
                return;
            }
        }
        panic!("at {} an end does not come to rest", self.now.as_secs_f64());
    }

    fn deliver(&mut self, packet: InFlight) {
        let end = &self.ends[packet.to];
        let client = match packet.to {
            0 => packet.destination,
            _ => packet.source,
        };
        let more = self.more.iter().position(|link| link.address == client);
        let link = more.map_or(0, |index| index + 1);
        let is_own = end.address == packet.destination || (packet.to == 0 && link > 0);
        if end.offline || !is_own || self.cut[link] {
            return;
        }
        let size = packet.data.len() as u64;
        match more {
            Some(index) => self.more[index].arrived[1 - packet.to] += size,
            None => {
                let from = &mut self.ends[1 - packet.to];
                from.counts.arrived += 1;
                from.counts.arrived_bytes += size;
            }
        }
        let mut source = packet.source;
        if let Some(attacker) = &mut self.attacker
            && packet.to == 1
            && attacker.link == link
        {
            source = attacker.address;
            attacker.bytes[0] += size;
        }
        if packet.to == 1
            && let Some(more) = more.map(|index| &mut self.more[index])
            && let Some(other) = &mut more.elsewhere
        {
            let mut answer = Vec::new();
            let path = noq_proto::FourTuple::new(source, Some(packet.destination.ip()));
            let data = BytesMut::from(&packet.data[..]);
            let now = self.base + std::time::Duration::from(packet.at.since(Time::ZERO));
            let event = other.handle(now, path, None, data, &mut answer);
            if let Some(DatagramEvent::Response(_)) = event {
                more.answers += 1;
                self.number += 1;
                self.in_flight.push(Reverse(InFlight {
                    at: packet.at + Duration::from_millis(20),
                    number: self.number,
                    to: 0,
                    source: packet.destination,
                    destination: packet.source,
                    ecn: 0,
                    data: answer,
                }));
            }
            return;
        }
        let end = &self.ends[packet.to];
        let arrival = Arrival {
            source,
            destination: Some(packet.destination.ip()),
            link: if packet.to == 0 { link } else { 0 },
            ecn: EcnCodepoint::from_bits(packet.ecn),
            arrived: packet.at + end.offset,
            data: BytesMut::from(&packet.data[..]),
        };
        let now = self.instant(packet.at);
        end.endpoint
            .shared()
            .call(|core| core.receive(now, arrival));
    }

    /// Lets one end do what is due. Returns whether there was anything.
    fn drive(&mut self, from: usize) -> bool {
        let now = self.instant(self.now);
        let shared = Arc::clone(self.ends[from].endpoint.shared());
        let mut buffer = Vec::new();
        let mut busy = false;
        for _ in 0..MAX_SENT_AT_ONCE {
            let (outgoing, woken) = {
                let mut core = shared.lock();
                core.expire(now);
                (core.poll_transmit(now, &mut buffer), core.take_woken())
            };
            busy |= !woken.is_empty() || outgoing.is_some();
            woken.into_iter().for_each(Waker::wake);
            let Some(outgoing) = outgoing else {
                return busy;
            };
            let size = outgoing.segment_size.unwrap_or(buffer.len()).max(1);
            let end = &mut self.ends[from];
            end.counts.calls += 1;
            let batch = outgoing.datagrams(buffer.len());
            assert!(
                buffer.len() <= MAX_BATCH,
                "no system call takes {} bytes",
                buffer.len()
            );
            end.counts.largest_batch = end.counts.largest_batch.max(batch);
            // A system does not send from an address that it has no longer, nor without a route.
            let own = outgoing.source.is_none_or(|ip| ip == end.address.ip());
            if end.offline || (!own && self.more.is_empty()) {
                continue;
            }
            for data in buffer.chunks(size) {
                self.offer(from, data, &outgoing);
            }
        }
        panic!("at {} an end sends without end", self.now.as_secs_f64());
    }

    fn offer(&mut self, from: usize, data: &[u8], outgoing: &Outgoing) {
        let (ecn, exact) = (outgoing.ecn, outgoing.exact);
        let end = &mut self.ends[from];
        end.counts.sent += 1;
        if let Some(attacker) = &mut self.attacker
            && from == 1
            && attacker.address == outgoing.destination
        {
            attacker.bytes[1] += data.len() as u64;
            return;
        }
        let size = data.len() as u32 + HEADERS;
        let more = match from {
            0 => outgoing.link.checked_sub(1),
            _ => {
                let to = outgoing.destination;
                self.more.iter().position(|link| link.address == to)
            }
        };
        let (source, link) = match more.and_then(|index| self.more.get_mut(index)) {
            Some(more) if more.is_common && from == 0 => (more.address, &mut end.link),
            Some(more) if more.is_common => (end.address, &mut end.link),
            Some(more) if from == 0 => (more.address, &mut more.forth),
            Some(more) => (end.address, &mut more.back),
            None => (end.address, &mut end.link),
        };
        let arrives = match link.offer(self.now, size, ecn.is_some()) {
            Fate::Delivered {
                at,
                corrupted: None,
                marked,
            } if at < Time::MAX => Some((at, marked)),
            // A corrupted datagram fails the checksum of UDP.
            _ => None,
        };
        let detour = match &mut self.reordering {
            Some(reordering) if from == 0 => reordering.more(),
            _ => Duration::ZERO,
        };
        let arrives = arrives.map(|(at, marked)| (at + detour, marked));
        if let Some(packets) = &mut self.packets {
            packets.push(Packet {
                sent: self.now,
                forth: from == 0,
                size: data.len(),
                arrives: arrives.map(|(at, _)| at),
                exact,
            });
        }
        if let Some((at, marked)) = arrives {
            self.number += 1;
            self.in_flight.push(Reverse(InFlight {
                at,
                number: self.number,
                to: 1 - from,
                source,
                destination: outgoing.destination,
                ecn: if marked {
                    EcnCodepoint::Ce as u8
                } else {
                    ecn.map_or(0, |ecn| ecn as u8)
                },
                data: data.to_vec(),
            }));
        }
    }

    fn instant(&self, time: Time) -> Instant {
        self.base + std::time::Duration::from(time.since(Time::ZERO))
    }

    fn next_event(&self) -> Option<Time> {
        let arrival = self.in_flight.peek().map(|next| next.0.at);
        let deadlines = self.ends.iter().filter_map(|end| {
            let deadline = end.endpoint.shared().lock().next_deadline()?;
            let since = deadline.at.saturating_duration_since(self.base);
            Some(Time::ZERO + Duration::from(since))
        });
        deadlines.chain(arrival).chain(self.timer.next()).min()
    }

    fn advance(&mut self, to: Time) {
        self.now = self.now.max(to);
        *self.clock.lock().expect("one thread") = self.instant(self.now);
        self.timer.advance(self.now);
    }
}
