//! `cellular` of a link: a generated cellular path, drawn anew for each run.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use super::generated::Generator;
use super::low_orbit::{range, range_source};
use whimbrel_net::Cellular;
use whimbrel_units::Probability;

/// Keys of a cellular path.
pub(super) const KEYS: [&str; 12] = [
    "rate",
    "reverse_rate",
    "fading",
    "coherence",
    "slot",
    "reverse_slot",
    "share",
    "stall_interval",
    "stall",
    "stall_tail",
    "handover_interval",
    "pause",
];

/// The table of a scenario file, without defaults.
impl From<&Cellular> for Value {
    fn from(path: &Cellular) -> Self {
        let default = Cellular::default();
        let mut keys = vec![
            ("rate", Self::from(path.rate)),
            ("reverse_rate", path.reverse_rate.into()),
        ];
        for (key, number, default) in [
            ("fading", path.fading, default.fading),
            ("share", path.share, default.share),
            ("stall_tail", path.stall_tail, default.stall_tail),
        ] {
            keys.extend((number != default).then(|| (key, number.into())));
        }
        for (key, time, default) in [
            ("coherence", path.coherence, default.coherence),
            ("slot", path.slot, default.slot),
            ("reverse_slot", path.reverse_slot, default.reverse_slot),
            (
                "stall_interval",
                path.stall_interval,
                default.stall_interval,
            ),
            (
                "handover_interval",
                path.handover_interval,
                default.handover_interval,
            ),
        ] {
            keys.extend((time != default).then(|| (key, time.into())));
        }
        for (key, range, default) in [
            ("stall", path.stall, default.stall),
            ("pause", path.pause, default.pause),
        ] {
            keys.extend((range != default).then(|| (key, range_source(range))));
        }
        Self::table(keys)
    }
}

/// Reads the mean rate of the forward direction, `"12 Mbit/s"`, or a table. Where only the forward
/// rate is written, the reverse one is half of it.
pub(super) fn read(field: &Field<'_>) -> Result<Generator, ScenarioError> {
    let mut path = Cellular::default();
    if let Value::Table(_) = field.value() {
        let fields = field.fields()?;
        fields.only(&KEYS)?;
        let time = |key, default| fields.get(key).map_or(Ok(default), |field| field.parse());
        let times = |key, default| fields.get(key).map_or(Ok(default), |field| range(&field));
        let number = |key, default| fields.get(key).map_or(Ok(default), |field| field.number());
        path.fading = number("fading", path.fading)?;
        path.coherence = time("coherence", path.coherence)?;
        path.slot = time("slot", path.slot)?;
        path.reverse_slot = time("reverse_slot", path.reverse_slot)?;
        path.stall_interval = time("stall_interval", path.stall_interval)?;
        path.stall = times("stall", path.stall)?;
        path.stall_tail = number("stall_tail", path.stall_tail)?;
        path.handover_interval = time("handover_interval", path.handover_interval)?;
        path.pause = times("pause", path.pause)?;
        if let Some(share) = fields.get("share") {
            path.share = share.parse::<Probability>()?.get();
        }
        if let Some(rate) = fields.get("rate") {
            path.rate = rate.parse()?;
            path.reverse_rate = path.rate.mul_f64(0.5);
        }
        if let Some(rate) = fields.get("reverse_rate") {
            path.reverse_rate = rate.parse()?;
        }
    } else {
        path.rate = field.parse()?;
        path.reverse_rate = path.rate.mul_f64(0.5);
    }
    Ok(Generator::Cellular(path))
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;
    use std::path::Path;
    use whimbrel_net::{QueueLimit, ServiceSpec};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn scenario(link: &str) -> Result<Scenario, String> {
        let text = format!(
            "[link.cell]\n{link}\n[[flow]]\nroute = [\"cell\"]\n[run]\nduration = \"60 s\"\n"
        );
        Scenario::parse(&text, Path::new("s.toml")).map_err(|error| error.to_string())
    }

    /// Mean rates of both directions in Mbit/s.
    fn rates(link: &str, seed: u64) -> Vec<f64> {
        let network = scenario(link).expect("a scenario").points()[0].network(seed);
        let rate = |service: &ServiceSpec| match service {
            ServiceSpec::Trace(trace) => trace.mean_rate().as_bits_per_sec() as f64 / 1e6,
            other => panic!("{other:?}"),
        };
        let links = network.links.iter();
        links.map(|link| rate(&link.spec.service)).collect()
    }

    #[test]
    fn each_run_draws_both_directions() {
        let of = |seed| rates("cellular = \"20 Mbit/s\"", seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let steady = "cellular = { rate = \"20 Mbit/s\", reverse_rate = \"2 Mbit/s\", fading = 0, \
                      stall_interval = \"1 h\", handover_interval = \"1 h\" }";
        let rates = rates(steady, 3);
        assert!((rates[0] - 20.0).abs() < 0.1 && (rates[1] - 2.0).abs() < 0.1);
    }

    #[test]
    fn the_delay_is_the_links_and_queues_take_the_mean_rate() {
        let text = "cellular = \"12 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"1 bdp\"";
        let network = scenario(text).expect("a scenario").points()[0].network(1);
        let spec = &network.links[0].spec;
        assert_eq!(spec.delay.at(Time::ZERO), Duration::from_millis(25));
        // 12 Mbit/s times 50 ms.
        assert_eq!(spec.queue, QueueLimit::Bytes(Bytes::new(75_000)));
        assert_eq!(
            Rate::over(Bytes::new(75_000), Duration::from_millis(50)).as_bits_per_sec(),
            12_000_000
        );
    }

    #[test]
    fn mistakes_name_the_key_and_what_is_right() {
        for (link, expected) in [
            ("cellular = { fadin = 1 }", "did you mean `fading`?"),
            ("cellular = \"0 bit/s\"", "a rate must be greater than zero"),
            (
                "cellular = { stall = \"9 ms .. 5 ms\" }",
                "a minimum must not exceed",
            ),
            (
                "cellular = {}\nrate = \"1 Mbit/s\"",
                "`cellular` sets the rate",
            ),
            (
                "cellular = {}\nlow_orbit = {}",
                "cannot be combined with `low_orbit`",
            ),
            (
                "cellular = {}\nreverse = { rate = \"1 Mbit/s\" }",
                "write `reverse_rate` of `cellular`",
            ),
        ] {
            let error = scenario(link).expect_err("a mistake");
            assert!(error.contains(expected), "{error}");
        }
    }
}
