//! The two ends' addresses. They exist in the namespaces only, so they can collide with nothing outside.

use std::net::Ipv4Addr;

/// Address of the near end, where COMMAND runs.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Address of the far end.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The /30 that holds both.
pub(crate) const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);
