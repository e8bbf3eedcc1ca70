//! The matrix that is compiled in, or a folder of points.

use crate::point::MatrixPoint;
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::Document;

/// The folder `experiments/matrix`.
static MATRIX: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments/matrix");
/// The folder `experiments/matrix2`: what version 2 adds.
static MORE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments/matrix2");
/// The file with the version of a matrix. Scores are comparable only within a version.
const VERSION: &str = "VERSION";
/// The version of a folder without that file.
const NO_VERSION: &str = "0";

/// A collection of points.
#[derive(Debug, Clone)]
pub struct Library {
    /// Its version; that of a folder without one is `0`.
    pub version: String,
    /// Its points, sorted by their ids; not empty.
    pub points: Vec<MatrixPoint>,
}

/// Why points cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// A point has a mistake.
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
    /// The folder has no point.
    #[error(
        "no points in {0}: write scenario files *.toml with a table [point]; experiments/matrix \
         has examples"
    )]
    Empty(String),
}

/// A version of the matrix. Its points do not change, so that its scores stay comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The classes A to G.
    #[default]
    One,
    /// The classes A to M.
    Two,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" => Ok(Self::One),
            "2" => Ok(Self::Two),
            _ => Err(format!(
                "unknown version `{text}`; the versions are 1 and 2"
            )),
        }
    }
}

impl Library {
    /// The version of the matrix; `None` for a folder of points that states none.
    pub fn version(&self) -> Option<&str> {
        Some(&*self.version).filter(|version| *version != NO_VERSION)
    }

    /// The matrix of a version.
    ///
    /// # Errors
    /// If a point has a mistake, which a test excludes.
    pub fn matrix(version: Version) -> Result<Self, LibraryError> {
        let mut all = Self::compiled_in(&MATRIX, "experiments/matrix")?;
        if version == Version::Two {
            let more = Self::compiled_in(&MORE, "experiments/matrix2")?;
            all.version = more.version;
            all.points.extend(more.points);
        }
        Ok(all)
    }

    fn compiled_in(folder: &Dir<'_>, path: &str) -> Result<Self, LibraryError> {
        let text = |name: &str| folder.get_file(name).and_then(|file| file.contents_utf8());
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let files = folder
            .files()
            .filter_map(|file| Some((name(file.path()), file.contents_utf8()?)));
        Self::from_files(files, Path::new(path), text(VERSION))
    }

    /// The points in a folder.
    ///
    /// # Errors
    /// If it cannot be read, has no point, or a point has a mistake.
    pub fn folder(folder: &Path) -> Result<Self, LibraryError> {
        let unreadable = |path: &Path| {
            let path = path.display().to_string();
            move |error| LibraryError::Unreadable { path, error }
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_file() && (name.ends_with(".toml") || name == VERSION) {
                let text = std::fs::read_to_string(&path).map_err(unreadable(&path))?;
                files.push((name, text));
            }
        }
        let version = files
            .iter()
            .find(|(name, _)| name == VERSION)
            .map(|(_, text)| text.clone());
        Self::from_files(files.into_iter(), folder, version.as_deref())
    }

    fn from_files(
        files: impl Iterator<Item = (String, impl AsRef<str>)>,
        folder: &Path,
        version: Option<&str>,
    ) -> Result<Self, LibraryError> {
        let mut points = Vec::new();
        for (name, text) in files {
            let Some(id) = name.strip_suffix(".toml") else {
                continue;
            };
            let text = text.as_ref();
            let path: PathBuf = folder.join(&name);
            let read = MatrixPoint::read(id, text, Document::parse(text, &path)?)?;
            points.push(MatrixPoint { path, ..read });
        }
        if points.is_empty() {
            return Err(LibraryError::Empty(folder.display().to_string()));
        }
        points.sort_by(|a, b| a.id.cmp(&b.id));
        let version = version.map_or(NO_VERSION, str::trim).to_owned();
        Ok(Self { version, points })
    }
}
