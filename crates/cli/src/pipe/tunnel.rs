//! `whimbrel tunnel`: local ports that lead to ports at a server.

use super::{bad, connect, failed, options};
use crate::credentials::CredentialArgs;
use crate::over_tcp::TransportArgs;
use anyhow::Context;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use whimbrel_cc::Spec;
use whimbrel_transfer::{ClientOptions, Error, PipeClient, ServerAddress};

/// Pause after a failure to accept: no file descriptor was left.
const PAUSE: Duration = Duration::from_millis(100);

/// Listen on local ports that lead to ports at a server
///
/// Each TCP connection to a local port is carried to its target over QUIC, all over one connection
/// with any congestion controller. The server decides which targets it permits (`whimbrel serve DIR
/// --allow-connect 127.0.0.1:22`). If the connection is lost, the next TCP connection makes a new
/// one.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 if stopped; 1 failed; 2 wrong usage; 3 refused by the server; 4 unknown server or
wrong fingerprint.

Examples:
  whimbrel tunnel -L 2222:127.0.0.1:22 example.org     # then: ssh -p 2222 localhost
  whimbrel tunnel -L 8080:intranet:80 -L 5432:db:5432 example.org --controller cerl")]
pub struct TunnelArgs {
    /// The server: host, host:port or [IPv6 address]:port (4440 if no port is given)
    #[arg(value_name = "HOST")]
    server: ServerAddress,
    /// A local port and where it leads: `[ADDRESS:]PORT:HOST:PORT`; without ADDRESS only this computer
    /// can use it; port 0 chooses a free one
    #[arg(
        short = 'L',
        long = "local",
        value_name = "PORT:HOST:PORT",
        required = true
    )]
    local: Vec<Forward>,
    /// Congestion controller of what is sent from here; the server chooses its own
    #[arg(long, default_value = whimbrel_transfer::DEFAULT_CONTROLLER)]
    controller: Spec,
    #[command(flatten)]
    transport: TransportArgs,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// A local port and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Forward {
    /// The local address.
    address: String,
    port: u16,
    /// The target, as the server reaches it.
    target: String,
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

/// Runs the tunnel until it is stopped.
pub fn run(args: TunnelArgs) -> anyhow::Result<ExitCode> {
    let credentials = args.credentials.find(&args.server)?;
    let options = options(args.server, args.controller, &args.transport, &credentials);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        // Fail now if the server cannot be reached.
        let connection = Arc::new(Link::connect(options).await?);
        credentials.accepted();
        for forward in &args.local {
            let listener = TcpListener::bind((forward.address.as_str(), forward.port)).await;
            let listener = listener.map_err(|e| {
                let hint = "; choose another port, or 0 for a free one";
                let hint = if e.kind() == io::ErrorKind::AddrInUse {
                    hint
                } else {
                    ""
                };
                bad(format!("cannot listen: {forward}: {e}{hint}"))
            })?;
            let bound = listener.local_addr()?;
            writeln!(io::stdout(), "listening on {bound} for {}", forward.target).ok();
            tokio::spawn(accept_all(
                listener,
                forward.target.clone(),
                Arc::clone(&connection),
            ));
        }
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        connection.close().await;
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(Duration::ZERO);
    result.or_else(|error: anyhow::Error| match error.downcast::<Error>() {
        Ok(error) => failed(error, &credentials),
        Err(error) => Err(error),
    })
}

/// The connection to the server, replaced when it is lost.
struct Link {
    options: ClientOptions,
    client: Mutex<Arc<PipeClient>>,
}

impl Link {
    async fn connect(options: ClientOptions) -> Result<Self, Error> {
        let client = connect(options.clone()).await?;
        Ok(Self {
            options,
            client: Mutex::new(Arc::new(client)),
        })
    }

    async fn client(&self) -> Result<Arc<PipeClient>, Error> {
        let mut client = self.client.lock().await;
        if !client.is_open() {
            *client = Arc::new(connect(self.options.clone()).await?);
        }
        Ok(Arc::clone(&client))
    }

    async fn close(&self) {
        self.client.lock().await.close().await;
    }
}

async fn accept_all(listener: TcpListener, target: String, link: Arc<Link>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(carry(stream, target.clone(), Arc::clone(&link)));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn carry(stream: TcpStream, target: String, link: Arc<Link>) {
    stream.set_nodelay(true).ok();
    let work = async {
        let client = link.client().await?;
        let (from, to) = stream.into_split();
        client.pipe(&target, from, to).await
    };
    if let Err(error) = work.await {
        writeln!(io::stderr(), "{target}: {error}").ok();
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
