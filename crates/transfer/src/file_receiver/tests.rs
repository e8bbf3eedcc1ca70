//! What is written and hashed beside the tasks that receive a file.

use super::disk::{Disk, Piece};
use super::{BlockHashes, Cancel, Error, Hashes, Partial, Reason, Watch, compare, root};
use crate::blocks::{BLOCK_LOG, CHUNK, hash_subtree};
use crate::path::RemotePath;
use crate::scratch_directory::ScratchDirectory;
use crate::storage::{KeepFree, Lock, Storage, StorageOptions};
use bytes::Bytes;
use std::ops::Range;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) fn partial(scratch: &ScratchDirectory, keep_free: KeepFree) -> Arc<Partial> {
    let options = StorageOptions {
        keep_free,
        ..StorageOptions::default()
    };
    let storage = Storage::open(scratch.path(), options).expect("opened");
    let path = RemotePath::new("a").expect("a path");
    match storage.partial("u", &path).expect("created") {
        Lock::Ours(partial) => Arc::new(partial),
        Lock::Taken => panic!("locked"),
    }
}

fn on_a_full_disk(scratch: &ScratchDirectory) -> Arc<Partial> {
    let all = whimbrel_units::Bytes::new(1 << 60);
    partial(scratch, KeepFree::Bytes(all))
}

fn hashes(size: u64) -> Hashes {
    Arc::new(Mutex::new(BlockHashes::new(size)))
}

/// Other content in each block.
fn content(size: u64) -> Vec<u8> {
    let words = (0..size.div_ceil(4) as u32).flat_map(u32::to_le_bytes);
    words.take(size as usize).collect()
}

/// A piece of the block in which it is, of a file with this content.
fn piece(content: &[u8], range: Range<u64>) -> Piece {
    let block = range.start / CHUNK;
    Piece {
        data: Bytes::copy_from_slice(&content[range.start as usize..range.end as usize]),
        at: range.start,
        stream: block,
        chunk: block * CHUNK..((block + 1) * CHUNK).min(content.len() as u64),
        kept: None,
    }
}

/// The flag of a transfer whose client has left.
fn left() -> Cancel {
    let cancel = Cancel::default();
    drop(cancel.on_drop());
    cancel
}

#[tokio::test]
async fn a_file_has_its_hash_in_whatever_order_its_pieces_come() {
    let scratch = ScratchDirectory::new();
    let partial = partial(&scratch, KeepFree::default());
    let size = 2 * CHUNK + 1000;
    let (content, hashes) = (content(size), hashes(size));
    let mut disk = Disk::start(Arc::clone(&partial), Arc::clone(&hashes), false);
    let (first, second) = (CHUNK / 4, CHUNK / 2);
    for range in [
        // In order, beside a block of which the end comes first.
        0..first,
        CHUNK + second..2 * CHUNK,
        first..CHUNK,
        CHUNK..CHUNK + second,
        2 * CHUNK + 999..size,
        2 * CHUNK..2 * CHUNK + 999,
    ] {
        let sent = disk.pieces().send(piece(&content, range)).await;
        assert!(sent.is_ok(), "the writer ended");
    }
    disk.finish().await.expect("written");
    let found = root(&partial, size, &hashes, &Cancel::default()).expect("hashed");
    assert_eq!(found, blake3::hash(&content));
}

#[tokio::test]
async fn the_error_of_a_write_says_what_is_wrong_with_the_disk() {
    let scratch = ScratchDirectory::new();
    let partial = on_a_full_disk(&scratch);
    let content = content(100);
    // While more is expected, and at the end.
    for ends in [false, true] {
        let mut disk = Disk::start(Arc::clone(&partial), hashes(100), false);
        let sent = disk.pieces().send(piece(&content, 0..100)).await;
        assert!(sent.is_ok(), "the writer ended");
        let error = match ends {
            false => disk.failed().await,
            true => disk.finish().await.expect_err("the disk is full"),
        };
        assert_eq!(error.for_peer().reason, Reason::DiskFull, "{error}");
    }
}

#[test]
fn nothing_is_hashed_for_a_client_that_has_left() {
    let scratch = ScratchDirectory::new();
    let partial = partial(&scratch, KeepFree::default());
    let size = 4 * CHUNK;
    partial.set_len(size).expect("set");
    for log in [BLOCK_LOG - 4, BLOCK_LOG, BLOCK_LOG + 1, BLOCK_LOG + 2] {
        let hashes = hashes(size);
        let compared = compare(&partial, &hashes, log, 0, 4, &left());
        assert!(matches!(compared, Err(Error::Stopped)), "{compared:?}");
    }
    let hashed = root(&partial, size, &hashes(size), &left());
    assert!(matches!(hashed, Err(Error::Stopped)), "{hashed:?}");
}

/// The next attempt may have the file already.
#[test]
fn nothing_is_written_for_a_client_that_has_left() {
    let scratch = ScratchDirectory::new();
    let partial = partial(&scratch, KeepFree::default());
    let content = content(100);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(1).build().expect("a runtime");
    runtime.block_on(async {
        let (release, released) = channel::<()>();
        // The only thread is busy with something else.
        let other = tokio::task::spawn_blocking(move || released.recv().ok());
        let disk = Disk::start(Arc::clone(&partial), hashes(100), false);
        let pieces = disk.pieces();
        let sent = pieces.send(piece(&content, 0..100)).await;
        assert!(sent.is_ok(), "the writer ended");
        while pieces.capacity() < pieces.max_capacity() {
            tokio::task::yield_now().await;
        }
        drop(disk);
        drop(release);
        other.await.expect("no panic");
        // After what the writer has left to the thread.
        let last = tokio::task::spawn_blocking(|| ());
        last.await.expect("no panic");
    });
    assert_eq!(partial.len().expect("inspected"), 0);
}

/// Its client begins with what it knows that is there.
#[test]
fn of_a_stream_the_hashes_end_where_the_file_ends() {
    let scratch = ScratchDirectory::new();
    let partial = partial(&scratch, KeepFree::default());
    let content = content(CHUNK + 500);
    partial.write_at(&content, 0).expect("written");
    // Its end is not known.
    let size = 1 << 40;
    let compared = compare(
        &partial,
        &hashes(size),
        BLOCK_LOG,
        0,
        10,
        &Cancel::default(),
    );
    let hash = |range: Range<u64>| {
        let content = &content[range.start as usize..range.end as usize];
        hash_subtree(size, &range, content)
    };
    let expected = [hash(0..CHUNK), hash(CHUNK..CHUNK + 500)];
    assert_eq!(compared.expect("read"), expected);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_stalls_when_nothing_new_happens() {
    let mut watch = Watch::new(Duration::from_secs(10));
    let mut is_alive = |active: bool, received| {
        if active {
            watch.progress();
        }
        watch.check(received, false).is_ok()
    };
    assert!(is_alive(false, 0), "it has just begun");
    assert!(is_alive(false, 100) && !is_alive(false, 100));
    assert!(is_alive(false, 101) && is_alive(true, 101) && !is_alive(false, 101));
}
