//! Which path sends the next packet: the rule of [`path_scheduler`](whimbrel_cc::path_scheduler),
//! packet by packet.
//!
//! The windows of all paths but the chosen one are closed while noq makes a packet. If it makes
//! none and has asked for the window, data waits and the path is full; the next one is tried if the
//! rule lets it send. Paths that the peer has not answered on yet, and those that have fallen
//! silent, send only what tests them.

use super::Paths;
use noq_proto::{Connection, Transmit};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use whimbrel_cc::path_scheduler::{PathView, Scheduler};
use whimbrel_units::Bytes;

/// An end whose application writes less than this part of what arrives only answers.
const ANSWERS: f64 = 1.0 / 16.0;

/// How much data of the application waits to be sent for the first time.
///
/// noq does not say. It is what was written less what was sent; the sizes of packets tell the
/// latter to some bytes a packet, so the count begins anew whenever nothing waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Backlog {
    /// Bytes that the application wrote, in all and when nothing waited.
    written: u64,
    written_then: u64,
    /// Something was written since the connection last had its turn, and when that was before.
    has_news: bool,
    written_at: Option<Instant>,
    /// Bytes of the application that were sent and not declared lost when nothing waited.
    sent_then: u64,
    /// Bytes that closed paths brought.
    ended: u64,
}

impl Backlog {
    fn waiting(&self, sent: u64) -> Bytes {
        let written = self.written - self.written_then;
        Bytes::new(written.saturating_sub(sent.saturating_sub(self.sent_then)))
    }

    /// A path has ended that brought so many bytes.
    pub fn on_end(&mut self, brought: u64) {
        self.ended += brought;
    }

    fn nothing_waits(&mut self, sent: u64) {
        (self.written_then, self.sent_then) = (self.written, sent);
    }
}

impl Paths {
    /// The application wrote so many bytes.
    pub fn on_written(&mut self, bytes: usize) {
        self.backlog.written += bytes as u64;
        self.backlog.has_news = true;
    }

    /// Finds out whether the application sends data, and does not only answer what arrives.
    /// Reports of the transport are not the application's.
    pub(super) fn compare_directions(&mut self, proto: &mut Connection) {
        let answer = proto.stats().udp_rx.bytes as f64 * ANSWERS;
        self.is_sender = self.backlog.written as f64 > answer;
    }

    /// Whether the application has written something within the last `span`.
    pub(super) fn has_written(&self, now: Instant, span: Duration) -> bool {
        let at = self.backlog.written_at;
        self.backlog.has_news || at.is_some_and(|at| now < at + span)
    }

    /// Takes note of the time of what was written.
    pub(super) fn date_writes(&mut self, now: Instant) {
        if std::mem::take(&mut self.backlog.has_news) {
            self.backlog.written_at = Some(now);
        }
    }

    /// Makes what leaves next, and says over which link.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        proto: &mut Connection,
        max: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<(Transmit, usize)> {
        if self.open.len() < 2 {
            let transmit = proto.poll_transmit(now, max, buffer)?;
            let link = self.departed(&transmit);
            return Some((transmit, link));
        }
        let made = self.try_in_order(now, proto, max, buffer);
        self.close_all_but(None);
        let transmit = made?;
        let link = self.departed(&transmit);
        Some((transmit, link))
    }

    fn try_in_order(
        &mut self,
        now: Instant,
        proto: &mut Connection,
        max: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let views: Vec<PathView> = self.open.iter().map(super::Path::view).collect();
        let mut order = self.usable(now);
        Scheduler::order(&mut order, |index| views[index]);
        let mut full: Vec<PathView> = Vec::new();
        for index in order {
            if !full.is_empty() {
                if self.is_sender && self.busy.is_none_or(|busy| busy < now) {
                    self.busy = Some(now);
                    self.set_status(now, proto);
                }
                let waiting = self.waiting();
                let number = self.open[index].number as usize % super::MAX_FORMER;
                if !self.scheduler.sends(number, &views[index], &full, waiting) {
                    continue;
                }
            }
            self.close_all_but(Some(index));
            let made = proto.poll_transmit(now, max, buffer);
            if made.is_some() {
                return made;
            }
            if self.open[index].control.lock().traffic.wanted {
                full.push(views[index]);
            }
        }
        if full.is_empty() {
            let sent = self.sent();
            self.backlog.nothing_waits(sent);
            self.dry_since.get_or_insert(now);
        } else {
            self.busy = self.is_sender.then_some(now);
            self.dry_since = None;
        }
        None
    }

    /// The paths over which data may leave. If all have fallen silent, all: one may be back.
    fn usable(&self, now: Instant) -> Vec<usize> {
        let indices = |usable: &dyn Fn(&super::Path) -> bool| -> Vec<usize> {
            (0..self.open.len())
                .filter(|index| usable(&self.open[*index]))
                .collect()
        };
        let mut usable = indices(&super::Path::is_usable);
        if usable.is_empty() {
            return indices(&|path| path.established);
        }
        let number = |index: usize| self.open[index].number;
        self.shared.keep(self.time(now), &mut usable, number);
        usable
    }

    fn close_all_but(&mut self, chosen: Option<usize>) {
        for (index, path) in self.open.iter().enumerate() {
            let traffic = &mut path.control.lock().traffic;
            traffic.closed = path.established && chosen.is_some_and(|chosen| chosen != index);
            if chosen == Some(index) {
                traffic.wanted = false;
            }
        }
    }

    /// The link over which a datagram leaves that noq has just made.
    fn departed(&self, transmit: &Transmit) -> usize {
        let mut departed = None;
        for path in &self.open {
            if std::mem::take(&mut path.control.lock().traffic.left) {
                departed = Some(path.link);
            }
        }
        departed.unwrap_or_else(|| {
            // A probe of an address, or an answer to one.
            let source = transmit.src_ip.map(|ip| ip.to_canonical());
            let from = |path: &&super::Path| source.is_some() && path.local == source;
            let path = self.open.iter().find(from).or_else(|| self.open.first());
            path.map_or(0, |path| path.link)
        })
    }

    fn sent(&self) -> u64 {
        let traffic = |path: &super::Path| {
            let control = path.control.lock();
            control
                .traffic
                .data_sent
                .saturating_sub(control.traffic.data_lost)
        };
        self.backlog.ended + self.open.iter().map(traffic).sum::<u64>()
    }

    fn waiting(&self) -> Bytes {
        self.backlog.waiting(self.sent())
    }
}
