//! Senders that wait for a receiver, by the public words of their codes. They need no token, so
//! their number is bounded.

use crate::error::Error;
use crate::lock::lock;
use crate::wire::Reason;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// Senders that wait, at most. With so many, one of eight tries to wait needs other words.
const WAITING: usize = 256;
/// Of one address.
const OF_ONE_ADDRESS: usize = 8;
/// Meetings at the same time, at most; each takes up to 4 MiB.
const MEETINGS: usize = 32;

/// What an end of a meeting says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stranger {
    /// It is the sender, who waits for the receiver.
    pub sender: bool,
    /// It may be told to the other end where its connection comes from.
    pub direct: bool,
}

impl Stranger {
    /// What the other end may be told.
    pub fn address(self, connection: &Connection) -> Option<SocketAddr> {
        let address = self.direct.then(|| connection.remote_address())??;
        Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

/// The senders that wait, by the public word.
#[derive(Debug)]
pub(super) struct Meetings {
    waiting: Mutex<HashMap<u16, Waiting>>,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    join: oneshot::Sender<Joined>,
}

/// A receiver.
pub(super) struct Joined {
    pub send: SendStream,
    pub receive: RecvStream,
    /// What the sender may be told.
    pub address: Option<SocketAddr>,
    /// Dropped when the meeting is over.
    pub over: oneshot::Sender<()>,
    pub place: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Joined")
    }
}

impl Default for Meetings {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            places: Arc::new(Semaphore::new(MEETINGS)),
        }
    }
}

impl Meetings {
    /// A sender waits.
    pub fn wait(&self, place: u16, address: IpAddr) -> Result<oneshot::Receiver<Joined>, Error> {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, sender| !sender.join.is_closed());
        let neighbours = waiting.values().filter(|sender| sender.address == address);
        if waiting.len() >= WAITING || neighbours.count() >= OF_ONE_ADDRESS {
            let text = "too many senders wait here; try again later";
            return Err(Error::refused(Reason::Busy, text));
        }
        if waiting.contains_key(&place) {
            let text = "another sender waits under the first of these words";
            return Err(Error::refused(Reason::Exists, text));
        }
        let (join, joined) = oneshot::channel();
        waiting.insert(place, Waiting { address, join });
        Ok(joined)
    }

    /// A receiver comes. Whatever follows, nobody else meets this sender: a code allows one guess.
    pub fn join(&self, place: u16) -> Option<oneshot::Sender<Joined>> {
        let sender = lock(&self.waiting).remove(&place)?;
        (!sender.join.is_closed()).then_some(sender.join)
    }

    /// A place among the meetings at the same time.
    pub fn place(&self) -> Result<OwnedSemaphorePermit, Error> {
        let busy = |_| Error::refused(Reason::Busy, "too many meet here; try again later");
        Arc::clone(&self.places).try_acquire_owned().map_err(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_senders_is_bounded() {
        let meetings = Meetings::default();
        let address = |n: u16| IpAddr::from([10, 0, (n >> 8) as u8, n as u8]);
        let mut kept = Vec::new();
        let mut wait = |place, n| match meetings.wait(place, address(n)) {
            Ok(joined) => {
                kept.push(joined);
                None
            }
            Err(error) => Some(error.for_peer().reason),
        };
        for place in 0..OF_ONE_ADDRESS as u16 {
            assert_eq!(wait(place, 1), None);
        }
        assert_eq!(wait(100, 1), Some(Reason::Busy));
        assert_eq!(wait(0, 2), Some(Reason::Exists));
        for n in OF_ONE_ADDRESS as u16..WAITING as u16 {
            assert_eq!(wait(n, n), None);
        }
        assert_eq!(wait(2000, 2000), Some(Reason::Busy));
        // Each code is good for one receiver, and those who left take no place.
        assert!(meetings.join(0).is_some() && meetings.join(0).is_none());
        kept.clear();
        assert!(meetings.join(1).is_none());
        assert!(meetings.wait(2, address(1)).is_ok());
    }
}
