//! One point of a scenario, and the runs that it describes.

use super::destination::Destinations;
use super::instances::Links;
use super::resolved_flow::{self, ResolvedFlow};
use super::resolved_link::ResolvedLink;
use super::route::{FlowRoute, Hop};
use super::run::Run;
use super::spec::ScenarioSpec;
use super::{ScenarioError, limits};
use crate::network::{Destination, LinkName, Network, Oracle, Traffic};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use whimbrel_units::Duration;

/// Separates the random stream of flow starts from those of the links and sources, which the engine
/// derives from the same seed.
const STARTS: u64 = 0x57A2_7500_0000_0001;
/// The same for the stream of random outages.
const OUTAGES: u64 = 0x07A6_E500_0000_0002;
/// The same for the stream of the shadowing of radio links.
const SHADOWING: u64 = 0x5AD0_3100_0000_0003;

/// One point of a scenario, checked: making a run of it cannot fail.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub(super) links: Vec<ResolvedLink>,
    pub(super) flows: Vec<ResolvedFlow>,
    /// The written destinations; a run may have more.
    destinations: Vec<Destination>,
    pub(super) run: Run,
}

impl Resolved {
    /// Checks one point of a scenario, and derives what depends on several of its parts.
    pub fn new(spec: &ScenarioSpec) -> Result<Self, ScenarioError> {
        let run = &spec.run;
        run.check()?;
        let (duration, queue) = (run.duration.value, run.queue.as_ref());
        let links = spec.links.iter().map(|link| link.resolve(duration, queue));
        let mut resolved = Self {
            links: links.collect::<Result<_, _>>()?,
            flows: resolved_flow::resolve(&spec.flows, &spec.links, run)?,
            destinations: spec.destinations.clone(),
            run: run.clone(),
        };
        limits::check(&resolved.links, &resolved.flows, run, &spec.span)?;
        resolved.fit_queues()?;
        Ok(resolved)
    }

    /// Sets the oracle of all TCP flows with this controller.
    pub fn set_oracle(&mut self, controller: &str, oracle: Oracle) {
        for flow in &mut self.flows {
            if let Traffic::Tcp(tcp) = &mut flow.traffic
                && tcp.controller.to_string() == controller
            {
                tcp.settings.oracle = oracle;
            }
        }
    }

    /// Sets the queues, which may depend on the flows that pass a link: on the maximum of their
    /// base RTTs and packets.
    fn fit_queues(&mut self) -> Result<(), ScenarioError> {
        for index in 0..self.links.len() {
            let passes = |hop: &Hop| hop.link == index;
            let rtt = self
                .flows
                .iter()
                .flat_map(|flow| &flow.routes)
                .filter(|route| route.hops().any(passes))
                .map(|route| self.base_rtt(route))
                .max();
            let packet = self
                .flows
                .iter()
                .filter(|flow| flow.hops().any(passes))
                .map(ResolvedFlow::packet)
                .max();
            self.links[index].fit(rtt.unwrap_or_default(), packet.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Sum of the propagation delays of a route and its way back: the maximum of steps, the mean of
    /// a recorded delay.
    fn base_rtt(&self, route: &FlowRoute) -> Duration {
        let forward = |hop: &Hop| self.links[hop.link].forward.spec.delay.nominal();
        let mirrored = |hop: &Hop| self.links[hop.link].reverse.spec.delay.nominal();
        let there = route.forward.iter().map(forward);
        let back: Box<dyn Iterator<Item = Duration>> = match &route.back {
            Some(back) => Box::new(back.iter().map(forward)),
            None => Box::new(route.forward.iter().map(mirrored)),
        };
        there
            .chain(back)
            .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The run with this seed.
    pub fn network(&self, seed: u64) -> Network {
        // Drawn for every written link, so that no link changes the values of another.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed ^ OUTAGES);
        let outages = self.links.iter().map(|_| [draws.random(), draws.random()]);
        let mut shadows = Xoshiro256PlusPlus::seed_from_u64(seed ^ SHADOWING);
        let mut links = Links {
            forms: &self.links,
            outages: outages.collect(),
            shadowing: self.links.iter().map(|_| shadows.random()).collect(),
            seed,
            links: Vec::new(),
            channels: Vec::new(),
            known: HashMap::new(),
            helpers: 0,
        };
        let mut destinations = Destinations::new(&self.destinations);
        let mut starts = Xoshiro256PlusPlus::seed_from_u64(seed ^ STARTS);
        let mut flows = Vec::new();
        for form in &self.flows {
            for _ in 0..form.count {
                let number = flows.len() + 1;
                let mut flow = links.flow(form, number, &mut starts);
                if let (Traffic::Aatp(aatp), Some(table)) = (&mut flow.traffic, &form.destination) {
                    let last = flow.routes[0].forward.last().map(|id| links.name(*id));
                    let own = table.ends_with('*');
                    let name = last.filter(|_| own).map(LinkName::to_string);
                    aatp.destination = destinations.index(table, name.as_deref().unwrap_or(table));
                }
                flows.push(flow);
            }
        }
        Network {
            links: links.links,
            channels: links.channels,
            destinations: destinations.into_all(),
            flows,
            duration: self.run.duration.value,
            seed,
            sample: self.run.sample,
        }
    }
}
