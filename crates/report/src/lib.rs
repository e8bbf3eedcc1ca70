//! Results as text, data and figures.
//!
//! For people:
//! * [`table()`]: one row for each point and controller, with the mean ± standard deviation over
//!   its seeds.
//! * [`html()`]: a page with [figures](figure) that needs nothing but a browser.
//! * [`svg()`]: the same figures as a picture; [`svg_for_print`] and [`Fonts::pdf`]: for a paper.
//! * [`Embedded`]: the same figures for a page that is not a report.
//!
//! For programs:
//! * [`json()`]: every run with every flow, in base units.
//! * [`frame`]: tables, as CSV ([`csv()`]) and Apache Parquet (`parquet`, with the feature of that
//!   name).
//! * [`iperf3`]: one run or transfer as `iperf3 -J` prints it.
//! * [`trace`]: one run packet by packet, as pcapng and qlog.

mod column;
mod csv;
mod embedded;
pub mod figure;
pub mod figures;
mod fit;
pub mod frame;
mod html;
pub mod iperf3;
mod json;
pub mod measured;
#[cfg(not(feature = "parquet"))]
mod no_parquet;
pub mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod pdf;
mod quantity;
mod rows;
mod saved;
mod short_names;
mod stat;
pub mod style;
mod svg;
mod table;
mod thin;
pub mod trace;

pub use self::csv::csv;
#[cfg(feature = "parquet")]
pub use self::parquet::parquet;
pub use embedded::{Embedded, FIGURE_SCRIPT, PAGE_STYLE};
pub use fit::{fill, hanging};
pub use html::{GENERATOR, html};
pub use json::{confusion, json, parameters};
#[cfg(not(feature = "parquet"))]
pub use no_parquet::parquet;
pub use pdf::Fonts;
pub use rows::{Row, rows, rows_of};
pub use saved::figures_of_page;
pub use short_names::short_names;
pub use stat::{Interval, Stat, decimals};
pub use svg::{Print, svg, svg_for_print};
pub use table::{
    COLUMNS, cell, page_table, plain, plain_without, table, table_within, text_table,
    text_table_without, wrapped,
};

/// Whether this build can write Apache Parquet (feature `parquet`).
pub const PARQUET: bool = cfg!(feature = "parquet");
