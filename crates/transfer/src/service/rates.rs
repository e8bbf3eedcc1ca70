//! The rates of the transfers that a server receives.

use crate::{Incoming, IncomingPath, Receiving};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;
use whimbrel_units::{Bytes, Duration, Rate};

/// Computes rates from what had arrived one interval before.
#[derive(Debug, Default)]
pub struct Meter {
    /// For each transfer the time and the bytes of the last measurement.
    before: HashMap<u64, (Instant, u64)>,
    /// For each of several paths of one its bytes then.
    paths_before: HashMap<(u64, SocketAddr), u64>,
}

/// The transfers of one moment.
#[derive(Debug)]
pub struct Arrivals {
    /// Time since the server started.
    pub at: Duration,
    /// The transfers, oldest first.
    pub transfers: Vec<Arrival>,
    /// WF: the weighted fairness of the flows that share by priority, 0 to 1; `None` without any.
    pub fairness: Option<f64>,
}

/// A transfer and its rate.
#[derive(Debug)]
pub struct Arrival {
    /// The transfer.
    pub incoming: Incoming,
    /// Since the last measurement, or since the start of the transfer.
    pub rate: Rate,
    /// The client's address on each of several paths of its connection, and the rate of the
    /// datagrams that come over it; one that is new has none yet.
    pub paths: Vec<(SocketAddr, Rate)>,
}

impl Meter {
    /// The transfers at `now`, for a server that started `at` before.
    pub fn measure(&mut self, at: Duration, now: Instant, receiving: Receiving) -> Arrivals {
        let before = std::mem::take(&mut self.before);
        let paths_before = std::mem::take(&mut self.paths_before);
        let mut measure = |incoming: Incoming| {
            let bytes = incoming.received.get();
            let (passed, arrived) = match before.get(&incoming.id) {
                Some((then, before)) => (
                    now.saturating_duration_since(*then).into(),
                    bytes.saturating_sub(*before),
                ),
                None => (incoming.elapsed, bytes),
            };
            self.before.insert(incoming.id, (now, bytes));
            let rate = Rate::over(Bytes::new(arrived), passed);
            let mut path_rate = |path: &IncomingPath| {
                let key = (incoming.id, path.peer);
                let bytes = path.received.get();
                self.paths_before.insert(key, bytes);
                let before = paths_before.get(&key).unwrap_or(&bytes);
                let arrived = Bytes::new(bytes.saturating_sub(*before));
                (canonical(path.peer), Rate::over(arrived, passed))
            };
            let paths = incoming.paths.iter().map(&mut path_rate).collect();
            Arrival {
                incoming,
                rate,
                paths,
            }
        };
        Arrivals {
            at,
            transfers: receiving.transfers.into_iter().map(&mut measure).collect(),
            fairness: receiving.fairness,
        }
    }
}

impl Arrivals {
    /// The rate of all transfers together.
    pub fn total(&self) -> Rate {
        let all = self.transfers.iter().map(|t| t.rate.as_bits_per_sec());
        Rate::from_bits_per_sec(all.sum())
    }

    /// The part of what arrives that is this transfer's, 0 to 1.
    pub fn part(&self, transfer: &Arrival) -> f64 {
        match self.total().as_bits_per_sec() {
            0 => 0.0,
            total => transfer.rate.as_bits_per_sec() as f64 / total as f64,
        }
    }

    /// An event `receiving`, for a program.
    pub fn json(&self) -> Value {
        let path = |(peer, rate): &(SocketAddr, Rate)| json!({ "peer": peer.to_string(), "rate_bps": rate.as_bits_per_sec() });
        let transfer = |transfer: &Arrival| {
            let i = &transfer.incoming;
            json!({
                "peer": i.peer.to_string(),
                "name": i.name.to_string(),
                "bytes": i.size.map(Bytes::get),
                "received": i.received.get(),
                "seconds": i.elapsed.as_secs_f64(),
                "rate_bps": transfer.rate.as_bits_per_sec(),
                "share": self.part(transfer),
                "priority": i.share.map(|s| s.priority.get()),
                "delivered_bps": i.share.map(|s| s.delivered.as_bits_per_sec()),
                "allocated_bps": i.share.map(|s| s.allocated.as_bits_per_sec()),
                "paths": transfer.paths.iter().map(path).collect::<Vec<_>>(),
            })
        };
        json!({
            "event": "receiving",
            "t_s": self.at.as_secs_f64(),
            "weighted_fairness": self.fairness,
            "transfers": self.transfers.iter().map(transfer).collect::<Vec<_>>(),
        })
    }
}

impl Arrival {
    /// The client's address; an IPv4 address that is mapped into IPv6 as IPv4.
    pub fn peer(&self) -> SocketAddr {
        canonical(self.incoming.peer)
    }

    /// V/Vm (21) of a transfer that shares by priority: the rate of its bursts over the rate that
    /// its priority entitles it to.
    pub fn efficiency(&self) -> Option<f64> {
        let share = self.incoming.share?;
        let allocated = share.allocated.as_bits_per_sec();
        (allocated > 0).then(|| share.delivered.as_bits_per_sec() as f64 / allocated as f64)
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_time_since_the_last_measurement() {
        let mut meter = Meter::default();
        let start = Instant::now();
        let mut measure = |after_ms, received| {
            let incoming = Incoming {
                id: 7,
                peer: "[::ffff:10.77.0.1]:40001".parse().expect("an address"),
                name: "a".parse().expect("a name"),
                size: None,
                received: Bytes::new(received),
                elapsed: Duration::from_secs(2),
                share: None,
                paths: [1, 2]
                    .map(|link| IncomingPath {
                        peer: ([10, 77, link, 1], 4000).into(),
                        received: Bytes::new(received / u64::from(link)),
                    })
                    .to_vec(),
            };
            let receiving = Receiving {
                transfers: vec![incoming],
                fairness: None,
            };
            let now = start + std::time::Duration::from_millis(after_ms);
            let arrivals = meter.measure(Duration::ZERO, now, receiving);
            assert_eq!(arrivals.transfers[0].peer().to_string(), "10.77.0.1:40001");
            let of_paths = arrivals.transfers[0].paths.iter();
            let of_paths: Vec<u64> = of_paths.map(|(_, rate)| rate.as_bits_per_sec()).collect();
            (arrivals.total(), of_paths)
        };
        // 1 MB in the 2 s since the start of the transfer; 1 MB in half a second; nothing. A path
        // has a rate once it was seen before.
        let rate = Rate::from_bits_per_sec;
        assert_eq!(measure(0, 1_000_000), (rate(4_000_000), vec![0, 0]));
        let paths = vec![16_000_000, 8_000_000];
        assert_eq!(measure(500, 2_000_000), (rate(16_000_000), paths));
        assert_eq!(measure(1_000, 2_000_000), (Rate::ZERO, vec![0, 0]));
    }
}
