//! What one station has to send, and what its peer has received of it.
//!
//! Packets wait in the queue until an access takes them; from then on they are in the window: at most 64 in a row of
//! which the sender has not finished with the first (the block acknowledgment's bitmap, IEEE Std 802.11-2016,
//! 10.24.7). Each access sends again what the window still holds, oldest first, and then takes from the queue. The
//! receiver passes packets on in order (10.24.7.6): one that is received behind a missing one waits until that is
//! received or given up.
//!
//! When the sender gives a frame up, the receiver is told by a request that moves its window; here it knows at once
//! and the request takes no time.

use super::spec::WifiSpec;
use super::timing::{Load, Timing};
use super::{AirCounters, Departure, Side};
use crate::delay::Delaying;
use crate::impairment::{Chance, Impairment};
use crate::link::{Backlog, Counters, Fate};
use crate::outages::Outages;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// Frames that a block acknowledgment tells of.
const WINDOW: usize = 64;

/// A frame that was sent at least once.
#[derive(Debug, Clone)]
struct Frame {
    size: u32,
    tries: u8,
    /// The receiver has it.
    received: bool,
    /// The sender sends it no more: it was acknowledged or given up.
    finished: bool,
    /// Why it is lost if it is given up: what the channel last did to it, or collisions if the channel never did.
    cause: DropCause,
}

/// A frame of the access under way.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Its place in the window.
    place: usize,
    /// Bytes of the aggregate up to its end.
    end: u64,
}

/// One station: a sender, with the receiver's memory of what it sent.
#[derive(Debug)]
pub(super) struct Station {
    side: Side,
    limit: QueueLimit,
    retry_limit: u8,
    /// When each came, and its size.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    window: VecDeque<Frame>,
    /// So many of the window's first frames have left it for the receiver's host, or are lost.
    told: usize,
    sent: Vec<Sent>,
    load: Load,
    frame_loss: Chance,
    /// Outages of what this station sends.
    pub outages: Outages,
    impairment: Impairment,
    delay: Delaying,
    counters: Counters,
    air: AirCounters,
    /// Since when the station has had something to send, as far as that is not counted yet.
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
        Self {
            side,
            limit: direction.queue,
            retry_limit: spec.retry_limit.max(1),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            window: VecDeque::with_capacity(WINDOW),
            told: 0,
            sent: Vec::with_capacity(WINDOW),
            load: Load::default(),
            frame_loss: Chance::new(spec.frame_loss, frame_loss),
            outages: Outages::new(direction.loss.outages.clone()),
            impairment: Impairment::new(&direction.loss, draws, false),
            delay: Delaying::new(&direction.delay),
            counters: Counters::default(),
            air: AirCounters::default(),
            busy_since: None,
        }
    }

    /// Whether it has something to send.
    pub fn has_frames(&self) -> bool {
        !(self.window.is_empty() && self.waiting.is_empty())
    }

    /// Lets a packet join the queue, if there is room. What a station without anything to send gets does not wait but
    /// is next.
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

    /// Puts together what an access at `now` sends.
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

    /// The access took the channel for so long, until its answer or its failure.
    pub fn count_access(&mut self, collided: bool, airtime: Duration) {
        self.air.accesses += 1;
        self.air.collisions += u64::from(collided);
        self.air.frames += self.sent.len() as u64;
        self.air.airtime = self.air.airtime.saturating_add(airtime);
    }

    /// The data of the access goes over the air from `begins`; packets that the receiver passes on are added to
    /// `left`. Gives whether it understood any of them, so that it answers.
    pub fn transmit(&mut self, begins: Time, timing: &Timing, left: &mut Vec<Departure>) -> bool {
        let mut heard = false;
        // Who misses the preamble understands nothing that follows.
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
                self.pass_on(at, left);
            }
        }
        heard
    }

    /// An outage took the request to send or its answer.
    pub fn fail_in_outage(&mut self) {
        for sent in &self.sent {
            self.window[sent.place].cause = DropCause::Outage;
        }
    }

    /// The end of an access, with or without an answer.
    pub fn end_access(&mut self, now: Time, answered: bool, left: &mut Vec<Departure>) {
        for sent in &self.sent {
            let frame = &mut self.window[sent.place];
            frame.tries += 1;
            frame.finished = (answered && frame.received) || frame.tries >= self.retry_limit;
        }
        self.pass_on(now, left);
        while self.window.front().is_some_and(|frame| frame.finished) {
            self.window.pop_front();
            self.told -= 1;
        }
        if let Some(since) = self.busy_since {
            self.counters.busy = self.counters.busy.saturating_add(now.since(since));
            self.busy_since = self.has_frames().then_some(now);
        }
    }

    /// Passes on what is complete in order, and drops what was given up.
    #[inline]
    fn pass_on(&mut self, now: Time, left: &mut Vec<Departure>) {
        while let Some(frame) = self.window.get(self.told)
            && (frame.received || frame.finished)
        {
            self.told += 1;
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
            left.push(Departure {
                side: self.side,
                fate,
            });
        }
    }
}
