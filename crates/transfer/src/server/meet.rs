//! Strangers who meet: a sender waits under the public word of its code, a receiver joins, and what
//! they send is passed on. If both agree, the server tells each of them the address and port that
//! it sees of the other, behind whatever NATs. They need no token, so everything is bounded.

use super::session::Peer;
use super::shared::lock;
use crate::code::LIFETIME;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::wire::{Message, Reason};
use noq_proto::VarInt;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout};
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// Senders that wait, at most. With so many, one of eight tries to wait needs other words.
const WAITING: usize = 256;
/// Of one address.
const OF_ONE_ADDRESS: usize = 8;
/// Meetings at the same time, at most; each takes up to 4 MiB.
const MEETINGS: usize = 32;
/// A meeting in which one end is silent for this long is over.
const SILENCE: Duration = Duration::from_secs(120);
/// Data of one end that waits to be passed on, bytes.
const WINDOW: u32 = 2 << 20;
/// Data passed on at once, bytes.
const PIECE: usize = 64 << 10;

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
    fn address(self, connection: &Connection) -> Option<SocketAddr> {
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
struct Joined {
    send: SendStream,
    receive: RecvStream,
    /// What the sender may be told.
    address: Option<SocketAddr>,
    /// Dropped when the meeting is over.
    over: oneshot::Sender<()>,
    place: OwnedSemaphorePermit,
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
    fn wait(&self, place: u16, address: IpAddr) -> Result<oneshot::Receiver<Joined>, Error> {
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
    fn join(&self, place: u16) -> Option<oneshot::Sender<Joined>> {
        let sender = lock(&self.waiting).remove(&place)?;
        (!sender.join.is_closed()).then_some(sender.join)
    }
}

impl Peer {
    /// Lets a stranger meet another one. Returns when they part.
    pub(super) async fn meet(
        &self,
        connection: Connection,
        (mut send, receive): (SendStream, RecvStream),
        place: u16,
        stranger: Stranger,
    ) {
        let result = match (&self.shared.meetings, stranger.sender) {
            (None, _) => Err(Error::refused(
                Reason::Rights,
                "this server lets nobody meet; its operator may start it with --meet",
            )),
            (Some(_), _) if place >= 1 << 11 => {
                Err(Error::Protocol("there is no such word".to_owned()))
            }
            (Some(meetings), true) => {
                let address = stranger.address(&connection);
                self.wait(
                    (meetings, place),
                    &connection,
                    address,
                    (&mut send, receive),
                )
                .await
            }
            (Some(meetings), false) => match self.join(meetings, place) {
                Ok((join, place)) => {
                    let (over, ended) = oneshot::channel();
                    connection.set_receive_window(VarInt::from_u32(WINDOW));
                    let joined = Joined {
                        send,
                        receive,
                        address: stranger.address(&connection),
                        over,
                        place,
                    };
                    if join.send(joined).is_ok() {
                        ended.await.ok();
                    }
                    connection.close(VarInt::from_u32(close::DONE), b"");
                    return;
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = result {
            self.refuse(&mut send, &error).await;
        }
        connection.close(VarInt::from_u32(close::DONE), b"");
    }

    async fn wait(
        &self,
        (meetings, place): (&Meetings, u16),
        connection: &Connection,
        address: Option<SocketAddr>,
        (send, mut receive): (&mut SendStream, RecvStream),
    ) -> Result<(), Error> {
        let joined = meetings.wait(place, self.address.ip())?;
        self.slot.admit("meeting")?;
        framing::write(send, &Message::Queued { position: 1 }).await?;
        let too_late = |_| Error::refused(Reason::Stalled, "nobody came within an hour");
        let joined = tokio::select! {
            joined = timeout(LIFETIME, joined) => joined.map_err(too_late)?,
            reason = connection.closed() => return Err(close::lost(reason)),
        };
        let Joined {
            send: mut other_send,
            receive: mut other_receive,
            address: other_address,
            over: _over,
            place: _place,
        } = joined.map_err(|_| Error::Stopped)?;
        connection.set_receive_window(VarInt::from_u32(WINDOW));
        // Either both are told, or neither.
        let (here, there) = address.zip(other_address).unzip();
        framing::write(&mut other_send, &Message::Met { other: here }).await?;
        framing::write(send, &Message::Met { other: there }).await?;
        tokio::select! {
            () = pass(&mut receive, &mut other_send) => {}
            () = pass(&mut other_receive, send) => {}
        }
        Ok(())
    }

    /// Where the receiver's end of a meeting goes.
    fn join(
        &self,
        meetings: &Meetings,
        place: u16,
    ) -> Result<(oneshot::Sender<Joined>, OwnedSemaphorePermit), Error> {
        let busy = |_| Error::refused(Reason::Busy, "too many meet here; try again later");
        let permit = Arc::clone(&meetings.places)
            .try_acquire_owned()
            .map_err(busy)?;
        let join = meetings.join(place).ok_or_else(|| {
            // Who tries words is slowed down like who tries tokens.
            let (address, now) = (self.address.ip(), Instant::now());
            self.shared.strangers().record_wrong_token(address, now);
            let text = "no sender waits here with the first of these words: are they right, and \
                        were they used already?";
            Error::refused(Reason::Missing, text)
        })?;
        self.slot.admit("meeting")?;
        Ok((join, permit))
    }
}

/// Passes on what one end sends until it ends, is silent, or the other one is gone.
async fn pass(from: &mut RecvStream, to: &mut SendStream) {
    while let Ok(Ok(Some(data))) = timeout(SILENCE, from.read_chunk(PIECE)).await {
        if to.write_chunk(data).await.is_err() {
            return;
        }
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
