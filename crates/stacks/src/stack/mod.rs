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

/// Shakes hands once in a process, before the first run of a stack that uses BoringSSL. The library
/// draws random numbers at its first use, so the run in which that is would see other numbers than
/// the same run later. `open` makes both ends; they get a clock and numbers of their own.
#[cfg(any(feature = "quiche", feature = "tquic"))]
fn warm_up(open: fn() -> Option<[Box<dyn crate::endpoint::Endpoint>; 2]>) {
    use crate::endpoint::Ecn;
    /// Flights of a handshake, and some.
    const FLIGHTS: usize = 8;
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // What becomes of the connection does not matter.
        let _ = crate::virtual_os::isolated(0, || {
            let Some([mut near, mut far]) = open() else {
                return;
            };
            let now = std::time::Instant::now();
            let mut datagram = Vec::new();
            for _ in 0..FLIGHTS {
                while near.transmit(now, &mut datagram).is_some() {
                    far.receive(now, &mut datagram, Ecn::NotEct);
                }
                while far.transmit(now, &mut datagram).is_some() {
                    near.receive(now, &mut datagram, Ecn::NotEct);
                }
            }
        });
    });
}

/// The address of each end of a QUIC connection: the client's, then the server's.
fn addresses() -> [std::net::SocketAddr; 2] {
    [1, 2].map(|host| std::net::SocketAddr::from(([10, 0, 0, host], 4433)))
}
