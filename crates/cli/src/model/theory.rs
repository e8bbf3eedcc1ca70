//! The models, as fractions of the capacity of the link.

use super::{FLOWS, Flow, ModelArgs};
use crate::failure::BadInput;
use crate::runs::Progress;
use whimbrel_model::{
    Acks, Formula, Losses, ModelError, Path, Receiver, Sender, mathis, pftk, solve,
};
use whimbrel_units::Probability;

/// The predictions for all flows at all points.
pub struct Theory {
    pub path: Path,
    /// For each of [`FLOWS`], one prediction for each point.
    pub flows: Vec<Vec<Prediction>>,
}

/// The predictions for one flow at one point.
pub struct Prediction {
    /// Long-run delivery of the chain.
    pub chain: f64,
    /// The same with the data that was in flight after lost packets.
    pub with_flight: f64,
    /// Equation (15) or (16).
    pub equation: f64,
    /// Only for Reno without NACK.
    pub pftk: Option<f64>,
    pub mathis: Option<f64>,
}

/// Computes all predictions.
pub fn all(args: &ModelArgs, errors: &[Probability]) -> Result<Theory, BadInput> {
    let path =
        Path::new(args.rate, args.rtt, args.packet(), args.buffer()).map_err(BadInput::new)?;
    let progress = Progress::new(FLOWS.len() * errors.len(), "solved");
    let at = |flow: &Flow, p: &Probability| {
        let prediction = predict(args, &path, flow, *p).map_err(BadInput::new);
        progress.done();
        prediction
    };
    let of = |flow: &Flow| errors.iter().map(|p| at(flow, p)).collect();
    let flows = FLOWS.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Theory { path, flows })
}

fn predict(
    args: &ModelArgs,
    path: &Path,
    flow: &Flow,
    p: Probability,
) -> Result<Prediction, ModelError> {
    let receiver = |unreported| {
        if flow.nacks {
            Receiver::Nacks { unreported }
        } else {
            Receiver::Silent
        }
    };
    // The probability that a changed bit is in the headers is their fraction of the packet.
    let struck = args.header.get() as f64 / args.packet().get() as f64;
    let struck = Probability::new(struck).unwrap_or_default();
    let equation = solve(path, flow.formula, receiver(Probability::ZERO), p)?.mean_of_cycles;
    let solution = solve(path, flow.formula, receiver(struck), p)?;
    let of_reno = flow.formula == Formula::Reno && !flow.nacks;
    let share = |rate: f64| (rate / path.packets_per_second()).min(1.0);
    let sender = Sender {
        rtt: path.rtt(),
        first_timeout: args.min_rto.as_secs_f64(),
        packets_per_ack: 1.0,
        max_window: path.max_window() as f64,
    };
    Ok(Prediction {
        chain: solution.long_run,
        with_flight: solution.with_flight,
        equation,
        pftk: of_reno.then(|| share(pftk(&sender, p))),
        mathis: of_reno.then(|| share(mathis(path.rtt(), p, Acks::Every, Losses::Random))),
    })
}
