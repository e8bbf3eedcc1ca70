//! The entries of a directory on a server, as lines like those of `ls` and as JSON.

use super::Location;
use crate::printable;
use crate::wire::{Entry, Kind};
use jiff::Timestamp;
use serde_json::{Value, json};
use whimbrel_units::Bytes;
/// The name of an entry; a file that was asked for has its own.
fn name(place: &Location, entry: &Entry) -> String {
    match (&place.path, entry.path.is_empty()) {
        (Some(path), true) => path.to_string(),
        _ => printable(&entry.path),
    }
}

/// An entry with its kind and mode, size, time of the last change (UTC) and name.
pub fn entry_line(place: &Location, entry: &Entry) -> String {
    let metadata = &entry.remote.metadata;
    let (kind, after) = match metadata.kind {
        Kind::Directory => ('d', "/".to_owned()),
        Kind::Link => ('l', format!(" -> {}", printable(&entry.target))),
        Kind::File => ('-', String::new()),
        Kind::Other => ('?', String::new()),
    };
    let mode = metadata.mode.unwrap_or(0);
    let bit = |n: u16, c: char| if mode >> n & 1 == 1 { c } else { '-' };
    let bits = (0..9)
        .rev()
        .map(|n| bit(n, ['x', 'w', 'r'][usize::from(n % 3)]));
    let mode: String = std::iter::once(kind).chain(bits).collect();
    let size = Bytes::new(entry.remote.size).to_string();
    let modified = metadata.modified.and_then(|time| {
        let time = Timestamp::from_second(time.seconds).ok()?;
        Some(time.strftime("%Y-%m-%d %H:%M").to_string())
    });
    let modified = modified.unwrap_or_else(|| "-".to_owned());
    format!(
        "{mode} {size:>10} {modified:>16} {}{after}",
        name(place, entry)
    )
}

/// An entry in base units.
pub fn entry_json(place: &Location, entry: &Entry) -> Value {
    let metadata = &entry.remote.metadata;
    json!({
        "name": name(place, entry),
        "kind": match metadata.kind {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Link => "link",
            Kind::Other => "other",
        },
        "bytes": entry.remote.size,
        "mode": metadata.mode,
        "modified_s": metadata.modified.map(|time| time.seconds),
        "target": (metadata.kind == Kind::Link).then(|| printable(&entry.target)),
    })
}
