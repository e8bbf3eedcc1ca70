//! One run or one transfer with the names and units of the JSON that `iperf3 -J` prints.
//!
//! The names are those of iperf3's source (`iperf_api.c`: `print_interval_results`,
//! `iperf_print_intermediate`, `iperf_print_results`, `iperf_on_test_start`; `iperf_tcp.c`): times
//! in seconds, `rtt` and `rttvar` in microseconds, `snd_cwnd` and `pmtu` in bytes. Fields without a
//! value are left out: a simulation has no hosts, ports, dates and processors, and the peer's
//! window is not measured. Three things differ from iperf3:
//!
//! * `bytes` counts bytes that arrived. iperf3's sender counts bytes that its socket accepted,
//!   which includes those in flight.
//! * `socket` is the number of a stream, from 1; `connected` also has `flow` and `controller`.
//! * The last interval of a stream ends with the stream. It has no `snd_cwnd`, `rtt` and `rttvar`,
//!   unless the state was sampled at that moment.

use serde::Serialize;
use whimbrel_sim::{FlowOutcome, Outcome};
use whimbrel_units::{Duration, Time};

/// The progress of a stream at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Time since the test began.
    pub at: Duration,
    /// Bytes that have arrived.
    pub bytes: u64,
    /// Packets that have been retransmitted.
    pub retransmits: u64,
    /// The sender's state, if it was sampled.
    pub state: Option<State>,
}

/// A sender's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Its smoothed mean deviation.
    pub rttvar: Duration,
    /// Path MTU in bytes, IP header included, if it is known.
    pub pmtu: Option<u64>,
}

/// One flow, from its start to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub flow: String,
    /// Its congestion controller.
    pub controller: String,
    /// Its start, since the test began.
    pub start: Duration,
    /// Its progress at the end of each interval and at its own end, in order of time.
    pub points: Vec<Point>,
}

/// The output of iperf3 for a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    start: Start,
    intervals: Vec<Interval>,
    end: End,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Start {
    connected: Vec<Connected>,
    version: String,
    test_start: TestStart,
    title: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Connected {
    socket: usize,
    flow: String,
    controller: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct TestStart {
    protocol: &'static str,
    num_streams: usize,
    omit: u64,
    /// Whole seconds as in iperf3, rounded up.
    duration: u64,
    reverse: u64,
}

/// An interval: each stream's part and the sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    streams: Vec<Part>,
    sum: Sum,
    /// Not iperf3's: what each path of a connection over several carried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<OnPath>,
}

/// What was sent over one path in an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnPath {
    /// The network interface.
    pub via: Option<String>,
    /// Bytes of the UDP datagrams sent.
    pub bytes: u64,
    /// The same, bits per second.
    pub bits_per_second: f64,
    /// Packets declared lost.
    pub retransmits: u64,
    /// Smoothed round-trip time at the end, us.
    pub rtt: u64,
    /// How the path is at the end.
    pub state: &'static str,
}

impl Interval {
    /// Its length, s.
    pub fn seconds(&self) -> f64 {
        self.sum.seconds
    }

    /// The same with what each path carried.
    #[must_use]
    pub fn with_paths(mut self, paths: Vec<OnPath>) -> Self {
        self.paths = paths;
        self
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Part {
    socket: usize,
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    retransmits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    snd_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rttvar: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pmtu: Option<u64>,
    omitted: bool,
    sender: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Sum {
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    retransmits: u64,
    omitted: bool,
    sender: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct End {
    streams: Vec<EndOfStream>,
    sum_sent: SumSent,
    sum_received: SumReceived,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_tcp_congestion: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct EndOfStream {
    sender: SenderEnd,
    receiver: ReceiverEnd,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SenderEnd {
    socket: usize,
    #[serde(flatten)]
    sum: SumSent,
    #[serde(flatten)]
    extremes: Option<Extremes>,
}

/// Extremes over the ends of the intervals, as in iperf3.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Extremes {
    max_snd_cwnd: u64,
    max_rtt: u64,
    min_rtt: u64,
    mean_rtt: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ReceiverEnd {
    socket: usize,
    #[serde(flatten)]
    sum: SumReceived,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SumSent {
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    retransmits: u64,
    sender: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SumReceived {
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    sender: bool,
}

impl Test {
    /// A test of these streams with intervals of this length. `version` is this program's, `title`
    /// describes the test, and `protocol` is the transport.
    pub fn new(
        streams: Vec<Stream>,
        length: Duration,
        version: &str,
        title: &str,
        protocol: &'static str,
    ) -> Self {
        let last = |stream: &Stream| stream.points.last().map_or(stream.start, |p| p.at);
        let longest = streams.iter().map(last).max().unwrap_or_default();
        let ends = streams.iter().zip(1..).map(|(s, socket)| end_of(s, socket));
        let ends: Vec<EndOfStream> = ends.collect();
        let bytes = ends.iter().map(|end| end.sender.sum.bytes).sum();
        let sum_sent = SumSent {
            start: 0.0,
            end: longest.as_secs_f64(),
            seconds: longest.as_secs_f64(),
            bytes,
            bits_per_second: per_second(bytes, longest),
            retransmits: ends.iter().map(|end| end.sender.sum.retransmits).sum(),
            sender: true,
        };
        let controller = streams.first().map(|stream| stream.controller.clone());
        let same = |name: &String| streams.iter().all(|stream| stream.controller == *name);
        Self {
            intervals: intervals(&streams, length),
            end: End {
                streams: ends,
                sum_received: SumReceived::from(&sum_sent),
                sum_sent,
                sender_tcp_congestion: controller.filter(same),
            },
            start: Start {
                test_start: TestStart {
                    protocol,
                    num_streams: streams.len(),
                    omit: 0,
                    duration: longest.as_secs_f64().ceil() as u64,
                    reverse: 0,
                },
                version: version.to_owned(),
                title: title.to_owned(),
                connected: (1..)
                    .zip(streams)
                    .map(|(socket, stream)| Connected {
                        socket,
                        flow: stream.flow,
                        controller: stream.controller,
                    })
                    .collect(),
            },
        }
    }

    /// The same, seen by the receiver: `iperf3 -R`.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.start.test_start.reverse = 1;
        for interval in &mut self.intervals {
            interval.sum.sender = false;
            interval
                .streams
                .iter_mut()
                .for_each(|part| part.sender = false);
        }
        self
    }

    /// The TCP and AATP flows of a simulated run that was sampled at intervals of this length.
    pub fn of_run(outcome: &Outcome, length: Duration, version: &str, title: &str) -> Self {
        let streams = outcome.flows.iter().filter_map(stream).collect();
        Self::new(streams, length, version, title, "TCP")
    }
}

/// A sampled flow; `None` for UDP.
fn stream(flow: &FlowOutcome) -> Option<Stream> {
    let controller = flow.controller.clone()?;
    let start = flow.start.since(Time::ZERO);
    let end = start + flow.active;
    let points = flow.samples.iter().map(|sample| Point {
        at: sample.at.since(Time::ZERO),
        bytes: sample.delivered.get(),
        retransmits: sample.retransmits,
        state: Some(State {
            cwnd: sample.cwnd.get(),
            rtt: sample.srtt,
            rttvar: sample.rttvar,
            pmtu: None,
        }),
    });
    let mut points: Vec<Point> = points.filter(|point| point.at <= end).collect();
    let last = Point {
        at: end,
        bytes: flow.delivered.get(),
        retransmits: flow.retransmits,
        state: None,
    };
    match points.last_mut() {
        // Data may have arrived after the sample at the same instant.
        Some(point) if point.at == end => {
            *point = Point {
                state: point.state,
                ..last
            }
        }
        _ => points.push(last),
    }
    Some(Stream {
        flow: flow.name.to_string(),
        controller,
        start,
        points,
    })
}

/// The intervals of one stream, each ending at a point.
pub fn intervals_of(stream: &Stream) -> Vec<Interval> {
    let interval = |part| Interval {
        sum: Sum::of(std::slice::from_ref(&part)),
        streams: vec![part],
        paths: Vec::new(),
    };
    parts(stream, 1)
        .into_iter()
        .map(|(_, part)| interval(part))
        .collect()
}

/// The intervals of this length in which a stream was active. A stream has at most one point in
/// each.
fn intervals(streams: &[Stream], length: Duration) -> Vec<Interval> {
    let length = length.as_nanos().max(1);
    let mut all: Vec<(u64, Vec<Part>)> = Vec::new();
    for (stream, socket) in streams.iter().zip(1..) {
        for (at, part) in parts(stream, socket) {
            // A part that ends with an interval belongs to it.
            let number = (at.as_nanos() - 1) / length;
            match all.binary_search_by_key(&number, |(number, _)| *number) {
                Ok(place) => all[place].1.push(part),
                Err(place) => all.insert(place, (number, vec![part])),
            }
        }
    }
    let interval = |(_, streams): (u64, Vec<Part>)| Interval {
        sum: Sum::of(&streams),
        streams,
        paths: Vec::new(),
    };
    all.into_iter().map(interval).collect()
}

/// The parts of a stream between its points, with the time of their ends.
fn parts(stream: &Stream, socket: usize) -> Vec<(Duration, Part)> {
    let mut from = Point {
        at: stream.start,
        bytes: 0,
        retransmits: 0,
        state: None,
    };
    let points = stream.points.iter().filter(|point| point.at > stream.start);
    points
        .map(|point| {
            let part = part(&from, point, socket);
            from = *point;
            (point.at, part)
        })
        .collect()
}

fn part(from: &Point, to: &Point, socket: usize) -> Part {
    let bytes = to.bytes.saturating_sub(from.bytes);
    let seconds = to.at - from.at;
    Part {
        socket,
        start: from.at.as_secs_f64(),
        end: to.at.as_secs_f64(),
        seconds: seconds.as_secs_f64(),
        bytes,
        bits_per_second: per_second(bytes, seconds),
        retransmits: to.retransmits.saturating_sub(from.retransmits),
        snd_cwnd: to.state.map(|state| state.cwnd),
        rtt: to.state.map(|state| micros(state.rtt)),
        rttvar: to.state.map(|state| micros(state.rttvar)),
        pmtu: to.state.and_then(|state| state.pmtu),
        omitted: false,
        sender: true,
    }
}

impl Sum {
    fn of(parts: &[Part]) -> Self {
        let start = parts.iter().map(|part| part.start).reduce(f64::min);
        let end = parts.iter().map(|part| part.end).reduce(f64::max);
        let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
        let bytes = parts.iter().map(|part| part.bytes).sum();
        Self {
            start,
            end,
            seconds: end - start,
            bytes,
            bits_per_second: per_second(bytes, Duration::from_secs_f64(end - start)),
            retransmits: parts.iter().map(|part| part.retransmits).sum(),
            omitted: false,
            sender: true,
        }
    }
}

fn end_of(stream: &Stream, socket: usize) -> EndOfStream {
    let last = stream.points.last();
    let (bytes, end) = last.map_or((0, stream.start), |point| (point.bytes, point.at));
    let seconds = end - stream.start;
    let sum = SumSent {
        start: stream.start.as_secs_f64(),
        end: end.as_secs_f64(),
        seconds: seconds.as_secs_f64(),
        bytes,
        bits_per_second: per_second(bytes, seconds),
        retransmits: last.map_or(0, |point| point.retransmits),
        sender: true,
    };
    let states: Vec<State> = stream
        .points
        .iter()
        .filter_map(|point| point.state)
        .collect();
    // As in iperf3, an RTT of 0 means that it has not been measured yet.
    let rtts = states.iter().map(|state| micros(state.rtt));
    let rtts: Vec<u64> = rtts.filter(|rtt| *rtt > 0).collect();
    let count = rtts.len() as u64;
    let extremes = Extremes {
        max_snd_cwnd: states.iter().map(|s| s.cwnd).max().unwrap_or_default(),
        max_rtt: rtts.iter().copied().max().unwrap_or_default(),
        min_rtt: rtts.iter().copied().min().unwrap_or_default(),
        mean_rtt: rtts
            .iter()
            .sum::<u64>()
            .checked_div(count)
            .unwrap_or_default(),
    };
    EndOfStream {
        receiver: ReceiverEnd {
            socket,
            sum: SumReceived::from(&sum),
        },
        sender: SenderEnd {
            socket,
            sum,
            extremes: (!states.is_empty()).then_some(extremes),
        },
    }
}

impl From<&SumSent> for SumReceived {
    fn from(sent: &SumSent) -> Self {
        Self {
            start: sent.start,
            end: sent.end,
            seconds: sent.seconds,
            bytes: sent.bytes,
            bits_per_second: sent.bits_per_second,
            // The test was measured at the sender.
            sender: true,
        }
    }
}

/// Bits per second; zero if no time passed, as in iperf3.
fn per_second(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() {
        0.0
    } else {
        bytes as f64 * 8.0 / time.as_secs_f64()
    }
}

fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn point(at: u64, bytes: u64, retransmits: u64, cwnd_rtt: Option<(u64, u64)>) -> Point {
        Point {
            at: ms(at),
            bytes,
            retransmits,
            state: cwnd_rtt.map(|(cwnd, rtt)| State {
                cwnd,
                rtt: ms(rtt),
                rttvar: Duration::from_nanos(1_234_567),
                pmtu: Some(1500),
            }),
        }
    }

    fn named(name: &str, start: u64, points: Vec<Point>) -> Stream {
        Stream {
            flow: name.to_owned(),
            controller: "cubic".to_owned(),
            start: ms(start),
            points,
        }
    }

    #[test]
    fn an_interval_of_one_stream_ends_at_its_sample() {
        // A late sample, and an end before the next interval's.
        let points = vec![
            point(1003, 1000, 0, Some((3000, 5))),
            point(1900, 2000, 1, None),
        ];
        let intervals = intervals_of(&named("a", 0, points));
        let intervals = serde_json::to_value(&intervals).expect("JSON");
        assert_eq!(intervals.as_array().map(Vec::len), Some(2));
        assert_eq!(intervals[0]["streams"][0]["rtt"], 5000);
        assert_eq!(intervals[0]["sum"]["end"], 1.003);
        assert_eq!(intervals[1]["streams"][0]["start"], 1.003);
        assert_eq!(intervals[1]["sum"]["end"], 1.9);
        assert_eq!(intervals[1]["sum"]["retransmits"], 1);
    }

    #[test]
    fn names_and_units_are_those_of_iperf3() {
        let a = vec![
            point(1000, 125_000, 0, Some((30_000, 40))),
            point(2000, 375_000, 7, Some((20_000, 60))),
            point(2500, 400_000, 8, None),
        ];
        // Starts late and ends with the second interval.
        let b = vec![point(2000, 50_000, 1, Some((9000, 41)))];
        let streams = vec![named("a", 0, a), named("b", 1500, b)];
        let test = Test::new(streams, ms(1000), "whimbrel 1", "a path", "TCP");
        let test = serde_json::to_value(&test).expect("JSON");
        // 125 kB in a second are 1 Mbit/s; 40 ms are 40,000 us.
        assert_eq!(
            test["intervals"][0],
            json!({
                "streams": [{
                    "socket": 1, "start": 0.0, "end": 1.0, "seconds": 1.0, "bytes": 125_000, "bits_per_second": 1e6,
                    "retransmits": 0, "snd_cwnd": 30_000, "rtt": 40_000, "rttvar": 1234, "pmtu": 1500,
                    "omitted": false, "sender": true,
                }],
                "sum": {
                    "start": 0.0, "end": 1.0, "seconds": 1.0, "bytes": 125_000, "bits_per_second": 1e6,
                    "retransmits": 0, "omitted": false, "sender": true,
                },
            })
        );
        let second = &test["intervals"][1];
        // 50 kB in half a second.
        assert_eq!(second["streams"][1]["start"], 1.5);
        assert_eq!(second["streams"][1]["bits_per_second"], 800e3);
        assert_eq!(second["sum"]["bytes"], 300_000);
        assert_eq!(second["sum"]["retransmits"], 8);
        let third = &test["intervals"][2]["streams"][0];
        assert_eq!(third["end"], 2.5);
        assert!(third.get("rtt").is_none() && third.get("snd_cwnd").is_none());
        assert_eq!(test["intervals"].as_array().map(Vec::len), Some(3));
        assert_eq!(
            test["end"]["streams"][0]["sender"],
            json!({
                "socket": 1, "start": 0.0, "end": 2.5, "seconds": 2.5, "bytes": 400_000, "bits_per_second": 1.28e6,
                "retransmits": 8, "sender": true,
                "max_snd_cwnd": 30_000, "max_rtt": 60_000, "min_rtt": 40_000, "mean_rtt": 50_000,
            })
        );
        assert_eq!(test["end"]["sum_sent"]["bytes"], 450_000);
        assert_eq!(test["end"]["sum_sent"]["retransmits"], 9);
        assert_eq!(test["end"]["sum_received"]["bytes"], 450_000);
        assert_eq!(test["end"]["sender_tcp_congestion"], "cubic");
        assert_eq!(test["start"]["test_start"]["num_streams"], 2);
        assert_eq!(test["start"]["test_start"]["duration"], 3);
        assert_eq!(
            test["start"]["connected"][1],
            json!({ "socket": 2, "flow": "b", "controller": "cubic" })
        );
    }

    #[test]
    fn an_rtt_that_is_not_measured_yet_has_no_part_in_the_mean() {
        let points = vec![
            point(1000, 0, 0, Some((30_000, 0))),
            point(2000, 1000, 0, Some((30_000, 40))),
            point(3000, 2000, 0, Some((30_000, 60))),
        ];
        let test = Test::new(
            vec![named("a", 0, points)],
            ms(1000),
            "whimbrel 1",
            "",
            "TCP",
        );
        let test = serde_json::to_value(&test).expect("JSON");
        let sender = &test["end"]["streams"][0]["sender"];
        assert_eq!(
            (&sender["min_rtt"], &sender["mean_rtt"]),
            (&json!(40_000), &json!(50_000))
        );
    }

    /// An endless flow, one that ends between two samples, one that starts late, two paths and UDP.
    const MIXED: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = "1 %"
[link.M]
rate = "2 Mbit/s"
[[flow]]
route = ["L"]
[[flow]]
controller = "newreno"
route = ["L"]
size = "300 kB"
[[flow]]
route = ["L"]
start = "1.3 s"
two_way = true
[[flow]]
routes = [["L"], ["M"]]
[[flow]]
controller = "enhanced-aatp"
route = ["L"]
[[flow]]
kind = "udp"
rate = "100 kbit/s"
route = ["L"]
[run]
duration = "5 s"
sample = "1 s"
"#;

    #[test]
    fn intervals_add_up_to_the_totals_of_the_run() {
        let scenario = Scenario::parse(MIXED, Path::new("test")).expect("a scenario");
        let point = &scenario.points()[0];
        let outcome = whimbrel_sim::run(&point.network(1));
        let test = Test::of_run(&outcome, Duration::from_secs(1), "whimbrel 1", "t");
        let test = serde_json::to_value(&test).expect("JSON");
        let number = |value: &Value| value.as_u64().expect("a whole number");
        let intervals = test["intervals"].as_array().expect("a list");
        assert_eq!(intervals.len(), 5);
        let tcp: Vec<&FlowOutcome> = outcome
            .flows
            .iter()
            .filter(|f| f.controller.is_some())
            .collect();
        assert_eq!(test["end"]["streams"].as_array().map(Vec::len), Some(5));
        for (flow, socket) in tcp.iter().zip(1..) {
            let parts = intervals
                .iter()
                .flat_map(|interval| interval["streams"].as_array());
            let parts = parts.flatten().filter(|part| part["socket"] == socket);
            let parts: Vec<&Value> = parts.collect();
            let sum = |name: &str| parts.iter().map(|part| number(&part[name])).sum::<u64>();
            assert_eq!(sum("bytes"), flow.delivered.get(), "{}", flow.name);
            assert_eq!(sum("retransmits"), flow.retransmits, "{}", flow.name);
            let end = &test["end"]["streams"][socket - 1]["sender"];
            assert_eq!(number(&end["bytes"]), flow.delivered.get());
            assert_eq!(number(&end["retransmits"]), flow.retransmits);
            for pair in parts.windows(2) {
                assert_eq!(pair[0]["end"], pair[1]["start"]);
            }
            assert_eq!(parts[0]["start"], flow.start.as_secs_f64());
            assert!(flow.delivered.get() >= 300_000 && flow.samples.len() >= 3);
            // 40 ms of propagation and some queueing, with AATP and TCP alike.
            assert!(
                parts
                    .iter()
                    .all(|part| part.get("rtt").is_none_or(|rtt| number(rtt) >= 20_000))
            );
        }
        let sums = intervals
            .iter()
            .map(|interval| number(&interval["sum"]["bytes"]));
        assert_eq!(sums.sum::<u64>(), number(&test["end"]["sum_sent"]["bytes"]));
        // The second flow ended within an interval, whose last part has no state.
        let flow = tcp[1];
        let took = flow
            .completion
            .expect("300 kB are over in 5 s")
            .as_secs_f64();
        let last = &intervals[took as usize]["streams"][1];
        assert!((last["end"].as_f64().expect("a number") - took).abs() < 1e-9);
        assert!(last.get("snd_cwnd").is_none());
    }
}
