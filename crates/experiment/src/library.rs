//! Where experiments are: in a folder, or compiled in.

use crate::Experiment;
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::fields::{Field, unknown};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// A place that has experiments, as `PAPER/NAME.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// A folder.
    Folder(PathBuf),
    /// Those that this program was built with.
    Embedded,
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

    /// The experiments whose id begins with `prefix`, in alphabetical order.
    ///
    /// # Errors
    /// If there is none, or one of them is wrong.
    pub fn experiments(&self, prefix: &str) -> Result<Vec<Experiment>, LibraryError> {
        let names = self.names()?;
        let mut found = Vec::new();
        for name in names.iter().filter(|name| id_of(name).starts_with(prefix)) {
            let document = self.parse(name, &self.text(name)?)?;
            // Scenario files that experiments share lie here too.
            if Experiment::is_one(&document) {
                found.push(Experiment::read(id_of(name), document, self)?);
            }
        }
        if found.is_empty() {
            let known = names.iter().filter(|name| self.holds_experiment(name));
            let ids = known.map(|name| id_of(name));
            return Err(LibraryError::Unknown(unknown("experiment", prefix, ids)));
        }
        Ok(found)
    }

    fn holds_experiment(&self, name: &str) -> bool {
        let text = self.text(name).ok();
        let document = text.and_then(|text| self.parse(name, &text).ok());
        document.is_some_and(|document| Experiment::is_one(&document))
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
            document.built_in = |path| {
                let name = path.strip_prefix("experiments").ok()?;
                EMBEDDED.get_file(name)?.contents_utf8()
            };
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
