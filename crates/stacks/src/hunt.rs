//! `whimbrel-stacks hunt`: the path on which a sender does worst beside others.

use anyhow::{Context, Result};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use whimbrel_stacks::catalog::Sender;
use whimbrel_stacks::runner::StackRunner;
use whimbrel_study::Unobserved;
use whimbrel_study::hunt::{self, Request, Target, text};

/// Search for the path on which a sender does worst, beside the best of others
///
/// The search is that of `whimbrel hunt`, which explains it: paths of many families, guided by the
/// results; what is found is confirmed with fresh seeds and made as simple as possible.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel-stacks hunt quinn:bbr --against noq:cubic,sim:bbr
  whimbrel-stacks hunt quiche:cubic --families jitter --evaluations 200")]
pub struct HuntArgs {
    /// The sender: a stack and one of its controllers
    #[arg(value_name = "SENDER", value_parser = one_sender)]
    sender: Sender,
    /// The senders of which the best is the measure
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SENDERS",
        default_value = "sim:cubic,sim:bbr",
        value_parser = one_sender
    )]
    against: Vec<Sender>,
    /// Only these families of paths; `whimbrel hunt --list` has them
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    families: Vec<String>,
    /// Number of paths to try
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    evaluations: u32,
    /// Decides which paths are tried
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Runs of each path in the search
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Runs of each path that is confirmed, with fresh seeds
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    fresh: u32,
    /// Save what is found: a folder of points for `--matrix`, or FILE.toml for the worst
    #[arg(long, value_name = "DIR|FILE.toml")]
    save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Number of threads [default: one for each core]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

fn one_sender(name: &str) -> Result<Sender, String> {
    let found = Sender::all_of(name).map_err(|error| error.to_string())?;
    match <[Sender; 1]>::try_from(found) {
        Ok([sender]) => Ok(sender),
        Err(_) => Err(format!("name one controller, as in `{name}:cubic`")),
    }
}

impl HuntArgs {
    /// Searches, and prints what was found.
    ///
    /// # Errors
    /// If the arguments are wrong, or what is found cannot be saved.
    pub fn run(&self) -> Result<()> {
        if let Some(path) = &self.save {
            hunt::check_save(path)?;
        }
        let others = self.against.iter().filter(|other| **other != self.sender);
        let against: Vec<String> = others.map(Sender::to_string).collect();
        anyhow::ensure!(
            !against.is_empty(),
            "--against: name another sender than `{}`",
            self.sender
        );
        let request = Request {
            families: self.families.clone(),
            evaluations: self.evaluations,
            seed: self.seed,
            seeds: self.seeds,
            fresh: self.fresh,
            threads: self.threads,
            runner: Some(Arc::new(StackRunner)),
            ..Request::new(Target::Algorithm {
                name: self.sender.to_string(),
                against,
            })
        };
        let found = hunt::hunt(&request, &Unobserved)?;
        if let Some(path) = &self.save {
            hunt::save(path, &found.finds)?;
        }
        if self.json {
            let text = serde_json::to_string_pretty(&found.json());
            println!("{}", text.context("cannot write JSON")?);
        } else {
            print!("{}", text::text(&found, self.save.as_deref()));
        }
        Ok(())
    }
}
