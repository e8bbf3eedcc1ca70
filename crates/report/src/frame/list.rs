//! Tables of other commands, for the writers of CSV and Parquet.

use super::{Cell, Frame};
use crate::column::{Column, Kind};
use serde_json::{Map, Value};
use std::io;

/// Rows with typed columns.
pub trait Rows {
    /// The name of the table.
    fn name(&self) -> &str;

    /// Its columns, from left to right.
    fn columns(&self) -> &[Column];

    /// Calls `each` with each row, which has a cell for each column, null or of the column's kind.
    ///
    /// # Errors
    /// The first error that `each` returns.
    fn each(&self, each: &mut dyn FnMut(&[Cell]) -> io::Result<()>) -> io::Result<()>;
}

impl Rows for Frame<'_> {
    fn name(&self) -> &str {
        self.table().name()
    }

    fn columns(&self) -> &[Column] {
        self.columns()
    }

    fn each(&self, each: &mut dyn FnMut(&[Cell]) -> io::Result<()>) -> io::Result<()> {
        self.rows(each)
    }
}

/// A table in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Its name.
    pub name: String,
    /// Its columns, from left to right.
    pub columns: Vec<Column>,
    /// Its rows. Each has a cell for each column, null or of the column's kind.
    pub rows: Vec<Vec<Cell>>,
}

impl Rows for List {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn each(&self, each: &mut dyn FnMut(&[Cell]) -> io::Result<()>) -> io::Result<()> {
        self.rows.iter().try_for_each(|row| each(row))
    }
}

impl List {
    /// The rows of JSON objects: a column for each key of any of them, in the order of their first
    /// appearance, whose kind is that of all its values.
    pub fn of_records(name: &str, records: &[Value]) -> Self {
        let mut keys: Vec<&String> = Vec::new();
        for key in records
            .iter()
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
        {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let columns: Vec<Column> = keys.iter().map(|key| column(key, records)).collect();
        let row = |record: &Value| {
            let cells = columns.iter();
            let cells = cells.map(|column| cell(&record[&column.name], column.kind));
            cells.collect()
        };
        Self {
            name: name.to_owned(),
            rows: records.iter().map(row).collect(),
            columns,
        }
    }
}

fn column(key: &str, records: &[Value]) -> Column {
    let present = || {
        records
            .iter()
            .map(|r| &r[key])
            .filter(|value| !value.is_null())
    };
    let kind = if present().next().is_some() && present().all(Value::is_i64) {
        Kind::Integer
    } else if present().next().is_some() && present().all(Value::is_number) {
        Kind::Float
    } else if present().next().is_some() && present().all(Value::is_boolean) {
        Kind::Switch
    } else {
        Kind::Text
    };
    Column {
        name: key.to_owned(),
        kind,
        about: String::new(),
    }
}

fn cell(value: &Value, kind: Kind) -> Cell {
    let cell = match kind {
        Kind::Integer => value.as_i64().map(Cell::Integer),
        Kind::Float => value.as_f64().map(Cell::Float),
        Kind::Switch => value.as_bool().map(Cell::Switch),
        Kind::Text => match value {
            Value::Null => None,
            Value::String(text) => Some(Cell::Text(text.clone())),
            other => Some(Cell::Text(other.to_string())),
        },
    };
    cell.unwrap_or(Cell::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_every_key_of_its_records() {
        let records = [
            json!({ "id": "a", "claim": "x" }),
            json!({ "id": "b", "note": "y", "claim": "z" }),
        ];
        let List { columns, rows, .. } = List::of_records("records", &records);
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let note = names
            .iter()
            .position(|name| *name == "note")
            .expect("a column");
        assert_eq!(rows[0][note], Cell::Null);
        assert_eq!(rows[1][note], Cell::Text("y".to_owned()));
        names.sort_unstable();
        assert_eq!(names, ["claim", "id", "note"]);
    }

    #[test]
    fn a_column_has_the_kind_of_all_its_values() {
        let kind = |values: &[Value]| {
            let records: Vec<Value> = values.iter().map(|value| json!({ "x": value })).collect();
            List::of_records("records", &records).columns[0].kind
        };
        let null = Value::Null;
        assert_eq!(kind(&[null.clone(), json!(1), json!(2)]), Kind::Integer);
        assert_eq!(kind(&[json!(1), json!(0.5)]), Kind::Float);
        assert_eq!(kind(&[json!(true), null.clone()]), Kind::Switch);
        assert_eq!(kind(&[json!(1), json!("a")]), Kind::Text);
        assert_eq!(kind(&[null]), Kind::Text);
    }
}
