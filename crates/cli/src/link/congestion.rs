//! The TCP congestion control of both ends of a path: the host's, one of the kernel's, or one of
//! Whimbrel's.

use crate::controllers::for_linux;
use crate::failure::BadInput;
use anyhow::Context;
use std::sync::Arc;
use whimbrel_cc::{Spec, Verdict};
use whimbrel_link::{LostSegments, Observer};
use whimbrel_linux::{Addresses, Agent, Datapath, Options, Report, Truth};
use whimbrel_units::Duration;

/// What the user chose.
#[derive(Debug)]
pub enum Congestion {
    /// The host's.
    Host,
    /// The kernel's algorithm of this name.
    Kernel(String),
    /// One of Whimbrel's.
    Whimbrel(Spec),
}

impl Congestion {
    /// From `--tcp` and `--controller`, which exclude each other. A name of `--tcp` is the kernel's
    /// if the kernel has an algorithm of that name: such names keep their meaning.
    ///
    /// # Errors
    /// If there is no such algorithm.
    pub fn choose(tcp: Option<&str>, controller: Option<&Spec>) -> Result<Self, BadInput> {
        match (controller, tcp) {
            (Some(spec), _) => Ok(Self::Whimbrel(spec.clone())),
            (None, None) => Ok(Self::Host),
            (None, Some(name)) if whimbrel_link::kernel_has(name) => {
                Ok(Self::Kernel(name.to_owned()))
            }
            (None, Some(name)) => for_linux(name).map(Self::Whimbrel).map_err(|why| {
                BadInput::new(format!(
                    "--tcp {name}: this kernel has no such algorithm (it has: {}), and for \
                     Whimbrel's: {why}",
                    kernel_names()
                ))
            }),
        }
    }
}

/// The names of the kernel's algorithms.
fn kernel_names() -> String {
    let names = whimbrel_linux::kernel_algorithms().unwrap_or_default();
    names.join(", ")
}

/// One of Whimbrel's algorithms, registered with the kernel. No thread answers for it yet.
#[derive(Debug)]
pub struct Registered {
    datapath: Datapath,
    options: Options,
    lost: Arc<LostSegments>,
}

impl Registered {
    /// Loads the programs and registers the algorithm. Starts no thread. Must happen before the
    /// namespaces are made: within a user namespace the kernel permits no BPF.
    ///
    /// # Errors
    /// If a privilege or an option of the kernel is missing.
    pub fn new(spec: Spec) -> anyhow::Result<Self> {
        let lost = Arc::new(LostSegments::default());
        let options = Options {
            // Like the threads of the path.
            real_time: true,
            truth: Some(Arc::new(Causes(Arc::clone(&lost)))),
            ..Options::new(spec)
        };
        let datapath = Datapath::load(&options)
            .with_context(|| format!("`{}` cannot run on Linux TCP", options.controller))?;
        Ok(Self {
            datapath,
            options,
            lost,
        })
    }

    /// The kernel's name of the algorithm.
    pub fn name(&self) -> &str {
        self.datapath.name()
    }

    /// Learns from the path why it lost segments.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.lost) as _
    }

    /// Starts the thread that answers for the algorithm.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self) -> anyhow::Result<Running> {
        let options = self.options.clone();
        Ok(Running {
            agent: Agent::start(self.datapath, self.options)?,
            options,
        })
    }
}

/// Causes of losses as classifiers distinguish them. A full queue, queue management and collisions on
/// Wi-Fi are congestion. Everything else is random: loss in transit, corruption, outages.
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
    pub options: Options,
    pub elapsed: Duration,
    pub report: Report,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_comes_first_and_controller_is_always_ours() {
        let choose = |tcp| Congestion::choose(tcp, None).expect("an algorithm");
        assert!(matches!(choose(None), Congestion::Host));
        // Reno is built into every kernel.
        assert!(matches!(choose(Some("reno")), Congestion::Kernel(name) if name == "reno"));
        for ours in ["cerl", "newreno+ltd", "cubic?hystart=false"] {
            let chosen = choose(Some(ours));
            assert!(
                matches!(&chosen, Congestion::Whimbrel(spec) if spec.to_string() == ours),
                "{chosen:?}"
            );
        }
        let forced: Spec = "reno".parse().expect("an algorithm");
        let chosen = Congestion::choose(None, Some(&forced)).expect("an algorithm");
        assert!(matches!(chosen, Congestion::Whimbrel(_)));
    }

    #[test]
    fn an_unknown_name_lists_the_kernels_and_the_nearest_of_ours() {
        let error = Congestion::choose(Some("cerll"), None).expect_err("unknown");
        let error = error.to_string();
        assert!(
            error.contains("it has: ") && error.contains("reno") && error.contains("`cerl`"),
            "{error}"
        );
        let bursts = Congestion::choose(Some("aatp"), None).expect_err("no TCP");
        assert!(bursts.to_string().contains("sends bursts"), "{bursts}");
    }
}
