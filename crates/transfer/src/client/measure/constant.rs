//! A constant rate, whatever is lost: what a source of UDP does.

use whimbrel_cc::{Ack, Controller, Loss, LossResponse, Timeout};
use whimbrel_units::{Bytes, Rate};

/// More than any path holds.
const WINDOW: Bytes = Bytes::new(1 << 40);

/// Paces at a rate and answers nothing.
#[derive(Debug, Clone)]
pub(super) struct Constant(pub(super) Rate);

impl Controller for Constant {
    fn on_ack(&mut self, _: &Ack) {}

    fn on_loss(&mut self, _: &Loss) -> LossResponse {
        LossResponse {
            reduced: false,
            verdict: None,
            confidence: None,
        }
    }

    fn on_timeout(&mut self, _: &Timeout) {}

    fn on_mss(&mut self, _: Bytes) {}

    fn cwnd(&self) -> Bytes {
        WINDOW
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0)
    }

    fn phase(&self) -> &'static str {
        "constant rate"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
