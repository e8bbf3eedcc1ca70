//! Quantities as types, and how they are written.
//!
//! | type | what it holds | written |
//! |---|---|---|
//! | [`Time`] | an instant, nanoseconds since the clock's origin | `4.5 s` |
//! | [`Duration`] | a span, nanoseconds | `50 ms` |
//! | [`Bytes`] | an amount of data | `64 MiB`, `1 GB`, `1460 B` |
//! | [`Rate`] | bits per second | `8 Mbit/s` |
//! | [`Probability`] | a probability or fraction from 0 to 1 | `1 %`, `0.01` |
//! | [`Distance`] | metres | `150 m`, `92 km` |
//! | [`Frequency`] | hertz | `2.437 GHz`, `10 MHz` |
//! | [`Power`] | dBm | `20 dBm` |
//! | [`Decibels`] | a ratio of powers | `4 dB`, `17 dBi` |
//!
//! The first four are integers, so that a simulation gives the same bits on every machine. Prefixes
//! follow SI (`k` = 1000) and IEC (`Ki` = 1024).

mod bytes;
mod parse;
mod probability;
mod radio;
mod rate;
mod rounding;
mod time;

pub use bytes::Bytes;
pub use parse::{ParseError, nearest, nearest_few};
pub use probability::Probability;
pub use radio::{Decibels, Distance, Frequency, Power};
pub use rate::Rate;
pub use time::{Duration, Time};
