//! Splits a file into chunks.
//!
//! A chunk is 1 MiB, at most 900 packets: noq closes a stream that has more than 1,024 gaps.

/// Size of every chunk except the last, bytes.
pub const CHUNK: u64 = 1 << 20;

/// Maximum number of chunks of a file (16 TiB). It limits the record of a transfer to 2 MiB.
pub(crate) const MAX_CHUNKS: u64 = 1 << 24;

/// The chunks of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunks {
    size: u64,
}

impl Chunks {
    /// The chunks of a file of `size` bytes.
    pub fn of(size: u64) -> Self {
        Self { size }
    }

    /// The size of the file, bytes.
    pub fn size(self) -> u64 {
        self.size
    }

    /// The number of chunks; 0 for an empty file.
    pub fn count(self) -> u64 {
        self.size.div_ceil(CHUNK)
    }

    /// Offset and length of chunk `index` in bytes; `None` if there is no such chunk.
    pub fn range(self, index: u64) -> Option<(u64, u64)> {
        if index >= self.count() {
            return None;
        }
        let start = index * CHUNK;
        Some((start, CHUNK.min(self.size - start)))
    }
}

/// A set of chunk indices.
#[derive(Debug)]
pub(crate) struct ChunkSet {
    words: Vec<u64>,
}

impl ChunkSet {
    /// An empty set for `count` chunks, at most [`MAX_CHUNKS`].
    pub fn new(count: u64) -> Self {
        Self {
            words: vec![0; count.min(MAX_CHUNKS).div_ceil(64) as usize],
        }
    }

    /// Adds chunk `index`. False if it is in the set already or does not exist.
    pub fn insert(&mut self, index: u64) -> bool {
        let Some(word) = self.words.get_mut((index / 64) as usize) else {
            return false;
        };
        let bit = 1 << (index % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether chunk `index` is in the set.
    pub fn contains(&self, index: u64) -> bool {
        self.words
            .get((index / 64) as usize)
            .is_some_and(|w| w & (1 << (index % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_file_exactly() {
        for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 7] {
            let chunks = Chunks::of(size);
            let mut end = 0;
            for index in 0..chunks.count() {
                let (start, len) = chunks.range(index).expect("a chunk");
                assert_eq!(start, end);
                assert!((1..=CHUNK).contains(&len));
                end = start + len;
            }
            assert_eq!(end, size);
            assert_eq!(chunks.range(chunks.count()), None);
            assert_eq!(chunks.range(u64::MAX), None);
        }
        assert_eq!(Chunks::of(u64::MAX).count(), u64::MAX / CHUNK + 1);
    }

    #[test]
    fn a_chunk_is_added_once() {
        let mut set = ChunkSet::new(65);
        assert!(!set.contains(64) && set.insert(64) && set.contains(64) && !set.insert(64));
        assert!(set.insert(0) && !set.insert(1000) && !set.insert(u64::MAX));
    }
}
