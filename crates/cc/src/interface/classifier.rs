//! The interface of loss classifiers: random loss or congestion?

use crate::interface::event::{Ack, Loss};
use crate::interface::verdict::Verdict;
use std::fmt::Debug;

/// Distinguishes random loss from congestion by observing the path.
pub trait LossClassifier: Send + Sync + Debug + 'static {
    /// Invoked when data is acknowledged, before the controller's own `on_ack`: a classifier learns
    /// RTT samples and rates here.
    fn on_ack(&mut self, ack: &Ack);

    /// Returns the assumed cause of an episode of loss that begins now.
    fn judge(&mut self, loss: &Loss) -> Verdict;

    /// Whether it uses the receiver's times ([`Ack::receiver_time`]); the default is no.
    fn uses_receiver_times(&self) -> bool {
        false
    }

    /// Returns a copy with its entire state.
    fn clone_box(&self) -> Box<dyn LossClassifier>;
}

/// A classifier that was chosen at run time is a classifier too.
impl LossClassifier for Box<dyn LossClassifier> {
    fn on_ack(&mut self, ack: &Ack) {
        (**self).on_ack(ack);
    }
    fn judge(&mut self, loss: &Loss) -> Verdict {
        (**self).judge(loss)
    }
    fn uses_receiver_times(&self) -> bool {
        (**self).uses_receiver_times()
    }
    fn clone_box(&self) -> Box<dyn LossClassifier> {
        (**self).clone_box()
    }
}

impl Clone for Box<dyn LossClassifier> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}
