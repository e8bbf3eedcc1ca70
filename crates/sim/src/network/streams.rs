//! Streams and messages of a connection.

use whimbrel_units::{Bytes, Duration};

/// The streams of a connection. Data of one stream is delivered in order; streams do not delay each
/// other (RFC 9260 section 6.6; RFC 9000 section 2.2). The default is TCP's: one stream of bulk
/// data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streams {
    /// Number of streams, 1 to 65,535 (a greater number counts as 65,535). A connection over
    /// several routes has exactly one.
    pub count: u32,
    /// The streams that have data take turns, one segment each (RFC 8260 section 3.3). Otherwise
    /// whole messages are sent in the order in which they arrived (RFC 8260 section 3.1).
    pub interleave: bool,
    /// Messages that arrive one by one. `None`: bulk data, all available at the start, in equal
    /// parts on all streams.
    pub messages: Option<Messages>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            count: 1,
            interleave: true,
            messages: None,
        }
    }
}

/// Messages that an application hands to an established connection. The first one comes at once;
/// the streams receive them in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Messages {
    /// Size of the smallest message, at least one byte.
    pub min_size: Bytes,
    /// Size of the largest message. Sizes are drawn uniformly from `min_size` to `max_size`.
    pub max_size: Bytes,
    /// Time from one message to the next; the mean of it if `exponential`.
    pub every: Duration,
    /// These times are drawn from an exponential distribution: messages arrive as a Poisson
    /// process.
    pub exponential: bool,
    /// Total number of messages; `None`: they arrive until the flow stops.
    pub count: Option<u32>,
}
