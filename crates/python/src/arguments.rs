//! Keyword arguments as values of a request: each is a list of texts.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use whimbrel_net::Queue;
use whimbrel_sim::scenario::{Written, constant_rate};
use whimbrel_study::controllers::Choice;
use whimbrel_study::path::{Bottleneck, fraction};
use whimbrel_study::{BadInput, Error, advise, compare};
use whimbrel_units::{Duration, Rate, nearest};

/// The arguments of a path.
const PATH: [&str; 6] = ["rate", "rate_trace", "back_trace", "rtt", "queue", "loss"];
const COMPARE: [&str; 9] = [
    "controllers",
    "flows",
    "neighbours",
    "duration",
    "streams",
    "messages",
    "seeds",
    "recovery",
    "transport",
];
const ADVISE: [&str; 2] = ["neighbours", "size"];

/// Keyword arguments that were given.
pub struct Arguments(BTreeMap<String, Vec<String>>);

impl Arguments {
    fn new(values: BTreeMap<String, Vec<String>>, own: &[&'static str]) -> Result<Self, BadInput> {
        let known = || PATH.iter().chain(own).copied();
        match values.keys().find(|name| !known().any(|one| one == *name)) {
            None => Ok(Self(values)),
            Some(name) => {
                let near = nearest(name, known());
                let meant = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
                Err(BadInput::new(format!("unknown argument `{name}`{meant}")))
            }
        }
    }

    /// The values of an argument, or the usual one.
    fn texts<'a>(&'a self, name: &str, usual: &'a [&'a str]) -> Vec<&'a str> {
        match self.0.get(name) {
            Some(values) => values.iter().map(String::as_str).collect(),
            None => usual.to_vec(),
        }
    }

    fn list<T, E: Display>(
        &self,
        name: &'static str,
        usual: &[&str],
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<Written<T>>, Error> {
        let one = |text: &str| match read(text) {
            Ok(value) => Ok(Written::new(name, value, text.trim())),
            Err(why) => Err(BadInput::in_argument(name, why).into()),
        };
        self.texts(name, usual).into_iter().map(one).collect()
    }

    /// Numbers, which scenario files have without quotation marks.
    fn numbers(&self, name: &'static str, usual: &[&str]) -> Result<Vec<Written<u32>>, Error> {
        let all = self.list(name, usual, |text| text.trim().parse::<u32>())?;
        Ok(all.iter().map(|n| Written::of(name, n.value)).collect())
    }

    /// The only value of an argument.
    fn one<T: FromStr<Err: Display>>(
        &self,
        name: &'static str,
        usual: &[&str],
    ) -> Result<Option<Written<T>>, Error> {
        only(name, self.list(name, usual, T::from_str)?)
    }

    fn path(&self, usual: [&[&str]; 4]) -> Result<Bottleneck, Error> {
        let rate_trace = self.one::<PathBuf>("rate_trace", &[])?;
        if rate_trace.is_some() && self.0.contains_key("rate") {
            let why = "there is a recorded rate, too; leave one of them out";
            return Err(BadInput::in_argument("rate", why).into());
        }
        // A recording has the losses of its path's queue only.
        let (usual_rate, usual_loss) = match rate_trace {
            Some(_) => (&[][..], &["0 %"][..]),
            None => (usual[0], usual[3]),
        };
        let rate = self.list("rate", usual_rate, Rate::from_str)?;
        for rate in &rate {
            constant_rate(rate)?;
        }
        Ok(Bottleneck {
            rate,
            rate_trace,
            back_trace: self.one("back_trace", &[])?,
            rtt: self.list("rtt", usual[1], Duration::from_str)?,
            queue: self.list("queue", usual[2], Queue::from_str)?,
            loss: self.list("loss", usual_loss, fraction)?,
        })
    }
}

fn only<T>(name: &'static str, mut values: Vec<T>) -> Result<Option<T>, Error> {
    match values.len() {
        0 | 1 => Ok(values.pop()),
        _ => Err(BadInput::in_argument(name, "give one value").into()),
    }
}

/// An argument that has a usual value, which is right.
fn required<T>(name: &'static str, value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| BadInput::in_argument(name, "give a value").into())
}

/// The request of `whimbrel.compare`.
///
/// # Errors
/// The argument that is unknown or wrong.
pub fn comparison(values: BTreeMap<String, Vec<String>>) -> Result<compare::Request, Error> {
    let all = Arguments::new(values, &COMPARE)?;
    let streams = all.numbers("streams", &[])?;
    let messages = all.list("messages", &[], str::parse)?;
    let usual = match streams.is_empty() && messages.is_empty() {
        true => compare::USUAL,
        false => compare::USUAL_OF_TCP,
    };
    let usual: Vec<&str> = usual.split(',').collect();
    let neighbours = all.list("neighbours", &[], str::parse)?;
    let recovery = all.one("recovery", &["rack"])?;
    let transport = all.one("transport", &["quic"])?;
    Ok(compare::Request {
        path: all.path([&["50 Mbit/s"], &["100 ms"], &["1 bdp"], &["1 %"]])?,
        controllers: all.list("controllers", &usual, Choice::from_str)?,
        flows: required("flows", only("flows", all.numbers("flows", &["1"])?)?)?,
        neighbours: neighbours.into_iter().map(|one| one.value).collect(),
        duration: required("duration", all.one("duration", &["30 s"])?)?,
        streams,
        messages,
        seeds: required("seeds", only("seeds", all.numbers("seeds", &["3"])?)?)?,
        recovery: required("recovery", recovery)?.value,
        transport: required("transport", transport)?.value,
    })
}

/// The request of `whimbrel.advise`.
///
/// # Errors
/// The argument that is missing, unknown or wrong.
pub fn advice(values: BTreeMap<String, Vec<String>>) -> Result<advise::Request, Error> {
    let all = Arguments::new(values, &ADVISE)?;
    let path = all.path([&[], &[], &[], &[]])?;
    path.only_one("there is one path; give one value")?;
    if path.rtt.is_empty() || path.rate.is_empty() && path.rate_trace.is_none() {
        let text = "an argument is missing: rate and rtt are needed, or trace and rtt";
        return Err(BadInput::new(text).into());
    }
    let size = all.one("size", &[])?;
    if size.is_some() && path.rate_trace.is_some() {
        return Err(BadInput::in_argument("size", "it needs a constant rate").into());
    }
    let neighbours = all.one("neighbours", &[advise::USUAL])?;
    Ok(advise::Request {
        path,
        neighbours: required("neighbours", neighbours)?.value,
        size: size.map(|size| size.value),
        threads: None,
    })
}
