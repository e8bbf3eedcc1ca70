//! Where experiments are: in a folder, or compiled in.

use crate::Experiment;
use include_dir::{Dir, include_dir};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::{Document, Node, Value};
use whimbrel_sim::scenario::fields::{Field, unknown};

/// How many seconds each scenario takes, by its id.
const SECONDS: &str = "seconds.toml";

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// A place that has experiments, as `PAPER/NAME.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// A folder.
    Folder(PathBuf),
    /// Those that this program was built with.
    Embedded,
}

/// A file that an experiment is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// What it is called below the library, `cerl/fig-3.5.toml`; `None` if it lies elsewhere.
    pub name: Option<String>,
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: Cow<'static, str>,
}

/// Why experiments cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// An experiment is wrong.
    #[error(transparent)]
    Wrong(#[from] ScenarioError),
    /// The folder or a file of it cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// What.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// There is none by that name.
    #[error("{0}; see `whimbrel reproduce --list`")]
    Unknown(String),
    /// The file that says how long scenarios take is wrong.
    #[error("{path}: {why}")]
    Seconds {
        /// Which.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Library {
    /// The folder `experiments` here or in a folder above, if there is one; else what was built in.
    pub fn nearest(here: &Path) -> Self {
        let found = here.ancestors().map(|folder| folder.join("experiments"));
        let is_one = |folder: &PathBuf| names_in(folder).is_ok_and(|names| !names.is_empty());
        found
            .into_iter()
            .find(is_one)
            .map_or(Self::Embedded, Self::Folder)
    }

    /// The experiment called `asked`; if there is none, those whose ids begin with it, in alphabetical order. An id begins with
    /// whole words and numbers: `cerl/fig-3` is all of chapter 3, and `cerl/fig-3.1` is not `cerl/fig-3.10`. All, if nothing
    /// is asked for.
    ///
    /// # Errors
    /// If there is none, or one of them is wrong.
    pub fn experiments(&self, asked: &str) -> Result<Vec<Experiment>, LibraryError> {
        let names = self.names()?;
        if let Some(name) = names.iter().find(|name| id_of(name) == asked)
            && let Some(experiment) = self.experiment(name)?
        {
            return Ok(vec![experiment]);
        }
        let mut found = Vec::new();
        for name in names.iter().filter(|name| begins(id_of(name), asked)) {
            found.extend(self.experiment(name)?);
        }
        if found.is_empty() {
            return Err(self.unknown(asked, &names));
        }
        Ok(found)
    }

    /// The experiment in a file. `None` if it is a scenario: those that experiments share lie here too.
    fn experiment(&self, name: &str) -> Result<Option<Experiment>, LibraryError> {
        let document = self.parse(name, &self.text(name)?)?;
        if !Experiment::is_one(&document) {
            return Ok(None);
        }
        Ok(Some(Experiment::read(id_of(name), document, self)?))
    }

    fn unknown(&self, asked: &str, names: &[String]) -> LibraryError {
        if names.iter().any(|name| id_of(name) == asked) {
            let sharing = names
                .iter()
                .filter_map(|name| self.experiment(name).ok().flatten())
                .filter(|experiment| experiment.scenario_id == asked)
                .map(|experiment| experiment.id);
            let sharing: Vec<String> = sharing.collect();
            return LibraryError::Unknown(format!(
                "`{asked}` is a scenario, not an experiment: run it with `whimbrel sim {}`, or what is judged by it: {}",
                self.path(&format!("{asked}.toml")).display(),
                sharing.join(", ")
            ));
        }
        let known = names.iter().filter(|name| self.holds_experiment(name));
        let ids: Vec<&str> = known.map(|name| id_of(name)).collect();
        let papers: Vec<&str> = ids.iter().filter_map(|id| id.split('/').next()).collect();
        // A word without a slash is meant to be a paper's.
        let known = if asked.contains('/') { ids } else { papers };
        LibraryError::Unknown(unknown("experiment", asked, known.iter().copied()))
    }

    fn holds_experiment(&self, name: &str) -> bool {
        let text = self.text(name).ok();
        let document = text.and_then(|text| self.parse(name, &text).ok());
        document.is_some_and(|document| Experiment::is_one(&document))
    }

    /// The files that decide an experiment's result, besides the program: its own file, its scenario's
    /// file if that is another one, and the traces that the scenario names, except missing ones.
    ///
    /// # Errors
    /// If one cannot be read.
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

    /// How many seconds a scenario took on two cores, by its id: what `seconds.toml` says, if there is one.
    ///
    /// # Errors
    /// If that file cannot be read, or is wrong.
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
                    "`{id}` takes {seconds} seconds; it must be more than none"
                )));
            }
        }
        Ok(seconds)
    }

    /// The scenario that the experiment `id` names in `field`, a file beside it, and that file's id.
    pub(crate) fn document(
        &self,
        id: &str,
        field: &Field<'_>,
    ) -> Result<(String, Document), ScenarioError> {
        let name = match id.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{}", field.text()?),
            None => field.text()?.to_owned(),
        };
        let text = self.text(&name).map_err(|error| field.fail(error))?;
        let document = self.parse(&name, &text)?;
        Ok((id_of(&name).to_owned(), document))
    }

    /// What a file says; the traces that it names are built in as it is.
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

    /// How errors call a file.
    fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(name),
            Self::Embedded => Path::new("experiments").join(name),
        }
    }

    /// What the file at this path is called below the library. `None` if it is not below.
    fn name(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(self.path("")).ok()?;
        let plain = |part| matches!(part, Component::Normal(_));
        name.components()
            .all(plain)
            .then(|| name.to_string_lossy().replace('\\', "/"))
    }
}

/// The text of a file that was compiled in, by its path.
fn embedded(path: &Path) -> Option<&'static str> {
    let name = path.strip_prefix("experiments").ok()?;
    EMBEDDED.get_file(name)?.contents_utf8()
}

/// The traces that a scenario names and that are neither compiled in nor on the disk. Recorded traces
/// are not part of this repository.
pub(crate) fn missing_traces(document: &Document) -> Vec<PathBuf> {
    let mut missing = trace_paths(document);
    missing.retain(|path| (document.built_in)(path).is_none() && !path.exists());
    missing
}

/// The document with a short trace in place of each missing one, so that the rest can be checked.
pub(crate) fn with_stand_ins(mut document: Document) -> Document {
    document.built_in = |path| embedded(path).or((!path.exists()).then_some("1\n"));
    document
}

/// The paths of the traces that a scenario names, each once.
fn trace_paths(document: &Document) -> Vec<PathBuf> {
    let mut names = Vec::new();
    named_traces(&document.root, &mut names);
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in names.iter().map(|name| document.folder.join(name)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Whether an id begins with these whole words and numbers.
fn begins(id: &str, with: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric();
    id.strip_prefix(with)
        .is_some_and(|rest| with.is_empty() || !with.ends_with(inside) || !rest.starts_with(inside))
}

/// The files that a scenario's links name as traces, where it is written and in its sweep.
fn named_traces<'a>(node: &'a Node, into: &mut Vec<&'a str>) {
    match &node.value {
        Value::Table(table) => {
            for entry in &table.entries {
                if entry.key == "trace" || entry.key.ends_with(".trace") {
                    texts(&entry.node, into);
                } else {
                    named_traces(&entry.node, into);
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| named_traces(item, into)),
        _ => {}
    }
}

/// A text, or the texts of a list.
fn texts<'a>(node: &'a Node, into: &mut Vec<&'a str>) {
    match &node.value {
        Value::Text(text) => into.push(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, into)),
        _ => {}
    }
}

/// What a file is called: `PAPER/NAME`.
fn id_of(name: &str) -> &str {
    name.trim_end_matches(".toml")
}

/// `PAPER/NAME.toml` in a folder.
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
