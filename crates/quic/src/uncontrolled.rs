//! No congestion control: for connections whose datagrams TCP carries, which has its own, and for
//! measurements at a constant rate, as a source of UDP sends.

use whimbrel_cc::{Ack, Controller, Loss, LossResponse, Timeout};
use whimbrel_units::{Bytes, Rate};

/// More than any flow control of ours lets out.
const WINDOW: Bytes = Bytes::new(256 << 20);

/// A window that is never full. Losses change nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncontrolled {
    /// The pacing rate; `None`: packets leave as soon as they are there.
    pub rate: Option<Rate>,
}

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

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn phase(&self) -> &'static str {
        match self.rate {
            Some(_) => "constant rate",
            None => "none",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }
}
