//! How much users store, against their quotas.

use super::client::Client;
use super::users::User;
use crate::blocking::blocking;
use crate::error::Error;
use crate::lock::lock;
use crate::wire::Reason;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use whimbrel_units::Bytes;

/// Bytes that each user with a quota stores, transfers in progress included.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<HashMap<Key, Arc<AtomicI64>>>);

/// The name and the directory of a user: in another directory there are other files.
type Key = (String, PathBuf);

fn key(user: &User) -> Key {
    (user.name.clone(), user.directory.clone())
}

/// Room for a file. Dropped before the file is stored, it gives back what did not arrive.
#[derive(Debug)]
pub(super) struct Reservation {
    used: Option<(Arc<AtomicI64>, u64)>,
    reserved: AtomicI64,
    /// Bytes of the file on disk, and how many there were at the beginning.
    received: Arc<AtomicU64>,
    there: u64,
    stored: AtomicBool,
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
        let used = match client.user.quota {
            Some(quota) => Some((self.of(client).await?, quota)),
            None => {
                // What is stored from now on does not count, until it is looked at again.
                lock(&self.0).remove(&key(&client.user));
                None
            }
        };
        let reservation = Reservation {
            used,
            reserved: AtomicI64::new(0),
            received,
            there,
            stored: AtomicBool::new(false),
        };
        reservation.raise(needed)?;
        Ok(reservation)
    }

    async fn of(&self, client: &Client) -> Result<Arc<AtomicI64>, Error> {
        let find = || {
            let users = lock(&self.0);
            users.get(&key(&client.user)).cloned()
        };
        if let Some(found) = find() {
            return Ok(found);
        }
        let storage = client.storage.clone();
        let used = blocking(move || Ok(storage.used())).await?;
        let used = Arc::new(AtomicI64::new(i64::try_from(used).unwrap_or(i64::MAX >> 1)));
        let mut users = lock(&self.0);
        // Another transfer may have counted meanwhile.
        let entry = users.entry(key(&client.user)).or_insert(used);
        Ok(Arc::clone(entry))
    }

    /// So many bytes are stored more (or less) than before.
    pub fn changed(&self, user: &User, by: i64) {
        let users = lock(&self.0);
        if let Some(used) = users.get(&key(user)) {
            used.fetch_add(by, Ordering::Relaxed);
        }
    }
}

impl Reservation {
    /// Reserves what a file of `size` bytes needs beside its bytes on disk, if that is more than is
    /// reserved.
    pub fn grow(&self, size: u64) -> Result<(), Error> {
        self.raise(size.saturating_sub(self.there))
    }

    fn raise(&self, needed: u64) -> Result<(), Error> {
        let Some((used, quota)) = &self.used else {
            return Ok(());
        };
        let needed = i64::try_from(needed).unwrap_or(i64::MAX >> 1);
        let before = self.reserved.fetch_max(needed, Ordering::Relaxed);
        let more = (needed - before).max(0);
        let others = used.fetch_add(more, Ordering::Relaxed);
        if more > 0 && others.saturating_add(more) > i64::try_from(*quota).unwrap_or(i64::MAX) {
            let left = quota.saturating_sub(u64::try_from(others).unwrap_or(0));
            let (quota, left) = (Bytes::new(*quota), Bytes::new(left));
            let text = format!("your files may take {quota}, of which {left} are left");
            return Err(Error::refused(Reason::Quota, text));
        }
        Ok(())
    }

    /// The file is stored and takes `size`, and replaced one that took `replaced` bytes.
    pub fn stored(&self, size: u64, replaced: u64) {
        self.settle(size as i64 - self.there as i64 - replaced as i64);
    }

    /// So much is on disk now, and nothing is reserved any more.
    fn settle(&self, grown: i64) {
        if self.stored.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some((used, _)) = &self.used {
            let reserved = self.reserved.load(Ordering::Relaxed);
            used.fetch_add(grown - reserved, Ordering::Relaxed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let received = self.received.load(Ordering::Relaxed);
        self.settle(received.saturating_sub(self.there) as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use crate::server::users::Rights;
    use crate::storage::{Storage, StorageOptions};
    use crate::token::Token;
    use whimbrel_cc::fairness::Priority;

    fn client(scratch: &ScratchDirectory, name: &str) -> Client {
        let token = Token::random().expect("randomness");
        let user = User {
            name: name.to_owned(),
            quota: Some(100),
            ..User::owner(&token, Rights::default(), Priority::HIGHEST)
        };
        Client {
            user: Arc::new(user),
            token: token.hash(),
            storage: Storage::open(scratch.path(), StorageOptions::default()).expect("opened"),
        }
    }

    #[tokio::test]
    async fn each_user_has_its_quota_to_the_last_byte() {
        let scratch = ScratchDirectory::new();
        let (alice, bob) = (client(&scratch, "alice"), client(&scratch, "bob"));
        let usage = Usage::default();
        let reserve = |client, needed| usage.reserve(client, needed, 0, Arc::default());
        let first = reserve(&alice, 100).await.expect("all of it");
        assert!(reserve(&alice, 1).await.is_err(), "one byte more");
        // A file that was refused has freed nothing.
        assert!(reserve(&alice, 1).await.is_err(), "one byte more");
        let second = reserve(&bob, 40).await.expect("of another user");
        second.grow(100).expect("it grows to all of it");
        assert!(second.grow(101).is_err(), "one byte more");
        drop((first, second));
        reserve(&alice, 100).await.expect("given back");
    }

    #[tokio::test]
    async fn transfers_that_begin_at_once_share_the_quota() {
        let scratch = ScratchDirectory::new();
        let client = client(&scratch, "alice");
        let usage = Usage::default();
        let reserve = |needed| usage.reserve(&client, needed, 0, Arc::default());
        let (first, second) = tokio::join!(reserve(60), reserve(60));
        assert!(first.is_ok() != second.is_ok());
        let third = reserve(60).await.expect_err("one of them is under way");
        assert_eq!(third.for_peer().reason, Reason::Quota);
        let stored = first.or(second).expect("one of them");
        stored.stored(60, 0);
        drop(stored);
        assert!(reserve(41).await.is_err(), "too much");
        reserve(40).await.expect("it fits");
    }

    #[tokio::test]
    async fn files_of_more_than_4_gib_count() {
        const GIB: u64 = 1 << 30;
        let scratch = ScratchDirectory::new();
        let mut client = client(&scratch, "alice");
        Arc::make_mut(&mut client.user).quota = Some(10 * GIB);
        let usage = Usage::default();
        let reserve = |needed| usage.reserve(&client, needed, 0, Arc::default());
        let first = reserve(6 * GIB).await.expect("it fits");
        first.stored(6 * GIB, 0);
        drop(first);
        assert!(reserve(5 * GIB).await.is_err(), "too much");
        let second = reserve(4 * GIB).await.expect("it fits");
        // It replaces the first one.
        second.stored(4 * GIB, 6 * GIB);
        drop(second);
        reserve(6 * GIB).await.expect("it fits");
    }

    /// The operator may change what a user has while the server runs.
    #[tokio::test]
    async fn what_a_user_has_is_looked_at_again_where_it_was_not_counted() {
        let scratch = ScratchDirectory::new();
        let with = |directory: &str, quota| {
            let mut client = client(&scratch, "alice");
            client.storage =
                Storage::open(&scratch.subdirectory(directory), StorageOptions::default())
                    .expect("opened");
            let user = Arc::make_mut(&mut client.user);
            (user.directory, user.quota) = (directory.into(), quota);
            client
        };
        let usage = Usage::default();
        let reserve = async |client: &Client, needed| {
            let reserved = usage.reserve(client, needed, 0, Arc::default()).await;
            reserved.is_ok()
        };
        let limited = with("a", Some(10_000));
        assert!(reserve(&limited, 10_000).await);
        assert!(reserve(&with("a", None), 20_000).await);
        scratch.file("a/file", 9000);
        assert!(!reserve(&limited, 2000).await, "too much");
        assert!(reserve(&with("b", Some(10_000)), 9000).await, "elsewhere");
    }
}
