//! `--trace` of `sim` and `compare`: one run packet by packet, in files for other programs.

use clap::ValueEnum;
use whimbrel_report::trace::Vantage;
use whimbrel_study::trace_file::TraceFile;

/// Which traces to write.
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Write one run packet by packet, with the true cause of each loss; may be repeated
    ///
    /// The extension chooses the format: .pcapng (for Wireshark), .sqlog (qlog) or .qlog (qlog 0.3,
    /// for qvis). The scenario must have one combination; its first seed is traced.
    #[arg(long = "trace", value_name = "FILE", value_parser = str::parse::<TraceFile>)]
    pub files: Vec<TraceFile>,
    /// The end of the flows at which the trace is taken
    #[arg(
        long = "trace-at",
        value_enum,
        default_value = "sender",
        requires = "files"
    )]
    pub at: At,
}

/// The end of the flows at which a trace is taken.
#[derive(Clone, Copy, ValueEnum)]
pub enum At {
    /// Data when it is sent, acknowledgments when they arrive
    Sender,
    /// Data when it arrives, acknowledgments when they are sent
    Receiver,
}

impl From<At> for Vantage {
    fn from(at: At) -> Self {
        match at {
            At::Sender => Self::Sender,
            At::Receiver => Self::Receiver,
        }
    }
}
