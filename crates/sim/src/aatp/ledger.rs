//! What a sender knows of the bursts that it has sent and that are not yet reported.

use super::wire::{MOST_PARTS, Sack};
use crate::outcome::Truth;
use std::collections::VecDeque;
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

/// A burst that was sent, or is being sent.
#[derive(Debug)]
pub(super) struct Burst {
    pub number: u32,
    /// Packets that it has in all; the span over which they leave.
    pub count: u32,
    pub interval: Duration,
    /// By how many packets the law made it larger than the one before.
    pub increase: f64,
    /// Which packet of the data each of those sent so far carries.
    pub sequences: Vec<u32>,
    began: Time,
    spacing_ns: f64,
    /// The truth, which no algorithm sees: the worst that became of its packets.
    truth: Truth,
    /// Which parts of its report are here, and what they say is missing.
    parts: u64,
    missing: Vec<(u32, u32)>,
}

impl Burst {
    pub fn new(
        number: u32,
        count: u32,
        began: Time,
        spacing_ns: f64,
        increase: f64,
        sequences: Vec<u32>,
    ) -> Self {
        Self {
            number,
            count,
            interval: Duration::from_nanos((spacing_ns * f64::from(count)) as u64),
            increase,
            sequences,
            began,
            spacing_ns,
            truth: Truth::NothingLost,
            parts: 0,
            missing: Vec::new(),
        }
    }

    /// When its packet `index` leaves; `count`: when the next burst may begin.
    pub fn departure(&self, index: u32) -> Time {
        self.began + Duration::from_nanos((self.spacing_ns * f64::from(index)) as u64)
    }

    /// When the last packet that was sent so far left.
    pub fn last_sent(&self) -> Time {
        self.departure((self.sequences.len() as u32).saturating_sub(1))
    }

    /// All of it was sent.
    pub fn is_sent(&self) -> bool {
        self.sequences.len() as u32 == self.count
    }

    /// What really became of it.
    pub fn truth(&self) -> Truth {
        self.truth
    }

    /// What its report says is missing: start and length, in order.
    pub fn missing(&self) -> &[(u32, u32)] {
        &self.missing
    }

    /// The place in the burst of the last packet that arrived, by its report.
    pub fn last_received(&self) -> Option<u32> {
        match self.missing.last() {
            Some((start, length)) if start + length == self.count => start.checked_sub(1),
            _ => self.count.checked_sub(1),
        }
    }

    /// Takes one part of its report; true if it is now whole.
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

const _: () = assert!(MOST_PARTS as u32 <= u64::BITS);

/// The bursts that are not yet reported, in order; those that were, out of order, are gone.
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

    pub fn is_empty(&self) -> bool {
        self.bursts.is_empty()
    }

    /// Begins a burst of which nothing was sent yet.
    pub fn begin(&mut self, burst: Burst) {
        self.bursts.push_back(burst);
    }

    /// Room for the sequences of a burst.
    pub fn room(&mut self) -> Vec<u32> {
        self.spare.pop().unwrap_or_default()
    }

    /// The newest burst, if any is not yet reported.
    pub fn newest(&self) -> Option<&Burst> {
        self.bursts.back()
    }

    /// The oldest burst that is not yet reported.
    pub fn oldest(&self) -> Option<&Burst> {
        self.bursts.front()
    }

    /// The next packet of the newest burst carries `sequence`. Its place in the burst.
    pub fn sent(&mut self, sequence: u32) -> u32 {
        let Some(burst) = self.bursts.back_mut() else {
            return 0;
        };
        self.packets += 1;
        burst.sequences.push(sequence);
        burst.sequences.len() as u32 - 1
    }

    /// Takes a part of a report. The burst, if that makes its report whole.
    pub fn take(&mut self, sack: &Sack) -> Option<Burst> {
        let at = self.position(sack.burst)?;
        let burst = &mut self.bursts[at];
        // A burst is reported as large as it was announced and no sooner than something of it was sent.
        if burst.count != sack.count || burst.sequences.is_empty() || !burst.take(sack) {
            return None;
        }
        self.remove(at)
    }

    /// The oldest of the bursts from number `from` up to, but not with, `until`.
    pub fn take_between(&mut self, from: u32, until: u32) -> Option<Burst> {
        let at = self.bursts.partition_point(|b| b.number < from);
        let found = self.bursts.get(at).is_some_and(|b| b.number < until);
        if found { self.remove(at) } else { None }
    }

    /// The oldest burst, if all of it left before `time`.
    pub fn take_before(&mut self, time: Time) -> Option<Burst> {
        let found = self.bursts.front().is_some_and(|b| b.last_sent() < time);
        if found { self.remove(0) } else { None }
    }

    /// Keeps the room of a burst that is settled.
    pub fn recycle(&mut self, burst: Burst) {
        let mut sequences = burst.sequences;
        sequences.clear();
        self.spare.push(sequences);
    }

    /// Notes what really became of packets of a burst.
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
