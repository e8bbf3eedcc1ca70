//! `[[flow]]`: one or more flows that are written once.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use super::link::LinkForm;
use super::settings;
use crate::network::{OnOff, TcpFlow, TcpSettings, Traffic, UdpFlow};
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Keys of every flow.
pub(super) const SHARED_KEYS: [&str; 7] =
    ["name", "kind", "count", "route", "back", "start", "stop"];
/// Keys of a TCP flow, its settings besides.
pub(super) const TCP_KEYS: [&str; 3] = ["controller", "size", "two_way"];
/// Keys of a UDP flow.
pub(super) const UDP_KEYS: [&str; 5] = ["rate", "packet", "on", "off", "exponential"];

/// The most flows of one run.
const MOST_FLOWS: u64 = 100_000;
/// The most links of one route.
const LONGEST_ROUTE: usize = 64;
/// The most segments of one flow: RFC 9293's sequence numbers compare within half their space.
const MOST_SEGMENTS: u64 = 1 << 31;
/// IPv4 and UDP headers: no datagram is smaller.
const SMALLEST_DATAGRAM: u64 = 28;
/// The largest IPv4 packet.
const LARGEST_DATAGRAM: u64 = 65_535;

/// One `[[flow]]`, as written.
#[derive(Debug, Clone)]
pub(super) struct FlowForm {
    pub name: Option<String>,
    pub count: u32,
    pub route: Vec<Hop>,
    /// The way of the acknowledgments; the route mirrored when `None`.
    pub back: Option<Vec<Hop>>,
    pub start: Drawn,
    pub stop: Option<Drawn>,
    pub traffic: Traffic,
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
            Traffic::Udp(udp) => udp.packet,
        }
    }

    /// What people call these flows when nobody named them.
    pub fn label(&self) -> String {
        match (&self.name, &self.traffic) {
            (Some(name), _) => name.clone(),
            (None, Traffic::Tcp(tcp)) => tcp.controller.to_string(),
            (None, Traffic::Udp(_)) => "udp".to_owned(),
        }
    }
}

/// Reads one `[[flow]]`. `base` are the settings that `[run]` gives to all.
pub(super) fn read(
    fields: &Fields<'_>,
    links: &[LinkForm],
    base: TcpSettings,
) -> Result<FlowForm, ScenarioError> {
    let udp = match fields
        .get("kind")
        .map(|field| field.text().map(|text| (field.clone(), text)))
        .transpose()?
    {
        None | Some((_, "tcp")) => false,
        Some((_, "udp")) => true,
        Some((field, other)) => {
            return Err(field.fail(unknown("kind of flow", other, ["tcp", "udp"].into_iter())));
        }
    };
    check_keys(fields, udp)?;
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
    Ok(FlowForm {
        name: fields
            .get("name")
            .map(|field| field.text().map(str::to_owned))
            .transpose()?,
        count: match fields.get("count") {
            None => 1,
            Some(field) => u32::try_from(field.integer(1..=MOST_FLOWS)?).unwrap_or(u32::MAX),
        },
        route: route(&fields.required("route", "[\"L\"]")?, links)?,
        back: fields
            .get("back")
            .map(|field| route(&field, links))
            .transpose()?,
        start,
        stop,
        traffic: if udp {
            Traffic::Udp(read_udp(fields)?)
        } else {
            Traffic::Tcp(read_tcp(fields, base)?)
        },
    })
}

fn check_keys(fields: &Fields<'_>, udp: bool) -> Result<(), ScenarioError> {
    let tcp: Vec<&str> = TCP_KEYS.into_iter().chain(settings::KEYS).collect();
    let (mine, others, kind) = if udp {
        (&UDP_KEYS[..], &tcp[..], "udp")
    } else {
        (&tcp[..], &UDP_KEYS[..], "tcp")
    };
    if let Some((key, field)) = fields.all().find(|(key, _)| others.contains(key)) {
        let other = if udp { "tcp" } else { "udp" };
        return Err(field.fail(format!(
            "a flow of kind `{kind}` has no `{key}`: that is for kind `{other}`"
        )));
    }
    let known: Vec<&str> = SHARED_KEYS
        .into_iter()
        .chain(mine.iter().copied())
        .collect();
    fields.only(&known)
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

fn read_tcp(fields: &Fields<'_>, base: TcpSettings) -> Result<TcpFlow, ScenarioError> {
    let controller: Spec = match fields.get("controller") {
        Some(field) => field.text()?.parse().map_err(|error| field.fail(error))?,
        // RFC 9438: what most of today's senders run.
        None => "cubic".parse().map_err(|error| fields.fail(error))?,
    };
    let settings = settings::read(fields, base)?;
    let size = match fields.get("size") {
        None => None,
        Some(field) => {
            let size: Bytes = field.parse()?;
            if size.is_zero() {
                return Err(field.fail(
                    "a flow must have something to send; leave `size` out for an endless one",
                ));
            }
            if size.get().div_ceil(settings.mss.get()) > MOST_SEGMENTS {
                return Err(field.fail(format!(
                    "{size} are more than 2^31 segments of {}; write less, or a greater `mss`",
                    settings.mss
                )));
            }
            Some(size)
        }
    };
    let two_way = fields
        .get("two_way")
        .map_or(Ok(false), |field| field.switch())?;
    Ok(TcpFlow {
        controller,
        size,
        two_way,
        settings,
    })
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
