//! `[link.NAME]`: both directions of a link.

use super::ScenarioError;
use super::aqm::{self, WrittenAqm};
use super::document::{BuiltIn, Document, Value};
use super::fields::{Field, Fields, unknown};
use super::loss::{self, Loss};
use super::low_orbit::LowOrbitForm;
use super::run::RunForm;
use super::{low_orbit, wifi, wireless};
use crate::fnv;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use whimbrel_net::{
    Delay, DelayTrace, JitterDistribution, LinkSpec, Noise, Queue, Schedule, ServiceSpec, Trace,
    TraceError, WifiSpec,
};
use whimbrel_units::{Duration, Rate, Time};

/// Keys of one direction.
const DIRECTION: [&str; 5] = ["rate", "delay", "queue", "aqm", "loss"];
/// Keys of a link.
pub(super) const KEYS: [&str; 10] = [
    "rate",
    "wifi",
    "wireless",
    "low_orbit",
    "delay",
    "keep_order",
    "queue",
    "aqm",
    "loss",
    "reverse",
];
/// Keys of a delay that repeats, was recorded, or has noise.
const DELAY_KEYS: [&str; 7] = [
    "every",
    "steps",
    "trace",
    "base",
    "jitter",
    "distribution",
    "batch",
];
/// How long drawn jitter holds, if `every` is left out: about a frame of a radio.
const JITTER_HOLDS: Duration = Duration::from_millis(5);
/// Maximum size of a trace in bytes: five times that of an hour at 80 Mbit/s.
const MAX_TRACE: u64 = 1 << 28;
/// Maximum number of steps of a schedule.
const MAX_STEPS: usize = 1_000_000;

/// Both directions of a link as written.
#[derive(Debug, Clone)]
pub(super) struct LinkForm {
    pub name: String,
    /// The written direction.
    pub forward: Direction,
    /// The mirrored one.
    pub reverse: Direction,
    /// The channel that both directions share, if it is a Wi-Fi link. The service of the directions
    /// is then the rate of the channel, which is an upper bound.
    pub wifi: Option<WifiSpec>,
    /// If set, each run draws service and delay of both directions; until then they are nominal.
    pub low_orbit: Option<LowOrbitForm>,
}

/// One direction. `spec.queue` and `spec.aqm` are not set until they are resolved, because they may
/// depend on the routes of flows. `spec.loss` is not used: `loss` is, and part of it is drawn for
/// each run.
#[derive(Debug, Clone)]
pub(super) struct Direction {
    pub spec: LinkSpec,
    pub queue: Option<WrittenQueue>,
    pub aqm: Option<WrittenAqm>,
    pub loss: Loss,
}

/// A queue as written, and the error if it needs a rate that the link does not have.
#[derive(Debug, Clone)]
pub(super) struct WrittenQueue {
    pub queue: Queue,
    pub without_rate: ScenarioError,
}

/// Reads `[link.NAME]` of a run.
pub(super) fn read(
    name: &str,
    field: &Field<'_>,
    run: &RunForm,
    traces: &mut Traces,
) -> Result<LinkForm, ScenarioError> {
    let duration = run.duration;
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    // A preset sets the buffers of links that have a rate.
    let preset_queue = match &run.queue {
        Some(node) if fields.get("rate").is_some() => {
            let field = Field::new(node, "queue");
            Some(WrittenQueue {
                queue: field.parse()?,
                without_rate: field.fail(""),
            })
        }
        _ => None,
    };
    let wifi = fields
        .get("wifi")
        .map(|field| wifi::read(&field))
        .transpose()?;
    if let (Some(_), Some(rate)) = (&wifi, fields.get("rate")) {
        return Err(rate.fail("cannot be combined with `wifi`, which sets the rate"));
    }
    let radio = fields
        .get("wireless")
        .map(|field| wireless::read(&field))
        .transpose()?;
    if let (Some(_), Some(other)) = (&radio, fields.get("wifi").or_else(|| fields.get("rate"))) {
        return Err(other.fail("cannot be combined with `wireless`, which sets the rate"));
    }
    let orbit = fields
        .get("low_orbit")
        .map(|field| low_orbit::read(&field, duration))
        .transpose()?;
    if orbit.is_some() {
        let others = ["rate", "wifi", "wireless", "delay", "keep_order"];
        if let Some(other) = others.into_iter().find_map(|key| fields.get(key)) {
            return Err(other.fail("`low_orbit` sets rate and delay; leave this key out"));
        }
    }
    let service = match (&wifi, &radio) {
        (Some(wifi), _) => ServiceSpec::Rate(Schedule::constant(wifi.rate())),
        (None, Some(radio)) => ServiceSpec::Wireless(Arc::new(radio.clone())),
        (None, None) => ServiceSpec::Unlimited,
    };
    // The default delay of a radio link is the propagation time of its signal.
    let propagation = radio.as_ref().map(|radio| radio.spec().propagation());
    let mut nothing = LinkSpec {
        service,
        delay: Delay::constant(propagation.unwrap_or_default()),
        ..LinkSpec::default()
    };
    let nominal = orbit.as_ref().map(LowOrbitForm::nominal);
    if let Some([forward, _]) = &nominal {
        nothing = forward.clone();
    }
    let mut forward = read_direction(
        &fields,
        Direction {
            spec: nothing,
            queue: preset_queue,
            aqm: None,
            loss: Loss::default(),
        },
        wifi.is_some(),
        traces,
    )?;
    if let Some(field) = fields.get("loss") {
        forward.loss = loss::read(&field, &forward.loss, false, duration)?;
    }
    // The reverse direction has the same settings with its own queue. Random loss applies to the
    // written direction only, as in the papers' simulators, unless `reverse.loss` is written (its
    // own losses, or "same").
    let mut reverse = forward.clone();
    reverse.loss = forward.loss.outages_only();
    if let Some(radio) = &radio {
        reverse.spec.service = ServiceSpec::Wireless(Arc::new(radio.mirrored()));
    }
    if let Some([_, backward]) = nominal {
        reverse.spec.service = backward.service;
    }
    if let Some(overrides) = fields.get("reverse") {
        let overrides = overrides.fields()?;
        overrides.only(&DIRECTION)?;
        if let (Some(_), Some(other)) = (
            &orbit,
            overrides.get("rate").or_else(|| overrides.get("delay")),
        ) {
            return Err(
                other.fail("write `reverse_rate` of `low_orbit`; its delay is of both ways")
            );
        }
        if let (Some(_), Some(rate)) = (&wifi, overrides.get("rate")) {
            return Err(rate.fail(
                "both directions of a Wi-Fi link share one channel; set its rate in `wifi`",
            ));
        }
        if let (Some(_), Some(rate)) = (&radio, overrides.get("rate")) {
            return Err(rate
                .fail("both directions of a radio link have the same rate; set it in `wireless`"));
        }
        reverse = read_direction(&overrides, reverse, wifi.is_some(), traces)?;
        if let Some(field) = overrides.get("loss") {
            reverse.loss = match field.value() {
                Value::Text(text) if text == "same" => forward.loss.clone(),
                _ => loss::read(&field, &reverse.loss, true, duration)?,
            };
        }
    }
    if let Some(field) = fields.get("keep_order") {
        let keep = field.switch()?;
        for direction in [&mut forward, &mut reverse] {
            direction.spec.delay = direction.spec.delay.clone().in_order(keep);
        }
    }
    Ok(LinkForm {
        name: name.to_owned(),
        forward,
        reverse,
        wifi,
        low_orbit: orbit,
    })
}

/// Reads one direction except its loss; what is not written is inherited.
fn read_direction(
    fields: &Fields<'_>,
    inherited: Direction,
    wifi: bool,
    traces: &mut Traces,
) -> Result<Direction, ScenarioError> {
    let Direction {
        mut spec,
        mut queue,
        mut aqm,
        loss,
    } = inherited;
    if let Some(field) = fields.get("rate") {
        spec.service = read_service(&field, traces)?;
    }
    if let Some(field) = fields.get("delay") {
        spec.delay = read_delay(&field, traces)?;
    }
    if let Some(field) = fields.get("queue") {
        queue = Some(WrittenQueue {
            queue: field.parse()?,
            without_rate: field.fail(""),
        });
    }
    if let Some(queue) = &mut queue {
        let why = "a queue in `bdp` needs a `rate` of the link; add it, or write the queue in packets or bytes";
        queue.without_rate = fields
            .get("queue")
            .map_or_else(|| fields.fail(why), |field| field.fail(why));
    }
    if let Some(field) = fields.get("aqm") {
        aqm = Some(aqm::read(&field, wifi)?);
    }
    Ok(Direction {
        spec,
        queue,
        aqm,
        loss,
    })
}

fn read_service(field: &Field<'_>, traces: &mut Traces) -> Result<ServiceSpec, ScenarioError> {
    if let Value::Table(_) = field.value() {
        let fields = field.fields()?;
        fields.only(&["trace"])?;
        let trace = fields.required("trace", "\"starlink.down\"")?;
        return Ok(ServiceSpec::Trace(traces.rate(&trace)?));
    }
    let rates: Schedule<Rate> = schedule(field, "8 Mbit/s")?;
    if rates.all().iter().any(|(_, rate)| *rate == Rate::ZERO) {
        return Err(field.fail(
            "must be greater than zero; for a link that is down for a while write e.g. \
             `loss = { outages = [[\"4 s\", \"5 s\"]] }`",
        ));
    }
    Ok(ServiceSpec::Rate(rates))
}

/// Reads a constant, steps, `{ every = "15 s", steps = ["25 ms", "40 ms"] }` or
/// `{ every = "10 ms", trace = "FILE" }`.
fn read_delay(field: &Field<'_>, traces: &mut Traces) -> Result<Delay, ScenarioError> {
    let Value::Table(_) = field.value() else {
        return Ok(Delay::steps(schedule(field, "50 ms")?));
    };
    let fields = field.fields()?;
    fields.only(&DELAY_KEYS)?;
    if fields.get("base").is_some() {
        return noisy(&fields);
    }
    if let Some(other) = DELAY_KEYS[4..].iter().find_map(|key| fields.get(key)) {
        return Err(other.fail("needs `base`, the delay without noise, e.g. `base = \"20 ms\"`"));
    }
    let every = fields.required("every", "\"10 ms\"")?;
    let span = every.parse()?;
    let delay = match (fields.get("steps"), fields.get("trace")) {
        (Some(steps), None) => Delay::cycle(span, repeated_steps(&steps)?),
        (None, Some(trace)) => Delay::recorded(span, traces.delay(&trace)?),
        _ => {
            return Err(field.fail(
                "needs either `steps` that repeat, e.g. `{ every = \"15 s\", steps = [\"25 ms\", \
                 \"40 ms\"] }`, or a recorded `trace`, e.g. `{ every = \"10 ms\", trace = \
                 \"delay.txt\" }`",
            ));
        }
    };
    delay.map_err(|why| every.fail(why))
}

/// Reads `{ base = "20 ms", jitter = "4 ms", distribution = "exponential", every = "5 ms", batch =
/// "10 ms" }`.
fn noisy(fields: &Fields<'_>) -> Result<Delay, ScenarioError> {
    for key in ["steps", "trace"] {
        if let Some(other) = fields.get(key) {
            return Err(other.fail("cannot be combined with `base`"));
        }
    }
    let time = |key: &str, default| {
        let parse = |field: Field<'_>| field.parse::<Duration>();
        fields.get(key).map_or(Ok(default), parse)
    };
    let every = time("every", JITTER_HOLDS)?;
    if let Some(field) = fields.get("every").filter(|_| every.is_zero()) {
        return Err(field.fail("must be greater than zero"));
    }
    let distribution = match fields.get("distribution") {
        None => JitterDistribution::Exponential,
        Some(field) => {
            let text = field.text()?;
            let mut all = JitterDistribution::ALL.into_iter();
            let found = all.find(|(name, _)| *name == text).map(|(_, found)| found);
            found.ok_or_else(|| {
                let names = JitterDistribution::ALL.into_iter().map(|(name, _)| name);
                field.fail(unknown("distribution", text, names))
            })?
        }
    };
    Ok(Delay::noisy(Noise {
        base: time("base", Duration::ZERO)?,
        jitter: time("jitter", Duration::ZERO)?,
        distribution,
        every,
        batch: time("batch", Duration::ZERO)?,
    }))
}

fn repeated_steps(field: &Field<'_>) -> Result<DelayTrace, ScenarioError> {
    let items = field.list()?;
    if items.len() > MAX_STEPS {
        return Err(field.fail(format!("a schedule may have at most {MAX_STEPS} steps")));
    }
    let steps = items.iter().map(Field::parse).collect::<Result<_, _>>()?;
    DelayTrace::new(steps).map_err(|why| field.fail(why))
}

/// Reads a constant, or steps: `[["0 s", "25 ms"], ["5 s", "300 ms"]]`.
fn schedule<T>(field: &Field<'_>, example: &str) -> Result<Schedule<T>, ScenarioError>
where
    T: FromStr + Copy,
    T::Err: Display,
{
    let Value::List(steps) = field.value() else {
        return Ok(Schedule::constant(field.parse()?));
    };
    if steps.len() > MAX_STEPS {
        return Err(field.fail(format!("a schedule may have at most {MAX_STEPS} steps")));
    }
    let step = |step: Field<'_>| {
        let (from, value) = step.pair(&format!("[\"5 s\", \"{example}\"]"))?;
        Ok((time(&from)?, value.parse()?))
    };
    let steps = field
        .list()?
        .into_iter()
        .map(step)
        .collect::<Result<_, ScenarioError>>()?;
    Schedule::steps(steps).map_err(|why| field.fail(why))
}

/// An instant, written as the time since the start of the run.
pub(super) fn time(field: &Field<'_>) -> Result<Time, ScenarioError> {
    Ok(Time::ZERO + field.parse::<Duration>()?)
}

/// The traces read so far, which the points of a sweep share.
#[derive(Debug)]
pub(super) struct Traces {
    folder: PathBuf,
    built_in: BuiltIn,
    rates: HashMap<PathBuf, Arc<Trace>>,
    delays: HashMap<PathBuf, DelayTrace>,
    digest: u64,
}

impl Traces {
    pub fn new(document: &Document) -> Self {
        Self {
            folder: document.folder.clone(),
            built_in: document.built_in,
            rates: HashMap::new(),
            delays: HashMap::new(),
            digest: fnv::EMPTY,
        }
    }

    /// A hash of all texts that were read.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    fn rate(&mut self, field: &Field<'_>) -> Result<Arc<Trace>, ScenarioError> {
        let parse = |text: &str| Trace::parse(text).map(Arc::new);
        let path = self.folder.join(field.text()?);
        let digest = &mut self.digest;
        read_trace(path, self.built_in, &mut self.rates, digest, field, parse)
    }

    fn delay(&mut self, field: &Field<'_>) -> Result<DelayTrace, ScenarioError> {
        let path = self.folder.join(field.text()?);
        read_trace(
            path,
            self.built_in,
            &mut self.delays,
            &mut self.digest,
            field,
            DelayTrace::parse,
        )
    }
}

/// The trace that a field names; reads the file unless it is known.
fn read_trace<T: Clone>(
    path: PathBuf,
    built_in: BuiltIn,
    known: &mut HashMap<PathBuf, T>,
    digest: &mut u64,
    field: &Field<'_>,
    parse: impl Fn(&str) -> Result<T, TraceError>,
) -> Result<T, ScenarioError> {
    if let Some(trace) = known.get(&path) {
        return Ok(trace.clone());
    }
    let text = match built_in(&path) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(trace_on_disk(&path, field)?),
    };
    let trace = parse(&text).map_err(|error| field.fail(format!("{}: {error}", path.display())))?;
    *digest = fnv::continued(*digest, text.as_bytes());
    known.insert(path, trace.clone());
    Ok(trace)
}

fn trace_on_disk(path: &Path, field: &Field<'_>) -> Result<String, ScenarioError> {
    let shown = path.display();
    let unreadable = |error| field.fail(format!("cannot read the trace {shown}: {error}"));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    // A device or a pipe has no end.
    if !about.is_file() {
        return Err(field.fail(format!("the trace {shown} is not a file")));
    }
    if about.len() > MAX_TRACE {
        let largest = MAX_TRACE >> 20;
        return Err(field.fail(format!("the trace {shown} is larger than {largest} MiB")));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}
