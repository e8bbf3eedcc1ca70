//! One run with agents.

use crate::agent::{Agent, Seen};
use std::path::Path;
use std::sync::Arc;
use whimbrel_cc::Setup;
use whimbrel_cc::registry::Maker;
use whimbrel_sim::scenario::{Scenario, ScenarioError};
use whimbrel_sim::{Session, Traffic};
use whimbrel_units::{Duration, Time};

/// Why an episode cannot begin.
#[derive(Debug)]
pub enum EpisodeError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// Its first point has no TCP flow with one of these names.
    NoAgents,
}

/// A run in progress.
#[derive(Debug)]
pub struct Episode {
    session: Session,
    agents: Vec<Agent>,
    now: Time,
    over: bool,
}

impl Episode {
    /// The first point of a scenario with a seed. Agents are the TCP flows whose names begin with
    /// one of `flows`, or all if that is empty.
    ///
    /// # Errors
    /// If the scenario is wrong or has no such flow.
    pub fn new(text: &str, path: &Path, flows: &[String], seed: u64) -> Result<Self, EpisodeError> {
        let scenario = Scenario::parse(text, path).map_err(EpisodeError::Scenario)?;
        let point = scenario.points().first().ok_or(EpisodeError::NoAgents)?;
        let mut network = point.network(seed);
        let mut agents = Vec::new();
        for flow in &mut network.flows {
            let name = flow.name.to_string();
            let named = flows.iter().any(|begin| name.starts_with(begin.as_str()));
            if let Traffic::Tcp(tcp) = &mut flow.traffic
                && (flows.is_empty() || named)
            {
                let agent = Agent::default();
                agents.push(agent.clone());
                let maker: Maker = Arc::new(move |setup: &Setup| agent.controller(setup));
                tcp.controller = tcp.controller.clone().made_by(maker);
            }
        }
        if agents.is_empty() {
            return Err(EpisodeError::NoAgents);
        }
        Ok(Self {
            session: Session::new(network),
            agents,
            now: Time::ZERO,
            over: false,
        })
    }

    /// Its agents, in the order of the flows.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Plays a step of this length. Returns what each agent has seen, and whether the run is over.
    pub fn step(&mut self, length: Duration) -> (Vec<Seen>, bool) {
        self.now += length;
        self.over = self.session.advance(self.now);
        (self.agents.iter().map(Agent::take).collect(), self.over)
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "[link.L]\nrate = \"12 Mbit/s\"\ndelay = \"10 ms\"\n[[flow]]\n\
                        name = \"a\"\nroute = [\"L\"]\n[run]\nduration = \"5 s\"\n";

    /// The goodput of the last second of a run with a constant window, bit/s.
    fn goodput(packets: f64) -> f64 {
        let mut episode = Episode::new(PATH, Path::new("test"), &[], 1).expect("a scenario");
        let mut acked = Vec::new();
        loop {
            episode.agents()[0].set_cwnd(packets);
            let (seen, over) = episode.step(Duration::from_millis(10));
            acked.push(seen[0][2]);
            if over {
                break;
            }
        }
        assert_eq!(acked.len(), 500);
        acked[400..].iter().sum::<f64>() * 8.0
    }

    #[test]
    fn the_window_of_the_learner_decides_the_goodput() {
        // 5 packets of 1448 bytes a round trip of 20 ms and some transmission and delayed ACK time.
        let few = goodput(5.0);
        assert!((2.0e6..3.0e6).contains(&few), "{few}");
        // 12 Mbit/s without headers.
        let many = goodput(50.0);
        assert!(
            (many / (12e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.02,
            "{many}"
        );
    }

    #[test]
    fn a_scenario_without_the_named_flow_is_refused() {
        let flows = ["b".to_owned()];
        let episode = Episode::new(PATH, Path::new("test"), &flows, 1);
        assert!(matches!(episode, Err(EpisodeError::NoAgents)));
    }
}
