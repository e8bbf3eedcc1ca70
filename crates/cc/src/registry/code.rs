//! The source code of an algorithm as text, so that the program can show it without the repository:
//! a reader of a report can compare a curve with the equations behind it.

/// One source file of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Its path in the project: `crates/cc/src/classifiers/cerl.rs`.
    pub path: &'static str,
    /// Its contents when the program was built.
    pub text: &'static str,
}

/// The source files of an algorithm, as paths below `crates/cc/src`: its own file first, then those
/// that belong to it, without the machinery that all algorithms share.
macro_rules! code {
    ($($file:literal),+ $(,)?) => {
        &[$($crate::registry::code::Code {
            path: concat!("crates/cc/src/", $file),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $file)),
        }),+]
    };
}
pub(crate) use code;

#[cfg(test)]
mod tests {
    use super::Code;
    use crate::registry::{CLASSIFIERS, CONTROLLERS};
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// The name and the code of every entry.
    fn all() -> impl Iterator<Item = (&'static str, &'static [Code])> {
        let controllers = CONTROLLERS.iter().map(|entry| (entry.name, entry.code));
        controllers.chain(CLASSIFIERS.iter().map(|entry| (entry.name, entry.code)))
    }

    #[test]
    fn the_first_file_of_an_algorithm_contains_its_entry() {
        for (name, code) in all() {
            assert!(
                code[0].text.contains(&format!("name: \"{name}\"")),
                "{name}: {}",
                code[0].path
            );
        }
    }

    #[test]
    fn each_path_leads_to_the_file_with_that_text() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in all().flat_map(|(_, code)| code) {
            let text = std::fs::read_to_string(project.join(file.path)).expect(file.path);
            assert!(text == file.text, "{}", file.path);
        }
    }

    /// Collects all files below a folder.
    fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files_below(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_file_of_an_algorithm_is_shown_by_an_entry() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let shown: BTreeSet<&str> = all().flat_map(|(_, code)| code).map(|c| c.path).collect();
        let mut files = Vec::new();
        files_below(&source.join("algorithms"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let name = file.strip_prefix(&source).expect("below it");
            let name = name.to_str().expect("UTF-8").replace('\\', "/");
            let is_test = ["tests.rs", "testing.rs", "closed_loop.rs"]
                .iter()
                .any(|test| name.ends_with(test));
            // `algorithms/mod.rs` and `algorithms/FAMILY/mod.rs` only list modules.
            let is_list = name.ends_with("/mod.rs") && name.matches('/').count() <= 2;
            assert!(
                is_test || is_list || shown.contains(format!("crates/cc/src/{name}").as_str()),
                "no entry shows {name}"
            );
        }
    }
}
