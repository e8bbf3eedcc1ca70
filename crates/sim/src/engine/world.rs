//! One run: packets move from link to link, endpoints and timers react, until the time is up or all is sent.

use super::calendar::Calendar;
use super::packet::{Flags, Packet};
use super::pipe::{Offered, Pipe};
use crate::measure::Delays;
use crate::network::{FlowSpec, Network, Traffic};
use crate::outcome::{FlowOutcome, FlowSample, LinkOutcome, LinkSample, LossCounts, Outcome};
use crate::tcp::Endpoint;
use crate::udp::Datagrams;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A run under way.
pub(crate) struct World<'a> {
    network: &'a Network,
    now: Time,
    end: Time,
    calendar: Calendar,
    pipes: Vec<Pipe>,
    /// Which links are entered from one link only, in order; see [`only_feeders`].
    runs_on: Vec<bool>,
    flows: Vec<Flow>,
    routes: Routes,
    /// The time that the calendar holds for each endpoint; it may be earlier than its timer, never later.
    scheduled: Vec<Time>,
    /// Packets that an endpoint has just sent.
    out: Vec<Packet>,
    /// TCP flows that are not yet done; the run is over when there were any and none is left.
    unfinished: usize,
    events: u64,
    link_samples: Vec<Vec<LinkSample>>,
}

/// A flow in a run.
struct Flow {
    actor: Actor,
    start: Time,
    stop: Option<Time>,
    started: bool,
    finished: Option<Time>,
    lost: LossCounts,
    samples: Vec<FlowSample>,
    sampled_bytes: u64,
}

/// Who sends and receives.
enum Actor {
    /// The near and the far end of a connection.
    Tcp(Box<[Endpoint; 2]>),
    Udp(Box<Datagrams>),
}

/// Salts, so that links and sources of the same index have different random streams.
const LINK_STREAM: u64 = 0x6c69_6e6b;
const UDP_STREAM: u64 = 0x7564_7000;

impl<'a> World<'a> {
    pub fn new(network: &'a Network) -> Self {
        let links = network.links.len();
        let flows = network.flows.len();
        let pipe = |(i, link): (usize, &crate::NamedLink)| {
            Pipe::new(&link.spec, stream(network.seed, LINK_STREAM, i))
        };
        let mut world = Self {
            network,
            now: Time::ZERO,
            end: Time::ZERO + network.duration,
            calendar: Calendar::new(links + 2 * flows + 1),
            pipes: network.links.iter().enumerate().map(pipe).collect(),
            runs_on: vec![false; links],
            flows: Vec::with_capacity(flows),
            routes: Routes::new(network),
            scheduled: vec![Time::MAX; 2 * flows],
            out: Vec::with_capacity(64),
            unfinished: 0,
            events: 0,
            link_samples: vec![Vec::new(); links],
        };
        for (i, spec) in network.flows.iter().enumerate() {
            world.add_flow(i, spec);
        }
        // A sampled queue is looked at in the middle of things: nothing may be decided ahead.
        if network.sample.is_none() {
            world.runs_on = sole_feeders(network, &world.pipes);
        }
        if let Some(interval) = network.sample {
            let sampler = world.sampler_slot();
            world.calendar.set(sampler, Some(Time::ZERO + interval));
        }
        world
    }

    fn add_flow(&mut self, index: usize, spec: &FlowSpec) {
        let id = index as u32;
        let actor = match &spec.traffic {
            Traffic::Tcp(tcp) => {
                self.unfinished += 1;
                Actor::Tcp(Box::new([Endpoint::near(id, tcp), Endpoint::far(id, tcp)]))
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

    fn sampler_slot(&self) -> usize {
        self.pipes.len() + self.scheduled.len()
    }

    /// Plays the run to its end.
    pub fn play(mut self) -> Outcome {
        let links = self.pipes.len();
        let sampler = self.sampler_slot();
        while let Some((time, slot)) = self.calendar.next() {
            if time > self.end {
                break;
            }
            self.now = time;
            self.events += 1;
            if slot < links {
                self.on_link(slot);
            } else if slot < sampler {
                self.on_timer(slot - links);
                if self.unfinished == 0 && self.has_tcp() {
                    self.end = self.now;
                    break;
                }
            } else {
                self.on_sample(sampler);
            }
            if self.unfinished == 0 && self.has_tcp() {
                self.end = self.now;
                break;
            }
        }
        self.now = self.end;
        self.outcome()
    }

    fn has_tcp(&self) -> bool {
        self.flows.iter().any(|f| matches!(f.actor, Actor::Tcp(_)))
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
            Some(next) => self.enter(next, &mut packet),
            None => self.arrive(&packet),
        }
    }

    /// A packet is put on a link, and on those behind it that nothing else can enter before it.
    #[inline]
    fn enter(&mut self, mut link: usize, packet: &mut Packet) {
        let mut now = self.now;
        loop {
            match self.pipes[link].offer(now, packet) {
                Offered::Dropped(cause) => return self.on_drop(packet, cause),
                Offered::ComesOut(at) => now = at,
            }
            packet.hop += 1;
            match self.routes.link(packet).filter(|next| self.runs_on[*next]) {
                Some(next) => {
                    self.pipes[link].pass_on(packet);
                    link = next;
                }
                None => break,
            }
        }
        packet.hop -= 1;
        packet.at = now;
        if self.pipes[link].hold(packet) {
            self.calendar.set(link, Some(now));
        }
    }

    #[cold]
    fn on_drop(&mut self, packet: &Packet, cause: DropCause) {
        if !packet.flags.has(Flags::DATA) {
            return;
        }
        let flow = &mut self.flows[packet.flow as usize];
        *match cause {
            DropCause::QueueOverflow => &mut flow.lost.queue_overflow,
            DropCause::Random => &mut flow.lost.random,
            DropCause::Outage => &mut flow.lost.outage,
        } += 1;
        if let Actor::Tcp(ends) = &mut flow.actor {
            ends[usize::from(packet.flags.has(Flags::BACKWARD))].note_drop(packet, cause);
        }
    }

    /// A packet reaches the end of its route.
    #[inline]
    fn arrive(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        if packet.flags.has(Flags::CORRUPTED) {
            self.on_corrupted(packet);
            return;
        }
        let now = self.now;
        match &mut self.flows[index].actor {
            Actor::Udp(datagrams) => datagrams.on_arrival(now, packet),
            Actor::Tcp(ends) => {
                let end = usize::from(!packet.flags.has(Flags::BACKWARD));
                let in_order = ends[end].on_packet(now, packet, &mut self.out);
                let due = ends[end].deadline(now);
                self.reschedule(2 * index + end, due);
                self.send_out();
                if in_order > 0 {
                    self.check_finished(index);
                }
            }
        }
    }

    /// The checksum throws a corrupted packet away.
    #[cold]
    fn on_corrupted(&mut self, packet: &Packet) {
        if !packet.flags.has(Flags::DATA) {
            return;
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.lost.corrupted += 1;
        if let Actor::Tcp(ends) = &mut flow.actor {
            // Whatever changed it, it was no queue.
            ends[usize::from(packet.flags.has(Flags::BACKWARD))]
                .note_drop(packet, DropCause::Random);
        }
    }

    /// Puts what an endpoint sent on the first link of its route.
    #[inline]
    fn send_out(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        for packet in &mut out {
            if let Some(first) = self.routes.link(packet) {
                self.enter(first, packet);
            }
        }
        out.clear();
        self.out = out;
    }

    /// A flow is done when both ends have all they were to get.
    #[inline]
    fn check_finished(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Actor::Tcp(ends) = &flow.actor else {
            return;
        };
        let complete = |sender: &Endpoint, receiver: &Endpoint| {
            sender
                .sender()
                .is_none_or(|s| s.total().is_some_and(|t| receiver.delivered() >= t))
        };
        if flow.finished.is_none() && complete(&ends[0], &ends[1]) && complete(&ends[1], &ends[0]) {
            flow.finished = Some(self.now);
            self.unfinished -= 1;
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
        let (index, end) = (endpoint / 2, endpoint % 2);
        let now = self.now;
        let flow = &mut self.flows[index];
        let starts = end == 0 && !flow.started && flow.start <= now;
        let stops = end == 0 && flow.stop.is_some_and(|stop| stop <= now);
        flow.started |= starts;
        let mut due = match &mut flow.actor {
            Actor::Tcp(ends) => {
                if starts {
                    ends[0].start(now, &mut self.out);
                }
                if stops {
                    ends.iter_mut().for_each(Endpoint::stop);
                }
                ends[end].on_timer(now, &mut self.out);
                ends[end].deadline(now)
            }
            Actor::Udp(datagrams) => {
                if starts {
                    datagrams.start(now, &mut self.out);
                }
                if stops {
                    datagrams.stop();
                }
                datagrams.on_timer(now, &mut self.out);
                datagrams.deadline()
            }
        };
        if stops {
            flow.stop = None;
        } else if end == 0 {
            due = due.map_or(flow.stop, |due| {
                Some(flow.stop.map_or(due, |stop| due.min(stop)))
            });
        }
        self.schedule(endpoint, due);
        self.send_out();
        if stops {
            self.check_finished(index);
        }
    }

    // ------------------------------------------------------------------ measurement

    fn on_sample(&mut self, slot: usize) {
        let Some(interval) = self.network.sample else {
            return;
        };
        let now = self.now;
        for flow in &mut self.flows {
            let Actor::Tcp(ends) = &flow.actor else {
                continue;
            };
            let Some(sender) = ends[0].sender().filter(|_| flow.started) else {
                continue;
            };
            let delivered = payload_delivered(ends);
            flow.samples.push(FlowSample {
                at: now,
                cwnd: sender.effective_cwnd(),
                ssthresh: sender.controller().ssthresh(),
                in_flight: sender.in_flight(),
                srtt: sender.srtt(),
                rate: Rate::over(Bytes::new(delivered - flow.sampled_bytes), interval),
                phase: sender.controller().phase(),
            });
            flow.sampled_bytes = delivered;
        }
        for (pipe, samples) in self.pipes.iter_mut().zip(&mut self.link_samples) {
            let backlog = pipe.link.backlog(now);
            let before: u64 = std::mem::replace(&mut pipe.sampled_bytes, pipe.came_out_bytes);
            samples.push(LinkSample {
                at: now,
                queue: backlog.packets,
                queue_bytes: backlog.bytes,
                rate: Rate::over(Bytes::new(pipe.came_out_bytes - before), interval),
            });
        }
        self.calendar.set(slot, Some(now + interval));
    }

    fn outcome(mut self) -> Outcome {
        let duration = self.end.since(Time::ZERO);
        let mut one_way_delay = Delays::new();
        let mut delivered_packets = 0;
        let flows = std::mem::take(&mut self.flows)
            .into_iter()
            .zip(&self.network.flows)
            .map(|(flow, spec)| {
                let (outcome, one_way, packets) = flow_outcome(flow, spec, self.end);
                one_way_delay.merge(&one_way);
                delivered_packets += packets;
                outcome
            })
            .collect();
        let links = std::mem::take(&mut self.pipes)
            .into_iter()
            .zip(&self.network.links)
            .zip(self.link_samples)
            .map(|((pipe, named), samples)| {
                link_outcome(&pipe, &named.name, duration, self.end, samples)
            })
            .collect();
        Outcome {
            duration,
            flows,
            links,
            events: self.events,
            delivered_packets,
            one_way_delay: one_way_delay.summary(),
        }
    }
}

/// The links that packets pass: for each flow and direction one row of the same length.
struct Routes {
    links: Vec<u32>,
    row: usize,
}

impl Routes {
    /// Ends a route that is shorter than its row.
    const END: u32 = u32::MAX;

    fn new(network: &Network) -> Self {
        let routes = || network.flows.iter().flat_map(|f| [&f.forward, &f.backward]);
        let row = routes().map(Vec::len).max().unwrap_or(0) + 1;
        let mut links = Vec::with_capacity(2 * network.flows.len() * row);
        for route in routes() {
            links.extend(route.iter().map(|link| link.0));
            links.resize(links.len().next_multiple_of(row), Self::END);
        }
        Self { links, row }
    }

    /// The link that a packet is on, or goes on next, by its `hop`.
    #[inline]
    fn link(&self, packet: &Packet) -> Option<usize> {
        let route = 2 * packet.flow as usize + usize::from(packet.flags.has(Flags::BACKWARD));
        let link = self.links[route * self.row + usize::from(packet.hop)];
        (link != Self::END).then_some(link as usize)
    }
}

/// Which links are only ever entered from one other link that keeps its packets in order. What such a link does
/// to a packet is settled as soon as that packet is on the link before it: nobody can come between. So it
/// is computed then, and the packet needs one event less: a flow's own access link behind a shared
/// bottleneck costs none.
fn sole_feeders(network: &Network, pipes: &[Pipe]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Fed {
        Never,
        By(u32),
        Otherwise,
    }
    let mut fed = vec![Fed::Never; network.links.len()];
    for flow in &network.flows {
        for route in [&flow.forward, &flow.backward] {
            let mut before = None;
            for link in route {
                let by = before.map_or(Fed::Otherwise, Fed::By);
                let known = &mut fed[link.0 as usize];
                *known = if *known == Fed::Never || *known == by {
                    by
                } else {
                    Fed::Otherwise
                };
                before = Some(link.0);
            }
        }
    }
    let in_order = |link: u32| pipes[link as usize].link.keeps_order();
    fed.into_iter()
        .map(|fed| matches!(fed, Fed::By(link) if in_order(link)))
        .collect()
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

/// Payload that both ends of a connection have delivered to their applications.
fn payload_delivered(ends: &[Endpoint; 2]) -> u64 {
    let to = |sender: &Endpoint, receiver: &Endpoint| {
        sender
            .sender()
            .map_or(0, |s| s.payload(receiver.delivered()))
    };
    to(&ends[0], &ends[1]) + to(&ends[1], &ends[0])
}

fn flow_outcome(flow: Flow, spec: &FlowSpec, end: Time) -> (FlowOutcome, Delays, u64) {
    let until = flow.finished.or(spec.stop).unwrap_or(end).min(end);
    let active = until.since(flow.start);
    let mut outcome = FlowOutcome {
        name: spec.name.clone(),
        controller: None,
        start: flow.start,
        active,
        delivered: Bytes::ZERO,
        goodput: Rate::ZERO,
        sent_on_wire: Bytes::ZERO,
        throughput: Rate::ZERO,
        packets_sent: 0,
        retransmits: 0,
        timeouts: 0,
        loss_episodes: 0,
        spurious: 0,
        lost: flow.lost,
        rtt: crate::Summary::default(),
        one_way_delay: crate::Summary::default(),
        completion: None,
        discrimination: None,
        samples: flow.samples,
    };
    let mut one_way = Delays::new();
    let mut packets = 0;
    match (flow.actor, &spec.traffic) {
        (Actor::Tcp(ends), Traffic::Tcp(tcp)) => {
            let mut rtt = Delays::new();
            for end in ends.iter() {
                let c = end.counters();
                outcome.sent_on_wire += Bytes::new(c.wire_bytes);
                outcome.packets_sent += c.packets;
                outcome.retransmits += c.retransmits;
                outcome.timeouts += c.timeouts;
                outcome.loss_episodes += c.episodes;
                outcome.spurious += c.spurious;
                outcome.discrimination = add_confusions(outcome.discrimination, c.confusion);
                one_way.merge(&end.one_way);
                rtt.merge(&end.rtt);
                packets += u64::from(end.delivered());
            }
            outcome.controller = Some(tcp.controller.to_string());
            outcome.delivered = Bytes::new(payload_delivered(&ends));
            outcome.rtt = rtt.summary();
            outcome.completion = tcp.size.and(flow.finished).map(|at| at.since(flow.start));
        }
        (Actor::Udp(datagrams), Traffic::Udp(udp)) => {
            outcome.packets_sent = u64::from(datagrams.sent);
            outcome.sent_on_wire = udp.packet.times(outcome.packets_sent);
            outcome.delivered = udp.packet.times(datagrams.arrived);
            packets = datagrams.arrived;
            one_way = datagrams.one_way;
        }
        _ => unreachable!("an actor is made from its own traffic"),
    }
    outcome.goodput = Rate::over(outcome.delivered, active);
    outcome.throughput = Rate::over(outcome.sent_on_wire, active);
    outcome.one_way_delay = one_way.summary();
    (outcome, one_way, packets)
}

fn add_confusions(
    a: Option<crate::Confusion>,
    b: Option<crate::Confusion>,
) -> Option<crate::Confusion> {
    match (a, b) {
        (Some(a), Some(b)) => Some(crate::Confusion {
            congestion_as_congestion: a.congestion_as_congestion + b.congestion_as_congestion,
            congestion_as_random: a.congestion_as_random + b.congestion_as_random,
            random_as_congestion: a.random_as_congestion + b.random_as_congestion,
            random_as_random: a.random_as_random + b.random_as_random,
            spurious: a.spurious + b.spurious,
        }),
        (a, b) => a.or(b),
    }
}

fn link_outcome(
    pipe: &Pipe,
    name: &str,
    duration: Duration,
    end: Time,
    samples: Vec<LinkSample>,
) -> LinkOutcome {
    let counters = *pipe.link.counters();
    // Service is computed ahead: what lies beyond the end did not happen.
    let busy = counters.busy - pipe.link.busy_beyond(end);
    let served = counters.offered - counters.queue_overflow;
    let share = |span: Duration| span.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
    LinkOutcome {
        name: name.to_owned(),
        counters,
        utilisation: share(busy).min(1.0),
        mean_queue: share(counters.waited),
        mean_wait: if served == 0 {
            Duration::ZERO
        } else {
            counters.waited / served
        },
        in_transit: pipe.len() as u64,
        came_out: pipe.came_out,
        samples,
    }
}
