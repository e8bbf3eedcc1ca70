//! What a path offers over time: its capacity, its base RTT, and the size of its buffers.
//!
//! **Capacity** is the minimum over the links of the path, as steps. The rate of a link is exact
//! between its steps. A trace, which delivers packet by packet, is shown as means over spans.
//! During an outage the capacity is zero. The capacity of Wi-Fi and radio links is that of one
//! station that sends full packets alone: collisions, acknowledgments and shadowing reduce it.

use crate::network::{LinkName, NamedLink, Network, Route};
use whimbrel_net::{Aqm, QueueLimit, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A path with more steps is shown as means over spans.
const MOST_STEPS: usize = 600;
/// The packet size that the capacity of a Wi-Fi channel is computed for.
const PACKET: Bytes = Bytes::new(1500);

impl Network {
    /// The capacity of a route from time zero until `until`: each rate holds from its time until
    /// the next. Traces, and links with too many steps, are shown as means over `spans` equal
    /// spans. `None` if nothing limits the route.
    pub fn path_capacity(
        &self,
        route: &Route,
        until: Time,
        spans: u32,
    ) -> Option<Vec<(Time, Rate)>> {
        let links = self.forward_links(route);
        if links
            .iter()
            .all(|link| matches!(link.spec.service, ServiceSpec::Unlimited))
        {
            return None;
        }
        let mut times: Vec<Time> = links.iter().flat_map(|link| changes(link)).collect();
        let traced = |link: &&NamedLink| matches!(link.spec.service, ServiceSpec::Trace(_));
        if times.len() > MOST_STEPS {
            times.clear();
        }
        if times.is_empty() || links.iter().any(traced) {
            let spans = u64::from(spans.max(1));
            // A constant rate needs no spans.
            let spans = if times.is_empty() && !links.iter().any(|link| varies(link)) {
                1
            } else {
                spans
            };
            let at = |i: u64| {
                Time::from_nanos(
                    (u128::from(until.as_nanos()) * u128::from(i) / u128::from(spans)) as u64,
                )
            };
            times.extend((0..spans).map(at));
        }
        times.push(Time::ZERO);
        times.sort_unstable();
        times.dedup();
        times.retain(|at| *at < until);
        let ends = times.iter().skip(1).copied().chain([until]);
        let mut steps: Vec<(Time, Rate)> = Vec::with_capacity(times.len());
        for (from, to) in times.iter().copied().zip(ends) {
            let rates = links
                .iter()
                .filter_map(|link| self.mean_rate(link, from, to));
            let rate = rates.min().unwrap_or(Rate::ZERO);
            if steps.last().is_none_or(|(_, before)| *before != rate) {
                steps.push((from, rate));
            }
        }
        Some(steps)
    }

    /// The sum of the propagation delays of a route, there and back, from time zero until `until`:
    /// each holds from its time until the next. The delays are evaluated at `points` equally spaced
    /// times.
    pub fn path_base_rtt(&self, route: &Route, until: Time, points: u32) -> Vec<(Time, Duration)> {
        let ids = route.forward.iter().chain(&route.backward);
        let links: Vec<&NamedLink> = ids.filter_map(|id| self.links.get(id.0 as usize)).collect();
        let points = u64::from(points.max(1));
        let mut steps: Vec<(Time, Duration)> = Vec::new();
        for i in 0..points {
            let at = Time::from_nanos(until.as_nanos() / points * i);
            let delays = links.iter().map(|link| link.spec.delay.at(at));
            let all = delays.fold(Duration::ZERO, Duration::saturating_add);
            if steps.last().is_none_or(|(_, before)| *before != all) {
                steps.push((at, all));
            }
        }
        steps
    }

    /// The buffer size of a link: packets or bytes. Neither if the link is unknown or its buffer
    /// unlimited.
    pub fn buffer_size(&self, link: &LinkName) -> (Option<u32>, Option<Bytes>) {
        let link = self.links.iter().find(|named| named.name == *link);
        match link.map(|named| named.spec.queue) {
            Some(QueueLimit::Packets(packets)) => (Some(packets), None),
            Some(QueueLimit::Bytes(bytes)) => (None, Some(bytes)),
            Some(QueueLimit::Unlimited) | None => (None, None),
        }
    }

    /// The links that data passes.
    fn forward_links(&self, route: &Route) -> Vec<&NamedLink> {
        let ids = route.forward.iter();
        ids.filter_map(|id| self.links.get(id.0 as usize)).collect()
    }

    /// The mean rate of a link over a span, outages included. `None` if it has neither a rate nor
    /// an outage in the span.
    fn mean_rate(&self, link: &NamedLink, from: Time, to: Time) -> Option<Rate> {
        let span = to.since(from);
        let out = out_in(link, from, to);
        if out >= span {
            return Some(Rate::ZERO);
        }
        let whole = match (&link.on_channel, &link.spec.service) {
            (Some(on), _) => self.channels.get(on.channel)?.saturation(PACKET),
            (None, ServiceSpec::Unlimited) => return None,
            (None, ServiceSpec::Wireless(radio)) => radio.nominal_rate(),
            (None, ServiceSpec::Rate(rates)) => {
                let begun = rates.all().partition_point(|(at, _)| *at <= from);
                let ends = rates.all().get(begun).map(|(at, _)| *at);
                match rates.all().get(begun.saturating_sub(1)) {
                    // The rate is constant in the span: return it exactly, not rounded to whole
                    // bytes.
                    Some((_, rate)) if ends.is_none_or(|end| end >= to) => *rate,
                    _ => over(&link.spec.service, from, to)?,
                }
            }
            (None, service @ ServiceSpec::Trace(_)) => over(service, from, to)?,
        };
        let whole = match link.spec.aqm {
            Some(Aqm::Policer(policer)) => whole.min(policer.rate),
            _ => whole,
        };
        let share = 1.0 - out.as_secs_f64() / span.as_secs_f64();
        let rate = whole.as_bits_per_sec() as f64 * share;
        Some(Rate::from_bits_per_sec(rate.round() as u64))
    }
}

/// The mean rate of a service over a span.
fn over(service: &ServiceSpec, from: Time, to: Time) -> Option<Rate> {
    let until = |at| Some(service.capacity(at)?.get());
    let bytes = until(to)?.saturating_sub(until(from)?);
    Some(Rate::over(Bytes::new(bytes), to.since(from)))
}

/// When the capacity of a link changes: the steps of its rate, and the ends of its outages.
fn changes(link: &NamedLink) -> impl Iterator<Item = Time> {
    let steps = match &link.spec.service {
        ServiceSpec::Rate(rates) if link.on_channel.is_none() => rates.all(),
        _ => &[],
    };
    let steps = steps.iter().skip(1).map(|(at, _)| *at);
    let outages = &link.spec.loss.outages;
    steps.chain(outages.iter().flat_map(|out| [out.from, out.to]))
}

/// Whether the capacity of a link changes at all.
fn varies(link: &NamedLink) -> bool {
    matches!(link.spec.service, ServiceSpec::Trace(_)) || changes(link).next().is_some()
}

/// How long a link is out during a span. Outages may overlap.
fn out_in(link: &NamedLink, from: Time, to: Time) -> Duration {
    let meets = |out: &&whimbrel_net::Outage| out.from < to && out.to > from;
    let outages = link.spec.loss.outages.iter().filter(meets);
    let mut spans: Vec<(Time, Time)> = outages.map(|out| (out.from, out.to)).collect();
    spans.sort_unstable();
    let mut counted = from;
    let mut out = Duration::ZERO;
    for (begin, end) in spans {
        let end = end.min(to);
        out = out.saturating_add(end.since(begin.max(counted)));
        counted = counted.max(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn network(text: &str) -> Network {
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        scenario.points()[0].network(1)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn steps(network: &Network, seconds: u64, spans: u32) -> Vec<(f64, f64)> {
        let route = &network.flows[0].routes[0];
        let steps = network.path_capacity(route, ms(seconds * 1000), spans);
        let steps = steps.expect("a limit").into_iter();
        steps
            .map(|(at, rate)| (at.as_secs_f64(), rate.as_bits_per_sec() as f64 * 1e-6))
            .collect()
    }

    const TWO_LINKS: &str = r#"
[link.a]
rate = "8 Mbit/s"
delay = "10 ms"
loss = { outages = [["5.5 s", "6 s"]] }
[link.b]
rate = [["0 s", "4 Mbit/s"], ["2 s", "10 Mbit/s"]]
delay = [["0 s", "50 ms"], ["3 s", "30 ms"]]
queue = "1 bdp"
loss = { outages = [["5 s", "7 s"]] }
[[flow]]
route = ["a", "b"]
[run]
duration = "10 s"
"#;

    #[test]
    fn capacity_is_that_of_the_narrowest_link_and_zero_in_an_outage() {
        let network = network(TWO_LINKS);
        // 4 Mbit/s of b, then 8 Mbit/s of a, nothing from 5 s to 7 s.
        let expected = [(0.0, 4.0), (2.0, 8.0), (5.0, 0.0), (7.0, 8.0)];
        assert_eq!(steps(&network, 10, 7), expected);
    }

    #[test]
    fn the_base_rtt_sums_the_delays_of_both_directions() {
        let network = network(TWO_LINKS);
        let route = &network.flows[0].routes[0];
        let steps = network.path_base_rtt(route, ms(10_000), 100);
        let ms = |n| Duration::from_millis(n);
        assert_eq!(steps, [(Time::ZERO, ms(120)), (self::ms(3000), ms(80))]);
        // 10 Mbit/s x 120 ms.
        assert_eq!(
            network.buffer_size(&"b".into()),
            (None, Some(Bytes::new(150_000)))
        );
        assert_eq!(network.buffer_size(&"a".into()), (None, None));
    }

    #[test]
    fn too_many_outages_are_shown_as_means() {
        // An outage of 1 ms each second, 400 times: 0.1 % less.
        let out: Vec<String> = (0..400)
            .map(|s| format!("[\"{s} s\", \"{s}.001 s\"]"))
            .collect();
        let text = format!(
            "[link.L]\nrate = \"10 Mbit/s\"\nloss = {{ outages = [{}] }}\n[[flow]]\nroute = [\"L\"]\n",
            out.join(", ")
        );
        assert_eq!(steps(&network(&text), 400, 4), [(0.0, 9.99)]);
    }

    #[test]
    fn a_path_without_a_limit_has_no_capacity() {
        let network = network("[link.L]\ndelay = \"1 ms\"\n[[flow]]\nroute = [\"L\"]\n");
        let route = &network.flows[0].routes[0];
        assert_eq!(network.path_capacity(route, ms(1000), 10), None);
    }
}
