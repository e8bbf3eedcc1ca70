//! Hosts, the links between them, and addresses that change.

use super::calls;
use super::random::Random;
use bytes::BytesMut;
use noq_proto::EndpointConfig;
use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use whimbrel_net::{Fate, Link, LinkSpec};
use whimbrel_quic::endpoint::{Carrier, Endpoint, Server};
use whimbrel_units::{Duration, Time};

/// Headers of IPv4 and UDP, bytes.
const HEADERS: u32 = 28;
/// Datagrams in flight share memory of this size, bytes.
const ROOM: usize = 1 << 16;
/// An endpoint sends so many datagrams at one instant at most: more than any window holds.
const MAX_SENT_AT_ONCE: u64 = 100_000;
/// What a socket holds of a process that does not read it, bytes: the usual buffer of Linux.
const SOCKET: usize = 212_992;
/// A datagram that comes late is overtaken for so long at most, microseconds.
const LATE: u64 = 100_000;
/// The first port that the system chooses.
const FIRST_PORT: u16 = 40_000;

tokio::task_local! {
    /// The host on which a task runs.
    pub(crate) static HOST: Host;
}

thread_local! {
    static NETWORK: RefCell<Option<Network>> = const { RefCell::new(None) };
}

/// The number of a host. Its address may change.
pub(crate) type Host = usize;

/// The host of the server (those of the clients follow), and the port at which it listens.
pub(crate) const SERVER: Host = 0;
pub(crate) const PORT: u16 = 4433;
/// The host of the first client.
pub(crate) const CLIENT: Host = 1;

/// The hosts and links of a world.
pub(crate) struct Network {
    began: Instant,
    random: Random,
    link: LinkSpec,
    /// The present address of each host.
    addresses: Vec<IpAddr>,
    links: BTreeMap<(Host, Host), Link>,
    ends: BTreeMap<(Host, u16), End>,
    next_port: u16,
    /// Hosts that nothing reaches and leaves.
    dark: BTreeSet<Host>,
    /// Hosts whose endpoints get no processor, and what wakes them.
    stalled: BTreeMap<Host, Arc<Notify>>,
    /// The largest IP packet that arrives, bytes; larger ones vanish without a word.
    largest: u32,
    /// One in so many datagrams is doubled, late or damaged; none if 0.
    mangles: u64,
    mangling: Random,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    /// Where the next datagram is kept: one piece of memory for each would cost more than the copy.
    room: BytesMut,
    sent: u64,
    /// Of all of them, with their times and addresses.
    digest: Digest,
    /// Something is in flight that arrives before all others.
    more: Arc<Notify>,
}

struct End {
    inbox: mpsc::UnboundedSender<(SocketAddr, BytesMut)>,
    /// Bytes that wait in the socket of an endpoint without a processor.
    waiting: usize,
    driver: AbortHandle,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    at: Instant,
    number: u64,
    from: SocketAddr,
    to: SocketAddr,
    data: BytesMut,
}

/// Whether this thread is in a simulated world.
pub(crate) fn is_simulated() -> bool {
    NETWORK.with_borrow(Option::is_some)
}

/// A socket through which nothing is sent: the system has no others for a simulated world.
pub(crate) fn any_socket() -> std::io::Result<UdpSocket> {
    thread_local! {
        static ANY: OnceCell<UdpSocket> = const { OnceCell::new() };
    }
    ANY.with(|any| {
        if let Some(any) = any.get() {
            return any.try_clone();
        }
        let first = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let copy = first.try_clone();
        any.set(first).ok();
        copy
    })
}

fn with<T>(work: impl FnOnce(&mut Network) -> T) -> Option<T> {
    NETWORK.with_borrow_mut(|network| network.as_mut().map(work))
}

/// Puts a network into this thread: so many hosts, and the same link from each to each.
pub(crate) fn begin(seed: u64, hosts: usize, link: LinkSpec) {
    let more = Arc::new(Notify::new());
    let network = Network {
        began: Instant::now(),
        random: Random::new(seed),
        link,
        addresses: (0..hosts).map(|host| address(host, 0, false)).collect(),
        links: BTreeMap::new(),
        ends: BTreeMap::new(),
        next_port: FIRST_PORT,
        dark: BTreeSet::new(),
        stalled: BTreeMap::new(),
        largest: u32::MAX,
        mangles: 0,
        mangling: Random::new(seed ^ 1 << 58),
        in_flight: BinaryHeap::new(),
        room: BytesMut::new(),
        sent: 0,
        digest: Digest::default(),
        more: Arc::clone(&more),
    };
    NETWORK.replace(Some(network));
    tokio::spawn(carry(more));
}

fn address(host: Host, number: u64, six: bool) -> IpAddr {
    let low = [(number >> 8) as u8, number as u8];
    match six {
        false => [10, host as u8, low[0], low[1]].into(),
        true => [0xfd00, 0, 0, host as u16, 0, 0, 0, number as u16].into(),
    }
}

/// The present address of a host.
pub(crate) fn address_of(host: Host) -> IpAddr {
    with(|network| network.addresses[host]).unwrap_or([0, 0, 0, 0].into())
}

/// A host gets another address, as behind a NAT that forgets: nothing tells its processes. The
/// address may be of the other family, as behind a gateway between them.
pub(crate) fn move_host(host: Host, six: bool) {
    with(|network| network.addresses[host] = address(host, network.sent, six));
}

/// From now on IP packets of more bytes vanish.
pub(crate) fn set_largest(largest: u32) {
    with(|network| network.largest = largest);
}

/// From now on one in so many datagrams is doubled, late or damaged; none if 0.
pub(crate) fn set_mangles(mangles: u64) {
    with(|network| network.mangles = mangles);
}

/// The endpoints of a host get no processor, or they get one again.
pub(crate) fn set_stalled(host: Host, stalled: bool) {
    with(|network| match stalled {
        true => drop(network.stalled.entry(host).or_default()),
        false => network.wake(host),
    });
}

impl Network {
    fn wake(&mut self, host: Host) {
        if let Some(woken) = self.stalled.remove(&host) {
            woken.notify_waiters();
        }
        let ends = self.ends.range_mut((host, 0)..=(host, u16::MAX));
        ends.for_each(|(_, end)| end.waiting = 0);
    }
}

/// Waits until the endpoints of a host have a processor.
async fn processor(host: Host) {
    while let Some(Some(woken)) = with(|network| network.stalled.get(&host).cloned()) {
        woken.notified().await;
    }
}

/// Nothing reaches a host or leaves it, or everything does again.
pub(crate) fn set_dark(host: Host, dark: bool) {
    with(|network| match dark {
        true => network.dark.insert(host),
        false => network.dark.remove(&host),
    });
}

/// From now on links are like this.
pub(crate) fn set_links(link: LinkSpec) {
    with(|network| {
        network.link = link;
        network.links.clear();
    });
}

/// The processes of a host are killed: their endpoints are gone without a word.
pub(crate) fn kill(host: Host) {
    let ended = with(|network| {
        network.wake(host);
        let ends = std::mem::take(&mut network.ends);
        let (ended, left) = ends.into_iter().partition(|((on, _), _)| *on == host);
        network.ends = left;
        ended
    });
    let ended: BTreeMap<_, End> = ended.unwrap_or_default();
    ended.values().for_each(|end| end.driver.abort());
}

/// Datagrams sent so far, and the digest of all that they are: of lives that are the same it is the
/// same.
pub(crate) fn sent() -> (u64, u64) {
    with(|network| (network.sent, network.digest.0)).unwrap_or_default()
}

/// Tells lives that differ apart. Nobody chooses what it digests, so it need not be a cryptographic
/// hash, which would take as long as the encryption of the datagrams.
#[derive(Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        // Both halves of the product count: each bit of the word changes all bits.
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product as u64).rotate_left(29) ^ (product >> 64) as u64;
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words
            .iter()
            .for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
        self.add(bytes.len() as u64);
    }
}

/// An endpoint on the host of this task, at the port of `local`, or any.
pub(crate) fn endpoint(
    config: EndpointConfig,
    server: Option<Server>,
    local: SocketAddr,
) -> Endpoint {
    let host = HOST.get();
    let port = with(|network| match local.port() {
        0 => {
            network.next_port += 1;
            network.next_port
        }
        port => port,
    });
    let port = port.unwrap_or(0);
    // Of the other family is only what others see, beyond a gateway.
    let own = match address_of(host) {
        IpAddr::V6(_) => address(host, 0, false),
        own => own,
    };
    let local = SocketAddr::new(own, port);
    let now = || Instant::now().into_std();
    let midnight = with(|network| network.began.into_std());
    let midnight = midnight.unwrap_or_else(now);
    let endpoint = Endpoint::simulated(config, server, local, now, midnight);
    let (inbox, arrived) = mpsc::unbounded_channel();
    let driver = tokio::spawn(drive(endpoint.carrier(), host, port, arrived)).abort_handle();
    with(|network| {
        let end = End {
            inbox,
            waiting: 0,
            driver,
        };
        network.ends.insert((host, port), end)
    });
    endpoint
}

/// Drives one endpoint.
async fn drive(
    carrier: Carrier,
    host: Host,
    port: u16,
    mut arrived: mpsc::UnboundedReceiver<(SocketAddr, BytesMut)>,
) {
    let mut buffer = Vec::new();
    let (mut instant, mut sent) = (Instant::now(), 0);
    let mut sleep = pin!(sleep_until(Instant::now()));
    loop {
        processor(host).await;
        while let Ok((from, data)) = arrived.try_recv() {
            carrier.receive_from(from, data);
        }
        carrier.expire();
        if instant != Instant::now() {
            (instant, sent) = (Instant::now(), 0);
        }
        while let Some(to) = carrier.send_to(&mut buffer) {
            send(host, port, to, &buffer);
            sent += 1;
            assert!(
                sent < MAX_SENT_AT_ONCE,
                "port {port} of host {host} sends to {to} without end"
            );
        }
        if carrier.is_finished() {
            break;
        }
        let deadline = carrier.deadline().map(Instant::from_std);
        let far = Instant::now() + std::time::Duration::from_secs(3600);
        sleep.as_mut().reset(deadline.unwrap_or(far));
        tokio::select! {
            biased;
            next = arrived.recv() => match next {
                Some((from, data)) => carrier.receive_from(from, data),
                None => break,
            },
            () = poll_fn(|cx| carrier.poll_work(cx)) => {}
            () = &mut sleep => {}
        }
    }
    with(|network| network.ends.remove(&(host, port)));
}

fn send(host: Host, port: u16, to: SocketAddr, data: &[u8]) {
    // A process that died in a call on its disk says no more.
    let dead = host == SERVER && calls::with(|world| world.dead) == Some(true);
    with(|network| {
        network.sent += 1;
        let now = network.began.elapsed();
        let head = [
            now.as_nanos() as u64,
            host as u64,
            port.into(),
            to.port().into(),
            data.len() as u64,
        ];
        head.into_iter().for_each(|word| network.digest.add(word));
        match to.ip() {
            IpAddr::V4(to) => network.digest.add(to.to_bits().into()),
            IpAddr::V6(to) => network.digest.add(to.to_bits() as u64),
        }
        network.digest.add_bytes(data);
        let Some(target) = network.addresses.iter().position(|ip| *ip == to.ip()) else {
            return;
        };
        if dead || network.dark.contains(&host) || network.dark.contains(&target) {
            return;
        }
        let size = data.len() as u32 + HEADERS;
        if size > network.largest {
            return;
        }
        let link = match network.links.entry((host, target)) {
            Entry::Occupied(link) => {
                network.random.skip();
                link.into_mut()
            }
            Entry::Vacant(place) => {
                let seed = network.random.below(u64::MAX);
                place.insert(Link::new(&network.link, seed))
            }
        };
        let now = Time::ZERO + Duration::from(now);
        let fate = link.offer(now, size, false);
        if let Fate::Delivered {
            at,
            corrupted: None,
            ..
        } = fate
        {
            let at = network.began + std::time::Duration::from(at.since(Time::ZERO));
            let from = SocketAddr::new(network.addresses[host], port);
            network.deliver(at, from, to, data);
        }
    });
}

impl Network {
    /// A datagram leaves the links at an instant, and perhaps something happens to it.
    fn deliver(&mut self, at: Instant, from: SocketAddr, to: SocketAddr, data: &[u8]) {
        if self.mangles == 0 || !self.mangling.once_in(self.mangles) {
            return self.fly(at, from, to, data);
        }
        let late = std::time::Duration::from_micros(self.mangling.below(LATE));
        match self.mangling.below(3) {
            0 => self.fly(at, from, to, data),
            1 => {}
            _ => {
                // The checksum of UDP does not find everything.
                let mut damaged = data.to_vec();
                let byte = self.mangling.below(data.len() as u64) as usize;
                if let Some(byte) = damaged.get_mut(byte) {
                    *byte ^= 1 << self.mangling.below(8);
                }
                return self.fly(at, from, to, &damaged);
            }
        }
        self.fly(at + late, from, to, data);
    }

    fn fly(&mut self, at: Instant, from: SocketAddr, to: SocketAddr, data: &[u8]) {
        let first = self.in_flight.peek();
        if first.is_none_or(|Reverse(first)| at < first.at) {
            self.more.notify_one();
        }
        if self.room.capacity() < data.len() {
            self.room.reserve(ROOM.max(data.len()));
        }
        self.room.extend_from_slice(data);
        self.in_flight.push(Reverse(InFlight {
            at,
            number: self.sent,
            from,
            to,
            data: self.room.split(),
        }));
    }
}

/// Delivers what is in flight, until the network is gone.
async fn carry(more: Arc<Notify>) {
    loop {
        let next = with(|network| {
            let now = Instant::now();
            while let Some(Reverse(first)) = network.in_flight.peek()
                && first.at <= now
            {
                let Some(Reverse(packet)) = network.in_flight.pop() else {
                    break;
                };
                let host = network
                    .addresses
                    .iter()
                    .position(|ip| *ip == packet.to.ip());
                let Some(host) = host else { continue };
                if let Some(end) = network.ends.get_mut(&(host, packet.to.port())) {
                    if network.stalled.contains_key(&host) {
                        end.waiting += packet.data.len();
                        if end.waiting > SOCKET {
                            continue;
                        }
                    }
                    end.inbox.send((packet.from, packet.data)).ok();
                }
            }
            network.in_flight.peek().map(|Reverse(first)| first.at)
        });
        match next {
            None => return,
            Some(None) => more.notified().await,
            Some(Some(at)) => tokio::select! {
                () = sleep_until(at) => {}
                () = more.notified() => {}
            },
        }
    }
}
