//! One direction of the path at work: read, ask, hold, write.

use crate::clock::Clock;
use crate::codel::Managed;
use crate::held::{Buffer, Held, Packet};
use crate::report::{DirectionReport, LatenessMeter};
use crate::wifi::Station;
use crate::{MTU, ecn, sys};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::unistd::{read, write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use whimbrel_net::{Fate, Link};
use whimbrel_units::Time;

/// Packets written or read in one go, before it is the other's turn.
const BATCH: usize = 32;
/// Most packets held per direction: half a gibibyte of buffers.
const MOST_HELD: usize = (512 << 20) / MTU as usize;

/// Tells both directions to stop.
pub(crate) struct Stop {
    flag: AtomicBool,
    wake: EventFd,
}

impl Stop {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            flag: AtomicBool::new(false),
            wake: EventFd::new()?,
        })
    }

    pub fn stop(&self) {
        self.flag.store(true, Ordering::Release);
        // Nobody reads it, so that it stays readable and wakes both; it cannot overflow.
        let _ = self.wake.write(1);
    }

    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }
}

/// What decides on a direction's packets.
pub(crate) enum Carrier<'a> {
    /// A link of its own.
    Own(Box<Link>),
    /// A link of its own, whose queue tells late.
    Managed(Box<Managed>),
    /// A Wi-Fi channel that it shares.
    Shared(Station<'a>),
}

/// One direction of the path.
pub(crate) struct Direction<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    clock: Clock,
    carrier: Carrier<'a>,
    held: Held,
    lateness: LatenessMeter,
    report: DirectionReport,
}

impl<'a> Direction<'a> {
    pub fn new(from: &'a OwnedFd, to: &'a OwnedFd, clock: Clock, carrier: Carrier<'a>) -> Self {
        Self {
            from,
            to,
            clock,
            carrier,
            held: Held::default(),
            lateness: LatenessMeter::new(),
            report: DirectionReport::default(),
        }
    }

    /// Works until told to stop.
    pub fn run(mut self, stop: &Stop) -> DirectionReport {
        // The default lets the kernel wake us 50 us late to save power. Best effort.
        let _ = prctl::set_timerslack(1);
        sys::hurry();
        while !stop.is_set() {
            self.fetch_left();
            self.write_due();
            if self.read_batch() == 0 {
                self.sleep(stop);
            }
        }
        self.report.counters = match &self.carrier {
            Carrier::Own(link) => *link.counters(),
            Carrier::Managed(managed) => managed.counters(),
            Carrier::Shared(station) => station.counters(),
        };
        self.report.on_the_way = self.in_memory() as u64;
        self.report.lateness = self.lateness.result();
        self.report
    }

    /// Writes packets that are due, but not so many at once that those that come would wait to be read: their time of
    /// arrival is when they are read. A write is slow when TCP is, which does its work within it.
    fn write_due(&mut self) {
        let mut now = self.clock.now();
        for _ in 0..BATCH {
            let Some(packet) = self.held.pop_due(now) else {
                return;
            };
            self.lateness.record(now, packet.due);
            // A TUN device takes a packet at once; it refuses what is no IP packet, as a corrupted one may be.
            match write(self.to, packet.bytes()) {
                Ok(_) => self.report.arrived += 1,
                Err(_) => self.report.refused += 1,
            }
            self.held.recycle(packet.buffer);
            now = self.clock.now();
        }
    }

    /// Reads some packets and decides what becomes of them. Returns how many.
    fn read_batch(&mut self) -> usize {
        for count in 0..BATCH {
            let mut buffer = self.held.buffer();
            match read(self.from, buffer.as_mut_slice()) {
                Ok(len) if len > 0 => self.take(buffer, len),
                // Nothing there. An error is not to be expected, and sleeping until the next packet is right then too.
                _ => {
                    self.held.recycle(buffer);
                    return count;
                }
            }
        }
        BATCH
    }

    /// Packets that were read and are not gone.
    fn in_memory(&self) -> usize {
        let open = match &self.carrier {
            Carrier::Own(_) => 0,
            Carrier::Managed(managed) => managed.len(),
            Carrier::Shared(station) => station.len(),
        };
        self.held.len() + open
    }

    fn take(&mut self, buffer: Buffer, len: usize) {
        if self.in_memory() >= MOST_HELD {
            self.report.out_of_memory += 1;
            self.held.recycle(buffer);
            return;
        }
        match &mut self.carrier {
            Carrier::Own(link) => {
                let ect = ecn::is_capable(&buffer[..len]);
                let fate = link.offer(self.clock.now(), len as u32, ect);
                self.settle(fate, buffer, len);
            }
            Carrier::Managed(managed) => {
                if let Some(buffer) = managed.offer(buffer, len) {
                    self.held.recycle(buffer);
                }
            }
            Carrier::Shared(station) => {
                if let Some(buffer) = station.offer(buffer, len) {
                    self.held.recycle(buffer);
                }
            }
        }
    }

    /// Takes in what has left a shared channel or a managed queue.
    fn fetch_left(&mut self) {
        match &mut self.carrier {
            Carrier::Own(_) => {}
            Carrier::Managed(managed) => managed.play_until_now(),
            Carrier::Shared(station) => station.play_until_now(),
        }
        while let Some((fate, buffer, len)) = match &mut self.carrier {
            Carrier::Own(_) => None,
            Carrier::Managed(managed) => managed.next_left(),
            Carrier::Shared(station) => station.next_left(),
        } {
            self.settle(fate, buffer, len);
        }
    }

    /// Holds a packet until it is due, if it arrives.
    fn settle(&mut self, fate: Fate, mut buffer: Buffer, len: usize) {
        match fate {
            Fate::Delivered {
                at: due,
                corrupted,
                marked,
            } if due < Time::MAX => {
                if marked {
                    ecn::mark(&mut buffer[..len]);
                }
                // Where several bits are changed, the first stands for all: checksums catch it.
                if let Some(bit) = corrupted
                    && let Some(byte) = buffer[..len].get_mut(bit as usize / 8)
                {
                    *byte ^= 0x80 >> (bit % 8);
                }
                self.held.push(Packet { due, buffer, len });
            }
            _ => self.held.recycle(buffer),
        }
    }

    /// Sleeps until a packet comes or leaves a shared channel or a managed queue, one is due, or the end.
    fn sleep(&mut self, stop: &Stop) {
        let now = self.clock.now();
        let (event, woken) = match &self.carrier {
            Carrier::Own(_) => (None, None),
            Carrier::Managed(managed) => (managed.next(), None),
            Carrier::Shared(station) => (station.next(), Some(station.woken())),
        };
        let next = [self.held.next_due(), event].into_iter().flatten().min();
        if next.is_some_and(|next| next <= now) {
            return;
        }
        let timeout = next.map(|next| TimeSpec::from_duration(next.since(now).into()));
        let always = stop.wake.as_fd();
        let mut fds = [
            PollFd::new(self.from.as_fd(), PollFlags::POLLIN),
            PollFd::new(always, PollFlags::POLLIN),
            PollFd::new(woken.unwrap_or(always), PollFlags::POLLIN),
        ];
        // An error (a signal) is a reason to look again, no more.
        let _ = ppoll(&mut fds, timeout, None);
    }
}
