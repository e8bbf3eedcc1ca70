//! `whimbrel controllers`: lists the algorithms.

use crate::failure::BadInput;
use crate::print;
use std::process::ExitCode;
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

--json prints a list of objects. `kind` is \"controller\", \"discriminator\" (a loss
classifier) or \"layer\". `carried_by` lists the transports of a controller: \"tcp\"
and \"aatp\" in the simulator, \"quic\" in `whimbrel send`, \"linux\" in `whimbrel
tcp`. `code` lists the files, with their `text` if --code is given.")]
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
    let text = || match args.code {
        true => chosen.code_text(),
        false => chosen.text(args.name.as_deref()),
    };
    print::result(args.json, || chosen.json(args.code), text)
}
