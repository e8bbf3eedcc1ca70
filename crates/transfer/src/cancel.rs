//! Notifies blocking work that its caller no longer waits for it.

use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that long work checks between its steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

/// Sets the flag when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Cancel);

impl Cancel {
    /// Sets the flag when the result is dropped.
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// # Errors
    /// [`Error::Stopped`] if nobody waits.
    pub fn check(&self) -> Result<(), Error> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
