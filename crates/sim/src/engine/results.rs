//! Samples during a run, and the outcome at its end.

use super::observation::Observe;
use super::pipe::Pipe;
use super::polled_link::PolledSide;
use super::sources::Source;
use super::world::World;
use crate::flow::interface::Flow;
use crate::flow::report::Ended;
use crate::measure::Delays;
use crate::network::NamedLink;
use crate::outcome::{FlowSample, LinkOutcome, LinkSample, Outcome};
use whimbrel_net::Counters;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl<O: Observe> World<'_, O> {
    pub(super) fn on_sample(&mut self) {
        let Some(interval) = self.network.sample else {
            return;
        };
        let now = self.now;
        for entry in self.flows.iter_mut().filter(|entry| entry.started) {
            if let Some(sample) = entry.flow.sample(now, interval) {
                let rate = Rate::over(sample.delivered - entry.sampled, interval);
                entry.sampled = sample.delivered;
                entry.samples.push(FlowSample { rate, ..sample });
            }
        }
        self.shared.sample(now);
        for (pipe, samples) in self.pipes.iter_mut().zip(&mut self.link_samples) {
            let backlog = match pipe.polled {
                Some(polled) => self.polled[polled.index].backlog(polled.side),
                None => pipe.link.backlog(now),
            };
            let counters = match pipe.polled {
                Some(polled) => *self.polled[polled.index].counters(polled.side),
                None => pipe.link.counters(),
            };
            let bytes = pipe.came_out_bytes(&counters);
            let before = std::mem::replace(&mut pipe.sampled_bytes, bytes);
            samples.push(LinkSample {
                at: now,
                queue: backlog.packets,
                queue_bytes: backlog.bytes,
                rate: Rate::over(Bytes::new(bytes - before), interval),
            });
        }
        self.set(Source::Sampler, Some(now + interval));
    }

    /// Packets that were offered to the links, summed over them.
    pub fn offered(&self) -> u64 {
        let links = self.pipes.iter().map(|pipe| match pipe.polled {
            Some(polled) => self.polled[polled.index].counters(polled.side).offered,
            None => pipe.link.counters().offered,
        });
        links.sum()
    }

    pub(super) fn outcome(self) -> Outcome {
        let duration = self.end.since(Time::ZERO);
        let mut one_way_delay = Delays::new();
        let mut delivered_packets = 0;
        let flows = self
            .flows
            .into_iter()
            .zip(&self.network.flows)
            .map(|(entry, spec)| {
                let mut report = entry.flow.report(Ended {
                    network: self.network,
                    spec,
                    finished: entry.finished,
                    end: self.end,
                    samples: entry.samples,
                });
                one_way_delay.merge(&mut report.one_way);
                delivered_packets += report.packets;
                report.outcome
            })
            .collect();
        let links = self
            .pipes
            .into_iter()
            .zip(&self.network.links)
            .zip(self.link_samples)
            .map(|((pipe, named), samples)| {
                let (counters, waiting, beyond) = match pipe.polled {
                    Some(PolledSide { index, side }) => {
                        let polled = &self.polled[index];
                        let beyond = polled.busy_beyond(self.end);
                        (*polled.counters(side), polled.waiting(side), beyond)
                    }
                    None => (pipe.link.counters(), 0, pipe.link.busy_beyond(self.end)),
                };
                let in_transit = (pipe.len() + waiting) as u64;
                // Service is computed ahead: the part beyond the end did not happen.
                let busy = counters.busy - beyond;
                link_outcome(&pipe, counters, busy, in_transit, named, duration, samples)
            })
            .collect();
        Outcome {
            duration,
            flows,
            links,
            destinations: self.shared.into_outcomes(self.end),
            events: self.events,
            delivered_packets,
            one_way_delay: one_way_delay.summary(),
        }
    }
}

fn link_outcome(
    pipe: &Pipe,
    counters: Counters,
    busy: Duration,
    in_transit: u64,
    named: &NamedLink,
    duration: Duration,
    samples: Vec<LinkSample>,
) -> LinkOutcome {
    let served = counters.admitted();
    let share = |span: Duration| span.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
    LinkOutcome {
        name: named.name.clone(),
        counters,
        utilisation: share(busy).min(1.0),
        mean_queue: share(counters.waited),
        mean_wait: if served == 0 {
            Duration::ZERO
        } else {
            counters.waited / served
        },
        in_transit,
        came_out: pipe.came_out(&counters),
        samples,
    }
}
