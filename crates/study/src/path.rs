//! A path as flags and arguments describe it: one bottleneck, with one or several values of each
//! property.

use crate::BadInput;
use std::path::PathBuf;
use whimbrel_net::{Queue, ServiceSpec};
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::{
    Axis, Direction, Link, Loss, Run, ScenarioError, ScenarioSpec, Traces, Written, constant_rate,
    half_of,
};
use whimbrel_units::{Duration, Probability, Rate};

/// The name of the bottleneck in scenarios.
pub const LINK: &str = "L";
/// The name of swept base RTTs in results; the scenario has half of each as a delay.
pub const BASE_RTT: &str = "base_rtt";

/// A path; what is empty or `None` is not limited. All combinations of several values are meant.
#[derive(Debug, Clone, Default)]
pub struct Bottleneck {
    /// The rate of the bottleneck.
    pub rate: Vec<Written<Rate>>,
    /// A recorded rate instead, in mahimahi's format or as CSV.
    pub rate_trace: Option<Written<PathBuf>>,
    /// A recorded rate of the way back, on which acknowledgments return.
    pub back_trace: Option<Written<PathBuf>>,
    /// The base RTT.
    pub rtt: Vec<Written<Duration>>,
    /// The buffer size.
    pub queue: Vec<Written<Queue>>,
    /// Random loss of data packets.
    pub loss: Vec<Written<Probability>>,
}

/// Recorded rates of a path. What is `None` is constant.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// From the sender to the receiver.
    pub forward: Option<Written<ServiceSpec>>,
    /// Of the way back.
    pub back: Option<Written<ServiceSpec>>,
}

impl Bottleneck {
    /// Refuses several values where only one path makes sense; `why` says so.
    ///
    /// # Errors
    /// If a property has several values; names its flag.
    pub fn only_one(&self, why: &str) -> Result<(), ScenarioError> {
        fn second<T>(values: &[Written<T>], why: &str) -> Option<ScenarioError> {
            values.get(1).map(|value| value.fail(why))
        }
        let several = [
            second(&self.rate, why),
            second(&self.rtt, why),
            second(&self.queue, why),
            second(&self.loss, why),
        ];
        several.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// Its recorded rates.
    ///
    /// # Errors
    /// If one cannot be read; names the flag and the file.
    pub fn recorded(&self) -> Result<Recorded, ScenarioError> {
        self.read(&mut Traces::default())
    }

    fn read(&self, traces: &mut Traces) -> Result<Recorded, ScenarioError> {
        let mut read = |file: &Option<Written<PathBuf>>| {
            let file = file.as_ref();
            file.map(|file| recorded(file, traces)).transpose()
        };
        Ok(Recorded {
            forward: read(&self.rate_trace)?,
            back: read(&self.back_trace)?,
        })
    }

    /// The bottleneck with the first value of each property.
    ///
    /// # Errors
    /// If the rate is zero, or a recorded rate cannot be read; names the flag and the file.
    pub fn link(&self, traces: &mut Traces) -> Result<Link, ScenarioError> {
        let constant = self.rate.first().map(constant_rate).transpose()?;
        let Recorded { forward, back } = self.read(traces)?;
        Ok(Link {
            forward: Direction {
                rate: forward.or(constant),
                delay: self.rtt.first().map(half_of),
                queue: self.queue.first().cloned(),
                aqm: None,
                loss: self.loss.first().map(random),
            },
            reverse: Direction {
                rate: back,
                ..Direction::default()
            },
            ..Link::new(LINK)
        })
    }

    /// A scenario with this path and nothing else yet: the properties with several values are
    /// swept.
    ///
    /// # Errors
    /// As [`Self::link`].
    pub fn scenario(&self) -> Result<ScenarioSpec, ScenarioError> {
        let mut traces = Traces::default();
        let link = self.link(&mut traces)?;
        let mut spec = ScenarioSpec::on(link, Vec::new(), Run::default());
        spec.traces = traces.digest();
        if self.rate_trace.is_none() {
            let rates = self.rate.iter().map(constant_rate);
            let rates: Vec<Written<ServiceSpec>> = rates.collect::<Result<_, _>>()?;
            sweep(&mut spec, "rate", &rates, |link, rate| {
                link.rate = Some(rate)
            });
        }
        if self.rtt.len() > 1 {
            let delays: Vec<_> = self.rtt.iter().map(half_of).collect();
            let axis = axis("delay", &delays, |link, delay| link.delay = Some(delay));
            let texts = self.rtt.iter().map(|rtt| rtt.value.to_string());
            spec.sweep.push(axis.shown_as(BASE_RTT, texts));
        }
        sweep(&mut spec, "queue", &self.queue, |link, queue| {
            link.queue = Some(queue)
        });
        let losses: Vec<_> = self.loss.iter().map(random).collect();
        sweep(&mut spec, "loss", &losses, |link, loss| {
            link.loss = Some(loss)
        });
        Ok(spec)
    }

    /// The properties with one value, in words: `50 Mbit/s, RTT 100 ms`.
    pub fn words(&self) -> Vec<String> {
        fn one<T>(name: &str, values: &[Written<T>]) -> Option<String> {
            match values {
                [one] => Some(format!("{name}{}", one.text())),
                _ => None,
            }
        }
        let of = |what: &str, file: &Option<Written<PathBuf>>| {
            let file = file.as_ref()?;
            Some(format!("{what} of {}", file.value.display()))
        };
        let rtt = match self.rtt.as_slice() {
            [one] => Some(format!("RTT {}", one.value)),
            _ => None,
        };
        let all = [
            of("rate", &self.rate_trace).or_else(|| one("", &self.rate)),
            of("way back", &self.back_trace),
            rtt,
            one("queue ", &self.queue),
            one("loss ", &self.loss),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Sweeps a property of the bottleneck if it has several values.
fn sweep<T: Clone + Send + Sync + 'static>(
    spec: &mut ScenarioSpec,
    property: &str,
    values: &[Written<T>],
    set: fn(&mut Direction, Written<T>),
) {
    if values.len() > 1 {
        spec.sweep.push(axis(property, values, set));
    }
}

/// The axis of a property of the bottleneck.
fn axis<T: Clone + Send + Sync + 'static>(
    property: &str,
    values: &[Written<T>],
    set: fn(&mut Direction, Written<T>),
) -> Axis {
    let key = format!("link.{LINK}.{property}");
    Axis::new(&key, values, move |spec, value| {
        set(&mut spec.links[0].forward, value);
    })
}

/// A recorded rate, which a scenario file has as the name of its file.
fn recorded(
    file: &Written<PathBuf>,
    traces: &mut Traces,
) -> Result<Written<ServiceSpec>, ScenarioError> {
    let text = file.value.display().to_string();
    let source = Value::table([("trace", text.into())]);
    Ok(file.with_source(ServiceSpec::Trace(traces.rate(file)?), source))
}

/// Random loss of a link.
fn random(loss: &Written<Probability>) -> Written<Loss> {
    loss.with(Loss::random(loss.value))
}

/// Reads a fraction of lost packets. A number without `%` is refused: `0.5` would be every second
/// packet.
///
/// # Errors
/// The reason, with both ways to write what may have been meant.
pub fn fraction(text: &str) -> Result<Probability, BadInput> {
    let loss: Probability = text.parse().map_err(BadInput::new)?;
    let text = text.trim();
    if text.ends_with('%') || loss.is_zero() {
        return Ok(loss);
    }
    Err(BadInput::new(format!(
        "`{text}` has no unit, and would be {loss}; write `{text} %` or `{loss}`"
    )))
}
