//! `whimbrel sim`: runs a scenario file.

use crate::failure::BadInput;
use crate::print;
use crate::run_scenario::{OutputArgs, run_scenario};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Scenario, Setting};
use whimbrel_study::page::Subject;
use whimbrel_study::presentation::EveryRun;
use whimbrel_study::presets;
pub use whimbrel_study::runs::seeds_setting;

/// Simulate a scenario file
///
/// Runs every combination of the file's sweep with every seed, on all cores. Prints a row for each
/// combination, with the mean and standard deviation over the seeds.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\nColumns:\n{}", whimbrel_report::COLUMNS))]
pub struct SimArgs {
    /// The scenario file, `-` for stdin
    #[arg(value_name = "SCENARIO.toml", required_unless_present = "list_presets")]
    scenario: Option<PathBuf>,
    /// List the presets for `preset` in [run]: what each sets, and the source of each value
    #[arg(long, conflicts_with = "scenario")]
    list_presets: bool,
    /// Number of runs of each combination, with seeds 1 to N; overrides the file
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Override a value of the file and remove its key from the sweep; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
A scenario file:
  [link.L]
  rate  = \"8 Mbit/s\"         # or { trace = \"file\" } in mahimahi's format
  delay = \"50 ms\"            # or steps: [[\"0 s\", \"25 ms\"], [\"5 s\", \"300 ms\"]]
  queue = \"1 bdp\"            # or \"50 packets\", \"64 kB\"; default: unlimited
  loss  = \"1 %\"              # in the direction of the data

  [[flow]]
  count = 10
  controller = \"cerl\"
  route = [\"L\"]              # \"NAME*\": a separate copy for each flow
  start = \"0 s .. 5 s\"       # uniformly distributed

  [run]
  duration = \"100 s\"
  seeds = 10
  preset = \"ns-2.35\"         # a simulator's settings; see --list-presets

  [sweep]                    # all combinations
  \"link.L.loss\" = [\"0 %\", \"1 %\", \"5 %\"]
  \"flow.controller\" = [\"newreno\", \"cubic\", \"cerl\"]

Examples:
  whimbrel sim path.toml
  whimbrel sim path.toml --set link.L.loss='2 %' --set run.recovery=newreno \\
      --seeds 3
  whimbrel sim path.toml --set link.L.loss='2 %' --set flow.controller=cerl \\
      --trace run.pcapng
  whimbrel compare --print-scenario | whimbrel sim - --json";

/// Runs the file.
pub fn run(args: SimArgs) -> anyhow::Result<ExitCode> {
    let Some(scenario) = args.scenario.filter(|_| !args.list_presets) else {
        return print::text(presets::list()?);
    };
    let (text, path) = read(&scenario)?;
    let mut settings = args.settings;
    if let Some(seeds) = args.seeds {
        settings.push(seeds_setting(seeds));
    }
    let scenario = Scenario::from_document(Document::parse(&text, &path)?, &settings)?;
    let title = path
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned());
    let subject = Subject {
        title: &title.unwrap_or_default(),
        path: &path,
        text: &text,
        tested: None,
    };
    run_scenario(&scenario, &subject, with_set, &args.output, &EveryRun)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the value of `--set`.
///
/// # Errors
/// If it is not `KEY=VALUE`.
pub fn setting(text: &str) -> Result<Setting, String> {
    let setting: Setting = text.parse()?;
    Ok(Setting {
        source: "--set",
        ..setting
    })
}

/// The flag that selects a value of a swept key.
fn with_set(key: &str, value: &str) -> String {
    format!("--set {key}='{value}'")
}

/// Reads a scenario file, or stdin for `-`. Returns its text, and its path for error messages.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> anyhow::Result<(String, PathBuf)> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| {
                BadInput::new(format!("cannot read the scenario from stdin: {error}"))
            })?;
        return Ok((text, PathBuf::from("<stdin>")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        BadInput::new(format!(
            "cannot read {}: {error}; `whimbrel sim --help` shows an example of a scenario",
            path.display()
        ))
    })?;
    Ok((text, path.to_owned()))
}
