//! `low_orbit` of a link: a generated path over low-orbit satellites, drawn anew for each run.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use super::generated::Generator;
use whimbrel_net::LowOrbit;
use whimbrel_units::{Duration, Probability};

/// Keys of a low-orbit path.
pub(super) const KEYS: [&str; 9] = [
    "rate",
    "reverse_rate",
    "interval",
    "hold",
    "spread",
    "fading",
    "ground",
    "space",
    "jitter",
];
/// Reads `"50 Mbit/s"`, or a table.
pub(super) fn read(field: &Field<'_>) -> Result<Generator, ScenarioError> {
    let mut path = LowOrbit::default();
    if let Value::Table(_) = field.value() {
        let fields = field.fields()?;
        fields.only(&KEYS)?;
        let time = |key, default| fields.get(key).map_or(Ok(default), |field| field.parse());
        let part = |key, default| {
            let part = fields.get(key).map(|field| field.parse::<Probability>());
            part.transpose()
                .map(|part| part.map_or(default, Probability::get))
        };
        let range = |key, default| fields.get(key).map_or(Ok(default), |field| range(&field));
        path.interval = time("interval", path.interval)?;
        path.hold = range("hold", path.hold)?;
        path.spread = part("spread", path.spread)?;
        path.fading = part("fading", path.fading)?;
        path.ground = time("ground", path.ground)?;
        path.space = range("space", path.space)?;
        path.jitter = time("jitter", path.jitter)?;
        if let Some(rate) = fields.get("rate") {
            path.rate = rate.parse()?;
            path.reverse_rate = path.rate;
        }
        if let Some(rate) = fields.get("reverse_rate") {
            path.reverse_rate = rate.parse()?;
        }
    } else {
        path.rate = field.parse()?;
        path.reverse_rate = path.rate;
    }
    Ok(Generator::LowOrbit(path))
}

/// `"60 ms .. 140 ms"`, or one time.
pub(super) fn range(field: &Field<'_>) -> Result<(Duration, Duration), ScenarioError> {
    let Some((min, max)) = field.text()?.split_once("..") else {
        let only = field.parse()?;
        return Ok((only, only));
    };
    let time = |text: &str| text.parse::<Duration>().map_err(|error| field.fail(error));
    Ok((time(min)?, time(max)?))
}

/// The text of such a range.
pub(super) fn range_source((min, max): (Duration, Duration)) -> Value {
    format!("{} .. {}", Value::from(min), Value::from(max)).into()
}

#[cfg(test)]
mod tests {
    use crate::network::Network;
    use crate::scenario::Scenario;
    use std::path::Path;
    use whimbrel_net::{Delay, LinkSpec, QueueLimit, ServiceSpec};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn scenario(low_orbit: &str, more: &str) -> Result<Scenario, String> {
        let text = format!(
            "[link.sky]\nlow_orbit = {low_orbit}\n{more}\n[[flow]]\nroute = [\"sky\"]\n\
             [[flow]]\nroute = [\"sky*\"]\n[run]\nduration = \"60 s\"\n"
        );
        Scenario::parse(&text, Path::new("s.toml")).map_err(|error| error.to_string())
    }

    fn network(low_orbit: &str, more: &str, seed: u64) -> Network {
        scenario(low_orbit, more).expect("a scenario").points()[0].network(seed)
    }

    fn specs(low_orbit: &str, seed: u64) -> Vec<LinkSpec> {
        let links = network(low_orbit, "", seed).links;
        links.into_iter().map(|link| link.spec).collect()
    }

    #[test]
    fn each_link_and_run_has_a_path_of_its_own() {
        let of = |seed| specs("{}", seed);
        let all = of(1);
        assert_eq!(all.len(), 4, "two links of two directions");
        for (i, spec) in all.iter().enumerate() {
            assert!(spec.delay.keeps_order());
            assert!(all[..i].iter().all(|other| other.service != spec.service));
        }
        assert_eq!(all, of(1));
        assert_ne!(all[0], of(2)[0]);
    }

    #[test]
    fn parameters_reach_the_path() {
        let all = "{ rate = \"100 Mbit/s\", reverse_rate = \"10 Mbit/s\", interval = \"5 s\", hold = \"20 ms\", \
                   spread = \"0 %\", fading = \"0 %\", ground = \"10 ms\", space = \"4 ms .. 4 ms\", jitter = \"0 s\" }";
        let specs = specs(all, 1);
        for (spec, rate) in specs.iter().zip(["100 Mbit/s", "10 Mbit/s"]) {
            let ServiceSpec::Rate(schedule) = &spec.service else {
                panic!("{:?}", spec.service);
            };
            let rate: Rate = rate.parse().expect("a rate");
            let values = schedule.all().iter().map(|(_, value)| *value);
            assert!(
                values
                    .clone()
                    .all(|value| value == rate || value == Rate::ZERO)
            );
            assert_eq!(values.filter(|value| *value == Rate::ZERO).count(), 12);
            assert_eq!(spec.delay.at(Time::ZERO), Duration::from_millis(14));
        }
    }

    #[test]
    fn a_queue_in_bdp_takes_the_nominal_path() {
        // 50 Mbit/s times twice (3 + 5.6 + 2) ms.
        let network = network("\"50 Mbit/s\"", "queue = \"1 bdp\"", 1);
        let queue = network.links[0].spec.queue;
        assert_eq!(queue, QueueLimit::Bytes(Bytes::new(132_500)));
        assert_ne!(
            network.links[0].spec.delay,
            Delay::constant(Duration::from_micros(10_600))
        );
    }

    #[test]
    fn mistakes_name_the_key_and_what_is_right() {
        let cases = [
            (
                "{ rat = \"1 Mbit/s\" }",
                "",
                "unknown key `rat`, did you mean `rate`?",
            ),
            (
                "{ hold = \"9 ms .. 5 ms\" }",
                "",
                "a minimum must not exceed its maximum",
            ),
            ("\"0 bit/s\"", "", "a rate must be greater than zero"),
            ("{ fading = \"100 %\" }", "", "less than 100 %"),
            (
                "{}",
                "rate = \"1 Mbit/s\"",
                "link.sky.rate: `low_orbit` sets rate and delay",
            ),
            (
                "{}",
                "keep_order = false",
                "link.sky.keep_order: `low_orbit` sets",
            ),
            (
                "{}",
                "reverse = { rate = \"1 Mbit/s\" }",
                "write `reverse_rate`",
            ),
        ];
        for (low_orbit, more, expected) in cases {
            let error = scenario(low_orbit, more).expect_err("a mistake");
            assert!(error.contains(expected), "{error}");
        }
    }
}
