//! `wireless` of a link: a radio link described by its distance.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use std::fmt::Display;
use std::str::FromStr;
use whimbrel_net::{AckTimeout, Channelization, RadioRate, Standard, Wireless, WirelessSpec};
use whimbrel_units::{Decibels, Distance, Duration, Frequency, Power, Probability};

/// Keys of a radio link of any standard.
pub(super) const KEYS: [&str; 22] = [
    "standard",
    "distance",
    "rate",
    "target",
    "retries",
    "deliver_corrupted",
    "power",
    "reverse_power",
    "gain",
    "loss",
    "noise_figure",
    "frequency",
    "exponent",
    "reference",
    "shadowing",
    "coherence",
    "ack_timeout",
    "width",
    "guard",
    "frame",
    "share",
    "overhead",
];
/// Keys of 802.11 only.
const DOT11: [&str; 1] = ["ack_timeout"];
/// Keys of 802.16 only.
const DOT16: [&str; 5] = ["width", "guard", "frame", "share", "overhead"];

/// Maximum distance in metres: half the earth's circumference.
const MAX_METRES: f64 = 20_000_000.0;
/// Maximum of gains, losses and powers in dB: greater values are typing errors.
const MAX_DB: f64 = 200.0;
/// Maximum of shadowing in dB: Rappaport's greatest value is 14 dB.
const MAX_SHADOWING: f64 = 40.0;

/// Reads a table with at least `standard` and `distance`.
pub(super) fn read(field: &Field<'_>) -> Result<Wireless, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    let standard = fields
        .required("standard", "\"802.11g\"")?
        .parse::<Standard>()?;
    let other: &[&str] = if standard.is_dot11() { &DOT16 } else { &DOT11 };
    if let Some(field) = other.iter().find_map(|key| fields.get(key)) {
        return Err(field.fail(format!("not a setting of {standard}")));
    }
    let metres = |m| Distance::from_metres(m);
    let (min, max) = (metres(0.0), metres(MAX_METRES));
    let distance = fields.required("distance", "\"150 m\"")?;
    let mut spec = WirelessSpec::new(standard, bounded(&distance, min, max)?);

    spec.rate = rate(&fields, spec.rate)?;
    if let Some(field) = fields.get("retries") {
        spec.retries = u32::try_from(field.integer(0..=255)?).unwrap_or(u32::MAX);
    }
    if let Some(field) = fields.get("deliver_corrupted") {
        spec.deliver_corrupted = field.parse()?;
    }
    let dbm = Power::from_dbm;
    let powers = (dbm(-MAX_DB), dbm(MAX_DB));
    spec.power = within(&fields, "power", spec.power, powers)?;
    spec.reverse_power = within(&fields, "reverse_power", spec.power, powers)?;
    let ratios = (Decibels::new(-MAX_DB), Decibels::new(MAX_DB));
    spec.gain = within(&fields, "gain", spec.gain, ratios)?;
    spec.loss = within(&fields, "loss", spec.loss, ratios)?;
    spec.noise_figure = within(&fields, "noise_figure", spec.noise_figure, ratios)?;
    let hertz = |hz| Frequency::from_hertz(hz);
    spec.frequency = within(
        &fields,
        "frequency",
        spec.frequency,
        (hertz(1e8), hertz(1e11)),
    )?;
    if let Some(field) = fields.get("exponent") {
        let exponent = field.number()?;
        if !(1.0..=10.0).contains(&exponent) {
            return Err(field.fail(format!("must be from 1 to 10, not {exponent}")));
        }
        spec.exponent = exponent;
    }
    spec.reference = within(&fields, "reference", spec.reference, (metres(0.01), max))?;
    let spread = (Decibels::new(0.0), Decibels::new(MAX_SHADOWING));
    spec.shadowing = within(&fields, "shadowing", spec.shadowing, spread)?;
    if let Some(field) = fields.get("coherence") {
        // A shorter time would be fading within a frame, which is not modelled.
        let (min, longest) = (Duration::from_millis(1), Duration::from_secs(1_000_000));
        spec.coherence = Some(bounded(&field, min, longest)?);
    }
    if let Some(field) = fields.get("ack_timeout") {
        spec.ack_timeout = ack_timeout(&field)?;
    }
    if !standard.is_dot11() {
        dot16(&fields, &mut spec)?;
    }
    Wireless::new(spec).map_err(|why| {
        let rate = fields.get("rate");
        rate.map_or_else(|| field.fail(&why), |rate| rate.fail(&why))
    })
}

/// Reads `"auto"` or a rate of the standard; `target` belongs to `"auto"`.
fn rate(fields: &Fields<'_>, default: RadioRate) -> Result<RadioRate, ScenarioError> {
    let target = fields.get("target");
    match fields.get("rate") {
        Some(field) if !matches!(field.value(), Value::Text(text) if text == "auto") => {
            match target {
                Some(target) => Err(target.fail("needs `rate = \"auto\"`")),
                None => Ok(RadioRate::Fixed(field.parse()?)),
            }
        }
        _ => match target {
            Some(target) => Ok(RadioRate::Auto(target.parse()?)),
            None => Ok(default),
        },
    }
}

fn ack_timeout(field: &Field<'_>) -> Result<AckTimeout, ScenarioError> {
    match field.text()? {
        "standard" => Ok(AckTimeout::Standard),
        "adjusted" => Ok(AckTimeout::Adjusted),
        other => Err(field.fail(format!(
            "must be \"standard\" or \"adjusted\", not \"{other}\""
        ))),
    }
}

/// Reads the keys of 802.16 only.
fn dot16(fields: &Fields<'_>, spec: &mut WirelessSpec) -> Result<(), ScenarioError> {
    let hertz = |hz| Frequency::from_hertz(hz);
    let Channelization { width, guard } = spec.channel;
    spec.channel.width = within(fields, "width", width, (hertz(1.25e6), hertz(28e6)))?;
    spec.channel.guard = match fields.get("guard") {
        None => guard,
        Some(field) => match field.text()? {
            "1/4" => 4,
            "1/8" => 8,
            "1/16" => 16,
            "1/32" => 32,
            other => {
                return Err(field.fail(format!(
                    "must be \"1/4\", \"1/8\", \"1/16\" or \"1/32\", not \"{other}\""
                )));
            }
        },
    };
    let ms = Duration::from_millis;
    spec.frame = within(fields, "frame", spec.frame, (ms(1), ms(100)))?;
    let percent = |n: u8| Probability::new(f64::from(n) / 100.0).unwrap_or_default();
    spec.share = within(fields, "share", spec.share, (percent(1), percent(99)))?;
    spec.overhead = within(fields, "overhead", spec.overhead, (percent(0), percent(90)))?;
    Ok(())
}

/// The value of a key within bounds, or the default.
fn within<T>(
    fields: &Fields<'_>,
    key: &str,
    default: T,
    (min, max): (T, T),
) -> Result<T, ScenarioError>
where
    T: FromStr + PartialOrd + Display,
    T::Err: Display,
{
    match fields.get(key) {
        Some(field) => bounded(&field, min, max),
        None => Ok(default),
    }
}

fn bounded<T>(field: &Field<'_>, min: T, max: T) -> Result<T, ScenarioError>
where
    T: FromStr + PartialOrd + Display,
    T::Err: Display,
{
    let value: T = field.parse()?;
    if value >= min && value <= max {
        return Ok(value);
    }
    Err(field.fail(format!("must be from {min} to {max}, not {value}")))
}

#[cfg(test)]
mod tests {
    use crate::network::Network;
    use crate::scenario::Scenario;
    use std::path::Path;
    use whimbrel_net::{AckTimeout, Delay, RadioRate, ServiceSpec, Wireless, WirelessSpec};
    use whimbrel_units::{Distance, Duration, Power, Probability, Rate};

    fn scenario(wireless: &str, more: &str) -> Result<Scenario, String> {
        let text = format!(
            "[link.air]\nwireless = {wireless}\n{more}\n[[flow]]\nroute = [\"air\"]\n\
             [[flow]]\nroute = [\"air*\"]\n"
        );
        Scenario::parse(&text, Path::new("s.toml")).map_err(|error| error.to_string())
    }

    fn network(wireless: &str, more: &str, seed: u64) -> Network {
        scenario(wireless, more).expect("a scenario").points()[0].network(seed)
    }

    /// The radios of all links of the network.
    fn radios(network: &Network) -> Vec<&Wireless> {
        let radio = |service: &'_ ServiceSpec| matches!(service, ServiceSpec::Wireless(_));
        let services = network.links.iter().map(|link| &link.spec.service);
        services
            .filter(|service| radio(service))
            .map(|service| match service {
                ServiceSpec::Wireless(radio) => &**radio,
                _ => unreachable!("filtered"),
            })
            .collect()
    }

    const MINIMAL: &str = "{ standard = \"802.11g\", distance = \"150 m\" }";

    #[test]
    fn a_radio_link_needs_only_a_standard_and_a_distance() {
        let network = network(MINIMAL, "", 1);
        let radio = radios(&network)[0];
        let default = WirelessSpec::new(
            "802.11g".parse().expect("a standard"),
            Distance::from_metres(150.0),
        );
        assert_eq!(*radio.spec(), default);
        // 150 m at the speed of light: 500.3 ns.
        let delay = &network.links[0].spec.delay;
        assert_eq!(*delay, Delay::constant(Duration::from_nanos(500)));
    }

    #[test]
    fn every_key_can_be_set() {
        let network = network(
            "{ standard = \"802.16\", distance = \"92 km\", rate = \"8.4 Mbit/s\", retries = 2, \
             deliver_corrupted = \"30 %\", power = \"25 dBm\", reverse_power = \"20 dBm\", gain = \"48 dBi\", loss = \"3 dB\", \
             noise_figure = \"5 dB\", frequency = \"5.8 GHz\", exponent = 2, reference = \"10 m\", shadowing = \"4 dB\", \
             coherence = \"10 s\", width = \"10 MHz\", guard = \"1/32\", frame = \"2.5 ms\", share = \"70 %\", overhead = \"10 %\" }",
            "delay = \"1 ms\"",
            1,
        );
        let spec = radios(&network)[0].spec();
        assert_eq!(
            spec.rate,
            RadioRate::Fixed(Rate::from_bits_per_sec(8_400_000))
        );
        assert_eq!(spec.reverse_power, Power::from_dbm(20.0));
        assert_eq!((spec.retries, spec.channel.guard), (2, 32));
        assert_eq!(spec.coherence, Some(Duration::from_secs(10)));
        assert_eq!(spec.share, Probability::new(0.7).expect("a share"));
        let delay = &network.links[0].spec.delay;
        assert_eq!(*delay, Delay::constant(Duration::from_millis(1)));
        let auto = super::tests::network(
            "{ standard = \"802.11b\", distance = \"5 km\", rate = \"auto\", target = \"1 %\", ack_timeout = \"standard\" }",
            "",
            1,
        );
        let spec = radios(&auto)[0].spec();
        assert_eq!(spec.ack_timeout, AckTimeout::Standard);
        assert_eq!(
            spec.rate,
            RadioRate::Auto(Probability::new(0.01).expect("a share"))
        );
    }

    #[test]
    fn both_directions_share_the_shadowing_of_a_link_and_run() {
        let shadowed = MINIMAL.replace(" }", ", shadowing = \"8 dB\" }");
        let of = |seed| network(&shadowed, "", seed);
        let one = of(1);
        let [there, back, own, own_back] = radios(&one)[..] else {
            panic!("two links of two directions");
        };
        assert_eq!((&there.mirrored(), &own.mirrored()), (back, own_back));
        assert_ne!(there, own);
        assert_ne!(there, radios(&of(2))[0]);
        assert_eq!(there, radios(&of(1))[0]);
    }

    #[test]
    fn bdp_queues_and_the_capacity_use_the_rate_of_the_radio() {
        // 54 Mbit/s at 10 m: 1500 bytes every 393.5 us plus 66 ns of propagation both ways give
        // 30.490 Mbit/s.
        let near = MINIMAL.replace("150", "10");
        let scenario = scenario(&near, "delay = \"10 ms\"\nqueue = \"1 bdp\"").expect("one");
        let rate = scenario.points()[0].capacity().expect("a limit");
        // Two flows, one of them on a copy of the link.
        assert_eq!(rate.as_bits_per_sec() / 2_000_000, 30);
        let queue = scenario.points()[0].network(1).links[0].spec.queue;
        let bdp = Rate::from_bits_per_sec(30_490_400).bytes_in(Duration::from_millis(20));
        assert_eq!(queue, whimbrel_net::QueueLimit::Bytes(bdp));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let with = |more: &str| MINIMAL.replace(" }", &format!(", {more} }}"));
        let cases = [
            (
                "{ distance = \"1 m\" }".to_owned(),
                "",
                "s.toml:2: link.air.wireless: `standard` is missing; write e.g. `standard = \"802.11g\"`",
            ),
            (
                "{ standard = \"802.11g\" }".to_owned(),
                "",
                "s.toml:2: link.air.wireless: `distance` is missing; write e.g. `distance = \"150 m\"`",
            ),
            (
                MINIMAL.replace("150 m", "150 mi"),
                "",
                "s.toml:2: link.air.wireless.distance: `150 mi` is not a distance: unknown unit `mi`, did you mean `m`?; \
                 write e.g. `150 m`",
            ),
            (
                MINIMAL.replace("150 m", "30000 km"),
                "",
                "s.toml:2: link.air.wireless.distance: must be from 0 m to 20000 km, not 30000 km",
            ),
            (
                with("rate = \"11 Mbit/s\""),
                "",
                "s.toml:2: link.air.wireless.rate: 802.11g has no rate of 11 Mbit/s; it has 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s",
            ),
            (
                with("rate = \"54 Mbit/s\", target = \"1 %\""),
                "",
                "s.toml:2: link.air.wireless.target: needs `rate = \"auto\"`",
            ),
            (
                with("frame = \"5 ms\""),
                "",
                "s.toml:2: link.air.wireless.frame: not a setting of 802.11g",
            ),
            (
                with("ack_timeout = \"long\""),
                "",
                "s.toml:2: link.air.wireless.ack_timeout: must be \"standard\" or \"adjusted\", not \"long\"",
            ),
            (
                with("shadowing = \"-1 dB\""),
                "",
                "s.toml:2: link.air.wireless.shadowing: must be from 0 dB to 40 dB, not -1 dB",
            ),
            (
                with("exponent = 0"),
                "",
                "s.toml:2: link.air.wireless.exponent: must be from 1 to 10, not 0",
            ),
            (
                with("powr = \"1 dBm\""),
                "",
                "s.toml:2: link.air.wireless: unknown key `powr`, did you mean `power`?",
            ),
            (
                MINIMAL.to_owned(),
                "rate = \"1 Mbit/s\"",
                "s.toml:3: link.air.rate: cannot be combined with `wireless`, which sets the rate",
            ),
            (
                MINIMAL.to_owned(),
                "reverse = { rate = \"1 Mbit/s\" }",
                "s.toml:3: link.air.reverse.rate: both directions of a radio link have the same rate; set it in `wireless`",
            ),
            (
                MINIMAL
                    .replace("802.11g", "802.16")
                    .replace(" }", ", guard = \"1/3\" }"),
                "",
                "s.toml:2: link.air.wireless.guard: must be \"1/4\", \"1/8\", \"1/16\" or \"1/32\", not \"1/3\"",
            ),
        ];
        for (wireless, more, expected) in cases {
            let error = scenario(&wireless, more).expect_err("a mistake");
            assert_eq!(error, expected);
        }
    }
}
