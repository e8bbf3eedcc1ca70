//! How a client reaches its server: `--transport`, `--via`, `--require-pq`, `--no-resume-rate`.

pub use whimbrel_study::real::over_tcp as algorithm;
use whimbrel_transfer::{AcceptedGroups, ClientOptions, KnownPaths, TransportChoice, Via};

/// The transport and its keys.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TransportArgs {
    /// auto: QUIC over UDP, and if the server does not answer within a second, also TLS over TCP,
    /// at the same port; or only one of them: quic, tls
    #[arg(
        long,
        value_name = "auto|quic|tls",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Server"
    )]
    transport: TransportChoice,
    /// Use this network interface, or the one with this address; repeat it to use several at once,
    /// or write `all` for all that have a route to the server. TCP uses the first
    #[arg(long, value_name = "INTERFACE|ADDRESS|all", help_heading = "Server")]
    via: Vec<Via>,
    /// Accept only a post-quantum key exchange (X25519MLKEM768), so that a quantum computer cannot
    /// decrypt a record of the connection later. By default it is preferred
    #[arg(long, help_heading = "Server")]
    require_pq: bool,
    /// Start as if nothing was known of the path. By default a transfer starts at a rate that the
    /// path to this server carried within the last day, carefully (RFC 9959)
    #[arg(long, help_heading = "Server")]
    no_resume_rate: bool,
}

impl TransportArgs {
    /// What is `known` of paths, unless it is not to be used.
    pub fn known_paths(&self, known: &Option<KnownPaths>) -> Option<KnownPaths> {
        known.clone().filter(|_| !self.no_resume_rate)
    }

    /// One of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (self.transport != TransportChoice::Auto, "--transport"),
            (!self.via.is_empty(), "--via"),
            (self.require_pq, "--require-pq"),
            (self.no_resume_rate, "--no-resume-rate"),
        ];
        all.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }

    /// Sets what these options say.
    pub fn apply(&self, options: &mut ClientOptions) {
        options.transport = self.transport;
        options.via.clone_from(&self.via);
        options.groups = groups(self.require_pq);
    }
}

/// The key exchanges that are accepted, with or without `--require-pq`.
pub fn groups(post_quantum: bool) -> AcceptedGroups {
    match post_quantum {
        true => AcceptedGroups::PostQuantum,
        false => AcceptedGroups::Any,
    }
}
