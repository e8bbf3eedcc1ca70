//! The statistics of a path as a table.

use super::emulated::Topology;
use serde_json::{Value, json};
use whimbrel_link::{DirectionReport, PathReport};
use whimbrel_net::Counters;
use whimbrel_report::text_table;
use whimbrel_units::Duration;

/// A table with a column for each direction, and notes below it.
pub fn path_table(report: &PathReport) -> String {
    let names: Vec<String> = (0..=report.more.len())
        .flat_map(|number| {
            let of = match report.more.is_empty() {
                true => String::new(),
                false => format!("whimbrel{number}, "),
            };
            ["near to far", "far to near"].map(|side| format!("{of}{side}"))
        })
        .collect();
    let directions: Vec<_> = links(report).flatten().collect();
    table("path", &names, &directions, report.elapsed) + &notes(report)
}

/// A table for each link of a topology, and notes below them.
pub fn topology_tables(report: &PathReport, topology: &Topology) -> String {
    let tables = topology.links.iter().zip(links(report));
    let tables = tables.map(|(link, directions)| {
        let [from, to] = topology.ends(link);
        let names = [format!("{from} to {to}"), format!("{to} to {from}")];
        table(&link.name, &names, &directions, report.elapsed)
    });
    tables.collect::<Vec<_>>().join("\n") + &notes(report)
}

/// The statistics of a topology as JSON: those of each link with its name and its ends.
pub fn topology_json(report: &PathReport, topology: &Topology) -> Value {
    let mut value = report.json();
    let mut take = |key: &str| value.as_object_mut().and_then(|all| all.remove(key));
    let (forward, backward) = (take("forward"), take("backward"));
    let first = json!({ "forward": forward, "backward": backward });
    let more = match take("more") {
        Some(Value::Array(more)) => more,
        _ => Vec::new(),
    };
    let links = topology
        .links
        .iter()
        .zip(std::iter::once(first).chain(more));
    let links = links.map(|(link, mut directions)| {
        directions["name"] = link.name.clone().into();
        directions["between"] = json!(topology.ends(link));
        directions
    });
    value["links"] = links.collect();
    value
}

/// Both directions of each link.
fn links(report: &PathReport) -> impl Iterator<Item = [&DirectionReport; 2]> {
    let more = report.more.iter().map(|both| both.each_ref());
    std::iter::once([&report.forward, &report.backward]).chain(more)
}

fn table(
    what: &str,
    names: &[String],
    directions: &[&DirectionReport],
    elapsed: Duration,
) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, cell: &dyn Fn(&DirectionReport) -> String| {
        let cells = directions.iter().copied().map(cell);
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    row("packets offered", &|d| d.counters.offered.to_string());
    // Those that are always shown come with `true`; others if there are any.
    let counts: [(&str, bool, Count); 8] = [
        ("packets delivered", true, |c| c.delivered),
        ("lost: buffer full", true, |c| c.queue_overflow),
        ("lost: dropped early", false, |c| c.early),
        ("marked", false, |c| c.marked),
        ("lost at random", true, |c| c.random),
        ("lost in outages", false, |c| c.outage),
        ("lost: collided", false, |c| c.contention),
        ("corrupted", false, |c| c.corrupted),
    ];
    for (name, always, count) in counts {
        if always || directions.iter().any(|d| count(&d.counters) > 0) {
            row(name, &|d| share(count(&d.counters), d.counters.offered));
        }
    }
    row("mean rate", &|d| d.mean_rate(elapsed).to_string());
    if directions.iter().any(|d| d.utilisation().is_some()) {
        let percent = |u: f64| format!("{:.1} %", u * 100.0);
        row("utilization", &|d| {
            d.utilisation().map_or_else(String::new, percent)
        });
        row("wait in queue, mean", &|d| ms(d.mean_wait()));
        row("wait in queue, longest", &|d| ms(d.counters.longest_wait));
    }
    row("emulator late, p50", &|d| us(d.lateness.p50));
    row("emulator late, p99", &|d| us(d.lateness.p99));
    row("emulator late, most", &|d| us(d.lateness.max));
    let head = format!("{what}, {:.1} s", elapsed.as_secs_f64());
    let mut columns = vec![(&*head, false)];
    columns.extend(names.iter().map(|name| (name.as_str(), true)));
    text_table(&columns, &rows)
}

/// What a user should know beside the numbers.
fn notes(report: &PathReport) -> String {
    let mut text = String::new();
    let mut note = |line: String| text.push_str(&format!("note: {line}\n"));
    let sum = |what: fn(&DirectionReport) -> u64| links(report).flatten().map(what).sum::<u64>();
    let missed = sum(|d| d.missed.unwrap_or(0));
    if missed > 0 {
        note(format!(
            "{missed} packets were lost before they reached the path: this machine is too slow for the traffic"
        ));
    }
    let unheld = sum(|d| d.out_of_memory);
    if unheld > 0 {
        note(format!(
            "{unheld} packets were lost because too many were in transit: reduce the buffer size or the delay"
        ));
    }
    report.notes.iter().cloned().for_each(note);
    text
}

/// Reads one of a link's counters.
type Count = fn(&Counters) -> u64;

/// `12 (0.6 %)`
fn share(part: u64, of: u64) -> String {
    match part {
        0 => "0".to_owned(),
        _ => format!("{part} ({:.2} %)", part as f64 / of.max(1) as f64 * 100.0),
    }
}

fn ms(span: Duration) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

fn us(span: Duration) -> String {
    format!("{:.0} us", span.as_millis_f64() * 1e3)
}
