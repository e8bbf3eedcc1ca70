//! Connections that were measured on a real network, over time.

use super::events::MOST;
use super::over_time::series;
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use crate::measured::Measured;
use crate::quantity::{BYTES, RATES, unit_of};
use crate::thin::{Point, shorten, thin};
use whimbrel_cc::Verdict;
use whimbrel_cc::connection::ConnectionState;
use whimbrel_units::{Duration, Time};

/// Maximum number of points of a series.
const POINTS: usize = 400;
/// Rates are means over this many spans.
const SPANS: usize = 100;
/// A pacing rate is cut off at this multiple of the maximum goodput: during startup it may be far
/// above all else.
const HIGHEST_RATE: f64 = 3.0;

/// Window, rate and round-trip time of connections, panels above each other. `None` if there are
/// too few points.
pub fn measured(connections: &[Measured]) -> Option<Figure> {
    let points = || connections.iter().flat_map(|c| &c.points);
    let begin = points().map(|p| p.time).min()?;
    let end = points().map(|p| p.time).max()?;
    if end <= begin {
        return None;
    }
    let span = end.since(begin).as_secs_f64() / SPANS as f64;
    let marks = marks(connections);
    let mut caption = "Connections of Linux TCP. Rates are of data acknowledged in order, means \
                       over "
        .to_owned();
    caption += &format!("{}.", Duration::from_secs_f64(span));
    if !marks.is_empty() {
        caption += " Marks are losses.";
    }
    let panels = [
        cwnd(connections, marks),
        rate(connections, (begin, end)),
        rtt(connections),
    ];
    let panels: Vec<Panel> = panels
        .into_iter()
        .filter(|panel| !panel.series.is_empty())
        .collect();
    (!panels.is_empty()).then(|| {
        shorten(Figure {
            id: "time".to_owned(),
            title: "Over time".to_owned(),
            caption,
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels,
            },
        })
    })
}

/// A series for each connection that has points.
fn each(
    connections: &[Measured],
    form: Form,
    note: &str,
    of: impl Fn(&Measured) -> Vec<Point>,
) -> Vec<Series> {
    let one = |c: &Measured| {
        let points = thin(of(c), POINTS);
        let label = format!("{}{note}", c.label);
        (!points.is_empty()).then(|| series(Some(&c.protocol), &label, form, points))
    };
    connections.iter().filter_map(one).collect()
}

/// One value of each point that has it.
fn values(c: &Measured, of: impl Fn(&ConnectionState) -> Option<f64>) -> Vec<Point> {
    let place = |p: &ConnectionState| Some([p.time.as_secs_f64(), of(p)?]);
    c.points.iter().filter_map(place).collect()
}

fn top(series: &[Series]) -> f64 {
    let all = series.iter().flat_map(|s| &s.points);
    all.map(|[_, y]| *y).fold(0.0, f64::max)
}

/// A panel whose values are shown in the unit that fits `top`.
fn panel(label: &str, top: f64, units: &crate::quantity::Units, mut all: Vec<Series>) -> Panel {
    let (size, unit) = unit_of(top, units);
    for [_, y] in all.iter_mut().flat_map(|s| &mut s.points) {
        *y /= size;
    }
    Panel {
        y: Axis::new(label, unit),
        series: all,
    }
}

fn cwnd(connections: &[Measured], marks: Vec<Series>) -> Panel {
    let mut all = each(connections, Form::Line, "", |c| {
        values(c, |p| Some(p.cwnd.get() as f64))
    });
    let top = top(&all);
    // A threshold that was never reached is far above all windows; they would become flat.
    all.extend(each(connections, Form::Dashed, ", ssthresh", |c| {
        let fits = |p: &ConnectionState| {
            p.ssthresh
                .map(|s| s.get() as f64)
                .filter(|s| *s <= 1.5 * top)
        };
        values(c, fits)
    }));
    all.extend(marks);
    panel("congestion window", top, BYTES, all)
}

/// Losses: the classifier's decisions if there are any, else each sample with new losses. None if
/// there are too many.
fn marks(connections: &[Measured]) -> Vec<Series> {
    let of = |c: &Measured| -> Vec<Series> {
        let cwnd = |at: Time| {
            let before = c.points.partition_point(|p| p.time <= at).saturating_sub(1);
            c.points.get(before).map_or(0.0, |p| p.cwnd.get() as f64)
        };
        let place = |at: Time| [at.as_secs_f64(), cwnd(at)];
        let judged = |verdict: Verdict| -> Vec<Point> {
            let these = c.decisions.iter().filter(|d| d.judged == verdict);
            these.map(|d| place(d.time)).collect()
        };
        let (losses, kept) = if c.decisions.is_empty() {
            let pairs = c.points.iter().zip(c.points.iter().skip(1));
            let new = pairs.filter(|(before, after)| after.lost > before.lost);
            (
                new.map(|(_, after)| place(after.time)).collect(),
                Vec::new(),
            )
        } else {
            (judged(Verdict::Congestion), judged(Verdict::Random))
        };
        [("loss", losses), ("loss, taken as random", kept)]
            .into_iter()
            .filter(|(_, places)| !places.is_empty())
            .map(|(what, places)| {
                let label = format!("{}, {what}", c.label);
                series(Some(&c.protocol), &label, Form::Marks, places)
            })
            .collect()
    };
    let all: Vec<Series> = connections.iter().flat_map(of).collect();
    let few = all.iter().map(|s| s.points.len()).sum::<usize>() <= MOST;
    if few { all } else { Vec::new() }
}

fn rate(connections: &[Measured], time: (Time, Time)) -> Panel {
    let mut all = each(connections, Form::Line, "", |c| goodput(&c.points, time));
    let top = top(&all);
    all.extend(each(connections, Form::Dashed, ", pacing rate", |c| {
        let rate = |p: &ConnectionState| Some(p.pacing_rate?.as_bits_per_sec() as f64);
        let mut places = values(c, rate);
        for [_, y] in &mut places {
            *y = y.min(HIGHEST_RATE * top);
        }
        places
    }));
    panel("rate", top, RATES, all)
}

/// The goodput in bit/s, as means over [`SPANS`] equal spans of the time.
fn goodput(points: &[ConnectionState], (begin, end): (Time, Time)) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let (from, to) = (begin.as_secs_f64(), end.as_secs_f64());
    let (first, last) = (first.time.as_secs_f64(), last.time.as_secs_f64());
    let edge = |i: usize| from + (to - from) * i as f64 / SPANS as f64;
    let spans = (0..SPANS).map(|i| (edge(i).max(first), edge(i + 1).min(last)));
    spans
        .filter(|(a, b)| b - a > 1e-9)
        .map(|(a, b)| {
            [
                (a + b) / 2.0,
                8.0 * (acked(points, b) - acked(points, a)) / (b - a),
            ]
        })
        .collect()
}

/// Bytes acknowledged until a time, linear between points.
fn acked(points: &[ConnectionState], at: f64) -> f64 {
    let next = points.partition_point(|p| p.time.as_secs_f64() < at);
    let value = |p: &ConnectionState| (p.time.as_secs_f64(), p.delivered.get() as f64);
    match (
        next.checked_sub(1).and_then(|i| points.get(i)),
        points.get(next),
    ) {
        (Some(a), Some(b)) => {
            let ((t0, y0), (t1, y1)) = (value(a), value(b));
            y0 + (y1 - y0) * ((at - t0) / (t1 - t0).max(1e-9)).clamp(0.0, 1.0)
        }
        (Some(p), None) | (None, Some(p)) => value(p).1,
        (None, None) => 0.0,
    }
}

fn rtt(connections: &[Measured]) -> Panel {
    let all = each(connections, Form::Line, "", |c| {
        values(c, |p| (!p.srtt.is_zero()).then(|| p.srtt.as_millis_f64()))
    });
    Panel {
        y: Axis::new("smoothed RTT", "ms"),
        series: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use whimbrel_cc::connection::Decision;
    use whimbrel_units::{Bytes, Rate};

    fn point(ms: u64, acked: u64) -> ConnectionState {
        ConnectionState {
            time: Time::ZERO + Duration::from_millis(ms),
            cwnd: Bytes::new(100_000),
            pacing_rate: Some(Rate::from_bits_per_sec(1_000_000_000)),
            phase: "slow start",
            in_flight: Bytes::new(50_000),
            rtt: Duration::from_millis(20),
            srtt: Duration::from_millis(20),
            delivered: Bytes::new(acked),
            ..ConnectionState::default()
        }
    }

    fn connection(points: Vec<ConnectionState>) -> Measured {
        let address: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        Measured {
            protocol: "cerl".to_owned(),
            label: "cerl".to_owned(),
            local: address,
            remote: address,
            points,
            decisions: Vec::new(),
        }
    }

    fn panels(connections: &[Measured]) -> Vec<Panel> {
        match measured(connections).expect("a figure").plot {
            Plot::Panels { panels, .. } => panels,
            plot => panic!("{plot:?}"),
        }
    }

    fn labels(panel: &Panel) -> Vec<&str> {
        panel.series.iter().map(|s| s.label.as_str()).collect()
    }

    #[test]
    fn the_goodput_is_the_slope_of_the_acknowledged_data() {
        // 1 MB a second, sampled unevenly.
        let points = [0, 100, 250, 700, 1000].map(|ms| point(ms, 1000 * ms));
        let panels = panels(&[connection(points.to_vec())]);
        assert_eq!(labels(&panels[1]), ["cerl", "cerl, pacing rate"]);
        assert_eq!(panels[1].y, Axis::new("rate", "Mbit/s"));
        for [_, y] in &panels[1].series[0].points {
            assert!((y - 8.0).abs() < 1e-6, "{y}");
        }
        // The pacing rate of 1 Gbit/s does not make the goodput flat.
        assert!(
            panels[1].series[1]
                .points
                .iter()
                .all(|[_, y]| (y - 24.0).abs() < 1e-6)
        );
    }

    #[test]
    fn the_caption_has_the_spans_of_a_short_connection() {
        let points = [0, 100, 300].map(|ms| point(ms, ms));
        let figure = measured(&[connection(points.to_vec())]).expect("a figure");
        assert!(
            figure.caption.contains("means over 3 ms."),
            "{}",
            figure.caption
        );
    }

    #[test]
    fn decisions_are_marks_on_the_window() {
        let mut c = connection([0, 100, 200].map(|ms| point(ms, ms)).to_vec());
        let decision = |ms, verdict| Decision {
            time: Time::ZERO + Duration::from_millis(ms),
            sequence: 7,
            judged: verdict,
            actual: None,
        };
        c.decisions = vec![
            decision(50, Verdict::Random),
            decision(150, Verdict::Congestion),
        ];
        let panels = panels(std::slice::from_ref(&c));
        assert_eq!(
            labels(&panels[0]),
            ["cerl", "cerl, loss", "cerl, loss, taken as random"]
        );
        assert_eq!(panels[0].series[2].points, [[0.05, 100.0]]);
        // Too many marks would hide the lines.
        c.decisions = vec![decision(50, Verdict::Random); MOST + 1];
        assert_eq!(labels(&self::panels(&[c])[0]), ["cerl"]);
    }

    #[test]
    fn a_connection_without_a_duration_has_no_figure() {
        assert_eq!(measured(&[]), None);
        assert_eq!(measured(&[connection(Vec::new())]), None);
        assert_eq!(measured(&[connection(vec![point(5, 0)])]), None);
    }
}
