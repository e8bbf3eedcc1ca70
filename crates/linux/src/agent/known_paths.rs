//! What the paths of earlier connections carried, so that the next one starts at speed (RFC 9959).
//!
//! An entry belongs to a pair of addresses, without ports, and lives as long as the agent, at most a
//! day. The number of entries is bounded: the oldest goes first. An entry is what the peer
//! acknowledged at its own address, so a peer cannot change the entries of others.

use crate::connection::Addresses;
use std::collections::HashMap;
use std::net::IpAddr;
use whimbrel_cc::SavedPath;
use whimbrel_units::{Duration, Time};

/// Maximum number of entries.
const MOST: usize = 1024;
/// How long an entry is used.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The paths of one agent.
#[derive(Debug, Default)]
pub(super) struct KnownPaths(HashMap<(IpAddr, IpAddr), (SavedPath, Time)>);

impl KnownPaths {
    /// What an earlier connection between these ends found.
    pub fn get(&self, ends: &Addresses, now: Time) -> Option<SavedPath> {
        let (path, saved) = self.0.get(&key(ends))?;
        (now.since(*saved) < LIFE).then_some(*path)
    }

    /// Saves what a connection found. `alone`: it replaces a larger entry, too.
    pub fn save(&mut self, ends: &Addresses, path: SavedPath, alone: bool, now: Time) {
        let before = self.get(ends, now);
        let found = path.replacing(before, alone);
        if found != path {
            // The entry that stays is as old as before.
            return;
        }
        if self.0.len() >= MOST && !self.0.contains_key(&key(ends)) {
            let oldest = self.0.iter().min_by_key(|(_, (_, saved))| *saved);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(key(ends), (path, now));
    }
}

fn key(ends: &Addresses) -> (IpAddr, IpAddr) {
    (ends.local.ip(), ends.remote.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use whimbrel_units::Bytes;

    fn ends(peer: u32, port: u16) -> Addresses {
        Addresses {
            local: ([192, 0, 2, 1], port).into(),
            remote: (Ipv4Addr::from(0x0a00_0000 + peer), 443).into(),
        }
    }

    fn path(cwnd: u64) -> SavedPath {
        SavedPath {
            cwnd: Bytes::new(cwnd),
            rtt: Duration::from_millis(600),
        }
    }

    #[test]
    fn a_path_is_known_by_its_addresses_for_a_day() {
        let mut known = KnownPaths::default();
        let at = |hours: u64| Time::ZERO + Duration::from_secs(hours * 3600);
        known.save(&ends(1, 4000), path(1_000_000), false, at(0));
        assert_eq!(known.get(&ends(1, 4001), at(23)), Some(path(1_000_000)));
        assert_eq!(known.get(&ends(2, 4000), at(23)), None);
        assert_eq!(known.get(&ends(1, 4000), at(24)), None);
    }

    #[test]
    fn a_short_connection_does_not_replace_a_larger_entry() {
        let mut known = KnownPaths::default();
        let ends = ends(1, 4000);
        known.save(&ends, path(1_000_000), false, Time::ZERO);
        known.save(&ends, path(20_000), false, Time::ZERO);
        assert_eq!(known.get(&ends, Time::ZERO), Some(path(1_000_000)));
        known.save(&ends, path(100_000), true, Time::ZERO);
        assert_eq!(known.get(&ends, Time::ZERO), Some(path(100_000)));
    }

    #[test]
    fn short_connections_keep_no_entry_alive() {
        let mut known = KnownPaths::default();
        let ends = ends(1, 4000);
        let at = |hours: u64| Time::ZERO + Duration::from_secs(hours * 3600);
        known.save(&ends, path(1_000_000), false, at(0));
        known.save(&ends, path(20_000), false, at(23));
        assert_eq!(known.get(&ends, at(24)), None);
        known.save(&ends, path(20_000), false, at(25));
        assert_eq!(known.get(&ends, at(25)), Some(path(20_000)));
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let mut known = KnownPaths::default();
        for peer in 0..MOST as u32 + 10 {
            let now = Time::from_nanos(peer.into());
            known.save(&ends(peer, 1), path(1), false, now);
        }
        assert_eq!(known.0.len(), MOST);
        assert_eq!(known.get(&ends(9, 1), Time::ZERO), None);
        assert_eq!(known.get(&ends(10, 1), Time::ZERO), Some(path(1)));
    }
}
