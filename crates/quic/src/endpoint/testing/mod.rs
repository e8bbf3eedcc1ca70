//! Two endpoints and the path between them in virtual time.
//!
//! ```ignore
//! let mut network = Network::new(&Path::symmetric(rate, delay, queue), seed);
//! let (client, server) = network.connect(client_config(transport()), server_config(transport()));
//! network.spawn(async move { ... client.open_uni() ... });
//! network.run_until(Time::ZERO + Duration::from_secs(10));
//! ```
//!
//! The same seed gives the same run: the links draw from it, and so does noq. Keys and connection
//! IDs are random, but nothing depends on their values and their sizes are fixed.

#![allow(dead_code, unused_imports, reason = "for all tests of this crate")]

mod endless;
mod network;
mod tasks;
mod tls;

pub(crate) use endless::{add_endless, settings};
pub(crate) use network::{Counts, Network, Packet, Path, Reordering, SERVER};
pub(crate) use tasks::Timer;
pub(crate) use tls::{
    client_config, client_config_with, server_config, server_config_with, transport,
};
