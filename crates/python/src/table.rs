//! Tables of columns, handed to Arrow readers without copies by the PyCapsule interface.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use whimbrel_report::frame::{Cell, Column, Frame, Kind, List};

/// A table: columns of equal length, in one or more batches.
#[pyclass(frozen, module = "whimbrel._whimbrel")]
pub struct NativeTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl NativeTable {
    /// The Arrow PyCapsule interface: a stream of batches that share their memory with this table.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that asks for another schema casts by itself: the interface allows that.
        drop(requested_schema);
        let batches: Vec<Result<RecordBatch, ArrowError>> =
            self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns, from left to right.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// What each column means, with its unit, by its name.
    #[getter]
    fn meanings(&self) -> HashMap<String, String> {
        let about = |field: &Arc<Field>| {
            let about = field.metadata().get("about").cloned().unwrap_or_default();
            (field.name().clone(), about)
        };
        self.schema.fields().iter().map(about).collect()
    }
}

impl NativeTable {
    /// Of batches with these columns.
    pub fn new(columns: &[Column], batches: Vec<RecordBatch>) -> Self {
        Self {
            schema: schema(columns),
            batches,
        }
    }

    /// Of JSON objects: a column for each of their keys.
    pub fn of_records(records: &[Value]) -> PyResult<Self> {
        let List { columns, rows, .. } = List::of_records("records", records);
        let mut builders = Builders::new(&columns);
        rows.iter().for_each(|row| builders.add(row));
        let batch = builders.finish(&columns).map_err(broken)?;
        Ok(Self::new(&columns, vec![batch]))
    }
}

/// The rows of a frame as a batch.
///
/// # Errors
/// If Arrow rejects it.
pub fn batch(frame: &Frame<'_>) -> Result<RecordBatch, ArrowError> {
    let mut builders = Builders::new(frame.columns());
    frame.rows(|cells| {
        builders.add(cells);
        Ok(())
    })?;
    builders.finish(frame.columns())
}

/// The exception for an error of Arrow.
pub fn broken(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn schema(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Text => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Switch => DataType::Boolean,
        };
        let about = HashMap::from([("about".to_owned(), column.about.clone())]);
        Field::new(&column.name, kind, true).with_metadata(about)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The columns of a batch under construction.
struct Builders(Vec<Builder>);

enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Switch(BooleanBuilder),
}

impl Builders {
    fn new(columns: &[Column]) -> Self {
        let builder = |column: &Column| match column.kind {
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Integer => Builder::Integer(Int64Builder::new()),
            Kind::Float => Builder::Float(Float64Builder::new()),
            Kind::Switch => Builder::Switch(BooleanBuilder::new()),
        };
        Self(columns.iter().map(builder).collect())
    }

    /// A cell of another kind than its column's is null.
    fn add(&mut self, cells: &[Cell]) {
        for (builder, cell) in self.0.iter_mut().zip(cells) {
            match (builder, cell) {
                (Builder::Text(all), Cell::Text(text)) => all.append_value(text),
                (Builder::Text(all), _) => all.append_null(),
                (Builder::Integer(all), Cell::Integer(n)) => all.append_value(*n),
                (Builder::Integer(all), _) => all.append_null(),
                (Builder::Float(all), Cell::Float(n)) => all.append_value(*n),
                (Builder::Float(all), _) => all.append_null(),
                (Builder::Switch(all), Cell::Switch(on)) => all.append_value(*on),
                (Builder::Switch(all), _) => all.append_null(),
            }
        }
    }

    fn finish(self, columns: &[Column]) -> Result<RecordBatch, ArrowError> {
        let array = |builder: Builder| -> ArrayRef {
            match builder {
                Builder::Text(mut all) => Arc::new(all.finish()),
                Builder::Integer(mut all) => Arc::new(all.finish()),
                Builder::Float(mut all) => Arc::new(all.finish()),
                Builder::Switch(mut all) => Arc::new(all.finish()),
            }
        };
        let arrays = self.0.into_iter().map(array).collect();
        RecordBatch::try_new(schema(columns), arrays)
    }
}
