//! Runs grouped over their seeds: the rows of a table.

use crate::stat::Stat;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome, MessageOutcome, PathOutcome, Summary};
use whimbrel_units::Duration;

/// The flows of one controller at one point, or one of their paths: means and standard deviations
/// over the seeds.
#[derive(Debug, Clone)]
pub struct Row {
    /// The swept values.
    pub parameters: Vec<Parameter>,
    /// The controller of these flows, `udp` for UDP.
    pub controller: String,
    /// Of a path, its route as the scenario writes it; `None`: the row is of whole flows.
    pub route: Option<String>,
    /// The algorithm must not share a network: beside it, others keep too little.
    pub harmful: bool,
    /// Number of flows.
    pub flows: usize,
    /// Total goodput of these flows, bits per second of the run.
    pub goodput: Stat,
    /// Total goodput of all other flows of the run, bits per second, if they have no rows.
    pub neighbours: Option<Stat>,
    /// Of what the other flows deliver beside their own kind, the part that they keep, if the
    /// caller knows.
    pub kept: Option<f64>,
    /// Utilization: `goodput` over the [capacity](whimbrel_sim::scenario::Point::capacity) of the
    /// links, if it is limited.
    pub share: Option<Stat>,
    /// Mean RTT over all samples of these flows, seconds.
    pub rtt_mean: Option<Stat>,
    /// 95th percentile of the RTT, mean over these flows, seconds.
    pub rtt_p95: Option<Stat>,
    /// Congestion window, mean over time and over these flows, bytes; of paths only.
    pub cwnd: Option<Stat>,
    /// 50th, 95th and 99th percentile of the messages' latency, mean over these flows, seconds.
    pub latency: [Option<Stat>; 3],
    /// Time that complete messages were held behind others, mean over all messages of these flows,
    /// seconds.
    pub blocked: Option<Stat>,
    /// Fraction of the messages that were delivered, if these flows have messages.
    pub delivered: Option<Stat>,
    /// Mean wait in the queue with the longest wait, seconds; not of a path.
    pub queue_delay: Option<Stat>,
    /// Data packets retransmitted over data packets sent.
    pub retransmits: Stat,
    /// Data packets retransmitted after negative acknowledgments over data packets sent, if there
    /// were any; not of a path.
    pub nacked: Option<Stat>,
    /// Data packets lost for any cause over data packets sent.
    pub loss: Stat,
    /// Data packets that arrived with an ECN mark over data packets sent, if there were any.
    pub marked: Option<Stat>,
    /// Jain's index of all flows of the run; not of a path.
    pub jain: Option<Stat>,
    /// Fraction of correct decisions on losses, if the controller classifies losses and there were
    /// any.
    pub accuracy: Option<Stat>,
    /// Brier score of those decisions.
    pub brier: Option<Stat>,
    /// Mean time from start to completion, seconds, if all these flows completed.
    pub completion: Option<Stat>,
    /// Path changes that the controller detected, mean over these flows, if it looks for them.
    pub path_changes: Option<Stat>,
}

/// Groups runs, which are in the order of [`jobs`](whimbrel_sim::sweep::jobs).
pub fn rows(runs: &[Run<'_>]) -> Vec<Row> {
    grouped(runs, None)
}

/// The same with rows of the flows of this name only (`web #3` has the name `web`, too). The
/// others are their neighbours. That the controller of these flows is swept is not in the swept
/// values.
pub fn rows_of(runs: &[Run<'_>], flows: &str) -> Vec<Row> {
    let mut rows = grouped(runs, Some(flows));
    let own = format!("flow.{flows}.controller");
    for row in &mut rows {
        row.parameters.retain(|parameter| parameter.key != own);
    }
    rows
}

fn grouped(runs: &[Run<'_>], flows: Option<&str>) -> Vec<Row> {
    let mut rows = Vec::new();
    for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for flow in &runs[0].outcome.flows {
            let group = Group {
                controller: controller(flow),
                flows,
            };
            if group.has(flow) && !groups.contains(&group) {
                groups.push(group);
            }
        }
        for group in groups {
            rows.extend(row(runs, group));
            let routes = routes(&runs[0], group);
            rows.extend(routes.iter().filter_map(|key| path_row(runs, group, key)));
        }
    }
    rows
}

/// The flows of a row.
#[derive(Clone, Copy, PartialEq)]
struct Group<'a> {
    controller: &'a str,
    /// Their name; `None` for all flows.
    flows: Option<&'a str>,
}

impl Group<'_> {
    fn has(&self, flow: &FlowOutcome) -> bool {
        controller(flow) == self.controller && self.flows.is_none_or(|name| flow.name.name == name)
    }
}

fn controller(flow: &FlowOutcome) -> &str {
    flow.controller.as_deref().unwrap_or("udp")
}

fn row(runs: &[Run<'_>], group: Group<'_>) -> Option<Row> {
    let first = runs.first()?;
    let over = |measure: &dyn Fn(&Run<'_>, &[&FlowOutcome]) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs
            .iter()
            .map(|run| {
                let flows: Vec<_> = run.outcome.flows.iter().filter(|f| group.has(f)).collect();
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
    let percentiles: [fn(&Summary) -> Duration; 3] = [|s| s.p50, |s| s.p95, |s| s.p99];
    let latency = |flows: &[&FlowOutcome], of: fn(&Summary) -> Duration| {
        let all = messages(flows)?;
        let measured = all.iter().filter(|m| m.latency.count > 0);
        let values: Vec<f64> = measured.map(|m| of(&m.latency).as_secs_f64()).collect();
        Stat::of(&values).map(|stat| stat.mean)
    };
    Some(Row {
        parameters: first.point.parameters().to_vec(),
        controller: group.controller.to_owned(),
        route: None,
        harmful: false,
        flows: first.outcome.flows.iter().filter(|f| group.has(f)).count(),
        goodput: over(&|run, flows| Some(goodput(run, flows)))?,
        neighbours: group.flows.and_then(|_| {
            over(&|run, _| {
                let all = run.outcome.flows.iter();
                let others: Vec<_> = all.filter(|f| !group.has(f)).collect();
                (!others.is_empty()).then(|| goodput(run, &others))
            })
        }),
        kept: None,
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
        cwnd: None,
        latency: percentiles.map(|of| over(&|_, flows| latency(flows, of))),
        blocked: over(&|_, flows| {
            let all = messages(flows)?;
            let count: u64 = all.iter().map(|m| m.blocked.count).sum();
            let sum = |m: &&MessageOutcome| m.blocked.mean.as_secs_f64() * m.blocked.count as f64;
            (count > 0).then(|| all.iter().map(sum).sum::<f64>() / count as f64)
        }),
        delivered: over(&|_, flows| {
            let all = messages(flows)?;
            let arrived: u64 = all.iter().map(|m| m.arrived).sum();
            let delivered: u64 = all.iter().map(|m| m.delivered).sum();
            (arrived > 0).then(|| delivered as f64 / arrived as f64)
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
        }),
        retransmits: over(&|_, flows| Some(ratio(flows, |f| f.retransmits)))?,
        nacked: over(&|_, flows| Some(ratio(flows, |f| f.nacks.map_or(0, |nacks| nacks.resent))))
            .filter(|stat| stat.mean > 0.0),
        loss: over(&|_, flows| Some(ratio(flows, |f| f.lost.total())))?,
        marked: over(&|_, flows| Some(ratio(flows, |f| f.marked))).filter(|stat| stat.mean > 0.0),
        jain: over(&|run, _| Some(run.outcome.jain())),
        accuracy: of_decisions(runs, group, Confusion::accuracy),
        brier: of_decisions(runs, group, Confusion::brier),
        completion: over(&|_, flows| {
            let times: Option<Vec<f64>> = flows
                .iter()
                .map(|f| f.completion.map(|d| d.as_secs_f64()))
                .collect();
            Stat::of(&times?).map(|stat| stat.mean)
        }),
        path_changes: over(&|_, flows| mean(flows.iter().map(|f| f.path_changes))),
    })
}

/// The mean of counts; `None` if one is missing.
fn mean(counts: impl Iterator<Item = Option<u64>>) -> Option<f64> {
    let counts: Option<Vec<f64>> = counts.map(|n| n.map(|n| n as f64)).collect();
    Stat::of(&counts?).map(|stat| stat.mean)
}

/// Index of a route and its links as the scenario names them.
type RouteKey = (usize, String);

/// The routes of a controller's flows with several routes, each once.
fn routes(run: &Run<'_>, group: Group<'_>) -> Vec<RouteKey> {
    let mut all: Vec<RouteKey> = Vec::new();
    let flows = run.outcome.flows.iter().filter(|f| group.has(f));
    for (path, outcome) in flows.flat_map(|f| f.paths.iter().enumerate()) {
        let key = (path, outcome.written_route.clone());
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

/// The paths of a controller's flows on one of their routes.
fn paths<'a>(run: &'a Run<'_>, group: Group<'_>, (path, route): &RouteKey) -> Vec<&'a PathOutcome> {
    let flows = run.outcome.flows.iter().filter(|f| group.has(f));
    let paths = flows.filter_map(|f| f.paths.get(*path));
    paths.filter(|p| p.written_route == *route).collect()
}

/// The messages of flows, if all flows have messages.
fn messages<'a>(flows: &[&'a FlowOutcome]) -> Option<Vec<&'a MessageOutcome>> {
    flows.iter().map(|flow| flow.messages.as_ref()).collect()
}

/// A row of one route of a controller's flows. A path's goodput is the data that it delivered
/// first.
fn path_row(runs: &[Run<'_>], group: Group<'_>, key: &RouteKey) -> Option<Row> {
    let first = runs.first()?;
    let over = |measure: &dyn Fn(&Run<'_>, &[&PathOutcome]) -> Option<f64>| {
        let of = |run| measure(run, &paths(run, group, key));
        let values: Option<Vec<f64>> = runs.iter().map(of).collect();
        values.and_then(|values| Stat::of(&values))
    };
    let ratio = |paths: &[&PathOutcome], what: fn(&PathOutcome) -> u64| {
        let sent: u64 = paths.iter().map(|p| p.packets_sent).sum();
        Some(paths.iter().map(|p| what(p)).sum::<u64>() as f64 / sent.max(1) as f64)
    };
    Some(Row {
        parameters: first.point.parameters().to_vec(),
        controller: group.controller.to_owned(),
        route: Some(key.1.clone()),
        harmful: false,
        flows: paths(first, group, key).len(),
        goodput: over(&|run, paths| {
            let brought: f64 = paths.iter().map(|p| p.brought.get() as f64).sum();
            Some(brought * 8.0 / run.outcome.duration.as_secs_f64().max(1e-9))
        })?,
        neighbours: None,
        kept: None,
        share: None,
        rtt_mean: over(&|_, paths| {
            let count: u64 = paths.iter().map(|p| p.rtt.count).sum();
            let all = |p: &&PathOutcome| p.rtt.mean.as_secs_f64() * p.rtt.count as f64;
            (count > 0).then(|| paths.iter().map(all).sum::<f64>() / count as f64)
        }),
        rtt_p95: over(&|_, paths| {
            let measured = paths.iter().filter(|p| p.rtt.count > 0);
            let measured: Vec<f64> = measured.map(|p| p.rtt.p95.as_secs_f64()).collect();
            Stat::of(&measured).map(|stat| stat.mean)
        }),
        cwnd: over(&|_, paths| {
            let windows: Vec<f64> = paths.iter().map(|p| p.mean_cwnd.get() as f64).collect();
            Stat::of(&windows).map(|stat| stat.mean)
        }),
        latency: [None; 3],
        blocked: None,
        delivered: None,
        queue_delay: None,
        retransmits: over(&|_, paths| ratio(paths, |p| p.retransmits))?,
        nacked: None,
        loss: over(&|_, paths| ratio(paths, |p| p.lost.total()))?,
        marked: over(&|_, paths| ratio(paths, |p| p.marked)).filter(|stat| stat.mean > 0.0),
        jain: None,
        accuracy: None,
        brier: None,
        completion: None,
        path_changes: over(&|_, paths| mean(paths.iter().map(|p| p.path_changes))),
    })
}

/// A measure of the decisions on losses, over those runs in which there were any.
fn of_decisions(
    runs: &[Run<'_>],
    group: Group<'_>,
    of: fn(&Confusion) -> Option<f64>,
) -> Option<Stat> {
    let shares: Vec<f64> = runs
        .iter()
        .filter_map(|run| {
            let mut all = Confusion::default();
            for flow in run.outcome.flows.iter().filter(|f| group.has(f)) {
                all += flow.discrimination?;
            }
            of(&all)
        })
        .collect();
    Stat::of(&shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;
    use whimbrel_sim::sweep;

    const TWO_ROUTES: &str = r#"
[link.access]
rate = "5 Mbit/s"
queue = "1 bdp"
[link.wifi]
rate = "20 Mbit/s"
delay = "15 ms"
queue = "1 bdp"
[link.lte]
rate = "4 Mbit/s"
delay = "40 ms"
queue = "1 bdp"
[[flow]]
count = 2
controller = "newreno"
routes = [["access*", "wifi"], ["lte"]]
[[flow]]
kind = "udp"
rate = "1 Mbit/s"
route = ["wifi"]
[run]
duration = "10 s"
sample = "100 ms"
"#;

    #[test]
    fn retransmissions_after_nacks_have_a_value_where_there_are_any() {
        let text = "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nloss = { corrupt = \"2 %\" }\n\
                    [[flow]]\nroute = [\"L\"]\n[run]\nduration = \"20 s\"\n[sweep]\n\
                    \"flow.controller\" = [\"tcp-nack\", \"newreno\"]\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let jobs = sweep::jobs(scenario.points());
        let runs = sweep::run_all(&jobs, None, || {}).expect("threads");
        let shares: Vec<_> = rows(&runs).iter().map(|row| row.nacked).collect();
        // 2 % of the packets, of whose 1500 bytes 52 are headers: 1.93 %.
        let share = shares[0].expect("some were").mean;
        assert!((0.015..0.024).contains(&share), "{share}");
        assert_eq!(shares[1], None);
        let mut json = Vec::new();
        crate::json(&runs, &mut json).expect("written to memory");
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        let nacks = |run: usize| json["runs"][run]["flows"][0].get("nacks").cloned();
        let counts = nacks(0).expect("its transport knows them");
        assert_eq!(counts["accepted"], counts["resent"]);
        assert!(counts["sent"].as_u64() >= counts["accepted"].as_u64());
        assert_eq!(
            (&counts["forged"], &counts["mistaken"]),
            (&0.into(), &0.into())
        );
        assert_eq!(nacks(1), None);
    }

    #[test]
    fn each_route_of_a_flow_has_a_row_and_a_line_of_its_own() {
        let scenario = Scenario::parse(TWO_ROUTES, Path::new("a.toml")).expect("a scenario");
        let jobs = sweep::jobs(scenario.points());
        let runs = sweep::run_all(&jobs, None, || {}).expect("threads");
        let rows = rows(&runs);
        let heads: Vec<_> = rows
            .iter()
            .map(|r| (r.controller.as_str(), r.route.as_deref(), r.flows))
            .collect();
        let expected = [
            ("newreno", None, 2),
            ("newreno", Some("access* > wifi"), 2),
            ("newreno", Some("lte"), 2),
            ("udp", None, 1),
        ];
        assert_eq!(heads, expected);
        // Each has 5 Mbit/s of its own towards `wifi`, and both share the 4 Mbit/s of `lte`; 1448
        // of 1500 bytes are payload.
        let goodput = |row: usize| rows[row].goodput.mean * 1e-6;
        assert!((8.8..9.66).contains(&goodput(1)), "{}", goodput(1));
        assert!((3.2..3.87).contains(&goodput(2)), "{}", goodput(2));
        // Data behind a gap is not delivered yet: 10 Mbit/s for the 0.1 s that `lte` is behind, and
        // for 0.2 s more after a loss there, is 3 Mbit in 10 s.
        let held = goodput(1) + goodput(2) - goodput(0);
        assert!((0.0..0.3).contains(&held), "{held}");
        assert!(rows[0].cwnd.is_none() && rows[1].cwnd.is_some());
        let figures = crate::figures::plot("", &runs, &[crate::figures::Look::Cwnd]);
        let crate::figure::Plot::Panels { panels, .. } = &figures[0].plot else {
            panic!("{figures:?}");
        };
        let series = panels[0].series.iter().take(2);
        let labels: Vec<_> = series.map(|s| s.label.as_str()).collect();
        assert!(labels[0].ends_with(", access*[1] > wifi"), "{labels:?}");
        assert!(labels[1].ends_with(", lte"), "{labels:?}");
        let mut json = Vec::new();
        crate::json(&runs, &mut json).expect("written to memory");
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        let path = &json["runs"][0]["flows"][1]["paths"][1];
        assert_eq!(path["route"], "lte");
        assert!(path["samples"][50]["cwnd_bytes"].as_u64() > Some(1448));
        assert!(json["runs"][0]["flows"][2].get("paths").is_none());
    }

    const MESSAGES: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "25 ms"
loss = "1 %"
[[flow]]
controller = "newreno"
streams = 2
messages = "5 kB every 20 ms"
route = ["L"]
[[flow]]
controller = "cubic"
route = ["L"]
[run]
duration = "10 s"
"#;

    #[test]
    fn messages_have_columns_only_where_there_are_any() {
        let table = |text: &str| {
            let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
            let jobs = sweep::jobs(scenario.points());
            let runs = sweep::run_all(&jobs, None, || {}).expect("threads");
            let mut json = Vec::new();
            crate::json(&runs, &mut json).expect("written to memory");
            let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
            (rows(&runs), crate::table(&rows(&runs)), json)
        };
        let (rows, text, json) = table(MESSAGES);
        let [p50, p95, p99] = rows[0].latency.map(|stat| stat.expect("messages").mean);
        // At least the one-way delay.
        assert!(p50 > 0.025 && p50 <= p95 && p95 <= p99, "{p50} {p95} {p99}");
        assert!(rows[0].blocked.is_some_and(|stat| stat.mean > 0.0));
        assert!(rows[1].latency[0].is_none() && rows[1].blocked.is_none());
        assert!(
            text.contains("msg p99") && text.contains("blocked"),
            "{text}"
        );
        let flow = &json["runs"][0]["flows"][0];
        // One every 20 ms, from 50 ms.
        assert_eq!(flow["messages"]["arrived"], 498);
        assert_eq!(flow["messages"]["latency_ms"]["p95"], p95 * 1e3);
        assert_eq!(flow["streams"].as_array().map(Vec::len), Some(2));
        assert!(json["runs"][0]["flows"][1].get("messages").is_none());
        assert!(json["runs"][0]["flows"][1].get("streams").is_none());
        let (.., text, _) = table(&MESSAGES.replace("messages = \"5 kB every 20 ms\"\n", ""));
        assert!(!text.contains("msg") && !text.contains("blocked"), "{text}");
    }

    #[test]
    fn the_numbers_of_a_row_are_those_of_its_flows() {
        let text = "[link.L]\nrate = \"10 Mbit/s\"\n[[flow]]\nname = \"mine\"\ncount = 2\n\
                    route = [\"L\"]\nsize = \"1 MB\"\n[[flow]]\nname = \"theirs\"\nroute = [\"L\"]\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let flow = |name: &str, bytes, rtts, ms, completion: Option<u64>| FlowOutcome {
            name: name.into(),
            controller: Some("cubic".to_owned()),
            delivered: whimbrel_units::Bytes::new(bytes),
            rtt: Summary {
                count: rtts,
                mean: Duration::from_millis(ms),
                ..Summary::default()
            },
            completion: completion.map(Duration::from_secs),
            ..FlowOutcome::default()
        };
        let run = |second| Run {
            point: &scenario.points()[0],
            seed: 1,
            wall: std::time::Duration::ZERO,
            outcome: whimbrel_sim::Outcome {
                duration: Duration::from_secs(8),
                flows: vec![
                    flow("mine", 1_000_000, 1, 100, Some(4)),
                    flow("mine", 2_000_000, 9, 20, second),
                    flow("theirs", 5_000_000, 1, 10, None),
                ],
                links: Vec::new(),
                destinations: Vec::new(),
                events: 0,
                delivered_packets: 0,
                one_way_delay: Summary::default(),
            },
        };
        let rows = rows_of(&[run(Some(6))], "mine");
        let [mine] = rows.as_slice() else {
            panic!("{rows:?}")
        };
        assert_eq!((mine.flows, mine.goodput.mean), (2, 3e6));
        assert_eq!(mine.neighbours.map(|stat| stat.mean), Some(5e6));
        // Each sample counts once: (100 + 9 x 20) / 10.
        let rtt = mine.rtt_mean.expect("samples").mean;
        assert!((rtt - 0.028).abs() < 1e-12, "{rtt}");
        assert_eq!(mine.completion.map(|stat| stat.mean), Some(5.0));
        // One that does not complete takes no finite time, and none is not the time of the others.
        let late = rows_of(&[run(Some(6)), run(None)], "mine");
        assert!(late[0].completion.is_none(), "{late:?}");
    }

    #[test]
    fn a_row_has_the_longest_queue_and_the_latency_of_delivered_messages() {
        // The first link is the bottleneck. The second flow has no time to deliver its message.
        let text = "[link.slow]\nrate = \"2 Mbit/s\"\nqueue = \"1 bdp\"\ndelay = \"20 ms\"\n\
                    [link.fast]\nrate = \"50 Mbit/s\"\n\
                    [[flow]]\nroute = [\"slow\", \"fast\"]\nmessages = \"20 kB every 50 ms\"\n\
                    [[flow]]\nroute = [\"slow\", \"fast\"]\nmessages = \"20 kB every 50 ms\"\n\
                    start = \"2.9 s\"\n[run]\nduration = \"3 s\"\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let jobs = sweep::jobs(scenario.points());
        let runs = sweep::run_all(&jobs, None, || {}).expect("threads");
        let outcome = &runs[0].outcome;
        let messages = |flow: usize| outcome.flows[flow].messages.as_ref().expect("messages");
        assert_eq!(messages(1).latency.count, 0);
        let rows = rows(&runs);
        let waits = [0, 1].map(|link| outcome.links[link].mean_wait.as_secs_f64());
        assert!(waits[0] > waits[1]);
        assert_eq!(rows[0].queue_delay.map(|stat| stat.mean), Some(waits[0]));
        let p50 = messages(0).latency.p50.as_secs_f64();
        assert_eq!(rows[0].latency[0].map(|stat| stat.mean), Some(p50));
    }
}
