//! What several requests do alike.

use super::session::Session;
use super::users::User;
use crate::connection::routes::{ChunkStream, Route};
use crate::error::Error;
use crate::path::RemotePath;
use crate::wire::Reason;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at};

/// A connection must carry so much while others wait for its place, bytes per second.
const SLOWEST: u64 = 1 << 10;

/// The directory of a tree; `None` is the user's own.
pub(super) fn base(path: &[u8]) -> Result<Option<RemotePath>, Error> {
    if path.is_empty() {
        return Ok(None);
    }
    let path = RemotePath::new(path).map_err(|e| Error::refused(Reason::Name, e.to_string()))?;
    Ok(Some(path))
}

/// The path of a file of a tree.
pub(super) fn below(base: Option<&RemotePath>, path: &[u8]) -> Result<RemotePath, Error> {
    let joined = match base {
        Some(base) => base.join(path),
        None => RemotePath::new(path),
    };
    joined.map_err(|e| Error::refused(Reason::Name, e.to_string()))
}

/// Refuses to store a file at a path if the user may not.
pub(super) fn may_write_at(user: &User, path: &RemotePath) -> Result<(), Error> {
    permitted(user.rights_at(path.as_bytes()).write, no_writing)
}

/// Refuses to read a file at a path if the user may not.
pub(super) fn may_read_at(user: &User, path: &RemotePath) -> Result<(), Error> {
    permitted(user.rights_at(path.as_bytes()).read, no_reading)
}

fn permitted(may: bool, refusal: fn() -> Error) -> Result<(), Error> {
    may.then_some(()).ok_or_else(refusal)
}

/// A token does not permit to store a file.
fn no_writing() -> Error {
    Error::refused(
        Reason::Rights,
        "this token does not permit storing files here",
    )
}

/// A token does not permit to read a file.
pub(super) fn no_reading() -> Error {
    Error::refused(
        Reason::Rights,
        "this token does not permit reading files here",
    )
}

impl Session {
    /// Whether the client may store files somewhere at or below a path; empty: anywhere.
    pub(super) fn may_write(&self, path: &[u8]) -> Result<(), Error> {
        let may = self.client.user.may_somewhere(path, |rights| rights.write);
        permitted(may, no_writing)
    }

    /// A transfer for chunk or pack streams.
    pub(super) fn route(&self) -> Result<(Route, mpsc::Receiver<ChunkStream>), Error> {
        let max = self.peer.shared.limits.transfers;
        self.routes.open(max).ok_or_else(|| {
            let text = format!("a connection may carry {max} files at once");
            Error::refused(Reason::Busy, text)
        })
    }

    /// Whether the client may read files somewhere at or below a path; empty: anywhere.
    pub(super) fn may_read(&self, path: &[u8]) -> Result<(), Error> {
        let may = self.client.user.may_somewhere(path, |rights| rights.read);
        permitted(may, no_reading)
    }

    /// Runs a transfer that has a place. It ends if almost nothing is carried in `periods` times
    /// the limit for stalls while others wait for its place.
    pub(super) async fn while_it_moves<T>(
        &self,
        periods: u32,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let shared = &self.peer.shared;
        let period = Duration::from(shared.limits.stall) * periods;
        let least = (SLOWEST as f64 * period.as_secs_f64()) as u64;
        let carried = || {
            let stats = self.connection.stats();
            stats.udp_rx.bytes + stats.udp_tx.bytes
        };
        // The bytes at the last look, if it had its place then.
        let mut before = None;
        let mut ticks = interval_at(Instant::now() + period, period);
        tokio::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => return result,
                _ = ticks.tick() => {
                    let now = self.has_place().then(carried);
                    let moved = std::mem::replace(&mut before, now).zip(now);
                    let slow = moved.is_some_and(|(before, now)| now.saturating_sub(before) < least);
                    if slow && shared.places.is_contended(&self.client.user.name) {
                        let text = "almost no data moves and others wait";
                        return Err(Error::refused(Reason::Stalled, text));
                    }
                }
            }
        }
    }
}
