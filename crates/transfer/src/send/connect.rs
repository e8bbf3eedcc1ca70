//! Connects to a server.

use super::SendOptions;
use crate::{Error, close, socket, tls, transport};
use noq_proto::{ClientConfig, ConnectionError, EndpointConfig, TransportErrorCode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::time::timeout;
use whimbrel_quic::Factory;
use whimbrel_quic::endpoint::{Connection, Endpoint};

/// Connects to the server and checks its fingerprint.
pub(super) async fn connect(
    options: &SendOptions,
    factory: Factory,
) -> Result<(Endpoint, Connection), Error> {
    let host = options.server.to_string();
    let failed = |why: String| Error::Connect {
        host: host.clone(),
        why,
    };
    let pinned = match &options.known_hosts {
        Some(known) => known.get(&host)?,
        None => None,
    };
    let expected = options.fingerprint.or(pinned);
    let mut transport = transport::client(options.idle);
    if let Some(qlog) = &options.qlog {
        transport.qlog_factory(Arc::new(qlog.clone()));
    }
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((options.server.host.as_str(), options.server.port))
            .await
            .map_err(|e| failed(format!("its name cannot be resolved: {e}")))?
            .collect();
    let mut why = "its name has no address".to_owned();
    for address in addresses {
        let (crypto, pin) = tls::client_config(expected)?;
        let config = ClientConfig::new(Arc::new(crypto));
        let prepared = factory.client(config, transport.clone(), options.priority);
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(any, 0);
        let socket = socket::open(local)?;
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket).map_err(|cause| {
            Error::Socket {
                address: local,
                cause,
            }
        })?;
        let connecting = endpoint
            .connect(prepared, address, tls::SERVER_NAME)
            .map_err(|e| failed(e.to_string()))?;
        match timeout(options.connect.into(), connecting).await {
            Ok(Ok(connection)) => {
                if let (Some(known), Some(print)) = (&options.known_hosts, options.fingerprint)
                    && pinned != Some(print)
                {
                    known.set(&host, print)?;
                }
                return Ok((endpoint, connection));
            }
            Ok(Err(error)) => match (pin.seen(), expected) {
                (Some(found), None) => return Err(Error::UnknownServer { host, found }),
                (Some(found), Some(expected)) if found != expected => {
                    return Err(Error::FingerprintMismatch {
                        host,
                        expected,
                        found,
                    });
                }
                _ => why = connect_error_text(&error, address),
            },
            Err(_) => {
                why = format!(
                    "{address} did not answer for {}; is `whimbrel serve` running there, and does \
                     a firewall let UDP port {} through?",
                    options.connect, options.server.port
                );
            }
        }
    }
    Err(failed(why))
}

fn connect_error_text(error: &ConnectionError, address: SocketAddr) -> String {
    match error {
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            format!(
                "{address} accepts no connections now, or none from this host; try again in a \
                 minute"
            )
        }
        error => format!("{address}: {}", close::text(error)),
    }
}
