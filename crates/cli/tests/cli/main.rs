//! The `whimbrel` command end to end: real processes, their output and exit status.

mod adding_an_experiment;
mod beside;
mod compare;
mod controllers;
mod demo;
mod errors;
mod formats;
mod judge;
mod kills;
mod link;
mod model;
mod nack;
mod outputs;
mod over_tcp;
mod package;
mod page;
mod rank;
mod reproduce;
mod results;
mod serve;
mod shell;
mod sim;
mod support;
mod tcp;
mod terminal;
mod trace;
