//! Finds out which parts of the receiver's file differ from the source.
//!
//! The receiver sends the hashes of subtrees, coarse ones first; below one that differs, finer
//! ones.

use super::source::Source;
use super::{Hashes, set};
use crate::blocks::{BLOCK_LOG, CHUNK, FINE_LOG, coarse_log, hash_subtree, subtree};
use crate::error::Error;
use crate::lock::lock;
use crate::ranges::RangeSet;
use crate::wire::Message;
use std::collections::VecDeque;
use std::ops::Range;

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
        let hashes = lock(hashes);
        Ok(if range.start == 0 && range.end == self.size {
            hashes.root().map(|root| *root.as_bytes())
        } else {
            hashes.subtree_hash(range.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileSource;
    use super::*;
    use crate::blocks::BlockHashes;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::Mutex;

    const GIB: u64 = 1 << 30;

    /// A sparse file of `size` bytes with `data` at an offset, to be sent.
    fn sparse(scratch: &ScratchDirectory, size: u64, data: &[u8], at: u64) -> Source {
        let path = scratch.path().join("sparse");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .expect("created");
        file.set_len(size).expect("set");
        file.write_all_at(data, at).expect("written");
        Source::File(FileSource::at_once(file, &path).expect("inspected"))
    }

    fn requested(comparison: &mut Comparison) -> Vec<(u8, u64, u32)> {
        let requests = comparison.requests().into_iter();
        let all = requests.map(|request| match request {
            Message::HashRequest { log, first, count } => (log, first, count),
            other => panic!("{other:?}"),
        });
        all.collect()
    }

    /// What the receiver would answer, if it had this of the file and zeros elsewhere.
    fn theirs(size: u64, log: u8, index: u64, data: &[u8], at: u64) -> [u8; 32] {
        let whole = subtree(size, log, index);
        let hashes = &mut BlockHashes::new(size);
        for block in whole.start / CHUNK..whole.end.div_ceil(CHUNK) {
            let range = hashes.range(block);
            let mut content = vec![0; (range.end - range.start) as usize];
            if range.contains(&at) {
                let from = (at - range.start) as usize;
                content[from..from + data.len()].copy_from_slice(data);
            }
            hashes.set(block, Some(hash_subtree(size, &range, &content)));
        }
        hashes.subtree_hash(whole).expect("all are known")
    }

    #[test]
    fn subtrees_of_several_blocks_are_compared_far_behind_4_gib() {
        let scratch = ScratchDirectory::new();
        let (size, at) = (100 * GIB, 80 * GIB + 5);
        let source = sparse(&scratch, size, b"data", at);
        let hashes = Mutex::new(BlockHashes::new(size));
        for (data, equal) in [(b"data", true), (b"DATA", false)] {
            let there = RangeSet::of(80 * GIB..80 * GIB + 2 * CHUNK);
            let mut comparison = Comparison::new(&there, size, true);
            let all = requested(&mut comparison);
            assert_eq!(all, [(BLOCK_LOG + 1, 40 * 1024, 1)]);
            let (log, first, _) = all[0];
            let hash = theirs(size, log, first, data, at);
            let answer = comparison.answer(log, first, vec![hash]).expect("asked");
            let compared = answer.compare(&source, &hashes).expect("read");
            let compared = compared.expect("as long as it was");
            assert_eq!(compared.equal, if equal { 2 * CHUNK } else { 0 });
            assert!(!comparison.is_done(), "the answer is not learned yet");
            assert_eq!(comparison.learn(compared), RangeSet::default());
            // What differs is looked at in blocks.
            let finer = [(BLOCK_LOG, 80 * 1024, 2)];
            let expected = if equal { &finer[..0] } else { &finer[..] };
            assert_eq!(requested(&mut comparison), expected);
            assert_eq!(comparison.is_done(), equal);
        }
    }

    #[test]
    fn what_differs_in_the_finest_parts_is_sent() {
        let part = 1 << FINE_LOG;
        let scratch = ScratchDirectory::new();
        let size = CHUNK + 3 * part + 7;
        let source = sparse(&scratch, size, b"data", CHUNK + part);
        let hashes = Mutex::new(BlockHashes::new(size));
        let there = RangeSet::of(CHUNK..size);
        let mut comparison = Comparison::new(&there, size, true);
        assert_eq!(requested(&mut comparison), [(BLOCK_LOG, 1, 1)]);
        let answer = comparison.answer(BLOCK_LOG, 1, vec![[0; 32]]);
        let compared = answer.expect("asked").compare(&source, &hashes);
        let differing = compared.expect("read").expect("as long as it was");
        assert_eq!(comparison.learn(differing), RangeSet::default());
        let first = CHUNK / part;
        assert_eq!(requested(&mut comparison), [(FINE_LOG, first, 4)]);
        let zeros = |index| {
            let range = subtree(size, FINE_LOG, index);
            let zeros = vec![0; (range.end - range.start) as usize];
            hash_subtree(size, &range, &zeros)
        };
        let answer = (first..first + 4).map(zeros).collect();
        let answer = comparison.answer(FINE_LOG, first, answer).expect("asked");
        let compared = answer.compare(&source, &hashes).expect("read");
        let compared = compared.expect("as long as it was");
        assert_eq!(compared.equal, 2 * part + 7);
        let send = comparison.learn(compared);
        assert_eq!(send, RangeSet::of(CHUNK + part..CHUNK + 2 * part));
        assert!(comparison.is_done());
    }

    #[test]
    fn only_so_many_requests_are_open_and_answers_come_in_their_order() {
        let size = 1 << 44;
        let mut comparison = Comparison::new(&RangeSet::of(0..size), size, true);
        let first = requested(&mut comparison);
        assert_eq!(first.len(), OUTSTANDING);
        assert!(requested(&mut comparison).is_empty());
        let (log, at, _) = first[1];
        assert!(comparison.answer(log, at, Vec::new()).is_err());
        let mut none = Comparison::new(&RangeSet::default(), size, true);
        assert!(none.answer(log, at, Vec::new()).is_err());
    }

    #[test]
    fn every_part_of_a_long_run_is_asked_for() {
        let size = 3 * REQUEST + 5;
        let mut comparison = Comparison::new(&RangeSet::of(0..size), size, true);
        let blocks: u64 = requested(&mut comparison)
            .into_iter()
            .map(|(log, _, count)| u64::from(count) << log >> BLOCK_LOG)
            .sum();
        assert_eq!(blocks, size.div_ceil(CHUNK));
    }

    #[test]
    fn what_the_receiver_does_not_answer_is_not_there() {
        let scratch = ScratchDirectory::new();
        let size = 2 * CHUNK;
        let source = sparse(&scratch, size, b"data", 0);
        let hashes = Mutex::new(BlockHashes::new(size));
        let mut comparison = Comparison::new(&RangeSet::of(0..size), size, true);
        assert_eq!(requested(&mut comparison), [(BLOCK_LOG, 0, 2)]);
        let first = theirs(size, BLOCK_LOG, 0, b"data", 0);
        let answer = comparison.answer(BLOCK_LOG, 0, vec![first]).expect("asked");
        let compared = answer.compare(&source, &hashes).expect("read");
        let compared = compared.expect("as long as it was");
        assert_eq!((compared.equal, compared.differing), (CHUNK, vec![1]));
    }
}
