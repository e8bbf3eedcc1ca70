//! Functions in processes of their own, and what they hand back.
//!
//! A path belongs to a process without threads, and as an ordinary user it moves its process into a
//! user namespace. A program that has several paths, or threads, therefore gives each path a
//! process.

use crate::error::LinkError;
use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

/// How long threads that are about to end may take.
const SETTLE: Duration = Duration::from_secs(2);
/// Time between looks at them.
const GLANCE: Duration = Duration::from_millis(1);
/// The stack of a function: the usual size of a process's.
const STACK: usize = 8 << 20;
/// The exit status of a function that panicked, as Rust's.
const PANICKED: u8 = 101;

/// A function that runs in a process of its own, a copy of this one. Dropping it kills the process.
/// The kernel kills the process when this one dies.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    status: Option<u8>,
}

impl Process {
    /// Starts the function. Signals have their usual effect on it.
    ///
    /// # Errors
    /// If this process has other threads, which a copy of it would not have, or the kernel refuses.
    pub fn start(work: impl FnOnce() -> u8) -> Result<Self, LinkError> {
        wait_for_threads()?;
        let child = || {
            let _ = prctl::set_pdeathsig(Signal::SIGKILL);
            usual_signals();
            work()
        };
        let pid = child_process(child).map_err(LinkError::os("starting a process"))?;
        Ok(Self { pid, status: None })
    }

    /// Its exit status, 128 + signal if one killed it; `None` while it runs.
    pub fn ended(&mut self) -> Option<u8> {
        self.status = self
            .status
            .or_else(|| status(self.pid, Some(WaitPidFlag::WNOHANG)));
        self.status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = kill(self.pid, Signal::SIGKILL);
            status(self.pid, None);
        }
    }
}

/// The status of a child that has ended.
pub(crate) fn status(pid: Pid, flag: Option<WaitPidFlag>) -> Option<u8> {
    loop {
        return match waitpid(pid, flag) {
            Ok(WaitStatus::Exited(_, status)) => Some(status as u8),
            Ok(WaitStatus::Signaled(_, signal, _)) => Some(128 + signal as u8),
            Err(Errno::EINTR) if flag.is_none() => continue,
            Ok(_) | Err(Errno::EINTR) => None,
            // No such child: its status has been reaped elsewhere.
            Err(_) => Some(1),
        };
    }
}

/// The number of threads of this process.
pub(crate) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Waits until threads whose work is done have gone, as those of a pool that was dropped.
fn wait_for_threads() -> Result<(), LinkError> {
    let until = Instant::now() + SETTLE;
    loop {
        match threads() {
            1 => return Ok(()),
            many if Instant::now() >= until => return Err(LinkError::Threads(many)),
            _ => thread::sleep(GLANCE),
        }
    }
}

/// Forks. The child's exit status is what `work` returns; nothing else of this program runs in it.
/// The caller has checked that the process has a single thread.
pub(crate) fn child_process(work: impl FnOnce() -> u8) -> Result<Pid, Errno> {
    // SAFETY: the process has a single thread, so no lock is held by another, and the child may do
    // anything.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
            // SAFETY: `_exit` ends the process at once. What the parent has not flushed yet is the
            // parent's to write.
            unsafe { libc::_exit(status.into()) }
        }
    }
}

/// The signals that the first process of a namespace and the emulator read from a queue, so that
/// these do not end them.
pub(crate) fn signals() -> SigSet {
    [
        Signal::SIGCHLD,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGHUP,
    ]
    .into_iter()
    .collect()
}

/// Gives signals their usual effect and unblocks them, as `exec` does for a program that was
/// started without handlers.
fn usual_signals() {
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in &signals() {
        // SAFETY: the usual effect is no handler, so nothing of this program is called.
        let _ = unsafe { sigaction(signal, &usual) };
    }
    let _ = signals().thread_unblock();
}

/// Calls a function with the usual stack, since that of this process may be small, and the usual
/// signals.
pub(crate) fn call(work: impl FnOnce() -> u8 + Send) -> u8 {
    usual_signals();
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let ended = thread.spawn_scoped(scope, work).map(|work| work.join());
        ended.ok().and_then(Result::ok).unwrap_or(PANICKED)
    })
}

/// Memory that processes share: what a function in another process hands back.
#[derive(Debug)]
pub struct Slot(File);

impl Slot {
    /// An empty one. It must be made before the process that fills it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new() -> Result<Self, LinkError> {
        let memory = memfd_create("whimbrel", MFdFlags::MFD_CLOEXEC);
        let memory = memory.map_err(LinkError::os("making shared memory"))?;
        Ok(Self(File::from(memory)))
    }

    /// Fills it.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn put(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.write_all_at(bytes, 0)
    }

    /// What it holds.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn get(&self) -> io::Result<Vec<u8>> {
        let length = self.0.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}
