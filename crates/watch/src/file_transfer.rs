//! What a transfer of files shows while it runs: a bar on a terminal, lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::Instant;
use whimbrel_study::path_rows::{ONE_PATH, PathRows};
use whimbrel_study::progress_lines::ProgressLines;
use whimbrel_study::real::over_tcp_notice;
use whimbrel_transfer::{PathSummary, Progress, Update};

/// Columns for the name of the last file.
const NAME: usize = 30;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Nothing.
    Quiet,
    /// Progress and interruptions.
    Progress,
    /// Also the name of each file that is transferred or removed.
    EachFile,
}

/// Shows the progress of a transfer.
pub struct Show {
    verbosity: Verbosity,
    /// Standard output is for JSON.
    json: bool,
    bar: ProgressBar,
    begin: Instant,
    lines: ProgressLines,
    path_rows: PathRows,
    /// Beside the bar: a word, and below it a row for each of several paths.
    word: String,
    rows: String,
    /// A line on the progress was printed, and none on the paths.
    rows_due: bool,
    /// The bar's message is about the connection, not a file's name.
    notice: bool,
}

impl Show {
    /// Nothing is shown yet. With `json`, names go to standard error.
    pub fn new(verbosity: impl Into<Verbosity>, json: bool) -> Self {
        let verbosity = verbosity.into();
        let target = match verbosity {
            Verbosity::Quiet => ProgressDrawTarget::hidden(),
            Verbosity::Progress | Verbosity::EachFile => ProgressDrawTarget::stderr(),
        };
        // SI units, as in the result.
        let template = "{wide_bar} {decimal_bytes}/{decimal_total_bytes}  \
                        {decimal_bytes_per_sec}  {eta} left{prefix} {msg}";
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self {
            verbosity,
            json,
            bar: ProgressBar::with_draw_target(Some(0), target).with_style(style),
            begin: Instant::now(),
            lines: ProgressLines::default(),
            path_rows: PathRows::default(),
            word: String::new(),
            rows: String::new(),
            rows_due: true,
            notice: false,
        }
    }

    fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows progress and interruptions.
    pub fn update(&mut self, update: Update) {
        match update {
            Update::Progress(progress) => self.progress(progress),
            Update::Paths(paths) => self.paths(&paths),
            Update::Stored(name) => {
                if self.verbosity == Verbosity::EachFile {
                    self.print(&name);
                } else if !self.notice {
                    self.set_word(shortened(&name));
                }
            }
            Update::Removed(name) if self.verbosity == Verbosity::EachFile => {
                self.print(&format!("removed {name}"));
            }
            Update::OverTcp(control) => self.say(over_tcp_notice(&control)),
            Update::OnePath => self.say(ONE_PATH.to_owned()),
            Update::NoAnswer(via) => self.say(format!(
                "{via}: the server does not answer over this interface; the others are used"
            )),
            Update::Queued(position) => {
                self.say(format!("the server is busy: {} in line", ordinal(position)));
            }
            Update::Interrupted { reason, wait } => {
                let seconds = wait.as_secs_f64();
                self.say(format!(
                    "interrupted, trying again in {seconds:.0} s: {reason}"
                ));
            }
            _ => {}
        }
    }

    fn progress(&mut self, progress: Progress) {
        if self.bar.is_hidden() {
            let line = self.lines.line(self.begin.elapsed().into(), progress);
            if let Some(line) = line.filter(|_| !self.is_quiet()) {
                writeln!(io::stderr(), "{line}").ok();
                self.rows_due = true;
            }
            return;
        }
        // Data flows again.
        if self.notice && self.bar.position() < progress.bytes {
            self.notice = false;
            self.set_word(String::new());
        }
        self.bar.set_length(progress.size);
        if progress.all_files > 1 {
            let count = format!("  {}/{} files", progress.files, progress.all_files);
            self.bar.set_prefix(count);
        }
        // What was there already is no speed.
        let resumes = self.bar.position() == 0 && progress.bytes > 0;
        self.bar.set_position(progress.bytes);
        if resumes {
            self.bar.reset_eta();
        }
    }

    /// A row for each path: below the bar, or where lines are due.
    fn paths(&mut self, paths: &[PathSummary]) {
        let is_hidden = self.bar.is_hidden();
        if is_hidden && !std::mem::take(&mut self.rows_due) {
            return;
        }
        let rows = self.path_rows.rows(self.begin.elapsed().into(), paths);
        match rows {
            Some(rows) if !is_hidden => {
                self.rows = rows;
                self.show_message();
            }
            Some(rows) if !self.is_quiet() => {
                writeln!(io::stderr(), "{}", rows.trim_start_matches('\n')).ok();
            }
            _ => {}
        }
    }

    /// Shows a word beside the bar.
    fn set_word(&mut self, word: String) {
        self.word = word;
        self.show_message();
    }

    fn show_message(&self) {
        self.bar.set_message(format!("{}{}", self.word, self.rows));
    }

    /// A line of the result.
    fn print(&self, line: &str) {
        self.bar.suspend(|| match self.json {
            true => writeln!(io::stderr(), "{line}").ok(),
            false => writeln!(io::stdout(), "{line}").ok(),
        });
    }

    /// On a terminal beside the bar; as a line elsewhere.
    fn say(&mut self, text: String) {
        if !self.bar.is_hidden() {
            self.notice = true;
            self.set_word(text);
        } else if !self.is_quiet() {
            writeln!(io::stderr(), "{text}").ok();
        }
    }
}

/// The end of a name that is too long.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    match count > NAME {
        true => "…"
            .chars()
            .chain(name.chars().skip(count - NAME + 1))
            .collect(),
        false => name.to_owned(),
    }
}

/// 1st, 2nd, 3rd, 4th ...
fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_line_are_read_aloud() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 111, 112, 113, 122].map(ordinal);
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th", "112th", "113th",
            "122nd",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(shortened("photos/a.jpg"), "photos/a.jpg");
        let long = format!("{}/a.jpg", "é".repeat(NAME));
        let short = shortened(&long);
        assert_eq!(short.chars().count(), NAME);
        assert!(
            short.starts_with('…') && short.ends_with("é/a.jpg"),
            "{short}"
        );
    }
}
