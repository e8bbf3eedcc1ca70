//! A TCP connection that decides what its paths send: over several paths with a subflow on each, or
//! over one path with several streams or with messages. [`Data`] decides what there is to send and
//! when it is delivered; the connection decides which path sends it.
//!
//! Over several paths it is a model of MPTCP: A. Ford et al., "TCP Extensions for Multipath
//! Operation with Multiple Addresses", RFC 8684, 2020. It has data sequence numbers besides those
//! of the subflows, the mapping between the two, Data ACKs, one receive window for all paths, and
//! retransmission of data on another path. It has no options, keys or fallbacks: every packet
//! carries the numbers, and no header grows by them.
//!
//! * The subflow on the first route opens the connection. The others join when it is established.
//! * A subflow that may send takes the next data. If several may at the same instant, the subflow
//!   with the lowest smoothed RTT does: minRTT, the default of Linux (C. Paasch et al.,
//!   "Experimental Evaluation of Multipath TCP Schedulers", ACM SIGCOMM CSWS 2014, section 3).
//!   With `scheduler = "ecf"` a slow path also waits where it would not be worth it, by the same
//!   code as real transfers ([`whimbrel_cc::path_scheduler`]), and paths of one bottleneck stand by
//!   for one of them ([`whimbrel_cc::shared_bottleneck`]).
//! * A segment of the connection is delivered when all segments before it have arrived, on any
//!   path. Segments beyond a hole are held and take room in the receive window: a slow path blocks
//!   a fast one when the window is small.
//! * Data in flight on a path whose retransmission timer fires is offered to the other paths once,
//!   before new data (section 3.3.6). The path retransmits it as well: its own sequence must have
//!   no hole. The receiver discards duplicates.
//! * When a Data ACK acknowledges all data, the paths fall silent, as after DATA_FIN.
//!
//! Decisions where the RFC leaves a choice:
//!
//! * A receiver takes data from a subflow as it arrives, not in the order of the subflow: the
//!   mapping says where it belongs. So SACKed data is not retransmitted on another path.
//! * Nothing is reinjected before a timer fires, and no slow path is penalized for blocking a fast
//!   one.
//!
//! The full text of the RFC was not available when this was written. That data is reinjected once,
//! when the timer first fires, is also what the first Linux implementation does
//! (`mptcp_reinject_data` and `pf` in its sources).

mod flow;
mod path;
mod report;

use crate::network::{Network, PathChoice, TcpFlow};
use crate::packet::{Flags, Packet};
use crate::seed::{Draw, Stream};
use crate::streams::Data;
use crate::tcp::{Endpoint, Mapping, Sender, if_finite};
use path::Path;
use whimbrel_cc::path_scheduler::{self, Scheduler};
use whimbrel_cc::shared_bottleneck::SharedBottleneck;
use whimbrel_units::Time;

/// A connection that decides what its paths send.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    spec: &'a TcpFlow,
    paths: Vec<Path>,
    data: Data,
    /// Buffer for the order in which paths may send.
    order: Vec<usize>,
    scheduler: Scheduler,
    /// With the rules of real transfers: the paths of one bottleneck.
    shared: SharedBottleneck,
}

impl<'a> Connection<'a> {
    /// The connection of flow `index`, whose paths have these numbers.
    pub fn new(network: &Network, index: usize, path_ids: &[u32], spec: &'a TcpFlow) -> Self {
        let path = |(own, path_id): (usize, &u32)| {
            let draw = Draw::of(network.seed, *path_id as usize);
            let ends = [
                Endpoint::near(*path_id, spec, draw).multipath(own, path_ids.len()),
                Endpoint::far(*path_id, spec, draw).multipath(own, path_ids.len()),
            ];
            Path::new(*path_id, ends)
        };
        Self {
            spec,
            paths: path_ids.iter().enumerate().map(path).collect(),
            data: Data::new(spec, Stream::Messages.seed(network.seed, index)),
            order: (0..path_ids.len()).collect(),
            scheduler: Scheduler::default(),
            shared: SharedBottleneck::default(),
        }
    }

    /// When the next timer of an end of a path is due.
    fn due(&self, now: Time, path: usize, end: usize) -> Option<Time> {
        let silent = end == 0 && self.data.all_acknowledged();
        if silent {
            return None;
        }
        let arrival = self.data.deadline().filter(|_| path == 0 && end == 0);
        let due = self.paths[path].ends[end].deadline(now);
        if_finite(due.min(arrival.unwrap_or(Time::MAX)))
    }

    /// A packet reached the near end of a path intact.
    fn on_packet_at_sender(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        out: &mut Vec<Packet>,
    ) {
        for other in (0..self.paths.len()).filter(|other| *other != path) {
            if let Some(sibling) = self.paths[other].sender().map(Sender::sibling)
                && let Some(sender) = self.paths[path].sender_mut()
            {
                sender.set_sibling(other, sibling);
            }
        }
        self.paths[path].count_window(now);
        self.paths[path].silent = false;
        let near = &mut self.paths[path].ends[0];
        let was_established = near.is_established();
        near.on_packet(now, packet, out);
        let opened = !was_established && near.is_established();
        if opened {
            self.paths[path].established = Some(now);
        }
        if self.is_ecf()
            && let Some(sample) = self.paths[path].sender().map(|s| s.path_sample(now))
            && !sample.rtt.is_zero()
        {
            self.shared.on_sample(path as u32, &sample);
        }
        if !packet.flags.has(Flags::SYN) {
            self.data.on_data_ack(packet.data_ack());
        }
        if opened && path == 0 {
            self.data.begin(now);
            for path in &mut self.paths[1..] {
                path.ends[0].start(now, out);
            }
        }
        self.send(now, out);
    }

    /// A packet reached the far end of a path intact. Returns how many segments it delivered to the
    /// application.
    fn on_packet_at_receiver(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        out: &mut Vec<Packet>,
    ) -> u32 {
        let before = self.data.delivered();
        if packet.flags.has(Flags::DATA)
            && let Some(payload) = self.data.on_data(now, packet.connection_segment())
        {
            self.paths[path].brought += u64::from(payload);
        }
        let answers = out.len();
        self.paths[path].ends[1].on_packet(now, packet, out);
        self.add_data_acks(&mut out[answers..]);
        self.data.delivered() - before
    }

    /// A packet reached an end of a path corrupted.
    fn on_corrupted_packet(
        &mut self,
        now: Time,
        path: usize,
        end: usize,
        packet: &Packet,
        out: &mut Vec<Packet>,
    ) {
        let answers = out.len();
        self.paths[path].ends[end].on_corrupted(now, packet, out);
        if end == 1 {
            self.add_data_acks(&mut out[answers..]);
        }
    }

    fn add_data_acks(&self, answers: &mut [Packet]) {
        for packet in answers {
            packet.set_data_ack(self.data.delivered());
        }
    }

    /// A timer of an end of a path is due, or may be.
    fn on_due(&mut self, now: Time, path: usize, end: usize, out: &mut Vec<Packet>) {
        if end == 1 {
            let answers = out.len();
            self.paths[path].ends[1].on_timer(now, out);
            self.add_data_acks(&mut out[answers..]);
            return;
        }
        if self.data.all_acknowledged() {
            return;
        }
        self.data.on_timer(now);
        self.paths[path].count_window(now);
        let near = &mut self.paths[path].ends[0];
        let timeouts = near.counters().episodes.timeouts;
        near.on_timer(now, out);
        if near.counters().episodes.timeouts > timeouts {
            self.paths[path].silent = true;
            self.paths[path].hand_over();
        }
        self.send(now, out);
    }

    /// All paths send what they may: the path with the lowest RTT first, paths without an RTT
    /// sample last.
    fn send(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.data.all_acknowledged() {
            return;
        }
        let is_ecf = self.is_ecf();
        if is_ecf {
            self.hand_over_the_last(now);
            let waiting = self.data.next().is_some();
            self.shared.advance(now, waiting);
        }
        let mut order = std::mem::take(&mut self.order);
        Scheduler::order(&mut order, |path| self.paths[path].view());
        let carriers = match is_ecf {
            true => self.carriers(now, &order),
            false => Vec::new(),
        };
        for path in &order {
            while self.paths[*path].ends[0].is_established() {
                let takes_new = !is_ecf || self.is_worth_it(*path, &carriers);
                if !self.send_one(now, *path, takes_new, out) {
                    break;
                }
            }
        }
        self.order = order;
    }

    /// Several paths, with the rules of real transfers.
    fn is_ecf(&self) -> bool {
        self.spec.settings.scheduler == PathChoice::Ecf && self.paths.len() > 1
    }

    /// Those of the paths, in this order, that new data may use. A silent path is none while another
    /// is not.
    fn carriers(&self, now: Time, order: &[usize]) -> Vec<usize> {
        let path = |index: usize| &self.paths[index];
        let mut carriers: Vec<usize> = order.to_vec();
        carriers.retain(|index| path(*index).ends[0].is_established());
        if carriers.iter().any(|index| !path(*index).silent) {
            carriers.retain(|index| !path(*index).silent);
        }
        self.shared.keep(now, &mut carriers, |index| index as u32);
        carriers
    }

    /// Whether new data arrives sooner on this path than if it waited for the faster ones of the
    /// `carriers`, which are full.
    fn is_worth_it(&mut self, path: usize, carriers: &[usize]) -> bool {
        let Some(place) = carriers.iter().position(|carrier| *carrier == path) else {
            return false;
        };
        let faster = carriers[..place].iter().map(|path| &self.paths[*path]);
        let faster: Vec<_> = faster.map(Path::view).collect();
        if faster.is_empty() {
            return true;
        }
        let view = self.paths[path].view();
        let waiting = self.data.waiting();
        self.scheduler.sends(path, &view, &faster, waiting)
    }

    /// When nothing else waits, an idle fast path also carries what is in flight on a slow one, if
    /// it brings it sooner.
    fn hand_over_the_last(&mut self, now: Time) {
        if self.data.next().is_some() {
            return;
        }
        for path in 0..self.paths.len() {
            let (in_flight, kept) = self.paths[path].left_to_bring(now);
            let others = (0..self.paths.len()).filter(|other| *other != path);
            let mut idle = others.filter(|other| {
                let other = &self.paths[*other];
                other.ends[0].is_established() && other.left_to_bring(now).0.is_zero()
            });
            let is_sooner = |other: usize| {
                path_scheduler::overtakes(&self.paths[other].view(), in_flight, kept)
            };
            if !in_flight.is_zero() && idle.any(is_sooner) {
                self.paths[path].hand_over();
            }
        }
    }

    /// Sends one segment on a path, new data only if it takes some. Returns false if it may send
    /// none or has none to send.
    fn send_one(&mut self, now: Time, path: usize, takes_new: bool, out: &mut Vec<Packet>) -> bool {
        let stuck = self.stuck_elsewhere(path);
        let offer = stuck
            .map(|(_, mapping)| mapping)
            .or_else(|| self.data.next().filter(|_| takes_new));
        let Some(departed) = self.paths[path].ends[0].send_offered(now, offer, out) else {
            return false;
        };
        self.paths[path].last_sent = now;
        if departed.is_new {
            match stuck {
                Some((other, _)) => {
                    self.paths[other].to_others.pop_front();
                    self.paths[path].reinjected += 1;
                }
                None => self.data.take(),
            }
        }
        true
    }

    /// The first data that another path has handed over and that is still missing, and that path.
    fn stuck_elsewhere(&mut self, path: usize) -> Option<(usize, Mapping)> {
        let mut first: Option<(usize, Mapping)> = None;
        for other in (0..self.paths.len()).filter(|other| *other != path) {
            let stuck = &mut self.paths[other];
            while let Some((seg, mapping)) = stuck.to_others.front().copied() {
                let arrived = !stuck.ends[0].sender().is_some_and(|s| s.misses(seg));
                if arrived || self.data.is_acknowledged(mapping.data) {
                    stuck.to_others.pop_front();
                    continue;
                }
                if first.is_none_or(|(_, lowest)| mapping.data < lowest.data) {
                    first = Some((other, mapping));
                }
                break;
            }
        }
        first
    }
}
