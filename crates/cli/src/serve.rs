//! `whimbrel serve`: receives files into a directory.

mod access;

use crate::failure::BadInput;
use crate::over_tcp;
use crate::print;
use crate::priority::priority;
use crate::send::qlog_folder;
use crate::stop::runtime;
use access::AccessArgs;
use anyhow::Context;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_study::server_users;
use whimbrel_transfer::service::{self, AuditLog, Confinement, Listening, Needs, Output, Uses};
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::{
    DEFAULT_PORT, Error, Event, Identity, KeepFree, Limits, ServeOptions, Server, default_state_dir,
};
use whimbrel_units::{Bytes, Duration};
use whimbrel_watch::arrivals::Display;

/// Receive files into a directory, over QUIC
///
/// A client with the token can store files in DIR, and do nothing else: it cannot read, list or
/// remove files unless that is allowed, or write elsewhere. A file appears under its name when it
/// is complete, its hash is verified, and it is on disk. What arrived of an interrupted transfer
/// stays in DIR under a hidden name, so that the transfer can go on.
///
/// The first start creates a key and a token. `whimbrel send` identifies this server by the
/// fingerprint of the key (`whimbrel key`). Pass token and fingerprint on over a channel that you
/// trust.
///
/// While files arrive, a table shows each with its rate, or, if standard error is not a terminal, a
/// line each ten seconds. Transfers with `--controller enhanced-aatp` share the bandwidth by
/// priority: V/Vm is the rate of a transfer over the rate that its priority entitles it to, and
/// weighted fairness is 1 when all are alike in that.
#[derive(clap::Args)]
#[command(after_help = "\
With --json, each line of output is one object with an `event`:
  listening  address, fingerprint, token_file (null with --config), confined:
             {files, calls}
  stored     peer, name, bytes, seconds, goodput_bps, blake3
  stored_tree  peer, name (null: DIR itself), files, bytes, seconds, goodput_bps
  sent       peer, name, bytes, seconds, goodput_bps, blake3
  removed    peer, name, count
  piped      peer, target, sent, received (bytes from and to the target),
             seconds
             stored, stored_tree, sent and piped also have key_exchange:
             \"X25519MLKEM768\", or of an older client \"X25519\"
  failed     peer, name (or null), error. The events from stored to failed also
             have user (null before a token was shown)
  reloaded   ok, text: upon SIGHUP
  dropped    lines: so many are missing here, because the output was not read in
             time. The server does not wait for its reader, and goes on without
             one
  receiving  each second while files arrive: t_s (since the start),
             weighted_fairness (null if no transfer shares by priority),
             transfers: [{peer, name, bytes, received, seconds, rate_bps, share
             (of what arrives), priority, delivered_bps (V), allocated_bps
             (Vm)}]; the last three are null for controllers that do not share
             by priority
Exit status: 0 if stopped, or after the file of --once; 1 failed; 2 wrong usage.

Examples:
  whimbrel serve /srv/inbox
  whimbrel serve . --once
  whimbrel serve . --listen 192.0.2.1:4440 --max-size '10 GB' --overwrite
  whimbrel serve /srv/inbox --allow-connect 127.0.0.1:22 \\
      --metrics 127.0.0.1:9440")]
pub struct ServeArgs {
    /// Directory to store files in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Address to listen on, with UDP and TCP; port 0 chooses a free port [default: port 4440 on
    /// all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Do not listen on TCP, which serves clients to which UDP is blocked
    #[arg(long)]
    no_tcp: bool,
    /// Accept only clients with a post-quantum key exchange (X25519MLKEM768)
    #[arg(long)]
    require_pq: bool,
    /// Stop after the first stored file
    #[arg(long)]
    once: bool,
    /// Replace existing files; by default files with existing names are refused
    #[arg(long)]
    overwrite: bool,
    /// Maximum size of a file
    #[arg(long, value_name = "SIZE", default_value = "1 TiB")]
    max_size: Bytes,
    /// Maximum number of connections with transfers; more wait. Each may use up to 128 MiB of
    /// memory
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Bytes that a client may send to measure the path (`whimbrel advise HOST`); they are
    /// discarded; 0 permits none
    #[arg(long, value_name = "SIZE", default_value = "1 GiB")]
    max_probe: Bytes,
    /// Clients may list files and get them
    #[arg(long)]
    allow_read: bool,
    /// Clients may remove files
    #[arg(long)]
    allow_remove: bool,
    /// Strangers with three words (`whimbrel send FILE --meet`) may meet here, without a token; what
    /// they send is passed on and cannot be read
    #[arg(long)]
    meet: bool,
    /// Congestion controller of what this server sends
    #[arg(long, default_value = whimbrel_transfer::DEFAULT_CONTROLLER)]
    controller: Spec,
    /// Start sending to each client as if nothing was known of the path. By default it starts at a
    /// rate that the path carried within the last day, carefully (RFC 9959)
    #[arg(long)]
    no_resume_rate: bool,
    /// Space on the disk that is never used [default: 5 % of the disk, at most 1 GiB]
    #[arg(long, value_name = "SIZE")]
    keep_free: Option<Bytes>,
    /// How long an incomplete file stays without a change, so that its transfer can go on
    #[arg(long, value_name = "TIME", default_value = "168 h")]
    keep_partial: Duration,
    /// The highest priority that a client gets, 1 to 8
    #[arg(long, value_name = "N", value_parser = priority, default_value = "8")]
    max_priority: Priority,
    /// Time between two displays of the transfers in progress [default: 1 s; 10 s for lines]
    #[arg(long, value_name = "TIME")]
    interval: Option<Duration>,
    /// Directory of key and token [default: ~/.local/state/whimbrel]
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArgs,
    /// Answer scrapers of Prometheus on this TCP address, as http://ADDRESS:PORT/metrics; it has no
    /// password
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Append a line of JSON for each event to a file: those of --json but `receiving`, with `time`
    /// and `outcome` (done, failed); a file that is renamed is begun anew
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Log every packet as qlog, in a file DIR/*.sqlog for each connection
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Maximum size of all qlog files in DIR
    ///
    /// One file has at most a sixteenth of it. At the limit the log ends and the transfer
    /// continues.
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", requires = "qlog")]
    qlog_limit: Bytes,
    /// Let the process open all files and start programs. By default it can open only the files
    /// below DIR and those of the other options, and starts no programs, where the kernel has
    /// Landlock and seccomp. A server whose --config has [commands] is not confined
    #[arg(long)]
    no_confine: bool,
    /// Show a live view on the terminal: what arrives over time, each transfer, and events
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Serves until it is stopped.
pub fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    if args.interval.is_some_and(Duration::is_zero) {
        return Err(BadInput::new("--interval: must be above zero; write e.g. `1 s`").into());
    }
    let state = args.identity.clone().or_else(default_state_dir);
    let state = state.ok_or_else(|| BadInput::new("HOME is not set: use --identity DIR"))?;
    let identity = Identity::load_or_create(&state)?;
    let qlog = match &args.qlog {
        // The limit of one file keeps one peer from using all of it.
        Some(path) => {
            let file = Bytes::new(args.qlog_limit.get() / 16);
            Some(qlog_folder(path, args.qlog_limit, file)?)
        }
        None => None,
    };
    let rights = Rights {
        read: args.allow_read,
        write: true,
        remove: args.allow_remove,
    };
    let users = args.access.users(&identity, rights, args.max_priority)?;
    let uses = Uses {
        needs: Needs::of(&users),
        directory: args.directory.clone(),
        qlog: args.qlog.clone(),
        audit: args.audit.clone(),
        config: args.access.config.clone(),
        kernel_algorithm: !args.no_tcp && nix::unistd::geteuid().is_root(),
    };
    // Before there are other threads, which it would not confine.
    let confinement =
        Confinement::begin(&uses, !args.no_confine).context("cannot confine the server")?;
    service::bound_memory();
    let runtime = runtime()?;
    let limits = Limits {
        file: args.max_size,
        connections: args.max_connections,
        probe: args.max_probe,
        ..Limits::default()
    };
    runtime.block_on(async {
        let options = ServeOptions {
            overwrite: args.overwrite,
            limits,
            max_priority: args.max_priority,
            keep_free: args.keep_free.map_or(KeepFree::Share, KeepFree::Bytes),
            keep_partial: args.keep_partial,
            controller: args.controller.clone(),
            resume_rate: !args.no_resume_rate,
            rights,
            qlog,
            tcp: !args.no_tcp,
            tcp_algorithm: Some(over_tcp::algorithm(&args.controller)),
            groups: over_tcp::groups(args.require_pq),
            users: Some(users),
            meet: args.meet,
            ..ServeOptions::new(&args.directory, ([0u16; 8], DEFAULT_PORT).into())
        };
        let server = match service::bind(&options, args.listen, &identity) {
            Err(error @ Error::Listen { .. }) => {
                let text = "choose another port with --listen, or leave TCP out with --no-tcp";
                return Err(anyhow::Error::from(error).context(text));
            }
            bound => bound?,
        };
        let address = server.local_addr()?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        let title = format!("serving {} on {address}", args.directory.display());
        announce(
            &Listening {
                directory: &args.directory,
                address,
                identity: &identity,
                state: &state,
                config: args.access.config.as_deref(),
                confinement: &confinement,
            },
            args.json,
        )?;
        let display = match args.watch {
            true => Display::watch(title)?,
            false => Display::new(args.json),
        };
        let display = Arc::new(display);
        let gone =
            || print::note("note: nobody reads the output any more; the server goes on without it");
        let out = Output::new(io::stdout(), args.json, gone).context("cannot start a thread")?;
        let out = Arc::new(out);
        let scrapers = match args.metrics {
            Some(address) => {
                let listening = TcpListener::bind(address).await;
                Some(listening.with_context(|| format!("--metrics: cannot use {address}"))?)
            }
            None => None,
        };
        let audit = match &args.audit {
            Some(path) => {
                let log = AuditLog::open(path);
                let cannot = || format!("--audit: cannot write {}", path.display());
                Some(log.with_context(cannot)?)
            }
            None => None,
        };
        let counted = service::metrics();
        let stored = Arc::new(Notify::new());
        let notified = Arc::clone(&stored);
        let (once, as_json) = (args.once, args.json);
        let (shown, output) = (Arc::clone(&display), Arc::clone(&out));
        let counting = counted.clone();
        let on_event = move |event: Event| {
            service::count(&counting, &event);
            if let Some(Err(error)) = audit.as_ref().map(|audit| audit.record(&event)) {
                shown.print(&format!("--audit: {error}"), |line| print::note(line));
            }
            let line = match as_json {
                true => event.json().to_string(),
                false => event.line(),
            };
            shown.print(&line, |line| output.print(line));
            let stores = match &event {
                Event::Stored { .. } => true,
                // That of a dry run has none.
                Event::StoredTree { files, .. } => *files > 0,
                _ => false,
            };
            if stores && once {
                notified.notify_one();
            }
        };
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = stored.notified() => {}
            }
        };
        let every = args.interval.unwrap_or(display.interval());
        let show = display.follow(&server, every, |text| out.print(text));
        let scraped = async {
            let Some(listener) = scrapers else {
                return std::future::pending().await;
            };
            let refresh = |metrics: &_| service::refresh(metrics, &server);
            service::serve_metrics(listener, counted, refresh).await
        };
        let reload = reload(&args, &server, &out, &confinement);
        tokio::select! {
            () = server.run(on_event, stop) => {}
            _ = show => {}
            () = scraped => {}
            result = reload => result?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints how to use the server. The token goes to a terminal, but not into a log or to a program,
/// which get the token's file.
fn announce(listening: &Listening<'_>, as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match as_json {
        true => writeln!(out, "{}", listening.json()),
        false => write!(out, "{}", listening.text(out.is_terminal())),
    }
}

/// Reads the configuration file again upon each SIGHUP. A file with a mistake changes nothing.
async fn reload(
    args: &ServeArgs,
    server: &Server,
    out: &Output,
    confinement: &Confinement,
) -> anyhow::Result<()> {
    // Without a file, the end of a terminal ends the server, and `systemctl reload` does not.
    if args.access.config.is_none() && io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    let mut hangup = signal(SignalKind::hangup()).context("cannot watch for SIGHUP")?;
    while hangup.recv().await.is_some() {
        let Some(path) = &args.access.config else {
            continue;
        };
        let read = server_users::read(path).map_err(anyhow::Error::from);
        let read = read.and_then(|users| {
            confinement.permits(&users)?;
            Ok(users)
        });
        let (ok, text) = match read {
            Ok(users) => {
                server.set_users(users);
                (true, format!("{} is read again", path.display()))
            }
            Err(error) => (false, format!("nothing is changed: {error:#}")),
        };
        if args.json {
            let event = json!({ "event": "reloaded", "ok": ok, "text": text });
            out.print(&event.to_string());
        } else {
            out.print(&text);
        }
    }
    Ok(())
}
