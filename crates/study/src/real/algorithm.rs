//! One of Whimbrel's algorithms on the TCP of both ends of a path.

use crate::BadInput;
use std::sync::Arc;
use whimbrel_cc::{Spec, Verdict};
use whimbrel_link::LostSegments;
use whimbrel_linux::{Addresses, Agent, AgentReport, Datapath, LinuxError, Options, Truth};
use whimbrel_units::Duration;

/// The TCP congestion control of both ends of a path.
#[derive(Debug, Clone)]
pub enum Congestion {
    /// The host's.
    Host,
    /// The kernel's algorithm of this name.
    Kernel(String),
    /// One of Whimbrel's.
    Whimbrel(Spec),
}

impl Congestion {
    /// The algorithm of this name: the kernel's if the kernel has one, so that such names keep
    /// their meaning, else Whimbrel's.
    ///
    /// # Errors
    /// If there is no such algorithm; names what the kernel has, and the nearest of Whimbrel's.
    pub fn named(name: &str) -> Result<Self, BadInput> {
        if whimbrel_link::kernel_has(name) {
            return Ok(Self::Kernel(name.to_owned()));
        }
        for_tcp(name).map(Self::Whimbrel).map_err(|why| {
            let kernel = whimbrel_linux::kernel_algorithms().unwrap_or_default();
            BadInput::new(format!(
                "{name}: this kernel has no such algorithm (it has: {}), and for Whimbrel's: {why}",
                kernel.join(", ")
            ))
        })
    }
}

/// Reads the name of an algorithm of Whimbrel's that can run on TCP.
///
/// # Errors
/// If it is unknown, or sends bursts; the text names the nearest, or what to do.
pub fn for_tcp(text: &str) -> Result<Spec, String> {
    let spec: Spec = text.parse().map_err(|e| format!("{e}"))?;
    if !spec.entry().is_fed_bursts() {
        return Ok(spec);
    }
    Err(format!(
        "`{spec}` sends bursts, which TCP cannot do: use it with `whimbrel send`, or choose \
         another controller of `whimbrel controllers`, such as `cubic`"
    ))
}

/// One of Whimbrel's algorithms, registered with the kernel. No thread answers for it yet.
#[derive(Debug)]
pub struct Registered {
    datapath: Datapath,
    options: Options,
}

impl Registered {
    /// Loads the programs, registers the algorithm, and makes it the congestion control of a path.
    /// Starts no thread. Must happen before the namespaces are made: within a user namespace the
    /// kernel permits no BPF.
    ///
    /// # Errors
    /// If a privilege or an option of the kernel is missing.
    pub fn new(spec: Spec, path: &mut whimbrel_link::Options) -> Result<Self, LinuxError> {
        let lost = Arc::new(LostSegments::default());
        let options = Options {
            // Like the threads of the path.
            real_time: true,
            truth: Some(Arc::new(Causes(Arc::clone(&lost)))),
            ..Options::new(spec)
        };
        let datapath = Datapath::load(&options)?;
        path.congestion = Some(datapath.name().to_owned());
        path.observers.push(lost);
        Ok(Self { datapath, options })
    }

    /// Starts the thread that answers for the algorithm.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self) -> Result<Running, LinuxError> {
        let options = self.options.clone();
        Ok(Running {
            agent: Agent::start(self.datapath, self.options)?,
            options,
        })
    }
}

/// Causes of losses as classifiers distinguish them. A full queue, queue management and collisions
/// on Wi-Fi are congestion. Everything else is random: loss in transit, corruption, outages.
#[derive(Debug)]
struct Causes(Arc<LostSegments>);

impl Truth for Causes {
    fn cause(&self, addresses: &Addresses, seq: u32, end: u32) -> Option<Verdict> {
        let Addresses { local, remote } = *addresses;
        let cause = self.0.cause(local, remote, seq, end)?;
        Some(match cause.is_congestion() {
            true => Verdict::Congestion,
            false => Verdict::Random,
        })
    }
}

/// One of Whimbrel's algorithms, and the thread that answers for it.
#[derive(Debug)]
pub struct Running {
    options: Options,
    agent: Agent,
}

impl Running {
    /// Stops the thread. `elapsed`: the duration of the run.
    pub fn finish(self, elapsed: Duration) -> Ended {
        Ended {
            options: self.options,
            elapsed,
            report: self.agent.finish(),
        }
    }
}

/// What happened under one of Whimbrel's algorithms.
#[derive(Debug)]
pub struct Ended {
    /// The settings of the algorithm.
    pub options: Options,
    /// The duration of the run.
    pub elapsed: Duration,
    /// The connections.
    pub report: AgentReport,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_algorithm_of_a_name_comes_first() {
        let named = |name| Congestion::named(name).expect("an algorithm");
        // Reno is built into every kernel.
        assert!(matches!(named("reno"), Congestion::Kernel(name) if name == "reno"));
        for ours in ["cerl", "newreno+ltd", "cubic?hystart=false"] {
            let chosen = named(ours);
            assert!(
                matches!(&chosen, Congestion::Whimbrel(spec) if spec.to_string() == ours),
                "{chosen:?}"
            );
        }
    }

    #[test]
    fn an_unknown_name_lists_the_kernels_and_the_nearest_of_ours() {
        let refused = |name| Congestion::named(name).expect_err(name).to_string();
        let error = refused("cerll");
        assert!(
            error.contains("it has: ") && error.contains("reno") && error.contains("`cerl`"),
            "{error}"
        );
        assert!(refused("aatp").contains("sends bursts"));
    }
}
