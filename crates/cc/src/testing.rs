//! What the tests of this crate share: events to start from, and a path that loses only when told to.

use crate::event::{Ack, Loss, Signal, Timeout};
use crate::{Controller, Setup};
use whimbrel_units::{Bytes, Duration, Time};

/// Segment size of the tests: windows in segments are whole numbers of it.
pub(crate) const MSS: u64 = 1000;

/// A connection that begins with `segments`.
pub(crate) fn setup(segments: u64) -> Setup {
    Setup {
        mss: Bytes::new(MSS),
        initial_window: Bytes::new(segments * MSS),
        paced: false,
        seed: 1,
    }
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
};

/// A loss with the whole window in flight.
pub(crate) fn loss(controller: &dyn Controller, now: Time) -> Loss {
    Loss {
        now,
        signal: Signal::Loss,
        in_flight: controller.cwnd(),
        lost: Bytes::new(MSS),
        lost_order: 0,
        next_order: 0,
        sent: now,
    }
}

/// A timeout with the whole window in flight.
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

/// A path of constant round-trip time on which ACKs come back evenly spread over it.
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

    /// One round trip: the window that stands at its beginning is acknowledged.
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

    /// The deterministic loss model of RFC 9438 section 5: `between` packets from one loss to the next,
    /// no time spent in recovery. Returns the mean window in segments over `epochs` losses, after as
    /// many to settle.
    pub fn mean_window(
        &mut self,
        controller: &mut dyn Controller,
        between: u64,
        epochs: u64,
    ) -> f64 {
        let (mut sent, mut rounds) = (0u64, 0.0);
        for epoch in 0..2 * epochs {
            for _ in 0..between {
                // Each packet takes its share of a round trip.
                let share = 1.0 / segments(controller);
                self.now += self.rtt.mul_f64(share);
                if epoch >= epochs {
                    sent += 1;
                    rounds += share;
                }
                controller.on_ack(&Ack {
                    now: self.now,
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
