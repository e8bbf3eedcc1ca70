//! One run: packets move from link to link, endpoints and timers react, until the time is up or all is sent.

use super::calendar::Calendar;
use super::channel::{Channel, Left};
use super::mail::{Mail, Outbox};
use super::packet::{Flags, Packet};
use super::pipe::{Offered, Pipe};
use super::routes::{Ahead, FurtherLane, Routes, further_lanes, settled_ends, sole_feeders};
use super::watch::{Nobody, Somebody, Watch, Watched, watch_senders};
use crate::aatp::{Connection, Node};
use crate::governed;
use crate::network::{FlowSpec, LinkId, Network, OnChannel, Traffic};
use crate::observe::{self, Observer};
use crate::outcome::{FlowSample, LinkSample, LossCounts, Outcome};
use crate::tcp::Endpoint;
use crate::udp::Datagrams;
use whimbrel_net::{DropCause, Fate};
use whimbrel_units::{Duration, Time};

/// A run under way.
pub(crate) struct World<'a, O = Nobody> {
    pub(super) network: &'a Network,
    pub(super) now: Time,
    pub(super) end: Time,
    pub(super) calendar: Calendar,
    pub(super) pipes: Vec<Pipe>,
    pub(super) channels: Vec<Channel>,
    /// Destination nodes.
    pub(super) nodes: Vec<Node>,
    mail: Mail,
    /// Which links are entered from one link only, in order; see [`sole_feeders`].
    runs_on: Vec<bool>,
    pub(super) flows: Vec<Flow>,
    /// Routes of multipath connections besides their first ones.
    further: Vec<FurtherLane>,
    routes: Routes,
    /// The time that the calendar holds for each endpoint; it may be earlier than its timer, never later.
    scheduled: Vec<Time>,
    /// Which ends are settled ahead, two a lane; see [`settled_ends`].
    ahead: Vec<Ahead>,
    /// Room for what endpoints send, kept for the next time.
    spare: Vec<Vec<Packet>>,
    /// Room for what leaves a channel.
    left: Vec<Left>,
    /// Connections that are not yet done; the run is over when the last one is.
    unfinished: usize,
    pub(super) events: u64,
    pub(super) link_samples: Vec<Vec<LinkSample>>,
    /// Who watches.
    watch: O,
}

/// A flow in a run.
pub(super) struct Flow {
    pub(super) actor: Actor,
    pub(super) start: Time,
    pub(super) stop: Option<Time>,
    pub(super) started: bool,
    pub(super) finished: Option<Time>,
    pub(super) lost: LossCounts,
    pub(super) samples: Vec<FlowSample>,
    pub(super) sampled_bytes: u64,
}

impl Flow {
    /// Its senders, or those of its paths, note their episodes of loss.
    fn record_episodes(&mut self) {
        match &mut self.actor {
            Actor::Tcp(ends) => ends[0].record_episodes(),
            Actor::Governed(connection) => {
                let paths = connection.paths.iter_mut();
                paths.for_each(|path| path.ends[0].record_episodes());
            }
            Actor::Aatp(_) | Actor::Udp(_) => {}
        }
    }
}

/// Who sends and receives.
pub(crate) enum Actor {
    /// The near and the far end of a connection.
    Tcp(Box<[Endpoint; 2]>),
    /// A connection that decides what its ends send: over several paths, with several streams or with messages.
    Governed(Box<governed::Connection>),
    Aatp(Box<Connection>),
    Udp(Box<Datagrams>),
}

/// Salts, so that links and sources of the same index have different random streams.
const LINK_STREAM: u64 = 0x6c69_6e6b;
const UDP_STREAM: u64 = 0x7564_7000;
const LAW_STREAM: u64 = 0x6c61_7700;
const MESSAGE_STREAM: u64 = 0x6d65_7373;
const CHANNEL_STREAM: u64 = 0x7769_6669;

/// Sources of events: links, two endpoints a lane, Wi-Fi channels and managed queues, the sampler.
fn slots(links: usize, lanes: usize, channels: usize) -> usize {
    links + 2 * lanes + channels + 1
}

/// The longest run that can be played with so many directed links and routes of flows.
pub(crate) fn longest_run(links: usize, routes: usize) -> Duration {
    // A Wi-Fi channel is two links, a managed queue one.
    Calendar::horizon(slots(links, routes, links)).since(Time::ZERO)
}

impl<'a> World<'a> {
    pub fn new(network: &'a Network) -> Self {
        Self::with(network, Nobody)
    }
}

impl<'a, 'o> World<'a, Somebody<'o>> {
    /// The same, and `observer` is told what happens.
    pub fn watched(network: &'a Network, observer: &'o mut dyn Observer) -> Self {
        let mut world = Self::with(network, Somebody::new(network, observer));
        for (i, flow) in world.flows.iter_mut().enumerate() {
            watch_senders(i, &mut flow.actor);
        }
        world
    }
}

impl<'a, O: Watch> World<'a, O> {
    fn with(network: &'a Network, watch: O) -> Self {
        let links = network.links.len();
        let further = further_lanes(network);
        let lanes = network.flows.len() + further.len();
        let on = Channel::of_links(network);
        let link_seed = |i| stream(network.seed, LINK_STREAM, i);
        let pipe = |(i, link)| Pipe::new(link, on[i], link_seed(i));
        let channels = Channel::all(
            network,
            |i| stream(network.seed, CHANNEL_STREAM, i),
            link_seed,
        );
        let mut world = Self {
            network,
            now: Time::ZERO,
            end: Time::ZERO + network.duration,
            calendar: Calendar::new(slots(links, lanes, channels.len()), links),
            pipes: network.links.iter().enumerate().map(pipe).collect(),
            channels,
            nodes: network.destinations.iter().map(Node::new).collect(),
            mail: Mail::default(),
            runs_on: vec![false; links],
            flows: Vec::with_capacity(network.flows.len()),
            further,
            routes: Routes::new(network),
            scheduled: vec![Time::MAX; 2 * lanes],
            ahead: vec![Ahead::Never; 2 * lanes],
            spare: Vec::new(),
            left: Vec::new(),
            unfinished: 0,
            events: 0,
            link_samples: vec![Vec::new(); links],
            watch,
        };
        for (i, spec) in network.flows.iter().enumerate() {
            world.add_flow(i, spec);
        }
        // A sampled queue is looked at in the middle of things: nothing may be decided ahead.
        if network.sample.is_none() {
            world.runs_on = sole_feeders(network, &world.pipes);
            world.ahead = settled_ends(network, &world.pipes, &world.runs_on);
        }
        if let Some(interval) = network.sample {
            let sampler = world.sampler_slot();
            world.calendar.set(sampler, Some(Time::ZERO + interval));
            world.flows.iter_mut().for_each(Flow::record_episodes);
        }
        world
    }

    fn add_flow(&mut self, index: usize, spec: &FlowSpec) {
        let id = index as u32;
        let actor = match &spec.traffic {
            Traffic::Tcp(tcp) if spec.is_governed() => {
                self.unfinished += 1;
                let behind = self.network.flows.len() as u32;
                let further = (behind..).zip(&self.further);
                let own = further.filter(|(_, lane)| lane.flow == index);
                let lanes: Vec<u32> = [id].into_iter().chain(own.map(|(i, _)| i)).collect();
                let seed = |lane| stream(self.network.seed, LAW_STREAM, lane as usize);
                let arrivals = stream(self.network.seed, MESSAGE_STREAM, index);
                let connection = governed::Connection::new(&lanes, tcp, seed, arrivals);
                Actor::Governed(Box::new(connection))
            }
            Traffic::Tcp(tcp) => {
                self.unfinished += 1;
                let seed = stream(self.network.seed, LAW_STREAM, index);
                Actor::Tcp(Box::new([
                    Endpoint::near(id, tcp, seed),
                    Endpoint::far(id, tcp, !seed),
                ]))
            }
            Traffic::Aatp(aatp) => {
                self.unfinished += 1;
                let seed = stream(self.network.seed, LAW_STREAM, index);
                Actor::Aatp(Box::new(Connection::new(id, aatp, seed)))
            }
            Traffic::Udp(udp) => {
                let seed = stream(self.network.seed, UDP_STREAM, index);
                Actor::Udp(Box::new(Datagrams::new(id, *udp, seed)))
            }
        };
        self.flows.push(Flow {
            actor,
            start: spec.start,
            stop: spec.stop,
            started: false,
            finished: None,
            lost: LossCounts::default(),
            samples: Vec::new(),
            sampled_bytes: 0,
        });
        self.schedule(2 * index, Some(spec.start));
    }

    fn first_channel_slot(&self) -> usize {
        self.pipes.len() + self.scheduled.len()
    }

    fn sampler_slot(&self) -> usize {
        self.first_channel_slot() + self.channels.len()
    }

    /// Plays the run to its end.
    pub fn play(mut self) -> Outcome {
        let links = self.pipes.len();
        let (channels, sampler) = (self.first_channel_slot(), self.sampler_slot());
        while let Some((time, slot)) = self.calendar.next() {
            if time > self.end {
                break;
            }
            self.now = time;
            self.events += 1;
            if let Some(watched) = self.watch.watched() {
                watched.release(time);
            }
            if slot < links {
                self.on_link(slot);
            } else if slot < channels {
                self.on_timer(slot - links);
            } else if slot < sampler {
                self.on_channel(slot - channels);
            } else {
                self.on_sample(sampler);
            }
        }
        self.now = self.end;
        if let Some(watched) = self.watch.watched() {
            watched.release(self.end);
        }
        self.outcome()
    }

    // ------------------------------------------------------------------ packets

    /// A packet comes out of a link.
    #[inline]
    fn on_link(&mut self, link: usize) {
        let pipe = &mut self.pipes[link];
        let Some(mut packet) = pipe.leave() else {
            return;
        };
        self.calendar.set(link, pipe.next());
        packet.hop += 1;
        match self.routes.link(&packet) {
            Some(next) => self.enter(self.now, next, &mut packet),
            None if self.ahead[end_reached(&packet)] == Ahead::IfQuiet => {
                self.catch_up(link, &packet);
            }
            None => self.arrive(self.now, &packet),
        }
    }

    /// A packet is received that others may have waited behind: some may be settled now.
    #[inline(never)]
    fn catch_up(&mut self, link: usize, packet: &Packet) {
        self.arrive(self.now, packet);
        while let Some(packet) = self.pipes[link].first().copied()
            && self.is_settled(packet.at, &packet, true)
        {
            self.pipes[link].leave();
            self.arrive(packet.at, &packet);
        }
        self.calendar.set(link, self.pipes[link].next());
    }

    /// A packet is put on a link at `at`, and on those behind it that nothing else can enter before it.
    #[inline]
    fn enter(&mut self, at: Time, mut link: usize, packet: &mut Packet) {
        let mut at = at;
        loop {
            if let Some(on) = self.pipes[link].on_channel {
                return self.enter_channel(at, on, packet);
            }
            match self.pipes[link].offer(at, packet) {
                Offered::Dropped(cause) => {
                    self.tell_drop(at, link, packet, cause);
                    return self.on_drop(packet, cause);
                }
                Offered::ComesOut(out) => at = out,
            }
            packet.hop += 1;
            let next = self.routes.link(packet);
            match next.filter(|next| self.runs_on[*next]) {
                Some(next) => {
                    self.pipes[link].count_out(packet);
                    link = next;
                }
                None if next.is_none()
                    && self.is_settled(at, packet, self.pipes[link].is_empty()) =>
                {
                    self.pipes[link].count_out(packet);
                    return self.arrive(at, packet);
                }
                None => break,
            }
        }
        packet.hop -= 1;
        self.hold(at, link, packet);
    }

    /// Keeps a packet on a link until it comes out at `at`.
    #[inline(always)]
    fn hold(&mut self, at: Time, link: usize, packet: &mut Packet) {
        packet.at = at;
        if self.pipes[link].hold(packet) {
            self.calendar.set(link, Some(at));
        }
    }

    /// A packet is put into a station's queue; when it leaves is the channel's business.
    #[inline(never)]
    fn enter_channel(&mut self, at: Time, on: OnChannel, packet: &Packet) {
        let mut left = std::mem::take(&mut self.left);
        if !self.channels[on.channel].offer(at, on.side, packet, &mut left) {
            let cause = DropCause::QueueOverflow;
            if let Some(link) = self.routes.link(packet) {
                self.tell_drop(at, link, packet, cause);
            }
            self.on_drop(packet, cause);
        }
        self.settle(at, left, on.channel);
    }

    /// Something happens on a channel.
    fn on_channel(&mut self, channel: usize) {
        let mut left = std::mem::take(&mut self.left);
        self.channels[channel].advance(self.now, &mut left);
        self.settle(self.now, left, channel);
    }

    /// Packets have left a channel: they are on their links, or lost.
    fn settle(&mut self, at: Time, mut left: Vec<Left>, channel: usize) {
        for (link, fate, mut packet) in left.drain(..) {
            match fate {
                Fate::Dropped(cause) => {
                    self.tell_drop(at, link, &packet, cause);
                    self.on_drop(&packet, cause);
                }
                Fate::Delivered {
                    at,
                    corrupted,
                    marked,
                } => {
                    packet.pass(corrupted, marked);
                    self.hold(at, link, &mut packet);
                }
            }
        }
        self.left = left;
        self.schedule_channel(channel);
    }

    fn schedule_channel(&mut self, channel: usize) {
        let slot = self.first_channel_slot() + channel;
        self.calendar.set(slot, self.channels[channel].next());
    }

    /// Whether a packet that reaches the end of its route at `at` may be received now; `first`: none waits before it. Not
    /// beyond the run's end: that does not happen.
    #[inline(always)]
    fn is_settled(&self, at: Time, packet: &Packet, first: bool) -> bool {
        at <= self.end
            && match self.ahead[end_reached(packet)] {
                Ahead::Never => false,
                Ahead::Always => true,
                Ahead::IfQuiet => first && self.foreseen(at, packet),
            }
    }

    /// Whether the end that a packet reaches at `at` does nothing before that is not settled.
    #[inline(never)]
    fn foreseen(&self, at: Time, packet: &Packet) -> bool {
        let end = usize::from(!packet.flags.has(Flags::BACKWARD));
        match &self.flows[packet.lane as usize].actor {
            Actor::Tcp(ends) => ends[end].foresees(at, packet),
            _ => false,
        }
    }

    #[cold]
    fn on_drop(&mut self, packet: &Packet, cause: DropCause) {
        let lost = self.losses(packet);
        let count = match cause {
            DropCause::QueueOverflow => &mut lost.queue_overflow,
            DropCause::Early => &mut lost.early,
            DropCause::Random => &mut lost.random,
            DropCause::Outage => &mut lost.outage,
            DropCause::Contention => &mut lost.contention,
        };
        *count += u64::from(packet.flags.has(Flags::DATA));
        self.forget(packet, cause);
    }

    /// Which flow a lane is of, and which of its routes it is.
    #[inline]
    fn flow_of(&self, lane: usize) -> (usize, usize) {
        match lane.checked_sub(self.flows.len()) {
            None => (lane, 0),
            Some(behind) => (self.further[behind].flow, self.further[behind].path),
        }
    }

    /// The losses of a packet's flow, or of its path if that has several.
    fn losses(&mut self, packet: &Packet) -> &mut LossCounts {
        let (index, path) = self.flow_of(packet.lane as usize);
        let flow = &mut self.flows[index];
        match &mut flow.actor {
            Actor::Governed(connection) => &mut connection.paths[path].lost,
            Actor::Tcp(_) | Actor::Aatp(_) | Actor::Udp(_) => &mut flow.lost,
        }
    }

    /// A packet will not be received: its sender's book is told the truth, and its bytes are thrown away.
    fn forget(&mut self, packet: &Packet, cause: DropCause) {
        let (index, path) = self.flow_of(packet.lane as usize);
        match &mut self.flows[index].actor {
            Actor::Governed(connection) if packet.flags.has(Flags::DATA) => {
                connection.note_drop(path, packet, cause);
            }
            Actor::Tcp(ends) if packet.flags.has(Flags::DATA) => {
                ends[usize::from(packet.flags.has(Flags::BACKWARD))].note_drop(packet, cause);
            }
            Actor::Aatp(connection) => {
                connection.note_drop(self.mail.read(packet.seg), cause);
                self.mail.burn(packet.seg, None);
            }
            Actor::Tcp(_) | Actor::Governed(_) | Actor::Udp(_) => {}
        }
    }

    /// A packet reaches the end of its route at `at`.
    #[inline]
    fn arrive(&mut self, at: Time, packet: &Packet) {
        let (index, _) = self.flow_of(packet.lane as usize);
        if packet.flags.has(Flags::CORRUPTED) {
            self.on_corrupted(at, packet);
            return;
        }
        if let Some(watched) = self.watch.watched() {
            watched.arrived(at, packet);
        }
        match &mut self.flows[index].actor {
            Actor::Udp(datagrams) => datagrams.on_arrival(at, packet),
            Actor::Aatp(_) => self.deliver_mail(at, packet),
            Actor::Governed(_) => self.arrive_on_path(at, packet),
            Actor::Tcp(ends) => {
                let end = usize::from(!packet.flags.has(Flags::BACKWARD));
                let mut out = self.spare.pop().unwrap_or_default();
                let in_order = ends[end].on_packet(at, packet, &mut out);
                let due = ends[end].deadline(at);
                self.reschedule(2 * index + end, due);
                self.tell(at, index, &out);
                self.send(out);
                if in_order > 0 {
                    self.check_finished(index, at);
                }
            }
        }
    }

    /// A packet reaches an end of a path of a multipath connection. What the near end hears of one path may let all
    /// send.
    #[inline(never)]
    fn arrive_on_path(&mut self, at: Time, packet: &Packet) {
        let (index, path) = self.flow_of(packet.lane as usize);
        let Actor::Governed(connection) = &mut self.flows[index].actor else {
            return;
        };
        let end = usize::from(!packet.flags.has(Flags::BACKWARD));
        let mut out = self.spare.pop().unwrap_or_default();
        let in_order = connection.on_packet(at, path, end, packet, &mut out);
        let due = connection.deadline(at, path, end);
        self.reschedule(2 * packet.lane as usize + end, due);
        if end == 0 {
            self.reschedule_paths(index, at);
        }
        self.tell(at, index, &out);
        self.send(out);
        if in_order > 0 {
            self.check_finished(index, at);
        }
    }

    /// The near ends of all paths may have got timers.
    fn reschedule_paths(&mut self, index: usize, at: Time) {
        let mut path = 0;
        while let Actor::Governed(connection) = &self.flows[index].actor
            && let Some(lane) = connection.paths.get(path).map(|path| path.lane)
        {
            let due = connection.deadline(at, path, 0);
            self.reschedule(2 * lane as usize, due);
            path += 1;
        }
    }

    /// A packet with an encoded message reaches an end of its AATP connection.
    #[inline(never)]
    fn deliver_mail(&mut self, at: Time, packet: &Packet) {
        let (index, _) = self.flow_of(packet.lane as usize);
        let Actor::Aatp(connection) = &mut self.flows[index].actor else {
            return;
        };
        let end = usize::from(!packet.flags.has(Flags::BACKWARD));
        let node = &mut self.nodes[connection.destination];
        let mut packets = self.spare.pop().unwrap_or_default();
        let bytes = self.mail.take(packet.seg);
        let mut out = Outbox {
            packets: &mut packets,
            mail: &mut self.mail,
        };
        connection.on_bytes(at, end, &bytes, node, &mut out);
        let due = connection.deadline(end);
        self.mail.burn(packet.seg, Some(bytes));
        self.reschedule(2 * index + end, due);
        self.tell(at, index, &packets);
        self.send(packets);
        self.check_finished(index, at);
    }

    /// The checksum throws a corrupted packet away. Whom it reaches at `at` may ask for it again.
    #[cold]
    fn on_corrupted(&mut self, at: Time, packet: &Packet) {
        if let Some(watched) = self.watch.watched() {
            watched.lost(at, packet, observe::Fate::Corrupted);
        }
        let lost = self.losses(packet);
        lost.corrupted += u64::from(packet.flags.has(Flags::DATA));
        // Whatever changed it, it was no queue.
        self.forget(packet, DropCause::Random);
        let (index, path) = self.flow_of(packet.lane as usize);
        let end = usize::from(!packet.flags.has(Flags::BACKWARD));
        let mut out = self.spare.pop().unwrap_or_default();
        let due = match &mut self.flows[index].actor {
            Actor::Tcp(ends) => {
                ends[end].on_corrupted(at, packet, &mut out);
                ends[end].deadline(at)
            }
            Actor::Governed(connection) => {
                connection.on_corrupted(at, path, end, packet, &mut out);
                connection.deadline(at, path, end)
            }
            Actor::Aatp(_) | Actor::Udp(_) => None,
        };
        self.reschedule(2 * packet.lane as usize + end, due);
        self.tell(at, index, &out);
        self.send(out);
    }

    /// Who watches is told that a link dropped a packet.
    #[inline(always)]
    fn tell_drop(&mut self, at: Time, link: usize, packet: &Packet, cause: DropCause) {
        if let Some(watched) = self.watch.watched() {
            let link = LinkId(link as u32);
            watched.lost(at, packet, observe::Fate::Dropped { link, cause });
        }
    }

    /// Who watches is told what came of a call of a flow's ends, and what leaves.
    #[inline(always)]
    fn tell(&mut self, at: Time, index: usize, out: &[Packet]) {
        if let Some(watched) = self.watch.watched() {
            let flow = (
                index,
                &self.network.flows[index],
                &mut self.flows[index].actor,
            );
            watched.called(at, flow, out, &self.mail);
        }
    }

    /// Puts what an endpoint sent on the first link of its route.
    #[inline]
    fn send(&mut self, mut out: Vec<Packet>) {
        for packet in &mut out {
            if let Some(first) = self.routes.link(packet) {
                self.enter(packet.at, first, packet);
            }
        }
        out.clear();
        self.spare.push(out);
    }

    /// A flow is done when both ends have all they were to get; the run when all connections are.
    #[inline]
    fn check_finished(&mut self, index: usize, at: Time) {
        let flow = &mut self.flows[index];
        let has_all = |sender: &Endpoint, receiver: &Endpoint| {
            sender
                .sender()
                .is_none_or(|s| s.total().is_some_and(|t| receiver.delivered() >= t))
        };
        let complete = match &flow.actor {
            Actor::Tcp(ends) => has_all(&ends[0], &ends[1]) && has_all(&ends[1], &ends[0]),
            Actor::Governed(connection) => connection.is_complete(),
            Actor::Aatp(connection) => connection.is_complete(),
            Actor::Udp(_) => return,
        };
        if complete && flow.finished.is_none() {
            flow.finished = Some(at);
            self.unfinished -= 1;
            if self.unfinished == 0 {
                let last = self.flows.iter().filter_map(|f| f.finished).max();
                self.end = self.end.min(last.unwrap_or(self.end));
            }
        }
    }

    // ------------------------------------------------------------------ timers

    /// Makes sure that an endpoint is called no later than `due`. A timer that moved back is looked at when
    /// the old time comes: timers move with every acknowledgment and hardly ever fire.
    #[inline]
    fn reschedule(&mut self, endpoint: usize, due: Option<Time>) {
        if due.is_some_and(|due| due < self.scheduled[endpoint]) {
            self.schedule(endpoint, due);
        }
    }

    fn schedule(&mut self, endpoint: usize, due: Option<Time>) {
        self.scheduled[endpoint] = due.unwrap_or(Time::MAX);
        self.calendar.set(self.pipes.len() + endpoint, due);
    }

    fn on_timer(&mut self, endpoint: usize) {
        let ((index, path), end) = (self.flow_of(endpoint / 2), endpoint % 2);
        let now = self.now;
        let flow = &mut self.flows[index];
        // A flow has its start and stop on the timer of its first lane.
        let first = path == 0 && end == 0;
        let starts = first && !flow.started && flow.start <= now;
        let stops = first && flow.stop.is_some_and(|stop| stop <= now);
        flow.started |= starts;
        let mut out = self.spare.pop().unwrap_or_default();
        let mut due = match &mut flow.actor {
            Actor::Tcp(ends) => {
                if starts {
                    ends[0].start(now, &mut out);
                }
                if stops {
                    ends.iter_mut().for_each(Endpoint::stop);
                }
                ends[end].on_timer(now, &mut out);
                ends[end].deadline(now)
            }
            Actor::Governed(connection) => {
                if starts {
                    connection.start(now, &mut out);
                }
                if stops {
                    connection.stop();
                }
                connection.on_timer(now, path, end, &mut out);
                connection.deadline(now, path, end)
            }
            Actor::Aatp(connection) => {
                let node = &mut self.nodes[connection.destination];
                let mut out = Outbox {
                    packets: &mut out,
                    mail: &mut self.mail,
                };
                if starts {
                    connection.source.start(now, &mut out);
                }
                if stops {
                    connection.source.stop();
                }
                connection.on_timer(now, end, node, &mut out);
                connection.deadline(end)
            }
            Actor::Udp(datagrams) => {
                if starts {
                    datagrams.start(now, &mut out);
                }
                if stops {
                    datagrams.stop();
                }
                datagrams.on_timer(now, &mut out);
                datagrams.deadline()
            }
        };
        if stops {
            flow.stop = None;
        } else if first {
            due = due.map_or(flow.stop, |due| {
                Some(flow.stop.map_or(due, |stop| due.min(stop)))
            });
        }
        self.schedule(endpoint, due);
        self.reschedule_paths(index, now);
        self.tell(now, index, &out);
        self.send(out);
        if stops {
            self.check_finished(index, now);
        }
    }
}

/// The number of the end that a packet is on its way to: two a lane, near and far.
#[inline]
fn end_reached(packet: &Packet) -> usize {
    2 * packet.lane as usize + usize::from(!packet.flags.has(Flags::BACKWARD))
}

/// The seed of one random stream: far apart for any two indices and salts.
fn stream(seed: u64, salt: u64, index: usize) -> u64 {
    let mut x =
        seed ^ salt.rotate_left(32) ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The finalizer of SplitMix64.
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
