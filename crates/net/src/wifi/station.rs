//! One station: its queue, and what its peer has received of it.
//!
//! Packets wait in the queue until an access takes them into the window: at most 64 consecutive
//! frames, of which the first is not finished (the block acknowledgment's bitmap, IEEE Std
//! 802.11-2016, 10.24.7). Each access retransmits the unfinished frames of the window, oldest
//! first, and then takes packets from the queue. The receiver passes packets on in order
//! (10.24.7.6): a packet received behind a missing one waits until the missing one is received or
//! given up.
//!
//! When a sender gives a frame up, it notifies the receiver by a request that moves the receiver's
//! window. Here the receiver knows at once, and the request takes no time.

use super::spec::WifiSpec;
use super::timing::{Load, Timing};
use super::{AirCounters, Departure, Side};
use crate::chance::Chance;
use crate::counters::{Backlog, Counters, Fate};
use crate::delay::Delaying;
use crate::impairment::Impairment;
use crate::outages::Outages;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// The number of frames that a block acknowledgment covers.
const WINDOW: usize = 64;

/// A frame that was sent at least once.
#[derive(Debug, Clone)]
struct Frame {
    size: u32,
    tries: u8,
    /// The receiver has it.
    received: bool,
    /// It was acknowledged or given up.
    finished: bool,
    /// The cause of loss if it is given up: the last loss on the air, or contention if all tries
    /// collided.
    cause: DropCause,
}

/// A frame of the current access.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Its index in the window.
    place: usize,
    /// Its end in the aggregate, in bytes.
    end: u64,
}

/// One station: a sender, and the receiver's state of what it sent.
#[derive(Debug)]
pub(super) struct Station {
    side: Side,
    limit: QueueLimit,
    retry_limit: u8,
    /// Arrival time and size of each packet in the queue.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    window: VecDeque<Frame>,
    /// How many of the window's first frames have been passed on to the receiver's host, or are
    /// lost.
    passed_on: usize,
    sent: Vec<Sent>,
    load: Load,
    frame_loss: Chance,
    /// Outages of what this station sends.
    pub outages: Outages,
    impairment: Impairment,
    delay: Delaying,
    counters: Counters,
    air: AirCounters,
    /// Since when the station has had frames to send, as far as not counted yet.
    busy_since: Option<Time>,
}

impl Station {
    pub fn new(
        side: Side,
        spec: &WifiSpec,
        direction: &LinkSpec,
        draws: Xoshiro256PlusPlus,
        frame_loss: Xoshiro256PlusPlus,
    ) -> Self {
        let noise = draws.clone().random();
        Self {
            side,
            limit: direction.queue,
            retry_limit: spec.retry_limit.max(1),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            window: VecDeque::with_capacity(WINDOW),
            passed_on: 0,
            sent: Vec::with_capacity(WINDOW),
            load: Load::default(),
            frame_loss: Chance::new(spec.frame_loss, frame_loss),
            outages: Outages::new(direction.loss.outages.clone()),
            impairment: Impairment::new(&direction.loss, draws, false),
            delay: Delaying::new(&direction.delay, noise),
            counters: Counters::default(),
            air: AirCounters::default(),
            busy_since: None,
        }
    }

    /// Whether it has frames to send.
    pub fn has_frames(&self) -> bool {
        !(self.window.is_empty() && self.waiting.is_empty())
    }

    /// Adds a packet to the queue, if there is room. A packet that finds the station without frames
    /// always has room: it is sent next.
    pub fn join(&mut self, now: Time, size: u32) -> bool {
        self.counters.offered += 1;
        if self.has_frames()
            && !self
                .limit
                .has_room(self.waiting.len(), self.waiting_bytes, size)
        {
            self.counters.queue_overflow += 1;
            return false;
        }
        self.busy_since.get_or_insert(now);
        self.waiting.push_back((now, size));
        self.waiting_bytes += u64::from(size);
        self.counters.most_waiting = self.counters.most_waiting.max(self.waiting.len() as u32);
        true
    }

    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting.len() as u32,
            bytes: Bytes::new(self.waiting_bytes),
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn air(&self) -> &AirCounters {
        &self.air
    }

    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Selects the frames that an access at `now` sends.
    pub fn load_up(&mut self, now: Time, timing: &Timing) {
        self.load = Load::default();
        self.sent.clear();
        for (place, frame) in self.window.iter().enumerate() {
            if frame.finished {
                continue;
            }
            let Some(end) = self.load.take(frame.size, timing) else {
                return;
            };
            self.sent.push(Sent { place, end });
        }
        while self.window.len() < WINDOW
            && let Some((since, size)) = self.waiting.front().copied()
            && let Some(end) = self.load.take(size, timing)
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(size);
            self.counters.count_wait(now.since(since));
            let place = self.window.len();
            self.sent.push(Sent { place, end });
            self.window.push_back(Frame {
                size,
                tries: 0,
                received: false,
                finished: false,
                cause: DropCause::Contention,
            });
        }
    }

    /// Counts an access that occupied the channel for `airtime`, until its acknowledgment or
    /// failure.
    pub fn count_access(&mut self, collided: bool, airtime: Duration) {
        self.air.accesses += 1;
        self.air.collisions += u64::from(collided);
        self.air.frames += self.sent.len() as u64;
        self.air.airtime = self.air.airtime.saturating_add(airtime);
    }

    /// Sends the data of the access from `begins` on. Adds packets that the receiver passes on to
    /// `departed`. Returns whether the receiver got any frame, so that it answers.
    pub fn transmit(
        &mut self,
        begins: Time,
        timing: &Timing,
        departed: &mut Vec<Departure>,
    ) -> bool {
        let mut heard = false;
        // Without the preamble, the receiver gets no frame.
        let missed = self.outages.cover(begins + timing.ht.preamble);
        for i in 0..self.sent.len() {
            let Sent { place, end } = self.sent[i];
            let end = end.min(self.load.bytes());
            let at = begins + timing.ht.until_decoded(end);
            let lost = self.frame_loss.happens();
            let dark = self.outages.cover(at) || missed;
            let frame = &mut self.window[place];
            if dark || lost {
                frame.cause = if dark {
                    DropCause::Outage
                } else {
                    DropCause::Random
                };
                self.air.frames_lost += 1;
            } else {
                frame.received = true;
                heard = true;
                self.pass_on(at, departed);
            }
        }
        heard
    }

    /// The RTS or the CTS was lost in an outage.
    pub fn fail_in_outage(&mut self) {
        for sent in &self.sent {
            self.window[sent.place].cause = DropCause::Outage;
        }
    }

    /// Ends an access, acknowledged or not.
    pub fn end_access(&mut self, now: Time, answered: bool, departed: &mut Vec<Departure>) {
        for sent in &self.sent {
            let frame = &mut self.window[sent.place];
            frame.tries += 1;
            frame.finished = (answered && frame.received) || frame.tries >= self.retry_limit;
        }
        self.pass_on(now, departed);
        while self.window.front().is_some_and(|frame| frame.finished) {
            self.window.pop_front();
            self.passed_on -= 1;
        }
        if let Some(since) = self.busy_since {
            self.counters.busy = self.counters.busy.saturating_add(now.since(since));
            self.busy_since = self.has_frames().then_some(now);
        }
    }

    /// Passes on received packets in order, and drops packets that were given up.
    #[inline]
    fn pass_on(&mut self, now: Time, departed: &mut Vec<Departure>) {
        while let Some(frame) = self.window.get(self.passed_on)
            && (frame.received || frame.finished)
        {
            self.passed_on += 1;
            self.counters.count_served(frame.size);
            let fate = if frame.received {
                let passage = self.impairment.pass(now, frame.size);
                if passage.lost {
                    self.counters.random += 1;
                    Fate::Dropped(DropCause::Random)
                } else {
                    self.counters
                        .count_delivered(frame.size, passage.corrupted.is_some(), false);
                    Fate::Delivered {
                        at: self.delay.out(now),
                        corrupted: passage.corrupted,
                        marked: false,
                    }
                }
            } else {
                match frame.cause {
                    DropCause::Outage => self.counters.outage += 1,
                    DropCause::Contention => self.counters.contention += 1,
                    DropCause::Random | DropCause::QueueOverflow | DropCause::Early => {
                        self.counters.random += 1;
                    }
                }
                Fate::Dropped(frame.cause)
            };
            departed.push(Departure {
                side: self.side,
                fate,
            });
        }
    }
}
