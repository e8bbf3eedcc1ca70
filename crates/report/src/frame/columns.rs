//! The columns of each table: what a row is about, the swept keys, and the fields of its record.

use super::Table;
use crate::column::{Column, Kind};
use crate::json::{
    DestinationJson, DestinationSampleJson, EpisodeJson, Field, FlowJson, FlowSampleJson, LinkJson,
    LinkSampleJson, PathJson, StreamJson, TotalJson,
};

/// All columns of a table, from left to right.
pub(super) fn columns(table: Table, swept: impl Iterator<Item = Column>) -> Vec<Column> {
    let mut list = List(Vec::new());
    list.integer(
        "run",
        "index of the run, from 0; the same in all tables of a command and in `runs` of --json",
    );
    list.0.extend(swept);
    list.integer("seed", "seed of the run");
    match table {
        Table::Runs => {
            list.text("controller", "the controllers of its flows, joined by `, `");
            list.float("duration_s", "duration, in the run's time");
            list.integer("events", "events of the simulation");
            list.integer(
                "delivered_packets",
                "data packets delivered, each counted once",
            );
            list.record::<TotalJson>("total");
        }
        Table::Flows => {
            list.of_flow();
            list.record::<FlowJson<'_>>("");
        }
        Table::Paths => {
            list.of_path("the path's links, from the sender to the receiver");
            list.record::<PathJson<'_>>("");
            list.move_before("rtt_ms_count", &["marked", "mark_episodes", "reinjected"]);
        }
        Table::Streams => {
            list.of_flow();
            list.integer("stream", "number of the stream, from 0");
            list.record::<StreamJson>("");
        }
        Table::Samples => {
            list.of_path(
                "path of a multipath connection; null: the whole connection, or a flow with one path",
            );
            list.record::<FlowSampleJson>("");
        }
        Table::Episodes => {
            list.of_path("path of a multipath connection; null: the flow's only path");
            list.record::<EpisodeJson>("");
        }
        Table::Links => {
            list.text(
                "link",
                "name of the link; with `(reverse)`, the mirrored direction",
            );
            list.record::<LinkJson<'_>>("");
        }
        Table::LinkSamples => {
            list.text("link", "name of the link");
            list.record::<LinkSampleJson>("");
        }
        Table::Destinations => {
            list.text("destination", "name of the node");
            list.record::<DestinationJson<'_>>("");
        }
        Table::DestinationSamples => {
            list.text("destination", "name of the node");
            list.record::<DestinationSampleJson>("");
        }
    }
    list.0
}

struct List(Vec<Column>);

impl List {
    fn text(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Text, about));
    }

    fn integer(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Integer, about));
    }

    fn float(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Float, about));
    }

    fn of_flow(&mut self) {
        self.text("flow", "name of the flow");
        self.text(
            "controller",
            "its congestion controller as chosen; null: UDP",
        );
    }

    fn of_path(&mut self, route: &str) {
        self.of_flow();
        self.text("route", route);
    }

    /// The columns of a record's fields.
    fn record<T: Field>(&mut self, prefix: &str) {
        T::columns(prefix, "", &mut self.0);
    }

    /// Moves columns in front of another: the order of a table stays, whatever the order in JSON.
    fn move_before(&mut self, next: &str, names: &[&str]) {
        for name in names {
            if let Some(from) = self.0.iter().position(|column| column.name == *name) {
                let column = self.0.remove(from);
                let to = self.0.iter().position(|column| column.name == next);
                self.0.insert(to.unwrap_or(from), column);
            }
        }
    }
}
