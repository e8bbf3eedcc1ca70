//! What was delivered, and how fast (draft-cheng-iccrg-delivery-rate-estimation).

use super::scoreboard::Segment;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What one acknowledgment delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Segments newly known to have arrived.
    pub segments: u32,
    /// The most recently sent of them, and its number.
    pub newest: Option<(u32, Segment)>,
    /// The most recently sent of them that was sent once only: its RTT is beyond doubt (Karn).
    pub newest_sent_once: Option<Segment>,
    /// A segment sent once arrived after one that was sent later and lies beyond it: reordering.
    pub lowest_sent_once: Option<u32>,
}

impl Delivery {
    #[inline]
    pub fn add(&mut self, seg: u32, segment: &Segment) {
        self.segments += 1;
        let newer =
            |than: &Segment| segment.transmission.wrapping_sub(than.transmission) as i32 > 0;
        if self.newest.as_ref().is_none_or(|(_, newest)| newer(newest)) {
            self.newest = Some((seg, *segment));
        }
        if !segment.retransmitted {
            if self.newest_sent_once.as_ref().is_none_or(newer) {
                self.newest_sent_once = Some(*segment);
            }
            self.lowest_sent_once = Some(self.lowest_sent_once.map_or(seg, |low| low.min(seg)));
        }
    }
}

/// The delivery-rate estimator and the count of round trips, in segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RateEstimator {
    /// Segments delivered so far, wrapping (`C.delivered`), and when the last was (`C.delivered_time`).
    pub delivered: u32,
    pub delivered_at: Time,
    /// When the flight that is being measured began (`C.first_sent_time`).
    pub flight_began: Time,
    /// Samples are limited by the application until more than this was delivered (`C.app_limited`).
    pub app_limited_until: Option<u32>,
    /// The round trip ends when a segment sent after this many deliveries is acknowledged.
    round_ends: u32,
}

/// What one acknowledgment says of the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RateSample {
    /// The rate, if it could be measured.
    pub rate: Option<Rate>,
    /// It was limited by the application.
    pub app_limited: bool,
    /// The acknowledgment is the first of a round trip.
    pub round_start: bool,
}

impl RateEstimator {
    /// Takes in what an acknowledgment delivered; `mss` in bytes.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Time,
        delivery: &Delivery,
        mss: u32,
        min_rtt: Duration,
    ) -> RateSample {
        let Some((_, newest)) = delivery.newest else {
            return RateSample::default();
        };
        self.delivered = self.delivered.wrapping_add(delivery.segments);
        self.delivered_at = now;
        self.flight_began = newest.sent;
        if self
            .app_limited_until
            .is_some_and(|end| self.delivered.wrapping_sub(end) as i32 > 0)
        {
            self.app_limited_until = None;
        }
        let send_elapsed = newest.sent.since(newest.flight_began);
        let ack_elapsed = now.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let segments = self.delivered.wrapping_sub(newest.delivered);
        // Shorter than any round trip: compressed acknowledgments, no measurement (section 3.3).
        let valid = !interval.is_zero() && interval >= min_rtt;
        let amount = Bytes::new(u64::from(segments) * u64::from(mss));
        let round_start = newest.delivered.wrapping_sub(self.round_ends) as i32 >= 0;
        if round_start {
            self.round_ends = self.delivered;
        }
        RateSample {
            rate: valid.then(|| fast_rate(amount, interval)),
            app_limited: newest.app_limited,
            round_start,
        }
    }

    /// A segment leaves; the flight begins anew if nothing was in flight.
    #[inline]
    pub fn on_sent(&mut self, now: Time, nothing_in_flight: bool) {
        if nothing_in_flight {
            self.flight_began = now;
            self.delivered_at = now;
        }
    }

    /// Nothing to send though the window has room: samples are limited by the application from here on.
    pub fn on_idle(&mut self, in_flight: u32) {
        self.app_limited_until = Some(self.delivered.wrapping_add(in_flight));
    }
}

/// `Rate::over` without 128-bit division: it is taken for every acknowledgment, and nothing needs its last bit.
#[inline]
fn fast_rate(amount: Bytes, interval: Duration) -> Rate {
    Rate::from_bits_per_sec((amount.get() as f64 * 8e9 / interval.as_nanos() as f64) as u64)
}
