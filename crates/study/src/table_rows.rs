//! The rows of a table of results, in their order. Neighbours of the flows under test have no rows
//! of their own.

use crate::under_test::{TESTED, Tested};
use whimbrel_report::figures::is_controller;
use whimbrel_report::{Row, rows, rows_of};
use whimbrel_sim::sweep::Run;

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

/// The rows of each combination of the other swept values, the highest goodput first.
fn ranked(mut rows: Vec<Row>) -> Vec<Row> {
    let mut order: Vec<Vec<(String, String)>> = Vec::new();
    let place = |row: &Row, order: &mut Vec<Vec<(String, String)>>| {
        let key = others(row);
        order
            .iter()
            .position(|known| *known == key)
            .unwrap_or_else(|| {
                order.push(key);
                order.len() - 1
            })
    };
    let mut keyed: Vec<(usize, Row)> = rows
        .drain(..)
        .map(|row| (place(&row, &mut order), row))
        .collect();
    keyed.sort_by(|(a, first), (b, second)| {
        let goodput = |row: &Row| row.goodput.mean;
        a.cmp(b).then(goodput(second).total_cmp(&goodput(first)))
    });
    keyed.into_iter().map(|(_, row)| row).collect()
}

/// The swept values of a row but those of controllers.
pub fn others(row: &Row) -> Vec<(String, String)> {
    let other = row.parameters.iter().filter(|p| !is_controller(&p.key));
    other
        .map(|p| (p.key.clone(), p.value.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;
    use whimbrel_sim::sweep::{jobs, run_all};

    #[test]
    fn what_neighbours_keep_is_of_what_they_have_on_the_same_path() {
        let text = "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
                    [[flow]]\nname = \"tested\"\nroute = [\"L\"]\n\
                    [[flow]]\ncontroller = \"cubic\"\nroute = [\"L\"]\n\
                    [run]\nduration = \"5 s\"\n[sweep]\n\
                    \"link.L.loss\" = [\"0 %\", \"3 %\"]\n\
                    \"flow.tested.controller\" = [\"bbr\", \"cubic\"]\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let runs = run_all(&jobs(scenario.points()), None, || {}).expect("threads");
        let tested = Tested {
            reference: Some("cubic".to_owned()),
        };
        let rows = table_rows(Some(&tested), &runs);
        assert_eq!(rows.len(), 4);
        for row in &rows {
            let kept = row.kept.expect("neighbours");
            match row.controller.as_str() {
                "cubic" => assert_eq!(kept, 1.0),
                _ => assert!(kept < 1.0, "{row:?}"),
            }
        }
        // The best of each path comes first, and the paths stay in their order.
        assert_eq!(others(&rows[0])[0].1, "0 %");
        assert!(rows[2].goodput.mean >= rows[3].goodput.mean);
        // Without neighbours there is no such number.
        assert!(table_rows(None, &runs).iter().all(|row| row.kept.is_none()));
    }
}
