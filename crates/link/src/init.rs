//! The first process of the PID namespace in which the commands run. It starts them, takes in orphans,
//! passes signals on, and ends with COMMAND; the kernel then kills whatever else is left in the namespace,
//! as it does when this process is killed because the emulator died.

use crate::error::LinkError;
use crate::run::Job;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, clone, setns};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long COMMAND waits for the far command to open a socket. One that opens none (a client, a
/// recorder) costs this much at the start.
const FAR_READY: Duration = Duration::from_secs(2);
/// How long the far command has to end when asked to.
const FAR_END: Duration = Duration::from_secs(1);
/// How long COMMAND has to end when asked to by SIGTERM or SIGHUP.
const COMMAND_END: Duration = Duration::from_secs(3);
/// How often something is looked at that tells nobody of its change.
const GLANCE: Duration = Duration::from_millis(5);

/// What it tells the emulator, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The far command is ready; COMMAND can start.
    Ready,
    /// COMMAND has ended.
    Ended,
    /// COMMAND could not be started: the status that a shell gives, and why.
    NoCommand(u8, String),
    /// `/bin/sh` could not be started for the far command.
    NoFar(u8, String),
    /// The far command ended: before COMMAND was started, or meanwhile.
    FarEnded(u8),
}

impl Message {
    fn write(&self, to: &mut UnixStream) {
        let text = match self {
            Self::Ready => "ready".to_owned(),
            Self::Ended => "ended".to_owned(),
            Self::NoCommand(status, why) => {
                format!("no-command {status} {}", why.replace('\n', " "))
            }
            Self::NoFar(status, why) => format!("no-far {status} {}", why.replace('\n', " ")),
            Self::FarEnded(status) => format!("far-ended {status}"),
        };
        // If nobody listens, the emulator is dead and this process about to be.
        let _ = writeln!(to, "{text}");
    }

    /// What a line says.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.trim_end().splitn(3, ' ');
        let kind = words.next()?;
        let mut status = || words.next()?.parse().ok();
        Some(match kind {
            "ready" => Self::Ready,
            "ended" => Self::Ended,
            "no-command" => Self::NoCommand(status()?, words.next().unwrap_or_default().to_owned()),
            "no-far" => Self::NoFar(status()?, words.next().unwrap_or_default().to_owned()),
            "far-ended" => Self::FarEnded(status()?),
            _ => return None,
        })
    }
}

/// The signals that it and the emulator take from a queue, so that they do not end them.
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

/// What to do about a signal that came.
pub(crate) enum Heard {
    /// A child changed.
    Child,
    /// To be passed on. COMMAND is to end soon if it is urgent.
    Pass(Signal, bool),
    /// COMMAND has it already: the terminal gives Ctrl-C to all of its foreground group.
    Nothing,
}

impl Heard {
    pub fn from(info: &siginfo) -> Self {
        // What a process sent has a code of at most zero, what the kernel sent a greater one.
        let by_process = info.ssi_code <= 0;
        match Signal::try_from(info.ssi_signo as i32) {
            Ok(Signal::SIGCHLD) => Self::Child,
            Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) => Self::Pass(signal, true),
            Ok(signal) if by_process => Self::Pass(signal, false),
            _ => Self::Nothing,
        }
    }
}

/// Starts it, in a new PID namespace. The signals must be blocked already. `ours` and `theirs` are the two ends of
/// what the emulator and it talk over; the emulator gets its own back.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn spawn(
    job: &Job<'_>,
    ours: UnixStream,
    mut theirs: UnixStream,
) -> Result<(Pid, UnixStream), LinkError> {
    // Untouched pages cost nothing.
    let mut stack = vec![0_u8; 1 << 20];
    let mut ours = Some(ours);
    let child = Box::new(|| {
        // The child's copy, or it would not see the other end close when the emulator dies.
        drop(ours.take());
        isize::from(main(job, &mut theirs))
    });
    // SAFETY: the process has a single thread (`run` has checked), so no lock is held by another and the
    // child may do anything, as after `fork`; without CLONE_VM it works on its own copy of memory, the
    // stack included; a mebibyte is ample for `main`, which does not recurse.
    let pid = unsafe {
        clone(
            child,
            &mut stack,
            CloneFlags::CLONE_NEWPID,
            Some(libc::SIGCHLD),
        )
    };
    let pid = pid.map_err(LinkError::os("starting a process in a new PID namespace"))?;
    match ours {
        Some(ours) => Ok((pid, ours)),
        None => Err(LinkError::Failed(
            "the child ran in the parent's memory".to_owned(),
        )),
    }
}

/// The process. Returns its exit status, which is COMMAND's.
fn main(job: &Job<'_>, control: &mut UnixStream) -> u8 {
    match work(job, control) {
        Ok(status) => status,
        Err(e) => {
            Message::NoCommand(126, e.to_string()).write(control);
            126
        }
    }
}

fn work(job: &Job<'_>, control: &mut UnixStream) -> io::Result<u8> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let queue = SignalFd::with_flags(&signals(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let mut family = Family::default();

    if let Some(text) = job.far_command {
        setns(job.far, CloneFlags::CLONE_NEWNET)?;
        let mut far = Command::new("/bin/sh");
        // Its own group: Ctrl-C is for COMMAND, whose peer must live on.
        far.arg("-c")
            .arg(text)
            .envs(job.environment.clone())
            .process_group(0);
        // Standard output is COMMAND's, whoever reads it does not expect the far command's.
        far.stdin(Stdio::null())
            .stdout(io::stderr().as_fd().try_clone_to_owned()?);
        match start(&mut far, job) {
            Ok(pid) => family.far = Some(pid),
            Err(e) => {
                Message::NoFar(shell_status(&e), e.to_string()).write(control);
                return Ok(shell_status(&e));
            }
        }
        if let Some(status) = family.wait_until_far_is_ready() {
            Message::FarEnded(status).write(control);
            if status != 0 {
                return Ok(status);
            }
        }
    }
    Message::Ready.write(control);
    // The emulator says when the path is there. If it died before the kernel was told above to kill us
    // with it, this says so.
    control.read_exact(&mut [0])?;

    setns(job.near, CloneFlags::CLONE_NEWNET)?;
    let mut command = Command::new(&job.command[0]);
    command
        .args(&job.command[1..])
        .envs(job.environment.clone());
    match start(&mut command, job) {
        Ok(pid) => family.command = Some(pid),
        Err(e) => {
            let why = if e.kind() == io::ErrorKind::NotFound {
                "command not found".into()
            } else {
                e.to_string()
            };
            Message::NoCommand(shell_status(&e), why).write(control);
            family.end_far();
            return Ok(shell_status(&e));
        }
    }
    let status = family.attend(&queue, control)?;
    Message::Ended.write(control);
    family.end_far();
    Ok(status)
}

/// Starts a command with the signals that its caller had. Here they stay blocked all the while: what comes in the middle
/// waits in the queue, and is passed on.
fn start(command: &mut Command, job: &Job<'_>) -> io::Result<Pid> {
    let signals = job.signals;
    let unblock =
        move || sigprocmask(SigmaskHow::SIG_SETMASK, Some(&signals), None).map_err(io::Error::from);
    // SAFETY: between fork and exec it makes one system call on a copied value and allocates nothing.
    let child = unsafe { command.pre_exec(unblock) }.spawn()?;
    Ok(Pid::from_raw(child.id() as i32))
}

/// The status that a shell gives when it cannot run a command.
fn shell_status(e: &io::Error) -> u8 {
    if e.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    }
}

/// The processes that were started.
#[derive(Default)]
struct Family {
    command: Option<Pid>,
    far: Option<Pid>,
}

/// Who has ended, and how.
enum Gone {
    Command(u8),
    Far(u8),
    Orphan,
}

impl Family {
    /// Takes in one process that has ended, if there is one.
    fn reap(&mut self) -> Option<Gone> {
        let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)).ok()? {
            WaitStatus::Exited(pid, status) => (pid, status as u8),
            WaitStatus::Signaled(pid, signal, _) => (pid, 128 + signal as u8),
            _ => return None,
        };
        Some(if self.command.take_if(|p| *p == pid).is_some() {
            Gone::Command(status)
        } else if self.far.take_if(|p| *p == pid).is_some() {
            Gone::Far(status)
        } else {
            Gone::Orphan
        })
    }

    /// Waits until the far command has opened a socket, for as long as it is given. Its status, if it ends meanwhile.
    fn wait_until_far_is_ready(&mut self) -> Option<u8> {
        let until = Instant::now() + FAR_READY;
        while Instant::now() < until && !somebody_listens() {
            while let Some(gone) = self.reap() {
                if let Gone::Far(status) = gone {
                    return Some(status);
                }
            }
            std::thread::sleep(GLANCE);
        }
        None
    }

    /// Waits for COMMAND's end, passing signals on to it.
    fn attend(&mut self, queue: &SignalFd, control: &mut UnixStream) -> io::Result<u8> {
        let mut until: Option<Instant> = None;
        loop {
            while let Some(gone) = self.reap() {
                match gone {
                    Gone::Command(status) => return Ok(status),
                    Gone::Far(status) => Message::FarEnded(status).write(control),
                    Gone::Orphan => {}
                }
            }
            let timeout = match until {
                None => PollTimeout::NONE,
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(128 + Signal::SIGTERM as u8);
                    }
                    PollTimeout::try_from(left + Duration::from_millis(1))
                        .unwrap_or(PollTimeout::MAX)
                }
            };
            match poll(
                &mut [PollFd::new(queue.as_fd(), PollFlags::POLLIN)],
                timeout,
            ) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
            while let Ok(Some(info)) = queue.read_signal() {
                if let (Heard::Pass(signal, urgent), Some(command)) =
                    (Heard::from(&info), self.command)
                {
                    let _ = kill(command, signal);
                    if urgent {
                        until.get_or_insert(Instant::now() + COMMAND_END);
                    }
                }
            }
        }
    }

    /// Asks the far command to end and waits a little. If it does not, the kernel ends it with this process.
    fn end_far(&mut self) {
        let Some(far) = self.far else { return };
        let _ = killpg(far, Signal::SIGTERM);
        let until = Instant::now() + FAR_END;
        while self.far.is_some() && Instant::now() < until {
            if self.reap().is_none() {
                std::thread::sleep(GLANCE);
            }
        }
    }
}

/// Whether there is any socket in this thread's network namespace. A new one has none.
fn somebody_listens() -> bool {
    ["tcp", "udp", "tcp6", "udp6"].iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        // The first line is the heading.
        text.lines().count() > 1
    })
}

/// Paths of the namespaces that other processes can enter by (`nsenter --net=PATH`), as long as this process lives.
pub(crate) fn path_of(namespace: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back() {
        for message in [
            Message::Ready,
            Message::Ended,
            Message::NoCommand(127, "command not found".into()),
            Message::NoFar(126, "two words".into()),
            Message::FarEnded(143),
        ] {
            let (mut to, from) = UnixStream::pair().expect("a pair");
            message.write(&mut to);
            drop(to);
            let text = io::read_to_string(from).expect("a line");
            assert_eq!(Message::read(&text), Some(message));
        }
        assert_eq!(Message::read("far-ended many"), None);
        assert_eq!(Message::read(""), None);
    }
}
