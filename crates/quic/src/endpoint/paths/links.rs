//! The client's links, and the path over each.

use super::{Path, Paths, control_of};
use noq_proto::{Connection, FourTuple, PathId, PathStatus, VarInt};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Time between two attempts to open a path: the peer has not issued connection IDs yet.
const RETRY: Duration = Duration::from_millis(20);
/// Time between two attempts after one that the peer did not answer.
const RETRY_SILENT: Duration = Duration::from_secs(1);
/// A path that the peer has not answered on for so long is opened again: its challenges have become
/// rare.
const UNANSWERED: Duration = Duration::from_secs(3);

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
            let present = present.map(|path| (path.id, path.local, path.established, path.opened));
            match (present, link.local) {
                (Some((id, ..)), None) => self.close(now, proto, id),
                (Some((id, local, established, opened)), Some(address)) => {
                    let moved = local.is_some_and(|local| local != address) && !established;
                    let stale = !established && now >= opened + UNANSWERED;
                    if moved || stale {
                        self.close(now, proto, id);
                        self.links.not_before[number] = Some(now + RETRY_SILENT);
                    } else if !established {
                        self.wake_at(opened + UNANSWERED);
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
        match proto.open_path(tuple, PathStatus::Available, now) {
            Ok(id) => {
                if let Some(control) = control_of(proto, id) {
                    let mut path = Path::new(id, link, control, now);
                    (path.remote, path.local) = (remote, Some(address));
                    self.open.push(path);
                    self.built = self.several.built();
                }
                self.wake_at(now + UNANSWERED);
            }
            Err(_) => {
                self.links.not_before[link] = Some(now + RETRY);
                self.wake_at(now + RETRY);
            }
        }
    }

    /// Closes a path, unless it is the last.
    fn close(&mut self, now: Instant, proto: &mut Connection, id: PathId) {
        proto.close_path(now, id, VarInt::from_u32(0)).ok();
    }
}
