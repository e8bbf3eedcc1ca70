//! Finds out which parts of the receiver's file differ from the source.
//!
//! The receiver sends the hashes of subtrees, coarse ones first; below one that differs, finer
//! ones.

use super::source::Source;
use super::{Hashes, set};
use crate::blocks::{BLOCK_LOG, CHUNK, FINE_LOG, coarse_log, hash_subtree, subtree};
use crate::error::Error;
use crate::ranges::RangeSet;
use crate::wire::Message;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::PoisonError;

/// Bytes that one request asks for, at most, if one subtree is not more.
const REQUEST: u64 = 64 << 20;
/// Requests without an answer, at most.
const OUTSTANDING: usize = 16;

/// The state of a comparison.
#[derive(Debug)]
pub(super) struct Comparison {
    size: u64,
    /// Subtrees finer than blocks may be compared.
    fine: bool,
    /// Runs of subtrees to ask for: log, first, count.
    queue: VecDeque<(u8, u64, u64)>,
    asked: VecDeque<(u8, u64, u32)>,
    /// An answer is being compared.
    comparing: bool,
}

/// An answer, to be compared with the source.
#[derive(Debug)]
pub(super) struct Answer {
    size: u64,
    log: u8,
    first: u64,
    count: u32,
    theirs: Vec<[u8; 32]>,
}

/// What an answer said.
#[derive(Debug)]
pub(super) struct Compared {
    log: u8,
    /// Subtrees that differ.
    differing: Vec<u64>,
    /// Bytes that are equal.
    pub equal: u64,
}

impl Comparison {
    /// Compares the bytes in `there` of a file of `size` bytes.
    pub fn new(there: &RangeSet, size: u64, fine: bool) -> Self {
        let mut comparison = Self {
            size,
            fine,
            queue: VecDeque::new(),
            asked: VecDeque::new(),
            comparing: false,
        };
        let log = if fine { coarse_log(size) } else { BLOCK_LOG };
        for range in there.iter() {
            comparison.cover(&range, log);
        }
        comparison
    }

    /// Queues subtrees of at most 2^`log` bytes that cover a range exactly.
    fn cover(&mut self, range: &Range<u64>, log: u8) {
        let mut index = range.start >> log;
        while index << log < range.end {
            let whole = subtree(self.size, log, index);
            if range.start <= whole.start && whole.end <= range.end {
                self.push(log, index);
            } else if let Some(finer) = finer(log) {
                let part = whole.start.max(range.start)..whole.end.min(range.end);
                self.cover(&part, finer);
            }
            index += 1;
        }
    }

    fn push(&mut self, log: u8, index: u64) {
        match self.queue.back_mut() {
            Some((last, first, count)) if *last == log && *first + *count == index => *count += 1,
            _ => self.queue.push_back((log, index, 1)),
        }
    }

    /// The requests that may go now.
    pub fn requests(&mut self) -> Vec<Message> {
        let mut requests = Vec::new();
        while self.asked.len() < OUTSTANDING {
            let Some((log, first, count)) = self.queue.pop_front() else {
                break;
            };
            let most = (REQUEST >> log).clamp(1, 1024);
            let now = count.min(most);
            if now < count {
                self.queue.push_front((log, first + now, count - now));
            }
            let count = now as u32;
            self.asked.push_back((log, first, count));
            requests.push(Message::HashRequest { log, first, count });
        }
        requests
    }

    /// Whether everything is compared.
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && self.asked.is_empty() && !self.comparing
    }

    /// Takes an answer, which must be that of the oldest request.
    pub fn answer(&mut self, log: u8, first: u64, theirs: Vec<[u8; 32]>) -> Result<Answer, Error> {
        let wrong = || Error::Protocol("hashes that were not requested".to_owned());
        let asked = self.asked.pop_front().ok_or_else(wrong)?;
        if (asked.0, asked.1) != (log, first) {
            return Err(wrong());
        }
        self.comparing = true;
        Ok(Answer {
            size: self.size,
            log,
            first,
            count: asked.2,
            theirs,
        })
    }

    /// Goes into detail where subtrees differ. Returns what must be sent.
    pub fn learn(&mut self, compared: Compared) -> RangeSet {
        self.comparing = false;
        let mut send = RangeSet::default();
        for index in compared.differing {
            let range = subtree(self.size, compared.log, index);
            match finer(compared.log).filter(|_| self.fine) {
                Some(finer) => self.cover(&range, finer),
                None => send.insert(range),
            }
        }
        send
    }
}

/// The next finer subtrees that are compared.
fn finer(log: u8) -> Option<u8> {
    if log > BLOCK_LOG {
        Some(BLOCK_LOG)
    } else if log > FINE_LOG {
        Some(FINE_LOG)
    } else {
        None
    }
}

impl Answer {
    /// Hashes the same subtrees of the source. `None` if the source has become shorter.
    pub fn compare(self, source: &Source, hashes: &Hashes) -> Result<Option<Compared>, Error> {
        let mut compared = Compared {
            log: self.log,
            differing: Vec::new(),
            equal: 0,
        };
        for n in 0..u64::from(self.count) {
            let index = self.first + n;
            let range = subtree(self.size, self.log, index);
            let Some(ours) = self.hash(source, hashes, &range)? else {
                return Ok(None);
            };
            if self.theirs.get(n as usize) == Some(&ours) {
                compared.equal += range.end - range.start;
                if let Source::Stream(stream) = source {
                    stream.received(range);
                }
            } else {
                compared.differing.push(index);
            }
        }
        Ok(Some(compared))
    }

    fn hash(
        &self,
        source: &Source,
        hashes: &Hashes,
        range: &Range<u64>,
    ) -> Result<Option<[u8; 32]>, Error> {
        if let Source::Stream(stream) = source {
            // A block that was not read yet differs.
            return Ok(Some(stream.hash(range.start / CHUNK).unwrap_or_default()));
        }
        if range.end - range.start <= CHUNK {
            let Some(data) = source.read(range)? else {
                return Ok(None);
            };
            let hash = hash_subtree(self.size, range, &data);
            let block = range.start / CHUNK;
            if *range == subtree(self.size, BLOCK_LOG, block) {
                set(hashes, block, hash);
            }
            return Ok(Some(hash));
        }
        for block in range.start / CHUNK..range.end.div_ceil(CHUNK) {
            let part = subtree(self.size, BLOCK_LOG, block);
            let Some(data) = source.read(&part)? else {
                return Ok(None);
            };
            set(hashes, block, hash_subtree(self.size, &part, &data));
        }
        let hashes = hashes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(if range.start == 0 && range.end == self.size {
            hashes.root().map(|root| *root.as_bytes())
        } else {
            hashes.subtree_hash(range.clone())
        })
    }
}
