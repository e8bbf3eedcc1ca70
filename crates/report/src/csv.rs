//! Tables as CSV (RFC 4180): a header, then a line for each row; an empty field is null.

use crate::frame::{Cell, Column, Rows};
use std::io;

/// Writes a table. Numbers have full precision: reading them yields the same bits.
///
/// # Errors
/// If the writer fails.
pub fn csv(table: &impl Rows, to: impl io::Write) -> io::Result<()> {
    // RFC 4180 section 2 ends lines with CR LF.
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(to);
    let name = |column: &Column| column.name.clone();
    writer.write_record(table.columns().iter().map(name))?;
    table.each(&mut |cells| {
        for cell in cells {
            match cell {
                Cell::Null => writer.write_field(""),
                Cell::Text(text) => writer.write_field(text),
                Cell::Integer(n) => writer.write_field(n.to_string()),
                Cell::Float(n) => writer.write_field(n.to_string()),
                Cell::Switch(on) => writer.write_field(on.to_string()),
            }?;
        }
        writer.write_record(None::<&[u8]>)?;
        Ok(())
    })?;
    writer.flush()
}
