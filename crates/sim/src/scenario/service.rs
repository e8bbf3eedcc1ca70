//! `rate` and `delay` of one direction of a link.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields, unknown};
use super::traces::Traces;
use super::written::{Span, Written};
use std::fmt::Display;
use std::str::FromStr;
use whimbrel_net::{Delay, DelayTrace, JitterDistribution, Noise, Schedule, ServiceSpec};
use whimbrel_units::{Duration, Rate, Time};

/// Keys of a delay that repeats, was recorded, or has noise.
pub(super) const DELAY_KEYS: [&str; 7] = [
    "every",
    "steps",
    "trace",
    "base",
    "jitter",
    "distribution",
    "batch",
];
/// Maximum number of steps of a schedule.
const MAX_STEPS: usize = 1_000_000;
/// Why a link has no rate of zero.
pub(super) const ZERO_RATE: &str = "must be greater than zero; for a link that is down for a while \
     write e.g. `loss = { outages = [[\"4 s\", \"5 s\"]] }`";

/// The constant, or the steps, of a scenario file.
impl<T: Copy + Into<Self>> From<&Schedule<T>> for Value {
    fn from(schedule: &Schedule<T>) -> Self {
        let step = |(from, value): &(Time, T)| {
            let from = Self::from(from.since(Time::ZERO));
            Self::list([from, (*value).into()].into_iter())
        };
        match schedule.all() {
            [(_, only)] => (*only).into(),
            all => Self::list(all.iter().map(step)),
        }
    }
}

/// The table of a scenario file, without defaults.
impl From<Noise> for Value {
    fn from(noise: Noise) -> Self {
        let default = Noise::default();
        let mut keys = vec![("base", Self::from(noise.base))];
        for (key, time, default) in [
            ("jitter", noise.jitter, default.jitter),
            ("every", noise.every, default.every),
            ("batch", noise.batch, default.batch),
        ] {
            keys.extend((time != default).then(|| (key, time.into())));
        }
        if noise.distribution != default.distribution {
            let mut all = JitterDistribution::ALL.into_iter();
            let name = all.find(|(_, one)| *one == noise.distribution);
            keys.extend(name.map(|(name, _)| ("distribution", name.into())));
        }
        Self::table(keys)
    }
}

/// A delay that has each of the `steps` for `every`, again and again; `name` is that of the flag or
/// argument that it follows from.
///
/// # Errors
/// If there is no step, or `every` is zero.
pub fn repeated_delay(
    name: &str,
    every: Duration,
    steps: Vec<Duration>,
) -> Result<Written<Delay>, ScenarioError> {
    let fail = |why| Span::named(name).fail(why);
    let source = Value::table([("every", every.into()), ("steps", steps.clone().into())]);
    let steps = DelayTrace::new(steps).map_err(fail)?;
    Ok(Written::new(
        name,
        Delay::cycle(every, steps).map_err(fail)?,
        source,
    ))
}

/// Reads a constant, steps, or `{ trace = "FILE" }`.
pub(super) fn read_rate(
    field: &Field<'_>,
    traces: &mut Traces,
) -> Result<ServiceSpec, ScenarioError> {
    if let Value::Table(_) = field.value() {
        let fields = field.fields()?;
        fields.only(&["trace"])?;
        let trace = fields.required("trace", "\"starlink.down\"")?;
        return Ok(ServiceSpec::Trace(
            traces.rate(&trace.written(trace.text()?))?,
        ));
    }
    let rates: Schedule<Rate> = schedule(field, "8 Mbit/s")?;
    if rates.all().iter().any(|(_, rate)| *rate == Rate::ZERO) {
        return Err(field.fail(ZERO_RATE));
    }
    Ok(ServiceSpec::Rate(rates))
}

/// Reads a constant, steps, `{ every = "15 s", steps = ["25 ms", "40 ms"] }` or
/// `{ every = "10 ms", trace = "FILE" }`.
pub(super) fn read_delay(field: &Field<'_>, traces: &mut Traces) -> Result<Delay, ScenarioError> {
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
        (None, Some(trace)) => Delay::recorded(span, traces.delay(&trace.written(trace.text()?))?),
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
    let default = Noise::default();
    let every = time("every", default.every)?;
    if let Some(field) = fields.get("every").filter(|_| every.is_zero()) {
        return Err(field.fail("must be greater than zero"));
    }
    let distribution = match fields.get("distribution") {
        None => default.distribution,
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
        base: time("base", default.base)?,
        jitter: time("jitter", default.jitter)?,
        distribution,
        every,
        batch: time("batch", default.batch)?,
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
