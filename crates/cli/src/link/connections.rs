//! The connections under one of Whimbrel's algorithms, as text and as JSON.

use serde_json::{Value, json};
use whimbrel_cc::Spec;
use whimbrel_linux::{Connection, End, Report, Verdicts};

/// The maximum number of connections in the text. The JSON has all.
const MAX_ROWS: usize = 20;

/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 7] = [
    ("from", false),
    ("to", false),
    ("sent\nMB", true),
    ("goodput\nMbit/s", true),
    ("retransmitted\nsegments", true),
    ("timeouts", true),
    ("", false),
];

/// A table of the connections that sent data, the decisions of the loss classifier beside the
/// truth, and what limits the trust in both.
pub fn text(controller: &Spec, report: &Report) -> String {
    let senders: Vec<&Connection> = report.connections.iter().filter(|c| sent(c)).collect();
    let mut text = format!("\n{controller} on Linux TCP\n");
    if senders.is_empty() {
        text.push_str("no connection sent data\n");
    } else {
        let rows: Vec<Vec<String>> = senders.iter().take(MAX_ROWS).map(|c| row(c)).collect();
        let heads = COLUMNS.map(|(head, _)| head.to_owned());
        let right = COLUMNS.map(|(_, right)| right);
        text.push_str(&whimbrel_report::plain(&heads, &right, &rows));
        if let Some(more) = senders.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
            text.push_str(&format!("and {more} more; --json has all\n"));
        }
    }
    if let Some(verdicts) = all_verdicts(report) {
        text.push_str(&matrix(&verdicts));
    }
    for warning in warnings(report) {
        text.push_str(&format!("note: {warning}\n"));
    }
    text
}

/// The far end of each connection is under the algorithm too, and usually sends no data.
fn sent(connection: &Connection) -> bool {
    !connection.last.acked.is_zero()
}

fn row(c: &Connection) -> Vec<String> {
    let end = match c.end {
        End::Closed => "",
        End::StillOpen => "open",
        End::Fallback => "fallback",
    };
    vec![
        c.addresses.local.to_string(),
        c.addresses.remote.to_string(),
        format!("{:.1}", c.last.acked.get() as f64 / 1e6),
        format!("{:.2}", c.goodput.as_bits_per_sec() as f64 / 1e6),
        c.last.retransmits.to_string(),
        c.last.timeouts.to_string(),
        end.to_owned(),
    ]
}

/// The decisions on all connections; `None` if the algorithm classifies no losses.
fn all_verdicts(report: &Report) -> Option<Verdicts> {
    let all = report.connections.iter().filter_map(|c| c.last.verdicts);
    all.reduce(|mut sum, verdicts| {
        sum.congestion += verdicts.congestion;
        sum.random += verdicts.random;
        for (sum, verdicts) in sum.truth.iter_mut().zip(verdicts.truth) {
            for (sum, count) in sum.iter_mut().zip(verdicts) {
                *sum += count;
            }
        }
        sum
    })
}

/// The confusion matrix. Rows: the true cause; columns: the decision.
fn matrix(verdicts: &Verdicts) -> String {
    let Verdicts {
        congestion,
        random,
        truth,
    } = verdicts;
    let row = |name: &str, [congestion, random]: [u64; 2]| {
        vec![name.to_owned(), random.to_string(), congestion.to_string()]
    };
    let known = |column: usize| truth[0][column] + truth[1][column];
    let unknown = [
        congestion.saturating_sub(known(0)),
        random.saturating_sub(known(1)),
    ];
    let mut rows = vec![row("random loss", truth[1]), row("congestion", truth[0])];
    if unknown != [0, 0] {
        rows.push(row("not lost on the path", unknown));
    }
    let heads = ["true cause", "decided\nrandom", "decided\ncongestion"];
    whimbrel_report::plain(&heads.map(str::to_owned), &[false, true, true], &rows)
}

fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.fallbacks > 0 {
        warnings.push(format!(
            "{} connections went to the kernel's fallback algorithm: do not trust their results",
            report.fallbacks
        ));
    }
    if report.dropped_events > 0 {
        warnings.push(format!(
            "{} events of connections were lost because this machine is too slow for the traffic",
            report.dropped_events
        ));
    }
    warnings
}

/// Everything but samples and single decisions, in bytes, seconds and bits per second.
pub fn json(controller: &Spec, report: &Report) -> Value {
    json!({
        "controller": controller.to_string(),
        "connections": report.connections.iter().map(connection).collect::<Vec<_>>(),
        "verdicts": all_verdicts(report).map(|v| self::verdicts(&v)),
        "fallbacks": report.fallbacks,
        "dropped_events": report.dropped_events,
        "events": report.events,
        "clamped": report.clamped,
        "answer_s": {
            "p50": report.answer_p50.as_secs_f64(),
            "p99": report.answer_p99.as_secs_f64(),
        },
        "cpu_s": report.cpu.as_secs_f64(),
        "real_time": report.real_time,
    })
}

fn connection(c: &Connection) -> Value {
    json!({
        "local": c.addresses.local.to_string(),
        "remote": c.addresses.remote.to_string(),
        "goodput_bps": c.goodput.as_bits_per_sec(),
        "acked_bytes": c.last.acked.get(),
        "active_s": c.active.as_secs_f64(),
        "segments": c.last.segments,
        "retransmits": c.last.retransmits,
        "lost": c.last.lost,
        "timeouts": c.last.timeouts,
        "episodes": c.last.episodes,
        "reductions": c.last.reductions,
        "spurious": c.last.spurious,
        "verdicts": c.last.verdicts.map(|v| verdicts(&v)),
        "fallback": c.end == End::Fallback,
        "dropped_events": c.dropped_events,
    })
}

fn verdicts(v: &Verdicts) -> Value {
    let row = |cells: [u64; 2]| json!({ "congestion": cells[0], "random": cells[1] });
    json!({
        "congestion": v.congestion,
        "random": v.random,
        "truth": { "congestion": row(v.truth[0]), "random": row(v.truth[1]) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use whimbrel_linux::{Addresses, ReceiverClock, Snapshot};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn connection(port: u16, acked: u64, verdicts: Option<Verdicts>) -> Connection {
        let last = Snapshot {
            time: Time::ZERO,
            cwnd: Bytes::new(14_480),
            ssthresh: None,
            pacing_rate: None,
            phase: "slow start",
            in_flight: Bytes::ZERO,
            rtt: Duration::ZERO,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            delivery_rate: None,
            acked: Bytes::new(acked),
            received: Bytes::ZERO,
            segments: 1000,
            retransmits: 17,
            lost: 17,
            episodes: 6,
            reductions: 1,
            spurious: 0,
            timeouts: 2,
            verdicts,
            nacks: 0,
            nacks_refused: 0,
            receiver_clock: ReceiverClock::Unknown,
        };
        Connection {
            addresses: Addresses {
                local: SocketAddr::from(([10, 77, 0, 1], port)),
                remote: SocketAddr::from(([10, 77, 0, 2], 5001)),
            },
            began: Time::ZERO,
            last,
            active: Duration::from_secs(1),
            goodput: Rate::from_bits_per_sec(acked * 8),
            end: End::Closed,
            dropped_events: 0,
            decisions: Vec::new(),
            samples: Vec::new(),
        }
    }

    fn controller() -> Spec {
        "cerl?A=0.6".parse().expect("a controller")
    }

    /// Of 8 decisions 7 are on losses of the path.
    const VERDICTS: Verdicts = Verdicts {
        congestion: 3,
        random: 5,
        truth: [[2, 1], [0, 4]],
    };

    #[test]
    fn senders_have_a_row_and_decisions_a_matrix() {
        let report = Report {
            connections: vec![
                connection(40_000, 6_000_000, Some(VERDICTS)),
                connection(40_001, 2_500_000, Some(VERDICTS)),
                connection(5001, 0, None),
            ],
            ..Report::default()
        };
        let text = text(&controller(), &report);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        for row in [
            &[
                "10.77.0.1:40000",
                "10.77.0.2:5001",
                "6.0",
                "48.00",
                "17",
                "2",
            ][..],
            &[
                "10.77.0.1:40001",
                "10.77.0.2:5001",
                "2.5",
                "20.00",
                "17",
                "2",
            ],
            &["random", "loss", "8", "0"],
            &["congestion", "2", "4"],
            &["not", "lost", "on", "the", "path", "0", "2"],
        ] {
            assert!(lines.iter().any(|line| line == row), "{row:?} in\n{text}");
        }
        assert!(
            !text.contains(":5001 ") || !text.contains("10.77.0.1:5001"),
            "{text}"
        );
        assert!(!text.contains("note:"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );

        let json = json(&controller(), &report);
        assert_eq!(json["controller"], "cerl?A=0.6");
        assert_eq!(json["connections"].as_array().map(Vec::len), Some(3));
        assert_eq!(json["connections"][0]["goodput_bps"], 48_000_000);
        assert_eq!(json["verdicts"]["truth"]["random"]["random"], 8);
        assert_eq!(json["verdicts"]["truth"]["congestion"]["random"], 2);
    }

    #[test]
    fn a_fallback_and_lost_events_are_reported() {
        let mut fallen = connection(1, 1000, None);
        fallen.end = End::Fallback;
        let report = Report {
            connections: vec![fallen],
            fallbacks: 1,
            dropped_events: 12,
            ..Report::default()
        };
        let text = text(&controller(), &report);
        assert!(
            text.contains("1 connections went to") && text.contains("12 events"),
            "{text}"
        );
        assert!(!text.contains("decided"), "no decisions: {text}");
        let json = json(&controller(), &report);
        assert_eq!(json["connections"][0]["fallback"], true);
        assert!(json["verdicts"].is_null());
    }

    #[test]
    fn many_connections_are_counted_and_none_is_a_sentence() {
        let many = Report {
            connections: (1..=50).map(|port| connection(port, 1000, None)).collect(),
            ..Report::default()
        };
        let text = text(&controller(), &many);
        assert!(text.contains("and 30 more; --json has all"), "{text}");
        let none = super::text(&controller(), &Report::default());
        assert_eq!(none, "\ncerl?A=0.6 on Linux TCP\nno connection sent data\n");
    }
}
