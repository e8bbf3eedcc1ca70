//! Our algorithms on transfers over TCP.

use std::sync::{Mutex, PoisonError};
use whimbrel_cc::Spec;
use whimbrel_linux::{Agent, Datapath, LinuxError, Options};
use whimbrel_transfer::{TcpAlgorithm, TcpControl};

/// Registers `spec` with the kernel when the first TCP connection needs it. The algorithm runs as
/// long as the result or a clone of it exists.
pub fn over_tcp(spec: &Spec) -> TcpAlgorithm {
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

/// What a user should know about a connection over TCP.
pub fn over_tcp_notice(control: &TcpControl) -> String {
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
        assert_eq!(over_tcp_notice(&control), expected);
    }
}
