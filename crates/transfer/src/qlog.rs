//! qlog: a file for each connection, with what its packets and its controller did, for tools that show that.
//!
//! noq writes it (draft-ietf-quic-qlog-main-schema-13, draft-ietf-quic-qlog-quic-events-12, JSON text sequences of RFC 7464):
//! packets with their frames, what was lost, and the recovery's metrics, among them our controller's window, threshold and
//! pacing rate. What is sent in streams is not in it.
//!
//! Whoever connects to a server makes it write a file, so files are bounded: all of a folder together, and each alone. At
//! the bound a file ends with a whole record; the transfer goes on. Records are written whole, and at the latest a tenth of a
//! second after the one before, so that a file that a crash cut can be read up to there.

use crate::Error;
use noq::{ConnectionId, QlogConfig, QlogFactory, Side};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use whimbrel_units::Bytes;

/// How the names of its files end: what readers of qlog as JSON text sequences look for.
const ENDING: &str = "sqlog";
/// No file is begun if less is left: a handshake needs as much. A file counts as so much even if it stays smaller, so that many
/// connections that never get anywhere do not make files without end.
const LEAST: u64 = 64 << 10;
/// Records are in the file after so long, if others follow.
const FLUSH: Duration = Duration::from_millis(100);

/// A folder for qlog files, and how much they may take up. Clones share that.
#[derive(Debug, Clone)]
pub struct QlogFolder(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// What may still be written, bytes.
    left: AtomicU64,
    /// The most of one file, bytes.
    file: u64,
}

impl QlogFolder {
    /// Makes the folder if it is not there. All its qlog files together, those that are there included, may take up `total`;
    /// one of them at most `file`.
    ///
    /// # Errors
    /// If it cannot be made or written to, or if what is there takes up all.
    pub fn open(path: &Path, total: Bytes, file: Bytes) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::file(path, "make"))?;
        // Better to fail now than to log nothing.
        let probe = path.join(format!(".whimbrel-{}", std::process::id()));
        File::create(&probe).map_err(Error::file(path, "write into"))?;
        fs::remove_file(&probe).ok();
        let there = used(path).map_err(Error::file(path, "read"))?;
        let left = total.get().saturating_sub(there);
        if left < LEAST {
            let text = format!(
                "the qlog files there take up {} of {total} already: remove some, or allow more with --qlog-limit",
                Bytes::new(there)
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

/// What all qlog files in a folder take up.
fn used(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == ENDING)
        {
            sum += entry.metadata()?.len().max(LEAST);
        }
    }
    Ok(sum)
}

impl Folder {
    /// Takes so much off what is left, if there is as much.
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
        if !folder.take(LEAST) {
            return None;
        }
        let (side, verb) = match side {
            Side::Client => ("client", "sends to"),
            Side::Server => ("server", "serves"),
        };
        let begun = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Colons are awkward in names of files.
        let peer = remote.ip().to_string().replace(':', "_");
        let name = format!(
            "{}-{peer}-{}-{initial_dst_cid}-{side}.{ENDING}",
            begun.as_millis(),
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
            taken: LEAST,
            folder: Arc::clone(folder),
            flushed: Instant::now(),
            over: false,
        };
        let mut config = QlogConfig::new(Box::new(log));
        let version = env!("CARGO_PKG_VERSION");
        config.title(Some(format!("whimbrel {version} {verb} {remote}")));
        config.description(Some(format!(
            "A log takes up to {}: one that is as large ends there, and the transfer went on.",
            Bytes::new(folder.file)
        )));
        Some(config)
    }
}

/// A qlog file that is being written.
struct Log {
    file: BufWriter<File>,
    /// What has come of a record that is not whole.
    record: Vec<u8>,
    /// What may still be written to this file, bytes.
    left: u64,
    /// Of what was taken off the folder's for this file: what it has not written yet, bytes.
    taken: u64,
    folder: Arc<Folder>,
    flushed: Instant,
    /// Nothing more is written: it is full, or the disk is.
    over: bool,
}

impl Log {
    /// Writes a record. A file that cannot be written ends here, and nobody else needs to know.
    fn end_record(&mut self) {
        let size = self.record.len() as u64;
        self.over = size > self.left || !self.folder.take(size.saturating_sub(self.taken));
        if !self.over {
            self.left -= size;
            self.taken = self.taken.saturating_sub(size);
            self.over = self.file.write_all(&self.record).is_err();
        }
        self.record.clear();
        if self.over || self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            self.file.flush().ok();
        }
    }
}

impl Write for Log {
    /// A record comes in pieces, and ends with the piece that ends a line: JSON has no line breaks where it is not spread over
    /// lines.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if !self.over {
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

    /// A folder of a test's own, removed with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("whimbrel-qlog-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn folder(&self, total: u64, file: u64) -> Result<QlogFolder, Error> {
            QlogFolder::open(&self.0, Bytes::new(total), Bytes::new(file))
        }

        fn log(&self, folder: &QlogFolder, name: &str) -> Log {
            let file = File::create(self.0.join(name)).expect("mine");
            Log {
                file: BufWriter::new(file),
                record: Vec::new(),
                left: folder.0.file,
                taken: 0,
                folder: Arc::clone(&folder.0),
                flushed: Instant::now(),
                over: false,
            }
        }

        fn read(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.join(name)).expect("there")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn at_its_bound_a_file_ends_with_a_whole_record_and_the_writer_goes_on() {
        let scratch = Scratch::new("bound");
        let folder = scratch.folder(1 << 20, 25).expect("a folder");
        let mut log = scratch.log(&folder, "a.sqlog");
        for _ in 0..5 {
            // Ten bytes in three pieces: two records fit into 25 bytes.
            for piece in [&b"\x1e"[..], b"{1234567"[..].as_ref(), b"\n"] {
                log.write_all(piece).expect("never fails");
            }
        }
        drop(log);
        assert_eq!(scratch.read("a.sqlog"), b"\x1e{1234567\n\x1e{1234567\n");
    }

    #[test]
    fn all_files_together_are_bounded_and_those_that_are_there_count() {
        let scratch = Scratch::new("total");
        let total = LEAST + 100;
        let folder = scratch.folder(total, u64::MAX).expect("a folder");
        let record = [&[b'x'; 39][..], b"\n"].concat();
        let mut logs = [
            scratch.log(&folder, "a.sqlog"),
            scratch.log(&folder, "b.sqlog"),
        ];
        for round in 0..LEAST as usize {
            logs[round % 2].write_all(&record).expect("never fails");
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
        assert!(error.contains("--qlog-limit"), "{error}");
        let remote = ([127, 0, 0, 1], 1).into();
        let id = ConnectionId::new(&[1, 2]);
        let config = folder.for_connection(Side::Server, remote, id, Instant::now());
        assert!(config.is_none(), "no new file where nothing is left");
        assert!(scratch.folder(4 * total, u64::MAX).is_ok());
    }

    #[test]
    fn connections_that_log_nothing_make_no_files_without_end() {
        let scratch = Scratch::new("empty");
        let folder = scratch.folder(3 * LEAST + 1, u64::MAX).expect("a folder");
        let connection = |number: u8| {
            let remote = ([127, 0, 0, 1], u16::from(number)).into();
            let id = ConnectionId::new(&[number]);
            folder.for_connection(Side::Server, remote, id, Instant::now())
        };
        let logged = (1..=9).filter_map(connection).count();
        assert_eq!(logged, 3);
        assert_eq!(fs::read_dir(&scratch.0).expect("a folder").count(), 3);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_known_at_once() {
        let scratch = Scratch::new("file");
        fs::write(&scratch.0, "a file").expect("written");
        assert!(scratch.folder(1 << 20, 1 << 20).is_err());
        fs::remove_file(&scratch.0).expect("mine");
    }
}
