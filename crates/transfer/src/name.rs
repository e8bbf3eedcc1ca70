//! Under what name a file may be stored.

use std::fmt;

/// A name that stays inside its directory and on its line: one plain path component.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(String);

/// Why a name was not taken. Its text is meant to be shown to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this file name is not accepted: {0}; choose another with --name")]
pub struct NameError(&'static str);

impl FileName {
    /// Longest, in bytes: what Linux file systems hold.
    pub const MOST: usize = 255;

    /// Takes a name from a peer or a person.
    ///
    /// # Errors
    /// If it is empty or too long, begins with a dot (`..`, and hidden files, which configure programs), or
    /// has a separator or a control character in it.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let why = if name.is_empty() {
            "it is empty"
        } else if name.len() > Self::MOST {
            "it is longer than 255 bytes"
        } else if name.starts_with('.') {
            "it begins with a dot"
        } else if name.contains(['/', '\\']) {
            "it has a path separator in it"
        } else if name.chars().any(char::is_control) {
            "it has a control character in it"
        } else {
            return Ok(Self(name.to_owned()));
        };
        Err(NameError(why))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    /// Fit for a terminal: what could turn its text around is escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    write!(f, "{}", c.escape_unicode())?;
                }
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_plain_names_are_taken() {
        for good in [
            "a",
            "movie.mp4",
            "Ein Brief.txt",
            "a..b",
            "-rf",
            &"x".repeat(255),
        ] {
            assert!(FileName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "", ".", "..", "../x", "/etc/x", "a/b", "a\\b", ".bashrc", "a\0b", "a\nb",
        ] {
            assert!(FileName::new(bad).is_err(), "{bad}");
        }
        assert!(FileName::new(&"x".repeat(256)).is_err());
    }

    proptest! {
        #[test]
        fn a_name_is_always_one_component(name in ".*") {
            if let Ok(name) = FileName::new(&name) {
                let path = std::path::Path::new(name.as_str());
                let parts: Vec<_> = path.components().collect();
                prop_assert!(matches!(parts[..], [std::path::Component::Normal(_)]));
                let shown = name.to_string();
                prop_assert!(!shown.contains(char::from_u32(0x202e).expect("a character")));
            }
        }
    }
}
