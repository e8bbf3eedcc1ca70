//! An authenticated connection to a server.

use super::connect::{Connected, Dial, MakeFactory};
use super::options::ClientOptions;
use super::paths::PathSummary;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::Transport;
use crate::connection::{close, framing, parameters};
use crate::credentials::known_paths::{self, KnownPath};
use crate::error::Error;
use crate::lock::lock;
use crate::turns::Turns;
use crate::wire::{Message, Reason, VERSION};
use futures::FutureExt;
use futures::future::BoxFuture;
use noq_proto::{PathId, TransportConfig, VarInt};
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use whimbrel_cc::SavedPath;
use whimbrel_quic::Monitor;
use whimbrel_quic::endpoint::{Connection, Endpoint};

/// Time for the reason of a closed connection to arrive.
const REASON: Duration = Duration::from_secs(2);

/// A connection to a server, on which the client has shown its token.
pub(crate) struct ClientSession {
    endpoint: Endpoint,
    pub connection: Connection,
    /// The connection's congestion controller.
    pub monitor: Monitor,
    /// What carries the connection.
    pub transport: Transport,
    /// Where what it finds of its path is saved.
    path: Option<KnownPath>,
    /// What an earlier connection found on it, with which this one began.
    pub saved: Option<SavedPath>,
    /// How its keys were agreed on.
    pub key_exchange: Option<KeyExchange>,
    /// What its transfers may do at once.
    pub turns: Turns,
    /// The position in the server's queue; 0 if the request does not wait.
    pub queued: AtomicU32,
    /// The server's answer to the token, until it is known to be right.
    hello: Mutex<Option<oneshot::Receiver<Result<(), Error>>>>,
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").finish_non_exhaustive()
    }
}

impl ClientSession {
    /// Connects, and shows the token. Does not wait for the server's answer: requests may follow at
    /// once. `factory` makes what builds the congestion controller of one attempt.
    pub fn open<'a>(
        options: &'a ClientOptions,
        mut parameters: TransportConfig,
        factory: &'a MakeFactory<'a>,
    ) -> BoxFuture<'a, Result<Self, Error>> {
        let work = async move {
            if let Some(qlog) = &options.qlog {
                parameters.qlog_factory(Arc::new(qlog.clone()));
            }
            if !options.via.is_empty() {
                parameters::agree_to_paths(&mut parameters);
            }
            let Connected {
                endpoint,
                connection,
                monitor,
                server: _,
                transport,
                path,
                saved,
            } = Dial::new(options, parameters).connect(factory).await?;
            let hello = Message::Hello {
                version: VERSION,
                token: options.token.clone(),
            };
            let (mut send, mut receive) = framing::request(&connection, &hello).await?;
            send.finish().ok();
            let (answer, hello) = oneshot::channel();
            tokio::spawn(async move {
                let result = match framing::read(&mut receive).await {
                    Ok(Message::Welcome { .. }) => Ok(()),
                    Ok(other) => Err(framing::unexpected(other)),
                    Err(error) => Err(error),
                };
                answer.send(result).ok();
            });
            Ok(Self {
                endpoint,
                key_exchange: KeyExchange::of(&connection),
                connection,
                monitor,
                transport,
                path,
                saved,
                turns: Turns::default(),
                queued: AtomicU32::new(0),
                hello: Mutex::new(Some(hello)),
            })
        };
        work.boxed()
    }

    /// The session of a test's client, whose token is already accepted.
    #[cfg(test)]
    pub fn of(pair: &crate::connection::pair::Pair) -> Self {
        Self {
            endpoint: pair.dialing.clone(),
            key_exchange: KeyExchange::of(&pair.client),
            connection: pair.client.clone(),
            monitor: Monitor::default(),
            transport: Transport::Quic,
            path: None,
            saved: None,
            turns: Turns::default(),
            queued: AtomicU32::new(0),
            hello: Mutex::new(None),
        }
    }

    fn answer(&self) -> Option<oneshot::Receiver<Result<(), Error>>> {
        let mut hello = lock(&self.hello);
        hello.take()
    }

    /// Waits until the server has accepted the token.
    pub async fn welcomed(&self) -> Result<(), Error> {
        match self.answer() {
            Some(answer) => {
                let answer = answer.await.unwrap_or(Err(Error::Stopped));
                answer.map_err(|error| self.reason(error))
            }
            None => Ok(()),
        }
    }

    /// Runs a request. If the server refuses the client, that is the error.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Some(mut hello) = self.answer() else {
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
    pub fn reason(&self, error: Error) -> Error {
        match (error, self.connection.close_reason()) {
            (Error::Lost(_), Some(reason)) if close::is(&reason, close::STOPPING) => {
                Error::refused(Reason::Stopping, "the server was stopped")
            }
            (Error::Lost(_), Some(reason)) => match close::words(&reason, close::TOKEN) {
                Some(words) => Error::refused(Reason::Token, words),
                None => close::lost(reason),
            },
            (error, _) => error,
        }
    }

    /// Whether several interfaces were wanted and the peer agrees to one path only.
    pub fn has_one_path_only(&self) -> bool {
        self.transport == Transport::Quic
            && self.endpoint.links().len() > 1
            && self.connection.paths().is_none()
    }

    /// Whether several interfaces are used.
    pub fn has_several_paths(&self) -> bool {
        self.endpoint.links().len() > 1 && self.connection.paths().is_some()
    }

    /// What was done on each path.
    pub fn paths(&self) -> Vec<PathSummary> {
        if let Some(paths) = self.connection.paths() {
            return PathSummary::by_link(&paths, &self.endpoint.links());
        }
        let path = self.connection.path_stats(PathId::ZERO);
        let first = self.endpoint.links().into_iter().next();
        path.map(|stats| PathSummary::alone(&stats, first))
            .into_iter()
            .collect()
    }

    /// Saves what the path was seen to carry. A failure costs the next transfer its start, and this
    /// one nothing.
    fn save_path(&self) {
        let seen = self.monitor.snapshot();
        if let Some(known) = self.path.as_ref().filter(|_| seen.path.is_some())
            && let Some(path) = known_paths::to_save(&seen, known.saved())
        {
            known.save(path).ok();
        }
    }

    /// Closes the connection and lets the server know now. If the network prevents it, the server
    /// times out.
    pub async fn close(&self) {
        self.save_path();
        self.connection.close(VarInt::from_u32(close::DONE), b"");
        timeout(Duration::from_secs(1), self.endpoint.wait_idle())
            .await
            .ok();
    }
}
