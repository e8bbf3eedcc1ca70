//! Progress of long work, and the way to stop it.

use std::ops::ControlFlow;

/// Sees the progress of long work. Its methods are called from any thread.
pub trait Observer: Sync {
    /// Work of this total weight begins. `name` says what is counted, e.g. `runs`, or which part of
    /// the request it is. A request may consist of several pieces of work, one after the other.
    fn begin(&self, _total: f64, _name: &str) {}

    /// Work of this weight is done. [`ControlFlow::Break`] stops the request: what has begun is
    /// finished, and the request fails with [`Error::Stopped`](crate::Error::Stopped).
    fn done(&self, _weight: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Something that the user should know, in a sentence; the work goes on.
    fn note(&self, _text: &str) {}
}

/// Nobody observes the work: it runs to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
