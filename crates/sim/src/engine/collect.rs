//! What is measured: samples during a run, and the outcome at its end.

use super::pipe::Pipe;
use super::watch::Watch;
use super::world::{Actor, Flow, World};
use crate::governed;
use crate::measure::Delays;
use crate::network::{FlowSpec, Network, OnChannel, Route, Traffic};
use crate::outcome::{
    AatpOutcome, DestinationSample, Distributions, FlowOutcome, FlowSample, LinkOutcome,
    LinkSample, Outcome, PathOutcome,
};
use crate::tcp::{Endpoint, Sender};
use whimbrel_net::Counters;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl<O: Watch> World<'_, O> {
    pub(super) fn on_sample(&mut self, slot: usize) {
        let Some(interval) = self.network.sample else {
            return;
        };
        let now = self.now;
        for flow in &mut self.flows {
            if !flow.started {
                continue;
            }
            let delivered = match &flow.actor {
                Actor::Tcp(ends) => payload_delivered(ends),
                Actor::Governed(connection) => connection.payload_delivered(),
                Actor::Aatp(connection) => connection.payload_delivered(),
                Actor::Udp(_) => continue,
            };
            let rate = Rate::over(Bytes::new(delivered - flow.sampled_bytes), interval);
            flow.sampled_bytes = delivered;
            let sample = match &mut flow.actor {
                Actor::Tcp(ends) => {
                    let Some(sender) = ends[0].sender() else {
                        continue;
                    };
                    let counters = ends.each_ref().map(Endpoint::counters);
                    FlowSample {
                        sent: Bytes::new(counters.iter().map(|c| c.wire_bytes).sum()),
                        retransmits: counters.iter().map(|c| c.retransmits).sum(),
                        ..sender.sample(now, rate)
                    }
                }
                Actor::Governed(connection) => FlowSample {
                    rate,
                    ..connection.sample(now, interval)
                },
                Actor::Aatp(connection) => {
                    let (source, controller) = (&connection.source, connection.source.controller());
                    FlowSample {
                        at: now,
                        cwnd: controller.cwnd(),
                        ssthresh: controller.ssthresh(),
                        in_flight: source.in_flight(),
                        srtt: source.srtt(),
                        rttvar: source.rttvar(),
                        rate,
                        delivered: Bytes::ZERO,
                        retransmits: source.counters.retransmits,
                        sent: Bytes::new(source.counters.wire_bytes),
                        ack_spacing: None,
                        path_changes: controller.path_changes(),
                        pacing_rate: controller.pacing_rate(),
                        phase: controller.phase(),
                    }
                }
                Actor::Udp(_) => continue,
            };
            flow.samples.push(FlowSample {
                delivered: Bytes::new(delivered),
                ..sample
            });
        }
        for node in &mut self.nodes {
            let (flows, fairness) = node.state();
            node.samples.push(DestinationSample {
                at: now,
                flows,
                fairness,
            });
        }
        for (pipe, samples) in self.pipes.iter_mut().zip(&mut self.link_samples) {
            let backlog = match pipe.on_channel {
                Some(on) => self.channels[on.channel].backlog(on.side),
                None => pipe.link.backlog(now),
            };
            let before: u64 = std::mem::replace(&mut pipe.sampled_bytes, pipe.came_out_bytes);
            samples.push(LinkSample {
                at: now,
                queue: backlog.packets,
                queue_bytes: backlog.bytes,
                rate: Rate::over(Bytes::new(pipe.came_out_bytes - before), interval),
            });
        }
        self.calendar.set(slot, Some(now + interval));
    }

    pub(super) fn outcome(mut self) -> Outcome {
        let duration = self.end.since(Time::ZERO);
        let mut one_way_delay = Delays::new();
        let mut delivered_packets = 0;
        let flows = std::mem::take(&mut self.flows)
            .into_iter()
            .zip(&self.network.flows)
            .map(|(flow, spec)| {
                let (outcome, mut one_way, packets) =
                    flow_outcome(flow, spec, self.network, self.end);
                one_way_delay.merge(&mut one_way);
                delivered_packets += packets;
                outcome
            })
            .collect();
        let links = std::mem::take(&mut self.pipes)
            .into_iter()
            .zip(&self.network.links)
            .zip(self.link_samples)
            .map(|((pipe, named), samples)| {
                let (counters, waiting, beyond) = match pipe.on_channel {
                    Some(OnChannel { channel, side }) => {
                        let channel = &self.channels[channel];
                        let beyond = channel.busy_beyond(self.end);
                        (*channel.counters(side), channel.waiting(side), beyond)
                    }
                    None => (*pipe.link.counters(), 0, pipe.link.busy_beyond(self.end)),
                };
                let in_transit = (pipe.len() + waiting) as u64;
                let name = named.name.clone();
                // Service is computed ahead: what lies beyond the end did not happen.
                let busy = counters.busy - beyond;
                link_outcome(&pipe, counters, busy, in_transit, name, duration, samples)
            })
            .collect();
        let destinations = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(|node| node.finish(self.end))
            .collect();
        Outcome {
            duration,
            flows,
            links,
            destinations,
            events: self.events,
            delivered_packets,
            one_way_delay: one_way_delay.summary(),
        }
    }
}

/// Payload that both ends of a connection have delivered to their applications.
fn payload_delivered(ends: &[Endpoint; 2]) -> u64 {
    let to = |sender: &Endpoint, receiver: &Endpoint| {
        sender
            .sender()
            .map_or(0, |s| s.payload(receiver.delivered()))
    };
    to(&ends[0], &ends[1]) + to(&ends[1], &ends[0])
}

fn flow_outcome(
    flow: Flow,
    spec: &FlowSpec,
    network: &Network,
    end: Time,
) -> (FlowOutcome, Delays, u64) {
    // Messages that have arrived are sent after a stop too.
    let stop = spec.stop.filter(|_| spec.messages().is_none());
    let until = flow.finished.or(stop).unwrap_or(end).min(end);
    let active = until.since(flow.start);
    let mut outcome = FlowOutcome {
        name: spec.name.clone(),
        start: flow.start,
        active,
        lost: flow.lost,
        samples: flow.samples,
        ..FlowOutcome::default()
    };
    let mut one_way = Delays::new();
    // Costs nothing where nobody asked for samples.
    let mut distributions = network.sample.map(|_| Distributions::default());
    let mut packets = 0;
    match (flow.actor, &spec.traffic) {
        (Actor::Tcp(ends), Traffic::Tcp(tcp)) => {
            for end in ends.iter() {
                end.counters().add_to(&mut outcome);
                packets += u64::from(end.delivered());
                outcome.marked += end.marked();
                let changes = end.sender().and_then(Sender::path_changes);
                outcome.path_changes = sum(outcome.path_changes, changes);
                if let Some(nacks) = end.nacks() {
                    *outcome.nacks.get_or_insert_default() += nacks;
                }
            }
            outcome.episodes = ends[0].episodes();
            outcome.delivered = Bytes::new(payload_delivered(&ends));
            let [near, mut far] = *ends;
            one_way = near.one_way;
            let mut rtt = near.rtt;
            one_way.merge(&mut far.one_way);
            rtt.merge(&mut far.rtt);
            outcome.controller = Some(tcp.controller.to_string());
            outcome.rtt = rtt.summary();
            if let Some(all) = &mut distributions {
                all.rtt = rtt.distribution();
            }
            outcome.completion = tcp.size.and(flow.finished).map(|at| at.since(flow.start));
        }
        (Actor::Governed(mut connection), Traffic::Tcp(tcp)) => {
            outcome.controller = Some(tcp.controller.to_string());
            outcome.delivered = Bytes::new(connection.payload_delivered());
            let (messages, streams) = connection.data.outcome();
            let has_end = match spec.messages() {
                Some(messages) => messages.count.is_some(),
                None => tcp.size.is_some(),
            };
            let finished = flow.finished.filter(|_| has_end);
            outcome.completion = finished.map(|at| at.since(flow.start));
            if messages.is_some() || streams.len() > 1 {
                outcome.streams = streams;
            }
            outcome.messages = messages;
            packets = u64::from(connection.delivered());
            if let Some(all) = &mut distributions {
                all.message_latency = connection.data.latencies();
            }
            let mut rtt = Delays::new();
            for (mut path, route) in connection.paths.into_iter().zip(&spec.routes) {
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
                let name = route_name(route, network);
                let path = path_outcome(path, name, active, until);
                outcome.path_changes = sum(outcome.path_changes, path.path_changes);
                if spec.routes.len() > 1 {
                    outcome.paths.push(path);
                } else {
                    outcome.episodes = path.episodes;
                }
            }
            outcome.rtt = rtt.summary();
            if let Some(all) = &mut distributions {
                all.rtt = rtt.distribution();
            }
        }
        (Actor::Aatp(mut connection), Traffic::Aatp(aatp)) => {
            outcome.delivered = Bytes::new(connection.payload_delivered());
            packets = u64::from(connection.sink.delivered().0);
            connection.source.counters.add_to(&mut outcome);
            outcome.controller = Some(aatp.controller.to_string());
            outcome.rtt = connection.source.rtt.summary();
            if let Some(all) = &mut distributions {
                all.rtt = connection.source.rtt.distribution();
            }
            outcome.path_changes = connection.source.controller().path_changes();
            outcome.completion = aatp.size.and(flow.finished).map(|at| at.since(flow.start));
            let account = connection.source.account;
            outcome.aatp = Some(AatpOutcome {
                priority: aatp.priority,
                bandwidth: account.bandwidth,
                set_up: account.known_at.map(|at| at.since(flow.start)),
                bursts: account.bursts,
                states: account.states,
                breaks: account.breaks,
                receiver_rtt: connection.sink.rtt.summary(),
            });
            one_way = connection.sink.one_way;
        }
        (Actor::Udp(datagrams), Traffic::Udp(udp)) => {
            outcome.packets_sent = u64::from(datagrams.sent);
            outcome.sent_on_wire = udp.packet.times(outcome.packets_sent);
            outcome.delivered = udp.packet.times(datagrams.arrived);
            packets = datagrams.arrived;
            one_way = datagrams.one_way;
        }
        _ => unreachable!("an actor is made from its own traffic"),
    }
    outcome.goodput = Rate::over(outcome.delivered, active);
    outcome.throughput = Rate::over(outcome.sent_on_wire, active);
    outcome.one_way_delay = one_way.summary();
    if let Some(all) = &mut distributions {
        all.one_way_delay = one_way.distribution();
    }
    outcome.distributions = distributions;
    (outcome, one_way, packets)
}

/// Of two counts, either of which may be of nothing.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// What people call a route: its links from the near to the far end.
fn route_name(route: &Route, network: &Network) -> String {
    let names = route.forward.iter();
    let names: Vec<&str> = names
        .filter_map(|link| network.links.get(link.0 as usize))
        .map(|link| link.name.as_str())
        .collect();
    names.join(" > ")
}

fn path_outcome(
    mut path: governed::Path,
    route: String,
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

fn link_outcome(
    pipe: &Pipe,
    counters: Counters,
    busy: Duration,
    in_transit: u64,
    name: String,
    duration: Duration,
    samples: Vec<LinkSample>,
) -> LinkOutcome {
    let served = counters.admitted();
    let share = |span: Duration| span.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
    LinkOutcome {
        name,
        counters,
        utilisation: share(busy).min(1.0),
        mean_queue: share(counters.waited),
        mean_wait: if served == 0 {
            Duration::ZERO
        } else {
            counters.waited / served
        },
        in_transit,
        came_out: pipe.came_out,
        samples,
    }
}
