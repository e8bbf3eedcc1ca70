//! Results in words: times, and the rows as lines of a table.

use super::result::ResultRow;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use whimbrel_experiment::in_seeds;

/// A time: `40 s`, `6 min 10 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    match whole {
        s if s < 10.0 => format!("{seconds:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Local date and time: `2026-11-20 14:03`.
pub fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// Its rows as a table: the heads, which columns are numbers, and the lines.
pub fn rows(rows: &[ResultRow]) -> (Vec<String>, Vec<bool>, Vec<Vec<String>>) {
    let heads = ["", "", "paper", "measured", "difference", "expected", ""];
    let right = [false, false, true, true, true, true, false];
    let lines = rows.iter().map(line).collect();
    (heads.map(str::to_owned).to_vec(), right.to_vec(), lines)
}

fn line(result: &ResultRow) -> Vec<String> {
    let row = &result.row;
    let decimals = row.measured.map_or(0, decimals);
    let measured = match (row.measured, row.measured_stddev) {
        (Some(mean), Some(sd)) => format!("{mean:.decimals$} ± {sd:.decimals$}"),
        (Some(mean), None) => format!("{mean:.decimals$}"),
        (None, _) => "-".to_owned(),
    };
    let right = match (row.right, row.seeds_to_decide) {
        (Some(true), _) => "right".to_owned(),
        (Some(false), _) => "wrong".to_owned(),
        (None, Some(seeds)) => format!("undecided ({})", in_seeds(seeds)),
        (None, None) => String::new(),
    };
    vec![
        row.label.clone(),
        row.unit.clone(),
        row.paper.map_or(String::new(), |paper| paper.to_string()),
        measured,
        row.difference().map_or(String::new(), |d| d.to_string()),
        row.expected.clone(),
        right,
    ]
}

/// Number of decimals of a mean in a column with numbers of different sizes.
fn decimals(mean: f64) -> usize {
    match mean.abs() {
        x if x > 0.0 && x < 0.1 => 4,
        0.0 => 1,
        x => whimbrel_report::decimals(x).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_for_the_reader() {
        assert_eq!(
            [0.31, 9.96, 59.4, 59.6, 371.0].map(duration),
            ["0.3 s", "10 s", "59 s", "1 min 0 s", "6 min 11 s"]
        );
    }

    #[test]
    fn a_small_number_is_not_shown_as_zero() {
        let shown = |mean: f64| format!("{mean:.*}", decimals(mean));
        assert_eq!(
            [0.0023, 0.5, 2.346, 41.26, 12_345.6].map(shown),
            ["0.0023", "0.500", "2.35", "41.3", "12345.6"]
        );
    }
}
