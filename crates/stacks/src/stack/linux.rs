//! Linux 6.1: the kernel as a program (User Mode Linux), one for each end, with all of its
//! congestion controls. `referee/uml/build.sh` builds it.
//!
//! The kernel's TCP is unmodified. Its network device and its clock are `referee/uml/link.c`: at each
//! turn it gets the time and the packets that arrive, computes in no time, and answers with the
//! packets that leave and the time of its next timer. Nothing here or there reads a real clock, and
//! the kernel's random numbers follow from the seed of the run.
//!
//! Settings that are not the kernel's defaults: buffers that do not limit ([`WINDOW`]). There is no
//! queueing discipline at the device, so TCP paces itself where an algorithm asks for it, and no
//! receive offload, so that each packet is handled as it arrives.

use crate::endpoint::{Ecn, Endpoint, EndpointReport, Transmit, WINDOW};
use crate::virtual_os;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names the kernel's program; without it, it is looked for where `build.sh` puts it.
const PROGRAM: &str = "WHIMBREL_LINUX";
/// Where that is, below the build directory.
const BUILT: &str = "referee/uml/linux";
/// The real-time clock of the kernel when a run begins.
const EPOCH: &str = "time-travel-start=1700000000000000000";
/// Bytes of `struct turn_out` and of `struct turn_in`.
const OUT: usize = 80;
const IN: usize = 24;
/// The most that a message of the kernel may carry, bytes: its buffer.
const ROOM: usize = 256 << 10;
/// The bits of an IP header's second byte that are for ECN.
const ECN: u8 = 3;
const CE: u8 = 3;
/// A slow start threshold that is none, packets.
const UNLIMITED: u32 = 0x7fff_ffff;
/// A kernel that computes longer than this at a time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kernel's program, if it has been built.
pub(crate) fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(PROGRAM) {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let own = std::env::current_exe().ok()?;
    let mut above = own.ancestors().skip(1).map(|folder| folder.join(BUILT));
    above.find(|path| path.is_file())
}

/// Both ends of a connection with this controller; `None` if the kernel cannot be started.
pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    let end = |near| End::start(controller, seed, near).ok();
    let (mut near, mut far) = (end(true)?, end(false)?);
    // Both boot at once.
    near.listen().ok()?;
    far.listen().ok()?;
    Some([Box::new(near), Box::new(far)])
}

/// What the kernel reported at the end of its last turn.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    next: Option<Duration>,
    moved: u64,
    connected: bool,
    closed: bool,
    report: EndpointReport,
}

/// One end, and its kernel.
struct End {
    kernel: Child,
    socket: UnixStream,
    /// Its directory for temporary files; removed at the end.
    _home: tempfile::TempDir,
    /// When the link came up.
    origin: Instant,
    state: State,
    leaving: VecDeque<Vec<u8>>,
    /// What the kernel does not know yet.
    arrived: Vec<u8>,
    wanted: u64,
    finish: bool,
    /// Whether the next turn has something for the kernel: at first, that it may begin.
    pending: bool,
    /// Bytes that the application has read.
    read: u64,
    /// The kernel has ended.
    broken: bool,
}

impl End {
    fn start(controller: &str, seed: u64, near: bool) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let program = program().ok_or_else(missing)?;
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let home = tempfile::tempdir()?;
        let mut command = Command::new("setarch");
        // Each kernel draws its own numbers. Its memory lies at the same place in every run.
        let seed = seed.wrapping_mul(2).wrapping_add(u64::from(near));
        command
            .arg("-R")
            .arg(program)
            .args(["mem=512M", "time-travel=inf-cpu", EPOCH])
            .args(["con=null", "con0=null,fd:2", "link=0"])
            .arg(format!("seed={seed}"))
            .arg(format!("link_near={}", u8::from(near)))
            .arg(format!("link_control={controller}"))
            .arg(format!("link_window={WINDOW}"));
        let kernel = command
            .env("TMPDIR", home.path())
            .env("HOME", home.path())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A kernel that panics ends its process group.
            .process_group(0)
            .spawn()?;
        Ok(Self {
            kernel,
            socket,
            _home: home,
            origin: Instant::now(),
            state: State::default(),
            leaving: VecDeque::new(),
            arrived: Vec::new(),
            wanted: 0,
            finish: false,
            pending: true,
            read: 0,
            broken: false,
        })
    }

    /// Reads what the kernel sends until it is idle.
    fn listen(&mut self) -> io::Result<()> {
        loop {
            let mut head = [0; OUT];
            self.socket.read_exact(&mut head)?;
            let mut head = Fields(&head);
            let (length, more) = (head.u32() as usize, head.u32() != 0);
            let (_, next) = (head.u64(), head.u64());
            if !more {
                self.state = head.state(next);
            }
            if length > ROOM {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut packets = vec![0; length];
            self.socket.read_exact(&mut packets)?;
            let mut rest = packets.as_slice();
            while let Some((size, after)) = rest.split_first_chunk() {
                let size = u32::from_ne_bytes(*size) as usize;
                let packet = after.get(..size).ok_or(io::ErrorKind::InvalidData)?;
                self.leaving.push_back(packet.to_vec());
                rest = after.get(size.next_multiple_of(4)..).unwrap_or(&[]);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Lets the kernel handle what has happened up to now.
    fn turn(&mut self, now: Instant) {
        if !std::mem::take(&mut self.pending) || self.broken {
            return;
        }
        let since = now.saturating_duration_since(self.origin).as_nanos();
        let mut message = Vec::with_capacity(IN + self.arrived.len());
        message.extend((self.arrived.len() as u32).to_ne_bytes());
        message.extend(u32::from(self.finish).to_ne_bytes());
        message.extend(u64::try_from(since).unwrap_or(u64::MAX).to_ne_bytes());
        message.extend(self.wanted.to_ne_bytes());
        message.append(&mut self.arrived);
        let done = self.socket.write_all(&message).and_then(|()| self.listen());
        self.broken = done.is_err();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // The kernel has nothing to save.
        let _ = self.kernel.kill();
        virtual_os::wait(&self.kernel);
    }
}

impl Endpoint for End {
    fn receive(&mut self, _: Instant, datagram: &mut [u8], ecn: Ecn) {
        if ecn == Ecn::Ce {
            mark(datagram);
        }
        let whole = datagram.len().next_multiple_of(4);
        self.arrived.extend((datagram.len() as u32).to_ne_bytes());
        self.arrived.extend_from_slice(datagram);
        self.arrived.extend(&[0; 4][..whole - datagram.len()]);
        self.pending = true;
    }

    fn expire(&mut self, _: Instant) {
        self.pending = true;
    }

    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.leaving.is_empty() {
            self.turn(now);
        }
        *datagram = self.leaving.pop_front()?;
        Some(Transmit {
            headers: 0,
            ect: datagram.get(1).is_some_and(|service| service & ECN != 0),
        })
    }

    fn deadline(&mut self) -> Option<Instant> {
        let next = self.state.next.filter(|_| !self.broken);
        next.map(|next| self.origin + next)
    }

    fn is_connected(&self) -> bool {
        self.state.connected
    }

    fn is_closed(&self) -> bool {
        self.state.closed || self.broken
    }

    /// The program in the kernel has up to [`WINDOW`] to write. It gets more when half of that is
    /// written, not at each call: that would cost a turn.
    fn write(&mut self, bytes: usize) -> usize {
        let waiting = self.wanted.saturating_sub(self.state.moved);
        let room = u64::from(WINDOW).saturating_sub(waiting);
        if room < u64::from(WINDOW) / 2 {
            return 0;
        }
        let taken = room.min(bytes as u64);
        self.wanted += taken;
        self.pending |= taken > 0;
        taken as usize
    }

    fn finish(&mut self) {
        self.finish = true;
        self.pending = true;
    }

    fn read(&mut self, now: Instant) -> u64 {
        self.turn(now);
        let read = self.state.moved.saturating_sub(self.read);
        self.read = self.state.moved;
        read
    }

    fn report(&mut self) -> EndpointReport {
        self.state.report
    }
}

/// Sets the mark of congestion in an IPv4 header, and its checksum (RFC 1624).
fn mark(packet: &mut [u8]) {
    let Some(header) = packet.first_chunk_mut::<20>() else {
        return;
    };
    let word = |header: &[u8; 20], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let before = word(header, 0);
    header[1] |= CE;
    let mut sum = [!word(header, 10), !before, word(header, 0)]
        .into_iter()
        .map(u32::from)
        .sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The fields of a message of the kernel, in the order of the machine.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    /// `struct turn_out` after its field `next`.
    fn state(&mut self, next: u64) -> State {
        let moved = self.u64();
        let [connected, closed] = [(); 2].map(|()| self.u32() != 0);
        let [cwnd, ssthresh, in_flight, mss, srtt, retransmitted] = [(); 6].map(|()| self.u32());
        let pacing = self.u64();
        let [timeouts, episodes] = [(); 2].map(|()| self.u32());
        let bytes = |segments: u32| u64::from(segments) * u64::from(mss);
        State {
            next: (next != u64::MAX).then_some(Duration::from_nanos(next)),
            moved,
            connected,
            closed,
            report: EndpointReport {
                cwnd: Some(bytes(cwnd)),
                ssthresh: (ssthresh < UNLIMITED).then(|| bytes(ssthresh)),
                in_flight: Some(bytes(in_flight)),
                srtt: Some(Duration::from_micros(srtt.into())),
                pacing_rate: (pacing < u64::MAX / 8).then_some(pacing.saturating_mul(8)),
                lost: Some(retransmitted.into()),
                timeouts: Some(timeouts.into()),
                episodes: Some(episodes.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_keeps_the_checksum_of_the_header_right() {
        let mut packet = [
            0x45, 0x02, 0x05, 0xdc, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0, 0, 10, 0, 0, 1, 10, 0,
            0, 2,
        ];
        let sum = |packet: &[u8]| {
            let words = packet
                .chunks(2)
                .map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
            let sum = words.sum::<u32>();
            (sum & 0xffff) + (sum >> 16)
        };
        let checksum = !(sum(&packet) as u16);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(sum(&packet), 0xffff);
        mark(&mut packet);
        assert_eq!((packet[1], sum(&packet)), (0x03, 0xffff));
    }
}
