//! The same path in the simulator.

use super::{FLOWS, ModelArgs};
use crate::compare::exact;
use crate::runs::run_all;
use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep;
use whimbrel_units::Probability;

/// Goodput as a fraction of the payload that the link carries: for each of [`FLOWS`] and each
/// point, the values of all seeds. Empty lists if nothing is simulated.
pub fn all(args: &ModelArgs, errors: &[Probability]) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let mut measured = vec![vec![Vec::new(); errors.len()]; FLOWS.len()];
    if args.seeds == 0 {
        return Ok(measured);
    }
    let scenario = Scenario::parse(&scenario(args, errors), Path::new("model"))?;
    let runs = run_all(&sweep::jobs(scenario.points()), args.threads)?;
    let payload = args.mss.get() as f64 / args.packet().get() as f64;
    let capacity = args.rate.as_bits_per_sec() as f64 * payload;
    // Points are in the order of the sweep, where the last key varies fastest, with all seeds each.
    for (point, runs) in runs.chunks(args.seeds as usize).enumerate() {
        let share =
            |run: &sweep::Run<'_>| run.outcome.goodput().as_bits_per_sec() as f64 / capacity;
        measured[point / errors.len()][point % errors.len()] = runs.iter().map(share).collect();
    }
    Ok(measured)
}

/// The scenario file.
pub fn scenario(args: &ModelArgs, errors: &[Probability]) -> String {
    let controllers = FLOWS.map(|flow| flow.controller);
    let errors: Vec<String> = errors.iter().map(Probability::to_string).collect();
    let ModelArgs {
        rate,
        mss,
        header,
        min_rto,
        duration,
        recovery,
        ..
    } = args;
    // Formulas alone need no seeds, but a scenario does.
    let seeds = args.seeds.max(1);
    let queue = args.buffer();
    format!(
        "[link.L]\nrate = \"{} bit/s\"\ndelay = {:?}    # each way\nqueue = \"{queue} packets\"\n\
         loss = {{ corrupt = \"0 %\" }}\n\n\
         [[flow]]\nroute = [\"L\"]\n\n\
         [run]\nduration = {:?}\nseeds = {seeds}\nrecovery = {recovery:?}\n\
         mss = \"{} B\"\nheader = \"{} B\"\nmin_rto = {:?}\nack_every = 1    # as in the models\n\n\
         [sweep]\n\"flow.controller\" = {controllers:?}\n\"link.L.loss.corrupt\" = {errors:?}\n",
        rate.as_bits_per_sec(),
        exact(args.rtt / 2),
        exact(*duration),
        mss.get(),
        header.get(),
        exact(*min_rto),
    )
}
