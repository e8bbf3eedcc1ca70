//! One direction of the path: reads packets, offers them to the link, holds them, writes them.

use crate::bulk::{Bulk, Train};
use crate::clock::Clock;
use crate::held::{Buffer, Held, Packet};
use crate::managed::Managed;
use crate::observer::{LossCause, Observer};
use crate::report::{DirectionReport, LatenessMeter};
use crate::wifi::Station;
use crate::{MTU, bulk, ecn, sys};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::sys::uio::writev;
use nix::unistd::read;
use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use whimbrel_net::{Counters, DropCause, Fate, Link, Side};
use whimbrel_units::{Duration, Time};

/// Number of packets after which a direction switches between writing and reading. A few more may
/// have come or left together.
const BATCH: usize = 32;
/// The maximum number of packets held per direction: half a gibibyte of buffers.
const MAX_HELD: usize = (512 << 20) / MTU as usize;

/// Time between two reports to the observer.
const PROGRESS: Duration = Duration::from_millis(100);

/// Stops both directions.
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
        // It is never read, so it stays readable and wakes both directions; it cannot overflow.
        let _ = self.wake.write(1);
    }

    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }
}

/// The model that decides the fates of a direction's packets.
pub(crate) enum Carrier<'a> {
    /// A link of its own, which decides at once.
    Own(Box<Link>),
    /// A link of its own, which decides when packets leave the queue.
    Managed(Box<Managed>),
    /// A Wi-Fi channel shared with the other direction.
    Shared(Station<'a>),
}

/// One direction of the path.
pub(crate) struct Direction<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    clock: Clock,
    carrier: Carrier<'a>,
    side: Side,
    observer: Option<&'a dyn Observer>,
    /// The same, if it wants to see each packet.
    capture: Option<&'a dyn Observer>,
    held: Held,
    /// What is read at once, and what is written at once.
    bulk: Box<[u8]>,
    train: Train,
    /// Further hops, each with the packets that it has served.
    later: Vec<(Link, Held)>,
    /// Each packet carries a checksum, also those that the sender left to its device.
    checksums: bool,
    lateness: LatenessMeter,
    report: DirectionReport,
}

impl<'a> Direction<'a> {
    pub fn new(
        [from, to]: [&'a OwnedFd; 2],
        clock: Clock,
        carrier: Carrier<'a>,
        side: Side,
        observer: Option<&'a dyn Observer>,
    ) -> Self {
        Self {
            from,
            to,
            clock,
            carrier,
            side,
            observer,
            capture: observer.filter(|observer| observer.sees_packets()),
            held: Held::default(),
            bulk: vec![0; bulk::LARGEST].into(),
            train: Train::default(),
            later: Vec::new(),
            checksums: false,
            lateness: LatenessMeter::new(),
            report: DirectionReport::default(),
        }
    }

    /// The same with further hops behind the first.
    pub fn through(mut self, links: Vec<Link>) -> Self {
        self.later = links
            .into_iter()
            .map(|link| (link, Held::default()))
            .collect();
        self
    }

    /// The same, and checksums that the sender left to its device are computed at once if
    /// `complete`: a path that corrupts packets has only whole ones, as a real one, so that a
    /// receiver checks each of them.
    pub fn with_checksums(mut self, complete: bool) -> Self {
        self.checksums = complete;
        self
    }

    /// Runs until it is stopped.
    pub fn run(mut self, stop: &Stop) -> DirectionReport {
        // By default the kernel may wake a thread 50 us late to save power. Best effort.
        let _ = prctl::set_timerslack(1);
        sys::hurry();
        let mut reported = Time::ZERO;
        while !stop.is_set() {
            self.fetch_departed();
            self.pass_hops();
            self.write_due();
            if let Some(observer) = self.observer {
                let now = self.clock.now();
                if now.since(reported) >= PROGRESS {
                    reported = now;
                    let (counters, waiting) = self.state(now);
                    observer.progress(now, self.side, &counters, waiting);
                }
            }
            if self.read_batch() == 0 {
                self.sleep(stop);
            }
        }
        let now = self.clock.now();
        let (counters, waiting) = self.state(now);
        self.report.counters = counters;
        if let Some(observer) = self.observer {
            observer.progress(now, self.side, &counters, waiting);
        }
        self.report.hops = self.later.iter().map(|(link, _)| link.counters()).collect();
        self.report.on_the_way = self.in_memory() as u64;
        self.report.lateness = self.lateness.result();
        self.report
    }

    /// The counters so far, and the packets that wait.
    fn state(&mut self, now: Time) -> (Counters, usize) {
        let (mut counters, mut waiting) = self.first_state(now);
        for (link, _) in &mut self.later {
            waiting += link.backlog(now).packets as usize;
            counters = after(counters, link.counters());
        }
        (counters, waiting)
    }

    /// The same of the first hop.
    fn first_state(&mut self, now: Time) -> (Counters, usize) {
        match &mut self.carrier {
            Carrier::Own(link) => {
                let waiting = link.backlog(now).packets;
                (link.counters(), waiting as usize)
            }
            Carrier::Managed(managed) => (managed.counters(), managed.len()),
            Carrier::Shared(station) => (station.counters(), station.len()),
        }
    }

    /// Writes packets that are due, at most one batch: arriving packets must not wait, because
    /// their time of arrival is the time of reading. A write can be slow, because TCP processes the
    /// packet within it.
    fn write_due(&mut self) {
        let mut now = self.clock.now();
        let mut count = 0;
        while count < BATCH {
            let last = self
                .later
                .last_mut()
                .map_or(&mut self.held, |(_, held)| held);
            let Some(packet) = last.pop_due(now) else {
                return;
            };
            let capture = |packet: &Packet| {
                if let Some(capture) = self.capture {
                    capture.arrived(now, self.side, packet.bytes());
                }
            };
            capture(&packet);
            self.train.begin(packet);
            while let Some(next) = last.pop_due_if(now, |next| self.train.takes(next)) {
                capture(&next);
                self.train.add(next);
            }
            self.train
                .dues()
                .for_each(|due| self.lateness.record(now, due));
            let packets = self.train.dues().len();
            count += packets;
            let parts = self.train.parts();
            let parts: Vec<_> = parts.into_iter().map(IoSlice::new).collect();
            // A TUN device accepts a packet at once, and refuses an invalid one, such as a
            // corrupted packet.
            match writev(self.to, &parts) {
                Ok(_) => self.report.arrived += packets as u64,
                Err(_) => self.report.refused += packets as u64,
            }
            self.train
                .drain()
                .for_each(|packet| self.held.recycle(packet.buffer));
            now = self.clock.now();
        }
    }

    /// Reads at most one batch of packets and offers them to the link. Returns how many.
    fn read_batch(&mut self) -> usize {
        let mut bulk = std::mem::take(&mut self.bulk);
        let mut count = 0;
        while count < BATCH {
            let Ok(len @ 1..) = read(self.from, &mut bulk) else {
                // No packet. Another error is not expected; sleeping until the next packet is right
                // then too.
                break;
            };
            let Some(read) = Bulk::read(&bulk[..len]) else {
                continue;
            };
            for index in 0..read.count() {
                let mut buffer = self.held.buffer();
                match read.split(index, &mut buffer) {
                    Some(len) => self.take(buffer, len),
                    None => self.held.recycle(buffer),
                }
            }
            count += read.count();
        }
        self.bulk = bulk;
        count
    }

    /// Number of packets that were read and not yet written or dropped.
    fn in_memory(&self) -> usize {
        let open = match &self.carrier {
            Carrier::Own(_) => 0,
            Carrier::Managed(managed) => managed.len(),
            Carrier::Shared(station) => station.len(),
        };
        let later: usize = self.later.iter().map(|(_, held)| held.len()).sum();
        self.held.len() + later + open
    }

    fn take(&mut self, mut buffer: Buffer, len: usize) {
        if self.checksums
            && let Some(partial) = buffer.partial.take()
        {
            partial.complete(&mut buffer[..len]);
        }
        if let Some(capture) = self.capture {
            capture.sent(self.clock.now(), self.side, &buffer[..len]);
        }
        if self.in_memory() >= MAX_HELD {
            self.report.out_of_memory += 1;
            self.held.recycle(buffer);
            return;
        }
        match &mut self.carrier {
            Carrier::Own(link) => {
                let ect = ecn::is_capable(&buffer[..len]);
                let fate = link.offer(self.clock.now(), len as u32, ect);
                self.settle(0, fate, buffer, len);
            }
            Carrier::Managed(managed) => {
                let refused = managed.offer(buffer, len);
                self.overflow(refused, len);
            }
            Carrier::Shared(station) => {
                let refused = station.offer(buffer, len);
                self.overflow(refused, len);
            }
        }
    }

    /// Drops a packet that a full queue refused, if it did.
    fn overflow(&mut self, refused: Option<Buffer>, len: usize) {
        if let Some(buffer) = refused {
            self.settle(0, Fate::Dropped(DropCause::QueueOverflow), buffer, len);
        }
    }

    fn observe(&self, packet: &[u8], cause: LossCause) {
        if let Some(observer) = self.observer {
            observer.lost(self.clock.now(), self.side, packet, cause);
        }
    }

    /// Fetches packets that have left a shared channel or a managed queue.
    fn fetch_departed(&mut self) {
        match &mut self.carrier {
            Carrier::Own(_) => {}
            Carrier::Managed(managed) => managed.advance_to_now(),
            Carrier::Shared(station) => station.advance_to_now(),
        }
        while let Some((fate, buffer, len)) = match &mut self.carrier {
            Carrier::Own(_) => None,
            Carrier::Managed(managed) => managed.next_departed(),
            Carrier::Shared(station) => station.next_departed(),
        } {
            self.settle(0, fate, buffer, len);
        }
    }

    /// Offers packets that have arrived behind a hop to the next one, at the time of their arrival.
    fn pass_hops(&mut self) {
        let now = self.clock.now();
        for hop in 0..self.later.len() {
            while let Some(packet) = match hop {
                0 => self.held.pop_due(now),
                hop => self.later[hop - 1].1.pop_due(now),
            } {
                let ect = ecn::is_capable(packet.bytes());
                let fate = self.later[hop].0.offer(packet.due, packet.len as u32, ect);
                self.settle(hop + 1, fate, packet.buffer, packet.len);
            }
        }
    }

    /// Holds a packet until it is due behind a hop, or drops it.
    fn settle(&mut self, hop: usize, fate: Fate, mut buffer: Buffer, len: usize) {
        match fate {
            Fate::Delivered {
                at: due,
                corrupted,
                marked,
            } if due < Time::MAX => {
                if marked {
                    ecn::mark(&mut buffer[..len]);
                }
                // If several bits are changed, flips only the first: checksums detect that as well.
                if let Some(bit) = corrupted
                    && (bit as usize) < len * 8
                {
                    if let Some(partial) = buffer.partial.take() {
                        partial.complete(&mut buffer[..len]);
                    }
                    self.observe(&buffer[..len], LossCause::Corrupted);
                    buffer[bit as usize / 8] ^= 0x80 >> (bit % 8);
                }
                let held = match hop {
                    0 => &mut self.held,
                    hop => &mut self.later[hop - 1].1,
                };
                held.push(Packet { due, buffer, len });
            }
            fate => {
                let cause = match fate {
                    Fate::Dropped(cause) => cause,
                    // The link is down for ever.
                    Fate::Delivered { .. } => DropCause::Outage,
                };
                self.observe(&buffer[..len], LossCause::Dropped(cause));
                self.held.recycle(buffer);
            }
        }
    }

    /// Sleeps until a packet arrives, leaves a shared channel or a managed queue, or is due, or
    /// until the end.
    fn sleep(&mut self, stop: &Stop) {
        let now = self.clock.now();
        let (event, woken) = match &self.carrier {
            Carrier::Own(_) => (None, None),
            Carrier::Managed(managed) => (managed.next(), None),
            Carrier::Shared(station) => (station.next(), Some(station.woken())),
        };
        let later = self.later.iter().filter_map(|(_, held)| held.next_due());
        let next = [self.held.next_due(), event]
            .into_iter()
            .flatten()
            .chain(later)
            .min();
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
        // After an error (a signal), the loop checks everything again.
        let _ = ppoll(&mut fds, timeout, None);
    }
}

/// What two hops one behind the other count together.
fn after(first: Counters, then: Counters) -> Counters {
    Counters {
        offered: first.offered,
        delivered: then.delivered,
        delivered_bytes: then.delivered_bytes,
        corrupted: first.corrupted + then.corrupted,
        marked: first.marked + then.marked,
        busy: first.busy.max(then.busy),
        served_bytes: then.served_bytes,
        waited: first.waited + then.waited,
        longest_wait: first.longest_wait.max(then.longest_wait),
        most_waiting: first.most_waiting.max(then.most_waiting),
        queue_overflow: first.queue_overflow + then.queue_overflow,
        early: first.early + then.early,
        random: first.random + then.random,
        outage: first.outage + then.outage,
        contention: first.contention + then.contention,
    }
}
