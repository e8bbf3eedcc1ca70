//! How a client reaches its server: `--transport`, `--require-pq`, and our algorithms on the
//! kernel's TCP.

use std::sync::Mutex;
use std::sync::PoisonError;
use whimbrel_cc::Spec;
use whimbrel_linux::{Agent, Datapath, LinuxError, Options};
use whimbrel_transfer::{AcceptedGroups, ClientOptions, TcpAlgorithm, TcpControl, TransportChoice};

/// The transport and its keys.
#[derive(Debug, Clone, clap::Args)]
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
    /// Accept only a post-quantum key exchange (X25519MLKEM768), so that a quantum computer cannot
    /// decrypt a record of the connection later. By default it is preferred
    #[arg(long, help_heading = "Server")]
    require_pq: bool,
}

impl TransportArgs {
    /// Sets what these options say.
    pub fn apply(&self, options: &mut ClientOptions) {
        options.transport = self.transport;
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

/// Registers `spec` with the kernel when the first TCP connection needs it. The algorithm runs as
/// long as the result or a clone of it exists.
pub fn algorithm(spec: &Spec) -> TcpAlgorithm {
    let (spec, running) = (spec.clone(), Mutex::new(None));
    TcpAlgorithm::new(move || {
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let started = running.get_or_insert_with(|| start(&spec));
        let named = |(_, name): &(Agent, String)| (name.clone(), spec.to_string());
        started.as_ref().map(named).map_err(String::clone)
    })
}

fn start(spec: &Spec) -> Result<(Agent, String), String> {
    if spec.entry().is_fed_bursts() {
        return Err(format!("{spec} cannot run on TCP"));
    }
    let options = Options::new(spec.clone());
    let started = Datapath::load(&options).and_then(|datapath| {
        let name = datapath.name().to_owned();
        Ok((Agent::start(datapath, options)?, name))
    });
    started.map_err(|error| match error {
        LinuxError::System(_) if !nix::unistd::geteuid().is_root() => {
            format!("{spec} needs root on TCP")
        }
        error => format!("{spec}: {error}"),
    })
}

/// What the user should know about a connection over TCP.
pub fn notice(control: &TcpControl) -> String {
    let why = control.why.as_ref();
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    format!("over TLS on TCP instead of UDP, under {control}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_one_line_that_names_algorithm_and_reason() {
        let control = TcpControl {
            algorithm: "the kernel's cubic".to_owned(),
            why: Some("cerl needs root on TCP".to_owned()),
        };
        let expected = "over TLS on TCP instead of UDP, under the kernel's cubic (cerl needs root \
                        on TCP)";
        assert_eq!(notice(&control), expected);
    }
}
