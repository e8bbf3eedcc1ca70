//! What is made anew for each connection: its configuration and its feedback.

use crate::feedback::Feedback;
use noq_proto::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// The configuration of one connection, and the feedback that belongs to its congestion controller.
///
/// A configuration alone, converted with `into()`, has no feedback.
pub struct Prepared<C> {
    /// noq's configuration, with the congestion controller factory of this connection.
    pub config: C,
    /// The feedback that the controller shares.
    pub(crate) feedback: Feedback,
}

impl<C> Prepared<C> {
    /// A configuration whose controller shares `feedback`.
    #[allow(dead_code, reason = "for controllers that need feedback")]
    pub(crate) fn new(config: C, feedback: Feedback) -> Self {
        Self { config, feedback }
    }
}

impl<C: fmt::Debug> fmt::Debug for Prepared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl From<ClientConfig> for Prepared<ClientConfig> {
    fn from(config: ClientConfig) -> Self {
        Self {
            config,
            feedback: Feedback::default(),
        }
    }
}

impl From<Arc<ServerConfig>> for Prepared<Arc<ServerConfig>> {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self {
            config,
            feedback: Feedback::default(),
        }
    }
}
