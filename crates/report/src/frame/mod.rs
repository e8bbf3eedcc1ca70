//! Results as tables for other tools: rows and typed columns, which [`csv`](crate::csv()) and
//! `parquet` write.
//!
//! Names and values are those of [`json()`](crate::json()): a row is an object of it, with the
//! members of inner objects flattened with `_` (`p95` of `rtt_ms` is `rtt_ms_p95`). A table has all
//! its columns in every file; a cell without a value is null.
//!
//! Tables are tidy: a row describes one thing and identifies its run by `run`, the swept keys and
//! `seed`. `wall_s` is left out, so that the same runs give the same bytes on any number of
//! threads.

mod columns;
mod list;
mod swept;
#[cfg(test)]
mod tests;

pub use crate::column::{Column, Kind};
pub use list::{List, Rows};

use crate::json::{
    DestinationJson, DestinationSampleJson, EpisodeJson, FlowJson, FlowSampleJson, LinkJson,
    LinkSampleJson, PathJson, StreamJson, TotalJson,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::str::FromStr;
use swept::Swept;
use whimbrel_sim::scenario::Point;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, FlowSample, LossEpisode};
use whimbrel_units::nearest;

/// A table: what one row describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A flow of a run.
    Flows,
    /// A run, with the totals of its flows.
    Runs,
    /// A path of a multipath connection.
    Paths,
    /// A stream of a flow with several streams or with messages.
    Streams,
    /// A directed link of a run, except flows' own copies.
    Links,
    /// A node that receives AATP flows, except those behind flows' own copies of links.
    Destinations,
    /// A flow or one of its paths at an instant.
    Samples,
    /// A link at an instant.
    LinkSamples,
    /// A node at an instant.
    DestinationSamples,
    /// A loss episode of a flow or of one of its paths.
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

    /// Its name on the command line.
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

    /// Whether only sampled runs have rows in it.
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

/// The table is unknown; the text names the nearest and all others.
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
            "unknown table `{text}`{meant}; the tables are {}",
            names.join(", ")
        )))
    }
}

/// The value of a column in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// Text.
    Text(String),
    /// An integer, at most 2^63 - 1.
    Integer(i64),
    /// A finite number.
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
    /// Indices of the columns by name.
    places: HashMap<String, usize>,
    swept: Vec<Swept>,
    /// The index of the first of the runs.
    first: u64,
}

impl<'a> Frame<'a> {
    /// A table of these runs.
    pub fn new(table: Table, runs: &'a [Run<'a>]) -> Self {
        Self::part(table, runs.iter().map(|run| run.point), runs, 0)
    }

    /// A table of some of the runs of a scenario: `runs` are adjacent, and `first` is the index of
    /// their first one among all runs. It has the columns of the table of all runs, whose points
    /// are `points`, so that such parts can be put together.
    pub fn part<'p>(
        table: Table,
        points: impl Iterator<Item = &'p Point>,
        runs: &'a [Run<'a>],
        first: u64,
    ) -> Self {
        let swept = swept::swept(points);
        let columns = columns::columns(table, swept.iter().flat_map(Swept::columns));
        let places = columns.iter().enumerate();
        let places = places.map(|(i, column)| (column.name.clone(), i)).collect();
        Self {
            table,
            runs,
            columns,
            places,
            swept,
            first,
        }
    }

    /// The table.
    pub fn table(&self) -> Table {
        self.table
    }

    /// Its columns, from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Calls `each` with each row, in the order of the runs and of their parts. A row has a cell
    /// for each column, null or of the column's kind.
    ///
    /// # Errors
    /// The first error that `each` returns.
    pub fn rows(&self, mut each: impl FnMut(&[Cell]) -> io::Result<()>) -> io::Result<()> {
        let mut row = Row {
            places: &self.places,
            columns: &self.columns,
            cells: vec![Cell::Null; self.columns.len()],
            path: String::new(),
        };
        for (index, run) in self.runs.iter().enumerate() {
            row.clear();
            row.set("run", Cell::Integer(whole(self.first + index as u64)));
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

    /// Fills the rows of one run. `done` uses a row and then resets it to the cells that all rows
    /// of the run share.
    fn rows_of(
        &self,
        run: &Run<'_>,
        row: &mut Row<'_>,
        done: &mut dyn FnMut(&mut Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let outcome = &run.outcome;
        let flows = outcome.flows.iter();
        let links = outcome.links.iter().filter(|link| link.name.copy.is_none());
        let nodes = outcome.destinations.iter();
        let nodes = nodes.filter(|node| !node.is_copy);
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
                    row.put("", &FlowJson::from(flow).without_lists())?;
                    done(row)?;
                }
            }
            Table::Paths => {
                for flow in flows {
                    for path in &flow.paths {
                        row.of_flow(flow);
                        row.put("", &PathJson::from(path).without_lists())?;
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
                    row.text("link", &link.name.to_string());
                    row.put("", &LinkJson::from(link).without_lists())?;
                    done(row)?;
                }
            }
            Table::LinkSamples => {
                for (link, sample) in links.flat_map(|l| l.samples.iter().map(move |s| (l, s))) {
                    row.text("link", &link.name.to_string());
                    row.put("", &LinkSampleJson::from(sample))?;
                    done(row)?;
                }
            }
            Table::Destinations => {
                for node in nodes {
                    row.text("destination", &node.name);
                    row.put("", &DestinationJson::from(node).without_lists())?;
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

/// Samples and loss episodes of a flow, or of one of its paths by its route.
type Series<'a> = (
    &'a FlowOutcome,
    Option<&'a str>,
    &'a [FlowSample],
    &'a [LossEpisode],
);

/// Each flow, followed by its paths.
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

/// A row under construction.
struct Row<'a> {
    places: &'a HashMap<String, usize>,
    columns: &'a [Column],
    cells: Vec<Cell>,
    /// The name of the column that is looked up.
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
        self.text("flow", &flow.name.to_string());
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

    /// Puts all members of an object into the columns of their names, behind `prefix`.
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

/// A value as a cell of this kind. In a column of text, an object is JSON.
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
