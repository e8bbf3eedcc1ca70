//! The stacks, a file for each.

pub(crate) mod linux;
pub(crate) mod noq;
#[cfg(feature = "older")]
pub(crate) mod noq_0_17;
mod noq_family;
#[cfg(feature = "quiche")]
pub(crate) mod quiche;
#[cfg(feature = "quinn")]
pub(crate) mod quinn;
mod quinn_family;
#[cfg(feature = "s2n")]
pub(crate) mod s2n;
#[cfg(feature = "smoltcp")]
pub(crate) mod smoltcp;
#[cfg(feature = "older")]
pub(crate) mod smoltcp_0_12;
#[cfg(feature = "older")]
pub(crate) mod smoltcp_0_13;
#[cfg(any(feature = "smoltcp", feature = "older"))]
mod smoltcp_family;
#[cfg(feature = "tquic")]
pub(crate) mod tquic;

/// The address of each end of a QUIC connection: the client's, then the server's.
fn addresses() -> [std::net::SocketAddr; 2] {
    [1, 2].map(|host| std::net::SocketAddr::from(([10, 0, 0, host], 4433)))
}
