//! A report as data: sections with their figures, and how it was made. [`html`](crate::html())
//! writes it as a page.

use crate::figure::Figure;
use serde::{Deserialize, Serialize};

/// A report: one page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// One paragraph below the title; may be empty.
    pub summary: String,
    /// How it was made: command, version, seeds, cores of the machine and so on.
    pub made: Vec<Fact>,
    /// Its sections, in order.
    pub sections: Vec<Section>,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

impl Fact {
    /// A fact of this name and value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// One experiment, or one scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name in links, unique on a page: `cerl/fig-3.5`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its heading in the table of contents, such as the paper; may be empty.
    pub group: String,
    /// Its paragraphs.
    pub text: Vec<String>,
    /// Settings of its scenario, its seeds and so on.
    pub facts: Vec<Fact>,
    /// The result of its claim, if it has one.
    pub finding: Option<Finding>,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Figures, in order.
    pub figures: Vec<Figure>,
    /// The files behind it: its scenario and the algorithms' code.
    pub sources: Vec<Source>,
}

/// A claim and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its place in the paper.
    pub place: String,
    /// The claim.
    pub claim: String,
    /// `holds`, `in part`, `does not hold`.
    pub verdict: String,
    /// The reason.
    pub reason: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its caption.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells are numbers, aligned at the right.
    pub number: bool,
}

/// A file behind a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What it is: `scenario`, `algorithm cerl`.
    pub title: String,
    /// Its path in the project: `crates/cc/src/classifiers/cerl.rs`.
    pub path: String,
    /// Its contents. A page has equal contents once.
    pub text: String,
}
