//! What a user may do, and where.

use crate::path::RemotePath;
use std::collections::BTreeMap;

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// List and get files.
    pub read: bool,
    /// Store files.
    pub write: bool,
    /// Remove files.
    pub remove: bool,
}

/// What a user may do in some directories, below them too, instead of what it may do elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RightsIn(BTreeMap<Vec<u8>, Rights>);

impl RightsIn {
    /// These rights in these directories.
    pub fn new(directories: impl IntoIterator<Item = (RemotePath, Rights)>) -> Self {
        let directories = directories.into_iter();
        Self(
            directories
                .map(|(path, rights)| (path.as_bytes().to_vec(), rights))
                .collect(),
        )
    }

    /// The rights at a path of the nearest of these directories that it is in or is.
    pub(crate) fn at(&self, path: &[u8]) -> Option<Rights> {
        let ends = (0..=path.len()).rev();
        let mut above = ends.filter(|end| path.get(*end).is_none_or(|byte| *byte == b'/'));
        above.find_map(|end| self.0.get(&path[..end]).copied())
    }

    /// The rights in those of these directories that are below a path; empty: all of them.
    pub(crate) fn below(&self, path: &[u8]) -> impl Iterator<Item = Rights> {
        let inside = move |directory: &[u8]| {
            path.is_empty()
                || directory
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with(b"/"))
        };
        let all = self
            .0
            .iter()
            .filter(move |(directory, _)| inside(directory));
        all.map(|(_, rights)| *rights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Rights = Rights {
        read: true,
        write: false,
        remove: false,
    };
    const WRITE: Rights = Rights {
        read: false,
        write: true,
        remove: false,
    };

    #[test]
    fn the_nearest_directory_above_a_path_says_what_is_permitted() {
        let path = |text: &str| text.parse::<RemotePath>().expect("a path");
        let rights = RightsIn::new([(path("out"), READ), (path("out/in/new"), WRITE)]);
        for (at, expected) in [
            ("", None),
            ("ou", None),
            ("out", Some(READ)),
            ("out2", None),
            ("out/x", Some(READ)),
            ("out/in", Some(READ)),
            ("out/in/new", Some(WRITE)),
            ("out/in/new/a/b", Some(WRITE)),
            ("out/in/newer", Some(READ)),
            ("in/new", None),
        ] {
            assert_eq!(rights.at(at.as_bytes()), expected, "{at}");
        }
        let below = |path: &str| rights.below(path.as_bytes()).collect::<Vec<_>>();
        assert_eq!(below(""), [READ, WRITE]);
        assert_eq!(below("out"), [WRITE]);
        assert_eq!(below("ou"), []);
        assert_eq!(below("out/in/new"), []);
    }
}
