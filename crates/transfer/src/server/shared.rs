//! What all connections of a server share.

use super::claims::Claims;
use super::counts::Counters;
use super::incoming::List;
use super::meetings::Meetings;
use super::options::{Event, Limits};
use super::queue::Places;
use super::shares::Shares;
use super::strangers::{Bounds, Strangers};
use super::usage::Usage;
use super::users::{User, Users};
use crate::blocks::{CHUNK, MAX_BLOCKS};
use crate::error::Error;
use crate::lock::lock;
use crate::storage::Storage;
use crate::words::Code;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use whimbrel_quic::SharedNode;

/// Connections of authenticated clients that wait for a place, at most.
const WAITING: usize = 1000;
/// Packs of trees that are written at once, for all clients.
const WRITERS: usize = 32;
/// Maximum number of listings of all clients at once.
const MAX_LISTINGS: usize = 16;
/// Maximum number of pipes of all clients.
const MAX_PIPES: usize = 256;

/// What a server does with an event.
pub(super) type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

/// When a client must have shown its token.
pub(super) type Deadline = tokio::time::Instant;

/// What all connections of a server share.
pub(super) struct Shared {
    pub storage: Storage,
    /// Watched by the connections of users.
    pub users: watch::Sender<Arc<Users>>,
    pub limits: Limits,
    pub strangers: Mutex<Strangers<oneshot::Sender<()>>>,
    /// Connections over TCP whose first message has not arrived.
    pub half_open: Mutex<Strangers<oneshot::Sender<()>>>,
    pub counts: Counters,
    /// Connections of authenticated clients.
    pub connections: Arc<Shares>,
    /// Where the flows that share by priority arrive.
    pub node: SharedNode,
    pub incoming: Arc<List>,
    pub places: Arc<Places>,
    pub claims: Arc<Claims>,
    pub usage: Usage,
    /// Directories of users below the server's.
    pub directories: Mutex<HashMap<PathBuf, Storage>>,
    /// Pipes that may be opened.
    pub pipes: Arc<Shares>,
    /// Listings at once: each holds the names of a directory.
    pub listings: Arc<Shares>,
    /// The words with which the first client becomes the owner; nobody can try them twice.
    pub code: Mutex<Option<Code>>,
    /// Strangers who wait for each other, if they may.
    pub meetings: Option<Meetings>,
    /// Packs of trees that may be written at once.
    pub writers: Arc<Semaphore>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("storage", &self.storage)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The state of a server before its first connection, without a code and without meetings.
    pub fn new(storage: Storage, users: Users, limits: Limits) -> Self {
        Self {
            storage,
            users: watch::Sender::new(Arc::new(users)),
            limits,
            strangers: Mutex::default(),
            half_open: Mutex::new(Strangers::within(Bounds::HALF_OPEN)),
            counts: Counters::default(),
            connections: Shares::new(limits.connections + WAITING),
            node: SharedNode::default(),
            incoming: Arc::default(),
            places: Places::new(limits.connections),
            claims: Arc::default(),
            usage: Usage::default(),
            directories: Mutex::default(),
            pipes: Shares::new(MAX_PIPES),
            listings: Shares::new(MAX_LISTINGS),
            code: Mutex::default(),
            meetings: None,
            writers: Arc::new(Semaphore::new(WRITERS)),
        }
    }

    /// The largest file that is accepted, bytes.
    pub fn max_file(&self) -> u64 {
        self.limits.file.get().min(MAX_BLOCKS * CHUNK)
    }

    /// Where a user's files are. The directory is created if it does not exist.
    pub fn storage_of(&self, user: &User) -> Result<Storage, Error> {
        if user.directory.as_os_str().is_empty() {
            return Ok(self.storage.clone());
        }
        let mut known = lock(&self.directories);
        if let Some(storage) = known.get(&user.directory) {
            return Ok(storage.clone());
        }
        let storage = self.storage.below(&user.directory)?;
        known.insert(user.directory.clone(), storage.clone());
        Ok(storage)
    }

    /// The deadline of a client that arrives now.
    pub fn deadline(&self) -> Deadline {
        Deadline::now() + Duration::from(self.limits.handshake)
    }

    pub fn users(&self) -> Arc<Users> {
        Arc::clone(&self.users.borrow())
    }

    pub fn strangers(&self) -> MutexGuard<'_, Strangers<oneshot::Sender<()>>> {
        lock(&self.strangers)
    }
}
