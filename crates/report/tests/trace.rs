//! Captures of simulated runs, decoded by Wireshark's dissectors and compared with the outcome of
//! the same run.

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use whimbrel_report::trace::{Vantage, pcapng};
use whimbrel_sim::observe::{Content, End, Event, Observer, Packet, Segment, What};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{Network, Outcome, run_observed};

/// A capture of a run, and its outcome.
struct Captured {
    folder: tempfile::TempDir,
    outcome: Outcome,
    events: Vec<Event>,
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Observer for Events {
    fn on_event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

fn network(text: &str) -> Network {
    let scenario = Scenario::parse(text, Path::new("test")).expect("a scenario");
    let [point] = scenario.points() else {
        panic!("one point");
    };
    point.network(point.seeds()[0])
}

impl Captured {
    fn new(text: &str, vantage: Vantage) -> Self {
        let network = network(text);
        let mut events = Events::default();
        let outcome = run_observed(&network, &mut events);
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join("run.pcapng")).expect("a file");
        pcapng(&network, vantage, &mut std::io::BufWriter::new(file)).expect("a capture");
        Self {
            folder,
            outcome,
            events: events.0,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("run.pcapng")
    }

    /// These fields of each packet that matches a filter, by `tshark`. Commas separate several
    /// values of a field.
    fn fields(&self, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
        let mut args = vec!["-Y", filter, "-T", "fields", "-E", "separator=|"];
        fields.iter().for_each(|field| args.extend(["-e", field]));
        let text = tshark(&self.file(), &args);
        let row = |line: &str| line.split('|').map(str::to_owned).collect();
        text.lines().map(row).collect()
    }

    /// Number of packets that match each filter, without commas. One run of `tshark` counts all.
    fn counts<const N: usize>(&self, filters: [&str; N]) -> [usize; N] {
        let statistics = format!("io,stat,0,{}", filters.join(","));
        let text = tshark(&self.file(), &["-q", "-z", &statistics]);
        let row = text
            .lines()
            .find(|line| line.contains("<>"))
            .expect("a row");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        // The interval is first, then packets and bytes of each filter.
        std::array::from_fn(|at| cells[2 + 2 * at].parse().expect("a number"))
    }

    /// Packets that are sent or received at an end, in order.
    fn passing(&self, end: End) -> Vec<(&Event, &Packet)> {
        self.events
            .iter()
            .filter_map(|event| match &event.what {
                What::Sent(packet) if packet.from == end => Some((event, packet)),
                What::Arrived(packet) if packet.from != end => Some((event, packet)),
                _ => None,
            })
            .collect()
    }
}

/// Runs `tshark` on a file.
fn tshark(file: &Path, args: &[&str]) -> String {
    let output = Command::new("tshark")
        .args([
            "-n",
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
        ])
        .args(["-o", "udp.check_checksum:TRUE", "-r"])
        .arg(file)
        .args(args)
        .output()
        .expect("tshark is needed for this test: install it (Debian: apt-get install tshark)");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn segment(packet: &Packet) -> &Segment {
    match &packet.content {
        Content::Segment(segment) => segment,
        Content::Message(_) | Content::Datagram => panic!("a segment"),
    }
}

const CLEAN: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
[[flow]]
controller = "cubic"
route = ["L"]
size = "2 MB"
[run]
duration = "20 s"
"#;

const LOSSY: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = "1 %"
[[flow]]
controller = "cubic+cerl"
route = ["L"]
size = "6 MB"
[run]
duration = "60 s"
"#;

#[test]
fn a_capture_of_a_run_without_loss_has_no_warnings() {
    let captured = Captured::new(CLEAN, Vantage::Sender);
    let warnings = captured.counts([
        "_ws.malformed",
        // 0x400000 is `note`: warnings and errors are above it.
        "_ws.expert.severity > 0x400000",
        "tcp.analysis.retransmission",
        "tcp.analysis.lost_segment",
        "tcp.analysis.ack_lost_segment",
        "tcp.analysis.duplicate_ack",
        "tcp.analysis.out_of_order",
    ]);
    assert_eq!(warnings, [0; 7]);
    let fields = [
        "tcp.flags.str",
        "tcp.seq",
        "tcp.ack",
        "tcp.len",
        "frame.time_epoch",
    ];
    let rows = captured.fields("tcp", &fields);
    let flags = |row: &[String]| row[0].replace('·', "");
    assert_eq!((flags(&rows[0]).as_str(), rows[0][1].as_str()), ("S", "0"));
    assert_eq!((flags(&rows[1]).as_str(), rows[1][2].as_str()), ("AS", "1"));
    assert_eq!(rows[2][1..4], ["1", "1", "1448"]);
    // 20 ms of base RTT, and 60 + 60 bytes at 10 Mbit/s instead of the simulator's 52.
    assert_eq!(rows[1][4], "0.040083200");
    // The last byte of 2 MB carries FIN; relative numbers begin at 1.
    let last = captured.fields("tcp.flags.fin == 1", &["tcp.seq", "tcp.len"]);
    let number = |text: &String| text.parse::<u64>().expect("a number");
    assert_eq!(number(&last[0][0]) + number(&last[0][1]), 2_000_001);
    assert_eq!(last.len(), 1);
}

#[test]
fn a_syn_has_the_options_of_the_simulated_end() {
    let captured = Captured::new(CLEAN, Vantage::Sender);
    let fields = [
        "tcp.options.mss_val",
        "tcp.options.sack_perm",
        "tcp.options.wscale.shift",
        "tcp.options.timestamp.tsval",
        "ip.len",
    ];
    let rows = captured.fields("tcp.flags.syn == 1", &fields);
    // MSS: 1448 of data and 12 of timestamps (RFC 6691). 1 GiB is the maximum window with a scale
    // of 14.
    assert_eq!(rows[0][0], "1460");
    assert!(!rows[0][1].is_empty());
    assert_eq!(rows[0][2], "14");
    assert_eq!((rows[0][3].as_str(), rows[0][4].as_str()), ("1", "60"));
    // The SYN-ACK leaves after 20 ms, and timestamps begin at 1.
    assert_eq!(rows[1][3], "21");
}

#[test]
fn checksums_cover_the_whole_of_each_packet() {
    for (text, vantage) in [(LOSSY, Vantage::Sender), (AATP, Vantage::Receiver)] {
        let captured = Captured::new(text, vantage);
        let cut = std::fs::read(captured.file()).expect("a capture");
        let mut reader = PcapNgReader::new(cut.as_slice()).expect("pcapng");
        let section = reader.section().clone();
        let whole = File::create(captured.file()).expect("a file");
        let mut writer = PcapNgWriter::with_section_header(whole, section).expect("a writer");
        while let Some(block) = reader.next_block() {
            let mut block = block.expect("a block").into_owned();
            if let Block::EnhancedPacket(packet) = &mut block {
                let mut bytes = packet.data.to_vec();
                bytes.resize(packet.original_len as usize, 0);
                packet.data = Cow::Owned(bytes);
            }
            writer.write_block(&block).expect("written");
        }
        drop(writer);
        // 1: good.
        let [all, headers, packets] = captured.counts([
            "ip",
            "ip.checksum.status == 1",
            "tcp.checksum.status == 1 or udp.checksum.status == 1",
        ]);
        assert!(all > 1000);
        assert_eq!((headers, packets), (all, all));
    }
}

#[test]
fn what_the_captured_end_sends_is_outbound() {
    for (vantage, end) in [(Vantage::Sender, End::Near), (Vantage::Receiver, End::Far)] {
        let captured = Captured::new(CLEAN, vantage);
        let bytes = std::fs::read(captured.file()).expect("a capture");
        let mut reader = PcapNgReader::new(bytes.as_slice()).expect("pcapng");
        let mut outbound = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("a block") {
                // Bits 0 and 1: 1 is inbound, 2 is outbound.
                let flags = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Flags(flags) => Some(flags & 3),
                    _ => None,
                });
                outbound.push(flags == Some(2));
            }
        }
        let passing = captured.passing(end);
        let sent: Vec<bool> = passing
            .iter()
            .map(|(_, packet)| packet.from == end)
            .collect();
        assert!(sent.contains(&true) && sent.contains(&false));
        assert_eq!(outbound, sent);
    }
}

#[test]
fn retransmissions_and_their_bytes_are_recognised() {
    let captured = Captured::new(LOSSY, Vantage::Sender);
    let flow = &captured.outcome.flows[0];
    assert!(flow.retransmits > 30);
    // At the sender nothing is out of order: packets reported so are early retransmissions.
    let [again, lost, lost_acks, duplicates] = captured.counts([
        "tcp.analysis.retransmission or tcp.analysis.out_of_order",
        "tcp.analysis.lost_segment",
        "tcp.analysis.ack_lost_segment",
        "tcp.analysis.duplicate_ack",
    ]);
    assert_eq!(again as u64, flow.retransmits);
    assert_eq!((lost, lost_acks), (0, 0));
    assert!(duplicates > 100, "{duplicates}");
    let data: u64 = captured
        .fields("tcp.len > 0", &["tcp.len"])
        .iter()
        .map(|row| row[0].parse::<u64>().expect("a number") + 52)
        .sum();
    assert_eq!(data, flow.sent_on_wire.get());
}

#[test]
fn sack_blocks_are_those_of_the_simulated_receiver() {
    let captured = Captured::new(LOSSY, Vantage::Sender);
    let rows = captured.fields(
        "tcp.options.sack_le",
        &["tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re"],
    );
    let passing = captured.passing(End::Near);
    let sent = passing.iter().map(|(_, packet)| segment(packet));
    let sent: Vec<&Segment> = sent.filter(|segment| !segment.sacks.is_empty()).collect();
    assert!(sent.len() > 100);
    assert_eq!(rows.len(), sent.len());
    let total = 6_000_000;
    for (row, segment) in rows.iter().zip(sent) {
        let numbers = |at: usize| -> Vec<u64> {
            let all = row[at].split(',');
            all.map(|n| n.parse().expect("a number")).collect()
        };
        // Relative numbers begin at 1; the FIN follows the last byte.
        let begin = |range: &std::ops::Range<u64>| range.start + 1;
        let end = |range: &std::ops::Range<u64>| range.end + 1 + u64::from(range.end == total);
        assert_eq!(
            numbers(1),
            segment.sacks.iter().map(begin).collect::<Vec<_>>()
        );
        assert_eq!(
            numbers(2),
            segment.sacks.iter().map(end).collect::<Vec<_>>()
        );
        assert_eq!(numbers(0)[0], segment.ack.expect("it has one") + 1);
    }
}

#[test]
fn a_filter_finds_the_truth_about_each_loss() {
    let captured = Captured::new(LOSSY, Vantage::Sender);
    let lost = &captured.outcome.flows[0].lost;
    assert!(lost.random > 10 && lost.queue_overflow > 10, "{lost:?}");
    let counts = captured.counts([
        "frame.comment contains \"dropped on L: random loss\"",
        "frame.comment contains \"queue overflow\"",
        "frame.comment contains \"dropped on\"",
    ]);
    assert_eq!(
        counts.map(|count| count as u64),
        [lost.random, lost.queue_overflow, lost.total()]
    );
    // Each decision is logged once, with the truth.
    let verdicts = captured.outcome.flows[0].discrimination.expect("it judges");
    let comments = captured.fields("frame.comment contains \"judged\"", &["frame.comment"]);
    let judged = |verdict: &str, truth: &str| {
        let text = format!("judged: {verdict} (truth: {truth})");
        let all = comments
            .iter()
            .map(|row| row[0].matches(&text).count() as u64);
        all.sum::<u64>()
    };
    assert_eq!(judged("random", "random"), verdicts.random_as_random);
    assert_eq!(
        judged("congestion", "random"),
        verdicts.random_as_congestion
    );
    assert_eq!(
        judged("random", "congestion"),
        verdicts.congestion_as_random
    );
    assert_eq!(
        judged("congestion", "congestion"),
        verdicts.congestion_as_congestion
    );
}

#[test]
fn round_trips_measured_by_tshark_are_those_of_the_simulation() {
    let captured = Captured::new(CLEAN, Vantage::Sender);
    let rows = captured.fields(
        "tcp.analysis.ack_rtt and tcp.len == 0",
        &["tcp.analysis.ack_rtt"],
    );
    let rtts: Vec<f64> = rows
        .iter()
        .map(|row| row[0].parse().expect("a number"))
        .collect();
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    // Both take a sample per acknowledgment: the simulator of the first packet acknowledged, tshark
    // of the last.
    let simulated = captured.outcome.flows[0].rtt.mean.as_secs_f64();
    assert!(
        (mean / simulated - 1.0).abs() < 0.05,
        "{mean} and {simulated}"
    );
}

#[test]
fn ecn_marks_and_their_echoes_are_captured_at_the_receiver() {
    let text = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "60 packets"
aqm = "mark?threshold=20 packets"
[[flow]]
controller = "newreno"
route = ["L"]
size = "4 MB"
ecn = true
[run]
duration = "60 s"
"#;
    let captured = Captured::new(text, Vantage::Receiver);
    let marked = captured.outcome.flows[0].marked;
    assert!(marked > 10, "{marked}");
    let [marks, echoes, answers, begins, malformed] = captured.counts([
        "ip.dsfield.ecn == 3",
        "tcp.flags.ece == 1 and tcp.len == 0 and tcp.flags.syn == 0",
        "tcp.flags.cwr == 1 and tcp.len > 0",
        "tcp.flags.syn == 1 and tcp.flags.cwr == 1",
        "_ws.malformed",
    ]);
    assert_eq!(marks as u64, marked);
    assert!(echoes > 0 && answers > 0, "{echoes} {answers}");
    assert_eq!((begins, malformed), (1, 0));
}

#[test]
fn each_flow_is_a_conversation_with_its_own_bytes() {
    let text = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[flow]]
controller = "cubic"
count = 2
route = ["L"]
start = "0 s .. 1 s"
[[flow]]
controller = "newreno"
route = ["L"]
two_way = true
size = "500 kB"
[run]
duration = "5 s"
"#;
    let captured = Captured::new(text, Vantage::Sender);
    let rows = captured.fields(
        "tcp.len > 0",
        &["tcp.stream", "ip.src", "tcp.srcport", "tcp.len"],
    );
    let mut bytes: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in &rows {
        let sender = bytes.entry((row[1].clone(), row[2].clone())).or_default();
        *sender += row[3].parse::<u64>().expect("a number");
    }
    let of = |ip: &str, port: &str| bytes[&(ip.to_owned(), port.to_owned())];
    let data = |flow: usize, end: End| -> u64 {
        let passing = captured.passing(End::Near).into_iter();
        let own = passing.filter(|(event, packet)| event.flow == flow && packet.from == end);
        own.filter_map(|(_, packet)| segment(packet).data)
            .map(|data| u64::from(data.length))
            .sum()
    };
    assert_eq!(of("10.0.0.1", "49152"), data(0, End::Near));
    assert_eq!(of("10.0.0.2", "49153"), data(1, End::Near));
    assert_eq!(of("10.0.0.3", "49154"), data(2, End::Near));
    assert_eq!(of("10.128.0.3", "5201"), data(2, End::Far));
    assert_eq!(bytes.len(), 4);
    let conversations = tshark(&captured.file(), &["-q", "-z", "conv,tcp"]);
    let lines = conversations
        .lines()
        .filter(|line| line.contains("<->"))
        .count();
    assert_eq!(lines, 3, "{conversations}");
    let lost = captured.counts(["tcp.analysis.lost_segment and ip.src == 10.0.0.0/16"]);
    assert_eq!(lost, [0]);
}

const AATP: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
loss = "0.5 %"
[[flow]]
controller = "enhanced-aatp"
route = ["L"]
size = "2 MB"
[run]
duration = "20 s"
"#;

#[test]
fn aatp_is_captured_as_datagrams_with_its_messages() {
    let captured = Captured::new(AATP, Vantage::Sender);
    let rows = captured.fields("udp", &["udp.length", "ip.len", "udp.payload"]);
    let passing = captured.passing(End::Near);
    assert_eq!(rows.len(), passing.len());
    for (row, (_, packet)) in rows.iter().zip(passing) {
        let Content::Message(bytes) = &packet.content else {
            panic!("a message");
        };
        let size = packet.size.get();
        assert_eq!(row[0].parse::<u64>(), Ok(size - 20));
        assert_eq!(row[1].parse::<u64>(), Ok(size));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(row[2], hex);
    }
    let [malformed, dropped] =
        captured.counts(["_ws.malformed", "frame.comment contains \"dropped on L\""]);
    assert_eq!(malformed, 0);
    assert!(dropped > 0);
}

#[test]
fn captures_of_both_ends_can_be_compared() {
    let data = |vantage| {
        let captured = Captured::new(LOSSY, vantage);
        let rows = captured.fields("tcp.len > 0", &["ip.id", "tcp.seq", "frame.time_epoch"]);
        let dropped = captured.fields("frame.comment contains \"dropped\"", &["ip.id"]);
        (
            rows,
            dropped
                .into_iter()
                .map(|row| row[0].clone())
                .collect::<Vec<_>>(),
        )
    };
    let (left, dropped) = data(Vantage::Sender);
    let (came, _) = data(Vantage::Receiver);
    let place = |row: &[String]| (row[0].clone(), row[1].clone());
    let left_at: BTreeMap<_, f64> = left
        .iter()
        .map(|row| (place(row), row[2].parse().expect("a time")))
        .collect();
    for row in &came {
        let left = left_at.get(&place(row)).expect("what came has left");
        let took = row[2].parse::<f64>().expect("a time") - left;
        // 20 ms, 1.2 ms of transmission, and at most twenty packets in the queue.
        assert!(
            (0.0212 - 1e-6..0.0212 + 20.5 * 0.0012).contains(&took),
            "{took}"
        );
    }
    assert!(!dropped.is_empty());
    assert!(came.iter().all(|row| !dropped.contains(&row[0])));
    // Packets that neither arrived nor were dropped were in flight at the end of the run.
    assert!(left.len() - came.len() - dropped.len() < 60);
}
