//! `[[flow]]`: one or more flows that are written once.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use super::link::LinkForm;
use super::settings::{self, Settings};
use super::streams;
use crate::aatp::{SMALLEST_PACKET, payload};
use crate::network::{AatpFlow, OnOff, TcpFlow, Traffic, UdpFlow};
use whimbrel_cc::{Spec, fairness::Priority, registry::Feed};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Keys of every flow.
pub(super) const SHARED_KEYS: [&str; 8] = [
    "name", "kind", "count", "route", "routes", "back", "start", "stop",
];
/// Keys of flows that carry bulk data, TCP and AATP.
const BULK_KEYS: [&str; 2] = ["controller", "size"];
/// Keys of a TCP flow, its settings besides.
const TCP_KEYS: [&str; 4] = ["two_way", "streams", "messages", "interleave"];
/// Keys of an AATP flow, its settings besides.
const AATP_KEYS: [&str; 2] = ["priority", "destination"];
/// Keys of a UDP flow.
const UDP_KEYS: [&str; 5] = ["rate", "packet", "on", "off", "exponential"];

/// The most flows of one run.
const MOST_FLOWS: u64 = 100_000;
/// The most links of one route.
const LONGEST_ROUTE: usize = 64;
/// The most routes of one flow.
const MOST_ROUTES: usize = 8;
/// The most links of all routes of one flow, there and back.
pub(super) const MOST_HOPS: usize = 2 * LONGEST_ROUTE;
/// The most segments of one flow: RFC 9293's sequence numbers compare within half their space.
pub(super) const MOST_SEGMENTS: u64 = 1 << 31;
/// IPv4 and UDP headers: no datagram is smaller.
const SMALLEST_DATAGRAM: u64 = 28;
/// The largest IPv4 packet.
const LARGEST_DATAGRAM: u64 = 65_535;
/// RFC 9438: what most of today's senders run.
const DEFAULT_CONTROLLER: &str = "cubic";
/// The same where AATP is asked for.
const DEFAULT_AATP_CONTROLLER: &str = "enhanced-aatp";

/// What carries a flow's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tcp,
    Aatp,
    Udp,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Tcp, Self::Aatp, Self::Udp];

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Aatp => "aatp",
            Self::Udp => "udp",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kinds that a flow can be whose `kind` is this, if it is written. Left out, the controller decides, which may
    /// be swept: then the keys of both are taken, and each speaks to its own.
    pub fn possible(written: Option<&str>) -> &'static [Self] {
        match written.and_then(Self::named) {
            Some(Self::Tcp) => &[Self::Tcp],
            Some(Self::Aatp) => &[Self::Aatp],
            Some(Self::Udp) => &[Self::Udp],
            None => &[Self::Tcp, Self::Aatp],
        }
    }

    /// Its keys, those of every flow left out.
    pub fn keys(self) -> Vec<&'static str> {
        let (own, settings): (&[&str], &[&str]) = match self {
            Self::Udp => return UDP_KEYS.to_vec(),
            Self::Tcp => (&TCP_KEYS, &settings::TCP_KEYS),
            Self::Aatp => (&AATP_KEYS, &settings::AATP_KEYS),
        };
        let parts = [&BULK_KEYS[..], own, &settings::PACKET_KEYS, settings];
        parts.concat()
    }

    /// Which of the two transports for bulk data can carry an algorithm.
    fn of(controller: &Spec) -> Self {
        match controller.entry().feed {
            Feed::Acknowledgments => Self::Tcp,
            Feed::Bursts => Self::Aatp,
        }
    }
}

/// All keys of all kinds of flows.
pub(super) fn keys() -> Vec<&'static str> {
    let mut all = SHARED_KEYS.to_vec();
    for key in Kind::ALL.into_iter().flat_map(Kind::keys) {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

/// One `[[flow]]`, as written.
#[derive(Debug, Clone)]
pub(super) struct FlowForm {
    pub name: Option<String>,
    pub count: u32,
    /// One, or those of a multipath connection.
    pub routes: Vec<RouteForm>,
    pub start: Drawn,
    pub stop: Option<Drawn>,
    /// An AATP flow's `destination` is 0 until the run is expanded: own copies of links have nodes of their own.
    pub traffic: Traffic,
    /// The node that receives the flow, if it is or could be AATP, as `[destination.NAME]` calls it: the written one, or
    /// the last link of the route. One that ends in `*` is a node for each flow.
    pub destination: Option<String>,
}

/// One route of a flow.
#[derive(Debug, Clone)]
pub(super) struct RouteForm {
    pub there: Vec<Hop>,
    /// The way of the acknowledgments; the route mirrored when `None`.
    pub back: Option<Vec<Hop>>,
}

impl RouteForm {
    /// All that is written of it: there, then back.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.there.iter().chain(self.back.iter().flatten())
    }
}

/// One link of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    /// Its index among the links.
    pub link: usize,
    /// Each flow has its own copy.
    pub own: bool,
}

/// An instant, or a span in which one is drawn evenly for each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawn {
    pub from: Time,
    pub to: Time,
}

impl FlowForm {
    /// Size of its largest packet on the wire.
    pub fn packet(&self) -> Bytes {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.settings.mss + tcp.settings.header,
            Traffic::Aatp(aatp) => aatp.settings.packet,
            Traffic::Udp(udp) => udp.packet,
        }
    }

    /// The streams of one such flow.
    pub fn streams(&self) -> u64 {
        match &self.traffic {
            Traffic::Tcp(tcp) => u64::from(tcp.streams.count),
            Traffic::Aatp(_) | Traffic::Udp(_) => 0,
        }
    }

    /// How many messages of one such flow there are in a run of this length; in the mean, if they are drawn.
    pub fn messages(&self, duration: Duration) -> u64 {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.streams.messages.map_or(0, |messages| {
                let all = duration.as_nanos() / messages.every.as_nanos().max(1) + 1;
                messages.count.map_or(all, |count| all.min(count.into()))
            }),
            Traffic::Aatp(_) | Traffic::Udp(_) => 0,
        }
    }

    /// All hops of all routes, as they are written.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.routes.iter().flat_map(RouteForm::hops)
    }

    /// What people call these flows when nobody named them.
    pub fn label(&self) -> String {
        match (&self.name, &self.traffic) {
            (Some(name), _) => name.clone(),
            (None, Traffic::Tcp(tcp)) => tcp.controller.to_string(),
            (None, Traffic::Aatp(aatp)) => aatp.controller.to_string(),
            (None, Traffic::Udp(_)) => "udp".to_owned(),
        }
    }
}

/// Reads one `[[flow]]`. `base` are the settings that `[run]` gives to all.
pub(super) fn read(
    fields: &Fields<'_>,
    links: &[LinkForm],
    base: Settings,
) -> Result<FlowForm, ScenarioError> {
    let written = fields
        .get("kind")
        .map(|field| written_kind(&field))
        .transpose()?;
    let (kind, controller) = match written {
        Some(Kind::Udp) => (Kind::Udp, None),
        _ => {
            let controller = controller(fields, written)?;
            (Kind::of(&controller), Some(controller))
        }
    };
    let possible = Kind::possible(written.map(Kind::name));
    check_keys(fields, kind, possible)?;
    let start = fields.get("start").map(|field| drawn(&field)).transpose()?;
    let start = start.unwrap_or(Drawn {
        from: Time::ZERO,
        to: Time::ZERO,
    });
    let stop = fields.get("stop").map(|field| drawn(&field)).transpose()?;
    if let Some(stop) = stop.filter(|stop| stop.from <= start.to) {
        return Err(fields.fail(format!(
            "the flow could stop ({}) before it starts ({})",
            stop.from, start.to
        )));
    }
    let routes = match fields.get("routes") {
        Some(field) => several_routes(fields, &field, kind, links)?,
        None => vec![one_route(fields, links)?],
    };
    let several = routes.len() > 1;
    Ok(FlowForm {
        name: fields
            .get("name")
            .map(|field| field.text().map(str::to_owned))
            .transpose()?,
        count: match fields.get("count") {
            None => 1,
            // None: so that a sweep can begin without them.
            Some(field) => u32::try_from(field.integer(0..=MOST_FLOWS)?).unwrap_or(u32::MAX),
        },
        destination: if possible.contains(&Kind::Aatp) {
            Some(destination(fields, &routes[0].there, links)?)
        } else {
            None
        },
        routes,
        start,
        stop,
        traffic: match controller {
            None => Traffic::Udp(read_udp(fields)?),
            Some(controller) => read_bulk(fields, controller, base, several)?,
        },
    })
}

fn written_kind(field: &Field<'_>) -> Result<Kind, ScenarioError> {
    let text = field.text()?;
    Kind::named(text).ok_or_else(|| {
        let known = Kind::ALL.into_iter().map(Kind::name);
        field.fail(unknown("kind of flow", text, known))
    })
}

/// The controller as written, or the usual one of the written kind.
fn controller(fields: &Fields<'_>, kind: Option<Kind>) -> Result<Spec, ScenarioError> {
    let Some(field) = fields.get("controller") else {
        let usual = match kind {
            Some(Kind::Aatp) => DEFAULT_AATP_CONTROLLER,
            _ => DEFAULT_CONTROLLER,
        };
        return usual.parse().map_err(|error| fields.fail(error));
    };
    let spec: Spec = field.text()?.parse().map_err(|error| field.fail(error))?;
    let right = Kind::of(&spec);
    if kind.is_some_and(|kind| kind != right) {
        let feed = match spec.entry().feed {
            Feed::Acknowledgments => "acknowledgments",
            Feed::Bursts => "reports on bursts",
        };
        return Err(field.fail(format!(
            "`{spec}` lives on {feed}: write `kind = \"{}\"`, or leave `kind` out",
            right.name()
        )));
    }
    Ok(spec)
}

/// Checks that no keys stand there but those of the `possible` kinds; `kind` is what the flow is.
fn check_keys(fields: &Fields<'_>, kind: Kind, possible: &[Kind]) -> Result<(), ScenarioError> {
    let mut known = SHARED_KEYS.to_vec();
    known.extend(possible.iter().flat_map(|kind| kind.keys()));
    let other_with = |key: &str| {
        let mut others = Kind::ALL
            .into_iter()
            .filter(|kind| !possible.contains(kind));
        others.find(|kind| kind.keys().contains(&key))
    };
    let wrong = fields
        .all()
        .filter(|(key, _)| !known.contains(key))
        .find_map(|(key, field)| other_with(key).map(|other| (key, field, other)));
    if let Some((key, field, other)) = wrong {
        return Err(field.fail(format!(
            "a flow of kind `{}` has no `{key}`: that is for kind `{}`",
            kind.name(),
            other.name()
        )));
    }
    fields.only(&known)
}

fn destination(
    fields: &Fields<'_>,
    route: &[Hop],
    links: &[LinkForm],
) -> Result<String, ScenarioError> {
    if let Some(field) = fields.get("destination") {
        let name = field.text()?;
        if name.is_empty() || name.ends_with('*') {
            return Err(field.fail(
                "a destination's name must not be empty or end in `*`, which stands for own copies",
            ));
        }
        return Ok(name.to_owned());
    }
    let last = route.last().map(|hop| {
        let own = if hop.own { "*" } else { "" };
        format!("{}{own}", links[hop.link].name)
    });
    Ok(last.unwrap_or_default())
}

/// `route = ["a", "b"]`, and `back`.
fn one_route(fields: &Fields<'_>, links: &[LinkForm]) -> Result<RouteForm, ScenarioError> {
    let there = route(&fields.required("route", "[\"L\"]")?, links)?;
    let back = fields.get("back").map(|field| route(&field, links));
    Ok(RouteForm {
        there,
        back: back.transpose()?,
    })
}

/// `routes = [["a"], ["b"]]`, and `back`, a list of as many.
fn several_routes(
    fields: &Fields<'_>,
    field: &Field<'_>,
    kind: Kind,
    links: &[LinkForm],
) -> Result<Vec<RouteForm>, ScenarioError> {
    if let Some(route) = fields.get("route") {
        return Err(route.fail("a flow has either `route` or `routes`"));
    }
    if kind != Kind::Tcp {
        return Err(field.fail(format!(
            "only a TCP flow can have several routes, and this one is `{}`: write `route`",
            kind.name()
        )));
    }
    if let Some(two_way) = fields.get("two_way")
        && two_way.switch()?
    {
        return Err(two_way.fail("a flow with `routes` sends one way only"));
    }
    let theres = field.list()?;
    if theres.is_empty() || theres.len() > MOST_ROUTES {
        return Err(field.fail(format!(
            "a flow has 1 to {MOST_ROUTES} routes, not {}",
            theres.len()
        )));
    }
    let backs = match fields.get("back") {
        None => vec![None; theres.len()],
        Some(field) => {
            let backs = field.list()?;
            if backs.len() != theres.len() {
                return Err(field.fail(format!(
                    "with `routes` it is a list of as many routes, {}, not {}",
                    theres.len(),
                    backs.len()
                )));
            }
            let read = backs.iter().map(|back| route(back, links).map(Some));
            read.collect::<Result<_, _>>()?
        }
    };
    let read = theres.iter().zip(backs).map(|(there, back)| {
        Ok(RouteForm {
            there: route(there, links)?,
            back,
        })
    });
    let routes: Vec<RouteForm> = read.collect::<Result<_, ScenarioError>>()?;
    let hops = routes.iter().flat_map(RouteForm::hops).count();
    if hops > MOST_HOPS {
        return Err(field.fail(format!(
            "the routes of a flow have together at most {MOST_HOPS} links, not {hops}"
        )));
    }
    Ok(routes)
}

fn route(field: &Field<'_>, links: &[LinkForm]) -> Result<Vec<Hop>, ScenarioError> {
    let hops = field.list()?;
    if hops.is_empty() || hops.len() > LONGEST_ROUTE {
        return Err(field.fail(format!(
            "a route has 1 to {LONGEST_ROUTE} links, not {}",
            hops.len()
        )));
    }
    let hop = |field: Field<'_>| {
        let text = field.text()?;
        let (name, own) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        match links.iter().position(|link| link.name == name) {
            Some(link) => Ok(Hop { link, own }),
            None => Err(field.fail(unknown("link", name, links.iter().map(|l| l.name.as_str())))),
        }
    };
    hops.into_iter().map(hop).collect()
}

/// `"1 s"`, or `"0 s .. 5 s"`.
fn drawn(field: &Field<'_>) -> Result<Drawn, ScenarioError> {
    let Some((from, to)) = field.text()?.split_once("..") else {
        let at = Time::ZERO + field.parse::<Duration>()?;
        return Ok(Drawn { from: at, to: at });
    };
    let instant = |text: &str| {
        text.parse::<Duration>()
            .map(|d| Time::ZERO + d)
            .map_err(|e| field.fail(e))
    };
    let (from, to) = (instant(from)?, instant(to)?);
    if from > to {
        return Err(field.fail(format!(
            "the span from {from} to {to} ends before it begins"
        )));
    }
    Ok(Drawn { from, to })
}

/// A flow of data by the transport that can carry its controller; `several`: over several routes.
fn read_bulk(
    fields: &Fields<'_>,
    controller: Spec,
    base: Settings,
    several: bool,
) -> Result<Traffic, ScenarioError> {
    let settings = settings::read(fields, base)?;
    let size = |payload| {
        fields
            .get("size")
            .map(|field| read_size(&field, payload))
            .transpose()
    };
    let two_way = match fields.get("two_way") {
        None => None,
        Some(field) => field.switch()?.then_some(field),
    };
    let priority = match fields.get("priority") {
        None => Priority::LEAST,
        Some(field) => {
            let (least, greatest) = (Priority::LEAST.get(), Priority::GREATEST.get());
            let n = field.integer(least.into()..=greatest.into())?;
            let priority = u8::try_from(n).ok().and_then(Priority::new);
            priority.unwrap_or(Priority::GREATEST)
        }
    };
    if Kind::of(&controller) == Kind::Tcp {
        let one_stream = two_way.is_some() || several;
        return Ok(Traffic::Tcp(TcpFlow {
            streams: streams::read(fields, &controller, &settings.tcp, one_stream)?,
            controller,
            size: size(settings.tcp.mss)?,
            two_way: two_way.is_some(),
            settings: settings.tcp,
        }));
    }
    streams::refuse(fields, &controller)?;
    if let Some(field) = two_way {
        return Err(field.fail(format!(
            "`{controller}` is carried by AATP, which sends one way only"
        )));
    }
    // The greatest mss and header together are within an IPv4 packet.
    let least = Bytes::new(SMALLEST_PACKET);
    if settings.aatp.packet < least {
        return Err(fields.fail(format!(
            "an AATP packet (`mss` and `header`) must be at least {least}, not {}",
            settings.aatp.packet
        )));
    }
    Ok(Traffic::Aatp(AatpFlow {
        controller,
        size: size(payload(settings.aatp.packet))?,
        priority,
        destination: 0,
        settings: settings.aatp,
    }))
}

/// `payload` is what a full packet carries.
fn read_size(field: &Field<'_>, payload: Bytes) -> Result<Bytes, ScenarioError> {
    let size: Bytes = field.parse()?;
    if size.is_zero() {
        return Err(
            field.fail("a flow must have something to send; leave `size` out for an endless one")
        );
    }
    if size.get().div_ceil(payload.get()) > MOST_SEGMENTS {
        return Err(field.fail(format!(
            "{size} are more than 2^31 segments of {payload}; write less, or a greater `mss`"
        )));
    }
    Ok(size)
}

fn read_udp(fields: &Fields<'_>) -> Result<UdpFlow, ScenarioError> {
    let field = fields.required("rate", "\"1 Mbit/s\"")?;
    let rate: Rate = field.parse()?;
    let packet = match fields.get("packet") {
        None => Bytes::new(1500),
        Some(field) => {
            let packet: Bytes = field.parse()?;
            if !(SMALLEST_DATAGRAM..=LARGEST_DATAGRAM).contains(&packet.get()) {
                let (least, greatest) = (SMALLEST_DATAGRAM, LARGEST_DATAGRAM);
                return Err(field.fail(format!(
                    "must be from {least} B to {greatest} B, not {packet}"
                )));
            }
            packet
        }
    };
    if rate == Rate::ZERO || rate.time_for(packet).is_zero() {
        return Err(field.fail(format!(
            "{rate} is no rate at which packets of {packet} can be sent"
        )));
    }
    let on_off = match (fields.get("on"), fields.get("off")) {
        (Some(on), Some(off)) => {
            let (on, off): (Duration, Duration) = (on.parse()?, off.parse()?);
            if on.is_zero() || off.is_zero() {
                return Err(fields.fail("`on` and `off` must be greater than zero"));
            }
            let exponential = fields
                .get("exponential")
                .map_or(Ok(false), |field| field.switch())?;
            Some(OnOff {
                on,
                off,
                exponential,
            })
        }
        (None, None) if fields.get("exponential").is_none() => None,
        _ => return Err(fields.fail("a flow that sends in bursts needs both `on` and `off`")),
    };
    Ok(UdpFlow {
        rate,
        packet,
        on_off,
    })
}
