//! FNV-1a with 64 bits: tells versions of a text apart. Anyone can make two texts with the same
//! hash, so it protects from mistakes, not from attacks.
//!
//! The build script uses this file, too.

/// The hash of no bytes.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// `hash`, continued over `bytes` and their number, so that parts cannot run into each other.
pub fn continued(hash: u64, bytes: &[u8]) -> u64 {
    let length = (bytes.len() as u64).to_le_bytes();
    bytes.iter().chain(&length).fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
