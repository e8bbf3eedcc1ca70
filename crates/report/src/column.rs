//! A column of a table: name, type and meaning.

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, UTF-8.
    Text,
    /// An integer, 64 bits with a sign.
    Integer,
    /// A number, 64 bits.
    Float,
    /// True or false.
    Switch,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, unique in a table. A unit is the last part of the name, or the one before the
    /// last: `goodput_bps`, `rtt_ms_p95`.
    pub name: String,
    /// The type of its cells. Each may be null.
    pub kind: Kind,
    /// Its meaning.
    pub about: String,
}

impl Column {
    /// A column of this name, type and meaning.
    pub fn new(name: &str, kind: Kind, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            about: about.to_owned(),
        }
    }
}
