//! Recorded rates that a user gave to the lab: they stay in memory, each under its name.

use crate::FieldError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use whimbrel_net::Trace;

/// Maximum number of recordings; a further one replaces the oldest.
const MOST: usize = 8;
/// Maximum size of the text of one, in bytes: 8 minutes at 300 Mbit/s.
pub const MAX_SIZE: usize = 16 << 20;
/// Maximum length of a name.
const MAX_NAME: usize = 80;

/// The recordings by name, the oldest first.
#[derive(Debug, Default)]
pub struct Recordings {
    all: Mutex<VecDeque<(String, Arc<Trace>)>>,
}

impl Recordings {
    /// Adds a recorded rate, in mahimahi's format or as CSV. Replaces another of the same name.
    ///
    /// # Errors
    /// If the name or the text is wrong; of the field `trace`.
    pub fn add(&self, name: &str, text: &str) -> Result<Arc<Trace>, FieldError> {
        let wrong = |why: String| FieldError::new("trace", why);
        check(name).map_err(wrong)?;
        if text.len() > MAX_SIZE {
            return Err(wrong(format!(
                "{name} is larger than {} MiB; cut it, or run it with `whimbrel sim`",
                MAX_SIZE >> 20
            )));
        }
        let trace = Trace::parse(text).map_err(|error| wrong(format!("{name}: {error}")))?;
        let trace = Arc::new(trace);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(known, _)| known != name);
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back((name.to_owned(), trace.clone()));
        Ok(trace)
    }

    /// The recording of this name.
    ///
    /// # Errors
    /// If there is none: links do not contain recordings.
    pub fn get(&self, name: &str) -> Result<Arc<Trace>, FieldError> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|(known, _)| known == name);
        found.map(|(_, trace)| trace.clone()).ok_or_else(|| {
            let why = format!("this lab has no recording `{name}`; choose its file again");
            FieldError::new("trace", why)
        })
    }
}

/// Checks the name of a recording: a scenario file has it as the name of a file beside it.
fn check(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_alphanumeric() || "._- ()+".contains(c);
    match name {
        "" => Err("a recording needs a name".to_owned()),
        name if name.chars().count() > MAX_NAME => {
            Err(format!("a name may have at most {MAX_NAME} characters"))
        }
        name if !name.chars().all(allowed) || name.starts_with('.') => Err(format!(
            "`{name}` is not possible as a name: use letters, digits, `.`, `-` and `_`"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_found_by_name_and_the_oldest_goes() {
        let all = Recordings::default();
        assert!(all.get("a").expect_err("none").why.contains("no recording"));
        for n in 0..=MOST {
            all.add(&format!("r{n}.down"), "0\n5\n10\n")
                .expect("a trace");
        }
        assert!(all.get("r0.down").is_err());
        assert!(all.get("r8.down").is_ok());
    }

    #[test]
    fn wrong_names_and_texts_are_refused() {
        let all = Recordings::default();
        for name in ["", "../up", ".hidden", "a/b", "a\nb", "a\"b"] {
            let error = all.add(name, "0\n5\n").expect_err(name);
            assert_eq!(error.field, "trace");
        }
        let error = all.add("x.down", "nonsense").expect_err("no trace");
        assert!(error.why.starts_with("x.down: "), "{}", error.why);
    }
}
