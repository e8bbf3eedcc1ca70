//! What happens to a server and its clients in simulated surroundings: faults of the network and
//! the disk, and crashes of processes and of machines, drawn from a seed.
//!
//! | part | content |
//! |---|---|
//! | `client` | what a client does, and what it knows |
//! | `life` | a life: what happens to a server and its clients, and what must hold |
//! | `tests` | many lives; a failing one is made shorter |
//! | `storage` | the same for the storage alone |
//! | `scene` | one client and its server, for the scenes |
//! | `scenes` | single scenes: the network fails, or the disk |
//! | `quotas` | scenes of users whose files do not fit |
//! | `requests` | scenes with a client that the test plays |
//!
//! The code under test is the code that ships: clients send and get files, directories and standard
//! input as the command does, the server's whole code serves them. One thread runs all of it by
//! tokio's virtual time. Endpoints have no sockets
//! ([`Endpoint::simulated`](whimbrel_quic::endpoint::Endpoint::simulated)), and blocking work is
//! done in the same thread. A seed gives the same life again, down to each bit on the network.

mod client;
mod life;
mod quotas;
mod requests;
mod scene;
mod scenes;
mod storage;
mod tests;

/// The seeds that a text names: `N` for the first ones, or `FROM..TO`.
fn seeds_of(text: &str) -> std::ops::Range<u64> {
    let number = |text: &str| text.trim().parse().expect("SEEDS: a number, or FROM..TO");
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(text),
    }
}
