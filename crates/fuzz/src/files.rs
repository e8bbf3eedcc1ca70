//! Parsers of files that others may have written.

use crate::text;
use std::path::Path;
use whimbrel_net::Trace;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{ScenarioSpec, Topology};
use whimbrel_study::recording::Content;
use whimbrel_study::server_users;
use whimbrel_units::Duration;

/// What errors call the file.
const FILE: &str = "file.toml";
/// The longest recording whose statistics are made. They have a sample for each tenth of a second:
/// with those of a week, a second of the fuzzer has three inputs.
const RECORDING: Duration = Duration::from_secs(3600);

/// A scenario, up to what is simulated.
pub fn scenario(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(document) = Document::parse(text, Path::new(FILE)) else {
        return;
    };
    // An error names the file and one of its lines.
    if let Err(error) = ScenarioSpec::read(&document) {
        let said = error.to_string();
        assert!(said.starts_with(FILE), "{said}");
    }
}

/// A topology.
pub fn topology(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    Topology::parse(text, Path::new(FILE)).ok();
}

/// The users of a server.
pub fn users(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Err(error) = server_users::parse(text, Path::new(FILE)) {
        let said = error.to_string();
        assert!(said.starts_with(FILE), "{said}");
    }
}

/// What `trace` says of a recording.
pub fn recording(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if Trace::parse(text).is_ok_and(|trace| trace.period() > RECORDING) {
        return;
    }
    if let Ok(content) = Content::parse(text, Duration::from_millis(1)) {
        let (step, samples) = content.course();
        assert!(step > 0.0 && samples.iter().all(|sample| *sample >= 0.0));
    }
}
