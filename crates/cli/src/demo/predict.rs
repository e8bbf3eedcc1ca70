//! What the simulator predicts for the path: the same file, with a transport configured like noq,
//! or like Linux TCP.

use super::{DemoArgs, LARGEST, Trial};
use crate::runs;
use crate::transports::QUIC;
use std::path::Path;
use whimbrel_net::Outage;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;
use whimbrel_units::{Bytes, Duration};

/// Runs with different seeds; their median is the prediction. Odd, so that the median is a run.
pub const SEEDS: usize = 21;
/// Sizes that are chosen are a multiple of this.
const STEP: u64 = 64 << 10;
/// No transfer is simulated for longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How much a simulated flow sends.
enum Length {
    /// A file.
    Size(Bytes),
    /// As much as it can.
    Time(Duration),
}

/// The prediction for one controller.
pub struct Prediction {
    /// Size of the file.
    pub size: Bytes,
    /// Median goodput over the seeds, in bits per second. Goodput is that of the whole transfer.
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

/// A prediction for every controller, in order.
///
/// # Errors
/// If the simulator refuses the path.
pub fn all(args: &DemoArgs) -> anyhow::Result<Vec<Prediction>> {
    let predict = |controller| match args.size {
        Some(size) => of(&args.trial(controller), size, SEEDS),
        None => {
            let trial = args.trial(controller);
            of(&trial, suitable_size(&trial, args.time)?, SEEDS)
        }
    };
    args.controllers.iter().map(predict).collect()
}

/// What the controller delivers in this time, by the median over the seeds: at least one [`STEP`],
/// at most [`LARGEST`].
///
/// # Errors
/// If the simulator refuses the path.
pub fn suitable_size(trial: &Trial<'_>, time: Duration) -> anyhow::Result<Bytes> {
    let text = text(trial, Length::Time(time), SEEDS);
    let scenario = Scenario::parse(&text, Path::new("demo"))?;
    let runs = runs::run_all(&sweep::jobs(scenario.points()), None)?;
    let delivered = |run: &sweep::Run<'_>| run.outcome.flows[0].delivered.get();
    let mut delivered: Vec<u64> = runs.iter().map(delivered).collect();
    delivered.sort_unstable();
    let median = delivered[delivered.len() / 2].min(LARGEST.get());
    Ok(Bytes::new((median / STEP * STEP).max(STEP)))
}

/// The prediction for a file of this size, from runs with the seeds 1 to `seeds`.
///
/// # Errors
/// If the simulator refuses the path.
pub fn of(trial: &Trial<'_>, size: Bytes, seeds: usize) -> anyhow::Result<Prediction> {
    let text = text(trial, Length::Size(size), seeds);
    let scenario = Scenario::parse(&text, Path::new("demo"))?;
    let mut runs = runs::run_all(&sweep::jobs(scenario.points()), None)?;
    let time = |run: &sweep::Run<'_>| {
        let flow = &run.outcome.flows[0];
        flow.completion.unwrap_or(flow.active)
    };
    runs.sort_by_key(time);
    let bits = size.get() as f64 * 8.0;
    let goodput = |run| bits / time(run).as_secs_f64();
    let median = &runs[runs.len() / 2];
    let mut sum = 0.0;
    let mut before = 0.0;
    let delivered = median.outcome.flows[0].samples.iter().map(|sample| {
        let at = sample.at.as_secs_f64();
        sum += sample.rate.as_bits_per_sec() as f64 / 8.0 * (at - before);
        before = at;
        (at, sum)
    });
    let end = (time(median).as_secs_f64(), size.get() as f64);
    let flow = &median.outcome.flows[0];
    let known = flow.samples.iter().filter(|sample| !sample.srtt.is_zero());
    let rtts = known.map(|sample| (sample.at.as_secs_f64(), sample.srtt.as_millis_f64()));
    Ok(Prediction {
        size,
        goodput_bps: goodput(median),
        range_bps: (goodput(&runs[runs.len() - 1]), goodput(&runs[0])),
        longest: time(&runs[runs.len() - 1]),
        delivered: delivered.chain([end]).collect(),
        rtts: rtts.collect(),
        lost: flow.lost.total() as f64 / flow.packets_sent.max(1) as f64,
    })
}

/// The path as `whimbrel link` builds it, and a transport with [noq's settings](QUIC). Linux TCP
/// differs from the simulator's defaults in the minimum of the timeout only. AATP has packets of its own,
/// of 1500 bytes, of which 1429 are the file's: the same part as on QUIC within 0.3 %.
fn text(trial: &Trial<'_>, length: Length, seeds: usize) -> String {
    let (duration, size) = match length {
        Length::Size(size) => (LONGEST, format!("size = \"{} B\"\n", size.get())),
        Length::Time(time) => (time, String::new()),
    };
    let outage = |o: &Outage| format!("[\"{} ns\", \"{} ns\"]", o.from.as_nanos(), o.to.as_nanos());
    let outages: Vec<String> = trial.outages.iter().map(outage).collect();
    let controller = trial.controller;
    let transport = match trial.tcp {
        false if controller.entry().is_fed_bursts() => "",
        false => QUIC,
        true => "min_rto = \"200 ms\"\n",
    };
    format!(
        "[link.L]\n\
         rate = \"{} bit/s\"\n\
         delay = \"{} ns\"\n\
         queue = {:?}\n\
         loss = {{ random = \"{}\", outages = [{}] }}\n\n\
         [[flow]]\n\
         route = [\"L\"]\n\
         controller = \"{controller}\"\n\
         {size}\n\
         [run]\n\
         duration = \"{} ns\"\n\
         seeds = {seeds}\n\
         sample = \"100 ms\"\n\
         {transport}",
        trial.rate.as_bits_per_sec(),
        trial.rtt.as_nanos() / 2,
        trial.queue,
        trial.loss.get(),
        outages.join(", "),
        duration.as_nanos(),
    )
}
