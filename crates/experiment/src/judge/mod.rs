//! Compares every decision on a loss with its true cause, and measures what the mistakes cost.
//!
//! The simulator knows why each packet was dropped. A controller that distinguishes random loss
//! from congestion runs over a grid of paths (the sweep of a scenario), and each of its verdicts is
//! counted by the true cause of the loss: [`Judged::decisions`].
//!
//! The cost of its mistakes is the difference to the same paths with the same seeds when the
//! controller knows the true causes from an [oracle](whimbrel_sim::Oracle): of random loss only, of
//! congestion only, of all losses. An [`Effect`] is the difference to the run in which the
//! controller decided by itself, taken for each seed between runs that differ in nothing else, with
//! its confidence interval over the seeds. Over the whole grid, a seed's number is the mean over
//! all cells, so that the independent samples are the seeds.
//!
//! **How to read a difference.** Correcting one kind of mistake changes the window, and with it the
//! number of losses of each kind and the number of mistakes of the other kind. So the effects of
//! the two corrections do not add up to the effect of both. With the full oracle a controller does
//! its best with perfect knowledge, which need not be good: its response to a right verdict is its
//! own.
//!
//! Oracles work for controllers that TCP carries. For AATP's controllers the decisions are counted,
//! but their costs are not measured.

mod effect;
mod heat;
mod plan;
mod result;

#[cfg(test)]
mod tests;

pub use effect::{Effect, ORACLES, Scope};
pub use plan::{Plan, PlanError, classifying};
pub use result::{Axis, AxisValue, Cell, Judged, Means, Mistake};
