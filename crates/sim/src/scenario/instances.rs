//! The links and flows of one run: copies of links, mirrored directions, drawn starts.

use super::flow::DrawnTime;
use super::resolved_flow::ResolvedFlow;
use super::resolved_link::ResolvedLink;
use super::route::{Hop, MAX_HOPS};
use crate::network::{
    FlowName, FlowSpec, Helped, LinkCopy, LinkId, LinkName, NamedLink, OnChannel, Route,
};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::Arc;
use whimbrel_net::{ServiceSpec, Side, WifiSpec};
use whimbrel_units::Time;

/// One link of a run: a shared link, or the copy of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Instance {
    /// Index of its form.
    link: usize,
    /// For a copy: the flow's number, and the index of the copy among all hops of the flow.
    own: Option<(usize, usize)>,
}

/// The directed links of a run, added as flows use them.
pub(super) struct Links<'a> {
    pub forms: &'a [ResolvedLink],
    /// Seeds of random outages by form: for both directions, and for the mirrored one alone.
    pub outages: Vec<[u64; 2]>,
    /// Seeds of the shadowing by form, for both directions.
    pub shadowing: Vec<u64>,
    /// The run's seed.
    pub seed: u64,
    pub links: Vec<NamedLink>,
    pub channels: Vec<WifiSpec>,
    /// Links that exist, by instance and whether mirrored.
    pub known: HashMap<(Instance, bool), LinkId>,
    /// Number of helpers so far.
    pub helpers: usize,
}

impl Links<'_> {
    /// Makes one flow and its own copies of links. `number` counts all flows of the run from 1.
    pub fn flow(
        &mut self,
        form: &ResolvedFlow,
        number: usize,
        starts: &mut Xoshiro256PlusPlus,
    ) -> FlowSpec {
        let named_alone = form.name.is_some() && form.count == 1;
        let name = FlowName {
            name: form.label(),
            number: (!named_alone).then_some(number),
        };
        let hops: Vec<Hop> = form.hops().copied().collect();
        let mut routes = Vec::with_capacity(form.routes.len());
        let mut from = 0;
        for route in &form.routes {
            let end = from + route.forward.len();
            let there = from..end;
            from += route.hops().count();
            let forward = there
                .clone()
                .map(|i| self.hop(&hops, i, false, number))
                .collect();
            let backward = match &route.back {
                Some(_) => (end..from)
                    .map(|i| self.hop(&hops, i, false, number))
                    .collect(),
                None => there
                    .rev()
                    .map(|i| self.hop(&hops, i, true, number))
                    .collect(),
            };
            routes.push(Route { forward, backward });
        }
        FlowSpec {
            host: None,
            name,
            routes,
            start: draw(form.start, starts),
            stop: form.stop.map(|stop| draw(stop, starts)),
            traffic: form.traffic.clone(),
        }
    }

    /// The name of a link of the run.
    pub fn name(&self, id: LinkId) -> &LinkName {
        &self.links[id.0 as usize].name
    }

    /// The link of hop number `at`: the shared one, or this flow's own copy.
    fn hop(&mut self, hops: &[Hop], at: usize, mirrored: bool, number: usize) -> LinkId {
        let hop = hops[at];
        let instance = Instance {
            link: hop.link,
            own: hop.own.then_some((number, at)),
        };
        if let Some(id) = self.known.get(&(instance, mirrored)) {
            return *id;
        }
        let form = &self.forms[hop.link];
        // A link that appears several times in the routes has a copy for each time.
        let times = |hops: &[Hop]| hops.iter().filter(|h| **h == hop).count();
        let name = LinkName {
            link: form.name.clone(),
            copy: hop.own.then(|| LinkCopy {
                flow: number,
                number: (times(hops) > 1).then(|| times(&hops[..at]) + 1),
            }),
            mirrored: false,
        };
        if let Some(helper) = form.helper {
            let number = self.helpers;
            self.helpers += 1;
            let [forward, reverse] = [Side::Forward, Side::Reverse].map(|side| {
                let id = self.add(instance, side == Side::Reverse, name.clone(), None);
                self.links[id.0 as usize].helped = Some(Helped {
                    helper,
                    number,
                    side,
                });
                id
            });
            return if mirrored { reverse } else { forward };
        }
        let Some(wifi) = &form.wifi else {
            return self.add(instance, mirrored, name, None);
        };
        // Both directions contend for the channel, even if flows use only one.
        let channel = self.channels.len();
        self.channels.push(wifi.clone());
        let on = |side| Some(OnChannel { channel, side });
        let forward = self.add(instance, false, name.clone(), on(Side::Forward));
        let reverse = self.add(instance, true, name, on(Side::Reverse));
        if mirrored { reverse } else { forward }
    }

    /// Adds one direction of a link with this name.
    fn add(
        &mut self,
        instance: Instance,
        mirrored: bool,
        name: LinkName,
        on_channel: Option<OnChannel>,
    ) -> LinkId {
        let form = &self.forms[instance.link];
        let direction = match mirrored {
            true => &form.reverse,
            false => &form.forward,
        };
        let mut spec = direction.spec.clone();
        spec.loss = direction.loss.spec.clone();
        // Each copy has its own outages and shadowing.
        let copy = instance.own.map_or(0, |(number, at)| {
            (number as u64)
                .wrapping_mul(MAX_HOPS as u64)
                .wrapping_add(at as u64)
        });
        if let ServiceSpec::Wireless(radio) = &mut spec.service {
            let seed = self.shadowing[instance.link].wrapping_add(copy);
            *radio = Arc::new(radio.seeded(seed));
        }
        let generated = form.generated.as_ref();
        if let Some([forward, reverse]) =
            generated.and_then(|path| path.draw(self.seed, instance.link, copy))
        {
            let drawn = if mirrored { reverse } else { forward };
            spec.service = drawn.service;
            spec.delay = drawn.delay.unwrap_or(spec.delay);
        }
        if let Some(drawn) = direction.loss.drawn {
            let seed = self.outages[instance.link][usize::from(drawn.mirrored)];
            let outages = drawn.draw(seed.wrapping_add(copy));
            spec.loss.outages.extend(outages);
        }
        let id = LinkId(u32::try_from(self.links.len()).unwrap_or(u32::MAX));
        self.links.push(NamedLink {
            name: LinkName { mirrored, ..name },
            spec,
            on_channel,
            helped: None,
        });
        self.known.insert((instance, mirrored), id);
        id
    }
}

/// Draws an instant. A fixed one uses no random number, so that it does not change the starts of
/// other flows.
fn draw(drawn: DrawnTime, stream: &mut Xoshiro256PlusPlus) -> Time {
    if drawn.from == drawn.to {
        return drawn.from;
    }
    Time::from_nanos(stream.random_range(drawn.from.as_nanos()..=drawn.to.as_nanos()))
}
