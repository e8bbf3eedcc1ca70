//! The addresses of the two ends. They exist only in the namespaces, so they do not collide with
//! addresses outside.

use std::net::Ipv4Addr;

/// The address of the near end, where COMMAND runs.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The address of the far end.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The netmask of the /30 network that contains both.
pub(crate) const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);
