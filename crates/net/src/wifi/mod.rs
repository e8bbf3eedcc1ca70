//! A Wi-Fi link: two stations, a client and its access point, that share one channel of IEEE 802.11n.
//!
//! **In plain words.** Only one can be understood at a time. Who has something to send waits until the channel has
//! been idle for AIFS and then for a random number of slots, while it stays idle; whoever counts to zero first
//! sends, the other stops counting and goes on when the channel is idle again. Both at zero in the same slot
//! collide: neither is understood, both wait for an answer that does not come and try again with a back-off drawn
//! from twice as many slots. What is understood is answered after SIFS. All this takes about as long for a frame of
//! 1 ms as for one of 30 us, so at high rates stations send many frames in one access (an aggregate), and the
//! receiver says which of them it got.
//!
//! What a transport sees of it: the capacity is one for both directions, so acknowledgments cost data its airtime;
//! packets come in trains at the rate on the air, with pauses of an access in between; a frame that is lost costs
//! the ones behind it a delay, not their order; and what is given up after the last try is lost in trains too.
//!
//! Standard: IEEE Std 802.11-2016, by clause in the files: `mode.rs` (19: frames on the air), `timing.rs` (9: sizes
//! of frames, intervals), `back_off.rs` (10.22.2: EDCA), `station.rs` (10.24: aggregates and block
//! acknowledgments). Access is by EDCA in the category best effort and not by DCF, as a station must that
//! aggregates; both alike, with one access category and no TXOP beyond one frame (its limit is 0 for best effort,
//! Table 9-137). G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC
//! 18(3), 2000, says what two stations get that always have something to send; the tests hold the code to it, as near
//! as his independent stations are to two that have only each other to collide with (6 % of the collisions).
//! `referee/wifi.py` holds its goodput against ns-3.44's: they agree to 2 %, and `referee/README.md` says where they
//! part and why.
//!
//! **Order of events.** An access at time t is noticed by the other station a slot later: if its own slot begins
//! before that, both have sent. So collisions need no common slots, and stations whose slots have come apart, as
//! after a collision of frames of unequal length, are treated right. After an access, with all times counted from
//! its end:
//! * answered: the slots of both stations begin AIFS after the answer;
//! * not answered: the sender's AIFS begins when it stops waiting for the answer, SIFS + slot + 20 us after its own
//!   frame, and not before the channel is idle; who heard something that it did not understand waits EIFS. After a
//!   collision both are senders.
//!
//! **When packets come out.** Each frame of an aggregate has its own checksum, and receivers take it from the air
//! as soon as its last symbol is decoded, not when the aggregate ends: so the packets of an aggregate come out one
//! after another, at the rate on the air. (Drivers that fetch several at an interrupt may bunch them further; that
//! is not here.) A packet behind a missing one comes out with it, or when the sender gives it up.
//!
//! **Outages** are those of a direction's description, and concern all that its sender sends, data and answers:
//! frames in them are not understood (an aggregate not at all if its preamble is not), yet are felt, so that nobody
//! sends at the same time. They are sent again as ever. An answer that is lost in an outage costs its airtime again
//! but no packet: the receiver has it.
//!
//! **Why a packet is lost.** One that was sent as often as allowed is given up. The cause is what the channel did to it
//! last: [`DropCause::Outage`], or [`DropCause::Random`] for [`WifiSpec::frame_loss`]; it is
//! [`DropCause::Contention`] only if all its tries collided.
//!
//! **The direction's other losses** are of what lies behind the radio: random loss, bursts and corruption meet a
//! packet once, when the receiving station has passed it on. Frames lost on the air, which are sent again, are
//! [`WifiSpec::frame_loss`]. The delay too is of what lies behind; the air itself takes less than a microsecond.
//!
//! What is simplified: one rate for ever; no beacons, power saving, other stations or other channels' noise; all
//! packets in one sequence; an IP packet is one frame whatever its size (real frames end at 2304 bytes of payload);
//! a sender knows of its failure when the channel becomes idle; no capture: of two frames that collide the stronger
//! is not understood either.

mod back_off;
mod mode;
mod spec;
mod station;
mod timing;

pub use mode::{HtMode, NoSuchRate};
pub use spec::{Aggregation, WifiSpec};

use crate::link::{Backlog, Counters, Fate};
#[cfg(doc)]
use crate::spec::DropCause;
use crate::spec::LinkSpec;
use back_off::BackOff;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use station::Station;
use timing::Timing;
use whimbrel_units::{Duration, Time};

/// Which of the two stations sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that sends in the written direction.
    Forward,
    /// The other one.
    Reverse,
}

impl Side {
    const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    const fn other(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

/// A packet that has left a station's queue, for good or ill. Packets of one side leave in the order in which they
/// were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Who sent it.
    pub side: Side,
    /// What became of it: when it comes out at the far end, or why it does not.
    pub fate: Fate,
}

/// What a station did on the air so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AirCounters {
    /// How often it took the channel.
    pub accesses: u64,
    /// How often of these the other one did so at the same time.
    pub collisions: u64,
    /// Frames that it sent, each as often as it was sent.
    pub frames: u64,
    /// Frames of these that did not collide and were not understood.
    pub frames_lost: u64,
    /// Time that its accesses kept the channel busy, answers and gaps within them included; that of a collision
    /// counts for both.
    pub airtime: Duration,
}

/// A Wi-Fi link at work: both directions and the channel they share. Unlike on a [`Link`](crate::Link), when a
/// packet leaves depends on what the other side does later, so it is told afterwards: call
/// [`advance`](Self::advance) at [`next`](Self::next).
#[derive(Debug)]
pub struct Wifi {
    timing: Timing,
    stations: [Station; 2],
    back_offs: [BackOff; 2],
    /// When each station sends if the channel stays idle until then.
    due: [Option<Time>; 2],
    phase: Phase,
    /// Of the back-offs.
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    /// One or both have begun; who has not cannot know yet.
    Begun {
        /// When each has begun.
        at: [Option<Time>; 2],
        /// When it is noticed.
        noticed: Time,
    },
    /// The access goes on until then.
    Busy {
        until: Time,
        /// Whether each has sent, and had an answer.
        answered: [Option<bool>; 2],
    },
}

impl Wifi {
    /// A channel at rest. Of the directions' specifications queue, loss and delay hold; their service is this
    /// channel, and their queues are DropTail.
    pub fn new(spec: &WifiSpec, directions: [&LinkSpec; 2], seed: u64) -> Self {
        let timing = Timing::new(spec);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Each 2^192 draws ahead of the one before: they never meet.
        let mut stream = || {
            let stream = rng.clone();
            rng.long_jump();
            stream
        };
        let stations = Side::BOTH.map(|side| {
            let direction = directions[side as usize];
            Station::new(side, spec, direction, stream(), stream())
        });
        Self {
            stations,
            back_offs: [(); 2].map(|()| BackOff::new(spec, timing.slot)),
            due: [None; 2],
            phase: Phase::Idle,
            rng: stream(),
            timing,
        }
    }

    /// Offers a packet of `size` bytes to a station's queue at `now`, which never goes back and is not after
    /// [`next`](Self::next). False if the queue is full: it is dropped.
    pub fn offer(&mut self, now: Time, side: Side, size: u32) -> bool {
        let s = side as usize;
        let first = !self.stations[s].has_frames();
        let joined = self.stations[s].join(now, size);
        if first {
            if let Phase::Busy { .. } = self.phase {
                self.back_offs[s].frame_came_while_busy(&mut self.rng);
            } else {
                self.due[s] = Some(self.back_offs[s].expires(now));
            }
        }
        joined
    }

    /// When something happens next if nothing is offered before.
    pub fn next(&self) -> Option<Time> {
        match self.phase {
            Phase::Idle => Side::BOTH
                .into_iter()
                .filter_map(|side| self.due[side as usize])
                .min(),
            Phase::Begun { at, noticed } => Some(
                Side::BOTH
                    .into_iter()
                    .filter(|side| at[*side as usize].is_none())
                    .filter_map(|side| self.due[side as usize])
                    .fold(noticed, Time::min),
            ),
            Phase::Busy { until, .. } => Some(until),
        }
    }

    /// Plays all that happens up to `now`; adds the packets that leave to `left`, in order of time. A packet is
    /// told of before it comes out, at the latest when its access is noticed.
    pub fn advance(&mut self, now: Time, left: &mut Vec<Departure>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            match self.phase {
                Phase::Idle => self.begin(at, [None; 2], at + self.timing.slot),
                // The other one's slot begins before it can notice.
                Phase::Begun { at: begun, noticed } if at < noticed => {
                    self.begin(at, begun, noticed);
                }
                Phase::Begun {
                    at: [Some(first), Some(second)],
                    ..
                } => self.collide([first, second]),
                Phase::Begun { at: begun, noticed } => {
                    for side in Side::BOTH {
                        if let Some(begins) = begun[side as usize] {
                            self.go_on(side, begins, noticed, left);
                        }
                    }
                }
                Phase::Busy { until, answered } => self.end(until, answered, left),
            }
        }
    }

    /// What waits at a station, the frames of the access under way and those to be sent again not counted.
    pub fn backlog(&self, side: Side) -> Backlog {
        self.stations[side as usize].backlog()
    }

    /// What a direction did so far.
    pub fn counters(&self, side: Side) -> &Counters {
        self.stations[side as usize].counters()
    }

    /// What a station did on the air so far.
    pub fn air(&self, side: Side) -> &AirCounters {
        self.stations[side as usize].air()
    }

    /// Lets those begin that are due at `now`.
    fn begin(&mut self, now: Time, mut at: [Option<Time>; 2], noticed: Time) {
        for side in Side::BOTH.map(|side| side as usize) {
            if self.due[side].take_if(|due| *due == now).is_some() {
                self.stations[side].load_up(now, &self.timing);
                at[side] = Some(now);
            }
        }
        self.phase = Phase::Begun { at, noticed };
    }

    /// Both have begun: nothing is understood.
    fn collide(&mut self, begins: [Time; 2]) {
        let timing = &self.timing;
        let ends = Side::BOTH.map(|side| {
            let load = self.stations[side as usize].load();
            let first_frame = if timing.rts_cts {
                timing.rts
            } else {
                timing.ht.frame(load.bytes())
            };
            begins[side as usize] + first_frame
        });
        let until = ends[0].max(ends[1]);
        for side in Side::BOTH.map(|side| side as usize) {
            self.stations[side].count_access(true, until.since(begins[side]));
            self.back_offs[side].resume((ends[side] + timing.timeout).max(until) + timing.aifs);
        }
        self.phase = Phase::Busy {
            until,
            answered: [Some(false); 2],
        };
    }

    /// One has begun, and the other one notices.
    fn go_on(&mut self, side: Side, begins: Time, noticed: Time, left: &mut Vec<Departure>) {
        let (sender, receiver) = (side as usize, side.other() as usize);
        let wants = self.stations[receiver].has_frames();
        self.back_offs[receiver].freeze(noticed, wants, &mut self.rng);

        let heard = self.exchange(side, begins, left);
        let timing = &self.timing;
        let (until, answered) = match heard {
            Heard::Answer { until } => (until, true),
            Heard::Nothing { until, .. } => (until, false),
        };
        let (sender_waits, receiver_waits) = match heard {
            Heard::Answer { until } => (until + timing.aifs, until + timing.aifs),
            Heard::Nothing {
                own_end,
                until,
                understood,
            } => (
                (own_end + timing.timeout).max(until) + timing.aifs,
                until + if understood { timing.aifs } else { timing.eifs },
            ),
        };
        self.back_offs[sender].resume(sender_waits);
        self.back_offs[receiver].resume(receiver_waits);
        self.stations[sender].count_access(false, until.since(begins));
        let mut both = [None; 2];
        both[sender] = Some(answered);
        self.phase = Phase::Busy {
            until,
            answered: both,
        };
    }

    /// What the sender hears in the end of an access that did not collide.
    fn exchange(&mut self, side: Side, begins: Time, left: &mut Vec<Departure>) -> Heard {
        let timing = &self.timing;
        let [forward, reverse] = &mut self.stations;
        let (sender, receiver) = match side {
            Side::Forward => (forward, reverse),
            Side::Reverse => (reverse, forward),
        };
        if timing.rts_cts {
            let own_end = begins + timing.rts;
            let answer_ends = own_end + timing.sifs + timing.cts;
            let understood = !sender.outages.cover(own_end);
            if !understood || receiver.outages.cover(answer_ends) {
                sender.fail_in_outage();
                return Heard::Nothing {
                    own_end,
                    until: if understood { answer_ends } else { own_end },
                    understood,
                };
            }
        }
        let data = begins + timing.before_data();
        let understood = sender.transmit(data, timing, left);
        let own_end = data + timing.ht.frame(sender.load().bytes());
        let answer_ends = own_end + timing.sifs + timing.answer(sender.load());
        if understood && !receiver.outages.cover(answer_ends) {
            Heard::Answer { until: answer_ends }
        } else {
            Heard::Nothing {
                own_end,
                until: if understood { answer_ends } else { own_end },
                understood,
            }
        }
    }

    /// The channel is idle again.
    fn end(&mut self, now: Time, answered: [Option<bool>; 2], left: &mut Vec<Departure>) {
        self.phase = Phase::Idle;
        for side in Side::BOTH.map(|side| side as usize) {
            let (station, back_off) = (&mut self.stations[side], &mut self.back_offs[side]);
            if let Some(answered) = answered[side] {
                station.end_access(now, answered, left);
                if answered {
                    back_off.succeeded(&mut self.rng);
                } else {
                    back_off.failed(&mut self.rng);
                }
            }
            self.due[side] = station.has_frames().then(|| back_off.expires(now));
        }
    }
}

/// How an access ended.
enum Heard {
    /// An answer came, until then.
    Answer { until: Time },
    /// None did.
    Nothing {
        /// When the sender's frame ended.
        own_end: Time,
        /// When the channel was idle.
        until: Time,
        /// Whether the receiver understood something and answered in vain.
        understood: bool,
    },
}

#[cfg(test)]
mod tests;
