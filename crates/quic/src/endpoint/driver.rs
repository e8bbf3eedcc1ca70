//! The thread that moves packets between the socket and the core.
//!
//! A round receives a batch, lets deadlines pass, sends a few batches, and wakes waiting tasks. It
//! holds the core's lock while it calls the core, never while it sends or receives. With nothing to
//! do it sleeps until a packet, a deadline, a change of this host's network or a call of the
//! application.

use super::core::{Arrival, Core, Deadline};
use super::links::Links;
use super::obstacle::Obstacle;
use super::outgoing::Outgoing;
use super::route;
use super::shared::EndpointShared;
use super::socket::{MESSAGES, ReceiveBuffers, Socket, send_singly};
use super::watch::{self, Change, NetworkWatch};
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Batches sent in a round before the socket is read again.
const BATCHES_PER_ROUND: usize = 8;
/// How long before an exact deadline the driver stays awake: what the kernel may take to wake it.
const AWAKE_BEFORE: Duration = Duration::from_micros(50);
/// What a received message may cost at most while a packet that must leave exactly is near.
/// Messages are single packets then.
const PER_MESSAGE: Duration = Duration::from_micros(10);
/// The driver gives up after so many failures to receive in a row.
const MAX_FAILURES: u32 = 100;
/// Pause after a failure to receive.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts the driver's thread. It ends when the endpoint is closed or dropped and no connection is
/// left. `watch` notices changes of this host's network.
///
/// # Errors
/// If the system refuses the thread.
pub(super) fn start(
    endpoint: Arc<EndpointShared>,
    socket: Socket,
    watch: NetworkWatch,
) -> io::Result<()> {
    // A server is known by its address, and its peers, who may be anybody, could keep its thread
    // busy with errors.
    let is_client = endpoint.prepare.is_none();
    if is_client {
        socket.report_obstacles();
    }
    let mut driver = Driver {
        endpoint,
        is_client,
        socket,
        watch,
        previous: None,
        links: None,
        buffers: ReceiveBuffers::new(),
        outgoing: Vec::with_capacity(64 << 10),
        unsent: None,
        failures: 0,
    };
    std::thread::Builder::new()
        .name("quic".to_owned())
        .spawn(move || driver.run())?;
    Ok(())
}

struct Driver {
    endpoint: Arc<EndpointShared>,
    /// The endpoint accepts no connections.
    is_client: bool,
    socket: Socket,
    watch: NetworkWatch,
    /// The socket before the last `rebind`, until a packet arrives on the new one.
    previous: Option<Socket>,
    /// A client's links, if it uses several.
    links: Option<Links>,
    buffers: ReceiveBuffers,
    /// What is sent next.
    outgoing: Vec<u8>,
    /// What `outgoing` contains if the kernel could not take it yet.
    unsent: Option<Outgoing>,
    failures: u32,
}

impl Driver {
    fn run(&mut self) {
        // Otherwise the kernel may wake the thread 50 us late. Where it is refused, it does.
        nix::sys::prctl::set_timerslack(1).ok();
        let mut readable = true;
        loop {
            self.replace_socket();
            self.look_at_network();
            let messages = self.receive_limit();
            let received = readable && messages > 0 && self.receive(messages);
            let sent = self.send();
            let (woken, finished, stamps) = {
                let mut core = self.endpoint.lock();
                (core.take_woken(), core.is_finished(), core.stamps())
            };
            woken.into_iter().for_each(Waker::wake);
            self.socket.set_stamps(stamps);
            if finished && self.unsent.is_none() {
                return self.stop("the endpoint is closed");
            }
            if self.failures > MAX_FAILURES {
                return self.stop("the socket does not receive any more");
            }
            let postponed = readable && messages == 0;
            readable = received || sent || postponed || self.sleep();
        }
    }

    fn stop(&mut self, why: &str) {
        self.endpoint.call(|core| core.stop(why));
    }

    fn replace_socket(&mut self) {
        if let Some(links) = self.endpoint.take_links() {
            self.links = Some(links);
            self.follow_links();
        }
        let Some(socket) = self.endpoint.take_replacement() else {
            return;
        };
        self.adopt(socket);
    }

    fn adopt(&mut self, socket: Socket) {
        let (ipv6, segments) = (
            socket.local_addr().is_ok_and(|a| a.is_ipv6()),
            socket.max_segments(),
        );
        if self.is_client {
            socket.report_obstacles();
        }
        self.previous = Some(std::mem::replace(&mut self.socket, socket));
        // Packets for the old socket's family cannot leave any more.
        self.unsent = None;
        self.endpoint
            .call(|core| core.network_changed(ipv6, segments));
    }

    /// Reacts to changes of this host's network.
    fn look_at_network(&mut self) {
        match self.watch.poll(self.endpoint.clock.now()) {
            Some(Change::Routes) => self.follow_routes(),
            Some(Change::Slept) => {
                self.follow_routes();
                self.endpoint.call(Core::host_slept);
            }
            None => {}
        }
    }

    /// Lets connections use the links that have a route now. Returns whether there are several.
    fn follow_links(&mut self) -> bool {
        let Some(links) = &mut self.links else {
            return false;
        };
        let (found, first) = links.look();
        self.endpoint.set_link_names(links.devices());
        if let Some(socket) = first {
            self.adopt(socket);
        }
        self.endpoint.call(|core| core.set_links(found));
        true
    }

    /// Moves connections to the addresses that this host has now.
    fn follow_routes(&mut self) {
        if self.follow_links() {
            return self.socket.renew();
        }
        let bound = self.bound_address();
        if let Some(address) = bound
            && self.is_client
            && !watch::is_local(address)
            && let Some(socket) = self.unbound()
        {
            if let Ok(local) = socket.local_addr() {
                self.endpoint.set_local_addr(local);
            }
            return self.adopt(socket);
        }
        self.socket.renew();
        let segments = self.socket.max_segments();
        self.endpoint.call(|core| {
            core.set_max_segments(segments);
            core.routes_changed(|remote| route::source_towards(remote, bound, None));
        });
    }

    /// The address to which the socket is bound; `None`: all of this host's.
    fn bound_address(&self) -> Option<IpAddr> {
        let local = self.socket.local_addr().ok()?.ip();
        (!local.is_unspecified()).then_some(local)
    }

    fn unbound(&self) -> Option<Socket> {
        Socket::new(self.socket.unbound().ok()?).ok()
    }

    /// How many messages may be received before the next packet that must leave exactly in time.
    fn receive_limit(&self) -> usize {
        match self.endpoint.lock().next_deadline() {
            Some(Deadline { at, exact: true }) => {
                let left = at.saturating_duration_since(Instant::now()).as_nanos();
                let fits = left / PER_MESSAGE.as_nanos();
                usize::try_from(fits).map_or(MESSAGES, |fits| fits.min(MESSAGES))
            }
            _ => MESSAGES,
        }
    }

    /// Receives one batch. Returns whether more may be waiting.
    fn receive(&mut self, limit: usize) -> bool {
        if let Some(previous) = &self.previous {
            let received = previous.receive(&mut self.buffers, limit);
            match received {
                Ok(_) => {
                    self.pass_on(0);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.previous = None,
            }
        }
        let over_links = self.receive_over_links(limit);
        let own = match self.socket.receive(&mut self.buffers, limit) {
            Ok(messages) => {
                self.failures = 0;
                if self.pass_on(0) {
                    self.previous = None;
                }
                messages == limit
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => {
                    self.take_obstacles();
                    false
                }
                // An attacker may provoke these; they say nothing about the connections.
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused => true,
                _ if noq_udp::is_msg_size_err(&error) => true,
                _ if self.take_obstacles() => true,
                _ => {
                    self.failures += 1;
                    std::thread::sleep(PAUSE);
                    false
                }
            },
        };
        own || over_links
    }

    /// Receives one batch over each further link. A link that is down has none.
    fn receive_over_links(&mut self, limit: usize) -> bool {
        let mut more = false;
        let count = self.links.as_ref().map_or(0, |links| links.sockets().len());
        for index in 0..count {
            let Some(socket) = self.links.as_ref().and_then(|l| l.sockets().get(index)) else {
                break;
            };
            if let Ok(messages) = socket.receive(&mut self.buffers, limit) {
                self.pass_on(index + 1);
                more |= messages == limit;
            }
        }
        more
    }

    /// Passes what was received to the core. Returns whether any of it belonged to a connection.
    fn pass_on(&mut self, link: usize) -> bool {
        let now = self.endpoint.clock.now();
        let mut core = self.endpoint.lock();
        let mut known = false;
        self.buffers
            .arrivals(|arrival| known |= core.receive(now, Arrival { link, ..arrival }));
        known
    }

    /// Lets deadlines pass and sends some batches. Returns whether there may be more to send.
    fn send(&mut self) -> bool {
        if let Some(outgoing) = self.unsent.take()
            && !self.transmit(outgoing)
        {
            return false;
        }
        for _ in 0..BATCHES_PER_ROUND {
            let now = self.endpoint.clock.now();
            let outgoing = {
                let mut core = self.endpoint.lock();
                core.expire(now);
                core.poll_transmit(now, &mut self.outgoing)
            };
            match outgoing {
                Some(outgoing) => {
                    if !self.transmit(outgoing) {
                        return false;
                    }
                }
                None => return false,
            }
        }
        true
    }

    /// Passes on why packets did not arrive. Returns whether there was anything.
    fn take_obstacles(&mut self) -> bool {
        if !self.is_client {
            return false;
        }
        let endpoint = Arc::clone(&self.endpoint);
        self.socket.take_obstacles(|remote, obstacle| {
            endpoint.call(|core| core.obstructed(remote, obstacle));
        })
    }

    /// Sends what the buffer contains. Returns whether the kernel took it.
    fn transmit(&mut self, mut outgoing: Outgoing) -> bool {
        if let Some(links) = &self.links {
            // The socket is bound to its interface; the kernel chooses the address.
            outgoing.source = None;
            if let Some(index) = outgoing.link.checked_sub(1) {
                if let Some(socket) = links.sockets().get(index)
                    && socket.send(&outgoing, &self.outgoing).is_err()
                    && outgoing.segment_size.is_some()
                {
                    // The device may not split batches. What a link does not take is lost: it must
                    // not hold up the others.
                    send_singly(socket, &outgoing, &self.outgoing);
                }
                return true;
            }
        }
        let Err(mut error) = self.socket.send(&outgoing, &self.outgoing) else {
            return true;
        };
        // The kernel reports an earlier packet's error with the next call, which then sends
        // nothing.
        if error.kind() != io::ErrorKind::WouldBlock && self.take_obstacles() {
            match self.socket.send(&outgoing, &self.outgoing) {
                Ok(()) => return true,
                Err(again) => error = again,
            }
        }
        if error.kind() == io::ErrorKind::WouldBlock {
            self.unsent = Some(outgoing);
            return false;
        }
        if let Some(source) = outgoing.source
            && !watch::is_local(source)
        {
            // The packet cannot leave from an address that this host has no longer. Those that noq
            // makes from the next round on leave from another one.
            self.watch.suspect(Instant::now());
            return true;
        }
        if self.is_client
            && let Some(errno) = error.raw_os_error()
            && let Some(obstacle) = self.obstacle(errno, &outgoing)
        {
            let remote = outgoing.destination;
            self.endpoint.call(|core| core.obstructed(remote, obstacle));
        }
        let cannot_split = matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL));
        if cannot_split && outgoing.segment_size.is_some() {
            let segments = self.socket.max_segments();
            self.endpoint.lock().set_max_segments(segments);
            send_singly(&self.socket, &outgoing, &self.outgoing);
        }
        // Otherwise the packet is lost, and QUIC sends its content again: no route, a firewall, or
        // a probe of a larger packet than the device takes.
        true
    }

    fn obstacle(&self, errno: i32, outgoing: &Outgoing) -> Option<Obstacle> {
        let size = outgoing.segment_size.unwrap_or(self.outgoing.len());
        Obstacle::of_send_error(errno, size)
    }

    /// Sleeps until there is something to do. Returns whether packets may be waiting.
    fn sleep(&mut self) -> bool {
        let inbox = Arc::clone(&self.endpoint.inbox);
        let alarm = inbox.alarm();
        alarm.arm();
        let (work, deadline) = {
            let core = self.endpoint.lock();
            let idle = !core.has_work() && !core.is_finished();
            // Without room in the kernel's buffer, nothing can be done about new work.
            (!idle && self.unsent.is_none(), core.next_deadline())
        };
        if work {
            alarm.disarm();
            return true;
        }
        let readable = match self.timeout(deadline) {
            Wait::Spin(until) => {
                alarm.disarm();
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                // What is due goes first; then there may be time to look.
                return true;
            }
            Wait::Sleep(timeout) => self.poll(timeout),
        };
        alarm.disarm();
        readable
    }

    fn timeout(&self, deadline: Option<Deadline>) -> Wait {
        let look = self.watch.deadline();
        let look = look.map(|at| Deadline { at, exact: false });
        let next = deadline.into_iter().chain(look).min_by_key(|next| next.at);
        let Some(Deadline { at, exact }) = next else {
            return Wait::Sleep(None);
        };
        let left = at.saturating_duration_since(Instant::now());
        match exact {
            true if left <= AWAKE_BEFORE => Wait::Spin(at),
            true => Wait::Sleep(Some(left - AWAKE_BEFORE)),
            false => Wait::Sleep(Some(left)),
        }
    }

    fn poll(&mut self, timeout: Option<Duration>) -> bool {
        let endpoint = Arc::clone(&self.endpoint);
        let inbox = &endpoint.inbox;
        let mut wanted = PollFlags::POLLIN;
        if self.unsent.is_some() {
            wanted |= PollFlags::POLLOUT;
        }
        let Some(ring) = inbox.alarm().fd() else {
            return true;
        };
        let previous = self.previous.as_ref().map_or(ring, AsFd::as_fd);
        let network = self.watch.fd().unwrap_or(ring);
        let mut fds = vec![
            PollFd::new(self.socket.as_fd(), wanted),
            PollFd::new(ring, PollFlags::POLLIN),
            PollFd::new(previous, PollFlags::POLLIN),
            PollFd::new(network, PollFlags::POLLIN),
        ];
        let links = self.links.iter().flat_map(|links| links.sockets());
        fds.extend(links.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)));
        if ppoll(&mut fds, timeout.map(TimeSpec::from_duration), None).is_err() {
            // A signal; look at everything.
            return true;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        if ready[1] {
            inbox.alarm().clear();
        }
        if ready[3] {
            self.watch.on_readable(Instant::now());
        }
        ready[0] || (self.previous.is_some() && ready[2]) || ready[4..].contains(&true)
    }
}

/// How to wait for a deadline.
enum Wait {
    /// Asleep for so long, or without limit.
    Sleep(Option<Duration>),
    /// Awake until then.
    Spin(Instant),
}
