//! What a client does: it sends files, gets, lists and removes them, carries pipes, and measures
//! the path.
//!
//! | part | content |
//! |---|---|
//! | `address`, `via` | a server as the user names it, and the network interfaces |
//! | `options`, `update` | what requests share, and what they report |
//! | `connect` | a connection to a server that has proved its identity |
//! | `acquaintance` | the fingerprint of a server that is not known yet |
//! | `session` | a connection on which the client is authenticated |
//! | `attempts`, `retry` | a transfer over as many connections as it takes |
//! | `upload`, `download`, `listing` | files |
//! | `pipe` | pipes |
//! | `measure`, `probe` | throughput, and what a path is like |
//! | `filter`, `mirror`, `news` | which files, what is removed, and what is reported of them |
//! | `summary`, `paths`, `interval_statistics` | how a transfer went |

mod acquaintance;
mod address;
mod attempts;
mod connect;
mod download;
mod filter;
mod interval_statistics;
mod listing;
mod measure;
mod mirror;
mod news;
mod options;
mod paths;
mod pipe;
mod probe;
mod retry;
mod session;
mod summary;
mod update;
mod upload;
mod via;

pub use acquaintance::fingerprint_of;
pub use address::ServerAddress;
pub(crate) use connect::{Connected, Dial};
pub use download::{GetOptions, GetReport, Wanted, get};
pub use filter::Filter;
pub use listing::{ListOptions, Listing, RemoveOptions, list, remove};
pub use measure::{Direction, MeasureOptions, MeasureReport, measure};
pub use mirror::DeleteOptions;
pub use options::{ClientOptions, Measurement};
pub use paths::PathSummary;
pub use pipe::PipeClient;
pub use probe::{PROBE_SAMPLING, ProbeReport, ProbeSample, ProbeStage, probe};
pub use retry::Retry;
#[cfg(test)]
pub(crate) use session::ClientSession;
pub use summary::{BurstSummary, IntervalSample, PathUse, Summary, TracePoint, VerdictCounts};
pub use update::{Outcome, Progress, Update};
pub use upload::{
    Report, SendOptions, SendSource, StreamReader, TreeOptions, TreeReport, send, send_tree,
    transfer,
};
pub use via::Via;
