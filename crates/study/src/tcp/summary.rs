//! The summary at the end: a row for each connection, and lines about what qualifies it.

use crate::count;
use std::fmt::Write;
use whimbrel_cc::Spec;
use whimbrel_linux::{AgentReport, Connection, End, Ended, ReceiverClock};
use whimbrel_report::page::{self, Column};
use whimbrel_report::{cell, text_table};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// At most this many connections have a row of their own.
const ROWS: usize = 20;
/// Less received data than this is shown as nothing, in bytes.
const NOTHING: u64 = 5_000;

/// What the summary describes.
pub struct Summary<'a> {
    /// The algorithm.
    pub controller: &'a Spec,
    /// The kernel's algorithm that takes over.
    pub fallback: &'a str,
    /// The silence after which it does.
    pub silence: Duration,
    /// The user requested real-time priority.
    pub realtime: bool,
    /// What happened.
    pub report: &'a AgentReport,
    /// How it ended.
    pub ended: Ended,
}

/// Heads of the columns, and whether each is aligned to the right.
const HEADS: [(&str, bool); 8] = [
    ("remote", false),
    ("goodput\nMbit/s", true),
    ("sent\nMB", true),
    ("received\nMB", true),
    ("RTT\nms", true),
    ("lost\n%", true),
    ("time-\nouts", true),
    ("cong.\n/random", true),
];

/// The sums of some connections.
#[derive(Default)]
struct Sums {
    /// From the beginning of the first connection that sent something to the last acknowledgment.
    span: Option<(Time, Time)>,
    acked: u64,
    received: u64,
    segments: u64,
    lost: u64,
    timeouts: u64,
    verdicts: Option<(u64, u64)>,
    srtt: Duration,
}

impl Sums {
    fn add(&mut self, c: &Connection) {
        let last = &c.last;
        if c.last.state.delivered > Bytes::ZERO {
            let (from, to) = (c.began, c.began + c.active);
            let (first, last) = self.span.unwrap_or((from, to));
            self.span = Some((first.min(from), last.max(to)));
        }
        self.acked += last.state.delivered.get();
        self.received += last.received.get();
        self.segments += last.segments;
        self.lost += last.lost_packets;
        self.timeouts += last.episodes.timeouts;
        if let Some(v) = last.episodes.verdicts {
            let (congestion, random) = self.verdicts.unwrap_or_default();
            self.verdicts = Some((congestion + v.congestion, random + v.random));
        }
        self.srtt = last.state.srtt;
    }

    fn of<'a>(connections: impl IntoIterator<Item = &'a Connection>) -> Self {
        let mut sums = Self::default();
        connections.into_iter().for_each(|c| sums.add(c));
        sums
    }

    /// Data acknowledged over the time that it took, bit/s. Connections may have followed each
    /// other, so it is not the sum of their goodputs.
    fn goodput(&self) -> u64 {
        let span = self.span.map(|(from, to)| to.since(from));
        let over = |span| Rate::over(Bytes::new(self.acked), span).as_bits_per_sec();
        span.map_or(0, over)
    }

    /// The cells of a row. The RTT is that of a single connection.
    fn cells(&self, name: String, single: bool) -> Vec<String> {
        let part = self.lost as f64 / self.segments.max(1) as f64;
        let rtt = (single && !self.srtt.is_zero()).then(|| number(self.srtt.as_millis_f64()));
        vec![
            name,
            number(self.goodput() as f64 / 1e6),
            number(self.acked as f64 / 1e6),
            number(self.received as f64 / 1e6),
            cell(rtt),
            format!("{:.2}", 100.0 * part),
            self.timeouts.to_string(),
            cell(self.verdicts.map(|(c, r)| format!("{c}/{r}"))),
        ]
    }
}

/// With as many decimals as make sense in a table.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 1000.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// The connections that carried most data first.
pub fn by_bytes(report: &AgentReport) -> Vec<&Connection> {
    let mut all: Vec<&Connection> = report.connections.iter().collect();
    let bytes = |c: &Connection| {
        c.last
            .state
            .delivered
            .get()
            .saturating_add(c.last.received.get())
    };
    all.sort_by_key(|c| std::cmp::Reverse(bytes(c)));
    all
}

/// The rows of the table, without columns that are empty for all.
fn table(report: &AgentReport) -> (Vec<(&'static str, bool)>, Vec<Vec<String>>) {
    let all = by_bytes(report);
    let (own, others) = all.split_at(all.len().min(ROWS));
    let name = |c: &Connection| {
        let mark = if c.end == End::Fallback { " *" } else { "" };
        format!("{}{mark}", c.addresses.remote)
    };
    let mut rows: Vec<Vec<String>> = own
        .iter()
        .map(|c| Sums::of([*c]).cells(name(c), true))
        .collect();
    if !others.is_empty() {
        let name = format!("{} others", others.len());
        rows.push(Sums::of(others.iter().copied()).cells(name, false));
    }
    if all.len() > 1 {
        rows.push(Sums::of(all.iter().copied()).cells("all".to_owned(), false));
    }
    let empty = |column: usize| match column {
        3 => all.iter().all(|c| c.last.received.get() < NOTHING),
        7 => all.iter().all(|c| c.last.episodes.verdicts.is_none()),
        _ => false,
    };
    let kept: Vec<usize> = (0..HEADS.len()).filter(|column| !empty(*column)).collect();
    let row = |row: Vec<String>| kept.iter().map(|column| row[*column].clone()).collect();
    (
        kept.iter().map(|column| HEADS[*column]).collect(),
        rows.into_iter().map(row).collect(),
    )
}

/// The table as text, with lines about what qualifies it.
pub fn text(summary: &Summary<'_>) -> String {
    let Summary { report, ended, .. } = summary;
    let mut text = format!(
        "{}: {}, {:.1} s\n",
        summary.controller,
        count(report.total, "connection"),
        ended.elapsed.as_secs_f64()
    );
    if !report.connections.is_empty() {
        let (heads, rows) = table(report);
        text += &text_table(&heads, &rows);
    }
    for line in notes(summary) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The same table for a page.
pub fn page_table(report: &AgentReport) -> page::Table {
    let (heads, rows) = table(report);
    let column = |(head, number): &(&str, bool)| Column {
        name: head
            .replace("-\n", "")
            .replace("\n/", "/")
            .replace('\n', " "),
        number: *number,
    };
    page::Table {
        caption: "Connections, those with most data first".to_owned(),
        columns: heads.iter().map(column).collect(),
        rows,
    }
}

/// Lines about what qualifies the numbers.
pub fn notes(summary: &Summary<'_>) -> Vec<String> {
    let Summary { report, ended, .. } = summary;
    let fallback = summary.fallback;
    let mut notes = Vec::new();
    let missing = report.total.saturating_sub(report.connections.len() as u64);
    if missing > 0 {
        notes.push(format!(
            "{} that ended first are not listed",
            count(missing, "connection")
        ));
    }
    if report.fallbacks > 0 {
        notes.push(format!(
            "{} (marked *) went to the kernel's {fallback} because whimbrel did not answer for \
             {}: do not trust their figures",
            count(report.fallbacks, "connection"),
            summary.silence
        ));
    }
    if report.refused > 0 {
        notes.push(format!(
            "{} went to the kernel's {fallback} because too many were controlled at once",
            count(report.refused, "connection")
        ));
    }
    if report.not_chosen > 0 {
        notes.push(format!(
            "the kernel refused the algorithm for {}, which are not listed",
            count(report.not_chosen, "connection")
        ));
    }
    if report.dropped_events > 0 {
        notes.push(format!(
            "{} of {} did not reach the algorithm because the buffer was full: do not trust the \
             figures",
            count(report.dropped_events, "event"),
            report.events
        ));
    }
    if report.clamped > 0 {
        notes.push(format!(
            "the kernel's half clamped {} outside of its range",
            count(report.clamped, "window or rate")
        ));
    }
    if ended.unfinished > 0 {
        notes.push(format!(
            "{} still had unacknowledged data; the kernel's {fallback} sends the rest",
            count(ended.unfinished as u64, "connection")
        ));
    }
    if summary.realtime && !report.real_time {
        notes.push(
            "no real-time priority: the kernel refused it (it needs root or CAP_SYS_NICE)"
                .to_owned(),
        );
    }
    notes.extend(clock_note(summary));
    notes.extend(nack_notes(report));
    notes
}

/// A line about connections whose receiver's clock is of no use to the algorithm.
fn clock_note(summary: &Summary<'_>) -> Option<String> {
    let spec = summary.controller;
    if !spec.transport_features().receiver_times {
        return None;
    }
    let classifier = spec.classifier();
    let (needs, outcome) = classifier
        .and_then(|own| Some((own.name, own.without_receiver_clock?)))
        .or_else(|| Some((spec.entry().name, spec.entry().without_receiver_clock?)))?;
    let mut absent = 0;
    let mut coarse: Vec<Duration> = Vec::new();
    // A connection without a loss asked for no decision.
    let with_losses = summary
        .report
        .connections
        .iter()
        .filter(|c| c.last.lost_packets > 0);
    for c in with_losses {
        match c.last.receiver_clock {
            ReceiverClock::Absent => absent += 1,
            ReceiverClock::TooCoarse(tick) => coarse.push(tick),
            ReceiverClock::Unknown | ReceiverClock::Usable(_) => {}
        }
    }
    if let Some(tick) = coarse.iter().max() {
        return Some(format!(
            "{}: the peer's timestamps tick every {tick}, too coarse for {needs} on this path; \
             {outcome}",
            count(coarse.len() as u64, "connection")
        ));
    }
    (absent > 0).then(|| {
        format!(
            "{} without TCP timestamps, which {needs} needs; {outcome}",
            count(absent, "connection")
        )
    })
}

/// Lines about negative acknowledgments.
fn nack_notes(report: &AgentReport) -> Vec<String> {
    let sum = |of: fn(&Connection) -> u64| report.connections.iter().map(of).sum::<u64>();
    let (taken, refused) = (sum(|c| c.last.nacks), sum(|c| c.last.nacks_refused));
    let mut notes = Vec::new();
    if taken + refused > 0 {
        notes.push(format!(
            "NACKs of these connections: {taken} accepted, {refused} refused"
        ));
    }
    let Some(nacks) = &report.nacks else {
        return notes;
    };
    let (receiver, devices) = (&nacks.receiver, nacks.devices.join(", "));
    if receiver.corrupted > 0 {
        notes.push(format!(
            "{devices}: {} of TCP arrived corrupted, {} answered with a NACK",
            count(receiver.corrupted, "segment"),
            receiver.nacked
        ));
    }
    if receiver.nothing_to_verify() {
        notes.push(format!(
            "{devices}: nearly no segment has a checksum to verify, so no NACK can be sent; switch \
             checksum offload off (`ethtool -K DEVICE rx off`, at a virtual sender tx off)"
        ));
    }
    if nacks.sender.lost > 0 {
        notes.push(format!(
            "{} came too fast to be read",
            count(nacks.sender.lost, "NACK")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_linux::testing::connection;

    fn report(connections: Vec<Connection>) -> AgentReport {
        AgentReport {
            total: connections.len() as u64,
            connections,
            ..AgentReport::default()
        }
    }

    fn shown(controller: &str, report: &AgentReport) -> String {
        let controller: Spec = controller.parse().expect("a controller");
        text(&Summary {
            controller: &controller,
            fallback: "cubic",
            silence: Duration::from_secs(1),
            realtime: false,
            report,
            ended: Ended {
                elapsed: Duration::from_secs(12),
                ..Ended::default()
            },
        })
    }

    #[test]
    fn the_table_has_most_bytes_first_and_fits_80_columns() {
        let mut small = connection("192.0.2.1:443", 1_000_000);
        let mut large = connection("198.51.100.255:65535", 123_456_789_000);
        large.last.received = Bytes::new(99_999_000_000);
        large.end = End::Fallback;
        small.last.episodes.verdicts = None;
        let text = shown("cerl", &report(vec![small, large]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "cerl: 2 connections, 12.0 s");
        assert!(lines[4].starts_with("198.51.100.255:65535 *"), "{text}");
        assert!(lines[5].starts_with("192.0.2.1:443"), "{text}");
        assert!(lines[6].starts_with("all "), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let mut one = connection("[2001:db8::1]:443", 5_000_000);
        one.last.episodes.verdicts = None;
        let text = shown("cubic", &report(vec![one]));
        assert!(
            !text.contains("received") && !text.contains("random"),
            "{text}"
        );
        assert!(text.contains("[2001:db8::1]:443"), "{text}");
        assert_eq!(text.lines().count(), 5, "no sum of one row: {text}");
    }

    #[test]
    fn more_than_twenty_connections_are_summed() {
        let all = (1..=25).map(|n| connection("192.0.2.1:443", n * 1_000_000));
        let text = shown("cerl", &report(all.collect()));
        assert!(text.contains("5 others"), "{text}");
        // 1 + 2 + ... + 5 and 1 + 2 + ... + 25 MB.
        assert!(
            text.contains(" 15.0 ") && text.contains(" 325.0 "),
            "{text}"
        );
    }

    #[test]
    fn connections_that_follow_each_other_do_not_add_up_their_goodputs() {
        // 125 MB in 10 s each are 100 Mbit/s, one after the other.
        let all = (0..4).map(|n| {
            let mut one = connection("192.0.2.1:443", 125_000_000);
            one.began += Duration::from_secs(10 * n);
            one
        });
        let mut all: Vec<Connection> = all.collect();
        let rate = |all: &[Connection]| Sums::of(all).goodput();
        assert_eq!(rate(&all), 100_000_000);
        // At the same time they do.
        all.iter_mut().for_each(|one| one.began = Time::ZERO);
        assert_eq!(rate(&all), 400_000_000);
        // One that sent nothing takes no time.
        all.truncate(1);
        let mut silent = connection("192.0.2.1:443", 0);
        silent.began += Duration::from_secs(90);
        all.push(silent);
        assert_eq!(rate(&all), 100_000_000);
        assert_eq!(Sums::default().goodput(), 0);
    }

    #[test]
    fn what_spoils_the_figures_is_said() {
        let mut c = connection("192.0.2.1:443", 1_000_000);
        c.last.lost_packets = 5;
        c.last.receiver_clock = ReceiverClock::TooCoarse(Duration::from_millis(10));
        let report = AgentReport {
            fallbacks: 2,
            refused: 4,
            not_chosen: 5,
            dropped_events: 3,
            clamped: 1,
            nacks: Some(whimbrel_linux::NackReport {
                devices: vec!["eth0".to_owned()],
                receiver: whimbrel_linux::nack::ReceiverCounters {
                    corrupted: 7,
                    nacked: 6,
                    ..Default::default()
                },
                ..Default::default()
            }),
            ..report(vec![c])
        };
        let text = shown("newreno+ltd", &report);
        for says in [
            "2 connections (marked *) went to the kernel's cubic because whimbrel did not answer \
             for 1 s: do not trust their figures",
            "4 connections went to the kernel's cubic because too many",
            "the kernel refused the algorithm for 5 connections",
            "eth0: 7 segments of TCP arrived corrupted, 6 answered with a NACK",
            "3 events of 0 did not reach the algorithm",
            "clamped 1 window or rate ",
            "the peer's timestamps tick every 10 ms, too coarse for ltd on this path",
        ] {
            assert!(text.contains(says), "{says} in {text}");
        }
        // CERL does not use the receiver's clock, nor does Whimbrel unless it is to.
        assert!(!shown("cerl", &report).contains("tick"));
        assert!(!shown("whimbrel?forward=false", &report).contains("tick"));
        let text = shown("whimbrel", &report);
        assert!(
            text.contains("every 10 ms, too coarse for whimbrel on this path"),
            "{text}"
        );
    }
}
