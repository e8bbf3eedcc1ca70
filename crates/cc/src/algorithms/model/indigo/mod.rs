//! Indigo: a recurrent network chooses among five changes of the window, every 10 ms.
//!
//! F. Y. Yan, J. Ma, G. D. Hill, D. Raghavan, R. S. Wahby, P. Levis, K. Winstein, "Pantheon: the
//! training ground for Internet congestion-control research", USENIX ATC 2018, section 5; and the
//! authors' code (`indigo` in Pantheon), the source of the weights of the averages.
//!
//! * state: averages (weight 1/8) of queueing delay, delivery rate and sending rate; the window;
//!   the last action
//! * every 10 ms one action: `cwnd /= 2`, `cwnd -= 10`, nothing, `cwnd += 10`, `cwnd *= 2`, packets
//! * network: an LSTM of 32 units, then a linear layer; the action with the highest score is taken
//! * training: DAgger, which imitates an expert that knows the path and moves the window to its
//!   bandwidth-delay product
//!
//! Units: the window is in packets of one segment.
//!
//! **Physics.** None is written down. The queueing delay shows a window above the bandwidth-delay
//! product; below it the delay is zero and both rates are the window over the RTT, so only a larger
//! window can show how far below it is.
//!
//! **When it works.** Where a path is like those of its training: one flow, 1 to 200 Mbit/s, 10 to
//! 400 ms, with and without random loss, which it ignores.
//!
//! **Limits.**
//! * It has never seen another flow.
//! * Steps of 10 packets are coarse where the bandwidth-delay product is a few packets.
//! * It never forgets the minimum RTT: a path that becomes longer looks like a queue.
//!
//! **Departures.**
//! * The weights are our own, trained in our simulator by `train/indigo.py`, because the authors'
//!   were trained on UDP datagrams over emulated paths. docs/indigo.md has the curves.
//! * The network sees logarithms of the averages and of the window; the authors' network sees them
//!   in parts of 200 ms, 200 Mbit/s and 5000 packets, where 1 Mbit/s is hard to tell from 2.
//! * A retransmission timeout halves the window; theirs has no such event.
//! * Not paced, even over a transport that paces, as in the authors' sender: in its training
//!   acknowledgments come in trains. Where they are spread over the first round trips it acts more
//!   often before it sees an effect, and overshoots.
//!
//! **As in the code.** Actions happen at acknowledgments: time without any has no actions.

mod features;
mod network;
#[cfg(test)]
mod tests;

pub use features::Features;

use crate::interface::{Ack, Controller, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};
use network::{ACTIONS, INPUTS, Memory, Weights};
use std::sync::LazyLock;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "indigo",
    code: code!(
        "algorithms/model/indigo/mod.rs",
        "algorithms/model/indigo/features.rs",
        "algorithms/model/indigo/network.rs",
    ),
    summary: "A recurrent network, trained to imitate an expert, moves the window every 10 ms",
    citation: "F. Y. Yan et al., \"Pantheon: the training ground for Internet congestion-control \
               research\", USENIX ATC 2018",
    parameters: &[],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, _| {
            let mss = setup.mss.get().max(1);
            Box::new(Indigo {
                mss,
                cwnd: (setup.initial_window.get() as f64 / mss as f64).clamp(FLOOR, CEILING),
                features: Features::default(),
                memory: Memory::NEW,
                last: HOLD,
                next: None,
                pacing_rate: setup.paced.then_some(NO_PACING),
            })
        },
    },
    ..Entry::BLANK
};

/// Time between two actions.
const STEP: Duration = Duration::from_millis(10);
/// The action that changes nothing.
const HOLD: usize = 2;
/// Limits of the window, packets: the environment's, which are the authors' for the floor.
const FLOOR: f64 = 2.0;
const CEILING: f64 = 25_000.0;

/// More than any path: over a transport that paces, packets leave as soon as the window allows.
const NO_PACING: Rate = Rate::from_bits_per_sec(1_000_000_000_000);

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    Weights::new(include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/data/indigo/weights.f32"
    )))
});

/// The window after an action, packets.
fn act(cwnd: f64, action: usize) -> f64 {
    let changed = match action {
        0 => cwnd / 2.0,
        1 => cwnd - 10.0,
        3 => cwnd + 10.0,
        4 => cwnd * 2.0,
        _ => cwnd,
    };
    changed.clamp(FLOOR, CEILING)
}

/// The input of the network: ln(1 + delay in ms), ln(1 + rate in Mbit/s) of delivery and sending,
/// ln(window in packets), then 1 at the place of the last action.
fn input(features: &Features, cwnd: f64, last: usize) -> [f32; INPUTS] {
    let mut input = [0.0; INPUTS];
    input[0] = features.delay_ms.ln_1p() as f32;
    input[1] = features.delivery_mbps.ln_1p() as f32;
    input[2] = features.send_mbps.ln_1p() as f32;
    input[3] = cwnd.max(1.0).ln() as f32;
    if let Some(place) = input.get_mut(4 + last) {
        *place = 1.0;
    }
    input
}

#[derive(Debug, Clone)]
struct Indigo {
    /// Maximum payload of one packet, bytes.
    mss: u64,
    /// Packets.
    cwnd: f64,
    features: Features,
    memory: Memory,
    /// The last action.
    last: usize,
    /// The time of the next action; `None` before the first acknowledgment.
    next: Option<Time>,
    /// [`NO_PACING`] if the transport paces.
    pacing_rate: Option<Rate>,
}

impl Indigo {
    fn decide(&mut self) {
        let input = input(&self.features, self.cwnd, self.last);
        let scores = self.memory.step(&WEIGHTS, &input);
        // The first of equal ones, as in PyTorch.
        let best = (0..ACTIONS)
            .rev()
            .max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        self.last = best.unwrap_or(HOLD);
        self.cwnd = act(self.cwnd, self.last);
    }
}

impl Controller for Indigo {
    fn on_ack(&mut self, ack: &Ack) {
        self.features.on_ack(ack);
        match self.next {
            None => self.next = Some(ack.now + STEP),
            Some(next) if ack.now >= next => {
                self.decide();
                self.next = Some((next + STEP).max(ack.now));
            }
            Some(_) => {}
        }
    }

    fn on_loss(&mut self, _: &Loss) -> LossResponse {
        LossResponse::KEPT
    }

    fn on_timeout(&mut self, _: &Timeout) {
        self.cwnd = act(self.cwnd, 0);
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new((self.cwnd * self.mss as f64) as u64)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn phase(&self) -> &'static str {
        ["halve", "less", "hold", "more", "double"][self.last.min(ACTIONS - 1)]
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
