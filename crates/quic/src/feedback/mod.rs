//! What a connection's two ends tell each other, in DATAGRAM frames (RFC 9221), about the arrival
//! of packets: the receiver's clock for algorithms that need it, and bursts, trains and shares for
//! Enhanced-AATP.
//!
//! [`Feedback`] is the state of one connection. The endpoint's driver calls it around each packet
//! that it sends and for each DATAGRAM frame that it receives; it has no clock and no socket of its
//! own. [`message`] has the bytes; [`marks`] and [`arrivals`] are the two ends for algorithms that
//! are fed acknowledgments; [`BurstFlow`](crate::bursts::BurstFlow) and [`collector`] those for
//! algorithms that are fed bursts; [`silence`] probes a path that has gone quiet.
//!
//! **Marks without data.** A mark must leave in a packet of data, but noq does not tell whether it
//! has data to send. So a packet is marked only after one that carried data, and a packet that
//! turns out to carry nothing but its mark ends the marking until data flows again.

mod arrivals;
mod clock;
mod collector;
pub(crate) mod marks;
pub(crate) mod message;
mod node;
mod sampling;
pub(crate) mod silence;

pub use node::{Member, SharedNode};

use crate::bursts::BurstFlow;
use crate::control::{Control, Several};
use crate::path_traffic::SMALL;
use arrivals::Arrivals;
use collector::Collector;
use message::Message;
use node::Membership;
use noq_proto::Datagrams;
use noq_proto::congestion::Controller;
pub(crate) use sampling::FAST;
use sampling::Sampling;
use std::num::NonZeroUsize;
use std::time::Instant;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::Time;

/// How the next packets may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permission {
    /// At most this many in one call of noq's `poll_transmit`. With 1, the driver may still collect
    /// packets of equal size for one system call, unless `exact`.
    pub max_datagrams: NonZeroUsize,
    /// The time of departure matters: the packet is handed to the kernel at once, alone.
    pub exact: bool,
}

impl Permission {
    /// Any number.
    pub const ANY: Self = Self {
        max_datagrams: NonZeroUsize::MAX,
        exact: false,
    };
    /// One by one; the driver may collect them.
    pub const SINGLE: Self = Self {
        max_datagrams: NonZeroUsize::MIN,
        exact: false,
    };
    /// One, at once.
    pub const EXACT: Self = Self {
        max_datagrams: NonZeroUsize::MIN,
        exact: true,
    };
}

/// What the next packet carries, and how it may leave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Next {
    message: Option<Message>,
    /// The message is padded to a full packet.
    padded: bool,
    permission: Permission,
}

impl Next {
    /// Nothing of ours.
    pub fn permission(permission: Permission) -> Self {
        Self {
            message: None,
            padded: false,
            permission,
        }
    }

    /// A message.
    pub fn message(message: Message, permission: Permission) -> Self {
        Self {
            message: Some(message),
            padded: false,
            permission,
        }
    }

    /// Whether something of ours is to leave.
    #[cfg(test)]
    pub fn carries_something(&self) -> bool {
        self.message.is_some()
    }

    /// A message that fills a packet.
    pub fn padded(message: Message, permission: Permission) -> Self {
        Self {
            message: Some(message),
            padded: true,
            permission,
        }
    }
}

/// Which times of arrival a connection needs of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamps {
    /// None.
    None,
    /// Those of packets, or of several that the kernel merged (UDP GRO). It merges what it takes
    /// from the device in one go, so their times would hardly differ.
    Merged,
    /// That of each single packet.
    Single,
}

impl Stamps {
    /// From the fewest to the most exact.
    pub const ALL: [Self; 3] = [Self::None, Self::Merged, Self::Single];

    /// Whether the kernel may merge packets.
    pub fn may_merge(self) -> bool {
        self != Self::Single
    }
}

/// Which packets of data carry marks, for an algorithm that wants to know when they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Marking {
    /// None: the algorithm does not.
    #[default]
    Off,
    /// A sample, where there are many.
    Sample,
    /// Each one.
    Each,
}

/// The feedback of one connection.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    control: Control,
    several: Several,
    marking: Marking,
    sampling: Sampling,
    /// The last packet carried data, so the next one may.
    flowing: bool,
    /// A mark waits for its packet.
    mark_queued: bool,
    /// The next packet's place in the order of transmission.
    next_order: u64,
    /// A report of a mark waits for its packet.
    report_queued: bool,
    /// Something of ours waits in noq's queue.
    queued: bool,
    established: bool,
    arrivals: Arrivals,
    collector: Collector,
    node: SharedNode,
    /// The highest priority that the application grants the peer; `None`: it has not admitted it.
    admitted: Option<Priority>,
}

impl Feedback {
    /// The feedback of a connection whose controller shares `control`. `node`: where the flows of
    /// the peer arrive.
    pub fn new(control: Control, several: Several, marking: Marking, node: SharedNode) -> Self {
        Self {
            control,
            several,
            marking,
            node,
            ..Self::default()
        }
    }

    /// What the paths of the connection share.
    pub fn several(&self) -> &Several {
        &self.several
    }

    /// A copy of a controller, for the application.
    pub fn look_at(&self, controller: &dyn Controller) -> Box<dyn Controller> {
        self.control.look_at(controller)
    }

    /// Whether the controller is fed bursts, which leave over one path.
    pub fn has_bursts(&self) -> bool {
        self.control.lock().bursts.is_some()
    }

    /// The application trusts the peer: its bursts join the node with at most this priority.
    pub fn admit(&mut self, highest: Priority) {
        self.admitted = Some(highest);
    }

    /// Which flow of the node the peer's bursts are, once it is admitted and has opened it.
    pub fn flow(&self) -> Option<u64> {
        self.collector.key()
    }

    /// The handshake is complete: both ends may send DATAGRAM frames.
    pub fn on_established(&mut self, now: Instant) {
        self.established = true;
        if let Some(flow) = &mut self.control.lock().bursts {
            flow.on_established(now);
        }
    }

    /// This host's network changed: one packet leaves at once, whatever is still in flight, and
    /// probes the path. `moved`: the local address changed, so what was measured is of another
    /// path.
    pub fn on_network_change(&mut self, moved: bool) {
        let mut control = self.control.lock();
        control.one_more = true;
        control.moved |= moved;
        if let Some(flow) = &mut control.bursts
            && moved
        {
            flow.on_moved();
        }
    }

    /// A packet of the peer arrived. If it ends a silence, its acknowledgment leaves at once,
    /// whatever the window and whatever else waits.
    pub fn on_packet(&mut self, now: Instant) {
        if self.several.is_on() {
            return;
        }
        let mut control = self.control.lock();
        if control.silence.on_arrival(now) {
            control.one_more = true;
        }
    }

    /// A DATAGRAM frame arrived, in a packet that the kernel received at `arrived` (its own clock;
    /// only differences matter). Frames that are not ours are ignored.
    pub fn on_datagram(&mut self, now: Instant, arrived: Time, data: &[u8]) {
        let Some(message) = Message::decode(data) else {
            return;
        };
        let mut control = self.control.lock();
        match message {
            Message::Mark { number } => self.arrivals.on_mark(now, number, arrived),
            Message::Arrived { number, time } => {
                control.marks.arrived(number, Time::from_nanos(time));
            }
            _ => {
                if !self.collector.on_message(now, arrived, &message)
                    && let Some(flow) = &mut control.bursts
                {
                    flow.on_message(now, &message);
                }
            }
        }
    }

    /// Called before each `poll_transmit`: queues what must leave with the next packet.
    pub fn before_transmit(&mut self, now: Instant, datagrams: &mut Datagrams<'_>) -> Permission {
        let permission = self.next(now, datagrams);
        // A log has a line for each packet.
        if permission == Permission::ANY && self.control.lock().log.is_some() {
            return Permission::SINGLE;
        }
        permission
    }

    /// Whether something must leave at once, whatever the pacing.
    pub fn is_urgent(&self) -> bool {
        self.control.lets_one_more()
    }

    /// Called with each datagram that leaves, after [`Self::after_transmit`].
    pub fn log_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let control = self.control.lock();
        if let Some(log) = &control.log {
            let burst = control.bursts.as_ref().and_then(BurstFlow::last_burst);
            log.sent(now, burst, datagram);
        }
    }

    fn next(&mut self, now: Instant, datagrams: &mut Datagrams<'_>) -> Permission {
        if !self.established {
            return Permission::ANY;
        }
        self.queue_answers(now, datagrams);
        // A mark has no path, and each path is probed for itself.
        if self.several.is_on() {
            return Permission::ANY;
        }
        let mut control = self.control.lock();
        if let Some(flow) = &mut control.bursts {
            let next = flow.before_transmit(now);
            drop(control);
            if let Some(message) = next.message {
                self.queue(&message, next.padded, datagrams);
            }
            return next.permission;
        }
        if control.silence.take_probe(now) {
            control.one_more = true;
            drop(control);
            self.queue(&Message::Probe, false, datagrams);
            return Permission::SINGLE;
        }
        if self.marking == Marking::Off {
            return Permission::ANY;
        }
        self.next_order = control.last_sent.map_or(0, |(order, _)| order + 1);
        let sample = self.marking == Marking::Sample && self.sampling.is_sample();
        if self.flowing && !self.mark_queued && (!sample || self.sampling.is_due(now)) {
            let number = control.marks.number(sample);
            drop(control);
            self.mark_queued = self.queue(&Message::Mark { number }, false, datagrams);
        }
        match sample {
            true => Permission::ANY,
            false => Permission::SINGLE,
        }
    }

    /// Called after each `poll_transmit` with the size of what it produced, if anything, and
    /// whether all queued DATAGRAM frames have left.
    pub fn after_transmit(&mut self, now: Instant, size: Option<usize>, queue_empty: bool) {
        if !self.established {
            return;
        }
        self.queued &= !queue_empty;
        if let Some(size) = size {
            if size < SMALL && !self.report_queued {
                self.arrivals.on_acknowledgment(now);
            }
            self.report_queued &= !queue_empty;
        }
        let mut control = self.control.lock();
        if let Some(flow) = &mut control.bursts {
            flow.after_transmit(now, size, queue_empty);
            return;
        }
        if self.marking == Marking::Off {
            return;
        }
        if let Some(size) = size {
            self.flowing = size >= SMALL;
            self.sampling.on_sent(now, size);
        }
        if self.mark_queued && queue_empty {
            self.mark_queued = false;
            if let Some((_, sent)) = control.last_sent {
                // Of several packets that left together, the first has the mark.
                control.marks.sent(self.next_order, sent);
                self.sampling.on_mark(now);
            }
        }
    }

    /// When the connection must be polled again, whatever noq's own timers say.
    pub fn deadline(&self) -> Option<Instant> {
        let control = self.control.lock();
        let sender = match &control.bursts {
            Some(flow) => flow.deadline(),
            None if self.several.is_on() => None,
            None => control.silence.probe_at(),
        };
        [
            sender.filter(|_| self.established),
            self.collector.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The deadline has passed.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.collector.deadline().is_some_and(|at| at <= now) {
            self.collector.on_deadline(now);
        }
        if let Some(flow) = &mut self.control.lock().bursts {
            flow.on_deadline(now);
        }
    }

    /// Which times of arrival this connection needs.
    pub fn stamps(&self) -> Stamps {
        match (self.collector.is_open(), self.arrivals.is_active()) {
            (true, _) => Stamps::Single,
            (false, true) => Stamps::Merged,
            (false, false) => Stamps::None,
        }
    }

    /// Queues what the receiver of data has to say.
    fn queue_answers(&mut self, now: Instant, datagrams: &mut Datagrams<'_>) {
        if let Some(highest) = self.admitted
            && self.collector.is_waiting()
        {
            let node = &self.node;
            self.collector.answer(now, |wanted| {
                Membership::new(node.clone(), node.key(), wanted.min(highest))
            });
        }
        while !self.queued {
            let Some(message) = self.collector.next().or_else(|| self.arrivals.take()) else {
                return;
            };
            if self.queue(&message, false, datagrams) {
                self.report_queued |= matches!(message, Message::Arrived { .. });
                self.control.lock().one_more = true;
            }
        }
    }

    /// Queues a message. Returns whether noq took it: a peer that does not know DATAGRAM frames
    /// gets none.
    fn queue(&mut self, message: &Message, padded: bool, datagrams: &mut Datagrams<'_>) -> bool {
        let mut bytes = Vec::with_capacity(128);
        message.encode(&mut bytes);
        if padded && let Some(size) = datagrams.max_size() {
            bytes.resize(size.max(bytes.len()), 0);
        }
        let taken = datagrams.send(bytes.into(), false).is_ok();
        self.queued |= taken;
        taken
    }
}
