//! One client and its server in virtual time, as the scenes need them.

use super::client::to_server;
use crate::client::{ClientOptions, ClientSession, Retry, SendOptions, SendSource};
use crate::connection::pair::{self, link};
use crate::connection::parameters;
use crate::credentials::identity::Identity;
use crate::error::Error;
use crate::lock::lock;
use crate::scratch_directory::{ScratchDirectory, file_names};
use crate::server::users::{Rights, User, Users};
use crate::server::{Event, ServeOptions, Server};
use crate::simulated::network::{self, CLIENT, HOST, PORT, SERVER};
use crate::simulated::slow;
use noq_proto::{TransportConfig, VarInt};
use std::future::pending;
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;
use whimbrel_cc::fairness::Priority;
use whimbrel_net::{LinkSpec, LossSpec};
use whimbrel_units::{Duration as Span, Probability};

/// A server that replaces files, and a client with a link of 10 Mbit/s to it.
pub(super) struct Scene {
    pub scratch: ScratchDirectory,
    pub identity: Identity,
    pub server: Arc<Server>,
    /// What has happened at the server.
    pub events: Arc<Mutex<Vec<Event>>>,
}

impl Scene {
    /// Plays a scene in a thread and a runtime of its own. The client has a quota or none.
    pub fn play(quota: Option<u64>, scene: impl AsyncFnOnce(Self) + Send) {
        Self::play_for(|user| user.quota = quota, scene);
    }

    /// Plays a scene with a link that loses this part of its packets.
    pub fn play_with_loss(loss: f64, scene: impl AsyncFnOnce(Self) + Send) {
        let link = LinkSpec {
            loss: LossSpec {
                random: Probability::new(loss).expect("a probability"),
                ..LossSpec::default()
            },
            ..usual()
        };
        Self::play_over(link, scene);
    }

    /// Plays a scene with this link.
    pub fn play_over(link: LinkSpec, scene: impl AsyncFnOnce(Self) + Send) {
        Self::play_with(link, |_, _| (), scene);
    }

    /// Plays a scene with the usual link and other options of the server.
    pub fn play_at(
        change: impl FnOnce(&mut ServeOptions) + Send,
        scene: impl AsyncFnOnce(Self) + Send,
    ) {
        Self::play_with(usual(), |options, _| change(options), scene);
    }

    /// Plays a scene with the usual link and another user.
    pub fn play_for(change: impl FnOnce(&mut User) + Send, scene: impl AsyncFnOnce(Self) + Send) {
        Self::play_with(usual(), |_, user| change(user), scene);
    }

    fn play_with(
        link: LinkSpec,
        change: impl FnOnce(&mut ServeOptions, &mut User) + Send,
        scene: impl AsyncFnOnce(Self) + Send,
    ) {
        pair::play_over(link, async || {
            let scratch = ScratchDirectory::in_memory();
            let identity = Identity::load_or_create(&scratch.path().join("identity"));
            let identity = identity.expect("an identity");
            let listen = SocketAddr::new(network::address_of(SERVER), PORT);
            let rights = Rights {
                read: true,
                write: true,
                remove: false,
            };
            let mut user = User::owner(identity.token(), rights, Priority::HIGHEST);
            let mut options = ServeOptions {
                overwrite: true,
                tcp: false,
                resume_rate: true,
                ..ServeOptions::new(scratch.subdirectory("stored"), listen)
            };
            change(&mut options, &mut user);
            options.users = Some(Users::new([user]));
            let bind = || Server::bind(options, &identity);
            let server = Arc::new(HOST.sync_scope(SERVER, bind).expect("a server"));
            let running = Arc::clone(&server);
            let events = Arc::<Mutex<Vec<Event>>>::default();
            let heard = Arc::clone(&events);
            let on_event = move |event| lock(&heard).push(event);
            let serving = async move { running.run(on_event, pending()).await };
            let serving = tokio::spawn(HOST.scope(SERVER, serving));
            let this = Self {
                scratch,
                identity,
                server,
                events,
            };
            HOST.scope(CLIENT, scene(this)).await;
            serving.abort();
        });
    }

    /// How the client reaches the server; it tries again for so long after each failure.
    pub fn client(&self, retry: Option<Span>) -> ClientOptions {
        let token = self.identity.token().clone();
        ClientOptions {
            idle: Span::from_secs(5),
            retry: retry.map(|limit| Retry {
                limit: Some(limit),
                from_start: true,
            }),
            ..to_server(token, self.identity.fingerprint())
        }
    }

    /// The client sends a file.
    pub fn send(&self, file: &Path, retry: Option<Span>) -> SendOptions {
        SendOptions::new(self.client(retry), SendSource::File(file.to_owned()))
    }

    /// The client sends a stream of this size from its standard input, as `a`.
    pub fn stream(&self, size: usize) -> SendOptions {
        let content = std::fs::read(self.scratch.file("content", size)).expect("there");
        let source = SendSource::stream(Cursor::new(content));
        let name = Some("a".to_owned());
        SendOptions {
            name,
            ..SendOptions::new(self.client(Some(Span::from_secs(80))), source)
        }
    }

    /// Waits until the server has written all of a stream of this size.
    pub async fn has_all_of(&self, size: u64) {
        let stored = self.scratch.path().join("stored");
        let length = |name| stored.join(name).metadata().map_or(0, |found| found.len());
        while !file_names(&stored)
            .into_iter()
            .any(|name| length(name) >= size)
        {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(50)).await;
    }

    /// Waits until the server has stored a stream `a` of this size, while its answers are lost.
    /// From then on nothing reaches it.
    pub async fn stores_unheard(&self, size: u64) {
        let stored = self.scratch.path().join("stored/a");
        slow::set(Duration::from_secs(2));
        self.has_all_of(size).await;
        network::set_dark(SERVER, true);
        assert!(!stored.exists(), "too late");
        sleep(Duration::from_secs(8)).await;
        assert!(stored.exists(), "too early");
    }

    /// A connection of a client that takes so many bytes of each answer.
    pub async fn deaf_session(&self, bytes: u32) -> ClientSession {
        let options = self.client(None);
        let mut parameters = parameters::piping_client(Span::from_secs(60));
        parameters.stream_receive_window(VarInt::from_u32(bytes));
        let opened = open_with(options, parameters).await;
        opened.expect("connected")
    }

    /// A connection of a client that lets the server open no streams.
    pub async fn closed_session(&self) -> ClientSession {
        let parameters = parameters::client(Span::from_secs(60));
        let opened = open_with(self.client(None), parameters).await;
        opened.expect("connected")
    }

    /// A connection of a client that the test plays. The server has accepted its token.
    pub async fn session(&self) -> ClientSession {
        let session = open(self.client(None)).await.expect("connected");
        session.welcomed().await.expect("the token is right");
        session
    }
}

/// Connects as a client that the test plays, and shows the token.
pub(super) async fn open(options: ClientOptions) -> Result<ClientSession, Error> {
    let parameters = parameters::piping_client(Span::from_secs(60));
    open_with(options, parameters).await
}

async fn open_with(
    options: ClientOptions,
    parameters: TransportConfig,
) -> Result<ClientSession, Error> {
    ClientSession::open(&options, parameters, &|| options.factory()).await
}

/// The link of most scenes.
fn usual() -> LinkSpec {
    link(10_000_000, 20, 200_000)
}
