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
        self.bar.set_message(self.text(now));
    }

    /// What it does, for so long.
    fn text(&self, now: &ProbeSample) -> String {
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
        format!("{:.0} s, {doing}", now.at)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_loss_are_those_since_the_stage_began() {
        let progress = Progress::new("host");
        let text = |stage, at, delivered, sent_packets, lost_packets| {
            progress.text(&ProbeSample {
                at,
                stage,
                has_found_rate: true,
                delivered,
                sent_packets,
                lost_packets,
                rtt: 0.04,
            })
        };
        text(ProbeStage::Startup, 0.0, 0, 0, 0);
        text(ProbeStage::Startup, 2.0, 500_000, 1_000, 100);
        text(ProbeStage::Full, 2.0, 500_000, 1_000, 100);
        // 1 MB in a second.
        let full = text(ProbeStage::Full, 3.0, 1_500_000, 2_000, 150);
        assert_eq!(full, "3 s, the rate, 8.0 Mbit/s");
        text(ProbeStage::Calm, 4.0, 2_000_000, 2_500, 200);
        let calm = text(ProbeStage::Calm, 5.0, 2_500_000, 3_000, 207);
        assert_eq!(calm, "5 s, the loss, 7 of 500 packets");
    }
}
