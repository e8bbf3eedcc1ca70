//! s2n-quic-core's controllers, CUBIC and BBRv2, on noq-proto: s2n-quic's own transport needs its
//! event loop and sockets. So packets, acknowledgments and losses are noq's, and pacing is noq's at
//! the rate that BBRv2 sets. CUBIC sets none, and noq paces it as its own.
//!
//! * Losses are held back until noq says whether they are persistent congestion.
//! * noq reports bytes in flight with each acknowledgment. Packets beyond that were discarded with
//!   the keys of the handshake.

use super::noq;
use crate::endpoint::Endpoint;
use noq_proto::RttEstimator as NoqRtt;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// s2n-quic's initial RTT (RFC 9002 section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Both ends of a connection with this controller; `None` if s2n-quic-core has none of that name.
pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match controller {
        "cubic" => Arc::new(Factory {
            make: |mtu| CubicCongestionController::new(mtu, Default::default()),
            seed,
        }),
        "bbr2" => Arc::new(Factory {
            make: |mtu| BbrCongestionController::new(mtu, Default::default()),
            seed,
        }),
        _ => return None,
    };
    Some(noq::connect_with(factory, seed))
}

/// Makes a controller of s2n-quic-core for each path.
#[derive(Debug)]
struct Factory<C> {
    make: fn(u16) -> C,
    seed: u64,
}

impl<C: CongestionController + Sync> ControllerFactory for Factory<C>
where
    C::PacketInfo: Sync,
{
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let controller = (self.make)(mtu);
        Box::new(Adapter {
            initial_window: controller.congestion_window().into(),
            controller,
            rtt: RttEstimator::new(INITIAL_RTT),
            // Its clock stands still, and the difference to `now` is added to it.
            origin: (now, NoopClock.get_time()),
            packets: VecDeque::new(),
            in_flight: 0,
            acked: None,
            lost: Vec::new(),
            app_limited: false,
            random: Random(self.seed),
            pacing: Pacing::default(),
        })
    }
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct Sent<I> {
    number: u64,
    at: Instant,
    bytes: u64,
    info: I,
}

/// Packets that one frame acknowledges.
#[derive(Debug, Clone, Copy)]
struct Acked<I> {
    newest: Sent<I>,
    bytes: u64,
}

/// A controller of s2n-quic-core as one of noq.
#[derive(Debug, Clone)]
struct Adapter<C: CongestionController> {
    controller: C,
    initial_window: u64,
    rtt: RttEstimator,
    /// The same moment on both clocks.
    origin: (Instant, Timestamp),
    /// In the order in which they were sent.
    packets: VecDeque<Sent<C::PacketInfo>>,
    /// Their bytes.
    in_flight: u64,
    acked: Option<Acked<C::PacketInfo>>,
    lost: Vec<Sent<C::PacketInfo>>,
    app_limited: bool,
    random: Random,
    pacing: Pacing,
}

impl<C: CongestionController> Adapter<C> {
    fn time(&self, at: Instant) -> Timestamp {
        self.origin.1 + at.saturating_duration_since(self.origin.0)
    }

    /// Takes the packet with this number that satisfies `is`, if it is in flight.
    fn take(
        &mut self,
        number: u64,
        is: impl Fn(&Sent<C::PacketInfo>) -> bool,
    ) -> Option<Sent<C::PacketInfo>> {
        // The oldest are at the front, and mostly one of those is looked for.
        let mut all = self.packets.iter();
        let place = all.position(|sent| sent.number == number && is(sent))?;
        let packet = self.packets.remove(place)?;
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        Some(packet)
    }
}

impl<C: CongestionController + Sync> Controller for Adapter<C>
where
    C::PacketInfo: Sync,
{
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let time = self.time(now);
        let info = self.controller.on_packet_sent(
            time,
            bytes.into(),
            Some(self.app_limited),
            &self.rtt,
            &mut self.pacing,
        );
        let bytes = u64::from(bytes);
        self.in_flight += bytes;
        self.packets.push_back(Sent {
            number,
            at: now,
            bytes,
            info,
        });
    }

    fn on_ack(&mut self, _: Instant, at: Instant, _: u64, number: u64, _: bool, _: &NoqRtt) {
        let Some(packet) = self.take(number, |sent| sent.at == at) else {
            return;
        };
        let before = self.acked.take();
        let newer = before.filter(|before| before.newest.at > packet.at);
        self.acked = Some(Acked {
            newest: newer.map_or(packet, |before| before.newest),
            bytes: before.map_or(0, |before| before.bytes) + packet.bytes,
        });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.app_limited = app_limited;
        let Some(Acked { newest, bytes }) = self.acked.take() else {
            return;
        };
        while self.in_flight > in_flight {
            let Some(discarded) = self.packets.pop_front() else {
                break;
            };
            self.in_flight = self.in_flight.saturating_sub(discarded.bytes);
            let bytes = discarded.bytes as usize;
            self.controller.on_packet_discarded(bytes, &mut self.pacing);
        }
        let (time, sent) = (self.time(now), self.time(newest.at));
        self.rtt.update_rtt(
            Duration::ZERO,
            now.saturating_duration_since(newest.at),
            time,
            true,
            PacketNumberSpace::ApplicationData,
        );
        let publisher = &mut self.pacing;
        self.controller
            .on_rtt_update(sent, time, &self.rtt, publisher);
        self.controller.on_ack(
            sent,
            bytes as usize,
            newest.info,
            &self.rtt,
            &mut self.random,
            time,
            publisher,
        );
    }

    fn on_packet_lost(&mut self, _: u16, number: u64, _: Instant) {
        let lost = self.take(number, |_| true);
        self.lost.extend(lost);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _: Instant,
        persistent: bool,
        is_ecn: bool,
        _: u64,
        _: u64,
    ) {
        let time = self.time(now);
        if is_ecn {
            self.controller
                .on_explicit_congestion(1, time, &mut self.pacing);
        }
        let mut before: Option<u64> = None;
        for packet in self.lost.drain(..) {
            let continues = before.is_some_and(|before| before + 1 == packet.number);
            self.controller.on_packet_lost(
                u32::try_from(packet.bytes).unwrap_or(u32::MAX),
                packet.info,
                persistent,
                !continues,
                &mut self.random,
                time,
                &mut self.pacing,
            );
            before = Some(packet.number);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.controller.on_mtu_update(mtu, &mut self.pacing);
    }

    fn window(&self) -> u64 {
        self.controller.congestion_window().into()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = self.pacing.rate;
        metrics.send_quantum = self.controller.send_quantum().map(|bytes| bytes as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// What a controller reports: only its pacing rate is used, bytes/s.
#[derive(Debug, Clone, Copy, Default)]
struct Pacing {
    rate: Option<u64>,
}

impl Publisher for Pacing {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}

    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}

    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {
        self.rate = Some(rate.as_bytes_per_second());
    }

    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// Random numbers of the run (SplitMix64).
#[derive(Debug, Clone)]
struct Random(u64);

impl random::Generator for Random {
    fn public_random_fill(&mut self, to: &mut [u8]) {
        for chunk in to.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }

    fn private_random_fill(&mut self, to: &mut [u8]) {
        self.public_random_fill(to);
    }
}
