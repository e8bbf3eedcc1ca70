//! A flow whose window a learner sets.

use std::sync::{Arc, Mutex, PoisonError};
use whimbrel_cc::{
    Ack, Controller, IndigoFeatures, Loss, LossResponse, LostPacket, Setup, Timeout,
};
use whimbrel_units::{Bytes, Time};

/// What an agent has seen since the last step, by name and with its unit.
pub const FIELDS: [&str; 12] = [
    "rtt_ms",
    "min_rtt_ms",
    "acked_bytes",
    "sent_bytes",
    "lost_bytes",
    "in_flight_bytes",
    "cwnd_packets",
    "delay_ewma_ms",
    "delivery_ewma_mbps",
    "send_ewma_mbps",
    "timeouts",
    "mss_bytes",
];

/// The values of [`FIELDS`]: the mean RTT sample of the step (0: none) and the minimum so far, data
/// acknowledged, sent and found lost in the step, data in flight and the window at its end,
/// Indigo's averages, timeouts in the step, and the payload of a packet.
pub type Seen = [f64; FIELDS.len()];

/// The state of an agent, which its controller in the run and the learner share.
#[derive(Debug, Default)]
struct State {
    cwnd: u64,
    mss: u64,
    rtt_sum: f64,
    rtts: u64,
    min_rtt: f64,
    acked: u64,
    sent: u64,
    lost: u64,
    in_flight: u64,
    timeouts: u64,
    features: IndigoFeatures,
}

/// The learner's side of a flow.
#[derive(Debug, Clone, Default)]
pub struct Agent(Arc<Mutex<State>>);

impl Agent {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The controller of the flow.
    pub(crate) fn controller(&self, setup: &Setup) -> Box<dyn Controller> {
        self.with(|state| {
            state.mss = setup.mss.get().max(1);
            state.cwnd = setup.initial_window.get();
        });
        Box::new(Driven(self.clone()))
    }

    /// Sets the window, packets; at least one.
    pub fn set_cwnd(&self, packets: f64) {
        self.with(|state| {
            let bytes = packets.clamp(1.0, 1e6) * state.mss as f64;
            state.cwnd = bytes as u64;
        });
    }

    /// What it has seen since the last call.
    pub fn take(&self) -> Seen {
        self.with(|state| {
            let mean = if state.rtts > 0 {
                state.rtt_sum / state.rtts as f64
            } else {
                0.0
            };
            let seen = [
                mean * 1e3,
                state.min_rtt * 1e3,
                state.acked as f64,
                state.sent as f64,
                state.lost as f64,
                state.in_flight as f64,
                state.cwnd as f64 / state.mss.max(1) as f64,
                state.features.delay_ms,
                state.features.delivery_mbps,
                state.features.send_mbps,
                state.timeouts as f64,
                state.mss as f64,
            ];
            (state.rtt_sum, state.rtts) = (0.0, 0);
            (state.acked, state.sent, state.lost, state.timeouts) = (0, 0, 0, 0);
            seen
        })
    }
}

/// The controller: it measures, and obeys.
#[derive(Debug)]
struct Driven(Agent);

impl Controller for Driven {
    fn on_sent(&mut self, _: Time, size: Bytes, in_flight: Bytes) {
        self.0.with(|state| {
            state.sent = state.sent.saturating_add(size.get());
            state.in_flight = in_flight.get();
        });
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0.with(|state| {
            if let Some(rtt) = ack.rtt {
                state.rtt_sum += rtt.as_secs_f64();
                state.rtts += 1;
            }
            state.min_rtt = ack.min_rtt.as_secs_f64();
            state.acked += ack.acked.get();
            state.in_flight = ack.in_flight.get();
            state.features.on_ack(ack);
        });
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.0.with(|state| state.lost += lost.size.get());
    }

    fn on_loss(&mut self, _: &Loss) -> LossResponse {
        LossResponse::KEPT
    }

    fn on_timeout(&mut self, _: &Timeout) {
        self.0.with(|state| state.timeouts += 1);
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.0.with(|state| state.mss = mss.get().max(1));
    }

    fn cwnd(&self) -> Bytes {
        self.0.with(|state| Bytes::new(state.cwnd.max(state.mss)))
    }

    fn phase(&self) -> &'static str {
        "learner"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(self.0.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_in_a_step_is_seen_once() {
        let agent = Agent::default();
        agent.with(|state| {
            (state.rtt_sum, state.rtts) = (0.1, 2);
            (state.acked, state.sent, state.lost, state.timeouts) = (1, 2, 3, 4);
        });
        let of = |seen: Seen| {
            [
                "rtt_ms",
                "acked_bytes",
                "sent_bytes",
                "lost_bytes",
                "timeouts",
            ]
            .map(|name| {
                seen[FIELDS
                    .iter()
                    .position(|field| *field == name)
                    .expect("a field")]
            })
        };
        assert_eq!(of(agent.take()), [50.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(of(agent.take()), [0.0; 5]);
    }
}
