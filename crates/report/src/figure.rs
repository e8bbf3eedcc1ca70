//! Figures as data: what is drawn, without how. Whoever measures makes them, the page draws them.
//!
//! A [`Figure`] is one of few plots, so that what draws them stays small: [panels](Plot::Panels) of series over a common axis
//! (windows over time, goodput over loss, distributions, throughput over delay), [heat maps](Plot::Heat), decisions
//! against the truth ([`Plot::Confusion`]), and a paper's numbers beside ours ([`Plot::Beside`]).
//!
//! Whatever is of one protocol names it: the page gives a protocol the same colour everywhere, and hides and shows it everywhere.

use serde::{Deserialize, Serialize};
use whimbrel_sim::Confusion;

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is called in links; letters, digits, `-`, `.` and `/`, once on a page.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it, and what it was taken from, in a sentence or two.
    pub caption: String,
    /// What is drawn.
    pub plot: Plot,
}

impl Figure {
    /// The protocols that it shows, each as often as it does.
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

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Plot {
    /// Panels above each other over the same axis.
    Panels {
        /// The axis that all panels have in common.
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
        /// What is shown, and its unit. Colours are between its ends over all maps.
        value: Axis,
        /// Side by side.
        maps: Vec<Heat>,
    },
    /// Decisions on losses against the truth, a matrix for each protocol.
    Confusion {
        /// Side by side.
        matrices: Vec<Matrix>,
    },
    /// A paper's numbers beside ours. Rows of very different sizes share a logarithmic axis if all are above zero; else neighbours
    /// of like size and sign have an axis together.
    Beside {
        /// What is shown, and its unit.
        value: Axis,
        /// From top to bottom.
        rows: Vec<BesideRow>,
    },
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Its unit; empty if it has none.
    pub unit: String,
    /// Logarithmic; values that are not above zero are left out.
    pub log: bool,
    /// From great to small.
    pub inverse: bool,
}

impl Axis {
    /// A linear one, from small to great.
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
    /// What is in it.
    pub series: Vec<Series>,
}

/// One series of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Of which protocol, as people choose it (`cubic`, `cerl?A=0.6`); `None`: of the path or of all.
    pub protocol: Option<String>,
    /// What people read, in the legend too. What stands beside a line of the same panel and protocol is called after it: marks
    /// and dashes `cubic, loss` beside a line `cubic` have its colour, and their shape says what they are, the same for all
    /// lines; the legend then has `loss` once.
    pub label: String,
    /// How it is drawn.
    pub form: Form,
    /// Places, in the order in which they are drawn; finite.
    pub points: Vec<[f64; 2]>,
    /// Half the length of each point's vertical error bar; empty if there are none, else as many as points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<f64>,
    /// What people read at each point beside its numbers; empty if nothing, else as many as points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A line.
    Line,
    /// A line in dashes.
    Dashed,
    /// Level until the next point: what changes at instants.
    Steps,
    /// Marks that no line joins.
    Marks,
    /// Marks that a line joins.
    MarkedLine,
    /// The area from zero up to level steps: a link's capacity.
    Shade,
    /// A closed outline, lightly filled: where the runs of a protocol lie.
    Outline,
    /// Areas on top of each other: shares.
    Stack,
}

/// Values along an axis that are names, not numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Categories {
    /// What it shows.
    pub label: String,
    /// One for each column or row of cells.
    pub values: Vec<String>,
}

/// One heat map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Of which protocol; `None`: of all.
    pub protocol: Option<String>,
    /// What stands above it.
    pub label: String,
    /// One row after the other, each from left to right; `None` where nothing was measured.
    pub cells: Vec<Option<f64>>,
}

/// One protocol's decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Whose.
    pub protocol: String,
    /// What stands above it.
    pub label: String,
    /// Congestion, and taken for it.
    pub congestion_as_congestion: u64,
    /// Congestion, taken for random loss.
    pub congestion_as_random: u64,
    /// Random loss, taken for congestion.
    pub random_as_congestion: u64,
    /// Random loss, and taken for it.
    pub random_as_random: u64,
    /// Nothing was lost.
    pub spurious: u64,
}

impl Matrix {
    /// What stands in it.
    pub fn new(protocol: &str, label: impl Into<String>, decisions: &Confusion) -> Self {
        let Confusion {
            congestion_as_congestion,
            congestion_as_random,
            random_as_congestion,
            random_as_random,
            spurious,
        } = *decisions;
        Self {
            protocol: protocol.to_owned(),
            label: label.into(),
            congestion_as_congestion,
            congestion_as_random,
            random_as_congestion,
            random_as_random,
            spurious,
        }
    }
}

/// One number of a paper beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BesideRow {
    /// What it is.
    pub label: String,
    /// Of which protocol, if it is of one.
    pub protocol: Option<String>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Ours.
    pub measured: Option<f64>,
    /// Standard deviation over the seeds.
    pub spread: Option<f64>,
}
