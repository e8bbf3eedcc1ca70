//! The settings of a connection. `[run]` may set them for all flows; a `[[flow]]` overrides
//! `[run]`.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields, unknown};
use crate::network::{
    AatpSettings, ForgedNacks, Nack, Oracle, PathChoice, Recovery, Sequences, SsthreshFrom,
    TcpSettings,
};
use std::str::FromStr;
use whimbrel_cc::{Growth, SavedPath};
use whimbrel_units::{Bytes, Duration};

/// Keys of the settings of both transports: the sizes of a packet.
pub(super) const PACKET_KEYS: [&str; 2] = ["mss", "header"];
/// Keys of the settings of TCP only.
pub(super) const TCP_KEYS: [&str; 23] = [
    "recovery",
    "initial_window",
    "saved_path",
    "receive_window",
    "ack_every",
    "ack_delay",
    "quick_acks",
    "growth",
    "growth_at_recovery_end",
    "timestamps",
    "min_rto",
    "max_rto",
    "coarse_timer",
    "ssthresh_from",
    "limited_transmit",
    "tail_loss_probe",
    "probes_in_silence",
    "pacing",
    "scheduler",
    "ecn",
    "oracle",
    "nack",
    "forged_nacks",
];
/// Keys of the settings of AATP only.
pub(super) const AATP_KEYS: [&str; 3] = ["timer", "circuit_breaker", "reestimate"];

/// Values of `recovery`.
const RECOVERIES: [(&str, Recovery); 4] = [
    ("newreno", Recovery::NewReno),
    ("sack", Recovery::Sack),
    ("fack", Recovery::Fack),
    ("rack", Recovery::Rack),
];
/// Values of `scheduler`.
const SCHEDULERS: [(&str, PathChoice); 2] =
    [("min-rtt", PathChoice::MinRtt), ("ecf", PathChoice::Ecf)];
/// Values of `growth`.
const GROWTHS: [(&str, Growth); 3] = [
    ("segments", Growth::Segments),
    ("acknowledgments", Growth::Acknowledgments),
    ("fractions", Growth::Fractions),
];
/// Values of `ssthresh_from`.
const SSTHRESH_FROM: [(&str, SsthreshFrom); 2] = [
    ("flight", SsthreshFrom::Flight),
    ("window", SsthreshFrom::Window),
];
/// Values of `oracle`.
const ORACLES: [(&str, Oracle); 4] = [
    ("nothing", Oracle::Nothing),
    ("random", Oracle::Random),
    ("congestion", Oracle::Congestion),
    ("everything", Oracle::Everything),
];
/// Values of `nack`.
const NACKS: [(&str, Nack); 3] = [
    ("off", Nack::Off),
    ("on", Nack::On),
    ("unsuppressed", Nack::Unsuppressed),
];
/// Values of `sequences` in `forged_nacks`.
const SEQUENCES: [(&str, Sequences); 3] = [
    ("random", Sequences::Random),
    ("in-window", Sequences::InWindow),
    ("replayed", Sequences::Replayed),
];
/// Minimum and maximum number of forged NACKs per second.
const FORGED: (f64, f64) = (0.001, 1e6);

/// The maximum window that scaling can announce (RFC 7323 section 2.3).
const MAX_WINDOW: Bytes = Bytes::new(1 << 30);
/// Maximum number of quick acknowledgments in a row.
const MAX_QUICK_ACKS: u64 = 1_000;
/// Maximum of all timers of a connection.
const MAX_TIMER: Duration = Duration::from_secs(3600);

/// Minimum and maximum tick of a coarse timer.
const TICK: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(1));
/// Minimum and maximum resolution of a system's timers.
const TIMER: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));
/// Minimum time after which an AATP sender measures its path again, or stops because it receives
/// nothing. Within a burst neither makes sense.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of both transports: a sweep may choose the transport.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settings {
    /// Those of TCP.
    pub tcp: TcpSettings,
    /// Those of AATP. Its packets are as large on the wire as TCP's, so that comparisons of the two
    /// use the same packets: [`AatpSettings::packet`] is ignored.
    pub aatp: AatpSettings,
}

impl Settings {
    /// The settings of an AATP flow.
    pub(super) fn aatp(&self) -> AatpSettings {
        AatpSettings {
            packet: self.tcp.mss + self.tcp.header,
            ..self.aatp
        }
    }
}

/// All keys of the settings.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    PACKET_KEYS.into_iter().chain(TCP_KEYS).chain(AATP_KEYS)
}

/// Reads the settings; those that are not written are taken from `base`.
pub(super) fn read(fields: &Fields<'_>, base: Settings) -> Result<Settings, ScenarioError> {
    Ok(Settings {
        tcp: read_tcp(fields, base.tcp)?,
        aatp: read_aatp(fields, base.aatp)?,
    })
}

/// The keys in which settings differ from `base`, with their values.
pub(super) fn differences(own: &Settings, base: &Settings) -> Vec<(&'static str, Value)> {
    let off = |time: Option<Duration>| time.map_or_else(|| Value::from("off"), Value::from);
    let values = |s: &Settings| {
        let (t, a) = (&s.tcp, &s.aatp);
        let saved = t
            .saved_path
            .map(|saved| Value::table([("cwnd", saved.cwnd.into()), ("rtt", saved.rtt.into())]));
        let forged = t.forged_nacks.map(|forged| {
            let rate = 1.0 / forged.interval.as_secs_f64();
            let sequences = word(&SEQUENCES, forged.sequences);
            Value::table([("rate", rate.into()), ("sequences", sequences)])
        });
        [
            ("recovery", Some(t.recovery.name().into())),
            ("mss", Some(t.mss.into())),
            ("header", Some(t.header.into())),
            ("initial_window", Some(t.initial_window.into())),
            (
                "saved_path",
                Some(saved.unwrap_or_else(|| Value::from("off"))),
            ),
            ("receive_window", Some(t.receive_window.into())),
            ("ack_every", Some(t.ack_every.into())),
            ("ack_delay", Some(t.ack_delay.into())),
            ("quick_acks", Some(t.quick_acks.into())),
            ("growth", Some(word(&GROWTHS, t.growth))),
            (
                "growth_at_recovery_end",
                Some(t.growth_at_recovery_end.into()),
            ),
            ("timestamps", Some(t.timestamps.into())),
            ("min_rto", Some(t.min_rto.into())),
            ("max_rto", Some(t.max_rto.into())),
            ("coarse_timer", Some(off(t.coarse_timer))),
            ("ssthresh_from", Some(word(&SSTHRESH_FROM, t.ssthresh_from))),
            ("limited_transmit", Some(t.limited_transmit.into())),
            ("tail_loss_probe", Some(t.tail_loss_probe.into())),
            ("probes_in_silence", t.probes_in_silence.map(Value::from)),
            ("pacing", Some(t.pacing.unwrap_or(0.0).into())),
            ("scheduler", Some(word(&SCHEDULERS, t.scheduler))),
            ("ecn", t.ecn.map(Value::from)),
            ("oracle", Some(word(&ORACLES, t.oracle))),
            ("nack", t.nack.map(|nack| word(&NACKS, nack))),
            (
                "forged_nacks",
                Some(forged.unwrap_or_else(|| Value::from("off"))),
            ),
            ("timer", Some(a.timer.into())),
            ("circuit_breaker", Some(off(a.circuit_breaker))),
            ("reestimate", Some(off(a.reestimate))),
        ]
    };
    let pairs = values(own).into_iter().zip(values(base));
    let differs = pairs.filter(|((_, own), (_, base))| {
        own.as_ref().map(Value::toml) != base.as_ref().map(Value::toml)
    });
    differs
        .filter_map(|((key, own), _)| Some((key, own?)))
        .collect()
}

/// The word for a choice.
fn word<T: Copy + PartialEq>(choices: &[(&'static str, T)], choice: T) -> Value {
    let found = choices.iter().find(|(_, other)| *other == choice);
    Value::from(found.map_or("", |(word, _)| *word))
}

impl Recovery {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        let found = RECOVERIES.iter().find(|(_, other)| *other == self);
        found.map_or("", |(name, _)| *name)
    }
}

impl FromStr for Recovery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        choose("recovery", text, &RECOVERIES)
    }
}

fn read_aatp(fields: &Fields<'_>, base: AatpSettings) -> Result<AatpSettings, ScenarioError> {
    let mut s = base;
    if let Some(field) = fields.get("timer") {
        s.timer = span(&field, TIMER.0, TIMER.1, "")?;
    }
    let interval = (MIN_INTERVAL, MAX_TIMER);
    s.circuit_breaker = optional(fields, "circuit_breaker", s.circuit_breaker, interval)?;
    s.reestimate = optional(fields, "reestimate", s.reestimate, interval)?;
    Ok(s)
}

/// A duration from `range.0` to `range.1`, or `"off"`.
fn optional(
    fields: &Fields<'_>,
    key: &str,
    base: Option<Duration>,
    range: (Duration, Duration),
) -> Result<Option<Duration>, ScenarioError> {
    match fields.get(key) {
        None => Ok(base),
        Some(field) if matches!(field.value(), Value::Text(text) if text == "off") => Ok(None),
        Some(field) => span(&field, range.0, range.1, ", or `off`").map(Some),
    }
}

/// A duration within bounds; `or` names an alternative value in the error.
fn span(
    field: &Field<'_>,
    min: Duration,
    max: Duration,
    or: &str,
) -> Result<Duration, ScenarioError> {
    let span: Duration = field.parse()?;
    if (min..=max).contains(&span) {
        return Ok(span);
    }
    Err(field.fail(format!("must be from {min} to {max}{or}, not {span}")))
}

fn read_tcp(fields: &Fields<'_>, base: TcpSettings) -> Result<TcpSettings, ScenarioError> {
    let mut s = base;
    if let Some(field) = fields.get("recovery") {
        s.recovery = one_of(&field, "recovery", &RECOVERIES)?;
    }
    // 64 B is below the minimum of any link; the two maxima together fit in an IPv4 packet of
    // 65,535 bytes.
    s.mss = bytes(fields, "mss", s.mss, 64, 64_000)?;
    s.header = bytes(fields, "header", s.header, 0, 1_000)?;
    s.receive_window = receive_window(fields, s)?;
    s.initial_window = count(fields, "initial_window", s.initial_window, 100_000)?;
    if let Some(field) = fields.get("saved_path") {
        s.saved_path = saved_path(&field)?;
    }
    s.ack_every = count(fields, "ack_every", s.ack_every, 1_000)?;
    s.ack_delay = timer(fields, "ack_delay", s.ack_delay)?;
    if let Some(field) = fields.get("quick_acks") {
        s.quick_acks = u32::try_from(field.integer(0..=MAX_QUICK_ACKS)?).unwrap_or_default();
    }
    if let Some(field) = fields.get("growth") {
        s.growth = one_of(&field, "growth", &GROWTHS)?;
    }
    let at_end = s.growth_at_recovery_end;
    s.growth_at_recovery_end = switch(fields, "growth_at_recovery_end", at_end)?;
    s.min_rto = timer(fields, "min_rto", s.min_rto)?;
    s.max_rto = timer(fields, "max_rto", s.max_rto)?;
    s.coarse_timer = optional(fields, "coarse_timer", s.coarse_timer, TICK)?;
    if let Some(field) = fields.get("ssthresh_from") {
        s.ssthresh_from = one_of(&field, "ssthresh_from", &SSTHRESH_FROM)?;
    }
    s.timestamps = switch(fields, "timestamps", s.timestamps)?;
    s.limited_transmit = switch(fields, "limited_transmit", s.limited_transmit)?;
    s.tail_loss_probe = switch(fields, "tail_loss_probe", s.tail_loss_probe)?;
    if let Some(field) = fields.get("probes_in_silence") {
        s.probes_in_silence = Some(field.switch()?);
    }
    s.pacing = gain(fields, "pacing", s.pacing)?;
    if let Some(field) = fields.get("scheduler") {
        s.scheduler = one_of(&field, "scheduler", &SCHEDULERS)?;
    }
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

/// `receive_window`: a size, or `"20 packets"` of `mss`.
fn receive_window(fields: &Fields<'_>, s: TcpSettings) -> Result<Bytes, ScenarioError> {
    let key = "receive_window";
    let packets = fields.get(key).and_then(|field| match field.value() {
        Value::Text(text) => {
            let count = text
                .strip_suffix(" packets")
                .or(text.strip_suffix(" packet"))?;
            Some((field, count.trim().parse::<u64>()))
        }
        _ => None,
    });
    let Some((field, count)) = packets else {
        return bytes(fields, key, s.receive_window, 64, MAX_WINDOW.get());
    };
    let max = MAX_WINDOW.get() / s.mss.get();
    match count {
        Ok(count) if (1..=max).contains(&count) => Ok(s.mss.times(count)),
        _ => Err(field.fail(format!("must be from 1 to {max} packets of {}", s.mss))),
    }
}

/// One of a few words.
fn one_of<T: Copy>(
    field: &Field<'_>,
    what: &str,
    choices: &[(&'static str, T)],
) -> Result<T, ScenarioError> {
    choose(what, field.text()?, choices).map_err(|why| field.fail(why))
}

fn choose<T: Copy>(what: &str, text: &str, choices: &[(&'static str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names = choices.iter().map(|(name, _)| *name);
        unknown(what, text, names)
    })
}

/// `{ cwnd = "1.5MB", rtt = "600ms" }`, or `"off"`.
fn saved_path(field: &Field<'_>) -> Result<Option<SavedPath>, ScenarioError> {
    if matches!(field.value(), Value::Text(text) if text == "off") {
        return Ok(None);
    }
    let fields = field.fields()?;
    fields.only(&["cwnd", "rtt"])?;
    fields.required("cwnd", "\"1.5MB\"")?;
    let rtt = fields.required("rtt", "\"600ms\"")?;
    Ok(Some(SavedPath {
        cwnd: bytes(&fields, "cwnd", Bytes::ZERO, 1, MAX_WINDOW.get())?,
        rtt: span(&rtt, Duration::from_micros(1), MAX_TIMER, "")?,
    }))
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
            "must be from {} to {} per second, not {per_second}",
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
    min: u64,
    max: u64,
) -> Result<Bytes, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let bytes: Bytes = field.parse()?;
    if (min..=max).contains(&bytes.get()) {
        return Ok(bytes);
    }
    let (min, max) = (Bytes::new(min), Bytes::new(max));
    Err(field.fail(format!("must be from {min} to {max}, not {bytes}")))
}

fn count(fields: &Fields<'_>, key: &str, base: u32, max: u32) -> Result<u32, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let n = field.integer(1..=u64::from(max))?;
    Ok(u32::try_from(n).unwrap_or(max))
}

fn timer(fields: &Fields<'_>, key: &str, base: Duration) -> Result<Duration, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    let span: Duration = field.parse()?;
    if span > MAX_TIMER {
        return Err(field.fail(format!("must be at most {MAX_TIMER}, not {span}")));
    }
    Ok(span)
}

fn switch(fields: &Fields<'_>, key: &str, base: bool) -> Result<bool, ScenarioError> {
    fields.get(key).map_or(Ok(base), |field| field.switch())
}

/// A multiple of cwnd/srtt; 0 turns pacing off.
fn gain(fields: &Fields<'_>, key: &str, base: Option<f64>) -> Result<Option<f64>, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(base);
    };
    match field.number()? {
        0.0 => Ok(None),
        gain if (1.0..=10.0).contains(&gain) => Ok(Some(gain)),
        gain => Err(field.fail(format!(
            "must be from 1 to 10, or 0 for no pacing, not {gain}"
        ))),
    }
}
