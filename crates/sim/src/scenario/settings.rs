//! The settings of a TCP connection, which may stand in `[run]` for all flows and in a `[[flow]]`, which wins.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use crate::network::{Recovery, TcpSettings};
use whimbrel_units::{Bytes, Duration};

/// Keys of the settings.
pub(super) const KEYS: [&str; 13] = [
    "recovery",
    "mss",
    "header",
    "initial_window",
    "receive_window",
    "ack_every",
    "ack_delay",
    "timestamps",
    "min_rto",
    "max_rto",
    "limited_transmit",
    "tail_loss_probe",
    "pacing",
];

/// RFC 7323 section 2.3: the largest window that scaling can announce.
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);
/// No timer of a connection is longer.
const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// What is written over `base`.
pub(super) fn read(fields: &Fields<'_>, base: TcpSettings) -> Result<TcpSettings, ScenarioError> {
    let mut s = base;
    if let Some(field) = fields.get("recovery") {
        s.recovery = recovery(&field)?;
    }
    // 64: less than any link's; the two together stay within an IPv4 packet of 65,535 bytes.
    s.mss = bytes(fields, "mss", s.mss, 64, 64_000)?;
    s.header = bytes(fields, "header", s.header, 0, 1_000)?;
    s.receive_window = bytes(
        fields,
        "receive_window",
        s.receive_window,
        64,
        LARGEST_WINDOW.get(),
    )?;
    s.initial_window = count(fields, "initial_window", s.initial_window, 100_000)?;
    s.ack_every = count(fields, "ack_every", s.ack_every, 1_000)?;
    s.ack_delay = timer(fields, "ack_delay", s.ack_delay)?;
    s.min_rto = timer(fields, "min_rto", s.min_rto)?;
    s.max_rto = timer(fields, "max_rto", s.max_rto)?;
    s.timestamps = switch(fields, "timestamps", s.timestamps)?;
    s.limited_transmit = switch(fields, "limited_transmit", s.limited_transmit)?;
    s.tail_loss_probe = switch(fields, "tail_loss_probe", s.tail_loss_probe)?;
    s.pacing = gain(fields, "pacing", s.pacing)?;
    if s.min_rto.is_zero() || s.max_rto < s.min_rto {
        return Err(fields.fail(format!(
            "`min_rto` ({}) must be greater than zero and at most `max_rto` ({})",
            s.min_rto, s.max_rto
        )));
    }
    if s.receive_window < s.mss {
        return Err(fields.fail(format!(
            "`receive_window` ({}) must hold at least one segment of `mss` ({})",
            s.receive_window, s.mss
        )));
    }
    Ok(s)
}

fn recovery(field: &Field<'_>) -> Result<Recovery, ScenarioError> {
    match field.text()? {
        "newreno" => Ok(Recovery::NewReno),
        "sack" => Ok(Recovery::Sack),
        "rack" => Ok(Recovery::Rack),
        other => Err(field.fail(unknown(
            "recovery",
            other,
            ["newreno", "sack", "rack"].into_iter(),
        ))),
    }
}

fn bytes(
    fields: &Fields<'_>,
    key: &str,
    base: Bytes,
    least: u64,
    greatest: u64,
) -> Result<Bytes, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let bytes: Bytes = field.parse()?;
    if (least..=greatest).contains(&bytes.get()) {
        return Ok(bytes);
    }
    let (least, greatest) = (Bytes::new(least), Bytes::new(greatest));
    Err(field.fail(format!("must be from {least} to {greatest}, not {bytes}")))
}

fn count(fields: &Fields<'_>, key: &str, base: u32, greatest: u32) -> Result<u32, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let n = field.integer(1..=u64::from(greatest))?;
    Ok(u32::try_from(n).unwrap_or(greatest))
}

fn timer(fields: &Fields<'_>, key: &str, base: Duration) -> Result<Duration, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let span: Duration = field.parse()?;
    if span > LONGEST_TIMER {
        return Err(field.fail(format!("must be at most {LONGEST_TIMER}, not {span}")));
    }
    Ok(span)
}

fn switch(fields: &Fields<'_>, key: &str, base: bool) -> Result<bool, ScenarioError> {
    fields.get(key).map_or(Ok(base), |field| field.switch())
}

/// A multiple of cwnd/srtt; 0 is none.
fn gain(fields: &Fields<'_>, key: &str, base: Option<f64>) -> Result<Option<f64>, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    match field.number()? {
        0.0 => Ok(None),
        gain if (1.0..=10.0).contains(&gain) => Ok(Some(gain)),
        gain => Err(field.fail(format!("must be from 1 to 10, or 0 for none, not {gain}"))),
    }
}
