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

/// Bytes of a full packet that are not the application's: QUIC's header and tag, and the header of
/// a STREAM frame.
const OVERHEAD: u64 = 36;

/// A path, as scheduler and controller see it.
#[derive(Debug, Default)]
pub(crate) struct Lane {
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
    /// Since when data is in flight without an acknowledgment; `None`: nothing is in flight.
    pub unanswered: Option<Instant>,
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

impl Lane {
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

    /// A packet was acknowledged.
    pub fn on_acknowledged(&mut self, now: Instant, bytes: u64) {
        self.heard = Some(now);
        self.data_in_flight = self.data_in_flight.saturating_sub(payload(bytes));
    }

    /// An ACK frame ends.
    pub fn on_news(&mut self, now: Instant, news: &News) {
        self.unanswered = (news.in_flight > 0).then_some(now);
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

fn payload(bytes: u64) -> u64 {
    match bytes < crate::feedback::SMALL as u64 {
        true => 0,
        false => bytes - OVERHEAD,
    }
}
