//! The paths of one connection, if the peers agreed on several (RFC 10069, as noq implements it).
//!
//! | part | content |
//! |---|---|
//! | this file | which paths there are, and what is reported of them |
//! | `choice` | which path sends the next packet |
//! | `health` | paths that fall silent, and those that are given up |
//! | `voice` | the path on which acknowledgments leave |
//! | `links` | the client's links, and the path over each |
//!
//! **What noq decides.** It tries paths in the order of their numbers; a path sends data if its
//! status is Available and its window has room, and acknowledgments of all paths leave in the first
//! packet of a path whose status permits it, whatever its window. Data in flight on a path is sent
//! again, on any path, when a later packet of *that* path is acknowledged, or three PTOs after the
//! peer has confirmed that the path is abandoned. The status that a peer announces changes nothing
//! by itself.
//!
//! **What is decided here**, with noq's own means: the path of each packet by closing the windows
//! of the others ([`path_traffic`](crate::path_traffic)), that of acknowledgments by the status,
//! and when the data of a dead path is sent again by closing it.

mod choice;
mod health;
mod links;
mod voice;

pub(super) use links::Link;

use crate::adapter::Adapter;
use crate::control::{Control, Several};
use health::Health;
use noq_proto::{Connection, PathAbandonReason, PathEvent, PathId, PathStats, PathStatus};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use whimbrel_cc::path_scheduler::{PathView, Scheduler};
use whimbrel_cc::shared_bottleneck::SharedBottleneck;
use whimbrel_units::Time;

/// A peer may close so many paths at once, and one more each second. noq keeps a closed path for
/// seconds.
const CLOSINGS: u32 = 32;
/// Maximum number of former paths of which counts are kept apart.
const MAX_FORMER: usize = 64;

/// What a connection did on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathReport {
    /// Which of the endpoint's links it uses, in the order in which they were added; at a server 0.
    pub link: usize,
    /// The peer's address.
    pub remote: SocketAddr,
    /// The local address, if it is known.
    pub local: Option<IpAddr>,
    /// How the path is.
    pub condition: PathCondition,
    /// Smoothed RTT; zero before the first sample.
    pub rtt: Duration,
    /// Bytes of UDP datagrams sent.
    pub sent_bytes: u64,
    /// Bytes of UDP datagrams received.
    pub received_bytes: u64,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// QUIC packets declared lost.
    pub lost_packets: u64,
}

/// How a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathCondition {
    /// The peer has not answered on it yet.
    Opening,
    /// It carries data.
    Open,
    /// It shares the bottleneck of another path, which carries the data.
    StandingBy,
    /// Nothing comes back: data leaves over other paths, and this one is probed.
    Silent,
    /// It is closed.
    Closed,
}

/// The paths of a connection.
pub(super) struct Paths {
    several: Several,
    /// How many controllers noq had built when their paths were last looked up.
    built: u64,
    /// In the order of their numbers.
    open: Vec<Path>,
    /// Paths that are closed; noq still has some of them.
    former: Vec<Former>,
    scheduler: Scheduler,
    /// Which paths share a bottleneck, with a clock that shows zero at `origin`.
    shared: SharedBottleneck,
    origin: Instant,
    /// When [`Self::attend`] was last called.
    attended: Option<Instant>,
    backlog: choice::Backlog,
    /// The application sends data, and does not only answer.
    is_sender: bool,
    /// When data of a sender last waited although the best path was full.
    busy: Option<Instant>,
    /// The path on which acknowledgments leave.
    voice: voice::Voice,
    links: links::Links,
    /// When the health of paths was last looked at.
    looked: Option<Instant>,
    /// Since when nothing has waited to be sent.
    dry_since: Option<Instant>,
    /// The application needs what it sends in order.
    pub in_order: bool,
    /// PATH_ABANDON frames of the peer that were counted.
    confirmed: u64,
    closings: Closings,
}

/// An open path.
struct Path {
    id: PathId,
    /// The same as a number.
    number: u32,
    link: usize,
    control: Control,
    remote: SocketAddr,
    local: Option<IpAddr>,
    /// The peer has answered on it.
    established: bool,
    /// When a packet of the peer last arrived from its address, or over its link.
    arrived: Option<Instant>,
    health: Health,
    status: PathStatus,
}

/// A path that is closed.
struct Former {
    id: PathId,
    report: PathReport,
    control: Control,
    /// noq has forgotten it, and the counts are final.
    discarded: bool,
}

impl Path {
    fn new(id: PathId, link: usize, control: Control) -> Self {
        Self {
            id,
            // noq shows it and does not tell it.
            number: id.to_string().parse().unwrap_or(u32::MAX),
            link,
            control,
            remote: SocketAddr::from(([0; 4], 0)),
            local: None,
            established: false,
            arrived: None,
            health: Health::Good,
            status: PathStatus::Available,
        }
    }

    fn view(&self) -> PathView {
        self.control.lock().traffic.view
    }

    /// Data may leave over it.
    fn is_usable(&self) -> bool {
        self.established && self.health.is_good()
    }

    /// Takes the addresses from noq: a peer moves without a word.
    fn look_up(&mut self, proto: &Connection) {
        if let Ok(path) = proto.network_path(self.id) {
            self.remote = path.remote();
            self.local = path.local_ip().map(|ip| ip.to_canonical());
        }
    }

    fn report(&self, stats: Option<PathStats>) -> PathReport {
        let condition = match (self.established, self.health.is_good()) {
            (false, _) => PathCondition::Opening,
            (true, true) => PathCondition::Open,
            (true, false) => PathCondition::Silent,
        };
        let mut report = PathReport {
            link: self.link,
            remote: self.remote,
            local: self.local,
            condition,
            rtt: self.view().srtt.into(),
            sent_bytes: 0,
            received_bytes: 0,
            sent_packets: 0,
            lost_packets: 0,
        };
        if let Some(stats) = stats {
            report.count(&stats);
        }
        report
    }
}

impl PathReport {
    fn count(&mut self, stats: &PathStats) {
        self.sent_bytes = stats.udp_tx.bytes;
        self.received_bytes = stats.udp_rx.bytes;
        self.sent_packets = stats.sent_packets;
        self.lost_packets = stats.lost_packets;
    }
}

/// The peer does what no honest peer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyPaths;

/// How many paths the peer may still close, and when more were last granted.
#[derive(Debug, Clone, Copy)]
struct Closings {
    left: u32,
    granted: Instant,
}

impl Closings {
    /// The peer closes a path.
    fn count(&mut self, now: Instant) -> Result<(), TooManyPaths> {
        let seconds = now.saturating_duration_since(self.granted).as_secs();
        if seconds > 0 {
            let more = u32::try_from(seconds).unwrap_or(CLOSINGS);
            self.left = self.left.saturating_add(more).min(CLOSINGS);
            self.granted = now;
        }
        self.left = self.left.checked_sub(1).ok_or(TooManyPaths)?;
        Ok(())
    }
}

impl Paths {
    /// The paths of a connection whose handshake is over, on its first path.
    pub fn new(proto: &Connection, several: Several, now: Instant) -> Option<Self> {
        let control = control_of(proto, PathId::ZERO)?;
        let mut first = Path::new(PathId::ZERO, 0, control);
        first.established = true;
        first.look_up(proto);
        several.switch_on();
        Some(Self {
            built: several.built(),
            several,
            open: vec![first],
            former: Vec::new(),
            scheduler: Scheduler::default(),
            shared: SharedBottleneck::default(),
            origin: now,
            attended: None,
            backlog: choice::Backlog::default(),
            is_sender: false,
            busy: None,
            voice: voice::Voice::default(),
            links: links::Links::default(),
            looked: None,
            dry_since: None,
            in_order: false,
            confirmed: 0,
            closings: Closings {
                left: CLOSINGS,
                granted: now,
            },
        })
    }

    /// noq reports something of a path.
    ///
    /// # Errors
    /// If the peer opens and closes paths too often.
    pub fn on_event(
        &mut self,
        now: Instant,
        proto: &mut Connection,
        event: PathEvent,
    ) -> Result<(), TooManyPaths> {
        self.look_up(proto);
        match event {
            PathEvent::Established { id, .. } => {
                if let Some(path) = self.open.iter_mut().find(|path| path.id == id) {
                    path.established = true;
                    path.look_up(proto);
                    path.arrived = Some(now);
                }
                // Its RTT must be known even if nothing else leaves over it.
                proto.ping_path(id).ok();
                self.voice.on_change();
            }
            PathEvent::Abandoned { id, reason, .. } => {
                self.leave(proto, id);
                if matches!(reason, PathAbandonReason::RemoteAbandoned { .. }) {
                    return self.closings.count(now);
                }
            }
            PathEvent::Discarded { id, path_stats, .. } => {
                if let Some(former) = self.former.iter_mut().find(|former| former.id == id) {
                    former.report.count(&path_stats);
                    former.discarded = true;
                }
            }
            // The sender of data knows its paths; a receiver's status only says where its
            // acknowledgments come from.
            _ => {}
        }
        Ok(())
    }

    /// The path is closed.
    fn leave(&mut self, proto: &mut Connection, id: PathId) {
        let Some(index) = self.open.iter().position(|path| path.id == id) else {
            return;
        };
        let path = self.open.remove(index);
        self.shared.forget(path.number);
        self.voice.on_change();
        let mut report = path.report(proto.path_stats(id));
        report.condition = PathCondition::Closed;
        {
            let traffic = &mut path.control.lock().traffic;
            traffic.closed = false;
            self.backlog.on_end(traffic.brought());
        }
        if self.former.len() == MAX_FORMER {
            self.former.remove(0);
        }
        self.former.push(Former {
            id,
            report,
            control: path.control,
            discarded: false,
        });
    }

    /// A packet arrived, over this link and from this address.
    pub fn on_arrival(&mut self, now: Instant, proto: &Connection, link: usize, from: SocketAddr) {
        let client = proto.side().is_client();
        let is_it = |path: &Path| match client {
            true => path.link == link,
            false => path.remote == from,
        };
        let known = self.open.iter_mut().find(|path| is_it(path));
        if let Some(path) = known {
            path.arrived = Some(now);
            return;
        }
        // A peer has moved.
        self.open.iter_mut().for_each(|path| path.look_up(proto));
    }

    /// Does what is due: finds new paths, opens those of new links, notices silence.
    pub fn attend(&mut self, now: Instant, proto: &mut Connection, links: &[Link]) {
        self.attended = Some(now);
        self.look_up(proto);
        self.date_writes(now);
        self.compare_directions(proto);
        if proto.side().is_client() {
            self.follow_links(now, proto, links);
        }
        self.watch_health(now, proto);
        self.set_status(now, proto);
        self.compare_queues(now);
    }

    /// Finds out which paths share a bottleneck.
    fn compare_queues(&mut self, now: Instant) {
        for path in &self.open {
            let sample = path.control.lock().traffic.take_sample(self.origin);
            if let Some(sample) = sample {
                self.shared.on_sample(path.number, &sample);
            }
        }
        let waiting = self.busy.is_some() && self.dry_since.is_none();
        self.shared.advance(self.time(now), waiting);
    }

    fn time(&self, now: Instant) -> Time {
        Time::ZERO + now.saturating_duration_since(self.origin).into()
    }

    /// When a path that pauses for a trial may send again.
    fn next_pause(&self, now: Instant) -> Option<Instant> {
        let until = self.shared.deadline(self.time(now))?;
        let until = self.origin + Duration::from(until.since(Time::ZERO));
        (until > now).then_some(until)
    }

    /// When [`Self::attend`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        let pause = self.attended.and_then(|attended| self.next_pause(attended));
        [
            self.next_health(),
            self.next_status(),
            self.links.next(),
            pause,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Finds the controllers of paths that the peer opened, or that have moved.
    fn look_up(&mut self, proto: &Connection) {
        let built = self.several.built();
        if std::mem::replace(&mut self.built, built) == built {
            return;
        }
        self.voice.on_change();
        for id in proto.paths() {
            let Some(control) = control_of(proto, id) else {
                continue;
            };
            if self.former.iter().any(|former| former.id == id) {
                continue;
            }
            match self.open.iter_mut().find(|path| path.id == id) {
                // It has moved: noq begins with the usual status.
                Some(path) => {
                    path.control = control;
                    path.status = proto.path_status(id).unwrap_or(path.status);
                    path.look_up(proto);
                }
                None => {
                    let mut path = Path::new(id, 0, control);
                    path.look_up(proto);
                    self.open.push(path);
                }
            }
        }
    }

    /// What was done on each path, those that are closed included.
    pub fn reports(&self, proto: &mut Connection) -> Vec<PathReport> {
        let mut reports: Vec<_> = self.former.iter().map(|former| former.report).collect();
        for (former, report) in self.former.iter().zip(&mut reports) {
            if !former.discarded
                && let Some(stats) = proto.path_stats(former.id)
            {
                report.count(&stats);
            }
        }
        let open = self
            .open
            .iter()
            .map(|path| (path, proto.path_stats(path.id)));
        reports.extend(open.map(|(path, stats)| {
            let mut report = path.report(stats);
            let stands_by = self.shared.carrier(path.number).is_some();
            if stands_by && report.condition == PathCondition::Open {
                report.condition = PathCondition::StandingBy;
            }
            report
        }));
        reports
    }
}

fn control_of(proto: &Connection, id: PathId) -> Option<Control> {
    Adapter::control_of(proto.congestion_state(id)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_closed_no_path_for_long_may_close_no_more_at_once() {
        let start = Instant::now();
        let mut closings = Closings {
            left: CLOSINGS,
            granted: start,
        };
        let mut close = |seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            std::iter::repeat_with(|| closings.count(now))
                .take_while(Result::is_ok)
                .take(2 * CLOSINGS as usize)
                .count()
        };
        assert_eq!(close(0), CLOSINGS as usize);
        assert_eq!([close(1), close(1), close(3)], [1, 0, 2]);
        assert_eq!(close(24 * 3600), CLOSINGS as usize);
    }
}
