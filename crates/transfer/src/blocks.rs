//! The BLAKE3 tree of a file, by blocks.
//!
//! A file is hashed in blocks of 1 MiB, in any order and several times if its parts change; the
//! hash of the file is computed from the blocks' chaining values (BLAKE3 section 2.1). Aligned
//! subtrees of any power of two up from 64 KiB identify parts of the file, so that two hosts find
//! what differs without sending it.

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// The size of a block and of the largest chunk on a stream, as power of two.
pub(crate) const BLOCK_LOG: u8 = 20;
/// Size of every block except the last, bytes: at most 900 packets, because noq closes a stream
/// that has more than 1,024 gaps.
pub const CHUNK: u64 = 1 << BLOCK_LOG;
/// The smallest subtree that hosts compare, as power of two.
pub(crate) const FINE_LOG: u8 = 16;
/// Maximum number of blocks of a file (16 TiB). It limits the hashes of a transfer to 512 MiB.
pub(crate) const MAX_BLOCKS: u64 = 1 << 24;

/// The coarse subtree with which the comparison of a file of `size` bytes begins, as power of two:
/// at most 65,536 hashes (2 MiB) are exchanged.
pub(crate) fn coarse_log(size: u64) -> u8 {
    let per_hash = size.div_ceil(1 << 16).max(CHUNK);
    per_hash.next_power_of_two().trailing_zeros() as u8
}

/// The bytes of subtree `index` of 2^`log` bytes in a file of `size` bytes; empty beyond the end.
pub(crate) fn subtree(size: u64, log: u8, index: u64) -> Range<u64> {
    let start = index.checked_shl(u32::from(log)).unwrap_or(u64::MAX);
    let start = if start >> log == index {
        start
    } else {
        u64::MAX
    };
    start.min(size)..start.saturating_add(1 << log).min(size)
}

/// Hashes consecutive bytes that begin at an aligned `offset`.
#[derive(Debug, Clone)]
pub(crate) struct SubtreeHasher {
    hasher: blake3::Hasher,
    /// The bytes are the whole file, so their hash is the root.
    whole: bool,
}

impl SubtreeHasher {
    /// A hasher of the subtree `range` of a file of `size` bytes.
    pub fn new(size: u64, range: &Range<u64>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(range.start);
        Self {
            hasher,
            whole: range.start == 0 && range.end == size,
        }
    }

    /// Adds bytes; not more than the subtree has.
    pub fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }

    /// The subtree's chaining value; the file's hash if the subtree is the whole file.
    pub fn finish(&self) -> ChainingValue {
        if self.whole {
            *self.hasher.finalize().as_bytes()
        } else {
            self.hasher.finalize_non_root()
        }
    }
}

/// The hash of the subtree `range` with this content.
pub(crate) fn hash_subtree(size: u64, range: &Range<u64>, data: &[u8]) -> ChainingValue {
    let mut hasher = SubtreeHasher::new(size, range);
    hasher.update(data);
    hasher.finish()
}

/// The hashes of a file's blocks, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct BlockHashes {
    size: u64,
    /// By their index. A peer may send the last block of the largest file first.
    known: BTreeMap<u64, ChainingValue>,
}

impl BlockHashes {
    /// No block of a file of `size` bytes is known. Memory grows with what becomes known.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            known: BTreeMap::new(),
        }
    }

    /// The size of the file, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of blocks; an empty file has one.
    pub fn count(&self) -> u64 {
        self.size.div_ceil(CHUNK).max(1)
    }

    /// The bytes of block `index`.
    pub fn range(&self, index: u64) -> Range<u64> {
        subtree(self.size, BLOCK_LOG, index)
    }

    /// The hash of block `index`.
    pub fn get(&self, index: u64) -> Option<&ChainingValue> {
        self.known.get(&index)
    }

    /// Sets or forgets the hash of block `index`.
    pub fn set(&mut self, index: u64, hash: Option<ChainingValue>) {
        match hash {
            Some(hash) if index < self.count() => drop(self.known.insert(index, hash)),
            Some(_) => {}
            None => drop(self.known.remove(&index)),
        }
    }

    /// The first unknown block at or after `from`.
    pub fn first_unknown(&self, from: u64) -> Option<u64> {
        (from..self.count()).find(|index| self.get(*index).is_none())
    }

    /// Another size. Blocks that this changes become unknown.
    pub fn resize(&mut self, size: u64) {
        if size == self.size {
            return;
        }
        let (small, large) = (size.min(self.size), size.max(self.size));
        // A file of one block has the root's hash there.
        let kept = if small <= CHUNK { 0 } else { small / CHUNK };
        drop(self.known.split_off(&kept));
        debug_assert!(kept <= large);
        self.size = size;
    }

    /// The hash of the file; `None` unless all blocks are known.
    pub fn root(&self) -> Option<blake3::Hash> {
        if self.count() == 1 {
            return self.get(0).map(|hash| blake3::Hash::from_bytes(*hash));
        }
        let left = left_subtree_len(self.size);
        let (left, right) = (
            self.subtree_hash(0..left)?,
            self.subtree_hash(left..self.size)?,
        );
        Some(merge_subtrees_root(&left, &right, Mode::Hash))
    }

    /// The chaining value of the blocks in `range`, which is a subtree of the file but not all of
    /// it; `None` unless all are known.
    pub fn subtree_hash(&self, range: Range<u64>) -> Option<ChainingValue> {
        let length = range.end - range.start;
        if length <= CHUNK {
            return self.get(range.start / CHUNK).copied();
        }
        let middle = range.start + left_subtree_len(length);
        let left = self.subtree_hash(range.start..middle)?;
        let right = self.subtree_hash(middle..range.end)?;
        Some(merge_subtrees_non_root(&left, &right, Mode::Hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(size: u64) -> Vec<u8> {
        let mut data = vec![0; size as usize];
        blake3::Hasher::new().finalize_xof().fill(&mut data);
        data
    }

    #[test]
    fn the_hash_from_blocks_is_the_hash_of_the_file() {
        for size in [
            0,
            1,
            1024,
            1025,
            CHUNK - 1,
            CHUNK,
            CHUNK + 1,
            3 * CHUNK,
            5 * CHUNK + 777,
        ] {
            let data = content(size);
            let mut blocks = BlockHashes::new(size);
            for index in (0..blocks.count()).rev() {
                assert_eq!(blocks.root(), None);
                let range = blocks.range(index);
                let part = &data[range.start as usize..range.end as usize];
                blocks.set(index, Some(hash_subtree(size, &range, part)));
            }
            assert_eq!(blocks.root(), Some(blake3::hash(&data)), "{size}");
            assert_eq!(blocks.first_unknown(0), None);
        }
    }

    #[test]
    fn a_coarse_hash_is_that_of_its_bytes() {
        let size = 7 * CHUNK + 5;
        let data = content(size);
        let mut blocks = BlockHashes::new(size);
        for index in 0..blocks.count() {
            let range = blocks.range(index);
            let part = &data[range.start as usize..range.end as usize];
            blocks.set(index, Some(hash_subtree(size, &range, part)));
        }
        for (log, index) in [(21, 0), (21, 3), (22, 1)] {
            let range = subtree(size, log, index);
            let part = &data[range.start as usize..range.end as usize];
            assert_eq!(
                blocks.subtree_hash(range.clone()),
                Some(hash_subtree(size, &range, part))
            );
        }
    }

    #[test]
    fn another_size_forgets_what_it_changes() {
        let mut blocks = BlockHashes::new(3 * CHUNK + 5);
        for index in 0..4 {
            blocks.set(index, Some([index as u8; 32]));
        }
        blocks.set(9, Some([9; 32]));
        blocks.resize(4 * CHUNK);
        assert_eq!(blocks.first_unknown(0), Some(3));
        blocks.resize(2 * CHUNK);
        assert_eq!((blocks.count(), blocks.first_unknown(0)), (2, None));
        blocks.resize(CHUNK);
        assert_eq!(blocks.first_unknown(0), Some(0), "its hash is a root now");
    }

    #[test]
    fn comparisons_are_bounded_and_subtrees_stay_in_the_file() {
        assert_eq!(coarse_log(0), BLOCK_LOG);
        assert_eq!(coarse_log(1 << 36), BLOCK_LOG);
        assert_eq!(coarse_log((1 << 36) + 1), BLOCK_LOG + 1);
        assert_eq!(coarse_log(1 << 44), 28);
        assert_eq!(subtree(100, FINE_LOG, 0), 0..100);
        assert!(subtree(100, FINE_LOG, 1).is_empty() && subtree(100, 63, u64::MAX).is_empty());
    }
}
