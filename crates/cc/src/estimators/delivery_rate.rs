//! Delivery rate, estimated per acknowledgment. Every transport fills
//! [`Ack::delivery_rate`](crate::Ack) with it, so that an algorithm sees the same number
//! everywhere.
//!
//! Y. Cheng, N. Cardwell, S. Hassas Yeganeh, V. Jacobson, "Delivery Rate Estimation",
//! draft-cheng-iccrg-delivery-rate-estimation-02. Names in brackets are the draft's. Units: bytes
//! and nanoseconds.
//!
//! * on sending: the packet carries the state at that time (section 3.2)
//! * on acknowledgment: `rate = (C.delivered - P.delivered) / max(send_elapsed, ack_elapsed)` for
//!   the newest packet P acknowledged (section 3.3)
//! * no rate if this time is less than the minimum round-trip time (section 3.3)

use crate::interface::AtSending;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The state at the time of sending that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag {
    /// [P.delivered]
    delivered: Bytes,
    /// [P.delivered_time]
    delivered_at: Time,
    /// [P.first_sent_time]
    first_sent_at: Time,
    /// [P.lost] of draft-ietf-ccwg-bbr, [C.lost] at the time of sending: its low 32 bits. There is
    /// a tag for each packet of a window, and the speed of a simulation depends on their size.
    lost: u32,
    /// [P.tx_in_flight] of draft-ietf-ccwg-bbr, bytes in flight including the packet: 31 bits, more
    /// than any window; the highest bit is [P.is_app_limited].
    in_flight: u32,
}

const APP_LIMITED: u32 = 1 << 31;

impl Tag {
    fn app_limited(&self) -> bool {
        self.in_flight & APP_LIMITED != 0
    }
}

/// The rate over the flight of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RateSample {
    /// The rate, unless the time was too short to measure it.
    pub rate: Option<Rate>,
    /// The application had too little data to send during the measurement.
    pub app_limited: bool,
    /// The counts when the newest acknowledged packet was sent.
    pub newest: Option<AtSending>,
}

/// The state of the connection. The fields are in this order in memory: the last one is needed only
/// by transports that report each packet.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct RateEstimator {
    /// [C.delivered]
    delivered: Bytes,
    /// [C.delivered_time]
    delivered_at: Time,
    /// [C.first_sent_time]
    first_sent_at: Time,
    /// [C.app_limited]: application-limited until this amount is delivered.
    app_limited_until: Option<Bytes>,
    /// [C.lost] of draft-ietf-ccwg-bbr.
    lost: Bytes,
    /// The newest packet that the present batch acknowledges.
    newest: Option<(u64, Time, Tag)>,
}

impl RateEstimator {
    /// Bytes delivered so far.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Bytes detected as lost so far.
    #[inline]
    pub fn lost(&self) -> Bytes {
        self.lost
    }

    /// The counts when the packet with this tag was sent, at the time `sent`.
    #[inline]
    pub fn at_sending(&self, tag: &Tag, sent: Time) -> AtSending {
        // Less than 4 GiB were lost since then.
        let since = (self.lost.get() as u32).wrapping_sub(tag.lost);
        AtSending {
            sent,
            in_flight: Bytes::new(u64::from(tag.in_flight & !APP_LIMITED)),
            delivered: tag.delivered,
            lost: Bytes::new(self.lost.get().saturating_sub(u64::from(since))),
            app_limited: tag.app_limited(),
            retransmitted: false,
        }
    }

    /// Invoked when a packet of `size` bytes is detected as lost.
    #[inline]
    pub fn on_lost(&mut self, size: Bytes) {
        self.lost += size;
    }

    /// Invoked when a packet is sent at `now`; `idle`: nothing was in flight before it; `in_flight`
    /// includes it. Returns the tag of the packet.
    #[inline]
    pub fn on_sent(&mut self, now: Time, idle: bool, in_flight: Bytes) -> Tag {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Tag {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost.get() as u32,
            in_flight: in_flight.get().min(u64::from(APP_LIMITED - 1)) as u32
                | if self.app_limited_until.is_some() {
                    APP_LIMITED
                } else {
                    0
                },
        }
    }

    /// Invoked when `size` bytes without a tag are delivered.
    #[inline]
    pub fn on_untagged(&mut self, now: Time, size: Bytes) {
        self.delivered += size;
        self.delivered_at = now;
    }

    /// Invoked when `size` bytes are delivered whose newest packet is the `order`-th that was sent,
    /// at the time `sent`.
    #[inline]
    pub fn on_acked(&mut self, now: Time, size: Bytes, order: u64, sent: Time, tag: Tag) {
        self.on_untagged(now, size);
        if self.newest.is_none_or(|(newest, ..)| order > newest) {
            self.newest = Some((order, sent, tag));
            self.first_sent_at = sent;
        }
    }

    /// A batch of one acknowledgment: [`on_acked`](Self::on_acked) and [`on_end`](Self::on_end).
    #[inline(always)]
    pub fn on_batch(
        &mut self,
        now: Time,
        size: Bytes,
        sent: Time,
        tag: &Tag,
        min_rtt: Duration,
    ) -> RateSample {
        self.on_untagged(now, size);
        self.first_sent_at = sent;
        self.end_app_limit();
        self.sample(sent, tag, min_rtt)
    }

    /// Ends a batch of acknowledgments and returns its rate sample.
    pub fn on_end(&mut self, min_rtt: Duration) -> RateSample {
        self.end_app_limit();
        let Some((_, sent, tag)) = self.newest.take() else {
            return RateSample {
                rate: None,
                app_limited: self.app_limited_until.is_some(),
                newest: None,
            };
        };
        self.sample(sent, &tag, min_rtt)
    }

    #[inline(always)]
    fn end_app_limit(&mut self) {
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
    }

    /// The rate sample of a batch whose newest packet has this tag and was sent at `sent`.
    #[inline(always)]
    fn sample(&self, sent: Time, tag: &Tag, min_rtt: Duration) -> RateSample {
        let send_elapsed = sent.since(tag.first_sent_at);
        let ack_elapsed = self.delivered_at.since(tag.delivered_at);
        let elapsed = send_elapsed.max(ack_elapsed);
        let measured = !elapsed.is_zero() && elapsed >= min_rtt;
        RateSample {
            rate: measured.then(|| Rate::over(self.delivered - tag.delivered, elapsed)),
            app_limited: tag.app_limited(),
            newest: Some(self.at_sending(tag, sent)),
        }
    }

    /// Invoked when the application has no data to send: all data in flight now is
    /// application-limited.
    pub fn on_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited_until = Some(self.delivered.saturating_add(in_flight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// The draft's example: a steady packet of 1250 bytes per ms is 10 Mbit/s, whatever the
    /// round-trip time.
    #[test]
    fn a_steady_stream_is_measured_at_its_rate() {
        let mut c = RateEstimator::default();
        let size = Bytes::new(1250);
        let mut tags = Vec::new();
        let mut last = None;
        for ms in 0..300 {
            if ms >= 100 {
                let n = ms - 100;
                c.on_acked(at(ms), size, n, at(n), tags[n as usize]);
                last = c.on_end(MS * 100).rate;
            }
            tags.push(c.on_sent(at(ms), ms == 0, Bytes::ZERO));
        }
        assert_eq!(last, Some(Rate::from_bits_per_sec(10_000_000)));
    }

    /// Compressed acknowledgments must not inflate the rate: the send side limits it.
    #[test]
    fn compressed_acknowledgments_do_not_inflate_the_rate() {
        let mut c = RateEstimator::default();
        let size = Bytes::new(1250);
        let tags: Vec<Tag> = (0..100)
            .map(|ms| c.on_sent(at(ms), ms == 0, Bytes::ZERO))
            .collect();
        for (n, tag) in tags.iter().enumerate() {
            c.on_acked(at(200), size, n as u64, at(n as u64), *tag);
        }
        let rate = c.on_end(MS * 100).rate.expect("measured");
        assert!(rate <= Rate::from_bits_per_sec(10_000_000), "{rate}");
    }

    #[test]
    fn samples_are_application_limited_until_that_data_is_delivered() {
        let mut c = RateEstimator::default();
        let size = Bytes::new(1000);
        let before = c.on_sent(at(0), true, Bytes::ZERO);
        c.on_app_limited(size);
        let during = c.on_sent(at(1), false, Bytes::ZERO);
        c.on_acked(at(10), size, 0, at(0), before);
        assert!(!c.on_end(MS).app_limited);
        c.on_acked(at(11), size, 1, at(1), during);
        assert!(c.on_end(MS).app_limited);
        let after = c.on_sent(at(12), true, Bytes::ZERO);
        c.on_acked(at(22), size, 2, at(12), after);
        assert!(!c.on_end(MS).app_limited);
    }

    #[test]
    fn a_flight_shorter_than_the_minimum_rtt_gives_no_rate() {
        let mut c = RateEstimator::default();
        let tag = c.on_sent(at(0), true, Bytes::ZERO);
        c.on_acked(at(5), Bytes::new(1000), 0, at(0), tag);
        assert_eq!(c.on_end(MS * 10).rate, None);
    }

    #[test]
    fn a_packets_counts_are_those_of_its_sending_even_beyond_32_bits() {
        let mut c = RateEstimator::default();
        // 5 GB: more than 32 bits.
        c.on_lost(Bytes::new(5_000_000_000));
        let tag = c.on_sent(at(7), true, Bytes::new(3000));
        c.on_lost(Bytes::new(1000));
        let then = c.at_sending(&tag, at(7));
        assert_eq!(then.lost, Bytes::new(5_000_000_000));
        assert_eq!(
            (then.in_flight, then.app_limited),
            (Bytes::new(3000), false)
        );
        c.on_app_limited(Bytes::new(3000));
        let tag = c.on_sent(at(8), false, Bytes::new(4000));
        let then = c.at_sending(&tag, at(8));
        assert_eq!((then.in_flight, then.app_limited), (Bytes::new(4000), true));
        assert_eq!(then.lost, c.lost());
    }
}
