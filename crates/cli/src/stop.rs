//! Signals that end long work.

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that Ctrl-C, SIGTERM and SIGHUP set, instead of ending the process.
///
/// # Errors
/// If the system refuses to handle them.
pub fn stopped_by_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .context("cannot handle signals")?;
    }
    Ok(stopped)
}
