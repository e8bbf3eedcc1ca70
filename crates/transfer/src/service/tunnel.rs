//! Local ports that lead to ports at a server, over one connection.

use crate::{ClientOptions, Error, PipeClient};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// Pause after a failure to accept: no file descriptor was left.
const PAUSE: Duration = Duration::from_millis(100);

/// A local port and where it leads: `[ADDRESS:]PORT:HOST:PORT`. Without ADDRESS only this computer
/// can use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// The local address.
    pub address: String,
    /// The local port; 0 chooses a free one.
    pub port: u16,
    /// The target, as the server reaches it.
    pub target: String,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a port and its target; write PORT:HOST:PORT, e.g. \
                 `2222:127.0.0.1:22`"
            )
        };
        let (rest, target_port) = split_last(text).ok_or_else(wrong)?;
        let (rest, target_host) = split_last(rest).ok_or_else(wrong)?;
        let (address, port) = split_last(rest).unwrap_or(("127.0.0.1", rest));
        let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
        let plain = |text: &str| {
            text.trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned()
        };
        if number(target_port)? == 0 || target_host.is_empty() || address.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            address: plain(address),
            port: number(port)?,
            target: format!("{target_host}:{target_port}"),
        })
    }
}

/// Splits at the last colon outside of brackets.
fn split_last(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (index, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' => depth -= 1,
            ':' if depth == 0 => return Some((&text[..index], &text[index + 1..])),
            _ => {}
        }
    }
    None
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.address.contains(':') {
            write!(f, "[{}]:{} -> {}", self.address, self.port, self.target)
        } else {
            write!(f, "{}:{} -> {}", self.address, self.port, self.target)
        }
    }
}

/// A connection to a server that carries the TCP connections of local ports. It is replaced when it
/// is lost and the next TCP connection needs it. Clones share it.
#[derive(Clone)]
pub struct Tunnel {
    client: Arc<Mutex<Arc<PipeClient>>>,
    options: ClientOptions,
    events: Events,
}

/// What receives the news of a tunnel.
type Events = Arc<dyn Fn(TunnelEvent<'_>) + Send + Sync>;

/// News of a tunnel, for the user.
#[derive(Debug)]
#[non_exhaustive]
pub enum TunnelEvent<'a> {
    /// The server was reached.
    Connected(&'a PipeClient),
    /// A TCP connection to this target failed.
    Failed(&'a str, Error),
}

impl Tunnel {
    /// Connects to the server. `events` receives news, from any thread.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn connect(
        options: ClientOptions,
        events: impl Fn(TunnelEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let client = PipeClient::connect(options.clone()).await?;
        events(TunnelEvent::Connected(&client));
        Ok(Self {
            client: Arc::new(Mutex::new(Arc::new(client))),
            options,
            events: Arc::new(events),
        })
    }

    /// Listens on a local port, until the runtime ends. Returns its address.
    ///
    /// # Errors
    /// If the port cannot be used.
    pub async fn listen(&self, forward: &Forward) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((forward.address.as_str(), forward.port)).await?;
        let address = listener.local_addr()?;
        let (tunnel, target) = (self.clone(), Arc::<str>::from(&*forward.target));
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(tunnel.clone().carry(stream, Arc::clone(&target)));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        Ok(address)
    }

    /// Closes the connection to the server.
    pub async fn close(&self) {
        self.client.lock().await.close().await;
    }

    async fn client(&self) -> Result<Arc<PipeClient>, Error> {
        let mut client = self.client.lock().await;
        if !client.is_open() {
            *client = Arc::new(PipeClient::connect(self.options.clone()).await?);
            (self.events)(TunnelEvent::Connected(&client));
        }
        Ok(Arc::clone(&client))
    }

    async fn carry(self, stream: TcpStream, target: Arc<str>) {
        stream.set_nodelay(true).ok();
        let work = async {
            let client = self.client().await?;
            let (from, to) = stream.into_split();
            client.pipe(&target, from, to).await
        };
        if let Err(error) = work.await {
            (self.events)(TunnelEvent::Failed(&target, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_have_a_port_and_a_target() {
        for (text, address, port, target) in [
            ("2222:127.0.0.1:22", "127.0.0.1", 2222, "127.0.0.1:22"),
            ("0:db.example:5432", "127.0.0.1", 0, "db.example:5432"),
            ("0.0.0.0:80:intranet:8080", "0.0.0.0", 80, "intranet:8080"),
            (
                "[::1]:80:[2001:db8::1]:8080",
                "::1",
                80,
                "[2001:db8::1]:8080",
            ),
        ] {
            let forward: Forward = text.parse().expect(text);
            assert_eq!((&*forward.address, forward.port), (address, port));
            assert_eq!(forward.target, target);
        }
        for wrong in [
            "",
            "22",
            "22:22",
            "a:b:22",
            "1:h:0",
            "1::22",
            "1:h:99999",
            ":1:h:22",
        ] {
            let error = wrong.parse::<Forward>().expect_err(wrong);
            assert!(error.contains("PORT:HOST:PORT"), "{error}");
        }
    }
}
