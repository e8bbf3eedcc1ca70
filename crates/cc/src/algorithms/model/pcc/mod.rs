//! Performance-oriented congestion control (PCC): the sender tries rates, measures a utility of each,
//! and moves towards the greater one.
//!
//! What `allegro.rs` and `vivace.rs` share: the sender cuts time into monitor intervals
//! (`monitor.rs`), sends each at a rate that the algorithm chooses, and reports rate, loss and
//! growth of the RTT of an interval when it is complete, about a round trip later. While it waits,
//! it sends at the rate between the trials.
//!
//! **Start** (both papers): the rate doubles with each interval until the utility falls, then the
//! rate before is used.
//!
//! **Where this departs from the papers.**
//! * The transport has a window: it is twice the rate times the smoothed RTT, and never limits the
//!   rate, except when acknowledgments stop.
//! * The first rate is the initial window of the transport over the first RTT; the papers begin
//!   with two segments. The first interval is no trial: of a real transport some packets leave
//!   before the first pacing rate holds, and count as a higher rate than the next.
//! * Of the start one trial is without a report, and until it comes the sender goes on at the rate
//!   before, as in the authors' code for QUIC (`pcc_sender.cc`: `CreateUsefulInterval`,
//!   `GetSendingRateForNonUsefulInterval`). The papers double with each interval, which with a long
//!   queue would be several doublings too many.
//! * The papers have no timer. After a timeout the rate stays and learning begins anew, as in the
//!   authors' module for Linux (`tcp_pcc.c`, `pcc_set_state`); a start ends at its best rate.
//! * A report of an interval that the application or the receiver limited changes no rate, unless
//!   more than a twentieth was lost: then the rate is too high, whatever limits it besides.

mod allegro;
mod monitor;
mod vivace;

pub(crate) use allegro::ENTRY as ALLEGRO;
pub(crate) use vivace::ENTRY as VIVACE;

use crate::building_blocks::splitmix::SplitMix64;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Timeout};
use crate::registry::entry::Setup;
use monitor::{Monitor, Report, Trial};
use std::fmt::Debug;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Minimum and maximum rate, bytes per second.
const RATES: (f64, f64) = (100.0, 1e12);
/// Minimum and maximum length of a monitor interval.
const LENGTHS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_secs(10));
/// Minimum number of packets in a monitor interval (section 2.1 of the paper on Allegro).
const MIN_PACKETS: f64 = 10.0;
/// Loss above which a limited interval counts all the same: Allegro's limit.
const TOO_MUCH: f64 = 0.05;

/// What the two algorithms differ in.
trait Learner: Clone + Debug + Send + Sync + 'static {
    /// The utility of a complete interval.
    fn utility(&self, report: &Report) -> f64;
    /// The length of the next interval as a multiple of the RTT.
    fn length(&self, random: &mut SplitMix64) -> f64;
    /// Begins to learn at this rate.
    fn begin(&mut self, rate: f64);
    /// The rate of the next interval, and its number if it is a trial.
    fn next(&mut self, random: &mut SplitMix64) -> (f64, Option<u32>);
    /// A trial of the present phase is complete. Returns whether a new phase begins.
    fn learn(&mut self, number: u32, utility: f64, report: &Report) -> bool;
    /// The name of its state.
    fn phase(&self) -> &'static str;
}

/// The start: doubles the rate until the utility falls.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// The rate of the last trial, and of the one before.
    rate: f64,
    before: f64,
    /// The first interval has begun.
    paced: bool,
    /// Trials begun and reported.
    begun: u32,
    reported: u32,
    /// Rate and utility of the best trial.
    best: Option<(f64, f64)>,
}

impl Start {
    fn new(rate: f64) -> Self {
        Self {
            rate,
            before: rate,
            paced: false,
            begun: 0,
            reported: 0,
            best: None,
        }
    }

    fn next(&mut self) -> (f64, Option<u32>) {
        if self.begun > self.reported || !self.paced {
            self.paced = true;
            return (self.before, None);
        }
        if self.begun > 0 {
            self.before = self.rate;
            self.rate = (self.rate * 2.0).min(RATES.1);
        }
        self.begun += 1;
        (self.rate, Some(self.begun - 1))
    }

    /// The rate at which to go on, if the start is over.
    fn learn(&mut self, utility: f64, report: &Report) -> Option<f64> {
        self.reported += 1;
        if report.app_limited {
            self.rate = self.before;
            return None;
        }
        match self.best {
            Some((rate, best)) if utility < best => Some(rate),
            _ => {
                self.best = Some((report.rate, utility));
                None
            }
        }
    }
}

/// A sender that learns its rate.
#[derive(Debug, Clone)]
struct Pcc<L> {
    monitor: Monitor,
    /// While the rate doubles.
    start: Option<Start>,
    learner: L,
    /// Number of the present phase.
    phase: u32,
    /// Bytes per second; `None` before the first RTT.
    rate: Option<f64>,
    srtt: Duration,
    mss: u64,
    cwnd: u64,
    random: SplitMix64,
}

impl<L: Learner> Pcc<L> {
    fn new(setup: &Setup, learner: L) -> Self {
        let mss = setup.mss.get().max(1);
        Self {
            monitor: Monitor::default(),
            start: None,
            learner,
            phase: 0,
            rate: None,
            srtt: Duration::ZERO,
            mss,
            cwnd: setup.initial_window.get().max(mss),
            random: SplitMix64::new(setup.seed),
        }
    }

    /// Begins the start at this rate, bytes per second.
    fn restart(&mut self, rate: f64) {
        let rate = bounded(rate);
        self.phase = self.phase.wrapping_add(1);
        self.start = Some(Start::new(rate));
        self.rate = Some(rate);
    }

    /// Chooses the rate of the next interval, and begins it.
    fn begin_interval(&mut self, now: Time) {
        if self.rate.is_none() {
            return;
        }
        let (rate, number) = match &mut self.start {
            Some(start) => start.next(),
            None => self.learner.next(&mut self.random),
        };
        let rate = bounded(rate);
        self.rate = Some(rate);
        let factor = self.learner.length(&mut self.random);
        let packets = Duration::from_secs_f64(MIN_PACKETS * self.mss as f64 / rate);
        let length = self.srtt.mul_f64(factor).max(packets);
        let trial = Trial {
            phase: self.phase,
            number,
        };
        let length = length.clamp(LENGTHS.0, LENGTHS.1);
        self.monitor.begin(now, length, rate, trial);
    }

    fn on_report(&mut self, report: &Report) {
        let Some(number) = report.trial.number else {
            return;
        };
        if report.trial.phase != self.phase {
            return;
        }
        let report = &Report {
            app_limited: report.app_limited && report.loss <= TOO_MUCH,
            ..*report
        };
        let utility = self.learner.utility(report);
        if let Some(start) = &mut self.start {
            if let Some(rate) = start.learn(utility, report) {
                self.learn_from(rate);
            }
        } else if self.learner.learn(number, utility, report) {
            self.phase = self.phase.wrapping_add(1);
        }
    }

    /// Ends the start, and begins to learn at this rate.
    fn learn_from(&mut self, rate: f64) {
        self.start = None;
        self.learner.begin(rate);
        self.phase = self.phase.wrapping_add(1);
    }

    /// The window that never limits the rate.
    fn set_window(&mut self) {
        if let Some(rate) = self.rate {
            let window = 2.0 * rate * self.srtt.as_secs_f64() + MIN_PACKETS * self.mss as f64;
            self.cwnd = (window as u64).max(self.mss);
        }
    }
}

fn bounded(rate: f64) -> f64 {
    if rate.is_finite() {
        rate.clamp(RATES.0, RATES.1)
    } else {
        RATES.0
    }
}

impl<L: Learner> Controller for Pcc<L> {
    fn on_sent(&mut self, now: Time, size: Bytes, _in_flight: Bytes) {
        if self.monitor.is_due(now) {
            self.begin_interval(now);
        }
        self.monitor.on_sent(size);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.monitor.on_ack(ack);
        if self.rate.is_none() && !ack.srtt.is_zero() {
            self.restart(self.cwnd as f64 / ack.srtt.as_secs_f64());
        }
        while let Some(report) = self.monitor.report(ack) {
            self.on_report(&report);
        }
        self.set_window();
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.monitor.on_packet_lost(lost);
    }

    fn on_loss(&mut self, _loss: &Loss) -> LossResponse {
        LossResponse::KEPT
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        if let Some(rate) = self.rate {
            let best = self.start.as_ref().and_then(|start| start.best);
            let rate = best.map_or(rate, |(rate, _)| rate);
            self.learn_from(rate);
            self.rate = Some(rate);
        }
        let least = (MIN_PACKETS as u64).saturating_mul(self.mss);
        self.cwnd = self.cwnd.min(least).max(self.mss);
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
        self.cwnd = self.cwnd.max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.rate? as u64;
        Some(Rate::from_bytes_per_sec(rate.max(1)))
    }

    fn phase(&self) -> &'static str {
        match &self.start {
            Some(_) => "start",
            None if self.rate.is_none() => "first round trip",
            None => self.learner.phase(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rate: f64) -> Report {
        Report {
            trial: Trial {
                phase: 0,
                number: Some(0),
            },
            rate,
            sent: rate,
            loss: 0.0,
            rtt_gradient: 0.0,
            app_limited: false,
        }
    }

    #[test]
    fn the_start_doubles_until_the_utility_falls_and_goes_back() {
        let mut start = Start::new(1000.0);
        assert_eq!(start.next(), (1000.0, None), "the pacing rate begins");
        assert_eq!(start.next(), (1000.0, Some(0)));
        assert_eq!(start.next(), (1000.0, None), "one is without a report");
        assert_eq!(start.learn(1.0, &report(1000.0)), None);
        assert_eq!(start.next(), (2000.0, Some(1)));
        assert_eq!(start.next(), (1000.0, None), "the rate before");
        assert_eq!(start.learn(2.0, &report(2000.0)), None);
        assert_eq!(start.next(), (4000.0, Some(2)));
        assert_eq!(start.learn(1.9, &report(4000.0)), Some(2000.0));
    }
}
