//! Figures as data. [`figures`](mod@crate::figures) makes them of runs; [`html`](crate::html()) and
//! [`svg`](crate::svg()) draw them.
//!
//! A [`Figure`] is one of four kinds of plot: [panels](Plot::Panels) of series over a common axis
//! (windows over time, goodput over loss, distributions, throughput over delay), [heat
//! maps](Plot::Heat), decisions against the truth ([`Plot::Confusion`]), and a paper's numbers with
//! ours ([`Plot::Beside`]).
//!
//! Everything that belongs to one protocol names it: a protocol has the same colour everywhere, and
//! the page hides and shows it everywhere.

use serde::{Deserialize, Serialize};
use whimbrel_sim::Confusion;

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name in links, unique on a page: letters, digits, `-`, `.` and `/`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How to read it and which runs it shows, in a sentence or two.
    pub caption: String,
    /// The data.
    pub plot: Plot,
}

impl Figure {
    /// The protocols that it shows; may repeat.
    pub fn protocols(&self) -> Vec<&str> {
        match &self.plot {
            Plot::Panels { panels, .. } => {
                let series = panels.iter().flat_map(|panel| &panel.series);
                series.filter_map(|s| s.protocol.as_deref()).collect()
            }
            Plot::Heat { maps, .. } => maps
                .iter()
                .filter_map(|map| map.protocol.as_deref())
                .collect(),
            Plot::Confusion { matrices } => matrices
                .iter()
                .map(|matrix| matrix.protocol.as_str())
                .collect(),
            Plot::Beside { rows, .. } => rows
                .iter()
                .filter_map(|row| row.protocol.as_deref())
                .collect(),
        }
    }
}

/// The data of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Plot {
    /// Panels above each other over the same axis.
    Panels {
        /// The common axis.
        x: Axis,
        /// From top to bottom; not empty.
        panels: Vec<Panel>,
    },
    /// A number over two axes, a map for each protocol.
    Heat {
        /// From left to right.
        x: Categories,
        /// From bottom to top.
        y: Categories,
        /// The number and its unit. One scale of colours covers all maps.
        value: Axis,
        /// Side by side.
        maps: Vec<Heat>,
    },
    /// Decisions on losses against the truth, a matrix for each protocol.
    Confusion {
        /// Side by side.
        matrices: Vec<Matrix>,
    },
    /// A paper's numbers and ours. Rows of very different sizes share a logarithmic axis if all
    /// numbers are above zero; otherwise neighbours of like size and sign share an axis.
    Beside {
        /// The number and its unit.
        value: Axis,
        /// From top to bottom.
        rows: Vec<BesideRow>,
    },
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Axis {
    /// Its name.
    pub label: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Logarithmic. Values that are not above zero are left out.
    pub log: bool,
    /// From large to small.
    pub inverse: bool,
}

impl Axis {
    /// A linear axis, from small to large.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            ..Self::default()
        }
    }
}

/// One panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Its vertical axis.
    pub y: Axis,
    /// Its series.
    pub series: Vec<Series>,
}

/// One series of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its protocol as chosen by the user (`cubic`, `cerl?A=0.6`); `None` if it belongs to the path
    /// or to all protocols.
    pub protocol: Option<String>,
    /// Its name in the legend. Marks and dashed lines whose label begins with the label of a line
    /// of the same panel and protocol (`cubic, loss` for the line `cubic`) are companions of that
    /// line: they have its colour, and a mark or dash that is the same for all lines. The legend
    /// then has `loss` once.
    pub label: String,
    /// How it is drawn.
    pub form: Form,
    /// x and y, in drawing order; finite.
    pub points: Vec<[f64; 2]>,
    /// Half the length of each point's vertical error bar. Empty, or as many as points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<f64>,
    /// A text for each point. Empty, or as many as points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// A step function: level until the next point.
    Steps,
    /// Marks without a line.
    Marks,
    /// Marks joined by a line.
    MarkedLine,
    /// The area below a step function, such as a link's capacity.
    Shade,
    /// A closed outline, lightly filled, such as the region of a protocol's runs.
    Outline,
    /// Areas on top of each other, such as shares.
    Stack,
}

/// An axis of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Categories {
    /// The name of the axis.
    pub label: String,
    /// A name for each column or row of cells.
    pub values: Vec<String>,
}

/// One heat map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Its protocol; `None` if it belongs to all.
    pub protocol: Option<String>,
    /// Its title.
    pub label: String,
    /// Row by row, each from left to right; `None` where nothing was measured.
    pub cells: Vec<Option<f64>>,
}

/// One protocol's decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The protocol.
    pub protocol: String,
    /// Its title.
    pub label: String,
    /// Losses to congestion, classified as such.
    pub congestion_as_congestion: u64,
    /// Losses to congestion, classified as random.
    pub congestion_as_random: u64,
    /// Random losses, classified as congestion.
    pub random_as_congestion: u64,
    /// Random losses, classified as such.
    pub random_as_random: u64,
    /// Decisions without a loss.
    pub spurious: u64,
    /// Brier score of the decisions on losses, from 0 (all right and sure) to 1; `None` if there
    /// were none, or in a page of an older version.
    #[serde(default)]
    pub brier: Option<f64>,
}

impl Matrix {
    /// The matrix of these decisions.
    pub fn new(protocol: &str, label: impl Into<String>, decisions: &Confusion) -> Self {
        let Confusion {
            congestion_as_congestion,
            congestion_as_random,
            random_as_congestion,
            random_as_random,
            spurious,
            squared_error: _,
        } = *decisions;
        let brier = decisions.brier();
        Self {
            protocol: protocol.to_owned(),
            label: label.into(),
            congestion_as_congestion,
            congestion_as_random,
            random_as_congestion,
            random_as_random,
            spurious,
            brier,
        }
    }
}

/// A number of a paper, and ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BesideRow {
    /// What the number is.
    pub label: String,
    /// Its protocol, if it belongs to one.
    pub protocol: Option<String>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Our number.
    pub measured: Option<f64>,
    /// Standard deviation over the seeds.
    pub spread: Option<f64>,
    /// The ends of what is expected of our number: least and most; `None`: open. Both open:
    /// nothing is expected.
    #[serde(default)]
    pub expected: [Option<f64>; 2],
    /// Whether our number is as expected; `None` if nothing is expected or more seeds must decide.
    #[serde(default)]
    pub right: Option<bool>,
}

impl BesideRow {
    /// Whether something is expected of our number.
    pub fn expects(&self) -> bool {
        self.expected.iter().any(Option::is_some)
    }
}
