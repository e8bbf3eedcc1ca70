//! A TCP connection that decides what its ends send: over several paths, with a subflow on each, or over one with several
//! streams or with messages: the ends are governed, as [`Endpoint::govern`] has it. What there is to send, and what is
//! delivered when, is its [`Data`]'s; who sends it is here.
//!
//! What it does with several paths is MPTCP's.
//!
//! A. Ford et al., "TCP Extensions for Multipath Operation with Multiple Addresses", RFC 8684, 2020. What it is about is
//! here: data sequence numbers beside the subflows' own, the mapping from one to the other, Data ACKs, one receive window for
//! all paths, and data that is sent again on another path. Its options, keys and fallbacks are not: every packet carries the
//! numbers, and no header grows by them.
//!
//! * The subflow on the first route opens the connection; the others join when it stands.
//! * Who may send takes the next data, and where several may at the same instant the path of the least smoothed RTT does:
//!   minRTT, the default of the Linux implementation (C. Paasch et al., "Experimental Evaluation of Multipath TCP
//!   Schedulers", ACM SIGCOMM CSWS 2014, section 3).
//! * A segment of the connection is with the application when all before it have come, on whatever path. What comes beyond
//!   a hole is held, and takes room in the receive window: a slow path blocks a fast one when the window is small.
//! * What a path had under way when its retransmission timer fired is offered to the others, ahead of new data and once
//!   (section 3.3.6). The path sends it again too: its own sequence must stay whole. What comes twice is thrown away.
//! * When all data is acknowledged by a Data ACK, the paths fall silent, as after DATA_FIN.
//!
//! Where the RFC leaves it open: a receiver takes data from a subflow as it comes, not in the subflow's order (the mapping says
//! where it belongs), so that what is SACKed is not sent again on another path. Nothing is reinjected before a timer
//! fires, and no slow path is punished for blocking a fast one.
//!
//! The RFC's text was not to be had in full while this was written; that data is reinjected when the timer first fires and not
//! again is also what the first Linux implementation does (mptcp_reinject_data and `pf` in its sources).

use crate::engine::packet::{Flags, Packet};
use crate::measure::Delays;
use crate::network::TcpFlow;
use crate::outcome::{FlowSample, LossCounts};
use crate::streams::Data;
use crate::tcp::{Endpoint, Mapping, Sender, earliest};
use std::collections::VecDeque;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A connection that decides what its ends send.
#[derive(Debug)]
pub(crate) struct Connection {
    pub paths: Vec<Path>,
    pub data: Data,
    /// Room for the order in which paths are asked.
    order: Vec<usize>,
}

/// One path: a subflow, and what is counted of it.
#[derive(Debug)]
pub(crate) struct Path {
    pub lane: u32,
    pub ends: [Endpoint; 2],
    /// Other paths are to carry this too, which was under way when the timer fired: segment of the subflow, and its data.
    to_others: VecDeque<(u32, Mapping)>,
    /// Bytes that came on this path before they came on any other.
    pub brought: u64,
    /// Segments that it carried because they were stuck on another.
    pub reinjected: u64,
    pub lost: LossCounts,
    pub samples: Vec<FlowSample>,
    sampled_bytes: u64,
    /// When the handshake was over, and the window over time since: byte seconds up to `counted`.
    stands: Option<Time>,
    counted: Time,
    window_time: f64,
}

impl Path {
    fn sender(&self) -> Option<&Sender> {
        self.ends[0].sender()
    }

    fn sender_mut(&mut self) -> Option<&mut Sender> {
        self.ends[0].sender_mut()
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.sender().map_or(Duration::ZERO, Sender::srtt)
    }

    /// Congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.sender().map_or(Bytes::ZERO, Sender::effective_cwnd)
    }

    /// Congestion window, mean since the handshake was over.
    pub fn mean_cwnd(&self, until: Time) -> Bytes {
        let Some(stands) = self.stands else {
            return Bytes::ZERO;
        };
        let last = self.cwnd().get() as f64 * until.since(self.counted).as_secs_f64();
        let span = self.counted.max(until).since(stands).as_secs_f64();
        Bytes::new(((self.window_time + last) / span.max(f64::MIN_POSITIVE)) as u64)
    }

    /// Counts the window that stood until now, before anything changes it.
    fn count_window(&mut self, now: Time) {
        if self.stands.is_some() {
            let span = now.since(self.counted).as_secs_f64();
            self.window_time += self.cwnd().get() as f64 * span;
        }
        self.counted = now;
    }

    /// RTT samples, and one-way delays of data.
    pub fn delays(&mut self) -> (&mut Delays, &mut Delays) {
        let [near, far] = &mut self.ends;
        (&mut near.rtt, &mut far.one_way)
    }
}

impl Connection {
    /// A connection whose paths have these lanes; each law has the seed that `seed` gives for its lane, what arrives at its
    /// sender the seed `arrivals`.
    pub fn new(lanes: &[u32], tcp: &TcpFlow, seed: impl Fn(u32) -> u64, arrivals: u64) -> Self {
        let path = |(own, lane): (usize, &u32)| Path {
            lane: *lane,
            ends: [
                Endpoint::near(*lane, tcp, seed(*lane)).govern(own, lanes.len()),
                Endpoint::far(*lane, tcp, !seed(*lane)).govern(own, lanes.len()),
            ],
            to_others: VecDeque::new(),
            brought: 0,
            reinjected: 0,
            lost: LossCounts::default(),
            samples: Vec::new(),
            sampled_bytes: 0,
            stands: None,
            counted: Time::ZERO,
            window_time: 0.0,
        };
        Self {
            paths: lanes.iter().enumerate().map(path).collect(),
            data: Data::new(tcp, arrivals),
            order: (0..lanes.len()).collect(),
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.paths[0].ends[0].start(now, out);
    }

    /// Sends no new data from now on.
    pub fn stop(&mut self) {
        self.data.stop();
    }

    /// When the next timer of an end of a path is due.
    pub fn deadline(&self, now: Time, path: usize, end: usize) -> Option<Time> {
        let silent = end == 0 && self.data.all_acknowledged();
        if silent {
            return None;
        }
        let arrival = self.data.deadline().filter(|_| path == 0 && end == 0);
        earliest(self.paths[path].ends[end].deadline(now), arrival)
    }

    /// A packet reached an end of a path intact. Gives how many segments it delivered to the application.
    pub fn on_packet(
        &mut self,
        now: Time,
        path: usize,
        end: usize,
        packet: &Packet,
        out: &mut Vec<Packet>,
    ) -> u32 {
        if end == 1 {
            return self.on_packet_at_receiver(now, path, packet, out);
        }
        for other in (0..self.paths.len()).filter(|other| *other != path) {
            if let Some(sibling) = self.paths[other].sender().map(Sender::sibling)
                && let Some(sender) = self.paths[path].sender_mut()
            {
                sender.set_sibling(other, sibling);
            }
        }
        self.paths[path].count_window(now);
        let near = &mut self.paths[path].ends[0];
        let stood = near.is_established();
        near.on_packet(now, packet, out);
        let stands = !stood && near.is_established();
        if stands {
            self.paths[path].stands = Some(now);
        }
        if !packet.flags.has(Flags::SYN) {
            self.data.on_data_ack(packet.seg);
        }
        if stands && path == 0 {
            self.data.begin(now);
            for path in &mut self.paths[1..] {
                path.ends[0].start(now, out);
            }
        }
        self.send(now, out);
        0
    }

    fn on_packet_at_receiver(
        &mut self,
        now: Time,
        path: usize,
        packet: &Packet,
        out: &mut Vec<Packet>,
    ) -> u32 {
        let before = self.data.delivered();
        if packet.flags.has(Flags::DATA)
            && let Some(payload) = self.data.on_data(now, packet.ack)
        {
            self.paths[path].brought += u64::from(payload);
        }
        let answers = out.len();
        self.paths[path].ends[1].on_packet(now, packet, out);
        self.add_data_acks(&mut out[answers..]);
        self.data.delivered() - before
    }

    /// A packet reached an end of a path corrupted.
    pub fn on_corrupted(
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
            packet.seg = self.data.delivered();
        }
    }

    /// A timer of an end of a path is due, or may be.
    pub fn on_timer(&mut self, now: Time, path: usize, end: usize, out: &mut Vec<Packet>) {
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
        let timeouts = near.counters().timeouts;
        near.on_timer(now, out);
        if near.counters().timeouts > timeouts {
            let Path {
                ends, to_others, ..
            } = &mut self.paths[path];
            if let Some(sender) = ends[0].sender_mut() {
                sender.hand_over(|seg, mapping| to_others.push_back((seg, mapping)));
            }
        }
        self.send(now, out);
    }

    /// All paths send what they may, the one of the least RTT first, those of unknown RTT last.
    fn send(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.data.all_acknowledged() {
            return;
        }
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable_by_key(|path| {
            let srtt = self.paths[*path].srtt();
            (srtt.is_zero(), srtt, *path)
        });
        for path in &order {
            while self.paths[*path].ends[0].is_established() && self.send_one(now, *path, out) {}
        }
        self.order = order;
    }

    /// One segment on a path; false if it may send none or has none to send.
    fn send_one(&mut self, now: Time, path: usize, out: &mut Vec<Packet>) -> bool {
        let stuck = self.stuck_elsewhere(path);
        let offer = stuck
            .map(|(_, mapping)| mapping)
            .or_else(|| self.data.next());
        let Some(left) = self.paths[path].ends[0].send_offered(now, offer, out) else {
            return false;
        };
        if left.is_new {
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

    /// The first data that other paths ask this one to carry and that is still missing, and which path asks.
    fn stuck_elsewhere(&mut self, path: usize) -> Option<(usize, Mapping)> {
        let mut first: Option<(usize, Mapping)> = None;
        for other in (0..self.paths.len()).filter(|other| *other != path) {
            let asks = &mut self.paths[other];
            while let Some((seg, mapping)) = asks.to_others.front().copied() {
                let came = !asks.ends[0].sender().is_some_and(|s| s.misses(seg));
                if came || self.data.is_acknowledged(mapping.data) {
                    asks.to_others.pop_front();
                    continue;
                }
                if first.is_none_or(|(_, least)| mapping.data < least.data) {
                    first = Some((other, mapping));
                }
                break;
            }
        }
        first
    }

    /// Notes what really became of a data packet.
    pub fn note_drop(&mut self, path: usize, packet: &Packet, cause: DropCause) {
        self.paths[path].ends[0].note_drop(packet, cause);
    }

    /// Segments delivered to the application, in order.
    pub fn delivered(&self) -> u32 {
        self.data.delivered()
    }

    /// Their bytes.
    pub fn payload_delivered(&self) -> u64 {
        self.data.payload_delivered()
    }

    /// All data is with the application.
    pub fn is_complete(&self) -> bool {
        self.data.is_complete()
    }

    /// Samples each path; gives what they are together: windows and rates added up, the RTT of the fastest path. One path is
    /// all there is to sample. What is delivered is for the caller to know.
    pub fn sample(&mut self, now: Time, interval: Duration) -> FlowSample {
        if let [path] = self.paths.as_slice()
            && let Some(sender) = path.sender()
        {
            return sender.sample(now, Rate::ZERO);
        }
        let mut all = FlowSample {
            at: now,
            phase: "several paths",
            ..FlowSample::default()
        };
        for path in &mut self.paths {
            let bytes = path.brought - std::mem::replace(&mut path.sampled_bytes, path.brought);
            let Some(sender) = path.ends[0]
                .sender()
                .filter(|_| path.ends[0].is_established())
            else {
                continue;
            };
            let sample = FlowSample {
                delivered: Bytes::new(path.brought),
                ..sender.sample(now, Rate::over(Bytes::new(bytes), interval))
            };
            all.cwnd += sample.cwnd;
            all.sent += sample.sent;
            all.in_flight += sample.in_flight;
            all.retransmits += sample.retransmits;
            all.pacing_rate = match (all.pacing_rate, sample.pacing_rate) {
                (Some(a), Some(b)) => Some(Rate::from_bits_per_sec(
                    a.as_bits_per_sec().saturating_add(b.as_bits_per_sec()),
                )),
                (a, b) => a.or(b),
            };
            let faster = all.srtt.is_zero() || sample.srtt < all.srtt;
            if faster && !sample.srtt.is_zero() {
                (all.srtt, all.rttvar) = (sample.srtt, sample.rttvar);
            }
            path.samples.push(sample);
        }
        all
    }
}
