//! Three words instead of keys: two people who can talk to each other send files without an account.
//! The words and their proof are in `words`.
//!
//! | part | content |
//! |---|---|
//! | `lan` | how they find each other on one network |
//! | `meeting` | how they meet at a server that both reach |
//! | `punch` | how they reach each other through NATs |
//! | `carried` | how datagrams travel over the server where they do not |
//! | `offer`, `fetch` | the two ends |
//!
//! The receiver is a server with a key of its own that lives as long as the transfer. Whoever
//! connects first may prove once, with SPAKE2 (RFC 9382) inside the TLS session, that it has the
//! words; the proofs are bound to that session (RFC 5705), so somebody in the middle of two sessions
//! cannot pass them on. Both then know each other's keys, and the files travel as to any server. A
//! server at which they meet sees the first word and what it carries, encrypted.

mod carried;
mod fetch;
mod lan;
mod meeting;
mod offer;
mod punch;
#[cfg(test)]
mod tests;

pub use fetch::{FetchOptions, Fetched, fetch};
pub use offer::{OfferOptions, offer};
