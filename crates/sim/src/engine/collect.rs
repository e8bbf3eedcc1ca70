//! What is measured: samples during a run, and the outcome at its end.

use super::pipe::Pipe;
use super::world::{Actor, Flow, World};
use crate::measure::Delays;
use crate::network::{FlowSpec, Traffic};
use crate::outcome::{
    Confusion, FlowOutcome, FlowSample, LinkOutcome, LinkSample, Outcome, Summary,
};
use crate::tcp::Endpoint;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl World<'_> {
    pub(super) fn on_sample(&mut self, slot: usize) {
        let Some(interval) = self.network.sample else {
            return;
        };
        let now = self.now;
        for flow in &mut self.flows {
            let Actor::Tcp(ends) = &flow.actor else {
                continue;
            };
            let Some(sender) = ends[0].sender().filter(|_| flow.started) else {
                continue;
            };
            let delivered = payload_delivered(ends);
            flow.samples.push(FlowSample {
                at: now,
                cwnd: sender.effective_cwnd(),
                ssthresh: sender.controller().ssthresh(),
                in_flight: sender.in_flight(),
                srtt: sender.srtt(),
                rate: Rate::over(Bytes::new(delivered - flow.sampled_bytes), interval),
                phase: sender.controller().phase(),
            });
            flow.sampled_bytes = delivered;
        }
        for (pipe, samples) in self.pipes.iter_mut().zip(&mut self.link_samples) {
            let backlog = pipe.link.backlog(now);
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
                link_outcome(&pipe, &named.name, duration, self.end, samples)
            })
            .collect();
        Outcome {
            duration,
            flows,
            links,
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
        controller: None,
        start: flow.start,
        active,
        delivered: Bytes::ZERO,
        goodput: Rate::ZERO,
        sent_on_wire: Bytes::ZERO,
        throughput: Rate::ZERO,
        packets_sent: 0,
        retransmits: 0,
        timeouts: 0,
        loss_episodes: 0,
        spurious: 0,
        lost: flow.lost,
        rtt: Summary::default(),
        one_way_delay: Summary::default(),
        completion: None,
        discrimination: None,
        samples: flow.samples,
    };
    let mut one_way = Delays::new();
    let mut packets = 0;
    match (flow.actor, &spec.traffic) {
        (Actor::Tcp(ends), Traffic::Tcp(tcp)) => {
            let mut rtt = Delays::new();
            for end in ends.iter() {
                let c = end.counters();
                outcome.sent_on_wire += Bytes::new(c.wire_bytes);
                outcome.packets_sent += c.packets;
                outcome.retransmits += c.retransmits;
                outcome.timeouts += c.timeouts;
                outcome.loss_episodes += c.episodes;
                outcome.spurious += c.spurious;
                let judges = end.sender().is_some_and(|s| s.controller().discriminates());
                if let Some(confusion) = c.confusion.or_else(|| judges.then(Confusion::default)) {
                    *outcome.discrimination.get_or_insert_default() += confusion;
                }
                one_way.merge(&end.one_way);
                rtt.merge(&end.rtt);
                packets += u64::from(end.delivered());
            }
            outcome.controller = Some(tcp.controller.to_string());
            outcome.delivered = Bytes::new(payload_delivered(&ends));
            outcome.rtt = rtt.summary();
            outcome.completion = tcp.size.and(flow.finished).map(|at| at.since(flow.start));
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
    name: &str,
    duration: Duration,
    end: Time,
    samples: Vec<LinkSample>,
) -> LinkOutcome {
    let counters = *pipe.link.counters();
    // Service is computed ahead: what lies beyond the end did not happen.
    let busy = counters.busy - pipe.link.busy_beyond(end);
    let served = counters.offered - counters.queue_overflow;
    let share = |span: Duration| span.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
    LinkOutcome {
        name: name.to_owned(),
        counters,
        utilisation: share(busy).min(1.0),
        mean_queue: share(counters.waited),
        mean_wait: if served == 0 {
            Duration::ZERO
        } else {
            counters.waited / served
        },
        in_transit: pipe.len() as u64,
        came_out: pipe.came_out,
        samples,
    }
}
