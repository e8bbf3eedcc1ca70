//! The first process of the PID namespace in which the commands run. It starts them, reaps orphans,
//! forwards signals, and ends with COMMAND. The kernel then kills all remaining processes in the
//! namespace; it does the same when this process is killed because the emulator died.

use crate::error::LinkError;
use crate::hosts;
use crate::job::Job;
use crate::process::{call, child_process, signals};
use crate::program::Program;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, clone, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigmaskHow, Signal, kill, killpg, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, setpgid};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

/// How long COMMAND waits for a peer to open a socket. A peer that opens none (a client, a
/// recorder) delays the start by this time.
const PEER_READY: Duration = Duration::from_secs(2);
/// How long the peers have to end after SIGTERM.
const PEER_END: Duration = Duration::from_secs(1);
/// How long COMMAND has to end after SIGTERM or SIGHUP.
const COMMAND_END: Duration = Duration::from_secs(3);
/// Polling interval for states that send no event.
const GLANCE: Duration = Duration::from_millis(5);

/// Messages to the emulator, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The peers are ready; COMMAND can start.
    Ready,
    /// COMMAND has ended.
    Ended,
    /// COMMAND could not be started: the status that a shell returns, and why.
    NoCommand(u8, String),
    /// `/bin/sh` could not be started for a peer.
    NoPeer(u8, String),
    /// A peer, by its number, ended with this status, before COMMAND was started or while it ran.
    PeerEnded(u8, usize),
}

impl Message {
    fn write(&self, to: &mut UnixStream) {
        let text = match self {
            Self::Ready => "ready".to_owned(),
            Self::Ended => "ended".to_owned(),
            Self::NoCommand(status, why) => {
                format!("no-command {status} {}", why.replace('\n', " "))
            }
            Self::NoPeer(status, why) => format!("no-peer {status} {}", why.replace('\n', " ")),
            Self::PeerEnded(status, peer) => format!("peer-ended {status} {peer}"),
        };
        // An error means that the emulator is dead; the kernel is about to kill this process too.
        let _ = writeln!(to, "{text}");
    }

    /// Reads a line.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.trim_end().splitn(3, ' ');
        let kind = words.next()?;
        let mut status = || words.next()?.parse().ok();
        Some(match kind {
            "ready" => Self::Ready,
            "ended" => Self::Ended,
            "no-command" => Self::NoCommand(status()?, words.next().unwrap_or_default().to_owned()),
            "no-peer" => Self::NoPeer(status()?, words.next().unwrap_or_default().to_owned()),
            "peer-ended" => Self::PeerEnded(status()?, words.next()?.parse().ok()?),
            _ => return None,
        })
    }
}

/// What to do about a received signal.
pub(crate) enum Heard {
    /// A child changed its state.
    Child,
    /// Forward it. If true, it is urgent: COMMAND must end soon.
    Pass(Signal, bool),
    /// COMMAND has received it too: the terminal sends Ctrl-C to its whole foreground group.
    Nothing,
}

impl Heard {
    pub fn from(info: &siginfo) -> Self {
        // Signals sent by a process have a code of at most zero, signals sent by the kernel a
        // greater one.
        let by_process = info.ssi_code <= 0;
        match Signal::try_from(info.ssi_signo as i32) {
            Ok(Signal::SIGCHLD) => Self::Child,
            Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) => Self::Pass(signal, true),
            Ok(signal) if by_process => Self::Pass(signal, false),
            _ => Self::Nothing,
        }
    }
}

/// Starts the process in a new PID namespace. The signals must already be blocked. `ours` and
/// `theirs` are the two ends of the connection between the emulator and the process; `ours` is
/// returned to the emulator.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn spawn(
    job: &Job<'_>,
    ours: UnixStream,
    mut theirs: UnixStream,
) -> Result<(Pid, UnixStream), LinkError> {
    // Untouched pages use no memory.
    let mut stack = vec![0_u8; 1 << 20];
    let mut ours = Some(ours);
    let child = Box::new(|| {
        // Closes the child's copy, so that the child sees the connection close when the emulator
        // dies.
        drop(ours.take());
        isize::from(main(job, &mut theirs))
    });
    // SAFETY: the process has a single thread (`run` has checked), so no lock is held by another
    // and the child may do anything, as after `fork`; without CLONE_VM it works on its own copy of
    // memory, the stack included; a mebibyte is ample for `main`, which does not recurse.
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

/// The main function of the process. Returns its exit status, which is COMMAND's.
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
    let holder = match show_own_processes() {
        true => process::id(),
        false => job.emulator,
    };
    if job.layout.named {
        // Where it fails, programs still have the addresses in their environment.
        let _ = hosts::add(&job.layout.hosts(), job.emulator);
    }
    let networks: Vec<String> = job
        .networks
        .iter()
        .map(|one| path_of(holder, one))
        .collect();
    let environment = job.layout.environment(&networks);
    let queue = SignalFd::with_flags(&signals(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let mut family = Family::default();

    for (number, peer) in job.peers.iter().enumerate() {
        setns(job.networks[peer.node], CloneFlags::CLONE_NEWNET)?;
        match start(&peer.program, job, Role::Peer, &environment) {
            Ok(pid) => family.peers.push((number, pid)),
            Err(e) => {
                Message::NoPeer(shell_status(&e), e.to_string()).write(control);
                return Ok(shell_status(&e));
            }
        }
        if let Some(status) = family.wait_until_ready(number, control) {
            return Ok(status);
        }
    }
    Message::Ready.write(control);
    // The emulator signals that the path is ready. This also fails if the emulator died before
    // `set_pdeathsig` above.
    control.read_exact(&mut [0])?;

    setns(job.networks[job.at], CloneFlags::CLONE_NEWNET)?;
    match start(job.command, job, Role::Command, &environment) {
        Ok(pid) => family.command = Some(pid),
        Err(e) => {
            let why = if e.kind() == io::ErrorKind::NotFound {
                "command not found".into()
            } else {
                e.to_string()
            };
            Message::NoCommand(shell_status(&e), why).write(control);
            family.end_peers();
            return Ok(shell_status(&e));
        }
    }
    let status = family.attend(&queue, control)?;
    Message::Ended.write(control);
    family.end_peers();
    Ok(status)
}

/// Gives this process and those that it starts a `/proc` of their PID namespace, so that `ps` and
/// `pkill` see the programs on the path and not those of the host. Mounts of the host still appear;
/// none of this namespace reaches the host. Where the system refuses, as in a container that hides
/// parts of its own `/proc`, programs see the host's, and the result is false.
fn show_own_processes() -> bool {
    let none = None::<&str>;
    let slave = MsFlags::MS_SLAVE | MsFlags::MS_REC;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, slave, none))
        .and_then(|()| mount(Some("proc"), "/proc", Some("proc"), safe, none))
        .is_ok()
}

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// COMMAND: it has standard input and output, and Ctrl-C is for it.
    Command,
    /// A peer, which must keep running.
    Peer,
}

/// Starts a program with the signal mask of the emulator's caller. In this process the signals stay
/// blocked: those that arrive meanwhile wait in the queue and are forwarded.
fn start(
    program: &Program,
    job: &Job<'_>,
    role: Role,
    environment: &[(String, String)],
) -> io::Result<Pid> {
    let mut command = match program {
        Program::Command(words) => {
            let (first, arguments) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
            let mut command = Command::new(first);
            command.args(arguments);
            command
        }
        Program::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
        Program::Function(work) => {
            let child = || match role == Role::Command || detach().is_ok() {
                true => call(|| work()),
                false => 126,
            };
            return Ok(child_process(child)?);
        }
    };
    command.envs(environment.iter().cloned());
    if role == Role::Peer {
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(io::stderr().as_fd().try_clone_to_owned()?);
    }
    let signals = job.signals;
    let unblock =
        move || sigprocmask(SigmaskHow::SIG_SETMASK, Some(&signals), None).map_err(io::Error::from);
    // SAFETY: between fork and exec it makes one system call on a copied value and allocates
    // nothing.
    let child = unsafe { command.pre_exec(unblock) }.spawn()?;
    Ok(Pid::from_raw(child.id() as i32))
}

/// Makes this process a peer: a process group of its own, no input, and output that
/// goes to standard error.
fn detach() -> io::Result<()> {
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok(())
}

/// The status that a shell returns when it cannot run a command.
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
    /// The peers that run, by their numbers.
    peers: Vec<(usize, Pid)>,
}

/// A process that has ended, and its status.
enum Gone {
    Command(u8),
    Peer(u8, usize),
    Orphan,
}

impl Family {
    /// Reaps one process that has ended, if any.
    fn reap(&mut self) -> Option<Gone> {
        let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)).ok()? {
            WaitStatus::Exited(pid, status) => (pid, status as u8),
            WaitStatus::Signaled(pid, signal, _) => (pid, 128 + signal as u8),
            _ => return None,
        };
        if self.command.take_if(|p| *p == pid).is_some() {
            return Some(Gone::Command(status));
        }
        let peer = self.peers.iter().position(|(_, p)| *p == pid);
        Some(match peer {
            Some(index) => Gone::Peer(status, self.peers.remove(index).0),
            None => Gone::Orphan,
        })
    }

    /// Waits until peer `number` has opened a socket in this thread's namespace or ended, at most
    /// [`PEER_READY`]. Returns the status of a peer that fails.
    fn wait_until_ready(&mut self, number: usize, control: &mut UnixStream) -> Option<u8> {
        let until = Instant::now() + PEER_READY;
        let mut waiting = true;
        while waiting && Instant::now() < until && !a_socket_is_open() {
            while let Some(gone) = self.reap() {
                if let Gone::Peer(status, peer) = gone {
                    Message::PeerEnded(status, peer).write(control);
                    if status != 0 {
                        return Some(status);
                    }
                    waiting &= peer != number;
                }
            }
            std::thread::sleep(GLANCE);
        }
        None
    }

    /// Waits for COMMAND's end and forwards signals to it.
    fn attend(&mut self, queue: &SignalFd, control: &mut UnixStream) -> io::Result<u8> {
        let mut until: Option<Instant> = None;
        loop {
            while let Some(gone) = self.reap() {
                match gone {
                    Gone::Command(status) => return Ok(status),
                    Gone::Peer(status, peer) => Message::PeerEnded(status, peer).write(control),
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

    /// Sends SIGTERM to the peers and waits a short time. The kernel kills those that do not end
    /// with this process.
    fn end_peers(&mut self) {
        for (_, peer) in &self.peers {
            let _ = killpg(*peer, Signal::SIGTERM);
        }
        let until = Instant::now() + PEER_END;
        while !self.peers.is_empty() && Instant::now() < until {
            if self.reap().is_none() {
                std::thread::sleep(GLANCE);
            }
        }
    }
}

/// Whether a socket is open in this thread's network namespace. A new namespace has none.
fn a_socket_is_open() -> bool {
    ["tcp", "udp", "tcp6", "udp6"].iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        // The first line is the heading.
        text.lines().count() > 1
    })
}

/// The path by which other processes can enter a namespace (`nsenter --net=PATH`) while the process
/// `holder` lives.
fn path_of(holder: u32, namespace: &File) -> String {
    format!("/proc/{holder}/fd/{}", namespace.as_raw_fd())
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
            Message::NoPeer(126, "two words".into()),
            Message::PeerEnded(143, 2),
        ] {
            let (mut to, from) = UnixStream::pair().expect("a pair");
            message.write(&mut to);
            drop(to);
            let text = io::read_to_string(from).expect("a line");
            assert_eq!(Message::read(&text), Some(message));
        }
        assert_eq!(Message::read("peer-ended many"), None);
        assert_eq!(Message::read(""), None);
    }
}
