//! The same path in the simulator.

use super::{FLOWS, ModelArgs};
use crate::compare::exact;
use crate::play::run_all;
use std::path::Path;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;
use whimbrel_units::Probability;

/// Goodput over what the link carries of payload, for each of [`FLOWS`] one list of all seeds for each point; empty if
/// nothing was simulated.
pub fn all(args: &ModelArgs, errors: &[Probability]) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let mut measured = vec![vec![Vec::new(); errors.len()]; FLOWS.len()];
    if args.seeds == 0 {
        return Ok(measured);
    }
    let scenario = Scenario::parse(&scenario(args, errors), Path::new("model"))?;
    let runs = run_all(&sweep::jobs(scenario.points()), args.threads)?;
    let payload = args.mss.get() as f64 / args.packet().get() as f64;
    let capacity = args.rate.as_bits_per_sec() as f64 * payload;
    // Points lie in the order of the sweep, whose last line turns fastest, and each has its seeds.
    for (point, runs) in runs.chunks(args.seeds as usize).enumerate() {
        let share =
            |run: &sweep::Run<'_>| run.outcome.goodput().as_bits_per_sec() as f64 / capacity;
        measured[point / errors.len()][point % errors.len()] = runs.iter().map(share).collect();
    }
    Ok(measured)
}

/// The scenario file.
pub fn scenario(args: &ModelArgs, errors: &[Probability]) -> String {
    let controllers: Vec<&str> = FLOWS
        .iter()
        .map(|flow| flow.controller)
        .filter(|name| name.parse::<Spec>().is_ok())
        .collect();
    let errors: Vec<String> = errors.iter().map(Probability::to_string).collect();
    let ModelArgs {
        rate,
        mss,
        header,
        min_rto,
        duration,
        seeds,
        recovery,
        ..
    } = args;
    let queue = args.buffer();
    format!(
        "[link.L]\nrate = \"{} bit/s\"\ndelay = {:?}    # each way\nqueue = \"{queue} packets\"\n\
         loss = {{ corrupt = \"0 %\" }}\n\n\
         [[flow]]\nroute = [\"L\"]\n\n\
         [run]\nduration = {:?}\nseeds = {seeds}\nrecovery = {recovery:?}\n\
         mss = \"{} B\"\nheader = \"{} B\"\nmin_rto = {:?}\nack_every = 1    # as the models have it\n\n\
         [sweep]\n\"flow.controller\" = {controllers:?}\n\"link.L.loss.corrupt\" = {errors:?}\n",
        rate.as_bits_per_sec(),
        exact(args.rtt / 2),
        exact(*duration),
        mss.get(),
        header.get(),
        exact(*min_rto),
    )
}
