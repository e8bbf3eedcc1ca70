//! The connections as a page with figures over time.

use super::summary::{Summary, by_bytes, notes, page_table};
use whimbrel_cc::connection::{ConnectionState, Decision};
use whimbrel_linux::Connection;
use whimbrel_report::figure::{Figure, Matrix, Plot};
use whimbrel_report::figures;
use whimbrel_report::measured::Measured;
use whimbrel_report::page::{self as pages, Fact, Section};
use whimbrel_units::{Duration, Time};

/// Connections on a page: more lines hide each other.
const SHOWN: usize = 8;

/// What the page shows.
pub struct ConnectionsPage<'a> {
    /// The summary.
    pub summary: &'a Summary<'a>,
    /// What was run or controlled, in words.
    pub what: String,
    /// Which program made it, and how.
    pub made: Vec<Fact>,
}

impl ConnectionsPage<'_> {
    /// A connection for figures and logs.
    pub(super) fn measured(&self, c: &Connection, label: &str) -> Measured {
        let at = |time: Time| c.began + time.since(Time::ZERO);
        let point = |s: &whimbrel_linux::Sample| ConnectionState {
            time: at(s.state.time),
            ..s.state
        };
        let decision = |d: &Decision| Decision {
            time: at(d.time),
            ..*d
        };
        Measured {
            protocol: self.summary.controller.to_string(),
            label: label.to_owned(),
            local: c.addresses.local,
            remote: c.addresses.remote,
            points: c.samples.iter().map(point).collect(),
            decisions: c.decisions.iter().map(decision).collect(),
        }
    }

    /// The page.
    pub fn report(&self) -> pages::Page {
        let report = self.summary.report;
        let sent: Vec<&Connection> = by_bytes(report)
            .into_iter()
            .filter(|c| c.samples.len() > 1 && c.last.state.delivered.get() > 0)
            .collect();
        let controller = self.summary.controller.to_string();
        let label = |i: usize, c: &Connection| match sent.len() {
            1 => controller.clone(),
            _ => format!("{}: {}", i + 1, c.addresses.remote),
        };
        let shown: Vec<Measured> = sent
            .iter()
            .take(SHOWN)
            .enumerate()
            .map(|(i, c)| self.measured(c, &label(i, c)))
            .collect();
        let mut over_time = figures::measured(&shown);
        if let (Some(figure), true) = (&mut over_time, sent.len() > SHOWN) {
            figure.caption += &format!(
                " The {SHOWN} connections with most data, of {}.",
                sent.len()
            );
        }
        let figures = over_time.into_iter().chain(self.confusion()).collect();
        let section = Section {
            id: "connections".to_owned(),
            title: "Connections".to_owned(),
            text: notes(self.summary),
            facts: self.facts(),
            tables: vec![page_table(report)],
            figures,
            ..Section::default()
        };
        pages::Page {
            title: format!("Linux TCP under {controller}"),
            summary: String::new(),
            made: self.made.clone(),
            sections: vec![section],
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let report = self.summary.report;
        let us = |span: Duration| format!("{:.0} us", span.as_secs_f64() * 1e6);
        vec![
            Fact::new("connections of", self.what.clone()),
            Fact::new("controller", self.summary.controller.to_string()),
            Fact::new("connections", report.total.to_string()),
            Fact::new("fallback", self.summary.fallback),
            Fact::new("connections that fell back", report.fallbacks.to_string()),
            Fact::new("events", report.events.to_string()),
            Fact::new("dropped events", report.dropped_events.to_string()),
            Fact::new("event to answer, p50", us(report.answer_p50)),
            Fact::new("event to answer, p99", us(report.answer_p99)),
            Fact::new("CPU time", format!("{:.2} s", report.cpu.as_secs_f64())),
        ]
    }

    /// The decisions on losses against the truth, where the path reports it.
    fn confusion(&self) -> Option<Figure> {
        let protocol = self.summary.controller.to_string();
        let mut matrix = Matrix::new(&protocol, protocol.clone(), &Default::default());
        let connections = self.summary.report.connections.iter();
        let verdicts = connections.filter_map(|c| c.last.episodes.verdicts);
        let mut any = false;
        for [[cc, cr], [rc, rr]] in verdicts.map(|v| v.truth) {
            matrix.congestion_as_congestion += cc;
            matrix.congestion_as_random += cr;
            matrix.random_as_congestion += rc;
            matrix.random_as_random += rr;
            any |= cc + cr + rc + rr > 0;
        }
        any.then(|| Figure {
            id: "confusion".to_owned(),
            title: "Decisions on losses".to_owned(),
            caption:
                "Causes of losses, as the path reports them, and how the algorithm classified \
                      them, summed over all connections."
                    .to_owned(),
            plot: Plot::Confusion {
                matrices: vec![matrix],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{COLUMNS, logs, time_line};
    use std::fs;
    use whimbrel_cc::{Spec, Verdict};
    use whimbrel_linux::AgentReport;
    use whimbrel_linux::Ended;
    use whimbrel_linux::testing::connection;

    fn report() -> AgentReport {
        let mut first = connection("192.0.2.1:443", 10_000_000);
        first.decisions = vec![Decision {
            time: Time::ZERO + Duration::from_secs(3),
            sequence: 9,
            judged: Verdict::Random,
            actual: Some(Verdict::Random),
        }];
        if let Some(verdicts) = &mut first.last.episodes.verdicts {
            verdicts.truth = [[0, 0], [0, 1]];
        }
        AgentReport {
            total: 2,
            connections: vec![first, connection("[2001:db8::1]:80", 20_000_000)],
            ..AgentReport::default()
        }
    }

    fn with_page<T>(report: &AgentReport, then: impl FnOnce(&ConnectionsPage<'_>) -> T) -> T {
        let controller: Spec = "cerl".parse().expect("a controller");
        let summary = Summary {
            controller: &controller,
            fallback: "cubic",
            silence: Duration::from_secs(1),
            realtime: false,
            report,
            ended: Ended::default(),
        };
        then(&ConnectionsPage {
            summary: &summary,
            what: "a test".to_owned(),
            made: Vec::new(),
        })
    }

    #[test]
    fn a_time_line_has_a_row_for_each_sample() {
        let mut text = Vec::new();
        time_line(&report(), &mut text).expect("written");
        let text = String::from_utf8(text).expect("UTF-8");
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 1 + 2 * 11);
        assert_eq!(lines[0], COLUMNS.join(","));
        assert_eq!(
            lines[2],
            "1,192.0.2.77:40000,192.0.2.1:443,1.5,110000,60000,,slow start,90000,50,52,1000000,\
             8000000,0,0,0.5,1"
        );
        assert!(lines[12].starts_with("2,[2001:db8::77]:40000,[2001:db8::1]:80,0.5,"));
    }

    #[test]
    fn each_connection_has_a_log_and_the_page_has_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = report();
        let (note, page) = with_page(&report, |page| {
            (logs(&folder.path().join("logs"), page), page.report())
        });
        assert_eq!(note.expect("written"), None);
        for name in ["001-192.0.2.1-443.sqlog", "002-2001-db8--1--80.sqlog"] {
            let log = fs::read(folder.path().join("logs").join(name)).expect(name);
            assert_eq!(log.first(), Some(&0x1e), "RFC 7464");
        }
        let mut html = Vec::new();
        whimbrel_report::html(&page, &mut html).expect("a page");
        let html = String::from_utf8(html).expect("UTF-8");
        for says in [
            "Linux TCP under cerl",
            "smoothed RTT",
            "Decisions on losses",
        ] {
            assert!(html.contains(says), "{says}");
        }
    }
}
