//! `wifi` of a link: a Wi-Fi channel that both directions share.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use whimbrel_net::{Aggregation, WifiSpec};
use whimbrel_units::{Duration, Rate};

/// Keys of a Wi-Fi channel.
pub(super) const KEYS: [&str; 9] = [
    "rate",
    "aggregation",
    "longest",
    "frame_loss",
    "rts_cts",
    "aifsn",
    "cw_min",
    "cw_max",
    "retry_limit",
];
/// Minimum and maximum of `longest`. The maximum is the duration that a preamble can announce in
/// the slowest format (aPPDUMaxTime of HT-greenfield frames, IEEE Std 802.11-2016, Table 19-25);
/// the minimum leaves room for a preamble.
const LONGEST: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(10));
/// Maximum contention window that EDCA's parameters can announce, 2^15 - 1 (9.4.2.29).
const MAX_WINDOW: u64 = 32_767;
/// Maximum AIFSN, a field of four bits (9.4.2.29).
const MAX_AIFSN: u64 = 15;

/// Reads `"65 Mbit/s"` or a table.
pub(super) fn read(field: &Field<'_>) -> Result<WifiSpec, ScenarioError> {
    let Value::Table(_) = field.value() else {
        return at(field);
    };
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    let mut wifi = at(&fields.required("rate", "\"65 Mbit/s\"")?)?;
    if let Some(field) = fields.get("aggregation") {
        wifi.aggregation = aggregation(&field)?;
    }
    if let Some(field) = fields.get("longest") {
        wifi.longest = longest(&field)?;
    }
    if let Some(field) = fields.get("frame_loss") {
        wifi.frame_loss = field.parse()?;
    }
    if let Some(field) = fields.get("rts_cts") {
        wifi.rts_cts = field.switch()?;
    }
    wifi.aifsn = number(&fields, "aifsn", wifi.aifsn, 1, MAX_AIFSN)?;
    wifi.cw_min = number(&fields, "cw_min", wifi.cw_min, 0, MAX_WINDOW)?;
    wifi.cw_max = number(&fields, "cw_max", wifi.cw_max, 0, MAX_WINDOW)?;
    wifi.retry_limit = number(&fields, "retry_limit", wifi.retry_limit, 1, 255)?;
    if wifi.cw_max < wifi.cw_min {
        return Err(fields.fail(format!(
            "`cw_max` ({}) must be at least `cw_min` ({})",
            wifi.cw_max, wifi.cw_min
        )));
    }
    Ok(wifi)
}

/// A channel of this rate with the standard's default settings.
fn at(field: &Field<'_>) -> Result<WifiSpec, ScenarioError> {
    let rate: Rate = field.parse()?;
    WifiSpec::at(rate).map_err(|why| field.fail(why))
}

/// Reads true, false, or a table with the limits of one channel access.
fn aggregation(field: &Field<'_>) -> Result<Option<Aggregation>, ScenarioError> {
    let most = Aggregation::MOST;
    match field.value() {
        Value::Switch(on) => Ok(on.then_some(most)),
        Value::Table(_) => {
            let fields = field.fields()?;
            fields.only(&["frames", "bytes"])?;
            Ok(Some(Aggregation {
                frames: number(&fields, "frames", most.frames, 1, most.frames.into())?,
                bytes: number(&fields, "bytes", most.bytes, 1, most.bytes.into())?,
            }))
        }
        other => Err(field.fail(format!(
            "must be true, false or a table, not {}; write e.g. `{{ frames = 16 }}`",
            other.kind()
        ))),
    }
}

fn longest(field: &Field<'_>) -> Result<Duration, ScenarioError> {
    let (min, max) = LONGEST;
    let span: Duration = field.parse()?;
    if (min..=max).contains(&span) {
        return Ok(span);
    }
    Err(field.fail(format!("must be from {min} to {max}, not {span}")))
}

/// A whole number within bounds, or the default.
fn number<T: TryFrom<u64>>(
    fields: &Fields<'_>,
    key: &str,
    default: T,
    min: u64,
    max: u64,
) -> Result<T, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(default);
    };
    let number = field.integer(min..=max)?;
    T::try_from(number).map_err(|_| field.fail(format!("{number} is too large")))
}
