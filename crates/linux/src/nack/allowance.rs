//! The limit on the NACKs that a sender accepts.

/// Some NACKs at once, then one for every two segments that arrive intact. It is the limit of the
/// simulator and of `bpf/nack.h`; here it applies to NACKs that pass every other rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Number of intact segments that no NACK has used up.
    earned: u32,
}

impl Allowance {
    /// Number of segments that must arrive intact for one NACK.
    const PRICE: u32 = 2;
    /// Maximum number of NACKs in a row.
    const MOST: u32 = 10;

    pub fn new() -> Self {
        Self {
            earned: Self::PRICE * Self::MOST,
        }
    }

    /// Invoked when segments arrive intact.
    pub fn earn(&mut self, segments: u32) {
        self.earned = self
            .earned
            .saturating_add(segments)
            .min(Self::PRICE * Self::MOST);
    }

    /// Uses up the allowance of one NACK. Returns whether there was one.
    pub fn take(&mut self) -> bool {
        let left = self.earned.checked_sub(Self::PRICE);
        self.earned = left.unwrap_or(self.earned);
        left.is_some()
    }
}
