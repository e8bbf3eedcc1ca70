//! Why a model says nothing.

use crate::path::LARGEST_WINDOW;

/// Why there is no result. Its text is meant to be shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A link without rate, or packets without size.
    #[error("a model's link needs a rate, and its packets a size")]
    NoRate,
    /// The greatest window is below the least of two packets.
    #[error("the link and its buffer hold {0} packet only: the model's least window is 2 packets")]
    TooSmall(u64),
    /// The greatest window is above what the chain is solved for.
    #[error(
        "the link and its buffer hold {0} packets: the Markov chain is solved for at most {LARGEST_WINDOW}; take a lower \
         rate, a shorter delay, a smaller buffer or larger packets"
    )]
    TooLarge(u64),
    /// The stationary distribution was not found.
    #[error(
        "the Markov chain did not settle: at a packet error probability so close to 1 windows hardly change"
    )]
    NotSettled,
}
