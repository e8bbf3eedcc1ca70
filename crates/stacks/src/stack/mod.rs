//! The stacks, a file for each.

pub(crate) mod noq;
#[cfg(feature = "quinn")]
pub(crate) mod quinn;
mod quinn_family;
#[cfg(feature = "smoltcp")]
pub(crate) mod smoltcp;

/// The address of each end of a QUIC connection: the client's, then the server's.
fn addresses() -> [std::net::SocketAddr; 2] {
    [1, 2].map(|host| std::net::SocketAddr::from(([10, 0, 0, host], 4433)))
}
