//! What the simulator says of the path: the same file, with a transport set up as noq is.

use super::DemoArgs;
use crate::play;
use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;
use whimbrel_units::Duration;

/// Runs with different seeds; their median is the prediction. Odd, so that the median is a run.
const SEEDS: usize = 21;

/// The prediction for one controller.
pub struct Prediction {
    /// Median goodput over the seeds, bits per second; it and the next two are those of whole transfers.
    pub goodput_bps: f64,
    /// Least and greatest goodput over the seeds.
    pub range_bps: (f64, f64),
    /// Time and bytes delivered until then, of the median run.
    pub delivered: Vec<(f64, f64)>,
}

/// A prediction for every controller, in order.
pub fn all(args: &DemoArgs) -> anyhow::Result<Vec<Prediction>> {
    let scenario = Scenario::parse(&text(args), Path::new("demo"))?;
    let runs = play::run_all(&sweep::jobs(scenario.points()), None)?;
    Ok(runs
        .chunks(SEEDS)
        .map(|seeds| prediction(args, seeds))
        .collect())
}

fn prediction(args: &DemoArgs, runs: &[sweep::Run<'_>]) -> Prediction {
    let bits = args.size.get() as f64 * 8.0;
    let seconds = |run: &sweep::Run<'_>| {
        let flow = &run.outcome.flows[0];
        flow.completion.unwrap_or(flow.active).as_secs_f64()
    };
    let mut by_time: Vec<&sweep::Run<'_>> = runs.iter().collect();
    by_time.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let median = by_time[by_time.len() / 2];
    let goodput = |run| bits / seconds(run);
    let mut sum = 0.0;
    let mut before = 0.0;
    let delivered = median.outcome.flows[0].samples.iter().map(|sample| {
        let at = sample.at.as_secs_f64();
        sum += sample.rate.as_bits_per_sec() as f64 / 8.0 * (at - before);
        before = at;
        (at, sum)
    });
    Prediction {
        goodput_bps: goodput(median),
        range_bps: (goodput(by_time[by_time.len() - 1]), goodput(by_time[0])),
        delivered: delivered
            .chain([(seconds(median), args.size.get() as f64)])
            .collect(),
    }
}

/// The path as `whimbrel link` builds it, and a transport with noq's habits: 1414 bytes of a file in a UDP payload
/// of 1452 on the wire of 1480 (headers of IP, UDP, QUIC and the stream, and the authentication tag), an
/// acknowledgment for two packets or after 25 ms, no one-second floor under the timeout, windows spread
/// over the round trip (RFC 9002 section 7.7).
fn text(args: &DemoArgs) -> String {
    let controllers: Vec<String> = args.controllers.iter().map(ToString::to_string).collect();
    // Nothing slower than this would be waited for.
    let limit = Duration::from_secs(24 * 3600);
    format!(
        "[link.L]\n\
         rate = \"{} bit/s\"\n\
         delay = \"{} ns\"\n\
         queue = \"1 bdp\"\n\
         loss = \"{}\"\n\n\
         [[flow]]\n\
         route = [\"L\"]\n\
         size = \"{} B\"\n\n\
         [run]\n\
         duration = \"{limit}\"\n\
         seeds = {SEEDS}\n\
         sample = \"100 ms\"\n\
         mss = \"1414 B\"\n\
         header = \"66 B\"\n\
         ack_delay = \"25 ms\"\n\
         min_rto = \"200 ms\"\n\
         pacing = 1.25\n\n\
         [sweep]\n\
         \"flow.controller\" = {controllers:?}\n",
        args.rate.as_bits_per_sec(),
        args.rtt.as_nanos() / 2,
        args.loss.get(),
        args.size.get(),
    )
}
