//! The addresses of the nodes. They exist only in the namespaces, so they do not collide with
//! addresses outside.

use std::net::Ipv4Addr;

/// The address of the near end, where COMMAND runs.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The address of the far end.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The netmask of the /30 network that contains both.
pub(crate) const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);

/// The most interfaces of the near end.
pub const MAX_INTERFACES: usize = 8;

/// The addresses of interface `number` at both ends, near and far. The first has [`NEAR`] and
/// [`FAR`].
pub(crate) fn of_interface(number: usize) -> [Ipv4Addr; 2] {
    let third = u8::try_from(number).unwrap_or(u8::MAX);
    [NEAR, FAR].map(|first| {
        let [a, b, _, d] = first.octets();
        Ipv4Addr::new(a, b, third, d)
    })
}

/// The address of a node of a topology, which all its interfaces have.
pub(crate) fn of_node(number: usize) -> Ipv4Addr {
    let [a, b, ..] = NEAR.octets();
    let last = u8::try_from(number + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(a, b, 255, last)
}
