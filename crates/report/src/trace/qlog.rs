//! A log of each connection of a simulated run, as a QUIC endpoint would write it.
//!
//! qlog: draft-ietf-quic-qlog-main-schema-13 and draft-ietf-quic-qlog-quic-events-12, as a stream
//! of records (RFC 7464, `.sqlog`); or version 0.3 of both as one JSON value (`.qlog`), for readers
//! that support no newer one. qvis is such a reader: its loader refuses a file without
//! `qlog_version` 0.3 or older, and its diagrams expect events named `transport:…` and `recovery:…`
//! (see its sources: QlogLoader, QlogLoaderV2, FileLoader, CongestionGraphD3Renderer).
//!
//! **Simulated TCP as QUIC.** TCP acknowledges bytes and QUIC packets, and qlog's readers draw
//! QUIC.
//!
//! * Each packet that an end sends on a path has the next packet number, retransmissions included.
//!   A SYN is an `initial` packet, all others are `1RTT`. Lengths are those on the wire, with the
//!   headers of TCP and IP.
//! * Data is a frame of stream 0 at its offset, on one of several paths at its offset on that path.
//! * An acknowledgment is a frame with the numbers of the packets that it acknowledges first. If
//!   several packets had the same data, it is the one that arrived, which the simulator knows and
//!   TCP does not. An acknowledgment without news acknowledges the newest packet again.
//! * `path_id` identifies a path, if there are several.
//! * The trigger of a loss is `time_threshold` (RACK), `reordering_threshold` (duplicate
//!   acknowledgments, SACK) or `pto_expired` (the retransmission timer). Metrics are logged when
//!   they change.
//! * A negative acknowledgment, which QUIC does not have, is a frame of type `unknown`.
//! * An AATP message is a frame of type `datagram`, as is a UDP datagram.
//!
//! **The truth**, which no end knows, is in events of a schema of its own, [`TRUTH`]:
//!
//! * `whimbrel:packet_dropped`: `sender` (`client` or `server`), `packet_number`, `path_id`,
//!   `link`, `cause`
//! * `whimbrel:loss_judged`: `packet_number`, `path_id`, `verdict` and `confidence` (if the
//!   controller gave them), `truth`, `window_reduced`
//! * `whimbrel:reduction_undone`: `path_id`
//!
//! The main schema allows private events under a URI. The full text of draft 13 was not available:
//! its requirements are taken from the library and from earlier drafts.

use super::{TraceError, Vantage, address, cause_word, link_name, truth_word};
use ::qlog::events::quic::{
    AckRange, CongestionStateUpdated, ConnectionStarted, Ecn as QuicEcn, PacketHeader, PacketLost,
    PacketLostTrigger, PacketReceived, PacketSent, PacketType, QlogTimerType, QuicFrame,
    RecoveryMetricsUpdated, TimerEventType, TimerUpdated, UdpDatagramsReceived,
};
use ::qlog::events::{
    Event as QlogEvent, EventData, EventImportance, JsonEvent, QUIC_URI, RawInfo, TupleEndpointInfo,
};
use ::qlog::{
    CommonFields, QLOGFILESEQ_URI, QlogSeq, ReferenceTime, TraceSeq, VantagePoint, VantagePointType,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::Range;
use whimbrel_cc::Verdict;
use whimbrel_sim::observe::{
    Content, Ecn, End, Event, Fate, Finding, Judged, Lost, Observer, Packet, RecoveryStage,
    Segment, SenderState, What,
};
use whimbrel_sim::{FlowSpec, Network, Traffic, run_observed};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The schema of the events about the truth.
pub const TRUTH: &str = "urn:x-whimbrel:qlog:events:truth-01";
/// Maximum number of flows: each has a file, and all are open at once.
pub const MOST_LOGS: usize = 200;
/// The separator in front of a record (RFC 7464).
const RECORD: &[u8] = b"\x1e";

/// The version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The current drafts, a stream of records: `.sqlog`.
    Current,
    /// Version 0.3, one JSON value: `.qlog`. The newest version that qvis reads.
    Older,
}

/// Runs a network and writes a log for each of its flows, as one of its ends. `open` opens the
/// output for the flow of this index.
///
/// # Errors
/// If a log cannot be opened or written, or the run has more than [`MOST_LOGS`] flows.
pub fn qlog<'o>(
    network: &Network,
    vantage: Vantage,
    dialect: Dialect,
    mut open: impl FnMut(usize) -> io::Result<Box<dyn Write + 'o>>,
) -> Result<(), TraceError> {
    if network.flows.len() > MOST_LOGS {
        return Err(TraceError::TooManyFlows {
            flows: network.flows.len(),
            what: "qlog, which has a file for each,",
            most: MOST_LOGS,
        });
    }
    let mut logs = Vec::new();
    for (index, spec) in network.flows.iter().enumerate() {
        let mut log = Log {
            vantage,
            dialect,
            several: spec.routes.len() > 1,
            paths: spec.routes.iter().map(|_| Path::default()).collect(),
            numbers: HashMap::new(),
            out: open(index)?,
            first: true,
        };
        log.begin(network, index, spec)?;
        logs.push(log);
    }
    let mut writing = Writing {
        network,
        logs,
        failed: None,
    };
    run_observed(network, &mut writing);
    if let Some(error) = writing.failed {
        return Err(error.into());
    }
    for log in &mut writing.logs {
        log.finish()?;
    }
    Ok(())
}

struct Writing<'n, 'o> {
    network: &'n Network,
    logs: Vec<Log<'o>>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

impl Observer for Writing<'_, '_> {
    fn on_event(&mut self, event: &Event) {
        if self.failed.is_none() {
            self.failed = self.logs[event.flow].on_event(self.network, event).err();
        }
    }
}

/// The log of one flow.
struct Log<'o> {
    vantage: Vantage,
    dialect: Dialect,
    /// Whether the flow has several paths.
    several: bool,
    paths: Vec<Path>,
    /// Packet numbers of packets that have not arrived, by the simulator's number.
    numbers: HashMap<u64, u64>,
    out: Box<dyn Write + 'o>,
    /// No event has been written yet.
    first: bool,
}

/// State of one path.
#[derive(Default)]
struct Path {
    /// The next packet number of the near and the far end.
    next: [u64; 2],
    /// Data of each end that arrived and has not been acknowledged.
    came: [Came; 2],
    state: [Option<SenderState>; 2],
}

/// Packets with data that arrived at the other end.
#[derive(Default)]
struct Came {
    /// By the offset of their data: arrival times, ends of the data, and numbers.
    waiting: BTreeMap<u64, Vec<(Time, u64, u64)>>,
    /// The newest packet that was acknowledged.
    newest: Option<u64>,
}

impl Came {
    /// Takes the numbers of the packets within `covered` that had arrived when the acknowledgment
    /// was sent.
    fn take(&mut self, sent: Time, covered: Range<u64>, numbers: &mut Vec<u64>) {
        let mut empty = Vec::new();
        for (offset, packets) in self.waiting.range_mut(covered.clone()) {
            packets.retain(|(came, end, number)| {
                let acknowledged = *came <= sent && *end <= covered.end;
                if acknowledged {
                    numbers.push(*number);
                }
                !acknowledged
            });
            if packets.is_empty() {
                empty.push(*offset);
            }
        }
        for offset in empty {
            self.waiting.remove(&offset);
        }
    }

    /// The ranges of packet numbers that an acknowledgment acknowledges.
    fn acknowledged(&mut self, sent: Time, segment: &Segment) -> Vec<AckRange> {
        let mut numbers = Vec::new();
        if let Some(ack) = segment.ack {
            self.take(sent, 0..ack, &mut numbers);
        }
        for range in &segment.sacks {
            self.take(sent, range.clone(), &mut numbers);
        }
        numbers.sort_unstable();
        self.newest = self.newest.max(numbers.last().copied());
        if numbers.is_empty() {
            numbers.extend(self.newest);
        }
        let mut ranges: Vec<AckRange> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(range) if range.end + 1 == number => range.end = number,
                _ => ranges.push(AckRange::new(number, number)),
            }
        }
        ranges
    }
}

const fn place(end: End) -> usize {
    match end {
        End::Near => 0,
        End::Far => 1,
    }
}

const fn role(end: End) -> &'static str {
    match end {
        End::Near => "client",
        End::Far => "server",
    }
}

pub(super) fn ms(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e6
}

/// In milliseconds, if it is known and has changed.
pub(super) fn changed_ms(now: Duration, before: Option<Duration>) -> Option<f32> {
    (!now.is_zero() && before != Some(now)).then_some((now.as_nanos() as f64 / 1e6) as f32)
}

impl Log<'_> {
    /// Writes the head of the file and the events of the start of each path.
    fn begin(&mut self, network: &Network, index: usize, spec: &FlowSpec) -> io::Result<()> {
        let title = format!(
            "flow {} ({}) of a simulated run, seed {}",
            index + 1,
            spec.name,
            network.seed
        );
        let what = match &spec.traffic {
            Traffic::Tcp(tcp) => format!(
                "TCP under {}, shown as QUIC: packets are numbered as they leave, data is stream 0, \
                 and acknowledgments name the packets that they are the first to acknowledge",
                tcp.controller
            ),
            Traffic::Aatp(aatp) => format!(
                "AATP under {}: its messages are shown as datagrams",
                aatp.controller
            ),
            Traffic::Udp(_) => "UDP datagrams".to_owned(),
        };
        let description = format!(
            "{what}. Times are milliseconds since the run began. The truth about losses is in events \
             called whimbrel:..."
        );
        let vantage_point = VantagePoint {
            name: Some(format!("{} of {}", self.vantage.name(), spec.name)),
            ty: match self.vantage {
                Vantage::Sender => VantagePointType::Client,
                Vantage::Receiver => VantagePointType::Server,
            },
            flow: None,
        };
        match self.dialect {
            Dialect::Current => {
                let head = QlogSeq {
                    file_schema: QLOGFILESEQ_URI.to_owned(),
                    serialization_format: "application/qlog+json-seq".to_owned(),
                    title: Some(title.clone()),
                    description: Some(description),
                    trace: TraceSeq::new(
                        Some(title),
                        None,
                        Some(CommonFields {
                            group_id: Some(spec.name.to_string()),
                            reference_time: ReferenceTime::new_monotonic(None),
                            ..CommonFields::default()
                        }),
                        Some(vantage_point),
                        vec![QUIC_URI.to_owned(), TRUTH.to_owned()],
                    ),
                };
                self.record(&head)?;
            }
            Dialect::Older => {
                let trace = json!({
                    "title": title,
                    "description": description,
                    "vantage_point": vantage_point,
                    "common_fields": {
                        "protocol_type": ["QUIC"],
                        "time_format": "relative",
                        "reference_time": 0,
                    },
                });
                // The events follow one by one; `finish` closes the value.
                let head = json!({ "qlog_version": "0.3", "qlog_format": "JSON", "title": title });
                let (head, trace) = (open_object(&head), open_object(&trace));
                write!(self.out, "{head},\"traces\":[{trace},\"events\":[")?;
            }
        }
        for path in 0..spec.routes.len() {
            let [near, far] = [End::Near, End::Far].map(|end| {
                let address = address::address(index, path, end);
                let [a, b, c, d] = address.ip;
                TupleEndpointInfo {
                    ip_v4: Some(format!("{a}.{b}.{c}.{d}")),
                    port_v4: Some(address.port),
                    ip_v6: None,
                    port_v6: None,
                    connection_ids: None,
                }
            });
            let (local, remote) = match self.vantage {
                Vantage::Sender => (near, far),
                Vantage::Receiver => (far, near),
            };
            let started = ConnectionStarted { local, remote };
            self.event(spec.start, EventData::QuicConnectionStarted(started))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.dialect == Dialect::Older {
            self.out.write_all(b"]}]}\n")?;
        }
        self.out.flush()
    }

    fn record(&mut self, content: &impl Serialize) -> io::Result<()> {
        record(&mut self.out, content)
    }

    fn event(&mut self, at: Time, data: EventData) -> io::Result<()> {
        let event = QlogEvent::with_time(ms(at), data);
        match self.dialect {
            Dialect::Current => self.record(&event),
            Dialect::Older => {
                let value = serde_json::to_value(&event)?;
                self.older(value)
            }
        }
    }

    /// Writes an event about the truth.
    fn truth(
        &mut self,
        at: Time,
        name: &str,
        path: usize,
        mut data: Map<String, Value>,
    ) -> io::Result<()> {
        if self.several {
            data.insert("path_id".to_owned(), json!(path));
        }
        let event = JsonEvent {
            time: ms(at),
            importance: EventImportance::Base,
            name: format!("whimbrel:{name}"),
            data: Value::Object(data),
        };
        match self.dialect {
            Dialect::Current => self.record(&event),
            Dialect::Older => {
                let value = serde_json::to_value(&event)?;
                self.older(value)
            }
        }
    }

    /// Writes an event with the names of version 0.3.
    fn older(&mut self, mut event: Value) -> io::Result<()> {
        if let Some(name) = event.get_mut("name") {
            let older = match name.as_str() {
                Some("quic:connection_started") => "connectivity:connection_started",
                Some("quic:packet_sent") => "transport:packet_sent",
                Some("quic:packet_received") => "transport:packet_received",
                Some("quic:datagrams_received") => "transport:datagrams_received",
                Some("quic:recovery_metrics_updated") => "recovery:metrics_updated",
                Some("quic:congestion_state_updated") => "recovery:congestion_state_updated",
                Some("quic:packet_lost") => "recovery:packet_lost",
                Some("quic:timer_updated") => "recovery:loss_timer_updated",
                Some(other) => other,
                None => "",
            };
            *name = json!(older);
        }
        let data = event.get_mut("data");
        if let Some(data) = data {
            for end in ["local", "remote"] {
                let short = if end == "local" { "src" } else { "dst" };
                if let Some(info) = data.get(end).cloned() {
                    data[format!("{short}_ip")] = info["ip_v4"].clone();
                    data[format!("{short}_port")] = info["port_v4"].clone();
                }
            }
            let frames = data.get_mut("frames").and_then(Value::as_array_mut);
            for frame in frames.into_iter().flatten() {
                if let Some(length) = frame.pointer("/raw/length").cloned() {
                    frame["length"] = length;
                }
            }
        }
        if !std::mem::take(&mut self.first) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut self.out, &event)?;
        Ok(())
    }

    fn on_event(&mut self, network: &Network, event: &Event) -> io::Result<()> {
        let (at, path) = (event.at, event.path);
        match &event.what {
            What::Sent(packet) => {
                let next = &mut self.paths[path].next[place(packet.from)];
                let number = *next;
                *next += 1;
                self.numbers.insert(packet.id, number);
                if packet.from == self.vantage.end() {
                    self.packet(at, path, packet, number)?;
                }
                Ok(())
            }
            What::Arrived(packet) => {
                let data = match &packet.content {
                    Content::Segment(segment) => segment.data,
                    Content::Message(_) | Content::Datagram => None,
                };
                let number = self.numbers.remove(&packet.id).unwrap_or_default();
                if let Some(data) = data {
                    let came = &mut self.paths[path].came[place(packet.from)];
                    let here = came.waiting.entry(data.offset).or_default();
                    here.push((at, data.end(), number));
                }
                if packet.from != self.vantage.end() {
                    self.packet(at, path, packet, number)?;
                }
                Ok(())
            }
            What::Dropped(packet, fate) => self.dropped(network, at, path, packet, *fate),
            What::Lost(lost) => self.lost(at, path, lost),
            What::Judged(judged) => self.judged(at, path, judged),
            What::TimedOut(end) if *end == self.vantage.end() => {
                let timer = TimerUpdated {
                    path_id: self.path_id(path),
                    timer_type: Some(QlogTimerType::Pto.into()),
                    timer_id: None,
                    packet_number_space: None,
                    event_type: TimerEventType::Expired,
                    delta: None,
                };
                self.event(at, EventData::QuicTimerUpdated(timer))
            }
            What::TakenBack(end) if *end == self.vantage.end() => {
                self.truth(at, "reduction_undone", path, Map::new())
            }
            What::State(state) if state.end == self.vantage.end() => self.state(at, path, state),
            What::TimedOut(_) | What::TakenBack(_) | What::State(_) => Ok(()),
        }
    }

    fn path_id(&self, path: usize) -> Option<u64> {
        self.several.then_some(path as u64)
    }

    fn header(&self, path: usize, number: u64, ty: PacketType) -> PacketHeader {
        PacketHeader {
            path_id: self.path_id(path),
            ..PacketHeader::with_type(ty, Some(number), None, None, None)
        }
    }

    /// Writes a packet that is sent or received at this end.
    fn packet(&mut self, at: Time, path: usize, packet: &Packet, number: u64) -> io::Result<()> {
        let raw = |length: u64| RawInfo {
            length: Some(length),
            ..RawInfo::default()
        };
        let mut frames = Vec::new();
        let mut ty = PacketType::OneRtt;
        match &packet.content {
            Content::Segment(segment) => {
                if segment.syn {
                    ty = PacketType::Initial;
                    frames.push(QuicFrame::Crypto {
                        offset: 0,
                        raw: None,
                    });
                }
                if let Some(data) = segment.data {
                    frames.push(QuicFrame::Stream {
                        stream_id: 0,
                        offset: Some(data.offset),
                        fin: data.last.then_some(true),
                        raw: Some(Box::new(raw(u64::from(data.length)))),
                    });
                }
                let came = &mut self.paths[path].came[place(packet.from.other())];
                let ranges = came.acknowledged(packet.sent, segment);
                if segment.nack.is_some() {
                    frames.push(QuicFrame::Unknown {
                        frame_type_bytes: None,
                        raw: None,
                    });
                } else if !ranges.is_empty() {
                    frames.push(QuicFrame::Ack {
                        ack_delay: None,
                        acked_ranges: Some(ranges),
                        ect1: None,
                        ect0: None,
                        ce: None,
                        raw: None,
                    });
                }
                if frames.is_empty() {
                    frames.push(QuicFrame::Ping { raw: None });
                }
            }
            Content::Message(bytes) => frames.push(QuicFrame::Datagram {
                raw: Some(Box::new(raw(bytes.len() as u64))),
            }),
            Content::Datagram => frames.push(QuicFrame::Datagram { raw: None }),
        }
        let header = self.header(path, number, ty);
        let raw = Some(raw(packet.size.get()));
        let frames = Some(frames);
        if packet.from == self.vantage.end() {
            return self.event(
                at,
                EventData::QuicPacketSent(PacketSent {
                    header,
                    raw,
                    frames,
                    ..PacketSent::default()
                }),
            );
        }
        if packet.ecn == Ecn::Ce {
            let marked = UdpDatagramsReceived {
                count: Some(1),
                ecn: Some(QuicEcn::CE),
                ..UdpDatagramsReceived::default()
            };
            self.event(at, EventData::QuicUdpDatagramsReceived(marked))?;
        }
        self.event(
            at,
            EventData::QuicPacketReceived(PacketReceived {
                header,
                raw,
                frames,
                ..PacketReceived::default()
            }),
        )
    }

    fn dropped(
        &mut self,
        network: &Network,
        at: Time,
        path: usize,
        packet: &Packet,
        fate: Fate,
    ) -> io::Result<()> {
        let number = self.numbers.get(&packet.id).copied();
        let (link, cause) = match fate {
            Fate::Dropped { link, cause } => (Some(link_name(network, link.0)), cause_word(cause)),
            Fate::Corrupted => (None, "corrupted"),
        };
        let mut data = Map::new();
        data.insert("sender".to_owned(), json!(role(packet.from)));
        data.insert("packet_number".to_owned(), json!(number));
        if let Some(link) = link {
            data.insert("link".to_owned(), json!(link));
        }
        data.insert("cause".to_owned(), json!(cause.replace(' ', "_")));
        self.truth(at, "packet_dropped", path, data)
    }

    fn lost(&mut self, at: Time, path: usize, lost: &Lost) -> io::Result<()> {
        if lost.end != self.vantage.end() {
            return Ok(());
        }
        let trigger = match lost.by {
            Finding::Duplicates => PacketLostTrigger::ReorderingThreshold,
            Finding::Rack => PacketLostTrigger::TimeThreshold,
            Finding::Timeout => PacketLostTrigger::PtoExpired,
        };
        let number = lost.id.and_then(|id| self.numbers.get(&id).copied());
        let number = number.or_else(|| self.came_as(path, lost));
        let header = PacketHeader {
            packet_number: number,
            ..self.header(path, 0, PacketType::OneRtt)
        };
        let frame = QuicFrame::Stream {
            stream_id: 0,
            offset: Some(lost.offset),
            fin: None,
            raw: Some(Box::new(RawInfo {
                length: Some(u64::from(lost.length)),
                ..RawInfo::default()
            })),
        };
        self.event(
            at,
            EventData::QuicPacketLost(PacketLost {
                header: Some(header),
                frames: Some(vec![frame]),
                is_mtu_probe_packet: None,
                trigger: Some(trigger),
            }),
        )
    }

    /// The number of a packet that was declared lost by mistake: it arrived, but has not been
    /// acknowledged.
    fn came_as(&self, path: usize, lost: &Lost) -> Option<u64> {
        let here = self.paths[path].came[place(lost.end)]
            .waiting
            .get(&lost.offset)?;
        here.last().map(|(_, _, number)| *number)
    }

    fn judged(&mut self, at: Time, path: usize, judged: &Judged) -> io::Result<()> {
        if judged.end != self.vantage.end() {
            return Ok(());
        }
        let mut data = Map::new();
        if let Some(number) = judged.id.and_then(|id| self.numbers.get(&id)) {
            data.insert("packet_number".to_owned(), json!(number));
        }
        let verdict = judged.verdict.map(|verdict| match verdict {
            Verdict::Congestion => "congestion",
            Verdict::Random => "random",
        });
        if let Some(verdict) = verdict {
            data.insert("verdict".to_owned(), json!(verdict));
        }
        if let Some(confidence) = judged.confidence {
            data.insert("confidence".to_owned(), json!(confidence));
        }
        let truth = truth_word(judged.truth).replace(' ', "_");
        data.insert("truth".to_owned(), json!(truth));
        data.insert("window_reduced".to_owned(), json!(judged.reduced));
        self.truth(at, "loss_judged", path, data)
    }

    /// Writes the changes of a sender's state.
    fn state(&mut self, at: Time, path: usize, state: &SenderState) -> io::Result<()> {
        let path_id = self.path_id(path);
        let before = self.paths[path].state[place(state.end)].replace(*state);
        let metrics = RecoveryMetricsUpdated {
            path_id,
            min_rtt: changed_ms(state.min_rtt, before.map(|s| s.min_rtt)),
            smoothed_rtt: changed_ms(state.srtt, before.map(|s| s.srtt)),
            latest_rtt: changed_ms(state.latest_rtt, before.map(|s| s.latest_rtt)),
            rtt_variance: changed_ms(state.rttvar, before.map(|s| s.rttvar)),
            congestion_window: changed(state.cwnd.get(), before.map(|s| s.cwnd.get())),
            bytes_in_flight: changed(state.in_flight.get(), before.map(|s| s.in_flight.get())),
            ssthresh: changed_to(state.ssthresh, before.and_then(|s| s.ssthresh)).map(Bytes::get),
            pacing_rate: changed_to(state.pacing_rate, before.and_then(|s| s.pacing_rate))
                .map(Rate::as_bits_per_sec),
            ..RecoveryMetricsUpdated::default()
        };
        let nothing = RecoveryMetricsUpdated {
            path_id,
            ..RecoveryMetricsUpdated::default()
        };
        if metrics != nothing {
            self.event(at, EventData::QuicMetricsUpdated(metrics))?;
        }
        let (old, new) = (before.map(|s| stage(&s)), stage(state));
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        self.event(
            at,
            EventData::QuicCongestionStateUpdated(CongestionStateUpdated {
                path_id,
                old,
                new,
                trigger: None,
            }),
        )
    }
}

/// Writes one record of a stream (RFC 7464).
pub(super) fn record(to: &mut impl Write, content: &impl Serialize) -> io::Result<()> {
    to.write_all(RECORD)?;
    serde_json::to_writer(&mut *to, content)?;
    to.write_all(b"\n")
}

pub(super) fn changed<T: PartialEq>(now: T, before: Option<T>) -> Option<T> {
    (before.as_ref() != Some(&now)).then_some(now)
}

/// The value, if there is one and it differs from that before.
pub(super) fn changed_to<T: PartialEq>(now: Option<T>, before: Option<T>) -> Option<T> {
    now.filter(|now| before.as_ref() != Some(now))
}

/// The congestion state: qlog's `recovery`, or the controller's phase (`slow_start`,
/// `congestion_avoidance`).
fn stage(state: &SenderState) -> String {
    match state.stage {
        RecoveryStage::Open | RecoveryStage::StartedAgain => state.phase.replace(' ', "_"),
        RecoveryStage::Repair => "repair_without_reduction".to_owned(),
        RecoveryStage::Recovery | RecoveryStage::Marked => "recovery".to_owned(),
    }
}

/// The text of an object without its closing brace.
fn open_object(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix('}').unwrap_or(&text).to_owned()
}
