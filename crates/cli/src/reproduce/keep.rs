//! Results that are kept, so that what was interrupted goes on where it was, and what is known is not run again.
//!
//! A result has a file of its own below the folder. The file's name ends in the key: a BLAKE3 over all that decides the
//! result, which is this program, byte for byte, the experiment's files, and what was set over them. Another program, an edited file
//! or other seeds have another key, so a stale result is never found. A file begins with a BLAKE3 over its key and what
//! it holds: what was cut off or changed is not believed.

use super::told::Reproduced;
use crate::aside;
use anyhow::{Context, anyhow};
use blake3::{Hash, Hasher};
use etcetera::{BaseStrategy, choose_base_strategy};
use std::fs::{self, File as Disk};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use whimbrel_experiment::File;
use whimbrel_sim::scenario::Setting;

/// What files are called that hold a result.
const ENDING: &str = ".kept";
/// The most that is read of one, and so the most that one may hold.
const LARGEST: u64 = 64 << 20;
/// The most that lies there. A full set of results is a hundred files of a few MB in all; a change of the program makes another.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 256 << 20;

/// A folder with results.
pub struct Keep {
    folder: PathBuf,
    program: Hash,
}

/// Which result: of which experiment, with all that decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    file: String,
    hash: Hash,
}

impl Keep {
    /// The folder that was asked for, else the user's own.
    ///
    /// # Errors
    /// If nobody knows where the user's own is, or this program cannot be read.
    pub fn of(asked: Option<&Path>) -> anyhow::Result<Self> {
        let folder = match asked {
            Some(folder) => folder.to_owned(),
            None => choose_base_strategy()?.cache_dir().join("whimbrel"),
        };
        Ok(Self {
            folder: folder.join("reproduced"),
            program: program().context("cannot read this program")?,
        })
    }

    /// The same, and it can be written to.
    ///
    /// # Errors
    /// If it cannot.
    pub fn to_write(asked: Option<&Path>) -> anyhow::Result<Self> {
        let keep = Self::of(asked)?;
        aside::check_folder(&keep.folder)?;
        keep.clean(MOST_FILES, MOST_BYTES);
        Ok(keep)
    }

    /// The key of an experiment that is made of these files and run with this setting.
    pub fn key(&self, id: &str, files: &[File], setting: Option<&Setting>) -> Key {
        let mut hasher = Hasher::new();
        // Each with its length, so that nothing can be taken for something else.
        let mut add = |part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(self.program.as_bytes());
        add(id.as_bytes());
        for file in files {
            add(file.name.as_deref().unwrap_or_default().as_bytes());
            add(file.text.as_bytes());
        }
        for part in setting.iter().flat_map(|s| [&s.key, &s.value]) {
            add(part.as_bytes());
        }
        let hash = hasher.finalize();
        let plain = |c: char| {
            let stays = c.is_ascii_alphanumeric() || ".-".contains(c);
            if stays { c } else { '_' }
        };
        let name: String = id.chars().map(plain).take(80).collect();
        let file = format!("{name}-{}{ENDING}", &hash.to_hex()[..32]);
        Key { file, hash }
    }

    /// What is kept under this key, whole; `None` if there is nothing, or it cannot be believed.
    pub fn read(&self, key: &Key) -> Option<Reproduced> {
        let mut bytes = Vec::new();
        let disk = Disk::open(self.folder.join(&key.file)).ok()?;
        disk.take(LARGEST).read_to_end(&mut bytes).ok()?;
        let (seal, body) = bytes.split_at_checked(blake3::OUT_LEN * 2)?;
        let seal = Hash::from_hex(seal).ok()?;
        (seal == sealed(key, body))
            .then(|| serde_json::from_slice(body).ok())
            .flatten()
    }

    /// Keeps a result. Whoever cannot keep it has it all the same: this says so and goes on.
    pub fn write(&self, key: &Key, result: &Reproduced) {
        if let Err(error) = self.try_write(key, result) {
            eprintln!("warning: {} is not kept: {error:#}", key.file);
        }
    }

    fn try_write(&self, key: &Key, result: &Reproduced) -> anyhow::Result<()> {
        let body = serde_json::to_vec(result)?;
        let seal = sealed(key, &body).to_hex();
        if (seal.len() + body.len()) as u64 > LARGEST {
            return Err(anyhow!("it is larger than {} MiB", LARGEST >> 20));
        }
        aside::write(&self.folder.join(&key.file), |to| {
            to.write_all(seal.as_bytes())?;
            to.write_all(&body)
        })
    }

    /// Removes the oldest until no more than this lies there. Whatever is not ours stays.
    fn clean(&self, most_files: usize, most_bytes: u64) {
        let mut all: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let ours = name.ends_with(ENDING) || name.starts_with(aside::BEGINNING);
            if let (true, Ok(about)) = (ours, entry.metadata())
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
            if files > most_files || bytes > most_bytes {
                // Somebody else may have been faster.
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn sealed(key: &Key, body: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(key.hash.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// A BLAKE3 over this program. On Linux over the one that runs, even if its file has been replaced since.
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
    use jiff::Timestamp;
    use std::borrow::Cow;
    use whimbrel_experiment::{JudgedRow, Judgement, Verdict};

    fn result() -> Reproduced {
        let row = JudgedRow {
            label: "CERL's".to_owned(),
            unit: "%".to_owned(),
            paper: Some(46.0),
            // Numbers that a careless reader of decimals gets wrong by their last bit.
            measured: Some(0.1 + 0.2),
            measured_stddev: Some(1.0 / 3.0),
            asked: "46 ± 1".to_owned(),
            right: Some(false),
        };
        Reproduced {
            judgement: Judgement {
                verdict: Verdict::InPart,
                reason: "1 of 2 right".to_owned(),
                rows: vec![row],
            },
            figures: Vec::new(),
            seconds: 12.5,
            at: Timestamp::from_second(1_795_190_591).expect("a time"),
        }
    }

    fn file(text: &'static str) -> File {
        File {
            name: Some("p/a.toml".to_owned()),
            path: PathBuf::from("/x/p/a.toml"),
            text: Cow::Borrowed(text),
        }
    }

    #[test]
    fn what_is_kept_is_read_again_bit_by_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let keep = Keep::to_write(Some(folder.path())).expect("a place");
        let key = keep.key("p/a", &[file("a")], None);
        assert_eq!(keep.read(&key), None);
        keep.write(&key, &result());
        assert_eq!(keep.read(&key), Some(result()));
    }

    #[test]
    fn another_file_setting_or_name_is_another_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let keep = Keep::to_write(Some(folder.path())).expect("a place");
        let setting = |value: &str| Setting {
            key: "run.seeds".to_owned(),
            value: value.to_owned(),
        };
        let keys = [
            keep.key("p/a", &[file("a")], None),
            keep.key("p/b", &[file("a")], None),
            keep.key("p/a", &[file("b")], None),
            keep.key("p/a", &[file("a"), file("")], None),
            keep.key("p/a", &[file("a")], Some(&setting("1"))),
            keep.key("p/a", &[file("a")], Some(&setting("2"))),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
        // What is under another's name is not believed.
        keep.write(&keys[0], &result());
        let folder = &keep.folder;
        fs::copy(folder.join(&keys[0].file), folder.join(&keys[1].file)).expect("a copy");
        assert_eq!(keep.read(&keys[1]), None);
    }

    #[test]
    fn what_was_cut_off_anywhere_or_changed_by_a_bit_is_not_believed() {
        let folder = tempfile::tempdir().expect("a folder");
        let keep = Keep::to_write(Some(folder.path())).expect("a place");
        let key = keep.key("p/a", &[file("a")], None);
        keep.write(&key, &result());
        let path = keep.folder.join(&key.file);
        let whole = fs::read(&path).expect("a file");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert_eq!(keep.read(&key), None, "{length} bytes");
        }
        for i in 0..whole.len() {
            let mut changed = whole.clone();
            changed[i] ^= 2;
            fs::write(&path, &changed).expect("written");
            assert_eq!(keep.read(&key), None, "byte {i}");
        }
        fs::write(&path, &whole).expect("written");
        assert_eq!(keep.read(&key), Some(result()));
    }

    #[test]
    fn only_the_newest_results_stay_and_nothing_of_others_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let keep = Keep::to_write(Some(folder.path())).expect("a place");
        let old = |name: &str, age: u64| {
            let path = keep.folder.join(name);
            fs::write(&path, [0; 10]).expect("written");
            let disk = Disk::options().write(true).open(path).expect("a file");
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            disk.set_modified(then).expect("a time");
        };
        let begun = format!("{}x", aside::BEGINNING);
        for (age, name) in ["a.kept", "b.kept", &begun, "c.kept"].iter().enumerate() {
            old(name, age as u64);
        }
        old("mine.txt", 9);
        let names = || {
            let entries = fs::read_dir(&keep.folder).expect("a folder");
            let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("one").file_name();
            let mut names: Vec<_> = entries.map(name).collect();
            names.sort();
            names
        };
        keep.clean(2, 1000);
        assert_eq!(names(), ["a.kept", "b.kept", "mine.txt"]);
        keep.clean(2, 19);
        assert_eq!(names(), ["a.kept", "mine.txt"]);
    }
}
