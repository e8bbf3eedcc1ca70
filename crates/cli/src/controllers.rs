//! `whimbrel controllers`: lists the algorithms.

use crate::failure::BadInput;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_cc::registry::{Code, Domain, Parameter};
use whimbrel_report::hanging;
use whimbrel_study::catalog::Catalog;

/// List the congestion control algorithms, or show one and its code
///
/// Shows the name of each algorithm, a summary, its citation, its parameters with default and
/// range, and the transports that carry it. Below them it lists the loss classifiers, which
/// distinguish random loss from congestion and can be combined with an algorithm.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel controllers                 all algorithms
  whimbrel controllers cerl            one algorithm and the files of its code
  whimbrel controllers cerl --code     its code
  whimbrel controllers cubic+cerl --code

Parameters follow a question mark, a loss classifier follows a plus sign:
  whimbrel compare --controllers cubic,cerl,cerl?A=0.6,cubic+cerl

--json prints a list of objects. `kind` is \"controller\" or \"discriminator\" (a
loss classifier). `carried_by` lists the transports of a controller: \"tcp\" and
\"aatp\" in the simulator, \"quic\" in `whimbrel send`, \"linux\" in `whimbrel tcp`.
`code` lists the files, with their `text` if --code is given.")]
pub struct ControllersArgs {
    /// A controller, a loss classifier, or a combination of both [default: all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print its code, each file with its path
    #[arg(long, requires = "name")]
    code: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the table, or one entry.
pub fn run(args: ControllersArgs) -> anyhow::Result<ExitCode> {
    let chosen = match &args.name {
        None => Catalog::all(),
        Some(name) => Catalog::of_name(name)
            .map_err(|error| BadInput::new(format!("{error}; see `whimbrel controllers`")))?,
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &chosen.json(args.code))?;
        writeln!(out)?;
    } else if args.code {
        code(&mut out, &chosen)?;
    } else {
        let one = args.name.as_deref();
        table(&mut out, &chosen, one)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints each file once, with its path.
fn code(out: &mut impl Write, chosen: &Catalog) -> io::Result<()> {
    let controllers = chosen.controllers.iter().flat_map(|e| e.code);
    let files = controllers.chain(chosen.classifiers.iter().flat_map(|e| e.code));
    let mut printed: Vec<&Code> = Vec::new();
    for file in files {
        if !printed.contains(&file) {
            writeln!(out, "// {}\n\n{}", file.path, file.text)?;
            printed.push(file);
        }
    }
    Ok(())
}

fn table(out: &mut impl Write, chosen: &Catalog, one: Option<&str>) -> io::Result<()> {
    let names = chosen.controllers.iter().map(|e| e.name);
    let names = names.chain(chosen.classifiers.iter().map(|e| e.name));
    let width = names.map(str::len).max().unwrap_or(0);
    let files = |code: &[Code]| {
        let paths: Vec<&str> = code.iter().map(|file| file.path).collect();
        one.map_or(String::new(), |_| format!("code: {}", paths.join(", ")))
    };
    for entry in &chosen.controllers {
        let carried = match entry.is_fed_bursts() {
            false => "",
            true => "in the simulator and over QUIC; not on TCP",
        };
        let lines = [entry.summary, entry.citation, carried, &files(entry.code)];
        show(out, width, entry.name, &lines, entry.parameters)?;
    }
    if one.is_none() {
        for paragraph in [
            "All run in the simulator and over QUIC (`whimbrel send`), and all but those that send \
             bursts on Linux TCP (`whimbrel tcp`).",
            "Loss classifiers. Combine one with any controller that has none of its own, as in \
             cubic+cerl:",
        ] {
            writeln!(out, "{}\n", hanging(paragraph, 0))?;
        }
    }
    for entry in &chosen.classifiers {
        let lines = [entry.summary, entry.citation, &files(entry.code)];
        show(out, width, entry.name, &lines, entry.parameters)?;
    }
    if let Some(name) = one {
        writeln!(
            out,
            "To read the code: whimbrel controllers '{name}' --code"
        )?;
    }
    Ok(())
}

/// Prints a name, its lines (without empty ones), and its parameters.
fn show(
    out: &mut impl Write,
    width: usize,
    name: &str,
    lines: &[&str],
    parameters: &[Parameter],
) -> io::Result<()> {
    let mut head = name;
    for line in lines.iter().filter(|line| !line.is_empty()) {
        writeln!(out, "{head:width$}  {}", hanging(line, width + 2))?;
        head = "";
    }
    for parameter in parameters {
        // Further lines begin behind the question mark.
        let line = hanging(&parameter_line(parameter), width + 3);
        writeln!(out, "{:width$}  ?{line}", "")?;
    }
    writeln!(out)
}

fn parameter_line(parameter: &Parameter) -> String {
    let Parameter {
        name,
        domain,
        meaning,
    } = parameter;
    let default = domain.default();
    match domain {
        Domain::Number { range, .. } => {
            let (minimum, maximum) = range;
            format!("{name}={default}  ({minimum} to {maximum})  {meaning}")
        }
        Domain::Switch(_) => format!("{name}={default}  (true or false)  {meaning}"),
        Domain::Text(_) => format!("{name}={default}  {meaning}"),
    }
}
