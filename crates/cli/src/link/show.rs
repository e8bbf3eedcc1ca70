//! The statistics of a path, as a table and as JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use whimbrel_link::{DirectionReport, Report};
use whimbrel_units::Duration;

/// A table with a column for each direction, and notes below it.
pub fn table(report: &Report) -> String {
    let directions = [&report.forward, &report.backward];
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut line = |name: &str, cell: &dyn Fn(&DirectionReport) -> String| {
        lines.push(
            std::iter::once(name.to_owned())
                .chain(directions.map(cell))
                .collect(),
        );
    };
    line("packets offered", &|d| d.counters.offered.to_string());
    line("packets delivered", &|d| {
        share(d.counters.delivered, d.counters.offered)
    });
    line("lost: buffer full", &|d| {
        share(d.counters.queue_overflow, d.counters.offered)
    });
    if directions.iter().any(|d| d.counters.early > 0) {
        line("lost: dropped early", &|d| {
            share(d.counters.early, d.counters.offered)
        });
    }
    if directions.iter().any(|d| d.counters.marked > 0) {
        line("marked", &|d| share(d.counters.marked, d.counters.offered));
    }
    line("lost at random", &|d| {
        share(d.counters.random, d.counters.offered)
    });
    if directions.iter().any(|d| d.counters.outage > 0) {
        line("lost in outages", &|d| {
            share(d.counters.outage, d.counters.offered)
        });
    }
    if directions.iter().any(|d| d.counters.contention > 0) {
        line("lost: collided", &|d| {
            share(d.counters.contention, d.counters.offered)
        });
    }
    if directions.iter().any(|d| d.counters.corrupted > 0) {
        line("corrupted", &|d| {
            share(d.counters.corrupted, d.counters.offered)
        });
    }
    line("mean rate", &|d| d.mean_rate(report.elapsed).to_string());
    if directions.iter().any(|d| d.utilisation().is_some()) {
        line("utilization", &|d| {
            d.utilisation()
                .map_or_else(String::new, |u| format!("{:.1} %", u * 100.0))
        });
        line("wait in queue, mean", &|d| ms(d.mean_wait()));
        line("wait in queue, longest", &|d| ms(d.counters.longest_wait));
    }
    line("emulator late, p50", &|d| us(d.lateness.p50));
    line("emulator late, p99", &|d| us(d.lateness.p99));
    line("emulator late, most", &|d| us(d.lateness.max));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let head = [
        format!("path, {:.1} s", report.elapsed.as_secs_f64()),
        "near to far".into(),
        "far to near".into(),
    ];
    table.set_header(head);
    table.add_rows(lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{}\n", table.trim_fmt());

    let mut note = |line: String| text.push_str(&format!("note: {line}\n"));
    let sum = |what: fn(&DirectionReport) -> u64| directions.into_iter().map(what).sum::<u64>();
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

/// All statistics, in bytes, seconds and bits per second.
pub fn json(report: &Report) -> Value {
    json!({
        "status": report.status,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "forward": direction(&report.forward, report.elapsed),
        "backward": direction(&report.backward, report.elapsed),
        "notes": report.notes,
    })
}

fn direction(d: &DirectionReport, elapsed: Duration) -> Value {
    let c = &d.counters;
    json!({
        "offered": c.offered,
        "delivered": c.delivered,
        "delivered_bytes": c.delivered_bytes.get(),
        "dropped": {
            "queue": c.queue_overflow,
            "early": c.early,
            "random": c.random,
            "outage": c.outage,
            "contention": c.contention,
        },
        "corrupted": c.corrupted,
        "marked": c.marked,
        "mean_rate_bps": d.mean_rate(elapsed).as_bits_per_sec(),
        "capacity_bytes": d.capacity.map(|b| b.get()),
        "utilisation": d.utilisation(),
        "mean_wait_s": d.mean_wait().as_secs_f64(),
        "longest_wait_s": c.longest_wait.as_secs_f64(),
        "most_waiting": c.most_waiting,
        "arrived": d.arrived,
        "on_the_way": d.on_the_way,
        "refused": d.refused,
        "lost_before_the_path": d.missed,
        "lost_for_memory": d.out_of_memory,
        "lateness_s": {
            "p50": d.lateness.p50.as_secs_f64(),
            "p99": d.lateness.p99.as_secs_f64(),
            "max": d.lateness.max.as_secs_f64(),
        },
    })
}
