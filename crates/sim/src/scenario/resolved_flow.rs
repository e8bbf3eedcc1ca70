//! Flows with their transports, checked, ready to be copied into runs.

use super::ScenarioError;
use super::flow::{Data, DrawnTime, Flow, MAX_FLOWS, MAX_SEGMENTS, Sends, usual_destination};
use super::kind::{self, Kind};
use super::link::Link;
use super::route::{FlowRoute, Hop};
use super::run::Run;
use super::written::Written;
use crate::aatp::{MIN_PACKET, payload};
use crate::network::{AatpFlow, TcpFlow, Traffic};
use whimbrel_units::{Bytes, Duration, Time};

/// Any number of equal flows.
#[derive(Debug, Clone)]
pub(super) struct ResolvedFlow {
    pub name: Option<String>,
    pub count: u32,
    /// One route; several for a multipath connection.
    pub routes: Vec<FlowRoute>,
    pub start: DrawnTime,
    pub stop: Option<DrawnTime>,
    /// The `destination` of an AATP flow is 0 until the run is expanded: own copies of links have
    /// nodes of their own.
    pub traffic: Traffic,
    /// As in [`Flow`]; always that of an AATP flow.
    pub destination: Option<String>,
}

impl ResolvedFlow {
    /// Maximum size of its packets on the wire.
    pub fn packet(&self) -> Bytes {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.settings.mss + tcp.settings.header,
            Traffic::Aatp(aatp) => aatp.settings.packet,
            Traffic::Udp(udp) => udp.packet,
        }
    }

    /// Number of streams of one such flow.
    pub fn streams(&self) -> u64 {
        match &self.traffic {
            Traffic::Tcp(tcp) => u64::from(tcp.streams.count),
            Traffic::Aatp(_) | Traffic::Udp(_) => 0,
        }
    }

    /// Number of messages of one such flow in a run of this length; the mean, if arrivals are
    /// drawn.
    pub fn messages(&self, duration: Duration) -> u64 {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.streams.messages.map_or(0, |messages| {
                let all = duration.as_nanos() / messages.every.as_nanos().max(1) + 1;
                messages.count.map_or(all, |count| all.min(count.into()))
            }),
            Traffic::Aatp(_) | Traffic::Udp(_) => 0,
        }
    }

    /// All hops of all routes as written.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.routes.iter().flat_map(FlowRoute::hops)
    }

    /// The name of these flows in output: the written one, else the controller.
    pub fn label(&self) -> String {
        match (&self.name, &self.traffic) {
            (Some(name), _) => name.clone(),
            (None, Traffic::Tcp(tcp)) => tcp.controller.to_string(),
            (None, Traffic::Aatp(aatp)) => aatp.controller.to_string(),
            (None, Traffic::Udp(_)) => "udp".to_owned(),
        }
    }
}

/// Checks the flows of a run.
pub(super) fn resolve(
    flows: &[Flow],
    links: &[Link],
    run: &Run,
) -> Result<Vec<ResolvedFlow>, ScenarioError> {
    let mut names: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for flow in flows {
        all.push(flow.resolve(links, run)?);
        let Some(name) = flow.name.as_deref() else {
            continue;
        };
        let key = kind::keys().contains(&name);
        if name.is_empty() || key || name.parse::<usize>().is_ok() {
            return Err(flow.fail(format!(
                "`{name}` is not a valid flow name: a sweep would read it as a key"
            )));
        }
        if names.contains(&name) {
            return Err(flow.fail(format!("two flows are named `{name}`")));
        }
        names.push(name);
    }
    Ok(all)
}

impl Flow {
    fn resolve(&self, links: &[Link], run: &Run) -> Result<ResolvedFlow, ScenarioError> {
        let count = self.count.value;
        if u64::from(count) > MAX_FLOWS {
            return Err(self
                .count
                .fail(format!("must be from 0 to {MAX_FLOWS}, not {count}")));
        }
        let duration = run.duration.value;
        // A flow that starts at the very end is absent: that is how a sweep leaves one out.
        let end = Time::ZERO + duration;
        if let Some(start) = self.start.as_ref().filter(|start| start.value.from > end) {
            return Err(start.fail(format!(
                "the flow would start at {}, but the run ends at {duration}; write a longer \
                 `duration` under [run], or an earlier start",
                start.value.from.since(Time::ZERO),
            )));
        }
        let traffic = match &self.sends {
            Sends::Data(data) => self.traffic(data, run)?,
            Sends::Datagrams(udp) => {
                self.one_route(Kind::Udp)?;
                Traffic::Udp(*udp)
            }
        };
        let routes = self.routes.value.clone();
        let usual = || usual_destination(&routes[0].forward, links);
        let node = self.destination.clone();
        let destination = match traffic {
            Traffic::Aatp(_) => Some(node.unwrap_or_else(usual)),
            Traffic::Tcp(_) | Traffic::Udp(_) => node,
        };
        Ok(ResolvedFlow {
            name: self.name.clone(),
            count,
            routes,
            start: self
                .start
                .as_ref()
                .map_or_else(DrawnTime::default, |start| start.value),
            stop: self.stop,
            traffic,
            destination,
        })
    }

    /// Refuses several routes of flows that are not TCP.
    fn one_route(&self, kind: Kind) -> Result<(), ScenarioError> {
        match self.routes.value.len() {
            1 => Ok(()),
            _ => Err(self.routes.fail(format!(
                "only `tcp` flows can have `routes`; this is a flow of kind `{}`: write `route`",
                kind.name()
            ))),
        }
    }

    /// The flow over the transport that can carry its controller.
    fn traffic(&self, data: &Data, run: &Run) -> Result<Traffic, ScenarioError> {
        let controller = data.controller.value.clone();
        let kind = Kind::of(&controller);
        if data.kind.is_some_and(|written| written != kind) {
            let feed = match controller.entry().is_fed_bursts() {
                false => "acknowledgments",
                true => "reports about bursts",
            };
            return Err(data.controller.fail(format!(
                "`{controller}` needs {feed}: write `kind = \"{}\"`, or omit `kind`",
                kind.name()
            )));
        }
        let text = controller.to_string();
        let name = text.split('?').next().unwrap_or_default();
        let with = data.with.iter().find(|with| with.controller == name);
        let settings = with.map(|with| with.settings).or(data.settings);
        let settings = settings.unwrap_or(run.settings);
        let size = |payload| {
            data.size
                .as_ref()
                .map(|size| check_size(size, payload))
                .transpose()
        };
        let two_way = data.two_way.as_ref().filter(|two_way| two_way.value);
        if kind == Kind::Tcp {
            let several = self.routes.value.len() > 1;
            if let Some(two_way) = two_way.filter(|_| several) {
                return Err(two_way.fail("cannot be combined with `routes`"));
            }
            let own = with.and_then(|with| with.streams.as_ref());
            let one_stream = two_way.is_some() || several;
            return Ok(Traffic::Tcp(TcpFlow {
                streams: data.streams_of_tcp(own, &settings.tcp, one_stream)?,
                controller,
                size: size(settings.tcp.mss)?,
                two_way: two_way.is_some(),
                settings: settings.tcp,
            }));
        }
        self.one_route(kind)?;
        data.one_stream_of_aatp()?;
        if let Some(two_way) = two_way {
            return Err(two_way.fail(format!(
                "`{controller}` runs over AATP, which sends one way only"
            )));
        }
        let settings = settings.aatp();
        // The maximum needs no check: the maxima of `mss` and `header` together fit in an IPv4
        // packet.
        let min = Bytes::new(MIN_PACKET);
        if settings.packet < min {
            return Err(self.fail(format!(
                "an AATP packet (`mss` plus `header`) must be at least {min}, not {}",
                settings.packet
            )));
        }
        Ok(Traffic::Aatp(AatpFlow {
            controller,
            size: size(payload(settings.packet))?,
            priority: data.priority,
            destination: 0,
            settings,
        }))
    }
}

/// Checks `size`. `payload` is the data of a full packet.
fn check_size(written: &Written<Bytes>, payload: Bytes) -> Result<Bytes, ScenarioError> {
    let size = written.value;
    if size.is_zero() {
        return Err(written.fail("must be greater than zero; omit `size` for endless data"));
    }
    if size.get().div_ceil(payload.get()) > MAX_SEGMENTS {
        return Err(written.fail(format!(
            "{size} is more than 2^31 segments of {payload}; write a smaller `size` or a larger \
             `mss`"
        )));
    }
    Ok(size)
}
