//! Scores of algorithms on a matrix of paths.

mod columns;
mod curves;
mod fairness;
mod known;
mod page;
mod saved;
mod tables;
#[cfg(test)]
mod tests;
pub mod text;

pub use saved::{Table, file_to_save};

use crate::cache::{Cache, Key};
use crate::controllers::Choice;
use crate::{BadInput, Error, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use whimbrel_cc::registry;
use whimbrel_rank::{
    Aim, Cell, Class, League, Library, LibraryError, MatrixPoint, Measures, Runs, Task, Version,
    run_tasks,
};

/// What is ranked, and where.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The algorithms.
    pub controllers: Vec<Choice>,
    /// Number of runs of each algorithm at each point, with the seeds from 1.
    pub seeds: u32,
    /// Only points of these classes; empty: all.
    pub classes: Vec<Class>,
    /// Only points whose names begin with one of these words; empty: all.
    pub only: Vec<String>,
    /// The version of the matrix.
    pub matrix: Version,
    /// A folder of points instead of the matrix.
    pub points: Option<PathBuf>,
    /// A file of an earlier ranking, whose results are added.
    pub known: Option<PathBuf>,
    /// Run again what is stored.
    pub again: bool,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// The default algorithms.
pub const USUAL: &str = "newreno,cubic,bbr,copa,cerl,enhanced-aatp,whimbrel";
/// The default number of runs of each algorithm at each point.
pub const USUAL_SEEDS: u32 = 5;

impl Request {
    /// The names of the algorithms, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for choice in &self.controllers {
            match choice {
                Choice::Every => {
                    names.extend(registry::controllers().iter().map(|e| e.name.to_owned()));
                }
                Choice::One(spec) => names.push(spec.to_string()),
            }
        }
        let mut unique = BTreeSet::new();
        names.retain(|name| unique.insert(name.clone()));
        names
    }

    /// Whether the request names this algorithm, not only all.
    fn names_itself(&self, name: &str) -> bool {
        let is_it = |choice: &Choice| matches!(choice, Choice::One(s) if s.to_string() == name);
        self.controllers.iter().any(is_it)
    }

    fn library(&self) -> Result<Library, Error> {
        let mut library = match &self.points {
            Some(folder) => Library::folder(folder),
            None => Library::matrix(self.matrix),
        }?;
        let all = library.points.len();
        self.check_classes(&library)?;
        library.points.retain(|point| {
            let class = self.classes.is_empty() || self.classes.contains(&point.class);
            let only =
                self.only.is_empty() || self.only.iter().any(|word| point.id.starts_with(word));
            class && only
        });
        if library.points.is_empty() {
            return Err(BadInput::new(format!(
                "`classes` and `only` leave none of the {all} points; leave one of them out"
            ))
            .into());
        }
        Ok(library)
    }

    /// A class without points would silently have no score.
    fn check_classes(&self, library: &Library) -> Result<(), Error> {
        let is_there = |class: &&Class| library.points.iter().any(|point| point.class == **class);
        let Some(missing) = self.classes.iter().find(|class| !is_there(class)) else {
            return Ok(());
        };
        let why = match (&self.points, self.matrix) {
            (Some(folder), _) => format!("no point of {} has it", folder.display()),
            (None, Version::One) => "matrix version 1 does not have it; version 2 does".to_owned(),
            (None, Version::Two) => "matrix version 2 does not have it".to_owned(),
        };
        Err(BadInput::in_argument(
            "classes",
            format!("{missing} ({}): {why}", missing.subject()),
        )
        .into())
    }
}

impl From<LibraryError> for Error {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Wrong(error) => error.into(),
            other => BadInput::new(other).into(),
        }
    }
}

/// A class by its letter.
///
/// # Errors
/// If it has none; the text names the classes.
pub fn class(letter: &str) -> Result<Class, BadInput> {
    Class::of(letter).ok_or_else(|| {
        let all = Class::ALL.map(|class| format!("{class} ({})", class.subject()));
        let all = all.join(", ");
        BadInput::new(format!("`{letter}` is not a class; the classes are {all}"))
    })
}

/// What was measured, and the scores.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The points.
    pub library: Library,
    /// The names of the requested algorithms; the table may have more, from an earlier ranking.
    pub requested: Vec<String>,
    /// What every run measured, those of references included.
    pub runs: Runs,
    /// The scores.
    pub league: League,
}

/// Runs what is neither known nor in the cache, and computes the scores. New results go to the
/// cache.
///
/// # Errors
/// If the request does not fit the points, a file cannot be read, an algorithm cannot run at a
/// point, or the observer stops it.
pub fn rank(
    request: &Request,
    cache: Option<&Cache>,
    observer: &dyn Observer,
) -> Result<Ranking, Error> {
    let library = request.library()?;
    let requested = request.names();
    let mut names = requested.clone();
    let mut runs = Runs::new();
    if let Some(path) = &request.known {
        let (known, more) = known::read(path, &library, observer)?;
        runs = known;
        names.extend(more.into_iter().filter(|name| !requested.contains(name)));
        // What the request names is run: an earlier program may have made the file.
        runs.retain(|(_, name), _| !request.names_itself(name));
    }
    complete(&library, &names, request, cache, &mut runs, observer)?;
    let league = League::new(&library, &names, &runs);
    Ok(Ranking {
        library,
        requested,
        runs,
        league,
    })
}

/// Adds the runs that are missing: of the controllers, and of the algorithms that the points refer
/// to.
fn complete(
    library: &Library,
    controllers: &[String],
    request: &Request,
    cache: Option<&Cache>,
    runs: &mut Runs,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let mut tasks: Vec<(Task<'_>, Option<Key>)> = Vec::new();
    for point in &library.points {
        let names = controllers.iter().map(String::as_str);
        let names: BTreeSet<&str> = names.chain(point.references()).collect();
        for name in names {
            let place = (point.id.clone(), name.to_owned());
            if runs.contains_key(&place) {
                continue;
            }
            let key = cache.map(|cache| key(cache, point, name, request.seeds));
            let stored = cache.zip(key.as_ref()).filter(|_| !request.again);
            match stored.and_then(|(cache, key)| cache.read::<Vec<Measures>>(key)) {
                Some(stored) => {
                    runs.insert(place, stored);
                }
                None => tasks.push((Task::new(point, name, request.seeds)?, key)),
            }
        }
    }
    // The longest first, so that no core waits long for the last ones.
    tasks.sort_by(|a, b| b.0.work().total_cmp(&a.0.work()));
    let (tasks, keys): (Vec<Task<'_>>, Vec<Option<Key>>) = tasks.into_iter().unzip();
    let keys: BTreeMap<(&str, &str), Option<Key>> = tasks
        .iter()
        .zip(keys)
        .map(|(task, key)| ((task.point.id.as_str(), task.controller.as_str()), key))
        .collect();
    observer.begin(tasks.iter().map(Task::work).sum(), "runs");
    let finished: Mutex<Runs> = Mutex::default();
    run_tasks(&tasks, request.threads, |task, measures| {
        let place = (task.point.id.as_str(), task.controller.as_str());
        if let (Some(cache), Some(Some(key))) = (cache, keys.get(&place)) {
            cache.write(key, &measures, observer);
        }
        let place = (task.point.id.clone(), task.controller.clone());
        let mut finished = finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.insert(place, measures.to_vec());
        observer.done(task.work()).is_continue()
    })?;
    runs.extend(
        finished
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    );
    Ok(())
}

fn key(cache: &Cache, point: &MatrixPoint, controller: &str, seeds: u32) -> Key {
    // The text has only the names of traces.
    let traces = point.traces().map(u64::to_le_bytes);
    let parts = [
        point.text.as_bytes(),
        controller.as_bytes(),
        &seeds.to_le_bytes(),
        traces.as_ref().map_or(&[][..], |traces| traces),
    ];
    cache.key_of(&format!("{}-{controller}", point.id), &parts)
}

/// The measures that a score depends on, in a few words.
pub fn measured(cell: &Cell, aim: &Aim) -> String {
    let m = &cell.mean;
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    let delay = if cell.class.has_changing_delay() {
        m.wait
    } else {
        m.delay
    };
    let part = match (cell.stopped, cell.scores.len()) {
        (stopped, all) if stopped < all => format!("{stopped} of {all} "),
        _ => String::new(),
    };
    let stopped = m
        .stopped
        .map_or(String::new(), |t| format!(", {part}stopped after {t:.1} s"));
    let measures = match aim {
        Aim::Fill { overflow, .. } => {
            let lost =
                overflow.map_or(String::new(), |_| format!(", lost {}", percent(m.overflow)));
            format!(
                "of ideal {}, queue {delay:.2} RTT{lost}",
                percent(m.efficiency)
            )
        }
        Aim::Share { .. } => format!(
            "share {:.2}, they keep {:.2}, they lose {}, link {}",
            m.share,
            cell.kept.unwrap_or(1.0),
            percent(m.others_overflow),
            percent(m.utilization)
        ),
        Aim::Own { settled, .. } => {
            let fair = settled
                .and(m.settled)
                .map_or(String::new(), |t| format!(", fair {t:.1} s"));
            format!(
                "Jain {:.3}, ideal {}, queue {delay:.2} RTT, lost {}{fair}",
                m.jain_in_windows.unwrap_or(m.jain),
                percent(m.efficiency),
                percent(m.overflow)
            )
        }
        Aim::Completion { .. } => format!("{:.3} s", m.completion),
    };
    measures + &stopped
}
