//! What the paths to clients carried, so that the next transfer to one starts at speed (RFC 9959).
//!
//! An entry belongs to the address of a client when its connection began. It lives in memory: a
//! server that starts again knows nothing. Nobody can change the entry of an address at which it
//! does not receive: an entry is what was acknowledged there. The number of entries is bounded, the
//! one that was used least recently goes first, and none is used after a day.

use crate::credentials::known_paths;
use crate::lock::lock;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use whimbrel_cc::SavedPath;
use whimbrel_quic::Monitor;

/// Maximum number of entries.
const MOST: usize = 1024;
/// How long an entry is used after its connection began.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The paths of a server.
#[derive(Debug, Default)]
pub(super) struct KnownClients(Mutex<HashMap<IpAddr, Entry>>);

/// The path to one client.
#[derive(Debug)]
struct Entry {
    /// What was known when the last connection began.
    before: Option<SavedPath>,
    /// What that connection sees.
    monitor: Monitor,
    began: Instant,
}

impl Entry {
    fn path(&self) -> Option<SavedPath> {
        known_paths::to_save(&self.monitor.snapshot(), self.before)
    }
}

impl KnownClients {
    /// A connection from this address begins, and `monitor` sees what it finds. Returns what an
    /// earlier one found.
    pub fn begin(&self, client: IpAddr, monitor: Monitor, now: Instant) -> Option<SavedPath> {
        let client = client.to_canonical();
        let mut known = lock(&self.0);
        let lives = |entry: &Entry| now.saturating_duration_since(entry.began) < LIFE;
        let before = known.get(&client).filter(|entry| lives(entry));
        let before = before.and_then(Entry::path);
        if known.len() >= MOST && !known.contains_key(&client) {
            let oldest = known.iter().min_by_key(|(_, entry)| entry.began);
            if let Some(oldest) = oldest.map(|(client, _)| *client) {
                known.remove(&oldest);
            }
        }
        let began = now;
        known.insert(
            client,
            Entry {
                before,
                monitor,
                began,
            },
        );
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Bytes;

    fn address(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0x0a00_0000 + n).into()
    }

    fn saved(n: u64) -> SavedPath {
        SavedPath {
            cwnd: Bytes::new(n),
            rtt: whimbrel_units::Duration::from_millis(100),
        }
    }

    #[test]
    fn an_entry_is_of_one_address_for_a_day() {
        let known = KnownClients::default();
        let now = Instant::now();
        let begin = |n, after| known.begin(address(n), Monitor::default(), now + after);
        assert_eq!(begin(1, Duration::ZERO), None);
        let set = |n| {
            let mut entries = known.0.lock().expect("one thread");
            entries.get_mut(&address(n)).expect("there").before = Some(saved(1_000_000));
        };
        set(1);
        assert_eq!(begin(2, Duration::ZERO), None);
        let hour = Duration::from_secs(3600);
        // A connection that finds nothing keeps what was known.
        assert_eq!(begin(1, 23 * hour), Some(saved(1_000_000)));
        assert_eq!(begin(1, 46 * hour), Some(saved(1_000_000)));
        assert_eq!(begin(1, 71 * hour), None);
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let known = KnownClients::default();
        let now = Instant::now();
        for n in 0..MOST as u32 + 100 {
            let after = Duration::from_secs(n.into());
            known.begin(address(n), Monitor::default(), now + after);
        }
        let entries = known.0.lock().expect("one thread");
        assert_eq!(entries.len(), MOST);
        assert!(!entries.contains_key(&address(99)) && entries.contains_key(&address(100)));
    }
}
