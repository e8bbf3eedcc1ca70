//! Our algorithms on transfers over TCP.

use std::sync::{Mutex, PoisonError};
use whimbrel_cc::Spec;
use whimbrel_linux::{Agent, Datapath, LinuxError, Options};
use whimbrel_transfer::TcpAlgorithm;

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
