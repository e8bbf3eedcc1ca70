//! The time line of the connections: CSV, qlog, and a page.

use super::show;
use crate::atomic_file::{self, AtomicFile};
use crate::provenance;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use whimbrel_cc::connection::{ConnectionState, Decision};
use whimbrel_linux::{Connection, Report};
use whimbrel_report::figure::{Figure, Matrix, Plot};
use whimbrel_report::measured::Measured;
use whimbrel_report::page::{self as pages, Fact, Section};
use whimbrel_report::{figures, trace};
use whimbrel_units::{Duration, Rate};

/// Connections on a page: more lines hide each other.
const SHOWN: usize = 8;
/// Maximum number of logs.
const LOGS: usize = trace::MOST_LOGS;

/// Files with the time line of the connections.
#[derive(Default, clap::Args)]
pub struct OutputArgs {
    /// Write the state of each connection over time as CSV
    #[arg(long, value_name = "FILE.csv", help_heading = "Time line")]
    pub time_line: Option<PathBuf>,
    /// Write it as qlog, a file DIR/*.sqlog for each connection
    #[arg(long, value_name = "DIR", help_heading = "Time line")]
    pub qlog: Option<PathBuf>,
    /// Write a page with figures over time
    #[arg(long, value_name = "FILE.html", help_heading = "Time line")]
    pub report: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether any file needs samples.
    pub fn any(&self) -> bool {
        self.time_line.is_some() || self.qlog.is_some() || self.report.is_some()
    }

    /// Checks that the files can be written, before long work begins.
    ///
    /// # Errors
    /// If one cannot.
    pub fn check(&self) -> anyhow::Result<()> {
        for path in [&self.time_line, &self.report].into_iter().flatten() {
            atomic_file::check(path)?;
        }
        if let Some(folder) = &self.qlog {
            atomic_file::check_folder(folder)?;
        }
        Ok(())
    }

    /// Writes the files. Returns lines about what they leave out.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, page: &Page<'_>) -> anyhow::Result<Vec<String>> {
        let report = page.summary.report;
        let mut notes = Vec::new();
        if let Some(path) = &self.time_line {
            atomic_file::write(path, |to| time_line(report, to))?;
        }
        if let Some(folder) = &self.qlog {
            notes.extend(logs(folder, page)?);
        }
        if let Some(path) = &self.report {
            let report = page.report();
            atomic_file::write(path, |to| whimbrel_report::html(&report, to))?;
        }
        Ok(notes)
    }
}

/// Names of the columns of the time line. Units are the last part of a name.
const COLUMNS: [&str; 17] = [
    "connection",
    "local",
    "remote",
    "t_s",
    "cwnd_bytes",
    "ssthresh_bytes",
    "pacing_bps",
    "phase",
    "in_flight_bytes",
    "rtt_ms",
    "srtt_ms",
    "acked_bytes",
    "goodput_bps",
    "lost_packets",
    "retransmits",
    "began_s",
    "controlled_s",
];

/// Writes a row for each sample (RFC 4180); an empty field is null.
fn time_line(report: &Report, to: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(to);
    writer.write_record(COLUMNS)?;
    let optional = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let ms = |span: Duration| match span.is_zero() {
        true => String::new(),
        false => span.as_millis_f64().to_string(),
    };
    for (index, c) in report.connections.iter().enumerate() {
        let began = c.began.as_secs_f64();
        for (i, s) in c.samples.iter().enumerate() {
            let (s, sample) = (&s.state, s);
            let before = i.checked_sub(1).map(|before| &c.samples[before].state);
            let goodput =
                before.map(|b| Rate::over(s.delivered - b.delivered, s.time.since(b.time)));
            writer.write_record([
                (index + 1).to_string(),
                c.addresses.local.to_string(),
                c.addresses.remote.to_string(),
                (c.began + s.time.since(whimbrel_units::Time::ZERO))
                    .as_secs_f64()
                    .to_string(),
                s.cwnd.get().to_string(),
                optional(s.ssthresh.map(|b| b.get())),
                optional(s.pacing_rate.map(|r| r.as_bits_per_sec())),
                s.phase.to_owned(),
                s.in_flight.get().to_string(),
                ms(s.rtt),
                ms(s.srtt),
                s.delivered.get().to_string(),
                optional(goodput.map(|r| r.as_bits_per_sec())),
                sample.lost_packets.to_string(),
                sample.retransmits.to_string(),
                began.to_string(),
                s.time.as_secs_f64().to_string(),
            ])?;
        }
    }
    writer.flush()
}

/// Writes a log for each connection with most data. Returns a line if there are more.
fn logs(folder: &Path, page: &Page<'_>) -> anyhow::Result<Option<String>> {
    let report = page.summary.report;
    fs::create_dir_all(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    let number = |c: &Connection| report.connections.iter().position(|o| std::ptr::eq(o, c));
    let all = show::by_bytes(report);
    for c in all.iter().take(LOGS) {
        let id = number(c).map_or(0, |i| i + 1);
        let measured = page.measured(c, &id.to_string());
        let remote = c.addresses.remote.to_string().replace([':', '[', ']'], "-");
        let remote = remote.trim_matches('-');
        let path = folder.join(format!("{id:03}-{remote}.sqlog"));
        let file = AtomicFile::open(&path)?;
        file.finish(|to| trace::measured(&measured, to))?;
    }
    Ok((all.len() > LOGS).then(|| {
        format!(
            "logs of the {LOGS} connections with most data, of {}",
            all.len()
        )
    }))
}

/// What the page shows.
pub struct Page<'a> {
    /// The summary.
    pub summary: &'a show::Summary<'a>,
    /// What was run or controlled, in words.
    pub what: String,
    /// When it began.
    pub begin: Instant,
}

impl Page<'_> {
    /// A connection for figures and logs.
    fn measured(&self, c: &Connection, label: &str) -> Measured {
        let at = |time: whimbrel_units::Time| c.began + time.since(whimbrel_units::Time::ZERO);
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

    fn report(&self) -> pages::Report {
        let report = self.summary.report;
        let sent: Vec<&Connection> = show::by_bytes(report)
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
            group: String::new(),
            text: show::notes(self.summary),
            facts: self.facts(),
            finding: None,
            tables: vec![show::page_table(report)],
            figures,
            sources: Vec::new(),
        };
        pages::Report {
            title: format!("Linux TCP under {controller}"),
            summary: String::new(),
            made: provenance::of_page(self.begin),
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
    use whimbrel_cc::{Spec, Verdict};
    use whimbrel_linux::Ended;
    use whimbrel_linux::testing::connection;
    use whimbrel_units::Time;

    fn report() -> Report {
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
        Report {
            total: 2,
            connections: vec![first, connection("[2001:db8::1]:80", 20_000_000)],
            ..Report::default()
        }
    }

    fn with_page<T>(report: &Report, then: impl FnOnce(&Page<'_>) -> T) -> T {
        let controller: Spec = "cerl".parse().expect("a controller");
        let summary = show::Summary {
            controller: &controller,
            fallback: "cubic",
            silence: Duration::from_secs(1),
            realtime: false,
            report,
            ended: Ended::default(),
        };
        then(&Page {
            summary: &summary,
            what: "a test".to_owned(),
            begin: Instant::now(),
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
        let args = OutputArgs {
            qlog: Some(folder.path().join("logs")),
            report: Some(folder.path().join("page.html")),
            ..OutputArgs::default()
        };
        args.check().expect("writable");
        let report = report();
        let notes = with_page(&report, |page| args.write(page)).expect("written");
        assert!(notes.is_empty(), "{notes:?}");
        for name in ["001-192.0.2.1-443.sqlog", "002-2001-db8--1--80.sqlog"] {
            let log = fs::read(folder.path().join("logs").join(name)).expect(name);
            assert_eq!(log.first(), Some(&0x1e), "RFC 7464");
        }
        let html = fs::read_to_string(folder.path().join("page.html")).expect("a page");
        for says in [
            "Linux TCP under cerl",
            "smoothed RTT",
            "Decisions on losses",
        ] {
            assert!(html.contains(says), "{says}");
        }
    }
}
