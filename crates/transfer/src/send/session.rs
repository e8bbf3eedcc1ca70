//! An authenticated connection to a server.

use super::SendOptions;
use super::connect::connect;
use crate::connect::Connected;
use crate::wire::{Message, Reason, VERSION};
use crate::{Error, Transport, close, framing};
use noq_proto::VarInt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Connection, Endpoint};
use whimbrel_quic::{Factory, Monitor};

/// Time for the reason of a closed connection to arrive.
const REASON: Duration = Duration::from_secs(2);

/// A connection to a server, on which the client has shown its token.
pub(crate) struct ClientSession {
    endpoint: Endpoint,
    pub connection: Connection,
    /// What carries the connection.
    pub transport: Transport,
    /// The position in the server's queue; 0 if the request does not wait.
    pub queued: AtomicU32,
    /// The server's answer to the token, until it is known to be right.
    hello: Mutex<Option<oneshot::Receiver<Result<(), Error>>>>,
}

impl ClientSession {
    /// Connects, and shows the token. Does not wait for the server's answer: requests may follow at
    /// once.
    pub async fn open(
        options: &SendOptions,
        factory: impl Fn() -> Factory,
    ) -> Result<(Self, Monitor), Error> {
        let Connected {
            endpoint,
            connection,
            monitor,
            transport,
        } = connect(options, factory).await?;
        let lost = |e| Error::Lost(close::text(&e));
        let (mut send, mut receive) = connection.open_bi().await.map_err(lost)?;
        send.set_priority(i32::MAX).ok();
        let hello = Message::Hello {
            version: VERSION,
            token: options.token.clone(),
        };
        framing::write(&mut send, &hello).await?;
        send.finish().ok();
        let (answer, hello) = oneshot::channel();
        tokio::spawn(async move {
            let result = match framing::read(&mut receive).await {
                Ok(Message::Welcome { .. }) => Ok(()),
                Ok(Message::Refused(refusal)) => Err(Error::Refused(refusal)),
                Ok(_) => Err(Error::Protocol("an unexpected message".to_owned())),
                Err(error) => Err(error),
            };
            answer.send(result).ok();
        });
        let session = Self {
            endpoint,
            connection,
            transport,
            queued: AtomicU32::new(0),
            hello: Mutex::new(Some(hello)),
        };
        Ok((session, monitor))
    }

    /// Runs a request. If the server refuses the client, that is the error.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let hello = {
            let mut hello = self.hello.lock().unwrap_or_else(PoisonError::into_inner);
            hello.take()
        };
        let Some(mut hello) = hello else {
            return work.await;
        };
        tokio::pin!(work);
        let result = tokio::select! {
            answer = &mut hello => {
                if let Ok(Err(error)) = answer {
                    return Err(self.reason(error));
                }
                return work.await.map_err(|error| self.reason(error));
            }
            result = &mut work => result,
        };
        match result {
            Err(error @ Error::Lost(_)) => match timeout(REASON, hello).await {
                Ok(Ok(Err(Error::Refused(refusal)))) => Err(Error::Refused(refusal)),
                _ => Err(self.reason(error)),
            },
            result => result,
        }
    }

    /// A stream error says only that the connection is lost; the connection knows the reason.
    fn reason(&self, error: Error) -> Error {
        match (error, self.connection.close_reason()) {
            (Error::Lost(_), Some(reason)) if close::is(&reason, close::STOPPING) => {
                Error::refused(Reason::Stopping, "the server was stopped")
            }
            (Error::Lost(_), Some(reason)) => Error::Lost(close::text(&reason)),
            (error, _) => error,
        }
    }

    /// Closes the connection and lets the server know now. If the network prevents it, the server
    /// times out.
    pub async fn close(&self) {
        self.connection.close(VarInt::from_u32(close::DONE), b"");
        timeout(Duration::from_secs(1), self.endpoint.wait_idle())
            .await
            .ok();
    }
}
