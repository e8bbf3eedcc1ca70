//! `whimbrel get`, `ls` and `rm`: files on a server that permits it.

use crate::code::MeetArgs;
use crate::credentials::{CredentialArgs, Credentials};
use crate::failure::{BadInput, exit_code};
use crate::over_tcp::TransportArgs;
use crate::print;
use crate::rates::bandwidth;
use crate::show::{Show, ShowArgs};
use crate::stop::{ctrl_c, runtime};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_study::sent::got_text;
use whimbrel_transfer::service::{Location, entry_json, entry_line};
use whimbrel_transfer::{
    ClientOptions, Code, DeleteOptions, Error, Filter, GetOptions, ListOptions, RemoveOptions,
    Retry, Wanted, default_controller, get, list, printable, remove,
};
use whimbrel_units::{Duration, Rate};

/// Get files and directories from a server
///
/// The server must permit it. What is here already, by size and time or by hash, is not sent again;
/// an interrupted transfer goes on where it was, by itself or when the same command is given again.
/// The server's `--controller` rules what it sends.
#[derive(clap::Args)]
#[command(after_help = "\
--json prints one object: files, bytes, stored_files and stored_bytes (of these,
what is here), received_bytes, resumed_bytes (here already), retries, transport
(\"quic\", or \"tls\" where UDP is blocked), key_exchange (\"X25519MLKEM768\", or with
an older server \"X25519\"), seconds, goodput_bps, outcome (\"stored\" if all files
are here), removed (with --delete), would_get and would_remove with --dry-run,
failures [[name, why]]; error after a failure.
Exit status: 0 all files are here; 1 failed; 2 wrong usage; 3 refused by the
server; 4 unknown server or wrong fingerprint; 130 stopped by Ctrl-C.

Examples:
  whimbrel get example.org:photos/2025 .            # makes 2025 here
  whimbrel get example.org:photos/2025/ pictures    # its content, into pictures
  whimbrel get example.org:a.iso b.iso              # under another name
  whimbrel get example.org: backup                  # all
  whimbrel get example.org:a.iso example.org:b.iso /tmp
  whimbrel get apple-river-stone
      # what `whimbrel send FILE` shows")]
pub struct GetArgs {
    /// What to get: `HOST[:PORT]:PATH`, or `HOST:` for all, from one server, or the three words of a
    /// sender; and, at the end, the directory for it [default: the current one]
    ///
    /// A directory arrives with its name; with a slash at its end, only its content does. The
    /// directory for it is created in one that exists. One file gets this name instead if there is
    /// no such directory, and no slash at its end.
    #[arg(value_name = "HOST:PATH", required = true)]
    places: Vec<String>,
    /// Replace files here that are different
    #[arg(long)]
    overwrite: bool,
    /// Only files with such a name, or with such a path below the directory; repeatable
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// No files or directories with such a name or path; repeatable
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Remove here, when all files are here, what the server's directories do not have; what
    /// --include and --exclude leave out stays
    #[arg(long)]
    delete: bool,
    /// With --delete: remove nothing if it would be more than N files and directories
    #[arg(long, value_name = "N", requires = "delete")]
    max_delete: Option<u64>,
    /// Show what would be got and removed
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// The maximum rate of the files' data: `20 Mbit/s`
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    bwlimit: Option<Rate>,
    #[command(flatten)]
    show: ShowArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    meet: MeetArgs,
}

/// List files on a server that permits it
///
/// A line has the mode, the size, the time of the last change (UTC), and the name below the
/// directory. What the server cannot read, or
/// what has a name that cannot be written, is named on standard error; the exit status is 1 then.
#[derive(clap::Args)]
pub struct LsArgs {
    /// `HOST[:PORT][:PATH]`
    #[arg(value_name = "HOST[:PATH]")]
    place: Location,
    /// With everything below directories
    #[arg(long, short)]
    recursive: bool,
    /// Print one JSON object for each entry: name, kind, bytes, mode, modified_s, target
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Remove files on a server that permits it
#[derive(clap::Args)]
pub struct RmArgs {
    /// `HOST[:PORT]:PATH`
    #[arg(value_name = "HOST:PATH")]
    place: Location,
    /// Also a directory that is not empty
    #[arg(long, short)]
    recursive: bool,
    /// Print one JSON object: name, count (files and directories)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// How to reach the server.
#[derive(clap::Args)]
struct ClientArgs {
    /// Give up when nothing has worked for this long; also wait for a server that has never
    /// answered [default: at the first interruption; get: 24 h]
    #[arg(long, value_name = "TIME")]
    retry_for: Option<Duration>,
    #[command(flatten)]
    transport: TransportArgs,
    #[command(flatten)]
    credentials: CredentialArgs,
}

impl ClientArgs {
    fn options(&self, place: &Location) -> anyhow::Result<(ClientOptions, Credentials)> {
        let credentials = self.credentials.find_for(place, &self.transport)?;
        let (server, controller) = (place.server.clone(), default_controller());
        let mut options = credentials.client(ClientOptions::new, server, controller);
        options.retry = self.retry_for.map(|limit| Retry {
            limit: Some(limit),
            from_start: true,
        });
        Ok((options, credentials))
    }
}

fn failed(error: &Error, credentials: &Credentials) -> ExitCode {
    credentials.report(error);
    ExitCode::from(exit_code(error))
}

/// `whimbrel get`.
pub fn run_get(args: GetArgs) -> anyhow::Result<ExitCode> {
    let mut texts = args.places;
    let is_code =
        |text: &&String| !text.contains([':', '.', '/']) && text.matches('-').count() == 2;
    if let Some(text) = texts.first().filter(is_code) {
        let code: Code = text.parse().map_err(BadInput::new)?;
        let directory = match &texts[1..] {
            [] => PathBuf::from("."),
            [directory] => PathBuf::from(directory),
            _ => return Err(BadInput::new("write THREE-WORDS and one directory").into()),
        };
        let how = (args.json, args.show);
        let chosen = !args.include.is_empty() || !args.exclude.is_empty();
        if chosen || args.delete || args.dry_run || args.bwlimit.is_some() {
            let text = "--include, --exclude, --delete, --dry-run and --bwlimit are for HOST:PATH; \
                        the sender may choose";
            return Err(BadInput::new(text).into());
        }
        let ClientArgs {
            retry_for,
            transport,
            credentials,
        } = &args.client;
        let unused = retry_for.map(|_| "--retry-for");
        let unused = unused.or_else(|| transport.given());
        if let Some(name) = unused.or_else(|| credentials.given()) {
            let text = format!("{name} is for HOST:PATH, not for three words");
            return Err(BadInput::new(text).into());
        }
        return crate::code::get(code, directory, args.overwrite, args.meet, how);
    }
    args.meet.refuse()?;
    // The last one is a directory here, unless it names a path on a server.
    let is_remote = |text: &str| {
        let place = text.parse::<Location>();
        place.is_ok_and(|place| place.path.is_some() || text.ends_with(':'))
    };
    let directory = match texts.last() {
        Some(last) if !is_remote(last) && texts.len() > 1 => texts.pop().map(PathBuf::from),
        _ => None,
    };
    let mut places = Vec::new();
    for text in &texts {
        let place: Location = text.parse().map_err(BadInput::new)?;
        if place.path.is_none() && !text.ends_with(':') {
            let text = format!(
                "`{text}`: write HOST:PATH, or HOST: for all; `whimbrel ls` shows what is there"
            );
            return Err(BadInput::new(text).into());
        }
        places.push(place);
    }
    let first = &places[0];
    if places.iter().any(|other| other.server != first.server) {
        return Err(BadInput::new("one command gets files from one server").into());
    }
    let (mut client, credentials) = args.client.options(first)?;
    client.retry = client.retry.or(Some(Retry {
        limit: Some(Duration::from_secs(24 * 3600)),
        from_start: false,
    }));
    let wanted = |place: Location| Wanted {
        path: place.path,
        content: place.is_directory,
    };
    let paths = places.into_iter().map(wanted).collect();
    let directory = directory.unwrap_or_else(|| PathBuf::from("."));
    let options = GetOptions {
        overwrite: args.overwrite,
        filter: Filter::new(&args.include, &args.exclude).map_err(BadInput::new)?,
        delete: args.delete.then_some(DeleteOptions {
            max: args.max_delete,
        }),
        dry_run: args.dry_run,
        bandwidth: args.bwlimit,
        ..GetOptions::new(client, paths, directory)
    };
    let mut show = Show::new(args.show, args.json);
    let report = runtime()?.block_on(get(options, |update| show.update(update), ctrl_c()));
    show.end();
    if report.error.is_none() {
        credentials.accepted();
    }
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        if let Some(error) = &report.error {
            value["error"] = error.to_string().into();
        }
        print::json_line(&value)?;
    }
    for (name, why) in &report.failures {
        print::note(format_args!("not stored: {name}: {why}"));
    }
    if report
        .failures
        .iter()
        .any(|(_, why)| why.contains("is not replaced"))
    {
        print::note("--overwrite replaces files that are different");
    }
    if let Some(error) = &report.error {
        return Ok(failed(error, &credentials));
    }
    if !args.json && !args.show.quiet {
        print::text(got_text(&report, args.dry_run))?;
    }
    Ok(ExitCode::from(u8::from(!report.failures.is_empty())))
}

/// `whimbrel ls`.
pub fn run_ls(args: LsArgs) -> anyhow::Result<ExitCode> {
    let (client, credentials) = args.client.options(&args.place)?;
    let options = ListOptions {
        client,
        path: args.place.path.clone(),
        recursive: args.recursive,
    };
    let listing = match runtime()?.block_on(list(options, ctrl_c())) {
        Ok(listing) => listing,
        Err(error) => return Ok(failed(&error, &credentials)),
    };
    credentials.accepted();
    let mut out = io::stdout().lock();
    for entry in &listing.entries {
        if args.json {
            writeln!(out, "{}", entry_json(&args.place, entry))?;
        } else {
            writeln!(out, "{}", entry_line(&args.place, entry))?;
        }
    }
    for unread in &listing.unread {
        let (path, why) = (printable(&unread.path), &unread.refusal);
        print::note(format_args!("not listed: {path}: {why}"));
    }
    Ok(ExitCode::from(u8::from(!listing.unread.is_empty())))
}

/// `whimbrel rm`.
pub fn run_rm(args: RmArgs) -> anyhow::Result<ExitCode> {
    let Some(path) = args.place.path.clone() else {
        return Err(BadInput::new("write HOST:PATH; the directory itself stays").into());
    };
    let (client, credentials) = args.client.options(&args.place)?;
    let options = RemoveOptions {
        client,
        path: path.clone(),
        recursive: args.recursive,
    };
    let removed = runtime()?.block_on(remove(options, ctrl_c()));
    match removed {
        Ok(count) => {
            credentials.accepted();
            if args.json {
                let value = serde_json::json!({ "name": path.to_string(), "count": count });
                return print::json_line(&value);
            }
            print::text(match count {
                None => format!(
                    "removed {path}; how many files it was is not known, because the \
                    answer was lost\n"
                ),
                Some(1) => format!("removed {path}: 1 file or directory\n"),
                Some(count) => format!("removed {path}: {count} files and directories\n"),
            })
        }
        Err(error) => Ok(failed(&error, &credentials)),
    }
}
