//! The client's links, and the path over each.
//!
//! A path that the peer does not answer on stays as it is: noq repeats its challenge, at least
//! every two seconds. A server that has never heard of a path would not confirm its end, and grants
//! a new path only for one that has ended.

use super::{Path, Paths, control_of};
use noq_proto::{Connection, FourTuple, PathId, PathStatus, VarInt};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Time between two attempts to open a path: the peer has not issued connection IDs yet.
const RETRY: Duration = Duration::from_millis(20);

/// A link of the client's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::endpoint) struct Link {
    /// The address from which packets leave over it; `None`: it has no way to the server now.
    pub local: Option<IpAddr>,
}

/// When paths over the links are opened.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By link: not before this time.
    not_before: Vec<Option<Instant>>,
    next: Option<Instant>,
}

impl Links {
    /// When the links must be looked at.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl Paths {
    /// Opens a path over each link that can reach the server, and closes those of links that
    /// cannot.
    pub(super) fn follow_links(&mut self, now: Instant, proto: &mut Connection, links: &[Link]) {
        self.links.next = None;
        if links.len() < 2 || proto.is_closed() {
            return;
        }
        self.links.not_before.resize(links.len(), None);
        for (number, link) in links.iter().enumerate() {
            let present = self.open.iter().find(|path| path.link == number);
            let present = present.map(|path| (path.id, path.local, path.established));
            match (present, link.local) {
                (Some((id, ..)), None) => self.close(now, proto, id),
                (Some((id, local, established)), Some(address)) => {
                    // The kernel sends from the new address: an open path moves (RFC 9000 section
                    // 9), one that is being opened begins anew.
                    if !established && local.is_some_and(|local| local != address) {
                        self.close(now, proto, id);
                        self.links.not_before[number] = Some(now + RETRY);
                    }
                }
                (None, Some(address)) => self.open_over(now, proto, number, address),
                (None, None) => {}
            }
        }
    }

    fn wake_at(&mut self, at: Instant) {
        self.links.next = Some(self.links.next.map_or(at, |next| next.min(at)));
    }

    fn open_over(&mut self, now: Instant, proto: &mut Connection, link: usize, address: IpAddr) {
        if let Some(at) = self.links.not_before[link]
            && now < at
        {
            return self.wake_at(at);
        }
        let Some(remote) = self.open.first().map(|path| path.remote) else {
            return;
        };
        let tuple = FourTuple::new(remote, Some(address));
        // noq may take it for validated before the peer has answered, so nothing else may leave.
        match proto.open_path(tuple, PathStatus::Backup, now) {
            Ok(id) => {
                if let Some(control) = control_of(proto, id) {
                    let mut path = Path::new(id, link, control);
                    (path.remote, path.local) = (remote, Some(address));
                    path.status = PathStatus::Backup;
                    self.open.push(path);
                    self.built = self.several.built();
                }
            }
            Err(_) => {
                self.links.not_before[link] = Some(now + RETRY);
                self.wake_at(now + RETRY);
            }
        }
    }

    /// Closes a path, unless it is the last.
    pub(super) fn close(&mut self, now: Instant, proto: &mut Connection, id: PathId) {
        proto.close_path(now, id, VarInt::from_u32(0)).ok();
    }
}
