//! The calls that change the disk: as rustix and the standard library have them, but they fail as
//! drawn, and the process may die in one. Without a world in the thread they are the real ones, and
//! they are for what is not on its disk.

use super::disk::{Disk, Inode, Node};
use super::random::Random;
use super::system as clock;
use crate::file_calls;
use rustix::fs as system;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps, fstat, statat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::SystemTime;

/// Clients of whole lives set no later times, seconds since 1970.
const SET_BY_CLIENTS: i64 = 1_000_000_000;

/// What may happen to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The disk is full.
    Full,
    /// It does not write.
    Write,
    /// It does not flush, and forgets what it should have flushed.
    Flush,
    /// It does not know how to rename without replacing.
    Rename,
    /// The process is killed.
    Kill,
    /// The mode of a file cannot be changed. Lives never draw it.
    Mode,
}

impl Fault {
    /// Those that lives draw, and their names.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Full, "full"),
        (Self::Write, "write"),
        (Self::Flush, "flush"),
        (Self::Rename, "rename"),
        (Self::Kill, "kill"),
    ];
}

/// A mistake of the program, to see that lives notice it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    /// No `fsync` of files.
    FileFlush,
    /// No `fsync` of directories.
    DirectoryFlush,
    /// No `syncfs`.
    FlushOfAll,
    /// `syncfs` only every second time: after the new names, or before them.
    HalfTheFlushes,
    /// `fsync` of a file only with the next directory.
    LateFlush,
    /// The last byte of a write is missing.
    ShortWrite,
    /// A write that does not begin at the start of the file begins a byte later.
    ShiftedWrite,
    /// The length is not set.
    Length,
    /// Permissions are not set.
    Mode,
    /// The time is not set.
    Time,
    /// Nothing is removed.
    Removal,
    /// A rename replaces what must stay.
    Replacing,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::FileFlush,
        Self::DirectoryFlush,
        Self::FlushOfAll,
        Self::HalfTheFlushes,
        Self::LateFlush,
        Self::ShortWrite,
        Self::ShiftedWrite,
        Self::Length,
        Self::Mode,
        Self::Time,
        Self::Removal,
        Self::Replacing,
    ];
}

/// The disk of a thread, and what happens to calls.
pub(crate) struct World {
    pub disk: Disk,
    pub random: Random,
    /// What may happen; a fault happens once in so many calls.
    pub faults: Vec<Fault>,
    pub every: u64,
    /// What happens to the next calls to which it may happen, before anything is drawn.
    pub next: VecDeque<Fault>,
    pub planted: Option<Planted>,
    /// Flushes so far, and files to be flushed later: for what is planted.
    pub flushes: u64,
    pub late: Vec<Node>,
    /// The disk is full, and stays so.
    pub full: bool,
    /// No call has an effect any more: the process is dead.
    pub dead: bool,
    /// Calls, and faults that happened.
    pub calls: u64,
    pub happened: u64,
}

impl World {
    /// A disk on which nothing fails.
    pub fn new(disk: Disk, random: Random) -> Self {
        Self {
            disk,
            random,
            faults: Vec::new(),
            every: 1,
            next: VecDeque::new(),
            planted: None,
            flushes: 0,
            late: Vec::new(),
            full: false,
            dead: false,
            calls: 0,
            happened: 0,
        }
    }
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Puts a world into this thread, and returns the one that was there.
pub(crate) fn replace(world: Option<World>) -> Option<World> {
    WORLD.replace(world)
}

/// Works on the world of this thread, if there is one.
pub(crate) fn with<T>(work: impl FnOnce(&mut World) -> T) -> Option<T> {
    WORLD.with_borrow_mut(|world| world.as_mut().map(work))
}

fn is_planted(planted: Planted) -> bool {
    with(|world| world.planted == Some(planted)) == Some(true)
}

/// What happens to a call, if it is one of these.
fn fault(possible: &[Fault]) -> Result<Option<Fault>, Errno> {
    let drawn = with(|world| {
        world.calls += 1;
        if world.dead {
            return Err(Errno::IO);
        }
        if world
            .next
            .front()
            .is_some_and(|next| possible.contains(next))
        {
            let fault = world.next.pop_front();
            world.dead = fault == Some(Fault::Kill);
            return Ok(fault);
        }
        if world.full && possible.contains(&Fault::Full) {
            world.happened += 1;
            return Ok(Some(Fault::Full));
        }
        let faults = world.faults.iter();
        let faults: Vec<_> = faults.filter(|f| possible.contains(f)).copied().collect();
        if faults.is_empty() || !world.random.once_in(world.every) {
            return Ok(None);
        }
        let fault = *world.random.one_of(&faults);
        world.happened += 1;
        world.dead = fault == Fault::Kill;
        Ok(Some(fault))
    });
    drawn.unwrap_or(Ok(None))
}

/// What happens to a call that has an effect as a whole or not at all. A process that is killed has
/// had the effect of its last call or not.
fn whole(possible: &[Fault]) -> Result<(), Errno> {
    match fault(possible)? {
        None => Ok(()),
        Some(Fault::Full) => Err(Errno::NOSPC),
        Some(Fault::Rename) => Err(Errno::INVAL),
        Some(Fault::Kill) if with(|world| world.random.once_in(2)) == Some(true) => Ok(()),
        Some(_) => Err(Errno::IO),
    }
}

fn inode(stat: &system::Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

/// The node of a file or directory that is on the disk of this thread's world. It is the same
/// before and after a call, so one look-up is enough.
fn node_of(file: impl AsFd) -> Option<Node> {
    // Without a world the system need not be asked.
    with(|_| ())?;
    let stat = fstat(file).ok()?;
    with(|world| world.disk.node(inode(&stat)))?
}

fn inode_at(directory: impl AsFd, name: &[u8]) -> Option<Inode> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(inode(&stat))
}

fn node_at(directory: impl AsFd, name: &[u8]) -> Option<Node> {
    let inode = inode_at(directory, name)?;
    with(|world| world.disk.node(inode))?
}

fn bytes(path: impl Arg) -> Result<Vec<u8>, Errno> {
    Ok(path.into_c_str()?.to_bytes().to_vec())
}

pub(crate) fn openat(
    at: impl AsFd,
    path: impl Arg,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let path = bytes(path)?;
    let creates = flags.contains(OFlags::CREATE);
    let Some(directory) = creates.then(|| node_of(&at)).flatten() else {
        return system::openat(at, &path[..], flags, mode);
    };
    let found = statat(&at, &path[..], AtFlags::SYMLINK_NOFOLLOW);
    let there = found.is_ok();
    if !there {
        whole(&[Fault::Full, Fault::Kill])?;
    }
    // Whoever runs the tests may be root; a server is not.
    if found.is_ok_and(|stat| stat.st_mode & 0o200 == 0) {
        return Err(Errno::ACCESS);
    }
    let opened = system::openat(&at, &path[..], flags, mode)?;
    if !there {
        let stat = fstat(&opened)?;
        let mode = stat.st_mode & 0o7777;
        with(|world| {
            let name = (directory, path);
            world.disk.create_file(inode(&stat), name, mode);
        });
    }
    Ok(opened)
}

pub(crate) fn mkdirat(at: impl AsFd, path: impl Arg, mode: Mode) -> Result<(), Errno> {
    let path = bytes(path)?;
    let Some(directory) = node_of(&at) else {
        return system::mkdirat(&at, &path[..], mode);
    };
    whole(&[Fault::Full, Fault::Kill])?;
    system::mkdirat(&at, &path[..], mode)?;
    if let Some(inode) = inode_at(&at, &path) {
        with(|world| world.disk.create_directory(inode, (directory, path)));
    }
    Ok(())
}

pub(crate) fn symlinkat(target: impl Arg, at: impl AsFd, path: impl Arg) -> Result<(), Errno> {
    let (target, path) = (bytes(target)?, bytes(path)?);
    let Some(directory) = node_of(&at) else {
        return system::symlinkat(&target[..], &at, &path[..]);
    };
    whole(&[Fault::Full, Fault::Kill])?;
    system::symlinkat(&target[..], &at, &path[..])?;
    if let Some(inode) = inode_at(&at, &path) {
        with(|world| world.disk.create_link(inode, (directory, path), &target));
    }
    Ok(())
}

pub(crate) fn linkat(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    flags: AtFlags,
) -> Result<(), Errno> {
    let (old, new) = (bytes(old)?, bytes(new)?);
    let Some(directory) = node_of(&to) else {
        return system::linkat(&from, &old[..], &to, &new[..], flags);
    };
    whole(&[Fault::Full, Fault::Kill])?;
    system::linkat(&from, &old[..], &to, &new[..], flags)?;
    if let Some(node) = node_at(&from, &old) {
        with(|world| world.disk.name((directory, new), node));
    }
    Ok(())
}

pub(crate) fn renameat(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
) -> Result<(), Errno> {
    let directory = node_of(&to);
    let flags = RenameFlags::empty();
    rename(from, bytes(old)?, to, bytes(new)?, flags, directory)
}

pub(crate) fn renameat_with(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    flags: RenameFlags,
) -> Result<(), Errno> {
    let directory = node_of(&to);
    if directory.is_some() {
        whole(&[Fault::Rename])?;
    }
    let flags = match is_planted(Planted::Replacing) {
        true => RenameFlags::empty(),
        false => flags,
    };
    rename(from, bytes(old)?, to, bytes(new)?, flags, directory)
}

/// In a whole life everything that clients see follows from the seed: a file whose client has not
/// set a time, such as standard input, has that of the life instead of the real file system's.
fn date(at: impl AsFd, name: &[u8], has: &system::Stat) {
    let is_real = has.st_mtime > SET_BY_CLIENTS;
    if !is_real || !clock::is_begun() {
        return;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let time = Timespec {
        tv_sec: now.as_secs() as i64,
        tv_nsec: now.subsec_nanos().into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    system::utimensat(&at, name, &times, AtFlags::SYMLINK_NOFOLLOW).ok();
}

/// `directory` is the node of `to`, if that is on the disk.
fn rename(
    from: impl AsFd,
    old: Vec<u8>,
    to: impl AsFd,
    new: Vec<u8>,
    flags: RenameFlags,
    directory: Option<Node>,
) -> Result<(), Errno> {
    let Some(directory) = directory else {
        return system::renameat_with(&from, &old[..], &to, &new[..], flags);
    };
    whole(&[Fault::Full, Fault::Kill])?;
    let moved = statat(&from, &old[..], AtFlags::SYMLINK_NOFOLLOW);
    system::renameat_with(&from, &old[..], &to, &new[..], flags)?;
    let Ok(moved) = moved else { return Ok(()) };
    date(&to, &new, &moved);
    let node = with(|world| world.disk.node(inode(&moved))).flatten();
    if let (Some(above), Some(node)) = (node_of(&from), node) {
        with(|world| world.disk.rename((above, old), (directory, new), node));
    }
    Ok(())
}

pub(crate) fn unlinkat(at: impl AsFd, path: impl Arg, flags: AtFlags) -> Result<(), Errno> {
    let path = bytes(path)?;
    let Some(directory) = node_of(&at) else {
        return system::unlinkat(&at, &path[..], flags);
    };
    whole(&[Fault::Kill])?;
    if is_planted(Planted::Removal) {
        return Ok(());
    }
    system::unlinkat(&at, &path[..], flags)?;
    with(|world| world.disk.unname((directory, path)));
    Ok(())
}

pub(crate) fn fsync(file: impl AsFd) -> Result<(), Errno> {
    let Some(node) = node_of(&file) else {
        return system::fsync(file);
    };
    if with(|world| !world.dead && world.disk.reports_error(node)) == Some(true) {
        return Err(Errno::IO);
    }
    match fault(&[Fault::Flush, Fault::Full, Fault::Kill])? {
        None => {
            with(
                |world| match (world.disk.is_directory(node), world.planted) {
                    (true, Some(Planted::DirectoryFlush)) => {}
                    (false, Some(Planted::FileFlush)) => {}
                    (false, Some(Planted::LateFlush)) => world.late.push(node),
                    _ => {
                        for late in std::mem::take(&mut world.late) {
                            world.disk.flush(late);
                        }
                        world.disk.flush(node);
                    }
                },
            );
            Ok(())
        }
        // Space is not found before the data is written, on some file systems.
        Some(fault @ (Fault::Flush | Fault::Full)) => {
            with(|world| world.disk.give_up(node, &mut world.random));
            Err(match fault {
                Fault::Full => Errno::NOSPC,
                _ => Errno::IO,
            })
        }
        Some(_) => Err(Errno::IO),
    }
}

pub(crate) fn syncfs(file: impl AsFd) -> Result<(), Errno> {
    if node_of(&file).is_none() {
        return system::syncfs(file);
    }
    match fault(&[Fault::Flush, Fault::Kill])? {
        None => {
            with(|world| {
                world.flushes += 1;
                match world.planted {
                    Some(Planted::FlushOfAll) => {}
                    Some(Planted::HalfTheFlushes) if world.flushes % 2 == 0 => {}
                    _ => world.disk.flush_all(),
                }
            });
            Ok(())
        }
        Some(Fault::Flush) => {
            with(|world| world.disk.give_up_any(&mut world.random));
            Err(Errno::IO)
        }
        Some(_) => Err(Errno::IO),
    }
}

pub(crate) fn fchmod(file: impl AsFd, mode: Mode) -> Result<(), Errno> {
    let Some(node) = node_of(&file) else {
        return system::fchmod(&file, mode);
    };
    whole(&[Fault::Mode, Fault::Kill])?;
    if is_planted(Planted::Mode) {
        return Ok(());
    }
    system::fchmod(&file, mode)?;
    with(|world| world.disk.set_mode(node, mode.as_raw_mode()));
    Ok(())
}

pub(crate) fn futimens(file: impl AsFd, times: &Timestamps) -> Result<(), Errno> {
    let Some(node) = node_of(&file) else {
        return system::futimens(&file, times);
    };
    whole(&[Fault::Kill])?;
    if is_planted(Planted::Time) {
        return Ok(());
    }
    system::futimens(&file, times)?;
    let time = times.last_modification;
    with(|world| world.disk.set_time(node, (time.tv_sec, time.tv_nsec)));
    Ok(())
}

pub(crate) fn set_len(file: &File, size: u64) -> io::Result<()> {
    let Some(node) = node_of(file) else {
        return file_calls::set_len(file, size);
    };
    whole(&[Fault::Full, Fault::Kill])?;
    if is_planted(Planted::Length) {
        return Ok(());
    }
    file_calls::set_len(file, size)?;
    with(|world| world.disk.set_length(node, size));
    Ok(())
}

pub(crate) fn write_all_at(file: &File, data: &[u8], at: u64) -> io::Result<()> {
    match node_of(file) {
        Some(node) => write(node, file, data, at),
        None => file_calls::write_all_at(file, data, at),
    }
}

pub(crate) fn write_all(file: &File, data: &[u8]) -> io::Result<()> {
    match node_of(file) {
        Some(node) => write(node, file, data, 0),
        None => file_calls::write_all(file, data),
    }
}

/// Writes to a file on the disk.
fn write(node: Node, file: &File, data: &[u8], at: u64) -> io::Result<()> {
    let fault = fault(&[Fault::Full, Fault::Write, Fault::Kill])?;
    // A part may be written.
    let part = match fault {
        None => Some(data.len()),
        Some(_) => with(|world| world.random.below(data.len() as u64) as usize),
    };
    let short = usize::from(is_planted(Planted::ShortWrite));
    let written = &data[..part.unwrap_or(0).saturating_sub(short)];
    let at = at + u64::from(at > 0 && is_planted(Planted::ShiftedWrite));
    file_calls::write_all_at(file, written, at)?;
    with(|world| world.disk.write(node, at, written));
    match fault {
        None => Ok(()),
        Some(Fault::Full) => Err(Errno::NOSPC.into()),
        Some(_) => Err(Errno::IO.into()),
    }
}
