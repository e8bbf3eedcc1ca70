//! What `whimbrel measure` found: as lines, and in iperf3's format.

use crate::VERSION;
use serde_json::{Value, json};
use whimbrel_report::iperf3::{Point, State, Stream, Test};
use whimbrel_transfer::{Direction, IntervalSample, MeasureReport, Transport};
use whimbrel_units::{Bytes, Duration, Rate};

/// The heading of the lines of a direction.
pub fn heading(direction: Direction, host: &str) -> String {
    match direction {
        Direction::Forward => format!(
            "to {host}\n{:>17} {:>10} {:>14} {:>8} {:>9} {:>10}\n",
            "interval", "arrived", "rate", "lost", "RTT", "cwnd"
        ),
        Direction::Reverse => format!(
            "from {host}\n{:>17} {:>10} {:>14} {:>9}\n",
            "interval", "arrived", "rate", "RTT"
        ),
    }
}

/// The line of the interval between two samples; `before` is `None` for the first.
pub fn line(direction: Direction, before: Option<&IntervalSample>, now: &IntervalSample) -> String {
    let since = before.map_or(Duration::ZERO, |before| before.at);
    let bytes = before.map_or(0, |before| before.acknowledged.get());
    let lost = before.map_or(0, |before| before.lost_packets);
    let arrived = now.acknowledged.get().saturating_sub(bytes);
    let lost = now.lost_packets.saturating_sub(lost);
    let start = columns(since, now.at, arrived);
    let rtt = format!("{:.1} ms", now.srtt.as_millis_f64());
    match direction {
        Direction::Forward => {
            let cwnd = match now.cwnd {
                Bytes::ZERO => "-".to_owned(),
                cwnd => cwnd.to_string(),
            };
            format!("{start} {lost:>8} {rtt:>9} {cwnd:>10}\n")
        }
        Direction::Reverse => format!("{start} {rtt:>9}\n"),
    }
}

/// Times, bytes and rate.
fn columns(from: Duration, to: Duration, bytes: u64) -> String {
    let times = format!("{:.1} to {:.1} s", from.as_secs_f64(), to.as_secs_f64());
    let rate = rate(bytes, to - from).to_string();
    format!(
        "{times:>17} {:>10} {rate:>14}",
        Bytes::new(bytes).to_string()
    )
}

fn rate(bytes: u64, time: Duration) -> Rate {
    let seconds = time.as_secs_f64().max(1e-9);
    Rate::from_bits_per_sec((bytes as f64 * 8.0 / seconds) as u64)
}

/// The whole of one direction.
pub fn total(report: &MeasureReport) -> String {
    let Some(last) = report.samples.last() else {
        return "nothing was measured\n".to_owned();
    };
    let start = columns(Duration::ZERO, last.at, last.acknowledged.get());
    let lost = match lost_percent(report) {
        Some(percent) => format!(
            ", {} of {} packets lost ({percent:.2} %)",
            last.lost_packets, report.sent_packets
        ),
        None => String::new(),
    };
    let by = report
        .controller
        .as_deref()
        .unwrap_or("the server's controller");
    let over = match report.transport {
        Transport::Quic => "QUIC",
        _ => "TLS on TCP",
    };
    let rtt = report.min_rtt.as_millis_f64();
    let early = match report.ended_early {
        true => "the server's --max-probe ended it\n",
        false => "",
    };
    format!("{start}  all\n{early}{by}, {over}, minimum RTT {rtt:.1} ms{lost}\n")
}

/// Lost packets of those sent; `None` where this end does not know.
fn lost_percent(report: &MeasureReport) -> Option<f64> {
    let knows = report.direction == Direction::Forward && report.transport == Transport::Quic;
    let lost = report.samples.last()?.lost_packets as f64;
    knows.then(|| 100.0 * lost / report.sent_packets.max(1) as f64)
}

/// One direction with the names and units of `iperf3 -J`.
pub fn as_json(report: &MeasureReport, interval: Duration, host: &str) -> Value {
    let is_sender = report.direction == Direction::Forward;
    let knows = is_sender && report.transport == Transport::Quic;
    let point = |sample: &IntervalSample| Point {
        at: sample.at,
        bytes: sample.acknowledged.get(),
        retransmits: sample.lost_packets,
        state: knows.then(|| State {
            cwnd: sample.cwnd.get(),
            rtt: sample.srtt,
            rttvar: sample.rttvar,
            pmtu: Some(sample.path_mtu.get()),
        }),
    };
    let (title, controller) = match report.direction {
        Direction::Forward => (format!("to {host}"), report.controller.clone()),
        Direction::Reverse => (format!("from {host}"), None),
    };
    let stream = Stream {
        flow: title.clone(),
        controller: controller.unwrap_or_default(),
        start: Duration::ZERO,
        points: report.samples.iter().map(point).collect(),
    };
    let protocol = match report.transport {
        Transport::Quic => "QUIC",
        _ => "TLS",
    };
    let test = Test::new(vec![stream], interval, VERSION, &title, protocol);
    let mut value = json!(match report.direction {
        Direction::Forward => test,
        Direction::Reverse => test.reversed(),
    });
    value["end"]["min_rtt"] = json!((report.min_rtt.as_secs_f64() * 1e6).round() as u64);
    value["end"]["ended_early"] = json!(report.ended_early);
    if let (Some(percent), Some(last)) = (lost_percent(report), report.samples.last()) {
        value["end"]["sum"] = json!({
            "packets": report.sent_packets,
            "lost_packets": last.lost_packets,
            "lost_percent": percent,
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(direction: Direction) -> MeasureReport {
        let sample = |second: u64| IntervalSample {
            at: Duration::from_secs(second),
            acknowledged: Bytes::new(1_000_000 * second * second),
            lost_packets: 5 * second,
            cwnd: Bytes::new(50_000),
            srtt: Duration::from_millis(80),
            rttvar: Duration::from_millis(2),
            path_mtu: Bytes::new(1452),
            paths: Vec::new(),
        };
        MeasureReport {
            direction,
            controller: (direction == Direction::Forward).then(|| "cubic".to_owned()),
            transport: Transport::Quic,
            samples: vec![sample(1), sample(2)],
            sent_packets: 1000,
            min_rtt: Duration::from_millis(70),
            ended_early: false,
        }
    }

    #[test]
    fn lines_have_the_differences_of_samples() {
        let forward = report(Direction::Forward);
        let first = line(Direction::Forward, None, &forward.samples[0]);
        assert!(
            first.contains("0.0 to 1.0 s") && first.contains(" 8 Mbit/s"),
            "{first}"
        );
        let second = line(
            Direction::Forward,
            forward.samples.first(),
            &forward.samples[1],
        );
        for part in [
            "1.0 to 2.0 s",
            "3 MB",
            "24 Mbit/s",
            " 5 ",
            "80.0 ms",
            "50 kB",
        ] {
            assert!(second.contains(part), "{part}: {second}");
        }
        assert_eq!(
            heading(Direction::Forward, "h")
                .lines()
                .nth(1)
                .map(str::len),
            Some(second.trim_end().len())
        );
        let all = total(&forward);
        for part in [
            "0.0 to 2.0 s",
            "16 Mbit/s  all",
            "10 of 1000 packets lost (1.00 %)",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(!total(&report(Direction::Reverse)).contains("lost"));
    }

    #[test]
    fn json_has_the_shape_of_iperf3() {
        let second = Duration::from_secs(1);
        let value = as_json(&report(Direction::Forward), second, "h");
        assert_eq!(value["intervals"][1]["sum"]["bits_per_second"], 24e6);
        assert_eq!(value["intervals"][1]["streams"][0]["retransmits"], 5);
        assert_eq!(value["intervals"][0]["streams"][0]["rtt"], 80_000);
        assert_eq!(value["end"]["sum_received"]["bytes"], 4_000_000);
        assert_eq!(value["end"]["sum"]["lost_percent"], 1.0);
        assert_eq!(value["end"]["sender_tcp_congestion"], "cubic");
        let value = as_json(&report(Direction::Reverse), second, "h");
        assert_eq!(value["start"]["test_start"]["reverse"], 1);
        assert_eq!(value["intervals"][0]["sum"]["sender"], false);
        assert!(value["intervals"][0]["streams"][0]["rtt"].is_null());
        assert!(value["end"]["sum"].is_null());
    }
}
