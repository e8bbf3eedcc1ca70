//! The stages of a probe, and when each has measured enough.

use super::ProbeSample;
use crate::client::measure::Valve;
use whimbrel_units::Rate;

/// The full rate is measured for at least so many round trips and seconds,
const FULL: (f64, f64) = (10.0, 1.0);
/// until so many windows were measured, and the error of their mean is at most this part of it,
const WINDOWS: usize = 8;
const RATE_ERROR: f64 = 0.015;
/// or at most until this part of the time is over.
const FULL_PART: f64 = 0.4;
/// Windows of rates last a round trip, or this many seconds if that is more.
const WINDOW: f64 = 0.1;
/// The rate of the last stage over the measured one: retransmissions fit in, and the queue stays
/// empty.
const BELOW: f64 = 0.8;
/// The last stage takes at least so many round trips and seconds,
const CALM: (f64, f64) = (5.0, 1.0);
/// until the 95 % interval of the loss is at most this part of it, or this loss, to either side.
const LOSS_ERROR: (f64, f64) = (0.15, 1e-4);
/// Everything has arrived or is lost if nothing was acknowledged for so many round trips and
/// seconds.
const QUIET: (f64, f64) = (1.5, 0.1);

/// What a probe does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeStage {
    /// The rate rises to that of the path.
    Startup,
    /// As fast as the path allows: rate and buffer.
    Full,
    /// Nothing is sent until the queue is empty.
    Drain,
    /// Below the rate of the path, so that its queue is empty: RTT and random loss.
    Calm,
    /// What is in flight arrives.
    End,
}

/// Decides which stage a probe is in.
#[derive(Debug)]
pub(super) struct Stages {
    /// Seconds that may be sent.
    time: f64,
    stage: ProbeStage,
    /// The first sample of the stage.
    begin: usize,
    /// Bytes acknowledged, and since when there are not more.
    quiet: (u64, f64),
}

impl Stages {
    pub fn new(time: f64) -> Self {
        Self {
            time,
            stage: ProbeStage::Startup,
            begin: 0,
            quiet: (0, 0.0),
        }
    }

    pub fn stage(&self) -> ProbeStage {
        self.stage
    }

    /// Takes the newest of all samples into account. Returns what may leave from now on, if that
    /// changes. `exhausted`: there is no more data.
    pub fn advance(
        &mut self,
        samples: &[ProbeSample],
        min_rtt: f64,
        exhausted: bool,
    ) -> Option<Valve> {
        let now = samples.last()?;
        if now.delivered > self.quiet.0 {
            self.quiet = (now.delivered, now.at);
        }
        let of_stage = samples.get(self.begin..)?;
        let lasts = now.at - of_stage.first().map_or(now.at, |first| first.at);
        let at_least = |(rounds, seconds): (f64, f64)| lasts >= f64::max(rounds * min_rtt, seconds);
        let is_quiet = {
            let (rounds, seconds) = QUIET;
            now.at - self.quiet.1 >= rounds * now.rtt.max(min_rtt) + seconds
        };
        let is_over = now.at >= self.time || exhausted;
        let (next, valve) = match self.stage {
            ProbeStage::Startup | ProbeStage::Full | ProbeStage::Calm if is_over => {
                (ProbeStage::End, Valve::Shut)
            }
            ProbeStage::Startup if now.has_found_rate => (ProbeStage::Full, Valve::Open),
            ProbeStage::Full if at_least(FULL) => {
                let rates = rates(samples, min_rtt);
                let (mean, error) = mean_and_error(&rates);
                let few = rates.len() < WINDOWS || error > RATE_ERROR * mean;
                if few && now.at < FULL_PART * self.time {
                    return None;
                }
                (ProbeStage::Drain, Valve::Shut)
            }
            ProbeStage::Drain if is_over => (ProbeStage::End, Valve::Shut),
            ProbeStage::Drain if is_quiet => {
                let end = samples.iter().position(|s| s.stage == ProbeStage::Drain);
                let (mean, _) = mean_and_error(&rates(&samples[..end.unwrap_or(0)], min_rtt));
                let rate = Rate::from_bits_per_sec((mean * BELOW).max(1.0) as u64);
                (ProbeStage::Calm, Valve::Rate(rate))
            }
            ProbeStage::Calm if at_least(CALM) => {
                let first = of_stage.first()?;
                let sent = now.sent_packets.saturating_sub(first.sent_packets).max(1) as f64;
                let lost = now.lost_packets.saturating_sub(first.lost_packets) as f64;
                let (part, least) = LOSS_ERROR;
                // Of a Poisson count, and not zero before the first loss.
                let error = 1.96 * (lost + 1.0).sqrt() / sent;
                if error > f64::max(part * lost / sent, least) {
                    return None;
                }
                (ProbeStage::End, Valve::Shut)
            }
            ProbeStage::End if is_quiet => return Some(Valve::Ended),
            _ => return None,
        };
        self.stage = next;
        self.begin = samples.len();
        self.quiet.1 = now.at;
        Some(valve)
    }
}

/// The queue stands if the RTT is above its minimum by more than this part of it and these seconds.
const QUEUE: (f64, f64) = (0.02, 0.002);
/// A window without a queue counts if its rate is at least this part of a high one,
const NEAR: f64 = 0.95;
/// which is this quantile.
const HIGH: f64 = 0.9;

/// Rates of delivery, bit/s, in windows of a round trip or more in which the path was the limit:
/// throughout, its queue stood, or the rate was as high as in the best windows. In the others the
/// sender held back.
pub(super) fn rates(samples: &[ProbeSample], min_rtt: f64) -> Vec<f64> {
    let window = f64::max(WINDOW, min_rtt);
    let queued = min_rtt * (1.0 + QUEUE.0) + QUEUE.1;
    let mut windows: Vec<(f64, bool)> = Vec::new();
    let Some(mut begin) = samples.first() else {
        return Vec::new();
    };
    let mut stands = true;
    for sample in samples {
        stands &= sample.rtt > queued;
        let span = sample.at - begin.at;
        if span >= window {
            let bytes = sample.delivered.saturating_sub(begin.delivered);
            windows.push((bytes as f64 * 8.0 / span, stands));
            (begin, stands) = (sample, true);
        }
    }
    let mut sorted: Vec<f64> = windows.iter().map(|(rate, _)| *rate).collect();
    sorted.sort_by(f64::total_cmp);
    let high = sorted.get((HIGH * sorted.len() as f64) as usize);
    let near = NEAR * high.copied().unwrap_or(0.0);
    let counts = |(rate, stands): &(f64, bool)| *rate > 0.0 && (*stands || *rate >= near);
    windows
        .iter()
        .filter(|one| counts(one))
        .map(|(rate, _)| *rate)
        .collect()
}

/// The mean, and its standard error; 0 without values, and infinite for less than three.
pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 3 {
        return (mean, f64::INFINITY);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 0.01;

    /// Plays a path of 10 Mbit/s, 100 ms and 1 % loss on which the rate is found after `found`
    /// seconds. Returns the stages with their ends, and the rate of the calm one.
    fn play(time: f64, found: f64) -> (Vec<(ProbeStage, f64)>, Option<Rate>) {
        let (mut stages, mut samples) = (Stages::new(time), Vec::new());
        let (mut sending, mut calm, mut ends) = (1.0, None, Vec::new());
        let (mut bytes, mut packets) = (0.0, 0.0);
        for i in 0..20_000 {
            let at = f64::from(i) * STEP;
            let part: f64 = if at < found { 0.5 } else { sending };
            bytes += part * 1.25e6 * STEP;
            packets += part * 1000.0 * STEP;
            let stage = stages.stage();
            samples.push(ProbeSample {
                at,
                stage,
                has_found_rate: at >= found,
                delivered: bytes as u64,
                sent_packets: packets as u64,
                lost_packets: (packets * 0.01) as u64,
                rtt: if stage == ProbeStage::Full { 0.15 } else { 0.1 },
            });
            match stages.advance(&samples, 0.1, false) {
                None => continue,
                Some(Valve::Open) => {}
                Some(Valve::Rate(rate)) => {
                    calm = Some(rate);
                    sending = 0.8;
                }
                Some(Valve::Shut) => sending = 0.0,
                Some(Valve::Ended) => {
                    ends.push((stage, at));
                    return (ends, calm);
                }
            }
            ends.push((stage, at));
        }
        panic!("the probe does not end: {ends:?}");
    }

    #[test]
    fn a_probe_ends_when_it_is_sure() {
        let (ends, calm) = play(40.0, 2.0);
        let stages: Vec<_> = ends.iter().map(|(stage, _)| *stage).collect();
        use ProbeStage::{Calm, Drain, End, Full, Startup};
        assert_eq!(stages, [Startup, Full, Drain, Calm, End]);
        let calm = calm.expect("a rate").as_bits_per_sec() as f64;
        assert!((calm / 8e6 - 1.0).abs() < 0.03, "{calm}");
        // 171 losses at 8 a second.
        let lasted = ends[3].1 - ends[2].1;
        assert!((20.0..24.0).contains(&lasted), "{lasted}");
    }

    #[test]
    fn a_probe_ends_when_its_time_is_over() {
        let (ends, calm) = play(1.0, 2.0);
        assert_eq!(ends[0], (ProbeStage::Startup, 1.0));
        assert!(calm.is_none() && ends.len() == 2, "{ends:?}");
        let (ends, _) = play(10.0, 2.0);
        assert_eq!(ends[3], (ProbeStage::Calm, 10.0));
    }

    #[test]
    fn windows_in_which_the_sender_held_back_do_not_count() {
        // 8 Mbit/s while a queue stands, 4 Mbit/s while it stands in a fade, 2 Mbit/s without one.
        let phases = [(100_u32, 1.0, 0.2), (50, 0.5, 0.3), (100, 0.25, 0.1)];
        let (mut samples, mut bytes, mut at) = (Vec::new(), 0.0, 0.0);
        for (steps, part, rtt) in phases {
            for _ in 0..steps {
                at += STEP;
                bytes += part * 1e6 * STEP;
                samples.push(ProbeSample {
                    at,
                    stage: ProbeStage::Full,
                    has_found_rate: true,
                    delivered: bytes as u64,
                    sent_packets: 0,
                    lost_packets: 0,
                    rtt,
                });
            }
        }
        let rates = rates(&samples, 0.1);
        assert!((13..=15).contains(&rates.len()), "{rates:?}");
        assert!(rates.iter().all(|rate| *rate > 3e6), "{rates:?}");
        let (mean, error) = mean_and_error(&rates);
        assert!(
            (6.2e6..7.2e6).contains(&mean) && error < 0.8e6,
            "{mean} {error}"
        );
        assert_eq!(mean_and_error(&[1.0, 3.0]).1, f64::INFINITY);
    }
}
