//! What is sent: a file, or a stream of unknown length.

use crate::blocks::{BlockHashes, CHUNK, MAX_BLOCKS, hash_subtree};
use crate::error::Error;
use crate::lock::lock;
use crate::ranges::RangeSet;
use crate::wire::{FileTime, Kind, Metadata};
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::{SeekFrom, seek};
use rustix::io::pread;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// A file system may give two changes within this time the same time stamp.
const GRANULARITY: Duration = Duration::from_millis(50);
/// Data of a stream that is kept until the receiver has written it, bytes.
const KEPT: u64 = 64 << 20;

/// A file to be sent.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: File,
    path: PathBuf,
    before: Stamp,
    /// It was written all the time before it was read: its time stamps cannot show that it stays
    /// the same.
    restless: bool,
}

/// What changes when a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: (u64, u64),
}

impl Stamp {
    fn of(m: &std::fs::Metadata) -> Self {
        Self {
            size: m.size(),
            modified: (m.mtime(), m.mtime_nsec()),
            changed: (m.ctime(), m.ctime_nsec()),
            inode: (m.dev(), m.ino()),
        }
    }

    /// How long ago the last change was.
    fn age(&self) -> Duration {
        let (seconds, nanos) = self.changed;
        let changed = u64::try_from(seconds).unwrap_or(0);
        let changed = Duration::new(changed, u32::try_from(nanos).unwrap_or(0));
        let changed = SystemTime::UNIX_EPOCH.checked_add(changed);
        let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
        // A time stamp in the future is of another clock; then waiting does not help.
        SystemTime::now()
            .duration_since(changed)
            .unwrap_or(GRANULARITY)
    }
}

/// Opens a regular file without waiting: a FIFO without a writer would wait for one.
pub(crate) fn open_regular(path: &Path) -> Result<File, Error> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(Error::file(path, "open"))?;
    let metadata = file.metadata().map_err(Error::file(path, "inspect"))?;
    if metadata.is_file() {
        return Ok(file);
    }
    let what = if metadata.is_dir() {
        "it is a directory"
    } else {
        "it is not a regular file"
    };
    Err(Error::file(path, "send")(std::io::Error::other(what)))
}

impl FileSource {
    /// Takes a file for sending. Waits until a change from now on is visible in its time stamps.
    pub async fn new(file: File, path: &Path) -> Result<Self, Error> {
        let stamp = |file: &File| {
            let metadata = file.metadata().map_err(Error::file(path, "inspect"))?;
            Ok::<_, Error>(Stamp::of(&metadata))
        };
        let mut before = stamp(&file)?;
        let mut restless = false;
        for _ in 0..4 {
            let Some(wait) = GRANULARITY.checked_sub(before.age()) else {
                restless = false;
                break;
            };
            tokio::time::sleep(wait + Duration::from_millis(1)).await;
            let now = stamp(&file)?;
            restless = std::mem::replace(&mut before, now) != now;
            if !restless {
                break;
            }
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            before,
            restless,
        })
    }

    /// Takes a file for sending, as [`Self::new`], in a thread that may block.
    pub fn at_once(file: File, path: &Path) -> Result<Self, Error> {
        let metadata = file.metadata().map_err(Error::file(path, "inspect"))?;
        let before = Stamp::of(&metadata);
        let path = path.to_owned();
        // A file that was just written is given the time to settle.
        if let Some(wait) = GRANULARITY.checked_sub(before.age()) {
            std::thread::sleep(wait + Duration::from_millis(1));
            let metadata = file.metadata().map_err(Error::file(&path, "inspect"))?;
            let now = Stamp::of(&metadata);
            return Ok(Self {
                file,
                path,
                before: now,
                restless: now != before,
            });
        }
        Ok(Self {
            file,
            path,
            before,
            restless: false,
        })
    }

    /// All of it; `None` if it has become shorter.
    pub fn whole(&self) -> Result<Option<Bytes>, Error> {
        self.read(&(0..self.size()))
    }

    /// The size when it was opened, bytes.
    pub fn size(&self) -> u64 {
        self.before.size
    }

    /// Whether the file has changed since it was opened.
    pub fn changed(&self) -> Result<bool, Error> {
        let now = self.file.metadata();
        let now = now.map_err(Error::file(&self.path, "inspect"))?;
        Ok(self.restless || Stamp::of(&now) != self.before)
    }

    /// Its metadata; with `attributes` also the extended ones.
    pub fn metadata(&self, attributes: bool) -> Result<Metadata, Error> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(Error::file(&self.path, "inspect"))?;
        let attributes = if attributes {
            crate::storage::attributes(&self.file)
        } else {
            Vec::new()
        };
        Ok(Metadata {
            attributes,
            ..metadata_of(&metadata, Kind::File)
        })
    }

    /// Reads these bytes; `None` if the file has become shorter.
    pub fn read(&self, range: &Range<u64>) -> Result<Option<Bytes>, Error> {
        let length = (range.end - range.start) as usize;
        let mut data = Vec::with_capacity(length);
        while data.len() < length {
            let at = range.start + data.len() as u64;
            match pread(&self.file, spare_capacity(&mut data), at) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::file(&self.path, "read")(e.into())),
            }
        }
        // More than was asked for may have been allocated.
        data.truncate(length);
        Ok(Some(data.into()))
    }

    /// The first part of a range that has data; `None` if all of it is a hole.
    fn next_data(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = match seek(&self.file, SeekFrom::Data(range.start)) {
            Ok(start) if start >= range.end => return None,
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => return None,
            // The file system does not know.
            Err(_) => return Some(range),
        };
        let end = seek(&self.file, SeekFrom::Hole(start)).unwrap_or(range.end);
        Some(start..end.clamp(start + 1, range.end))
    }
}

/// What is sent of a file beside its content.
pub(crate) fn metadata_of(metadata: &std::fs::Metadata, kind: Kind) -> Metadata {
    Metadata {
        kind,
        mode: Some((metadata.mode() & 0o777) as u16),
        modified: Some(FileTime {
            seconds: metadata.mtime(),
            nanoseconds: u32::try_from(metadata.mtime_nsec())
                .unwrap_or(0)
                .min(999_999_999),
        }),
        attributes: Vec::new(),
    }
}

/// A stream of unknown length, such as standard input.
///
/// What the receiver has not written yet is kept, so that a lost connection costs nothing.
pub(crate) struct StreamSource {
    state: Mutex<StreamState>,
    /// The receiver has written more, or the reader is back.
    drained: Notify,
}

/// What follows in a stream.
pub(crate) enum Following {
    /// A block that another attempt read.
    Block(Bytes),
    /// What [`StreamSource::read`] gets of the reader.
    Read(Reader),
    /// Nothing.
    End,
}

/// What a stream is read from.
pub(crate) type Reader = Box<dyn Read + Send>;

struct StreamState {
    reader: Option<Reader>,
    /// Bytes read so far.
    produced: u64,
    ended: bool,
    kept: BTreeMap<u64, Bytes>,
    hashes: BlockHashes,
    /// The hash of the first block as a file of its own.
    first: Option<[u8; 32]>,
    /// What the receiver's file has, as far as this attempt knows.
    there: RangeSet,
}

impl StreamSource {
    pub fn new(reader: Reader) -> Self {
        Self {
            state: Mutex::new(StreamState {
                reader: Some(reader),
                produced: 0,
                ended: false,
                kept: BTreeMap::new(),
                hashes: BlockHashes::new(MAX_BLOCKS * CHUNK),
                first: None,
                there: RangeSet::default(),
            }),
            drained: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        lock(&self.state)
    }

    /// Bytes read so far.
    pub fn produced(&self) -> u64 {
        self.lock().produced
    }

    /// The receiver's file has these bytes: it has written them in this attempt, or their hash is
    /// right. What of the beginning is complete there is not kept here any more.
    pub fn received(&self, range: Range<u64>) {
        let mut state = self.lock();
        let end = range.end.min(state.produced);
        state.there.insert(range.start..end);
        let first = state.there.first().filter(|range| range.start == 0);
        let block = first.map_or(0, |range| range.end) / CHUNK;
        state.kept = state.kept.split_off(&block);
        drop(state);
        self.drained.notify_waiters();
    }

    /// Begins an attempt. What the receiver had in another one, it may have lost.
    pub fn begin(&self) {
        self.lock().there = RangeSet::default();
    }

    /// The block with this index, if it is kept.
    pub fn block(&self, index: u64) -> Option<Bytes> {
        self.lock().kept.get(&index).cloned()
    }

    /// The hash of a block that was read, as part of a larger file.
    pub fn hash(&self, index: u64) -> Option<[u8; 32]> {
        self.lock().hashes.get(index).copied()
    }

    /// What follows at `at`. Waits while too much is not written.
    pub async fn next(&self, at: u64) -> Following {
        loop {
            let changed = self.drained.notified();
            tokio::pin!(changed);
            // Nothing between the look and the wait is missed.
            changed.as_mut().enable();
            if let Some(following) = self.look(at) {
                return following;
            }
            changed.await;
        }
    }

    /// What follows at `at`; `None` if that may change.
    fn look(&self, at: u64) -> Option<Following> {
        let mut state = self.lock();
        // The last block is short: behind it there is nothing.
        let kept = state.kept.get(&(at / CHUNK));
        if let Some(block) = kept.filter(|block| at % CHUNK < block.len() as u64) {
            return Some(Following::Block(block.clone()));
        }
        if state.ended {
            return Some(Following::End);
        }
        let full = state.kept.len() as u64 * CHUNK >= KEPT;
        // Without the reader, an attempt that is over still reads.
        state.reader.take_if(|_| !full).map(Following::Read)
    }

    /// Reads the next block of the stream, which is 1 MiB or the rest. `None` at the end. Blocks,
    /// perhaps for long.
    pub fn read(&self, mut reader: Reader) -> Result<Option<Bytes>, Error> {
        let mut data = Vec::with_capacity(CHUNK as usize);
        let read = reader.by_ref().take(CHUNK).read_to_end(&mut data);
        let mut state = self.lock();
        state.reader = Some(reader);
        self.drained.notify_waiters();
        read.map_err(Error::file("standard input", "read"))?;
        state.ended = (data.len() as u64) < CHUNK;
        if data.is_empty() {
            return Ok(None);
        }
        let data = Bytes::from(data);
        let start = state.produced;
        state.produced += data.len() as u64;
        let (index, range) = (start / CHUNK, start..state.produced);
        let hash = hash_subtree(MAX_BLOCKS * CHUNK, &range, &data);
        state.hashes.set(index, Some(hash));
        if index == 0 {
            state.first = Some(*blake3::hash(&data).as_bytes());
        }
        state.kept.insert(index, data.clone());
        Ok(Some(data))
    }

    /// The hash of everything that was read.
    pub fn root(&self) -> Option<blake3::Hash> {
        let state = self.lock();
        if state.produced <= CHUNK {
            return Some(
                state
                    .first
                    .map_or_else(|| blake3::hash(b""), blake3::Hash::from_bytes),
            );
        }
        let mut hashes = BlockHashes::new(state.produced);
        for index in 0..hashes.count() {
            hashes.set(index, state.hashes.get(index).copied());
        }
        hashes.root()
    }
}

impl std::fmt::Debug for StreamSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamSource").finish_non_exhaustive()
    }
}

/// What is sent.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file; it can be read again.
    File(FileSource),
    /// A stream.
    Stream(StreamSource),
}

impl Source {
    /// The size, bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.size()),
            Self::Stream(_) => None,
        }
    }

    /// Reads these bytes, which are in one block. `None` if they are gone: the file has become
    /// shorter, or the stream's block was let go.
    pub fn read(&self, range: &Range<u64>) -> Result<Option<Bytes>, Error> {
        match self {
            Self::File(file) => file.read(range),
            Self::Stream(stream) => Ok(stream.block(range.start / CHUNK).and_then(|block| {
                let start = (range.start % CHUNK) as usize;
                let end = start + (range.end - range.start) as usize;
                (end <= block.len()).then(|| block.slice(start..end))
            })),
        }
    }

    /// The first part of a range that has data; `None` if all of it is a hole.
    pub fn next_data(&self, range: Range<u64>) -> Option<Range<u64>> {
        match self {
            Self::File(file) => file.next_data(range),
            Self::Stream(_) => Some(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_at(stream: &StreamSource, at: u64) -> Option<Bytes> {
        match stream.look(at).expect("room") {
            Following::Block(block) => Some(block),
            Following::Read(reader) => stream.read(reader).expect("read"),
            Following::End => None,
        }
    }

    #[test]
    fn what_another_attempt_left_there_frees_memory() {
        let block = CHUNK as usize;
        let stream = StreamSource::new(Box::new(std::io::Cursor::new(vec![1; 6 * block])));
        for index in 0..4 {
            block_at(&stream, index * CHUNK).expect("a block");
        }
        stream.received(0..2 * CHUNK);
        assert_eq!(stream.lock().kept.len(), 2);
        // The next attempt finds these two by their hashes, and writes one that differs.
        stream.begin();
        stream.received(3 * CHUNK..4 * CHUNK);
        assert_eq!(
            stream.lock().kept.len(),
            2,
            "nothing is known of the beginning"
        );
        stream.received(0..2 * CHUNK);
        stream.received(2 * CHUNK..3 * CHUNK);
        assert!(stream.lock().kept.is_empty());
        assert!(block_at(&stream, 4 * CHUNK).is_some());
    }

    /// Its receiver says that it has more than was ever sent.
    #[test]
    fn a_receiver_that_lies_frees_no_block_that_was_not_read() {
        let block = CHUNK as usize;
        let stream = StreamSource::new(Box::new(std::io::Cursor::new(vec![1; 3 * block])));
        block_at(&stream, 0).expect("a block");
        stream.received(0..100 * CHUNK);
        for index in 1..3 {
            block_at(&stream, index * CHUNK).expect("a block");
        }
        stream.received(0..CHUNK);
        assert_eq!(stream.lock().kept.len(), 2);
    }

    #[test]
    fn a_stream_is_read_as_far_as_what_is_not_written_fits() {
        let blocks = KEPT / CHUNK;
        let endless = std::io::repeat(7);
        let stream = StreamSource::new(Box::new(endless));
        for index in 0..blocks {
            block_at(&stream, index * CHUNK).expect("a block");
        }
        assert!(stream.look(blocks * CHUNK).is_none(), "it waits");
        stream.received(0..CHUNK / 2);
        assert!(
            stream.look(blocks * CHUNK).is_none(),
            "half a block is kept"
        );
        stream.received(CHUNK / 2..CHUNK);
        assert!(block_at(&stream, blocks * CHUNK).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_room_is_woken() {
        let stream = StreamSource::new(Box::new(std::io::repeat(7)));
        let blocks = KEPT / CHUNK;
        for index in 0..blocks {
            block_at(&stream, index * CHUNK).expect("a block");
        }
        let waiting = stream.next(stream.produced());
        tokio::pin!(waiting);
        let second = Duration::from_secs(1);
        assert!(tokio::time::timeout(second, &mut waiting).await.is_err());
        stream.received(0..CHUNK);
        let woken = tokio::time::timeout(second, waiting).await;
        assert!(matches!(woken, Ok(Following::Read(_))));
    }

    /// A crash may lose what a receiver has written.
    #[test]
    fn what_the_receiver_had_in_another_attempt_is_kept() {
        let block = CHUNK as usize;
        let stream = StreamSource::new(Box::new(std::io::Cursor::new(vec![1; 4 * block])));
        for index in 0..4 {
            block_at(&stream, index * CHUNK).expect("a block");
        }
        stream.received(3 * CHUNK..4 * CHUNK);
        stream.begin();
        stream.received(0..3 * CHUNK);
        assert!(stream.block(2).is_none() && stream.block(3).is_some());
    }

    /// A terminal gives more after its end.
    #[test]
    fn behind_its_end_a_stream_is_not_read() {
        struct Terminal(std::vec::IntoIter<&'static [u8]>);
        impl Read for Terminal {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let line = self.0.next().unwrap_or_default();
                buffer[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let lines: Vec<&[u8]> = vec![b"one", b"two", b"", b"another"];
        let stream = StreamSource::new(Box::new(Terminal(lines.into_iter())));
        assert_eq!(block_at(&stream, 0).as_deref(), Some(&b"onetwo"[..]));
        assert_eq!(block_at(&stream, 6), None);
        assert_eq!(stream.root(), Some(blake3::hash(b"onetwo")));
    }

    #[test]
    fn an_error_of_standard_input_is_not_its_end() {
        struct Fails(bool);
        impl Read for Fails {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                match std::mem::replace(&mut self.0, true) {
                    true => Err(std::io::Error::other("it fails")),
                    false => {
                        buffer[..3].copy_from_slice(b"one");
                        Ok(3)
                    }
                }
            }
        }
        let stream = StreamSource::new(Box::new(Fails(false)));
        let Some(Following::Read(reader)) = stream.look(0) else {
            panic!("nothing was read yet")
        };
        assert!(stream.read(reader).is_err());
    }

    #[test]
    fn a_change_shows_also_if_its_time_is_set_back() {
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        let path = scratch.file("a", 1000);
        let source = open_regular(&path).expect("opened");
        let source = FileSource::at_once(source, &path).expect("inspected");
        assert!(!source.changed().expect("inspected"));
        let file = OpenOptions::new().write(true).open(&path).expect("opened");
        let time = file.metadata().and_then(|m| m.modified()).expect("a time");
        std::os::unix::fs::FileExt::write_all_at(&file, b"other", 0).expect("written");
        file.set_modified(time).expect("set");
        assert!(source.changed().expect("inspected"));
    }

    /// Whether this holds at last. A busy machine may take longer to look at a file than the file's
    /// time shows that it is new.
    async fn holds(what: impl AsyncFn(&Path) -> bool) -> bool {
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        let path = scratch.path().join("a");
        for _ in 0..100 {
            std::fs::write(&path, "x").expect("written");
            if what(&path).await {
                return true;
            }
        }
        false
    }

    async fn taken(path: &Path) -> FileSource {
        let file = open_regular(path).expect("opened");
        FileSource::new(file, path).await.expect("inspected")
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_was_just_written_is_given_the_time_to_settle() {
        let waits = async |path: &Path| {
            let began = tokio::time::Instant::now();
            taken(path).await;
            began.elapsed() > Duration::ZERO
        };
        assert!(holds(waits).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_was_written_all_the_time_counts_as_changed() {
        let changed = async |path: &Path| {
            let writing = async {
                for length in 2.. {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    let file = OpenOptions::new().write(true).open(path).expect("opened");
                    file.set_len(length).expect("set");
                }
            };
            let source = tokio::select! {
                source = taken(path) => source,
                () = writing => unreachable!("it has no end"),
            };
            source.changed().expect("inspected")
        };
        assert!(holds(changed).await);
    }

    #[test]
    fn the_hash_of_a_stream_is_that_of_its_content() {
        let sizes = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7];
        for size in sizes.map(|size| size as usize) {
            let content: Vec<u8> = (0..size).map(|n| (n / 1000) as u8).collect();
            let stream = StreamSource::new(Box::new(std::io::Cursor::new(content.clone())));
            while block_at(&stream, stream.produced()).is_some() {}
            assert_eq!(stream.produced(), size as u64);
            assert_eq!(stream.root(), Some(blake3::hash(&content)), "{size}");
        }
    }

    #[test]
    fn a_source_is_read_behind_4_gib_and_not_behind_its_end() {
        use std::os::unix::fs::FileExt;
        const GIB: u64 = 1 << 30;
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        let path = scratch.path().join("sparse");
        std::fs::write(&path, "").expect("created");
        let file = OpenOptions::new().write(true).open(&path).expect("opened");
        file.set_len(6 * GIB).expect("set");
        file.write_all_at(b"data", 5 * GIB).expect("written");
        let source = open_regular(&path).expect("opened");
        let source = FileSource::at_once(source, &path).expect("inspected");
        let read = |range| source.read(&range).expect("read");
        assert_eq!(read(5 * GIB..5 * GIB + 4).as_deref(), Some(&b"data"[..]));
        assert_eq!(read(GIB..GIB + 4).as_deref(), Some(&[0; 4][..]));
        assert_eq!(read(6 * GIB - 2..6 * GIB + 2), None);
        assert!(!source.changed().expect("inspected"));
        file.set_len(5 * GIB + 2).expect("set");
        assert!(source.changed().expect("inspected"));
        assert_eq!(read(5 * GIB..5 * GIB + 4), None);
    }

    /// No more than these are sent: a server refuses others.
    #[test]
    fn of_a_mode_the_permission_bits_are_sent() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        let path = scratch.file("a", 1);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o6755)).expect("set");
        let found = std::fs::metadata(&path).expect("there");
        assert_eq!(metadata_of(&found, Kind::File).mode, Some(0o755));
    }
}
