//! Explicit loss notification as a classifier: a loss is congestion unless the network said otherwise.
//!
//! H. Balakrishnan, R. Katz, "Explicit Loss Notification and Wireless Web Performance", IEEE Globecom
//! Internet Mini-Conference 1998, which was not available; described in T. Saedi, "Congestion Control
//! Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 1, and in the
//! papers on TCP-NACK.
//!
//! * a loss that a notification names is random: it is retransmitted, and the window stays
//! * every other loss is congestion
//!
//! The transport passes what was notified on as [`Loss::truth`](crate::Loss): in the simulator a
//! link with `helper = "eln"` notifies. No real transport of this project carries notifications, so
//! there the classifier changes nothing.
//!
//! **Physics, limits.** It is as good as the agent that notifies: one at the wireless link knows
//! what the link lost, and cannot err. It needs the agent on the path, and acknowledgments that the
//! agent can write into.

use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{ClassifierEntry, code};

/// The registry entry.
pub(crate) static ENTRY: ClassifierEntry = ClassifierEntry {
    name: "eln",
    code: code!("classifiers/eln.rs"),
    summary: "Explicit loss notification: a loss is random if a helper on the path says so",
    citation: "H. Balakrishnan, R. Katz, \"Explicit Loss Notification and Wireless Web \
               Performance\", IEEE Globecom Internet Mini-Conference 1998",
    without_receiver_clock: None,
    parameters: &[],
    build: |_| Box::new(Eln),
};

/// The classifier.
#[derive(Debug, Clone, Copy)]
struct Eln;

impl LossClassifier for Eln {
    fn on_ack(&mut self, _: &Ack) {}

    fn judge(&mut self, _: &Loss) -> Verdict {
        Verdict::Congestion
    }

    fn clone_box(&self) -> Box<dyn LossClassifier> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Loss, Verdict};
    use crate::testing::{built, loss, segments};
    use whimbrel_units::Time;

    #[test]
    fn only_a_notified_loss_is_random() {
        let mut controller = built("newreno+eln", 40);
        let notified = Loss {
            truth: Some(Verdict::Random),
            ..loss(&*controller, Time::ZERO)
        };
        assert!(!controller.on_loss(&notified).reduced);
        assert_eq!(segments(&*controller), 40.0);
        assert!(controller.on_loss(&loss(&*controller, Time::ZERO)).reduced);
        assert_eq!(segments(&*controller), 20.0);
    }
}
