//! `whimbrel pipe` and `whimbrel tunnel`: ports and programs at a server, over QUIC.

mod output;
mod tunnel;

use crate::credentials::{CredentialArgs, Credentials};
use crate::failure::{REFUSED, UNTRUSTED, exit_code};
use crate::over_tcp::TransportArgs;
use crate::print;
use crate::stop::runtime;
use output::Output;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
pub use tunnel::{TunnelArgs, run as run_tunnel};
use whimbrel_cc::Spec;
use whimbrel_study::path_rows::ONE_PATH;
use whimbrel_study::real::over_tcp_notice;
use whimbrel_transfer::{Carried, ClientOptions, Error, PipeClient, ServerAddress, Transport};

/// Join standard input and output to a port or program at a server
///
/// What is read from standard input goes to the target, what the target sends goes to standard
/// output, over QUIC with any congestion controller. The server decides which targets it permits:
/// `whimbrel serve DIR --allow-connect 127.0.0.1:22`, or `connect` in its configuration file.
///
/// The end of standard input is passed on; the command ends when the target has ended. A change of
/// this computer's address, or up to three minutes without a network, do not end it.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: that of the target if it is a program, 0 for a port; 1 failed; 2
wrong usage; 3 refused by the server; 4 unknown server or wrong fingerprint.

Examples:
  ssh -o ProxyCommand='whimbrel pipe %h' user@example.org
  rsync -e \"ssh -o ProxyCommand='whimbrel pipe %h --controller cerl'\" -a dir \\
      user@example.org:
  whimbrel pipe example.org 127.0.0.1:5432 < query.sql")]
pub struct PipeArgs {
    /// The server: host, host:port or [IPv6 address]:port (4440 if no port is given)
    #[arg(value_name = "HOST")]
    server: ServerAddress,
    /// host:port as the server reaches it, or the name of a program of its configuration [default:
    /// the only one that the server permits]
    #[arg(value_name = "TARGET", default_value = "")]
    target: String,
    /// Congestion controller of what is sent from here; the server chooses its own
    #[arg(long, default_value = whimbrel_transfer::DEFAULT_CONTROLLER)]
    controller: Spec,
    #[command(flatten)]
    transport: TransportArgs,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Runs the pipe.
pub fn run(args: PipeArgs) -> anyhow::Result<ExitCode> {
    let credentials = args.credentials.find(&args.server, &args.transport)?;
    let options = options(args.server, args.controller, &credentials);
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let client = PipeClient::connect(options).await?;
        say_what_is_used(&client);
        let stopped = |_| Error::Stopped;
        let mut hangup = signal(SignalKind::hangup()).map_err(stopped)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(stopped)?;
        let (output, ended) = Output::new();
        let over = async {
            // Nobody at a terminal sends more when the target has ended.
            if !io::stdin().is_terminal() || ended.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let result = tokio::select! {
            biased;
            result = client.pipe(&args.target, tokio::io::stdin(), output) => result,
            () = over => Ok((Carried::default(), 0)),
            // The server should not keep the target until it misses this process.
            // ssh ends its ProxyCommand in this way: no error.
            _ = hangup.recv() => Ok((Carried::default(), 128 + 1)),
            _ = terminate.recv() => Ok((Carried::default(), 128 + 15)),
        };
        client.close().await;
        result
    });
    // A thread may still wait for standard input; it ends with the process.
    runtime.shutdown_timeout(Duration::ZERO);
    match result {
        Ok((_, status)) => {
            credentials.accepted();
            Ok(ExitCode::from(status))
        }
        Err(error) => failed(error, &credentials),
    }
}

/// The options of a connection.
fn options(server: ServerAddress, controller: Spec, credentials: &Credentials) -> ClientOptions {
    credentials.client_that_resumes(ClientOptions::for_pipes, server, controller)
}

/// Says so if UDP is blocked, or the server agrees to one path only.
fn say_what_is_used(client: &PipeClient) {
    if let Transport::Tls(control) = client.transport() {
        print::note(over_tcp_notice(control));
    }
    if client.has_one_path_only() {
        print::note(ONE_PATH);
    }
}

/// Prints an error and returns its exit status.
fn failed(error: Error, credentials: &Credentials) -> anyhow::Result<ExitCode> {
    match exit_code(&error) {
        REFUSED | UNTRUSTED => {
            credentials.report(&error);
            Ok(ExitCode::from(exit_code(&error)))
        }
        _ => Err(error.into()),
    }
}
