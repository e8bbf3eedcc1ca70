//! The bursts of a sender that are not yet reported.

use super::wire::{MAX_PARTS, Sack};
use crate::outcome::Truth;
use std::collections::VecDeque;
use whimbrel_cc::burst_transport::Departures;
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

/// A burst that was sent, or is being sent.
#[derive(Debug)]
pub(super) struct Burst {
    /// Its number.
    pub number: u32,
    /// Number of its packets; the span over which they leave.
    pub count: u32,
    pub interval: Duration,
    /// By how many packets the controller enlarged it over the burst before it.
    pub increase: f64,
    /// The sequence numbers of the packets sent so far.
    pub sequences: Vec<u32>,
    departures: Departures,
    /// The worst that happened to its packets. No algorithm sees it.
    truth: Truth,
    /// Which parts of its report have arrived (bits), and the gaps that they name.
    parts: u64,
    missing: Vec<(u32, u32)>,
}

impl Burst {
    /// A burst of which nothing was sent.
    pub fn new(number: u32, departures: Departures, increase: f64, sequences: Vec<u32>) -> Self {
        Self {
            number,
            count: departures.count(),
            interval: departures.interval(),
            increase,
            sequences,
            departures,
            truth: Truth::NothingLost,
            parts: 0,
            missing: Vec::new(),
        }
    }

    /// When packet `index` leaves; with `count`, when the next burst may begin.
    pub fn departure(&self, index: u32) -> Time {
        self.departures.at(index)
    }

    /// When the last packet so far left.
    pub fn last_sent(&self) -> Time {
        self.departure((self.sequences.len() as u32).saturating_sub(1))
    }

    /// Whether all of it was sent.
    pub fn is_sent(&self) -> bool {
        self.sequences.len() as u32 == self.count
    }

    /// The worst that happened to its packets.
    pub fn truth(&self) -> Truth {
        self.truth
    }

    /// The gaps that its report names: start and length, in order.
    pub fn missing(&self) -> &[(u32, u32)] {
        &self.missing
    }

    /// The index of the last packet that arrived, according to its report.
    pub fn last_received(&self) -> Option<u32> {
        match self.missing.last() {
            Some((start, length)) if start + length == self.count => start.checked_sub(1),
            _ => self.count.checked_sub(1),
        }
    }

    /// Adds a part of its report. Returns whether the report is now complete.
    fn take(&mut self, sack: &Sack) -> bool {
        let part = 1_u64 << sack.part;
        if self.parts & part == 0 {
            self.parts |= part;
            self.missing.extend_from_slice(&sack.gaps);
        }
        let whole = self.parts.count_ones() == u32::from(sack.parts);
        if whole {
            self.missing.sort_unstable();
        }
        whole
    }
}

const _: () = assert!(MAX_PARTS as u32 <= u64::BITS);

/// The bursts that are not yet reported, in order.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    bursts: VecDeque<Burst>,
    /// Packets sent in them.
    packets: usize,
    spare: Vec<Vec<u32>>,
}

impl Ledger {
    /// Packets sent in bursts that are not yet reported.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Whether all bursts are reported.
    pub fn is_empty(&self) -> bool {
        self.bursts.is_empty()
    }

    /// Begins a burst of which nothing was sent.
    pub fn begin(&mut self, burst: Burst) {
        self.bursts.push_back(burst);
    }

    /// A buffer for the sequence numbers of a burst.
    pub fn room(&mut self) -> Vec<u32> {
        self.spare.pop().unwrap_or_default()
    }

    /// The newest unreported burst.
    pub fn newest(&self) -> Option<&Burst> {
        self.bursts.back()
    }

    /// The oldest unreported burst.
    pub fn oldest(&self) -> Option<&Burst> {
        self.bursts.front()
    }

    /// The next packet of the newest burst carries `sequence`. Returns its index in the burst.
    pub fn sent(&mut self, sequence: u32) -> u32 {
        let Some(burst) = self.bursts.back_mut() else {
            return 0;
        };
        self.packets += 1;
        burst.sequences.push(sequence);
        burst.sequences.len() as u32 - 1
    }

    /// Adds a part of a report. Returns the burst if its report is now complete.
    pub fn take(&mut self, sack: &Sack) -> Option<Burst> {
        let at = self.position(sack.burst)?;
        let burst = &mut self.bursts[at];
        // A report must give the announced size, and something of the burst must have been sent.
        if burst.count != sack.count || burst.sequences.is_empty() || !burst.take(sack) {
            return None;
        }
        self.remove(at)
    }

    /// Removes the oldest burst with a number from `from` up to, and without, `until`.
    pub fn take_between(&mut self, from: u32, until: u32) -> Option<Burst> {
        let at = self.bursts.partition_point(|b| b.number < from);
        let found = self.bursts.get(at).is_some_and(|b| b.number < until);
        if found { self.remove(at) } else { None }
    }

    /// Removes the oldest burst if all of it left before `time`.
    pub fn take_before(&mut self, time: Time) -> Option<Burst> {
        let found = self.bursts.front().is_some_and(|b| b.last_sent() < time);
        if found { self.remove(0) } else { None }
    }

    /// Keeps the buffer of a burst for later bursts.
    pub fn recycle(&mut self, burst: Burst) {
        let mut sequences = burst.sequences;
        sequences.clear();
        self.spare.push(sequences);
    }

    /// Records why packets of a burst were lost.
    pub fn note_drop(&mut self, number: u32, cause: DropCause) {
        if let Some(at) = self.position(number) {
            let truth = Truth::from(Some(cause));
            self.bursts[at].truth = self.bursts[at].truth.max(truth);
        }
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.bursts.binary_search_by_key(&number, |b| b.number).ok()
    }

    fn remove(&mut self, at: usize) -> Option<Burst> {
        let burst = self.bursts.remove(at)?;
        self.packets -= burst.sequences.len();
        Some(burst)
    }
}
