//! Many lives; a failing one is made shorter.

use super::life::{Life, Plan, Tally};
use crate::simulated::calls::{self, Fault, Planted};
use crate::simulated::panics;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Lives in a test, and the steps of each.
const LIVES: u64 = 60;
const STEPS: u64 = 40;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The seeds to live: `WORLD_SEEDS` is a number of them, or `FROM..TO`.
fn seeds() -> std::ops::Range<u64> {
    let Some(text) = variable("WORLD_SEEDS") else {
        return 0..LIVES;
    };
    crate::world::seeds_of(&text)
}

fn plan(seed: u64) -> Plan {
    let steps = variable("WORLD_STEPS").map_or(STEPS, |n| n.parse().expect("STEPS: a number"));
    let faults = variable("WORLD_FAULTS");
    let is_on = |name: &str| {
        faults
            .as_ref()
            .is_none_or(|on| on.split(',').any(|f| f == name))
    };
    Plan {
        seed,
        steps,
        faults: Fault::ALL
            .iter()
            .filter(|(_, name)| is_on(name))
            .map(|(f, _)| *f)
            .collect(),
        crashes: is_on("crash"),
        planted: None,
    }
}

/// What went wrong in a life, if anything did.
fn live(plan: &Plan) -> Result<Tally, String> {
    let lived = catch_unwind(AssertUnwindSafe(|| Life::live(plan)));
    calls::replace(None);
    panics::as_errors(lived)
}

/// The shortest life with the fewest kinds of faults that still fails, and how.
fn shrink(mut plan: Plan, mut why: String) -> (Plan, String) {
    let mut step = plan.steps / 2;
    loop {
        let mut smaller = Vec::new();
        if step > 0 && plan.steps > step {
            smaller.push(Plan {
                steps: plan.steps - step,
                ..plan.clone()
            });
        }
        if step == 0 {
            for fault in &plan.faults {
                let mut faults = plan.faults.clone();
                faults.retain(|f| f != fault);
                smaller.push(Plan {
                    faults,
                    ..plan.clone()
                });
            }
            if plan.crashes {
                smaller.push(Plan {
                    crashes: false,
                    ..plan.clone()
                });
            }
        }
        let failing = smaller
            .into_iter()
            .find_map(|p| live(&p).err().map(|why| (p, why)));
        match failing {
            Some(found) => (plan, why) = found,
            None if step == 0 => return (plan, why),
            None => step /= 2,
        }
    }
}

/// The command that lives a life again.
fn command(plan: &Plan) -> String {
    let on = Fault::ALL
        .iter()
        .filter(|(f, _)| plan.faults.contains(f))
        .map(|(_, name)| *name);
    let on: Vec<_> = on.chain(plan.crashes.then_some("crash")).collect();
    let (seed, steps) = (plan.seed, plan.steps);
    format!(
        "make world LIVES=storage SEEDS={seed}..{} STEPS={steps} FAULTS={}",
        seed + 1,
        match on.is_empty() {
            true => "none".to_owned(),
            false => on.join(","),
        }
    )
}

#[test]
fn what_is_stored_survives_every_crash_and_nothing_else_is_visible() {
    if variable("WORLD_LIVES").is_some_and(|lives| lives != "storage") {
        return;
    }
    let started = Instant::now();
    let mut all = Tally::default();
    let mut lives = 0u64;
    for seed in seeds() {
        let plan = plan(seed);
        match live(&plan) {
            Ok(tally) => {
                lives += 1;
                all.steps += tally.steps;
                all.calls += tally.calls;
                all.faults += tally.faults;
                all.crashes += tally.crashes;
                all.stored += tally.stored;
            }
            Err(why) => {
                let (plan, why) = shrink(plan, why);
                panic!("{why}\n{}", command(&plan));
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{lives} lives in {seconds:.1} s, {:.1} a second: {} steps, {} calls, {} faults, {} crashes \
         of the machine, {} times stored",
        lives as f64 / seconds,
        all.steps,
        all.calls,
        all.faults,
        all.crashes,
        all.stored
    );
}

/// Lives notice a program with a mistake. Prints how many it took.
#[test]
fn lives_notice_each_mistake_that_is_planted() {
    let mut unnoticed = Vec::new();
    for planted in Planted::ALL {
        let mistaken = |seed| Plan {
            seed,
            steps: STEPS,
            faults: vec![Fault::Kill, Fault::Rename],
            crashes: true,
            planted: Some(planted),
        };
        match (0..60).find_map(|seed| live(&mistaken(seed)).err().map(|why| (seed, why))) {
            Some((seed, why)) => println!("{planted:?}: life {seed}: {why}"),
            None => unnoticed.push(planted),
        }
    }
    assert!(unnoticed.is_empty(), "nobody notices {unnoticed:?}");
}
