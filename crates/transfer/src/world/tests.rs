//! Many lives; a failing one is made shorter.

use super::life::{Event, Plan, Tally, live};
use crate::storage::world::calls::Fault;
use std::time::{Duration, Instant};

/// Lives in a test, clients of each, and files of each client.
const LIVES: u64 = 3;
const CLIENTS: usize = 3;
const FILES: u64 = 4;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn plan(seed: u64) -> Plan {
    let on = variable("WORLD_FAULTS");
    let is_on = |name: &str| {
        on.as_ref()
            .is_none_or(|on| on.split(',').any(|f| f == name))
    };
    let number = |name: &str, usual: u64| {
        variable(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    Plan {
        seed,
        clients: number("WORLD_CLIENTS", CLIENTS as u64) as usize,
        files: number("WORLD_FILES", FILES),
        faults: Fault::ALL
            .iter()
            .filter(|(_, name)| is_on(name))
            .map(|(f, _)| *f)
            .collect(),
        events: Event::ALL
            .iter()
            .filter(|(_, name)| is_on(name))
            .map(|(e, _)| *e)
            .collect(),
    }
}

/// The smallest life with the fewest kinds of faults that still fails, and how.
fn shrink(mut plan: Plan, mut why: String) -> (Plan, String) {
    loop {
        let mut smaller = Vec::new();
        if plan.clients > 1 {
            smaller.push(Plan {
                clients: plan.clients - 1,
                ..plan.clone()
            });
        }
        if plan.files > 1 {
            smaller.push(Plan {
                files: plan.files / 2,
                ..plan.clone()
            });
        }
        for fault in &plan.faults {
            let mut smaller_plan = plan.clone();
            smaller_plan.faults.retain(|f| f != fault);
            smaller.push(smaller_plan);
        }
        for event in &plan.events {
            let mut smaller_plan = plan.clone();
            smaller_plan.events.retain(|e| e != event);
            smaller.push(smaller_plan);
        }
        let failing = smaller
            .into_iter()
            .find_map(|plan| live(&plan).err().map(|why| (plan, why)));
        match failing {
            Some(found) => (plan, why) = found,
            None => return (plan, why),
        }
    }
}

/// The command that lives a life again.
fn command(plan: &Plan) -> String {
    let faults = Fault::ALL
        .iter()
        .filter(|(f, _)| plan.faults.contains(f))
        .map(|(_, name)| *name);
    let events = Event::ALL
        .iter()
        .filter(|(e, _)| plan.events.contains(e))
        .map(|(_, name)| *name);
    let mut on: Vec<_> = faults.chain(events).collect();
    if on.is_empty() {
        on.push("none");
    }
    let (seed, clients, files) = (plan.seed, plan.clients, plan.files);
    format!(
        "make world LIVES=whole SEEDS={seed}..{} CLIENTS={clients} FILES={files} FAULTS={}",
        seed + 1,
        on.join(",")
    )
}

#[test]
fn whole_lives_end_well() {
    if variable("WORLD_LIVES").is_some_and(|lives| lives != "whole") {
        return;
    }
    let seeds = match variable("WORLD_SEEDS") {
        Some(text) => crate::storage::world::seeds_of(&text),
        None => 0..LIVES,
    };
    let started = Instant::now();
    let (mut all, mut lives) = (Tally::default(), 0);
    for seed in seeds {
        let plan = plan(seed);
        match live(&plan) {
            Ok(tally) => {
                lives += 1;
                all.simulated += tally.simulated;
                all.stored += tally.stored;
                all.events += tally.events;
                all.faults += tally.faults;
                all.calls += tally.calls;
                all.datagrams += tally.datagrams;
                all.digest = all.digest.rotate_left(1) ^ tally.digest;
            }
            Err(why) => {
                println!("seed {seed}: {why}");
                let (plan, why) = shrink(plan, why);
                panic!("{why}\n{}", command(&plan));
            }
        }
    }
    let took = started.elapsed().max(Duration::from_millis(1));
    println!(
        "{lives} whole lives in {:.1} s, {:.0} s simulated in each second: {} files stored, {} \
         events, {} faults in {} calls, {} datagrams with the digest {:016x}",
        took.as_secs_f64(),
        all.simulated.as_secs_f64() / took.as_secs_f64(),
        all.stored,
        all.events,
        all.faults,
        all.calls,
        all.datagrams,
        all.digest
    );
}

#[test]
fn a_seed_gives_the_same_life_again() {
    let plan = Plan {
        clients: 2,
        files: 2,
        ..plan(1)
    };
    let digest = |plan: &Plan| live(plan).map(|tally| (tally.datagrams, tally.digest));
    let first = digest(&plan);
    assert!(first.is_ok(), "{first:?}");
    assert_eq!(first, digest(&plan));
    assert_ne!(first, digest(&Plan { seed: 2, ..plan }));
}
