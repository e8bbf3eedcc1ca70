//! The flags of one direction of a path: defined once, used for both directions.

use crate::compare::loss;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_net::{AqmSetting, Queue};
use whimbrel_units::{Duration, ParseError, Probability, Rate};

/// The values of one direction's flags.
pub struct Direction<'a> {
    pub rate: Option<Rate>,
    pub trace: Option<&'a Path>,
    pub delay: Option<Duration>,
    pub queue: Option<Queue>,
    pub aqm: Option<AqmSetting>,
    pub loss: Probability,
    pub corrupt: Probability,
}

/// Defines a struct with the flags of one direction. `$prefix` begins the name of each flag, `$way`
/// says for help texts which direction loss strikes; then come the defaults that help texts state.
macro_rules! direction_flags {
    (
        $(#[$doc:meta])*
        $name:ident, prefix = $prefix:literal, heading = $heading:literal, way = $way:literal,
        rate = $rate:literal, delay = $delay:literal, queue = $queue:literal, aqm = $aqm:literal
    ) => {
        $(#[$doc])*
        #[derive(clap::Args)]
        pub struct $name {
            #[arg(
                id = concat!($prefix, "rate"),
                long = concat!($prefix, "rate"),
                value_name = "RATE",
                value_parser = rate,
                help = concat!("Rate [default: ", $rate, "]"),
                help_heading = $heading
            )]
            rate: Option<Rate>,
            #[arg(
                id = concat!($prefix, "trace"),
                long = concat!($prefix, "trace"),
                value_name = "FILE",
                conflicts_with = concat!($prefix, "rate"),
                help = "Capacity trace in mahimahi's format instead of a rate; it repeats",
                help_heading = $heading
            )]
            trace: Option<PathBuf>,
            #[arg(
                id = concat!($prefix, "delay"),
                long = concat!($prefix, "delay"),
                value_name = "DELAY",
                help = concat!("Propagation delay [default: ", $delay, "]"),
                help_heading = $heading
            )]
            delay: Option<Duration>,
            #[arg(
                id = concat!($prefix, "queue"),
                long = concat!($prefix, "queue"),
                value_name = "QUEUE",
                help = concat!(
                    "Buffer size: `1 bdp` (rate x RTT), `100 packets`, `64 kB` or `unlimited` [default: ",
                    $queue, "]"
                ),
                help_heading = $heading
            )]
            queue: Option<Queue>,
            #[arg(
                id = concat!($prefix, "aqm"),
                long = concat!($prefix, "aqm"),
                value_name = "AQM",
                help = concat!(
                    "Queue management: `red`, `codel`, `fq-codel`, `mark` or `none`, or with parameters \
                     `red?min=5 packets&max=15 packets`, `codel?target=10 ms`, \
                     `mark?threshold=20 packets`; packets of ECN-capable senders are marked instead of \
                     dropped [default: ",
                    $aqm, "]"
                ),
                help_heading = $heading
            )]
            aqm: Option<AqmSetting>,
            #[arg(
                id = concat!($prefix, "loss"),
                long = concat!($prefix, "loss"),
                value_name = "LOSS",
                value_parser = loss,
                default_value = "0 %",
                help = concat!("Random loss, ", $way),
                help_heading = $heading
            )]
            loss: Probability,
            #[arg(
                id = concat!($prefix, "corrupt"),
                long = concat!($prefix, "corrupt"),
                value_name = "CORRUPT",
                value_parser = loss,
                default_value = "0 %",
                help = concat!("Packets with a flipped bit, ", $way, "; checksums catch nearly all of them"),
                help_heading = $heading
            )]
            corrupt: Probability,
        }

        impl $name {
            /// The values of the flags.
            pub fn get(&self) -> Direction<'_> {
                Direction {
                    rate: self.rate,
                    trace: self.trace.as_deref(),
                    delay: self.delay,
                    queue: self.queue,
                    aqm: self.aqm,
                    loss: self.loss,
                    corrupt: self.corrupt,
                }
            }
        }
    };
}

direction_flags! {
    /// From near to far; all but loss and corruption also hold from far to near unless overridden.
    Forward, prefix = "", heading = "Path", way = "near to far",
    rate = "unlimited", delay = "0 s", queue = "1 bdp", aqm = "none"
}
direction_flags! {
    /// From far to near, where it differs.
    Reverse, prefix = "reverse-", heading = "Far to near, where it differs", way = "far to near",
    rate = "as near to far", delay = "as near to far", queue = "as near to far", aqm = "as near to far"
}

/// Reads a rate above zero.
fn rate(text: &str) -> Result<Rate, ParseError> {
    match Rate::from_str(text)? {
        Rate::ZERO => Err(ParseError::new(
            "a rate must be greater than zero; for a link that is down for a while use `--outage '4 s..5 s'`",
        )),
        rate => Ok(rate),
    }
}
