//! Keeps a panic in one connection from the others.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; `None` if it panicked. The caller must not use again what `work` was changing.
pub(super) fn contain<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
