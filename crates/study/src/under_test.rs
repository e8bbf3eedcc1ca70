//! The flows under test, beside others that are not.

use whimbrel_sim::sweep::Run;

/// The name of the flows under test beside neighbours.
pub const TESTED: &str = "tested";

/// Which flows are under test beside neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The neighbours' own algorithm, if they have one in common and it is under test, too: what
    /// they keep is measured against what they deliver beside it.
    pub reference: Option<String>,
}

/// The goodput of all flows or, if some are `tested`, of those, bit/s.
pub fn goodput(tested: bool, run: &Run<'_>) -> f64 {
    let flows = run.outcome.flows.iter();
    let delivered = flows
        .filter(|flow| !tested || flow.name.name == TESTED)
        .map(|flow| flow.delivered.get() as f64);
    delivered.sum::<f64>() * 8.0 / run.outcome.duration.as_secs_f64().max(1e-9)
}
