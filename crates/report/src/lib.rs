//! Results as tables, JSON and pictures.
//!
//! * [`table()`]: for people; one row per point (and controller), mean ± standard deviation over its seeds.
//! * [`json()`]: for programs; every run with every flow, in base units.
//! * [`picture()`]: SVG; windows, goodput and queue over time of runs that were sampled.
//! * [`race()`]: SVG; data delivered over time, measured and predicted.

mod json;
mod legend;
mod picture;
mod race;
mod rows;
mod stat;
mod table;

pub use json::json;
pub use picture::{Curve, Curves, PictureError, curves, picture};
pub use race::{Line, Race, race};
pub use rows::{Row, rows};
pub use stat::Stat;
pub use table::{COLUMNS, plain, table};
