//! The bursts that were sent and are not yet reported.

use crate::feedback::message::Report;
use std::collections::VecDeque;
use whimbrel_cc::Spans;
use whimbrel_cc::burst_transport::Departures;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Bursts that are neither reported nor given up, at most. A peer that reports nothing costs no
/// more than this; the oldest is then given up.
pub(super) const MAX_BURSTS: usize = 4096;

/// What became of a packet, as QUIC's acknowledgments tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    Acknowledged,
}

/// A packet of a burst.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    at: Time,
    size: u32,
    fate: Fate,
}

/// A burst.
#[derive(Debug)]
pub(super) struct Burst {
    /// Its number.
    pub number: u32,
    /// [`whimbrel_cc::BurstPlan::increase`].
    pub increase: f64,
    plan: Departures,
    /// It ended before all planned packets were sent.
    ended: bool,
    packets: Vec<Sent>,
}

impl Burst {
    /// A burst of which nothing was sent. `plan` has at most [`MAX_PACKETS`] packets.
    pub fn new(number: u32, plan: Departures, increase: f64) -> Self {
        Self {
            number,
            increase,
            plan,
            ended: false,
            packets: Vec::with_capacity((plan.count() as usize).min(1024)),
        }
    }

    /// Packets that it was announced with.
    pub fn count(&self) -> u16 {
        self.plan.count() as u16
    }

    /// The time over which they are sent (T_burst).
    pub fn interval(&self) -> Duration {
        self.plan.interval()
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u16 {
        self.packets.len() as u16
    }

    /// Whether all announced packets were sent.
    pub fn is_sent(&self) -> bool {
        self.ended || self.sent() >= self.count()
    }

    /// When its first packet left.
    pub fn first_at(&self) -> Time {
        self.packets.first().map_or(self.plan.at(0), |sent| sent.at)
    }

    /// When its last packet so far left.
    fn last_at(&self) -> Time {
        self.packets.last().map_or(self.plan.at(0), |sent| sent.at)
    }

    /// When packet `index` left.
    pub fn sent_at(&self, index: u16) -> Option<Time> {
        self.packets.get(usize::from(index)).map(|sent| sent.at)
    }

    /// The spans between the first and the last packet that arrived, on a path whose narrowest link
    /// has this rate. Packets that retransmit may be smaller than others, and a smaller packet
    /// leaves that link earlier: the span between arrivals is corrected for the difference.
    pub fn spans(&self, report: &Report, bandwidth: Rate) -> Option<Spans> {
        let first = self.packets.get(usize::from(report.first))?;
        let last = self.packets.get(usize::from(report.last))?;
        let service = |sent: &Sent| match bandwidth {
            Rate::ZERO => 0,
            rate => rate.time_for(Bytes::new(sent.size.into())).as_nanos(),
        };
        let corrected = (report.span.saturating_add(service(first))).checked_sub(service(last))?;
        (report.received >= 2 && last.at > first.at).then(|| Spans {
            sent: last.at.since(first.at),
            received: Duration::from_nanos(corrected),
        })
    }

    /// The span between the first and the last packet that arrived, as it was planned.
    pub fn planned(&self, report: &Report) -> Duration {
        let at = |index: u16| self.plan.at(index.into());
        at(report.last).since(at(report.first))
    }

    /// Packets that QUIC has not seen acknowledged.
    pub fn missing(&self) -> u32 {
        let missing = |sent: &&Sent| sent.fate == Fate::Unknown;
        self.packets.iter().filter(missing).count() as u32
    }
}

/// The bursts that are neither reported nor given up, in order.
#[derive(Debug, Default)]
pub(super) struct Ledger(VecDeque<Burst>);

impl Ledger {
    /// The number of bursts.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Begins a burst of which nothing was sent.
    pub fn begin(&mut self, burst: Burst) {
        if self.0.len() == MAX_BURSTS {
            self.0.pop_front();
        }
        self.0.push_back(burst);
    }

    /// The newest burst.
    pub fn newest(&self) -> Option<&Burst> {
        self.0.back()
    }

    /// The oldest burst.
    pub fn oldest(&self) -> Option<&Burst> {
        self.0.front()
    }

    /// The next packet of the newest burst, of `size` bytes, left at `at` with the packet number
    /// `number`. Returns when the one after it should leave.
    pub fn sent(&mut self, number: u64, at: Time, size: usize) -> Option<Time> {
        let burst = self.0.back_mut()?;
        burst.packets.push(Sent {
            number,
            at,
            size: size as u32,
            fate: Fate::Unknown,
        });
        Some(burst.plan.at(burst.sent().into()))
    }

    /// The newest burst has no more packets.
    pub fn end(&mut self) {
        if let Some(burst) = self.0.back_mut() {
            burst.ended = true;
            if burst.packets.is_empty() {
                self.0.pop_back();
            }
        }
    }

    /// The packet `number`, sent at `sent`, was acknowledged. Packet numbers of the handshake's
    /// spaces are distinguished by the time.
    pub fn acknowledged(&mut self, number: u64, sent: Time) {
        let at = self.0.partition_point(|burst| burst.last_at() < sent);
        for burst in self.0.iter_mut().skip(at).take(2) {
            let place = burst.packets.binary_search_by_key(&number, |p| p.number);
            if let Ok(place) = place
                && burst.packets[place].at == sent
            {
                burst.packets[place].fate = Fate::Acknowledged;
            }
        }
    }

    /// Removes the burst of a report, and those before it, which were not reported. Returns it and
    /// the number of packets of the others that QUIC has not seen acknowledged. `None` if the
    /// report does not fit.
    pub fn take(&mut self, report: &Report) -> Option<(Burst, u32)> {
        let at = self.0.binary_search_by_key(&report.burst, |b| b.number);
        let at = at.ok()?;
        if report.last >= self.0[at].sent() {
            return None;
        }
        let before = self.0.drain(..at).map(|burst| burst.missing()).sum();
        Some((self.0.pop_front()?, before))
    }

    /// Forgets all bursts.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_cc::BurstPlan;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Four packets, one per ms.
    fn plan(began: Time) -> Departures {
        let plan = BurstPlan {
            rate: Rate::from_bits_per_sec(12_000_000),
            increase: 0.5,
        };
        let interval = Duration::from_millis(4);
        Departures::new(began, &plan, Bytes::new(1500), interval, u32::MAX)
    }

    /// Three bursts of four packets, one packet per ms; packet numbers from 100.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        for number in 0..3 {
            let began = u64::from(number) * 4;
            ledger.begin(Burst::new(number, plan(at(began)), 0.5));
            for index in 0..4 {
                let due = ledger.sent(100 + began + index, at(began + index), 1452);
                assert_eq!(due, Some(at(began + index + 1)));
            }
        }
        ledger
    }

    fn report(burst: u32, first: u16, last: u16) -> Report {
        Report {
            burst,
            count: 4,
            received: last - first + 1,
            first,
            last,
            span: 5_000_000,
            held: 0,
            instants: 1,
        }
    }

    #[test]
    fn a_report_gives_the_spans_between_the_packets_that_arrived() {
        let mut ledger = ledger();
        let (burst, before) = ledger.take(&report(0, 1, 3)).expect("fits");
        assert_eq!(before, 0);
        let spans = burst
            .spans(&report(0, 1, 3), Rate::ZERO)
            .expect("two packets");
        assert_eq!(spans.sent, Duration::from_millis(2));
        assert_eq!(spans.received, Duration::from_millis(5));
        assert!(burst.spans(&report(0, 1, 1), Rate::ZERO).is_none());
        assert!(ledger.take(&report(0, 1, 3)).is_none(), "reported once");
    }

    #[test]
    fn a_smaller_last_packet_is_no_compression() {
        let mut ledger = Ledger::default();
        ledger.begin(Burst::new(0, plan(at(0)), 0.0));
        for (index, size) in [(0, 1250), (1, 1250), (2, 250)] {
            ledger.sent(100 + index, at(index), size);
        }
        let (burst, _) = ledger.take(&report(0, 0, 2)).expect("fits");
        let on = |bandwidth| burst.spans(&report(0, 0, 2), bandwidth).expect("spans");
        assert_eq!(on(Rate::ZERO).received, Duration::from_millis(5));
        // 1000 bytes less: 1 ms at 8 Mbit/s.
        let narrow = Rate::from_bits_per_sec(8_000_000);
        assert_eq!(on(narrow).received, Duration::from_millis(6));
    }

    #[test]
    fn bursts_without_a_report_count_what_was_not_acknowledged() {
        let mut ledger = ledger();
        for index in 0..3 {
            ledger.acknowledged(100 + index, at(index));
        }
        // The same number in another packet number space.
        ledger.acknowledged(103, at(1));
        let (burst, before) = ledger.take(&report(2, 0, 3)).expect("fits");
        assert_eq!((burst.number, before), (2, 1 + 4));
        assert!(ledger.take(&report(1, 0, 3)).is_none(), "too late");
    }

    #[test]
    fn a_report_of_what_was_not_sent_does_not_fit() {
        let mut ledger = Ledger::default();
        ledger.begin(Burst::new(7, plan(at(0)), 0.0));
        ledger.sent(100, at(0), 1452);
        assert!(ledger.take(&report(7, 0, 1)).is_none());
        assert!(ledger.take(&report(8, 0, 0)).is_none());
        ledger.end();
        assert!(ledger.newest().is_some_and(Burst::is_sent));
        assert!(ledger.take(&report(7, 0, 0)).is_some());
    }
}
