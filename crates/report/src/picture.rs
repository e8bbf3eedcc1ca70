//! Windows with the losses that flows met, goodput and queue over time as an SVG picture, and how flows share the node that
//! receives them.

use crate::curves::{Curve, Curves, Shares};
use crate::legend::{self, Area, Entry, FONT};
use crate::mark::{self, Kind, Mark};
use crate::series::{
    Points, ack_spacing, goodput, greatest, means, of_all, own_rate, scaled, unit_of,
};
use crate::style;
use plotters::prelude::*;
use std::error::Error;
use whimbrel_sim::FlowSample;

/// More curves than these hide each other.
pub(crate) const MOST: usize = 8;
const WIDTH: u32 = 960;
const HEAD: u32 = 84;
const PANEL: u32 = 232;
/// A law's own rate, which may be far above what the path passes while it starts, is cut off at so many times the
/// greatest goodput: what the path passes is to be seen.
const HIGHEST_RATE: f64 = 2.0;
const DASHED: u32 = 2;

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Nothing to draw.
    #[error("nothing was sampled: a picture needs `sample = \"100 ms\"` under [run]")]
    NoSamples,
    /// One point is no curve.
    #[error("a curve needs at least two points, and something above zero")]
    TooFew,
    /// More curves than colours.
    #[error("a picture shows at most 8 curves, not {0}: choose fewer controllers or points")]
    TooMany(usize),
    /// The drawing library failed.
    #[error("the picture could not be drawn: {0}")]
    Drawing(String),
}

/// Draws windows, goodput and queue over time, one above the other, and below them how a node was shared. Gives SVG.
///
/// # Errors
/// If there is nothing to draw, or more curves than colours.
pub fn picture(title: &str, curves: &Curves<'_>) -> Result<String, PictureError> {
    let ends = curves
        .all
        .iter()
        .filter_map(|curve| curve.flow.last())
        .map(|s| s.at.as_secs_f64());
    let end = ends
        .reduce(f64::max)
        .filter(|end| *end > 0.0)
        .ok_or(PictureError::NoSamples)?;
    if curves.all.len() > MOST {
        return Err(PictureError::TooMany(curves.all.len()));
    }
    let mut svg = String::new();
    draw(&mut svg, title, curves, end).map_err(|error| PictureError::Drawing(error.to_string()))?;
    Ok(svg)
}

/// Lines, each in a colour.
type Lines = Vec<(Points, RGBColor)>;

fn coloured(lines: impl IntoIterator<Item = Points>, colours: &[RGBColor]) -> Lines {
    lines.into_iter().zip(colours.iter().copied()).collect()
}

fn draw(
    svg: &mut String,
    title: &str,
    curves: &Curves<'_>,
    end: f64,
) -> Result<(), Box<dyn Error>> {
    let height = HEAD + panel_count(curves) * PANEL;
    let more = curves.shares.as_ref().map_or(0, |_| HEAD + PANEL);
    let area = SVGBackend::with_string(svg, (WIDTH, height + more)).into_drawing_area();
    area.fill(&WHITE)?;
    let (flows, node) = area.split_vertically(height);
    draw_flows(&flows, title, curves, end)?;
    if let Some(shares) = &curves.shares {
        draw_shares(&node, shares, end)?;
    }
    area.present()?;
    Ok(())
}

/// Panels of flows, one above the other.
fn panel_count(curves: &Curves<'_>) -> u32 {
    3 + u32::from(curves.spacing)
}

fn draw_flows(
    area: &Area<'_>,
    title: &str,
    shown: &Curves<'_>,
    end: f64,
) -> Result<(), Box<dyn Error>> {
    let curves: &[Curve<'_>] = &shown.all;
    let (head, panels) = area.split_vertically(HEAD);
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
    let colours = style::colours(&labels);
    let mut own_rates = coloured(curves.iter().map(|c| own_rate(c.flow, end)), &colours);
    let mut entries = solid(&labels, &colours);
    if own_rates.iter().any(|(points, _)| !points.is_empty()) {
        entries.push(Entry {
            label: "the rate that its law sets".to_owned(),
            style: BLACK.mix(0.6).stroke_width(DASHED),
            dashed: true,
            mark: None,
        });
    }
    let mut marks: Vec<Mark> = mark::of(curves, &colours);
    for kind in Kind::ALL {
        if marks.iter().any(|mark| mark.kind == kind) {
            entries.push(Entry {
                label: kind.label().to_owned(),
                style: BLACK.mix(0.6).stroke_width(1),
                dashed: false,
                mark: Some(kind),
            });
        }
    }
    legend::head(&head, title, entries)?;
    let panels = panels.split_evenly((panel_count(shown) as usize, 1));
    let windows: Vec<Points> = curves
        .iter()
        .map(|c| {
            c.flow
                .iter()
                .map(|s| (s.at.as_secs_f64(), s.cwnd.get() as f64))
                .collect()
        })
        .collect();
    let queues = curves.iter().map(|c| {
        c.queue
            .iter()
            .map(|s| (s.at.as_secs_f64(), f64::from(s.queue)))
            .collect()
    });
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let (size, _) = unit_of(&windows, &units);
    for mark in &mut marks {
        mark.y /= size;
    }
    let (windows, unit) = scaled(windows, &units);
    let label = format!("congestion window ({unit})");
    let windows = coloured(windows, &colours);
    draw_panel(&panels[0], &label, "", &windows, &[], &marks, end)?;
    let goodputs: Vec<Points> = curves.iter().map(|c| goodput(c.flow, end)).collect();
    let highest = HIGHEST_RATE * greatest(&goodputs);
    for (_, rate) in own_rates.iter_mut().flat_map(|(points, _)| points) {
        *rate = rate.min(highest);
    }
    let rates = [
        (1e9, "Gbit/s"),
        (1e6, "Mbit/s"),
        (1e3, "kbit/s"),
        (1.0, "bit/s"),
    ];
    let (size, unit) = unit_of(&goodputs, &rates);
    for (_, rate) in own_rates.iter_mut().flat_map(|(points, _)| points) {
        *rate /= size;
    }
    let (goodputs, _) = scaled(goodputs, &rates);
    let label = format!("goodput ({unit})");
    let goodputs = coloured(goodputs, &colours);
    draw_panel(&panels[1], &label, "", &goodputs, &own_rates, &[], end)?;
    let queues = coloured(queues, &colours);
    let time = "time (s)";
    let last = panels.get(3);
    let below = if last.is_none() { time } else { "" };
    draw_panel(&panels[2], "queue (packets)", below, &queues, &[], &[], end)?;
    if let Some(panel) = last {
        let spacings = coloured(curves.iter().map(|c| ack_spacing(c.flow)), &colours);
        draw_panel(panel, "ACK spacing (ms)", time, &spacings, &[], &[], end)?;
    }
    Ok(())
}

fn draw_shares(area: &Area<'_>, shares: &Shares<'_>, end: f64) -> Result<(), Box<dyn Error>> {
    let (head, panel) = area.split_vertically(HEAD);
    let (shown, all) = (shares.flows.len().min(MOST), shares.flows.len());
    let names = shares.flows.iter().take(shown);
    let names: Vec<&str> = names.map(|(name, _)| *name).collect();
    let colours = style::colours(&names);
    let mut entries = solid(&names, &colours);
    entries.push(Entry {
        label: "weighted fairness".to_owned(),
        style: BLACK.stroke_width(DASHED),
        dashed: true,
        mark: None,
    });
    let some = if shown < all {
        format!(" ({shown} of {all} flows)")
    } else {
        String::new()
    };
    legend::head(&head, &format!("Shares at {}{some}", shares.node), entries)?;
    let flows: Vec<&[FlowSample]> = shares.flows.iter().map(|(_, samples)| *samples).collect();
    let lines = coloured(of_all(&flows, end), &colours);
    let served = shares.fairness.iter().filter(|s| s.flows > 0);
    let fairness = means(served.map(|s| (s.at.as_secs_f64(), s.fairness)), end);
    let fairness = [(fairness, BLACK)];
    draw_panel(&panel, "share", "time (s)", &lines, &fairness, &[], end)
}

/// The legend's entries of solid lines.
fn solid(labels: &[&str], colours: &[RGBColor]) -> Vec<Entry> {
    let entry = |(label, colour): (&&str, &RGBColor)| Entry {
        label: (*label).to_owned(),
        style: colour.stroke_width(4),
        dashed: false,
        mark: None,
    };
    labels.iter().zip(colours).map(entry).collect()
}

fn draw_panel(
    area: &Area<'_>,
    y_label: &str,
    x_label: &str,
    curves: &[(Points, RGBColor)],
    dashed: &[(Points, RGBColor)],
    marks: &[Mark],
    end: f64,
) -> Result<(), Box<dyn Error>> {
    let top = curves.iter().chain(dashed);
    let top = top.flat_map(|(points, _)| points);
    let marked = marks.iter().map(|mark| mark.y);
    let top = top.map(|(_, y)| *y).chain(marked);
    let top = top.fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.05 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin_left(10)
        .margin_right(24)
        .margin_bottom(if x_label.is_empty() { 2 } else { 6 })
        .x_label_area_size(if x_label.is_empty() { 22 } else { 44 })
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .axis_style(BLACK.mix(0.5))
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .y_desc(y_label)
        .x_labels(10)
        .y_labels(5)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y));
    if !x_label.is_empty() {
        mesh.x_desc(x_label);
    }
    mesh.draw()?;
    for (i, (points, colour)) in curves.iter().enumerate() {
        // Where curves coincide, the wider ones below show at the edges.
        let width = 2 + (curves.len() - 1 - i).min(2);
        let style = colour.stroke_width(u32::try_from(width).unwrap_or(2));
        chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
    }
    for (points, colour) in dashed {
        let style = colour.stroke_width(DASHED);
        chart.draw_series(DashedLineSeries::new(points.iter().copied(), 7, 5, style))?;
    }
    chart.draw_series(marks.iter().map(Mark::element))?;
    Ok(())
}

/// At most two decimals, and none that say nothing.
pub(crate) fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_sim::{DestinationSample, LossEpisode};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn sawtooth(step: u64) -> Vec<FlowSample> {
        let sample = |i: u64| FlowSample {
            at: Time::from_nanos(i * 10_000_000),
            cwnd: Bytes::new(1500 * (20 + i * step % 60)),
            ssthresh: None,
            in_flight: Bytes::ZERO,
            srtt: Duration::from_millis(100),
            rate: Rate::from_bits_per_sec(1_000_000 * (1 + i % 7)),
            sent: Bytes::ZERO,
            ack_spacing: None,
            path_changes: None,
            pacing_rate: None,
            ..FlowSample::default()
        };
        (0..1000).map(sample).collect()
    }

    #[test]
    fn a_picture_names_its_curves_axes_and_units() {
        let (a, b) = (sawtooth(1), sawtooth(2));
        let curve = |label: &str, flow| Curve {
            label: label.to_owned(),
            flow,
            episodes: &[],
            queue: &[],
        };
        let curves = Curves {
            all: vec![curve("cubic", &a), curve("cerl", &b)],
            at: String::new(),
            shares: None,
            spacing: false,
        };
        let svg = picture("A title", &curves).expect("a picture");
        for text in [
            "A title",
            "cubic",
            "cerl",
            "congestion window (kB)",
            "goodput (Mbit/s)",
            "queue (packets)",
            "time (s)",
            "#FF5D10",
            "#AA1338",
        ] {
            assert!(svg.contains(text), "no {text}");
        }
        assert!(!svg.contains("its law sets") && !svg.contains("weighted fairness"));
        assert!(
            !svg.contains("\ntimeout\n") && !svg.contains("ACK spacing"),
            "{svg}"
        );
    }

    #[test]
    fn losses_are_marked_and_the_spacing_of_acknowledgments_has_a_panel_if_it_is_wanted() {
        let mut flow = sawtooth(1);
        for sample in &mut flow {
            sample.ack_spacing = Some(Duration::from_millis(7));
        }
        let timeout = LossEpisode {
            at: Time::from_nanos(5_000_000_000),
            cwnd: Bytes::new(40_000),
            in_flight: Bytes::ZERO,
            srtt: Duration::ZERO,
            reduced: true,
            timeout: true,
            ended: None,
        };
        let curves = |spacing| Curves {
            all: vec![Curve {
                label: "cubic".to_owned(),
                flow: &flow,
                episodes: std::slice::from_ref(&timeout),
                queue: &[],
            }],
            at: String::new(),
            shares: None,
            spacing,
        };
        let svg = picture("", &curves(true)).expect("a picture");
        for text in ["\ntimeout\n", "<polygon", "ACK spacing (ms)"] {
            assert!(svg.contains(text), "no {text}");
        }
        let plain = picture("", &curves(false)).expect("a picture");
        assert!(plain.contains("\ntimeout\n") && !plain.contains("ACK spacing"));
        assert!(plain.contains("height=\"780\"") && svg.contains("height=\"1012\""));
    }

    #[test]
    fn a_laws_own_rate_is_drawn_and_what_is_far_above_the_path_is_cut_off() {
        let mut flow = sawtooth(1);
        for sample in &mut flow {
            let rate = if sample.at < Time::from_nanos(1_000_000_000) {
                1_000_000_000
            } else {
                5_000_000
            };
            sample.pacing_rate = Some(Rate::from_bits_per_sec(rate));
        }
        let curves = Curves {
            all: vec![Curve {
                label: "bbr".to_owned(),
                flow: &flow,
                episodes: &[],
                queue: &[],
            }],
            at: String::new(),
            shares: None,
            spacing: false,
        };
        let svg = picture("", &curves).expect("a picture");
        assert!(svg.contains("the rate that its law sets"));
        // Goodput is 1 to 7 Mbit/s, 4 in the mean: the axis ends near 8, not at 1000.
        assert!(svg.contains("goodput (Mbit/s)"));
        let labels = svg.split('>').filter_map(|piece| piece.split('<').next());
        let highest = labels.filter_map(|text| text.trim().parse::<f64>().ok());
        assert!(highest.fold(0.0, f64::max) < 200.0, "{svg}");
    }

    #[test]
    fn shares_are_of_what_all_flows_of_the_node_have() {
        let steady = |from: u64, rate: u64| -> Vec<FlowSample> {
            let flow = sawtooth(1).into_iter().skip(from as usize * 100);
            flow.map(|s| FlowSample {
                rate: Rate::from_bits_per_sec(rate),
                ..s
            })
            .collect()
        };
        // 3 Mbit/s from the start, 1 Mbit/s from the fifth second on.
        let (a, b) = (steady(0, 3_000_000), steady(5, 1_000_000));
        let lines = of_all(&[&a, &b], 10.0);
        assert_eq!(lines[0][0], (10.0 / 120.0, 1.0));
        assert_eq!((lines[0][59].1, lines[1][29].1), (0.75, 0.25));
        assert_eq!((lines[0].len(), lines[1].len()), (60, 30));

        let fairness: Vec<DestinationSample> = (0..100)
            .map(|i| DestinationSample {
                at: Time::from_nanos(i * 100_000_000),
                flows: 2,
                fairness: 0.8,
            })
            .collect();
        let shares = Shares {
            node: "client",
            flows: vec![("aatp #1", &a), ("aatp #2", &b)],
            fairness: &fairness,
        };
        let curves = Curves {
            all: vec![Curve {
                label: "aatp".to_owned(),
                flow: &a,
                episodes: &[],
                queue: &[],
            }],
            at: String::new(),
            shares: Some(shares),
            spacing: false,
        };
        let svg = picture("", &curves).expect("a picture");
        for text in ["Shares at client", "aatp #2", "weighted fairness", "share"] {
            assert!(svg.contains(text), "no {text}");
        }
    }

    #[test]
    fn nothing_and_too_much_are_errors() {
        let curves = |all| Curves {
            all,
            at: String::new(),
            shares: None,
            spacing: false,
        };
        assert_eq!(picture("", &curves(vec![])), Err(PictureError::NoSamples));
        let flow = sawtooth(1);
        let many = vec![
            Curve {
                label: String::new(),
                flow: &flow,
                episodes: &[],
                queue: &[]
            };
            9
        ];
        assert_eq!(picture("", &curves(many)), Err(PictureError::TooMany(9)));
    }
}
