//! What the paths of a run would have allowed: capacity, propagation delay, and the time that outages left.

use crate::window::Window;
use whimbrel_sim::{FlowSpec, NamedLink, Network, Route};
use whimbrel_units::{Duration, Time};

/// How full these flows made the link that they filled most: their bytes that passed it over what it could carry in the
/// window. A flow is given by its index and what it sent. `None` if no link on their ways has a limit, or one has several ways.
pub(crate) fn fullest(network: &Network, window: Window, bytes: &[(usize, f64)]) -> Option<f64> {
    let mut loads = vec![0.0; network.links.len()];
    for (flow, bytes) in bytes {
        let routes = &network.flows.get(*flow)?.routes;
        // What each path of a multipath connection had is not told here: no link can be said to be fullest.
        let [route] = routes.as_slice() else {
            return None;
        };
        for link in &route.forward {
            *loads.get_mut(link.0 as usize)? += bytes;
        }
    }
    let shares = network.links.iter().zip(loads).filter_map(|(link, load)| {
        let capacity = capacity(link, window)?;
        (capacity > 0.0).then(|| load / capacity)
    });
    shares.reduce(f64::max)
}

/// Bytes that a link can carry in a window; `None` if it has no limit. Of Wi-Fi this is what the rate on the air would
/// give one direction that had the channel for itself and never waited.
fn capacity(link: &NamedLink, window: Window) -> Option<f64> {
    let until = |at| Some(link.spec.service.capacity(at)?.get() as f64);
    Some(until(window.to)? - until(window.from)?)
}

/// The least time a packet needs for a flow's way by propagation alone; of several ways the shortest.
pub(crate) fn propagation(network: &Network, flow: &FlowSpec) -> Duration {
    let of_route = |route| {
        let delays = links(network, route).map(|link| link.spec.delay.minimum());
        delays.fold(Duration::ZERO, Duration::saturating_add)
    };
    flow.routes.iter().map(of_route).min().unwrap_or_default()
}

/// How much of a window was without any outage on a flow's way; of several ways the one that had least.
pub(crate) fn outside_outages(network: &Network, flow: &FlowSpec, window: Window) -> Duration {
    let of_route = |route| outside_outages_of_route(network, route, window);
    flow.routes.iter().map(of_route).max().unwrap_or_default()
}

fn outside_outages_of_route(network: &Network, route: &Route, window: Window) -> Duration {
    let mut outages: Vec<(Time, Time)> = links(network, route)
        .flat_map(|link| &link.spec.loss.outages)
        .map(|outage| (outage.from, outage.to))
        .collect();
    outages.sort_unstable();
    // Outages of several links may overlap: each instant counts once.
    let mut out = Duration::ZERO;
    let mut counted = window.from;
    for (from, to) in outages {
        let from = from.max(counted);
        let to = to.min(window.to);
        out = out.saturating_add(to.since(from));
        counted = counted.max(to);
    }
    window.length() - out
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

    fn window(from_ms: u64, to_ms: u64) -> Window {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        Window {
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
        let left = |from, to| outside_outages(&network, &network.flows[0], window(from, to));
        // Out from 1 s to 2.5 s and from 5 s to 6 s.
        assert_eq!(left(0, 10_000), Duration::from_millis(7500));
        assert_eq!(left(2_000, 5_500), Duration::from_millis(2500));
        assert_eq!(left(1_200, 2_200), Duration::ZERO);
    }

    #[test]
    fn propagation_is_the_least_of_a_schedule_over_all_links() {
        let network = network(TWO_LINKS);
        let least = propagation(&network, &network.flows[0]);
        assert_eq!(least, Duration::from_millis(40));
    }

    #[test]
    fn the_fullest_link_is_the_one_that_has_least_for_what_it_is_given() {
        let network = network(TWO_LINKS);
        // b carries 4 Mbit/s for 2 s and 2 Mbit/s for 2 s: 1.5 MB; a could carry 4 MB.
        let share = fullest(&network, window(0, 4_000), &[(0, 1.2e6)]).expect("a limit");
        assert!((share - 0.8).abs() < 1e-9, "{share}");
        // From 2 s to 4 s only 0.5 MB.
        let share = fullest(&network, window(2_000, 4_000), &[(0, 0.1e6)]).expect("a limit");
        assert!((share - 0.2).abs() < 1e-9, "{share}");
    }

    #[test]
    fn ten_flows_with_access_links_of_their_own_fill_the_shared_one() {
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
        let share = fullest(&network, window(0, 10_000), &each).expect("a limit");
        assert!((share - 0.75).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_path_without_limits_cannot_be_filled() {
        let network = network("[link.L]\ndelay = \"1 ms\"\n[[flow]]\nroute = [\"L\"]\n");
        assert_eq!(fullest(&network, window(0, 1_000), &[(0, 1.0)]), None);
    }
}
