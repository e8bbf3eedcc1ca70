//! A race: a file under each of several algorithms, all at the same time, each over an emulated
//! path of its own.

use super::algorithm::for_tcp;
use super::text::{self, RACE};
use super::{Carrier, Length, RUNS, Row, Trial};
use crate::path::Recorded;
use crate::{BadInput, Error};
use serde_json::{Value, json};
use whimbrel_cc::Spec;
use whimbrel_net::Queue;
use whimbrel_report::figure::Figure;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// The path, the file and the algorithms. The path has a buffer of one bandwidth-delay product.
#[derive(Debug, Clone)]
pub struct Race {
    /// What carries the files.
    pub carrier: Carrier,
    /// Rate of the path.
    pub rate: Rate,
    /// Base RTT of the path.
    pub rtt: Duration,
    /// Random loss of data packets.
    pub loss: Probability,
    /// Size of the file; `None`: what each algorithm delivers in `time`.
    pub size: Option<Bytes>,
    /// Time that each transfer takes, about.
    pub time: Duration,
    /// The algorithms.
    pub controllers: Vec<Spec>,
    /// Seed of the random losses on the emulated path.
    pub seed: u64,
}

impl Race {
    /// A transfer for each algorithm.
    ///
    /// # Errors
    /// If nothing would be sent, or an algorithm cannot run on TCP.
    pub fn trials(&self) -> Result<Vec<Trial>, Error> {
        let too_small = [
            (
                self.size.is_some_and(Bytes::is_zero),
                "an empty file shows nothing; send e.g. `8 MiB`",
            ),
            (
                self.time.is_zero(),
                "the time must be above zero, e.g. `45 s`",
            ),
            (
                self.rate == Rate::ZERO,
                "nothing moves at a rate of zero; write e.g. `50 Mbit/s`",
            ),
        ];
        if let Some((_, why)) = too_small.iter().find(|(wrong, _)| *wrong) {
            return Err(BadInput::new(why).into());
        }
        let trials: Vec<Trial> = self
            .controllers
            .iter()
            .map(|spec| self.trial(spec))
            .collect();
        if let Some(wrong) = trials.iter().find(|t| !t.carrier.carries(&t.controller)) {
            for_tcp(&wrong.controller.to_string()).map_err(BadInput::new)?;
        }
        Ok(trials)
    }

    fn trial(&self, controller: &Spec) -> Trial {
        Trial {
            rate: self.rate,
            rtt: self.rtt,
            queue: Queue::Bdp(1.0),
            loss: self.loss,
            outages: Vec::new(),
            recorded: Recorded::default(),
            carrier: self.carrier,
            controller: controller.clone(),
            length: self.size.map_or(Length::Time(self.time), Length::Size),
            seed: self.seed,
            runs: RUNS,
        }
    }

    /// The path in words.
    fn path(&self) -> String {
        let transport = match self.carrier {
            Carrier::Tcp => "Linux TCP, ",
            Carrier::Quic => "",
        };
        let Self {
            rate, rtt, loss, ..
        } = self;
        format!("{transport}{rate}, RTT {rtt}, {loss} random loss, buffer 1 BDP")
    }

    /// The data delivered over time; `None` if nothing was delivered.
    pub fn figure(&self, rows: &[Row]) -> Option<Figure> {
        text::delivered(&self.path(), self.rate, rows)
    }

    /// A table, and the comparison in a sentence.
    pub fn text(&self, rows: &[Row]) -> String {
        let columns = match self.carrier {
            // Whose code of an algorithm runs.
            Carrier::Tcp => [&RACE[..1], &[1], &RACE[1..]].concat(),
            Carrier::Quic => RACE.to_vec(),
        };
        let summary = text::compared(rows).map(|sentence| sentence + "\n");
        text::table(&self.path(), &columns, rows) + &summary.unwrap_or_default()
    }

    /// The same as JSON.
    pub fn json(&self, rows: &[Row]) -> Value {
        let contestants = rows.iter().map(|row| text::json("predicted", row));
        json!({
            "transport": self.carrier.name(),
            "rate_bps": self.rate.as_bits_per_sec(),
            "rtt_ms": self.rtt.as_millis_f64(),
            "loss": self.loss.get(),
            "bytes": self.size.map(Bytes::get),
            "seed": self.seed,
            "contestants": contestants.collect::<Vec<Value>>(),
        })
    }
}
