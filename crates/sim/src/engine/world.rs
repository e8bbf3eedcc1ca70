//! One run: packets move from link to link, and flows react, until the time is over or all data has
//! arrived.

use super::calendar::Calendar;
use super::helper::{Agent, Passage};
use super::lookahead::Lookahead;
use super::observation::{Observe, Observed, Unobserved};
use super::pipe::{Offered, Pipe};
use super::polled_link::{Departed, PolledLink, PolledSide};
use super::routes::{Ahead, FlowPath, PathId, Routes, Row, flow_paths};
use super::sources::{EndId, Source, Sources};
use super::time_queue::TimeQueue;
use crate::any_flow::{AnyFlow, Shared};
use crate::flow::interface::{Context, Flow, PathEnd};
use crate::network::{FlowSpec, Helped, LinkId, Network, Traffic};
use crate::observe::{self, End, Observer};
use crate::outcome::{FlowSample, LinkSample, LossCounts, Outcome};
use crate::packet::{Flags, Packet};
use crate::seed::Stream;
use std::ops::Range;
use whimbrel_net::{DropCause, Fate};
use whimbrel_units::{Bytes, Duration, Time};

/// A run in progress. `O` reports to an observer.
pub(crate) struct World<'a, O> {
    pub(super) network: &'a Network,
    pub(super) now: Time,
    pub(super) end: Time,
    pub(super) calendar: Calendar,
    pub(super) pipes: Vec<Pipe>,
    pub(super) polled: Vec<PolledLink>,
    helpers: Vec<Agent>,
    pub(super) flows: Vec<Entry<'a>>,
    pub(super) shared: Shared,
    /// Losses that were computed ahead and whose time has not come.
    pending_losses: TimeQueue<(Packet, DropCause)>,
    /// The paths after the first ones of the flows.
    more_paths: Vec<FlowPath>,
    sources: Sources,
    routes: Routes,
    /// The time that the calendar holds for each end of `more_paths`; see [`Entry::scheduled`].
    more_scheduled: Vec<[Time; 2]>,
    /// The packets that the flows being called send. Calls nest: each call has its packets after
    /// those of the call around it.
    out: Vec<Packet>,
    /// Buffer for the departures from a polled link.
    departed: Vec<Departed>,
    /// Flows that the run waits for. It is over when the last of them is complete.
    unfinished: usize,
    pub(super) events: u64,
    pub(super) link_samples: Vec<Vec<LinkSample>>,
    observation: O,
}

/// A flow, and what the engine knows of it. The fields are in this order in memory: what each
/// packet needs is in one cache line, before the flow.
#[repr(C, align(64))]
pub(super) struct Entry<'a> {
    /// Its paths after the first one.
    more_paths: Range<usize>,
    /// The time that the calendar holds for each end of its first path: near, far. It may be
    /// earlier than the timer of the end, never later.
    scheduled: [Time; 2],
    pub(super) started: bool,
    pub(super) flow: AnyFlow<'a>,
    start: Time,
    /// When it is still to stop.
    stop: Option<Time>,
    /// When it was complete.
    pub(super) finished: Option<Time>,
    pub(super) samples: Vec<FlowSample>,
    /// Delivered data at the last sample.
    pub(super) sampled: Bytes,
}

/// The longest run with this many directed links and routes of flows.
pub(crate) fn longest_run(links: usize, routes: usize) -> Duration {
    // There are at most as many polled links as links.
    let sources = Sources {
        links,
        paths: routes,
        polled: links,
        helpers: links,
    };
    Calendar::horizon(sources.count()).since(Time::ZERO)
}

impl<'a> World<'a, Unobserved> {
    /// A run of a network.
    pub fn new(network: &'a Network) -> Self {
        Self::with(network, Unobserved)
    }
}

impl<'a, 'o> World<'a, Observed<'o>> {
    /// The same run; `observer` receives its events.
    pub fn observed(network: &'a Network, observer: &'o mut dyn Observer) -> Self {
        let mut world = Self::with(network, Observed::new(network, observer));
        for entry in &mut world.flows {
            entry.flow.observe();
        }
        world
    }
}

impl<'a, O: Observe> World<'a, O> {
    fn with(network: &'a Network, observation: O) -> Self {
        let links = network.links.len();
        let more_paths: Vec<FlowPath> = flow_paths(network).skip(network.flows.len()).collect();
        let paths = network.flows.len() + more_paths.len();
        let polled_sides = PolledLink::of_links(network);
        let pipe = |(i, link)| {
            let seed = Stream::Link.seed(network.seed, i);
            Pipe::new(link, polled_sides[i], seed)
        };
        let polled = PolledLink::all(network);
        let helpers = Agent::all(network);
        let sources = Sources {
            links,
            paths,
            polled: polled.len(),
            helpers: helpers.len(),
        };
        let mut world = Self {
            network,
            now: Time::ZERO,
            end: Time::ZERO + network.duration,
            calendar: Calendar::new(sources.count(), links),
            pipes: network.links.iter().enumerate().map(pipe).collect(),
            polled,
            helpers,
            flows: Vec::with_capacity(network.flows.len()),
            shared: Shared::new(network),
            pending_losses: TimeQueue::default(),
            more_scheduled: vec![[Time::MAX; 2]; more_paths.len()],
            more_paths,
            sources,
            routes: Routes::new(network),
            out: Vec::new(),
            departed: Vec::new(),
            unfinished: 0,
            events: 0,
            link_samples: vec![Vec::new(); links],
            observation,
        };
        for (index, spec) in network.flows.iter().enumerate() {
            world.add_flow(index, spec);
        }
        for number in 0..world.helpers.len() {
            world.set_helper(number);
        }
        match network.sample {
            None => {
                let behavior = |index: usize, end| world.flows[index].flow.behavior(end);
                let lookahead = Lookahead::new(network, &world.pipes, behavior);
                world.routes.look_ahead(&lookahead.links, &lookahead.ends);
            }
            Some(interval) => {
                world.set(Source::Sampler, Some(Time::ZERO + interval));
                for entry in &mut world.flows {
                    entry.flow.record_episodes();
                }
            }
        }
        world
    }

    fn add_flow(&mut self, index: usize, spec: &FlowSpec) {
        let more = self.more_paths.partition_point(|path| path.flow < index);
        let first = self.network.flows.len() + more;
        let more_paths = first..first + spec.routes.len() - 1;
        let path_ids: Vec<u32> = [index]
            .into_iter()
            .chain(more_paths.clone())
            .map(|path_id| path_id as u32)
            .collect();
        let flow = AnyFlow::new(self.network, index, &path_ids);
        self.unfinished += usize::from(flow.can_complete());
        self.flows.push(Entry {
            flow,
            more_paths,
            scheduled: [Time::MAX; 2],
            start: spec.start,
            stop: spec.stop,
            started: false,
            finished: None,
            samples: Vec::new(),
            sampled: Bytes::ZERO,
        });
        self.schedule(EndId::new(PathId::new(index), End::Near), Some(spec.start));
    }

    /// Sets the next event of a source.
    #[inline]
    pub(super) fn set(&mut self, source: Source, time: Option<Time>) {
        self.calendar.set(self.sources.slot(source), time);
    }

    /// Plays the run to its end.
    pub fn play(mut self) -> Outcome {
        self.events_until(Time::MAX);
        self.now = self.end;
        self.observation.release(self.end);
        self.outcome()
    }

    /// Ends the run now, although its time has not passed.
    pub fn stop(mut self, now: Time) -> Outcome {
        self.end = self.end.min(now);
        self.play()
    }

    /// Plays all events up to `until`. Returns whether the run is over.
    pub fn advance(&mut self, until: Time) -> bool {
        self.events_until(until)
    }

    /// The loop of a run. Inlined, so that [`play`](Self::play) has no limit to compare with.
    #[inline(always)]
    fn events_until(&mut self, until: Time) -> bool {
        let sources = self.sources;
        while let Some((time, slot)) = self.calendar.next() {
            if time > self.end {
                return true;
            }
            if time > until {
                return until >= self.end;
            }
            self.now = time;
            self.events += 1;
            if self.pending_losses.is_due(time) {
                self.note_losses(time);
            }
            self.observation.release(time);
            match sources.source(slot) {
                Source::Link(link) => self.on_link(link),
                Source::End(end) => self.on_timer(end),
                Source::Polled(index) => self.on_polled(index),
                Source::Helper(index) => self.on_helper(index),
                Source::Sampler => self.on_sample(),
            }
        }
        true
    }

    // ------------------------------------------------------------------ packets

    /// A packet leaves a link. The calendar's earliest event is that link's.
    #[inline(always)]
    fn on_link(&mut self, link: LinkId) {
        let pipe = &mut self.pipes[link.index()];
        let Some(mut packet) = pipe.leave() else {
            return;
        };
        let watched = pipe.watched;
        self.calendar.set_earliest_link(link.index(), pipe.next());
        if watched && self.is_suppressed(link, &mut packet) {
            return;
        }
        let hop = packet.hop + 1;
        let row = self.routes.row(&packet);
        match self.routes.link(row, hop) {
            Some(next) => self.enter(self.now, next, hop, row, &mut packet),
            None => self.arrive(self.now, &packet),
        }
    }

    /// Puts a packet at `at` on a link, which is at `hop` of its route (`row`), and with lookahead
    /// on the links after it.
    ///
    /// Time and hop are written to the packet where it is kept: a processor waits when it copies
    /// what it has just changed in part.
    #[inline(always)]
    fn enter(&mut self, at: Time, link: LinkId, hop: u8, row: Row, packet: &mut Packet) {
        let (mut at, mut link, mut hop) = (at, link, hop);
        loop {
            let pipe = &mut self.pipes[link.index()];
            let offered = if pipe.is_plain() {
                pipe.offer_plain(at, packet)
            } else if let Some(polled) = pipe.polled {
                packet.hop = hop;
                return self.enter_polled(at, polled, packet);
            } else {
                if let Some(helped) = pipe.entry {
                    self.show_entry(at, helped, packet);
                }
                self.pipes[link.index()].offer(at, packet)
            };
            match offered {
                Offered::Dropped(cause) => return self.on_drop(at, link, packet, cause),
                Offered::Leaves(leaves) => at = leaves,
            }
            match self.routes.ahead(row, hop) {
                Ahead::Link(next) => {
                    hop += 1;
                    link = next;
                }
                // What would happen after the end of the run does not happen.
                Ahead::End if at <= self.end => return self.arrive(at, packet),
                Ahead::End | Ahead::Nothing => {
                    if self.pipes[link.index()].hold(at, hop, packet) {
                        self.calendar.set_link(link.index(), at);
                    }
                    return;
                }
            }
        }
    }

    /// Whether a packet belongs to a flow whose acknowledgments a helper understands: those of
    /// AATP, of multipath connections and of real packets use the fields of a [`Packet`] otherwise.
    fn is_understood(&self, packet: &Packet) -> bool {
        let path = self.flow_path(PathId::of(packet));
        let flow = &self.network.flows[path.flow];
        let is_tcp = matches!(flow.traffic, Traffic::Tcp(_));
        is_tcp && flow.host.is_none() && !flow.is_multipath()
    }

    /// A helper sees a packet that enters its link.
    #[inline(never)]
    fn show_entry(&mut self, at: Time, helped: Helped, packet: &mut Packet) {
        if self.is_understood(packet) {
            self.helpers[helped.number].enters(at, helped.side, packet);
            self.set_helper(helped.number);
        }
    }

    /// A packet leaves a link at whose end a helper sits. Returns whether it goes no further.
    #[inline(never)]
    fn is_suppressed(&mut self, link: LinkId, packet: &mut Packet) -> bool {
        let Some(helped) = self.pipes[link.index()].exit else {
            return false;
        };
        if !self.is_understood(packet) {
            return false;
        }
        let agent = &mut self.helpers[helped.number];
        let (passage, again) = agent.leaves(self.now, helped.side, packet);
        if let Some(again) = again {
            self.put_again(helped.number, again);
        }
        self.set_helper(helped.number);
        passage == Passage::Suppressed
    }

    /// A timer of a helper.
    #[inline(never)]
    fn on_helper(&mut self, number: usize) {
        for packet in self.helpers[number].on_timer(self.now) {
            match packet.flags.has(Flags::DATA) {
                true => self.put_again(number, packet),
                false => self.go_on(packet),
            }
        }
        self.set_helper(number);
    }

    /// An acknowledgment of a helper goes on from the end of the helper's link.
    fn go_on(&mut self, mut packet: Packet) {
        let hop = packet.hop + 1;
        let row = self.routes.row(&packet);
        match self.routes.link(row, hop) {
            Some(next) => self.enter(self.now, next, hop, row, &mut packet),
            None => self.arrive(self.now, &packet),
        }
    }

    /// Sets the next timer of a helper.
    fn set_helper(&mut self, number: usize) {
        let due = self.helpers[number].deadline();
        self.set(Source::Helper(number), due);
    }

    /// Puts a packet that a helper kept on its link again.
    fn put_again(&mut self, number: usize, mut packet: Packet) {
        let row = self.routes.row(&packet);
        let mut hops = (0..).map_while(|hop| Some((hop, self.routes.link(row, hop)?)));
        let place = hops.find(|(_, link)| {
            let entry = self.pipes[link.index()].entry;
            entry.is_some_and(|helped| helped.number == number)
        });
        let Some((hop, link)) = place else { return };
        packet.hop = hop;
        match self.pipes[link.index()].offer(self.now, &mut packet) {
            Offered::Dropped(cause) => self.on_drop(self.now, link, &packet, cause),
            Offered::Leaves(at) => {
                if self.pipes[link.index()].hold(at, hop, &packet) {
                    self.calendar.set_link(link.index(), at);
                }
            }
        }
    }

    /// Puts a packet into the queue of a polled link.
    #[inline(never)]
    fn enter_polled(&mut self, at: Time, polled: PolledSide, packet: &Packet) {
        let mut departed = std::mem::take(&mut self.departed);
        let PolledSide { index, side } = polled;
        if !self.polled[index].offer(at, side, packet, &mut departed)
            && let Some(link) = self.routes.link(self.routes.row(packet), packet.hop)
        {
            self.on_drop(at, link, packet, DropCause::QueueOverflow);
        }
        self.on_departures(at, departed, index);
    }

    /// A polled link must be polled.
    fn on_polled(&mut self, index: usize) {
        let mut departed = std::mem::take(&mut self.departed);
        self.polled[index].advance(self.now, &mut departed);
        self.on_departures(self.now, departed, index);
    }

    /// Packets have left the queues of a polled link: they are on their links, or lost.
    fn on_departures(&mut self, at: Time, mut departed: Vec<Departed>, index: usize) {
        for Departed {
            link,
            fate,
            mut packet,
        } in departed.drain(..)
        {
            match fate {
                Fate::Dropped(cause) => self.on_drop(at, link, &packet, cause),
                Fate::Delivered {
                    at,
                    corrupted,
                    marked,
                } => {
                    packet.pass(corrupted, marked);
                    if self.pipes[link.index()].hold(at, packet.hop, &packet) {
                        self.calendar.set_link(link.index(), at);
                    }
                }
            }
        }
        self.departed = departed;
        self.set(Source::Polled(index), self.polled[index].next());
    }

    /// A link drops a packet.
    #[cold]
    fn on_drop(&mut self, at: Time, link: LinkId, packet: &Packet, cause: DropCause) {
        self.observation
            .lost(at, packet, observe::Fate::Dropped { link, cause });
        if packet.flags.has(Flags::DATA) {
            self.losses(packet).count(cause);
        }
        self.on_loss(at, packet, cause);
    }

    /// The loss counts of the flow of a packet, or of its path.
    fn losses(&mut self, packet: &Packet) -> &mut LossCounts {
        let FlowPath { flow, path } = self.flow_path(PathId::of(packet));
        self.flows[flow].flow.losses(path)
    }

    /// A packet is lost at `at`. Its flow learns the cause when the clock has reached that time.
    fn on_loss(&mut self, at: Time, packet: &Packet, cause: DropCause) {
        if at > self.now {
            self.pending_losses.add(at, (*packet, cause));
        } else {
            self.note_loss(packet, cause);
        }
    }

    /// The time of some losses has come.
    #[cold]
    fn note_losses(&mut self, now: Time) {
        while let Some((packet, cause)) = self.pending_losses.take(now) {
            self.note_loss(&packet, cause);
        }
    }

    fn note_loss(&mut self, packet: &Packet, cause: DropCause) {
        let FlowPath { flow, path } = self.flow_path(PathId::of(packet));
        let flow = &mut self.flows[flow].flow;
        flow.note_loss(path, packet, cause);
    }

    /// The path of this number.
    #[inline]
    fn flow_path(&self, path_id: PathId) -> FlowPath {
        match path_id.index().checked_sub(self.flows.len()) {
            None => FlowPath {
                flow: path_id.index(),
                path: 0,
            },
            Some(more) => self.more_paths[more],
        }
    }

    /// A packet reaches the end of its route at `at`.
    #[inline]
    fn arrive(&mut self, at: Time, packet: &Packet) {
        if packet.flags.has(Flags::CORRUPTED) {
            self.on_corrupted(at, packet);
            return;
        }
        self.observation.arrived(at, packet);
        let FlowPath { flow: index, path } = self.flow_path(PathId::of(packet));
        let end = packet.receiver();
        let sent = self.out.len();
        let entry = &mut self.flows[index];
        let mut context = Context {
            now: at,
            out: &mut self.out,
            shared: &mut self.shared,
        };
        let arrival = entry
            .flow
            .on_arrival(&mut context, PathEnd { path, end }, packet);
        let several = !entry.more_paths.is_empty();
        let timer = EndId::new(PathId::of(packet), end);
        if arrival.due < *self.scheduled(timer) {
            self.schedule(timer, Some(arrival.due));
        }
        if several && end == End::Near {
            self.reschedule_paths(index, at);
        }
        self.send(at, index, sent);
        if arrival.progress {
            self.check_finished(index, at);
        }
    }

    /// A packet reaches the end of its route corrupted. Its checksum discards it.
    #[cold]
    fn on_corrupted(&mut self, at: Time, packet: &Packet) {
        self.observation.lost(at, packet, observe::Fate::Corrupted);
        self.losses(packet).corrupted += u64::from(packet.flags.has(Flags::DATA));
        // No queue corrupts packets.
        self.on_loss(at, packet, DropCause::Random);
        let FlowPath { flow: index, path } = self.flow_path(PathId::of(packet));
        let end = packet.receiver();
        let sent = self.out.len();
        let mut context = Context {
            now: at,
            out: &mut self.out,
            shared: &mut self.shared,
        };
        let flow = &mut self.flows[index].flow;
        let due = flow.on_corrupted(&mut context, PathEnd { path, end }, packet);
        self.reschedule(EndId::new(PathId::of(packet), end), due);
        self.send(at, index, sent);
    }

    /// Puts the packets that a flow sends, those of [`Self::out`] from `sent` on, on the first
    /// links of their routes.
    #[inline]
    fn send(&mut self, at: Time, index: usize, sent: usize) {
        let flow = &mut self.flows[index].flow;
        self.observation.called(at, index, flow, &self.out[sent..]);
        if self.out.len() > sent {
            self.depart(sent);
        }
    }

    /// Puts the packets of [`Self::out`] from `sent` on on the first links of their routes.
    #[inline(never)]
    fn depart(&mut self, sent: usize) {
        for place in sent..self.out.len() {
            let packet = &self.out[place];
            let row = self.routes.row(packet);
            let Some(first) = self.routes.link(row, 0) else {
                continue;
            };
            let pipe = &mut self.pipes[first.index()];
            if pipe.is_plain() && self.routes.ahead(row, 0) == Ahead::Nothing {
                // Nearly all packets go from the buffer to a link, and stay there.
                match pipe.offer_plain(packet.at, packet) {
                    Offered::Leaves(at) => {
                        if pipe.hold_in_order(at, 0, packet) {
                            self.calendar.set_link(first.index(), at);
                        }
                    }
                    Offered::Dropped(cause) => {
                        let packet = *packet;
                        self.on_drop(packet.at, first, &packet, cause);
                    }
                }
                continue;
            }
            // A packet that arrives at once may call a flow, which uses the same buffer.
            let mut packet = *packet;
            self.enter(packet.at, first, 0, row, &mut packet);
        }
        self.out.truncate(sent);
    }

    /// Notes whether a flow is complete. The run is over when all flows that can complete are.
    #[inline]
    fn check_finished(&mut self, index: usize, at: Time) {
        let entry = &mut self.flows[index];
        if entry.flow.is_complete() && entry.finished.is_none() {
            entry.finished = Some(at);
            self.unfinished -= 1;
            if self.unfinished == 0 {
                let last = self.flows.iter().filter_map(|f| f.finished).max();
                self.end = self.end.min(last.unwrap_or(self.end));
            }
        }
    }

    // ------------------------------------------------------------------ timers

    /// Makes sure that an end is called no later than `due`. A timer that moved back is looked at
    /// when the old time comes: timers move with every acknowledgment and hardly ever fire.
    #[inline]
    fn reschedule(&mut self, end: EndId, due: Option<Time>) {
        if due.is_some_and(|due| due < *self.scheduled(end)) {
            self.schedule(end, due);
        }
    }

    /// The time that the calendar holds for an end.
    #[inline]
    fn scheduled(&mut self, end: EndId) -> &mut Time {
        let path = end.path_id().index();
        let both = match path.checked_sub(self.flows.len()) {
            None => &mut self.flows[path].scheduled,
            Some(more) => &mut self.more_scheduled[more],
        };
        &mut both[end.end().index()]
    }

    fn schedule(&mut self, end: EndId, due: Option<Time>) {
        *self.scheduled(end) = due.unwrap_or(Time::MAX);
        self.set(Source::End(end), due);
    }

    /// A call at one path of a flow may have set timers at the near ends of all its paths.
    #[inline(never)]
    fn reschedule_paths(&mut self, index: usize, at: Time) {
        let path_ids = std::iter::once(index).chain(self.flows[index].more_paths.clone());
        for (path, path_id) in path_ids.enumerate() {
            let place = PathEnd {
                path,
                end: End::Near,
            };
            let due = self.flows[index].flow.deadline(at, place);
            self.reschedule(EndId::new(PathId::new(path_id), End::Near), due);
        }
    }

    fn on_timer(&mut self, timer: EndId) {
        let FlowPath { flow: index, path } = self.flow_path(timer.path_id());
        let end = timer.end();
        let now = self.now;
        let entry = &mut self.flows[index];
        // A flow starts and stops on the timer of the near end of its first path.
        let first = path == 0 && end == End::Near;
        let starts = first && !entry.started && entry.start <= now;
        let stops = first && entry.stop.is_some_and(|stop| stop <= now);
        entry.started |= starts;
        let sent = self.out.len();
        let mut context = Context {
            now,
            out: &mut self.out,
            shared: &mut self.shared,
        };
        if starts {
            entry.flow.start(&mut context);
        }
        if stops {
            entry.flow.stop();
        }
        let mut due = entry.flow.on_timer(&mut context, PathEnd { path, end });
        if stops {
            entry.stop = None;
        } else if first {
            due = due.map_or(entry.stop, |due| {
                Some(entry.stop.map_or(due, |stop| due.min(stop)))
            });
        }
        let several = !entry.more_paths.is_empty();
        self.schedule(timer, due);
        if several {
            self.reschedule_paths(index, now);
        }
        self.send(now, index, sent);
        if stops {
            self.check_finished(index, now);
        }
    }
}
