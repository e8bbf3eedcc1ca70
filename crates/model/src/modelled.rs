//! The congestion control algorithms that the chain models, by their names in the simulator.

use crate::error::ModelError;
use crate::formula::Formula;
use crate::path::ModelPath;
use crate::throughput::{Receiver, Solution, solve};
use whimbrel_units::Probability;

/// An algorithm that the chain models, with or without NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modelled {
    /// Its name in the simulator.
    pub controller: &'static str,
    /// How a loss changes the window.
    pub formula: Formula,
    /// Whether the receiver sends NACKs for corrupted packets.
    pub nacks: bool,
}

/// All of them, in the order in which results show them.
pub const MODELLED: [Modelled; 4] = [
    Modelled {
        controller: "reno",
        formula: Formula::Reno,
        nacks: false,
    },
    Modelled {
        controller: "westwood",
        formula: Formula::Westwood,
        nacks: false,
    },
    Modelled {
        controller: "tcp-nack",
        formula: Formula::Reno,
        nacks: true,
    },
    Modelled {
        controller: "tcp-nack-westwood",
        formula: Formula::Westwood,
        nacks: true,
    },
];

impl Modelled {
    /// The algorithm of this name; `None` if the chain does not model it.
    pub fn named(controller: &str) -> Option<Self> {
        MODELLED
            .into_iter()
            .find(|modelled| modelled.controller == controller)
    }

    /// Solves the chain for packets that are corrupted independently with probability `p`. Without
    /// NACKs `unreported`, the fraction of corrupted packets that no NACK reports, has no effect.
    ///
    /// # Errors
    /// As [`solve`].
    pub fn solve(
        &self,
        path: &ModelPath,
        unreported: Probability,
        p: Probability,
    ) -> Result<Solution, ModelError> {
        let receiver = match self.nacks {
            true => Receiver::Nacks { unreported },
            false => Receiver::Silent,
        };
        solve(path, self.formula, receiver, p)
    }
}
