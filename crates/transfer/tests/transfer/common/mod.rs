//! A running server and helpers for the integration tests.

#[path = "../../../src/scratch_directory.rs"]
pub mod scratch_directory;

pub mod blocked;
pub mod client;
pub mod path;
pub mod raw;
pub mod trees;

pub(crate) use scratch_directory::ScratchDirectory;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::{
    ClientOptions, Error, Event, Identity, Limits, ListOptions, Listing, QlogFolder, RemotePath,
    RemoveOptions, Report, SendOptions, SendSource, ServeOptions, Server, ServerAddress, Summary,
    send, transfer,
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
    pub server: Arc<Server>,
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

    /// Starts a server in the usual directory on this address.
    pub fn listening(scratch: &ScratchDirectory, address: SocketAddr) -> Self {
        let directory = scratch.subdirectory("stored");
        Self::at(scratch, address, directory, limits(), false, None)
    }

    /// Starts a server whose clients may do this.
    pub fn with_rights(scratch: &ScratchDirectory, rights: Rights) -> Self {
        let directory = scratch.subdirectory("stored");
        let options = ServeOptions {
            rights,
            limits: limits(),
            ..ServeOptions::new(directory, ([127, 0, 0, 1], 0).into())
        };
        Self::of(scratch, options)
    }

    fn with_all(
        scratch: &ScratchDirectory,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
        qlog: Option<QlogFolder>,
    ) -> Self {
        let listen = ([127, 0, 0, 1], 0).into();
        Self::at(scratch, listen, directory, limits, overwrite, qlog)
    }

    fn at(
        scratch: &ScratchDirectory,
        listen: SocketAddr,
        directory: PathBuf,
        limits: Limits,
        overwrite: bool,
        qlog: Option<QlogFolder>,
    ) -> Self {
        let options = ServeOptions {
            overwrite,
            limits,
            qlog,
            ..ServeOptions::new(directory.clone(), listen)
        };
        Self::of(scratch, options)
    }

    /// Starts a server with these options.
    pub fn of(scratch: &ScratchDirectory, options: ServeOptions) -> Self {
        let (listen, directory) = (options.listen, options.directory.clone());
        let identity =
            Identity::load_or_create(&scratch.path().join("identity")).expect("an identity");
        // The socket of a server that has just stopped is closed by a thread of its own.
        let bound = (0..500).find_map(|_| {
            let bound = Server::bind(options.clone(), &identity);
            match bound {
                Err(Error::Socket { .. }) if listen.port() != 0 => {
                    std::thread::sleep(Duration::from_millis(10));
                    None
                }
                bound => Some(bound),
            }
        });
        let server = Arc::new(bound.expect("a free port").expect("a server"));
        let running = Arc::clone(&server);
        let address = server.local_addr().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let (sender, events) = mpsc::unbounded_channel();
        let serving = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or_default() };
            running
                .run(move |event| drop(sender.send(event)), stopped)
                .await;
        });
        Self {
            directory,
            identity,
            address,
            events,
            server,
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
        SendOptions::new(self.client_of(address), SendSource::File(file.to_owned()))
    }

    /// How its owner reaches it.
    pub fn client(&self) -> ClientOptions {
        self.client_of(self.address)
    }

    fn client_of(&self, address: SocketAddr) -> ClientOptions {
        let server = ServerAddress {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let controller = "newreno".parse().expect("a known controller");
        let token = self.identity.token().clone();
        ClientOptions {
            fingerprint: Some(self.identity.fingerprint()),
            idle: Span::from_secs(5),
            ..ClientOptions::new(server, token, controller)
        }
    }

    pub async fn event(&mut self) -> Event {
        tokio::time::timeout(TEST_TIMEOUT, self.events.recv())
            .await
            .expect("in time")
            .expect("a server")
    }
}

/// [`limits`], but no deadline frees a place: whoever waited for one would wait for longer than the
/// test does.
pub fn limits_without_deadline() -> Limits {
    Limits {
        handshake: Span::from_secs(3600),
        ..limits()
    }
}

/// Waits until nothing listens at a UDP address: the socket of a server that has stopped is closed
/// by a thread of its own.
pub async fn nothing_listens_at(address: SocketAddr) {
    let free = async {
        while std::net::UdpSocket::bind(address).is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, free)
        .await
        .expect("the socket is closed");
}

/// The files in a directory that have their name; incomplete ones are hidden.
pub fn visible(directory: &Path) -> Vec<String> {
    let mut names = scratch_directory::file_names(directory);
    names.retain(|name| !name.starts_with(".whimbrel-"));
    names
}

/// Sends a file and ignores its progress.
pub async fn upload(options: SendOptions) -> Result<Summary, Error> {
    tokio::time::timeout(TEST_TIMEOUT, send(options, |_| (), std::future::pending()))
        .await
        .expect("in time")
}

/// Sends a file and returns what happened.
pub async fn report(options: SendOptions) -> Report {
    tokio::time::timeout(
        TEST_TIMEOUT,
        transfer(options, |_| (), std::future::pending()),
    )
    .await
    .expect("in time")
}

/// What is at a path of the server, or in the user's directory.
pub async fn list(
    client: ClientOptions,
    path: Option<RemotePath>,
    recursive: bool,
) -> Result<Listing, Error> {
    let options = ListOptions {
        client,
        path,
        recursive,
    };
    whimbrel_transfer::list(options, std::future::pending()).await
}

/// Removes what is at a path of the server, over one connection.
pub async fn remove(
    client: ClientOptions,
    path: RemotePath,
    recursive: bool,
) -> Result<u64, Error> {
    let options = RemoveOptions {
        client,
        path,
        recursive,
    };
    let removed = whimbrel_transfer::remove(options, std::future::pending()).await;
    removed.map(|count| count.expect("the answer arrived"))
}
