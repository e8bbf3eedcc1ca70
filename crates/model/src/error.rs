//! The error of a model that has no result.

/// Maximum window `W_C + B` in packets that the chain is solved for. Work and memory grow with its
/// square.
pub const MAX_WINDOW: u64 = 2048;

/// Why there is no result. The text is meant for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A link without rate, or packets without size.
    #[error("the link of a model needs a rate, and its packets a size")]
    NoRate,
    /// The maximum window is below the minimum of two packets.
    #[error(
        "the link and its buffer hold only {0} packet: the minimum window of the model is 2 packets"
    )]
    TooSmall(u64),
    /// The maximum window is above the limit of the chain.
    #[error(
        "the link and its buffer hold {0} packets: the Markov chain is solved for at most \
         {MAX_WINDOW}; use a lower rate, a shorter delay, a smaller buffer or larger packets"
    )]
    TooLarge(u64),
    /// The iteration did not converge to a stationary distribution.
    #[error(
        "the Markov chain did not converge: with a packet error probability this close to 1 the window \
         hardly changes"
    )]
    NotConverged,
}
