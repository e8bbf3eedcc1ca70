//! noq's calls, one per packet, turned into what an algorithm is told, by RFC 9002's rules.
//!
//! * Acknowledgments: noq calls `on_ack` for each packet and `on_end_acks` once per ACK frame; the
//!   algorithm hears of the frame once.
//! * Order: noq looks for losses after it has told of the acknowledgments that revealed them, RFC 9002
//!   appendix A.7 and [`whimbrel_cc::Controller`] want the loss first. So the acknowledgment waits until
//!   the next call. noq asks for the window before it sends anything, so nothing is sent meanwhile.
//! * Episodes: noq calls `on_congestion_event` for every batch of losses. An episode begins only with
//!   the loss of a packet that was sent after the last one began (RFC 9002 section 7.3.2), and ends when
//!   such a packet is acknowledged.
//! * Recovery: no growth during an episode that reduced the window (section 7.3.2). An episode for
//!   which the algorithm left the window alone was no congestion event in the RFC's sense: the window goes
//!   on growing as though nothing had been lost, and the next losses are judged anew, as in the simulator.
//!   Its end is told all the same, when a packet is acknowledged that was sent after the last of them.
//! * Lost packets: each is told with the counts of the moment when it was sent, before the episode it
//!   begins. What noq calls lost and later hears of after all stays counted as lost, and is delivered too.
//! * Persistent congestion (section 7.6) is told as a timeout, instead of a loss.
//! * In flight: noq counts; between its counts the adapter keeps one of its own, put right at each
//!   ACK frame.
//!
//! Times are since the connection began; sizes are those of QUIC packets, headers included.

use crate::flight::Flight;
use crate::rounds::Rounds;
use crate::rtt::Rtt;
use crate::{Monitor, Verdicts};
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use whimbrel_cc::delivery_rate::RateEstimator;
use whimbrel_cc::{Ack, Loss, LostPacket, Setup, Signal, Timeout};
use whimbrel_units::{Bytes, Duration, Time};

/// Most bytes handed to the kernel at once when the algorithm paces: BBR's send_quantum (draft-ietf-ccwg-bbr-04
/// section 4.6.3): a millisecond's worth, at least two packets, at most this.
const MOST_QUANTUM: u64 = 64 * 1024;

/// A [`whimbrel_cc::Controller`] as noq's [`congestion::Controller`].
#[derive(Debug)]
pub struct Adapter {
    /// When the connection began.
    origin: Instant,
    /// Initial window, bytes.
    initial_window: u64,
    // Behind a lock because noq asks for the window through a shared reference, and that is when an
    // acknowledgment that waited is told. Never contended: noq holds the connection's own lock.
    inner: Mutex<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    law: Box<dyn whimbrel_cc::Controller>,
    monitor: Monitor,
    /// Largest UDP payload, bytes.
    mtu: u64,
    in_flight: u64,
    flight: Flight,
    rate: RateEstimator,
    rtt: Rtt,
    rounds: Rounds,
    /// Packets acknowledged in the ACK frame that is being taken in.
    batch: Batch,
    /// An acknowledgment the algorithm has not been told of.
    waiting: Option<Waiting>,
    /// Losses of the batch that is being taken in.
    lost: LostBatch,
    /// Congestion marks were reported that the algorithm has not heard of with an acknowledgment.
    marked: bool,
    episode: Episode,
    /// The newest packet acknowledged so far.
    newest_acked: Option<u64>,
    /// The time of noq's last call that gave one.
    now: Time,
}

#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    bytes: u64,
    /// The newest packet of the batch: its order and when it was sent.
    newest: Option<(u64, Time)>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    ack: Ack,
    /// The newest packet it acknowledged.
    newest: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct LostBatch {
    bytes: u64,
    newest: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Episode {
    /// The order of the first packet sent after the last episode began: losses before it tell nothing
    /// new.
    end: u64,
    /// It ends when this packet or a later one is acknowledged: the first that was sent after its last loss.
    repaired: u64,
    /// It has not ended.
    open: bool,
    /// It reduced the window.
    reduced: bool,
    /// It may prove to have been reordering: it was loss and has not been taken back.
    revocable: bool,
}

impl Adapter {
    /// Puts `law` on a path of a connection that begins at `now`.
    pub fn new(
        law: Box<dyn whimbrel_cc::Controller>,
        setup: &Setup,
        now: Instant,
        monitor: Monitor,
    ) -> Self {
        let inner = Inner {
            law,
            monitor,
            mtu: setup.mss.get(),
            in_flight: 0,
            flight: Flight::default(),
            rate: RateEstimator::default(),
            rtt: Rtt::default(),
            rounds: Rounds::default(),
            batch: Batch::default(),
            waiting: None,
            lost: LostBatch::default(),
            marked: false,
            episode: Episode::default(),
            newest_acked: None,
            now: Time::ZERO,
        };
        let judges = inner.law.discriminates();
        inner.report(|s| s.verdicts = judges.then(Verdicts::default));
        Self {
            origin: now,
            initial_window: setup.initial_window.get(),
            inner: Mutex::new(inner),
        }
    }

    /// One packet of `bytes`, sent at `sent` with number `number`, was acknowledged.
    pub(crate) fn packet_acked(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.get_mut().packet_acked(now, sent, bytes, number);
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Duration::from(instant.saturating_duration_since(self.origin))
    }

    /// A panic in an algorithm poisons nothing that is worth stopping the other connections for.
    fn get_mut(&mut self) -> &mut Inner {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state with everything told.
    fn settled(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.settle();
        inner
    }
}

impl Inner {
    fn packet_sent(&mut self, now: Time, bytes: u64, number: u64) {
        self.settle();
        self.now = now;
        let idle = self.in_flight == 0;
        self.in_flight += bytes;
        let in_flight = Bytes::new(self.in_flight);
        let tag = self.rate.on_sent(now, idle, in_flight);
        self.flight.sent(now, number, tag);
        self.rounds.on_in_flight(self.in_flight);
        self.law.on_sent(now, Bytes::new(bytes), in_flight);
    }

    fn packet_acked(&mut self, now: Time, sent: Time, bytes: u64, number: u64) {
        self.settle();
        self.now = now;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.batch.bytes += bytes;
        let size = Bytes::new(bytes);
        let order = match self.flight.acknowledged(sent, number) {
            Some(packet) => {
                self.rate
                    .on_acked(now, size, packet.order, sent, packet.tag);
                packet.order
            }
            None => {
                self.rate.on_untagged(now, size);
                self.flight.order_at(sent)
            }
        };
        if self.batch.newest.is_none_or(|(newest, _)| order > newest) {
            self.batch.newest = Some((order, sent));
        }
    }

    fn end_of_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.now = now;
        self.in_flight = in_flight;
        let Batch { bytes, newest } = std::mem::take(&mut self.batch);
        let Some((newest, sent)) = newest else { return };
        // RFC 9002 section 5.1: a sample only if the largest acknowledged is newly so.
        let is_newest = self.newest_acked.is_none_or(|n| newest > n);
        if is_newest {
            self.newest_acked = Some(newest);
            self.rtt.sample(now.since(sent));
        }
        let used = self.rounds.used(self.law.cwnd().get(), app_limited);
        let rate = self.rate.on_end(self.rtt.least());
        if app_limited {
            self.rate.on_app_limited(Bytes::new(in_flight));
        }
        let ack = Ack {
            now,
            acked: Bytes::new(bytes),
            rtt: is_newest.then(|| self.rtt.latest()),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.least(),
            in_flight: Bytes::new(in_flight),
            delivered: self.rate.delivered(),
            delivery_rate: rate.rate,
            app_limited: app_limited || rate.app_limited,
            cwnd_limited: used,
            in_recovery: false,
            round_start: self.rounds.on_ack(newest, self.flight.next_order()),
            receiver_time: None,
            lost: self.rate.lost(),
            newest: rate.newest,
            ece: false,
        };
        self.waiting = Some(Waiting { ack, newest });
        self.flight.tidy(now);
    }

    /// Tells the algorithm of an acknowledgment that waited for losses to be told first.
    fn settle(&mut self) {
        let Some(Waiting { mut ack, newest }) = self.waiting.take() else {
            return;
        };
        if self.episode.open && newest >= self.episode.repaired {
            self.episode.open = false;
            self.law.on_recovery_end(ack.now);
        }
        ack.in_flight = Bytes::new(self.in_flight);
        ack.lost = self.rate.lost();
        ack.ece = std::mem::take(&mut self.marked);
        ack.in_recovery = self.episode.open && self.episode.reduced;
        self.law.on_ack(&ack);
        self.report(|s| s.delivery_rate = ack.delivery_rate.or(s.delivery_rate));
    }

    /// A loss at the same moment as an acknowledgment that waits was revealed by it and goes first.
    fn settle_before(&mut self, now: Time) {
        if self.waiting.is_some_and(|w| w.ack.now < now) {
            self.settle();
        }
        self.now = now;
    }

    fn packet_lost(&mut self, now: Time, bytes: u64, number: u64) {
        self.settle_before(now);
        if let Some(packet) = self.flight.lost(number) {
            self.in_flight = self.in_flight.saturating_sub(bytes);
            self.lost.bytes += bytes;
            self.lost.newest = self.lost.newest.max(Some(packet.order));
            let size = Bytes::new(bytes);
            self.rate.on_lost(size);
            self.law.on_packet_lost(&LostPacket {
                now,
                size,
                lost: self.rate.lost(),
                at: self.rate.at_sending(&packet.tag, packet.sent),
            });
        }
    }

    fn congestion(&mut self, now: Time, sent: Time, persistent: bool, signal: Signal, bytes: u64) {
        self.settle_before(now);
        let lost = match signal {
            Signal::Loss => std::mem::take(&mut self.lost),
            // Marked packets have arrived: the newest acknowledged carries the news.
            Signal::Ecn => LostBatch {
                bytes: 0,
                newest: self.newest_acked,
            },
        };
        self.marked |= signal == Signal::Ecn;
        let next_order = self.flight.next_order();
        let lost_order = lost.newest.unwrap_or_else(|| self.flight.order_at(sent));
        let in_flight = Bytes::new(self.in_flight + lost.bytes);
        let news = lost_order >= self.episode.end;
        let mut response = None;
        if persistent && news {
            self.law.on_timeout(&Timeout {
                now,
                in_flight,
                repeated: false,
                next_order,
            });
            // A new start, as after TCP's timeout: the window grows at once (RFC 9002 appendix B.8).
            self.episode = Episode {
                end: next_order,
                repaired: next_order,
                open: true,
                reduced: false,
                revocable: true,
            };
        } else if news {
            let told = self.law.on_loss(&Loss {
                now,
                signal,
                in_flight,
                lost: Bytes::new(bytes),
                lost_order,
                next_order,
                sent,
                ece: self.marked,
                truth: None,
            });
            response = Some(told);
            // A window that was kept closes no case: losses of the same flight are judged anew.
            self.episode = Episode {
                end: if told.reduced {
                    next_order
                } else {
                    self.episode.end
                },
                repaired: next_order,
                open: true,
                reduced: told.reduced,
                revocable: signal == Signal::Loss,
            };
        }
        self.report(|s| {
            s.lost += Bytes::new(bytes);
            s.timeouts += u64::from(persistent && news);
            if let Some(response) = response {
                s.episode(response, signal == Signal::Ecn);
            }
        });
    }

    fn spurious(&mut self) {
        self.settle();
        if std::mem::take(&mut self.episode.revocable) {
            self.law.on_spurious(self.now);
            if std::mem::take(&mut self.episode.open) {
                self.law.on_recovery_end(self.now);
            }
            self.report(|s| s.spurious += 1);
        }
    }

    fn mtu(&mut self, mtu: u64) {
        self.settle();
        if mtu != self.mtu {
            self.mtu = mtu;
            self.law.on_mss(Bytes::new(mtu));
        }
    }

    /// RFC 9002 section 7.2: never below two datagrams. noq could send nothing below one, and an
    /// acknowledgment of one alone would wait for the peer's delay.
    fn window(&self) -> u64 {
        self.law.cwnd().get().max(2 * self.mtu)
    }

    fn report(&self, count: impl FnOnce(&mut crate::Snapshot)) {
        self.monitor.update(|s| {
            s.time = self.now;
            s.cwnd = Bytes::new(self.window());
            s.ssthresh = self.law.ssthresh();
            s.pacing_rate = self.law.pacing_rate();
            s.phase = self.law.phase();
            s.in_flight = Bytes::new(self.in_flight);
            s.rtt = self.rtt.latest();
            s.srtt = self.rtt.smoothed();
            s.rttvar = self.rtt.variation();
            s.min_rtt = self.rtt.least();
            s.delivered = self.rate.delivered();
            count(s);
        });
    }
}

impl congestion::Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.time(now);
        self.get_mut().packet_sent(now, bytes.into(), pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.get_mut().rounds.on_limited();
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
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.time(now);
        self.get_mut().end_of_acks(now, in_flight, app_limited);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.time(now);
        self.get_mut().packet_lost(now, lost_bytes.into(), pn);
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
        let (now, sent) = (self.time(now), self.time(sent));
        let signal = if is_ecn { Signal::Ecn } else { Signal::Loss };
        self.get_mut()
            .congestion(now, sent, is_persistent_congestion, signal, lost_bytes);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.get_mut().spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.get_mut().mtu(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.settled().window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let inner = self.settled();
        let pacing_rate = inner.law.pacing_rate().map(|r| r.as_bytes_per_sec().max(1));
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = inner.window();
        metrics.ssthresh = inner.law.ssthresh().map(Bytes::get);
        metrics.pacing_rate = pacing_rate;
        metrics.send_quantum = pacing_rate.map(|r| {
            (r / 1000)
                .max(2 * inner.mtu)
                .min(MOST_QUANTUM.max(2 * inner.mtu))
        });
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Self {
            origin: self.origin,
            initial_window: self.initial_window,
            inner: Mutex::new(self.settled().clone()),
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
