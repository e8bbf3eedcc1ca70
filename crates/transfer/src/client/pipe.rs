//! The client's end of pipes.

use super::options::ClientOptions;
use super::session::ClientSession;
use crate::connection::over_tcp::Transport;
use crate::connection::routes::Routes;
use crate::connection::{close, framing, parameters};
use crate::error::Error;
use crate::pipe::{Carried, PipeReader, PipeWriter, inward, outward};
use crate::wire::Message;
use futures::FutureExt;
use futures::future::BoxFuture;
use noq_proto::VarInt;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use whimbrel_quic::Monitor;
use whimbrel_quic::endpoint::{Connection, RecvStream};

/// Timeout of a data stream's header.
const HEADER: Duration = Duration::from_secs(60);

/// A connection to a server that carries pipes.
#[derive(Debug)]
pub struct PipeClient {
    session: ClientSession,
    routes: Routes,
    routing: AbortHandle,
}

impl PipeClient {
    /// Connects. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be reached, is unknown or has another fingerprint, or refuses the
    /// token.
    pub fn connect(options: ClientOptions) -> BoxFuture<'static, Result<Self, Error>> {
        let work = async move {
            let parameters = parameters::piping_client(options.idle);
            let session = ClientSession::open(&options, parameters, &|| options.factory()).await?;
            session.welcomed().await?;
            session.connection.send_in_order();
            let routes = Routes::default();
            let (connection, routing) = (session.connection.clone(), routes.clone());
            let routing = tokio::spawn(async move { routing.accept(&connection, HEADER).await });
            Ok(Self {
                session,
                routes,
                routing: routing.abort_handle(),
            })
        };
        work.boxed()
    }

    /// What carries the connection.
    pub fn transport(&self) -> &Transport {
        &self.session.transport
    }

    /// Whether several interfaces were wanted, and the server agrees to one path only.
    pub fn has_one_path_only(&self) -> bool {
        self.session.has_one_path_only()
    }

    /// Opens a pipe to `target` and copies what `from` provides to it, and what comes from it to
    /// `to`, until the target has ended. An empty target is the only one that the server permits.
    ///
    /// Returns what was carried, and the exit status of a program; 0 for a port.
    ///
    /// # Errors
    /// If the server refuses the target, or the connection is lost.
    pub async fn pipe(
        &self,
        target: &str,
        from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
    ) -> Result<(Carried, u8), Error> {
        // The server's data may arrive before its answer, so it is addressed by a number of ours.
        let (route, streams) = self.routes.open(usize::MAX).ok_or(Error::Stopped)?;
        let mut reader = PipeReader::new(streams);
        let work = async {
            let request = Message::Pipe {
                answers: route.transfer,
                target: target.to_owned(),
            };
            let connection = &self.session.connection;
            let (_send, mut receive) = framing::request(connection, &request).await?;
            let number = loop {
                match framing::read(&mut receive).await? {
                    Message::Queued { .. } => {}
                    Message::Accepted { transfer, .. } => break transfer,
                    other => return Err(framing::unexpected(other)),
                }
            };
            let mut writer = PipeWriter::new(connection.clone(), number);
            carry(&mut receive, from, to, &mut writer, &mut reader).await
        };
        work.await.map_err(|error| self.session.reason(error))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.session.connection
    }

    /// The state of what is sent from here.
    pub(super) fn monitor(&self) -> &Monitor {
        &self.session.monitor
    }

    /// Waits until the connection is lost. Returns the reason.
    pub async fn closed(&self) -> Error {
        close::lost(self.session.connection.closed().await)
    }

    /// Whether the connection is still open.
    pub fn is_open(&self) -> bool {
        self.session.connection.close_reason().is_none()
    }

    /// Closes the connection and waits, for at most a second, until the server knows.
    pub async fn close(&self) {
        self.session.close().await;
    }
}

impl Drop for PipeClient {
    fn drop(&mut self) {
        self.routing.abort();
        let done = VarInt::from_u32(close::DONE);
        self.session.connection.close(done, b"");
    }
}

/// Copies in both directions until the target has ended.
async fn carry(
    control: &mut RecvStream,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    writer: &mut PipeWriter,
    reader: &mut PipeReader,
) -> Result<(Carried, u8), Error> {
    let output = async {
        let received = inward(to, reader).await?;
        match framing::read(control).await? {
            Message::Exited { status } => Ok((received, status)),
            other => Err(framing::unexpected(other)),
        }
    };
    let input = outward(from, std::future::pending(), writer);
    tokio::pin!(output, input);
    let mut sent = None;
    loop {
        tokio::select! {
            // The target has ended: what is still read here has no reader any more.
            ended = &mut output => {
                let (received, status) = ended?;
                let sent = sent.unwrap_or(0);
                return Ok((Carried { sent, received }, status));
            }
            result = &mut input, if sent.is_none() => sent = Some(result?),
        }
    }
}
