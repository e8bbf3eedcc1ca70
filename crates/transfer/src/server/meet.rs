//! Strangers who meet: a sender waits under the public word of its code, a receiver joins, and what
//! they send is passed on. If both agree, the server tells each of them the address and port that
//! it sees of the other, behind whatever NATs. They need no token, so everything is bounded.

use super::meetings::{Joined, Meetings, Stranger};
use super::peer::Peer;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::wire::{Message, Reason};
use crate::words::LIFETIME;
use noq_proto::VarInt;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout};
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// A meeting in which one end is silent for this long is over.
const SILENCE: Duration = Duration::from_secs(120);
/// Data of one end that waits to be passed on, bytes.
const WINDOW: u32 = 2 << 20;
/// Data passed on at once, bytes.
const PIECE: usize = 64 << 10;

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
                "this server lets nobody meet; its operator can allow it",
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
        let permit = meetings.place()?;
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
