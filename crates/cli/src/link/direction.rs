//! The flags of an emulated path beyond those of every path, and those of its other direction.

use crate::path::{flag, loss, rate};
use whimbrel_net::{AqmSetting, Queue};
use whimbrel_sim::scenario::Written;
use whimbrel_study::real::link_path::Reverse;
use whimbrel_units::{Duration, Probability, Rate};

/// From near to far; all but loss and corruption also hold from far to near unless overridden.
#[derive(clap::Args)]
pub struct ForwardArgs {
    /// Propagation delay [default: half of --rtt, or 0 s]
    #[arg(
        long,
        value_name = "DELAY",
        value_parser = flag::<Duration>("--delay"),
        help_heading = "Path"
    )]
    pub delay: Option<Written<Duration>>,
    /// Queue management: `red`, `codel`, `fq-codel`, `mark` or `none`, or with parameters
    /// `red?min=5 packets&max=15 packets`, `codel?target=10 ms`, `mark?threshold=20 packets`;
    /// packets of ECN-capable senders are marked instead of dropped [default: none]
    #[arg(
        long,
        value_name = "AQM",
        value_parser = flag::<AqmSetting>("--aqm"),
        help_heading = "Path"
    )]
    pub aqm: Option<Written<AqmSetting>>,
    /// Packets with a flipped bit, near to far; checksums catch nearly all of them [default: 0 %]
    #[arg(
        long,
        value_name = "CORRUPT",
        value_parser = loss("--corrupt"),
        help_heading = "Path"
    )]
    pub corrupt: Option<Written<Probability>>,
}

/// From far to near, where it differs.
#[derive(clap::Args)]
#[command(next_help_heading = "Far to near, where it differs")]
pub struct ReverseArgs {
    /// Rate; a recorded one is --back-trace
    #[arg(long, value_name = "RATE", value_parser = rate("--reverse-rate"))]
    reverse_rate: Option<Written<Rate>>,
    /// Propagation delay
    #[arg(long, value_name = "DELAY", value_parser = flag::<Duration>("--reverse-delay"))]
    reverse_delay: Option<Written<Duration>>,
    /// Buffer size
    #[arg(long, value_name = "QUEUE", value_parser = flag::<Queue>("--reverse-queue"))]
    reverse_queue: Option<Written<Queue>>,
    /// Queue management
    #[arg(long, value_name = "AQM", value_parser = flag::<AqmSetting>("--reverse-aqm"))]
    reverse_aqm: Option<Written<AqmSetting>>,
    /// Random loss [default: 0 %]
    #[arg(long, value_name = "LOSS", value_parser = loss("--reverse-loss"))]
    reverse_loss: Option<Written<Probability>>,
    /// Packets with a flipped bit [default: 0 %]
    #[arg(long, value_name = "CORRUPT", value_parser = loss("--reverse-corrupt"))]
    reverse_corrupt: Option<Written<Probability>>,
}

impl ReverseArgs {
    /// What differs.
    pub fn reverse(&self) -> Reverse {
        Reverse {
            rate: self.reverse_rate.clone(),
            delay: self.reverse_delay.clone(),
            queue: self.reverse_queue.clone(),
            aqm: self.reverse_aqm.clone(),
            loss: self.reverse_loss.clone(),
            corrupt: self.reverse_corrupt.clone(),
        }
    }
}
