//! Tables as text.

/// A table. `columns`: the head of each, and whether it is aligned to the right.
pub fn table(columns: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    without(&[], columns, rows)
}

/// The same; on a terminal that is too narrow, the columns of the heads in `first` are left out.
pub fn without(first: &[&str], columns: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    let right: Vec<bool> = columns.iter().map(|(_, right)| *right).collect();
    whimbrel_report::plain_without(first, &heads, &right, rows)
}

/// A cell that may be empty.
pub fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}
