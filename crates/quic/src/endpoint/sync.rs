//! Locks and atomics of what threads share: `loom_tests` has others in their place.

pub(super) use std::sync::atomic::AtomicBool;
pub(super) use std::sync::{Mutex, MutexGuard};
