//! The total rate of all flows under max-min fairness.

use super::resolved::Resolved;
use super::resolved_flow::ResolvedFlow;
use super::resolved_link::ResolvedDirection;
use super::route::{FlowRoute, Hop};
use crate::network::Traffic;
use std::collections::HashMap;
use whimbrel_net::{LinkSpec, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl Resolved {
    /// The total rate of all flows if each link is shared with max-min fairness, headers included,
    /// without losses. `None` if some flow has no rate limit at all.
    pub fn capacity(&self) -> Option<Rate> {
        // Each path of a multipath connection counts as a flow. Two-way flows also load the
        // mirrored links: that direction is a second group of flows.
        let mut groups: Vec<Group> = Vec::new();
        for flow in self.flows.iter().filter(|flow| flow.count > 0) {
            for route in &flow.routes {
                groups.push(self.group(flow, route, false));
                if matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.two_way) {
                    groups.push(self.group(flow, route, true));
                }
            }
        }
        let mut left: HashMap<(usize, bool), f64> = HashMap::new();
        for group in &groups {
            for key in &group.shared {
                let rate = self.rate(*key, group.packet).unwrap_or(f64::INFINITY);
                let of_link = left.entry(*key).or_insert(rate);
                *of_link = of_link.max(rate);
            }
        }
        // Progressive filling: in each round the groups with the smallest share get it and are
        // done.
        let mut total = 0.0;
        while !groups.is_empty() {
            let mut users: HashMap<(usize, bool), f64> = HashMap::new();
            for group in &groups {
                for key in &group.shared {
                    *users.entry(*key).or_default() += group.count;
                }
            }
            let of = |key| {
                left.get(key).copied().unwrap_or(f64::INFINITY)
                    / users.get(key).copied().unwrap_or(1.0)
            };
            let shares: Vec<f64> = groups
                .iter()
                .map(|g| g.shared.iter().map(of).fold(g.limit, f64::min))
                .collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            if !least.is_finite() {
                return None;
            }
            let mut shares = shares.into_iter();
            groups.retain(|group| {
                // The tolerance keeps groups with the same limit in one round despite rounding.
                let done = shares
                    .next()
                    .is_none_or(|share| share <= least * (1.0 + 1e-9));
                if done {
                    total += group.count * least;
                    for key in &group.shared {
                        left.entry(*key)
                            .and_modify(|rate| *rate = (*rate - group.count * least).max(0.0));
                    }
                }
                !done
            });
        }
        Some(Rate::from_bits_per_sec(total.round() as u64))
    }

    fn group(&self, flow: &ResolvedFlow, route: &FlowRoute, far_end: bool) -> Group {
        let (hops, reversed) = match (&route.back, far_end) {
            (_, false) => (&route.forward, false),
            (Some(back), true) => (back, false),
            (None, true) => (&route.forward, true),
        };
        // Both directions of a Wi-Fi link share one capacity.
        let key = |hop: &Hop| {
            let one = self.links[hop.link].wifi.is_some();
            (hop.link, reversed && !one)
        };
        let offered = match &flow.traffic {
            Traffic::Tcp(_) | Traffic::Aatp(_) => f64::INFINITY,
            Traffic::Udp(udp) => {
                let duty = udp
                    .on_off
                    .map_or(1.0, |b| b.on.as_secs_f64() / (b.on + b.off).as_secs_f64());
                udp.rate.as_bits_per_sec() as f64 * duty
            }
        };
        let packet = flow.packet();
        let own = hops
            .iter()
            .filter(|hop| hop.own)
            .filter_map(|hop| self.rate(key(hop), packet));
        let shared = hops.iter().filter(|hop| !hop.own).map(key).collect();
        Group {
            count: f64::from(flow.count),
            packet,
            limit: own.fold(offered, f64::min),
            shared,
        }
    }

    /// The mean rate of one direction of a link over the run, in bit/s; `None` if unlimited. For
    /// Wi-Fi it is the saturation rate of a single station with packets of this size.
    fn rate(&self, (link, mirrored): (usize, bool), packet: Bytes) -> Option<f64> {
        let link = &self.links[link];
        match (&link.wifi, mirrored) {
            (Some(wifi), _) => Some(wifi.saturation(packet).as_bits_per_sec() as f64),
            (None, false) => policed_rate(&link.forward, self.run.duration.value),
            (None, true) => policed_rate(&link.reverse, self.run.duration.value),
        }
    }
}

/// The flows of one `[[flow]]` over one route, in one direction.
struct Group {
    count: f64,
    packet: Bytes,
    /// Maximum rate of one flow, given what it offers and its own links, in bit/s.
    limit: f64,
    /// Shared links, each with whether the mirrored direction is used.
    shared: Vec<(usize, bool)>,
}

/// The mean rate of a direction, at most what its policer lets through.
fn policed_rate(direction: &ResolvedDirection, span: Duration) -> Option<f64> {
    let policed = direction.policed();
    let policed = policed.map(|rate| rate.as_bits_per_sec() as f64);
    let rate = mean_rate(&direction.spec, span);
    match (rate, policed) {
        (Some(rate), Some(policed)) => Some(rate.min(policed)),
        (rate, policed) => rate.or(policed),
    }
}

/// Mean rate over the first `span` in bit/s; `None` if unlimited.
fn mean_rate(spec: &LinkSpec, span: Duration) -> Option<f64> {
    match &spec.service {
        ServiceSpec::Unlimited => None,
        ServiceSpec::Rate(schedule) => Some(mean_of(schedule, span)),
        // Of the part of the trace that the run uses.
        ServiceSpec::Trace(trace) => {
            let bits = trace.capacity(Time::ZERO + span).get() as f64 * 8.0;
            Some(bits / span.as_secs_f64())
        }
        ServiceSpec::Wireless(radio) => Some(radio.nominal_rate().as_bits_per_sec() as f64),
    }
}

fn mean_of(schedule: &Schedule<Rate>, span: Duration) -> f64 {
    let end = Time::ZERO + span;
    let steps = schedule.all();
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Time::MAX]);
    let bits: f64 = steps
        .iter()
        .zip(ends)
        .map(|((from, rate), to)| {
            rate.as_bits_per_sec() as f64 * to.min(end).since(*from).as_secs_f64()
        })
        .sum();
    bits / span.as_secs_f64()
}
