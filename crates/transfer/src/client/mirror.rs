//! Removes at the destination of a transfer what its source does not have.
//!
//! A plan is made from two listings and comes before the first removal. It is refused as a whole if
//! a listing has a gap, if there would be more removals than the user permits, or if the source has
//! nothing at all: a disk that is not mounted looks like that. What the user excludes stays. Paths
//! come from the destination's own listing and are checked, so the other end chooses none of them.

use super::filter::Filter;
use super::listing::Listing;
use crate::error::Error;
use crate::path::{RemotePath, printable};
use crate::wire::{Entry, Kind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Whether a transfer removes what its source does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    /// If there would be more removals, nothing is removed. With `None` any number is permitted,
    /// but not if the source has no files at all.
    pub max: Option<u64>,
}

/// What is to be removed.
#[derive(Debug)]
pub(super) struct Mirror<'a> {
    options: DeleteOptions,
    filter: &'a Filter,
    /// Paths at the destination that the source has, whether they are transferred or not.
    present: &'a HashSet<Vec<u8>>,
    /// Sorted, and each once: directories of the destination may contain each other.
    doomed: BTreeMap<Vec<u8>, RemotePath>,
}

fn refused(text: impl Into<String>) -> Error {
    Error::nothing_removed(text)
}

/// A higher maximum permits so many removals.
fn above_maximum(why: String, count: u64) -> Error {
    let count = Some(count);
    Error::NothingRemoved { why, count }
}

impl<'a> Mirror<'a> {
    /// A plan that removes nothing yet.
    pub fn new(options: DeleteOptions, filter: &'a Filter, present: &'a HashSet<Vec<u8>>) -> Self {
        Self {
            options,
            filter,
            present,
            doomed: BTreeMap::new(),
        }
    }

    /// Adds what `listing` has below a directory of the destination, `None` for the whole, and the
    /// source does not.
    pub fn add(&mut self, root: Option<&RemotePath>, listing: &Listing) -> Result<(), Error> {
        if let Some(unread) = listing.unread.first() {
            let (path, why) = (printable(&unread.path), &unread.refusal);
            return Err(refused(format!("{path} cannot be listed: {why}")));
        }
        let mut below = Vec::new();
        for entry in listing
            .entries
            .iter()
            .filter(|entry| !entry.path.is_empty())
        {
            let whole = match root {
                Some(root) => root.join(&entry.path),
                None => RemotePath::new(&entry.path),
            };
            let whole = whole.map_err(|e| refused(format!("{}: {e}", printable(&entry.path))))?;
            below.push((entry, whole));
        }
        // A directory stays if anything in it does.
        let mut kept: HashSet<&[u8]> = HashSet::new();
        for (entry, whole) in &below {
            if self.present.contains(whole.as_bytes()) || self.is_excluded(entry) {
                kept.extend(above(&entry.path));
                kept.insert(&entry.path);
            }
        }
        let doomed = below
            .iter()
            .filter(|(entry, _)| !kept.contains(&entry.path[..]));
        let doomed: Vec<_> = doomed.map(|(_, whole)| whole.clone()).collect();
        if !doomed.is_empty() && self.options.max.is_none() && self.has_nothing_below(root) {
            let place = root.map_or_else(|| "the directory".to_owned(), |root| format!("`{root}`"));
            let why = format!(
                "the source has nothing for {place}, so all that is there would be removed: {}",
                doomed.len()
            );
            return Err(above_maximum(why, doomed.len() as u64));
        }
        let named = doomed
            .into_iter()
            .map(|path| (path.as_bytes().to_vec(), path));
        self.doomed.extend(named);
        Ok(())
    }

    /// The user's patterns leave it alone.
    fn is_excluded(&self, entry: &Entry) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes| Path::new(std::ffi::OsStr::from_bytes(bytes));
        let taken = match entry.remote.metadata.kind {
            Kind::Directory => {
                self.filter.takes_directories() && self.filter.enters(path(&entry.path))
            }
            _ => self.filter.takes_file(path(&entry.path)),
        };
        !taken || above(&entry.path).any(|above| !self.filter.enters(path(above)))
    }

    fn has_nothing_below(&self, root: Option<&RemotePath>) -> bool {
        let Some(root) = root else {
            return self.present.is_empty();
        };
        let inside = |path: &Vec<u8>| {
            let rest = path.strip_prefix(root.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        !self.present.iter().any(inside)
    }

    /// What to remove, the content of a directory before it.
    pub fn plan(self) -> Result<Vec<RemotePath>, Error> {
        let count = self.doomed.len() as u64;
        if let Some(max) = self.options.max.filter(|max| count > *max) {
            let removals = if count == 1 {
                "removal is"
            } else {
                "removals are"
            };
            let why = format!("{count} {removals} more than the maximum of {max}");
            return Err(above_maximum(why, count));
        }
        let mut plan: Vec<_> = self.doomed.into_values().collect();
        plan.sort_by_key(|path| Reverse(path.depth()));
        Ok(plan)
    }
}

/// The directories above a path.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Metadata, Reason, Refusal, Remote, Unread};

    fn listing(paths: &[&str]) -> Listing {
        let entry = |path: &&str| Entry {
            path: path.trim_end_matches('/').as_bytes().to_vec(),
            remote: Remote {
                size: 0,
                metadata: Metadata::plain(match path.ends_with('/') {
                    true => Kind::Directory,
                    false => Kind::File,
                }),
            },
            target: Vec::new(),
        };
        Listing {
            entries: paths.iter().map(entry).collect(),
            unread: Vec::new(),
        }
    }

    /// The plan for the directory `d`, or why there is none.
    fn planned(there: &Listing, source: &[&str], exclude: &[&str], max: Option<u64>) -> String {
        let root = RemotePath::new("d").expect("a path");
        let exclude: Vec<_> = exclude.iter().map(|s| (*s).to_owned()).collect();
        let filter = Filter::new(&[], &exclude).expect("patterns");
        let present = source.iter().map(|path| format!("d/{path}").into_bytes());
        let present = present.collect();
        let mut mirror = Mirror::new(DeleteOptions { max }, &filter, &present);
        let planned = mirror.add(Some(&root), there).and_then(|()| mirror.plan());
        match planned {
            Ok(paths) => paths.iter().map(|path| format!("{path} ")).collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_the_source_lacks_is_removed_and_what_is_excluded_stays() {
        let there = listing(&[
            "a",
            "old/",
            "old/x",
            "old/deep/",
            "old/deep/y",
            "keep.log",
            "b/",
            "b/c",
        ]);
        let cases: [(&[&str], &[&str], &str); 4] = [
            (
                &["a", "b", "b/c", "keep.log"],
                &[],
                "d/old/deep/y d/old/deep d/old/x d/old ",
            ),
            (
                &["a"],
                &["*.log", "b"],
                "d/old/deep/y d/old/deep d/old/x d/old ",
            ),
            (&["a", "b", "b/c"], &["y"], "d/old/x d/keep.log "),
            (
                &[
                    "a",
                    "b",
                    "b/c",
                    "keep.log",
                    "old",
                    "old/x",
                    "old/deep",
                    "old/deep/y",
                ],
                &[],
                "",
            ),
        ];
        for (source, exclude, expected) in cases {
            assert_eq!(
                planned(&there, source, exclude, None),
                expected,
                "{source:?}"
            );
        }
    }

    #[test]
    fn a_doubtful_plan_removes_nothing() {
        let there = listing(&["a", "b"]);
        let said = |text: &str, part: &str| assert!(text.contains(part), "{text}");
        said(
            &planned(&there, &[], &[], None),
            "the source has nothing for `d`",
        );
        assert_eq!(planned(&there, &[], &[], Some(2)), "d/a d/b ");
        said(
            &planned(&there, &[], &[], Some(1)),
            "2 removals are more than the maximum of 1",
        );
        let mut gap = there.clone();
        gap.unread.push(Unread {
            path: b"c".to_vec(),
            refusal: Refusal::new(Reason::Internal, "permission denied"),
        });
        said(&planned(&gap, &["a"], &[], None), "c cannot be listed");
        for hostile in ["../x", "/etc/passwd", "a/../../x"] {
            let text = planned(&listing(&["a", hostile]), &["a"], &[], Some(9));
            said(&text, "nothing was removed");
        }
    }
}
