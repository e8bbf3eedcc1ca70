//! Results on standard output, as JSON or as text; notes and errors on standard error.

use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints a text. Its colors are left out if standard output is no terminal.
pub fn text(text: impl Display) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    write!(out, "{text}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a text to standard error. That nothing reads it any more, or that its disk is full, is no
/// reason to end, nor to change the exit status. Colors are left out if it is no terminal.
pub fn aside(text: impl Display) {
    write!(anstream::stderr().lock(), "{text}").ok();
}

/// Writes a line to standard error, as [`aside`] does.
pub fn note(line: impl Display) {
    aside(format_args!("{line}\n"));
}

/// Prints a value as JSON.
pub fn json(value: &impl Serialize) -> anyhow::Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    // A closed pipe is an error of the output, not of the value.
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a value as JSON on one line.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a result in the form that the user chose.
pub fn result<V: Serialize>(
    as_json: bool,
    value: impl FnOnce() -> V,
    shown: impl FnOnce() -> String,
) -> anyhow::Result<ExitCode> {
    match as_json {
        true => json(&value()),
        false => text(shown()),
    }
}
