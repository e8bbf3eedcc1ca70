//! Keeps those out who guess at tokens.
//!
//! A token cannot be guessed: it has 160 bits. This spares the server the handshakes, and its owner the log.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Wrong tokens an address may show before it is shut out.
const TRIES: u32 = 10;
/// For how long.
const WINDOW: Duration = Duration::from_secs(60);
/// Most addresses remembered; the oldest are forgotten first.
const MOST: usize = 1024;

/// Counts wrong tokens per address.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    wrong: HashMap<IpAddr, (u32, Instant)>,
}

impl Guard {
    /// Whether this address has shown too many wrong tokens of late.
    pub fn shuts_out(&self, address: IpAddr, now: Instant) -> bool {
        self.wrong
            .get(&network(address))
            .is_some_and(|(n, since)| *n >= TRIES && now.duration_since(*since) < WINDOW)
    }

    /// It showed a wrong one.
    pub fn wrong(&mut self, address: IpAddr, now: Instant) {
        let address = network(address);
        self.wrong
            .retain(|_, (_, since)| now.duration_since(*since) < WINDOW);
        if self.wrong.len() >= MOST && !self.wrong.contains_key(&address) {
            let oldest = self
                .wrong
                .iter()
                .min_by_key(|(_, (_, since))| *since)
                .map(|(a, _)| *a);
            if let Some(oldest) = oldest {
                self.wrong.remove(&oldest);
            }
        }
        let entry = self.wrong.entry(address).or_insert((0, now));
        entry.0 += 1;
        entry.1 = now;
    }
}

/// Whoever has one IPv6 address has the other 2^64 of its network too.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_wrong_tokens_shut_an_address_out_for_a_minute() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        let address: IpAddr = "2001:db8::1".parse().expect("an address");
        let neighbour: IpAddr = "2001:db8::2".parse().expect("an address");
        let other: IpAddr = "192.0.2.1".parse().expect("an address");
        for _ in 0..TRIES {
            assert!(!guard.shuts_out(address, now));
            guard.wrong(address, now);
        }
        assert!(guard.shuts_out(address, now) && guard.shuts_out(neighbour, now));
        assert!(!guard.shuts_out(other, now));
        assert!(!guard.shuts_out(address, now + WINDOW));
        for n in 0..5000u32 {
            guard.wrong(IpAddr::V4(n.into()), now);
        }
        assert!(guard.wrong.len() <= MOST);
    }
}
