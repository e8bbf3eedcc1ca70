//! qlog: one file per connection that records its packets and its controller.
//!
//! noq writes the records (draft-ietf-quic-qlog-main-schema-13,
//! draft-ietf-quic-qlog-quic-events-12, JSON text sequences of RFC 7464): packets with their
//! frames, lost packets, and recovery metrics, among them the controller's window, threshold and
//! pacing rate. Stream data is not recorded.
//!
//! Any peer that connects makes the server write a file. Therefore both the size of each file and
//! the total size of the folder are limited. At the limit a file ends with a complete record and
//! the transfer continues. Records are written whole, at most 100 ms after the record before, so
//! that a file truncated by a crash is readable up to that point.

use crate::error::Error;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use whimbrel_units::Bytes;

/// File name extension, which readers of qlog as JSON text sequences expect.
const EXTENSION: &str = "sqlog";
/// No file is created if less than this is left: a handshake needs as much. A smaller file counts
/// as this size, so that connections that never complete cannot create an unlimited number of
/// files.
const MIN_FILE: u64 = 64 << 10;
/// Records are flushed to the file after this time, at the next record.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// A folder for qlog files with a limit on their total size. Clones share the limit.
#[derive(Debug, Clone)]
pub struct QlogFolder(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Bytes that may still be written.
    left: AtomicU64,
    /// Maximum size of one file, bytes.
    file: u64,
}

impl QlogFolder {
    /// Opens the folder, and creates it if needed. All its qlog files together, existing ones
    /// included, may take up `total`; one file may take up `file`.
    ///
    /// # Errors
    /// If the folder cannot be created or written to, or if the existing files use up `total`.
    pub fn open(path: &Path, total: Bytes, file: Bytes) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::file(path, "create"))?;
        // Fail now instead of logging nothing later.
        let probe = path.join(format!(".whimbrel-{}", std::process::id()));
        File::create(&probe).map_err(Error::file(path, "write into"))?;
        fs::remove_file(&probe).ok();
        let used = used(path).map_err(Error::file(path, "read"))?;
        let left = total.get().saturating_sub(used);
        if left < MIN_FILE {
            let text = format!(
                "its qlog files take up {} of {total}; remove some, or raise the limit",
                Bytes::new(used)
            );
            return Err(Error::file(path, "write into")(io::Error::other(text)));
        }
        Ok(Self(Arc::new(Folder {
            path: path.to_owned(),
            left: AtomicU64::new(left),
            file: file.get(),
        })))
    }
}

/// Total size of all qlog files in a folder.
fn used(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == EXTENSION)
        {
            sum += entry.metadata()?.len().max(MIN_FILE);
        }
    }
    Ok(sum)
}

impl Folder {
    /// Takes `bytes` off the remaining space, if that much is left.
    fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}

impl QlogFactory for QlogFolder {
    fn for_connection(
        &self,
        side: Side,
        remote: SocketAddr,
        initial_dst_cid: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let folder = &self.0;
        if !folder.take(MIN_FILE) {
            return None;
        }
        let (side, verb) = match side {
            Side::Client => ("client", "sends to"),
            Side::Server => ("server", "serves"),
        };
        let started = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Colons are inconvenient in file names.
        let peer = remote.ip().to_string().replace(':', "_");
        let name = format!(
            "{}-{peer}-{}-{initial_dst_cid}-{side}.{EXTENSION}",
            started.as_millis(),
            remote.port()
        );
        let mut new = OpenOptions::new();
        let file = new
            .write(true)
            .create_new(true)
            .open(folder.path.join(name))
            .ok()?;
        let log = Log {
            file: BufWriter::new(file),
            record: Vec::new(),
            left: folder.file,
            taken: MIN_FILE,
            folder: Arc::clone(folder),
            flushed: Instant::now(),
            ended: false,
        };
        let mut config = QlogConfig::new(Box::new(log));
        let version = env!("CARGO_PKG_VERSION");
        config.title(Some(format!("whimbrel {version} {verb} {remote}")));
        config.description(Some(format!(
            "A log is limited to {}. A log of that size ends there; the transfer continued.",
            Bytes::new(folder.file)
        )));
        Some(config)
    }
}

/// A qlog file that is being written.
struct Log {
    file: BufWriter<File>,
    /// The beginning of a record that is not complete.
    record: Vec<u8>,
    /// Bytes that may still be written to this file.
    left: u64,
    /// Bytes taken off the folder's space for this file and not yet written.
    taken: u64,
    folder: Arc<Folder>,
    flushed: Instant,
    /// Nothing more is written, because a limit is reached or the disk is full.
    ended: bool,
}

impl Log {
    /// Writes a record. A write error ends the log but not the transfer.
    fn end_record(&mut self) {
        let size = self.record.len() as u64;
        self.ended = size > self.left || !self.folder.take(size.saturating_sub(self.taken));
        if !self.ended {
            self.left -= size;
            self.taken = self.taken.saturating_sub(size);
            self.ended = self.file.write_all(&self.record).is_err();
        }
        self.record.clear();
        if self.ended || self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flushed = Instant::now();
            self.file.flush().ok();
        }
    }
}

impl Write for Log {
    /// A record arrives in pieces and ends with the piece that ends in a line feed: the JSON of a
    /// record contains no line breaks.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if !self.ended {
            self.record.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_record();
            }
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().ok();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

    /// A scratch directory with logs in it.
    struct Logs(ScratchDirectory);

    impl Logs {
        fn new() -> Self {
            Self(ScratchDirectory::new())
        }

        fn folder(&self, total: u64, file: u64) -> Result<QlogFolder, Error> {
            QlogFolder::open(self.0.path(), Bytes::new(total), Bytes::new(file))
        }

        fn log(&self, folder: &QlogFolder, name: &str) -> Log {
            let file = File::create(self.0.path().join(name)).expect("a file");
            Log {
                file: BufWriter::new(file),
                record: Vec::new(),
                left: folder.0.file,
                taken: 0,
                folder: Arc::clone(&folder.0),
                flushed: Instant::now(),
                ended: false,
            }
        }

        fn read(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.path().join(name)).expect("a file")
        }
    }

    #[test]
    fn at_its_limit_a_file_ends_with_a_complete_record() {
        let scratch = Logs::new();
        let folder = scratch.folder(1 << 20, 25).expect("a folder");
        let mut log = scratch.log(&folder, "a.sqlog");
        for _ in 0..5 {
            // Ten bytes in three pieces: two records fit into 25 bytes.
            for piece in [&b"\x1e"[..], b"{1234567"[..].as_ref(), b"\n"] {
                log.write_all(piece).expect("written");
            }
        }
        drop(log);
        assert_eq!(scratch.read("a.sqlog"), b"\x1e{1234567\n\x1e{1234567\n");
    }

    #[test]
    fn the_limit_covers_all_files_and_existing_ones() {
        let scratch = Logs::new();
        let total = MIN_FILE + 100;
        let folder = scratch.folder(total, u64::MAX).expect("a folder");
        let record = [&[b'x'; 39][..], b"\n"].concat();
        let mut logs = [
            scratch.log(&folder, "a.sqlog"),
            scratch.log(&folder, "b.sqlog"),
        ];
        for round in 0..MIN_FILE as usize {
            logs[round % 2].write_all(&record).expect("written");
        }
        drop(logs);
        let sizes = ["a.sqlog", "b.sqlog"].map(|name| scratch.read(name).len() as u64);
        let sum = sizes[0] + sizes[1];
        assert!(sum <= total && sum + 40 > total, "{sum}");
        assert_eq!((sizes[0] % 40, sizes[1] % 40), (0, 0));
        let error = scratch
            .folder(total, u64::MAX)
            .expect_err("full")
            .to_string();
        assert!(error.contains("raise the limit"), "{error}");
        let remote = ([127, 0, 0, 1], 1).into();
        let id = ConnectionId::new(&[1, 2]);
        let config = folder.for_connection(Side::Server, remote, id, Instant::now());
        assert!(config.is_none(), "no new file when no space is left");
        assert!(scratch.folder(4 * total, u64::MAX).is_ok());
    }

    #[test]
    fn the_number_of_files_is_limited_even_if_they_are_empty() {
        let scratch = Logs::new();
        let folder = scratch
            .folder(3 * MIN_FILE + 1, u64::MAX)
            .expect("a folder");
        let connection = |number: u8| {
            let remote = ([127, 0, 0, 1], u16::from(number)).into();
            let id = ConnectionId::new(&[number]);
            folder.for_connection(Side::Server, remote, id, Instant::now())
        };
        let logged = (1..=9).filter_map(connection).count();
        assert_eq!(logged, 3);
        assert_eq!(fs::read_dir(scratch.0.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_at_once() {
        let scratch = ScratchDirectory::new();
        let file = scratch.path().join("file");
        fs::write(&file, "a file").expect("written");
        let limit = Bytes::new(1 << 20);
        assert!(QlogFolder::open(&file, limit, limit).is_err());
    }
}
