//! A report as one page that needs nothing else: no network, no other file.

use crate::page::Report;

/// The page.
///
/// # Errors
/// If the writer fails.
pub fn html(report: &Report, mut to: impl std::io::Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut to, report).map_err(std::io::Error::from)
}
