//! A running server and helpers for the integration tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "../../src/scratch_directory.rs"]
pub mod scratch_directory;

pub(crate) use scratch_directory::ScratchDirectory;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use whimbrel_cc::fairness::Priority;
use whimbrel_transfer::{
    Error, Event, Identity, Limits, QlogFolder, SendOptions, ServeOptions, Server, ServerAddress,
    Summary, send,
};
use whimbrel_units::Duration as Span;

/// Upper bound on the duration of a test step.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Once this many bytes are acknowledged, data flows: handshake and request are complete.
pub const UNDER_WAY: u64 = 2_000_000;

/// A running server.
pub struct Service {
    pub directory: PathBuf,
    pub identity: Identity,
    pub address: SocketAddr,
    pub events: mpsc::UnboundedReceiver<Event>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

pub fn limits() -> Limits {
    Limits {
        idle: Span::from_secs(5),
        ..Limits::default()
    }
}

impl Service {
    pub fn start(scratch: &ScratchDirectory) -> Self {
        Self::with(scratch, limits(), false)
    }

    pub fn with(scratch: &ScratchDirectory, limits: Limits, overwrite: bool) -> Self {
        Self::in_directory(scratch, scratch.subdirectory("stored"), limits, overwrite)
    }

    /// Starts a server that logs every packet.
    pub fn logging(scratch: &ScratchDirectory, qlog: QlogFolder) -> Self {
        let directory = scratch.subdirectory("stored");
        Self::with_all(scratch, directory, limits(), false, Some(qlog))
    }

    pub fn in_directory(
        scratch: &ScratchDirectory,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
    ) -> Self {
        Self::with_all(scratch, directory, limits, overwrite, None)
    }

    fn with_all(
        scratch: &ScratchDirectory,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
        qlog: Option<QlogFolder>,
    ) -> Self {
        let identity =
            Identity::load_or_create(&scratch.path().join("identity")).expect("an identity");
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServeOptions {
            directory: directory.clone(),
            listen,
            overwrite,
            limits,
            max_priority: Priority::HIGHEST,
            qlog,
        };
        let server = Server::bind(options, &identity).expect("a server");
        let address = server.local_addr().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let (sender, events) = mpsc::unbounded_channel();
        let serving = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or_default() };
            server
                .run(move |event| drop(sender.send(event)), stopped)
                .await;
        });
        Self {
            directory,
            identity,
            address,
            events,
            stop,
            serving,
        }
    }

    pub async fn stop(self) -> PathBuf {
        self.stop.send(()).ok();
        self.serving.await.expect("the server never panics");
        self.directory
    }

    pub fn options(&self, file: &Path) -> SendOptions {
        self.options_to(file, self.address)
    }

    pub fn options_to(&self, file: &Path, address: SocketAddr) -> SendOptions {
        let server = ServerAddress {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let controller = "newreno".parse().expect("a known controller");
        let mut options = SendOptions::new(file, server, self.identity.token().clone(), controller);
        options.fingerprint = Some(self.identity.fingerprint());
        options.idle = Span::from_secs(5);
        options
    }

    pub async fn event(&mut self) -> Event {
        tokio::time::timeout(TEST_TIMEOUT, self.events.recv())
            .await
            .expect("in time")
            .expect("a server")
    }
}

/// Sends a file and ignores its progress.
pub async fn upload(options: SendOptions) -> Result<Summary, Error> {
    tokio::time::timeout(TEST_TIMEOUT, send(options, |_| (), std::future::pending()))
        .await
        .expect("in time")
}
