//! Opens connections to a server and keeps them until standard input ends: a load for
//! `bench/connections.py`.
//!
//! ```text
//! connections HOST:PORT FINGERPRINT COUNT quic|tls       # the token in WHIMBREL_TOKEN
//! ```

use std::error::Error;
use std::io::Write;
use tokio::io::AsyncReadExt;
use whimbrel_transfer::{ClientOptions, PipeClient};

/// Connections that are being made at once: fewer than a server has places for strangers of one
/// address.
const AT_ONCE: usize = 8;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, fingerprint, count, transport] = &arguments[..] else {
        return Err("write HOST:PORT FINGERPRINT COUNT quic|tls".into());
    };
    let token = std::env::var("WHIMBREL_TOKEN")?.parse()?;
    let mut options = ClientOptions::for_pipes(server.parse()?, token, "cubic".parse()?);
    options.fingerprint = Some(fingerprint.parse()?);
    options.transport = transport.parse()?;
    let mut left: usize = count.parse()?;
    let mut open = Vec::new();
    while left > 0 {
        let now = left.min(AT_ONCE);
        let connecting = (0..now).map(|_| PipeClient::connect(options.clone()));
        open.extend(futures::future::try_join_all(connecting).await?);
        left -= now;
    }
    writeln!(std::io::stdout(), "{} connections", open.len())?;
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    let lost = open.iter().filter(|client| !client.is_open()).count();
    writeln!(std::io::stdout(), "{lost} lost")?;
    Ok(())
}
