//! The table of algorithms, loss classifiers and layers, and how people choose one by name.
//!
//! * `added`: algorithms that a program adds, and the list of all.
//! * `entry`: what an algorithm declares about itself. Algorithms import nothing else from here.
//! * `table`: [`CONTROLLERS`], [`CLASSIFIERS`] and [`LAYERS`]. Only `spec`, `added` and this file
//!   import it.
//! * `spec`: [`Spec`], a choice such as `cubic?C=0.6+cerl?A=0.7`, and its parser.
//! * `code`: the source text of an algorithm.

mod added;
pub(crate) mod code;
pub(crate) mod entry;
mod spec;
mod table;

pub use added::{AddError, add, controllers, replace};
pub use entry::{
    ChosenController, ClassifierEntry, Code, Domain, DrivenBy, Entry, Family, Feed, Growth,
    LayerEntry, Look, Parameter, ParseController, SavedPath, Setup, Text, TimeOfDay, Value, Values,
};
#[cfg(test)]
pub(crate) use spec::parse_controller;
pub use spec::{Maker, Spec, SpecError, named};
pub use table::{CLASSIFIERS, CONTROLLERS, LAYERS};
