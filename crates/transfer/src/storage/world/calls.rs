//! The calls that change the disk: as rustix and the standard library have them, but they fail as
//! drawn, and the process may die in one. Without a world in the thread they are the real ones.

use super::disk::{Disk, Inode, Name, Node};
use super::random::Random;
use crate::storage::system::real;
use rustix::fs as system;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, statat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// What may happen to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::storage::world) enum Fault {
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
}

impl Fault {
    /// All of them, and their names.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Full, "full"),
        (Self::Write, "write"),
        (Self::Flush, "flush"),
        (Self::Rename, "rename"),
        (Self::Kill, "kill"),
    ];
}

/// A flush that the program forgets, to see that lives notice it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage::world) enum Forgotten {
    /// `fsync` of files.
    Files,
    /// `fsync` of directories.
    Directories,
    /// `syncfs`.
    Everything,
}

/// The disk of a thread, and what happens to calls.
pub(in crate::storage::world) struct World {
    pub disk: Disk,
    pub random: Random,
    /// What may happen; a fault happens once in so many calls.
    pub faults: Vec<Fault>,
    pub every: u64,
    pub forgotten: Option<Forgotten>,
    /// No call has an effect any more: the process is dead.
    pub dead: bool,
    /// Calls, and faults that happened.
    pub calls: u64,
    pub happened: u64,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Puts a world into this thread, and returns the one that was there.
pub(in crate::storage::world) fn replace(world: Option<World>) -> Option<World> {
    WORLD.replace(world)
}

/// Works on the world of this thread, if there is one.
pub(in crate::storage::world) fn with<T>(work: impl FnOnce(&mut World) -> T) -> Option<T> {
    WORLD.with_borrow_mut(|world| world.as_mut().map(work))
}

/// What happens to a call, if it is one of these.
fn fault(possible: &[Fault]) -> Result<Option<Fault>, Errno> {
    let drawn = with(|world| {
        world.calls += 1;
        if world.dead {
            return Err(Errno::IO);
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

fn node_of(file: impl AsFd) -> Option<Node> {
    let stat = fstat(file).ok()?;
    with(|world| world.disk.node(inode(&stat)))?
}

fn name_in(directory: impl AsFd, name: &[u8]) -> Option<Name> {
    Some((node_of(directory)?, name.to_vec()))
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

pub(in crate::storage) fn openat(
    at: impl AsFd,
    path: impl Arg,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let path = bytes(path)?;
    if !flags.contains(OFlags::CREATE) {
        return system::openat(at, &path[..], flags, mode);
    }
    let there = inode_at(&at, &path).is_some();
    if !there {
        whole(&[Fault::Full, Fault::Kill])?;
    }
    let opened = system::openat(&at, &path[..], flags, mode)?;
    if let (false, Some(name)) = (there, name_in(&at, &path)) {
        let inode = inode(&fstat(&opened)?);
        with(|world| world.disk.create_file(inode, name));
    }
    Ok(opened)
}

pub(in crate::storage) fn mkdirat(at: impl AsFd, path: impl Arg, mode: Mode) -> Result<(), Errno> {
    let path = bytes(path)?;
    whole(&[Fault::Full, Fault::Kill])?;
    system::mkdirat(&at, &path[..], mode)?;
    if let (Some(name), Some(inode)) = (name_in(&at, &path), inode_at(&at, &path)) {
        with(|world| world.disk.create_directory(inode, name));
    }
    Ok(())
}

pub(in crate::storage) fn symlinkat(
    target: impl Arg,
    at: impl AsFd,
    path: impl Arg,
) -> Result<(), Errno> {
    let (target, path) = (bytes(target)?, bytes(path)?);
    whole(&[Fault::Full, Fault::Kill])?;
    system::symlinkat(&target[..], &at, &path[..])?;
    if let (Some(name), Some(inode)) = (name_in(&at, &path), inode_at(&at, &path)) {
        with(|world| world.disk.create_link(inode, name, &target));
    }
    Ok(())
}

pub(in crate::storage) fn linkat(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    flags: AtFlags,
) -> Result<(), Errno> {
    let (old, new) = (bytes(old)?, bytes(new)?);
    whole(&[Fault::Full, Fault::Kill])?;
    system::linkat(&from, &old[..], &to, &new[..], flags)?;
    if let (Some(name), Some(node)) = (name_in(&to, &new), node_at(&from, &old)) {
        with(|world| world.disk.name(name, node));
    }
    Ok(())
}

pub(in crate::storage) fn renameat(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
) -> Result<(), Errno> {
    rename(from, &bytes(old)?, to, &bytes(new)?, RenameFlags::empty())
}

pub(in crate::storage) fn renameat_with(
    from: impl AsFd,
    old: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    flags: RenameFlags,
) -> Result<(), Errno> {
    whole(&[Fault::Rename])?;
    rename(from, &bytes(old)?, to, &bytes(new)?, flags)
}

fn rename(
    from: impl AsFd,
    old: &[u8],
    to: impl AsFd,
    new: &[u8],
    flags: RenameFlags,
) -> Result<(), Errno> {
    whole(&[Fault::Full, Fault::Kill])?;
    let node = node_at(&from, old);
    system::renameat_with(&from, old, &to, new, flags)?;
    if let (Some(from), Some(to), Some(node)) = (name_in(&from, old), name_in(&to, new), node) {
        with(|world| world.disk.rename(from, to, node));
    }
    Ok(())
}

pub(in crate::storage) fn unlinkat(
    at: impl AsFd,
    path: impl Arg,
    flags: AtFlags,
) -> Result<(), Errno> {
    let path = bytes(path)?;
    whole(&[Fault::Kill])?;
    system::unlinkat(&at, &path[..], flags)?;
    if let Some(name) = name_in(&at, &path) {
        with(|world| world.disk.unname(name));
    }
    Ok(())
}

pub(in crate::storage) fn fsync(file: impl AsFd) -> Result<(), Errno> {
    let Some(node) = node_of(&file) else {
        return system::fsync(file);
    };
    match fault(&[Fault::Flush, Fault::Kill])? {
        None => {
            with(|world| {
                let forgotten = match world.disk.is_directory(node) {
                    true => Forgotten::Directories,
                    false => Forgotten::Files,
                };
                if world.forgotten != Some(forgotten) {
                    world.disk.flush(node);
                }
            });
            Ok(())
        }
        Some(Fault::Flush) => {
            with(|world| world.disk.give_up(node, &mut world.random));
            Err(Errno::IO)
        }
        Some(_) => Err(Errno::IO),
    }
}

pub(in crate::storage) fn syncfs(file: impl AsFd) -> Result<(), Errno> {
    if node_of(&file).is_none() {
        return system::syncfs(file);
    }
    match fault(&[Fault::Flush, Fault::Kill])? {
        None => {
            with(|world| {
                if world.forgotten != Some(Forgotten::Everything) {
                    world.disk.flush_all();
                }
            });
            Ok(())
        }
        Some(_) => Err(Errno::IO),
    }
}

pub(in crate::storage) fn set_len(file: &File, size: u64) -> io::Result<()> {
    whole(&[Fault::Full, Fault::Kill])?;
    real::set_len(file, size)?;
    if let Some(node) = node_of(file) {
        with(|world| world.disk.set_length(node, size));
    }
    Ok(())
}

pub(in crate::storage) fn write_all_at(file: &File, data: &[u8], at: u64) -> io::Result<()> {
    let fault = fault(&[Fault::Full, Fault::Write, Fault::Kill])?;
    // A part may be written.
    let part = match fault {
        None => Some(data.len()),
        Some(_) => with(|world| world.random.below(data.len() as u64) as usize),
    };
    let written = &data[..part.unwrap_or(0)];
    real::write_all_at(file, written, at)?;
    if let Some(node) = node_of(file) {
        with(|world| world.disk.write(node, at, written));
    }
    match fault {
        None => Ok(()),
        Some(Fault::Full) => Err(Errno::NOSPC.into()),
        Some(_) => Err(Errno::IO.into()),
    }
}

pub(in crate::storage) fn write_all(file: &File, data: &[u8]) -> io::Result<()> {
    if node_of(file).is_none() {
        return real::write_all(file, data);
    }
    write_all_at(file, data, 0)
}
