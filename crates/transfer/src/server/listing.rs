//! What of a listing a user may see.

use super::request::no_reading;
use super::users::User;
use crate::path::RemotePath;
use crate::storage::Listed;
use crate::wire::{Kind, Unread};
use std::sync::Arc;

/// Which entries below a path a user may see: what it may read, and directories that lead there. Of
/// a directory that it may read, what it may not is reported as such.
#[derive(Debug)]
pub(super) struct Visible {
    user: Arc<User>,
    /// The path, with a slash behind it unless it is empty.
    base: Vec<u8>,
}

impl Visible {
    /// What `user` may see below this path; `None`: below its directory.
    pub fn new(user: Arc<User>, base: Option<&RemotePath>) -> Self {
        let mut base = base.map_or_else(Vec::new, |base| base.as_bytes().to_vec());
        if !base.is_empty() {
            base.push(b'/');
        }
        Self { user, base }
    }

    /// What the user sees of an entry.
    pub fn of(&self, found: Listed) -> Option<Listed> {
        let (below, is_directory) = match &found {
            Listed::Entry(entry) => (&entry.path, entry.remote.metadata.kind == Kind::Directory),
            Listed::Unread(unread) => (&unread.path, true),
        };
        let mut path = self.base.clone();
        path.extend_from_slice(below);
        // A file is its own only entry.
        if below.is_empty() {
            path.pop();
        }
        let may = |path: &[u8]| self.user.rights_at(path).read;
        if may(&path) || is_directory && self.user.may_somewhere(&path, |rights| rights.read) {
            return Some(found);
        }
        let above = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        may(&path[..above]).then(|| {
            Listed::Unread(Unread {
                path: below.clone(),
                refusal: no_reading().for_peer(),
            })
        })
    }
}
