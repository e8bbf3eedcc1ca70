//! The settings of a connection, which may stand in `[run]` for all flows and in a `[[flow]]`, which wins.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields, unknown};
use crate::network::{AatpSettings, ForgedNacks, Nack, Oracle, Recovery, Sequences, TcpSettings};
use whimbrel_units::{Bytes, Duration};

/// Keys of the settings that both transports have: what a packet holds.
pub(super) const PACKET_KEYS: [&str; 2] = ["mss", "header"];
/// Keys of the settings that only TCP has.
pub(super) const TCP_KEYS: [&str; 15] = [
    "recovery",
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
    "ecn",
    "oracle",
    "nack",
    "forged_nacks",
];
/// Keys of the settings that only AATP has.
pub(super) const AATP_KEYS: [&str; 3] = ["timer", "circuit_breaker", "reestimate"];

/// The ways of recovery, as people write them.
const RECOVERIES: [(&str, Recovery); 3] = [
    ("newreno", Recovery::NewReno),
    ("sack", Recovery::Sack),
    ("rack", Recovery::Rack),
];
/// What an oracle may tell, as people write it.
const ORACLES: [(&str, Oracle); 4] = [
    ("nothing", Oracle::Nothing),
    ("random", Oracle::Random),
    ("congestion", Oracle::Congestion),
    ("everything", Oracle::Everything),
];
/// What is done about corrupted segments, as people write it.
const NACKS: [(&str, Nack); 3] = [
    ("off", Nack::Off),
    ("on", Nack::On),
    ("unsuppressed", Nack::Unsuppressed),
];
/// Which segments forged NACKs name, as people write it.
const SEQUENCES: [(&str, Sequences); 3] = [
    ("random", Sequences::Random),
    ("in-window", Sequences::InWindow),
    ("replayed", Sequences::Replayed),
];
/// The least and the greatest number of forged NACKs in a second.
const FORGED: (f64, f64) = (0.001, 1e6);

/// RFC 7323 section 2.3: the largest window that scaling can announce.
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);
/// No timer of a connection is longer.
const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// Least and greatest resolution of a system's timers.
const TIMER: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));
/// The least time after which an AATP sender measures its path again, or stops because it hears nothing. Within a
/// burst neither has a meaning.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of a connection of either transport: which one it is may be swept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settings {
    pub tcp: TcpSettings,
    pub aatp: AatpSettings,
}

/// All keys of the settings.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    PACKET_KEYS.into_iter().chain(TCP_KEYS).chain(AATP_KEYS)
}

/// What is written over `base`. AATP's packets are as large on the wire as TCP's, so that a comparison of the two
/// compares what they do with the same packets.
pub(super) fn read(fields: &Fields<'_>, base: Settings) -> Result<Settings, ScenarioError> {
    let tcp = read_tcp(fields, base.tcp)?;
    let aatp = AatpSettings {
        packet: tcp.mss + tcp.header,
        ..read_aatp(fields, base.aatp)?
    };
    Ok(Settings { tcp, aatp })
}

fn read_aatp(fields: &Fields<'_>, base: AatpSettings) -> Result<AatpSettings, ScenarioError> {
    let mut s = base;
    if let Some(field) = fields.get("timer") {
        s.timer = span(&field, TIMER.0, TIMER.1, "")?;
    }
    s.circuit_breaker = optional(fields, "circuit_breaker", s.circuit_breaker)?;
    s.reestimate = optional(fields, "reestimate", s.reestimate)?;
    Ok(s)
}

/// A span of time, or `"off"`.
fn optional(
    fields: &Fields<'_>,
    key: &str,
    base: Option<Duration>,
) -> Result<Option<Duration>, ScenarioError> {
    match fields.get(key) {
        None => Ok(base),
        Some(field) if matches!(field.value(), Value::Text(text) if text == "off") => Ok(None),
        Some(field) => span(&field, SHORTEST_INTERVAL, LONGEST_TIMER, ", or `off`").map(Some),
    }
}

/// A span of time within bounds; `or` is what else could be written.
fn span(
    field: &Field<'_>,
    least: Duration,
    greatest: Duration,
    or: &str,
) -> Result<Duration, ScenarioError> {
    let span: Duration = field.parse()?;
    if (least..=greatest).contains(&span) {
        return Ok(span);
    }
    Err(field.fail(format!(
        "must be from {least} to {greatest}{or}, not {span}"
    )))
}

fn read_tcp(fields: &Fields<'_>, base: TcpSettings) -> Result<TcpSettings, ScenarioError> {
    let mut s = base;
    if let Some(field) = fields.get("recovery") {
        s.recovery = one_of(&field, "recovery", &RECOVERIES)?;
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
    if let Some(field) = fields.get("ecn") {
        s.ecn = Some(field.switch()?);
    }
    if let Some(field) = fields.get("oracle") {
        s.oracle = one_of(&field, "oracle", &ORACLES)?;
    }
    if let Some(field) = fields.get("nack") {
        s.nack = Some(one_of(&field, "nack", &NACKS)?);
    }
    if let Some(field) = fields.get("forged_nacks") {
        s.forged_nacks = forged_nacks(&field)?;
    }
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

/// What people write for one of a few choices.
fn one_of<T: Copy>(
    field: &Field<'_>,
    what: &str,
    choices: &[(&'static str, T)],
) -> Result<T, ScenarioError> {
    let text = field.text()?;
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names = choices.iter().map(|(name, _)| *name);
        field.fail(unknown(what, text, names))
    })
}

/// `{ rate = 1000, sequences = "in-window" }`, or `"off"`.
fn forged_nacks(field: &Field<'_>) -> Result<Option<ForgedNacks>, ScenarioError> {
    if matches!(field.value(), Value::Text(text) if text == "off") {
        return Ok(None);
    }
    let fields = field.fields()?;
    fields.only(&["rate", "sequences"])?;
    let rate = fields.required("rate", "1000")?;
    let per_second = rate.number()?;
    if !(FORGED.0..=FORGED.1).contains(&per_second) {
        return Err(rate.fail(format!(
            "must be from {} to {} in a second, not {per_second}",
            FORGED.0, FORGED.1
        )));
    }
    let sequences = match fields.get("sequences") {
        None => Sequences::InWindow,
        Some(field) => one_of(&field, "kind of sequence", &SEQUENCES)?,
    };
    Ok(Some(ForgedNacks {
        interval: Duration::from_secs_f64(1.0 / per_second),
        sequences,
    }))
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
