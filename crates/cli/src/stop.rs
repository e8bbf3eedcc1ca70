//! Signals that end long work, and the runtime in which transfers wait for them.

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::runtime::Runtime;

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

/// The user presses Ctrl-C.
pub async fn ctrl_c() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// A runtime for transfers.
///
/// # Errors
/// If the system refuses threads.
pub fn runtime() -> anyhow::Result<Runtime> {
    Runtime::new().context("cannot start the runtime")
}
