//! A run that is watched: the engine's packets and the senders' notes as events for an observer, in order of time.
//!
//! The engine asks its [`Watch`] at every packet that leaves, comes or is lost, and after every call of an end. [`Nobody`] is
//! known not to be there when a run is compiled, so that ordinary runs cost nothing.
//!
//! What is settled ahead happens in the engine before its time. Its events wait in a heap until the engine's clock is there.
//! Nothing that happens later can come before them: the engine settles nothing that lies behind its clock.
//!
//! A packet of the engine has no room for a number of its own. It is known again by what does not change on the way; packets
//! that are alike in all of that left at the same instant, and it makes no difference which is which.

use super::mail::Mail;
use super::packet::{Block, Flags, Packet};
use super::world::Actor;
use crate::network::{FlowSpec, Network, Recovery, TcpFlow, Traffic};
use crate::observe::{
    Content, Data, Ecn, End, Event, Fate, Finding, Judged, Lost, Observer, Segment, Stage, State,
    What,
};
use crate::tcp::{Note, Sender, segments};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;
use whimbrel_units::{Bytes, Duration, Time};

/// Who watches a run.
pub(crate) trait Watch {
    /// Where events go, if anybody does.
    type Watched: Watched;
    fn watched(&mut self) -> Option<&mut Self::Watched>;
}

/// Takes what happens.
pub(crate) trait Watched {
    /// All that happens until `now` has happened.
    fn release(&mut self, now: Time);
    /// A packet reached the end of its way intact.
    fn arrived(&mut self, at: Time, packet: &Packet);
    /// A packet was lost.
    fn lost(&mut self, at: Time, packet: &Packet, fate: Fate);
    /// The ends of a flow were called; `out` leaves.
    fn called(
        &mut self,
        at: Time,
        flow: (usize, &FlowSpec, &mut Actor),
        out: &[Packet],
        mail: &Mail,
    );
}

/// Nobody watches.
pub(crate) struct Nobody;

/// What nobody could be told.
pub(crate) enum Never {}

impl Watch for Nobody {
    type Watched = Never;
    #[inline(always)]
    fn watched(&mut self) -> Option<&mut Never> {
        None
    }
}

impl Watched for Never {
    fn release(&mut self, _: Time) {}
    fn arrived(&mut self, _: Time, _: &Packet) {}
    fn lost(&mut self, _: Time, _: &Packet, _: Fate) {}
    fn called(&mut self, _: Time, _: (usize, &FlowSpec, &mut Actor), _: &[Packet], _: &Mail) {}
}

/// Somebody watches.
pub(crate) struct Somebody<'o> {
    observer: &'o mut dyn Observer,
    /// What has not happened yet by the engine's clock.
    waiting: BinaryHeap<Reverse<Waiting>>,
    events: u64,
    packets: u64,
    /// The flow and the path of each lane.
    lanes: Vec<(usize, usize)>,
    /// What each lane carries there, then back.
    ways: Vec<Way>,
    under_way: HashMap<(u32, bool, Time), Vec<(Packet, crate::observe::Packet)>>,
}

/// An event whose time has not come.
struct Waiting {
    event: Event,
    order: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.event.at, self.order).cmp(&(other.event.at, other.order))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

/// One direction of a lane: where its segments stand among the bytes, and which packets carried them.
#[derive(Default)]
struct Way {
    /// Segments that were sent at least once.
    segments: u32,
    /// Those of the same size, one behind the other.
    runs: Vec<Run>,
    /// The last packet of each segment from `first` on.
    ids: VecDeque<u64>,
    first: u32,
    /// What was last told of the sender.
    state: Option<State>,
}

/// Segments of the same size, one behind the other.
#[derive(Clone, Copy)]
struct Run {
    first: u32,
    offset: u64,
    payload: u32,
}

impl Run {
    fn offset(self, segment: u32) -> u64 {
        self.offset + u64::from(segment - self.first) * u64::from(self.payload)
    }
}

impl Way {
    fn run(&self, segment: u32) -> Option<Run> {
        let behind = self.runs.partition_point(|run| run.first <= segment);
        Some(self.runs[behind.checked_sub(1)?])
    }

    /// The first byte of a segment, or of the one that would follow the last.
    fn offset(&self, segment: u32) -> u64 {
        self.run(segment).map_or(0, |run| run.offset(segment))
    }

    fn bytes(&self, block: Block) -> Range<u64> {
        self.offset(block.start)..self.offset(block.end)
    }

    /// A segment leaves. Whether it did before.
    fn send(&mut self, segment: u32, payload: u32, id: u64) -> bool {
        let again = segment < self.segments;
        if again {
            let place = segment.checked_sub(self.first).map(|place| place as usize);
            if let Some(known) = place.and_then(|place| self.ids.get_mut(place)) {
                *known = id;
            }
        } else {
            if self.runs.last().is_none_or(|run| run.payload != payload) {
                self.runs.push(Run {
                    first: segment,
                    offset: self.offset(segment),
                    payload,
                });
            }
            self.segments = segment + 1;
            self.ids.push_back(id);
        }
        again
    }

    fn id(&self, segment: u32) -> Option<u64> {
        let place = segment.checked_sub(self.first)?;
        self.ids.get(place as usize).copied()
    }

    /// All below `una` is acknowledged.
    fn forget_below(&mut self, una: u32) {
        while self.first < una && self.ids.pop_front().is_some() {
            self.first += 1;
        }
    }
}

impl Watch for Somebody<'_> {
    type Watched = Self;
    fn watched(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}

impl<'o> Somebody<'o> {
    /// Watches all of a network's flows.
    pub fn new(network: &Network, observer: &'o mut dyn Observer) -> Self {
        let flows = || network.flows.iter().enumerate();
        let first = flows().map(|(flow, _)| (flow, 0));
        let behind =
            flows().flat_map(|(flow, spec)| (1..spec.routes.len()).map(move |path| (flow, path)));
        let lanes: Vec<_> = first.chain(behind).collect();
        Self {
            observer,
            waiting: BinaryHeap::new(),
            events: 0,
            packets: 0,
            ways: lanes
                .iter()
                .flat_map(|_| [Way::default(), Way::default()])
                .collect(),
            lanes,
            under_way: HashMap::new(),
        }
    }

    /// What an end of a lane sends.
    fn way(&mut self, lane: u32, end: End) -> &mut Way {
        &mut self.ways[2 * lane as usize + usize::from(end == End::Far)]
    }

    fn happens(&mut self, at: Time, lane: u32, what: What) {
        let (flow, path) = self.lanes[lane as usize];
        let event = Event {
            at,
            flow,
            path,
            what,
        };
        let order = self.events;
        self.events += 1;
        self.waiting.push(Reverse(Waiting { event, order }));
    }

    /// A packet leaves.
    fn sent(&mut self, packet: &Packet, spec: &FlowSpec, mail: &Mail) {
        let id = self.packets;
        self.packets += 1;
        let content = match &spec.traffic {
            Traffic::Tcp(tcp) => {
                Content::Segment(self.segment(packet, id, tcp, spec.is_governed()))
            }
            Traffic::Aatp(_) => Content::Message(mail.read(packet.seg).to_vec()),
            Traffic::Udp(_) => Content::Datagram,
        };
        let seen = crate::observe::Packet {
            id,
            from: sender_of(packet),
            sent: packet.sent,
            size: Bytes::new(u64::from(packet.size)),
            ecn: match packet.flags.has(Flags::ECT) {
                true => Ecn::Ect,
                false => Ecn::NotEct,
            },
            content,
        };
        self.happens(packet.sent, packet.lane, What::Sent(seen.clone()));
        self.under_way
            .entry(key(packet))
            .or_default()
            .push((*packet, seen));
    }

    fn segment(&mut self, packet: &Packet, id: u64, tcp: &TcpFlow, governed: bool) -> Segment {
        let (end, flags) = (sender_of(packet), packet.flags);
        let syn = flags.opens();
        let carries = flags.has(Flags::DATA);
        let data = carries.then(|| {
            let header = tcp.settings.header.get() as u32 + u32::from(packet.sack_bytes());
            let length = u32::from(packet.size).saturating_sub(header);
            let (total, _) = segments(tcp.size, tcp.settings.mss);
            let way = self.way(packet.lane, end);
            let again = way.send(packet.seg, length, id);
            Data {
                offset: way.offset(packet.seg),
                length,
                again,
                last: !governed && tcp.size.is_some() && packet.seg + 1 == total,
            }
        });
        let own = self.way(packet.lane, end);
        let next = data.map_or(own.offset(own.segments), |data| data.offset);
        let answered = self.way(packet.lane, end.other());
        let (ack, nack) = match () {
            () if flags.is_nack() => (None, Some(answered.offset(packet.ack))),
            () if syn => ((end == End::Far).then_some(0), None),
            // There it is the number of the data.
            () if carries && governed => (Some(0), None),
            () => (Some(answered.offset(packet.ack)), None),
        };
        let blocks = packet.sacks.iter().filter(|block| !block.is_empty());
        let of_connection = if carries { packet.ack } else { packet.seg };
        Segment {
            syn,
            next,
            data,
            ack,
            nack,
            sacks: blocks.map(|block| answered.bytes(*block)).collect(),
            dsack: flags.has(Flags::DSACK),
            echo: (packet.echo > Time::ZERO).then_some(packet.echo),
            ece: flags.has(Flags::ECE),
            cwr: carries && flags.has(Flags::CWR),
            of_connection: (governed && !syn).then_some(of_connection),
        }
    }

    /// A packet is no longer under way.
    fn take(&mut self, packet: &Packet) -> Option<crate::observe::Packet> {
        let key = key(packet);
        let alike = self.under_way.get_mut(&key)?;
        let place = alike.iter().position(|(sent, _)| is_same(sent, packet))?;
        let (_, mut seen) = alike.remove(place);
        if alike.is_empty() {
            self.under_way.remove(&key);
        }
        if packet.flags.has(Flags::DATA) && packet.flags.has(Flags::CE) {
            seen.ecn = Ecn::Ce;
        }
        Some(seen)
    }

    /// Tells what a sender found.
    fn tell_notes(&mut self, at: Time, lane: u32, end: End, mode: Recovery, sender: &mut Sender) {
        let mut by = match mode {
            Recovery::NewReno | Recovery::Sack => Finding::Duplicates,
            Recovery::Rack => Finding::Rack,
        };
        for note in sender.take_notes() {
            let way = self.way(lane, end);
            let what = match note {
                Note::Lost(segment, truth) => What::Lost(Lost {
                    end,
                    id: way.id(segment),
                    offset: way.offset(segment),
                    length: way.run(segment).map_or(0, |run| run.payload),
                    by,
                    truth,
                }),
                Note::Judged(segment, truth, response) => What::Judged(Judged {
                    end,
                    id: way.id(segment),
                    verdict: response.verdict,
                    truth,
                    reduced: response.reduced,
                }),
                Note::TimedOut => {
                    by = Finding::Timeout;
                    What::TimedOut(end)
                }
                Note::TakenBack => What::TakenBack(end),
            };
            self.happens(at, lane, what);
        }
        self.way(lane, end).forget_below(sender.una());
    }

    fn tell_state(&mut self, at: Time, lane: u32, state: State) {
        let way = self.way(lane, state.end);
        if way.state != Some(state) {
            way.state = Some(state);
            self.happens(at, lane, What::State(state));
        }
    }
}

impl Watched for Somebody<'_> {
    fn release(&mut self, now: Time) {
        while let Some(Reverse(next)) = self.waiting.peek()
            && next.event.at <= now
            && let Some(Reverse(next)) = self.waiting.pop()
        {
            self.observer.on_event(&next.event);
        }
    }

    fn arrived(&mut self, at: Time, packet: &Packet) {
        if let Some(seen) = self.take(packet) {
            self.happens(at, packet.lane, What::Arrived(seen));
        }
    }

    fn lost(&mut self, at: Time, packet: &Packet, fate: Fate) {
        if let Some(seen) = self.take(packet) {
            self.happens(at, packet.lane, What::Dropped(seen, fate));
        }
    }

    fn called(
        &mut self,
        at: Time,
        (flow, spec, actor): (usize, &FlowSpec, &mut Actor),
        out: &[Packet],
        mail: &Mail,
    ) {
        let mode = match &spec.traffic {
            Traffic::Tcp(tcp) => tcp.settings.recovery,
            Traffic::Aatp(_) | Traffic::Udp(_) => Recovery::NewReno,
        };
        for (lane, end, sender) in senders(flow, actor) {
            self.tell_notes(at, lane, end, mode, sender);
        }
        for packet in out {
            self.sent(packet, spec, mail);
        }
        for (lane, end, sender) in senders(flow, actor) {
            self.tell_state(at, lane, sender.state(end));
        }
        if let Actor::Aatp(connection) = actor {
            let (source, controller) = (&connection.source, connection.source.controller());
            let state = State {
                end: End::Near,
                cwnd: controller.cwnd(),
                ssthresh: controller.ssthresh(),
                in_flight: source.in_flight(),
                latest_rtt: Duration::ZERO,
                srtt: source.srtt(),
                rttvar: Duration::ZERO,
                min_rtt: Duration::ZERO,
                pacing_rate: controller.pacing_rate(),
                stage: Stage::Open,
                phase: controller.phase(),
            };
            self.tell_state(at, flow as u32, state);
        }
    }
}

/// The senders of a flow's TCP ends, with their lanes.
fn senders(flow: usize, actor: &mut Actor) -> Vec<(u32, End, &mut Sender)> {
    match actor {
        Actor::Tcp(ends) => ends
            .iter_mut()
            .zip([End::Near, End::Far])
            .filter_map(|(at, end)| Some((flow as u32, end, at.sender_mut()?)))
            .collect(),
        Actor::Governed(connection) => connection
            .paths
            .iter_mut()
            .filter_map(|path| Some((path.lane, End::Near, path.ends[0].sender_mut()?)))
            .collect(),
        Actor::Aatp(_) | Actor::Udp(_) => Vec::new(),
    }
}

/// Makes all senders of a flow note what they find.
pub(super) fn watch_senders(flow: usize, actor: &mut Actor) {
    for (_, _, sender) in senders(flow, actor) {
        sender.watch();
    }
}

fn sender_of(packet: &Packet) -> End {
    match packet.flags.has(Flags::BACKWARD) {
        true => End::Far,
        false => End::Near,
    }
}

fn key(packet: &Packet) -> (u32, bool, Time) {
    (packet.lane, packet.flags.has(Flags::BACKWARD), packet.sent)
}

/// Whether a packet on its way is the one that was sent: marks and errors come on the way, and an error takes the place of
/// what it acknowledged.
fn is_same(sent: &Packet, packet: &Packet) -> bool {
    let lasting = |packet: &Packet| {
        let flags = packet.flags.without(Flags::CORRUPTED);
        match flags.has(Flags::DATA) {
            true => flags.without(Flags::CE),
            false => flags,
        }
    };
    let corrupted = packet.flags.has(Flags::CORRUPTED);
    sent.seg == packet.seg
        && sent.size == packet.size
        && sent.sacks == packet.sacks
        && lasting(sent) == lasting(packet)
        && (corrupted || sent.ack == packet.ack)
}
