//! Scores of points, classes and all, with confidence intervals.
//!
//! The score of a class is the mean over its points, and the score in all is the mean over the
//! classes, so that a class with many points does not outweigh the others. Each seed gives one
//! score of a point, of a class and in all; the interval is Student's t over the seeds.

use crate::library::Library;
use crate::measure::{Measures, Runs};
use crate::point::{Class, MatrixPoint};
use crate::score::{References, five_packets, kept, score};
use std::collections::BTreeMap;
use whimbrel_report::Interval;

/// One algorithm at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The algorithm.
    pub controller: String,
    /// The point.
    pub point: String,
    /// Its class.
    pub class: Class,
    /// The score of each seed.
    pub scores: Vec<f64>,
    /// The measures, mean over the seeds.
    pub mean: Measures,
    /// What the neighbours keep, if there are any.
    pub kept: Option<f64>,
    /// How many of the runs were stopped.
    pub stopped: usize,
}

impl Cell {
    /// The mean score and its interval.
    pub fn interval(&self) -> Interval {
        Interval::of(&self.scores).unwrap_or(Interval {
            mean: 0.0,
            half_width: None,
        })
    }

    /// The ends of the interval, if there are several seeds. A score cannot leave its range, 0 to
    /// 1, whatever Student's t says.
    pub fn range(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval().ends()?;
        Some((low.max(0.0), high.min(1.0)))
    }
}

/// One algorithm in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The algorithm.
    pub controller: String,
    /// In all classes.
    pub all: Interval,
    /// In each class that has points.
    pub classes: BTreeMap<Class, Interval>,
}

/// The scores of all algorithms at all points.
#[derive(Debug, Clone, PartialEq)]
pub struct League {
    /// Every algorithm at every point, by algorithm and then by point.
    pub cells: Vec<Cell>,
    /// The algorithms, best first.
    pub table: Vec<Standing>,
}

impl League {
    /// The scores of `controllers` at the points of the library. `runs` has the measures of each
    /// (point, controller), including those of the points' references. A controller is left out at
    /// a point without runs.
    pub fn new(library: &Library, controllers: &[String], runs: &Runs) -> Self {
        let mut cells = Vec::new();
        for controller in controllers {
            for point in &library.points {
                let key = (point.id.clone(), controller.clone());
                if let Some(runs_here) = runs.get(&key).filter(|all| !all.is_empty()) {
                    cells.extend(cell(point, controller, runs_here, runs));
                }
            }
        }
        let mut table: Vec<Standing> = controllers
            .iter()
            .filter_map(|name| standing(name, &cells))
            .collect();
        table.sort_by(|a, b| b.all.mean.total_cmp(&a.all.mean));
        Self { cells, table }
    }

    /// The cell of an algorithm at a point.
    pub fn cell(&self, controller: &str, point: &str) -> Option<&Cell> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.controller == controller && cell.point == point)
    }

    /// The best score of any of the algorithms at each point, averaged as the others are: what an
    /// oracle reaches that picks an algorithm for each point.
    pub fn oracle(&self) -> Option<Standing> {
        let mut best: BTreeMap<(Class, &str), f64> = BTreeMap::new();
        for cell in &self.cells {
            let score = cell.interval().mean;
            let entry = best.entry((cell.class, &cell.point)).or_insert(score);
            *entry = entry.max(score);
        }
        let cells: Vec<Cell> = best
            .into_iter()
            .map(|((class, point), score)| Cell {
                controller: "best at each".to_owned(),
                point: point.to_owned(),
                class,
                scores: vec![score],
                mean: Measures::default(),
                kept: None,
                stopped: 0,
            })
            .collect();
        standing("best at each", &cells)
    }
}

fn cell(point: &MatrixPoint, controller: &str, runs: &[Measures], all: &Runs) -> Option<Cell> {
    let references = References::of(point, all);
    let scores: Vec<f64> = runs
        .iter()
        .map(|m| score(point, m, &references, five_packets(point, m)))
        .collect();
    let mean = Measures::mean(runs)?;
    Some(Cell {
        controller: controller.to_owned(),
        point: point.id.clone(),
        class: point.class,
        kept: kept(&mean, &references),
        stopped: runs.iter().filter(|m| m.stopped.is_some()).count(),
        scores,
        mean,
    })
}

fn standing(controller: &str, cells: &[Cell]) -> Option<Standing> {
    let own: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.controller == controller)
        .collect();
    let seeds = own
        .iter()
        .map(|cell| cell.scores.len())
        .min()
        .filter(|n| *n > 0)?;
    let mut classes = BTreeMap::new();
    let mut all = vec![0.0; seeds];
    for class in Class::ALL {
        let of_class: Vec<&&Cell> = own.iter().filter(|cell| cell.class == class).collect();
        if of_class.is_empty() {
            continue;
        }
        let mean = |seed: usize| {
            let sum: f64 = of_class.iter().map(|cell| cell.scores[seed]).sum();
            sum / of_class.len() as f64
        };
        let scores: Vec<f64> = (0..seeds).map(mean).collect();
        for (sum, score) in all.iter_mut().zip(&scores) {
            *sum += score;
        }
        classes.insert(class, Interval::of(&scores)?);
    }
    let n = classes.len() as f64;
    let all: Vec<f64> = all.into_iter().map(|sum| sum / n).collect();
    Some(Standing {
        controller: controller.to_owned(),
        all: Interval::of(&all)?,
        classes,
    })
}
