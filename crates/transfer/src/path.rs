//! Paths of files on the server, relative to the user's directory.
//!
//! A path is bytes, as Linux has them: two names that differ are never stored as one. Text for
//! people escapes what is not printable.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;

/// The beginning of names that the server uses for itself.
pub(crate) const RESERVED: &[u8] = b".whimbrel-";

/// A relative path of plain components: no `.` or `..`, no control characters, and no hidden name
/// at the top of the directory.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemotePath(Vec<u8>);

/// Why a path is invalid. The message is meant for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this file name is invalid: {0}")]
pub struct NameError(&'static str);

impl RemotePath {
    /// Maximum length of a component in bytes, the limit of Linux file systems.
    pub const MAX_NAME: usize = 255;
    /// Maximum length of a path, bytes: what fits a system call.
    pub const MAX_LEN: usize = 4000;
    /// Maximum number of components.
    pub const MAX_DEPTH: usize = 64;

    /// The number of directories above it.
    pub(crate) fn depth(&self) -> usize {
        self.as_bytes().iter().filter(|byte| **byte == b'/').count()
    }

    /// Checks a path from a peer or a user.
    ///
    /// # Errors
    /// If it is empty, too long or too deep; if a component is empty, `.` or `..`, too long,
    /// contains a control character or has a name that the server uses itself; or if the first
    /// component begins with a dot (hidden files at the top configure programs).
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self, NameError> {
        let path = path.as_ref();
        if path.is_empty() {
            return Err(NameError("it is empty"));
        }
        if path.len() > Self::MAX_LEN {
            return Err(NameError("it is longer than 4000 bytes"));
        }
        if path[0] == b'/' {
            return Err(NameError("it begins with a slash"));
        }
        if path[0] == b'.' {
            return Err(NameError("it begins with a dot"));
        }
        for (depth, name) in path.split(|b| *b == b'/').enumerate() {
            let why = if depth >= Self::MAX_DEPTH {
                "it has more than 64 components"
            } else if name.is_empty() {
                "a component is empty"
            } else if name.len() > Self::MAX_NAME {
                "a component is longer than 255 bytes"
            } else if name == b"." || name == b".." {
                "`.` and `..` are not allowed"
            } else if name.starts_with(RESERVED) {
                "names that begin with `.whimbrel-` are the server's own"
            } else if name.iter().any(u8::is_ascii_control) {
                "it contains a control character"
            } else {
                continue;
            };
            return Err(NameError(why));
        }
        Ok(Self(path.to_vec()))
    }

    /// The path as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The components, as the file system has them.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &OsStr> {
        self.0.split(|b| *b == b'/').map(OsStr::from_bytes)
    }

    /// The last component.
    pub fn file_name(&self) -> &OsStr {
        self.components().next_back().unwrap_or_default()
    }

    /// The path as the file system has it.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The path of `below` in this directory.
    ///
    /// # Errors
    /// If the result is not valid.
    pub fn join(&self, below: impl AsRef<[u8]>) -> Result<Self, NameError> {
        let mut path = self.0.clone();
        path.push(b'/');
        path.extend_from_slice(below.as_ref());
        Self::new(path)
    }
}

impl FromStr for RemotePath {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl fmt::Debug for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0))
    }
}

/// A name as text: bytes that are not UTF-8 as `\xff`, control characters and those that change the
/// direction of text as `\u{202e}`.
pub fn printable(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for part in name.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    text.extend(c.escape_unicode());
                }
                c if c.is_control() => text.extend(c.escape_unicode()),
                c => text.push(c),
            }
        }
        for byte in part.invalid() {
            write!(text, "\\x{byte:02x}").ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_plain_paths_are_valid() {
        let long = "x".repeat(255);
        for good in [
            "a",
            "movie.mp4",
            "Ein Brief.txt",
            "a..b",
            "-rf",
            "a/b/c",
            "a\\b",
            "project/.git/config",
            &long,
        ] {
            assert!(RemotePath::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "/etc/x",
            "a//b",
            "a/",
            "a/../b",
            "a/./b",
            ".bashrc",
            "a\0b",
            "a\nb",
            "a/.whimbrel-0123456789abcdef.part",
            "a/\x7f",
        ] {
            assert!(RemotePath::new(bad).is_err(), "{bad}");
        }
        assert!(RemotePath::new("x".repeat(256)).is_err());
        assert!(RemotePath::new(["a"; 64].join("/")).is_ok());
        assert!(RemotePath::new(["a"; 65].join("/")).is_err());
        assert!(RemotePath::new([&*long; 16].join("/")).is_err());
    }

    #[test]
    fn names_that_are_not_utf_8_stay_different_and_are_shown_as_text() {
        let (one, other) = (RemotePath::new(b"a\xff"), RemotePath::new(b"a\xfe"));
        let (one, other) = (one.expect("valid"), other.expect("valid"));
        assert_ne!(one, other);
        assert_eq!(
            (one.to_string(), other.to_string()),
            ("a\\xff".into(), "a\\xfe".into())
        );
        assert_eq!(printable("a\u{202e}b\n".as_bytes()), "a\\u{202e}b\\u{a}");
        let marks = [
            "\u{200e}", "\u{200f}", "\u{202a}", "\u{2066}", "\u{2067}", "\u{2069}",
        ];
        for mark in marks {
            assert!(printable(mark.as_bytes()).is_ascii(), "{mark:?}");
        }
    }

    proptest! {
        #[test]
        fn a_valid_path_stays_below_its_directory(path in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(path) = RemotePath::new(&path) {
                let parts: Vec<_> = path.as_path().components().collect();
                let normal = |c: &std::path::Component<'_>| {
                    matches!(c, std::path::Component::Normal(_))
                };
                prop_assert!(!parts.is_empty() && parts.iter().all(normal));
                prop_assert_eq!(parts.len(), path.components().count());
                prop_assert!(!path.to_string().chars().any(char::is_control));
            }
        }
    }
}
