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
        addresses: (0..hosts).map(|host| address(host, 0)).collect(),
        links: BTreeMap::new(),
        ends: BTreeMap::new(),
        next_port: FIRST_PORT,
        dark: BTreeSet::new(),
        in_flight: BinaryHeap::new(),
        room: BytesMut::new(),
        sent: 0,
        digest: Digest::default(),
        more: Arc::clone(&more),
    };
    NETWORK.replace(Some(network));
    tokio::spawn(carry(more));
}

fn address(host: Host, number: u64) -> IpAddr {
    [10, host as u8, (number >> 8) as u8, number as u8].into()
}

/// The present address of a host.
pub(crate) fn address_of(host: Host) -> IpAddr {
    with(|network| network.addresses[host]).unwrap_or([0, 0, 0, 0].into())
}

/// A host gets another address, as behind a NAT that forgets: nothing tells its processes.
pub(crate) fn move_host(host: Host) {
    with(|network| network.addresses[host] = address(host, network.sent));
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
    let local = SocketAddr::new(address_of(host), port);
    let now = || Instant::now().into_std();
    let midnight = with(|network| network.began.into_std());
    let midnight = midnight.unwrap_or_else(now);
    let endpoint = Endpoint::simulated(config, server, local, now, midnight);
    let (inbox, arrived) = mpsc::unbounded_channel();
    let driver = tokio::spawn(drive(endpoint.carrier(), host, port, arrived)).abort_handle();
    with(|network| network.ends.insert((host, port), End { inbox, driver }));
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
        if let IpAddr::V4(to) = to.ip() {
            network.digest.add(to.to_bits().into());
        }
        network.digest.add_bytes(data);
        let Some(target) = network.addresses.iter().position(|ip| *ip == to.ip()) else {
            return;
        };
        if dead || network.dark.contains(&host) || network.dark.contains(&target) {
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
        let fate = link.offer(now, data.len() as u32 + HEADERS, false);
        if let Fate::Delivered {
            at,
            corrupted: None,
            ..
        } = fate
        {
            let at = network.began + std::time::Duration::from(at.since(Time::ZERO));
            let first = network.in_flight.peek();
            if first.is_none_or(|Reverse(first)| at < first.at) {
                network.more.notify_one();
            }
            if network.room.capacity() < data.len() {
                network.room.reserve(ROOM.max(data.len()));
            }
            network.room.extend_from_slice(data);
            network.in_flight.push(Reverse(InFlight {
                at,
                number: network.sent,
                from: SocketAddr::new(network.addresses[host], port),
                to,
                data: network.room.split(),
            }));
        }
    });
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
                let end = host.and_then(|host| network.ends.get(&(host, packet.to.port())));
                if let Some(end) = end {
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
