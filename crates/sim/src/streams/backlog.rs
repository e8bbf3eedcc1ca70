//! What a sender has not sent yet, and which stream is next.
//!
//! Messages are numbered as they arrive and go to the streams in turn: message `m` belongs to
//! stream `m mod n`, and the next message of that stream is `m + n`. Bulk data is one message on
//! each stream, which is there from the beginning.

use crate::tcp::segments;
use std::collections::VecDeque;
use whimbrel_units::Bytes;

/// What a segment carries: a part of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its stream.
    pub stream: u32,
    /// Its message.
    pub message: u32,
    /// Its bytes.
    pub payload: u32,
    /// It is the last part of its message.
    pub ends: bool,
}

/// A message that is not sent completely.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Number of its segments; `u32::MAX`: it is endless.
    segments: u32,
    /// Bytes of its last segment.
    last: u32,
    /// How many of its segments were sent.
    taken: u32,
}

/// The messages that are not sent completely.
#[derive(Debug)]
pub(super) struct Backlog {
    mss: Bytes,
    interleave: bool,
    /// Messages from number `first` on. Some may have been sent.
    waiting: VecDeque<Waiting>,
    first: u32,
    /// The message that each stream sends next.
    streams: Vec<u32>,
    /// Interleaved: the streams that have data to send. Otherwise: the streams of the waiting
    /// messages, in order.
    turns: VecDeque<u32>,
}

impl Backlog {
    /// Nothing to send yet.
    pub fn new(streams: u32, interleave: bool, mss: Bytes) -> Self {
        Self {
            mss,
            interleave,
            waiting: VecDeque::new(),
            first: 0,
            streams: (0..streams).collect(),
            turns: VecDeque::new(),
        }
    }

    /// Adds a message; with size `None` it is endless. Returns the number of its segments.
    pub fn push(&mut self, size: Option<Bytes>) -> u32 {
        let message = self.end();
        let stream = message % self.streams.len() as u32;
        let idle = self.streams[stream as usize] == message;
        if idle || !self.interleave {
            self.turns.push_back(stream);
        }
        let (segments, last) = segments(size, self.mss);
        self.waiting.push_back(Waiting {
            segments,
            last,
            taken: 0,
        });
        segments
    }

    /// The part that is sent next, if any.
    pub fn next(&self) -> Option<Piece> {
        let stream = *self.turns.front()?;
        let message = self.streams[stream as usize];
        let waiting = self.waiting.get((message - self.first) as usize)?;
        let ends = waiting.taken + 1 == waiting.segments;
        let payload = if ends {
            waiting.last
        } else {
            self.mss.get() as u32
        };
        Some(Piece {
            stream,
            message,
            payload,
            ends,
        })
    }

    /// The part that was next was sent.
    pub fn take(&mut self, piece: Piece) {
        let Piece {
            stream, message, ..
        } = piece;
        let at = (message - self.first) as usize;
        if let Some(waiting) = self.waiting.get_mut(at) {
            waiting.taken += 1;
        }
        if piece.ends {
            self.streams[stream as usize] += self.streams.len() as u32;
        }
        if self.interleave {
            self.turns.pop_front();
            if self.streams[stream as usize] < self.end() {
                self.turns.push_back(stream);
            }
        } else if piece.ends {
            self.turns.pop_front();
        }
        while self.waiting.front().is_some_and(|w| w.taken == w.segments) {
            self.waiting.pop_front();
            self.first += 1;
        }
    }

    /// Bytes that were not sent, in whole segments; `u64::MAX` if they are endless.
    pub fn bytes(&self) -> Bytes {
        let mut sum: u64 = 0;
        for waiting in &self.waiting {
            if waiting.segments == u32::MAX {
                return Bytes::new(u64::MAX);
            }
            let segments = u64::from(waiting.segments - waiting.taken);
            sum = sum.saturating_add(segments.saturating_mul(self.mss.get()));
        }
        Bytes::new(sum)
    }

    /// Discards everything that was not sent.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The number of the message that arrives next.
    fn end(&self) -> u32 {
        self.first + self.waiting.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stream, message and bytes of each segment, if messages of these sizes are there at once.
    fn sent(streams: u32, interleave: bool, sizes: &[u64]) -> Vec<(u32, u32, u32)> {
        let mut backlog = Backlog::new(streams, interleave, Bytes::new(1000));
        for size in sizes {
            backlog.push(Some(Bytes::new(*size)));
        }
        drain(&mut backlog)
    }

    fn drain(backlog: &mut Backlog) -> Vec<(u32, u32, u32)> {
        let one = || {
            let piece = backlog.next()?;
            backlog.take(piece);
            Some((piece.stream, piece.message, piece.payload))
        };
        let all = std::iter::from_fn(one).collect();
        assert!(backlog.is_empty());
        all
    }

    #[test]
    fn each_message_has_segments_of_its_own() {
        // 2500 bytes in segments of 1000, and one byte after them: no segment carries parts of
        // both.
        let expected = [(0, 0, 1000), (0, 0, 1000), (0, 0, 500), (0, 1, 1)];
        assert_eq!(sent(1, true, &[2500, 1]), expected);
        assert_eq!(sent(1, false, &[2500, 1]), expected);
    }

    #[test]
    fn interleaved_streams_take_turns_segment_by_segment() {
        // Messages 0 and 2 are on stream 0, 1 and 3 on stream 1. Message 1 has one segment.
        let expected = [
            (0, 0, 1000),
            (1, 1, 1000),
            (0, 0, 1000),
            (1, 3, 1000),
            (0, 2, 700),
            (1, 3, 1000),
            (1, 3, 10),
        ];
        assert_eq!(sent(2, true, &[2000, 1000, 700, 2010]), expected);
    }

    #[test]
    fn without_interleaving_messages_are_sent_in_order() {
        let expected = [
            (0, 0, 1000),
            (0, 0, 1000),
            (1, 1, 1000),
            (0, 2, 700),
            (1, 3, 1000),
        ];
        assert_eq!(sent(2, false, &[2000, 1000, 700, 1000]), expected);
    }

    #[test]
    fn an_idle_stream_gets_its_turn_after_the_others() {
        let mut backlog = Backlog::new(3, true, Bytes::new(1000));
        (0..2).for_each(|_| {
            backlog.push(None);
        });
        let mut streams = Vec::new();
        for round in 0..8 {
            if round == 3 {
                backlog.push(Some(Bytes::new(1500)));
            }
            let piece = backlog.next().expect("two streams are endless");
            backlog.take(piece);
            streams.push(piece.stream);
        }
        assert_eq!(streams, [0, 1, 0, 1, 0, 2, 1, 0]);
    }

    #[test]
    fn discarded_data_is_not_sent() {
        let mut backlog = Backlog::new(2, true, Bytes::new(1000));
        (0..2).for_each(|_| {
            backlog.push(None);
        });
        let piece = backlog.next().expect("endless");
        backlog.take(piece);
        backlog.clear();
        assert_eq!((backlog.next(), backlog.is_empty()), (None, true));
    }
}
