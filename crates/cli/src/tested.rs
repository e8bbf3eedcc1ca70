//! The flows under test of a comparison. Their neighbours on the path have no rows of their own.

use crate::page::{others, ranked};
use whimbrel_report::{Row, rows, rows_of};
use whimbrel_sim::sweep::Run;
pub use whimbrel_study::compare::{TESTED, Tested, goodput};

/// The mark behind the name of an algorithm that must not share a network.
pub const MARK: &str = " !";

/// The rows of a table, the highest goodput of each path first: of the flows under test, or of all
/// if nothing is beside them.
pub fn table_rows(tested: Option<&Tested>, runs: &[Run<'_>]) -> Vec<Row> {
    let Some(Tested { reference }) = tested else {
        return ranked(rows(runs));
    };
    let mut rows = ranked(rows_of(runs, TESTED));
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
