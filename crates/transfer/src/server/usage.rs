//! How much users store, against their quotas.

use super::request::blocking;
use super::session::Client;
use crate::error::Error;
use crate::wire::Reason;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use whimbrel_units::Bytes;

/// Bytes that each user with a quota stores, transfers in progress included.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<HashMap<String, Arc<AtomicI64>>>);

/// Room for a file. Dropped before the file is stored, it gives back what did not arrive.
#[derive(Debug)]
pub(super) struct Reservation {
    used: Option<(Arc<AtomicI64>, u64)>,
    reserved: i64,
    /// Bytes of the file on disk, and how many there were at the beginning.
    received: Arc<AtomicU64>,
    there: u64,
}

impl Usage {
    /// Reserves `needed` bytes for a file of which `there` bytes are on disk; `received` counts
    /// these and what arrives. Without a quota everything fits.
    pub async fn reserve(
        &self,
        client: &Client,
        needed: u64,
        there: u64,
        received: Arc<AtomicU64>,
    ) -> Result<Reservation, Error> {
        let mut reservation = Reservation {
            used: None,
            reserved: 0,
            received,
            there,
        };
        let Some(quota) = client.user.quota else {
            return Ok(reservation);
        };
        let used = self.of(client).await?;
        let needed = i64::try_from(needed).unwrap_or(i64::MAX >> 1);
        let after = used
            .fetch_add(needed, Ordering::Relaxed)
            .saturating_add(needed);
        reservation.reserved = needed;
        reservation.used = Some((used, quota));
        if after > i64::try_from(quota).unwrap_or(i64::MAX) {
            let (quota, left) = (Bytes::new(quota), Bytes::new(reservation.left()));
            let text = format!("your files may take {quota}, of which {left} are left");
            return Err(Error::refused(Reason::Quota, text));
        }
        Ok(reservation)
    }

    async fn of(&self, client: &Client) -> Result<Arc<AtomicI64>, Error> {
        let find = || {
            let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            users.get(&client.user.name).cloned()
        };
        if let Some(found) = find() {
            return Ok(found);
        }
        let storage = client.storage.clone();
        let used = blocking(move || Ok(storage.used())).await?;
        let used = Arc::new(AtomicI64::new(i64::try_from(used).unwrap_or(i64::MAX >> 1)));
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another transfer may have counted meanwhile.
        let entry = users.entry(client.user.name.clone()).or_insert(used);
        Ok(Arc::clone(entry))
    }

    /// What the user stores is counted again when it is needed next.
    pub fn forget(&self, user: &str) {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.remove(user);
    }

    /// So many bytes are stored more (or less) than before.
    pub fn changed(&self, user: &str, by: i64) {
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = users.get(user) {
            used.fetch_add(by, Ordering::Relaxed);
        }
    }
}

impl Reservation {
    /// Bytes that the user may store beyond what is reserved.
    pub fn left(&self) -> u64 {
        let Some((used, quota)) = &self.used else {
            return u64::MAX;
        };
        let others = used.load(Ordering::Relaxed) - self.reserved;
        quota.saturating_sub(u64::try_from(others).unwrap_or(0))
    }

    /// The file is stored, and replaced one of `replaced` bytes.
    pub fn stored(mut self, size: u64, replaced: u64) {
        let grown = size as i64 - self.there as i64 - replaced as i64;
        if let Some((used, _)) = self.used.take() {
            used.fetch_add(grown - self.reserved, Ordering::Relaxed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((used, _)) = self.used.take() {
            let received = self.received.load(Ordering::Relaxed);
            let grown = received.saturating_sub(self.there) as i64;
            used.fetch_add(grown - self.reserved, Ordering::Relaxed);
        }
    }
}
