//! Recorded events: a file of everything that the kernel reported, with which an adapter can be run
//! again. Each record is its length (32 bits, little endian) and its bytes, as in the ring.

use crate::wire::Start;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a recording.
#[derive(Debug)]
pub(crate) struct Recorder(Option<BufWriter<File>>);

impl Recorder {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Some(BufWriter::new(File::create(path)?))))
    }

    /// Adds a record. After an error, such as a full disk, no more is written.
    pub(crate) fn add(&mut self, record: &[u8]) {
        let Some(file) = &mut self.0 else { return };
        let length = u32::try_from(record.len()).unwrap_or(0);
        let written = file
            .write_all(&length.to_le_bytes())
            .and_then(|()| file.write_all(record));
        if written.is_err() {
            self.0 = None;
        }
    }
}

/// The records of a recording, in order. A last record that is cut off, and everything after a
/// length that no record has, is left out.
pub fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let record = rest
            .get(..length)
            .filter(|r| r.len() <= size_of::<Start>())?;
        bytes = &rest[length..];
        Some(record)
    })
}
