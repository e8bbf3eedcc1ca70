//! The two ends of a flow.

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The end that opens the flow.
    Near,
    /// The end that answers.
    Far,
}

impl End {
    /// 0 for the near end, 1 for the far end.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The opposite end.
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}
