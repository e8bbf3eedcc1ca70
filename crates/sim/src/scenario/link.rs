//! `[link.NAME]`: both directions of a link.

use super::between::read_between;
use super::document::Value;
use super::fields::{Field, Fields, unknown};
use super::generated::Generator;
use super::loss::{self, Loss};
use super::service::{read_delay, read_rate};
use super::traces::Traces;
use super::written::Written;
use super::{ScenarioError, aqm, cellular, low_orbit, wifi, wireless};
use crate::network::Helper;
use whimbrel_net::{AqmSetting, Delay, Queue, Schedule, ServiceSpec, WifiSpec, Wireless};
use whimbrel_units::{Duration, Rate};

/// Keys of one direction.
const DIRECTION: [&str; 5] = ["rate", "delay", "queue", "aqm", "loss"];
/// Keys of a link.
pub(super) const KEYS: [&str; 13] = [
    "between",
    "rate",
    "wifi",
    "wireless",
    "low_orbit",
    "cellular",
    "delay",
    "keep_order",
    "helper",
    "queue",
    "aqm",
    "loss",
    "reverse",
];

/// Both directions of a link as written. What is `None` has its default.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Its name; flows name it in their routes.
    pub name: String,
    /// The nodes at its ends, for a [topology](super::Topology); the simulator needs none.
    pub between: Option<Written<[String; 2]>>,
    /// The written direction. Its values hold in the mirrored direction too, except loss.
    pub forward: Direction,
    /// What differs in the mirrored direction.
    pub reverse: Direction,
    /// A Wi-Fi channel that both directions share, instead of a rate.
    pub wifi: Option<Written<WifiSpec>>,
    /// A radio link described by its distance, instead of a rate.
    pub wireless: Option<Written<Wireless>>,
    /// A generated path that each run draws, instead of a rate, and perhaps of a delay.
    pub generated: Option<Written<Generator>>,
    /// Whether packets keep their order when the delay falls; `None`: if the delay was recorded.
    pub keep_order: Option<Written<bool>>,
    /// A helper at one of its ends; `None`: none.
    pub helper: Option<Written<Helper>>,
}

/// One direction of a link as written.
#[derive(Debug, Clone, Default)]
pub struct Direction {
    /// Its rate; `None`: unlimited.
    pub rate: Option<Written<ServiceSpec>>,
    /// Its propagation delay; `None`: none.
    pub delay: Option<Written<Delay>>,
    /// Its buffer; `None`: unlimited.
    pub queue: Option<Written<Queue>>,
    /// Its queue management; `None`: DropTail.
    pub aqm: Option<Written<AqmSetting>>,
    /// Its losses; `None`: none.
    pub loss: Option<Written<Loss>>,
}

impl Link {
    /// A link without limits.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

/// A constant rate.
///
/// # Errors
/// If it is zero.
pub fn constant_rate(rate: &Written<Rate>) -> Result<Written<ServiceSpec>, ScenarioError> {
    match rate.value {
        Rate::ZERO => Err(rate.fail(super::service::ZERO_RATE)),
        value => Ok(rate.with(ServiceSpec::Rate(Schedule::constant(value)))),
    }
}

/// A constant delay of each direction, from the base RTT of both together.
pub fn half_of(rtt: &Written<Duration>) -> Written<Delay> {
    let half = rtt.computed(rtt.value / 2);
    half.with(Delay::constant(half.value))
}

/// Reads `[link.NAME]`.
pub(super) fn read(
    name: &str,
    field: &Field<'_>,
    traces: &mut Traces,
) -> Result<Link, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    let reverse = match fields.get("reverse") {
        None => Direction::default(),
        Some(field) => {
            let fields = field.fields()?;
            fields.only(&DIRECTION)?;
            direction(&fields, traces)?
        }
    };
    Ok(Link {
        name: name.to_owned(),
        between: fields.read("between", read_between)?,
        forward: direction(&fields, traces)?,
        reverse,
        wifi: fields.read("wifi", wifi::read)?,
        wireless: fields.read("wireless", wireless::read)?,
        generated: generated(&fields)?,
        keep_order: fields.read("keep_order", Field::switch)?,
        helper: fields.read("helper", helper)?,
    })
}

/// Values of `helper`.
const HELPERS: [(&str, Helper); 2] = [("snoop", Helper::Snoop), ("eln", Helper::LossNotification)];

fn helper(field: &Field<'_>) -> Result<Helper, ScenarioError> {
    if let Value::Table(_) = field.value() {
        let fields = field.fields()?;
        fields.only(&["freeze"])?;
        let warning = fields.required("freeze", "\"200 ms\"")?.parse()?;
        return Ok(Helper::Freeze { warning });
    }
    let text = field.text()?;
    let found = HELPERS.iter().find(|(name, _)| *name == text);
    found.map(|(_, helper)| *helper).ok_or_else(|| {
        let known = HELPERS.iter().map(|(name, _)| *name);
        field.fail(unknown("helper", text, known))
    })
}

/// Reads the key of the generated path, of which a link has one at most.
fn generated(fields: &Fields<'_>) -> Result<Option<Written<Generator>>, ScenarioError> {
    let orbit = fields.read("low_orbit", low_orbit::read)?;
    let cellular = fields.read("cellular", cellular::read)?;
    match (orbit, cellular) {
        (Some(_), Some(other)) => Err(other.fail("cannot be combined with `low_orbit`")),
        (orbit, cellular) => Ok(orbit.or(cellular)),
    }
}

fn direction(fields: &Fields<'_>, traces: &mut Traces) -> Result<Direction, ScenarioError> {
    Ok(Direction {
        rate: fields.read("rate", |field| read_rate(field, traces))?,
        delay: fields.read("delay", |field| read_delay(field, traces))?,
        queue: fields.read("queue", Field::parse)?,
        aqm: fields.read("aqm", aqm::read)?,
        loss: fields.read("loss", loss::read)?,
    })
}
