//! Tables as Apache Parquet: typed columns, compressed with Snappy, which all readers support.
//!
//! Every column may be null. The file's metadata has the provenance of the runs and, as a JSON
//! object under `columns`, the meaning of each column.

use crate::frame::{Cell, Column, Kind, Rows};
use crate::page::Fact;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::{Map, Value};
use std::io;
use std::sync::Arc;

/// Rows of a group, which is held in memory until it is written: about 100 MB of the widest table.
const GROUP: usize = 1 << 16;

/// Writes a table. `made` is its provenance, for the file's metadata.
///
/// # Errors
/// If the writer fails.
pub fn parquet(table: &impl Rows, made: &[Fact], to: impl io::Write + Send) -> io::Result<()> {
    let columns = table.columns();
    let meanings: Map<String, Value> = columns
        .iter()
        .map(|column| (column.name.clone(), Value::from(column.about.as_str())))
        .collect();
    let pair = |name: &str, value: &str| KeyValue::new(name.to_owned(), value.to_owned());
    let mut facts: Vec<KeyValue> = made.iter().map(|f| pair(&f.name, &f.value)).collect();
    facts.push(pair("table", table.name()));
    facts.push(pair("columns", &Value::from(meanings).to_string()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(facts))
        .build();
    let schema = Arc::new(schema(columns).map_err(failed)?);
    let mut writer = SerializedFileWriter::new(to, schema, Arc::new(properties)).map_err(failed)?;
    let mut group = Group::new(columns);
    table.each(&mut |cells| {
        group.add(cells);
        if group.rows == GROUP {
            group.write(&mut writer).map_err(failed)?;
        }
        Ok(())
    })?;
    if group.rows > 0 {
        group.write(&mut writer).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

/// The error of the operating system, if it is one.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (Physical::INT64, None),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Switch => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    };
    let fields: Result<Vec<_>, ParquetError> = columns.iter().map(field).collect();
    Type::group_type_builder("whimbrel")
        .with_fields(fields?)
        .build()
}

/// Rows that have not been written yet.
struct Group {
    columns: Vec<Buffer>,
    rows: usize,
}

/// A column's values that are not null, and for each row 1 if it has a value, else 0.
struct Buffer {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Switch(Vec<bool>),
}

impl Group {
    fn new(columns: &[Column]) -> Self {
        let buffer = |column: &Column| Buffer {
            values: match column.kind {
                Kind::Text => Values::Text(Vec::new()),
                Kind::Integer => Values::Integer(Vec::new()),
                Kind::Float => Values::Float(Vec::new()),
                Kind::Switch => Values::Switch(Vec::new()),
            },
            present: Vec::new(),
        };
        Self {
            columns: columns.iter().map(buffer).collect(),
            rows: 0,
        }
    }

    fn add(&mut self, cells: &[Cell]) {
        for (buffer, cell) in self.columns.iter_mut().zip(cells) {
            let present = match (&mut buffer.values, cell) {
                (Values::Text(values), Cell::Text(text)) => {
                    values.push(text.as_str().into());
                    true
                }
                (Values::Integer(values), Cell::Integer(n)) => {
                    values.push(*n);
                    true
                }
                (Values::Float(values), Cell::Float(n)) => {
                    values.push(*n);
                    true
                }
                (Values::Switch(values), Cell::Switch(on)) => {
                    values.push(*on);
                    true
                }
                // A cell is null or has the kind of its column.
                _ => false,
            };
            buffer.present.push(i16::from(present));
        }
        self.rows += 1;
    }

    /// Writes the rows as a group and clears the buffers.
    fn write<W: io::Write + Send>(
        &mut self,
        to: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        let mut group = to.next_row_group()?;
        let mut buffers = self.columns.iter_mut();
        while let (Some(column), Some(buffer)) = (group.next_column()?, buffers.next()) {
            let present = std::mem::take(&mut buffer.present);
            match &mut buffer.values {
                Values::Text(values) => write::<ByteArrayType>(column, values, &present),
                Values::Integer(values) => write::<Int64Type>(column, values, &present),
                Values::Float(values) => write::<DoubleType>(column, values, &present),
                Values::Switch(values) => write::<BoolType>(column, values, &present),
            }?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn write<T: DataType>(
    mut column: SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<(), ParquetError> {
    column
        .typed::<T>()
        .write_batch(values, Some(present), None)?;
    values.clear();
    column.close()
}
