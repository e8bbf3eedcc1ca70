//! How much `send` and `get` show while they run.

pub use whimbrel_watch::file_transfer::Show;
use whimbrel_watch::file_transfer::Verbosity;

/// How much is shown.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ShowArgs {
    /// Print the name of each file that is transferred or removed
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// Show neither progress nor result, but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl From<ShowArgs> for Verbosity {
    fn from(args: ShowArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::EachFile,
            (false, false) => Self::Progress,
        }
    }
}
