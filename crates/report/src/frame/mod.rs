//! Results as tables for other tools: rows and typed columns, which [`csv`](crate::csv()) and [`parquet`](crate::parquet())
//! write.
//!
//! The names and values of measures are those of [`json()`](crate::json()): a row is what stands there, an object within an
//! object flattened with `_` (`rtt_ms` of `p95` is `rtt_ms_p95`). So there is one place that says what a measure is. What is of
//! which type, and what it means, a [`Column`] says: a table has all its columns in every file, whatever was
//! run, and where there is nothing to say a cell is null.
//!
//! Tables are tidy: one row is one thing, and each row says which run it is of: `run`, the swept keys, `seed`. `wall_s` is left
//! out: the same runs give the same bits on any number of threads.

mod columns;
mod swept;
#[cfg(test)]
mod tests;

pub use columns::{Column, Kind};

use crate::json::{
    self, DestinationJson, DestinationSampleJson, EpisodeJson, FlowJson, FlowSampleJson, LinkJson,
    LinkSampleJson, PathJson, StreamJson, TotalJson,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::str::FromStr;
use swept::Swept;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, FlowSample, LossEpisode};
use whimbrel_units::nearest;

/// What one row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A flow of a run.
    Flows,
    /// A run, with what is of all its flows together.
    Runs,
    /// A path of a multipath connection.
    Paths,
    /// A stream of a flow that has several, or messages.
    Streams,
    /// A directed link of a run; flows' own copies are left out.
    Links,
    /// A node that receives AATP flows; those at the end of own copies are left out.
    Destinations,
    /// A flow, or a path of its, at an instant.
    Samples,
    /// A link at an instant.
    LinkSamples,
    /// A node at an instant.
    DestinationSamples,
    /// An episode of loss of a flow, or of a path of its.
    Episodes,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Flows,
        Self::Runs,
        Self::Paths,
        Self::Streams,
        Self::Links,
        Self::Destinations,
        Self::Samples,
        Self::LinkSamples,
        Self::DestinationSamples,
        Self::Episodes,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Runs => "runs",
            Self::Paths => "paths",
            Self::Streams => "streams",
            Self::Links => "links",
            Self::Destinations => "destinations",
            Self::Samples => "samples",
            Self::LinkSamples => "link-samples",
            Self::DestinationSamples => "destination-samples",
            Self::Episodes => "episodes",
        }
    }

    /// It has rows of runs that were sampled only.
    pub fn is_of_samples(self) -> bool {
        match self {
            Self::Samples | Self::LinkSamples | Self::DestinationSamples | Self::Episodes => true,
            Self::Flows
            | Self::Runs
            | Self::Paths
            | Self::Streams
            | Self::Links
            | Self::Destinations => false,
        }
    }
}

/// There is no such table; the text names the nearest, and all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownTable(String);

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(text: &str) -> Result<Self, UnknownTable> {
        let names = Self::ALL.map(Self::name);
        if let Some(table) = Self::ALL.into_iter().find(|table| table.name() == text) {
            return Ok(table);
        }
        let meant =
            nearest(text, names).map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        Err(UnknownTable(format!(
            "there is no table `{text}`{meant}; the tables are {}",
            names.join(", ")
        )))
    }
}

/// What stands at a place of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known or nothing is there.
    Null,
    /// Words.
    Text(String),
    /// A whole number. Above 2^63 - 1 it is 2^63 - 1.
    Integer(i64),
    /// A number; never NaN or infinite.
    Float(f64),
    /// True or false.
    Switch(bool),
}

/// A table of runs.
#[derive(Debug)]
pub struct Frame<'a> {
    table: Table,
    runs: &'a [Run<'a>],
    columns: Vec<Column>,
    /// Where a column stands, by its name.
    places: HashMap<String, usize>,
    swept: Vec<Swept>,
}

impl<'a> Frame<'a> {
    /// This table of these runs.
    pub fn new(table: Table, runs: &'a [Run<'a>]) -> Self {
        let swept = swept::swept(runs);
        let columns = columns::columns(table, swept.iter().flat_map(Swept::columns));
        let places = columns.iter().enumerate();
        let places = places.map(|(i, column)| (column.name.clone(), i)).collect();
        Self {
            table,
            runs,
            columns,
            places,
            swept,
        }
    }

    /// What one row is.
    pub fn table(&self) -> Table {
        self.table
    }

    /// Its columns, from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Calls `each` with each row, in the order of the runs and of their parts: as many cells as there are columns, each null
    /// or of its column's kind.
    ///
    /// # Errors
    /// What `each` returns first.
    pub fn rows(&self, mut each: impl FnMut(&[Cell]) -> io::Result<()>) -> io::Result<()> {
        let mut row = Row {
            places: &self.places,
            columns: &self.columns,
            cells: vec![Cell::Null; self.columns.len()],
            path: String::new(),
        };
        for (index, run) in self.runs.iter().enumerate() {
            row.clear();
            row.set("run", Cell::Integer(whole(index as u64)));
            row.set("seed", Cell::Integer(whole(run.seed)));
            for swept in &self.swept {
                for (column, cell) in swept.cells(run) {
                    row.set(&column, cell);
                }
            }
            let of_run = row.cells.clone();
            self.rows_of(run, &mut row, &mut |row| {
                each(&row.cells)?;
                row.cells.clone_from(&of_run);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The rows of one run. `done` takes a row as it is and leaves what all rows of the run have in common.
    fn rows_of(
        &self,
        run: &Run<'_>,
        row: &mut Row<'_>,
        done: &mut dyn FnMut(&mut Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let outcome = &run.outcome;
        let flows = outcome.flows.iter();
        let links = outcome.links.iter().filter(|l| json::is_shared(&l.name));
        let nodes = outcome.destinations.iter();
        let nodes = nodes.filter(|node| json::is_shared(&node.name));
        match self.table {
            Table::Runs => {
                let controllers = run.point.controllers();
                if !controllers.is_empty() {
                    row.text("controller", &controllers.join(", "));
                }
                row.set("duration_s", Cell::Float(outcome.duration.as_secs_f64()));
                row.set("events", Cell::Integer(whole(outcome.events)));
                let packets = whole(outcome.delivered_packets);
                row.set("delivered_packets", Cell::Integer(packets));
                row.put("total", &TotalJson::from(run))?;
                done(row)?;
            }
            Table::Flows => {
                for flow in flows {
                    row.of_flow(flow);
                    row.put("", &FlowJson::measures(flow))?;
                    done(row)?;
                }
            }
            Table::Paths => {
                for flow in flows {
                    for path in &flow.paths {
                        row.of_flow(flow);
                        row.put("", &PathJson::measures(path))?;
                        done(row)?;
                    }
                }
            }
            Table::Streams => {
                for flow in flows {
                    for (number, stream) in (0..).zip(&flow.streams) {
                        row.of_flow(flow);
                        row.set("stream", Cell::Integer(number));
                        row.put("", &StreamJson::from(stream))?;
                        done(row)?;
                    }
                }
            }
            Table::Samples => {
                for (flow, route, samples, _) in series(&outcome.flows) {
                    for sample in samples {
                        row.of_path(flow, route);
                        row.put("", &FlowSampleJson::from(sample))?;
                        done(row)?;
                    }
                }
            }
            Table::Episodes => {
                for (flow, route, _, episodes) in series(&outcome.flows) {
                    for episode in episodes {
                        row.of_path(flow, route);
                        row.put("", &EpisodeJson::from(episode))?;
                        done(row)?;
                    }
                }
            }
            Table::Links => {
                for link in links {
                    row.text("link", &link.name);
                    row.put("", &LinkJson::measures(link))?;
                    done(row)?;
                }
            }
            Table::LinkSamples => {
                for (link, sample) in links.flat_map(|l| l.samples.iter().map(move |s| (l, s))) {
                    row.text("link", &link.name);
                    row.put("", &LinkSampleJson::from(sample))?;
                    done(row)?;
                }
            }
            Table::Destinations => {
                for node in nodes {
                    row.text("destination", &node.name);
                    row.put("", &DestinationJson::measures(node))?;
                    done(row)?;
                }
            }
            Table::DestinationSamples => {
                for (node, sample) in nodes.flat_map(|n| n.samples.iter().map(move |s| (n, s))) {
                    row.text("destination", &node.name);
                    row.put("", &DestinationSampleJson::from(sample))?;
                    done(row)?;
                }
            }
        }
        Ok(())
    }
}

/// What a flow or a path of its did over time.
type Series<'a> = (
    &'a FlowOutcome,
    Option<&'a str>,
    &'a [FlowSample],
    &'a [LossEpisode],
);

/// Each flow, and after it each of its paths.
fn series(flows: &[FlowOutcome]) -> impl Iterator<Item = Series<'_>> {
    flows.iter().flat_map(|flow| {
        let paths = flow.paths.iter();
        let paths = paths.map(move |path| {
            let route = Some(path.route.as_str());
            (
                flow,
                route,
                path.samples.as_slice(),
                path.episodes.as_slice(),
            )
        });
        let whole = (
            flow,
            None,
            flow.samples.as_slice(),
            flow.episodes.as_slice(),
        );
        std::iter::once(whole).chain(paths)
    })
}

/// A row that is being filled.
struct Row<'a> {
    places: &'a HashMap<String, usize>,
    columns: &'a [Column],
    cells: Vec<Cell>,
    /// The name of the column that is being looked for.
    path: String,
}

impl Row<'_> {
    fn clear(&mut self) {
        self.cells.fill(Cell::Null);
    }

    fn set(&mut self, column: &str, cell: Cell) {
        if let Some(&place) = self.places.get(column) {
            self.cells[place] = cell;
        }
    }

    fn text(&mut self, column: &str, text: &str) {
        self.set(column, Cell::Text(text.to_owned()));
    }

    fn of_flow(&mut self, flow: &FlowOutcome) {
        self.text("flow", &flow.name);
        if let Some(controller) = &flow.controller {
            self.text("controller", controller);
        }
    }

    fn of_path(&mut self, flow: &FlowOutcome, route: Option<&str>) {
        self.of_flow(flow);
        if let Some(route) = route {
            self.text("route", route);
        }
    }

    /// Puts all members of an object into the columns of their names, below `prefix` if there is one.
    fn put(&mut self, prefix: &str, what: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_value(what).map_err(io::Error::from)?;
        self.path.clear();
        self.path.push_str(prefix);
        self.spread(&value);
        Ok(())
    }

    fn spread(&mut self, value: &Value) {
        if let Some(&place) = self.places.get(&self.path) {
            self.cells[place] = cell(value, self.columns[place].kind);
        } else if let Value::Object(members) = value {
            let length = self.path.len();
            for (name, value) in members {
                if length > 0 {
                    self.path.push('_');
                }
                self.path.push_str(name);
                self.spread(value);
                self.path.truncate(length);
            }
        }
    }
}

/// A value as a cell of this kind. An object in a column of text stays JSON.
fn cell(value: &Value, kind: Kind) -> Cell {
    let known = match kind {
        Kind::Text => match value {
            Value::Null => None,
            Value::String(text) => Some(Cell::Text(text.clone())),
            other => Some(Cell::Text(other.to_string())),
        },
        Kind::Integer => {
            let number = value.as_i64().or_else(|| value.as_u64().map(whole));
            number.map(Cell::Integer)
        }
        Kind::Float => value.as_f64().map(Cell::Float),
        Kind::Switch => value.as_bool().map(Cell::Switch),
    };
    known.unwrap_or(Cell::Null)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
