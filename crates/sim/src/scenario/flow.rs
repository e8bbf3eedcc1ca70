//! `[[flow]]`: a group of equal flows.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields, unknown};
use super::kind::{Kind, SHARED_KEYS};
use super::link::Link;
use super::route::{FlowRoute, Hop, one_route, several_routes};
use super::settings::{self, Settings};
use super::streams::{read_count, read_messages};
use super::with::{self, With};
use super::written::{Span, Written};
use crate::network::{Messages, OnOff, UdpFlow};
use whimbrel_cc::{Spec, fairness::Priority};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of flows of one run, over all `[[flow]]`.
pub(super) const MAX_FLOWS: u64 = 100_000;
/// Maximum number of segments of one flow: sequence numbers compare within half their space
/// (RFC 9293 section 3.4).
pub(super) const MAX_SEGMENTS: u64 = 1 << 31;
/// Minimum size of a datagram in bytes: the IPv4 and UDP headers.
const MIN_DATAGRAM: u64 = 28;
/// Maximum size of an IPv4 packet in bytes.
const MAX_DATAGRAM: u64 = 65_535;
/// The default controller: most senders today use CUBIC (RFC 9438).
const DEFAULT_CONTROLLER: &str = "cubic";
/// The default controller of flows of kind `aatp`.
const DEFAULT_AATP_CONTROLLER: &str = "enhanced-aatp";

/// Any number of equal flows as written.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Their name; `None`: that of their controller.
    pub name: Option<String>,
    /// Their number, at most 100,000. 0 is allowed, so that a sweep can begin without them.
    pub count: Written<u32>,
    /// Their route, or several for a multipath connection.
    pub routes: Written<Vec<FlowRoute>>,
    /// When they start; `None`: at once.
    pub start: Option<Written<DrawnTime>>,
    /// When they stop; `None`: at the end of their data or of the run.
    pub stop: Option<DrawnTime>,
    /// What they send.
    pub sends: Sends,
    /// The node that receives them, if they are or could be AATP, by its name in
    /// `[destination.NAME]`. A name that ends in `*` stands for one node per flow.
    pub destination: Option<String>,
    span: Span,
}

/// What a flow sends.
#[derive(Debug, Clone)]
pub enum Sends {
    /// Data over TCP or AATP, whichever can carry its controller.
    Data(Box<Data>),
    /// UDP datagrams.
    Datagrams(UdpFlow),
}

/// Data of a flow with congestion control, as written.
#[derive(Debug, Clone)]
pub struct Data {
    /// The congestion control algorithm.
    pub controller: Written<Spec>,
    /// The transport that the flow insists on; `None`: the one that can carry the controller.
    pub kind: Option<Kind>,
    /// How much each flow sends; `None`: endless.
    pub size: Option<Written<Bytes>>,
    /// The far end sends as much.
    pub two_way: Option<Written<bool>>,
    /// Number of streams; `None`: that with which the algorithm was published.
    pub streams: Option<Written<u32>>,
    /// Messages instead of bulk data.
    pub messages: Option<Written<Messages>>,
    /// Streams that have data take turns; `None`: they do.
    pub interleave: Option<Written<bool>>,
    /// The priority at the destination node, of AATP.
    pub priority: Priority,
    /// The settings; `None`: those of the run.
    pub settings: Option<Settings>,
    /// Settings that override these while the flow has a certain controller.
    pub with: Vec<With>,
}

/// An instant, or a range from which one is drawn uniformly for each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrawnTime {
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl DrawnTime {
    /// Drawn from the first so long part of the run.
    pub fn within(span: Duration) -> Self {
        Self::between(Duration::ZERO, span)
    }

    /// Drawn between two times since the start of the run.
    pub fn between(from: Duration, to: Duration) -> Self {
        Self {
            from: Time::ZERO + from,
            to: Time::ZERO + to,
        }
    }
}

/// The instant, or the range, of a scenario file.
impl From<DrawnTime> for Value {
    fn from(time: DrawnTime) -> Self {
        let at = |time: Time| Self::from(time.since(Time::ZERO));
        match time.from == time.to {
            true => at(time.from),
            false => format!("{} .. {}", at(time.from), at(time.to)).into(),
        }
    }
}

impl Data {
    /// Endless data with this controller.
    pub fn new(controller: Written<Spec>) -> Self {
        Self {
            controller,
            kind: None,
            size: None,
            two_way: None,
            streams: None,
            messages: None,
            interleave: None,
            priority: Priority::LOWEST,
            settings: None,
            with: Vec::new(),
        }
    }
}

impl Flow {
    /// One endless flow over the first link, with this controller.
    pub fn new(controller: Written<Spec>) -> Self {
        Self {
            name: None,
            count: controller.computed(1),
            routes: controller.with(vec![FlowRoute::over(0)]),
            start: None,
            stop: None,
            sends: Sends::Data(Box::new(Data::new(controller))),
            destination: None,
            span: Span::default(),
        }
    }

    /// Its data; `None` if it sends datagrams.
    pub fn data(&self) -> Option<&Data> {
        match &self.sends {
            Sends::Data(data) => Some(data),
            Sends::Datagrams(_) => None,
        }
    }

    /// Its data, to be changed; `None` if it sends datagrams.
    pub fn data_mut(&mut self) -> Option<&mut Data> {
        match &mut self.sends {
            Sends::Data(data) => Some(data),
            Sends::Datagrams(_) => None,
        }
    }

    /// An error about these flows.
    pub(super) fn fail(&self, why: impl std::fmt::Display) -> ScenarioError {
        self.span.fail(why)
    }
}

/// Reads one `[[flow]]`. `base` are the settings from `[run]`.
pub(super) fn read(
    fields: &Fields<'_>,
    links: &[Link],
    base: Settings,
) -> Result<Flow, ScenarioError> {
    let written = fields.get("kind").map(|field| read_kind(&field));
    let written = written.transpose()?;
    let (kind, controller) = match written {
        Some(Kind::Udp) => (Kind::Udp, None),
        _ => {
            let controller = controller(fields, written)?;
            (Kind::of(&controller.value), Some(controller))
        }
    };
    let possible = Kind::possible(written.map(Kind::name));
    check_keys(fields, written.unwrap_or(kind), possible)?;
    let start = fields.read("start", drawn)?;
    let begins = start.as_ref().map_or(Time::ZERO, |start| start.value.to);
    let stop = fields.get("stop").map(|field| drawn(&field)).transpose()?;
    if let Some(stop) = stop.filter(|stop| stop.from <= begins) {
        return Err(fields.fail(format!(
            "the flow could stop ({}) before it starts ({begins})",
            stop.from
        )));
    }
    let routes = match fields.read("routes", |field| several_routes(fields, field, links))? {
        Some(routes) => routes,
        None => {
            let field = fields.required("route", "[\"L\"]")?;
            field.written(vec![one_route(fields, &field, links)?])
        }
    };
    let count = |field: &Field<'_>| {
        let count = field.integer(0..=MAX_FLOWS)?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    };
    Ok(Flow {
        name: fields
            .get("name")
            .map(|field| field.text().map(str::to_owned))
            .transpose()?,
        count: match fields.read("count", count)? {
            Some(count) => count,
            None => routes.computed(1),
        },
        destination: match possible.contains(&Kind::Aatp) {
            true => Some(destination(fields, &routes.value[0].forward, links)?),
            false => None,
        },
        routes,
        start,
        stop,
        sends: match controller {
            None => Sends::Datagrams(read_udp(fields)?),
            Some(controller) => {
                let data = read_data(fields, controller, written, base)?;
                Sends::Data(Box::new(data))
            }
        },
        span: fields.span(),
    })
}

fn read_kind(field: &Field<'_>) -> Result<Kind, ScenarioError> {
    let text = field.text()?;
    Kind::named(text).ok_or_else(|| {
        let known = Kind::ALL.into_iter().map(Kind::name);
        field.fail(unknown("kind of flow", text, known))
    })
}

/// The controller as written, or the default of the written kind.
fn controller(fields: &Fields<'_>, kind: Option<Kind>) -> Result<Written<Spec>, ScenarioError> {
    let read = |field: &Field<'_>| field.text()?.parse().map_err(|error| field.fail(error));
    if let Some(written) = fields.read("controller", read)? {
        return Ok(written);
    }
    let default = match kind {
        Some(Kind::Aatp) => DEFAULT_AATP_CONTROLLER,
        _ => DEFAULT_CONTROLLER,
    };
    Written::parse("controller", default)
}

/// Checks that the flow has only keys of the `possible` kinds; `kind` is the actual one.
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
            "a flow of kind `{}` has no `{key}`: it is a key of kind `{}`",
            kind.name(),
            other.name()
        )));
    }
    fields.only(&known)
}

fn destination(
    fields: &Fields<'_>,
    route: &[Hop],
    links: &[Link],
) -> Result<String, ScenarioError> {
    if let Some(field) = fields.get("destination") {
        let name = field.text()?;
        if name.is_empty() || name.ends_with('*') {
            return Err(field.fail("must not be empty or end in `*`, which marks per-flow copies"));
        }
        return Ok(name.to_owned());
    }
    Ok(usual_destination(route, links))
}

/// The node that flows over a route share if they name none: that of the last link.
pub(super) fn usual_destination(route: &[Hop], links: &[Link]) -> String {
    let last = route.last().map(|hop| {
        let own = if hop.own { "*" } else { "" };
        format!("{}{own}", links[hop.link].name)
    });
    last.unwrap_or_default()
}

/// Reads `"1 s"` or `"0 s .. 5 s"`.
fn drawn(field: &Field<'_>) -> Result<DrawnTime, ScenarioError> {
    let Some((from, to)) = field.text()?.split_once("..") else {
        let at = Time::ZERO + field.parse::<Duration>()?;
        return Ok(DrawnTime { from: at, to: at });
    };
    let instant = |text: &str| {
        text.parse::<Duration>()
            .map(|d| Time::ZERO + d)
            .map_err(|e| field.fail(e))
    };
    let (from, to) = (instant(from)?, instant(to)?);
    if from > to {
        return Err(field.fail(format!("the range {from} .. {to} ends before it begins")));
    }
    Ok(DrawnTime { from, to })
}

/// Reads the keys of data.
fn read_data(
    fields: &Fields<'_>,
    controller: Written<Spec>,
    kind: Option<Kind>,
    base: Settings,
) -> Result<Data, ScenarioError> {
    let settings = settings::read(fields, base)?;
    let priority = match fields.get("priority") {
        None => Priority::LOWEST,
        Some(field) => {
            let (min, max) = (Priority::LOWEST.get(), Priority::HIGHEST.get());
            let n = field.integer(min.into()..=max.into())?;
            let priority = u8::try_from(n).ok().and_then(Priority::new);
            priority.unwrap_or(Priority::HIGHEST)
        }
    };
    Ok(Data {
        controller,
        kind,
        size: fields.read("size", Field::parse)?,
        two_way: fields.read("two_way", Field::switch)?,
        streams: fields.read("streams", read_count)?,
        messages: fields.read("messages", read_messages)?,
        interleave: fields.read("interleave", Field::switch)?,
        priority,
        settings: Some(settings),
        with: with::read(fields, settings)?,
    })
}

fn read_udp(fields: &Fields<'_>) -> Result<UdpFlow, ScenarioError> {
    let field = fields.required("rate", "\"1 Mbit/s\"")?;
    let rate: Rate = field.parse()?;
    let packet = match fields.get("packet") {
        None => Bytes::new(1500),
        Some(field) => {
            let packet: Bytes = field.parse()?;
            if !(MIN_DATAGRAM..=MAX_DATAGRAM).contains(&packet.get()) {
                let (min, max) = (MIN_DATAGRAM, MAX_DATAGRAM);
                return Err(field.fail(format!("must be from {min} B to {max} B, not {packet}")));
            }
            packet
        }
    };
    if rate == Rate::ZERO || rate.time_for(packet).is_zero() {
        return Err(field.fail(format!("packets of {packet} cannot be sent at {rate}")));
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
