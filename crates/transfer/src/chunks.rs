//! How a file is cut into chunks.
//!
//! A chunk is 1 MiB: noq gives a stream up when it has more than 1,024 gaps, and 1 MiB is at most 900
//! packets.

/// Bytes in every chunk but the last.
pub const CHUNK: u64 = 1 << 20;

/// Most chunks of one file: 16 TiB. Bounds what is remembered about a transfer to 2 MiB.
pub(crate) const MOST_CHUNKS: u64 = 1 << 24;

/// The cut of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunks {
    size: u64,
}

impl Chunks {
    /// For a file of `size` bytes.
    pub fn of(size: u64) -> Self {
        Self { size }
    }

    /// How many there are; none for an empty file.
    pub fn count(self) -> u64 {
        self.size.div_ceil(CHUNK)
    }

    /// Where chunk `index` begins and how long it is; nothing if there is no such chunk.
    pub fn range(self, index: u64) -> Option<(u64, u64)> {
        if index >= self.count() {
            return None;
        }
        let start = index * CHUNK;
        Some((start, CHUNK.min(self.size - start)))
    }
}

/// Which chunks have been claimed, each once.
#[derive(Debug)]
pub(crate) struct Claims {
    words: Vec<u64>,
}

impl Claims {
    /// For `count` chunks, at most [`MOST_CHUNKS`].
    pub fn new(count: u64) -> Self {
        Self {
            words: vec![0; count.min(MOST_CHUNKS).div_ceil(64) as usize],
        }
    }

    /// Claims chunk `index`; false if it was claimed before or does not exist.
    pub fn claim(&mut self, index: u64) -> bool {
        let Some(word) = self.words.get_mut((index / 64) as usize) else {
            return false;
        };
        let bit = 1 << (index % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether chunk `index` was claimed.
    pub fn has(&self, index: u64) -> bool {
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
                let (start, len) = chunks.range(index).expect("there is one");
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
    fn a_chunk_is_claimed_once() {
        let mut claims = Claims::new(65);
        assert!(!claims.has(64) && claims.claim(64) && claims.has(64) && !claims.claim(64));
        assert!(claims.claim(0) && !claims.claim(1000) && !claims.claim(u64::MAX));
    }
}
