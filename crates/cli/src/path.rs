//! The flags of a path, the same for all commands that have one.

use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;
use whimbrel_net::Queue;
use whimbrel_sim::scenario::Written;
use whimbrel_sim::scenario::document::Value;
use whimbrel_study::BadInput;
use whimbrel_study::path::{Bottleneck, fraction};
use whimbrel_units::{Duration, ParseError, Probability, Rate};

/// A path. A command sets the defaults, and refuses lists where it has one path only.
#[derive(clap::Args)]
pub struct PathArgs {
    /// Rate of the bottleneck
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = rate("--rate")
    )]
    rate: Vec<Written<Rate>>,
    /// Recorded rate of the bottleneck instead of --rate, in mahimahi's format or as CSV; it
    /// repeats
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "rate",
        value_parser = flag::<PathBuf>("--rate-trace")
    )]
    rate_trace: Option<Written<PathBuf>>,
    /// Recorded rate of the way back, on which acknowledgments return [default: the same rate]
    #[arg(long, value_name = "FILE", value_parser = flag::<PathBuf>("--back-trace"))]
    back_trace: Option<Written<PathBuf>>,
    /// Base RTT, without queueing
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = flag::<Duration>("--rtt")
    )]
    rtt: Vec<Written<Duration>>,
    /// Buffer size of the bottleneck: `1 bdp` (rate x RTT), `50 packets`, `64 kB`, `unlimited`
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = flag::<Queue>("--queue")
    )]
    queue: Vec<Written<Queue>>,
    /// Random loss of data packets
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = loss("--loss")
    )]
    loss: Vec<Written<Probability>>,
}

impl PathArgs {
    /// The path.
    pub fn path(&self) -> Bottleneck {
        let Self {
            rate,
            rate_trace,
            back_trace,
            rtt,
            queue,
            loss,
        } = self;
        Bottleneck {
            rate: rate.clone(),
            rate_trace: rate_trace.clone(),
            back_trace: back_trace.clone(),
            rtt: rtt.clone(),
            queue: queue.clone(),
            loss: loss.clone(),
        }
    }
}

/// Reads the value of a flag with this name.
pub fn flag<T>(name: &'static str) -> impl Fn(&str) -> Result<Written<T>, T::Err> + Clone
where
    T: FromStr,
    T::Err: Error,
{
    move |text| Ok(Written::new(name, text.parse()?, text.trim()))
}

/// Reads the number of a flag with this name.
pub fn number<T>(name: &'static str) -> impl Fn(&str) -> Result<Written<T>, T::Err> + Clone
where
    T: FromStr + Clone + Into<Value>,
{
    move |text| Ok(Written::of(name, text.trim().parse()?))
}

/// Reads a rate above zero.
pub fn rate(name: &'static str) -> impl Fn(&str) -> Result<Written<Rate>, ParseError> + Clone {
    move |text| match flag::<Rate>(name)(text)? {
        zero if zero.value == Rate::ZERO => Err(ParseError::new(
            "a rate must be greater than zero; for a link that is down for a while use \
             `whimbrel link --outage '4 s..5 s'`",
        )),
        rate => Ok(rate),
    }
}

/// Reads a fraction of lost packets.
pub fn loss(name: &'static str) -> impl Fn(&str) -> Result<Written<Probability>, BadInput> + Clone {
    move |text| Ok(Written::new(name, fraction(text)?, text.trim()))
}
