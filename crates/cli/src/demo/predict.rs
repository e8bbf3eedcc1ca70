//! What the simulator predicts for the path of a demonstration.

use super::{DemoArgs, LARGEST, Trial};
use crate::progress::Bar;
pub use whimbrel_study::prediction::Prediction;
use whimbrel_units::{Bytes, Duration};

/// Runs with different seeds; their median is the prediction. Odd, so that the median is a run.
pub const SEEDS: u32 = 21;

/// A prediction for every controller, in order.
///
/// # Errors
/// If the simulator refuses the path.
pub fn all(args: &DemoArgs) -> anyhow::Result<Vec<Prediction>> {
    let predict = |controller| {
        let trial = args.trial(controller);
        match args.size {
            Some(size) => of(&trial, size, SEEDS),
            None => of(&trial, suitable_size(&trial, args.time)?, SEEDS),
        }
    };
    args.controllers.iter().map(predict).collect()
}

/// What the controller delivers in this time, by the median over the seeds; at most [`LARGEST`].
///
/// # Errors
/// If the simulator refuses the path.
pub fn suitable_size(trial: &Trial<'_>, time: Duration) -> anyhow::Result<Bytes> {
    Ok(trial
        .transfer
        .suitable_size(time, LARGEST, SEEDS, &Bar::new())?)
}

/// The prediction for a file of this size, from runs with the seeds 1 to `seeds`.
///
/// # Errors
/// If the simulator refuses the path.
pub fn of(trial: &Trial<'_>, size: Bytes, seeds: u32) -> anyhow::Result<Prediction> {
    Ok(trial.transfer.predict(size, seeds, &Bar::new())?)
}
