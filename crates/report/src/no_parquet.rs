//! Takes the place of Apache Parquet in a build without the feature `parquet`.

use crate::frame::Rows;
use crate::page::Fact;
use std::io;

/// Would write a table as Apache Parquet, which this build cannot: see [`PARQUET`](crate::PARQUET).
///
/// # Errors
/// Always, with [`io::ErrorKind::Unsupported`].
pub fn parquet(_table: &impl Rows, _made: &[Fact], _to: impl io::Write + Send) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
