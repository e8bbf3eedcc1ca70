//! Many lives; a failing one is made shorter.

use super::life::{Event, Plan, Tally, live};
use crate::scratch_directory::ScratchDirectory;
use crate::simulated::calls::Fault;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lives in a test, clients of each, and what each client does.
const LIVES: u64 = 3;
const CLIENTS: usize = 3;
const FILES: u64 = 4;
/// Lives of a busy server: lives in a test, clients of each, and minutes.
const BUSY_LIVES: u64 = 1;
const BUSY_CLIENTS: usize = 20;
const BUSY_MINUTES: u64 = 60;
const BUSY_MINUTES_IN_A_TEST: u64 = 5;
/// Mean pause of a busy client between two jobs, seconds.
const BUSY_PAUSE: u64 = 30;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn plan(seed: u64, busy: bool) -> Plan {
    let on = variable("WORLD_FAULTS");
    let is_on = |name: &str| {
        on.as_ref()
            .is_none_or(|on| on.split(',').any(|f| f == name))
    };
    let number = |name: &str, usual: u64| {
        variable(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    let (clients, files, minutes) = match (busy, variable("WORLD_SEEDS")) {
        (false, _) => (CLIENTS, FILES, 0),
        (true, Some(_)) => (BUSY_CLIENTS, u64::MAX, BUSY_MINUTES),
        (true, None) => (BUSY_CLIENTS, u64::MAX, BUSY_MINUTES_IN_A_TEST),
    };
    Plan {
        seed,
        clients: number("WORLD_CLIENTS", clients as u64) as usize,
        files: number("WORLD_FILES", files),
        minutes: number("WORLD_MINUTES", minutes),
        pause: match busy {
            true => number("WORLD_PAUSE", BUSY_PAUSE),
            false => 0,
        },
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
        if plan.files > 1 && plan.minutes == 0 {
            smaller.push(Plan {
                files: plan.files / 2,
                ..plan.clone()
            });
        }
        if plan.minutes > 1 {
            smaller.push(Plan {
                minutes: plan.minutes / 2,
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
    let (lives, length) = match plan.minutes {
        0 => ("whole", format!("FILES={files}")),
        minutes => ("busy", format!("MINUTES={minutes} PAUSE={}", plan.pause)),
    };
    format!(
        "make world LIVES={lives} SEEDS={seed}..{} CLIENTS={clients} {length} FAULTS={}",
        seed + 1,
        on.join(",")
    )
}

/// A file that remembers which lives ended well, so that many lives can be lived in parts.
struct Record {
    /// Lives that ended well before.
    lived: BTreeMap<u64, Tally>,
    file: File,
}

impl Record {
    /// The record of lives like this one, apart from the seed, in the file of this path.
    fn open(path: &str, plan: &Plan) -> Self {
        let head = Self::head(plan);
        let text = fs::read_to_string(path).unwrap_or_default();
        // A line without an end was not written whole.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let first = lines.next();
        assert!(
            first.is_none_or(|first| first == head),
            "{path} is of other lives: {first:?}"
        );
        let lived = lines.map(|line| {
            let (seed, tally) = line.split_once(' ').expect("a seed");
            (seed.parse().expect("a seed"), Tally::read(tally))
        });
        let lived = lived.collect();
        fs::write(path, &text[..whole]).expect("a file of what was lived");
        let mut file = File::options().append(true).open(path).expect("the same");
        if first.is_none() {
            writeln!(file, "{head}").expect("written");
        }
        Self { lived, file }
    }

    fn head(plan: &Plan) -> String {
        let command = command(plan);
        let words = command.split(' ').filter(|w| !w.starts_with("SEEDS="));
        words.collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, seed: u64, tally: Tally) {
        writeln!(self.file, "{seed} {tally}").expect("written");
    }
}

/// Lives these lives, several at once. Returns what has happened in each, up to the first that
/// failed. Lives that are on record are not lived again; the others are recorded as they end.
fn all(
    seeds: Range<u64>,
    busy: bool,
    record: Option<Record>,
) -> BTreeMap<u64, Result<Tally, String>> {
    let known = record.as_ref().map(|record| record.lived.clone());
    let known = known.unwrap_or_default();
    let before = known.range(seeds.clone());
    let lived: BTreeMap<_, _> = before.map(|(seed, tally)| (*seed, Ok(*tally))).collect();
    let next = AtomicU64::new(seeds.start);
    let lived = Mutex::new((record, lived));
    let started = Instant::now();
    let new = AtomicU64::new(0);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            if known.contains_key(&seed) {
                continue;
            }
            let tally = live(&plan(seed, busy));
            if tally.is_err() {
                next.fetch_max(seeds.end, Ordering::Relaxed);
            }
            let (record, lived) = &mut *lived.lock().expect("no panic");
            if let (Some(record), Ok(tally)) = (record, tally.as_ref()) {
                record.add(seed, *tally);
                let simulated = tally.simulated.as_millis() as u64;
                let simulated = simulated + new.fetch_add(simulated, Ordering::Relaxed);
                println!(
                    "seed {seed}: {:.2} h, {}; {:.2} days in {:.2} h",
                    tally.simulated.as_secs_f64() / 3600.0,
                    rate(tally),
                    simulated as f64 / 86_400_000.0,
                    started.elapsed().as_secs_f64() / 3600.0,
                );
            }
            lived.insert(seed, tally);
        }
    };
    let usual = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = variable("WORLD_THREADS").map_or(usual, |text| text.parse().expect("a number"));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (_, lived) = lived.into_inner().expect("no panic");
    lived
}

/// How much time a core simulates.
fn rate(tally: &Tally) -> String {
    let cpu = tally.cpu.max(Duration::from_millis(1)).as_secs_f64();
    let rate = tally.simulated.as_secs_f64() / cpu;
    format!("{rate:.0} s in each second of CPU time")
}

/// Lives all lives, unless others are wanted.
fn end_well(name: &str, usual: u64) {
    if variable("WORLD_LIVES").is_some_and(|lives| lives != name) {
        return;
    }
    let busy = name == "busy";
    let seeds = match variable("WORLD_SEEDS") {
        Some(text) => super::seeds_of(&text),
        None => 0..usual,
    };
    let record = variable("WORLD_RECORD");
    let record = record.map(|path| Record::open(&path, &plan(0, busy)));
    let started = Instant::now();
    let (mut all_of_them, mut lives) = (Tally::default(), 0);
    for (seed, tally) in all(seeds, busy, record) {
        let tally = tally.unwrap_or_else(|why| {
            println!("seed {seed}: {why}\n{}", command(&plan(seed, busy)));
            let (plan, why) = shrink(plan(seed, busy), why);
            panic!("{why}\n{}", command(&plan));
        });
        lives += 1;
        all_of_them += tally;
    }
    let took = started.elapsed().as_secs_f64();
    println!(
        "{lives} {name} lives in {took:.1} s: {:.2} days simulated, {}; {} files stored, {} got, \
         {} events, {} faults in {} calls, {} datagrams with the digest {:016x}",
        all_of_them.simulated.as_secs_f64() / 86_400.0,
        rate(&all_of_them),
        all_of_them.stored,
        all_of_them.got,
        all_of_them.events,
        all_of_them.faults,
        all_of_them.calls,
        all_of_them.datagrams,
        all_of_them.digest
    );
}

#[test]
fn lives_on_record_are_not_lived_again() {
    let scratch = ScratchDirectory::new();
    let path = scratch.path().join("record");
    let path = path.to_str().expect("a name");
    let small = Plan {
        clients: 1,
        files: 1,
        ..plan(0, false)
    };
    let tally = live(&small).expect("a good life");
    Record::open(path, &small).add(7, tally);
    let record = Record::open(path, &small);
    assert_eq!(record.lived[&7].to_string(), tally.to_string());
    assert_eq!(record.lived[&7].digest, tally.digest);
    // Nothing is lived: there would be more clients.
    let lived = all(7..8, false, Some(record));
    assert_eq!(lived[&7].as_ref().map(|t| t.digest), Ok(tally.digest));
    // The last line may have been cut off.
    let text = fs::read_to_string(path).expect("there");
    fs::write(path, format!("{text}8 12")).expect("written");
    assert!(Record::open(path, &small).lived.keys().eq([&7]));
    let other = plan(0, true);
    assert!(std::panic::catch_unwind(|| Record::open(path, &other)).is_err());
}

#[test]
fn whole_lives_end_well() {
    end_well("whole", LIVES);
}

#[test]
fn a_busy_server_serves_well() {
    end_well("busy", BUSY_LIVES);
}

#[test]
fn a_seed_gives_the_same_life_again() {
    let plan = Plan {
        clients: 2,
        files: 2,
        ..plan(1, false)
    };
    let digest = |plan: &Plan| live(plan).map(|tally| (tally.datagrams, tally.digest));
    let first = digest(&plan);
    assert!(first.is_ok(), "{first:?}");
    assert_eq!(first, digest(&plan));
    assert_ne!(first, digest(&Plan { seed: 2, ..plan }));
}
