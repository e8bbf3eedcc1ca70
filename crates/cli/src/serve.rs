//! `whimbrel serve`: takes files into a directory.

use crate::failure::BadInput;
use anyhow::Context;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use whimbrel_transfer::{
    DEFAULT_PORT, Error, Event, Identity, Limits, QlogFolder, ServeOptions, Server,
    default_state_dir,
};
use whimbrel_units::Bytes;

/// Take files into a directory, over QUIC
///
/// Whoever has the token may store files in DIR, under plain names, and nothing else: nothing is read, listed or
/// written elsewhere. A file appears under its name when it is whole, its hash is right and it is on disk.
///
/// The first start makes a key, a certificate and a token. `whimbrel send` knows this server by the certificate's
/// fingerprint; pass it and the token on by a way you trust.
#[derive(clap::Args)]
#[command(after_help = "\
With --json each line of output is one object with an `event`:
  listening  address, fingerprint, token
  stored     peer, name, bytes, seconds, goodput_bps, blake3
  failed     peer, name (or null), error
Exit status: 0 when it was stopped (or --once was served), 1 if it failed, 2 for wrong usage.

Examples:
  whimbrel serve /srv/inbox
  whimbrel serve . --once
  whimbrel serve /srv/inbox --listen 192.0.2.1:4440 --max-size '10 GB' --overwrite")]
pub struct ServeArgs {
    /// Directory to store files in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// UDP address to listen on; port 0 takes any [default: port 4440 of every address]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Stop after the first file that was stored
    #[arg(long)]
    once: bool,
    /// Replace files of the same name, which are refused otherwise
    #[arg(long)]
    overwrite: bool,
    /// Largest file taken
    #[arg(long, value_name = "SIZE", default_value = "1 TiB")]
    max_size: Bytes,
    /// Most connections at once; each may hold up to 64 MiB of memory
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Where key, certificate and token are kept [default: ~/.local/state/whimbrel]
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
    /// Log every packet, as qlog: a file DIR/*.sqlog for each connection
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Most that the qlog files in DIR may take up together, one at most a sixteenth of it; logs end there, transfers go on
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", requires = "qlog")]
    qlog_limit: Bytes,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Serves until it is stopped.
pub fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let state = args.identity.clone().or_else(default_state_dir);
    let state =
        state.ok_or_else(|| BadInput::new("HOME is not set: say where with --identity DIR"))?;
    let identity = Identity::load_or_create(&state)?;
    let qlog = match &args.qlog {
        // So that one peer cannot leave nothing for the others.
        Some(path) => Some(QlogFolder::open(
            path,
            args.qlog_limit,
            Bytes::new(args.qlog_limit.get() / 16),
        )?),
        None => None,
    };
    let runtime = tokio::runtime::Runtime::new().context("the runtime does not start")?;
    let limits = Limits {
        file: args.max_size,
        connections: args.max_connections,
        ..Limits::default()
    };
    runtime.block_on(async {
        let bind = |listen| {
            let directory = args.directory.clone();
            let options = ServeOptions {
                directory,
                listen,
                overwrite: args.overwrite,
                limits,
                qlog: qlog.clone(),
            };
            Server::bind(options, &identity)
        };
        let server = match args.listen {
            Some(listen) => bind(listen)?,
            // Every address: both families, or IPv4 alone where there is no IPv6.
            None => match bind(([0u16; 8], DEFAULT_PORT).into()) {
                Err(Error::Socket { cause, .. }) if cause.kind() != io::ErrorKind::AddrInUse => {
                    bind(([0u8; 4], DEFAULT_PORT).into())?
                }
                server => server?,
            },
        };
        let address = server.local_addr()?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        let out = Mutex::new(io::stdout());
        announce(&args, address, &identity)?;
        let stored = std::sync::Arc::new(Notify::new());
        let told = std::sync::Arc::clone(&stored);
        let (once, as_json) = (args.once, args.json);
        let on_event = move |event: Event| {
            let line = if as_json {
                event_json(&event).to_string()
            } else {
                event_line(&event)
            };
            // Nobody reading is no reason to stop serving.
            if let Ok(mut out) = out.lock() {
                writeln!(out, "{line}").ok();
            }
            if matches!(event, Event::Stored { .. }) && once {
                told.notify_one();
            }
        };
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = stored.notified() => {}
            }
        };
        server.run(on_event, stop).await;
        Ok(ExitCode::SUCCESS)
    })
}

fn announce(args: &ServeArgs, address: SocketAddr, identity: &Identity) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (fingerprint, token) = (identity.fingerprint(), identity.token().reveal());
    if args.json {
        let event = json!({
            "event": "listening",
            "address": address.to_string(),
            "fingerprint": fingerprint.to_string(),
            "token": token,
        });
        return writeln!(out, "{event}");
    }
    let host = match (address.ip().is_unspecified(), address.port()) {
        (true, DEFAULT_PORT) => "THIS-HOST".to_owned(),
        (true, port) => format!("THIS-HOST:{port}"),
        (false, _) => address.to_string(),
    };
    writeln!(out, "serving {} on {address}", args.directory.display())?;
    writeln!(out, "fingerprint {fingerprint}")?;
    writeln!(out, "token {token}")?;
    writeln!(out, "send a file here with")?;
    writeln!(
        out,
        "  whimbrel send FILE {host} --token {token} --fingerprint {fingerprint}"
    )
}

/// Why a file was not stored, as whoever runs the server should read it.
fn why(error: &Error) -> String {
    match error {
        Error::Refused(refusal) => refusal.to_string(),
        Error::Lost(why) => format!("the connection was lost: {why}"),
        other => other.to_string(),
    }
}

fn event_line(event: &Event) -> String {
    match event {
        Event::Stored {
            peer,
            name,
            bytes,
            took,
            ..
        } => {
            let rate = whimbrel_units::Rate::over(*bytes, *took);
            format!("stored {name}: {bytes} from {peer} in {took}, {rate}")
        }
        Event::Failed {
            peer,
            name: Some(name),
            error,
        } => {
            format!("not stored {name} from {peer}: {}", why(error))
        }
        Event::Failed {
            peer,
            name: None,
            error,
        } => format!("turned away {peer}: {}", why(error)),
        other => format!("{other:?}"),
    }
}

fn event_json(event: &Event) -> Value {
    match event {
        Event::Stored {
            peer,
            name,
            bytes,
            took,
            hash,
        } => json!({
            "event": "stored",
            "peer": peer.to_string(),
            "name": name.as_str(),
            "bytes": bytes.get(),
            "seconds": took.as_secs_f64(),
            "goodput_bps": whimbrel_units::Rate::over(*bytes, *took).as_bits_per_sec(),
            "blake3": hash.to_hex().as_str(),
        }),
        Event::Failed { peer, name, error } => json!({
            "event": "failed",
            "peer": peer.to_string(),
            "name": name.as_ref().map(|n| n.as_str()),
            "error": why(error),
        }),
        other => json!({ "event": "other", "text": format!("{other:?}") }),
    }
}
