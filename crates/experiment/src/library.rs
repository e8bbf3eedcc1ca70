//! Libraries of experiments: a folder, or the one that is compiled in.

use crate::embedded::{EMBEDDED, embedded};
use crate::experiment::Experiment;
use crate::read;
use crate::traces::trace_paths;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::fields::{Field, unknown};

/// The file with the run time of each scenario in seconds, by the scenario's id.
const SECONDS: &str = "seconds.toml";

/// A collection of experiments, `PAPER/NAME.toml` each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// A folder.
    Folder(PathBuf),
    /// The experiments that are compiled into this program.
    Embedded,
}

/// A file that an experiment uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path below the library, e.g. `cerl/fig-3.5.toml`; `None` if it is elsewhere.
    pub name: Option<String>,
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub text: Cow<'static, str>,
}

/// Why experiments cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// An experiment has a mistake.
    #[error(transparent)]
    Wrong(#[from] ScenarioError),
    /// The folder or a file of it cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The cause.
        error: std::io::Error,
    },
    /// No experiment has that name.
    #[error("{0}")]
    Unknown(String),
    /// The file with the run times of the scenarios has a mistake.
    #[error("{path}: {why}")]
    Seconds {
        /// The file.
        path: String,
        /// The mistake.
        why: String,
    },
}

impl Library {
    /// The folder `experiments` here or in a folder above if there is one, else the compiled-in
    /// experiments.
    pub fn nearest(here: &Path) -> Self {
        let found = here.ancestors().map(|folder| folder.join("experiments"));
        let is_one = |folder: &PathBuf| names_in(folder).is_ok_and(|names| !names.is_empty());
        found
            .into_iter()
            .find(is_one)
            .map_or(Self::Embedded, Self::Folder)
    }

    /// The experiment with the id `name`, or else all experiments whose ids begin with `name`, in
    /// alphabetical order. Only whole words and numbers match: `cerl/fig-3` matches all of chapter
    /// 3, and `cerl/fig-3.1` does not match `cerl/fig-3.10`. An empty name matches all.
    ///
    /// # Errors
    /// If no experiment matches, or one that matches has a mistake.
    pub fn experiments(&self, name: &str) -> Result<Vec<Experiment>, LibraryError> {
        let files = self.names()?;
        if let Some(file) = files.iter().find(|file| id_of(file) == name)
            && let Some(experiment) = self.experiment(file)?
        {
            return Ok(vec![experiment]);
        }
        let mut found = Vec::new();
        for file in files.iter().filter(|file| begins(id_of(file), name)) {
            found.extend(self.experiment(file)?);
        }
        if found.is_empty() {
            return Err(self.unknown(name, &files));
        }
        Ok(found)
    }

    /// Reads the experiment `id` from its file. A file that its key `scenario` names must be in
    /// this library.
    ///
    /// # Errors
    /// The first mistake in the file or its scenario, with file, line, key and the nearest right
    /// word.
    pub fn read(&self, id: &str, document: Document) -> Result<Experiment, ScenarioError> {
        read::experiment(id, document, |field| self.document(id, field))
    }

    /// The experiment in a file; `None` if the file is a scenario that experiments share.
    fn experiment(&self, name: &str) -> Result<Option<Experiment>, LibraryError> {
        let document = self.parse(name, &self.text(name)?)?;
        if !Experiment::is_one(&document) {
            return Ok(None);
        }
        Ok(Some(self.read(id_of(name), document)?))
    }

    fn unknown(&self, name: &str, files: &[String]) -> LibraryError {
        if files.iter().any(|file| id_of(file) == name) {
            let sharing = files
                .iter()
                .filter_map(|file| self.experiment(file).ok().flatten())
                .filter(|experiment| experiment.scenario_id == name)
                .map(|experiment| experiment.id);
            let sharing: Vec<String> = sharing.collect();
            return LibraryError::Unknown(format!(
                "`{name}` is a scenario, not an experiment: run it with `whimbrel sim {}`, or run an \
                 experiment that uses it: {}",
                self.path(&format!("{name}.toml")).display(),
                sharing.join(", ")
            ));
        }
        let known = files.iter().filter(|file| self.holds_experiment(file));
        let ids: Vec<&str> = known.map(|file| id_of(file)).collect();
        let papers: BTreeSet<&str> = ids.iter().filter_map(|id| id.split('/').next()).collect();
        let papers: Vec<&str> = papers.into_iter().collect();
        // A word without a slash is meant as the name of a paper.
        let known = if name.contains('/') { ids } else { papers };
        LibraryError::Unknown(unknown("experiment", name, known.iter().copied()))
    }

    fn holds_experiment(&self, name: &str) -> bool {
        let text = self.text(name).ok();
        let document = text.and_then(|text| self.parse(name, &text).ok());
        document.is_some_and(|document| Experiment::is_one(&document))
    }

    /// The files that determine the result of an experiment: its own file, its scenario's file if
    /// that is another one, and the traces that the scenario names, except missing ones.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn files(&self, experiment: &Experiment) -> Result<Vec<File>, LibraryError> {
        let mut ids = vec![&experiment.id];
        if experiment.scenario_id != experiment.id {
            ids.push(&experiment.scenario_id);
        }
        let mut files = Vec::new();
        for id in ids {
            let name = format!("{id}.toml");
            files.push(File {
                path: self.path(&name),
                text: Cow::Owned(self.text(&name)?),
                name: Some(name),
            });
        }
        let document = &experiment.document;
        for path in trace_paths(document) {
            let known = files.iter().any(|file| file.path == path);
            if known || experiment.missing_traces.contains(&path) {
                continue;
            }
            let text = match (document.built_in)(&path) {
                Some(text) => Cow::Borrowed(text),
                None => {
                    let unreadable = |error| LibraryError::Unreadable {
                        path: path.display().to_string(),
                        error,
                    };
                    Cow::Owned(std::fs::read_to_string(&path).map_err(unreadable)?)
                }
            };
            files.push(File {
                name: self.name(&path),
                path,
                text,
            });
        }
        Ok(files)
    }

    /// The run time of each scenario on two cores, in seconds, by the scenario's id: the content of
    /// `seconds.toml`, or nothing if that file does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, or has a mistake.
    pub fn seconds(&self) -> Result<BTreeMap<String, f64>, LibraryError> {
        let text = match self.text(SECONDS) {
            Ok(text) => text,
            Err(LibraryError::Unreadable { error, .. })
                if error.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(BTreeMap::new());
            }
            Err(error) => return Err(error),
        };
        let wrong = |why: String| LibraryError::Seconds {
            path: self.path(SECONDS).display().to_string(),
            why,
        };
        let seconds: BTreeMap<String, f64> =
            toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
        for (id, seconds) in &seconds {
            if !(seconds.is_finite() && *seconds > 0.0) {
                return Err(wrong(format!(
                    "`{id}` has {seconds} seconds; it must be above 0"
                )));
            }
        }
        Ok(seconds)
    }

    /// The id and content of the scenario file that the experiment `id` names in `field`. The file
    /// is in the experiment's folder.
    fn document(&self, id: &str, field: &Field<'_>) -> Result<(String, Document), ScenarioError> {
        let name = match id.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{}", field.text()?),
            None => field.text()?.to_owned(),
        };
        let text = self.text(&name).map_err(|error| field.fail(error))?;
        let document = self.parse(&name, &text)?;
        Ok((id_of(&name).to_owned(), document))
    }

    /// Parses a file. The traces that a compiled-in file names are compiled in, too.
    fn parse(&self, name: &str, text: &str) -> Result<Document, ScenarioError> {
        let mut document = Document::parse(text, &self.path(name))?;
        if let Self::Embedded = self {
            document.built_in = embedded;
        }
        Ok(document)
    }

    fn names(&self) -> Result<Vec<String>, LibraryError> {
        let mut names = match self {
            Self::Folder(folder) => names_in(folder).map_err(|error| LibraryError::Unreadable {
                path: folder.display().to_string(),
                error,
            })?,
            Self::Embedded => {
                let files = EMBEDDED.dirs().flat_map(|paper| paper.files());
                let names = files.map(|file| file.path().to_string_lossy().into_owned());
                names.filter(|name| name.ends_with(".toml")).collect()
            }
        };
        names.sort();
        Ok(names)
    }

    fn text(&self, name: &str) -> Result<String, LibraryError> {
        let unreadable = |error| LibraryError::Unreadable {
            path: self.path(name).display().to_string(),
            error,
        };
        match self {
            Self::Folder(folder) => std::fs::read_to_string(folder.join(name)).map_err(unreadable),
            Self::Embedded => EMBEDDED
                .get_file(name)
                .and_then(|file| file.contents_utf8())
                .map(str::to_owned)
                .ok_or_else(|| unreadable(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// The path of a file, for the reader.
    fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(name),
            Self::Embedded => Path::new("experiments").join(name),
        }
    }

    /// A file's path below the library; `None` if it is elsewhere.
    fn name(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(self.path("")).ok()?;
        let plain = |part| matches!(part, Component::Normal(_));
        name.components()
            .all(plain)
            .then(|| name.to_string_lossy().replace('\\', "/"))
    }
}

/// Whether an id begins with these words and numbers, as whole words and numbers.
fn begins(id: &str, with: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric();
    id.strip_prefix(with)
        .is_some_and(|rest| with.is_empty() || !with.ends_with(inside) || !rest.starts_with(inside))
}

/// The id of a file: `PAPER/NAME`.
fn id_of(name: &str) -> &str {
    name.trim_end_matches(".toml")
}

/// All files `PAPER/NAME.toml` in a folder.
fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for paper in std::fs::read_dir(folder)? {
        let paper = paper?.path();
        if !paper.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&paper)? {
            let file = file?.path();
            if file.extension().is_some_and(|e| e == "toml")
                && let Ok(name) = file.strip_prefix(folder)
            {
                names.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(names)
}
