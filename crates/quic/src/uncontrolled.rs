//! No congestion control: for connections whose datagrams TCP carries, which has its own.

use whimbrel_cc::{Ack, Controller, Loss, LossResponse, Timeout};
use whimbrel_units::Bytes;

/// More than any flow control of ours lets out, bytes.
const WINDOW: Bytes = Bytes::new(256 << 20);

/// A window that is never full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncontrolled;

impl Controller for Uncontrolled {
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

    fn phase(&self) -> &'static str {
        "none"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }
}
