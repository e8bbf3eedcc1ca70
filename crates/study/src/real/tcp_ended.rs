//! The connections under one of Whimbrel's algorithms: the summary of `whimbrel tcp`, and the
//! decisions of a loss classifier beside the truth, which only an emulated path knows.

use super::algorithm::Ended;
use crate::tcp::{self, Summary};
use serde_json::Value;
use whimbrel_cc::connection::Verdicts;
use whimbrel_linux::AgentReport;
use whimbrel_report::text_table;

/// A table of the connections, what limits the trust in it, and the confusion matrix.
pub fn text(ended: &Ended, status: u8) -> String {
    // The far end of each connection is under the algorithm too, and usually sends no data.
    let mut report = ended.report.clone();
    let all = report.connections.len();
    report
        .connections
        .retain(|c| !c.last.state.delivered.is_zero());
    report.total -= (all - report.connections.len()) as u64;
    let mut text = tcp::text(&Summary {
        controller: &ended.options.controller,
        fallback: &ended.options.fallback,
        silence: ended.options.silence,
        realtime: ended.options.real_time,
        report: &report,
        ended: conclusion(ended, status),
    });
    if let Some(verdicts) = all_verdicts(&report).filter(|v| v.congestion + v.random > 0) {
        text.push_str(&matrix(&verdicts));
    }
    text
}

/// The object of `whimbrel tcp --json`.
pub fn json(ended: &Ended, status: u8) -> Value {
    let controller = ended.options.controller.to_string();
    let conclusion = conclusion(ended, status);
    ended
        .report
        .json(&controller, &ended.options.fallback, conclusion)
}

fn conclusion(ended: &Ended, status: u8) -> whimbrel_linux::Ended {
    whimbrel_linux::Ended {
        status: Some(status),
        elapsed: ended.elapsed,
        unfinished: 0,
    }
}

/// The decisions on all connections; `None` if the algorithm classifies no losses.
fn all_verdicts(report: &AgentReport) -> Option<Verdicts> {
    let all = report
        .connections
        .iter()
        .filter_map(|c| c.last.episodes.verdicts);
    all.reduce(|mut sum, verdicts| {
        sum += verdicts;
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
    let columns = [
        ("true cause", false),
        ("decided\nrandom", true),
        ("decided\ncongestion", true),
    ];
    text_table(&columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use whimbrel_linux::Options;
    use whimbrel_linux::testing::connection;
    use whimbrel_units::Duration;

    fn ended(report: AgentReport) -> Ended {
        Ended {
            options: Options::new("cerl?A=0.6".parse().expect("a controller")),
            elapsed: Duration::from_secs(10),
            report,
        }
    }

    /// Two senders with 8 decisions each, of which 7 are on losses of the path, and a receiver.
    fn senders() -> Ended {
        let verdicts = Verdicts {
            congestion: 3,
            random: 5,
            truth: [[2, 1], [0, 4]],
        };
        let mut connections = ["10.77.0.2:5001", "10.77.0.2:5002", "10.77.0.1:40000"]
            .map(|remote| connection(remote, 6_000_000));
        for c in &mut connections {
            c.last.episodes.verdicts = Some(verdicts);
        }
        connections[2] = connection("10.77.0.1:40000", 0);
        ended(AgentReport {
            connections: connections.to_vec(),
            total: 3,
            ..AgentReport::default()
        })
    }

    #[test]
    fn senders_have_a_row_and_decisions_a_matrix() {
        let text = text(&senders(), 0);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        for row in [
            &["random", "loss", "8", "0"][..],
            &["congestion", "2", "4"],
            &["not", "lost", "on", "the", "path", "0", "2"],
        ] {
            assert!(lines.iter().any(|line| line == row), "{row:?} in\n{text}");
        }
        assert!(
            text.starts_with("cerl?A=0.6: 2 connections, 10.0 s"),
            "{text}"
        );
        assert!(
            text.contains("10.77.0.2:5002") && !text.contains("10.77.0.1"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn json_has_every_connection_and_the_truth() {
        let json = json(&senders(), 7);
        assert_eq!(
            (&json["controller"], &json["exit_status"]),
            (&json!("cerl?A=0.6"), &json!(7))
        );
        assert_eq!(json["connections"].as_array().map(Vec::len), Some(3));
        let truth = &json["connections"][0]["verdicts"]["truth"];
        assert_eq!(truth["random_as_random"], 4);
        assert_eq!(truth["congestion_as_random"], 1);
    }

    #[test]
    fn without_decisions_there_is_no_matrix() {
        let mut only = connection("10.77.0.2:5001", 1000);
        only.last.episodes.verdicts = None;
        let report = AgentReport {
            connections: vec![only],
            total: 1,
            ..AgentReport::default()
        };
        assert!(!text(&ended(report), 0).contains("decided"));
    }
}
