//! Real transfers over emulated paths, each beside the simulator's prediction for the same path.
//!
//! [`run`] sends a file for each [`Trial`], over QUIC or over Linux TCP, from one network namespace
//! to another ([`whimbrel_link`]), and returns a [`Row`] with both halves. A system that does not
//! allow namespaces still gets the predictions.
//!
//! Each path has a process of its own, a copy of this one. The process must therefore have a single
//! thread whenever transfers start; simulations before and after may use more.
//!
//! | module | contents |
//! |---|---|
//! | [`algorithm`] | one of Whimbrel's algorithms on the TCP of a path |
//! | [`behind_path`] | programs behind an emulated path |
//! | [`emulated`] | the path of a scenario, to be emulated |
//! | [`hindsight`] | which algorithm would have been faster, after a transfer |
//! | [`link_path`] | an emulated path, as flags describe it |
//! | `load` | what other programs used of the processors |
//! | [`paper`] | trials from a paper's table |
//! | [`path_measurement`] | what a probe says of its path |
//! | `over_tcp` | an algorithm for transfers over TCP |
//! | `page`, [`text`] | all of it as a page, a table, a figure and JSON |
//! | `path_table` | what a path did, as a table |
//! | [`race`] | a file under each of several algorithms |
//! | `quic`, `tcp` | the two ends of a transfer |
//! | `tcp_ended` | the connections of a path under one of Whimbrel's algorithms, as text and JSON |
//! | `transfer` | the real half |
//! | `trust` | when a measurement cannot be trusted |
//! | [`two_links`] | one file over two links at once |

pub mod algorithm;
pub mod behind_path;
pub mod emulated;
pub mod hindsight;
pub mod link_path;
mod load;
mod measurement;
mod over_tcp;
mod page;
pub mod paper;
pub mod path_measurement;
mod path_table;
mod quic;
pub mod race;
mod tcp;
mod tcp_ended;
pub mod text;
mod transfer;
mod trust;
pub mod two_links;

pub use load::Load;
pub use measurement::{Measurement, PathQuality, Sample};
pub use over_tcp::{over_tcp, over_tcp_notice};
pub use page::page;
pub use path_table::{path_table, topology_json, topology_tables};
pub use transfer::Progress;

use crate::path::{Bottleneck, Recorded};
use crate::prediction::{Prediction, Transfer as Predicted};
use crate::{BadInput, Error, Observer};
use load::Meter;
use std::ops::ControlFlow;
use transfer::{Stage, Transfer};
use whimbrel_cc::Spec;
use whimbrel_link::PathSpec;
use whimbrel_net::{Outage, Queue};
use whimbrel_sim::scenario::Written;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Usual number of simulated runs of a trial.
pub const RUNS: u32 = 21;
/// The largest file that is chosen for a time.
const LARGEST: Bytes = Bytes::new(64 << 20);

/// What carries a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// QUIC, as in `whimbrel send`.
    Quic,
    /// The kernel's TCP.
    Tcp,
}

impl Carrier {
    /// `quic` or `tcp`, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tcp => "tcp",
        }
    }

    /// `QUIC` or `TCP`, for a reader.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Quic => "QUIC",
            Self::Tcp => "TCP",
        }
    }

    /// Whether it can carry an algorithm.
    pub fn carries(self, controller: &Spec) -> bool {
        self == Self::Quic || !controller.entry().is_fed_bursts()
    }
}

/// Whose code of an algorithm runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// The kernel's.
    Kernel,
    /// Whimbrel's.
    Whimbrel,
}

impl Implementation {
    /// `kernel` or `whimbrel`, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Whimbrel => "whimbrel",
        }
    }
}

/// How much a transfer sends.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    /// A file of this size.
    Size(Bytes),
    /// What the simulator expects to be delivered in this time, at most 64 MiB.
    Time(Duration),
}

/// One transfer: a file over a path under an algorithm.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Rate of the path; of a recorded one its mean.
    pub rate: Rate,
    /// Recorded rates instead.
    pub recorded: Recorded,
    /// Base RTT of the path.
    pub rtt: Duration,
    /// Buffer size of the path.
    pub queue: Queue,
    /// Random loss of data packets.
    pub loss: Probability,
    /// Spans in which everything is lost, in order.
    pub outages: Vec<Outage>,
    /// What carries it.
    pub carrier: Carrier,
    /// The algorithm.
    pub controller: Spec,
    /// The file.
    pub length: Length,
    /// Decides which packets the emulated path loses.
    pub seed: u64,
    /// Number of simulated runs, whose median is the prediction; odd.
    pub runs: u32,
}

impl Trial {
    /// The transfer as the simulator takes it.
    fn simulated(&self) -> Predicted<'_> {
        Predicted {
            rate: self.rate,
            recorded: &self.recorded,
            rtt: self.rtt,
            queue: self.queue,
            loss: self.loss,
            outages: &self.outages,
            controller: &self.controller,
            tcp: self.carrier == Carrier::Tcp,
        }
    }

    /// The path as the emulator takes it: the links of the simulation.
    fn emulated(&self) -> Result<PathSpec, Error> {
        let [forward, backward] = self.simulated().links()?;
        Ok(PathSpec {
            hops: Vec::new(),
            forward,
            backward,
            wifi: None,
            seed: self.seed,
        })
    }

    /// The simulated half.
    fn predict(&self, observer: &dyn Observer) -> Result<Prediction, Error> {
        let simulated = self.simulated();
        let size = match self.length {
            Length::Size(size) => size,
            Length::Time(time) => simulated.suitable_size(time, LARGEST, self.runs, observer)?,
        };
        simulated.predict(size, self.runs, observer)
    }

    /// Whose code of the algorithm runs: over TCP the kernel's, if the kernel has the algorithm.
    pub fn implementation(&self) -> Implementation {
        let of_kernel = || whimbrel_link::kernel_has(&self.controller.to_string());
        match self.carrier == Carrier::Tcp && of_kernel() {
            true => Implementation::Kernel,
            false => Implementation::Whimbrel,
        }
    }
}

/// One transfer, predicted and measured.
#[derive(Debug)]
pub struct Row {
    /// The transfer.
    pub trial: Trial,
    /// Whose code of the algorithm ran.
    pub implementation: Implementation,
    /// The simulated half.
    pub predicted: Prediction,
    /// The real half, or why there is none.
    pub measured: Result<Measurement, String>,
    /// Whether the system allows such a transfer. If not, that there is no measurement is no
    /// failure.
    pub allowed: bool,
    /// Reasons not to trust the measurement.
    pub warnings: Vec<String>,
}

impl Row {
    /// The measured goodput, or else the predicted one, bit/s.
    pub fn goodput_bps(&self) -> f64 {
        let predicted = self.predicted.goodput_bps;
        self.measured.as_ref().map_or(predicted, |m| m.goodput_bps)
    }

    /// The predicted time of the transfer, in seconds.
    pub fn predicted_seconds(&self) -> f64 {
        self.predicted.size.get() as f64 * 8.0 / self.predicted.goodput_bps.max(1.0)
    }

    /// Whether a transfer failed that the system allows.
    pub fn has_failed(&self) -> bool {
        self.allowed && self.measured.is_err()
    }
}

/// A trial of about this length on one path for each algorithm and each carrier that carries it.
///
/// # Errors
/// If the path has no rate or RTT, or the length is zero.
pub fn on_both_carriers(
    path: &Bottleneck,
    time: &Written<Duration>,
    seed: u64,
    controllers: impl IntoIterator<Item = Spec>,
) -> Result<Vec<Trial>, Error> {
    if time.value.is_zero() {
        return Err(time.fail("must be above zero; write e.g. `10 s`").into());
    }
    let recorded = path.recorded()?;
    let constant = path.rate.first().map(|rate| rate.value);
    let mean = recorded
        .forward
        .as_ref()
        .and_then(|rate| rate.value.nominal_rate());
    let (Some(rate), Some(rtt)) = (mean.or(constant), path.rtt.first()) else {
        return Err(BadInput::new("real transfers need a path with a rate and an RTT").into());
    };
    let (queue, loss) = (path.queue.first(), path.loss.first());
    let trial = |(controller, carrier)| Trial {
        rate,
        recorded: recorded.clone(),
        rtt: rtt.value,
        queue: queue.map_or(Queue::Bdp(1.0), |queue| queue.value),
        loss: loss.map(|loss| loss.value).unwrap_or_default(),
        outages: Vec::new(),
        carrier,
        controller,
        length: Length::Time(time.value),
        seed,
        runs: RUNS,
    };
    let both = controllers
        .into_iter()
        .flat_map(|spec| [(spec.clone(), Carrier::Quic), (spec, Carrier::Tcp)]);
    let carried = both.filter(|(spec, carrier)| carrier.carries(spec));
    Ok(carried.map(trial).collect())
}

/// When transfers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All at the same time, each over a path of its own.
    AtOnce,
    /// One after the other.
    InTurn,
}

/// Sees the progress of transfers: the number of the trial, and how far it is. A `Break` stops all.
pub type Watch<'a> = dyn FnMut(usize, Progress) -> ControlFlow<()> + 'a;

/// Predicts and measures each trial.
///
/// # Errors
/// If the simulator refuses a path, there is no space for files, the process has several threads,
/// or it is stopped.
pub fn run(
    trials: Vec<Trial>,
    order: Order,
    observer: &dyn Observer,
    watch: &mut Watch<'_>,
) -> Result<Vec<Row>, Error> {
    let stage = Stage::new(&trials)?;
    let at_once = match order {
        Order::AtOnce => trials.len().max(1),
        Order::InTurn => 1,
    };
    let mut rows = Vec::new();
    let mut rest = trials.into_iter().peekable();
    while rest.peek().is_some() {
        let first = rows.len();
        let part: Vec<Trial> = rest.by_ref().take(at_once).collect();
        let predict = |trial: &Trial| trial.predict(observer);
        let predictions = part.iter().map(predict).collect::<Result<Vec<_>, _>>()?;
        let meter = Meter::start();
        let start = |(trial, prediction)| -> Result<_, Error> {
            Ok(match stage.allows(trial) {
                Ok(()) => Ok(stage.start(trial, prediction)?),
                Err(why) => Err(why.clone()),
            })
        };
        let mut transfers: Vec<Result<Transfer, String>> = part
            .iter()
            .zip(&predictions)
            .map(start)
            .collect::<Result<_, _>>()?;
        stage.wait(first, &mut transfers, watch)?;
        let measured: Vec<_> = transfers
            .into_iter()
            .map(|transfer| transfer.and_then(Transfer::result))
            .collect();
        let load = meter.finish();
        for ((trial, predicted), measured) in part.into_iter().zip(predictions).zip(measured) {
            let warnings = match &measured {
                Ok(measured) => trust::warnings(measured, &predicted, trial.rtt, load),
                Err(_) => Vec::new(),
            };
            rows.push(Row {
                implementation: trial.implementation(),
                allowed: stage.allows(&trial).is_ok(),
                trial,
                predicted,
                measured,
                warnings,
            });
        }
    }
    Ok(rows)
}
