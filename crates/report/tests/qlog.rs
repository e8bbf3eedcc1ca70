//! Logs of simulated runs, read back and compared with the outcome of the same run.

use qlog::events::EventData;
use qlog::events::quic::{PacketLostTrigger, QuicFrame};
use qlog::reader::{Event as Record, QlogSeqReader};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whimbrel_report::trace::{Dialect, TraceError, Vantage, qlog};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, Network, run};

const LOSSY: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = "1 %"
[[flow]]
controller = "cubic+cerl"
route = ["L"]
size = "3 MB"
[run]
duration = "60 s"
"#;

const SEVERAL: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = "1 %"
[[flow]]
controller = "newreno"
route = ["L"]
two_way = true
size = "200 kB"
[[flow]]
controller = "enhanced-aatp"
route = ["L"]
size = "200 kB"
[[flow]]
kind = "udp"
rate = "500 kbit/s"
route = ["L"]
[run]
duration = "8 s"
"#;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn network(text: &str) -> Network {
    let scenario = Scenario::parse(text, Path::new("test")).expect("a scenario");
    scenario.points()[0].network(1)
}

/// The log of each flow.
fn logs(network: &Network, vantage: Vantage, dialect: Dialect) -> Vec<Vec<u8>> {
    let mut all: Vec<Kept> = Vec::new();
    let open = |flow: usize| {
        assert_eq!(flow, all.len());
        all.push(Kept::default());
        Ok(Box::new(all[flow].clone()) as Box<dyn Write>)
    };
    qlog(network, vantage, dialect, open).expect("logs");
    let bytes = |kept: &Kept| kept.0.lock().expect("one thread").clone();
    all.iter().map(bytes).collect()
}

/// The events of a log, read by the library.
fn events(log: &[u8]) -> Vec<Record> {
    let reader = QlogSeqReader::new(Box::new(io::Cursor::new(log.to_vec()))).expect("a log");
    assert!(
        reader
            .qlog
            .trace
            .event_schemas
            .iter()
            .any(|uri| uri.contains("whimbrel"))
    );
    reader.collect()
}

#[test]
fn records_are_framed_and_read_back_in_order_of_time() {
    for vantage in [Vantage::Sender, Vantage::Receiver] {
        for log in logs(&network(SEVERAL), vantage, Dialect::Current) {
            let text = String::from_utf8(log.clone()).expect("UTF-8");
            let records: Vec<&str> = text.split('\u{1e}').collect();
            // RFC 7464: each record begins with RS and ends with LF.
            assert_eq!(records[0], "");
            assert!(records.len() > 10);
            for record in &records[1..] {
                assert!(record.ends_with("}\n"), "{record}");
                serde_json::from_str::<Value>(record).expect("JSON");
            }
            let events = events(&log);
            // All but the head.
            assert_eq!(events.len(), records.len() - 2);
            let times: Vec<f64> = events
                .iter()
                .map(|event| match event {
                    Record::Qlog(event) => event.time,
                    Record::Json(event) => event.time,
                })
                .collect();
            assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}

#[test]
fn each_end_has_its_own_address_as_the_local_one() {
    let network = network(LOSSY);
    let ends = |vantage| {
        let log = logs(&network, vantage, Dialect::Current).remove(0);
        let started = events(&log).into_iter().find_map(|event| match event {
            Record::Qlog(event) => match event.data {
                EventData::QuicConnectionStarted(started) => Some(started),
                _ => None,
            },
            Record::Json(_) => None,
        });
        let started = started.expect("it starts");
        [started.local, started.remote].map(|end| (end.ip_v4, end.port_v4))
    };
    let [near, far] = ends(Vantage::Sender);
    assert_ne!(near, far);
    assert_eq!(ends(Vantage::Receiver), [far, near]);
}

/// The packets of a log.
#[derive(Default)]
struct Logged {
    sent: Vec<u64>,
    data: u64,
    acked: Vec<u64>,
    lost: Vec<(u64, PacketLostTrigger)>,
    dropped: Vec<(u64, String)>,
    judged: Vec<(Option<String>, String, bool)>,
    cwnd: Option<u64>,
}

fn logged(log: &[u8]) -> Logged {
    let mut logged = Logged::default();
    for event in events(log) {
        match event {
            Record::Qlog(event) => match event.data {
                EventData::QuicPacketSent(packet) => {
                    logged
                        .sent
                        .push(packet.header.packet_number.expect("a number"));
                    let stream = |frame: &QuicFrame| matches!(frame, QuicFrame::Stream { .. });
                    let frames = packet.frames.expect("frames");
                    logged.data += frames.iter().filter(|frame| stream(frame)).count() as u64;
                }
                EventData::QuicPacketReceived(packet) => {
                    for frame in packet.frames.expect("frames") {
                        if let QuicFrame::Ack {
                            acked_ranges: Some(ranges),
                            ..
                        } = frame
                        {
                            logged
                                .acked
                                .extend(ranges.iter().flat_map(|r| r.as_range_inclusive()));
                        }
                    }
                }
                EventData::QuicPacketLost(lost) => {
                    let number = lost.header.and_then(|header| header.packet_number);
                    let trigger = lost.trigger.expect("a trigger");
                    logged.lost.push((number.expect("a number"), trigger));
                }
                EventData::QuicMetricsUpdated(metrics) => {
                    logged.cwnd = metrics.congestion_window.or(logged.cwnd);
                }
                _ => {}
            },
            Record::Json(event) => {
                let word = |key: &str| event.data[key].as_str().map(str::to_owned);
                match event.name.as_str() {
                    "whimbrel:packet_dropped" if event.data["sender"] == "client" => {
                        let number = event.data["packet_number"].as_u64().expect("a number");
                        logged
                            .dropped
                            .push((number, word("cause").expect("a cause")));
                    }
                    "whimbrel:loss_judged" => {
                        let reduced = event.data["window_reduced"].as_bool().expect("known");
                        logged.judged.push((
                            word("verdict"),
                            word("truth").expect("known"),
                            reduced,
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
    logged
}

fn check_against(logged: &Logged, flow: &FlowOutcome) {
    assert_eq!(logged.data, flow.packets_sent);
    // The SYN is packet 0.
    let numbers: Vec<u64> = (0..=flow.packets_sent).collect();
    assert_eq!(logged.sent, numbers, "numbered as they leave, without gaps");
    let caused = |cause: &str| logged.dropped.iter().filter(|(_, c)| c == cause).count() as u64;
    assert_eq!(caused("random_loss"), flow.lost.random);
    assert_eq!(caused("queue_overflow"), flow.lost.queue_overflow);
    let dropped: BTreeSet<u64> = logged.dropped.iter().map(|(number, _)| *number).collect();
    let acked: BTreeSet<u64> = logged.acked.iter().copied().collect();
    assert!(
        acked.is_disjoint(&dropped),
        "what was dropped is not acknowledged"
    );
    // Each packet but the SYN was acknowledged or lost; the run ends before the last
    // acknowledgments.
    let open = (1..=flow.packets_sent).filter(|n| !acked.contains(n) && !dropped.contains(n));
    let open: Vec<u64> = open.collect();
    assert!(
        open.iter().all(|number| number + 100 > flow.packets_sent),
        "{open:?}"
    );
    let verdicts = flow.discrimination.expect("it judges");
    let judged = |verdict: &str, truth: &str| {
        let is = |(v, t, _): &&(Option<String>, String, bool)| {
            v.as_deref() == Some(verdict) && t == truth
        };
        logged.judged.iter().filter(is).count() as u64
    };
    assert_eq!(judged("random", "random"), verdicts.random_as_random);
    assert_eq!(
        judged("congestion", "congestion"),
        verdicts.congestion_as_congestion
    );
    assert_eq!(logged.judged.len() as u64, flow.loss_episodes);
}

#[test]
fn packets_losses_and_the_truth_agree_with_the_outcome() {
    let network = network(LOSSY);
    let outcome = run(&network);
    let flow = &outcome.flows[0];
    assert!(
        flow.lost.random > 5 && flow.lost.queue_overflow > 5,
        "{:?}",
        flow.lost
    );
    let logs = logs(&network, Vantage::Sender, Dialect::Current);
    let logged = logged(&logs[0]);
    check_against(&logged, flow);
    // RACK or the timer detected them, and nearly all of them were really lost.
    let by_time =
        |(_, trigger): &&(u64, PacketLostTrigger)| *trigger == PacketLostTrigger::TimeThreshold;
    assert!(logged.lost.iter().filter(by_time).count() > 10);
    let dropped: BTreeSet<u64> = logged.dropped.iter().map(|(number, _)| *number).collect();
    let rightly = logged
        .lost
        .iter()
        .filter(|(number, _)| dropped.contains(number))
        .count();
    assert!(
        rightly * 10 >= logged.lost.len() * 9,
        "{rightly} of {}",
        logged.lost.len()
    );
    assert!(logged.cwnd.expect("logged of") >= 2 * 1448);
}

#[test]
fn the_older_dialect_has_what_qvis_requires() {
    let network = network(SEVERAL);
    let outcome = run(&network);
    let logs = logs(&network, Vantage::Sender, Dialect::Older);
    assert_eq!(logs.len(), 3);
    for log in &logs {
        let value: Value = serde_json::from_slice(log).expect("one JSON value");
        // FileLoader expects these in the first 1024 bytes; 0.3 is the newest version of
        // QlogLoader.
        let head = String::from_utf8_lossy(&log[..200]).into_owned();
        assert!(
            head.contains("qlog_version") && head.contains("qlog_format"),
            "{head}"
        );
        assert_eq!(
            (
                value["qlog_version"].as_str(),
                value["qlog_format"].as_str()
            ),
            (Some("0.3"), Some("JSON"))
        );
        let trace = &value["traces"][0];
        assert_eq!(trace["vantage_point"]["type"], "client");
        assert_eq!(trace["common_fields"]["time_format"], "relative");
        let events = trace["events"].as_array().expect("events");
        let known = ["connectivity", "transport", "recovery", "whimbrel"];
        for event in events {
            let name = event["name"].as_str().expect("a name");
            let (category, _) = name.split_once(':').expect("a category");
            assert!(known.contains(&category), "{name}");
            assert!(event["time"].is_number());
        }
    }
    let value: Value = serde_json::from_slice(&logs[0]).expect("one JSON value");
    let events = value["traces"][0]["events"].as_array().expect("events");
    let named = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    // What the congestion diagram reads.
    let mut bytes = 0;
    for sent in named("transport:packet_sent") {
        assert!(sent["data"]["header"]["packet_number"].is_u64());
        bytes += sent["data"]["raw"]["length"].as_u64().expect("a length");
        for frame in sent["data"]["frames"].as_array().expect("frames") {
            if frame["frame_type"] == "stream" {
                assert!(
                    frame["offset"].is_u64() && frame["length"].is_u64(),
                    "{frame}"
                );
            }
        }
    }
    assert!(bytes > 200_000);
    let ranges = named("transport:packet_received").filter_map(|event| {
        let frames = event["data"]["frames"].as_array()?;
        frames
            .iter()
            .find(|frame| frame["frame_type"] == "ack")
            .cloned()
    });
    assert!(
        ranges
            .filter(|frame| frame["acked_ranges"][0][0].is_u64())
            .count()
            > 10
    );
    assert!(
        named("recovery:metrics_updated").any(|event| event["data"]["congestion_window"].is_u64())
    );
    let lost = named("recovery:packet_lost").count() as u64;
    assert!(lost > 0 && lost <= outcome.flows[0].packets_sent);
}

#[test]
fn too_many_flows_are_refused_with_their_number() {
    let network = network(&SEVERAL.replace("kind = \"udp\"", "kind = \"udp\"\ncount = 300"));
    let open = |_| -> io::Result<Box<dyn Write>> { panic!("nothing is opened") };
    let refused = qlog(&network, Vantage::Sender, Dialect::Current, open);
    let error = refused.expect_err("302 flows");
    assert!(matches!(error, TraceError::TooManyFlows { flows: 302, .. }));
    assert!(error.to_string().contains("302 flows"), "{error}");
}
