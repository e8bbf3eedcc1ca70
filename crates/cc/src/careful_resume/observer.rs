//! What to save of a path (RFC 9959 section 3.1, the Observing Phase).
//!
//! A window of an algorithm is no measure of a path: BBR's is twice its bandwidth-delay product,
//! and a loss may have halved it. What was delivered is. The observer takes the rate at which each
//! of the last round trips delivered, those in which the application had too little data left out,
//! and multiplies the highest by the minimum RTT: the data that the path held, without its queue.

use crate::interface::Ack;
use crate::registry::entry::SavedPath;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Rate, Time};

/// Round trips that are remembered.
const ROUNDS: usize = 8;

/// Measures what a path carries while a connection uses it.
#[derive(Debug, Clone, Default)]
pub struct Observer {
    /// Rates of the last round trips.
    rates: VecDeque<Rate>,
    round: Option<Round>,
    last: Option<Ack>,
}

/// The present round trip.
#[derive(Debug, Clone, Copy)]
struct Round {
    began: Time,
    /// Data delivered when it began.
    delivered: Bytes,
    app_limited: bool,
}

impl Observer {
    /// Takes an acknowledgment into account.
    pub fn on_ack(&mut self, ack: &Ack) {
        if let Some(round) = &mut self.round {
            round.app_limited |= ack.app_limited;
        }
        if ack.round_start {
            let ended = self.round.replace(Round {
                began: ack.now,
                delivered: ack.delivered,
                app_limited: ack.app_limited,
            });
            if let Some(ended) = ended.filter(|round| !round.app_limited) {
                self.end(ended, ack);
            }
        }
        self.last = Some(*ack);
    }

    fn end(&mut self, round: Round, ack: &Ack) {
        let span = ack.now.since(round.began);
        if span < ack.min_rtt || span.is_zero() {
            return;
        }
        if self.rates.len() == ROUNDS {
            self.rates.pop_front();
        }
        let delivered = ack.delivered - round.delivered;
        self.rates.push_back(Rate::over(delivered, span));
    }

    /// The path as the last round trips show it; `None` before the first complete one.
    pub fn path(&self) -> Option<SavedPath> {
        let rate = self.rates.iter().max()?;
        let rtt = self.last.as_ref()?.min_rtt;
        Some(SavedPath {
            cwnd: rate.bytes_in(rtt),
            rtt,
        })
    }

    /// Whether so many round trips were observed that what was saved before counts no more.
    pub fn is_settled(&self) -> bool {
        self.rates.len() == ROUNDS
    }
}
