//! Answers `whimbrel tcp status` in a thread of its own.

use super::{CONNECTIONS, MAX_ANSWER, PREFIX, Snapshot};
use crate::record::ConnectionRecord;
use crate::{AgentReport, Connection, End, LinuxError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::geteuid;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How long a peer has to take an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Within this time an answer is repeated, so that queries cannot keep the agent busy.
const FRESH: Duration = Duration::from_millis(200);

/// What does not change while an instance runs.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The algorithm.
    pub controller: String,
    /// The kernel's algorithm that takes over.
    pub fallback: String,
    /// What it runs, or the cgroup that it controls.
    pub what: String,
    /// When it began.
    pub begin: Instant,
}

/// The thread that answers. Dropping it ends the thread.
#[derive(Debug)]
pub struct Server<'scope> {
    /// Its end tells the thread to stop.
    stop: Option<UnixStream>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Server<'scope> {
    /// Starts the thread; `report` returns what happened so far.
    ///
    /// # Errors
    /// If the socket or the thread cannot be made.
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        instance: Instance,
        report: impl Fn() -> AgentReport + Send + 'scope,
    ) -> Result<Self, LinuxError> {
        let name = format!("{PREFIX}{}", std::process::id());
        let listener = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixListener::bind_addr(&address))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(LinuxError::os("listening for queries of the status"))?;
        let (stop, stopped) =
            UnixStream::pair().map_err(LinuxError::os("making a pair of sockets"))?;
        let mut answers = Answers {
            instance,
            report,
            last: None,
        };
        let thread = std::thread::Builder::new()
            .name("status".to_owned())
            .spawn_scoped(scope, move || serve(&listener, &stopped, &mut answers))
            .map_err(LinuxError::os("starting a thread"))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread ends the answers and nothing else.
            let _ = thread.join();
        }
    }
}

/// Answers until the other end of `stopped` is closed.
fn serve(
    listener: &UnixListener,
    stopped: &UnixStream,
    answers: &mut Answers<impl Fn() -> AgentReport>,
) {
    loop {
        let mut fds =
            [listener.as_fd(), stopped.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        if poll(&mut fds, PollTimeout::NONE).is_err() {
            continue;
        }
        if fds[1].any() == Some(true) {
            return;
        }
        match listener.accept() {
            // A peer that went away is no error.
            Ok((peer, _)) => drop(answer(peer, answers)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // No file descriptor is free: not so often.
            Err(_) => std::thread::sleep(FRESH),
        }
    }
}

/// Writes one answer to a peer of the same user or of root.
fn answer(mut peer: UnixStream, answers: &mut Answers<impl Fn() -> AgentReport>) -> io::Result<()> {
    let uid = getsockopt(&peer, PeerCredentials)?.uid();
    if uid != 0 && uid != geteuid().as_raw() {
        return Ok(());
    }
    let until = Instant::now() + PATIENCE;
    peer.set_nonblocking(false)?;
    let mut rest = answers.text()?;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        peer.set_write_timeout(Some(left))?;
        let written = peer.write(rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

struct Answers<F> {
    instance: Instance,
    report: F,
    last: Option<(Instant, Vec<u8>)>,
}

impl<F: Fn() -> AgentReport> Answers<F> {
    fn text(&mut self) -> io::Result<&[u8]> {
        let fresh = |(at, _): &(Instant, Vec<u8>)| at.elapsed() < FRESH;
        if !self.last.as_ref().is_some_and(fresh) {
            let text = self.new_text()?;
            self.last = Some((Instant::now(), text));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, text)| text))
    }

    fn new_text(&self) -> io::Result<Vec<u8>> {
        let mut snapshot = snapshot(&self.instance, &(self.report)());
        loop {
            let text = serde_json::to_vec(&snapshot).map_err(io::Error::from)?;
            let shown = snapshot.connections.len();
            if text.len() as u64 <= MAX_ANSWER || shown == 0 {
                return Ok(text);
            }
            snapshot.connections.truncate(shown / 2);
        }
    }
}

fn snapshot(instance: &Instance, report: &AgentReport) -> Snapshot {
    let mut connections: Vec<&Connection> = report.connections.iter().rev().collect();
    // The sort is stable: of equal ones the newest stay first.
    connections.sort_by_key(|c| c.end != End::StillOpen);
    let connections = connections.into_iter().take(CONNECTIONS);
    Snapshot {
        pid: std::process::id(),
        controller: instance.controller.clone(),
        fallback_controller: instance.fallback.clone(),
        what: instance.what.clone(),
        elapsed_s: instance.begin.elapsed().as_secs_f64(),
        connections_total: report.total,
        fallbacks: report.fallbacks,
        dropped_events: report.dropped_events,
        clamped: report.clamped,
        connections: connections.map(ConnectionRecord::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::testing::connection;

    #[test]
    fn an_instance_is_found_and_answers_until_it_ends() {
        let report = || AgentReport {
            total: 500,
            connections: (0..500)
                .map(|n| {
                    let mut c = connection("192.0.2.1:443", n);
                    c.end = if n == 7 { End::StillOpen } else { End::Closed };
                    c
                })
                .collect(),
            ..AgentReport::default()
        };
        let instance = Instance {
            controller: "cerl".to_owned(),
            fallback: "cubic".to_owned(),
            what: "sleep 9".to_owned(),
            begin: Instant::now(),
        };
        let own = || {
            let found = find::instances().expect("a list of sockets");
            let mut own = found.snapshots.into_iter();
            own.find(|snapshot| snapshot.pid == std::process::id())
        };
        // Anybody may listen under such names.
        let posers = (1..300).filter(|pid| *pid != std::process::id());
        let poser = |pid| {
            let name = format!("{PREFIX}{pid}");
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
        };
        let _posers: Vec<_> = posers.map(poser).collect();
        std::thread::scope(|scope| {
            let server = Server::start(scope, instance, report).expect("a socket");
            let snapshot = own().expect("it answers");
            assert_eq!(snapshot.connections.len(), CONNECTIONS);
            assert_eq!(snapshot.connections[0].acked_bytes, 7, "the open one");
            assert_eq!(snapshot.connections[1].acked_bytes, 499, "then the newest");
            assert_eq!(
                (snapshot.what.as_str(), snapshot.connections_total),
                ("sleep 9", 500)
            );
            drop(server);
        });
        assert_eq!(own(), None);
    }
}
