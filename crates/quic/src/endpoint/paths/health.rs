//! Paths that fall silent, and paths that are given up.
//!
//! A path is silent when data is in flight on it and nothing has been acknowledged for a probe
//! timeout (RFC 9002 section 6.2.1), without the back-off and at least [`AT_LEAST`], while another
//! path lives. New data then leaves over the others, the peer is told that the path is a backup,
//! and it is probed. It carries data again when a packet is acknowledged that left over it after its
//! last word, such as a probe: a fade costs its length. Acknowledgments of earlier packets prove
//! nothing. If the path that dies is the one on which the peer sends all acknowledgments, those of
//! the last round trip come late, over another path
//! ([`PathTraffic::on_news`](crate::path_traffic::PathTraffic::on_news)).
//!
//! noq sends what is in flight on a path again when a later packet of the same path is
//! acknowledged, or when the path is closed and forgotten. So a path is **given up**, which closes
//! it, when another one would bring its data sooner:
//!
//! * it has been silent for [`FADE`]; or it is silent and either nothing else waits to be sent, as
//!   at the end of a transfer, or the application needs its data in order, as that of a pipe: then
//!   everything waits for what is in flight there;
//! * it is not silent, but nothing else waits, and a faster path that is idle can carry all that is
//!   in flight on this one before the acknowledgment of it comes back.
//!
//! noq forgets a closed path three probe timeouts after the peer has confirmed the end, in case
//! packets of it are still under way (RFC 10069). Here the peer's word is the reason to send again
//! at once: the connection's timers up to this one are fired early ([`Paths::forget_closed`]).
//! Packets that arrive later for a forgotten path are ignored by both ends.
//!
//! The client opens another path over the same link, again and again until the peer answers.

use super::{Former, Path, Paths};
use noq_proto::Connection;
use std::time::{Duration, Instant};
use whimbrel_cc::path_scheduler;
use whimbrel_units::Bytes;

/// A shorter silence means nothing: threads and timers of two hosts.
const AT_LEAST: Duration = Duration::from_millis(100);
/// The probe timeout before the first RTT sample.
const UNKNOWN: Duration = Duration::from_secs(1);
/// Time between two probes of a silent path, at least.
const PROBE: Duration = Duration::from_millis(100);
/// A path that has been silent for so long is given up although other data waits.
const FADE: Duration = Duration::from_secs(2);
/// A path on which something arrived within this time lives.
const RECENT: Duration = Duration::from_millis(50);
/// Nothing waits only if that is so for so long: an application may need a moment to write more.
const DRY: Duration = Duration::from_millis(20);
/// No timer further ahead is fired early.
const AHEAD: Duration = Duration::from_secs(5);

/// How a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// As far as is known, it carries packets.
    Good,
    /// Nothing comes back.
    Silent {
        since: Instant,
        /// When a packet of it was last acknowledged before, or left.
        last: Instant,
        /// When it is probed next.
        next: Instant,
    },
}

impl Health {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }
}

impl Path {
    fn srtt(&self) -> Duration {
        self.view().srtt.into()
    }

    /// The probe timeout, without the back-off.
    fn probe_timeout(&self) -> Duration {
        let known = self.control.lock().traffic.probe_timeout;
        if known.is_zero() {
            UNKNOWN
        } else {
            known.into()
        }
    }

    /// When the path counts as silent.
    fn silent_at(&self) -> Option<Instant> {
        let unanswered = self.control.lock().traffic.unanswered?;
        Some(unanswered + self.probe_timeout().max(AT_LEAST))
    }

    /// Whether another path can rely on this one: something has just come back, or nothing is in
    /// flight. That it is not silent yet says nothing: if the path that carries all acknowledgments
    /// dies, all fall silent at the same time.
    fn lives(&self, now: Instant) -> bool {
        let idle = self.control.lock().traffic.unanswered.is_none();
        self.is_usable() && (idle || self.has_just_spoken(now))
    }

    /// A packet has just arrived over it, or one of it was acknowledged.
    fn has_just_spoken(&self, now: Instant) -> bool {
        let recent = RECENT.max(self.srtt() / 4);
        self.last_spoken().is_some_and(|at| now < at + recent)
    }

    /// When a packet last arrived over it, or one of it was last acknowledged.
    fn last_spoken(&self) -> Option<Instant> {
        self.control.lock().traffic.heard.max(self.arrived)
    }

    /// A packet that left after `last` was acknowledged. Acknowledgments of earlier ones may only
    /// be late: they came over another path.
    fn is_back(&self, last: Instant) -> bool {
        let sent = self.control.lock().traffic.newest_acked;
        sent.is_some_and(|at| at > last)
    }

    /// When a packet of it was last acknowledged; otherwise when the first one left.
    fn last_word(&self) -> Option<Instant> {
        let traffic = &self.control.lock().traffic;
        traffic.heard.max(traffic.unanswered)
    }
}

impl Former {
    /// How long noq keeps it after the peer has confirmed its end, at most. noq takes three probe
    /// timeouts by all RTT samples, late ones included.
    fn drain_time(&self) -> Duration {
        let view = self.control.lock().traffic.view;
        let timeout = Duration::from(view.srtt + view.rttvar * 4) + AT_LEAST;
        match view.srtt.is_zero() {
            true => AHEAD,
            false => (timeout * 4).min(AHEAD),
        }
    }
}

impl Paths {
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
        let mut next = self.open.iter().filter_map(at).min()?;
        if let Some(dry) = self.dry_since {
            next = next.min(dry + DRY);
        }
        // If all are silent, none is worse than another: they are looked at again a little later.
        let looked = self.looked.map(|looked| looked + Duration::from_millis(5));
        Some(looked.map_or(next, |looked| next.max(looked)))
    }

    /// Notices silence, probes silent paths, ends a silence, and gives paths up.
    pub(super) fn watch_health(&mut self, now: Instant, proto: &mut Connection) {
        self.forget_closed(now, proto);
        if self.open.len() < 2 {
            return;
        }
        let is_due = self.next_health().is_some_and(|at| at <= now);
        let heard_again = self.open.iter().any(|path| match path.health {
            Health::Good => false,
            Health::Silent { last, .. } => path.is_back(last),
        });
        if is_due || heard_again {
            self.looked = Some(now);
            for index in 0..self.open.len() {
                self.watch_path(now, proto, index);
            }
        }
        let is_dry = self.dry_since.is_some_and(|since| now >= since + DRY);
        let by_data = is_dry && self.is_sender;
        let hopeless = |index: &usize| self.is_hopeless(now, *index, is_dry, by_data);
        if let Some(index) = (0..self.open.len()).find(hopeless) {
            let id = self.open[index].id;
            self.close(now, proto, id);
        }
    }

    fn watch_path(&mut self, now: Instant, proto: &mut Connection, index: usize) {
        let another_lives = self.another_lives(now, index);
        let others = || self.open.iter().enumerate().filter(|(i, _)| *i != index);
        // If all others are silent, this one is no better: each is probed.
        let is_last = others().any(|(_, other)| other.established)
            && others().all(|(_, other)| !other.is_usable());
        let path = &mut self.open[index];
        match path.health {
            Health::Good => {
                let silent = path.silent_at().is_some_and(|at| at <= now);
                if path.established && silent && (another_lives || is_last) {
                    path.health = Health::Silent {
                        since: now,
                        last: path.last_word().unwrap_or(now),
                        next: now,
                    };
                    path.probe(now, proto);
                    self.voice.on_change();
                    self.ping_idle_paths(proto);
                }
            }
            Health::Silent { last, .. } if path.is_back(last) => {
                path.health = Health::Good;
                let traffic = &mut path.control.lock().traffic;
                traffic.unanswered = traffic.unanswered.map(|_| now);
                self.voice.on_change();
            }
            Health::Silent { next, .. } if next <= now => path.probe(now, proto),
            Health::Silent { .. } => {}
        }
    }

    /// A path has fallen silent: pings the usable paths on which nothing is in flight, because only
    /// an answer proves that they live.
    fn ping_idle_paths(&self, proto: &mut Connection) {
        for path in self.open.iter().filter(|path| path.is_usable()) {
            if path.control.lock().traffic.unanswered.is_none() {
                proto.ping_path(path.id).ok();
            }
        }
    }

    fn another_lives(&self, now: Instant, index: usize) -> bool {
        let mut others = self.open.iter().enumerate().filter(|(i, _)| *i != index);
        others.any(|(_, other)| other.lives(now))
    }

    /// Whether another path would bring what is in flight on this one sooner.
    ///
    /// `is_dry`: nothing else waits. `by_data`: that matters to data in flight. A receiver has only
    /// reports in flight, which may arrive late.
    fn is_hopeless(&self, now: Instant, index: usize, is_dry: bool, by_data: bool) -> bool {
        let path = &self.open[index];
        // If this path is silent, an idle one may be dead: it may have swallowed the
        // acknowledgments of this one.
        let is_proven = |other: &Path| match path.health {
            Health::Silent { since, .. } => {
                let since = path.control.lock().traffic.unanswered.unwrap_or(since);
                other.last_spoken() > Some(since)
            }
            Health::Good => other.lives(now),
        };
        let mut others = self.open.iter().filter(|other| other.id != path.id);
        if !path.established || !others.any(|other| other.is_usable() && is_proven(other)) {
            return false;
        }
        let has_data = by_data && path.control.lock().traffic.data_in_flight > 0;
        match path.health {
            Health::Silent { since, .. } => {
                let is_late = now >= since + FADE;
                let is_needed = has_data || is_dry && self.awaits_answer(now, path);
                self.in_order || is_late || is_needed
            }
            Health::Good => has_data && self.can_overtake(now, path),
        }
    }

    /// Whether a path may have swallowed what the application has just written, although it is too
    /// little to count as data. While something arrives over the path, its acknowledgments are
    /// only late: those of a sender leave over whichever path sends first.
    fn awaits_answer(&self, now: Instant, path: &Path) -> bool {
        let unanswered = path.control.lock().traffic.unanswered;
        let arrives = unanswered.is_some_and(|since| path.arrived.is_some_and(|at| at > since));
        self.has_written(now, FADE) && !arrives
    }

    /// Whether a faster path that has nothing in flight would carry all that is in flight on `path`
    /// before its acknowledgment comes back.
    fn can_overtake(&self, now: Instant, path: &Path) -> bool {
        let (in_flight, last_sent) = {
            let traffic = &path.control.lock().traffic;
            (traffic.in_flight, traffic.last_sent)
        };
        let Some(last_sent) = last_sent.filter(|_| in_flight > 0) else {
            return false;
        };
        let kept = (last_sent + path.srtt()).saturating_duration_since(now);
        let mut idle = self.open.iter().filter(|other| {
            let is_idle = other.control.lock().traffic.unanswered.is_none();
            other.id != path.id && other.is_usable() && is_idle
        });
        let (in_flight, kept) = (Bytes::new(in_flight), kept.into());
        idle.any(|other| path_scheduler::overtakes(&other.view(), in_flight, kept))
    }

    /// Lets noq forget closed paths whose end the peer has confirmed, so that it sends their data
    /// again.
    fn forget_closed(&mut self, now: Instant, proto: &mut Connection) {
        if self.former.iter().all(|former| former.discarded) || proto.is_closed() {
            return;
        }
        let confirmed = proto.stats().frame_rx.path_abandon;
        if std::mem::replace(&mut self.confirmed, confirmed) == confirmed {
            return;
        }
        // Controllers must not see their clock run ahead.
        self.set_real_time(Some(now));
        for former in self.former.iter().filter(|former| !former.discarded) {
            let until = now + former.drain_time();
            while proto.path_stats(former.id).is_some()
                && let Some(at) = proto.poll_timeout()
                && at <= until
            {
                proto.handle_timeout(at.max(now));
            }
        }
        self.set_real_time(None);
    }

    fn set_real_time(&self, time: Option<Instant>) {
        let former = self.former.iter().map(|former| &former.control);
        let open = self.open.iter().map(|path| &path.control);
        former
            .chain(open)
            .for_each(|control| control.lock().real_time = time);
    }
}

impl Path {
    /// Sends one packet over a silent path.
    fn probe(&mut self, now: Instant, proto: &mut Connection) {
        let Health::Silent { since, next, .. } = &mut self.health else {
            return;
        };
        // As rare as it has been silent.
        let pause = PROBE.max(now.saturating_duration_since(*since) / 4);
        *next = now + pause;
        self.control.lock().one_more = true;
        proto.ping_path(self.id).ok();
    }
}
