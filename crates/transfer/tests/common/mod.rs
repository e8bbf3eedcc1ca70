//! A server and its surroundings, for one test.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use whimbrel_transfer::{
    Error, Event, Identity, Limits, QlogFolder, SendOptions, ServeOptions, Server, ServerAddress,
    Summary, send,
};
use whimbrel_units::Duration as Span;

/// No test takes longer.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// So much acknowledged, and the data flows: the handshake and the request are behind it.
pub const UNDER_WAY: u64 = 2_000_000;

/// A directory of a test's own, removed with it.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("whimbrel-it-{}-{n}", std::process::id()));
        fs::create_dir_all(&dir).expect("a place for tests");
        Self(dir)
    }

    pub fn sub(&self, name: &str) -> PathBuf {
        let dir = self.0.join(name);
        fs::create_dir_all(&dir).expect("mine");
        dir
    }

    /// A file of `size` bytes that do not repeat.
    pub fn file(&self, name: &str, size: usize) -> PathBuf {
        let path = self.0.join(name);
        let mut data = vec![0; size];
        blake3::Hasher::new()
            .update(name.as_bytes())
            .finalize_xof()
            .fill(&mut data);
        fs::write(&path, data).expect("written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

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
    pub fn start(scratch: &Scratch) -> Self {
        Self::with(scratch, limits(), false)
    }

    pub fn with(scratch: &Scratch, limits: Limits, overwrite: bool) -> Self {
        Self::in_directory(scratch, scratch.sub("stored"), limits, overwrite)
    }

    /// That logs what becomes of every packet.
    pub fn logging(scratch: &Scratch, qlog: QlogFolder) -> Self {
        let directory = scratch.sub("stored");
        Self::with_all(scratch, directory, limits(), false, Some(qlog))
    }

    pub fn in_directory(
        scratch: &Scratch,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
    ) -> Self {
        Self::with_all(scratch, directory, limits, overwrite, None)
    }

    fn with_all(
        scratch: &Scratch,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
        qlog: Option<QlogFolder>,
    ) -> Self {
        let identity = Identity::load_or_create(&scratch.0.join("identity")).expect("an identity");
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServeOptions {
            directory: directory.clone(),
            listen,
            overwrite,
            limits,
            qlog,
        };
        let server = Server::bind(options, &identity).expect("a server");
        let address = server.local_addr().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let (tell, events) = mpsc::unbounded_channel();
        let serving = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or_default() };
            server
                .run(move |event| drop(tell.send(event)), stopped)
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
        let controller = "newreno".parse().expect("in the table");
        let mut options = SendOptions::new(file, server, self.identity.token().clone(), controller);
        options.fingerprint = Some(self.identity.fingerprint());
        options.idle = Span::from_secs(5);
        options
    }

    pub async fn event(&mut self) -> Event {
        tokio::time::timeout(PATIENCE, self.events.recv())
            .await
            .expect("in time")
            .expect("a server")
    }
}

/// Sends without watching.
pub async fn bring(options: SendOptions) -> Result<Summary, Error> {
    tokio::time::timeout(PATIENCE, send(options, |_| (), std::future::pending()))
        .await
        .expect("in time")
}

/// What is in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = dir.read_dir().expect("there");
    let mut names: Vec<String> = entries
        .map(|e| {
            e.expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
