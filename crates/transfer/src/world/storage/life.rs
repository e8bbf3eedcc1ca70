//! A life: transfers as a server makes them, crashes, and what must hold after each of them.

use crate::blocks::{BlockHashes, CHUNK, FINE_LOG, hash_subtree};
use crate::cancel::Cancel;
use crate::error::Error;
use crate::file_receiver::{compare, root};
use crate::path::RemotePath;
use crate::ranges::RangeSet;
use crate::scratch_directory::ScratchDirectory;
use crate::simulated::calls::{self, Fault, Planted, World};
use crate::simulated::disk::{Disk, Order};
use crate::simulated::random::Random;
use crate::storage::{Directories, Lock, Storage, StorageOptions};
use crate::wire::{FileTime, Kind, Metadata, PackEntry, Reason};
use rustix::fs::{Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Paths that are stored at.
const PATHS: [&str; 5] = ["a", "b", "d/a", "d/e/a", "d/e/f/b"];
/// A piece of a file that is written at once, bytes: as `file_receiver` does.
const PIECE: u64 = 256 << 10;
/// What an attempt that ends may have written in vain, bytes: a piece, and what is not a whole part
/// that is compared.
const IN_VAIN: u64 = PIECE + (2 << FINE_LOG);

/// Permissions of files.
const MODES: [u16; 4] = [0o644, 0o600, 0o444, 0o755];

/// What a life is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub seed: u64,
    /// Transfers, removals and crashes.
    pub steps: u64,
    pub faults: Vec<Fault>,
    /// Whether the machine crashes, too.
    pub crashes: bool,
    /// A mistake of the program.
    pub planted: Option<Planted>,
}

/// What has happened in lives.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub steps: u64,
    pub calls: u64,
    pub faults: u64,
    pub crashes: u64,
    pub stored: u64,
}

/// A content, and its size, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Content(u64, u64);

impl Content {
    fn data(self) -> Vec<u8> {
        let mut data = vec![0; self.1 as usize];
        Random::new(self.0).fill(&mut data);
        data
    }

    /// What is known of the file beside its content.
    fn metadata(self) -> Metadata {
        Metadata {
            mode: Some(MODES[self.0 as usize % MODES.len()]),
            modified: Some(FileTime {
                seconds: (self.0 % 2_000_000_000) as i64,
                nanoseconds: (self.0 % 1_000_000_000) as u32,
            }),
            ..Metadata::plain(Kind::File)
        }
    }
}

/// What may be at a path; `None` is nothing.
#[derive(Debug)]
struct Expected {
    /// What is there for sure unless something of `later` has replaced it.
    sure: Option<Option<Content>>,
    later: BTreeSet<Option<Content>>,
    /// What was sent last, and how many bytes of it, since the disk last lost something.
    sending: Option<(Content, u64, u64)>,
}

pub(super) struct Life {
    plan: Plan,
    random: Random,
    scratch: ScratchDirectory,
    /// Directories so far: each crash of the machine makes a new one.
    directories: u64,
    options: StorageOptions,
    storage: Option<Storage>,
    expected: BTreeMap<&'static str, Expected>,
    umask: u16,
    /// Nothing bad happens any more.
    fair: bool,
    /// The last transfer, if it failed.
    failed: Option<(&'static str, Content)>,
    tally: Tally,
}

impl Life {
    /// Lives a life. Returns what has happened, or what did not hold.
    pub fn live(plan: &Plan) -> Result<Tally, String> {
        let mut life = Self::begin(plan)?;
        let lived = life.steps();
        drop(life.storage.take());
        if let Some(world) = calls::replace(None) {
            (life.tally.calls, life.tally.faults) = (world.calls, world.happened);
        }
        lived.map(|()| life.tally)
    }

    /// A world in this thread, before the first process starts.
    fn begin(plan: &Plan) -> Result<Self, String> {
        let mut random = Random::new(plan.seed);
        let order = *random.one_of(&[Order::Journal, Order::None]);
        let options = StorageOptions {
            overwrite: random.once_in(2),
            keep_partial: Duration::from_secs(1000),
            keep_free: crate::storage::KeepFree::Bytes(whimbrel_units::Bytes::new(0)),
            ..StorageOptions::default()
        };
        let scratch = ScratchDirectory::in_memory();
        let expected = PATHS.map(|path| {
            let expected = Expected {
                sure: Some(None),
                later: BTreeSet::new(),
                sending: None,
            };
            (path, expected)
        });
        let life = Self {
            plan: plan.clone(),
            scratch,
            directories: 0,
            options,
            storage: None,
            expected: expected.into(),
            umask: crate::storage::umask(),
            fair: false,
            failed: None,
            tally: Tally::default(),
            random: Random::new(plan.seed ^ 1 << 63),
        };
        let directory = life.directory();
        std::fs::create_dir(&directory).map_err(|e| e.to_string())?;
        calls::replace(Some(World {
            faults: plan.faults.clone(),
            planted: plan.planted,
            every: 5 + random.below(60),
            ..World::new(Disk::new(order, &directory), random)
        }));
        Ok(life)
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path().join(self.directories.to_string())
    }

    fn steps(&mut self) -> Result<(), String> {
        self.start()?;
        for step in 0..self.plan.steps {
            self.tally.steps += 1;
            let what = self.step();
            self.revive()?;
            self.check()
                .map_err(|e| format!("after step {step}, {what}: {e}"))?;
        }
        // The world is fair again: everything can be stored, and is there after the last crash.
        calls::with(|world| world.faults.clear());
        self.fair = true;
        for path in PATHS {
            let content = match self.there(path)? {
                Some(content) if !self.options.overwrite => content,
                _ => self.content(),
            };
            let stored = self.put(path, content);
            stored.map_err(|e| format!("in a fair world, `{path}`: {e}"))?;
        }
        self.crash_machine()?;
        self.check()
            .map_err(|e| format!("after the last crash: {e}"))?;
        self.options.keep_partial = Duration::ZERO;
        self.start()?;
        let names = crate::scratch_directory::file_names(&self.directory());
        match names.iter().find(|name| name.starts_with('.')) {
            Some(left) => Err(format!("{left} is left")),
            None => Ok(()),
        }
    }

    /// A process starts.
    fn start(&mut self) -> Result<(), String> {
        self.storage = None;
        let storage = Storage::open(&self.directory(), self.options);
        self.storage = Some(storage.map_err(|e| format!("the server does not start: {e}"))?);
        Ok(())
    }

    /// If the process is dead, starts one, perhaps after a crash of the machine.
    fn revive(&mut self) -> Result<(), String> {
        while calls::with(|world| world.dead) == Some(true) {
            self.storage = None;
            calls::with(|world| world.dead = false);
            if self.plan.crashes && self.random.once_in(2) {
                self.crash_machine()?;
            } else {
                // A start may fail, as every work does.
                self.start().ok();
            }
        }
        if self.storage.is_none() {
            let faults = calls::with(|world| std::mem::take(&mut world.faults));
            self.start()?;
            calls::with(|world| world.faults = faults.unwrap_or_default());
        }
        Ok(())
    }

    fn crash_machine(&mut self) -> Result<(), String> {
        self.tally.crashes += 1;
        calls::with(|world| world.dead = true);
        self.storage = None;
        std::fs::remove_dir_all(self.directory()).map_err(|e| e.to_string())?;
        self.directories += 1;
        let directory = self.directory();
        std::fs::create_dir(&directory).map_err(|e| e.to_string())?;
        calls::with(|world| {
            world.dead = false;
            world.disk.crash(&directory, &mut world.random)
        })
        .unwrap_or(Ok(()))
        .map_err(|e| e.to_string())?;
        for expected in self.expected.values_mut() {
            expected.sending = None;
        }
        let faults = calls::with(|world| std::mem::take(&mut world.faults));
        let started = self.start();
        calls::with(|world| world.faults = faults.unwrap_or_default());
        started
    }

    /// One step, and what it was.
    fn step(&mut self) -> String {
        // A client whose transfer has failed often tries again at once.
        if let Some((path, content)) = self.failed.take()
            && !self.random.once_in(3)
        {
            return format!("`{path}` again: {:?}", self.put(path, content));
        }
        let path = *self.random.one_of(&PATHS);
        match self.random.below(12) {
            0 if self.plan.crashes => match self.crash_machine() {
                Ok(()) => "a crash of the machine".to_owned(),
                Err(error) => error,
            },
            0 | 1 => {
                self.storage = None;
                self.start().ok();
                "a restart".to_owned()
            }
            2 => format!("removing `{path}`: {:?}", self.remove(path)),
            3..6 => format!("a tree: {:?}", self.tree()),
            _ => {
                let again = self.expected[path].sending;
                let content = match again {
                    Some((content, ..)) if !self.random.once_in(3) => content,
                    _ => self.content(),
                };
                format!("`{path}` {content:?}: {:?}", self.put(path, content))
            }
        }
    }

    fn content(&mut self) -> Content {
        // Often as long as another one.
        if self.random.once_in(3) {
            return Content(self.random.below(u64::MAX), 70_000);
        }
        let most = *self
            .random
            .one_of(&[1, 5_000, 5_000, 200_000, 200_000, 1_300_000]);
        Content(self.random.below(u64::MAX), self.random.below(most))
    }

    fn storage(&self) -> Result<Storage, Error> {
        self.storage.clone().ok_or(Error::Stopped)
    }

    fn remote(path: &str) -> RemotePath {
        path.parse().expect("a path")
    }

    /// Stores one file, as `server::put` and `file_receiver` do.
    fn put(&mut self, path: &'static str, content: Content) -> Result<(), Error> {
        let entry = self.expected.get_mut(path).expect("one of the paths");
        let new = entry.later.insert(Some(content));
        let result = self.try_put(path, content);
        self.failed = result.is_err().then_some((path, content));
        let alive = calls::with(|world| world.dead) == Some(false);
        let entry = self.expected.get_mut(path).expect("one of the paths");
        match &result {
            Ok(()) if alive => {
                *entry = Expected {
                    sure: Some(Some(content)),
                    later: BTreeSet::new(),
                    sending: None,
                };
                self.tally.stored += 1;
            }
            // Clients take it for not stored, unless nobody knows.
            Err(e) if new && alive && e.for_peer().reason != Reason::Internal => {
                entry.later.remove(&Some(content));
            }
            _ => {}
        }
        result
    }

    fn try_put(&mut self, path: &'static str, content: Content) -> Result<(), Error> {
        let (storage, remote) = (self.storage()?, Self::remote(path));
        let (data, size) = (content.data(), content.1);
        let (hash, cancel) = (blake3::hash(&data), Cancel::default());
        if let Some(found) = storage.look_up(&remote)? {
            let same = found.kind == Kind::File && found.size == size;
            if same && storage.has(&remote, size, hash, &cancel)? {
                return Ok(());
            }
            if found.kind != Kind::File || !storage.overwrites() {
                return Err(storage.exists_error(&remote));
            }
        }
        let Lock::Ours(partial) = storage.partial("u", &remote)? else {
            panic!("another one has the lock of `{path}`");
        };
        partial.set_len(size)?;
        let hashes = Arc::new(Mutex::new(BlockHashes::new(size)));
        let mut missing = RangeSet::of(0..size);
        for range in partial.have()?.iter() {
            let part = 1u64 << FINE_LOG;
            for index in range.start / part..range.end.div_ceil(part) {
                let bytes = index * part..((index + 1) * part).min(size);
                let there = compare(&partial, &hashes, FINE_LOG, index, 1, &cancel)?;
                let own = &data[bytes.start as usize..bytes.end as usize];
                if there.first() == Some(&hash_subtree(size, &bytes, own)) {
                    missing.remove(bytes);
                }
            }
        }
        let (mut sent, mut most) = (0, size);
        let entry = self.expected.get_mut(path).expect("one of the paths");
        if let Some((_, before, allowed)) = entry.sending.filter(|(c, ..)| *c == content) {
            (sent, most) = (before, allowed + IN_VAIN);
        }
        entry.sending = Some((content, sent + missing.bytes(), most));
        assert!(
            sent + missing.bytes() <= most,
            "{sent} bytes of {size} were sent, and {} are sent again; {most} are allowed",
            missing.bytes()
        );
        let mut pieces: Vec<_> = std::iter::from_fn(|| missing.take_first(PIECE, PIECE)).collect();
        let lost_before = calls::with(|world| world.happened);
        while !pieces.is_empty() {
            let piece = pieces.swap_remove(self.random.below(pieces.len() as u64) as usize);
            let bytes = &data[piece.start as usize..piece.end as usize];
            hashes
                .lock()
                .expect("one thread")
                .set(piece.start / CHUNK, None);
            if let Err(error) = partial.write_at(bytes, piece.start) {
                let left: u64 = pieces.iter().map(|piece| piece.end - piece.start).sum();
                let entry = self.expected.get_mut(path).expect("one of the paths");
                if let Some((_, sent, _)) = &mut entry.sending {
                    *sent -= left;
                }
                return Err(error);
            }
            if let Err(why) = self.there(path) {
                panic!("while it arrives: {why}");
            }
        }
        let found = root(&partial, size, &hashes, &cancel)?;
        assert_eq!(found, hash, "what was written is there");
        let foreign = self.foreign(path)?;
        let stored = partial.store(&remote, &content.metadata());
        if foreign && let Ok(()) = stored {
            panic!("`{path}` replaces what another program has stored");
        }
        if stored.is_err() && calls::with(|world| world.happened) != lost_before {
            // What a disk has not flushed is sent again.
            let entry = self.expected.get_mut(path).expect("one of the paths");
            entry.sending = None;
        }
        stored
    }

    /// Another program may store something at a path where nothing is. Returns whether it did.
    fn foreign(&mut self, path: &'static str) -> Result<bool, Error> {
        let storage = self.storage()?;
        let there = storage.look_up(&Self::remote(path))?.is_some();
        if self.fair
            || storage.overwrites()
            || there
            || path.contains('/')
            || !self.random.once_in(8)
        {
            return Ok(false);
        }
        // It has no faults.
        let faults = calls::with(|world| std::mem::take(&mut world.faults));
        let content = Content(self.random.below(u64::MAX), 1000);
        let stored = self.write_foreign(path, content);
        calls::with(|world| world.faults = faults.unwrap_or_default());
        stored.map_err(|e| Error::file(path, "write")(e.into()))?;
        self.expect(path).later.insert(Some(content));
        Ok(true)
    }

    fn write_foreign(&self, path: &str, content: Content) -> Result<(), Errno> {
        let directory = std::fs::File::open(self.directory()).map_err(|_| Errno::IO)?;
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let mode = content.metadata().mode.unwrap_or(0).into();
        let file = calls::openat(&directory, path, flags, Mode::from_raw_mode(0o600))?;
        let file = std::fs::File::from(file);
        calls::write_all_at(&file, &content.data(), 0).map_err(|_| Errno::IO)?;
        calls::fchmod(&file, Mode::from_raw_mode(mode))?;
        let time = Timespec {
            tv_sec: content.metadata().modified.map_or(0, |time| time.seconds),
            tv_nsec: content
                .metadata()
                .modified
                .map_or(0, |time| time.nanoseconds)
                .into(),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        calls::futimens(&file, &times)?;
        calls::fsync(&file)?;
        calls::fsync(&directory)
    }

    /// Stores some small files, as `server::tree` does.
    fn tree(&mut self) -> Result<(), Error> {
        let storage = self.storage()?;
        let stage = storage.stage()?;
        let mut directories = Directories::new();
        let (mut there, mut written) = (Vec::new(), Vec::new());
        for path in PATHS {
            if !self.random.once_in(2) {
                continue;
            }
            let again = self.expected[path].later.iter().flatten().last().copied();
            let content = match again {
                Some(content) if self.random.once_in(2) => content,
                _ => self.content(),
            };
            let entry = PackEntry {
                path: path.into(),
                metadata: content.metadata(),
                content: content.data().into(),
            };
            let new = self.expect(path).later.insert(Some(content));
            match stage.write(&Self::remote(path), &entry, &mut directories) {
                Ok(Some(staged)) => written.push((path, content, staged)),
                Ok(None) => there.push((path, content)),
                Err(error) => {
                    let refused = error.for_peer().reason == Reason::Exists;
                    if new && refused && calls::with(|world| world.dead) == Some(false) {
                        self.expect(path).later.remove(&Some(content));
                    }
                    if !refused {
                        return Err(error);
                    }
                }
            }
        }
        let staged: Vec<_> = written.iter().map(|(_, _, staged)| staged).collect();
        let results = stage.commit(&staged);
        let flushed = match there.is_empty() {
            true => Ok(()),
            false => storage.flush(),
        };
        if calls::with(|world| world.dead) == Some(true) {
            return Err(Error::Stopped);
        }
        let stored = written
            .iter()
            .zip(&results)
            .filter(|(_, result)| result.is_ok());
        let stored: Vec<_> = stored
            .map(|((path, content, _), _)| (*path, *content))
            .collect();
        let there = there.into_iter().filter(|_| flushed.is_ok());
        for (path, content) in stored.into_iter().chain(there) {
            *self.expect(path) = Expected {
                sure: Some(Some(content)),
                later: BTreeSet::new(),
                sending: None,
            };
            self.tally.stored += 1;
        }
        results.into_iter().collect()
    }

    fn expect(&mut self, path: &'static str) -> &mut Expected {
        self.expected.get_mut(path).expect("one of the paths")
    }

    fn remove(&mut self, path: &'static str) -> Result<u64, Error> {
        let storage = self.storage()?;
        let expected = self.expect(path);
        let sure = expected.sure.take();
        expected.later.extend(sure);
        expected.later.insert(None);
        storage.remove(&Self::remote(path), false, &mut 0)
    }

    /// What is at a path; an error if it is nothing that anybody has stored.
    fn there(&self, path: &str) -> Result<Option<Content>, String> {
        let expected = &self.expected[path];
        let possible = expected.sure.iter().chain(&expected.later);
        let found = match std::fs::read(self.directory().join(path)) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return match possible.clone().any(Option::is_none) {
                    true => Ok(None),
                    false => Err(format!("`{path}` is gone: {expected:?}")),
                };
            }
            Err(error) => return Err(format!("`{path}`: {error}")),
        };
        let same = |content: &&Content| content.1 == found.len() as u64 && content.data() == found;
        let found_content = possible.flatten().find(same);
        if let Some(content) = found_content {
            self.attributes(path, *content)?;
        }
        found_content.copied().map(Some).ok_or_else(|| {
            format!(
                "`{path}` has {} bytes that nobody stored: {expected:?}",
                found.len()
            )
        })
    }

    /// A file has its time, and its permissions unless it has kept those of one that it replaced.
    fn attributes(&self, path: &str, content: Content) -> Result<(), String> {
        // So short ones are equal by chance, and one that is there already stays as it is.
        if content.1 < 16 {
            return Ok(());
        }
        let found = std::fs::metadata(self.directory().join(path)).map_err(|e| e.to_string())?;
        let (mode, wanted) = (found.mode() as u16 & 0o7777, content.metadata());
        let time = FileTime {
            seconds: found.mtime(),
            nanoseconds: found.mtime_nsec() as u32,
        };
        let permitted = match self.options.overwrite {
            true => MODES.map(|mode| mode & !self.umask).contains(&mode),
            false => wanted.mode.map(|wanted| wanted & !self.umask) == Some(mode),
        };
        if !permitted || Some(time) != wanted.modified {
            return Err(format!(
                "`{path}` has mode {mode:o} and {time:?}, not {wanted:?}"
            ));
        }
        Ok(())
    }

    /// What must hold at all times.
    fn check(&self) -> Result<(), String> {
        for path in PATHS {
            self.there(path)?;
        }
        visible(&self.directory(), "")
    }
}

/// Nothing is visible but what was stored.
fn visible(directory: &Path, above: &str) -> Result<(), String> {
    for entry in directory.read_dir().map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{above}{name}");
        if name.starts_with('.') && above.is_empty() {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            visible(&entry.path(), &format!("{path}/"))?;
        } else if !PATHS.contains(&&*path) {
            return Err(format!("`{path}` is visible"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A life without a plan, with a server that runs.
    fn begun(seed: u64, overwrite: bool, fair: bool) -> Life {
        let plan = Plan {
            seed,
            steps: 0,
            faults: Vec::new(),
            crashes: false,
            planted: None,
        };
        let mut life = Life::begin(&plan).expect("begun");
        life.options.overwrite = overwrite;
        life.fair = fair;
        life.start().expect("started");
        life
    }

    /// `fsync` fails, the process is killed before it removes the file, and the next one finds all
    /// of it. Its own `fsync` succeeds, although the disk does not have what the first one lost.
    #[test]
    fn what_a_failed_flush_lost_is_written_again() {
        for seed in 0..16 {
            // No other program stores anything there.
            let mut life = begun(seed, true, false);
            let content = Content(seed, 300_000);
            calls::with(|world| world.next = [Fault::Flush, Fault::Kill].into());
            life.put("a", content).expect_err("the flush fails");
            assert_eq!(calls::with(|world| world.dead), Some(true));
            life.revive().expect("revived");
            life.put("a", content).expect("stored");
            life.crash_machine().expect("crashed");
            life.check().expect("what was stored is there");
            calls::replace(None);
        }
    }

    /// A file system that cannot rename without replacing.
    #[test]
    fn a_file_gets_its_name_by_a_link_and_loses_the_hidden_one() {
        let mut life = begun(0, false, true);
        calls::with(|world| world.next = [Fault::Rename].into());
        life.put("a", Content(1, 5000)).expect("stored");
        let names = crate::scratch_directory::file_names(&life.directory());
        assert_eq!(names, ["a"]);
        life.crash_machine().expect("crashed");
        life.check().expect("what was stored is there");
        calls::replace(None);
    }

    /// Lives of a plan without faults, from several seeds.
    fn lives(each: impl Fn(&mut Life)) {
        for seed in 0..8 {
            each(&mut begun(seed, true, true));
            calls::replace(None);
        }
    }

    /// A process that was killed has made directories, and flushed nothing.
    #[test]
    fn directories_that_are_there_are_flushed_with_the_first_file() {
        lives(|life| {
            let mut above = std::fs::File::open(life.directory()).expect("opened");
            for (name, whole) in [("d", "d"), ("e", "d/e")] {
                calls::mkdirat(&above, name, Mode::from_raw_mode(0o777)).expect("made");
                above = std::fs::File::open(life.directory().join(whole)).expect("opened");
            }
            life.put("d/e/a", Content(1, 5000)).expect("stored");
            life.crash_machine().expect("crashed");
            life.check().expect("what was stored is there");
        });
    }

    /// Somebody else, or a process that was killed, has written a file and flushed nothing.
    fn unflushed(life: &Life, content: Content) {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let directory = std::fs::File::open(life.directory()).expect("opened");
        let file = calls::openat(&directory, "a", flags, Mode::from_raw_mode(0o644));
        let file = std::fs::File::from(file.expect("created"));
        calls::write_all_at(&file, &content.data(), 0).expect("written");
    }

    #[test]
    fn a_file_that_is_there_is_flushed_before_it_counts_as_stored() {
        lives(|life| {
            let content = Content(life.plan.seed, 300_000);
            unflushed(life, content);
            let hash = blake3::hash(&content.data());
            let (storage, path) = (life.storage().expect("open"), Life::remote("a"));
            let has = storage.has(&path, content.1, hash, &Cancel::default());
            assert!(has.expect("compared"));
            life.crash_machine().expect("crashed");
            let found = std::fs::read(life.directory().join("a")).expect("there");
            assert!(found == content.data());
        });
    }

    #[test]
    fn files_of_a_tree_that_are_there_are_flushed_together() {
        lives(|life| {
            let content = Content(life.plan.seed, 300_000);
            unflushed(life, content);
            life.storage().expect("open").flush().expect("flushed");
            life.crash_machine().expect("crashed");
            let found = std::fs::read(life.directory().join("a")).expect("there");
            assert!(found == content.data());
        });
    }

    #[test]
    fn directories_and_links_of_a_tree_survive_a_crash() {
        lives(|life| {
            let stage = life.storage().expect("open").stage().expect("staged");
            let write = |path: &str, kind, content: &'static [u8]| {
                let entry = PackEntry {
                    path: path.into(),
                    metadata: Metadata::plain(kind),
                    content: content.into(),
                };
                let written = stage.write(&Life::remote(path), &entry, &mut Directories::new());
                assert!(written.expect("written").is_none());
            };
            write("d/e", Kind::Directory, b"");
            // A new one, and one that replaces it. Nothing else flushes their directory.
            let targets: [&[u8]; 2] = [b"d/e", b"d"];
            let last = 1 + (life.plan.seed % 2) as usize;
            for target in &targets[..last] {
                write("link", Kind::Link, target);
            }
            drop(stage);
            life.crash_machine().expect("crashed");
            assert!(life.directory().join("d/e").is_dir());
            let target = std::fs::read_link(life.directory().join("link")).expect("a link");
            assert_eq!(target.as_os_str().as_encoded_bytes(), targets[last - 1]);
        });
    }

    /// What a user stores is only as sure as the user's directory.
    #[test]
    fn the_directory_of_a_user_survives_a_crash() {
        lives(|life| {
            let storage = life.storage().expect("a storage");
            storage.below(Path::new("u/v")).expect("made");
            life.crash_machine().expect("crashed");
            assert!(life.directory().join("u/v").is_dir());
        });
    }

    /// A token or a key that was written is there after a crash, and so is what it replaced if a
    /// write fails.
    #[test]
    fn private_files_survive_a_crash() {
        use crate::credentials::private_file::{self, Access};
        lives(|life| {
            for text in ["one", "two"] {
                let path = life.directory().join("token");
                private_file::replace(&path, text.as_bytes()).expect("written");
                life.crash_machine().expect("crashed");
                let path = life.directory().join("token");
                let found = private_file::read(&path, Access::Secret).expect("read");
                assert_eq!(found.as_ref().map(|found| found.as_str()), Some(text));
            }
        });
    }

    /// What a client gets is only as sure as the directory that is made for it.
    #[test]
    fn a_directory_that_is_made_for_files_survives_a_crash() {
        lives(|life| {
            let made = Storage::create(&life.directory().join("got"), life.options);
            made.expect("made");
            life.crash_machine().expect("crashed");
            assert!(life.directory().join("got").is_dir());
        });
    }

    /// It is in place before its name: a process may be killed between the two.
    #[test]
    fn a_private_file_is_never_empty() {
        use crate::credentials::private_file::{self, Access};
        for seed in 0..200 {
            let mut life = begun(seed, true, true);
            let path = life.directory().join("token");
            private_file::replace(&path, b"one").expect("written");
            calls::with(|world| (world.faults, world.every) = (vec![Fault::Kill], 3));
            private_file::replace(&path, b"two").ok();
            calls::with(|world| world.faults.clear());
            life.crash_machine().expect("crashed");
            let path = life.directory().join("token");
            let found = private_file::read(&path, Access::Secret).expect("read");
            let found = found.expect("there");
            assert!(["one", "two"].contains(&found.as_str()), "{found:?}");
            calls::replace(None);
        }
    }
}
