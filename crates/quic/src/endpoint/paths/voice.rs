//! The path on which acknowledgments leave.
//!
//! noq puts the acknowledgments of all paths into the first packet of the first path that may send,
//! whatever its RTT, dead or alive. Only a path's status keeps it from that. So an end that sends
//! little keeps one path Available and makes the others Backup: the one with the lowest RTT, unless
//! packets arrive on another path and not on this one. An end whose data waits makes all Available:
//! its acknowledgments leave with its data.
//!
//! Each change of a status is a frame to the peer, so changes are rare.

use super::{Path, Paths};
use noq_proto::{Connection, PathId, PathStatus};
use std::time::{Duration, Instant};

/// After so long without data that waits, one path is enough.
const BUSY: Duration = Duration::from_secs(1);
/// A path on which nothing has arrived for so long is quiet, if something arrived on another path
/// [`LATER`] or more after the last packet on this one.
const QUIET: Duration = Duration::from_millis(60);
const LATER: Duration = Duration::from_millis(30);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Time before a path that still speaks is left for one that is somewhat faster.
const STAY: Duration = Duration::from_millis(500);

/// The path on which acknowledgments leave.
#[derive(Debug, Default)]
pub(super) struct Voice {
    path: Option<PathId>,
    since: Option<Instant>,
    looked: Option<Instant>,
    /// Something has changed: look now.
    changed: bool,
}

impl Voice {
    /// Paths have come, gone or fallen silent.
    pub fn on_change(&mut self) {
        self.changed = true;
    }
}

impl Paths {
    /// Whether data waited within the last second although the best path was full.
    fn is_busy(&self, now: Instant) -> bool {
        self.busy.is_some_and(|busy| now < busy + BUSY)
    }

    /// When the status of paths must be looked at although nothing arrives.
    pub(super) fn next_status(&self) -> Option<Instant> {
        if self.open.len() < 2 {
            return None;
        }
        let due = [self.busy.map(|busy| busy + BUSY), self.voice_quiet_at()];
        let due = due.into_iter().flatten().min()?;
        // Not before the next look: a deadline that has passed and changes nothing never ends.
        let look = self.voice.looked.map(|looked| looked + LOOK);
        Some(look.map_or(due, |look| look.max(due)))
    }

    /// When the path on which acknowledgments leave is quiet, if nothing arrives on it.
    fn voice_quiet_at(&self) -> Option<Instant> {
        let is_it = |path: &&Path| Some(path.id) == self.voice.path && path.is_usable();
        self.quiet_at(self.open.iter().find(is_it)?)
    }

    /// When a path is or was quiet, if nothing arrives on it.
    fn quiet_at(&self, path: &Path) -> Option<Instant> {
        let arrived = path.arrived?;
        let others = self.open.iter().filter(|other| other.id != path.id);
        let later = |other: &Path| other.arrived.is_some_and(|at| at >= arrived + LATER);
        others.into_iter().any(later).then_some(arrived + QUIET)
    }

    fn is_quiet(&self, now: Instant, path: &Path) -> bool {
        path.arrived.is_none() || self.quiet_at(path).is_some_and(|at| now >= at)
    }

    /// Sets the status of all paths.
    pub(super) fn set_status(&mut self, now: Instant, proto: &mut Connection) {
        if self.open.len() < 2 {
            return;
        }
        let busy = self.is_busy(now);
        let mut usable = self.open.iter().filter(|path| path.is_usable());
        let all = usable.all(|path| path.status == PathStatus::Available);
        let due = self.voice.looked.is_none_or(|looked| now >= looked + LOOK);
        let just_busy = busy && !all;
        if !due && !just_busy && !std::mem::take(&mut self.voice.changed) {
            return;
        }
        if !busy {
            self.busy = None;
        }
        self.voice.looked = Some(now);
        self.choose_voice(now);
        for path in self.open.iter_mut().filter(|path| path.established) {
            let is_voice = self.voice.path == Some(path.id);
            let carries = path.is_usable() && busy;
            let status = match carries || is_voice {
                true => PathStatus::Available,
                false => PathStatus::Backup,
            };
            if status != path.status && proto.set_path_status(path.id, status).is_ok() {
                path.status = status;
            }
        }
    }

    fn choose_voice(&mut self, now: Instant) {
        let quiet = |path: &Path| self.is_quiet(now, path);
        let key = |path: &&Path| {
            let srtt = path.view().srtt;
            (
                quiet(path),
                !path.is_usable(),
                srtt.is_zero(),
                srtt,
                path.id,
            )
        };
        // If all are silent, the one on which something arrives is still the best.
        let established = self.open.iter().filter(|path| path.established);
        let Some(best) = established.min_by_key(key) else {
            return;
        };
        let present = self.open.iter().find(|p| Some(p.id) == self.voice.path);
        let stay = present.is_some_and(|present| {
            let as_good = !quiet(present) && (present.is_usable() || !best.is_usable());
            let is_new = self.voice.since.is_some_and(|since| now < since + STAY);
            let (faster, srtt) = (best.view().srtt, present.view().srtt);
            // A fifth faster, or it is not worth two frames; half the RTT is worth them at once.
            as_good && faster * 2 > srtt && (is_new || faster * 5 > srtt * 4)
        });
        let best = best.id;
        if !stay && self.voice.path != Some(best) {
            (self.voice.path, self.voice.since) = (Some(best), Some(now));
        }
    }
}
