//! Results as tables, JSON and pictures.
//!
//! * [`table()`]: for people; one row per point (and controller), mean ± standard deviation over its seeds.
//! * [`json()`]: for programs; every run with every flow, in base units.
//! * [`picture()`]: SVG; windows, goodput and queue over time of runs that were sampled, and how a node's flows shared it.
//! * [`heat_maps()`]: SVG; a share over up to four axes, as small multiples.
//! * [`race()`]: SVG; data delivered over time, measured and predicted.
//! * [`frame`]: tables for other tools, as [`csv()`] and [`parquet()`].
//! * [`iperf3`]: one run, or one transfer, in the names of iperf3's JSON.
//! * [`html()`]: one page with [figures](figure) of all kinds, for people who want to look closer.
//! * [`trace`]: pcapng and qlog; one run packet by packet, for other people's tools.
//! * [`response()`]: SVG; what flows get over how much is lost, predicted and measured.

mod csv;
mod curves;
pub mod figure;
pub mod figures;
pub mod frame;
mod heat;
mod html;
pub mod iperf3;
mod json;
mod legend;
mod mark;
#[cfg(not(feature = "parquet"))]
mod no_parquet;
pub mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod picture;
mod quantity;
mod race;
mod response;
mod rows;
mod series;
mod stat;
pub mod style;
mod table;
pub mod trace;

pub use self::csv::csv;
#[cfg(feature = "parquet")]
pub use self::parquet::parquet;
pub use curves::{Curve, Curves, Shares, curves};
pub use figures::figures;
pub use heat::{HeatAxis, HeatMap, heat_maps};
pub use html::html;
pub use json::{confusion, json, parameters};
#[cfg(not(feature = "parquet"))]
pub use no_parquet::parquet;
pub use picture::{PictureError, picture};
pub use race::{Line, Race, race};
pub use response::{Response, ResponseLine, response};
pub use rows::{Row, rows};
pub use stat::{Interval, Stat, decimals};
pub use table::{COLUMNS, page_table, plain, short_names, table, wrapped};

/// Whether this build can write Apache Parquet (feature `parquet`).
pub const PARQUET: bool = cfg!(feature = "parquet");
