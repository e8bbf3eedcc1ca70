//! The provenance of a result: program version and command line.

use crate::VERSION;
use std::time::Instant;
use whimbrel_report::page::Fact;

/// The command line of this process, quoted for a shell.
pub fn command() -> String {
    // A name need not be UTF-8: what is not is shown as U+FFFD.
    line(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}

/// The provenance that files keep.
pub fn of_file() -> Vec<Fact> {
    vec![
        Fact::new("version", VERSION),
        Fact::new("command", command()),
    ]
}

/// The provenance that a page shows: command, version, cores, and the time since `begin`.
pub fn of_page(begin: Instant) -> Vec<Fact> {
    let mut made = of_file();
    made.reverse();
    if let Ok(cores) = std::thread::available_parallelism() {
        made.push(Fact::new("cores", cores.to_string()));
    }
    let seconds = begin.elapsed().as_secs_f64();
    made.push(Fact::new("run time", format!("{seconds:.1} s")));
    made
}

fn line(words: impl Iterator<Item = String>) -> String {
    let quoted = |(i, word): (usize, String)| match i {
        0 => "whimbrel".to_owned(),
        _ => quoted(&word),
    };
    let words: Vec<String> = words.enumerate().map(quoted).collect();
    words.join(" ")
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,%@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_quoted_for_a_shell() {
        let words = [
            "/opt/bin/whimbrel",
            "sim",
            "a b.toml",
            "--set",
            "x='1 %'",
            "",
        ];
        assert_eq!(
            line(words.map(str::to_owned).into_iter()),
            r"whimbrel sim 'a b.toml' --set 'x='\''1 %'\''' ''"
        );
    }
}
