//! Tables of other commands, for the writers of CSV and Parquet.

use super::{Cell, Frame};
use crate::column::Column;
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
