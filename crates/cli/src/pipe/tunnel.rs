//! `whimbrel tunnel`: local ports that lead to ports at a server.

use super::{failed, options, say_what_is_used};
use crate::credentials::CredentialArgs;
use crate::failure::BadInput;
use crate::over_tcp::TransportArgs;
use crate::print;
use crate::stop::runtime;
use anyhow::Context;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use whimbrel_cc::Spec;
use whimbrel_transfer::service::{Forward, Tunnel, TunnelEvent};
use whimbrel_transfer::{Error, ServerAddress};

/// Listen on local ports that lead to ports at a server
///
/// Each TCP connection to a local port is carried to its target over QUIC, all over one connection
/// with any congestion controller. The server decides which targets it permits (`whimbrel serve DIR
/// --allow-connect 127.0.0.1:22`). If the connection is lost, the next TCP connection makes a new
/// one.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 if stopped; 1 failed; 2 wrong usage; 3 refused by the server; 4
unknown server or wrong fingerprint.

Examples:
  whimbrel tunnel -L 2222:127.0.0.1:22 example.org
      # then: ssh -p 2222 localhost
  whimbrel tunnel -L 8080:intranet:80 -L 5432:db:5432 example.org \\
      --controller cerl")]
pub struct TunnelArgs {
    /// The server: host, host:port or [IPv6 address]:port (4440 if no port is given)
    #[arg(value_name = "HOST")]
    server: ServerAddress,
    /// A local port and where it leads: `[ADDRESS:]PORT:HOST:PORT`; without ADDRESS only this
    /// computer can use it; port 0 chooses a free one
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

/// Runs the tunnel until it is stopped.
pub fn run(args: TunnelArgs) -> anyhow::Result<ExitCode> {
    let credentials = args.credentials.find(&args.server, &args.transport)?;
    let options = options(args.server, args.controller, &credentials);
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        // Fail now if the server cannot be reached.
        let tunnel = Tunnel::connect(options, show).await?;
        credentials.accepted();
        for forward in &args.local {
            let bound = tunnel.listen(forward).await.map_err(|e| {
                let hint = match e.kind() {
                    io::ErrorKind::AddrInUse => "; choose another port, or 0 for a free one",
                    _ => "",
                };
                BadInput::new(format!("cannot listen: {forward}: {e}{hint}"))
            })?;
            writeln!(io::stdout(), "listening on {bound} for {}", forward.target).ok();
        }
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tunnel.close().await;
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(Duration::ZERO);
    result.or_else(|error: anyhow::Error| match error.downcast::<Error>() {
        Ok(error) => failed(error, &credentials),
        Err(error) => Err(error),
    })
}

/// Prints the news of a tunnel.
fn show(event: TunnelEvent<'_>) {
    match event {
        TunnelEvent::Connected(client) => say_what_is_used(client),
        TunnelEvent::Failed(target, error) => {
            print::note(format_args!("{target}: {error}"));
        }
        _ => {}
    }
}
