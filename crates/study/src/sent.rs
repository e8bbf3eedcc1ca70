//! What became of files that were sent, as text, as JSON and as a curve.

use crate::count;
use crate::real::hindsight::Seen;
use serde::Serialize;
use std::io::{self, Write};
use whimbrel_report::{fill, iperf3};
use whimbrel_transfer::{
    BurstSummary, Error, Fetched, GetReport, IntervalSample, KeyExchange, Outcome, PathSummary,
    Report, Summary, TracePoint, Transport, TreeReport,
};
use whimbrel_units::{Bytes, Duration, Rate};

/// Everything about the transfer of a file, in base units.
#[derive(Serialize)]
pub struct Sent<'a> {
    #[serde(flatten)]
    account: Account,
    #[serde(flatten)]
    summary: Option<&'a Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Seen>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    intervals: Vec<iperf3::Interval>,
}

/// What a transfer did, whether it failed or not.
#[derive(Serialize)]
struct Account {
    bytes: u64,
    sent_bytes: u64,
    resumed_bytes: u64,
    retries: u32,
    transport: Option<Transport>,
    key_exchange: Option<KeyExchange>,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Account {
    fn of(report: &Report, error: Option<String>) -> Self {
        Self {
            bytes: report.bytes,
            sent_bytes: report.sent_bytes,
            resumed_bytes: report.resumed_bytes,
            retries: report.retries,
            transport: report.transport.clone(),
            key_exchange: report.key_exchange,
            outcome: report.outcome,
            error,
        }
    }
}

impl<'a> Sent<'a> {
    /// Of a transfer; `error`: why it failed.
    pub fn of(report: &'a Report, error: Option<&Error>) -> Self {
        let summary = report.result.as_ref().ok();
        Self {
            account: Account::of(report, error.map(Error::to_string)),
            summary,
            path: summary.and_then(|summary| Seen::of(&summary.path_use())),
            intervals: summary.map(intervals).unwrap_or_default(),
        }
    }
}

/// The intervals of the transfer, in iperf3's format.
fn intervals(summary: &Summary) -> Vec<iperf3::Interval> {
    let point = |sample: &IntervalSample| iperf3::Point {
        at: sample.at,
        bytes: sample.acknowledged.get(),
        retransmits: sample.lost_packets,
        state: Some(iperf3::State {
            cwnd: sample.cwnd.get(),
            rtt: sample.srtt,
            rttvar: sample.rttvar,
            pmtu: Some(sample.path_mtu.get()),
        }),
    };
    let intervals = iperf3::intervals_of(&iperf3::Stream {
        flow: summary.name.clone(),
        controller: summary.controller.clone(),
        start: Duration::ZERO,
        points: summary.intervals.iter().map(point).collect(),
    });
    let mut before: &[PathSummary] = &[];
    let samples = summary.intervals.iter().filter(|s| !s.at.is_zero());
    let with_paths = intervals
        .into_iter()
        .zip(samples)
        .map(|(interval, sample)| {
            let paths = on_paths(&sample.paths, before, interval.seconds());
            before = &sample.paths;
            interval.with_paths(paths)
        });
    with_paths.collect()
}

/// What was sent over each path since `before`, `seconds` ago.
fn on_paths(paths: &[PathSummary], before: &[PathSummary], seconds: f64) -> Vec<iperf3::OnPath> {
    let on_path = |path: &PathSummary| {
        let before = before.iter().find(|before| before.via == path.via);
        let since =
            |count: fn(&PathSummary) -> u64| count(path).saturating_sub(before.map_or(0, count));
        let bytes = since(|path| path.sent_bytes);
        iperf3::OnPath {
            via: path.via.clone(),
            bytes,
            bits_per_second: bytes as f64 * 8.0 / seconds.max(1e-9),
            retransmits: since(|path| path.lost_packets),
            rtt: (path.rtt_ms * 1000.0) as u64,
            state: path.state,
        }
    };
    paths.iter().map(on_path).collect()
}

/// A line with what was not sent because it was there, and with the interruptions, if there is
/// one of these.
fn besides(there: Option<String>, retries: u32) -> String {
    let interruptions = (retries > 0).then(|| count(retries.into(), "interruption"));
    let both: Vec<String> = there.into_iter().chain(interruptions).collect();
    match both.is_empty() {
        true => String::new(),
        false => both.join("; ") + "\n",
    }
}

/// A line with the holes of sparse files, which the rate does not count: of `bytes` the others
/// travelled or were there.
fn holes(bytes: u64, others: u64) -> String {
    match Bytes::new(bytes.saturating_sub(others)) {
        Bytes::ZERO => String::new(),
        holes => format!("{holes} are holes, which are not sent\n"),
    }
}

/// What became of a file that is stored.
pub fn text(s: &Summary, report: &Report) -> String {
    let took = Duration::from_secs_f64(s.seconds);
    let goodput = Rate::from_bits_per_sec(s.goodput_bps as u64);
    let bytes = Bytes::new(s.bytes);
    let mut text = format!("stored {}: {bytes} in {took}, {goodput}\n", s.name);
    let there = match Bytes::new(report.resumed_bytes) {
        Bytes::ZERO => None,
        there => Some(format!("{there} were there already")),
    };
    text += &besides(there, report.retries);
    text += &holes(s.bytes, report.sent_bytes + report.resumed_bytes);
    text += &format!("{}: ", s.controller);
    text += &match s.transport {
        Transport::Quic => over_quic(s),
        _ => format!("TLS over TCP, RTT {:.1} ms\n", s.rtt_ms),
    };
    text += &over_paths(&s.paths);
    text += &format!("BLAKE3 {}\n", s.blake3);
    text + &hindsight(Seen::of(&s.path_use()).as_ref())
}

/// A line for each of several paths.
fn over_paths(paths: &[PathSummary]) -> String {
    if paths.len() < 2 {
        return String::new();
    }
    let line = |path: &PathSummary| {
        let (name, lost) = (path.name(), path.lost_packets);
        if path.state == "opening" && path.received_bytes == 0 {
            return format!("over {name}: the server never answered there\n");
        }
        let (sent, rtt) = (Bytes::new(path.sent_bytes), path.rtt_ms);
        format!("over {name}: {sent} sent, RTT {rtt:.1} ms, {lost} packets lost\n")
    };
    paths.iter().map(line).collect()
}

/// What the controller did and saw.
fn over_quic(s: &Summary) -> String {
    let share = 100.0 * s.lost_packets as f64 / s.sent_packets.max(1) as f64;
    let mut text = format!(
        "cwnd {}, RTT {:.1} ms (min {:.1} ms), {} of {} packets lost ({share:.2} %)\n\
         {} of loss, {} of the window",
        Bytes::new(s.cwnd_bytes),
        s.rtt_ms,
        s.min_rtt_ms,
        s.lost_packets,
        s.sent_packets,
        count(s.loss_episodes, "episode"),
        count(s.reductions, "reduction")
    );
    if let Some(v) = s.verdicts {
        let (congestion, random) = (v.congestion, v.random);
        text += &format!("; decisions: congestion {congestion}, random loss {random}");
    }
    text += "\n";
    if let Some(b) = &s.bursts {
        text += &format!("{}\n", bursts(b));
    }
    text
}

/// Which algorithm would have been faster; empty if that is not known.
fn hindsight(seen: Option<&Seen>) -> String {
    seen.map_or(String::new(), |seen| fill(&seen.text(), " ") + "\n")
}

/// What became of the files of a tree; `seen`: what the transfer saw of its path.
pub fn tree_text(report: &TreeReport, dry_run: bool, seen: Option<&Seen>) -> String {
    if dry_run {
        let paths: String = report
            .would_send
            .iter()
            .map(|path| format!("{path}\n"))
            .collect();
        let (some, all) = (report.sent_files, count(report.files, "file"));
        let bytes = Bytes::new(report.sent_bytes);
        let removals = removals(&report.would_remove);
        return format!("{paths}{removals}would send {some} of {all}: {bytes}\n");
    }
    if report.sent_files == 0 && report.unchanged_files > 0 && report.retries == 0 {
        let there = there_already(report);
        return format!("nothing was sent: {there}\n") + &removed(report.removed);
    }
    let took = Duration::from_secs_f64(report.seconds);
    let rate = Rate::from_bits_per_sec(report.goodput_bps as u64);
    let (stored, bytes) = (
        count(report.sent_files + report.unchanged_files, "file"),
        Bytes::new(report.stored_bytes),
    );
    let mut text = format!("stored {stored}: {bytes} in {took}, {rate}\n");
    let some = report.resumed_bytes > 0 || report.unchanged_files > 0;
    text += &besides(some.then(|| there_already(report)), report.retries);
    text += &holes(
        report.stored_bytes,
        report.sent_bytes + report.resumed_bytes,
    );
    text += &removed(report.removed);
    text + &hindsight(seen)
}

/// `1 file (2 B) was there already`.
fn there_already(report: &TreeReport) -> String {
    let (n, bytes) = (report.unchanged_files, Bytes::new(report.resumed_bytes));
    let were = if n == 1 { "was" } else { "were" };
    format!("{} ({bytes}) {were} there already", count(n, "file"))
}

/// What a dry run would remove.
fn removals(paths: &[String]) -> String {
    paths
        .iter()
        .map(|path| format!("would remove {path}\n"))
        .collect()
}

/// How much was removed because the source did not have it.
fn removed(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "removed 1 file or directory that the source does not have\n".to_owned(),
        _ => format!("removed {count} files and directories that the source does not have\n"),
    }
}

/// What became of files that were fetched.
pub fn got_text(report: &GetReport, dry_run: bool) -> String {
    if dry_run {
        let paths: String = report
            .would_get
            .iter()
            .map(|path| format!("{path}\n"))
            .collect();
        let (some, all) = (report.would_get.len(), count(report.files, "file"));
        let bytes = Bytes::new(report.bytes.saturating_sub(report.resumed_bytes));
        let removals = removals(&report.would_remove);
        return format!("{paths}{removals}would get {some} of {all}: {bytes}\n");
    }
    let (bytes, took) = (
        Bytes::new(report.stored_bytes),
        Duration::from_secs_f64(report.seconds),
    );
    let rate = Rate::from_bits_per_sec(report.goodput_bps as u64);
    let got = count(report.stored_files, "file");
    let resumed = match Bytes::new(report.resumed_bytes) {
        Bytes::ZERO => String::new(),
        resumed => format!("{resumed} were here already\n"),
    };
    let holes = holes(
        report.stored_bytes,
        report.received_bytes + report.resumed_bytes,
    );
    let removed = removed(report.removed);
    format!("got {got}: {bytes} in {took}, {rate}\n{resumed}{holes}{removed}")
}

/// What arrived by three words.
pub fn fetched_text(fetched: &Fetched) -> String {
    let Fetched {
        files,
        bytes,
        took,
        direct,
    } = *fetched;
    let way = if direct {
        ""
    } else {
        ", over the meeting server"
    };
    let rate =
        Rate::from_bits_per_sec((bytes.get() as f64 * 8.0 / took.as_secs_f64().max(1e-9)) as u64);
    format!(
        "got {}: {bytes} in {took}, {rate}{way}\n",
        count(files, "file")
    )
}

/// What a controller that sends bursts measured and was granted.
fn bursts(b: &BurstSummary) -> String {
    let mut text = count(b.reported, "burst");
    if let Some(priority) = b.priority {
        text += &format!(", priority {priority}");
    }
    let rate = |bps| Rate::from_bits_per_sec(bps);
    text += &format!("; bandwidth {}", rate(b.bandwidth_bps));
    if let Some(allocated) = b.allocated_bps {
        text += &format!(", allocated {}", rate(allocated));
    }
    if let Some(fairness) = b.weighted_fairness {
        text += &format!(", weighted fairness {fairness:.3}");
    }
    text
}

/// Writes the curve of a transfer as CSV.
///
/// # Errors
/// If it cannot be written.
pub fn csv(out: &mut impl Write, points: &[TracePoint]) -> io::Result<()> {
    writeln!(out, "t_s,cwnd_bytes,in_flight_bytes,rtt_ms,delivered_bytes")?;
    for p in points {
        let TracePoint {
            t_s,
            cwnd_bytes,
            in_flight_bytes,
            rtt_ms,
            delivered_bytes,
        } = p;
        writeln!(
            out,
            "{t_s:.6},{cwnd_bytes},{in_flight_bytes},{rtt_ms:.3},{delivered_bytes}"
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_paths_has_a_line() {
        let path = |via: &str, received_bytes, state| PathSummary {
            via: Some(via.to_owned()),
            sent_bytes: 12_000,
            received_bytes,
            lost_packets: 3,
            rtt_ms: 41.25,
            state,
        };
        let paths = [path("wlan0", 9000, "open"), path("wwan0", 0, "opening")];
        assert_eq!(
            over_paths(&paths),
            "over wlan0: 12 kB sent, RTT 41.2 ms, 3 packets lost\n\
             over wwan0: the server never answered there\n"
        );
        assert_eq!(over_paths(&paths[..1]), "");
    }

    #[test]
    fn what_did_not_travel_is_named() {
        assert_eq!(besides(None, 0), "");
        assert_eq!(besides(None, 1), "1 interruption\n");
        let there = || Some("3 B were there already".to_owned());
        assert_eq!(besides(there(), 0), "3 B were there already\n");
        assert_eq!(
            besides(there(), 2),
            "3 B were there already; 2 interruptions\n"
        );
        assert_eq!(holes(10_000, 10_000), "");
        // A part was sent twice.
        assert_eq!(holes(10_000, 12_000), "");
        assert_eq!(holes(10_000, 1000), "9 kB are holes, which are not sent\n");
    }

    #[test]
    fn an_interval_has_what_each_path_carried_and_lost_in_it() {
        let path = |via: &str, sent_bytes, lost_packets| PathSummary {
            via: Some(via.to_owned()),
            sent_bytes,
            received_bytes: 0,
            lost_packets,
            rtt_ms: 41.25,
            state: "open",
        };
        let before = [path("wlan0", 12_000, 3)];
        let now = [path("wwan0", 1_000, 1), path("wlan0", 20_000, 7)];
        let paths = on_paths(&now, &before, 2.0);
        let paths = serde_json::to_value(paths).expect("JSON");
        let expected = |via, bytes: u64, retransmits: u64| {
            serde_json::json!({
                "via": via, "bytes": bytes, "bits_per_second": bytes as f64 * 4.0,
                "retransmits": retransmits, "rtt": 41_250, "state": "open",
            })
        };
        assert_eq!(paths[0], expected("wwan0", 1_000, 1));
        assert_eq!(paths[1], expected("wlan0", 8_000, 4));
    }
}
