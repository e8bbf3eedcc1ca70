//! Parts of a sweep as files: consecutive runs, played by any process. A file appears under its
//! name when it is complete. It begins with the key of the sweep and a BLAKE3 hash, so damaged
//! files are played again, and parts of another sweep are refused.

use crate::failure::BadInput;
use anyhow::{Context, bail};
use blake3::{Hash, Hasher};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::stored;
use whimbrel_sim::sweep::{Job, Run};

/// What the files of the command hold, in keys.
pub const KIND: &str = "whole runs";
/// About so many parts are made, so that workers finish at about the same time.
const PARTS: usize = 200;
/// Maximum number of runs of a part.
const MAX_SIZE: usize = 2000;
/// The beginning of a file.
const MAGIC: &[u8; 8] = b"whimruns";
/// Bytes before the runs: the magic, the key, the hash.
const HEAD: usize = MAGIC.len() + 2 * blake3::OUT_LEN;

/// Runs of one part, for a sweep of this many.
pub fn size(runs: usize) -> usize {
    runs.div_ceil(PARTS).clamp(1, MAX_SIZE)
}

/// The key of a sweep: a hash over everything that determines its files, which is the source of the
/// simulator, the scenario with its traces, the settings, what the files hold, and their size.
pub fn key(scenario: &Scenario, text: &str, settings: &[String], kind: &str, size: usize) -> Hash {
    let mut hasher = Hasher::new();
    // Each part with its length, so that the hash is unambiguous.
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    add(whimbrel_sim::SOURCE.as_bytes());
    add(text.as_bytes());
    add(&scenario.traces().to_le_bytes());
    add(kind.as_bytes());
    add(&(size as u64).to_le_bytes());
    for setting in settings {
        add(setting.as_bytes());
    }
    hasher.finalize()
}

/// The content of a part's file.
///
/// # Errors
/// If there is no memory for it.
pub fn write(runs: &[Run<'_>], key: &Hash) -> anyhow::Result<Vec<u8>> {
    let content = stored::to_bytes(runs)?;
    let hash = checksum(key, &content);
    Ok([&MAGIC[..], key.as_bytes(), hash.as_bytes(), &content].concat())
}

fn checksum(key: &Hash, content: &[u8]) -> Hash {
    blake3::keyed_hash(key.as_bytes(), content)
}

/// The parts of a sweep.
pub struct Parts<'j, 'a> {
    folder: PathBuf,
    key: Hash,
    size: usize,
    jobs: &'j [Job<'a>],
    /// Those that were read.
    read: Vec<Option<Vec<Run<'a>>>>,
}

impl<'j, 'a> Parts<'j, 'a> {
    /// Of these jobs, `size` to a part.
    pub fn new(folder: &Path, key: Hash, size: usize, jobs: &'j [Job<'a>]) -> Self {
        Self {
            folder: folder.to_owned(),
            key,
            size,
            jobs,
            read: jobs.chunks(size).map(|_| None).collect(),
        }
    }

    /// Number of runs that were read.
    pub fn done(&self) -> usize {
        self.read.iter().flatten().map(Vec::len).sum()
    }

    /// Reads the parts that are there and were not read before. Removes damaged ones.
    ///
    /// # Errors
    /// If the folder has parts of another sweep, or cannot be read.
    pub fn read(&mut self) -> anyhow::Result<()> {
        let (size, jobs) = (self.size, self.jobs);
        for (number, jobs) in jobs.chunks(size).enumerate() {
            if self.read[number].is_some() {
                continue;
            }
            let path = self.path(number);
            let content = match fs::read(&path) {
                Ok(content) => content,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read {}", path.display()));
                }
            };
            if content.len() >= HEAD && content[..MAGIC.len()] == *MAGIC {
                let (key, rest) = content[MAGIC.len()..].split_at(blake3::OUT_LEN);
                if key != self.key.as_bytes() {
                    return Err(BadInput::new(format!(
                        "{} has the parts of another sweep, or of another version of whimbrel; \
                         name an empty folder",
                        self.folder.display()
                    ))
                    .into());
                }
                let (hash, runs) = rest.split_at(blake3::OUT_LEN);
                if hash == checksum(&self.key, runs).as_bytes()
                    && let Ok(runs) = stored::from_bytes(runs, jobs)
                {
                    self.read[number] = Some(runs);
                    continue;
                }
            }
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove the damaged {}", path.display()))?;
        }
        Ok(())
    }

    /// The file of a part. The Python package writes the same name.
    fn path(&self, number: usize) -> PathBuf {
        self.folder
            .join(format!("part-{:09}.runs", number * self.size))
    }

    /// All runs, in order.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn finish(self) -> anyhow::Result<Vec<Run<'a>>> {
        if let Some(number) = self.read.iter().position(Option::is_none) {
            bail!(
                "{} is missing although a worker wrote it: is the folder shared by all machines?",
                self.path(number).display()
            );
        }
        Ok(self.read.into_iter().flatten().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_sim::sweep;

    const TEXT: &str = "[link.L]\nrate = \"1 Mbit/s\"\nloss = \"1 %\"\n[[flow]]\nroute = [\"L\"]\n\
                        [run]\nduration = \"1 s\"\nseeds = 5\n";

    fn scenario() -> Scenario {
        Scenario::parse(TEXT, Path::new("test")).expect("valid")
    }

    #[test]
    fn parts_are_few_and_not_too_large() {
        let sizes = [1, 200, 201, 100_000, 1_000_000].map(size);
        assert_eq!(sizes, [1, 1, 2, 500, 2000]);
    }

    #[test]
    fn anything_that_changes_the_runs_changes_the_key() {
        let scenario = scenario();
        let settings = ["run.seeds=3".to_owned()];
        let keys = [
            key(&scenario, TEXT, &[], KIND, 2),
            key(&scenario, TEXT, &settings, KIND, 2),
            key(&scenario, TEXT, &[], "flows", 2),
            key(&scenario, TEXT, &[], KIND, 3),
            key(&scenario, "", &[], KIND, 2),
        ];
        for (i, one) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(one), "{i}");
        }
    }

    #[test]
    fn damaged_parts_are_removed_and_those_of_another_sweep_refused() {
        let scenario = scenario();
        let jobs = sweep::jobs(scenario.points());
        let own = key(&scenario, TEXT, &[], KIND, 2);
        let folder = tempfile::tempdir().expect("a folder");
        for (number, jobs) in jobs.chunks(2).enumerate() {
            let runs = sweep::run_all(jobs, None, || {}).expect("threads");
            let name = format!("part-{:09}.runs", number * 2);
            fs::write(
                folder.path().join(name),
                write(&runs, &own).expect("memory"),
            )
            .expect("written");
        }
        let parts = |key| Parts::new(folder.path(), key, 2, &jobs);
        let mut all = parts(own);
        all.read().expect("parts");
        assert_eq!(all.done(), 5);
        let all = all.finish().expect("complete");
        let seeds: Vec<u64> = all.iter().map(|run| run.seed).collect();
        assert_eq!(seeds, [1, 2, 3, 4, 5]);

        let last = folder.path().join("part-000000004.runs");
        let whole = fs::read(&last).expect("a file");
        for i in (0..whole.len())
            .step_by(13)
            .filter(|&i| !(8..40).contains(&i))
        {
            let mut changed = whole.clone();
            changed[i] ^= 4;
            fs::write(&last, &changed).expect("written");
            let mut all = parts(own);
            all.read().expect("parts");
            assert_eq!((all.done(), last.exists()), (4, false), "byte {i}");
            assert!(all.finish().is_err());
        }
        let error = parts(key(&scenario, TEXT, &[], KIND, 7)).read();
        let error = error.expect_err("another sweep").to_string();
        assert!(error.contains("name an empty folder"), "{error}");
    }
}
