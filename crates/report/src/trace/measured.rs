//! A log of a connection that was measured on a real network, as qlog.
//!
//! The schemas are those of simulated runs (see `qlog`): a stream of records (RFC 7464, `.sqlog`)
//! with the state of the congestion controller over time. Packets are not logged. A decision of a
//! loss classifier is an event `whimbrel:loss_judged` of the schema [`TRUTH`], with
//! `sequence_number`, `verdict` and, if the path reports it, `truth`.

use super::qlog::{TRUTH, changed, changed_ms, changed_to, ms, record};
use crate::measured::Measured;
use ::qlog::events::quic::{CongestionStateUpdated, ConnectionStarted, RecoveryMetricsUpdated};
use ::qlog::events::{
    Event as QlogEvent, EventData, EventImportance, JsonEvent, QUIC_URI, TupleEndpointInfo,
};
use ::qlog::{
    CommonFields, QLOGFILESEQ_URI, QlogSeq, ReferenceTime, TraceSeq, VantagePoint, VantagePointType,
};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use whimbrel_cc::Verdict;
use whimbrel_cc::connection::{ConnectionState, Decision};
use whimbrel_units::{Bytes, Rate, Time};

/// Writes the log of a connection.
///
/// # Errors
/// If the writer fails.
pub fn measured(connection: &Measured, mut to: impl Write) -> io::Result<()> {
    head(connection, &mut to)?;
    let begin = connection.points.first().map_or(Time::ZERO, |p| p.time);
    let started = ConnectionStarted {
        local: endpoint(connection.local),
        remote: endpoint(connection.remote),
    };
    event(begin, EventData::QuicConnectionStarted(started), &mut to)?;
    let mut decisions = connection.decisions.iter().peekable();
    let mut before = None;
    for point in &connection.points {
        while let Some(decision) = decisions.next_if(|d| d.time <= point.time) {
            judged(decision, &mut to)?;
        }
        state(point, before.replace(*point), &mut to)?;
    }
    decisions.try_for_each(|decision| judged(decision, &mut to))?;
    to.flush()
}

fn head(connection: &Measured, to: &mut impl Write) -> io::Result<()> {
    let Measured {
        protocol,
        label,
        local,
        remote,
        ..
    } = connection;
    let title = format!("TCP connection {label} under {protocol}: {local} to {remote}");
    let description = "Linux TCP, shown as QUIC: the state of the congestion controller, sampled. \
                       Times are milliseconds since the program began. Decisions on losses are in \
                       events called whimbrel:loss_judged."
        .to_owned();
    let head = QlogSeq {
        file_schema: QLOGFILESEQ_URI.to_owned(),
        serialization_format: "application/qlog+json-seq".to_owned(),
        title: Some(title.clone()),
        description: Some(description),
        trace: TraceSeq::new(
            Some(title),
            None,
            Some(CommonFields {
                group_id: Some(label.clone()),
                reference_time: ReferenceTime::new_monotonic(None),
                ..CommonFields::default()
            }),
            // Which end opened the connection is unknown.
            Some(VantagePoint {
                name: Some(local.to_string()),
                ty: VantagePointType::Unknown,
                flow: None,
            }),
            vec![QUIC_URI.to_owned(), TRUTH.to_owned()],
        ),
    };
    record(to, &head)
}

fn endpoint(address: SocketAddr) -> TupleEndpointInfo {
    let mut info = TupleEndpointInfo {
        ip_v4: None,
        port_v4: None,
        ip_v6: None,
        port_v6: None,
        connection_ids: None,
    };
    match address {
        SocketAddr::V4(address) => {
            info.ip_v4 = Some(address.ip().to_string());
            info.port_v4 = Some(address.port());
        }
        SocketAddr::V6(address) => {
            info.ip_v6 = Some(address.ip().to_string());
            info.port_v6 = Some(address.port());
        }
    }
    info
}

fn event(at: Time, data: EventData, to: &mut impl Write) -> io::Result<()> {
    record(to, &QlogEvent::with_time(ms(at), data))
}

/// Writes what changed since the point before.
fn state(
    point: &ConnectionState,
    before: Option<ConnectionState>,
    to: &mut impl Write,
) -> io::Result<()> {
    let metrics = RecoveryMetricsUpdated {
        smoothed_rtt: changed_ms(point.srtt, before.map(|p| p.srtt)),
        latest_rtt: changed_ms(point.rtt, before.map(|p| p.rtt)),
        congestion_window: changed(point.cwnd.get(), before.map(|p| p.cwnd.get())),
        bytes_in_flight: changed(point.in_flight.get(), before.map(|p| p.in_flight.get())),
        ssthresh: changed_to(point.ssthresh, before.and_then(|p| p.ssthresh)).map(Bytes::get),
        pacing_rate: changed_to(point.pacing_rate, before.and_then(|p| p.pacing_rate))
            .map(Rate::as_bits_per_sec),
        ..RecoveryMetricsUpdated::default()
    };
    if metrics != RecoveryMetricsUpdated::default() {
        event(point.time, EventData::QuicMetricsUpdated(metrics), to)?;
    }
    let word = |phase: &str| phase.replace(' ', "_");
    if before.is_some_and(|p| p.phase == point.phase) {
        return Ok(());
    }
    let updated = CongestionStateUpdated {
        path_id: None,
        old: before.map(|p| word(p.phase)),
        new: word(point.phase),
        trigger: None,
    };
    event(
        point.time,
        EventData::QuicCongestionStateUpdated(updated),
        to,
    )
}

fn judged(decision: &Decision, to: &mut impl Write) -> io::Result<()> {
    let word = |verdict| match verdict {
        Verdict::Congestion => "congestion",
        Verdict::Random => "random",
    };
    let mut data = Map::new();
    data.insert("sequence_number".to_owned(), json!(decision.sequence));
    data.insert("verdict".to_owned(), json!(word(decision.judged)));
    if let Some(truth) = decision.actual {
        data.insert("truth".to_owned(), json!(word(truth)));
    }
    let event = JsonEvent {
        time: ms(decision.time),
        importance: EventImportance::Base,
        name: "whimbrel:loss_judged".to_owned(),
        data: Value::Object(data),
    };
    record(to, &event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::qlog::reader::{Event as Record, QlogSeqReader};
    use whimbrel_units::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn point(ms: u64, cwnd: u64, phase: &'static str) -> ConnectionState {
        ConnectionState {
            time: at(ms),
            cwnd: Bytes::new(cwnd),
            phase,
            rtt: Duration::from_millis(20),
            srtt: Duration::from_millis(21),
            ..ConnectionState::default()
        }
    }

    #[test]
    fn a_log_has_the_changes_and_the_decisions_in_order() {
        let connection = Measured {
            protocol: "cerl".to_owned(),
            label: "1".to_owned(),
            local: "[2001:db8::1]:5000".parse().expect("an address"),
            remote: "[2001:db8::2]:443".parse().expect("an address"),
            points: vec![
                point(100, 14_000, "slow start"),
                point(200, 14_000, "slow start"),
                point(300, 20_000, "congestion avoidance"),
            ],
            decisions: vec![Decision {
                time: at(250),
                sequence: 77,
                judged: Verdict::Random,
                actual: Some(Verdict::Congestion),
            }],
        };
        let mut log = Vec::new();
        measured(&connection, &mut log).expect("written");
        let text = String::from_utf8(log.clone()).expect("UTF-8");
        let reader = QlogSeqReader::new(Box::new(io::Cursor::new(log))).expect("a log");
        let mut names = Vec::new();
        for record in reader {
            match record {
                Record::Qlog(event) => names.push((event.time, format!("{:?}", event.data))),
                Record::Json(event) => names.push((event.time, event.name)),
            }
        }
        let kinds: Vec<(f64, &str)> = names
            .iter()
            .map(|(at, name)| (*at, name.split(['(', ' ']).next().unwrap_or_default()))
            .collect();
        assert_eq!(
            kinds,
            [
                (100.0, "QuicConnectionStarted"),
                (100.0, "QuicMetricsUpdated"),
                (100.0, "QuicCongestionStateUpdated"),
                (250.0, "whimbrel:loss_judged"),
                (300.0, "QuicMetricsUpdated"),
                (300.0, "QuicCongestionStateUpdated"),
            ]
        );
        for word in ["2001:db8::2", "\"port_v6\":443", "\"truth\":\"congestion\""] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
