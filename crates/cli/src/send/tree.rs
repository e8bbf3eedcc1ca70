//! `whimbrel send` with directories or several files.

use crate::credentials::Credentials;
use crate::show::{self, Show, ShowArgs};
use crate::stop::ctrl_c;
use std::process::ExitCode;
use whimbrel_transfer::{TreeOptions, send_tree};

/// Sends the files and shows the result.
pub fn run(
    tree: TreeOptions,
    (as_json, shown): (bool, ShowArgs),
    credentials: &Credentials,
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<ExitCode> {
    let dry_run = tree.dry_run;
    let mut showing = Show::new(shown, as_json);
    let work = send_tree(tree, |update| showing.update(update), ctrl_c());
    let report = runtime.block_on(work);
    showing.end();
    if report.error.is_none() {
        credentials.accepted();
    }
    if let Some(error) = &report.error {
        credentials.report(error);
    }
    show::tree(&report, dry_run, (as_json, shown))
}
