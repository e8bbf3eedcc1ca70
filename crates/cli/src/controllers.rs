//! `whimbrel controllers`: which algorithms there are.

use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_cc::registry::{self, Entry, Parameter};

/// List the congestion control algorithms
///
/// For each its name, what it is, where it comes from, and what can be set, with default and range.
#[derive(clap::Args)]
#[command(after_help = "\
Set parameters wherever a controller is named:
  whimbrel compare --controllers cubic,cerl,cerl?A=0.6")]
pub struct ControllersArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the table.
pub fn run(args: ControllersArgs) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.json {
        let all: Vec<Value> = registry::ALL
            .iter()
            .map(|entry| entry_json(entry))
            .collect();
        serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = registry::ALL
        .iter()
        .map(|e| e.name.len())
        .max()
        .unwrap_or(0);
    for entry in registry::ALL {
        writeln!(out, "{:width$}  {}", entry.name, entry.summary)?;
        writeln!(out, "{:width$}  {}", "", entry.citation)?;
        for parameter in entry.parameters {
            writeln!(out, "{:width$}  ?{}", "", parameter_line(parameter))?;
        }
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn parameter_line(parameter: &Parameter) -> String {
    let Parameter {
        name,
        default,
        meaning,
        ..
    } = parameter;
    match default {
        registry::Value::Number(_) => {
            let (least, greatest) = parameter.range;
            format!("{name}={default}  ({least} to {greatest})  {meaning}")
        }
        registry::Value::Switch(_) => format!("{name}={default}  (true or false)  {meaning}"),
    }
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "citation": entry.citation,
        "parameters": entry.parameters.iter().map(parameter_json).collect::<Vec<_>>(),
    })
}

fn parameter_json(parameter: &Parameter) -> Value {
    let (default, range) = match parameter.default {
        registry::Value::Number(n) => (json!(n), json!([parameter.range.0, parameter.range.1])),
        registry::Value::Switch(on) => (json!(on), Value::Null),
    };
    json!({ "name": parameter.name, "default": default, "range": range, "meaning": parameter.meaning })
}
