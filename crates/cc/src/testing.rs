//! Fixtures for the tests of this crate: events, and paths on which the test decides the losses.

use crate::algorithms::loss::newreno::NewReno;
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::splitmix::SplitMix64;
use crate::estimators::delivery_rate::{RateEstimator, Tag};
use crate::interface::{Ack, AtSending, Controller, Loss, LostPacket, Signal, Timeout};
use crate::registry::Spec;
use crate::registry::entry::Setup;
pub(crate) use crate::registry::parse_controller;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Segment size of the tests.
pub(crate) const MSS: u64 = 1000;

/// A connection with an initial window of `segments`.
pub(crate) fn setup(segments: u64) -> Setup {
    Setup {
        mss: Bytes::new(MSS),
        initial_window: Bytes::new(segments * MSS),
        paced: false,
        ssthresh: None,
        growth: Default::default(),
        seed: 1,
        time_of_day: Default::default(),
        saved: None,
    }
}

/// NewReno on a new connection with an initial window of `segments`.
pub(crate) fn newreno(segments: u64) -> WindowController<NewReno> {
    WindowController::new(&setup(segments), NewReno::default())
}

/// An ACK of one segment on a busy connection.
pub(crate) const ACK: Ack = Ack {
    now: Time::ZERO,
    acked: Bytes::new(MSS),
    rtt: Some(Duration::from_millis(100)),
    srtt: Duration::from_millis(100),
    min_rtt: Duration::from_millis(100),
    in_flight: Bytes::new(10 * MSS),
    delivered: Bytes::ZERO,
    delivery_rate: None,
    app_limited: false,
    cwnd_limited: true,
    in_recovery: false,
    round_start: false,
    receiver_time: None,
    lost: Bytes::ZERO,
    newest: None,
    ece: false,
};

/// A controller by its name and parameters, with an initial window of `segments`.
pub(crate) fn built(text: &str, segments: u64) -> Box<dyn Controller> {
    let spec: Spec = text.parse().expect("valid");
    spec.build(&setup(segments)).expect("fed acknowledgments")
}

/// A loss with the entire window in flight.
pub(crate) fn loss(controller: &dyn Controller, now: Time) -> Loss {
    Loss {
        now,
        signal: Signal::Loss,
        in_flight: controller.cwnd(),
        lost: Bytes::new(MSS),
        lost_order: 0,
        next_order: 0,
        sent: now,
        ece: false,
        truth: None,
    }
}

/// A timeout with the entire window in flight.
pub(crate) fn timeout(controller: &dyn Controller, now: Time) -> Timeout {
    Timeout {
        now,
        in_flight: controller.cwnd(),
        repeated: false,
        next_order: 0,
    }
}

/// The window in segments.
pub(crate) fn segments(controller: &dyn Controller) -> f64 {
    controller.cwnd().get() as f64 / MSS as f64
}

/// A path of constant round-trip time; ACKs are spread evenly over it.
pub(crate) struct Path {
    pub now: Time,
    pub rtt: Duration,
    /// Segments that one ACK acknowledges: 2 with delayed ACKs.
    pub per_ack: u64,
}

impl Path {
    pub fn new(rtt: Duration) -> Self {
        Self {
            now: Time::ZERO,
            rtt,
            per_ack: 1,
        }
    }

    /// One round trip: acknowledges the window of its beginning.
    pub fn round(&mut self, controller: &mut dyn Controller) {
        let flight = controller.cwnd();
        let acks = (flight.get() / MSS / self.per_ack).max(1);
        let began = self.now;
        for i in 0..acks {
            self.now = began + self.rtt.mul_f64((i + 1) as f64 / acks as f64);
            controller.on_ack(&Ack {
                now: self.now,
                acked: Bytes::new(self.per_ack * MSS),
                rtt: Some(self.rtt),
                srtt: self.rtt,
                min_rtt: self.rtt,
                in_flight: flight,
                round_start: i == 0,
                ..ACK
            });
        }
    }

    /// Round trips until `span` has passed.
    pub fn rounds_for(&mut self, controller: &mut dyn Controller, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.round(controller);
        }
    }

    /// The deterministic loss model of RFC 9438 section 5: `between` packets from one loss to the
    /// next, no time spent in recovery. Returns the mean window in segments over `epochs` losses,
    /// after as many to settle.
    pub fn mean_window(
        &mut self,
        controller: &mut dyn Controller,
        between: u64,
        epochs: u64,
    ) -> f64 {
        let (mut sent, mut rounds) = (0u64, 0.0);
        let mut round_began = self.now;
        for epoch in 0..2 * epochs {
            for _ in 0..between {
                // Each packet takes its part of a round trip.
                let share = 1.0 / segments(controller);
                self.now += self.rtt.mul_f64(share);
                if epoch >= epochs {
                    sent += 1;
                    rounds += share;
                }
                let round_start = self.now.since(round_began) >= self.rtt;
                if round_start {
                    round_began = self.now;
                }
                controller.on_ack(&Ack {
                    now: self.now,
                    round_start,
                    rtt: Some(self.rtt),
                    srtt: self.rtt,
                    min_rtt: self.rtt,
                    in_flight: controller.cwnd(),
                    ..ACK
                });
            }
            controller.on_loss(&loss(controller, self.now));
        }
        sent as f64 / rounds
    }
}

/// A bottleneck of a given rate with a finite FIFO queue, packet by packet, shared by flows that
/// always have data, each with its own delay. ACKs are neither lost nor delayed, one per packet.
pub(crate) struct Bottleneck {
    pub now: Time,
    /// May be changed between runs; a packet in transmission keeps its time.
    pub rate: Rate,
    /// Buffer size, packets, without the one in transmission.
    pub room: usize,
    /// Probability that the channel loses a packet before it is queued.
    pub loss: f64,
    /// A packet that finds this many queued is marked, and its ACK echoes the mark.
    pub mark: Option<usize>,
    /// What has left is passed on at multiples of this time; zero: at once.
    pub slot: Duration,
    pub flows: Vec<Flow>,
    random: SplitMix64,
    /// Flow and packet; the one in transmission is first.
    queue: VecDeque<(usize, Flying)>,
    /// When the transmission of the present packet ends.
    busy_until: Time,
}

/// One flow through a [`Bottleneck`].
pub(crate) struct Flow {
    pub controller: Box<dyn Controller>,
    /// Bytes delivered and lost so far.
    pub delivered: u64,
    pub lost: u64,
    pub srtt: Duration,
    /// The application has data to send.
    pub has_data: bool,
    rates: RateEstimator,
    /// Round-trip time of its path without queue and transmission. May be changed between runs;
    /// when it becomes shorter, acknowledgments wait for those in flight.
    pub delay: Duration,
    starts: Time,
    min_rtt: Duration,
    /// Packets in flight, oldest first.
    flying: VecDeque<Flying>,
    /// ACKs in flight: the time of arrival, the packet, and whether it was marked.
    acks: VecDeque<(Time, u64, bool)>,
    next_order: u64,
    paced_until: Time,
    window_full: bool,
    round_ends: u64,
    /// The episode lasts until this packet is acknowledged; whether the window was reduced for it.
    episode: Option<(u64, bool)>,
    /// Marks on packets before this one belong to an episode that was reported to the controller.
    marks_reported: u64,
    /// When the last ACK arrived.
    last_ack: Time,
}

#[derive(Debug, Clone, Copy)]
struct Flying {
    order: u64,
    at: AtSending,
    tag: Tag,
    marked: bool,
}

impl Bottleneck {
    pub fn new(rate: Rate, room: usize) -> Self {
        Self {
            now: Time::ZERO,
            rate,
            room,
            loss: 0.0,
            mark: None,
            slot: Duration::ZERO,
            flows: Vec::new(),
            random: SplitMix64::new(1),
            queue: VecDeque::new(),
            busy_until: Time::MAX,
        }
    }

    /// Adds a flow that begins now.
    pub fn add(&mut self, controller: Box<dyn Controller>, delay: Duration) {
        self.flows.push(Flow {
            controller,
            delivered: 0,
            lost: 0,
            srtt: Duration::ZERO,
            has_data: true,
            rates: RateEstimator::default(),
            delay,
            starts: self.now,
            min_rtt: Duration::MAX,
            flying: VecDeque::new(),
            acks: VecDeque::new(),
            next_order: 0,
            paced_until: self.now,
            window_full: false,
            round_ends: 0,
            episode: None,
            marks_reported: 0,
            last_ack: self.now,
        });
    }

    /// Packets waiting or in transmission.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Runs for `span`; returns the mean over time and the maximum of the packets queued.
    pub fn run(&mut self, span: Duration) -> (f64, usize) {
        let (began, end) = (self.now, self.now + span);
        let (mut area, mut most) = (0.0, 0);
        loop {
            for flow in 0..self.flows.len() {
                self.send(flow);
            }
            most = most.max(self.queued());
            let next = self.flows.iter().map(Flow::next_event).min();
            let next = next.unwrap_or(Time::MAX).min(self.busy_until);
            let until = next.min(end);
            area += self.queued() as f64 * until.since(self.now).as_secs_f64();
            self.now = until;
            if next >= end {
                return (area / end.since(began).as_secs_f64(), most);
            }
            if self.busy_until <= self.now {
                self.depart();
            }
            for flow in &mut self.flows {
                flow.hear(self.now);
            }
        }
    }

    /// Sends the packets that the flow's window and pacing allow now.
    fn send(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        while flow.paced_until <= self.now {
            let in_flight = flow.flying.len() as u64 * MSS;
            if in_flight + MSS > flow.controller.cwnd().get() {
                flow.window_full = true;
                return;
            }
            if !flow.has_data {
                flow.rates.on_app_limited(Bytes::new(in_flight));
                return;
            }
            let idle = flow.flying.is_empty();
            if idle {
                flow.last_ack = self.now;
            }
            let in_flight = Bytes::new(in_flight + MSS);
            let tag = flow.rates.on_sent(self.now, idle, in_flight);
            let packet = Flying {
                order: flow.next_order,
                at: flow.rates.at_sending(&tag, self.now),
                tag,
                marked: self.mark.is_some_and(|queued| self.queue.len() >= queued),
            };
            flow.next_order += 1;
            flow.flying.push_back(packet);
            flow.controller
                .on_sent(self.now, Bytes::new(MSS), in_flight);
            if let Some(rate) = flow.controller.pacing_rate() {
                flow.paced_until = self.now + rate.time_for(Bytes::new(MSS));
            }
            if self.random.unit() >= self.loss && self.queue.len() <= self.room {
                self.queue.push_back((index, packet));
                if self.queue.len() == 1 {
                    self.busy_until = self.now + self.rate.time_for(Bytes::new(MSS));
                }
            }
        }
    }

    /// Ends the transmission of a packet and begins the next.
    fn depart(&mut self) {
        if let Some((index, packet)) = self.queue.pop_front() {
            let flow = &mut self.flows[index];
            let slot = self.slot.as_nanos().max(1);
            let passed_on = self.now.since(Time::ZERO).as_nanos().next_multiple_of(slot);
            let arrives = Time::ZERO + Duration::from_nanos(passed_on) + flow.delay;
            flow.acks.push_back((arrives, packet.order, packet.marked));
        }
        self.busy_until = match self.queue.is_empty() {
            true => Time::MAX,
            false => self.now + self.rate.time_for(Bytes::new(MSS)),
        };
    }
}

impl Flow {
    /// Long enough for every packet that is not lost to be acknowledged.
    const TIMEOUT: Duration = Duration::from_secs(3);

    /// Its mean rate over the last `span`, before which it had delivered `delivered` bytes.
    pub fn rate_since(&self, delivered: u64, span: Duration) -> Rate {
        Rate::over(Bytes::new(self.delivered - delivered), span)
    }

    fn next_event(&self) -> Time {
        let ack = self.acks.front().map_or(Time::MAX, |(at, ..)| *at);
        let in_flight = self.flying.len() as u64 * MSS;
        let open = self.has_data && in_flight + MSS <= self.controller.cwnd().get();
        let send = if open { self.paced_until } else { Time::MAX };
        let timeout = match self.flying.is_empty() {
            true => Time::MAX,
            false => self.last_ack + Self::TIMEOUT,
        };
        ack.min(send.max(self.starts)).min(timeout)
    }

    fn hear(&mut self, now: Time) {
        while self.acks.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, order, ece) = self.acks.pop_front().expect("there is one");
            self.acknowledge(now, order, ece);
        }
        if !self.flying.is_empty() && now >= self.last_ack + Self::TIMEOUT {
            let in_flight = Bytes::new(self.flying.len() as u64 * MSS);
            self.last_ack = now;
            self.episode = None;
            while let Some(packet) = self.flying.pop_front() {
                self.lose(now, packet);
            }
            self.controller.on_timeout(&Timeout {
                now,
                in_flight,
                repeated: false,
                next_order: self.next_order,
            });
        }
    }

    /// Packets arrive in order: packets missing before this one are lost.
    fn acknowledge(&mut self, now: Time, order: u64, ece: bool) {
        let in_flight = Bytes::new(self.flying.len() as u64 * MSS);
        let mut first_lost = None;
        let packet = loop {
            let oldest = self.flying.front().filter(|p| p.order <= order);
            let Some(packet) = oldest.copied() else {
                return; // It was given up at a timeout.
            };
            self.flying.pop_front();
            if packet.order == order {
                break packet;
            }
            self.lose(now, packet);
            first_lost.get_or_insert(packet);
        };
        self.last_ack = now;
        self.delivered += MSS;
        // As in transports, losses during an episode without a reduction are reported too.
        let reduced = self.episode.is_some_and(|(_, reduced)| reduced);
        let loss = |packet: Flying, signal| Loss {
            now,
            signal,
            in_flight,
            lost: Bytes::new(MSS),
            lost_order: packet.order,
            next_order: self.next_order,
            sent: packet.at.sent,
            ece,
            truth: None,
        };
        if let (Some(lost), false) = (first_lost, reduced) {
            let response = self.controller.on_loss(&loss(lost, Signal::Loss));
            self.episode = Some((self.next_order, response.reduced));
        }
        if ece && order >= self.marks_reported {
            self.controller.on_loss(&loss(packet, Signal::Ecn));
            self.marks_reported = self.next_order;
        }
        if self.episode.is_some_and(|(end, _)| order >= end) {
            self.episode = None;
            self.controller.on_recovery_end(now);
        }
        let rtt = now.since(packet.at.sent);
        self.srtt = match self.srtt.is_zero() {
            true => rtt,
            false => (self.srtt * 7 + rtt) / 8,
        };
        self.min_rtt = self.min_rtt.min(rtt);
        let (size, sent) = (Bytes::new(MSS), packet.at.sent);
        self.rates.on_acked(now, size, order, sent, packet.tag);
        let sample = self.rates.on_end(self.min_rtt);
        let round_start = order >= self.round_ends;
        if round_start {
            self.round_ends = self.next_order;
        }
        self.controller.on_ack(&Ack {
            now,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight: Bytes::new(self.flying.len() as u64 * MSS),
            delivered: Bytes::new(self.delivered),
            lost: Bytes::new(self.lost),
            cwnd_limited: self.window_full,
            in_recovery: self.episode.is_some_and(|(_, reduced)| reduced),
            round_start,
            ece,
            delivery_rate: sample.rate,
            app_limited: sample.app_limited || !self.has_data,
            newest: sample.newest,
            ..ACK
        });
    }

    fn lose(&mut self, now: Time, packet: Flying) {
        self.lost += MSS;
        self.rates.on_lost(Bytes::new(MSS));
        self.controller.on_packet_lost(&LostPacket {
            now,
            size: Bytes::new(MSS),
            lost: Bytes::new(self.lost),
            at: packet.at,
        });
    }
}
