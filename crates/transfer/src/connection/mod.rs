//! A connection between client and server, whichever side this is.
//!
//! | part | content |
//! |---|---|
//! | `parameters` | QUIC's parameters and limits |
//! | `udp`, `over_tcp` | what carries the packets |
//! | `datagrams` | how large they are |
//! | `key_exchange` | the group of its keys |
//! | `framing` | messages on streams |
//! | `routes` | which transfer a data stream belongs to |
//! | `close` | why a connection ended |
//! | `qlog` | logs of packets |
//! | `pair` | for tests: the two ends of a connection in virtual time |

pub(crate) mod close;
pub(crate) mod datagrams;
pub(crate) mod framing;
pub(crate) mod key_exchange;
pub(crate) mod over_tcp;
#[cfg(test)]
pub(crate) mod pair;
pub(crate) mod parameters;
pub(crate) mod qlog;
pub(crate) mod routes;
pub(crate) mod udp;
