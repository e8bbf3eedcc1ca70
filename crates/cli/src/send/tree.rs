//! `whimbrel send` with directories or several files.

use super::show::{Show, ShowArgs};
use crate::credentials::Credentials;
use crate::failure::exit_code;
use crate::print;
use crate::stop::ctrl_c;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_study::real::hindsight::Seen;
use whimbrel_study::sent::tree_text;
use whimbrel_transfer::{Error, Outcome, TreeOptions, TreeReport, send_tree};

/// Lines about files that were left out, at most.
const LINES: usize = 20;

/// Sends the files and shows the result.
pub fn run(
    tree: TreeOptions,
    (as_json, shown): (bool, ShowArgs),
    credentials: &Credentials,
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<ExitCode> {
    let dry_run = tree.dry_run;
    let mut showing = Show::new(shown, as_json);
    let work = send_tree(tree, |update| showing.update(update), ctrl_c());
    let report = runtime.block_on(work);
    showing.end();
    if report.error.is_none() {
        credentials.accepted();
    }
    if let Some(error) = &report.error {
        credentials.report(error);
    }
    show(&report, dry_run, (as_json, shown))
}

/// Shows the result; why it ended early was said.
pub fn show(
    report: &TreeReport,
    dry_run: bool,
    (as_json, shown): (bool, ShowArgs),
) -> anyhow::Result<ExitCode> {
    let seen = (!dry_run && report.error.is_none()).then(|| Seen::of(&report.path_use));
    let seen = seen.flatten();
    if as_json {
        let mut value = serde_json::to_value(report)?;
        if let Some(error) = &report.error {
            value["error"] = error.to_string().into();
        }
        if let Some(seen) = &seen {
            value["path"] = serde_json::to_value(seen)?;
        }
        print::json_line(&value)?;
    }
    if !shown.quiet {
        lines("left out", &report.skipped);
    }
    lines("not stored", &report.failures);
    if let Some(error) = &report.error {
        let text = "Not all files are stored. The same command goes on where this one stopped.";
        let stays = matches!(error, Error::NothingRemoved(_));
        if report.sent_files > 0 && !stays {
            writeln!(io::stderr(), "{text}").ok();
        }
        return Ok(ExitCode::from(if as_json { 1 } else { exit_code(error) }));
    }
    if !as_json && !shown.quiet {
        print::text(tree_text(report, dry_run, seen.as_ref()))?;
    }
    let complete = dry_run || report.outcome == Outcome::Stored;
    Ok(ExitCode::from(u8::from(!complete)))
}

fn lines(what: &str, files: &[(String, String)]) {
    let mut out = io::stderr().lock();
    for (path, why) in files.iter().take(LINES) {
        writeln!(out, "{what}: {path}: {why}").ok();
    }
    if files.len() > LINES {
        writeln!(out, "{what}: {} more; --json has all", files.len() - LINES).ok();
    }
}
