//! `whimbrel tcp status`: a live table of the connections of all instances.

use crate::stop::stopped_by_signals;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use whimbrel_linux::status::instances;
use whimbrel_study::tcp::status;
use whimbrel_watch::connections;

/// Time between tables.
const REFRESH: Duration = Duration::from_secs(1);

/// Show the connections of all running instances
///
/// On a terminal the table is drawn again every second, until Ctrl-C. It shows the instances of
/// your user in this network namespace; root sees those of all users.
#[derive(clap::Args)]
#[command(after_help = "\
Columns: the local port and the remote address; the congestion window, the
pacing rate, the RTT and the delivery rate; segments lost; the algorithm's
phase; c/r: how many losses it took for congestion, and how many for random.

--json prints one object: {instances: [{pid, controller, connections: [...]}]}.
The fields of a connection are those of `whimbrel tcp --json`.

Examples:
  whimbrel tcp status
  whimbrel tcp status --watch
  whimbrel tcp status --once
  whimbrel tcp status --json | jq '.instances[].connections[].cwnd_bytes'")]
pub struct StatusArgs {
    /// Print one table and exit; the default if standard output is not a terminal
    #[arg(long)]
    once: bool,
    /// Show a live view on the terminal: rate, queueing delay and losses over time, and the table
    #[arg(long, conflicts_with_all = ["once", "json"])]
    watch: bool,
    /// Print one JSON object and exit
    #[arg(long)]
    json: bool,
}

/// Shows the connections of all instances.
pub fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    if args.watch {
        connections::show(&*stopped_by_signals()?, REFRESH, NO_INSTANCE)?;
        return Ok(ExitCode::SUCCESS);
    }
    let out = io::stdout();
    if args.json {
        let found = instances()?;
        let all = json!({ "instances": found.snapshots, "refused": found.refused });
        writeln!(out.lock(), "{all:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.once || !out.is_terminal() {
        let found = instances()?;
        out.lock().write_all(status(&found, None).as_bytes())?;
        if found.snapshots.is_empty() {
            anyhow::bail!(NO_INSTANCE);
        }
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let found = instances()?;
        let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
        let mut text = status(&found, height);
        if found.snapshots.is_empty() {
            text += &format!("{NO_INSTANCE}\n");
        }
        // From the top left corner over the old text; what is left of it is erased.
        let lines = text.replace('\n', "\x1b[K\n");
        let mut out = out.lock();
        write!(out, "\x1b[H{lines}\x1b[J")?;
        out.flush()?;
        drop(out);
        std::thread::sleep(REFRESH);
    }
}

const NO_INSTANCE: &str = "no `whimbrel tcp` of this user runs in this network namespace (root \
                           sees those of all users)";
