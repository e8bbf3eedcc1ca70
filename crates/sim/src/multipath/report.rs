//! The outcome of a multipath connection and of its paths.

use super::Connection;
use super::path::Path;
use crate::flow::report::{Ended, FlowReport, Measured};
use crate::measure::Delays;
use crate::network::{Network, Route};
use crate::outcome::{FlowOutcome, PathOutcome, add_counts};
use crate::tcp::{Endpoint, Sender};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The outcome of a connection.
pub(super) fn of_connection(mut connection: Connection<'_>, mut ended: Ended<'_>) -> FlowReport {
    let messages = connection.spec.streams.messages;
    // Messages that have arrived are sent after a stop too.
    let until = ended.until(messages.is_none());
    let is_endless = match messages {
        Some(messages) => messages.count.is_none(),
        None => connection.spec.size.is_none(),
    };
    let mut outcome = ended.begin(until);
    outcome.controller = Some(connection.spec.controller.to_string());
    outcome.completion = ended.completion(is_endless);
    outcome.delivered = Bytes::new(connection.data.payload_delivered());
    let (messages, streams) = connection.data.outcome();
    if messages.is_some() || streams.len() > 1 {
        outcome.streams = streams;
    }
    outcome.messages = messages;
    let routes = &ended.spec.routes;
    let (mut rtt, mut one_way) = (Delays::new(), Delays::new());
    for (mut path, route) in connection.paths.into_iter().zip(routes) {
        let (its_rtt, its_one_way) = path.delays();
        rtt.merge(its_rtt);
        one_way.merge(its_one_way);
        path.ends[0].counters().add_to(&mut outcome);
        outcome.marked += path.ends[1].marked();
        for nacks in path.ends.iter().filter_map(Endpoint::nacks) {
            *outcome.nacks.get_or_insert_default() += nacks;
        }
        outcome.lost += path.lost;
        outcome.reinjected += path.reinjected;
        let name = route_names(route, ended.network);
        let path = of_path(path, name, outcome.active, until);
        outcome.path_changes = add_counts(outcome.path_changes, path.path_changes);
        if routes.len() > 1 {
            outcome.paths.push(path);
        } else {
            outcome.episodes = path.episodes;
        }
    }
    ended.complete(Measured {
        outcome,
        rtt,
        one_way,
        packets: u64::from(connection.data.delivered()),
        message_latency: connection.data.latencies(),
    })
}

/// The name of a route, its links from the near to the far end, and as the scenario writes it.
fn route_names(route: &Route, network: &Network) -> [String; 2] {
    let links = route.forward.iter();
    let links = links.filter_map(|link| network.links.get(link.0 as usize));
    let named: Vec<String> = links.clone().map(|link| link.name.to_string()).collect();
    let written: Vec<String> = links.map(|link| link.name.in_route()).collect();
    [named.join(" > "), written.join(" > ")]
}

fn of_path(
    mut path: Path,
    [route, written_route]: [String; 2],
    active: Duration,
    until: Time,
) -> PathOutcome {
    let (rtt, one_way) = path.delays();
    let (rtt, one_way_delay) = (rtt.summary(), one_way.summary());
    let brought = Bytes::new(path.brought);
    let mut counted = FlowOutcome::default();
    path.ends[0].counters().add_to(&mut counted);
    PathOutcome {
        route,
        written_route,
        brought,
        goodput: Rate::over(brought, active),
        throughput: Rate::over(counted.sent_on_wire, active),
        packets_sent: counted.packets_sent,
        retransmits: counted.retransmits,
        reinjected: path.reinjected,
        timeouts: counted.timeouts,
        loss_episodes: counted.loss_episodes,
        marked: path.ends[1].marked(),
        mark_episodes: counted.mark_episodes,
        spurious: counted.spurious,
        lost: path.lost,
        rtt,
        one_way_delay,
        srtt: path.srtt(),
        cwnd: path.cwnd(),
        mean_cwnd: path.mean_cwnd(until),
        discrimination: counted.discrimination,
        path_changes: path.ends[0].sender().and_then(Sender::path_changes),
        episodes: path.ends[0].episodes(),
        samples: path.samples,
    }
}
