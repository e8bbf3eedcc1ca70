//! noq-proto 0.17.0: before its CUBIC was mended (it reduced the window twice) and BBRv3 replaced
//! BBR.

use super::noq_family::calls;
use super::quinn_family::{controllers, endpoint};
use noq_proto_0_17::congestion::{BbrConfig, CubicConfig, NewRenoConfig};

endpoint!(noq_proto_0_17);
calls!(noq_proto_0_17);

controllers!("newreno": NewRenoConfig, "cubic": CubicConfig, "bbr": BbrConfig);
