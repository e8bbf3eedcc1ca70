//! noq-proto: the protocol state machine of noq, with its own congestion controllers (New Reno,
//! CUBIC, BBRv3), and as `whimbrel-quic` with those of this project through its adapter.

use super::noq_family::calls;
use super::quinn_family::{adapted, controllers, endpoint};
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};

endpoint!(noq_proto);
calls!(noq_proto);

controllers!("newreno": NewRenoConfig, "cubic": CubicConfig, "bbr3": Bbr3Config);

adapted!(whimbrel_quic::Factory);

/// Both ends of a connection with a controller that this factory makes at the sender.
#[cfg(feature = "s2n")]
pub(crate) fn connect_with(
    factory: Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync>,
    seed: u64,
) -> [Box<dyn Endpoint>; 2] {
    let set = |transport: &mut TransportConfig| {
        transport.congestion_controller_factory(factory);
    };
    open(set, u64::MAX, seed)
}
