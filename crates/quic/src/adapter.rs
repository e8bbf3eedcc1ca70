//! Turns noq's calls, one per packet, into the events of a congestion control algorithm, by the
//! rules of RFC 9002.
//!
//! * Acknowledgments: noq calls `on_ack` for each packet and `on_end_acks` once per ACK frame. The
//!   algorithm gets one `on_ack` per frame.
//! * Order: noq reports an acknowledgment before the losses that it reveals. RFC 9002 appendix A.7
//!   and [`whimbrel_cc::Controller`] expect the loss first. The adapter therefore holds an
//!   acknowledgment back until noq's next call. noq queries the window before it sends, so no
//!   packet is sent in between.
//! * Episodes ([`LossEpisodes`]): noq calls `on_congestion_event` for every batch of losses. A new
//!   episode begins only with the loss of a packet that was sent after the last reduction
//!   (RFC 9002 section 7.3.2). It ends when a packet that was sent after it began is acknowledged.
//! * Lost packets: the algorithm is notified of each one, with the counts at the time it was sent,
//!   before the episode that it begins. A packet that noq declared lost and that is acknowledged
//!   later counts as both lost and delivered.
//! * Persistent congestion (section 7.6) is reported as a timeout instead of a loss.
//! * Times of arrival: known only where an endpoint of ours drives both ends
//!   ([`feedback`](crate::feedback)). On a fast path they are those of a sample of the packets; then
//!   the newest packet of an acknowledgment with a time is the newest of the sample.
//! * Bytes in flight: noq reports them once per ACK frame. Between these reports the adapter keeps
//!   its own count.
//!
//! * Moves: when the local address changes, the algorithm starts again.
//!
//! Times are since the connection began. Sizes are those of QUIC packets, headers included.

use crate::Monitor;
use crate::control::Control;
use crate::feedback::FAST;
use crate::monitor::PathMonitor;
use crate::path_traffic::{News, SMALL};
use crate::siblings::SiblingSlot;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use whimbrel_cc::careful_resume::Observer;
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts, LossEpisodes};
use whimbrel_cc::quic_transport::{Packets, PendingAck};
use whimbrel_cc::{Loss, LossResponse, LostPacket, Setup, Signal, Timeout};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Upper bound on the bytes handed to the kernel at once when the algorithm paces. BBR's
/// send_quantum (draft-ietf-ccwg-bbr-04 section 4.6.3) is the data of one millisecond, at least two
/// packets and at most this.
const MAX_QUANTUM: u64 = 64 * 1024;

/// The rate at which a window is paced, in windows per RTT (RFC 9002 section 7.7), as in noq.
const WINDOW_GAIN: f64 = 1.25;

/// A pacing rate at which nothing waits, bytes per second. A byte takes a nanosecond, so noq's
/// timer never expires at the instant at which it is set.
const UNPACED: u64 = 1_000_000_000;

/// Implements noq's [`congestion::Controller`] with a [`whimbrel_cc::Controller`].
#[derive(Debug)]
pub struct Adapter {
    /// When the connection began.
    origin: Instant,
    /// Initial window, bytes.
    initial_window: u64,
    // A lock is needed because noq queries the window through a shared reference, and that call
    // delivers the pending acknowledgment. It is never contended: noq holds the connection's own
    // lock.
    inner: Mutex<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    controller: Box<dyn whimbrel_cc::Controller>,
    monitor: PathMonitor,
    /// Shared with the endpoint's driver, if there is one.
    control: Control,
    /// Maximum UDP payload, bytes.
    mtu: u64,
    /// The last packet sent carried no data of the application.
    last_was_small: bool,
    packets: Packets,
    /// What the path carries, for a later connection; `None` on another path than that on which the
    /// connection began.
    observer: Option<Observer>,
    /// An acknowledgment that the algorithm has not received yet.
    pending_ack: Option<PendingAck>,
    /// Losses of the current batch.
    lost: LostBatch,
    /// noq reported congestion marks that no acknowledgment has carried to the algorithm yet.
    marked: bool,
    episodes: LossEpisodes,
    /// Time of noq's last call that carried one.
    now: Time,
    /// Makes a controller for another path.
    renew: Option<Renew>,
    /// Its place among the paths of a connection that may have several.
    place: Option<SiblingSlot>,
}

/// Makes the controller of a path of `mtu` bytes.
#[derive(Clone)]
pub(crate) struct Renew(pub Arc<dyn Fn(u16) -> Box<dyn whimbrel_cc::Controller> + Send + Sync>);

impl fmt::Debug for Renew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renew")
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct LostBatch {
    bytes: u64,
    newest: Option<u64>,
}

impl Adapter {
    /// Runs `controller` on a path of a connection that begins at `now`.
    pub fn new(
        controller: Box<dyn whimbrel_cc::Controller>,
        setup: &Setup,
        now: Instant,
        monitor: Monitor,
    ) -> Self {
        Self::with_control(controller, setup, now, monitor, Control::default(), None)
    }

    /// The same, on a connection that an endpoint of ours drives. `renew` makes the controller that
    /// replaces this one when the local address changes.
    pub(crate) fn with_control(
        controller: Box<dyn whimbrel_cc::Controller>,
        setup: &Setup,
        now: Instant,
        monitor: Monitor,
        control: Control,
        renew: Option<Renew>,
    ) -> Self {
        let inner = Inner {
            controller,
            monitor: monitor.open_path(),
            control,
            mtu: setup.mss.get(),
            last_was_small: false,
            packets: Packets::default(),
            observer: Some(Observer::default()),
            pending_ack: None,
            lost: LostBatch::default(),
            marked: false,
            episodes: LossEpisodes::new(false),
            now: Time::ZERO,
            renew,
            place: None,
        };
        let EpisodeCounts { verdicts, .. } =
            EpisodeCounts::new(inner.controller.classifies_losses());
        inner.report(|s| s.episodes.verdicts = verdicts);
        Self {
            origin: now,
            initial_window: setup.initial_window.get(),
            inner: Mutex::new(inner),
        }
    }

    /// The same on one of several paths.
    pub(crate) fn among(mut self, place: Option<SiblingSlot>) -> Self {
        self.get_mut().place = place;
        self
    }

    /// The same on another path than that on which the connection began: nothing is saved of it.
    pub(crate) fn unobserved(mut self) -> Self {
        self.get_mut().observer = None;
        self
    }

    /// A packet of `bytes` bytes with the packet number `number`, sent at `sent`, was acknowledged.
    pub(crate) fn packet_acked(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.get_mut().packet_acked(now, sent, bytes, number);
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Duration::from(instant.saturating_duration_since(self.origin))
    }

    /// What the controller of a path shares with the driver; `None` of another kind of controller.
    pub(crate) fn control_of(controller: &dyn congestion::Controller) -> Option<Control> {
        let copy = controller.clone_box().into_any().downcast::<Self>().ok()?;
        Some(copy.current().control.clone())
    }

    /// A panic in an algorithm is no reason to stop the other connections, so poisoning is ignored.
    fn get_mut(&mut self) -> &mut Inner {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state after the pending acknowledgment has been delivered.
    fn current(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.deliver_pending_ack();
        if inner.control.take_moved() {
            inner.restart();
        }
        inner
    }
}

impl Inner {
    /// The local address changed: window and round-trip times start again, as on a new connection
    /// (RFC 9000 section 9.4). Packets sent before say nothing about the new path.
    fn restart(&mut self) {
        let Some(Renew(renew)) = &self.renew else {
            return;
        };
        self.controller = renew(u16::try_from(self.mtu).unwrap_or(u16::MAX));
        self.observer = None;
        self.pending_ack = None;
        self.lost = LostBatch::default();
        self.episodes.move_path(self.packets.move_path());
        self.report(|_| ());
    }

    fn packet_sent(&mut self, instant: Instant, now: Time, bytes: u64, number: u64) {
        self.deliver_pending_ack();
        self.now = now;
        self.last_was_small = bytes < SMALL as u64;
        let in_flight = self.packets.sent(now, bytes, number);
        self.control
            .on_sent(instant, now, self.packets.flight.next_order() - 1);
        self.control.log(|log| log.built(number));
        self.controller.on_sent(now, Bytes::new(bytes), in_flight);
    }

    fn packet_acked(&mut self, now: Time, sent: Time, bytes: u64, number: u64) {
        self.deliver_pending_ack();
        self.now = now;
        let packet = self.packets.flight.acknowledged(sent, number);
        self.packets.acked(now, sent, bytes, packet);
    }

    fn end_of_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.now = now;
        let cwnd = self.controller.cwnd();
        let pending = self.packets.end_of_acks(now, in_flight, app_limited, cwnd);
        self.pending_ack = pending.or(self.pending_ack);
    }

    /// Delivers the acknowledgment that was held back until its losses were known.
    fn deliver_pending_ack(&mut self) {
        let Some(PendingAck { mut ack, newest }) = self.pending_ack.take() else {
            return;
        };
        self.episodes
            .on_progress(&mut *self.controller, ack.now, newest);
        ack.in_flight = Bytes::new(self.packets.in_flight);
        ack.lost = self.packets.rate.lost();
        ack.ece = std::mem::take(&mut self.marked);
        ack.in_recovery = self.episodes.stage().is_reducing();
        if let Some(arrived) = self.control.arrived(newest) {
            ack.receiver_time = Some(arrived.at);
            // The sample is of a packet before the newest; what else is known of that one differs
            // little.
            if let (Some(newest), Some(sent)) = (&mut ack.newest, arrived.sent) {
                newest.sent = sent;
            }
        }
        if let Some(place) = &mut self.place {
            place.exchange(&mut *self.controller, &ack);
        }
        self.controller.on_ack(&ack);
        if let Some(observer) = &mut self.observer {
            observer.on_ack(&ack);
        }
        self.report(|s| {
            s.state.delivery_rate = ack.delivery_rate.or(s.state.delivery_rate);
            if let Some(observer) = &self.observer {
                s.path = observer.path();
                s.path_is_settled = observer.is_settled();
            }
        });
    }

    /// Delivers the pending acknowledgment, unless it arrived at `now`: then it revealed the loss
    /// that follows, and the loss goes first.
    fn deliver_ack_before(&mut self, now: Time) {
        if self.pending_ack.is_some_and(|p| p.ack.now < now) {
            self.deliver_pending_ack();
        }
        self.now = now;
    }

    fn packet_lost(&mut self, now: Time, bytes: u64, number: u64) {
        self.deliver_ack_before(now);
        if let Some(packet) = self.packets.flight.lost(number) {
            self.packets.in_flight = self.packets.in_flight.saturating_sub(bytes);
            self.lost.bytes += bytes;
            self.lost.newest = self.lost.newest.max(Some(packet.order));
            let size = Bytes::new(bytes);
            self.packets.rate.on_lost(size);
            self.controller.on_packet_lost(&LostPacket {
                now,
                size,
                lost: self.packets.rate.lost(),
                at: self.packets.rate.at_sending(&packet.tag, packet.sent),
            });
        }
    }

    /// Returns what the algorithm answered, if it was notified of a new loss.
    fn congestion(
        &mut self,
        now: Time,
        sent: Time,
        persistent: bool,
        signal: Signal,
        bytes: u64,
    ) -> Option<LossResponse> {
        self.deliver_ack_before(now);
        let lost = match signal {
            Signal::Loss => std::mem::take(&mut self.lost),
            // Marked packets have arrived, so the newest packet acknowledged carries the mark.
            Signal::Ecn => LostBatch {
                bytes: 0,
                newest: self.packets.newest_acked(),
            },
        };
        self.marked |= signal == Signal::Ecn;
        let next_order = self.packets.flight.next_order();
        let lost_order = lost
            .newest
            .unwrap_or_else(|| self.packets.flight.order_at(sent));
        // What the same acknowledgment covers was in flight, too: after an outage, which takes
        // acknowledgments, it may be half of a window.
        let acked = self.pending_ack.map_or(0, |p| p.ack.acked.get());
        let flight = self.packets.in_flight + lost.bytes + acked;
        let in_flight = self.packets.reducible(flight, self.controller.cwnd());
        let is_new = self.episodes.begins_with(lost_order);
        let mut response = None;
        if persistent && is_new {
            // As after a TCP timeout, the window grows again at once (RFC 9002 appendix B.8).
            let timeout = Timeout {
                now,
                in_flight,
                repeated: false,
                next_order,
            };
            self.episodes.on_timeout(&mut *self.controller, &timeout);
        } else if is_new {
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
            let controller = &mut *self.controller;
            response = Some(self.episodes.on_loss(controller, &loss, next_order));
        }
        self.report(|s| {
            s.state.lost += Bytes::new(bytes);
            s.episodes.timeouts += u64::from(persistent && is_new);
            if let Some(response) = response {
                s.episodes.count(signal, &response);
            }
        });
        response
    }

    fn spurious(&mut self) {
        self.deliver_pending_ack();
        // Packets sent before the reduction still do not begin an episode.
        let covered = self.episodes.covered();
        let controller = &mut *self.controller;
        if self.episodes.on_spurious(controller, self.now, covered) {
            self.report(|s| s.episodes.spurious += 1);
        }
    }

    fn mtu(&mut self, mtu: u64) {
        self.deliver_pending_ack();
        if mtu != self.mtu {
            self.mtu = mtu;
            self.controller.on_mss(Bytes::new(mtu));
        }
    }

    /// RFC 9002 section 7.2: never below two datagrams. With less than one, noq could not send;
    /// with one, its acknowledgment would wait for the peer's delay.
    fn window(&self) -> u64 {
        self.controller.cwnd().get().max(2 * self.mtu)
    }

    /// The window for noq: the algorithm's, more where the driver needs it, or none while another
    /// path sends.
    fn permitted(&self) -> u64 {
        let in_flight = self.packets.in_flight;
        self.control.permitted(self.window(), in_flight, self.mtu)
    }

    /// What the scheduler of several paths is told after an ACK frame.
    fn news(&self, in_flight: u64) -> News {
        News {
            in_flight,
            rtt: self.packets.rtt.latest(),
            min_rtt: self.packets.rtt.min(),
            srtt: self.packets.rtt.smoothed(),
            rttvar: self.packets.rtt.variation(),
            cwnd: self.window(),
            pacing_rate: self.controller.pacing_rate(),
        }
    }

    /// The pacing rate for noq, bytes per second. `None`: noq paces the window, in batches of two
    /// milliseconds.
    fn pacing_rate(&self) -> Option<u64> {
        // A receiver's reports take the place of acknowledgments. Its window over the round trip,
        // at which noq would pace them, says nothing about the path back, and on a long one they
        // would come after the acknowledgments to which they belong.
        if self.last_was_small && self.control.lets_one_more() {
            return Some(UNPACED);
        }
        let rate = self.controller.pacing_rate();
        // Before the first RTT sample noq would pace by an assumed RTT of 333 ms, 27 ms a packet,
        // and the first flight of a handshake with post-quantum keys is two. RFC 9002 section 7.7
        // permits the initial window as a burst.
        if rate.is_none() && self.packets.rtt.min().is_zero() {
            return Some(UNPACED);
        }
        match rate {
            Some(rate) => Some(rate.as_bytes_per_sec().max(1)),
            // On a fast path two milliseconds are more than a buffer holds.
            None => self.window_rate().filter(|rate| *rate >= FAST),
        }
    }

    /// The rate of a window without a pacing rate (RFC 9002 section 7.7), bytes per second.
    fn window_rate(&self) -> Option<u64> {
        let srtt = self.packets.rtt.smoothed();
        let rate = Rate::over(Bytes::new(self.window()), srtt).mul_f64(WINDOW_GAIN);
        (!srtt.is_zero()).then(|| rate.as_bytes_per_sec())
    }

    fn report(&self, count: impl FnOnce(&mut crate::Snapshot)) {
        self.monitor.update(|s| {
            s.state = ConnectionState {
                time: self.now,
                cwnd: Bytes::new(self.window()),
                ssthresh: self.controller.ssthresh(),
                pacing_rate: self.controller.pacing_rate(),
                phase: self.controller.phase(),
                in_flight: Bytes::new(self.packets.in_flight),
                rtt: self.packets.rtt.latest(),
                srtt: self.packets.rtt.smoothed(),
                rttvar: self.packets.rtt.variation(),
                min_rtt: self.packets.rtt.min(),
                delivered: self.packets.rate.delivered(),
                ..s.state
            };
            count(s);
        });
    }
}

impl congestion::Controller for Adapter {
    fn on_sent(&mut self, _now: Instant, _bytes: u64, _largest: u64) {
        self.get_mut().control.lock().traffic.left = true;
    }

    fn on_packet_sent(&mut self, instant: Instant, bytes: u16, pn: u64) {
        let now = self.time(instant);
        let inner = self.get_mut();
        inner.packet_sent(instant, now, bytes.into(), pn);
        let traffic = &mut inner.control.lock().traffic;
        traffic.on_packet(instant, bytes.into());
    }

    fn on_cwnd_limited(&mut self) {
        let inner = self.get_mut();
        if !inner.control.lock().traffic.closed {
            inner.packets.rounds.on_limited();
        }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.packet_acked(now, sent, bytes, pn);
        let control = &self.get_mut().control;
        control.lock().traffic.on_acknowledged(now, sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let at = self.time(now);
        let inner = self.get_mut();
        // What another path was to send, this one had not.
        let app_limited = app_limited || inner.control.lock().traffic.declined;
        inner.end_of_acks(at, in_flight, app_limited);
        let news = inner.news(in_flight);
        inner.control.on_acks(now, &news);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.get_mut().control.time_of(now);
        let at = self.time(now);
        let inner = self.get_mut();
        inner.packet_lost(at, lost_bytes.into(), pn);
        inner.control.lock().traffic.on_lost(lost_bytes.into());
        inner.control.log(|log| log.lost(now, pn));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let now = self.get_mut().control.time_of(now);
        let (at, sent) = (self.time(now), self.time(sent));
        let signal = if is_ecn { Signal::Ecn } else { Signal::Loss };
        let inner = self.get_mut();
        let response = inner.congestion(at, sent, is_persistent_congestion, signal, lost_bytes);
        if let Some(response) = response {
            inner.control.log(|log| log.decision(now, None, response));
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.get_mut().spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.get_mut().mtu(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.current().permitted()
    }

    fn metrics(&self) -> ControllerMetrics {
        let inner = self.current();
        let pacing_rate = inner.pacing_rate();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = inner.window();
        metrics.ssthresh = inner.controller.ssthresh().map(Bytes::get);
        metrics.pacing_rate = pacing_rate;
        metrics.send_quantum = pacing_rate.map(|r| {
            (r / 1000)
                .max(2 * inner.mtu)
                .min(MAX_QUANTUM.max(2 * inner.mtu))
        });
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
