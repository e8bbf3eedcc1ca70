//! Random bytes of the system.

use ring::rand::{SecureRandom, SystemRandom};

/// The system provided no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system provided no random numbers")]
pub struct NoRandomness;

/// Random bytes that cannot be guessed.
///
/// # Errors
/// If the system provides none.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| NoRandomness)
}
