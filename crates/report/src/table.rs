//! Results as text tables.

use crate::fit::{self, Column};
use crate::page;
use crate::rows::Row;
use crate::short_names::short_names;
use crate::stat::{Stat, decimals};
use comfy_table::{
    Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};

/// Width of a table of sentences without a terminal, and its maximum.
const USUAL_WIDTH: u16 = 120;
const MAXIMUM_WIDTH: u16 = 130;

/// Characters of a row that a page shows without scrolling.
const PAGE_WIDTH: usize = 116;
/// On a narrower terminal the words decide.
const LEAST_WIDTH: usize = 20;

/// One line below the heads, and no other lines.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none());

/// The factor of fractions that are shown in percent.
const PERCENT: f64 = 100.0;
/// More decimals than this are not shown to tell a small value from zero.
const MOST_DECIMALS: usize = 5;

/// The head of the only column of counts.
const CHANGES: &str = "path\nchanges";

/// A column of numbers.
struct Quantity {
    /// Its name and, on a second line, its unit.
    head: &'static str,
    /// Converts the row's unit to the one that is shown.
    factor: f64,
    of: fn(&Row) -> Option<Stat>,
    /// Number of decimals; `None`: as many as the numbers need.
    decimals: Option<usize>,
    /// How soon it is left out on a narrow terminal: the highest first.
    least: u8,
}

const QUANTITIES: [Quantity; 19] = [
    Quantity {
        head: "share\n%",
        factor: 100.0,
        of: |row| row.share,
        decimals: None,
        least: 2,
    },
    Quantity {
        head: "RTT\nms",
        factor: 1e3,
        of: |row| row.rtt_mean,
        decimals: None,
        least: 1,
    },
    Quantity {
        head: "RTT p95\nms",
        factor: 1e3,
        of: |row| row.rtt_p95,
        decimals: None,
        least: 6,
    },
    Quantity {
        head: "cwnd\nkB",
        factor: 1e-3,
        of: |row| row.cwnd,
        decimals: None,
        least: 8,
    },
    Quantity {
        head: "msg p50\nms",
        factor: 1e3,
        of: |row| row.latency[0],
        decimals: None,
        least: 3,
    },
    Quantity {
        head: "msg p95\nms",
        factor: 1e3,
        of: |row| row.latency[1],
        decimals: None,
        least: 2,
    },
    Quantity {
        head: "msg p99\nms",
        factor: 1e3,
        of: |row| row.latency[2],
        decimals: None,
        least: 5,
    },
    Quantity {
        head: "blocked\nms",
        factor: 1e3,
        of: |row| row.blocked,
        decimals: None,
        least: 4,
    },
    Quantity {
        head: "delivered\n%",
        factor: 100.0,
        of: |row| row.delivered,
        decimals: None,
        least: 1,
    },
    Quantity {
        head: "queue\nms",
        factor: 1e3,
        of: |row| row.queue_delay,
        decimals: None,
        least: 3,
    },
    Quantity {
        head: "resent\n%",
        factor: 100.0,
        of: |row| Some(row.retransmits),
        decimals: None,
        least: 9,
    },
    Quantity {
        head: "by NACK\n%",
        factor: 100.0,
        of: |row| row.nacked,
        decimals: None,
        least: 7,
    },
    Quantity {
        head: "lost\n%",
        factor: 100.0,
        of: |row| Some(row.loss),
        decimals: None,
        least: 2,
    },
    Quantity {
        head: "marked\n%",
        factor: 100.0,
        of: |row| row.marked,
        decimals: None,
        least: 5,
    },
    Quantity {
        head: "Jain\n",
        factor: 1.0,
        of: |row| row.jain,
        decimals: Some(3),
        least: 1,
    },
    Quantity {
        head: "judged\nright %",
        factor: 100.0,
        of: |row| row.accuracy,
        decimals: None,
        least: 4,
    },
    Quantity {
        head: "Brier\n",
        factor: 1.0,
        of: |row| row.brier,
        decimals: Some(3),
        least: 8,
    },
    Quantity {
        head: "done in\ns",
        factor: 1.0,
        of: |row| row.completion,
        decimals: None,
        least: 1,
    },
    Quantity {
        head: CHANGES,
        factor: 1.0,
        of: |row| row.path_changes,
        decimals: None,
        least: 5,
    },
];

/// The meaning of the columns of [`table`], for a command's help.
pub const COLUMNS: &str = "\
goodput         data delivered to the applications, all flows together, mean ±
                standard deviation
neighbours      data delivered to the applications of all other flows (`compare
                --neighbours`)
they keep       that, of what they deliver beside flows of their own kind on the
                same path
share           utilization: goodput over the capacity of the links (headers
                included, fair shares)
RTT, RTT p95    mean and 95th percentile of the round-trip time
cwnd            congestion window of a path, mean over time
msg p50 ...     percentiles of the messages' latency, from arrival at the sender
                to delivery
blocked         mean time that a complete message was held at the receiver
                behind others
delivered       messages delivered before the end of the run, of those that
                arrived
queue           mean wait in the queue with the longest wait
resent, lost    data packets retransmitted, and lost for any cause, of those
                sent
by NACK         data packets retransmitted after a negative acknowledgment, of
                those sent
marked          data packets that arrived marked instead of dropped (ECN), of
                those sent
Jain            fairness of the flows' goodput: 1 is equal shares
judged right    correct classifications of losses, by algorithms that classify
                them
Brier           mean of (p - truth)^2 over the losses, 0 is best: p is the
                confidence that a loss is congestion; shown if an algorithm
                grades its confidence
done in         time from a flow's start until all its data was delivered
path changes    path changes detected, by algorithms that look for them, mean
                over the flows
└ ROUTE         one path of the flows above: data it delivered first, its RTT,
                  window and losses";

/// A table of rows without the columns that do not apply. Ends with a newline.
///
/// Sweep keys have their [short names](short_names). On a terminal that is too narrow, standard
/// deviations and then the least important columns are left out, and a line says which; if that is
/// not enough, each value has a line of its own.
pub fn table(rows: &[Row]) -> String {
    table_within(rows, fit::terminal())
}

/// The same for a terminal of this width; `None`: all columns.
pub fn table_within(rows: &[Row], width: Option<usize>) -> String {
    fitting(columns(rows), width)
}

/// The columns that fit this width, and below the table which were left out.
fn fitting(columns: Vec<Column>, width: Option<usize>) -> String {
    let (shown, left_out) = fit::fit(columns, width);
    let mut text = fit::print(&shown, width, drawn);
    if !left_out.is_empty() {
        let line = format!("not shown for lack of width: {}", left_out.join(", "));
        let width = width.unwrap_or(usize::MAX).max(LEAST_WIDTH);
        text += &format!("{}\n", fit::fill_within(&line, " ", width));
    }
    text
}

/// The same as [`table`] for a page, with all columns. If it is wider than the page, only the
/// columns that matter most have standard deviations.
pub fn page_table(caption: &str, rows: &[Row]) -> page::Table {
    let mut shown = columns(rows);
    for column in &mut shown {
        column.head = one_line(&column.head);
    }
    fit::shorten(&mut shown, PAGE_WIDTH, 1);
    let column = |c: &Column| page::Column {
        name: c.head.clone(),
        number: c.right,
    };
    let line = |i: usize| shown.iter().map(|c| c.cells[i].clone()).collect();
    page::Table {
        caption: caption.to_owned(),
        columns: shown.iter().map(column).collect(),
        rows: (0..rows.len()).map(line).collect(),
    }
}

/// The head of a column in one line: `goodput, Mbit/s`.
fn one_line(head: &str) -> String {
    let mut words = head.lines();
    let (name, unit) = (words.next().unwrap_or_default(), words.next());
    match unit.filter(|unit| !unit.is_empty()) {
        Some(unit) if HEADS.contains(&head) => format!("{name} {unit}"),
        Some(unit) => format!("{name}, {unit}"),
        None => name.to_owned(),
    }
}

/// Heads whose second line is not a unit.
const HEADS: [&str; 2] = ["judged\nright %", CHANGES];

fn columns(rows: &[Row]) -> Vec<Column> {
    let mut columns = parameter_columns(rows);
    columns.push(text("controller", false, rows, |row| match &row.route {
        Some(route) => format!("└ {route}"),
        None if row.harmful => format!("{} !", row.controller),
        None => row.controller.clone(),
    }));
    if rows.iter().any(|row| row.flows > 1) {
        columns.push(text("flows", true, rows, |row| row.flows.to_string()));
    }
    let (factor, unit) = rate_unit(rows);
    let goodput = Quantity {
        head: "",
        factor,
        of: |row| Some(row.goodput),
        decimals: None,
        least: 0,
    };
    columns.extend(number(&format!("goodput\n{unit}"), &goodput, rows));
    let beside = Quantity {
        of: |row| row.neighbours,
        ..goodput
    };
    columns.extend(number(&format!("neighbours\n{unit}"), &beside, rows));
    let kept = Quantity {
        factor: 100.0,
        of: |row| row.kept.map(|mean| Stat { mean, sd: None }),
        decimals: Some(0),
        ..goodput
    };
    columns.extend(number("they keep\n%", &kept, rows));
    let several = rows
        .iter()
        .any(|row| row.jain.is_some_and(|jain| jain.mean != 1.0));
    let undelivered = rows
        .iter()
        .any(|row| row.delivered.is_some_and(|share| share.mean != 1.0));
    // Without a confidence it is the fraction of wrong decisions, which is shown already.
    let graded = rows.iter().any(|row| {
        let both = row.brier.zip(row.accuracy);
        both.is_some_and(|(brier, right)| (brier.mean + right.mean - 1.0).abs() > 1e-9)
    });
    for quantity in QUANTITIES.iter().filter(|q| {
        (several || !q.head.starts_with("Jain"))
            && (graded || !q.head.starts_with("Brier"))
            && (undelivered || !q.head.starts_with("delivered"))
    }) {
        columns.extend(number(quantity.head, quantity, rows));
    }
    columns
}

/// A table in the project's style. `right`: the columns of numbers. On a terminal that is too
/// narrow, each value has a line of its own. Ends with a newline.
pub fn plain(heads: &[String], right: &[bool], lines: &[Vec<String>]) -> String {
    fitting(plain_columns(heads, right, lines), fit::terminal())
}

/// The same; on a terminal that is too narrow, the columns of these heads are left out first, in
/// this order, and a line says which.
pub fn plain_without(
    first: &[&str],
    heads: &[String],
    right: &[bool],
    lines: &[Vec<String>],
) -> String {
    let mut columns = plain_columns(heads, right, lines);
    for column in &mut columns {
        let place = first.iter().rev().position(|head| *head == column.head);
        column.least = place.map_or(0, |place| place as u8 + 1);
    }
    fitting(columns, fit::terminal())
}

/// A table of these columns: the head of each, and whether it is aligned to the right.
pub fn text_table(columns: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    text_table_without(&[], columns, rows)
}

/// The same; on a terminal that is too narrow, the columns of the heads in `first` are left out.
pub fn text_table_without(
    first: &[&str],
    columns: &[(&str, bool)],
    rows: &[Vec<String>],
) -> String {
    let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    let right: Vec<bool> = columns.iter().map(|(_, right)| *right).collect();
    plain_without(first, &heads, &right, rows)
}

/// A cell that may be empty.
pub fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn plain_columns(heads: &[String], right: &[bool], lines: &[Vec<String>]) -> Vec<Column> {
    let column = |(i, head): (usize, &String)| Column {
        head: head.clone(),
        right: right.get(i).copied().unwrap_or(false),
        cells: lines
            .iter()
            .map(|line| line.get(i).cloned().unwrap_or_default())
            .collect(),
        short: None,
        least: 0,
    };
    heads.iter().enumerate().map(column).collect()
}

/// The columns beside each other, however wide.
fn drawn(columns: &[Column]) -> String {
    let heads: Vec<String> = columns.iter().map(|c| c.head.clone()).collect();
    let right: Vec<bool> = columns.iter().map(|c| c.right).collect();
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |i: usize| columns.iter().map(|c| c.cells[i].clone()).collect();
    let mut table = filled(&heads, &right, &(0..rows).map(line).collect::<Vec<_>>());
    table.set_content_arrangement(ContentArrangement::Disabled);
    format!("{}\n", table.trim_fmt())
}

/// The same for cells with sentences: at most as wide as a page of text, even in a file.
pub fn wrapped(heads: &[String], right: &[bool], lines: &[Vec<String>]) -> String {
    let mut table = filled(heads, right, lines);
    let width = table.width().unwrap_or(USUAL_WIDTH);
    table.set_width(width.min(MAXIMUM_WIDTH));
    format!("{}\n", table.trim_fmt())
}

fn filled(heads: &[String], right: &[bool], lines: &[Vec<String>]) -> Table {
    let cell = |(i, text): (usize, &String)| {
        let right = right.get(i).copied().unwrap_or(false);
        let alignment = if right {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        };
        Cell::new(text).set_alignment(alignment)
    };
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(heads.iter().enumerate().map(cell));
    for line in lines {
        table.add_row(line.iter().enumerate().map(cell));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    // A terminal of unknown width has the width 0: format as for a file.
    if table.width() == Some(0) {
        table.force_no_tty();
    }
    table
}

fn text(head: &str, right: bool, rows: &[Row], show: impl Fn(&Row) -> String) -> Column {
    Column {
        head: head.to_owned(),
        right,
        cells: rows.iter().map(show).collect(),
        short: None,
        least: 0,
    }
}

/// `None` if no row has a value, or if nothing was counted in any.
fn number(head: &str, quantity: &Quantity, rows: &[Row]) -> Option<Column> {
    let stats: Vec<Option<Stat>> = rows.iter().map(quantity.of).collect();
    let maximum = stats
        .iter()
        .flatten()
        .map(|stat| stat.mean * quantity.factor)
        .reduce(f64::max)?;
    let decimals = quantity.decimals.unwrap_or(decimals(maximum));
    let counted = head == CHANGES;
    if counted && maximum == 0.0 {
        return None;
    }
    let enough = |stat: &Stat| match quantity.factor == PERCENT {
        true => enough(stat.mean * quantity.factor, decimals),
        false => decimals,
    };
    let cells = |spread: bool| {
        let show = |stat: &Option<Stat>| match stat {
            Some(stat) if counted && is_the_same_count(stat) => format!("{:.0}", stat.mean),
            Some(stat) if spread => stat.show(quantity.factor, enough(stat)),
            Some(stat) => Stat { sd: None, ..*stat }.show(quantity.factor, enough(stat)),
            None => "-".to_owned(),
        };
        stats.iter().map(show).collect()
    };
    Some(Column {
        head: head.to_owned(),
        right: true,
        cells: cells(true),
        short: Some(cells(false)),
        least: quantity.least,
    })
}

/// The number of decimals for a percentage: those of its column, or more if it would look like zero
/// although it is not.
fn enough(value: f64, decimals: usize) -> usize {
    // Far smaller values are noise of the arithmetic.
    let places = decimals..=decimals.max(MOST_DECIMALS);
    let looks_like_zero = |places: &usize| value.abs() < 0.5 * 10_f64.powi(-(*places as i32));
    match value.abs() < 0.5 * 10_f64.powi(-(MOST_DECIMALS as i32)) {
        true => decimals,
        false => places
            .into_iter()
            .find(|p| !looks_like_zero(p))
            .unwrap_or(decimals),
    }
}

/// Whether every run counted the same: a deviation of zero says nothing.
fn is_the_same_count(stat: &Stat) -> bool {
    stat.sd.is_none_or(|sd| sd == 0.0) && stat.mean.fract() == 0.0
}

/// A column for each swept key except the controller.
fn parameter_columns(rows: &[Row]) -> Vec<Column> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    let keys: Vec<&str> = first.parameters.iter().map(|p| p.key.as_str()).collect();
    let names = short_names(&keys);
    let column = |(i, _): (usize, &&str)| {
        let show = |row: &Row| {
            row.parameters
                .get(i)
                .map(|p| p.value.to_string())
                .unwrap_or_default()
        };
        text(&names[i], true, rows, show)
    };
    keys.iter()
        .enumerate()
        .filter(|(_, key)| **key != "flow.controller")
        .map(column)
        .collect()
}

fn rate_unit(rows: &[Row]) -> (f64, &'static str) {
    let maximum = rows.iter().map(|row| row.goodput.mean).fold(0.0, f64::max);
    match maximum {
        x if x >= 2e9 => (1e-9, "Gbit/s"),
        x if x >= 1e6 => (1e-6, "Mbit/s"),
        _ => (1e-3, "kbit/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;
    use whimbrel_sim::sweep;

    /// Rows of two algorithms, one with a long name, at two losses with two seeds.
    fn sample() -> Vec<Row> {
        let text = "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
                    [[flow]]\nroute = [\"L\"]\n[run]\nduration = \"2 s\"\nseeds = 2\n[sweep]\n\
                    \"link.L.loss\" = [\"0.1 %\", \"1 %\"]\n\
                    \"flow.controller\" = [\"cubic\", \"cerl-plus-printed\"]\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
        crate::rows(&runs)
    }

    #[test]
    fn counts_have_no_decimals_and_without_any_there_is_no_column() {
        let mut rows = sample();
        let counts = |rows: &mut [Row], all: [(f64, Option<f64>); 4]| {
            for (row, (mean, sd)) in rows.iter_mut().zip(all) {
                row.path_changes = Some(Stat { mean, sd });
            }
            let last = columns(rows).pop().expect("the last column");
            (last.head == CHANGES).then_some(last.cells)
        };
        let zero = (0.0, Some(0.0));
        assert_eq!(counts(&mut rows, [zero; 4]), None);
        let some = [zero, (2.0, Some(0.0)), (2.5, Some(0.71)), (3.0, None)];
        let shown = ["0", "2", "2.50 ± 0.71", "3"].map(str::to_owned);
        assert_eq!(counts(&mut rows, some), Some(shown.to_vec()));
    }

    #[test]
    fn a_swept_key_behind_the_controller_has_its_own_values() {
        let text = "[link.L]\nrate = \"5 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\n\
                    [run]\nduration = \"1 s\"\n[sweep]\n\
                    \"flow.controller\" = [\"cubic\", \"newreno\"]\n\
                    \"link.L.loss\" = [\"0 %\", \"1 %\"]\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
        let all = columns(&crate::rows(&runs));
        assert_eq!(
            (all[0].head.as_str(), all[1].head.as_str()),
            ("loss", "controller")
        );
        assert_eq!(all[0].cells, ["0 %", "1 %", "0 %", "1 %"]);
        assert_eq!(all[1].cells, ["cubic", "cubic", "newreno", "newreno"]);
    }

    #[test]
    fn what_was_lost_rarely_is_not_shown_as_nothing() {
        let mut rows = sample();
        let losses = [(0.12, 0.01), (0.0002, 0.0001), (0.0, 0.0), (0.000_003, 0.0)];
        for (row, (mean, sd)) in rows.iter_mut().zip(losses) {
            row.loss = Stat { mean, sd: Some(sd) };
        }
        let all = columns(&rows);
        let lost = all.iter().find(|column| column.head == "lost\n%");
        let lost = lost.expect("a column");
        assert_eq!(lost.cells[0], "12.0 ± 1.0");
        assert_eq!(lost.cells[1], "0.02 ± 0.01");
        assert_eq!(lost.cells[2], "0.0 ± 0.0");
        assert_eq!(lost.cells[3], "0.0003 ± 0.0000");
        let short = lost.short.as_ref().expect("without deviations");
        assert_eq!(short[1], "0.02");
        // Noise of the arithmetic is none.
        assert_eq!(
            (enough(1e-9, 1), enough(-0.3, 0), enough(0.04, 1)),
            (1, 1, 2)
        );
    }

    #[test]
    fn a_table_never_exceeds_the_terminal_and_breaks_no_word() {
        let rows = sample();
        let whole = table_within(&rows, None);
        for width in 34..=200 {
            let text = table_within(&rows, Some(width));
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            for word in ["cerl-plus-printed", "0.1 %", "Mbit/s"] {
                assert!(text.contains(word), "{width}: no {word} in\n{text}");
            }
        }
        assert_eq!(table_within(&rows, Some(200)), whole);
        // Deviations first, then the retransmissions.
        let at_80 = table_within(&rows, Some(80));
        assert!(
            at_80.contains("RTT p95") && at_80.matches('±').count() < whole.matches('±').count()
        );
        let narrow = table_within(&rows, Some(60));
        assert!(
            narrow.contains("not shown for lack of width: resent %"),
            "{narrow}"
        );
        // Turned: a line for each value.
        assert!(table_within(&rows, Some(30)).contains("controller      cubic\n"));
    }
}
