//! What of the calls survives a crash of the machine.
//!
//! POSIX promises little, and this disk no more: what a file contains survives once `fsync` of the
//! file has returned, a name once `fsync` of its directory has, and everything once `syncfs` has. A
//! rename is atomic, but its old name may be there again. Of the rest, a crash leaves what it
//! likes: each 512 bytes of a write or not, and each change of a name or not. A disk that keeps a
//! journal ([`Order::Journal`]) leaves the changes of names that came first.

use super::random::Random;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is written as a whole, bytes.
const SECTOR: u64 = 512;
/// What memory of a file's content is reserved at once, bytes: a page, as in the file system of the
/// process's directory, where holes have the same borders.
const PAGE: u64 = 4096;

/// The number of a file, directory or link, never used again.
pub(crate) type Node = usize;
/// A directory and a name in it.
pub(crate) type Name = (Node, Vec<u8>);
/// What the system calls a file: device and inode.
pub(crate) type Inode = (u64, u64);

/// Which changes of names survive a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first ones, as with the journals of ext4, XFS and Btrfs.
    Journal,
    /// Any.
    None,
}

/// What a node contains.
#[derive(Debug, Clone)]
enum Content {
    File(Bytes),
    Directory,
    Link(Vec<u8>),
}

/// The bytes of a file: pages that were written, zeros elsewhere.
#[derive(Debug, Clone, Default)]
struct Bytes {
    mode: u32,
    /// The time of the last change, seconds and nanoseconds, if somebody has set it.
    time: Option<(i64, i64)>,
    length: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

impl Bytes {
    fn write(&mut self, data: &[u8], at: u64) {
        let (mut rest, mut offset) = (data, at);
        while !rest.is_empty() {
            let from = (offset % PAGE) as usize;
            let (part, after) = rest.split_at(rest.len().min(PAGE as usize - from));
            let page = self.pages.entry(offset / PAGE);
            let page = page.or_insert_with(|| Box::new([0; PAGE as usize]));
            page[from..from + part.len()].copy_from_slice(part);
            (rest, offset) = (after, offset + part.len() as u64);
        }
        self.length = self.length.max(at + data.len() as u64);
    }

    fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.pages.retain(|page, _| page * PAGE < length);
            if let Some(last) = self.pages.get_mut(&(length / PAGE)) {
                last[(length % PAGE) as usize..].fill(0);
            }
        }
        self.length = length;
    }
}

/// A change that was not flushed.
#[derive(Debug, Clone)]
enum Change {
    Write(Node, u64, Vec<u8>),
    Length(Node, u64),
    Mode(Node, u32),
    Time(Node, (i64, i64)),
    /// A name gets a node, or is removed.
    Entry(Name, Option<Node>),
    /// A node has a new name instead of its old one.
    Rename(Name, Name, Node),
}

impl Change {
    /// The file whose content it changes.
    fn content_of(&self) -> Option<Node> {
        match self {
            Self::Write(node, ..) | Self::Length(node, _) => Some(*node),
            _ => None,
        }
    }

    /// The file that it changes.
    fn file(&self) -> Option<Node> {
        match self {
            Self::Mode(node, _) | Self::Time(node, _) => Some(*node),
            change => change.content_of(),
        }
    }

    fn is_content_of(&self, node: Node) -> bool {
        self.content_of() == Some(node)
    }

    /// Whether `fsync` of a file flushes it.
    fn is_of_file(&self, node: Node) -> bool {
        self.file() == Some(node)
    }

    fn is_of_names(&self) -> bool {
        matches!(self, Self::Entry(..) | Self::Rename(..))
    }

    fn is_in(&self, directory: Node) -> bool {
        match self {
            Self::Entry((at, _), _) => *at == directory,
            Self::Rename((from, _), (to, _), _) => *from == directory || *to == directory,
            _ => false,
        }
    }
}

/// The disk: what is flushed, and what is not yet.
#[derive(Debug)]
pub(crate) struct Disk {
    order: Order,
    root: Node,
    nodes: Vec<Content>,
    entries: BTreeMap<Name, Node>,
    pending: Vec<Change>,
    /// Files of which something could not be written, which nobody knows yet.
    failed: BTreeSet<Node>,
    /// The nodes that the directory of the process has now, and their names there.
    known: HashMap<Inode, Node>,
    names: BTreeMap<Name, Node>,
    /// That directory.
    path: PathBuf,
    /// Files of which it has what the disk has given up.
    spoiled: BTreeSet<Node>,
}

/// What a crash leaves of the process's directory as it was: files that need not be written again.
struct Kept {
    names: BTreeMap<Node, Name>,
    inodes: BTreeMap<Node, Inode>,
    path: PathBuf,
    changed: BTreeSet<Node>,
}

impl Kept {
    /// Where a node is in the directory.
    fn path(&self, node: Node) -> Option<PathBuf> {
        let (above, name) = self.names.get(&node)?;
        let above = match above {
            0 => self.path.clone(),
            above => self.path(*above)?,
        };
        Some(above.join(OsStr::from_bytes(name)))
    }

    /// Gives a file another name at `path`, if it is there as the disk has it.
    fn link(&self, node: Node, path: &Path) -> Option<Inode> {
        if self.changed.contains(&node) {
            return None;
        }
        let inode = self.inodes.get(&node)?;
        fs::hard_link(self.path(node)?, path).ok()?;
        Some(*inode)
    }
}

impl Disk {
    /// An empty disk below this directory.
    pub fn new(order: Order, root: &Path) -> Self {
        let mut disk = Self {
            order,
            root: 0,
            nodes: vec![Content::Directory],
            entries: BTreeMap::new(),
            pending: Vec::new(),
            failed: BTreeSet::new(),
            known: HashMap::new(),
            names: BTreeMap::new(),
            path: root.to_owned(),
            spoiled: BTreeSet::new(),
        };
        disk.learn(root, 0);
        disk
    }

    fn learn(&mut self, path: &Path, node: Node) {
        if let Ok(found) = fs::symlink_metadata(path) {
            self.known.insert((found.dev(), found.ino()), node);
        }
    }

    /// The node of an inode; `None` for what is not on this disk.
    pub fn node(&self, inode: Inode) -> Option<Node> {
        self.known.get(&inode).copied()
    }

    fn add(&mut self, inode: Inode, name: Name, content: Content) {
        let node = self.nodes.len();
        self.nodes.push(content);
        self.known.insert(inode, node);
        self.name(name, node);
    }

    pub fn create_file(&mut self, inode: Inode, name: Name, mode: u32) {
        let empty = Bytes {
            mode,
            ..Bytes::default()
        };
        self.add(inode, name, Content::File(empty));
    }

    pub fn create_directory(&mut self, inode: Inode, name: Name) {
        self.add(inode, name, Content::Directory);
    }

    pub fn create_link(&mut self, inode: Inode, name: Name, target: &[u8]) {
        self.add(inode, name, Content::Link(target.to_vec()));
    }

    pub fn write(&mut self, node: Node, at: u64, data: &[u8]) {
        self.pending.push(Change::Write(node, at, data.to_vec()));
    }

    pub fn set_length(&mut self, node: Node, length: u64) {
        self.pending.push(Change::Length(node, length));
    }

    pub fn set_mode(&mut self, node: Node, mode: u32) {
        self.pending.push(Change::Mode(node, mode));
    }

    pub fn set_time(&mut self, node: Node, time: (i64, i64)) {
        self.pending.push(Change::Time(node, time));
    }

    pub fn name(&mut self, name: Name, node: Node) {
        self.names.insert(name.clone(), node);
        self.pending.push(Change::Entry(name, Some(node)));
    }

    pub fn unname(&mut self, name: Name) {
        self.names.remove(&name);
        self.pending.push(Change::Entry(name, None));
    }

    pub fn rename(&mut self, from: Name, to: Name, node: Node) {
        self.names.remove(&from);
        self.names.insert(to.clone(), node);
        self.pending.push(Change::Rename(from, to, node));
    }

    pub fn is_directory(&self, node: Node) -> bool {
        matches!(self.nodes[node], Content::Directory)
    }

    /// A file's content, or a directory's names, are flushed.
    pub fn flush(&mut self, node: Node) {
        let is_directory = self.is_directory(node);
        let last = match self.order {
            // The journal is written up to the last change of this directory.
            Order::Journal if is_directory => self.pending.iter().rposition(|c| c.is_in(node)),
            _ => None,
        };
        for (index, change) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let now = match self.order {
                _ if !is_directory => change.is_of_file(node),
                Order::Journal => change.is_of_names() && last.is_some_and(|last| index <= last),
                // What flushes only the old name of a rename flushes nothing.
                Order::None => match &change {
                    Change::Rename(_, to, _) => to.0 == node,
                    change => change.is_in(node),
                },
            };
            match change {
                change if !now => self.pending.push(change),
                // The new name is what was flushed. The old one may come back.
                Change::Rename(from, to, moved) if self.order == Order::None => {
                    self.entries.insert(to, moved);
                    let gone = Change::Entry(from.clone(), None);
                    match from.0 == node {
                        true => self.apply(gone),
                        false => self.pending.push(gone),
                    }
                }
                change => self.apply(change),
            }
        }
    }

    /// The system has given up what it could not write of a file, and believes that it is written.
    pub fn give_up(&mut self, node: Node, random: &mut Random) {
        self.spoiled.insert(node);
        self.pending
            .retain(|change| !change.is_content_of(node) || random.once_in(3));
        // What is left of it is written.
        for change in std::mem::take(&mut self.pending) {
            match change.is_content_of(node) {
                true => self.apply(change),
                false => self.pending.push(change),
            }
        }
    }

    /// The same for some of the files, while it flushes everything. `fsync` of each reports it once.
    pub fn give_up_any(&mut self, random: &mut Random) {
        let dirty: BTreeSet<_> = self.pending.iter().filter_map(Change::content_of).collect();
        for node in dirty {
            if random.once_in(2) {
                self.give_up(node, random);
                self.failed.insert(node);
            }
        }
    }

    /// Whether something of a file could not be written since this was last asked.
    pub fn reports_error(&mut self, node: Node) -> bool {
        self.failed.remove(&node)
    }

    /// Everything is flushed.
    pub fn flush_all(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.apply(change);
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Write(node, at, data) => {
                if let Content::File(bytes) = &mut self.nodes[node] {
                    bytes.write(&data, at);
                }
            }
            Change::Length(node, length) => {
                if let Content::File(bytes) = &mut self.nodes[node] {
                    bytes.set_length(length);
                }
            }
            Change::Mode(node, mode) => {
                if let Content::File(bytes) = &mut self.nodes[node] {
                    bytes.mode = mode;
                }
            }
            Change::Time(node, time) => {
                if let Content::File(bytes) = &mut self.nodes[node] {
                    bytes.time = Some(time);
                }
            }
            Change::Entry(name, Some(node)) => drop(self.entries.insert(name, node)),
            Change::Entry(name, None) => drop(self.entries.remove(&name)),
            Change::Rename(from, to, node) => {
                self.entries.remove(&from);
                self.entries.insert(to, node);
            }
        }
    }

    /// The machine crashes. Makes what is left in the empty directory `root`, of the files in the
    /// one before it, if that is still there, and on the same file system.
    pub fn crash(&mut self, root: &Path, random: &mut Random) -> std::io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let kept = self.kept(&pending);
        let names = pending.iter().filter(|c| c.is_of_names()).count() as u64;
        let mut journal = random.below(names + 1);
        for change in pending {
            if change.is_of_names() {
                let kept = match self.order {
                    Order::Journal => journal > 0,
                    Order::None => !random.once_in(2),
                };
                journal = journal.saturating_sub(1);
                if kept {
                    self.apply(change);
                }
                continue;
            }
            match change {
                Change::Write(node, at, data) => {
                    let mut from = 0;
                    // Long runs of sectors are drawn at once.
                    while from < data.len() {
                        let sectors = 1 + random.below(64);
                        let end = (at + from as u64) / SECTOR * SECTOR + sectors * SECTOR - at;
                        let end = (end as usize).min(data.len());
                        if random.once_in(2) {
                            let part = data[from..end].to_vec();
                            self.apply(Change::Write(node, at + from as u64, part));
                        }
                        from = end;
                    }
                }
                change if random.once_in(2) => self.apply(change),
                _ => {}
            }
        }
        self.known.clear();
        self.failed.clear();
        self.learn(root, self.root);
        root.clone_into(&mut self.path);
        self.make(self.root, root, &kept, &mut HashMap::new())
    }

    /// What is left of the process's directory, with these changes.
    fn kept(&mut self, pending: &[Change]) -> Kept {
        let mut changed = std::mem::take(&mut self.spoiled);
        changed.extend(pending.iter().filter_map(Change::file));
        let known = self.known.iter().map(|(inode, node)| (*node, *inode));
        let names = std::mem::take(&mut self.names).into_iter();
        Kept {
            inodes: known.collect(),
            names: names.map(|(name, node)| (node, name)).collect(),
            path: self.path.clone(),
            changed,
        }
    }

    /// Makes what is in a directory. `made` are the files that have a name already.
    fn make(
        &mut self,
        directory: Node,
        at: &Path,
        kept: &Kept,
        made: &mut HashMap<Node, PathBuf>,
    ) -> std::io::Result<()> {
        let of = (directory, Vec::new())..(directory + 1, Vec::new());
        let found = self.entries.range(of);
        let found: Vec<_> = found.map(|((_, n), e)| (n.clone(), *e)).collect();
        for (name, node) in found {
            let path = at.join(OsStr::from_bytes(&name));
            self.names.insert((directory, name), node);
            if let Some(first) = made.get(&node) {
                fs::hard_link(first, &path)?;
                continue;
            }
            match &self.nodes[node] {
                Content::Directory => {
                    fs::create_dir(&path)?;
                    self.make(node, &path, kept, made)?;
                }
                Content::Link(target) => {
                    std::os::unix::fs::symlink(OsStr::from_bytes(target), &path)?;
                }
                // A link keeps the modification time that was set.
                Content::File(bytes)
                    if bytes.time.is_some()
                        && let Some(inode) = kept.link(node, &path) =>
                {
                    self.known.insert(inode, node);
                    made.insert(node, path);
                    continue;
                }
                Content::File(bytes) => {
                    let file = fs::File::create(&path)?;
                    let mut run: (u64, Vec<u8>) = (0, Vec::new());
                    for (page, data) in &bytes.pages {
                        let at = page * PAGE;
                        if run.0 + run.1.len() as u64 != at {
                            file.write_all_at(&run.1, run.0)?;
                            run = (at, Vec::new());
                        }
                        run.1.extend_from_slice(&data[..]);
                    }
                    // Of the last page only what belongs to the file.
                    let rest = bytes.length.saturating_sub(run.0);
                    run.1.truncate(usize::try_from(rest).unwrap_or(usize::MAX));
                    file.write_all_at(&run.1, run.0)?;
                    file.set_len(bytes.length)?;
                    file.set_permissions(fs::Permissions::from_mode(bytes.mode))?;
                    let set = bytes.time.map(|(seconds, nanoseconds)| {
                        UNIX_EPOCH + Duration::new(seconds as u64, nanoseconds as u32)
                    });
                    file.set_modified(set.unwrap_or_else(SystemTime::now))?;
                    made.insert(node, path.clone());
                }
            }
            self.learn(&path, node);
        }
        Ok(())
    }
}
