//! Real transfers beside the simulator as a page, with a figure for each algorithm.

use super::Row;
use super::text::{COMPARISON, DOUBT, columns, name, notes};
use whimbrel_cc::Spec;
use whimbrel_report::figure::{Axis, Figure, Form, Panel, Plot, Series};
use whimbrel_report::page::{Column, Fact, Page, Section, Table};

/// Points of a curve.
const POINTS: usize = 200;

/// The page on the transfers over a path, which `path` describes.
pub fn page(path: &str, all: &[Row], made: Vec<Fact>) -> Page {
    let (heads, rows) = columns(COMPARISON, all);
    let column = |(head, number): &(&str, bool)| Column {
        name: head.trim_end().replace('\n', ", "),
        number: *number,
    };
    let mut controllers: Vec<&Spec> = Vec::new();
    for row in all {
        if !controllers.contains(&&row.trial.controller) {
            controllers.push(&row.trial.controller);
        }
    }
    let named: Vec<(String, &Row)> = all.iter().map(|row| (name(row), row)).collect();
    // Reasons for doubt come after the result.
    let is_doubt = |note: &String| note.contains(DOUBT);
    let (doubts, mut text): (Vec<_>, Vec<_>) = notes(&named).into_iter().partition(is_doubt);
    let doubtful = all.iter().filter(|row| !row.warnings.is_empty()).count();
    if doubtful > 0 {
        text.push(format!(
            "{doubtful} of {} measurements are doubtful; the reasons are at the end of the page.",
            all.len()
        ));
    }
    let section = Section {
        id: "real".to_owned(),
        title: "Real transfers beside the simulator".to_owned(),
        text,
        tables: vec![Table {
            caption: "Goodput of one file, round-trip time and loss".to_owned(),
            columns: heads.iter().map(column).collect(),
            rows,
        }],
        figures: controllers
            .into_iter()
            .map(|name| figure(name, all))
            .collect(),
        ..Section::default()
    };
    Page {
        title: path.to_owned(),
        summary: summary(all),
        made,
        sections: [section].into_iter().chain(reasons(doubts)).collect(),
    }
}

/// Why some measurements are doubtful.
fn reasons(doubts: Vec<String>) -> Option<Section> {
    (!doubts.is_empty()).then(|| Section {
        id: "doubts".to_owned(),
        title: "Doubtful measurements".to_owned(),
        text: doubts,
        ..Section::default()
    })
}

/// How near the simulator is to the real transfers.
fn summary(all: &[Row]) -> String {
    let ratio = |row: &Row| {
        let measured = row.measured.as_ref().ok()?;
        Some(measured.goodput_bps / row.predicted.goodput_bps.max(1.0))
    };
    let ratios: Vec<f64> = all.iter().filter_map(ratio).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    if ratios.is_empty() {
        "Nothing was measured: only the simulation is shown.".to_owned()
    } else {
        format!(
            "{} of {} transfers were measured. They reached {least:.2} to {most:.2} of what the \
             simulator predicts.",
            ratios.len(),
            all.len()
        )
    }
}

/// One algorithm: data delivered and round-trip time, over both transports, real and simulated.
fn figure(controller: &Spec, all: &[Row]) -> Figure {
    let name = controller.to_string();
    let (mut delivered, mut rtts) = (Vec::new(), Vec::new());
    for row in all.iter().filter(|row| row.trial.controller == *controller) {
        let transport = row.trial.carrier.title();
        let line = |form, label: String, points: Vec<(f64, f64)>, scale: f64| Series {
            protocol: Some(name.clone()),
            label,
            form,
            points: few(&points).map(|(t, y)| [t, y * scale]).collect(),
            spread: Vec::new(),
            notes: Vec::new(),
        };
        if let Ok(measured) = &row.measured {
            delivered.push(line(
                Form::Line,
                transport.to_owned(),
                measured.delivered(),
                1e-6,
            ));
            rtts.push(line(Form::Line, transport.to_owned(), measured.rtts(), 1.0));
        }
        let label = format!("{transport}, simulated");
        let simulated = &row.predicted;
        delivered.push(line(
            Form::Dashed,
            label.clone(),
            simulated.delivered.clone(),
            1e-6,
        ));
        rtts.push(line(Form::Dashed, label, simulated.rtts.clone(), 1.0));
    }
    Figure {
        id: format!("real/{name}"),
        title: name,
        caption: "Data delivered since the start of the transfer and smoothed round-trip time: \
                  real transfers (lines), and the simulator's median run (dotted)."
            .to_owned(),
        plot: Plot::Panels {
            x: Axis::new("time", "s"),
            panels: vec![
                Panel {
                    y: Axis::new("delivered", "MB"),
                    series: delivered,
                },
                Panel {
                    y: Axis::new("round-trip time", "ms"),
                    series: rtts,
                },
            ],
        },
    }
}

/// At most about [`POINTS`] points of a curve, its end included.
fn few(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate();
    let kept = kept.filter(move |(i, _)| i % step == 0 || *i == last);
    kept.map(|(_, point)| *point)
}
