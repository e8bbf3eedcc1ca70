//! A run: namespaces, commands, the two directions, and the end.

use crate::PathSpec;
use crate::both_ways::BothWays;
use crate::clock::Clock;
use crate::direction::{Direction, Stop};
use crate::error::LinkError;
use crate::init::{self, Heard, Message};
use crate::job::{Job, Peer};
use crate::layout::Layout;
use crate::namespace::{self, Networks};
use crate::observer::{Observer, Observers};
use crate::process::{signals, status, threads};
use crate::program::Program;
use crate::report::{DirectionReport, PathReport};
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
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The nodes and how links connect them.
    pub layout: Layout,
    /// The node of COMMAND, by its index in the layout.
    pub at: usize,
    /// What runs at other nodes. Each starts before COMMAND, has up to two seconds to open a
    /// socket, and gets SIGTERM when COMMAND has ended. Its standard output goes to standard error.
    pub peers: Vec<Peer>,
    /// TCP congestion control of all nodes, by the kernel's name; `None`: the host's.
    pub congestion: Option<String>,
    /// Whether TCP requests ECN at all nodes; otherwise it only accepts ECN, Linux's default.
    pub ecn: bool,
    /// These see each packet that the observed link drops or corrupts.
    pub observers: Vec<Arc<dyn Observer>>,
    /// The link that observers see, by its index in the layout.
    pub observed: usize,
}

impl Options {
    /// Runs a program at the far end of a path between [two ends](Layout::ends).
    pub fn with_far(mut self, program: Option<Program>) -> Self {
        let peer = |program| Peer { node: 1, program };
        self.peers.extend(program.map(peer));
        self
    }
}

/// Runs a command behind an emulated path, and returns the path's statistics.
///
/// Time on the path (schedules, outages) counts from the start of the command. All commands find
/// the addresses in `WHIMBREL_NEAR` and `WHIMBREL_FAR`, and the paths of the namespaces for
/// `nsenter --net=PATH` in `WHIMBREL_NEAR_NETNS` and `WHIMBREL_FAR_NETNS`. A node `ship` of a
/// topology has `WHIMBREL_NODE_SHIP` and `WHIMBREL_NODE_SHIP_NETNS`, and its name in `/etc/hosts`.
///
/// Must be called before the process starts any thread. Without root, it moves the process into a
/// user namespace of its own, permanently.
///
/// # Errors
/// If the system does not allow it, or a command cannot be started: see [`LinkError`].
pub fn run(spec: &PathSpec, command: &Program, options: &Options) -> Result<PathReport, LinkError> {
    Prepared::new(command, options)?.run(spec)
}

/// The namespaces and the processes of a run, before the path exists. The peers have been started,
/// COMMAND has not. From here on the process may start threads. Dropping it ends everything.
pub struct Prepared {
    // Dropped first: it kills the processes, which use the rest.
    init: Init,
    queue: SignalFd,
    _blocked: Blocked,
    networks: Networks,
    layout: Layout,
    /// COMMAND's program, for messages.
    program: String,
    observer: Option<Observers>,
    observed: usize,
}

impl Prepared {
    /// Makes the namespaces and starts the peers: the part of [`run`] that needs a process
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
        let layout = options.layout.clone();
        let places = options.peers.iter().map(|peer| peer.node);
        if let Some(node) = places
            .chain([options.at])
            .find(|node| layout.name(*node).is_none())
        {
            return Err(LinkError::Failed(format!("there is no node {node}")));
        }
        let networks = namespace::make(&layout, options.congestion.as_deref(), options.ecn)?;
        let blocked = Blocked::new()?;
        let queue =
            SignalFd::with_flags(&signals(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
                .map_err(LinkError::os("opening a queue of signals"))?;
        let job = Job {
            layout: &layout,
            networks: networks.all.iter().map(|one| &one.namespace).collect(),
            peers: &options.peers,
            command,
            at: options.at,
            signals: blocked.0,
            emulator: std::process::id(),
        };
        let (ours, theirs) =
            UnixStream::pair().map_err(LinkError::io("making a pair of sockets"))?;
        let node = |peer: &Peer| layout.name(peer.node).unwrap_or_default().to_owned();
        let peers = options.peers.iter().map(node).collect();
        let mut init = Init::spawn(&job, peers, ours, theirs)?;
        init.wait_until_ready()?;
        Ok(Self {
            init,
            queue,
            _blocked: blocked,
            networks,
            layout,
            program,
            observer: Observers::of(&options.observers),
            observed: options.observed,
        })
    }

    /// Connects the namespaces by the path, runs COMMAND, and returns the path's statistics.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(self, spec: &PathSpec) -> Result<PathReport, LinkError> {
        self.run_all(std::slice::from_ref(spec))
    }

    /// The same, with a path for each link of the layout.
    ///
    /// # Errors
    /// As [`run`]; also if there are not as many paths as links.
    pub fn run_all(mut self, specs: &[PathSpec]) -> Result<PathReport, LinkError> {
        let links = self.layout.links.len();
        if specs.len() != links {
            let text = format!("{} paths for {links} links", specs.len());
            return Err(LinkError::Failed(text));
        }
        let mut report = self.emulate(specs)?;
        self.init.listen_to_the_end();
        if let Some((status, why)) = self.init.failure.take() {
            return Err(LinkError::Command {
                command: self.program,
                why,
                status,
            });
        }
        let notes = self
            .networks
            .notes
            .drain(..)
            .chain(self.init.notes.drain(..));
        report.notes.extend(notes);
        Ok(report)
    }

    /// Runs both directions of all paths until COMMAND has ended.
    fn emulate(&mut self, specs: &[PathSpec]) -> Result<PathReport, LinkError> {
        let networks = &self.networks;
        let stop = Stop::new().map_err(LinkError::os("making an event"))?;
        let clock = Clock::start();
        let paths = specs.iter().map(BothWays::new);
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let links = || paths.iter().zip(&self.layout.links);
        let observer: Option<&dyn Observer> = self.observer.as_ref().map(|all| all as _);
        let mut directions = Vec::new();
        for (number, (path, ends)) in links().enumerate() {
            let observer = observer.filter(|_| number == self.observed);
            directions.extend(path.directions(networks, *ends, clock, observer)?);
        }
        thread::scope(|scope| {
            // The threads must always be stopped, or the scope never ends.
            let threads = directions
                .into_iter()
                .map(|direction| start(scope, direction, &stop));
            let threads = threads.collect::<Result<Vec<_>, _>>();
            let init = &mut self.init;
            let outcome = threads.and_then(|threads| {
                init.go()?;
                Ok((threads, init.supervise(&self.queue, clock)?))
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
            for (path, ends) in links() {
                if let (Some(forward), Some(backward)) = (reports.next(), reports.next()) {
                    complete.push(path.complete([forward, backward], networks, *ends, elapsed));
                }
            }
            let [forward, backward] = complete.remove(0);
            let notes = dropped_note(networks).into_iter().collect();
            Ok(PathReport {
                status,
                elapsed,
                forward,
                backward,
                more: complete,
                notes,
            })
        })
    }
}

/// A note on segments that the path delivered and TCP dropped, which no counter of the path shows.
fn dropped_note(networks: &Networks) -> Option<String> {
    let dropped = |network| namespace::dropped_on_arrival(network).unwrap_or(0);
    let segments = networks
        .all
        .iter()
        .map(dropped)
        .fold(0, u64::saturating_add);
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
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals()), Some(&mut before))
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
    /// The names of the peers' nodes.
    peers: Vec<String>,
}

impl Init {
    fn spawn(
        job: &Job<'_>,
        peers: Vec<String>,
        ours: UnixStream,
        theirs: UnixStream,
    ) -> Result<Self, LinkError> {
        let (pid, ours) = init::spawn(job, ours, theirs)?;
        Ok(Self {
            pid,
            control: BufReader::new(ours),
            status: None,
            failure: None,
            notes: Vec::new(),
            peers,
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
                Some(Message::PeerEnded(0, peer)) => self.note_ended(0, peer),
                Some(Message::PeerEnded(status, peer)) => {
                    let node = self.node(peer);
                    return Err(LinkError::PeerEnded { node, status });
                }
                Some(Message::NoPeer(status, why)) => {
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

    fn note_ended(&mut self, status: u8, peer: usize) {
        self.notes.push(format!(
            "the {} command ended before COMMAND, with status {status}",
            self.node(peer)
        ));
    }

    /// The name of a peer's node.
    fn node(&self, peer: usize) -> String {
        self.peers.get(peer).cloned().unwrap_or_default()
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
                    Some(Message::PeerEnded(status, peer)) => self.note_ended(status, peer),
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
                Message::PeerEnded(status, peer) => self.note_ended(status, peer),
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
