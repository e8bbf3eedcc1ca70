//! From what is written to what runs: copies of links, mirrored routes, drawn starts, queues in bytes.

use super::destination::Destinations;
use super::flow::{Drawn, FlowForm, Hop, MOST_HOPS, RouteForm};
use super::link::{Direction, LinkForm};
use super::run::RunForm;
use super::{ScenarioError, fields::Field};
use crate::engine::world::longest_run;
use crate::network::{
    Destination, FlowSpec, LinkId, NamedLink, Network, OnChannel, Oracle, Route, Traffic,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::Arc;
use whimbrel_net::{LinkSpec, Schedule, ServiceSpec, Side, WifiSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The most flows of one run, all `[[flow]]` together.
const MOST_FLOWS: u64 = 100_000;
/// The most directed links of one run, copies counted.
const MOST_LINKS: u64 = 1_000_000;
/// The most steps of schedules, outages and drops on all links of one run.
const MOST_STEPS: u64 = 20_000_000;
/// The most streams of one run, those of all flows together.
const MOST_STREAMS: u64 = 1_000_000;
/// The most messages of one run, about.
const MOST_MESSAGES: u64 = 10_000_000;
/// The most samples of one run.
const MOST_SAMPLES: u64 = 20_000_000;
/// Tells the stream that draws starts from those of the links and sources, which the engine derives from
/// the same seed.
const STARTS: u64 = 0x57A2_7500_0000_0001;

/// The same for the stream that draws outages.
const OUTAGES: u64 = 0x07A6_E500_0000_0002;

/// The same for the stream that draws the shadowing of radio links.
const SHADOWING: u64 = 0x5AD0_3100_0000_0003;

/// A scenario at one point, checked: nothing in it can fail any more.
#[derive(Debug, Clone)]
pub(super) struct Form {
    links: Vec<LinkForm>,
    flows: Vec<FlowForm>,
    /// Those of which something is written.
    destinations: Vec<Destination>,
    run: RunForm,
}

impl Form {
    /// Checks what concerns several parts, and resolves queues in `bdp`. `root` is for errors.
    pub fn new(
        links: Vec<LinkForm>,
        flows: Vec<FlowForm>,
        destinations: Vec<Destination>,
        run: RunForm,
        whole: &Field<'_>,
    ) -> Result<Self, ScenarioError> {
        let count: u64 = flows.iter().map(|f| u64::from(f.count)).sum();
        if count == 0 {
            return Err(whole.fail("there is no flow: every `count` is 0"));
        }
        if count > MOST_FLOWS {
            return Err(whole.fail(format!("{count} flows are more than {MOST_FLOWS}")));
        }
        let routes: u64 = flows
            .iter()
            .map(|f| u64::from(f.count) * f.routes.len() as u64)
            .sum();
        if routes > MOST_FLOWS {
            return Err(whole.fail(format!(
                "{routes} routes of all flows are more than {MOST_FLOWS}"
            )));
        }
        let copies: u64 = flows
            .iter()
            .map(|f| u64::from(f.count) * own_links(f, &links))
            .sum();
        let directed = copies + 2 * links.len() as u64;
        if directed > MOST_LINKS {
            return Err(whole.fail(format!(
                "{directed} links, copies counted, are more than {MOST_LINKS}"
            )));
        }
        let steps: u64 = flows
            .iter()
            .map(|f| u64::from(f.count) * own_steps(f, &links))
            .sum();
        if steps > MOST_STEPS {
            return Err(whole.fail(format!(
                "the schedules, outages and drops of all links, copies counted, have {steps} steps, more than {MOST_STEPS}"
            )));
        }
        let streams: u64 = flows.iter().map(|f| u64::from(f.count) * f.streams()).sum();
        if streams > MOST_STREAMS {
            return Err(whole.fail(format!(
                "{streams} streams of all flows are more than {MOST_STREAMS}"
            )));
        }
        let messages = flows
            .iter()
            .map(|f| u64::from(f.count).saturating_mul(f.messages(run.duration)))
            .fold(0, u64::saturating_add);
        if messages > MOST_MESSAGES {
            return Err(whole.fail(format!(
                "{messages} messages of all flows are more than {MOST_MESSAGES}"
            )));
        }
        let longest = longest_run(directed as usize, routes as usize);
        if run.duration > longest {
            return Err(whole.fail(format!(
                "run.duration: with {count} flows and {directed} links a run may last {longest}, not {}",
                run.duration
            )));
        }
        if let Some(sample) = run.sample {
            // A multipath connection is sampled besides its paths.
            let several = flows.iter().filter(|f| f.routes.len() > 1);
            let sampled = routes + several.map(|f| u64::from(f.count)).sum::<u64>();
            let samples =
                (run.duration.as_nanos() / sample.as_nanos()).saturating_mul(sampled + directed);
            if samples > MOST_SAMPLES {
                return Err(whole.fail(format!(
                    "a `sample` every {sample} gives {samples} samples in a run, more than {MOST_SAMPLES}; \
                     sample less often"
                )));
            }
        }
        let mut form = Self {
            links,
            flows,
            destinations,
            run,
        };
        form.resolve_queues()?;
        Ok(form)
    }

    pub fn run(&self) -> &RunForm {
        &self.run
    }

    pub fn flows(&self) -> &[FlowForm] {
        &self.flows
    }

    /// The controllers of all flows that are `controller` are told the truth by this oracle.
    pub fn set_oracle(&mut self, controller: &str, oracle: Oracle) {
        for flow in &mut self.flows {
            if let Traffic::Tcp(tcp) = &mut flow.traffic
                && tcp.controller.to_string() == controller
            {
                tcp.settings.oracle = oracle;
            }
        }
    }

    pub fn set_sample(&mut self, sample: Duration) {
        self.run.sample = Some(sample);
    }

    /// A queue of x bdp holds x times the link's rate (the greatest of a schedule, the mean of a trace)
    /// times the greatest base RTT of the flows that pass it, and at least one of their largest packets. What manages it
    /// fits the same.
    fn resolve_queues(&mut self) -> Result<(), ScenarioError> {
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
                .map(FlowForm::packet)
                .max();
            let (rtt, packet) = (rtt.unwrap_or_default(), packet.unwrap_or_default());
            let link = &mut self.links[index];
            for direction in [&mut link.forward, &mut link.reverse] {
                let service = &direction.spec.service;
                if let Some(written) = &direction.aqm {
                    direction.spec.aqm = written.resolve(service, rtt, packet)?;
                }
                let Some(written) = &direction.queue else {
                    continue;
                };
                let limit = written.queue.limit(service, rtt, packet);
                direction.spec.queue = limit.ok_or_else(|| written.without_rate.clone())?;
            }
        }
        Ok(())
    }

    /// Propagation delays of a route and its way back, added up; of steps the greatest, of a recorded one the mean.
    fn base_rtt(&self, route: &RouteForm) -> Duration {
        let forward = |hop: &Hop| self.links[hop.link].forward.spec.delay.nominal();
        let mirrored = |hop: &Hop| self.links[hop.link].reverse.spec.delay.nominal();
        let there = route.there.iter().map(forward);
        let back: Box<dyn Iterator<Item = Duration>> = match &route.back {
            Some(back) => Box::new(back.iter().map(forward)),
            None => Box::new(route.there.iter().map(mirrored)),
        };
        there
            .chain(back)
            .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// What all flows together would carry if each link were shared by max-min fairness: headers
    /// included, loss left out. `None` if some flow meets no limit at all.
    pub fn capacity(&self) -> Option<Rate> {
        // Each path of a multipath connection has a share of its own. Two-way flows load the mirrored links too: they count as a second group of flows.
        let mut groups: Vec<Group> = Vec::new();
        for flow in self.flows.iter().filter(|flow| flow.count > 0) {
            for route in &flow.routes {
                groups.push(self.group(flow, route, false));
                if matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.two_way) {
                    groups.push(self.group(flow, route, true));
                }
            }
        }
        let mut left: HashMap<(usize, bool), f64> = HashMap::new();
        for group in &groups {
            for key in &group.shared {
                let rate = self.rate(*key, group.packet).unwrap_or(f64::INFINITY);
                let of_link = left.entry(*key).or_insert(rate);
                *of_link = of_link.max(rate);
            }
        }
        // Progressive filling: each round, the groups that are limited most get their share and are done.
        let mut total = 0.0;
        while !groups.is_empty() {
            let mut users: HashMap<(usize, bool), f64> = HashMap::new();
            for group in &groups {
                for key in &group.shared {
                    *users.entry(*key).or_default() += group.count;
                }
            }
            let of = |key| {
                left.get(key).copied().unwrap_or(f64::INFINITY)
                    / users.get(key).copied().unwrap_or(1.0)
            };
            let shares: Vec<f64> = groups
                .iter()
                .map(|g| g.shared.iter().map(of).fold(g.limit, f64::min))
                .collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            if !least.is_finite() {
                return None;
            }
            let mut shares = shares.into_iter();
            groups.retain(|group| {
                // Rounding must not split groups that meet the same limit into rounds of their own.
                let done = shares
                    .next()
                    .is_none_or(|share| share <= least * (1.0 + 1e-9));
                if done {
                    total += group.count * least;
                    for key in &group.shared {
                        left.entry(*key)
                            .and_modify(|rate| *rate = (*rate - group.count * least).max(0.0));
                    }
                }
                !done
            });
        }
        Some(Rate::from_bits_per_sec(total.round() as u64))
    }

    fn group(&self, flow: &FlowForm, route: &RouteForm, far_end: bool) -> Group {
        let (hops, reversed) = match (&route.back, far_end) {
            (_, false) => (&route.there, false),
            (Some(back), true) => (back, false),
            (None, true) => (&route.there, true),
        };
        // The two directions of a Wi-Fi link are one.
        let key = |hop: &Hop| {
            let one = self.links[hop.link].wifi.is_some();
            (hop.link, reversed && !one)
        };
        let offered = match &flow.traffic {
            Traffic::Tcp(_) | Traffic::Aatp(_) => f64::INFINITY,
            Traffic::Udp(udp) => {
                let duty = udp
                    .on_off
                    .map_or(1.0, |b| b.on.as_secs_f64() / (b.on + b.off).as_secs_f64());
                udp.rate.as_bits_per_sec() as f64 * duty
            }
        };
        let packet = flow.packet();
        let own = hops
            .iter()
            .filter(|hop| hop.own)
            .filter_map(|hop| self.rate(key(hop), packet));
        let shared = hops.iter().filter(|hop| !hop.own).map(key).collect();
        Group {
            count: f64::from(flow.count),
            packet,
            limit: own.fold(offered, f64::min),
            shared,
        }
    }

    /// What a link carries in a direction, bits per second in the mean over the run; `None` if unlimited. Of Wi-Fi it is
    /// what one station has alone, with packets of this size.
    fn rate(&self, (link, mirrored): (usize, bool), packet: Bytes) -> Option<f64> {
        let link = &self.links[link];
        match (&link.wifi, mirrored) {
            (Some(wifi), _) => Some(wifi.saturation(packet).as_bits_per_sec() as f64),
            (None, false) => mean_rate(&link.forward.spec, self.run.duration),
            (None, true) => mean_rate(&link.reverse.spec, self.run.duration),
        }
    }

    /// The run with this seed.
    pub fn network(&self, seed: u64) -> Network {
        // Drawn for every link that is written, so that none moves another's.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed ^ OUTAGES);
        let outages = self.links.iter().map(|_| [draws.random(), draws.random()]);
        let mut shadows = Xoshiro256PlusPlus::seed_from_u64(seed ^ SHADOWING);
        let mut links = Links {
            forms: &self.links,
            outages: outages.collect(),
            shadowing: self.links.iter().map(|_| shadows.random()).collect(),
            links: Vec::new(),
            channels: Vec::new(),
            known: HashMap::new(),
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
                    let name = last.filter(|_| own).unwrap_or(table);
                    aatp.destination = destinations.index(table, name);
                }
                flows.push(flow);
            }
        }
        Network {
            links: links.links,
            channels: links.channels,
            destinations: destinations.into_all(),
            flows,
            duration: self.run.duration,
            seed,
            sample: self.run.sample,
        }
    }
}

/// Flows of one `[[flow]]`, seen by [`Form::capacity`].
struct Group {
    count: f64,
    packet: Bytes,
    /// The most that one of them could carry on its own links, bits per second.
    limit: f64,
    /// Shared links, and whether in the mirrored direction.
    shared: Vec<(usize, bool)>,
}

/// Directed links of which each flow has a copy. A Wi-Fi link has two directions even if one is passed only.
fn own_links(flow: &FlowForm, links: &[LinkForm]) -> u64 {
    let own = |hops: &[Hop], passed: u64| -> u64 {
        let own = hops.iter().filter(|hop| hop.own);
        own.map(|hop| {
            if links[hop.link].wifi.is_some() {
                2
            } else {
                passed
            }
        })
        .sum()
    };
    let of_route = |route: &RouteForm| match &route.back {
        Some(back) => own(&route.there, 1) + own(back, 1),
        None => own(&route.there, 2),
    };
    flow.routes.iter().map(of_route).sum()
}

/// Steps of the schedules, outages and drops on the links of which each flow has a copy.
fn own_steps(flow: &FlowForm, links: &[LinkForm]) -> u64 {
    let steps = |direction: &Direction| {
        let spec = &direction.spec;
        let rates = match &spec.service {
            ServiceSpec::Rate(schedule) => schedule.all().len(),
            ServiceSpec::Unlimited | ServiceSpec::Trace(_) | ServiceSpec::Wireless(_) => 0,
        };
        (rates + spec.delay.own_steps()) as u64 + direction.loss.events()
    };
    let hops = flow.hops().filter(|hop| hop.own);
    hops.map(|hop| steps(&links[hop.link].forward) + steps(&links[hop.link].reverse))
        .sum()
}

/// Bits per second, mean over the first `span`; `None` if unlimited.
fn mean_rate(spec: &LinkSpec, span: Duration) -> Option<f64> {
    match &spec.service {
        ServiceSpec::Unlimited => None,
        ServiceSpec::Rate(schedule) => Some(mean_of(schedule, span)),
        ServiceSpec::Trace(trace) => Some(trace.mean_rate().as_bits_per_sec() as f64),
        ServiceSpec::Wireless(radio) => Some(radio.nominal_rate().as_bits_per_sec() as f64),
    }
}

fn mean_of(schedule: &Schedule<Rate>, span: Duration) -> f64 {
    let end = Time::ZERO + span;
    let steps = schedule.all();
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Time::MAX]);
    let bits: f64 = steps
        .iter()
        .zip(ends)
        .map(|((from, rate), to)| {
            rate.as_bits_per_sec() as f64 * to.min(end).since(*from).as_secs_f64()
        })
        .sum();
    bits / span.as_secs_f64()
}

/// One link of a run: the shared one of a form, or a flow's own copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Instance {
    /// The form's index.
    link: usize,
    /// For an own copy: the flow's number, and where the copy stands among all its hops.
    own: Option<(usize, usize)>,
}

/// The directed links of a run as they come into use.
struct Links<'a> {
    forms: &'a [LinkForm],
    /// Seeds of the outages that are drawn, by form: those of both directions, and those of the mirrored one alone.
    outages: Vec<[u64; 2]>,
    /// Seeds of the shadowing, by form: of both directions.
    shadowing: Vec<u64>,
    links: Vec<NamedLink>,
    channels: Vec<WifiSpec>,
    /// By link and whether mirrored.
    known: HashMap<(Instance, bool), LinkId>,
}

impl Links<'_> {
    /// One flow with its own copies of links. `number` counts all flows of the run from 1.
    fn flow(
        &mut self,
        form: &FlowForm,
        number: usize,
        starts: &mut Xoshiro256PlusPlus,
    ) -> FlowSpec {
        let named_alone = form.name.is_some() && form.count == 1;
        let name = if named_alone {
            form.label()
        } else {
            format!("{} #{number}", form.label())
        };
        let hops: Vec<Hop> = form.hops().copied().collect();
        let mut routes = Vec::with_capacity(form.routes.len());
        let mut from = 0;
        for route in &form.routes {
            let end = from + route.there.len();
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
            name,
            routes,
            start: draw(form.start, starts),
            stop: form.stop.map(|stop| draw(stop, starts)),
            traffic: form.traffic.clone(),
        }
    }

    /// What a link of the run is called.
    fn name(&self, id: LinkId) -> &str {
        &self.links[id.0 as usize].name
    }

    /// The link of the `at`th hop: the shared one, or this flow's own copy.
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
        let mut name = form.name.clone();
        if hop.own {
            // A link that stands several times in a route is a link of its own each time.
            let before = hops[..at].iter().filter(|h| **h == hop).count();
            let several = hops.iter().filter(|h| **h == hop).count() > 1;
            name += &if several {
                format!("*[{number}.{}]", before + 1)
            } else {
                format!("*[{number}]")
            };
        }
        let Some(wifi) = &form.wifi else {
            return self.add(instance, mirrored, name, None);
        };
        // Both directions contend for the channel, whoever passes them.
        let channel = self.channels.len();
        self.channels.push(wifi.clone());
        let on = |side| Some(OnChannel { channel, side });
        let forward = self.add(instance, false, name.clone(), on(Side::Forward));
        let reverse = self.add(instance, true, name, on(Side::Reverse));
        if mirrored { reverse } else { forward }
    }

    /// One direction of a link. `name` is the link's.
    fn add(
        &mut self,
        instance: Instance,
        mirrored: bool,
        mut name: String,
        on_channel: Option<OnChannel>,
    ) -> LinkId {
        let form = &self.forms[instance.link];
        let direction = if mirrored {
            name += " (reverse)";
            &form.reverse
        } else {
            &form.forward
        };
        let mut spec = direction.spec.clone();
        spec.loss = direction.loss.spec.clone();
        // Each copy has outages and shadowing of its own.
        let copy = instance.own.map_or(0, |(number, at)| {
            (number as u64)
                .wrapping_mul(MOST_HOPS as u64)
                .wrapping_add(at as u64)
        });
        if let ServiceSpec::Wireless(radio) = &mut spec.service {
            let seed = self.shadowing[instance.link].wrapping_add(copy);
            *radio = Arc::new(radio.seeded(seed));
        }
        if let Some(drawn) = direction.loss.drawn {
            let seed = self.outages[instance.link][usize::from(drawn.mirrored)];
            let outages = drawn.draw(seed.wrapping_add(copy));
            spec.loss.outages.extend(outages);
        }
        let id = LinkId(u32::try_from(self.links.len()).unwrap_or(u32::MAX));
        self.links.push(NamedLink {
            name,
            spec,
            on_channel,
        });
        self.known.insert((instance, mirrored), id);
        id
    }
}

/// A fixed instant takes nothing from the stream, so that it moves no other flow's.
fn draw(drawn: Drawn, stream: &mut Xoshiro256PlusPlus) -> Time {
    if drawn.from == drawn.to {
        return drawn.from;
    }
    Time::from_nanos(stream.random_range(drawn.from.as_nanos()..=drawn.to.as_nanos()))
}
