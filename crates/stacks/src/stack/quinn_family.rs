//! What quinn-proto and noq-proto, which began as a fork of it, have in common: the TLS
//! configuration, and an [`Endpoint`](crate::endpoint::Endpoint) over an endpoint with one
//! connection.

use crate::identity;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// The certificate is a part of the program.
const VALID: &str = "the built-in certificate is valid";

/// This project's transfers divide data over streams of this size, bytes (`transfer`'s `CHUNK`),
/// because noq and quinn end a connection at 1024 gaps in a stream.
pub(super) const CHUNK: u64 = 1 << 20;

/// TLS of a client that trusts the server of [`server_tls`].
pub(super) fn client_tls() -> ClientConfig {
    let certificate = CertificateDer::from_pem_slice(identity::CERTIFICATE).expect(VALID);
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect(VALID);
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3 is supported")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// TLS of the server.
pub(super) fn server_tls() -> ServerConfig {
    let certificate = CertificateDer::from_pem_slice(identity::CERTIFICATE).expect(VALID);
    let key = PrivateKeyDer::from_pem_slice(identity::KEY).expect(VALID);
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3 is supported")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect(VALID)
}

/// The endpoint over `$proto`. The calls that differ are functions of the caller's module:
/// `new_endpoint`, `handle`, `poll_transmit`, `figures`, `set_controller`.
macro_rules! endpoint {
    ($proto:ident) => {
        use crate::endpoint::{Ecn, Endpoint, EndpointReport, IP_AND_UDP, MTU, Transmit, WINDOW};
        use crate::stack::addresses;
        use crate::stack::quinn_family::{client_tls, server_tls};
        use std::sync::Arc;
        use std::time::Instant;
        use $proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        use $proto::{
            ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
            EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
        };

        /// What the application writes.
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

        /// An end: an endpoint with at most one connection.
        struct End {
            endpoint: $proto::Endpoint,
            connection: Option<(ConnectionHandle, Connection)>,
            /// The stream that the application writes, and what it has written there, bytes.
            stream: Option<(StreamId, u64)>,
            /// The most that it writes on a stream, bytes.
            per_stream: u64,
            /// Streams with something to read.
            readable: Vec<StreamId>,
            connected: bool,
            closed: bool,
            /// Answers without a connection.
            responses: Vec<Vec<u8>>,
        }

        /// Both ends of a connection with this controller at the sender, which writes no more
        /// than `per_stream` bytes on a stream.
        fn open(
            set: impl FnOnce(&mut TransportConfig),
            per_stream: u64,
            seed: u64,
        ) -> [Box<dyn Endpoint>; 2] {
            let mut near = transport();
            set(&mut near);
            let end = |index: u8, server: Option<ServerConfig>| {
                let mut random = [index; 32];
                random[..8].copy_from_slice(&seed.to_le_bytes());
                let mut config = EndpointConfig::default();
                config.rng_seed(Some(random));
                End {
                    endpoint: new_endpoint(Arc::new(config), server.map(Arc::new)),
                    connection: None,
                    stream: None,
                    per_stream,
                    readable: Vec::new(),
                    connected: false,
                    closed: false,
                    responses: Vec::new(),
                }
            };
            let crypto = QuicServerConfig::try_from(server_tls()).expect("a cipher for QUIC");
            let mut server = ServerConfig::with_crypto(Arc::new(crypto));
            server.transport_config(Arc::new(transport()));
            let crypto = QuicClientConfig::try_from(client_tls()).expect("a cipher for QUIC");
            let mut client = ClientConfig::new(Arc::new(crypto));
            client.transport_config(Arc::new(near));
            let (mut near, far) = (end(1, None), end(2, Some(server)));
            let [_, peer] = addresses();
            near.connection = near
                .endpoint
                .connect(Instant::now(), client, peer, "server")
                .ok();
            near.closed = near.connection.is_none();
            [Box::new(near), Box::new(far)]
        }

        /// The settings that [`crate::endpoint`] asks for.
        fn transport() -> TransportConfig {
            let mut transport = TransportConfig::default();
            transport
                .initial_mtu(MTU - IP_AND_UDP)
                .mtu_discovery_config(None)
                .max_idle_timeout(None)
                .stream_receive_window(VarInt::from_u32(WINDOW))
                .receive_window(VarInt::from_u32(WINDOW))
                .send_window(u64::from(WINDOW))
                // With several streams, in the order in which they are written.
                .send_fairness(false)
                .enable_segmentation_offload(false);
            transport
        }

        impl End {
            /// Passes events between the connection, the endpoint and the application.
            fn exchange(&mut self) {
                let Some((handle, connection)) = &mut self.connection else {
                    return;
                };
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                        connection.handle_event(answer);
                    }
                }
                while let Some(event) = connection.poll() {
                    match event {
                        Event::Connected => self.connected = true,
                        Event::ConnectionLost { .. } => self.closed = true,
                        Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                            while let Some(id) = connection.streams().accept(Dir::Uni) {
                                self.readable.push(id);
                            }
                        }
                        Event::Stream(StreamEvent::Readable { id }) => self.readable.push(id),
                        _ => {}
                    }
                }
            }
        }

        impl Endpoint for End {
            fn receive(&mut self, now: Instant, datagram: &mut [u8], ecn: Ecn) {
                let ecn = match ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect => Some(EcnCodepoint::Ect0),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                };
                let remote = addresses()[usize::from(self.endpoint_is_client())];
                let mut response = Vec::new();
                match handle(
                    &mut self.endpoint,
                    now,
                    remote,
                    ecn,
                    datagram,
                    &mut response,
                ) {
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            connection.handle_event(event);
                        }
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        match self.endpoint.accept(incoming, now, &mut response, None) {
                            Ok(accepted) => self.connection = Some(accepted),
                            Err(_) => self.closed = true,
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        response.truncate(transmit.size);
                        self.responses.push(response);
                    }
                    None => {}
                }
                self.exchange();
            }

            fn expire(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(now);
                }
                self.exchange();
            }

            fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
                self.exchange();
                let headers = IP_AND_UDP;
                if let Some(response) = self.responses.pop() {
                    *datagram = response;
                    return Some(Transmit {
                        headers,
                        ect: false,
                    });
                }
                let (_, connection) = self.connection.as_mut()?;
                let transmit = poll_transmit(connection, now, datagram);
                self.exchange();
                let transmit = transmit?;
                datagram.truncate(transmit.size);
                Some(Transmit {
                    headers,
                    ect: transmit.ecn.is_some(),
                })
            }

            fn deadline(&mut self) -> Option<Instant> {
                self.connection.as_mut()?.1.poll_timeout()
            }

            fn is_connected(&self) -> bool {
                self.connected
            }

            fn is_closed(&self) -> bool {
                self.closed
            }

            fn write(&mut self, bytes: usize) -> usize {
                let Some((_, connection)) = &mut self.connection else {
                    return 0;
                };
                let mut written = 0;
                while written < bytes {
                    if self.stream.is_none() {
                        self.stream = connection.streams().open(Dir::Uni).map(|id| (id, 0));
                    }
                    let Some((id, filled)) = &mut self.stream else {
                        break;
                    };
                    let room = (self.per_stream - *filled).min((bytes - written) as u64);
                    let chunk = &ZEROS[..ZEROS.len().min(room as usize)];
                    match connection.send_stream(*id).write(chunk) {
                        Ok(taken) if taken > 0 => {
                            written += taken;
                            *filled += taken as u64;
                        }
                        _ => break,
                    }
                    if *filled >= self.per_stream {
                        // It fails only if the connection has ended.
                        let _ = connection.send_stream(*id).finish();
                        self.stream = None;
                    }
                }
                written
            }

            fn finish(&mut self) {
                if let (Some((_, connection)), Some((id, _))) =
                    (&mut self.connection, self.stream.take())
                {
                    // As above.
                    let _ = connection.send_stream(id).finish();
                }
            }

            fn read(&mut self, _: Instant) -> u64 {
                let Some((_, connection)) = &mut self.connection else {
                    return 0;
                };
                let mut read = 0;
                for id in self.readable.drain(..) {
                    let mut stream = connection.recv_stream(id);
                    if let Ok(mut chunks) = stream.read(true) {
                        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                            read += chunk.bytes.len() as u64;
                        }
                        // What it asks for, another call of `transmit`, follows anyway.
                        let _ = chunks.finalize();
                    }
                }
                read
            }

            fn report(&mut self) -> EndpointReport {
                self.connection
                    .as_mut()
                    .map_or_else(EndpointReport::default, |(_, connection)| {
                        figures(connection)
                    })
            }
        }

        impl End {
            fn endpoint_is_client(&self) -> bool {
                let connection = self.connection.as_ref();
                connection.is_some_and(|(_, connection)| connection.side().is_client())
            }
        }
    };
}
/// `connect`, for a stack that has these controllers, by their configurations.
macro_rules! controllers {
    ($($name:literal: $config:ident),+) => {
        /// Both ends of a connection with this controller of the stack's; `None` if it has none of
        /// that name.
        pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
            Some(match controller {
                $($name => open(
                    |transport| {
                        transport.congestion_controller_factory(Arc::new($config::default()));
                    },
                    u64::MAX,
                    seed,
                ),)+
                _ => return None,
            })
        }
    };
}

/// `connect_whimbrel`, for a stack for which `$factory` makes this project's controllers.
macro_rules! adapted {
    ($factory:ty) => {
        /// Both ends of a connection with this project's controller; `None` if it is unknown or the
        /// stack cannot run it.
        pub(crate) fn connect_whimbrel(
            controller: &str,
            seed: u64,
        ) -> Option<[Box<dyn Endpoint>; 2]> {
            let spec: whimbrel_cc::Spec = controller.parse().ok()?;
            let factory = <$factory>::new(spec).ok()?.seed(seed);
            let set = |transport: &mut TransportConfig| {
                transport.congestion_controller_factory(Arc::new(factory));
            };
            Some(open(set, crate::stack::quinn_family::CHUNK, seed))
        }
    };
}
pub(super) use {adapted, controllers, endpoint};
