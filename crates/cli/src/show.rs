//! What `send` and `get` show while they run and when they end.

use crate::failure::exit_code;
use crate::print;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_study::real::hindsight::Seen;
use whimbrel_study::sent::tree_text;
use whimbrel_transfer::{Error, Outcome, TreeReport};
pub use whimbrel_watch::file_transfer::Show;
use whimbrel_watch::file_transfer::Verbosity;

/// Lines about files that were left out, at most.
const LINES: usize = 20;

/// How much is shown.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ShowArgs {
    /// Print the name of each file that is transferred or removed
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// Show neither progress nor result, but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl From<ShowArgs> for Verbosity {
    fn from(args: ShowArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::EachFile,
            (false, false) => Self::Progress,
        }
    }
}

/// Shows the result of several files; the error that ended it early was shown before.
pub fn tree(
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
        let stays = matches!(error, Error::NothingRemoved { .. });
        if report.sent_files > 0 && !stays {
            print::note(text);
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
    let _ = listed(what, files, &mut io::stderr().lock());
}

/// The first of these files, and how many more there are.
fn listed(what: &str, files: &[(String, String)], out: &mut impl Write) -> io::Result<()> {
    for (path, why) in files.iter().take(LINES) {
        writeln!(out, "{what}: {path}: {why}")?;
    }
    if files.len() > LINES {
        writeln!(out, "{what}: {} more; --json has all", files.len() - LINES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_files_the_first_are_listed_and_the_others_counted() {
        let files: Vec<(String, String)> = (0..23)
            .map(|i| (format!("f{i}"), "no".to_owned()))
            .collect();
        let lines = |files: &[(String, String)]| {
            let mut out = Vec::new();
            listed("left out", files, &mut out).expect("written to memory");
            let text = String::from_utf8(out).expect("UTF-8");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let all = lines(&files);
        assert_eq!(
            (all.len(), all[19].as_str()),
            (LINES + 1, "left out: f19: no")
        );
        assert_eq!(all[LINES], "left out: 3 more; --json has all");
        assert_eq!(lines(&files[..LINES]).len(), LINES);
    }
}
