//! What the simulator predicts for the transfer of a file: over QUIC with noq's settings, or over
//! Linux TCP.

use crate::path::{LINK, Recorded};
use crate::runs::run_all;
use crate::transport::Transport;
use crate::{BadInput, Error, Observer};
use std::cmp::Reverse;
use whimbrel_cc::Spec;
use whimbrel_net::{LinkSpec, Outage, Queue};
use whimbrel_sim::FlowOutcome;
use whimbrel_sim::scenario::{
    Direction, Flow, Link, Loss, Run as RunSpec, Scenario, ScenarioSpec, Settings, Written,
    constant_rate, half_of,
};
use whimbrel_sim::sweep::{self, Run};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Sizes that are chosen are a multiple of this.
const STEP: u64 = 64 << 10;
/// No transfer is simulated for longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The interval of the curves.
const SAMPLE: Duration = Duration::from_millis(100);

/// One transfer: a file over a path with an algorithm.
#[derive(Debug, Clone)]
pub struct Transfer<'a> {
    /// Rate of the path; of a recorded one its mean.
    pub rate: Rate,
    /// Recorded rates instead.
    pub recorded: &'a Recorded,
    /// Base RTT of the path.
    pub rtt: Duration,
    /// Buffer size of the path.
    pub queue: Queue,
    /// Random loss of data packets.
    pub loss: Probability,
    /// Spans in which everything is lost, in order.
    pub outages: &'a [Outage],
    /// The algorithm.
    pub controller: &'a Spec,
    /// Over Linux TCP instead of QUIC.
    pub tcp: bool,
}

/// The prediction for one controller.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// Size of the file.
    pub size: Bytes,
    /// Median goodput over the seeds, in bits per second. Goodput is that of the whole transfer, or
    /// of the part that arrived in the longest time that is simulated.
    pub goodput_bps: f64,
    /// Minimum and maximum goodput over the seeds, in bits per second.
    pub range_bps: (f64, f64),
    /// The longest transfer among the seeds.
    pub longest: Duration,
    /// Times in seconds and bytes delivered until then, of the median run.
    pub delivered: Vec<(f64, f64)>,
    /// Times in seconds and the smoothed round-trip time then, in milliseconds, of the median run.
    pub rtts: Vec<(f64, f64)>,
    /// Packets lost, of those sent, in the median run.
    pub lost: f64,
}

impl Transfer<'_> {
    /// What the controller delivers in this time, by the median over `seeds` runs: at least 64 KiB,
    /// at most `largest`.
    ///
    /// # Errors
    /// If the path is wrong, or the observer stops it.
    pub fn suitable_size(
        &self,
        time: Duration,
        largest: Bytes,
        seeds: u32,
        observer: &dyn Observer,
    ) -> Result<Bytes, Error> {
        let scenario = self.scenario(None, time, seeds)?;
        let runs = run_all(&sweep::jobs(scenario.points()), None, observer)?;
        let delivered = |run: &Run<'_>| run.outcome.flows[0].delivered.get();
        let mut delivered: Vec<u64> = runs.iter().map(delivered).collect();
        delivered.sort_unstable();
        let median = delivered[delivered.len() / 2].min(largest.get());
        Ok(Bytes::new((median / STEP * STEP).max(STEP)))
    }

    /// The prediction for a file of this size, from runs with the seeds 1 to `seeds`; odd, so that
    /// the median is a run.
    ///
    /// # Errors
    /// As [`Self::suitable_size`].
    pub fn predict(
        &self,
        size: Bytes,
        seeds: u32,
        observer: &dyn Observer,
    ) -> Result<Prediction, Error> {
        let scenario = self.scenario(Some(size), LONGEST, seeds)?;
        let mut runs = run_all(&sweep::jobs(scenario.points()), None, observer)?;
        let time = |run: &Run<'_>| delivered(&run.outcome.flows[0], size).1;
        let delivered = |run: &Run<'_>| delivered(&run.outcome.flows[0], size).0.get();
        runs.sort_by_key(|run| (time(run), Reverse(delivered(run))));
        let goodput = |run| delivered(run) as f64 * 8.0 / time(run).as_secs_f64();
        let median = &runs[runs.len() / 2];
        let mut sum = 0.0;
        let mut before = 0.0;
        let curve = median.outcome.flows[0].samples.iter().map(|sample| {
            let at = sample.at.as_secs_f64();
            sum += sample.rate.as_bits_per_sec() as f64 / 8.0 * (at - before);
            before = at;
            (at, sum)
        });
        let end = (time(median).as_secs_f64(), delivered(median) as f64);
        let flow = &median.outcome.flows[0];
        let known = flow.samples.iter().filter(|sample| !sample.srtt.is_zero());
        let rtts = known.map(|sample| (sample.at.as_secs_f64(), sample.srtt.as_millis_f64()));
        Ok(Prediction {
            size,
            goodput_bps: goodput(median),
            range_bps: (goodput(&runs[runs.len() - 1]), goodput(&runs[0])),
            longest: time(&runs[runs.len() - 1]),
            delivered: curve.chain([end]).collect(),
            rtts: rtts.collect(),
            lost: flow.lost.total() as f64 / flow.packets_sent.max(1) as f64,
        })
    }

    /// The seconds that the file takes: the median over `seeds` runs.
    ///
    /// # Errors
    /// As [`Self::suitable_size`].
    pub fn seconds(&self, size: Bytes, seeds: u32, observer: &dyn Observer) -> Result<f64, Error> {
        let prediction = self.predict(size, seeds, observer)?;
        Ok(size.get() as f64 * 8.0 / prediction.goodput_bps.max(1.0))
    }

    /// The two directions of the path, as they are simulated: from sender to receiver, and back.
    ///
    /// # Errors
    /// If the path is wrong.
    pub fn links(&self) -> Result<[LinkSpec; 2], Error> {
        let scenario = self.scenario(None, LONGEST, 1)?;
        let network = scenario.points().first().map(|point| point.network(1));
        let links = network.into_iter().flat_map(|network| network.links);
        let links: Vec<LinkSpec> = links.map(|link| link.spec).collect();
        links
            .try_into()
            .map_err(|_| BadInput::new("a path has two directions").into())
    }

    /// The path as `whimbrel link` builds it. Linux TCP differs from the simulator's defaults in
    /// the minimum of the timeout only. AATP has packets of its own, of 1500 bytes, of which 1429
    /// are the file's: the same part as on QUIC within 0.3 %.
    fn scenario(
        &self,
        size: Option<Bytes>,
        duration: Duration,
        seeds: u32,
    ) -> Result<Scenario, Error> {
        let loss = Loss {
            outages: Some(self.outages.to_vec()),
            ..Loss::random(self.loss)
        };
        let Recorded { forward, back } = self.recorded;
        let mut link = Link::new(LINK);
        link.reverse.rate = back.clone();
        link.forward = Direction {
            rate: Some(match forward {
                Some(recorded) => recorded.clone(),
                None => constant_rate(&Written::of("rate", self.rate))?,
            }),
            delay: Some(half_of(&Written::of("rtt", self.rtt))),
            queue: Some(Written::of("queue", self.queue)),
            aqm: None,
            loss: Some(Written::of("loss", loss)),
        };
        let text = self.controller.to_string();
        let mut flow = Flow::new(Written::new("controller", self.controller.clone(), text));
        if let Some(data) = flow.data_mut() {
            data.size = size.map(|size| Written::of("size", size));
        }
        let bursts = self.controller.entry().is_fed_bursts();
        let mut settings = match self.tcp || bursts {
            true => Settings::default(),
            false => Transport::Quic.settings(),
        };
        if self.tcp {
            settings.tcp.min_rto = Duration::from_millis(200);
        }
        let run = RunSpec {
            duration: Written::of("time", duration),
            seeds: RunSpec::seeds(&Written::of("seeds", seeds))?,
            sample: Some(SAMPLE),
            settings,
            ..RunSpec::default()
        };
        Ok(Scenario::new(&ScenarioSpec::on(link, vec![flow], run))?)
    }
}

/// What a flow delivered of a file of this size, and in which time: all of it, or what arrived
/// until the end of the run.
pub fn delivered(flow: &FlowOutcome, size: Bytes) -> (Bytes, Duration) {
    match flow.completion {
        Some(time) => (size, time),
        None => (flow.delivered, flow.active),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use whimbrel_net::QueueLimit;

    #[test]
    fn a_file_that_does_not_arrive_in_a_day_was_not_delivered_in_a_day() {
        let transfer = Transfer {
            rate: Rate::from_bits_per_sec(2_000),
            recorded: &Recorded::default(),
            rtt: Duration::from_millis(100),
            queue: Queue::Fixed(QueueLimit::Packets(20)),
            loss: Probability::ZERO,
            outages: &[],
            controller: &"newreno".parse().expect("an algorithm"),
            tcp: false,
        };
        // 2 kbit/s carry 21.6 MB in a day.
        let size = Bytes::new(100_000_000);
        let found = transfer
            .predict(size, 1, &Unobserved)
            .expect("a prediction");
        assert!((1_500.0..2_000.0).contains(&found.goodput_bps), "{found:?}");
        assert_eq!(found.range_bps, (found.goodput_bps, found.goodput_bps));
        let (at, bytes) = *found.delivered.last().expect("an end");
        assert_eq!(at, LONGEST.as_secs_f64());
        assert!((16e6..21.6e6).contains(&bytes), "{bytes}");
        // It takes 4.6 days or more, not one.
        let seconds = transfer.seconds(size, 1, &Unobserved).expect("a time");
        assert!((400_000.0..540_000.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn the_prediction_is_the_median_of_the_runs() {
        let transfer = Transfer {
            rate: Rate::from_bits_per_sec(10_000_000),
            recorded: &Recorded::default(),
            rtt: Duration::from_millis(50),
            queue: Queue::Bdp(1.0),
            loss: Probability::new(0.02).expect("a probability"),
            outages: &[],
            controller: &"newreno".parse().expect("an algorithm"),
            tcp: false,
        };
        let size = Bytes::new(2_000_000);
        let of = |seeds| {
            let found = transfer.predict(size, seeds, &Unobserved);
            found.expect("a prediction")
        };
        let (low, high) = of(3).range_bps;
        let middle = of(3).goodput_bps;
        assert!(low < middle && middle < high, "{low} {middle} {high}");
        // Losses and round-trip times are those of the same run.
        let scenario = transfer.scenario(Some(size), LONGEST, 3).expect("a path");
        let runs = run_all(&sweep::jobs(scenario.points()), None, &Unobserved).expect("runs");
        let mut flows: Vec<&FlowOutcome> = runs.iter().map(|run| &run.outcome.flows[0]).collect();
        flows.sort_by_key(|flow| flow.completion);
        let lost = |flow: &FlowOutcome| flow.lost.total() as f64 / flow.packets_sent as f64;
        let found = of(3);
        assert_eq!(found.lost, lost(flows[1]));
        assert!(lost(flows[0]) != found.lost && lost(flows[2]) != found.lost);
        let last = flows[1].samples.last().expect("samples");
        let last = (last.at.as_secs_f64(), last.srtt.as_millis_f64());
        assert_eq!(found.rtts.last(), Some(&last));
        let (low, high) = of(5).range_bps;
        let middle = of(5).goodput_bps;
        assert!(low < middle && middle < high, "{low} {middle} {high}");
    }
}
