//! Real transfers beside their predictions, as `demo` and `compare --real` run them.

use crate::stop::stopped_by_signals;
use std::process::ExitCode;
use whimbrel_study::real::two_links::{Comparison, TwoLinks};
use whimbrel_study::real::{Order, Row, Trial};
use whimbrel_watch::transfers;

/// Runs the trials, with a progress bar for each. Ctrl-C stops them.
pub fn run(trials: Vec<Trial>, order: Order) -> anyhow::Result<Vec<Row>> {
    transfers::run(trials, order, &*stopped_by_signals()?)
}

/// Runs the transfers of one file over two links. Ctrl-C stops them.
pub fn run_two_links(what: TwoLinks) -> anyhow::Result<Comparison> {
    transfers::run_two_links(what, &*stopped_by_signals()?)
}

/// The exit status. Without the rights to make a path, the prediction alone is a success; a
/// transfer that failed on a path is not.
pub fn status<'a>(mut rows: impl Iterator<Item = &'a Row>) -> ExitCode {
    ExitCode::from(u8::from(rows.any(Row::has_failed)))
}
