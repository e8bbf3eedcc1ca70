//! Blocks addresses that try wrong tokens.
//!
//! A token has 160 bits and cannot be guessed. Blocking saves the server handshakes and keeps its
//! log short.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Number of wrong tokens after which an address is blocked.
const TRIES: u32 = 10;
/// Duration of the block.
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of addresses remembered; the oldest are forgotten first.
const MAX_ADDRESSES: usize = 1024;

/// Counts wrong tokens per address.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    failures: HashMap<IpAddr, (u32, Instant)>,
}

impl Guard {
    /// Whether this address is blocked.
    pub fn blocks(&self, address: IpAddr, now: Instant) -> bool {
        self.failures
            .get(&network(address))
            .is_some_and(|(n, since)| *n >= TRIES && now.duration_since(*since) < WINDOW)
    }

    /// Records a wrong token from this address.
    pub fn record_failure(&mut self, address: IpAddr, now: Instant) {
        let address = network(address);
        self.failures
            .retain(|_, (_, since)| now.duration_since(*since) < WINDOW);
        if self.failures.len() >= MAX_ADDRESSES && !self.failures.contains_key(&address) {
            let oldest = self
                .failures
                .iter()
                .min_by_key(|(_, (_, since))| *since)
                .map(|(a, _)| *a);
            if let Some(oldest) = oldest {
                self.failures.remove(&oldest);
            }
        }
        let entry = self.failures.entry(address).or_insert((0, now));
        entry.0 += 1;
        entry.1 = now;
    }
}

/// The owner of one IPv6 address usually has the other 2^64 of its network too.
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
    fn ten_wrong_tokens_block_an_address_for_a_minute() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        let address: IpAddr = "2001:db8::1".parse().expect("an address");
        let neighbour: IpAddr = "2001:db8::2".parse().expect("an address");
        let other: IpAddr = "192.0.2.1".parse().expect("an address");
        for _ in 0..TRIES {
            assert!(!guard.blocks(address, now));
            guard.record_failure(address, now);
        }
        assert!(guard.blocks(address, now) && guard.blocks(neighbour, now));
        assert!(!guard.blocks(other, now));
        assert!(!guard.blocks(address, now + WINDOW));
        for n in 0..5000u32 {
            guard.record_failure(IpAddr::V4(n.into()), now);
        }
        assert!(guard.failures.len() <= MAX_ADDRESSES);
    }
}
