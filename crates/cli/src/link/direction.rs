//! The flags of an emulated path beyond those of every path, and those of its other direction.

use crate::path::{flag, loss, rate};
use whimbrel_net::{AqmSetting, Delay, Queue};
use whimbrel_sim::scenario::{Direction, Loss, ScenarioError, Written, constant_rate};
use whimbrel_units::{Duration, Probability, Rate};

/// From near to far; all but loss and corruption also hold from far to near unless overridden.
#[derive(clap::Args)]
pub struct Forward {
    /// Propagation delay [default: half of --rtt, or 0 s]
    #[arg(
        long,
        value_name = "DELAY",
        value_parser = flag::<Duration>("--delay"),
        help_heading = "Path"
    )]
    delay: Option<Written<Duration>>,
    /// Queue management: `red`, `codel`, `fq-codel`, `mark` or `none`, or with parameters
    /// `red?min=5 packets&max=15 packets`, `codel?target=10 ms`, `mark?threshold=20 packets`;
    /// packets of ECN-capable senders are marked instead of dropped [default: none]
    #[arg(
        long,
        value_name = "AQM",
        value_parser = flag::<AqmSetting>("--aqm"),
        help_heading = "Path"
    )]
    aqm: Option<Written<AqmSetting>>,
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
pub struct Reverse {
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

impl Forward {
    /// Adds what the flags say, except of loss.
    pub fn add_to(&self, direction: &mut Direction) {
        if let Some(delay) = &self.delay {
            direction.delay = Some(constant(delay));
        }
        direction.aqm.clone_from(&self.aqm);
    }
}

impl Reverse {
    /// Adds what the flags say.
    ///
    /// # Errors
    /// If the rate is zero.
    pub fn add_to(&self, direction: &mut Direction) -> Result<(), ScenarioError> {
        if let Some(rate) = &self.reverse_rate {
            direction.rate = Some(constant_rate(rate)?);
        }
        direction.delay = self.reverse_delay.as_ref().map(constant);
        direction.queue.clone_from(&self.reverse_queue);
        direction.aqm.clone_from(&self.reverse_aqm);
        let of = |loss: &Option<Written<Probability>>| loss.as_ref().map(|loss| loss.value);
        let (random, corrupt) = (of(&self.reverse_loss), of(&self.reverse_corrupt));
        let written = random.is_some() || corrupt.is_some();
        let loss = Loss {
            corrupt: corrupt.unwrap_or_default(),
            ..Loss::random(random.unwrap_or_default())
        };
        direction.loss = written.then(|| Written::of("--reverse-loss", loss));
        Ok(())
    }
}

fn constant(delay: &Written<Duration>) -> Written<Delay> {
    delay.with(Delay::constant(delay.value))
}
