//! What a report says, as data: sections with their figures, and how it was made. [`html`](crate::html()) makes a page of it.

use crate::figure::Figure;
use serde::{Deserialize, Serialize};

/// A report: one page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What stands above all.
    pub title: String,
    /// One paragraph below it; may be empty.
    pub summary: String,
    /// How it was made: `("command", "whimbrel reproduce cerl")`, version, seeds, the machine's cores, ...
    pub made: Vec<Fact>,
    /// What the page is about, in order.
    pub sections: Vec<Section>,
}

/// A name and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What it says.
    pub value: String,
}

impl Fact {
    /// Of these words.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// One experiment, or one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// What it is called in links: `cerl/fig-3.5`; once on a page.
    pub id: String,
    /// What stands above it.
    pub title: String,
    /// Under which heading it stands in the page's table of contents: the paper. May be empty.
    pub group: String,
    /// What it says, in paragraphs.
    pub text: Vec<String>,
    /// Settings: of its scenario, its seeds.
    pub facts: Vec<Fact>,
    /// What became of a claim, if it has one.
    pub finding: Option<Finding>,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Figures, in order.
    pub figures: Vec<Figure>,
    /// Files that it comes from: its scenario, the algorithms' code.
    pub sources: Vec<Source>,
}

/// A claim and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where in the paper.
    pub place: String,
    /// What the paper claims.
    pub claim: String,
    /// `holds`, `in part`, `does not hold`.
    pub verdict: String,
    /// Why.
    pub reason: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each as long as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What stands above it.
    pub name: String,
    /// Its cells are numbers: aligned at the right.
    pub number: bool,
}

/// A file that people may want to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What it is: `scenario`, `algorithm cerl`.
    pub title: String,
    /// Where it lies in the project: `crates/cc/src/classifiers/cerl.rs`.
    pub path: String,
    /// What it says. The same text on a page is kept once.
    pub text: String,
}
