//! The cache of results, so that an interrupted command continues where it stopped, and known
//! results are not computed again.
//!
//! Each result has its own file in a folder. The name of the file ends in the key: a BLAKE3 hash
//! over everything that determines the result, which is this program, byte for byte, the
//! files that describe what is run, and the settings. Another program, an edited file or other
//! seeds have another key, so the cache never returns a stale result. A file begins with a BLAKE3
//! hash over its key and its content: truncated or changed files are ignored.

use crate::{Error, Observer, atomic_file};
use blake3::{Hash, Hasher};
use etcetera::{BaseStrategy, choose_base_strategy};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File as Disk};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use whimbrel_experiment::File;
use whimbrel_sim::scenario::Setting;

/// The extension of files with a result.
const EXTENSION: &str = ".kept";
/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Maximum total size of the files of a kind.
const MAX_BYTES: u64 = 256 << 20;

/// A kind of results.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of its folder.
    folder: &'static str,
    /// Maximum number of its files. A change of the program makes another set.
    max_files: usize,
}

/// Results of `reproduce`: a full set is a hundred files of a few MB in total.
pub const REPRODUCED: Kind = Kind {
    folder: "reproduced",
    max_files: 1000,
};
/// Results of `rank`: a full set is some thousands of files of a kB.
pub const RANKED: Kind = Kind {
    folder: "ranked",
    max_files: 20_000,
};

/// A folder with results of a kind.
pub struct Cache {
    folder: PathBuf,
    kind: Kind,
    program: Hash,
}

/// The key of a result: the experiment, and everything that determines the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    file: String,
    hash: Hash,
}

impl Cache {
    /// The cache in `folder`, or by default in the user's cache folder.
    ///
    /// # Errors
    /// If the user's cache folder is unknown, or this program cannot be read.
    pub fn open(folder: Option<&Path>, kind: Kind) -> Result<Self, Error> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => choose_base_strategy()
                .map_err(|error| Error::failed("cannot find the cache folder", error))?
                .cache_dir()
                .join("whimbrel"),
        };
        Ok(Self {
            folder: folder.join(kind.folder),
            kind,
            program: program().map_err(|error| Error::failed("cannot read this program", error))?,
        })
    }

    /// The same for writing: creates the folder, and removes the oldest results beyond the limits.
    ///
    /// # Errors
    /// As [`Self::open`], or if the folder cannot be written to.
    pub fn open_to_write(folder: Option<&Path>, kind: Kind) -> Result<Self, Error> {
        let cache = Self::open(folder, kind)?;
        atomic_file::check_folder(&cache.folder)?;
        cache.clean(cache.kind.max_files, MAX_BYTES);
        Ok(cache)
    }

    /// The key of an experiment with these files, run with this setting.
    pub fn key(&self, id: &str, files: &[File], setting: Option<&Setting>) -> Key {
        let mut parts: Vec<&[u8]> = Vec::new();
        for file in files {
            parts.push(file.name.as_deref().unwrap_or_default().as_bytes());
            parts.push(file.text.as_bytes());
        }
        for part in setting.iter().flat_map(|s| [&s.key, &s.value]) {
            parts.push(part.as_bytes());
        }
        self.key_of(id, &parts)
    }

    /// The key of a result that the program and these parts determine. `id` names it for readers.
    pub fn key_of(&self, id: &str, parts: &[&[u8]]) -> Key {
        let known: [&[u8]; 2] = [self.program.as_bytes(), id.as_bytes()];
        let hash = hash(known.iter().chain(parts).copied());
        let plain = |c: char| {
            let stays = c.is_ascii_alphanumeric() || ".-".contains(c);
            if stays { c } else { '_' }
        };
        let name: String = id.chars().map(plain).take(80).collect();
        let file = format!("{name}-{}{EXTENSION}", &hash.to_hex()[..32]);
        Key { file, hash }
    }

    /// The result with this key; `None` if there is none, or its file is damaged.
    pub fn read<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let mut bytes = Vec::new();
        let disk = Disk::open(self.folder.join(&key.file)).ok()?;
        disk.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        let (seal, body) = bytes.split_at_checked(blake3::OUT_LEN * 2)?;
        let seal = Hash::from_hex(seal).ok()?;
        (seal == sealed(key, body))
            .then(|| serde_json::from_slice(body).ok())
            .flatten()
    }

    /// Stores a result. A failure is no more than a note to the observer: the result is not lost.
    pub fn write(&self, key: &Key, result: &impl Serialize, observer: &dyn Observer) {
        if let Err(error) = self.try_write(key, result) {
            let text = error.text();
            observer.note(&format!(
                "warning: cannot store the result {}: {text}",
                key.file
            ));
        }
    }

    fn try_write(&self, key: &Key, result: &impl Serialize) -> Result<(), Error> {
        let failed = |why: &str| Error::failed("it is not written", why);
        let body = serde_json::to_vec(result).map_err(|error| failed(&error.to_string()))?;
        let seal = sealed(key, &body).to_hex();
        if (seal.len() + body.len()) as u64 > MAX_FILE_BYTES {
            return Err(failed(&format!(
                "it is larger than {} MiB",
                MAX_FILE_BYTES >> 20
            )));
        }
        atomic_file::replace(&self.folder.join(&key.file), |to| {
            to.write_all(seal.as_bytes())?;
            to.write_all(&body)
        })
    }

    /// Removes the oldest results beyond these limits. Other files stay.
    fn clean(&self, max_files: usize, max_bytes: u64) {
        let mut all: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_own = name.ends_with(EXTENSION) || name.starts_with(atomic_file::PREFIX);
            if let (true, Ok(about)) = (is_own, entry.metadata())
                && let Ok(modified) = about.modified()
            {
                all.push((modified, about.len(), entry.path()));
            }
        }
        all.sort();
        let (mut files, mut bytes) = (0, 0);
        for (_, length, path) in all.iter().rev() {
            files += 1;
            bytes += length;
            if files > max_files || bytes > max_bytes {
                // Another process may have removed it.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// A hash over these parts, each with its length, so that it is unambiguous.
pub(crate) fn hash<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Hash {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

fn sealed(key: &Key, body: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(key.hash.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// A BLAKE3 hash over this program; on Linux over the running one, even if its file was replaced.
fn program() -> std::io::Result<Hash> {
    let running = Path::new("/proc/self/exe");
    let disk = match Disk::open(running) {
        Ok(disk) => disk,
        Err(_) => Disk::open(std::env::current_exe()?)?,
    };
    let mut hasher = Hasher::new();
    hasher.update_reader(disk)?;
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use std::borrow::Cow;

    /// Numbers whose last bit is lost if they are not read exactly.
    type Stored = (String, Vec<f64>);

    fn result() -> Stored {
        ("1 of 2 right".to_owned(), vec![46.0, 0.1 + 0.2, 1.0 / 3.0])
    }

    fn file(text: &'static str) -> File {
        File {
            name: Some("p/a.toml".to_owned()),
            path: PathBuf::from("/x/p/a.toml"),
            text: Cow::Borrowed(text),
        }
    }

    #[test]
    fn a_result_is_read_back_exactly() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open_to_write(Some(folder.path()), REPRODUCED).expect("a place");
        let key = cache.key("p/a", &[file("a")], None);
        assert_eq!(cache.read::<Stored>(&key), None);
        cache.write(&key, &result(), &Unobserved);
        assert_eq!(cache.read(&key), Some(result()));
    }

    #[test]
    fn other_files_settings_and_names_have_other_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open_to_write(Some(folder.path()), REPRODUCED).expect("a place");
        let setting = |value: &str| Setting::new("run.seeds", value);
        let keys = [
            cache.key("p/a", &[file("a")], None),
            cache.key("p/b", &[file("a")], None),
            cache.key("p/a", &[file("b")], None),
            cache.key("p/a", &[file("a"), file("")], None),
            cache.key("p/a", &[file("a")], Some(&setting("1"))),
            cache.key("p/a", &[file("a")], Some(&setting("2"))),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
        // A file under the wrong name is ignored.
        cache.write(&keys[0], &result(), &Unobserved);
        let folder = &cache.folder;
        fs::copy(folder.join(&keys[0].file), folder.join(&keys[1].file)).expect("a copy");
        assert_eq!(cache.read::<Stored>(&keys[1]), None);
    }

    #[test]
    fn truncated_and_changed_files_are_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open_to_write(Some(folder.path()), REPRODUCED).expect("a place");
        let key = cache.key("p/a", &[file("a")], None);
        cache.write(&key, &result(), &Unobserved);
        let path = cache.folder.join(&key.file);
        let whole = fs::read(&path).expect("a file");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert_eq!(cache.read::<Stored>(&key), None, "{length} bytes");
        }
        for i in 0..whole.len() {
            let mut changed = whole.clone();
            changed[i] ^= 2;
            fs::write(&path, &changed).expect("written");
            assert_eq!(cache.read::<Stored>(&key), None, "byte {i}");
        }
        fs::write(&path, &whole).expect("written");
        assert_eq!(cache.read(&key), Some(result()));
    }

    #[test]
    fn only_the_newest_results_stay_and_other_files_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open_to_write(Some(folder.path()), REPRODUCED).expect("a place");
        let old = |name: &str, age: u64| {
            let path = cache.folder.join(name);
            fs::write(&path, [0; 10]).expect("written");
            let disk = Disk::options().write(true).open(path).expect("a file");
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            disk.set_modified(then).expect("a time");
        };
        let begun = format!("{}x", atomic_file::PREFIX);
        for (age, name) in ["a.kept", "b.kept", &begun, "c.kept"].iter().enumerate() {
            old(name, age as u64);
        }
        old("mine.txt", 9);
        let names = || {
            let entries = fs::read_dir(&cache.folder).expect("a folder");
            let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("one").file_name();
            let mut names: Vec<_> = entries.map(name).collect();
            names.sort();
            names
        };
        cache.clean(2, 1000);
        assert_eq!(names(), ["a.kept", "b.kept", "mine.txt"]);
        cache.clean(2, 19);
        assert_eq!(names(), ["a.kept", "mine.txt"]);
    }
}
