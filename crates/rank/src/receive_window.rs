//! The receive window of a point.
//!
//! A receiver offers the memory that it has, by default 6 MB in Linux. The windows of some
//! algorithms grow without bound where nothing but losses limits them; most of what they send is
//! lost, and a ranking would spend most of its time on these packets. So a point whose file says
//! nothing of it has a window that no other algorithm fills.

use whimbrel_net::QueueLimit;
use whimbrel_sim::Network;
use whimbrel_units::{Bytes, Duration};

/// How many times what the path and its buffers hold.
const TIMES: u64 = 8;
/// At least this much.
const LEAST: Bytes = Bytes::new(1 << 20);
/// A packet on the wire.
const PACKET: u64 = 1500;

/// For all flows of a network; `None`: a buffer without limit needs one that has none.
pub(crate) fn of(network: &Network) -> Option<Bytes> {
    let links = || network.links.iter().map(|link| &link.spec);
    let rate = links().filter_map(|link| link.service.nominal_rate()).max();
    let delay = links()
        .map(|link| link.delay.nominal())
        .fold(Duration::ZERO, |sum, delay| sum + delay);
    let buffers = links()
        .filter(|link| link.service.nominal_rate().is_some())
        .map(|link| match link.queue {
            QueueLimit::Unlimited => None,
            QueueLimit::Packets(packets) => Some(u64::from(packets) * PACKET),
            QueueLimit::Bytes(bytes) => Some(bytes.get()),
        })
        .sum::<Option<u64>>()?;
    let path = rate.map_or(0, |rate| rate.bytes_in(delay).get());
    Some(Bytes::new(TIMES * (path + buffers)).max(LEAST))
}
