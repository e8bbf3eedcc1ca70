//! `[[flow]]`: a group of equal flows.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use super::kind::{Kind, SHARED_KEYS};
use super::limits::MAX_FLOWS;
use super::link::LinkForm;
use super::route::{Hop, RouteForm, one_route, several_routes};
use super::settings::{self, Settings};
use super::{streams, with};
use crate::aatp::{MIN_PACKET, payload};
use crate::network::{AatpFlow, OnOff, TcpFlow, Traffic, UdpFlow};
use whimbrel_cc::{Spec, fairness::Priority, registry::Feed};
use whimbrel_units::{Bytes, Duration, Rate, Time};

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

/// One `[[flow]]` as written.
#[derive(Debug, Clone)]
pub(super) struct FlowForm {
    pub name: Option<String>,
    pub count: u32,
    /// One route; several for a multipath connection.
    pub routes: Vec<RouteForm>,
    pub start: Drawn,
    pub stop: Option<Drawn>,
    /// The `destination` of an AATP flow is 0 until the run is expanded: own copies of links have
    /// nodes of their own.
    pub traffic: Traffic,
    /// The node that receives the flow, if it is or could be AATP, by its name in
    /// `[destination.NAME]`: the written one, or the last link of the route. A name that ends in
    /// `*` stands for one node per flow.
    pub destination: Option<String>,
}

/// An instant, or a range from which one is drawn uniformly for each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawn {
    pub from: Time,
    pub to: Time,
}

impl FlowForm {
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
        self.routes.iter().flat_map(RouteForm::hops)
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

/// Reads one `[[flow]]`. `base` are the settings from `[run]`.
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
            // 0 is allowed so that a sweep can begin without these flows.
            Some(field) => u32::try_from(field.integer(0..=MAX_FLOWS)?).unwrap_or(u32::MAX),
        },
        destination: if possible.contains(&Kind::Aatp) {
            Some(destination(fields, &routes[0].forward, links)?)
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

/// The controller as written, or the default of the written kind.
fn controller(fields: &Fields<'_>, kind: Option<Kind>) -> Result<Spec, ScenarioError> {
    let Some(field) = fields.get("controller") else {
        let default = match kind {
            Some(Kind::Aatp) => DEFAULT_AATP_CONTROLLER,
            _ => DEFAULT_CONTROLLER,
        };
        return default.parse().map_err(|error| fields.fail(error));
    };
    let spec: Spec = field.text()?.parse().map_err(|error| field.fail(error))?;
    let right = Kind::of(&spec);
    if kind.is_some_and(|kind| kind != right) {
        let feed = match spec.entry().feed {
            Feed::Acknowledgments => "acknowledgments",
            Feed::Bursts => "reports about bursts",
        };
        return Err(field.fail(format!(
            "`{spec}` needs {feed}: write `kind = \"{}\"`, or omit `kind`",
            right.name()
        )));
    }
    Ok(spec)
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
    links: &[LinkForm],
) -> Result<String, ScenarioError> {
    if let Some(field) = fields.get("destination") {
        let name = field.text()?;
        if name.is_empty() || name.ends_with('*') {
            return Err(field.fail("must not be empty or end in `*`, which marks per-flow copies"));
        }
        return Ok(name.to_owned());
    }
    let last = route.last().map(|hop| {
        let own = if hop.own { "*" } else { "" };
        format!("{}{own}", links[hop.link].name)
    });
    Ok(last.unwrap_or_default())
}

/// Reads `"1 s"` or `"0 s .. 5 s"`.
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
        return Err(field.fail(format!("the range {from} .. {to} ends before it begins")));
    }
    Ok(Drawn { from, to })
}

/// Reads a TCP or AATP flow, whichever can carry its controller; `several`: it has several routes.
fn read_bulk(
    fields: &Fields<'_>,
    controller: Spec,
    base: Settings,
    several: bool,
) -> Result<Traffic, ScenarioError> {
    let own = settings::read(fields, base)?;
    let with = with::read(fields, &controller, own)?;
    let settings = with.settings;
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
        None => Priority::LOWEST,
        Some(field) => {
            let (min, max) = (Priority::LOWEST.get(), Priority::HIGHEST.get());
            let n = field.integer(min.into()..=max.into())?;
            let priority = u8::try_from(n).ok().and_then(Priority::new);
            priority.unwrap_or(Priority::HIGHEST)
        }
    };
    if Kind::of(&controller) == Kind::Tcp {
        let one_stream = two_way.is_some() || several;
        return Ok(Traffic::Tcp(TcpFlow {
            streams: streams::read(fields, with.streams, &controller, &settings.tcp, one_stream)?,
            controller,
            size: size(settings.tcp.mss)?,
            two_way: two_way.is_some(),
            settings: settings.tcp,
        }));
    }
    streams::refuse(fields, &controller)?;
    if let Some(field) = two_way {
        return Err(field.fail(format!(
            "`{controller}` runs over AATP, which sends one way only"
        )));
    }
    // The maximum needs no check: the maxima of `mss` and `header` together fit in an IPv4 packet.
    let min = Bytes::new(MIN_PACKET);
    if settings.aatp.packet < min {
        return Err(fields.fail(format!(
            "an AATP packet (`mss` plus `header`) must be at least {min}, not {}",
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

/// Reads `size`. `payload` is the data of a full packet.
fn read_size(field: &Field<'_>, payload: Bytes) -> Result<Bytes, ScenarioError> {
    let size: Bytes = field.parse()?;
    if size.is_zero() {
        return Err(field.fail("must be greater than zero; omit `size` for endless data"));
    }
    if size.get().div_ceil(payload.get()) > MAX_SEGMENTS {
        return Err(field.fail(format!(
            "{size} is more than 2^31 segments of {payload}; write a smaller `size` or a larger `mss`"
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
