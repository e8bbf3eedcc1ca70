//! What the scheduler of several paths ([`endpoint::paths`](crate::endpoint)) and the controller of
//! one path tell each other.
//!
//! noq tries the paths in the order of their numbers, and a path sends if its window has room. It
//! has no call for choosing another one. So the scheduler closes the windows of all paths but one
//! before each call of noq's `poll_transmit`: that is the choice of the path for each packet.

use std::time::Instant;
use whimbrel_cc::path_scheduler::PathView;
use whimbrel_units::{Bytes, Duration, Rate};

/// Bytes of a full packet that are not the application's: QUIC's header and tag, and the header of a
/// STREAM frame.
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
    /// The number of a packet that has left since the scheduler last looked.
    pub left: Option<u64>,
    /// When a packet that went over this path's own link was last acknowledged.
    pub heard: Option<Instant>,
    /// When one that took a detour was.
    pub heard_by_detour: Option<Instant>,
    /// The numbers of the packets that took a detour over another link: first and last.
    pub detour: Option<(u64, u64)>,
    /// Since when data is in flight without an acknowledgment; `None`: nothing is in flight.
    pub unanswered: Option<Instant>,
    /// What the path carries.
    pub view: PathView,
    /// Bytes of the application sent, and those of them declared lost, as far as sizes tell.
    pub data_sent: u64,
    pub data_lost: u64,
}

/// What an acknowledgment says of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct News {
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed RTT and its variation.
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
    pub fn on_packet(&mut self, now: Instant, bytes: u64, number: u64) {
        self.left = Some(number);
        self.unanswered.get_or_insert(now);
        self.data_sent += payload(bytes);
    }

    /// A packet was acknowledged.
    pub fn on_acknowledged(&mut self, now: Instant, number: u64) {
        match self.detour {
            Some((first, last)) if (first..=last).contains(&number) => {
                self.heard_by_detour = Some(now);
            }
            _ => self.heard = Some(now),
        }
    }

    /// An ACK frame ends.
    pub fn on_news(&mut self, now: Instant, news: &News) {
        self.unanswered = (news.in_flight > 0).then_some(now);
        let rate = Rate::over(Bytes::new(news.cwnd), news.srtt);
        self.view = PathView {
            srtt: news.srtt,
            rttvar: news.rttvar,
            rate: news.pacing_rate.map_or(rate, |paced| paced.min(rate)),
        };
    }

    /// A packet was declared lost.
    pub fn on_lost(&mut self, bytes: u64) {
        self.data_lost += payload(bytes);
    }
}

fn payload(bytes: u64) -> u64 {
    match bytes < crate::feedback::SMALL as u64 {
        true => 0,
        false => bytes - OVERHEAD,
    }
}
