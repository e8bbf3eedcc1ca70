//! The state of each connection over time: as CSV, and as logs in qlog's format.

use super::ConnectionsPage;
use super::summary::by_bytes;
use crate::Error;
use crate::atomic_file::AtomicFile;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use whimbrel_linux::{AgentReport, Connection};
use whimbrel_report::trace;
use whimbrel_units::{Duration, Rate, Time};

/// Maximum number of logs.
const LOGS: usize = trace::MOST_LOGS;

/// Names of the columns of the time line. Units are the last part of a name.
pub const COLUMNS: [&str; 17] = [
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
///
/// # Errors
/// If it cannot be written.
pub fn time_line(report: &AgentReport, to: &mut (dyn Write + Send)) -> io::Result<()> {
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
                (c.began + s.time.since(Time::ZERO))
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

/// Writes a log, `folder/*.sqlog`, for each connection with most data. Returns a line if there are
/// more.
///
/// # Errors
/// If one cannot be written.
pub fn logs(folder: &Path, page: &ConnectionsPage<'_>) -> Result<Option<String>, Error> {
    let report = page.summary.report;
    let failed = |cause| Error::failed(format!("cannot write to {}", folder.display()), cause);
    fs::create_dir_all(folder).map_err(failed)?;
    let number = |c: &Connection| report.connections.iter().position(|o| std::ptr::eq(o, c));
    let all = by_bytes(report);
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
