//! `whimbrel controllers`: which algorithms there are.

use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_cc::registry::{self, DiscriminatorEntry, Entry, Feed, Parameter};

/// List the congestion control algorithms
///
/// For each its name, what it is, where it comes from, what can be set, with default and range, and which transports carry
/// it. Below them what tells random loss from congestion and can be put on them.
#[derive(clap::Args)]
#[command(after_help = "\
Set parameters wherever a controller is named, and put a discriminator on a law with a plus:
  whimbrel compare --controllers cubic,cerl,cerl?A=0.6,cubic+cerl

--json prints a list of objects; `kind` is \"controller\" or \"discriminator\". Of a controller `carried_by` lists
the transports: \"tcp\" and \"aatp\" are the simulator's, \"quic\" that of `whimbrel send`.")]
pub struct ControllersArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the table.
pub fn run(args: ControllersArgs) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.json {
        let controllers = registry::ALL.iter().map(|entry| entry_json(entry));
        let discriminators = registry::DISCRIMINATORS.iter();
        let all: Vec<Value> = controllers
            .chain(discriminators.map(|entry| discriminator_json(entry)))
            .collect();
        serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = registry::ALL.iter().map(|e| e.name);
    let names = names.chain(registry::DISCRIMINATORS.iter().map(|e| e.name));
    let width = names.map(str::len).max().unwrap_or(0);
    for entry in registry::ALL {
        let carried = match entry.feed {
            Feed::Acknowledgments => "",
            Feed::Bursts => "carried by AATP, in the simulator only",
        };
        let lines = [entry.summary, entry.citation, carried];
        show(&mut out, width, entry.name, &lines, entry.parameters)?;
    }
    writeln!(
        out,
        "Discriminators, put on any law that has none of its own with a plus, as in cubic+cerl:\n"
    )?;
    for entry in registry::DISCRIMINATORS {
        let lines = [entry.summary, entry.citation];
        show(&mut out, width, entry.name, &lines, entry.parameters)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A name, lines about it as far as they say something, and what can be set.
fn show(
    out: &mut impl Write,
    width: usize,
    name: &str,
    lines: &[&str],
    parameters: &[Parameter],
) -> io::Result<()> {
    let mut head = name;
    for line in lines.iter().filter(|line| !line.is_empty()) {
        writeln!(out, "{head:width$}  {line}")?;
        head = "";
    }
    for parameter in parameters {
        writeln!(out, "{:width$}  ?{}", "", parameter_line(parameter))?;
    }
    writeln!(out)
}

/// A controller as people choose it for a real transfer.
///
/// # Errors
/// If there is none such, or QUIC cannot carry it.
pub fn for_transfers(text: &str) -> Result<Spec, String> {
    let spec: Spec = text.parse().map_err(|error| format!("{error}"))?;
    match spec.entry().feed {
        Feed::Acknowledgments => Ok(spec),
        Feed::Bursts => Err(format!(
            "`{spec}` is carried by AATP, which exists in the simulator; real transfers are carried by QUIC: choose one of \
             the others that `whimbrel controllers` lists, such as `cubic`"
        )),
    }
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
        registry::Value::Text(_) => format!("{name}={default}  {meaning}"),
    }
}

fn entry_json(entry: &Entry) -> Value {
    let carried_by = match entry.feed {
        Feed::Acknowledgments => json!(["tcp", "quic"]),
        Feed::Bursts => json!(["aatp"]),
    };
    json!({
        "name": entry.name,
        "kind": "controller",
        "summary": entry.summary,
        "citation": entry.citation,
        "carried_by": carried_by,
        "parameters": parameters_json(entry.parameters),
    })
}

fn discriminator_json(entry: &DiscriminatorEntry) -> Value {
    json!({
        "name": entry.name,
        "kind": "discriminator",
        "summary": entry.summary,
        "citation": entry.citation,
        "parameters": parameters_json(entry.parameters),
    })
}

fn parameters_json(parameters: &[Parameter]) -> Vec<Value> {
    parameters.iter().map(parameter_json).collect()
}

fn parameter_json(parameter: &Parameter) -> Value {
    let (default, range) = match &parameter.default {
        registry::Value::Number(n) => (json!(n), json!([parameter.range.0, parameter.range.1])),
        registry::Value::Switch(on) => (json!(on), Value::Null),
        registry::Value::Text(text) => (json!(text.as_str()), Value::Null),
    };
    json!({ "name": parameter.name, "default": default, "range": range, "meaning": parameter.meaning })
}
