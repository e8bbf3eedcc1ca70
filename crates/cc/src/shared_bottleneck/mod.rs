//! Which paths of a connection share a bottleneck, and which of them carries its data then.
//!
//! Two paths over one bottleneck carry no more than one does, and beside others they take two
//! shares. So **of the paths that share a bottleneck one carries the data**, that with the highest
//! rate; the others stand by until it falls silent. The connection then is one flow there, whatever
//! its congestion control algorithm. Coupled increases ([`lia`](crate::registry)) come to the same
//! for NewReno, and would need another rule for each algorithm.
//!
//! **How it is found.** By trial: one path pauses, and if the queue of another one shrinks, it is
//! the same queue. A pause is no longer than 0.8 of the queue of the path that pauses, at most
//! 200 ms, so that its link does not fall idle. If *d* is the pause and *x* the path's part of what
//! arrives at the bottleneck, a common queue shrinks by `x*d`. RFC 8382 compares statistics of
//! delays instead (skewness, variation, oscillation); they agree by chance where two links of one
//! kind are filled alike, as those of two modems are. A pause of one link does nothing to another.
//!
//! * The lowest RTT of packets that leave around the pause is compared with those in two equal
//!   times before it. The queue has shrunk if it is below their continuation in a straight line by
//!   at least d/8 and 1 ms: queues grow between losses. It moves by itself, and the trial says
//!   nothing, if it shrank as much before, or if a window has changed by a third.
//! * A path shares the bottleneck after [`ENOUGH`] trials of a round in which its queue shrank, and
//!   does not after [`TOO_MANY`] in which it stayed. Then there is a rest, from 2 s, doubled up to
//!   32 s while nothing is found.
//! * A path stands by for a minute, since routes change. Then it carries data until the next round
//!   of trials, and if that finds the same, stands by for twice as long, up to 8 minutes.
//!
//! **When it does not work.** A bottleneck without a queue of 5 ms (a policer, a very short buffer)
//! is not noticed, nor one that the connection has an eighth of or less. A queue of acknowledgments
//! on a common way back looks like a common way forth.

mod trial;

use trial::{Finding, SHORTEST_PAUSE, Trial, pause_of};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// So many times a path's queue must shrink.
pub const ENOUGH: u32 = 4;
/// If it stays so often, the bottleneck is another one.
pub const TOO_MANY: u32 = 2;
/// Trials of a round that show nothing, at most.
const DISTURBED: u32 = 12;
/// Time after a round in which nothing was found, at first and at most.
const REST: Duration = Duration::from_secs(2);
const LONGEST_REST: Duration = Duration::from_secs(32);
/// How long a path stands by, at first; and how often that doubles.
const STAND_BY: Duration = Duration::from_secs(60);
const DOUBLINGS: u32 = 3;
/// Time between two looks at whether a trial may begin.
const LOOK: Duration = Duration::from_millis(20);
/// The fractional part of the golden ratio: its multiples, without their whole parts, are spread
/// evenly.
const GOLDEN: f64 = 0.618_034;

/// What an acknowledgment says of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathSample {
    /// When it arrived.
    pub at: Time,
    /// The RTT sample.
    pub rtt: Duration,
    /// Minimum RTT of the path so far.
    pub min_rtt: Duration,
    /// Congestion window.
    pub cwnd: Bytes,
    /// What the path carries.
    pub rate: Rate,
}

impl PathSample {
    fn queue(&self) -> Duration {
        self.rtt - self.min_rtt
    }
}

/// A path.
#[derive(Debug, Clone)]
struct Known {
    id: u32,
    last: PathSample,
    stands_by: Option<StandBy>,
    /// How often it was found on another path's bottleneck, without a contradiction.
    confirmed: u32,
}

#[derive(Debug, Clone, Copy)]
struct StandBy {
    carrier: u32,
    until: Time,
}

/// The trials with one path that pauses.
#[derive(Debug, Clone, Default)]
struct Round {
    subject: u32,
    evidence: Vec<Evidence>,
    disturbed: u32,
}

#[derive(Debug, Clone, Copy)]
struct Evidence {
    id: u32,
    shrank: u32,
    stayed: u32,
}

impl Evidence {
    fn is_open(&self) -> bool {
        self.shrank < ENOUGH && self.stayed < TOO_MANY
    }
}

/// Finds the paths of a connection that share a bottleneck.
#[derive(Debug, Clone)]
pub struct SharedBottleneck {
    known: Vec<Known>,
    round: Option<Round>,
    trial: Option<Trial>,
    /// No trial begins before.
    next: Time,
    rest: Duration,
    /// Rounds and trials so far.
    rounds: usize,
    trials: u32,
}

impl Default for SharedBottleneck {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            round: None,
            trial: None,
            next: Time::ZERO,
            rest: REST,
            rounds: 0,
            trials: 0,
        }
    }
}

impl SharedBottleneck {
    /// Data of path `id` was acknowledged.
    pub fn on_sample(&mut self, id: u32, sample: &PathSample) {
        match self.known.iter_mut().find(|known| known.id == id) {
            Some(known) => known.last = *sample,
            None => {
                self.known.push(Known {
                    id,
                    last: *sample,
                    stands_by: None,
                    confirmed: 0,
                });
                // A new path first fills its window.
                self.next = self.next.max(sample.at + REST / 2);
            }
        }
        if let Some(trial) = &mut self.trial {
            trial.on_sample(id, sample);
        }
    }

    /// Path `id` is closed.
    pub fn forget(&mut self, id: u32) {
        self.known.retain(|known| known.id != id);
        for known in &mut self.known {
            known.stands_by = known.stands_by.filter(|by| by.carrier != id);
        }
        (self.trial, self.round) = (None, None);
    }

    /// Does what is due. `waiting`: more data is to be sent than the windows of the paths let.
    pub fn advance(&mut self, now: Time, waiting: bool) {
        if self.known.len() < 2 {
            return;
        }
        for known in &mut self.known {
            if known.stands_by.is_some_and(|by| by.until <= now) {
                known.stands_by = None;
                self.rest = REST;
                self.next = now + REST / 2;
            }
        }
        if let Some(trial) = &mut self.trial {
            trial.disturbed |= !waiting;
            if trial.is_over(now) {
                self.judge(now);
            }
        } else if waiting && now >= self.next {
            self.begin(now);
        }
    }

    /// Leaves those of the usable paths over which new data may leave now; `id` is a path's number.
    pub fn keep<T: Copy>(&self, now: Time, usable: &mut Vec<T>, id: impl Fn(T) -> u32) {
        if self.known.len() < 2 || usable.len() < 2 {
            return;
        }
        let all = usable.clone();
        let carries = |path: u32| all.iter().any(|usable| id(*usable) == path);
        usable.retain(|path| self.carrier(id(*path)).is_none_or(|other| !carries(other)));
        if usable.len() > 1
            && let Some(paused) = self.trial.as_ref().and_then(|trial| trial.pauses(now))
        {
            usable.retain(|path| id(*path) != paused);
        }
    }

    /// The path for which path `id` stands by.
    pub fn carrier(&self, id: u32) -> Option<u32> {
        let known = self.known.iter().find(|known| known.id == id)?;
        known.stands_by.map(|by| by.carrier)
    }

    /// When a pause ends, if there is one: more may be sent then.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        self.trial.as_ref().and_then(|trial| trial.pause_ends(now))
    }

    fn begin(&mut self, now: Time) {
        self.next = now + LOOK;
        let mut active: Vec<(u32, PathSample)> = self
            .known
            .iter()
            .filter(|known| known.stands_by.is_none())
            .filter(|known| now.since(known.last.at) <= known.last.rtt)
            .map(|known| (known.id, known.last))
            .collect();
        if active.len() < 2 {
            self.round = None;
            return;
        }
        active.sort_unstable_by_key(|(id, path)| (std::cmp::Reverse(path.rate), *id));
        let round = self.round.get_or_insert_with(|| {
            // All but the slowest take turns; each is compared with those that are slower.
            let turn = self.rounds % (active.len() - 1);
            let evidence = active[turn + 1..].iter().map(|(id, _)| Evidence {
                id: *id,
                shrank: 0,
                stayed: 0,
            });
            Round {
                subject: active[turn].0,
                evidence: evidence.collect(),
                disturbed: 0,
            }
        });
        let find = |id: u32| active.iter().find(|(other, _)| *other == id);
        let open = round.evidence.iter().filter(|evidence| evidence.is_open());
        let others: Vec<(u32, &PathSample)> = open
            .filter_map(|evidence| find(evidence.id))
            .filter(|(_, path)| path.queue() >= SHORTEST_PAUSE)
            .map(|(id, path)| (*id, path))
            .collect();
        let Some((id, subject)) = find(round.subject) else {
            self.round = None;
            return;
        };
        if let Some(pause) = pause_of(subject).filter(|_| !others.is_empty()) {
            self.trial = Some(Trial::new(now, (*id, subject), pause, &others));
        }
    }

    fn judge(&mut self, now: Time) {
        let (Some(trial), Some(round)) = (self.trial.take(), &mut self.round) else {
            return;
        };
        self.trials = self.trials.wrapping_add(1);
        self.next = now + trial.gap((f64::from(self.trials) * GOLDEN).fract());
        let mut shown = false;
        for (id, finding) in trial.findings() {
            let evidence = round.evidence.iter_mut().find(|e| e.id == id);
            match (evidence, finding) {
                (Some(evidence), Finding::Shrank) => evidence.shrank += 1,
                (Some(evidence), Finding::Stayed) => evidence.stayed += 1,
                _ => continue,
            }
            shown = true;
        }
        round.disturbed += u32::from(!shown);
        if round.disturbed < DISTURBED && round.evidence.iter().any(Evidence::is_open) {
            return;
        }
        self.end_round(now);
    }

    fn end_round(&mut self, now: Time) {
        let Some(Round {
            subject, evidence, ..
        }) = self.round.take()
        else {
            return;
        };
        self.rounds += 1;
        let mut found = false;
        for Evidence { id, shrank, stayed } in evidence {
            let Some(known) = self.known.iter_mut().find(|known| known.id == id) else {
                continue;
            };
            if shrank >= ENOUGH {
                let until = now + STAND_BY * (1 << known.confirmed);
                known.stands_by = Some(StandBy {
                    carrier: subject,
                    until,
                });
                known.confirmed = (known.confirmed + 1).min(DOUBLINGS);
                found = true;
            } else if stayed >= TOO_MANY {
                known.confirmed = 0;
            }
        }
        self.rest = match found {
            true => REST,
            false => (self.rest * 2).min(LONGEST_REST),
        };
        self.next = now + self.rest;
    }
}

#[cfg(test)]
mod tests;
