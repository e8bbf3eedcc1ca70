//! The state of the page: what each field says, as text. A link has it as
//! `key=value&key=value`, and leaves out what has its default.

use crate::recordings::Recordings;
use crate::steps::{self, Step};
use crate::{FieldError, limits};
use std::fmt::Display;
use std::str::FromStr;
use whimbrel_net::{Delay, Outage, Queue, Schedule, ServiceSpec};
use whimbrel_sim::Recovery;
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::fields::unknown;
use whimbrel_sim::scenario::{
    Direction, DrawnOutages, Link, Loss, ScenarioSpec, Written, constant_rate,
};
use whimbrel_study::compare::{Request, USUAL};
use whimbrel_study::controllers::Choice;
use whimbrel_study::neighbours::Neighbours;
use whimbrel_study::path::{Bottleneck, fraction};
use whimbrel_study::transport::Transport;
use whimbrel_units::{Duration, Probability, Rate, Time};

/// Maximum length of a state's text, in bytes.
pub const MAX_LENGTH: usize = 32 << 10;
/// Rates that can be drawn, Mbit/s.
pub const DRAWN_RATES: (f64, f64) = (0.01, 10_000.0);
/// Round-trip times that can be drawn, ms.
pub const DRAWN_RTTS: (f64, f64) = (0.0, 10_000.0);

/// Makes the struct of the fields, and the functions that go through all of them.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $default:expr;)*) => {
        /// What each field of the page says. All are texts, checked by [`State::spec`].
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct State {
            $($(#[$doc])* pub $name: String,)*
        }

        impl Default for State {
            fn default() -> Self {
                Self { $($name: $default.to_owned(),)* }
            }
        }

        impl State {
            /// The keys of all fields, in the order in which a link has them.
            pub const KEYS: &[&str] = &[$(stringify!($name)),*];

            /// Each field with its key, in that order.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
                [$((stringify!($name), self.$name.as_str())),*].into_iter()
            }

            fn field_mut(&mut self, key: &str) -> Option<&mut String> {
                match key {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    /// The rate of the bottleneck: `20 Mbit/s`.
    rate = "20 Mbit/s";
    /// Drawn rates instead, in Mbit/s: `0:20 5:2`; or empty.
    rates = "";
    /// The name of a recorded rate instead; or empty.
    trace = "";
    /// The base RTT: `100 ms`.
    rtt = "100 ms";
    /// Drawn base RTTs instead, in ms: `0:50 10:300`; or empty.
    rtts = "";
    /// The buffer size: `1 bdp`, `50 packets`.
    queue = "1 bdp";
    /// Random loss of data packets: `1 %`.
    loss = "1 %";
    /// Number of fades at random times, in which everything is lost.
    fades = "0";
    /// The length of each fade.
    fade = "1 s";
    /// When the way back is silent: `10 s .. 12 s`; or empty.
    silence = "";
    /// The rate of the way back; empty: the same as forward.
    back = "";
    /// The algorithms, separated by commas, each in a run of its own.
    algorithms = USUAL;
    /// Number of concurrent flows of the algorithm.
    flows = "1";
    /// Flows of others beside them: `cubic:2,bbr`; or empty.
    neighbours = "";
    /// Length of a run.
    duration = "30 s";
    /// The seed of the run's random draws.
    seed = "1";
    /// The transport that senders behave like: `quic`, `tcp`.
    transport = "quic";
    /// How senders detect lost data: `newreno`, `sack`, `rack`.
    recovery = "rack";
}

impl State {
    /// Reads the state of a link, with or without the `#` in front.
    ///
    /// # Errors
    /// If it is too long, or a key is unknown or repeats. Values are checked by [`Self::spec`].
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        if text.len() > MAX_LENGTH {
            let why = format!("a state may have at most {MAX_LENGTH} bytes");
            return Err(FieldError::new("", why));
        }
        let text = text.strip_prefix('#').unwrap_or(text);
        let mut state = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            let Some(field) = state.field_mut(&key) else {
                let why = unknown("key", &key, Self::KEYS.iter().copied());
                return Err(FieldError::new("", why));
            };
            if seen.iter().any(|known| *known == key) {
                return Err(FieldError::new(&key, "is in the state twice"));
            }
            value.trim().clone_into(field);
            seen.push(key.into_owned());
        }
        Ok(state)
    }

    /// The text for a link, without the `#`; empty if everything has its default.
    pub fn print(&self) -> String {
        let usual = Self::default();
        let mut to = form_urlencoded::Serializer::new(String::new());
        for ((key, value), (_, usual)) in self.fields().zip(usual.fields()) {
            if value != usual {
                to.append_pair(key, value);
            }
        }
        to.finish()
    }

    /// The scenario of this state: one run for each algorithm.
    ///
    /// # Errors
    /// The first field that is wrong, does not fit the others, or takes too long to simulate.
    pub fn spec(&self, recordings: &Recordings) -> Result<ScenarioSpec, FieldError> {
        let request = self.request()?;
        let mut spec = request.scenario()?;
        spec.run.seeds = vec![self.seed()?];
        let Some(link) = spec.links.first_mut() else {
            return Err(FieldError::new("", "the scenario has no link"));
        };
        self.shape(link, recordings)?;
        limits::check(&request, link)?;
        Ok(spec)
    }

    /// The path in words, for a heading.
    pub fn title(&self) -> String {
        let mut words = vec![match (self.trace.as_str(), self.rates.as_str()) {
            ("", "") => self.rate.clone(),
            ("", _) => "drawn rate".to_owned(),
            (name, _) => format!("rate of {name}"),
        }];
        words.push(match self.rtts.as_str() {
            "" => format!("RTT {}", self.rtt),
            _ => "drawn RTT".to_owned(),
        });
        words.push(format!("buffer {}", self.queue));
        words.push(format!("{} random loss", self.loss));
        if self.fades != "0" {
            words.push(format!("{} fades of {}", self.fades, self.fade));
        }
        if !self.back.is_empty() {
            words.push(format!("way back {}", self.back));
        }
        if !self.silence.is_empty() {
            words.push(format!("way back silent {}", self.silence));
        }
        if self.flows != "1" {
            words.push(format!("{} flows", self.flows));
        }
        if !self.neighbours.is_empty() {
            words.push(format!("beside {}", self.neighbours));
        }
        words.join(", ")
    }

    /// The path and the algorithms, without what changes over time.
    fn request(&self) -> Result<Request, FieldError> {
        let rate = match (self.trace.as_str(), self.rates.as_str()) {
            ("", "") => vec![read::<Rate>("rate", &self.rate)?],
            _ => Vec::new(),
        };
        let rtt = match self.rtts.as_str() {
            "" => vec![read::<Duration>("rtt", &self.rtt)?],
            _ => Vec::new(),
        };
        let loss = Written::new("loss", self.probability()?, self.loss.as_str());
        let names = |text: &'_ str| -> Vec<String> {
            let names = text.split(',').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let mut controllers = Vec::new();
        for name in names(&self.algorithms) {
            match name.parse::<Choice>() {
                Ok(Choice::Every) => {
                    let why = format!("choose at most {} by name", limits::ALGORITHMS);
                    return Err(FieldError::new("algorithms", why));
                }
                Ok(choice) => controllers.push(Written::new("algorithms", choice, name)),
                Err(why) => return Err(FieldError::new("algorithms", why)),
            }
        }
        if controllers.is_empty() {
            return Err(FieldError::new(
                "algorithms",
                "choose at least one algorithm",
            ));
        }
        let neighbours = names(&self.neighbours);
        let neighbours = neighbours.iter().map(|text| {
            let parsed = text.parse::<Neighbours>();
            parsed.map_err(|why| FieldError::new("neighbours", why))
        });
        Ok(Request {
            path: Bottleneck {
                rate,
                rtt,
                queue: vec![read::<Queue>("queue", &self.queue)?],
                loss: vec![loss],
                ..Bottleneck::default()
            },
            controllers,
            flows: Written::of("flows", whole("flows", &self.flows)?),
            neighbours: neighbours.collect::<Result<_, _>>()?,
            duration: read("duration", &self.duration)?,
            streams: Vec::new(),
            messages: Vec::new(),
            seeds: Written::of("seed", 1),
            recovery: self.recovery()?,
            transport: self.transport()?,
        })
    }

    /// Gives the link what changes over time, and its way back.
    fn shape(&self, link: &mut Link, recordings: &Recordings) -> Result<(), FieldError> {
        if !self.trace.is_empty() {
            let rate = ServiceSpec::Trace(recordings.get(&self.trace)?);
            let source = Value::table([("trace", self.trace.as_str().into())]);
            link.forward.rate = Some(Written::new("trace", rate, source));
        } else if !self.rates.is_empty() {
            link.forward.rate = Some(drawn_rates(&self.rates)?);
        }
        if !self.rtts.is_empty() {
            link.forward.delay = Some(drawn_delays(&self.rtts)?);
        }
        if let Some(loss) = self.with_fades()? {
            link.forward.loss = Some(loss);
        }
        link.reverse = Direction {
            rate: match self.back.as_str() {
                "" => None,
                text => Some(constant_rate(&read::<Rate>("back", text)?)?),
            },
            loss: silence(&self.silence)?,
            ..Direction::default()
        };
        Ok(())
    }

    /// The losses of the data's direction, if it has fades.
    fn with_fades(&self) -> Result<Option<Written<Loss>>, FieldError> {
        let count: u32 = whole("fades", &self.fades)?;
        if count == 0 {
            return Ok(None);
        }
        if count > limits::FADES {
            let why = format!("must be at most {}", limits::FADES);
            return Err(FieldError::new("fades", why));
        }
        let length = read::<Duration>("fade", &self.fade)?;
        let drawn = DrawnOutages {
            count,
            length: length.value,
            within: None,
        };
        let loss = Loss {
            random: self.probability()?,
            random_outages: Some(Written::of("fades", drawn)),
            ..Loss::default()
        };
        Ok(Some(Written::new("fades", loss.clone(), loss)))
    }

    fn probability(&self) -> Result<Probability, FieldError> {
        fraction(&self.loss).map_err(|why| FieldError::new("loss", why))
    }

    /// The seed.
    ///
    /// # Errors
    /// If it is not a number from 0 to 2^53: a browser cannot count further.
    pub fn seed(&self) -> Result<u64, FieldError> {
        let seed: u64 = whole("seed", &self.seed)?;
        match seed {
            0..=0x20_0000_0000_0000 => Ok(seed),
            _ => Err(FieldError::new("seed", "must be at most 2^53")),
        }
    }

    fn recovery(&self) -> Result<Recovery, FieldError> {
        let recovery = self.recovery.parse::<Recovery>();
        recovery.map_err(|why| FieldError::new("recovery", why))
    }

    fn transport(&self) -> Result<Transport, FieldError> {
        let transport = self.transport.parse::<Transport>();
        transport.map_err(|why| FieldError::new("transport", why))
    }
}

/// Reads a value with a unit.
fn read<T>(field: &'static str, text: &str) -> Result<Written<T>, FieldError>
where
    T: FromStr,
    T::Err: Display,
{
    Ok(Written::parse(field, text)?)
}

/// Reads a whole number.
fn whole<T: FromStr>(field: &str, text: &str) -> Result<T, FieldError> {
    let wrong = || FieldError::new(field, format!("`{text}` is not a whole number"));
    text.parse().map_err(|_| wrong())
}

fn drawn_rates(text: &str) -> Result<Written<ServiceSpec>, FieldError> {
    let wrong = |why: &dyn Display| FieldError::new("rates", why);
    let steps = steps::parse(text, DRAWN_RATES, "Mbit/s").map_err(|why| wrong(&why))?;
    let value = |mbit: f64| Rate::from_bits_per_sec((mbit * 1e6).round() as u64);
    let schedule = schedule(&steps, value).map_err(|why| wrong(&why))?;
    let source = Value::from(&schedule);
    Ok(Written::new("rates", ServiceSpec::Rate(schedule), source))
}

/// Each way has half of the round-trip time.
fn drawn_delays(text: &str) -> Result<Written<Delay>, FieldError> {
    let wrong = |why: &dyn Display| FieldError::new("rtts", why);
    let steps = steps::parse(text, DRAWN_RTTS, "ms").map_err(|why| wrong(&why))?;
    let value = |ms: f64| Duration::from_micros((ms * 500.0).round() as u64);
    let schedule = schedule(&steps, value).map_err(|why| wrong(&why))?;
    let source = Value::from(&schedule);
    Ok(Written::new("rtts", Delay::steps(schedule), source))
}

/// Steps as a schedule.
fn schedule<T: Copy>(
    steps: &[Step],
    value: impl Fn(f64) -> T,
) -> Result<Schedule<T>, &'static str> {
    let step = |(from, number): &Step| (steps::instant(*from), value(*number));
    Schedule::steps(steps.iter().map(step).collect())
}

/// The losses of the way back while it is silent.
fn silence(text: &str) -> Result<Option<Written<Loss>>, FieldError> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |why: &dyn Display| FieldError::new("silence", why);
    let (from, to) = text
        .split_once("..")
        .ok_or_else(|| wrong(&"write when it begins and ends: `10 s .. 12 s`"))?;
    let at = |text: &str| {
        let time = text.trim().parse::<Duration>();
        time.map(|time| Time::ZERO + time)
            .map_err(|why| wrong(&why))
    };
    let outage = Outage {
        from: at(from)?,
        to: at(to)?,
    };
    if outage.from >= outage.to {
        return Err(wrong(&"must end after it begins"));
    }
    let loss = Loss {
        outages: Some(vec![outage]),
        ..Loss::default()
    };
    Ok(Some(Written::new("silence", loss.clone(), loss)))
}

#[cfg(test)]
mod tests;
