//! qlog files of a transfer can be read, and record the controller.

use crate::common::{ScratchDirectory, Service, upload};
use qlog::events::EventData;
use qlog::events::quic::{PacketType, QuicFrame};
use qlog::reader::{Event, QlogSeqReader};
use std::fs;
use std::path::{Path, PathBuf};
use whimbrel_transfer::{QlogFolder, Summary};
use whimbrel_units::{Bytes, Duration};

fn folder(path: &Path) -> QlogFolder {
    let gigabyte = Bytes::new(1_000_000_000);
    QlogFolder::open(path, gigabyte, gigabyte).expect("a folder")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a file");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// Every record of a file, framed by RFC 7464: RS, JSON, LF.
fn records(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read(path).expect("a file");
    assert_eq!(text.first(), Some(&0x1e));
    assert_eq!(text.last(), Some(&b'\n'));
    let records = text[1..].split(|byte| *byte == 0x1e);
    records
        .map(|record| serde_json::from_slice(record).expect("JSON"))
        .collect()
}

async fn transfer(scratch: &ScratchDirectory, controller: &str) -> (Summary, PathBuf, PathBuf) {
    let (sent, served) = (
        scratch.subdirectory("sent-logs"),
        scratch.subdirectory("served-logs"),
    );
    let service = Service::logging(scratch, folder(&served));
    let mut options = service.options(&scratch.file("data", 3_000_000));
    options.client.controller = controller.parse().expect("a known controller");
    options.client.qlog = Some(folder(&sent));
    options.measurement.interval = Some(Duration::from_millis(10));
    options.measurement.trace = Some(Duration::from_millis(1));
    let summary = upload(options).await.expect("stored");
    service.stop().await;
    // Copies: on a busy machine the last packets of a closed connection may still be logged.
    let one = |folder: &Path, copies: &str| match files(folder).as_slice() {
        [one] => {
            let copy = scratch
                .subdirectory(copies)
                .join(one.file_name().expect("a name"));
            fs::copy(one, &copy).expect("copied");
            copy
        }
        other => panic!("not one file: {other:?}"),
    };
    let copies = (one(&sent, "sent-copies"), one(&served, "served-copies"));
    (summary, copies.0, copies.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_ends_log_every_packet_and_the_congestion_window() {
    let scratch = ScratchDirectory::new();
    // The window of NewReno is known: it starts at the initial window and never falls below it.
    let (summary, sent, served) = transfer(&scratch, "newreno").await;
    for (path, side) in [(&sent, "client"), (&served, "server")] {
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        assert!(
            name.contains("127.0.0.1") && name.ends_with(&format!("-{side}.sqlog")),
            "{name}"
        );
        let records = records(path);
        assert_eq!(records[0]["serialization_format"], "JSON-SEQ");
        let reader = QlogSeqReader::with_file(path).expect("a qlog file");
        let title = reader.qlog.title.clone().expect("a title");
        assert!(title.starts_with("whimbrel "), "{title}");
        // Each record after the header is an event known to the qlog crate.
        let events: Vec<_> = reader.collect();
        assert_eq!(events.len(), records.len() - 1);
        let (mut packets, mut streamed, mut windows) = (0, 0, Vec::new());
        for event in &events {
            let Event::Qlog(event) = event else {
                panic!("unknown: {event:?}")
            };
            match &event.data {
                EventData::QuicPacketSent(packet) => {
                    packets += u64::from(packet.header.packet_type == PacketType::OneRtt);
                    for frame in packet.frames.iter().flatten() {
                        if let QuicFrame::Stream { raw: Some(raw), .. } = frame {
                            streamed += raw.length.expect("a length");
                            assert!(raw.data.is_none(), "stream data is not logged");
                        }
                    }
                }
                EventData::QuicMetricsUpdated(metrics) => {
                    windows.extend(metrics.congestion_window);
                }
                _ => {}
            }
        }
        assert!(packets > 10, "{packets}");
        if side == "client" {
            assert!(
                packets <= summary.sent_packets && packets > 200,
                "{packets}"
            );
            assert!(streamed >= 3_000_000, "{streamed}");
            // noq reads the window after each acknowledgment, and so does the monitor.
            assert_eq!(windows.last(), Some(&summary.cwnd_bytes));
            assert_eq!(
                windows.first(),
                Some(&12_000),
                "ten datagrams of 1200 bytes"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pacing_rate_is_logged() {
    let scratch = ScratchDirectory::new();
    let (_, sent, _) = transfer(&scratch, "bbr3").await;
    let records = records(&sent);
    let rate = |record: &serde_json::Value| record["data"]["pacing_rate"].as_u64();
    let rates: Vec<u64> = records.iter().filter_map(rate).collect();
    assert!(rates.iter().any(|rate| *rate > 0), "no pacing rate");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_ends_with_a_complete_record() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let logs = scratch.subdirectory("logs");
    let limit = Bytes::new(100_000);
    let mut options = service.options(&scratch.file("data", 8_000_000));
    options.client.qlog = Some(QlogFolder::open(&logs, limit, limit).expect("a folder"));
    upload(options).await.expect("stored");
    service.stop().await;
    let log = &files(&logs)[0];
    let size = fs::metadata(log).expect("a file").len();
    assert!(size <= 100_000 && size > 90_000, "{size}");
    assert!(records(log).len() > 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn interval_samples_end_with_the_values_of_the_summary() {
    let scratch = ScratchDirectory::new();
    let (summary, ..) = transfer(&scratch, "cubic").await;
    let intervals = &summary.intervals;
    for pair in intervals.windows(2) {
        assert!(pair[0].at < pair[1].at && pair[0].acknowledged <= pair[1].acknowledged);
    }
    let last = intervals.last().expect("the final sample");
    assert!(last.acknowledged.get() >= 3_000_000);
    assert!(last.at.as_secs_f64() >= summary.seconds);
    assert!(last.lost_packets <= summary.lost_packets);
    assert_eq!(last.cwnd.get(), summary.cwnd_bytes);
    assert_eq!(last.path_mtu.get(), u64::from(summary.mtu_bytes) + 28);
    assert!(last.srtt > Duration::ZERO && last.rttvar > Duration::ZERO);
}
