//! What the simulator predicts for the path: the same file, with a transport configured like noq,
//! or like Linux TCP.

use super::{DemoArgs, LARGEST};
use crate::runs;
use std::path::Path;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;
use whimbrel_units::{Bytes, Duration};

/// Runs with different seeds; their median is the prediction. Odd, so that the median is a run.
const SEEDS: usize = 21;
/// Sizes that are chosen are a multiple of this.
const STEP: u64 = 64 << 10;
/// No transfer is simulated for longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

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
}

/// A prediction for every controller, in order.
///
/// # Errors
/// If the simulator refuses the path.
pub fn all(args: &DemoArgs) -> anyhow::Result<Vec<Prediction>> {
    let predict = |controller| match args.size {
        Some(size) => prediction(args, controller, size),
        None => prediction(args, controller, suitable_size(args, controller)?),
    };
    args.controllers.iter().map(predict).collect()
}

/// What the controller delivers in [`DemoArgs::time`], by the median over the seeds: at least one
/// [`STEP`], at most [`LARGEST`].
fn suitable_size(args: &DemoArgs, controller: &Spec) -> anyhow::Result<Bytes> {
    let scenario = Scenario::parse(&text(args, controller, None), Path::new("demo"))?;
    let runs = runs::run_all(&sweep::jobs(scenario.points()), None)?;
    let delivered = |run: &sweep::Run<'_>| run.outcome.flows[0].delivered.get();
    let mut delivered: Vec<u64> = runs.iter().map(delivered).collect();
    delivered.sort_unstable();
    let median = delivered[delivered.len() / 2].min(LARGEST.get());
    Ok(Bytes::new((median / STEP * STEP).max(STEP)))
}

fn prediction(args: &DemoArgs, controller: &Spec, size: Bytes) -> anyhow::Result<Prediction> {
    let scenario = Scenario::parse(&text(args, controller, Some(size)), Path::new("demo"))?;
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
    Ok(Prediction {
        size,
        goodput_bps: goodput(median),
        range_bps: (goodput(&runs[runs.len() - 1]), goodput(&runs[0])),
        longest: time(&runs[runs.len() - 1]),
        delivered: delivered.chain([end]).collect(),
    })
}

/// The path as `whimbrel link` builds it, and a transport with noq's settings: 1414 bytes of a file
/// in a UDP payload of 1452, 1480 on the wire (headers of IP, UDP, QUIC and the stream, and the
/// authentication tag), an acknowledgment for two packets or after 25 ms, no minimum of one second
/// for the timeout, windows paced over the round trip (RFC 9002 section 7.7). Linux TCP differs from
/// the simulator's defaults in the minimum of the timeout only. Without a size the flow sends for
/// [`DemoArgs::time`].
fn text(args: &DemoArgs, controller: &Spec, size: Option<Bytes>) -> String {
    let (duration, size) = match size {
        Some(size) => (LONGEST, format!("size = \"{} B\"\n", size.get())),
        None => (args.time, String::new()),
    };
    let transport = match args.tcp {
        false => {
            "mss = \"1414 B\"\nheader = \"66 B\"\nack_delay = \"25 ms\"\n\
             min_rto = \"200 ms\"\npacing = 1.25\n"
        }
        true => "min_rto = \"200 ms\"\n",
    };
    format!(
        "[link.L]\n\
         rate = \"{} bit/s\"\n\
         delay = \"{} ns\"\n\
         queue = \"1 bdp\"\n\
         loss = \"{}\"\n\n\
         [[flow]]\n\
         route = [\"L\"]\n\
         controller = \"{controller}\"\n\
         {size}\n\
         [run]\n\
         duration = \"{} ns\"\n\
         seeds = {SEEDS}\n\
         sample = \"100 ms\"\n\
         {transport}",
        args.rate.as_bits_per_sec(),
        args.rtt.as_nanos() / 2,
        args.loss.get(),
        duration.as_nanos(),
    )
}
