#![doc = include_str!("../README.md")]
//!
//! * [`Factory`] builds an [`Adapter`] for every path of every connection.
//! * [`Adapter`] turns quinn's calls into those of [`whimbrel_cc::Controller`], by the rules of RFC
//!   9002.

mod adapter;
mod factory;

pub use adapter::Adapter;
pub use factory::{Factory, UnsupportedController};
