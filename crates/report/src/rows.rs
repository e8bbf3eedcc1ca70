//! Runs grouped over their seeds: what a table shows.

use crate::Stat;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome};

/// One point, or the flows of one controller where several share a point: mean and spread over the seeds.
#[derive(Debug, Clone)]
pub struct Row {
    /// The swept values.
    pub parameters: Vec<Parameter>,
    /// The controller of these flows; `udp` for datagrams.
    pub controller: String,
    /// How many flows.
    pub flows: usize,
    /// Goodput of these flows together, bits per second of the run.
    pub goodput: Stat,
    /// `goodput` over what the links would carry (see [`Point::capacity`](whimbrel_sim::scenario::Point::capacity)), if they have a limit.
    pub share: Option<Stat>,
    /// Mean RTT over all samples of these flows, seconds.
    pub rtt_mean: Option<Stat>,
    /// 95th percentile of the RTT, mean over these flows, seconds.
    pub rtt_p95: Option<Stat>,
    /// Mean wait in the queue that was longest, seconds.
    pub queue_delay: Stat,
    /// Data packets that were sent again, over data packets sent.
    pub retransmits: Stat,
    /// Data packets that were lost for any cause, over data packets sent.
    pub loss: Stat,
    /// Data packets that arrived marked, over data packets sent, if there were any.
    pub marked: Option<Stat>,
    /// Jain's index of all flows of the run.
    pub jain: Stat,
    /// Share of the right decisions on losses, if the controller tells them apart and there were any.
    pub accuracy: Option<Stat>,
    /// Mean time from start to completion, seconds, if all these flows had an end and reached it.
    pub completion: Option<Stat>,
}

/// Groups runs that are in the order of [`jobs`](whimbrel_sim::sweep::jobs).
pub fn rows(runs: &[Run<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
        let mut controllers: Vec<&str> = Vec::new();
        for flow in &runs[0].outcome.flows {
            let name = controller(flow);
            if !controllers.contains(&name) {
                controllers.push(name);
            }
        }
        rows.extend(controllers.iter().filter_map(|name| row(runs, name)));
    }
    rows
}

fn controller(flow: &FlowOutcome) -> &str {
    flow.controller.as_deref().unwrap_or("udp")
}

fn row(runs: &[Run<'_>], name: &str) -> Option<Row> {
    let first = runs.first()?;
    let over = |measure: &dyn Fn(&Run<'_>, &[&FlowOutcome]) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs
            .iter()
            .map(|run| {
                let flows: Vec<_> = run
                    .outcome
                    .flows
                    .iter()
                    .filter(|f| controller(f) == name)
                    .collect();
                measure(run, &flows)
            })
            .collect();
        values.and_then(|values| Stat::of(&values))
    };
    let goodput = |run: &Run<'_>, flows: &[&FlowOutcome]| {
        let delivered: f64 = flows.iter().map(|f| f.delivered.get() as f64).sum();
        delivered * 8.0 / run.outcome.duration.as_secs_f64().max(1e-9)
    };
    let capacity = first
        .point
        .capacity()
        .map(|rate| rate.as_bits_per_sec() as f64)
        .filter(|rate| *rate > 0.0);
    let ratio = |flows: &[&FlowOutcome], what: fn(&FlowOutcome) -> u64| {
        let sent: u64 = flows.iter().map(|f| f.packets_sent).sum();
        flows.iter().map(|f| what(f)).sum::<u64>() as f64 / sent.max(1) as f64
    };
    Some(Row {
        parameters: first.point.parameters().to_vec(),
        controller: name.to_owned(),
        flows: first
            .outcome
            .flows
            .iter()
            .filter(|f| controller(f) == name)
            .count(),
        goodput: over(&|run, flows| Some(goodput(run, flows)))?,
        share: over(&|run, flows| capacity.map(|capacity| goodput(run, flows) / capacity)),
        rtt_mean: over(&|_, flows| {
            let count: u64 = flows.iter().map(|f| f.rtt.count).sum();
            let sum: f64 = flows
                .iter()
                .map(|f| f.rtt.mean.as_secs_f64() * f.rtt.count as f64)
                .sum();
            (count > 0).then(|| sum / count as f64)
        }),
        rtt_p95: over(&|_, flows| {
            let measured: Vec<f64> = flows
                .iter()
                .filter(|f| f.rtt.count > 0)
                .map(|f| f.rtt.p95.as_secs_f64())
                .collect();
            Stat::of(&measured).map(|stat| stat.mean)
        }),
        queue_delay: over(&|run, _| {
            Some(
                run.outcome
                    .links
                    .iter()
                    .map(|l| l.mean_wait)
                    .max()
                    .unwrap_or_default()
                    .as_secs_f64(),
            )
        })?,
        retransmits: over(&|_, flows| Some(ratio(flows, |f| f.retransmits)))?,
        loss: over(&|_, flows| Some(ratio(flows, |f| f.lost.total())))?,
        marked: over(&|_, flows| Some(ratio(flows, |f| f.marked))).filter(|stat| stat.mean > 0.0),
        jain: over(&|run, _| Some(run.outcome.jain()))?,
        accuracy: accuracy(runs, name),
        completion: over(&|_, flows| {
            let times: Option<Vec<f64>> = flows
                .iter()
                .map(|f| f.completion.map(|d| d.as_secs_f64()))
                .collect();
            Stat::of(&times?).map(|stat| stat.mean)
        }),
    })
}

/// Over those runs in which there was anything to decide.
fn accuracy(runs: &[Run<'_>], name: &str) -> Option<Stat> {
    let shares: Vec<f64> = runs
        .iter()
        .filter_map(|run| {
            let mut all = Confusion::default();
            for flow in run.outcome.flows.iter().filter(|f| controller(f) == name) {
                all += flow.discrimination?;
            }
            all.accuracy()
        })
        .collect();
    Stat::of(&shares)
}
