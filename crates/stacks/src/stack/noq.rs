//! noq-proto: the protocol state machine of noq, with its own congestion controllers (New Reno,
//! CUBIC, BBRv3), and as `whimbrel-quic` with those of this project through its adapter.

use super::noq_family::calls;
use super::quinn_family::{adapted, controllers, endpoint};
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};

endpoint!(noq_proto);
calls!(noq_proto);

controllers!("newreno": NewRenoConfig, "cubic": CubicConfig, "bbr3": Bbr3Config);

adapted!(whimbrel_quic::Factory);
