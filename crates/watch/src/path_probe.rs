//! The measurement of the path to a server, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use whimbrel_transfer::{ProbeSample, ProbeStage};

/// What the measurement does, on a terminal. Dropping it removes it.
pub struct Progress {
    bar: ProgressBar,
    /// The start of the stage: seconds, bytes, packets sent and lost.
    begin: Cell<Option<ProbeSample>>,
}

impl Progress {
    /// Of the path to a server.
    pub fn new(host: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("measuring the path to {prefix}: {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(host.to_owned());
        Self {
            bar,
            begin: Cell::new(None),
        }
    }

    /// Shows how far it is.
    pub fn show(&self, now: &ProbeSample) {
        let begin = match self.begin.get() {
            Some(begin) if begin.stage == now.stage => begin,
            _ => {
                self.begin.set(Some(*now));
                *now
            }
        };
        let bits = (now.delivered - begin.delivered) as f64 * 8.0;
        let mbits = bits * 1e-6 / (now.at - begin.at).max(1e-3);
        let lost = now.lost_packets.saturating_sub(begin.lost_packets);
        let sent = now.sent_packets.saturating_sub(begin.sent_packets);
        let doing = match now.stage {
            ProbeStage::Startup => "the rate rises".to_owned(),
            ProbeStage::Full => format!("the rate, {mbits:.1} Mbit/s"),
            ProbeStage::Drain => "the queue drains".to_owned(),
            ProbeStage::Calm => format!("the loss, {lost} of {sent} packets"),
            ProbeStage::End => "the last packets arrive".to_owned(),
        };
        self.bar.set_message(format!("{:.0} s, {doing}", now.at));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
