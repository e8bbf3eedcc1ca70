//! The flows under test of a comparison. Their neighbours on the path have no rows of their own.

use crate::page::{others, ranked};
use whimbrel_report::figures::{is_controller, own_name};
use whimbrel_report::{Row, rows, rows_of};
use whimbrel_sim::scenario::Point;
use whimbrel_sim::sweep::Run;

/// The name of the flows under test in a scenario.
pub const FLOWS: &str = "tested";

/// The mark behind the name of an algorithm that must not share a network.
pub const MARK: &str = " !";

/// Which flows are under test beside neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The neighbours' own algorithm, if they have one in common and it is under test, too: what
    /// they keep is measured against what they deliver beside it.
    pub reference: Option<String>,
}

/// The rows of a table, the highest goodput of each path first: of the flows under test, or of all
/// if nothing is beside them.
pub fn table_rows(tested: Option<&Tested>, runs: &[Run<'_>]) -> Vec<Row> {
    let Some(Tested { reference }) = tested else {
        return ranked(rows(runs));
    };
    let mut rows = ranked(rows_of(runs, FLOWS));
    let beside_their_own = |row: &Row| reference.as_ref() == Some(&row.controller);
    let own: Vec<(Vec<(String, String)>, f64)> = rows
        .iter()
        .filter(|row| beside_their_own(row))
        .filter_map(|row| Some((others(row), row.neighbours?.mean)))
        .collect();
    for row in &mut rows {
        let at = others(row);
        let own = own.iter().find(|(place, _)| *place == at);
        row.kept = own.zip(row.neighbours).and_then(|((_, own), now)| {
            let kept = now.mean / own;
            kept.is_finite().then_some(kept)
        });
    }
    rows
}

/// The goodput of the flows under test, bit/s.
pub fn goodput(tested: Option<&Tested>, run: &Run<'_>) -> f64 {
    let flows = run.outcome.flows.iter();
    let delivered = flows
        .filter(|flow| tested.is_none() || own_name(flow) == FLOWS)
        .map(|flow| flow.delivered.get() as f64);
    delivered.sum::<f64>() * 8.0 / run.outcome.duration.as_secs_f64().max(1e-9)
}

/// The controller of the flows under test: of a comparison it is always swept.
pub fn controller(point: &Point) -> Option<String> {
    let own = point.parameters().iter().find(|p| is_controller(&p.key));
    own.map(|own| own.value.to_string())
}
