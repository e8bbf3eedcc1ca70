//! What holds unless a user chooses otherwise.

/// The default UDP and TCP port of a server.
pub const DEFAULT_PORT: u16 = 4440;

/// The congestion controller of transfers for which none is chosen. docs/send-files.md says why.
pub const DEFAULT_CONTROLLER: &str = "whimbrel";

/// [`DEFAULT_CONTROLLER`], parsed.
pub fn default_controller() -> whimbrel_cc::Spec {
    DEFAULT_CONTROLLER
        .parse()
        .expect("the registry has the default")
}
