//! noq's controller of a connection that sends bursts: passes noq's calls on to the
//! [`BurstFlow`].

use super::BurstFlow;
use crate::control::Control;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::time::Instant;
use whimbrel_units::Bytes;

/// A rate that holds hardly any packet back, bytes per second: pacing is not noq's here. At a
/// higher one noq's pacer waits for less than a nanosecond, which is no time at all.
const NO_PACING: u64 = 1_000_000_000;

/// Implements noq's [`congestion::Controller`] for an algorithm that is fed bursts.
#[derive(Debug)]
pub(crate) struct BurstAdapter {
    control: Control,
    initial_window: u64,
}

impl BurstAdapter {
    /// The controller of the connection whose [`BurstFlow`] `control` holds.
    pub fn new(control: Control, initial_window: Bytes) -> Self {
        Self {
            control,
            initial_window: initial_window.get(),
        }
    }

    fn with<T>(&self, call: impl FnOnce(&mut BurstFlow) -> T) -> Option<T> {
        self.control.lock().bursts.as_mut().map(call)
    }
}

impl BurstFlow {
    pub(super) fn packet_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        self.in_flight += bytes;
        self.grant = 0;
        self.last = Some((number, self.time(now)));
    }

    pub(super) fn packet_acked(&mut self, sent: Instant, bytes: u64, number: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.delivered += bytes;
        self.ledger.acknowledged(number, self.time(sent));
    }

    pub(super) fn end_of_acks(&mut self, now: Instant, in_flight: u64) {
        self.in_flight = in_flight;
        let now = self.time(now);
        self.on_alive(now);
    }

    pub(super) fn packet_lost(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.lost += bytes;
    }

    pub(super) fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.sender.controller.on_mss(Bytes::new(mtu));
        if self.sender.has_begun() {
            // The receiver computes rates from the size of a packet.
            self.announce();
        }
    }

    pub(super) fn window(&self) -> u64 {
        let granted = self.in_flight + self.grant;
        match self.sender.is_measured() {
            true => granted,
            // Requests need not wait until the path is measured.
            false => granted.max(self.initial_window),
        }
    }
}

impl congestion::Controller for BurstAdapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.with(|flow| flow.packet_sent(now, bytes.into(), pn));
        self.control.log(|log| log.built(pn));
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.with(|flow| {
            flow.packet_acked(sent, bytes, pn);
            flow.quic_rtt = rtt.get().into();
        });
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        _app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.with(|flow| flow.end_of_acks(now, in_flight));
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        // The algorithm learns of losses from reports.
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.with(|flow| flow.packet_lost(lost_bytes.into()));
        self.control.log(|log| log.lost(now, pn));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.with(|flow| flow.set_mtu(new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.with(|flow| flow.window())
            .unwrap_or(self.initial_window)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = Some(NO_PACING);
        metrics
    }

    /// noq copies a controller when the connection moves to another path.
    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        let is_move = !self.control.lock().looked_at;
        if is_move {
            self.with(BurstFlow::on_moved);
        }
        Box::new(Self {
            control: self.control.clone(),
            initial_window: self.initial_window,
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
