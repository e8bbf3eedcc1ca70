//! Paths that fall silent.
//!
//! A path is silent when data is in flight on it and nothing has been acknowledged for a probe
//! timeout (RFC 9002 section 6.2.1), without the back-off and at least [`AT_LEAST`], while another
//! path lives. Then
//!
//! 1. new data leaves over the others, and the peer is told that the path is a backup;
//! 2. what is in flight on it leaves again over the others. noq does so when a later packet of the
//!    same path is acknowledged, so one takes a **detour** over the link of another path: QUIC lets
//!    a path move to another address at any time (RFC 9000 section 9). Its acknowledgment comes one
//!    round trip of the living path later. Closing the path instead would take three of its PTOs
//!    more;
//! 3. it is probed over its own link, and carries data again when a probe is acknowledged.
//!
//! Only a client can take a detour: a server has one address. It asks for it, in a DATAGRAM frame
//! over the living path ([`Message::Silent`](crate::feedback)).

use super::{Path, Paths};
use noq_proto::{Connection, PathId};
use std::time::{Duration, Instant};

/// A shorter silence means nothing: threads and timers of two hosts.
const AT_LEAST: Duration = Duration::from_millis(100);
/// How long a peer may hold back an acknowledgment (RFC 9000 section 18.2, default).
const ACK_DELAY: Duration = Duration::from_millis(25);
/// Time between two probes of a silent path, at least.
const PROBE: Duration = Duration::from_millis(250);
/// After so long, probes are four times as rare.
const LONG: Duration = Duration::from_secs(10);
/// Time between two packets that take a detour, at least.
const DETOUR: Duration = Duration::from_millis(100);
/// A path on which something arrived within this time lives.
const RECENT: Duration = Duration::from_millis(50);

/// How a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// As far as is known, it carries packets.
    Good,
    /// Nothing comes back.
    Silent {
        since: Instant,
        /// What was in flight on it is on its way over other paths.
        rescued: bool,
        /// When it is tested next.
        next: Instant,
    },
}

impl Health {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }

    /// Packets of the path leave over the link of another one.
    fn takes_detour(&self) -> bool {
        matches!(self, Self::Silent { rescued: false, .. })
    }
}

impl Path {
    /// How long the path may be silent.
    fn patience(&self) -> Duration {
        let view = self.view();
        if view.srtt.is_zero() {
            return Duration::from_secs(1);
        }
        let deviation = Duration::from(view.rttvar) * 4;
        let pto = Duration::from(view.srtt) + deviation.max(Duration::from_millis(10)) + ACK_DELAY;
        pto.max(AT_LEAST)
    }

    /// When the path counts as silent.
    fn silent_at(&self) -> Option<Instant> {
        let unanswered = self.control.lock().lane.unanswered?;
        Some(unanswered + self.patience())
    }

    /// Whether another path can rely on this one: something has just come back, or nothing is in
    /// flight. That it is not silent yet says nothing: if the path that carries all
    /// acknowledgments dies, all fall silent at the same time.
    fn lives(&self, now: Instant) -> bool {
        let (heard, unanswered) = {
            let lane = &self.control.lock().lane;
            (lane.heard, lane.unanswered)
        };
        let recent = RECENT.max(Duration::from(self.view().srtt) / 4);
        let proof = heard.max(self.arrived).is_some_and(|at| now < at + recent);
        self.is_usable() && (proof || unanswered.is_none())
    }

    fn begin_silence(&mut self, now: Instant) {
        self.health = Health::Silent {
            since: now,
            rescued: false,
            next: now,
        };
        let lane = &mut self.control.lock().lane;
        (lane.detour, lane.heard_by_detour) = (None, None);
    }
}

impl Paths {
    /// The peer says that what it sends over a path does not arrive.
    pub fn on_silent(&mut self, now: Instant, number: u32) {
        let lives = |path: &Path| path.number != number && path.lives(now);
        if !self.open.iter().any(lives) {
            return;
        }
        let Some(path) = self.open.iter_mut().find(|path| path.number == number) else {
            return;
        };
        let recent = |at: Option<Instant>| at.is_some_and(|at| now < at + RECENT);
        let heard = path.control.lock().lane.heard;
        // What this end sends over it arrives, or something has just come: the peer's word is old.
        if path.established && path.health.is_good() && !recent(path.arrived) && !recent(heard) {
            path.begin_silence(now);
            self.voice.on_change();
        }
    }

    /// When a path must be looked at.
    pub(super) fn next_health(&self) -> Option<Instant> {
        if self.open.len() < 2 {
            return None;
        }
        let at = |path: &Path| match path.health {
            Health::Good if path.established => path.silent_at(),
            Health::Good => None,
            Health::Silent { next, .. } => Some(next),
        };
        let next = self.open.iter().filter_map(at).min();
        // If all are silent, none is worse than another: they are looked at again a little later.
        next.max(self.looked.map(|looked| looked + Duration::from_millis(5)))
            .filter(|_| next.is_some())
    }

    /// Notices silence, tests silent paths, and ends a silence.
    pub(super) fn watch_health(&mut self, now: Instant, proto: &mut Connection) {
        if self.open.len() < 2 {
            return;
        }
        if self.next_health().is_none_or(|at| at > now) && !self.heard_again() {
            return;
        }
        self.looked = Some(now);
        for index in 0..self.open.len() {
            let lives = |other: usize| other != index && self.open[other].lives(now);
            let another_lives = (0..self.open.len()).any(lives);
            // If all others are silent, none is better than another: each is tested over its link.
            let others = self
                .open
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index);
            let is_last = others.clone().any(|(_, other)| other.established)
                && others.clone().all(|(_, other)| !other.is_usable());
            match self.open[index].health {
                Health::Good => {
                    let path = &mut self.open[index];
                    let silent = path.silent_at().is_some_and(|at| at <= now);
                    if path.established && silent && (another_lives || is_last) {
                        path.begin_silence(now);
                        self.voice.on_change();
                        self.test(now, proto, index);
                    }
                }
                Health::Silent { since, .. } if self.is_back(index, since, proto) => {
                    let path = &mut self.open[index];
                    path.health = Health::Good;
                    let lane = &mut path.control.lock().lane;
                    lane.unanswered = lane.unanswered.map(|_| now);
                    self.voice.on_change();
                }
                Health::Silent { next, .. } => {
                    self.note_rescue(index);
                    if next <= now {
                        self.test(now, proto, index);
                    }
                }
            }
        }
    }

    /// A packet of a silent path was acknowledged.
    fn heard_again(&self) -> bool {
        self.open.iter().any(|path| match path.health {
            Health::Good => false,
            Health::Silent { since, rescued, .. } => {
                let lane = &path.control.lock().lane;
                let after = |at: Option<Instant>| at.is_some_and(|at| at > since);
                after(lane.heard) || (!rescued && after(lane.heard_by_detour))
            }
        })
    }

    /// A packet that went over the path's own link was acknowledged.
    fn is_back(&self, index: usize, since: Instant, proto: &Connection) -> bool {
        let path = &self.open[index];
        let heard = path.control.lock().lane.heard;
        let remote = |id: PathId| proto.network_path(id).ok().map(|path| path.remote());
        // While a client takes a detour, its server sees two paths from one address.
        let mut others = self.open.iter().filter(|other| other.id != path.id);
        let is_shadow = proto.side().is_server()
            && others.any(|other| other.established && remote(other.id) == remote(path.id));
        heard.is_some_and(|at| at > since) && !is_shadow
    }

    fn note_rescue(&mut self, index: usize) {
        let path = &mut self.open[index];
        let by_detour = path.control.lock().lane.heard_by_detour;
        if let Health::Silent { since, rescued, .. } = &mut path.health
            && by_detour.is_some_and(|at| at >= *since)
        {
            *rescued = true;
        }
    }

    /// Sends one packet over a silent path, or over its detour.
    fn test(&mut self, now: Instant, proto: &mut Connection, index: usize) {
        let living = self.open.iter().filter(|path| path.is_usable());
        let living = living.map(|path| Duration::from(path.view().srtt)).min();
        let path = &mut self.open[index];
        let srtt = Duration::from(path.view().srtt);
        let (id, number) = (path.id, path.number);
        let Health::Silent {
            since,
            rescued,
            ref mut next,
        } = path.health
        else {
            return;
        };
        let pause = match rescued {
            false => DETOUR.max(living.unwrap_or_default() * 3 / 2),
            true if now > since + LONG => 4 * PROBE.max(srtt),
            true => PROBE.max(srtt),
        };
        *next = now + pause;
        path.control.lock().one_more = true;
        proto.ping_path(id).ok();
        if proto.side().is_server() {
            self.ask_for_detour = Some(number);
        }
    }

    /// The link over which a packet of a path leaves.
    pub(super) fn link_of(&mut self, index: usize, number: u64) -> usize {
        let path = &self.open[index];
        if !path.health.takes_detour() {
            return path.link;
        }
        let living = self.open.iter().filter(|path| path.is_usable());
        let living = living.min_by_key(|path| path.view().srtt);
        match living {
            Some(living) => {
                let lane = &mut path.control.lock().lane;
                let first = lane.detour.map_or(number, |(first, _)| first);
                lane.detour = Some((first, number));
                living.link
            }
            None => path.link,
        }
    }
}
