//! Connects over TLS and TCP, where UDP is blocked.

use super::failure::{Failure, OTHER_VERSION};
use super::race::Failed;
use super::{Connected, Dial, proved};
use crate::connection::close;
use crate::connection::over_tcp;
use crate::connection::over_tcp::Transport;
use crate::credentials::identity::SERVER_NAME;
use crate::credentials::tls;
use crate::error::Error;
use crate::fingerprint::Pins;
use crate::introduction;
use noq_proto::{ClientConfig, EndpointConfig};
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use whimbrel_quic::Factory;
use whimbrel_quic::endpoint::Endpoint;

/// A TCP connection, over an interface if one is given.
async fn connect(address: SocketAddr, device: Option<&String>) -> io::Result<TcpStream> {
    let Some(device) = device else {
        return TcpStream::connect(address).await;
    };
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind_device(Some(device.as_bytes()))?;
    socket.connect(address).await
}

impl Dial<'_> {
    /// Tries one address.
    pub(super) async fn attempt_tcp(
        &self,
        address: SocketAddr,
        expected: Option<Pins>,
    ) -> Result<Connected, Failed<Failure, Error>> {
        match timeout(
            self.options.connect.into(),
            self.over_tcp(address, expected),
        )
        .await
        {
            Ok(result) => result,
            Err(_) => Err(Failed::Here(Failure::Tcp(format!(
                "{address} did not answer over TCP for {}",
                self.options.connect
            )))),
        }
    }

    async fn over_tcp(
        &self,
        address: SocketAddr,
        expected: Option<Pins>,
    ) -> Result<Connected, Failed<Failure, Error>> {
        let port = address.port();
        let device = self
            .links(address, 0)
            .map_err(|why| Failed::Here(Failure::Tcp(why)))?;
        let stream = connect(address, device.first()).await.map_err(|error| {
            let ip = address.ip();
            let text = format!("TCP port {port} of {ip} cannot be reached: {error}");
            Failed::Here(Failure::Tcp(text))
        })?;
        let control = over_tcp::Control::prepare(&stream, self.options.tcp_algorithm.as_ref());
        let (mut config, pin) = tls::tcp_client_config(expected.clone(), self.options.groups)
            .map_err(Failed::Everywhere)?;
        let introduction = introduction::protocol(&self.options.token)
            .map_err(|e| Failed::Here(Failure::Local(e.to_string())))?;
        config.alpn_protocols.push(introduction);
        let name = ServerName::try_from(SERVER_NAME)
            .map_err(|e| Failed::Here(Failure::Local(e.to_string())))?;
        let failed = |pin: &tls::Pin, text: String| match self.untrusted(pin) {
            Some(error) => Failed::Everywhere(error),
            None => Failed::Here(Failure::TcpAnswer(text)),
        };
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .map_err(|error| {
                let tls = error.get_ref().and_then(|e| e.downcast_ref());
                if let Some(rustls::Error::AlertReceived(alert)) = tls
                    && *alert == rustls::AlertDescription::NoApplicationProtocol
                {
                    return failed(&pin, format!("{address} {OTHER_VERSION}"));
                }
                if let Some(rustls::Error::AlertReceived(alert)) = tls
                    && *alert == rustls::AlertDescription::HandshakeFailure
                {
                    return Failed::Everywhere(self.no_common_group());
                }
                let text = format!("TCP port {port} answers, but not as a server of Whimbrel does");
                failed(&pin, format!("{text}: {error}"))
            })?;
        let control = control.take(stream.get_ref().0).await;
        let (crypto, pin) =
            tls::client_config(expected, self.options.groups).map_err(Failed::Everywhere)?;
        let mut transport = self.transport.clone();
        over_tcp::adapt(&mut transport);
        let factory = Factory::uncontrolled();
        let config = ClientConfig::new(Arc::new(crypto));
        let prepared = factory.client(config, transport, self.options.priority);
        let config = over_tcp::endpoint(EndpointConfig::default());
        let endpoint = Endpoint::carried(config, None, address);
        let connecting = endpoint
            .connect(prepared, address, SERVER_NAME)
            .map_err(|e| Failed::Here(Failure::Local(format!("{address}: {e}"))))?;
        tokio::spawn(over_tcp::run(endpoint.carrier(), stream));
        let connection = connecting.await.map_err(|error| {
            let text = format!("{address}, over TCP: {}", close::text(&error));
            failed(&pin, text)
        })?;
        Ok(Connected {
            endpoint,
            connection,
            monitor: factory.monitor(),
            transport: Transport::Tls(control),
            server: proved(&pin)?,
            path: None,
            saved: None,
        })
    }
}
