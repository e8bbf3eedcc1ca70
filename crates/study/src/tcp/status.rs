//! The connections of running instances as tables.

use crate::count;
use std::fmt::Write;
use whimbrel_linux::status::{ConnectionRecord, Found, Snapshot};
use whimbrel_report::{cell, text_table};

/// Heads of the columns, and whether each is aligned to the right.
const HEADS: [(&str, bool); 9] = [
    ("port", true),
    ("remote", false),
    ("cwnd\nkB", true),
    ("pacing\nMbit/s", true),
    ("RTT\nms", true),
    ("rate\nMbit/s", true),
    ("lost", true),
    ("phase", false),
    ("c/r", true),
];
/// Phases are cut to this many characters, so that a row fits 80 columns.
const PHASE: usize = 10;

/// The tables of all instances, each in as many lines as `height` allows.
pub fn status(found: &Found, height: Option<usize>) -> String {
    let mut text = String::new();
    // Six lines of each table are not connections; one line is left for the cursor.
    let rows = height.map(|height| {
        let lines = height.saturating_sub(1 + found.refused.len());
        let each = lines / found.snapshots.len().max(1);
        each.saturating_sub(6).max(1)
    });
    for (i, snapshot) in found.snapshots.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        instance(&mut text, snapshot, rows.unwrap_or(usize::MAX));
    }
    for pid in &found.refused {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "PID {pid} belongs to another user: run as root to see it"
        );
    }
    text
}

fn instance(text: &mut String, snapshot: &Snapshot, rows: usize) {
    let Snapshot {
        pid,
        controller,
        what,
        ..
    } = snapshot;
    let open: Vec<&ConnectionRecord> = snapshot
        .connections
        .iter()
        .filter(|c| !c.ended && !c.fallback)
        .collect();
    let mut head = format!(
        "{} (PID {pid}, {:.0} s): {} of {}, {what}",
        printable(controller),
        snapshot.elapsed_s,
        open.len(),
        count(snapshot.connections_total, "connection"),
        what = printable(what),
    );
    if snapshot.fallbacks > 0 {
        head += &format!(
            "; {} on {}",
            snapshot.fallbacks,
            printable(&snapshot.fallback_controller)
        );
    }
    if snapshot.dropped_events > 0 {
        head += &format!("; {}", count(snapshot.dropped_events, "dropped event"));
    }
    let _ = writeln!(text, "{head}");
    if open.is_empty() {
        return;
    }
    let lines: Vec<Vec<String>> = open.iter().take(rows).map(|c| row(c)).collect();
    *text += &text_table(&HEADS, &lines);
    let more = open.len().saturating_sub(rows);
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
}

fn row(c: &ConnectionRecord) -> Vec<String> {
    let mbit = |rate: Option<u64>| cell(rate.map(|rate| short(rate as f64 / 1e6)));
    let phase: String = printable(&c.phase).chars().take(PHASE).collect();
    vec![
        c.local.port().to_string(),
        c.remote.to_string(),
        short(c.cwnd_bytes as f64 / 1e3),
        mbit(c.pacing_bps),
        cell(c.srtt_ms.map(whole)),
        mbit(c.delivery_bps),
        c.lost.to_string(),
        phase.trim_end().to_owned(),
        cell(c.verdicts.map(|v| format!("{}/{}", v.congestion, v.random))),
    ]
}

/// At most five characters for numbers below 100,000.
fn short(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Without decimals from 10 on.
fn whole(value: f64) -> String {
    match value {
        v if v < 9.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Another program's text without control characters, which could command the terminal.
fn printable(text: &str) -> String {
    let replaced = text.chars().map(|c| if c.is_control() { '?' } else { c });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_linux::testing::connection;

    fn snapshot(connections: usize) -> Snapshot {
        let mut c = connection("198.51.100.255:65535", 1_000_000);
        c.end = whimbrel_linux::End::StillOpen;
        let record = ConnectionRecord {
            pacing_bps: Some(123_456_000),
            delivery_bps: Some(98_765_000),
            phase: "congestion avoidance".to_owned(),
            lost: 1234,
            retransmits: 1234,
            cwnd_bytes: 12_345_000,
            ..ConnectionRecord::from(&c)
        };
        Snapshot {
            pid: 4711,
            controller: "cerl".to_owned(),
            fallback_controller: "cubic".to_owned(),
            what: "curl\x1b[2J".to_owned(),
            elapsed_s: 12.3,
            connections_total: 7,
            fallbacks: 1,
            dropped_events: 0,
            clamped: 0,
            connections: vec![record; connections],
        }
    }

    fn shown(connections: usize, height: Option<usize>) -> String {
        let found = Found {
            snapshots: vec![snapshot(connections)],
            refused: vec![12],
        };
        status(&found, height)
    }

    #[test]
    fn a_table_fits_80_columns_and_the_height_of_the_terminal() {
        let text = shown(2, None);
        assert!(
            text.starts_with("cerl (PID 4711, 12 s): 2 of 7 connections, curl?[2J; 1 on cubic\n"),
            "{text}"
        );
        let table = text.lines().skip(1);
        assert!(
            table.into_iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("PID 12 belongs to another user"), "{text}");
        let text = shown(100, Some(24));
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.contains("and 84 more"), "{text}");
    }

    #[test]
    fn control_characters_of_another_program_are_not_printed() {
        assert!(!shown(1, None).contains('\x1b'));
    }
}
