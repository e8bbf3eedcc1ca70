//! `whimbrel lab`: a page on localhost to try paths and algorithms on.

use crate::failure::BadInput;
use crate::sim;
use anyhow::Context;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use whimbrel_lab::server::Lab;
use whimbrel_lab::{State, opened};

/// Try paths and algorithms on a page on localhost
///
/// Serves a page on which you choose or draw a path, neighbours and algorithms, and see windows,
/// queues and shares change as the simulator runs behind it. A tour of eight scenes shows what the
/// papers saw. Each state of the page is a link, and a scenario file that `whimbrel sim` runs with
/// the same numbers.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel lab
  whimbrel lab --open
  whimbrel compare --loss 0.1% --print-scenario > path.toml
  whimbrel lab path.toml
  whimbrel lab 'http://127.0.0.1:4444/TOKEN/#rate=5+Mbit/s'

The page is served on the loopback address only, under an address with a token
that is drawn at each start. Other users of the machine and other sites' pages
do not know it. Ctrl-C ends the server.")]
pub struct LabArgs {
    /// A scenario file to begin with, or a link of another lab
    #[arg(value_name = "SCENARIO.toml|LINK")]
    begin: Option<PathBuf>,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(
        long,
        default_value_t = 0,
        hide_default_value = true,
        value_name = "PORT"
    )]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Print JSON: the page's address
    #[arg(long)]
    json: bool,
}

/// Serves the page until the process ends.
pub fn run(args: &LabArgs) -> anyhow::Result<ExitCode> {
    let lab = Lab::bind(args.port)
        .with_context(|| format!("cannot listen on port {} of 127.0.0.1", args.port))?;
    let state = match &args.begin {
        None => State::default(),
        Some(begin) => read(begin, &lab)?,
    };
    let url = lab.url(&state);
    let mut out = std::io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", json!({ "url": url }))?,
        false => writeln!(
            out,
            "{url}\nOpen this address in a browser; Ctrl-C ends it."
        )?,
    }
    out.flush()?;
    drop(out);
    if args.open {
        open(&url)?;
    }
    lab.serve().context("the server failed")?;
    Ok(ExitCode::SUCCESS)
}

/// The state of a scenario file or of a link.
fn read(begin: &Path, lab: &Lab) -> anyhow::Result<State> {
    let link = begin.to_str().and_then(|text| text.split_once('#'));
    if let Some((_, state)) = link.filter(|_| !begin.exists()) {
        // Wrong values are shown beside their fields, on the page.
        return Ok(State::parse(state).map_err(BadInput::new)?);
    }
    let (text, path) = sim::read(begin)?;
    let state = opened::state(&text, Some(&path), lab.recordings());
    Ok(state.map_err(|error| {
        // A mistake in the scenario names file and line itself.
        let file = format!("{}:", path.display());
        BadInput::new(match error.why.starts_with(&file) {
            true => error.why,
            false => format!("{file} {}", error.why),
        })
    })?)
}

/// Opens the page in the user's browser.
fn open(url: &str) -> anyhow::Result<()> {
    let program = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start `{program}`; open the address yourself"))?;
    // It may be the browser itself, which ends when the user closes it.
    std::thread::spawn(move || child.wait());
    Ok(())
}
