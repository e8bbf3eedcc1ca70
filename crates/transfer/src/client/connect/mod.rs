//! Connects to a server: resolves its name, tries its addresses, and checks its fingerprint.
//!
//! | part | content |
//! |---|---|
//! | `race` | several addresses at once (RFC 8305) |
//! | `tcp` | where UDP is blocked |
//! | `small_packets` | what a silent server answers |
//! | `failure` | why it failed, and what to do |

mod failure;
mod race;
mod small_packets;
mod tcp;

use super::options::ClientOptions;
use super::via;
use crate::connection::over_tcp::{Transport, TransportChoice};
use crate::connection::{datagrams, udp};
use crate::credentials::identity::SERVER_NAME;
use crate::credentials::known_paths::KnownPath;
use crate::credentials::tls;
use crate::error::Error;
use crate::fingerprint::Pins;
use crate::introduction;
use failure::Failure;
use futures::FutureExt;
use futures::future::BoxFuture;
use noq_proto::{ClientConfig, ConnectionId, EndpointConfig, TransportConfig};
use race::{Failed, Lost};
use small_packets::Answer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use whimbrel_cc::SavedPath;
use whimbrel_quic::endpoint::{Connection, Endpoint};
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_quic::{Factory, Monitor};

/// A server that has not answered over UDP for this long is also tried over TCP.
const PATIENCE: Duration = Duration::from_secs(1);
/// A server that has been silent for this long is asked whether it answers small packets.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// An attempt to connect.
pub(crate) struct Dial<'a> {
    options: &'a ClientOptions,
    /// Parameters of the connection without the congestion controller.
    transport: TransportConfig,
}

/// A connection to a server that has proved its identity.
pub(crate) struct Connected {
    /// The endpoint, of this connection alone unless the options name one.
    pub endpoint: Endpoint,
    /// The connection.
    pub connection: Connection,
    /// Its congestion controller.
    pub monitor: Monitor,
    /// What carries it.
    pub transport: Transport,
    /// The server's keys.
    pub server: Pins,
    /// Where what it finds of its path is saved.
    pub path: Option<KnownPath>,
    /// What an earlier connection found on it.
    pub saved: Option<SavedPath>,
}

/// The keys of the server of a complete handshake.
fn proved(pin: &tls::Pin) -> Result<Pins, Failed<Failure, Error>> {
    let none = || Failed::Everywhere(Error::Protocol("the server has no certificate".to_owned()));
    pin.seen().ok_or_else(none)
}

/// The end of a race of addresses that nothing won.
type NoWinner = Lost<SocketAddr, Failure, Error>;

/// Makes what builds the congestion controller of one attempt.
pub(crate) type MakeFactory<'a> = dyn Fn() -> Factory + Sync + 'a;

impl<'a> Dial<'a> {
    /// An attempt with these parameters of the connection, without the congestion controller.
    pub fn new(options: &'a ClientOptions, transport: TransportConfig) -> Self {
        Self { options, transport }
    }

    /// Connects. `factory` makes what builds the congestion controller of one attempt.
    ///
    /// # Errors
    /// If no address answers, or the server is unknown or has another fingerprint.
    pub fn connect(self, factory: &'a MakeFactory<'a>) -> BoxFuture<'a, Result<Connected, Error>> {
        let work = async move {
            let host = self.options.server.to_string();
            let failed = |why: String| Error::Connect {
                host: host.clone(),
                why,
            };
            let pinned = match &self.options.known_hosts {
                Some(known) => known.get(&host)?,
                None => None,
            };
            let given = self.options.fingerprint;
            // The server may have announced more keys since this one was given.
            let fits = |pins: &&Pins| given.is_none_or(|given| pins.contain(given));
            let known = pinned.as_ref().filter(fits).cloned();
            let expected = known.or(given.map(Pins::from));
            let (name, port) = (self.options.server.host.as_str(), self.options.server.port);
            let addresses = tokio::net::lookup_host((name, port)).await.map_err(|e| {
                failed(format!(
                    "its name cannot be resolved: {e}; check its spelling, and whether this \
                     computer is connected"
                ))
            })?;
            let addresses = race::order(addresses);
            // Over several interfaces each address is tried on the first that answers.
            let tries = addresses.iter().flat_map(|address| {
                let links = self.links(*address, 0).map_or(0, |links| links.len());
                (0..links.max(1)).map(|link| (*address, link))
            });
            let tries: Vec<_> = tries.collect();
            let quic = async {
                let quic = race::race(tries, |(address, link)| {
                    self.attempt(address, link, expected.clone(), factory())
                });
                quic.await.map_err(|lost| match lost {
                    Lost::All(all) => {
                        Lost::All(all.into_iter().map(|((a, _), why)| (a, why)).collect())
                    }
                    Lost::Everywhere(error) => Lost::Everywhere(error),
                })
            };
            let tcp = race::race(addresses, |address| {
                self.attempt_tcp(address, expected.clone())
            });
            let won = match self.options.transport {
                TransportChoice::Quic => quic.await,
                TransportChoice::Tls => tcp.await,
                TransportChoice::Auto => either(quic, tcp, PATIENCE).await,
            };
            let connected = won.map_err(|lost| match lost {
                Lost::All(failures) => failed(failure::all(&failures)),
                Lost::Everywhere(error) => error,
            })?;
            if let Some(known) = &self.options.known_hosts
                && pinned.as_ref() != Some(&connected.server)
            {
                known.set(&host, &connected.server)?;
            }
            Ok(connected)
        };
        work.boxed()
    }

    async fn attempt(
        &self,
        address: SocketAddr,
        first: usize,
        expected: Option<Pins>,
        factory: Factory,
    ) -> Result<Connected, Failed<Failure, Error>> {
        let local = |why: &dyn ToString| Failed::Here(Failure::Local(why.to_string()));
        let (crypto, pin) =
            tls::client_config(expected, self.options.groups).map_err(Failed::Everywhere)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let id = introduction::connection_id(&self.options.token);
        let id = ConnectionId::new(&id.map_err(|e| local(&e))?);
        config.initial_dst_cid_provider(Arc::new(move || id));
        let paths = self.options.known_paths.as_ref();
        let path = paths
            .zip(pin.expected().and_then(Pins::key))
            .and_then(|(paths, server)| paths.to(server, address));
        let saved = path.as_ref().and_then(KnownPath::saved);
        let factory = factory.resuming(saved);
        let mut transport = self.transport.clone();
        datagrams::seek_largest(&mut transport, address);
        let prepared = factory.client(config, transport, self.options.priority);
        let links = self.links(address, first).map_err(|e| local(&e))?;
        let endpoint = match &self.options.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => open(address, links.first()).map_err(|e| local(&e))?,
        };
        let mut connecting = endpoint
            .connect(prepared, address, SERVER_NAME)
            .map_err(|e| local(&format!("{address}: {e}")))?;
        let answer = async {
            sleep(SUSPICIOUS).await;
            small_packets::probe(address).await
        };
        let limit = timeout(self.options.connect.into(), &mut connecting);
        let (result, answer) = with_side_work(limit, answer).await;
        let error = match result {
            Ok(Ok(connection)) => {
                if !links.is_empty() {
                    let links = via::links(&self.options.via, links, address);
                    endpoint.use_links(links).map_err(|e| local(&e))?;
                }
                return Ok(Connected {
                    endpoint,
                    connection,
                    monitor: factory.monitor(),
                    transport: Transport::Quic,
                    server: proved(&pin)?,
                    path,
                    saved,
                });
            }
            Ok(Err(error)) => error,
            Err(_) => {
                let answer = answer.unwrap_or(Answer::None);
                return Err(Failed::Here(Failure::Silence(self.options.connect, answer)));
            }
        };
        Err(match (self.untrusted(&pin), connecting.obstacle()) {
            (Some(error), _) => Failed::Everywhere(error),
            (None, Some(obstacle)) => Failed::Here(Failure::Obstacle(obstacle)),
            (None, None) if failure::is_handshake_failure(&error) => {
                Failed::Everywhere(self.no_common_group())
            }
            (None, None) => Failed::Here(Failure::Connection(error)),
        })
    }

    /// Why the certificate that the server has shown is not accepted.
    fn untrusted(&self, pin: &tls::Pin) -> Option<Error> {
        let (host, found) = (self.options.server.to_string(), pin.seen()?.key()?);
        let Some(pins) = pin.expected() else {
            return Some(Error::UnknownServer { host, found });
        };
        let expected = pins.key().filter(|_| !pins.contain(found))?;
        Some(Error::FingerprintMismatch {
            host,
            expected,
            found,
        })
    }
}

impl Dial<'_> {
    /// The interfaces to `address`, the `first`-th of them first; none: the system chooses.
    fn links(&self, address: SocketAddr, first: usize) -> Result<Vec<String>, String> {
        if self.options.via.is_empty() || self.options.endpoint.is_some() {
            return Ok(Vec::new());
        }
        let mut links = via::interfaces(&self.options.via, address)?;
        let first = first % links.len();
        links.rotate_left(first);
        Ok(links)
    }

    /// The server accepts none of the groups that this end offers.
    fn no_common_group(&self) -> Error {
        Error::KeyExchange {
            host: self.options.server.to_string(),
            required: self.options.groups == AcceptedGroups::PostQuantum,
        }
    }
}

/// An endpoint that can reach `address`, over an interface if one is given.
fn open(address: SocketAddr, device: Option<&String>) -> Result<Endpoint, Error> {
    let local = udp::any(address);
    let socket = match device {
        Some(device) => via::socket(device, address)?,
        None => udp::open(local)?,
    };
    let config = datagrams::accept(EndpointConfig::default());
    udp::endpoint(config, None, socket, local)
}

/// Waits for QUIC; after `patience`, or as soon as QUIC has failed, also for TCP. Returns the first
/// that works. If neither does, what QUIC met counts, unless TCP got further.
async fn either<T>(
    quic: impl Future<Output = Result<T, NoWinner>>,
    tcp: impl Future<Output = Result<T, NoWinner>>,
    patience: Duration,
) -> Result<T, NoWinner> {
    tokio::pin!(quic, tcp);
    let first = match timeout(patience, &mut quic).await {
        Ok(Ok(won)) => return Ok(won),
        Ok(Err(lost @ Lost::Everywhere(_))) => return Err(lost),
        Ok(Err(lost)) => Some(lost),
        Err(_) => None,
    };
    let (mut over_udp, mut over_tcp) = (first, None);
    loop {
        tokio::select! {
            biased;
            result = &mut quic, if over_udp.is_none() => match result {
                Ok(won) => return Ok(won),
                Err(lost @ Lost::Everywhere(_)) => return Err(lost),
                Err(lost) => over_udp = Some(lost),
            },
            result = &mut tcp, if over_tcp.is_none() => match result {
                Ok(won) => return Ok(won),
                Err(lost @ Lost::Everywhere(_)) => return Err(lost),
                Err(lost) => over_tcp = Some(lost),
            },
        }
        match (over_udp.take(), over_tcp.take()) {
            (Some(Lost::All(mut udp)), Some(Lost::All(tcp))) => {
                udp.extend(tcp.into_iter().filter(|(_, failure)| failure.is_news()));
                return Err(Lost::All(udp));
            }
            (udp, tcp) => (over_udp, over_tcp) = (udp, tcp),
        }
    }
}

/// Waits for `main` and meanwhile works on `side`, whose result is `None` if it is not ready then.
async fn with_side_work<T, S>(
    main: impl Future<Output = T>,
    side: impl Future<Output = S>,
) -> (T, Option<S>) {
    tokio::pin!(main, side);
    let mut found = None;
    loop {
        tokio::select! {
            biased;
            result = &mut main => return (result, found),
            result = &mut side, if found.is_none() => found = Some(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn quic_may_still_win_after_tcp_was_tried() {
        let patience = Duration::from_secs(1);
        let quic = async {
            sleep(3 * patience).await;
            Ok("QUIC")
        };
        let won = timeout(10 * patience, either(quic, pending(), patience)).await;
        assert!(matches!(won, Ok(Ok("QUIC"))));
    }
}
