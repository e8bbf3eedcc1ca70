//! An audit log: a line of JSON for each event of a server, with time and user.

use crate::Event;
use crate::lock::lock;
use jiff::Timestamp;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A file to which lines are appended. If it is renamed or removed, as programs that rotate logs
/// do, the next line begins a new file of the same name.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    file: Mutex<File>,
}

impl AuditLog {
    /// Opens or creates the file, which only its owner and group can read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = Mutex::new(append(&path)?);
        Ok(Self { path, file })
    }

    /// Appends an event: its JSON with `time` (RFC 3339, UTC) and `outcome` (`done` or `failed`).
    /// No token is in an event.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn record(&self, event: &Event) -> io::Result<()> {
        let mut line = line(event, Timestamp::now()).to_string();
        line.push('\n');
        let mut file = lock(&self.file);
        let now = file.metadata()?;
        let named = self.path.metadata();
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (now.dev(), now.ino())) {
            *file = append(&self.path)?;
        }
        // One call, so that lines of several writers do not mix.
        file.write_all(line.as_bytes())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

fn line(event: &Event, now: Timestamp) -> Value {
    let mut line = event.json();
    line["time"] = format!("{now:.3}").into();
    line["outcome"] = match event {
        Event::Failed { .. } => "failed",
        _ => "done",
    }
    .into();
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RemoteUser;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use whimbrel_units::{Bytes, Duration};

    #[test]
    fn a_log_that_is_rotated_goes_on_in_a_new_file() {
        let folder = ScratchDirectory::new();
        let path = folder.path().join("audit.jsonl");
        let peer = RemoteUser {
            address: ([192, 0, 2, 7], 4433).into(),
            user: Some("alice".to_owned()),
        };
        let stored = Event::Stored {
            peer: peer.clone(),
            key_exchange: None,
            name: "a.bin".parse().expect("a path"),
            bytes: Bytes::new(1000),
            took: Duration::from_secs(1),
            hash: [7; 32].into(),
        };
        let failed = Event::Failed {
            peer,
            name: None,
            error: crate::Error::Stopped,
        };
        let log = AuditLog::open(&path).expect("it opens");
        log.record(&stored).expect("written");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o137, 0, "others learn nothing: {mode:o}");
        fs::rename(&path, folder.path().join("audit.1")).expect("renamed");
        log.record(&failed).expect("written");
        log.record(&failed).expect("written");
        let read = |name: &str| -> Vec<Value> {
            let text = fs::read_to_string(folder.path().join(name)).expect("text");
            let parse = |line: &str| serde_json::from_str(line).expect("JSON");
            text.lines().map(parse).collect()
        };
        let [first] = &read("audit.1")[..] else {
            panic!("one line")
        };
        assert_eq!(
            (&first["user"], &first["outcome"], &first["bytes"]),
            (&"alice".into(), &"done".into(), &1000.into())
        );
        assert_eq!(first["peer"], "192.0.2.7:4433");
        assert_eq!(first["blake3"], "07".repeat(32));
        let time = first["time"].as_str().expect("a time");
        assert!(
            time.parse::<Timestamp>().is_ok() && time.ends_with('Z'),
            "{time}"
        );
        let later = read("audit.jsonl");
        assert_eq!(later.len(), 2);
        assert_eq!(later[1]["outcome"], "failed");
        assert!(first.get("token").is_none());
    }
}
