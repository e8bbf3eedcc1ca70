//! What is measured: samples during a run, and the outcome at its end.

use super::pipe::Pipe;
use super::world::{Actor, Flow, World};
use crate::measure::Delays;
use crate::network::{FlowSpec, OnChannel, Traffic};
use crate::outcome::{
    AatpOutcome, DestinationSample, FlowOutcome, FlowSample, LinkOutcome, LinkSample, Outcome,
};
use crate::tcp::Endpoint;
use whimbrel_net::Counters;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl World<'_> {
    pub(super) fn on_sample(&mut self, slot: usize) {
        let Some(interval) = self.network.sample else {
            return;
        };
        let now = self.now;
        for flow in &mut self.flows {
            if !flow.started {
                continue;
            }
            let (controller, cwnd, in_flight, srtt, delivered) = match &flow.actor {
                Actor::Tcp(ends) => {
                    let Some(s) = ends[0].sender() else { continue };
                    let cwnd = s.effective_cwnd();
                    let delivered = payload_delivered(ends);
                    (s.controller(), cwnd, s.in_flight(), s.srtt(), delivered)
                }
                Actor::Aatp(connection) => {
                    let s = &connection.source;
                    let cwnd = s.controller().cwnd();
                    let delivered = connection.payload_delivered();
                    (s.controller(), cwnd, s.in_flight(), s.srtt(), delivered)
                }
                Actor::Udp(_) => continue,
            };
            flow.samples.push(FlowSample {
                at: now,
                cwnd,
                ssthresh: controller.ssthresh(),
                in_flight,
                srtt,
                rate: Rate::over(Bytes::new(delivered - flow.sampled_bytes), interval),
                pacing_rate: controller.pacing_rate(),
                phase: controller.phase(),
            });
            flow.sampled_bytes = delivered;
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
                let (outcome, one_way, packets) = flow_outcome(flow, spec, self.end);
                one_way_delay.merge(&one_way);
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

fn flow_outcome(flow: Flow, spec: &FlowSpec, end: Time) -> (FlowOutcome, Delays, u64) {
    let until = flow.finished.or(spec.stop).unwrap_or(end).min(end);
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
    let mut packets = 0;
    match (flow.actor, &spec.traffic) {
        (Actor::Tcp(ends), Traffic::Tcp(tcp)) => {
            let mut rtt = Delays::new();
            for end in ends.iter() {
                end.counters().add_to(&mut outcome);
                one_way.merge(&end.one_way);
                rtt.merge(&end.rtt);
                packets += u64::from(end.delivered());
                outcome.marked += end.marked();
            }
            outcome.controller = Some(tcp.controller.to_string());
            outcome.delivered = Bytes::new(payload_delivered(&ends));
            outcome.rtt = rtt.summary();
            outcome.completion = tcp.size.and(flow.finished).map(|at| at.since(flow.start));
        }
        (Actor::Aatp(connection), Traffic::Aatp(aatp)) => {
            outcome.delivered = Bytes::new(connection.payload_delivered());
            packets = u64::from(connection.sink.delivered().0);
            connection.source.counters.add_to(&mut outcome);
            outcome.controller = Some(aatp.controller.to_string());
            outcome.rtt = connection.source.rtt.summary();
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
    (outcome, one_way, packets)
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
