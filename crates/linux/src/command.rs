//! Runs a program in the cgroup whose connections are controlled, and passes signals on to it.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A second Ctrl-C or SIGTERM within this time kills the program.
const AGAIN: Duration = Duration::from_secs(3);

/// Signals to this process are read from a queue, so that they do not end it. The threads that
/// start later do not receive them either.
#[derive(Debug)]
pub struct Signals {
    queue: SignalFd,
    before: SigSet,
}

/// A signal that was received.
#[derive(Debug, Clone, Copy)]
pub enum Received {
    /// A child changed its state.
    Child,
    /// A request to end, and whether the program has received it too: the terminal sends Ctrl-C to
    /// its whole foreground process group.
    End(Signal, bool),
}

impl Signals {
    /// Blocks the signals and opens the queue. Call it before any thread starts.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open() -> io::Result<Self> {
        let signals: SigSet = [
            Signal::SIGCHLD,
            Signal::SIGINT,
            Signal::SIGQUIT,
            Signal::SIGTERM,
            Signal::SIGHUP,
        ]
        .into_iter()
        .collect();
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), Some(&mut before))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let queue = SignalFd::with_flags(&signals, flags)?;
        Ok(Self { queue, before })
    }

    /// Waits for a signal, at most this long.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(&self, most: Option<Duration>) -> io::Result<Option<Received>> {
        let until = most.map(|most| Instant::now() + most);
        loop {
            if let Some(info) = self.queue.read_signal()? {
                match received(&info) {
                    Some(received) => return Ok(Some(received)),
                    None => continue,
                }
            }
            let timeout = match until {
                None => PollTimeout::NONE,
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    // Rounded up, so that it does not spin in the last millisecond.
                    PollTimeout::try_from(left + Duration::from_millis(1))
                        .unwrap_or(PollTimeout::MAX)
                }
            };
            let mut fds = [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

fn received(info: &siginfo) -> Option<Received> {
    // Signals sent by a process have a code of at most zero, signals sent by the kernel a greater
    // one.
    let by_kernel = info.ssi_code > 0;
    Some(match Signal::try_from(info.ssi_signo as i32).ok()? {
        Signal::SIGCHLD => Received::Child,
        signal => Received::End(signal, by_kernel),
    })
}

/// The program could not be started: the status that a shell returns, and why.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotStarted {
    /// 127 if it was not found, 126 if it could not be run.
    pub status: u8,
    /// The reason, with the program's name.
    pub why: String,
}

/// Starts a program in a cgroup. It inherits standard input, output and error, and nothing else of
/// this process.
///
/// # Errors
/// If it cannot be started.
pub fn start(words: &[OsString], cgroup: &Path, signals: &Signals) -> Result<Child, NotStarted> {
    let (Some(program), arguments) = (words.first(), words.get(1..).unwrap_or_default()) else {
        return Err(NotStarted {
            status: 126,
            why: "there is no command to run".to_owned(),
        });
    };
    let processes = cgroup.join("cgroup.procs");
    let join = OpenOptions::new().write(true).open(&processes);
    let join = join.map_err(|error| NotStarted {
        status: 126,
        why: format!("{}: {error}", processes.display()),
    })?;
    let mask = signals.before;
    let prepare = move || {
        // "0" is the process that writes it.
        nix::unistd::write(&join, b"0")?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
        Ok(())
    };
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: between fork and exec it makes two system calls on copied values and allocates
    // nothing.
    let command = unsafe { command.pre_exec(prepare) };
    command.spawn().map_err(|error| {
        let (status, why) = match error.kind() {
            io::ErrorKind::NotFound => (127, "command not found".to_owned()),
            _ => (126, error.to_string()),
        };
        NotStarted {
            status,
            why: format!("cannot run `{}`: {why}", program.display()),
        }
    })
}

/// Waits for the program's end and passes signals on. Returns its exit status, 128 + signal if a
/// signal killed it.
///
/// # Errors
/// If the kernel refuses.
pub fn attend(mut child: Child, signals: &Signals) -> io::Result<u8> {
    let pid = Pid::from_raw(child.id() as i32);
    let mut last: Option<Instant> = None;
    loop {
        // A child that is not reaped keeps its PID, so the signals below meet no other process.
        if let Some(status) = child.try_wait()? {
            return Ok(shell_status(status));
        }
        let Some(Received::End(signal, has_it)) = signals.wait(None)? else {
            continue;
        };
        let again = last.is_some_and(|last| last.elapsed() < AGAIN);
        last = Some(Instant::now());
        let signal = match signal {
            Signal::SIGINT | Signal::SIGTERM if again => Some(Signal::SIGKILL),
            signal => (!has_it).then_some(signal),
        };
        if let Some(signal) = signal {
            // An error means that it has just ended.
            let _ = kill(pid, signal);
        }
    }
}

fn shell_status(status: ExitStatus) -> u8 {
    let code = status.code();
    let of_signal = status.signal().map(|signal| 128 + signal);
    code.or(of_signal).map_or(1, |status| status as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_that_of_a_shell() {
        assert_eq!(shell_status(ExitStatus::from_raw(0)), 0);
        assert_eq!(shell_status(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(shell_status(ExitStatus::from_raw(15)), 143);
    }
}
