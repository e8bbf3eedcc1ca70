//! The recorded rates and delays that a scenario names.

use super::ScenarioError;
use super::document::{BuiltIn, Document};
use super::written::Written;
use crate::fnv;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whimbrel_net::{DelayTrace, Trace, TraceError};

/// Maximum size of a trace in bytes: five times that of an hour at 80 Mbit/s.
const MAX_TRACE: u64 = 1 << 28;
/// With which some programs begin a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The traces read so far, which the points of a sweep share.
#[derive(Debug)]
pub struct Traces {
    folder: PathBuf,
    built_in: BuiltIn,
    rates: HashMap<PathBuf, Arc<Trace>>,
    delays: HashMap<PathBuf, DelayTrace>,
    digest: u64,
}

/// For traces whose paths are relative to the folder of the process.
impl Default for Traces {
    fn default() -> Self {
        Self {
            folder: PathBuf::new(),
            built_in: |_| None,
            rates: HashMap::new(),
            delays: HashMap::new(),
            digest: fnv::EMPTY,
        }
    }
}

impl Traces {
    /// For traces whose paths are relative to the folder of a file.
    pub(super) fn of(document: &Document) -> Self {
        Self {
            folder: document.folder.clone(),
            built_in: document.built_in,
            ..Self::default()
        }
    }

    /// A hash of all texts that were read.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The recorded rate in a file, in mahimahi's format.
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a trace.
    pub fn rate(&mut self, file: &Written<impl AsRef<Path>>) -> Result<Arc<Trace>, ScenarioError> {
        let parse = |text: &str| Trace::parse(text).map(Arc::new);
        let path = self.folder.join(file.value.as_ref());
        let digest = &mut self.digest;
        read_trace(path, self.built_in, &mut self.rates, digest, file, parse)
    }

    /// The recorded delay in a file: a one-way delay in milliseconds per line.
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a trace.
    pub fn delay(&mut self, file: &Written<impl AsRef<Path>>) -> Result<DelayTrace, ScenarioError> {
        let path = self.folder.join(file.value.as_ref());
        let digest = &mut self.digest;
        let parse = DelayTrace::parse;
        read_trace(path, self.built_in, &mut self.delays, digest, file, parse)
    }
}

/// The trace in a file; reads the file unless it is known.
fn read_trace<T: Clone, P>(
    path: PathBuf,
    built_in: BuiltIn,
    known: &mut HashMap<PathBuf, T>,
    digest: &mut u64,
    file: &Written<P>,
    parse: impl Fn(&str) -> Result<T, TraceError>,
) -> Result<T, ScenarioError> {
    if let Some(trace) = known.get(&path) {
        return Ok(trace.clone());
    }
    let text = match built_in(&path) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(trace_on_disk(&path, file)?),
    };
    let trace = parse(&text).map_err(|error| file.fail(format!("{}: {error}", path.display())))?;
    *digest = fnv::continued(*digest, text.as_bytes());
    known.insert(path, trace.clone());
    Ok(trace)
}

fn trace_on_disk<P>(path: &Path, file: &Written<P>) -> Result<String, ScenarioError> {
    recorded_text(path).map_err(|why| file.fail(why))
}

/// The text of a file with a recorded rate or delay, without a byte order mark.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is too large; the text names it.
pub fn recorded_text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error| format!("cannot read the trace {shown}: {error}");
    let about = std::fs::metadata(path).map_err(unreadable)?;
    // A device or a pipe has no end.
    if !about.is_file() {
        return Err(format!("the trace {shown} is not a file"));
    }
    if about.len() > MAX_TRACE {
        let largest = MAX_TRACE >> 20;
        return Err(format!("the trace {shown} is larger than {largest} MiB"));
    }
    let mut text = std::fs::read_to_string(path).map_err(unreadable)?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}
