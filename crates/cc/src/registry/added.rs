//! Algorithms from outside this crate: a program adds them once, when it starts, and from then on
//! they are found by name like those of the table.
//!
//! The list only grows, and names are unique, so what a name means never depends on when it is
//! looked up. The one exception is [`replace`], for notebooks in which an algorithm is written and
//! run again.

use crate::registry::entry::Entry;
use crate::registry::table::CONTROLLERS;
use std::sync::{PoisonError, RwLock};

/// The added entries, in the order in which they came.
static ADDED: RwLock<Vec<&'static Entry>> = RwLock::new(Vec::new());

/// All algorithms: those of the table in its order, then the added ones.
pub fn controllers() -> Vec<&'static Entry> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    CONTROLLERS.iter().chain(added.iter()).copied().collect()
}

/// Adds algorithms. From now on [`Spec`](super::Spec) finds them by name, and so does every
/// scenario.
///
/// # Errors
/// If a name is taken or not a name, or an entry is incomplete; nothing is added then.
pub fn add(entries: &[&'static Entry]) -> Result<(), AddError> {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    for (i, entry) in entries.iter().enumerate() {
        check(entry)?;
        let mut known = CONTROLLERS.iter().chain(added.iter()).chain(&entries[..i]);
        if known.any(|known| known.is_called(entry.name)) {
            return Err(AddError(format!(
                "there is already an algorithm `{}`; choose another name",
                entry.name
            )));
        }
    }
    added.extend(entries);
    Ok(())
}

/// Adds an algorithm, or replaces an added one of the same name.
///
/// # Errors
/// If the table has an algorithm of that name, or the entry is incomplete.
pub fn replace(entry: &'static Entry) -> Result<(), AddError> {
    check(entry)?;
    if CONTROLLERS.iter().any(|own| own.is_called(entry.name)) {
        return Err(AddError(format!(
            "`{}` is one of Whimbrel's own algorithms; choose another name",
            entry.name
        )));
    }
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    match added.iter_mut().find(|old| old.is_called(entry.name)) {
        Some(old) => *old = entry,
        None => added.push(entry),
    }
    Ok(())
}

/// A name must be readable by the parser of choices: `NAME?KEY=VALUE+CLASSIFIER`.
fn check(entry: &Entry) -> Result<(), AddError> {
    let name = entry.name;
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(inner) {
        return Err(AddError(format!(
            "`{name}` is not a name for an algorithm: it must be letters, digits, `-`, `_` or \
             `.`, and begin with a letter"
        )));
    }
    if entry.code.is_empty() {
        return Err(AddError(format!(
            "`{name}` has no source code: fill in `code`"
        )));
    }
    Ok(())
}

/// Why an algorithm cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddError(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Code, Spec};

    fn entry(name: &'static str) -> &'static Entry {
        let newreno = CONTROLLERS
            .iter()
            .find(|e| e.name == "newreno")
            .expect("in the table");
        Box::leak(Box::new(Entry {
            name,
            code: &[Code {
                path: "elsewhere.rs",
                text: "",
            }],
            summary: "NewReno by another name",
            citation: "none",
            ..**newreno
        }))
    }

    #[test]
    fn an_added_algorithm_is_found_by_name_and_combines_with_classifiers() {
        assert!("of-a-test".parse::<Spec>().is_err());
        add(&[entry("of-a-test")]).expect("a new name");
        for name in ["of-a-test", "OF-A-TEST", "of-a-test+cerl"] {
            let spec: Spec = name.parse().expect(name);
            assert_eq!(spec.entry().name, "of-a-test");
        }
        assert!(controllers().iter().any(|e| e.name == "of-a-test"));
        let error = add(&[entry("of-a-test")]).expect_err("twice");
        assert!(error.to_string().contains("already"), "{error}");
        replace(entry("of-a-test")).expect("replaced");
        let count = controllers()
            .iter()
            .filter(|e| e.name == "of-a-test")
            .count();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_bad_name_adds_nothing() {
        for wrong in ["", "a?b", "a+b", "1a", "a b", "a=b", "cubic", "Cubic"] {
            assert!(add(&[entry("not-added"), entry(wrong)]).is_err(), "{wrong}");
        }
        assert!("not-added".parse::<Spec>().is_err());
        assert!(replace(entry("bbr")).is_err());
    }
}
