//! Progress bars of real transfers.

use crate::Bar;
use anyhow::bail;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use whimbrel_study::Error;
use whimbrel_study::real::two_links::{Comparison, TwoLinks};
use whimbrel_study::real::{self, Order, Progress, Row, Trial};

/// Runs the trials, with a progress bar for each. `stopped` ends them, and leaves nothing behind.
///
/// # Errors
/// Those of [`real::run`], and if it was stopped.
pub fn run(trials: Vec<Trial>, order: Order, stopped: &AtomicBool) -> anyhow::Result<Vec<Row>> {
    let count = trials.len();
    let title = |(i, trial): (usize, &Trial)| match order {
        Order::AtOnce => trial.controller.to_string(),
        Order::InTurn => {
            let carrier = trial.carrier.title();
            format!("{}/{count} {}, {carrier}", i + 1, trial.controller)
        }
    };
    let titles = trials.iter().enumerate().map(title).collect();
    let mut watch = watching(titles, stopped);
    ended(real::run(trials, order, &Bar::new(), &mut watch))
}

/// Runs the transfers of one file over two links, in the same way.
///
/// # Errors
/// Those of [`TwoLinks::run`], and if it was stopped.
pub fn run_two_links(what: TwoLinks, stopped: &AtomicBool) -> anyhow::Result<Comparison> {
    let titles = ["first link", "second link", "both", "one pulled"];
    let mut watch = watching(titles.map(str::to_owned).to_vec(), stopped);
    ended(what.run(&Bar::new(), &mut watch))
}

fn ended<T>(result: Result<T, Error>) -> anyhow::Result<T> {
    match result {
        Err(Error::Stopped) => bail!("stopped before all transfers had ended"),
        result => Ok(result?),
    }
}

/// Shows a progress bar for each transfer, and ends all when `stopped` is set.
fn watching(
    titles: Vec<String>,
    stopped: &AtomicBool,
) -> impl FnMut(usize, Progress) -> ControlFlow<()> {
    let bars = MultiProgress::new();
    let mut shown: Vec<Option<ProgressBar>> = vec![None; titles.len()];
    move |i: usize, progress: Progress| {
        let Progress {
            stored,
            size,
            ended,
        } = progress;
        let new = || bars.add(bar(titles[i].clone(), size.get()));
        let bar = shown[i].get_or_insert_with(new);
        bar.set_position(stored.get());
        match ended && !bar.is_finished() {
            // The table says why nothing arrived.
            true if stored.is_zero() => bar.finish_and_clear(),
            true => bar.finish(),
            false => {}
        }
        match stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// A bar for a transfer of this many bytes.
fn bar(title: String, size: u64) -> ProgressBar {
    let bar = ProgressBar::new(size);
    let template = "{prefix:>12} {wide_bar} {bytes}/{total_bytes} in {elapsed}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(title);
    bar
}
