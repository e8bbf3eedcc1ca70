//! Which files of a tree are sent.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;

/// Patterns of files to send and to leave out.
///
/// A pattern without a slash is compared with the name, one with a slash with the path below the
/// source. `*` matches no slash, `**` does.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    include: Option<Patterns>,
    exclude: Option<Patterns>,
}

#[derive(Debug, Clone)]
struct Patterns {
    names: GlobSet,
    paths: GlobSet,
}

impl Patterns {
    fn new(patterns: &[String]) -> Result<Option<Self>, String> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let trimmed = pattern.trim_end_matches('/');
            let glob = GlobBuilder::new(trimmed.trim_start_matches('/'))
                .literal_separator(true)
                .build()
                .map_err(|e| format!("the pattern `{pattern}` is invalid: {}", e.kind()))?;
            if trimmed.contains('/') {
                paths.add(glob);
            } else {
                names.add(glob);
            }
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|e| e.to_string());
        Ok(Some(Self {
            names: built(names)?,
            paths: built(paths)?,
        }))
    }

    fn match_path(&self, path: &Path) -> bool {
        let name = path.file_name().map(Path::new);
        self.paths.is_match(path) || name.is_some_and(|name| self.names.is_match(name))
    }
}

impl Filter {
    /// Files that match `include` (all, if it is empty) and not `exclude`. What is below a
    /// directory that matches `exclude` is left out, too.
    ///
    /// # Errors
    /// If a pattern is invalid; the message says which.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, String> {
        Ok(Self {
            include: Patterns::new(include)?,
            exclude: Patterns::new(exclude)?,
        })
    }

    /// Whether the file at this path below the source is sent.
    pub fn takes_file(&self, path: &Path) -> bool {
        let included = self.include.as_ref().is_none_or(|p| p.match_path(path));
        included && self.enters(path)
    }

    /// Whether the directory at this path is looked at.
    pub fn enters(&self, path: &Path) -> bool {
        !self.exclude.as_ref().is_some_and(|p| p.match_path(path))
    }

    /// Whether directories are sent for themselves: only if no files were chosen.
    pub fn takes_directories(&self) -> bool {
        self.include.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_by_name_or_path() {
        let text = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let filter = Filter::new(
            &text(&["*.rs", "doc/*.md"]),
            &text(&["target/", "a/**/x.rs", "/top", "b/*.rs"]),
        );
        let filter = filter.expect("valid patterns");
        let takes = |path: &str| filter.takes_file(Path::new(path));
        assert!(takes("main.rs") && takes("a/b.rs") && takes("doc/a.md") && takes("a/y.rs"));
        assert!(!takes("a.md") && !takes("doc/b/a.md") && !takes("a/b/x.rs") && !takes("a/x.rs"));
        assert!(!filter.enters(Path::new("b/target")) && filter.enters(Path::new("b")));
        assert!(!filter.enters(Path::new("top")) && filter.enters(Path::new("b/top")));
        assert!(!takes("b/x.rs") && takes("b/c/x.rs"));
        let error = Filter::new(&text(&["a["]), &[]).expect_err("invalid");
        assert!(error.contains("`a[`"), "{error}");
        assert!(Filter::default().takes_file(Path::new("x")));
    }
}
