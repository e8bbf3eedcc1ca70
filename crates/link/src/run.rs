//! A run: namespaces, commands, the two directions, and the end.

use crate::PathSpec;
use crate::address::MAX_INTERFACES;
use crate::both_ways::BothWays;
use crate::clock::Clock;
use crate::direction::{Direction, Stop};
use crate::error::LinkError;
use crate::init::{self, Heard, Message};
use crate::job::Job;
use crate::namespace::{self, Ends};
use crate::observer::{Observer, Observers};
use crate::process::{status, threads};
use crate::program::Program;
use crate::report::{DirectionReport, Report};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};
use whimbrel_units::{Duration, Time};

/// Optional settings of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What runs in the far namespace. It starts first, has up to two seconds to open a socket, and
    /// gets SIGTERM when COMMAND has ended. Its standard output goes to standard error.
    pub far: Option<Program>,
    /// TCP congestion control in both namespaces, by the kernel's name; `None`: the host's.
    pub congestion: Option<String>,
    /// Interfaces of each end, each with a path of its own: 1 to [`MAX_INTERFACES`].
    pub interfaces: usize,
    /// Whether TCP requests ECN in both namespaces; otherwise it only accepts ECN, Linux's default.
    pub ecn: bool,
    /// These see each packet that the path drops or corrupts.
    pub observers: Vec<Arc<dyn Observer>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            far: None,
            congestion: None,
            interfaces: 1,
            ecn: false,
            observers: Vec::new(),
        }
    }
}

/// Runs a command behind an emulated path, and returns the path's statistics.
///
/// Time on the path (schedules, outages) counts from the start of the command. Both commands find
/// the two addresses in `WHIMBREL_NEAR` and `WHIMBREL_FAR`, and the paths of the namespaces for
/// `nsenter --net=PATH` in `WHIMBREL_NEAR_NETNS` and `WHIMBREL_FAR_NETNS`.
///
/// Must be called before the process starts any thread. Without root, it moves the process into a
/// user namespace of its own, permanently.
///
/// # Errors
/// If the system does not allow it, or a command cannot be started: see [`LinkError`].
pub fn run(spec: &PathSpec, command: &Program, options: &Options) -> Result<Report, LinkError> {
    Prepared::new(command, options)?.run(spec)
}

/// The namespaces and the processes of a run, before the path exists. The far command has been
/// started, COMMAND has not. From here on the process may start threads. Dropping it ends
/// everything.
pub struct Prepared {
    // Dropped first: it kills the processes, which use the rest.
    init: Init,
    queue: SignalFd,
    _blocked: Blocked,
    ends: Ends,
    /// COMMAND's program, for messages.
    program: String,
    observer: Option<Observers>,
}

impl Prepared {
    /// Makes the namespaces and starts the far command: the part of [`run`] that needs a process
    /// without threads.
    ///
    /// # Errors
    /// As [`run`].
    pub fn new(command: &Program, options: &Options) -> Result<Self, LinkError> {
        let program = command.name().ok_or(LinkError::NoCommand)?;
        // Read before the namespaces change.
        let threads = threads();
        if threads != 1 {
            return Err(LinkError::Threads(threads));
        }
        let interfaces = options.interfaces.clamp(1, MAX_INTERFACES);
        let ends = namespace::make(interfaces, options.congestion.as_deref(), options.ecn)?;
        let blocked = Blocked::new()?;
        let queue = SignalFd::with_flags(
            &init::signals(),
            SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
        )
        .map_err(LinkError::os("opening a queue of signals"))?;
        let job = Job {
            near: &ends.near.namespace,
            far: &ends.far.namespace,
            far_program: options.far.as_ref(),
            command,
            signals: blocked.0,
            emulator: std::process::id(),
        };
        let (ours, theirs) =
            UnixStream::pair().map_err(LinkError::io("making a pair of sockets"))?;
        let mut init = Init::spawn(&job, ours, theirs)?;
        init.wait_until_ready()?;
        Ok(Self {
            init,
            queue,
            _blocked: blocked,
            ends,
            program,
            observer: Observers::of(&options.observers),
        })
    }

    /// Connects the namespaces by the path, runs COMMAND, and returns the path's statistics.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(self, spec: &PathSpec) -> Result<Report, LinkError> {
        self.run_all(std::slice::from_ref(spec))
    }

    /// The same, with a path for each interface. Observers see the first.
    ///
    /// # Errors
    /// As [`run`]; also if there are not as many paths as [interfaces](Options::interfaces).
    pub fn run_all(mut self, specs: &[PathSpec]) -> Result<Report, LinkError> {
        if specs.len() != self.ends.near.tuns.len() {
            let text = format!(
                "{} paths for {} interfaces",
                specs.len(),
                self.ends.near.tuns.len()
            );
            return Err(LinkError::Failed(text));
        }
        let observer = self.observer.as_ref().map(|all| all as _);
        let mut report = emulate(specs, &self.ends, &mut self.init, &self.queue, observer)?;
        self.init.listen_to_the_end();
        if let Some((status, why)) = self.init.failure.take() {
            return Err(LinkError::Command {
                command: self.program,
                why,
                status,
            });
        }
        let notes = self.ends.notes.drain(..).chain(self.init.notes.drain(..));
        report.notes.extend(notes);
        Ok(report)
    }
}

/// Runs both directions of all paths until COMMAND has ended.
fn emulate(
    specs: &[PathSpec],
    ends: &Ends,
    init: &mut Init,
    queue: &SignalFd,
    observer: Option<&dyn Observer>,
) -> Result<Report, LinkError> {
    let stop = Stop::new().map_err(LinkError::os("making an event"))?;
    let clock = Clock::start();
    let paths = specs.iter().map(BothWays::new);
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let mut directions = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let observer = observer.filter(|_| number == 0);
        directions.extend(path.directions(ends, number, clock, observer)?);
    }
    thread::scope(|scope| {
        // The threads must always be stopped, or the scope never ends.
        let threads = directions
            .into_iter()
            .map(|direction| start(scope, direction, &stop));
        let threads = threads.collect::<Result<Vec<_>, _>>();
        let outcome = threads.and_then(|threads| {
            init.go()?;
            Ok((threads, init.supervise(queue, clock)?))
        });
        stop.stop();
        let (threads, (status, elapsed)) = outcome?;
        let failed = |_| LinkError::Failed("an emulating thread failed".to_owned());
        let mut reports = Vec::new();
        for thread in threads {
            reports.push(thread.join().map_err(failed)?);
        }
        let mut reports = reports.into_iter();
        let mut complete = Vec::new();
        for (number, path) in paths.iter().enumerate() {
            if let (Some(forward), Some(backward)) = (reports.next(), reports.next()) {
                complete.push(path.complete([forward, backward], ends, number, elapsed));
            }
        }
        let [forward, backward] = complete.remove(0);
        let notes = dropped_note(ends).into_iter().collect();
        Ok(Report {
            status,
            elapsed,
            forward,
            backward,
            more: complete,
            notes,
        })
    })
}

/// A note on segments that the path delivered and TCP dropped, which no counter of the path shows.
fn dropped_note(ends: &Ends) -> Option<String> {
    let dropped = |end| namespace::dropped_on_arrival(end).unwrap_or(0);
    let segments = dropped(&ends.near).saturating_add(dropped(&ends.far));
    (segments > 0).then(|| {
        format!(
            "TCP dropped at least {segments} segments after the path had delivered them, for lack of memory: a \
             receive buffer was full, or all connections of this machine together reached net.ipv4.tcp_mem"
        )
    })
}

fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    direction: Direction<'env>,
    stop: &'env Stop,
) -> Result<ScopedJoinHandle<'scope, DirectionReport>, LinkError> {
    thread::Builder::new()
        .name("direction".to_owned())
        .spawn_scoped(scope, || direction.run(stop))
        .map_err(LinkError::io("starting a thread"))
}

/// Blocks the signals that the emulator reads from a queue, until it is dropped.
struct Blocked(SigSet);

impl Blocked {
    fn new() -> Result<Self, LinkError> {
        let mut before = SigSet::empty();
        sigprocmask(
            SigmaskHow::SIG_BLOCK,
            Some(&init::signals()),
            Some(&mut before),
        )
        .map_err(LinkError::os("blocking signals"))?;
        Ok(Self(before))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.0), None);
    }
}

/// A handle of the first process of the PID namespace. Dropping it kills the process and all that
/// it started.
struct Init {
    pid: Pid,
    control: BufReader<UnixStream>,
    /// Its exit status, once it has ended.
    status: Option<u8>,
    /// Set if COMMAND could not be started: the status that a shell returns, and why.
    failure: Option<(u8, String)>,
    notes: Vec<String>,
}

impl Init {
    fn spawn(job: &Job<'_>, ours: UnixStream, theirs: UnixStream) -> Result<Self, LinkError> {
        let (pid, ours) = init::spawn(job, ours, theirs)?;
        Ok(Self {
            pid,
            control: BufReader::new(ours),
            status: None,
            failure: None,
            notes: Vec::new(),
        })
    }

    fn next_message(&mut self) -> Option<Message> {
        let mut line = String::new();
        self.control.read_line(&mut line).ok()?;
        Message::read(&line)
    }

    fn wait_until_ready(&mut self) -> Result<(), LinkError> {
        loop {
            match self.next_message() {
                Some(Message::Ready) => return Ok(()),
                Some(Message::FarEnded(0)) => self.note_far(0),
                Some(Message::FarEnded(status)) => return Err(LinkError::FarEnded { status }),
                Some(Message::NoFar(status, why)) => {
                    return Err(LinkError::Command {
                        command: "/bin/sh".to_owned(),
                        why,
                        status,
                    });
                }
                Some(Message::NoCommand(_, why)) => return Err(LinkError::Failed(why)),
                Some(Message::Ended) | None => {
                    return Err(LinkError::Failed(
                        "the process that runs the commands ended early".to_owned(),
                    ));
                }
            }
        }
    }

    fn note_far(&mut self, status: u8) {
        self.notes.push(format!(
            "the far command ended before COMMAND, with status {status}"
        ));
    }

    /// Lets COMMAND start.
    fn go(&mut self) -> Result<(), LinkError> {
        self.control
            .get_mut()
            .write_all(b"g")
            .map_err(LinkError::io("starting the command"))
    }

    /// Waits for COMMAND's end and forwards signals. Returns its status and the time of its end.
    fn supervise(&mut self, queue: &SignalFd, clock: Clock) -> Result<(u8, Duration), LinkError> {
        let mut ended = None;
        let mut urgent_before = false;
        loop {
            if let Some(status) = self.reap() {
                let at = ended.unwrap_or_else(|| clock.now());
                return Ok((status, at.since(Time::ZERO)));
            }
            let mut fds = [
                PollFd::new(queue.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.control.get_ref().as_fd(), PollFlags::POLLIN),
            ];
            // After COMMAND has ended, messages are read later.
            let count = if ended.is_none() { 2 } else { 1 };
            match poll(&mut fds[..count], PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => {
                    return Err(LinkError::Os {
                        doing: "waiting for the command",
                        errno,
                    });
                }
            }
            let spoke = fds[1].any() == Some(true);
            if ended.is_none() && spoke {
                match self.next_message() {
                    Some(Message::FarEnded(status)) => self.note_far(status),
                    Some(Message::NoCommand(status, why)) => self.failure = Some((status, why)),
                    _ => ended = Some(clock.now()),
                }
            }
            while let Ok(Some(info)) = queue.read_signal() {
                if let Heard::Pass(signal, urgent) = Heard::from(&info) {
                    // The second urgent signal kills at once.
                    let _ = kill(
                        self.pid,
                        if urgent && urgent_before {
                            Signal::SIGKILL
                        } else {
                            signal
                        },
                    );
                    urgent_before |= urgent;
                }
            }
        }
    }

    /// Its exit status, if it has ended.
    fn reap(&mut self) -> Option<u8> {
        if self.status.is_none() {
            self.status = status(self.pid, Some(WaitPidFlag::WNOHANG));
        }
        self.status
    }

    /// Reads the remaining messages.
    fn listen_to_the_end(&mut self) {
        while let Some(message) = self.next_message() {
            match message {
                Message::FarEnded(status) => self.note_far(status),
                Message::NoCommand(status, why) => self.failure = Some((status, why)),
                _ => {}
            }
        }
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = kill(self.pid, Signal::SIGKILL);
            let _ = waitpid(self.pid, None);
        }
    }
}
