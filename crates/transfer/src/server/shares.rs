//! How much of something each user holds: while there are several users, none holds more than half.

use crate::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Something of which there are `max`.
#[derive(Debug)]
pub(super) struct Shares {
    max: usize,
    held: Mutex<HashMap<String, usize>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    of: Arc<Shares>,
    user: String,
}

/// What one user may hold of `max`, if there are `several` users.
pub(super) fn share(max: usize, several: bool) -> usize {
    if several { (max / 2).max(1) } else { max }
}

impl Shares {
    /// There are `max`.
    pub fn new(max: usize) -> Arc<Self> {
        let held = Mutex::default();
        Arc::new(Self { max, held })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        lock(&self.held)
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.lock().values().sum()
    }

    /// One for `user`. `None` if all are held, or this user holds its share.
    pub fn take(self: &Arc<Self>, user: &str, several: bool) -> Option<Held> {
        let mut held = self.lock();
        let all: usize = held.values().sum();
        let own = held.get(user).copied().unwrap_or(0);
        if all >= self.max || own >= share(self.max, several) {
            return None;
        }
        held.insert(user.to_owned(), own + 1);
        Some(Held {
            of: Arc::clone(self),
            user: user.to_owned(),
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.of.lock();
        if let Some(own) = held.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_leaves_half_to_the_others() {
        let shares = Shares::new(4);
        let hoard: Vec<_> = (0..9).filter_map(|_| shares.take("a", true)).collect();
        assert_eq!(hoard.len(), 2);
        let other = shares.take("b", true);
        assert!(other.is_some() && shares.take("a", true).is_none());
        assert_eq!(shares.len(), 3);
        let last = shares.take("b", true);
        assert!(
            last.is_some() && shares.take("c", true).is_none(),
            "all are held"
        );
        drop((hoard, other, last));
        let all: Vec<_> = (0..9).filter_map(|_| shares.take("a", false)).collect();
        assert_eq!((all.len(), shares.len()), (4, 4));
    }
}
