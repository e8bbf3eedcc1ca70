//! A stream to the other end, over a server at which both meet.
//!
//! The server need not be trusted, so nothing is known of it but its address: it sees the public
//! word, how much is sent, and packets that only the two ends can read. It may end the meeting, and
//! has one guess at the words, as everybody on the way has.

use crate::client::{ClientOptions, Dial, fingerprint_of};
use crate::connection::over_tcp::Transport;
use crate::connection::{framing, parameters};
use crate::error::Error;
use crate::token::Token;
use crate::wire::{Message, Reason, VERSION};
use std::net::SocketAddr;
use whimbrel_quic::endpoint::{Connection, Endpoint, RecvStream, SendStream};

/// The stream of a meeting, or of an end that waits for the other one. Dropped, it ends.
pub(super) struct Meeting {
    pub send: SendStream,
    pub receive: RecvStream,
    /// The address of the other end as the server sees it, if both ends agree that it is told.
    pub other: Option<SocketAddr>,
    /// What this end's connection to the server leaves from.
    pub endpoint: Endpoint,
    server: String,
    _connection: Connection,
}

impl Meeting {
    /// Waits as the sender at the server of `options`. `direct`: the other end may learn this one's
    /// address. Returns `None` if another sender already waits there under this public word.
    pub async fn offer(
        options: &ClientOptions,
        place: u16,
        direct: bool,
    ) -> Result<Option<Self>, Error> {
        let mut this = Self::open(options, (place, true), direct).await?;
        match framing::read(&mut this.receive).await? {
            Message::Queued { .. } => Ok(Some(this)),
            Message::Refused(refusal) if refusal.reason == Reason::Exists => Ok(None),
            other => Err(this.unexpected(other)),
        }
    }

    /// Waits until the receiver is there.
    pub async fn met(mut self) -> Result<Self, Error> {
        match framing::read(&mut self.receive).await? {
            Message::Met { other } => {
                // A server that lies gets some packets sent to an address of its choice, and no
                // more.
                self.other = other.filter(|other| {
                    let ip = other.ip();
                    !ip.is_multicast() && !ip.is_unspecified() && other.port() != 0
                });
                Ok(self)
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// Joins the sender that waits with this public word. `direct`: as for [`Self::offer`].
    pub async fn join(options: &ClientOptions, place: u16, direct: bool) -> Result<Self, Error> {
        let opened = Self::open(options, (place, false), direct).await?;
        opened.met().await
    }

    async fn open(
        options: &ClientOptions,
        (place, sender): (u16, bool),
        direct: bool,
    ) -> Result<Self, Error> {
        let options = ClientOptions {
            token: Token::random()?,
            fingerprint: Some(fingerprint_of(options).await?),
            known_hosts: None,
            known_paths: None,
            ..options.clone()
        };
        let dial = Dial::new(&options, parameters::piping_client(options.idle));
        let connected = dial.connect(&|| options.factory()).await?;
        let request = Message::Meet {
            version: VERSION,
            place,
            sender,
            // The address of a TCP connection is not that of a UDP socket.
            direct: direct && matches!(connected.transport, Transport::Quic),
        };
        let (send, receive) = framing::request(&connected.connection, &request).await?;
        Ok(Self {
            send,
            receive,
            other: None,
            endpoint: connected.endpoint,
            server: options.server.to_string(),
            _connection: connected.connection,
        })
    }

    fn unexpected(&self, message: Message) -> Error {
        match message {
            Message::Refused(refusal) => Error::Code(format!("{}: {}", self.server, refusal.text)),
            other => framing::unexpected(other),
        }
    }
}
