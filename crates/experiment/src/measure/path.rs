//! What the paths of a run allow: capacity, propagation delay, and the time outside outages.

use super::period::Period;
use whimbrel_sim::{FlowSpec, NamedLink, Network, Route};
use whimbrel_units::{Duration, Time};

/// Load on the link with the highest load: the bytes of these flows that crossed it, over what it
/// could carry in the period. A flow is given by its index and the bytes it sent. `None` if no
/// link on the flows' routes has a limited rate, or a flow has several routes.
pub(crate) fn highest_load(
    network: &Network,
    period: Period,
    bytes: &[(usize, f64)],
) -> Option<f64> {
    let mut carried = vec![0.0; network.links.len()];
    for (flow, bytes) in bytes {
        let routes = &network.flows.get(*flow)?.routes;
        // How a multipath connection divided its bytes among its paths is not known here.
        let [route] = routes.as_slice() else {
            return None;
        };
        for link in &route.forward {
            *carried.get_mut(link.0 as usize)? += bytes;
        }
    }
    let loads = network
        .links
        .iter()
        .zip(carried)
        .filter_map(|(link, carried)| {
            let capacity = capacity(link, period)?;
            (capacity > 0.0).then(|| carried / capacity)
        });
    loads.reduce(f64::max)
}

/// Bytes that a link can carry in a period; `None` if its rate is unlimited. For Wi-Fi: what the
/// rate on the air gives one direction that has the channel for itself and never waits.
fn capacity(link: &NamedLink, period: Period) -> Option<f64> {
    let until = |at| Some(link.spec.service.capacity(at)?.get() as f64);
    Some(until(period.to)? - until(period.from)?)
}

/// Minimum propagation delay of a flow's route; with several routes, of the shortest one.
pub(crate) fn propagation(network: &Network, flow: &FlowSpec) -> Duration {
    let of_route = |route| {
        let delays = links(network, route).map(|link| link.spec.delay.minimum());
        delays.fold(Duration::ZERO, Duration::saturating_add)
    };
    flow.routes.iter().map(of_route).min().unwrap_or_default()
}

/// How much of a period had no outage on a flow's route; with several routes, on the route with
/// the least outage.
pub(crate) fn outside_outages(network: &Network, flow: &FlowSpec, period: Period) -> Duration {
    let of_route = |route| outside_outages_of_route(network, route, period);
    flow.routes.iter().map(of_route).max().unwrap_or_default()
}

fn outside_outages_of_route(network: &Network, route: &Route, period: Period) -> Duration {
    let mut outages: Vec<(Time, Time)> = links(network, route)
        .flat_map(|link| &link.spec.loss.outages)
        .map(|outage| (outage.from, outage.to))
        .collect();
    outages.sort_unstable();
    // Outages of several links may overlap: each instant counts once.
    let mut out = Duration::ZERO;
    let mut counted = period.from;
    for (from, to) in outages {
        let from = from.max(counted);
        let to = to.min(period.to);
        out = out.saturating_add(to.since(from));
        counted = counted.max(to);
    }
    period.length() - out
}

fn links<'a>(network: &'a Network, route: &'a Route) -> impl Iterator<Item = &'a NamedLink> {
    let ids = route.forward.iter();
    ids.filter_map(|link| network.links.get(link.0 as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;

    fn network(text: &str) -> Network {
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        scenario.points()[0].network(1)
    }

    fn period(from_ms: u64, to_ms: u64) -> Period {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        Period {
            from: at(from_ms),
            to: at(to_ms),
        }
    }

    const TWO_LINKS: &str = r#"
[link.a]
rate = "8 Mbit/s"
delay = "10 ms"
loss = { outages = [["1 s", "2 s"], ["5 s", "6 s"]] }
[link.b]
rate = [["0 s", "4 Mbit/s"], ["2 s", "2 Mbit/s"]]
delay = [["0 s", "50 ms"], ["3 s", "30 ms"]]
loss = { outages = [["1.5 s", "2.5 s"]] }
[[flow]]
route = ["a", "b"]
"#;

    #[test]
    fn overlapping_outages_of_two_links_count_once() {
        let network = network(TWO_LINKS);
        let left = |from, to| outside_outages(&network, &network.flows[0], period(from, to));
        // Out from 1 s to 2.5 s and from 5 s to 6 s.
        assert_eq!(left(0, 10_000), Duration::from_millis(7500));
        assert_eq!(left(2_000, 5_500), Duration::from_millis(2500));
        assert_eq!(left(1_200, 2_200), Duration::ZERO);
    }

    #[test]
    fn propagation_is_the_minimum_of_a_schedule_over_all_links() {
        let network = network(TWO_LINKS);
        let minimum = propagation(&network, &network.flows[0]);
        assert_eq!(minimum, Duration::from_millis(40));
    }

    #[test]
    fn the_highest_load_is_relative_to_the_capacity_of_each_link() {
        let network = network(TWO_LINKS);
        // b carries 4 Mbit/s for 2 s and 2 Mbit/s for 2 s: 1.5 MB; a could carry 4 MB.
        let load = highest_load(&network, period(0, 4_000), &[(0, 1.2e6)]).expect("a limit");
        assert!((load - 0.8).abs() < 1e-9, "{load}");
        // From 2 s to 4 s only 0.5 MB.
        let load = highest_load(&network, period(2_000, 4_000), &[(0, 0.1e6)]).expect("a limit");
        assert!((load - 0.2).abs() < 1e-9, "{load}");
    }

    #[test]
    fn ten_flows_with_their_own_access_links_load_the_shared_link_most() {
        let network = network(
            r#"
[link.access]
rate = "1 Mbit/s"
[link.L]
rate = "8 Mbit/s"
[[flow]]
count = 10
route = ["access*", "L"]
"#,
        );
        // 0.6 Mbit/s each for 10 s: 60 % of an access link, 75 % of L.
        let each: Vec<(usize, f64)> = (0..10).map(|flow| (flow, 0.75e6)).collect();
        let load = highest_load(&network, period(0, 10_000), &each).expect("a limit");
        assert!((load - 0.75).abs() < 1e-9, "{load}");
    }

    #[test]
    fn an_unlimited_path_has_no_load() {
        let network = network("[link.L]\ndelay = \"1 ms\"\n[[flow]]\nroute = [\"L\"]\n");
        assert_eq!(highest_load(&network, period(0, 1_000), &[(0, 1.0)]), None);
    }
}
