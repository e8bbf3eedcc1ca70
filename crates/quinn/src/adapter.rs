//! Turns quinn's calls into the events of a congestion control algorithm, by the rules of RFC 9002.
//!
//! It does what the adapter for noq does, with what quinn reports:
//!
//! * Acknowledgments: quinn calls `on_ack` for each packet, with the time at which it was sent but
//!   without its number, and `on_end_acks` once per ACK frame. The algorithm gets one `on_ack` per
//!   frame.
//! * Order: quinn reports an acknowledgment before the losses that it reveals, and
//!   [`whimbrel_cc::Controller`] expects the loss first. The adapter therefore holds an
//!   acknowledgment back until quinn's next call.
//! * Losses: quinn reports a batch, with its size and the time at which its newest packet was sent.
//!   A batch begins an episode only if that packet was sent after the last reduction (RFC 9002
//!   section 7.3.2). `on_packet_lost` is not called, since the other packets of a batch are unknown.
//! * Persistent congestion (section 7.6) is reported as a timeout instead of a loss.
//!
//! Times are since the connection began. Sizes are those of QUIC packets, headers included.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use whimbrel_cc::connection::LossEpisodes;
use whimbrel_cc::quic_transport::{Packets, PendingAck};
use whimbrel_cc::{Loss, Setup, Signal, Timeout};
use whimbrel_units::{Bytes, Duration, Time};

/// Implements quinn's [`congestion::Controller`] with a [`whimbrel_cc::Controller`].
#[derive(Debug)]
pub struct Adapter {
    /// When the connection began.
    origin: Instant,
    /// Initial window, bytes.
    initial_window: u64,
    // quinn queries the window through a shared reference, and that call delivers the pending
    // acknowledgment. The lock is never contended.
    inner: Mutex<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    controller: Box<dyn whimbrel_cc::Controller>,
    /// Maximum UDP payload, bytes.
    mtu: u64,
    packets: Packets,
    /// An acknowledgment that the algorithm has not received yet.
    pending: Option<PendingAck>,
    /// quinn reported congestion marks that no acknowledgment has carried to the algorithm yet.
    marked: bool,
    episodes: LossEpisodes,
}

impl Adapter {
    /// Runs `controller` on a path of a connection that begins at `now`.
    pub fn new(controller: Box<dyn whimbrel_cc::Controller>, setup: &Setup, now: Instant) -> Self {
        let inner = Inner {
            controller,
            mtu: setup.mss.get(),
            packets: Packets::default(),
            pending: None,
            marked: false,
            episodes: LossEpisodes::new(false),
        };
        Self {
            origin: now,
            initial_window: setup.initial_window.get(),
            inner: Mutex::new(inner),
        }
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Duration::from(instant.saturating_duration_since(self.origin))
    }

    /// A panic in an algorithm is no reason to stop the other connections, so poisoning is ignored.
    fn get_mut(&mut self) -> &mut Inner {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state after the pending acknowledgment has been delivered.
    fn current(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.deliver_pending();
        inner
    }
}

impl Inner {
    fn sent(&mut self, now: Time, bytes: u64, number: u64) {
        self.deliver_pending();
        let in_flight = self.packets.sent(now, bytes, number);
        self.controller.on_sent(now, Bytes::new(bytes), in_flight);
    }

    fn acked(&mut self, now: Time, sent: Time, bytes: u64) {
        self.deliver_pending();
        let packet = self.packets.flight.acknowledged_at(sent);
        self.packets.acked(now, sent, bytes, packet);
    }

    fn end_of_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        let cwnd = self.controller.cwnd();
        let pending = self.packets.end_of_acks(now, in_flight, app_limited, cwnd);
        self.pending = pending.or(self.pending);
    }

    /// Delivers the acknowledgment that was held back until its losses were known.
    fn deliver_pending(&mut self) {
        let Some(PendingAck { mut ack, newest }) = self.pending.take() else {
            return;
        };
        let controller = &mut *self.controller;
        self.episodes.on_progress(controller, ack.now, newest);
        ack.in_flight = Bytes::new(self.packets.in_flight);
        ack.lost = self.packets.rate.lost();
        ack.ece = std::mem::take(&mut self.marked);
        ack.in_recovery = self.episodes.stage().is_reducing();
        self.controller.on_ack(&ack);
    }

    /// A batch of `bytes` bytes was lost, or marked if that is zero; its newest packet was sent at
    /// `sent`.
    fn congestion(&mut self, now: Time, sent: Time, persistent: bool, bytes: u64) {
        // An acknowledgment that arrived now revealed this loss, which goes first.
        if self.pending.is_some_and(|p| p.ack.now < now) {
            self.deliver_pending();
        }
        let signal = if bytes == 0 {
            Signal::Ecn
        } else {
            Signal::Loss
        };
        self.marked |= signal == Signal::Ecn;
        let acked = self.pending.map_or(0, |p| p.ack.acked.get());
        // quinn has taken what it declared lost off its own count, not off this one.
        let flight = self.packets.in_flight + acked;
        let in_flight = self.packets.reducible(flight, self.controller.cwnd());
        self.packets.in_flight = self.packets.in_flight.saturating_sub(bytes);
        self.packets.rate.on_lost(Bytes::new(bytes));
        let next_order = self.packets.flight.next_order();
        let lost_order = match signal {
            Signal::Loss => self.packets.flight.order_at(sent),
            // Marked packets have arrived, so the newest packet acknowledged carries the mark.
            Signal::Ecn => self.packets.newest_acked().unwrap_or(0),
        };
        if !self.episodes.begins_with(lost_order) {
            return;
        }
        let controller = &mut *self.controller;
        if persistent {
            // As after a TCP timeout, the window grows again at once (RFC 9002 appendix B.8).
            let timeout = Timeout {
                now,
                in_flight,
                repeated: false,
                next_order,
            };
            self.episodes.on_timeout(controller, &timeout);
        } else {
            let loss = Loss {
                now,
                signal,
                in_flight,
                lost: Bytes::new(bytes),
                lost_order,
                next_order,
                sent,
                ece: self.marked,
                truth: None,
            };
            self.episodes.on_loss(controller, &loss, next_order);
        }
    }

    /// RFC 9002 section 7.2: never below two datagrams.
    fn window(&self) -> u64 {
        self.controller.cwnd().get().max(2 * self.mtu)
    }
}

impl congestion::Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let now = self.time(now);
        let inner = self.get_mut();
        // quinn passes what a batch of datagrams holds so far.
        let bytes = bytes.min(inner.mtu);
        inner.sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.get_mut().acked(now, sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let now = self.time(now);
        self.get_mut().end_of_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        let inner = self.get_mut();
        inner.congestion(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let inner = self.get_mut();
        inner.deliver_pending();
        let mtu = u64::from(new_mtu);
        if mtu != inner.mtu {
            inner.mtu = mtu;
            inner.controller.on_mss(Bytes::new(mtu));
        }
    }

    fn window(&self) -> u64 {
        self.current().window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let inner = self.current();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = inner.window();
        metrics.ssthresh = inner.controller.ssthresh().map(Bytes::get);
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Self {
            origin: self.origin,
            initial_window: self.initial_window,
            inner: Mutex::new(self.current().clone()),
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
