//! The receiver of bursts and trains: measures what arrives, and reports it.
//!
//! A burst is over when its last packet or a packet of a later burst has arrived, or when nothing
//! has arrived for an interval. It is then reported, and a report is repeated in the next three.
//! Times of arrival are the kernel's.
//!
//! **Trust.** Nothing is answered before the application has admitted the peer: a stranger cannot
//! join the node, and what it sends costs nothing. Then its memory is one burst and one train, and
//! its reports are as many as its bursts.

use super::clock::ClockOffset;
use super::message::{Grant, MAX_REPORTS, Message, Report, Share};
use super::node::Membership;
use std::collections::VecDeque;
use std::time::Instant;
use whimbrel_cc::burst_transport::{Arrival, BurstPacket, Receiver, trains::TRAINS};
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Time};

/// Messages that wait to be sent, at most. The newest is dropped.
const MAX_WAITING: usize = 64;

/// The receiver of one connection.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// The flow in its node, once the peer has opened it and the application admits it.
    membership: Option<Membership>,
    /// Size of a full packet on the wire.
    packet: Bytes,
    /// An opening that waits for the application's admission.
    opening: Option<(u8, u16)>,
    receiver: Receiver,
    /// The last reports, the newest last, and when the last packet of each arrived, by the driver's
    /// clock.
    reports: VecDeque<(Report, Time)>,
    share: Option<Share>,
    /// The origin of the driver's times.
    origin: Option<Instant>,
    clock: ClockOffset,
    waiting: VecDeque<Message>,
}

impl Collector {
    /// A message arrived at `at` by the kernel's clock, and is processed at `now`. Returns whether
    /// it was one for a receiver of bursts.
    pub fn on_message(&mut self, now: Instant, at: Time, message: &Message) -> bool {
        let local = self.time(now);
        self.clock.observe(local, at);
        match *message {
            Message::Open { priority, packet } => self.opening = Some((priority, packet)),
            Message::Train {
                number,
                index,
                count,
            } => {
                if self.membership.is_some() {
                    let packet = self.packet;
                    let over = self.receiver.on_train(at, number, index, count, packet);
                    self.confirm(now, over);
                }
            }
            Message::InBurst {
                burst,
                index,
                count,
                interval,
            } => {
                let packet = BurstPacket {
                    burst,
                    index: index.into(),
                    count: count.into(),
                    interval: Duration::from_micros(interval.into()),
                    sent: 0,
                };
                if self.membership.is_some() {
                    for burst in self.receiver.on_packet(at, &packet).iter().flatten() {
                        self.report(now, &burst.arrival);
                    }
                }
            }
            Message::Probe => {
                self.put(Message::ProbeAnswer);
                // Reports may have been lost in the outage.
                self.put_reports(now);
            }
            _ => return false,
        }
        true
    }

    /// Answers an opening, once the application has admitted the peer. `join` makes the flow's
    /// membership, with a priority that the application allows.
    pub fn answer(&mut self, now: Instant, join: impl FnOnce(Priority) -> Membership) {
        let Some((priority, packet)) = self.opening.take() else {
            return;
        };
        self.packet = Bytes::new(packet.into());
        let membership = self
            .membership
            .get_or_insert_with(|| join(Priority::new(priority).unwrap_or(Priority::LOWEST)));
        let accept = Message::Accept {
            priority: membership.priority().get(),
            grant: membership.known(now).unwrap_or_default(),
        };
        self.put(accept);
    }

    /// Whether an opening waits for the application.
    pub fn is_waiting(&self) -> bool {
        self.opening.is_some()
    }

    /// Which flow of its node it is, once it is one.
    pub fn key(&self) -> Option<u64> {
        self.membership.as_ref().map(Membership::key)
    }

    /// Whether the connection receives bursts.
    pub fn is_open(&self) -> bool {
        self.membership.is_some()
    }

    /// The next message to send.
    pub fn next(&mut self) -> Option<Message> {
        self.waiting.pop_front()
    }

    /// When a burst or a train is over without its end, by the clock of `now`.
    pub fn deadline(&self) -> Option<Instant> {
        let due = self.receiver.deadline()?;
        let after = self.clock.to_local(due).since(Time::ZERO);
        Some(self.origin? + std::time::Duration::from(after))
    }

    /// The deadline has passed.
    pub fn on_deadline(&mut self, now: Instant) {
        let local = self.time(now);
        let at = self.clock.to_arrival(local);
        let (burst, train) = self.receiver.on_timer(at, self.packet);
        if let Some(burst) = burst {
            self.report(now, &burst.arrival);
        }
        self.confirm(now, train);
    }

    fn time(&mut self, now: Instant) -> Time {
        let origin = *self.origin.get_or_insert(now);
        Time::ZERO + Duration::from(now.saturating_duration_since(origin))
    }

    /// A train is over and gave an estimate: reports it.
    fn confirm(&mut self, now: Instant, over: Option<u32>) {
        let (Some(number), Some(membership)) = (over, &mut self.membership) else {
            return;
        };
        let measured = self.receiver.trains().measured();
        let grant = if measured == TRAINS {
            let estimate = self.receiver.trains().median();
            Grant {
                bandwidth: estimate.as_bits_per_sec(),
                ..membership.join(now, estimate)
            }
        } else {
            Grant::default()
        };
        let latest = self.receiver.trains().latest().as_bits_per_sec();
        self.put(Message::TrainReport {
            number,
            measured,
            latest,
            grant,
        });
    }

    /// A burst is over: reports it.
    fn report(&mut self, now: Instant, burst: &Arrival) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        self.share = membership.on_burst(now, burst.delivered_rate(self.packet));
        let span = burst.spans().map_or(0, |spans| spans.received.as_nanos());
        let last_at = self.clock.to_local(burst.last_at());
        if self.reports.len() == MAX_REPORTS {
            self.reports.pop_front();
        }
        let report = Report {
            burst: burst.burst(),
            count: burst.count() as u16,
            received: burst.received() as u16,
            first: burst.first_index() as u16,
            last: burst.last_index() as u16,
            span,
            held: 0,
            instants: burst.instants() as u16,
        };
        self.reports.push_back((report, last_at));
        self.put_reports(now);
    }

    /// Sends the last reports. Those that wait to be sent are replaced. How long each was held is
    /// counted until now, so that a repeated one gives a round-trip time too.
    fn put_reports(&mut self, now: Instant) {
        if self.reports.is_empty() {
            return;
        }
        let is_reports = |message: &Message| matches!(message, Message::Reports { .. });
        self.waiting.retain(|message| !is_reports(message));
        let local = self.time(now);
        let reports = self.reports.iter().map(|(report, last_at)| {
            let held = local.since(*last_at).as_nanos() / 1000;
            Report {
                held: held.min(u64::from(u32::MAX)) as u32,
                ..*report
            }
        });
        let reports = reports.collect();
        let share = self.share;
        self.put(Message::Reports { share, reports });
    }

    fn put(&mut self, message: Message) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::message::tests::any_message;
    use crate::feedback::node::SharedNode;
    use proptest::prelude::*;

    /// A collector of an admitted peer, and the time.
    fn collector() -> (Collector, Instant) {
        let mut collector = Collector::default();
        let now = Instant::now();
        let open = Message::Open {
            priority: 3,
            packet: 1500,
        };
        assert!(collector.on_message(now, Time::ZERO, &open));
        assert!(collector.is_waiting() && !collector.is_open());
        let node = SharedNode::default();
        collector.answer(now, |wanted| {
            Membership::new(node.clone(), node.key(), wanted)
        });
        let accepted = Message::Accept {
            priority: 3,
            grant: Grant::default(),
        };
        assert_eq!(collector.next(), Some(accepted));
        (collector, now)
    }

    fn ms(n: u64) -> std::time::Duration {
        std::time::Duration::from_millis(n)
    }

    /// Packet `index` of a burst of ten arrives `at` ms after the start.
    fn packet(collector: &mut Collector, start: Instant, burst: u32, index: u16, at: u64) {
        let message = Message::InBurst {
            burst,
            index,
            count: 10,
            interval: 10_000,
        };
        let arrived = Time::ZERO + Duration::from_millis(1000 + at);
        collector.on_message(start + ms(at), arrived, &message);
    }

    fn reports(collector: &mut Collector) -> Vec<Report> {
        match collector.next() {
            Some(Message::Reports { reports, .. }) => reports,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_burst_is_reported_when_its_last_packet_or_a_later_burst_arrives() {
        let (mut collector, start) = collector();
        for index in [1, 2, 4, 9] {
            packet(&mut collector, start, 5, index, 2 * u64::from(index));
        }
        let first = Report {
            burst: 5,
            count: 10,
            received: 4,
            first: 1,
            last: 9,
            span: 16_000_000,
            held: 0,
            instants: 4,
        };
        assert_eq!(reports(&mut collector), [first]);
        packet(&mut collector, start, 6, 0, 21);
        assert_eq!(collector.next(), None);
        packet(&mut collector, start, 8, 3, 30);
        let both = reports(&mut collector);
        assert_eq!(both.len(), 2, "the last one again");
        let again = Report {
            held: 12_000,
            ..first
        };
        assert_eq!((both[0], both[1].burst, both[1].held), (again, 6, 9000));
        packet(&mut collector, start, 5, 7, 31);
        assert_eq!(collector.next(), None, "too late");
    }

    #[test]
    fn a_burst_whose_end_is_lost_is_reported_after_an_interval() {
        let (mut collector, start) = collector();
        for index in 0..5 {
            packet(&mut collector, start, 0, index, u64::from(index));
        }
        assert_eq!(collector.deadline(), Some(start + ms(14)));
        collector.on_deadline(start + ms(13));
        assert_eq!(collector.next(), None);
        collector.on_deadline(start + ms(14));
        let report = reports(&mut collector)[0];
        assert_eq!((report.received, report.last, report.held), (5, 4, 10_000));
    }

    #[test]
    fn what_cannot_be_sent_is_bounded() {
        let (mut collector, start) = collector();
        for n in 0..1000 {
            collector.on_message(start + ms(n), Time::ZERO, &Message::Probe);
        }
        let answers = std::iter::from_fn(|| collector.next());
        assert_eq!(answers.count(), MAX_WAITING);
    }

    #[test]
    fn nothing_of_a_stranger_is_measured_or_answered() {
        let mut collector = Collector::default();
        let start = Instant::now();
        for index in 0..10 {
            packet(&mut collector, start, 0, index, u64::from(index));
            let train = Message::Train {
                number: 1,
                index: index as u8,
                count: 10,
            };
            collector.on_message(start, Time::ZERO, &train);
        }
        assert_eq!((collector.next(), collector.deadline()), (None, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn no_messages_of_a_peer_do_harm(
            messages in prop::collection::vec((0u64..3_000_000, any_message()), 1..200),
        ) {
            let (mut collector, mut now) = collector();
            let mut at = Time::ZERO;
            for (after, message) in messages {
                now += std::time::Duration::from_micros(after);
                at += Duration::from_micros(after);
                collector.on_message(now, at, &message);
                if collector.deadline().is_some_and(|at| at <= now) {
                    collector.on_deadline(now);
                    prop_assert!(collector.deadline().is_none_or(|at| at > now));
                }
                prop_assert!(collector.waiting.len() <= MAX_WAITING);
                prop_assert!(collector.reports.len() <= MAX_REPORTS);
                if let Some(Message::Reports { reports, .. }) = collector.next() {
                    let mut bytes = Vec::new();
                    let message = Message::Reports { share: None, reports };
                    message.encode(&mut bytes);
                    prop_assert!(Message::decode(&bytes).is_some(), "a report that no peer takes");
                }
            }
        }
    }
}
