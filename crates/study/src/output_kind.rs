//! Which files an output may replace: those that are such outputs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes at the start of a file that show what it is.
const HEAD: u64 = 1024;

/// What a format is called, its extensions, and whether a file begins as one: as text, and in bytes.
type Format = (
    &'static str,
    &'static [&'static str],
    fn(&str, &[u8]) -> bool,
);

/// Formats of outputs.
const FORMATS: [Format; 7] = [
    ("a page of Whimbrel", &["html", "htm"], |text, _| {
        text.starts_with("<!DOCTYPE html>") && text.contains(whimbrel_report::GENERATOR)
    }),
    ("an SVG picture", &["svg"], |text, _| {
        text.starts_with("<svg ") || text.starts_with("<?xml")
    }),
    ("a PDF file", &["pdf"], |_, bytes| {
        bytes.starts_with(b"%PDF-")
    }),
    ("a CSV table", &["csv"], |text, _| is_csv(text)),
    ("JSON", &["json", "sqlog", "qlog", "jsonl"], |text, _| {
        is_json(text)
    }),
    ("a Parquet table", &["parquet"], |_, bytes| {
        bytes.starts_with(b"PAR1")
    }),
    ("a packet trace", &["pcapng", "pcap"], |_, bytes| {
        bytes.starts_with(b"\x0a\x0d\x0d\x0a") || bytes.starts_with(b"\xd4\xc3\xb2\xa1")
    }),
];

/// Refuses to replace a file that is not an output of the format that its name announces; without
/// such an extension, of any format. A file that does not exist or is empty may be written.
///
/// # Errors
/// The reason, or that the file cannot be read.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(HEAD).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if bytes.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let ending = ending.to_lowercase();
    let named = FORMATS
        .iter()
        .find(|(_, endings, _)| endings.contains(&&*ending));
    let (what, is_output) = match named {
        Some((what, _, is)) => (*what, is(text, &bytes)),
        None => (
            "an output",
            FORMATS.iter().any(|(_, _, is)| is(text, &bytes)),
        ),
    };
    match is_output {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("the file exists and is not {what}; choose another name, or remove it first"),
        )),
    }
}

/// An object, or a list of objects; `[table]` is TOML.
fn is_json(text: &str) -> bool {
    let list = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || list.is_some_and(|rest| rest.starts_with(['{', ']']))
}

/// A line of several names without spaces.
fn is_csv(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"#<>{}[]=;".contains(c);
    line.contains(',') && line.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn may_replace(name: &str, content: &[u8]) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        check(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn only_outputs_of_the_same_format_are_replaced() {
        let page = format!("<!DOCTYPE html>\n{}\n", whimbrel_report::GENERATOR);
        for (name, content) in [
            ("a.html", page.as_bytes()),
            (
                "a.svg",
                b"<svg xmlns='http://www.w3.org/2000/svg'>".as_slice(),
            ),
            ("a.pdf", b"%PDF-1.7"),
            ("a.csv", b"run,flow.controller,seed\n0,cubic,1\n"),
            ("a.json", b"{\n  \"start\": {}}"),
            ("a", b"[\n  {\"id\": 1}]"),
            ("a.parquet", b"PAR1\x15"),
            ("a.pcapng", b"\x0a\x0d\x0d\x0a\0"),
            ("a.html", b""),
        ] {
            assert_eq!(may_replace(name, content), Ok(()), "{name}");
        }
        for (name, content) in [
            (
                "a.html",
                b"<!DOCTYPE html>\n<title>My home</title>".as_slice(),
            ),
            ("a.toml", b"[link.L]\nrate = \"1 Mbit/s\"\n"),
            ("a.csv", b"{\"a\": 1, \"b\": 2}"),
            ("a.json", b"[link.L]\n"),
            ("notes", b"Hello, world\n"),
            ("a.svg", b"\x89PNG"),
            ("a.rs", b"use std::io;\n"),
        ] {
            let why = may_replace(name, content).expect_err(name);
            assert!(
                why.contains("is not ") && why.contains("remove it first"),
                "{why}"
            );
        }
        assert!(check(Path::new("/nonexistent/a.html")).is_ok());
    }
}
