//! What the equations of the TCP-NACK paper say of a run's path; the run itself decides nothing.
//!
//! G. Olmedo, R. Lara-Cueva, D. Martinez, C. de Almeida, "Performance Analysis of a Novel TCP
//! Protocol Algorithm Adapted to Wireless Networks", Future Internet 12(6):101, 2020: equations
//! (1) to (16), solved by `whimbrel_model`. The path is one link of constant rate and delay with a
//! buffer in packets, on which packets are corrupted independently.

use super::definition::{Definition, Samples};
use super::view::View;
use whimbrel_model::{ModelPath, Modelled};
use whimbrel_net::QueueLimit;
use whimbrel_sim::{FlowSpec, LinkId, Network, Traffic};
use whimbrel_units::{Duration, Probability, Rate, Time};

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Equation (15), or with NACKs (16), as utilization of the link; mean over the flows. No value
    // for a controller that the equations do not describe, or another kind of path.
    Definition {
        name: "equation",
        unit: "%",
        samples: Samples::Never,
        value: |view: &View<'_>| {
            let network = view.network();
            view.mean_by_index(|i, _| equation(&network, network.flows.get(i)?))
        },
    },
];

fn equation(network: &Network, flow: &FlowSpec) -> Option<f64> {
    let Traffic::Tcp(tcp) = &flow.traffic else {
        return None;
    };
    let modelled = Modelled::named(&tcp.controller.to_string())?;
    let [route] = flow.routes.as_slice() else {
        return None;
    };
    let link = |id: &LinkId| network.links.get(id.0 as usize);
    let ([forward], [backward]) = (route.forward.as_slice(), route.backward.as_slice()) else {
        return None;
    };
    let (forward, backward) = (&link(forward)?.spec, &link(backward)?.spec);
    let QueueLimit::Packets(buffer) = forward.queue else {
        return None;
    };
    let second = Time::ZERO + Duration::from_secs(1);
    let rate = Rate::from_bits_per_sec(8 * forward.service.capacity(second)?.get());
    let round = forward.delay.minimum() + backward.delay.minimum();
    let packet = tcp.settings.mss + tcp.settings.header;
    let path = ModelPath::new(rate, round, packet, u64::from(buffer)).ok()?;
    let solution = modelled.solve(&path, Probability::ZERO, forward.loss.corrupt);
    Some(100.0 * solution.ok()?.mean_of_cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path as File;
    use whimbrel_sim::scenario::Scenario;

    /// The equations' utilization on the path of Table 1 with a controller and a queue.
    fn predicted(controller: &str, queue: &str) -> Option<f64> {
        let text = format!(
            "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"35 ms\"\nqueue = \"{queue}\"\n\
             loss = {{ corrupt = \"1 %\" }}\n\
             [[flow]]\ncontroller = \"{controller}\"\nroute = [\"L\"]\n"
        );
        let scenario = Scenario::parse(&text, File::new("a.toml")).expect("a scenario");
        let network = scenario.points()[0].network(1);
        equation(&network, &network.flows[0])
    }

    #[test]
    fn the_equations_are_those_of_the_model_on_the_same_path() {
        let path = ModelPath::new(
            Rate::from_bits_per_sec(5_000_000),
            Duration::from_millis(70),
            whimbrel_units::Bytes::new(1500),
            30,
        )
        .expect("a path");
        let p = Probability::new(0.01).expect("a probability");
        for name in ["reno", "tcp-nack-westwood"] {
            let modelled = Modelled::named(name).expect("modelled");
            let solution = modelled.solve(&path, Probability::ZERO, p).expect("solved");
            let expected = 100.0 * solution.mean_of_cycles;
            let measured = predicted(name, "30 packets").expect("a value");
            assert!((measured - expected).abs() < 1e-9, "{name}: {measured}");
        }
        let reno = predicted("reno", "30 packets").expect("a value");
        let nack = predicted("tcp-nack", "30 packets").expect("a value");
        assert!(2.0 * reno < nack, "{reno} and {nack}");
    }

    #[test]
    fn other_controllers_and_unlimited_buffers_have_no_equation() {
        assert_eq!(predicted("cubic", "30 packets"), None);
        assert_eq!(predicted("reno", "unlimited"), None);
    }
}
