//! Everything that is drawn, from a seed.

/// Draws numbers. The same seed draws the same ones.
pub(crate) struct Random(blake3::OutputReader);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        Self(hasher.update(&seed.to_be_bytes()).finalize_xof())
    }

    /// Fills a buffer.
    pub fn fill(&mut self, into: &mut [u8]) {
        self.0.fill(into);
    }

    /// Passes over one number.
    pub fn skip(&mut self) {
        self.0.set_position(self.0.position() + 8);
    }

    /// A number from 0 to `below - 1`.
    pub fn below(&mut self, below: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_be_bytes(bytes) % below.max(1)
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of them.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}
