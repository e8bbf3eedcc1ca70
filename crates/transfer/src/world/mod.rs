//! A server and its clients in a simulated world: network, disk, clock, and crashes of processes
//! and of machines, drawn from a seed.
//!
//! | part | content |
//! |---|---|
//! | `network` | hosts, the links between them, and addresses that change |
//! | `system` | randomness and the time of day |
//! | `slow` | a disk that is slow |
//! | `pair` | scenes between two hosts, and the two ends of a connection between them |
//! | `client` | what a client does, and what it knows |
//! | `life` | a life: what happens to a server and its clients, and what must hold |
//! | `scene` | one client and its server, for the scenes |
//! | `scenes` | single scenes: the network fails, or the disk |
//! | `quotas` | scenes of users whose files do not fit |
//! | `requests` | scenes with a client that the test plays |
//! | `tests` | many lives; a failing one is made shorter |
//!
//! The code under test is the code that ships: clients send and get files, directories and standard
//! input as the command does, the server's whole code serves them. One thread runs all of it by
//! tokio's virtual time. Endpoints have no sockets
//! ([`Endpoint::simulated`](whimbrel_quic::endpoint::Endpoint::simulated)), and blocking work is
//! done in the same thread. The disk of the server is that of the storage's own world. A seed gives
//! the same life again, down to each bit on the network.

mod client;
mod life;
pub(crate) mod network;
pub(crate) mod pair;
mod quotas;
mod requests;
mod scene;
mod scenes;
pub(crate) mod slow;
mod system;
mod tests;
