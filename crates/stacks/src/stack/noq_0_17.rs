//! noq-proto 0.17.0: before its CUBIC was mended (it reduced the window twice) and BBRv3 replaced
//! BBR.

use super::noq_family::calls;
use super::quinn_family::endpoint;
use noq_proto_0_17::congestion::{BbrConfig, CubicConfig, NewRenoConfig};

endpoint!(noq_proto_0_17);
calls!(noq_proto_0_17);

/// Both ends of a connection with this controller of noq's; `None` if it has no such controller.
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
        "bbr" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
            },
            seed,
        ),
        _ => return None,
    })
}
