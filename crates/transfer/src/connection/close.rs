//! Application error codes of closed connections, and what they say to the user.

use crate::error::Error;
use crate::wire;
use noq_proto::{ConnectionError, TransportErrorCode};

/// The transfer is complete.
pub const DONE: u32 = 0;
/// The peer violated the protocol.
pub const PROTOCOL: u32 = 1;
/// The token was wrong, or is not valid any more.
pub const TOKEN: u32 = 2;
/// The server is stopping.
pub const STOPPING: u32 = 3;
/// The client sent no request.
pub const IDLE: u32 = 4;

/// The error of what was done over a connection that ended.
pub(crate) fn lost(reason: ConnectionError) -> Error {
    Error::Lost(text(&reason))
}

/// Describes why a connection was lost. Text from a peer is stripped of control characters.
pub(crate) fn text(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::LocallyClosed => "it was closed locally".to_owned(),
        ConnectionError::TimedOut => "the peer is silent".to_owned(),
        ConnectionError::ApplicationClosed(closed) => {
            match u32::try_from(closed.error_code.into_inner()) {
                Ok(DONE) => "the peer closed it".to_owned(),
                Ok(STOPPING) => "the server was stopped".to_owned(),
                Ok(PROTOCOL) if closed.reason.is_empty() => {
                    "the peer closed it because of a violation of the protocol".to_owned()
                }
                _ => wire::Refusal::new(wire::Reason::Internal, closed.to_string()).text,
            }
        }
        // This end's own words, such as how TCP was lost.
        ConnectionError::TransportError(error)
            if error.code == TransportErrorCode::INTERNAL_ERROR && !error.reason.is_empty() =>
        {
            wire::Refusal::new(wire::Reason::Internal, error.reason.clone()).text
        }
        other => wire::Refusal::new(wire::Reason::Internal, other.to_string()).text,
    }
}

/// What the peer said when it closed the connection with this code, if it said anything.
pub(crate) fn words(reason: &ConnectionError, code: u32) -> Option<String> {
    match reason {
        ConnectionError::ApplicationClosed(closed)
            if is(reason, code) && !closed.reason.is_empty() =>
        {
            let text = String::from_utf8_lossy(&closed.reason).into_owned();
            Some(wire::Refusal::new(wire::Reason::Token, text).text)
        }
        _ => None,
    }
}

/// Whether the peer closed the connection with this code.
pub(crate) fn is(reason: &ConnectionError, code: u32) -> bool {
    let ConnectionError::ApplicationClosed(closed) = reason else {
        return false;
    };
    closed.error_code.into_inner() == u64::from(code)
}
