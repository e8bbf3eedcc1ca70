//! What a transfer reports while it runs, and how it ended.

use super::paths::PathSummary;
use crate::connection::over_tcp::TcpControl;
use serde::Serialize;
use whimbrel_units::Duration as Span;

/// Progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes of the file that the server has acknowledged. Approximate: QUIC's overhead is
    /// included.
    pub bytes: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Of several files, those that need no transfer any more.
    pub files: u64,
    /// The number of files; 0 if there is one only, or it is not known yet.
    pub all_files: u64,
}

/// News of a transfer, to be shown to the user.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// Data flows. Called ten times per second.
    Progress(Progress),
    /// What was done on each of several paths so far. Called once per second.
    Paths(Vec<PathSummary>),
    /// This file of several was transferred.
    Stored(String),
    /// This file or directory, which the source does not have, was removed.
    Removed(String),
    /// The server is busy; the request waits at this position, 1 is the next.
    Queued(u32),
    /// The transfer runs over TLS and TCP, under this congestion control.
    OverTcp(TcpControl),
    /// Several interfaces were wanted, and the server agrees to one path only.
    OnePath,
    /// The server has not answered over this one of several interfaces for five seconds. The
    /// others carry the transfer, and the path opens when an answer arrives.
    NoAnswer(String),
    /// The transfer was interrupted and goes on after this time.
    Interrupted {
        /// Why.
        reason: String,
        /// The time until the next attempt.
        wait: Span,
    },
}

/// What is known of the file on the server when a transfer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is on disk under its name.
    #[serde(rename = "stored")]
    Stored,
    /// It is not.
    #[serde(rename = "not stored")]
    NotStored,
    /// The connection was lost around the server's answer, or the server's disk failed.
    #[serde(rename = "unknown")]
    Unknown,
}
