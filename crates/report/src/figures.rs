//! The figures that runs give by themselves, whatever they were made for.

use crate::figure::Figure;
use whimbrel_sim::sweep::Run;

/// What these runs show: of all of them, and over time of `sampled`, which are some of them with samples.
pub fn figures(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Vec<Figure> {
    let _ = (runs, sampled);
    Vec::new()
}
