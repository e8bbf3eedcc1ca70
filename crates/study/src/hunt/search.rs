//! Rounds over all families: each asks for a generation, all are evaluated together, and the
//! families in which nothing is found give their share to the others.

use super::goal::measure;
use super::optimizer::{Coordinates, Optimizer};
use super::space::Case;
use super::{Family, Request};
use crate::{Error, Observer};
use std::time::Instant;

/// The part of the evaluations that goes to random places, in equal parts to all families.
const RANDOM: f64 = 0.35;
/// Generations after which the better half of the families goes on alone.
const GENERATIONS: usize = 3;
/// Families that go on to the end.
const LAST: usize = 2;

/// What the search found.
pub struct Searched {
    /// The worst path of each family that was searched.
    pub worst: Vec<Worst>,
    /// Paths that were tried.
    pub evaluations: usize,
    /// Whether the time limit ended it.
    pub out_of_time: bool,
}

/// The worst path of a family.
pub struct Worst {
    pub case: Case,
    pub ratio: f64,
    pub evaluations: usize,
}

struct Searching {
    family: &'static Family,
    optimizer: Optimizer,
    evaluations: usize,
    active: bool,
}

impl Searching {
    fn ratio(&self) -> f64 {
        self.optimizer
            .best()
            .map_or(f64::INFINITY, |(ratio, _)| ratio)
    }
}

/// Searches the families.
///
/// # Errors
/// If an algorithm cannot run on a path, the observer stops it, or threads cannot be started.
pub fn search(
    request: &Request,
    families: &[&'static Family],
    observer: &dyn Observer,
) -> Result<Searched, Error> {
    let begin = Instant::now();
    let budget = request.evaluations as usize;
    let draws = (budget as f64 * RANDOM / families.len().max(1) as f64) as usize;
    let mut all: Vec<Searching> = families
        .iter()
        .map(|family| Searching {
            family,
            optimizer: Optimizer::new(
                family.knobs.len(),
                draws.max(2),
                seed_of_family(request.seed, family),
            ),
            evaluations: 0,
            active: true,
        })
        .collect();
    let seeds = request.search_seeds();
    observer.begin(budget as f64, "paths");
    let (mut tried, mut rounds, mut out_of_time) = (0, 0, false);
    while tried < budget && !out_of_time {
        let mut asked: Vec<(usize, Vec<Coordinates>)> = Vec::new();
        for (i, one) in all.iter_mut().enumerate().filter(|(_, one)| one.active) {
            asked.push((i, one.optimizer.ask()));
        }
        let cases = asked.iter().flat_map(|(i, places)| {
            let family = all[*i].family;
            places.iter().map(move |place| Case::at(family, place))
        });
        let points = cases
            .enumerate()
            .map(|(i, case)| case.point(&i.to_string()));
        let points: Vec<_> = points.collect::<Result<_, _>>()?;
        if points.is_empty() {
            break;
        }
        let measured = measure(request, &points, &seeds, observer)?;
        let mut ratios = measured.iter().map(super::Measured::ratio);
        for (i, places) in &asked {
            let ratios: Vec<f64> = ratios.by_ref().take(places.len()).collect();
            let one = &mut all[*i];
            one.optimizer.tell(places, &ratios);
            one.evaluations += places.len();
            tried += places.len();
        }
        rounds += 1;
        if usize::is_multiple_of(rounds, GENERATIONS) {
            halve(&mut all);
        }
        out_of_time = request.time.is_some_and(|limit| begin.elapsed() >= limit);
    }
    let worst = all.iter().filter_map(|one| {
        let (ratio, place) = one.optimizer.best()?;
        Some(Worst {
            case: Case::at(one.family, place),
            ratio,
            evaluations: one.evaluations,
        })
    });
    Ok(Searched {
        worst: worst.collect(),
        evaluations: tried,
        out_of_time: out_of_time && tried < budget,
    })
}

/// Ends the search of the families with the higher ratios.
fn halve(all: &mut [Searching]) {
    let mut ratios: Vec<f64> = all
        .iter()
        .filter(|one| one.active)
        .map(Searching::ratio)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let stay = (ratios.len() / 2).max(LAST.min(ratios.len()));
    if let Some(limit) = stay.checked_sub(1).and_then(|last| ratios.get(last)) {
        for one in all {
            one.active &= one.ratio() <= *limit;
        }
    }
}

/// Each family draws from a seed of its own, whichever others are searched.
pub fn seed_of_family(seed: u64, family: &Family) -> u64 {
    seed ^ seed_of(family.name)
}

/// A seed of a text: FNV-1a.
fn seed_of(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
