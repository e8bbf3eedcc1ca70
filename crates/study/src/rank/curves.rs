//! What a few algorithms do over time at each point, so that a score leads to curves.

use super::Ranking;
use crate::runs::{first_seeds, run_all, sampled};
use crate::{Error, Observer};
use std::num::NonZeroUsize;
use whimbrel_rank::{BBR, CUBIC, League, MatrixPoint};
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::{Look, Setting, over_time};
use whimbrel_report::page::{Section, Source};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::Run;

/// Algorithms with the highest scores that are drawn, besides CUBIC and BBR.
const BEST: usize = 2;

impl Ranking {
    /// A section of a page for each point, with the best algorithms, CUBIC and BBR over time.
    ///
    /// # Errors
    /// If an algorithm cannot run at a point, or the observer stops it.
    pub fn curves(
        &self,
        threads: Option<NonZeroUsize>,
        observer: &dyn Observer,
    ) -> Result<Vec<Section>, Error> {
        let mut scenarios: Vec<(&MatrixPoint, Vec<Scenario>)> = Vec::new();
        for point in &self.library.points {
            let of_name = |name: &String| Ok(sampled(&point.scenario(name, 1)?));
            let names = drawn(point, &self.league);
            let all: Result<Vec<Scenario>, Error> = names.iter().map(of_name).collect();
            scenarios.push((point, all?));
        }
        let jobs: Vec<_> = scenarios
            .iter()
            .flat_map(|(_, all)| all.iter().flat_map(first_seeds))
            .collect();
        let mut runs = run_all(&jobs, threads, observer)?.into_iter();
        let mut sections = Vec::new();
        for (point, all) in &scenarios {
            let count = all.iter().map(|one| first_seeds(one).len()).sum();
            let mine: Vec<Run<'_>> = runs.by_ref().take(count).collect();
            sections.push(section(point, figure(point, &mine)));
        }
        Ok(sections)
    }
}

/// The algorithms that are drawn at a point, those with the highest scores first.
fn drawn(point: &MatrixPoint, league: &League) -> Vec<String> {
    let cells = league.cells.iter().filter(|cell| cell.point == point.id);
    let mut cells: Vec<(&str, f64)> = cells
        .map(|cell| (cell.controller.as_str(), cell.interval().mean))
        .collect();
    cells.sort_by(|a, b| b.1.total_cmp(&a.1));
    let known = |name: &&&str| cells.iter().any(|(other, _)| other == *name);
    let best = cells.iter().take(BEST).map(|(name, _)| *name);
    let usual = [CUBIC, BBR];
    let mut all: Vec<String> = Vec::new();
    for name in best.chain(usual.iter().filter(known).copied()) {
        if !all.iter().any(|other| other == name) {
            all.push(name.to_owned());
        }
    }
    all
}

fn figure(point: &MatrixPoint, runs: &[Run<'_>]) -> Option<Figure> {
    let setting = Setting {
        at: String::new(),
        runs: runs.iter().collect(),
        flows: point.flows.first().cloned(),
    };
    let mut figure = over_time(&setting, &Look::USUAL)?;
    figure.id = format!("point/{}/time", point.id);
    figure.title = format!("{} over time", point.id);
    Some(figure)
}

fn section(point: &MatrixPoint, figure: Option<Figure>) -> Section {
    Section {
        id: format!("point/{}", point.id),
        title: point.id.clone(),
        group: "Points".to_owned(),
        text: vec![point.claim.clone()],
        figures: figure.into_iter().collect(),
        sources: vec![Source {
            title: point.id.clone(),
            path: point.path.display().to_string(),
            text: point.text.clone(),
        }],
        ..Section::default()
    }
}
