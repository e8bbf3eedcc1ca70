//! Congestion windows, rates, round-trip times and queues over time, panels above each other.
//!
//! A rate is the mean over a hundredth of the run, with the capacity of the route as a shade: the
//! distance between them is capacity that was unused or that other flows took. A window above the
//! bandwidth-delay product shows as a queue and as a round-trip time above the base RTT, so the
//! panels belong together.

use super::events::{self, Event, Kind};
use super::series::{Points, ack_spacing, goodput, maximum, pacing_rate};
use super::setting::Setting;
use super::shown::{AllShown, Shown, shown};
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use crate::quantity::{BYTES, RATES, unit_of};
use crate::thin::{Point, shorten, thin};
use whimbrel_sim::{FlowSample, LinkOutcome, LinkSample, Network};
use whimbrel_units::{Duration, Time};

/// Maximum number of points of a figure, and bounds of that of a series.
const POINTS: usize = 6000;
const SERIES: (usize, usize) = (100, 400);
/// Rates are means over this many spans.
const SPANS: u32 = 100;
/// A pacing rate, which may be far above the capacity during startup, is cut off at this multiple
/// of the capacity, or of the maximum goodput if the capacity is unknown.
const HIGHEST_RATE: f64 = 2.0;
/// Pacing rates of more flows than this would hide the goodput in one panel.
const WITH_PACING: usize = 2;

/// What a panel shows over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The congestion window and the slow start threshold, with losses and other events.
    Cwnd,
    /// Goodput, the controller's pacing rate and the capacity of the route.
    Rate,
    /// The smoothed round-trip time and the base RTT.
    Rtt,
    /// The queue at the bottleneck and its buffer size.
    Queue,
    /// Bytes in flight.
    InFlight,
    /// Time between acknowledgments.
    AckSpacing,
}

impl Look {
    /// All, with the names that experiments use.
    pub const ALL: [(&'static str, Self); 6] = [
        ("cwnd", Self::Cwnd),
        ("rate", Self::Rate),
        ("rtt", Self::Rtt),
        ("queue", Self::Queue),
        ("in flight", Self::InFlight),
        ("ack spacing", Self::AckSpacing),
    ];
    /// The default.
    pub const USUAL: [Self; 4] = [Self::Cwnd, Self::Rate, Self::Rtt, Self::Queue];
}

/// These panels of a setting's flows with its first seed. `None` if nothing was sampled or all
/// panels are empty.
pub fn over_time(setting: &Setting<'_>, looks: &[Look]) -> Option<Figure> {
    panels_over_time(&shown(setting)?, setting.titled("Over time"), looks)
}

/// These panels of these flows.
pub(super) fn panels_over_time(
    all: &AllShown<'_>,
    title: String,
    looks: &[Look],
) -> Option<Figure> {
    let series = all.shown.len() * (looks.len() + 2);
    let most = (POINTS / series.max(1)).clamp(SERIES.0, SERIES.1);
    let drawer = Drawer { all, most };
    let panels: Vec<Panel> = looks.iter().flat_map(|look| drawer.panels(*look)).collect();
    let marked = all
        .shown
        .iter()
        .any(|s| !drawer.marks_of(s, 1.0).is_empty());
    let rate = panels.iter().any(|panel| panel.y.label == "rate");
    let mut caption = all.chosen.clone();
    if marked {
        caption += " Marks are losses, timeouts and path changes that the controller detected, \
                    where they are few.";
    }
    if rate {
        caption += &format!(
            " Rates are of data delivered in order, means over {}: data that waited for a \
             retransmission is delivered at once. The shade is the capacity of the route, headers \
             included.",
            seconds(all.end / f64::from(SPANS))
        );
    }
    (!panels.is_empty()).then(|| {
        shorten(Figure {
            id: "time".to_owned(),
            title,
            caption,
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels,
            },
        })
    })
}

fn seconds(seconds: f64) -> String {
    Duration::from_secs_f64(seconds).to_string()
}

struct Drawer<'a> {
    all: &'a AllShown<'a>,
    /// Maximum number of points of a series.
    most: usize,
}

impl Drawer<'_> {
    /// The panels of a look that have series, each without its empty ones.
    fn panels(&self, look: Look) -> Vec<Panel> {
        let mut panels = match look {
            Look::Cwnd => vec![self.cwnd()],
            Look::Rate => self.rates(),
            Look::Rtt => vec![self.rtt()],
            Look::Queue => vec![self.queue()],
            Look::InFlight => vec![self.in_flight()],
            Look::AckSpacing => vec![self.ack_spacing()],
        };
        for panel in &mut panels {
            panel.series.retain(|series| !series.points.is_empty());
        }
        panels.retain(|panel| !panel.series.is_empty());
        panels
    }

    /// The points of each flow.
    fn each(&self, of: impl Fn(&Shown<'_>) -> Points) -> Vec<Points> {
        self.all.shown.iter().map(of).collect()
    }

    /// A series of a flow, its values divided by `size`.
    fn series(&self, s: &Shown<'_>, form: Form, points: &Points, size: f64) -> Series {
        let places: Vec<Point> = points.iter().map(|(x, y)| [*x, y / size]).collect();
        series(Some(s.protocol), &s.label, form, thin(places, self.most))
    }

    fn lines(&self, curves: &[Points], size: f64) -> Vec<Series> {
        let all = self.all.shown.iter().zip(curves);
        all.map(|(s, points)| self.series(s, Form::Line, points, size))
            .collect()
    }

    fn cwnd(&self) -> Panel {
        let at = |time: Time| time.as_secs_f64();
        let windows = self.each(|s| {
            let samples = s.samples().iter();
            samples.map(|f| (at(f.at), f.cwnd.get() as f64)).collect()
        });
        let top = maximum(&windows);
        let (size, unit) = unit_of(top, BYTES);
        let mut all = self.lines(&windows, size);
        for s in &self.all.shown {
            // A threshold that was never set is far above all windows; they would become flat.
            let set = |f: &FlowSample| {
                let threshold = f.ssthresh?.get() as f64;
                (threshold <= 1.5 * top).then(|| (at(f.at), threshold))
            };
            let thresholds: Points = s.samples().iter().filter_map(set).collect();
            let mut dashed = self.series(s, Form::Dashed, &thresholds, size);
            dashed.label += ", ssthresh";
            all.push(dashed);
        }
        for s in &self.all.shown {
            all.extend(self.marks_of(s, size));
        }
        Panel {
            y: Axis::new("congestion window", unit),
            series: all,
        }
    }

    /// The events of a flow, a series for each kind; none if there are too many.
    fn marks_of(&self, s: &Shown<'_>, size: f64) -> Vec<Series> {
        let all: Vec<Event<'_>> = events::all(s.samples(), s.episodes()).collect();
        if all.len() > events::MOST / self.all.shown.len() {
            return Vec::new();
        }
        let of_kind = |kind: Kind| {
            let these: Vec<&Event<'_>> = all.iter().filter(|h| h.kind == kind).collect();
            let place = |h: &&Event<'_>| [h.at.as_secs_f64(), h.cwnd.get() as f64 / size];
            let label = format!("{}, {}", s.label, kind.label());
            Series {
                notes: these.iter().map(|h| note(h)).collect(),
                ..series(
                    Some(s.protocol),
                    &label,
                    Form::Marks,
                    these.iter().map(place).collect(),
                )
            }
        };
        let kinds = Kind::ALL.into_iter().map(of_kind);
        kinds.filter(|series| !series.points.is_empty()).collect()
    }

    /// Goodput with the capacity, and the pacing rates: of more than [`WITH_PACING`] flows in a
    /// panel of their own.
    fn rates(&self) -> Vec<Panel> {
        let (end, spans) = (self.all.end, SPANS as usize);
        let goodputs = self.each(|s| goodput(s.samples(), end, spans));
        let capacities = self.capacities();
        let pacing = self.each(|s| pacing_rate(s.samples(), end, spans));
        let shades: Vec<Points> = capacities
            .iter()
            .map(|(_, points)| points.clone())
            .collect();
        let (carried, delivered) = (maximum(&shades), maximum(&goodputs));
        let (size, unit) = unit_of(carried.max(delivered), RATES);
        let mut all: Vec<Series> = Vec::new();
        for (label, points) in &capacities {
            let places = points.iter().map(|(x, y)| [*x, y / size]).collect();
            all.push(series(None, label, Form::Shade, places));
        }
        all.extend(self.lines(&goodputs, size));
        let mut paced: Vec<Series> = Vec::new();
        let highest = HIGHEST_RATE * if carried > 0.0 { carried } else { delivered };
        for (s, mut points) in self.all.shown.iter().zip(pacing) {
            points.iter_mut().for_each(|(_, y)| *y = y.min(highest));
            let mut dashed = self.series(s, Form::Dashed, &points, size);
            dashed.label += ", pacing rate";
            paced.push(dashed);
        }
        let mut panels = vec![Panel {
            y: Axis::new("rate", unit),
            series: all,
        }];
        match self.all.shown.len() {
            n if n > WITH_PACING => {
                for line in &mut paced {
                    line.form = Form::Line;
                    line.label = line.label.replace(", pacing rate", "");
                }
                panels.push(Panel {
                    y: Axis::new("pacing rate", unit),
                    series: paced,
                });
            }
            _ => panels[0].series.extend(paced),
        }
        panels
    }

    /// Name and capacity of each route in bit/s, each capacity once.
    fn capacities(&self) -> Vec<(String, Points)> {
        let mut all: Vec<(String, Points)> = Vec::new();
        let end = Time::ZERO + Duration::from_secs_f64(self.all.end);
        for s in &self.all.shown {
            let network = &self.all.networks[s.network];
            let Some(steps) = network.path_capacity(&s.route, end, SPANS) else {
                continue;
            };
            let steps = steps.into_iter();
            let mut points: Points = steps
                .map(|(at, rate)| (at.as_secs_f64(), rate.as_bits_per_sec() as f64))
                .collect();
            points.extend(points.last().map(|(_, rate)| (self.all.end, *rate)));
            let label = match s.path {
                Some(path) => format!("capacity of {}", path.route),
                None => "capacity".to_owned(),
            };
            if !all.iter().any(|(_, known)| *known == points) {
                all.push((label, points));
            }
        }
        all
    }

    fn rtt(&self) -> Panel {
        let rtts = self.each(|s| {
            let measured = s.samples().iter().filter(|f| !f.srtt.is_zero());
            measured
                .map(|f| (f.at.as_secs_f64(), f.srtt.as_millis_f64()))
                .collect()
        });
        let mut all = self.lines(&rtts, 1.0);
        let end = Time::ZERO + Duration::from_secs_f64(self.all.end);
        let mut known: Vec<Vec<Point>> = Vec::new();
        for s in &self.all.shown {
            let network = &self.all.networks[s.network];
            let steps = network.path_base_rtt(&s.route, end, SPANS);
            let places = stairs(
                steps
                    .iter()
                    .map(|(at, rtt)| [at.as_secs_f64(), rtt.as_millis_f64()]),
                self.all.end,
            );
            if !known.contains(&places) {
                let label = match s.path {
                    Some(path) => format!("base RTT of {}", path.route),
                    None => "base RTT".to_owned(),
                };
                all.push(series(None, &label, Form::Dashed, places.clone()));
                known.push(places);
            }
        }
        Panel {
            y: Axis::new("smoothed RTT", "ms"),
            series: all,
        }
    }

    fn queue(&self) -> Panel {
        let networks = &self.all.networks;
        fn of<'a>(s: &Shown<'a>, networks: &[Network]) -> Option<&'a LinkOutcome> {
            s.queue(&networks[s.network])
        }
        let buffers: Vec<_> = self
            .all
            .shown
            .iter()
            .map(|s| {
                let link = of(s, networks);
                link.map_or((None, None), |link| {
                    self.all.networks[s.network].buffer_size(&link.name)
                })
            })
            .collect();
        // If all buffer sizes are in bytes, so are the queues.
        let in_bytes = buffers.iter().any(|(_, bytes)| bytes.is_some())
            && buffers.iter().all(|(packets, _)| packets.is_none());
        let curves = self.each(|s| {
            let samples = of(s, networks).map_or(&[][..], |link| &link.samples);
            let waiting = |q: &LinkSample| match in_bytes {
                true => q.queue_bytes.get() as f64,
                false => f64::from(q.queue),
            };
            samples
                .iter()
                .map(|q| (q.at.as_secs_f64(), waiting(q)))
                .collect()
        });
        let mut buffers: Vec<f64> = buffers
            .iter()
            .filter_map(|(packets, bytes)| match in_bytes {
                true => bytes.map(|bytes| bytes.get() as f64),
                false => packets.map(f64::from),
            })
            .collect();
        buffers.dedup();
        // A buffer far larger than its queue would make all queues flat.
        let top = maximum(&curves);
        buffers.retain(|buffer| *buffer <= 4.0 * top);
        let (size, unit) = match in_bytes {
            true => unit_of(top, BYTES),
            false => (1.0, "packets"),
        };
        let mut all: Vec<Series> = Vec::new();
        let mut links: Vec<*const LinkOutcome> = Vec::new();
        for (s, points) in self.all.shown.iter().zip(&curves) {
            let Some(link) = of(s, networks) else {
                continue;
            };
            let address: *const _ = link;
            // Flows of one run share the queue of a link.
            if links.contains(&address) {
                continue;
            }
            links.push(address);
            let others = self.all.shown.iter();
            let together =
                others.filter(|o| of(o, networks).is_some_and(|l| std::ptr::eq(l, link)));
            let mut line = self.series(s, Form::Line, points, size);
            if together.count() > 1 {
                line.protocol = None;
                line.label = format!("queue of {}", link.name);
            }
            all.push(line);
        }
        for buffer in buffers {
            let places = vec![[0.0, buffer / size], [self.all.end, buffer / size]];
            all.push(series(None, "buffer size", Form::Dashed, places));
        }
        Panel {
            y: Axis::new("queue", unit),
            series: all,
        }
    }

    fn in_flight(&self) -> Panel {
        let flights = self.each(|s| {
            let samples = s.samples().iter();
            samples
                .map(|f| (f.at.as_secs_f64(), f.in_flight.get() as f64))
                .collect()
        });
        let (size, unit) = unit_of(maximum(&flights), BYTES);
        Panel {
            y: Axis::new("in flight", unit),
            series: self.lines(&flights, size),
        }
    }

    fn ack_spacing(&self) -> Panel {
        let spacings = self.each(|s| ack_spacing(s.samples()));
        Panel {
            y: Axis::new("ACK spacing", "ms"),
            series: self.lines(&spacings, 1.0),
        }
    }
}

pub(super) fn series(
    protocol: Option<&str>,
    label: &str,
    form: Form,
    points: Vec<Point>,
) -> Series {
    Series {
        protocol: protocol.map(str::to_owned),
        label: label.to_owned(),
        form,
        points,
        spread: Vec::new(),
        notes: Vec::new(),
    }
}

/// A step function as a line.
fn stairs(steps: impl Iterator<Item = Point>, end: f64) -> Vec<Point> {
    let mut line: Vec<Point> = Vec::new();
    for [x, y] in steps {
        let before = line.last().map(|[_, y]| *y);
        line.extend(before.map(|y| [x, y]));
        line.push([x, y]);
    }
    line.extend(line.last().map(|[_, y]| [end, *y]));
    line
}

/// The text at a mark.
fn note(event: &Event<'_>) -> String {
    let Some(episode) = event.episode else {
        return format!("window {}", event.cwnd);
    };
    let ended = match episode.ended {
        Some(at) => format!("repaired after {}", at.since(episode.at)),
        None => "not repaired by the end".to_owned(),
    };
    format!(
        "window {}, in flight {}, RTT {}, {ended}",
        episode.cwnd, episode.in_flight, episode.srtt
    )
}
