//! What defines a measure: one row of a table.

use super::view::View;

/// One measure.
#[derive(Debug)]
pub(crate) struct Definition {
    /// The name that experiment files use.
    pub(crate) name: &'static str,
    /// The unit of its values; empty if they have none.
    pub(crate) unit: &'static str,
    /// Whether it needs a run that was sampled over time.
    pub(crate) samples: Samples,
    /// Computes its value. `None` if the run has no such value.
    pub(crate) value: fn(&View<'_>) -> Option<f64>,
}

/// When a measure needs the samples of a run's time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Never. It covers the whole run and cannot be restricted to a period.
    Never,
    /// Only when it is restricted to a period.
    InPeriod,
    /// Always.
    Always,
}

/// `part` in percent of `whole`; `None` if `whole` is zero.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}
