//! What the scheduler of several paths ([`endpoint::paths`](crate::endpoint)) and the controller of
//! one path tell each other.
//!
//! noq tries the paths in the order of their numbers, and a path sends if its window has room. It
//! has no call for choosing another one. So the scheduler closes the windows of all paths but one
//! before each call of noq's `poll_transmit`: that is the choice of the path for each packet.

use std::time::Instant;
use whimbrel_cc::path_scheduler::PathView;
use whimbrel_cc::shared_bottleneck::PathSample;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A smaller packet, bytes, carries no data but its mark.
pub(crate) const SMALL: usize = 256;
/// Bytes of a full packet that are not the application's: QUIC's header and tag, and the header of
/// a STREAM frame.
const OVERHEAD: u64 = 36;
/// Minimum that a probe timeout grants for the variation of the RTT.
const GRANULARITY: Duration = Duration::from_millis(10);
/// Acknowledgments that pause for so long, or for half a round trip, may have taken another path.
const GAP: Duration = Duration::from_millis(50);
/// How long a peer may hold back an acknowledgment (RFC 9000 section 18.2, default).
const ACK_DELAY: Duration = Duration::from_millis(25);

/// A path, as scheduler and controller see it.
#[derive(Debug, Default)]
pub(crate) struct PathTraffic {
    /// The scheduler has another path send.
    pub closed: bool,
    /// noq had data for this path when it last asked for the window, and it was open.
    pub wanted: bool,
    /// noq had data for this path when it last asked for the window, and it was closed.
    pub declined: bool,
    /// A packet has left since the scheduler last looked.
    pub left: bool,
    /// When a packet was last acknowledged.
    pub heard: Option<Instant>,
    /// When the newest packet that was acknowledged had left.
    pub newest_acked: Option<Instant>,
    /// Since when data is in flight without an acknowledgment; `None`: nothing is in flight.
    pub unanswered: Option<Instant>,
    /// The probe timeout (RFC 9002 section 6.2.1) without the back-off, by RTT samples that are
    /// not late; zero before the first.
    pub probe_timeout: Duration,
    /// Since when acknowledgments are late: they arrive after the probe timeout, or after a gap.
    late: Option<Instant>,
    /// When the last packet that is to be acknowledged left.
    pub last_sent: Option<Instant>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// What the path carries.
    pub view: PathView,
    /// The lowest RTT sample since [`Paths`](crate::endpoint) last looked, and when it was taken.
    sample: Option<(Instant, PathSample)>,
    /// Bytes of the application sent, those of them declared lost, and those in flight, as far as
    /// sizes tell.
    pub data_sent: u64,
    pub data_lost: u64,
    pub data_in_flight: u64,
}

/// What an acknowledgment says of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct News {
    /// Bytes in flight.
    pub in_flight: u64,
    /// The newest RTT sample, the minimum of all, smoothed RTT and its variation.
    pub rtt: Duration,
    pub min_rtt: Duration,
    pub srtt: Duration,
    pub rttvar: Duration,
    /// The window, bytes.
    pub cwnd: u64,
    /// The pacing rate, if the algorithm sets one.
    pub pacing_rate: Option<Rate>,
}

impl PathTraffic {
    /// The window for noq, when the algorithm's is `window`.
    pub fn permitted(&mut self, window: u64) -> u64 {
        self.declined = self.closed;
        self.wanted |= !self.closed;
        if self.closed { 0 } else { window }
    }

    /// A packet that is to be acknowledged left.
    pub fn on_packet(&mut self, now: Instant, bytes: u64) {
        self.left = true;
        self.unanswered.get_or_insert(now);
        self.last_sent = Some(now);
        self.in_flight += bytes;
        self.data_sent += payload(bytes);
        self.data_in_flight += payload(bytes);
    }

    /// A packet that left at `sent` was acknowledged.
    pub fn on_acknowledged(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.heard = Some(now);
        self.newest_acked = self.newest_acked.max(Some(sent));
        self.data_in_flight = self.data_in_flight.saturating_sub(payload(bytes));
    }

    /// An ACK frame ends.
    ///
    /// An acknowledgment may be late because it came over another path, after the path that was to
    /// bring it had died. It proves that its own path lived when the packet arrived, and no more.
    /// So the path is unanswered since the time at which the acknowledgment was due, and its RTT
    /// sample counts for the probe timeout only if packets that left later are answered as late.
    pub fn on_news(&mut self, now: Instant, news: &News) {
        let sent = self.newest_acked.unwrap_or(now);
        if self.is_late(now, sent) {
            self.late.get_or_insert(now);
        } else {
            self.late = None;
            self.probe_timeout = probe_timeout(news);
        }
        let due = match self.view.srtt.is_zero() {
            true => now,
            false => now.min(sent + std::time::Duration::from(self.view.srtt)),
        };
        let due = self.unanswered.map_or(due, |since| due.max(since));
        self.unanswered = (news.in_flight > 0).then_some(due);
        self.in_flight = news.in_flight;
        let rate = Rate::over(Bytes::new(news.cwnd), news.srtt);
        self.view = PathView {
            srtt: news.srtt,
            rttvar: news.rttvar,
            rate: news.pacing_rate.map_or(rate, |paced| paced.min(rate)),
        };
        let lowest = self.sample.as_ref().map(|(_, sample)| sample.rtt);
        if !news.rtt.is_zero() && lowest.is_none_or(|lowest| news.rtt <= lowest) {
            let sample = PathSample {
                at: Time::ZERO,
                rtt: news.rtt,
                min_rtt: news.min_rtt,
                cwnd: Bytes::new(news.cwnd),
                rate: self.view.rate,
            };
            self.sample = Some((now, sample));
        }
    }

    /// The lowest RTT sample since the last call, by a clock that shows zero at `origin`.
    pub fn take_sample(&mut self, origin: Instant) -> Option<PathSample> {
        let (at, sample) = self.sample.take()?;
        let since = at.saturating_duration_since(origin);
        Some(PathSample {
            at: Time::ZERO + since.into(),
            ..sample
        })
    }

    /// Whether the acknowledgment of a packet that left at `sent` comes after the probe timeout or
    /// after a gap, and no packet that left since the first such acknowledgment was answered.
    fn is_late(&self, now: Instant, sent: Instant) -> bool {
        if self.probe_timeout.is_zero() || self.late.is_some_and(|late| sent >= late) {
            return false;
        }
        let gap = GAP.max(self.view.srtt / 2);
        let is_after = |from: Instant, span: Duration| now > from + std::time::Duration::from(span);
        is_after(sent, self.probe_timeout)
            || self.unanswered.is_some_and(|since| is_after(since, gap))
    }

    /// A packet was declared lost.
    pub fn on_lost(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.unanswered = self.unanswered.filter(|_| self.in_flight > 0);
        self.data_lost += payload(bytes);
        self.data_in_flight = self.data_in_flight.saturating_sub(payload(bytes));
    }

    /// Bytes of the application that were acknowledged.
    pub fn brought(&self) -> u64 {
        self.data_sent
            .saturating_sub(self.data_lost + self.data_in_flight)
    }
}

fn probe_timeout(news: &News) -> Duration {
    news.srtt + (news.rttvar * 4).max(GRANULARITY) + ACK_DELAY
}

fn payload(bytes: u64) -> u64 {
    match bytes < SMALL as u64 {
        true => 0,
        false => bytes - OVERHEAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> std::time::Duration = std::time::Duration::from_millis;

    /// A path with an RTT of 100 ms, a probe timeout of 135 ms and packets in flight, at its last
    /// prompt acknowledgment.
    fn traffic() -> (PathTraffic, Instant) {
        let mut traffic = PathTraffic::default();
        let start = Instant::now();
        traffic.on_packet(start, 1200);
        acknowledge(&mut traffic, start, start + MS(100), 100, 0);
        (traffic, start + MS(100))
    }

    fn acknowledge(traffic: &mut PathTraffic, sent: Instant, now: Instant, srtt: u64, rttvar: u64) {
        traffic.on_acknowledged(now, sent, 1200);
        let srtt = Duration::from_millis(srtt);
        traffic.on_news(
            now,
            &News {
                in_flight: 12_000,
                rtt: srtt,
                min_rtt: srtt,
                srtt,
                rttvar: Duration::from_millis(rttvar),
                cwnd: 24_000,
                pacing_rate: None,
            },
        );
    }

    #[test]
    fn a_late_acknowledgment_does_not_prove_that_a_path_lives() {
        let (mut traffic, now) = traffic();
        assert_eq!(traffic.unanswered, Some(now));
        // Of a packet that left 50 ms before: due after 50 ms, and it comes after 150 ms.
        acknowledge(&mut traffic, now - MS(50), now + MS(150), 112, 25);
        assert_eq!(traffic.heard, Some(now + MS(150)));
        assert_eq!(traffic.unanswered, Some(now + MS(50)));
        assert_eq!(traffic.probe_timeout, Duration::from_millis(135));
    }

    #[test]
    fn a_path_whose_packets_are_all_lost_or_acknowledged_waits_for_nothing() {
        let (mut traffic, now) = traffic();
        traffic.on_lost(6_000);
        assert_eq!(traffic.unanswered, Some(now));
        traffic.on_lost(6_000);
        assert_eq!(traffic.unanswered, None);
        traffic.on_packet(now + MS(500), 1200);
        assert_eq!(traffic.unanswered, Some(now + MS(500)), "since it left");
    }

    #[test]
    fn a_path_that_became_longer_is_waited_for_longer() {
        let (mut traffic, now) = traffic();
        acknowledge(&mut traffic, now + MS(10), now + MS(310), 125, 50);
        acknowledge(&mut traffic, now + MS(20), now + MS(320), 147, 80);
        assert_eq!(traffic.probe_timeout, Duration::from_millis(135));
        // This one left after the first of those had arrived.
        acknowledge(&mut traffic, now + MS(311), now + MS(611), 160, 90);
        assert_eq!(
            traffic.probe_timeout,
            Duration::from_millis(160 + 4 * 90 + 25)
        );
        assert_eq!(traffic.unanswered, Some(now + MS(311 + 147)));
    }
}
