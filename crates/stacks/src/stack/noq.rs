//! noq-proto: the protocol state machine of noq, with its own congestion controllers (New Reno,
//! CUBIC, BBRv3), and as `whimbrel-quic` with those of this project through its adapter.

use super::noq_family::calls;
use super::quinn_family::endpoint;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use whimbrel_cc::Spec;
use whimbrel_quic::Factory;

endpoint!(noq_proto);
calls!(noq_proto);

/// Both ends of a connection with this controller of noq's; `None` if noq has no such controller.
pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    Some(match controller {
        "newreno" => open(
            |transport| {
                let factory = Arc::new(NewRenoConfig::default());
                transport.congestion_controller_factory(factory);
            },
            seed,
        ),
        "cubic" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
            },
            seed,
        ),
        "bbr3" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(Bbr3Config::default()));
            },
            seed,
        ),
        _ => return None,
    })
}

/// Both ends of a connection with this project's controller; `None` if it is unknown or needs
/// reports on bursts.
pub(crate) fn connect_whimbrel(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    let spec: Spec = controller.parse().ok()?;
    let factory = Factory::new(spec).ok()?.seed(seed);
    let set = |transport: &mut TransportConfig| {
        transport.congestion_controller_factory(Arc::new(factory));
    };
    Some(open(set, seed))
}
