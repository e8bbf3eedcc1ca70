//! Reports of the receiver: what the controller learns from them.

use super::BurstFlow;
use crate::feedback::message::{Report, Share};
use whimbrel_cc::burst_transport::bounded_rate;
use whimbrel_cc::{BurstReport, Signal};
use whimbrel_units::{Duration, Time};

/// A held time is believed up to this: a burst is over after a silence of ten seconds at most.
const LONGEST_HELD: Duration = Duration::from_secs(10);

/// Whether packets arrive one by one, or in lumps that hide how they were spread: interrupts that
/// are coalesced, frames that are aggregated, packets that are merged.
///
/// A span has an error of about one lump at each end. With `n` instants in a burst, that is 1/n of
/// the span, and 1/n of a Jitter Ratio.
#[derive(Debug, Default)]
pub(super) struct Lumps {
    /// Mean of 1/instants over bursts with some packets, smoothed; `None` before the first.
    coarseness: Option<f64>,
}

impl Lumps {
    const WEIGHT: f64 = 1.0 / 16.0;
    /// Bursts with fewer packets say nothing.
    const LEAST: u16 = 8;
    /// A Jitter Ratio with a larger error than this decides nothing.
    const UNUSABLE: f64 = 0.2;

    fn add(&mut self, report: &Report) {
        // Packets that arrive one by one are as exact as the clock, however few there are.
        let lumpy = u32::from(report.instants) * 2 <= u32::from(report.received);
        let new = if lumpy {
            1.0 / f64::from(report.instants)
        } else {
            0.0
        };
        if report.received >= Self::LEAST {
            let old = self.coarseness.unwrap_or(new);
            self.coarseness = Some(old + Self::WEIGHT * (new - old));
        }
    }

    /// Whether jitter says nothing here.
    pub fn unusable(&self) -> bool {
        self.coarseness.is_some_and(|c| c > Self::UNUSABLE)
    }
}

impl BurstFlow {
    /// A report arrived.
    pub(super) fn on_report(&mut self, now: Time, report: &Report, share: Option<Share>) {
        let Some((burst, lost_before)) = self.ledger.take(report) else {
            return; // Repeated, or of nothing that was sent.
        };
        let held = Duration::from_micros(report.held.into()).min(LONGEST_HELD);
        let rtt = burst.sent_at(report.last).and_then(|sent| {
            let elapsed = now.since(sent).as_nanos();
            elapsed
                .checked_sub(held.as_nanos())
                .map(Duration::from_nanos)
        });
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        self.lumps.add(report);
        self.state.lumps = self.lumps.unusable();
        self.state.reported += 1;
        let spans = burst.spans(report, self.state.bandwidth);
        if let Some(spans) = spans {
            self.noise.add(spans);
            self.state.noise = self.noise.floor();
        }
        let packets = u32::from(burst.sent());
        let seen = BurstReport {
            now,
            packets,
            received: u32::from(report.received).min(packets),
            lost_before,
            interval: burst.interval(),
            increase: burst.increase,
            spans,
            rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            noise: if self.state.lumps {
                1.0
            } else {
                self.state.noise
            },
            share: share.map(|share| whimbrel_cc::Share {
                allocated: bounded_rate(share.allocated),
                delivered: bounded_rate(share.delivered),
                fairness: share.fairness,
                adapter: share.adapter,
            }),
        };
        self.state.fairness = seen.share.map(|share| share.fairness);
        self.state.allocated = seen.share.map(|share| share.allocated);
        let response = self.sender.controller.on_burst(&seen);
        self.monitor.burst(|| crate::Burst {
            number: burst.number,
            reported: now,
            packets,
            received: seen.received,
            lost_before,
            planned: burst.planned(report),
            spans,
            noise: seen.noise,
            phase: self.sender.controller.phase(),
            verdict: response.and_then(|response| response.verdict),
        });
        if let (Some(log), Some(response)) = (&self.log, response) {
            let at = self.origin + std::time::Duration::from_nanos(now.as_nanos());
            log.decision(at, Some(burst.number), response);
        }
        self.report(now, |s| {
            let rate = seen.share.map(|share| share.delivered);
            s.state.delivery_rate = rate.or(s.state.delivery_rate);
            if let Some(response) = response {
                s.episodes.count(Signal::Loss, &response);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bursts::tests::flow;
    use std::time::Instant;

    #[test]
    fn a_move_forgets_that_packets_came_in_lumps() {
        let now = Instant::now();
        let mut flow = flow(now);
        let lump = Report {
            burst: 0,
            count: 10,
            received: 10,
            first: 0,
            last: 9,
            span: 0,
            held: 0,
            instants: 1,
        };
        flow.lumps.add(&lump);
        flow.state.lumps = flow.lumps.unusable();
        assert!(flow.state.lumps);
        flow.on_moved();
        flow.before_transmit(now);
        assert!(!flow.lumps.unusable() && !flow.state.lumps);
    }
}
