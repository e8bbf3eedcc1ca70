//! The code that an algorithm is, as text: so that a person who sees its curve can read its law, wherever they run the
//! program.

/// One file of an algorithm's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Where it lies in the project: `crates/cc/src/cerl.rs`.
    pub path: &'static str,
    /// What it says, as it was when the program was built.
    pub text: &'static str,
}

/// The files of this crate's `src` that an algorithm is: its own first, then those that it is made of beside the machinery
/// that all share.
macro_rules! code {
    ($($file:literal),+ $(,)?) => {
        &[$($crate::code::Code {
            path: concat!("crates/cc/src/", $file),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $file)),
        }),+]
    };
}
pub(crate) use code;

#[cfg(test)]
mod tests {
    use super::Code;
    use crate::registry::{ALL, DISCRIMINATORS};
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Every entry's name, and its code.
    fn all() -> impl Iterator<Item = (&'static str, &'static [Code])> {
        let laws = ALL.iter().map(|entry| (entry.name, entry.code));
        laws.chain(DISCRIMINATORS.iter().map(|entry| (entry.name, entry.code)))
    }

    #[test]
    fn the_first_file_of_each_algorithm_is_the_one_that_names_it() {
        for (name, code) in all() {
            assert!(
                code[0].text.contains(&format!("name: \"{name}\"")),
                "{name}: {}",
                code[0].path
            );
        }
    }

    #[test]
    fn each_path_leads_to_the_file_whose_text_it_is() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in all().flat_map(|(_, code)| code) {
            let text = std::fs::read_to_string(project.join(file.path)).expect(file.path);
            assert!(text == file.text, "{}", file.path);
        }
    }

    #[test]
    fn an_algorithm_that_is_a_folder_shows_all_of_it() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let shown: BTreeSet<&str> = all().flat_map(|(_, code)| code).map(|c| c.path).collect();
        let folders = std::fs::read_dir(&source).expect("the source");
        let mut files = 0;
        for folder in folders.map(|entry| entry.expect("an entry").path()) {
            if !folder.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(&folder).expect("a folder") {
                let path = file.expect("an entry").path();
                let name = path.strip_prefix(&source).expect("below it");
                let name = name.to_str().expect("UTF-8").replace('\\', "/");
                let is_test = ["tests.rs", "testing.rs", "closed_loop.rs"]
                    .iter()
                    .any(|test| name.ends_with(test));
                assert!(
                    is_test || shown.contains(format!("crates/cc/src/{name}").as_str()),
                    "no algorithm shows {name}"
                );
                files += 1;
            }
        }
        assert!(files > 0);
    }
}
