//! Names under which a file may be stored.

use std::fmt;

/// A name that is one plain path component without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(String);

/// Why a name is invalid. The message is meant for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this file name is invalid: {0}; choose another with --name")]
pub struct NameError(&'static str);

impl FileName {
    /// Maximum length in bytes, the limit of Linux file systems.
    pub const MAX_LEN: usize = 255;

    /// Checks a name from a peer or a user.
    ///
    /// # Errors
    /// If the name is empty or too long, begins with a dot (`..`, and hidden files, which configure
    /// programs), or contains a separator or a control character.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let why = if name.is_empty() {
            "it is empty"
        } else if name.len() > Self::MAX_LEN {
            "it is longer than 255 bytes"
        } else if name.starts_with('.') {
            "it begins with a dot"
        } else if name.contains(['/', '\\']) {
            "it contains a path separator"
        } else if name.chars().any(char::is_control) {
            "it contains a control character"
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
    /// Escapes characters that change the direction of text on a terminal.
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
    fn only_plain_names_are_valid() {
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
        fn a_valid_name_is_one_path_component(name in ".*") {
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
