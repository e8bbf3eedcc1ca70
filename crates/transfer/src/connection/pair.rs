//! Scenes between two hosts in virtual time, and the two ends of a connection between them.

use super::{parameters, udp};
use crate::credentials::identity::Identity;
use crate::credentials::tls;
use crate::fingerprint::Pins;
use crate::scratch_directory::ScratchDirectory;
use crate::simulated::network::{self, CLIENT, HOST, PORT, SERVER};
use crate::simulated::{slow, system};
use noq_proto::{ClientConfig, EndpointConfig, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use whimbrel_net::{Delay, LinkSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_quic::endpoint::{self, Connection, Endpoint};
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_units::{Bytes, Duration as Span, Rate};

/// A scene that lasts longer waits for something that never comes.
const LIMIT: Duration = Duration::from_secs(3600);

/// A link of this rate, one-way delay (ms) and buffer size (bytes).
pub(crate) fn link(bits_per_sec: u64, delay_ms: u64, queue: u64) -> LinkSpec {
    LinkSpec {
        service: ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(bits_per_sec))),
        delay: Delay::constant(Duration::from_millis(delay_ms).into()),
        queue: QueueLimit::Bytes(Bytes::new(queue)),
        ..LinkSpec::default()
    }
}

/// Plays a scene over this link, in a thread and a runtime of its own.
pub(crate) fn play_over(link: LinkSpec, scene: impl AsyncFnOnce() + Send) {
    let play = || {
        system::begin(0);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            network::begin(0, 2, link);
            slow::begin(0);
            let played = tokio::time::timeout(LIMIT, scene()).await;
            played.expect("the scene ends");
        });
    };
    let played = std::thread::scope(|scope| scope.spawn(play).join());
    played.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// The two ends of a connection. A test of one side of the protocol plays the other.
pub(crate) struct Pair {
    pub client: Connection,
    pub server: Connection,
    pub dialing: Endpoint,
    _serving: Endpoint,
}

impl Pair {
    /// Plays a scene between two ends with a link of this rate, 10 ms and a long queue.
    pub fn play(bits_per_sec: u64, scene: impl AsyncFnOnce(Self) + Send) {
        Self::play_with_window(bits_per_sec, 64 << 20, scene);
    }

    /// Plays a scene in which so many bytes may wait at the server.
    pub fn play_with_window(bits_per_sec: u64, window: u32, scene: impl AsyncFnOnce(Self) + Send) {
        play_over(link(bits_per_sec, 10, 1 << 20), async || {
            scene(Self::connect(window).await).await;
        });
    }

    async fn connect(window: u32) -> Self {
        let scratch = ScratchDirectory::in_memory();
        let identity = Identity::load_or_create(&scratch.path().join("identity"));
        let identity = identity.expect("an identity");
        let (groups, idle) = (AcceptedGroups::default(), Span::from_secs(60));
        let at = SocketAddr::new(network::address_of(SERVER), PORT);
        let crypto = tls::server_config(&identity, groups).expect("a configuration");
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(parameters::server(idle)));
        let server = endpoint::Server::new(config);
        let open = || network::endpoint(EndpointConfig::default(), Some(server), at);
        let serving = HOST.sync_scope(SERVER, open);
        let pins = Some(Pins::from(identity.fingerprint()));
        let (crypto, _pin) = tls::client_config(pins, groups).expect("a configuration");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(parameters::client(idle)));
        let open = || network::endpoint(EndpointConfig::default(), None, udp::any(at));
        let dialing = HOST.sync_scope(CLIENT, open);
        let connecting = dialing.connect(config, at, "whimbrel");
        let accepting = async {
            let incoming = serving.accept().await.expect("a client");
            incoming.accept().expect("it waits").await
        };
        let connecting = connecting.expect("a configuration");
        let (client, server) = tokio::join!(connecting, accepting);
        let (client, server) = (client.expect("connected"), server.expect("connected"));
        server.set_receive_window(window.into());
        server.set_max_concurrent_uni_streams(parameters::STREAMS.into());
        parameters::admit_requests(&server);
        Self {
            client,
            server,
            dialing,
            _serving: serving,
        }
    }
}
