//! A Wi-Fi link: two stations, a client and its access point, that share one channel of IEEE
//! 802.11n.
//!
//! **Overview.** Only one station can be received at a time. A station with a frame to send waits
//! until the channel has been idle for AIFS and then for a random number of slots. The station that
//! counts down to zero first sends; the other stops counting and resumes when the channel is idle
//! again. If both reach zero in the same slot, they collide: neither frame is received, both
//! stations wait for an acknowledgment that does not come, and retry with a back-off drawn from
//! twice as many slots. A received frame is acknowledged after SIFS. This overhead is about the
//! same for a frame of 1 ms as for one of 30 us. So at high rates stations send many frames in one
//! access (an aggregate), and the receiver reports which of them it received.
//!
//! **Effects on a transport.** Both directions share the capacity, so acknowledgments use airtime
//! of the data. Packets arrive in trains at the rate on the air, with a pause of one access in
//! between. A lost frame delays the frames behind it, but does not reorder them. Packets given up
//! at the retry limit are lost in trains too.
//!
//! **Standard.** IEEE Std 802.11-2016, by clause in the files: `mode.rs` (19: frames on the air),
//! `timing.rs` (9: frame sizes, intervals), `back_off.rs` (10.22.2: EDCA), `station.rs` (10.24:
//! aggregates and block acknowledgments). Access is by EDCA in the category best effort, not by
//! DCF, because a station that aggregates must use EDCA. Both stations have one access category and
//! no TXOP beyond one frame (its limit is 0 for best effort, Table 9-137). G. Bianchi, "Performance
//! Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000, computes
//! the throughput of two saturated stations. The tests compare the code with it; his model has
//! independent stations, while here each has only the other to collide with, which changes the
//! collisions by 6 %. `referee/wifi.py` compares the goodput with ns-3.44: they agree to 2 %, and
//! `referee/README.md` explains the differences.
//!
//! **Order of events.** The other station notices an access at time t one slot later; if its own
//! slot begins before that, both send. So collisions need no common slots, and stations whose slots
//! are not aligned, as after a collision of frames of different length, are handled correctly.
//! After an access, counted from its end:
//! * acknowledged: the slots of both stations begin AIFS after the acknowledgment
//! * not acknowledged: the sender's AIFS begins when it stops waiting for the acknowledgment, one
//!   SIFS, one slot and 20 us after its own frame, and not before the channel is idle. A station
//!   that received a frame incorrectly waits EIFS. After a collision both stations are senders.
//!
//! **When packets come out.** Each frame of an aggregate has its own checksum, and a receiver takes
//! it as soon as its last symbol is decoded, not at the end of the aggregate. So the packets of an
//! aggregate come out one after another, at the rate on the air. (Drivers that fetch several frames
//! per interrupt may bunch them; this is not modelled.) A packet behind a missing one comes out
//! together with it, or when the sender gives the missing one up.
//!
//! **Outages** belong to a direction and affect all that its sender sends, data and
//! acknowledgments. Frames in an outage are not received (a whole aggregate if its preamble is not
//! received), but the channel is sensed as busy, so the other station does not send. They are
//! retransmitted as usual. An acknowledgment lost in an outage costs another transmission, but no
//! packet: the receiver has the frame.
//!
//! **Cause of a loss.** A packet is given up at the retry limit. Its cause is the last one in
//! transit: [`DropCause::Outage`], or [`DropCause::Random`] for [`WifiSpec::frame_loss`]. It is
//! [`DropCause::Contention`] only if all transmissions collided.
//!
//! **A direction's other impairments** belong to the path behind the radio: random loss, bursts and
//! corruption meet a packet once, after the receiving station has passed it on. Frames lost on the
//! air, which are retransmitted, are [`WifiSpec::frame_loss`]. The delay also belongs to the path
//! behind; propagation on the air takes less than a microsecond.
//!
//! **Simplifications.** The rate is constant. There are no beacons, power saving, other stations or
//! noise of other channels. All packets form one sequence. An IP packet is one frame whatever its
//! size (real frames end at 2304 bytes of payload). A sender learns of its failure when the channel
//! becomes idle. There is no capture: of two colliding frames, the stronger is not received either.

mod back_off;
mod mode;
mod spec;
mod station;
mod timing;

pub use mode::{HtMode, NoSuchRate};
pub use spec::{Aggregation, WifiSpec};

use crate::counters::{Backlog, Counters, Fate};
#[cfg(doc)]
use crate::spec::DropCause;
use crate::spec::LinkSpec;
use back_off::BackOff;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use station::Station;
use timing::Timing;
use whimbrel_units::{Duration, Time};

/// The sending station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The station that sends in the forward direction.
    Forward,
    /// The other station.
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

/// A packet that a station has delivered or given up. Packets of one side leave in the order in
/// which they were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The sender.
    pub side: Side,
    /// When the packet comes out at the far end, or why it does not.
    pub fate: Fate,
}

/// A station's counters on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AirCounters {
    /// Number of accesses to the channel.
    pub accesses: u64,
    /// Number of accesses that collided.
    pub collisions: u64,
    /// Number of frames sent, retransmissions included.
    pub frames: u64,
    /// Number of these frames that did not collide and were not received.
    pub frames_lost: u64,
    /// Time that its accesses kept the channel busy, including acknowledgments and gaps within an
    /// access. A collision counts for both stations.
    pub airtime: Duration,
}

/// A Wi-Fi link: both directions and the channel that they share. When a packet leaves depends on
/// what the other side does later. So, unlike a [`Link`](crate::Link), it reports fates afterwards:
/// call [`advance`](Self::advance) at [`next`](Self::next).
#[derive(Debug)]
pub struct Wifi {
    timing: Timing,
    stations: [Station; 2],
    back_offs: [BackOff; 2],
    /// When each station sends if the channel stays idle until then.
    due: [Option<Time>; 2],
    phase: Phase,
    /// Draws the back-offs.
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    /// One or both stations have begun; the other one has not noticed yet.
    Begun {
        /// When each station has begun.
        at: [Option<Time>; 2],
        /// When the access is noticed.
        noticed: Time,
    },
    /// An access occupies the channel.
    Busy {
        /// When the access ends.
        until: Time,
        /// For each station that has sent, whether it was acknowledged.
        answered: [Option<bool>; 2],
    },
}

impl Wifi {
    /// An idle channel. It uses the queue, loss and delay of the directions; their service is this
    /// channel, and their queues are DropTail.
    pub fn new(spec: &WifiSpec, directions: [&LinkSpec; 2], seed: u64) -> Self {
        let timing = Timing::new(spec);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Each stream begins 2^192 draws after the one before it: they never overlap.
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

    /// Offers a packet of `size` bytes to a station's queue at `now`, which never goes back and is
    /// not after [`next`](Self::next). Returns false if the queue is full and the packet is
    /// dropped.
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

    /// When the link must be advanced next if no packet is offered before.
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

    /// Advances the link to `now`. Adds the packets that leave to `departed`, in order of time. A
    /// packet is reported before it comes out, at the latest when its access is noticed.
    pub fn advance(&mut self, now: Time, departed: &mut Vec<Departure>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            match self.phase {
                Phase::Idle => self.begin(at, [None; 2], at + self.timing.slot),
                // The other station's slot begins before it can notice.
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
                            self.go_on(side, begins, noticed, departed);
                        }
                    }
                }
                Phase::Busy { until, answered } => self.end(until, answered, departed),
            }
        }
    }

    /// The queue of a station, without frames of the current access and frames to be retransmitted.
    pub fn backlog(&self, side: Side) -> Backlog {
        self.stations[side as usize].backlog()
    }

    /// The counters of a direction so far.
    pub fn counters(&self, side: Side) -> &Counters {
        self.stations[side as usize].counters()
    }

    /// The counters of a station on the air so far.
    pub fn air(&self, side: Side) -> &AirCounters {
        self.stations[side as usize].air()
    }

    /// Starts the stations that are due at `now`.
    fn begin(&mut self, now: Time, mut at: [Option<Time>; 2], noticed: Time) {
        for side in Side::BOTH.map(|side| side as usize) {
            if self.due[side].take_if(|due| *due == now).is_some() {
                self.stations[side].load_up(now, &self.timing);
                at[side] = Some(now);
            }
        }
        self.phase = Phase::Begun { at, noticed };
    }

    /// Both stations have begun: neither frame is received.
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

    /// One station has begun, and the other notices.
    fn go_on(&mut self, side: Side, begins: Time, noticed: Time, departed: &mut Vec<Departure>) {
        let (sender, receiver) = (side as usize, side.other() as usize);
        let wants = self.stations[receiver].has_frames();
        self.back_offs[receiver].freeze(noticed, wants, &mut self.rng);

        let heard = self.exchange(side, begins, departed);
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

    /// The end of an access that did not collide, as the sender sees it.
    fn exchange(&mut self, side: Side, begins: Time, departed: &mut Vec<Departure>) -> Heard {
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
        let understood = sender.transmit(data, timing, departed);
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

    /// Ends an access: the channel is idle again.
    fn end(&mut self, now: Time, answered: [Option<bool>; 2], departed: &mut Vec<Departure>) {
        self.phase = Phase::Idle;
        for side in Side::BOTH.map(|side| side as usize) {
            let (station, back_off) = (&mut self.stations[side], &mut self.back_offs[side]);
            if let Some(answered) = answered[side] {
                station.end_access(now, answered, departed);
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

/// The end of an access, as the sender sees it.
enum Heard {
    /// An acknowledgment came, which ended at `until`.
    Answer { until: Time },
    /// No acknowledgment came.
    Nothing {
        /// When the sender's frame ended.
        own_end: Time,
        /// When the channel became idle.
        until: Time,
        /// Whether the receiver received a frame; then its acknowledgment was lost.
        understood: bool,
    },
}

#[cfg(test)]
mod tests;
