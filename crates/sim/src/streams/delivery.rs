//! What a receiver delivers: each stream in its own order.
//!
//! A segment is identified by its number in the order in which the connection first sent it, as by
//! the TSN of SCTP or the packet number of QUIC. Its stream and its place there would be in its
//! header (stream identifier and sequence number of RFC 9260 section 3.3.1, offset of RFC 9000
//! section 19.8). A packet of the simulator has no room for them, so they are in a table that the
//! sender fills. The receiver reads nothing in it of a segment that has not arrived.

use super::backlog::Piece;
use std::collections::VecDeque;

/// No segment.
const NONE: u32 = u32::MAX;

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    piece: Piece,
    /// The next segment of its stream, or [`NONE`] so far.
    following: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    /// It has arrived, and something before it in its stream is missing.
    Held,
    Delivered,
}

/// A stream: its first segment that is not delivered, and the last that was sent, or [`NONE`].
#[derive(Debug, Clone, Copy)]
struct Stream {
    head: u32,
    tail: u32,
}

/// All segments from the first that is not delivered on.
#[derive(Debug)]
pub(super) struct Delivery {
    sent: VecDeque<Sent>,
    first: u32,
    streams: Vec<Stream>,
}

impl Delivery {
    /// No segments sent.
    pub fn new(streams: u32) -> Self {
        let empty = Stream {
            head: NONE,
            tail: NONE,
        };
        Self {
            sent: VecDeque::new(),
            first: 0,
            streams: vec![empty; streams as usize],
        }
    }

    /// The next segment was sent for the first time.
    pub fn on_sent(&mut self, piece: Piece) {
        let number = self.first + self.sent.len() as u32;
        let stream = &mut self.streams[piece.stream as usize];
        if stream.head == NONE {
            stream.head = number;
        } else if let Some(before) = self.sent.get_mut((stream.tail - self.first) as usize) {
            before.following = number;
        }
        stream.tail = number;
        self.sent.push_back(Sent {
            piece,
            following: NONE,
            state: State::UnderWay,
        });
    }

    /// A segment arrived. Returns what it carries, if it had not arrived before.
    pub fn on_data(&mut self, number: u32) -> Option<Piece> {
        let at = number.checked_sub(self.first)?;
        let sent = self.sent.get_mut(at as usize)?;
        if sent.state != State::UnderWay {
            return None;
        }
        sent.state = State::Held;
        Some(sent.piece)
    }

    /// Delivers the next segment of a stream, if it has arrived. Call it until it returns `None`.
    pub fn deliver(&mut self, stream: u32) -> Option<Piece> {
        let stream = &mut self.streams[stream as usize];
        let at = stream.head.checked_sub(self.first)?;
        let sent = self.sent.get_mut(at as usize)?;
        if sent.state != State::Held {
            return None;
        }
        sent.state = State::Delivered;
        stream.head = sent.following;
        let piece = sent.piece;
        while self
            .sent
            .front()
            .is_some_and(|sent| sent.state == State::Delivered)
        {
            self.sent.pop_front();
            self.first += 1;
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_stream_is_delivered_once_and_in_order(
            of in prop::collection::vec(0u32..5, 1..60),
            sent_first in 0usize..60,
            coming in prop::collection::vec(0u32..60, 0..200),
        ) {
            let mut delivery = Delivery::new(5);
            let piece = |number: usize| Piece {
                stream: of[number],
                message: number as u32,
                payload: 1,
                ends: true,
            };
            let mut sent = sent_first.min(of.len());
            (0..sent).for_each(|number| delivery.on_sent(piece(number)));
            let mut came = vec![false; of.len()];
            let mut delivered = vec![Vec::new(); 5];
            // Segments that the arbitrary order leaves out arrive at the end.
            for number in coming.into_iter().chain(0..of.len() as u32) {
                if sent < of.len() {
                    delivery.on_sent(piece(sent));
                    sent += 1;
                }
                let new = (number as usize) < sent && !came[number as usize];
                let piece = delivery.on_data(number);
                prop_assert_eq!(piece.map(|p| p.message), new.then_some(number));
                let Some(piece) = piece else { continue };
                came[number as usize] = true;
                while let Some(next) = delivery.deliver(piece.stream) {
                    delivered[next.stream as usize].push(next.message);
                }
                for (stream, delivered) in delivered.iter().enumerate() {
                    // Everything up to the first segment that has not arrived.
                    let own = (0..sent as u32).filter(|n| of[*n as usize] == stream as u32);
                    let whole: Vec<u32> = own.take_while(|n| came[*n as usize]).collect();
                    prop_assert_eq!(delivered, &whole);
                }
            }
            prop_assert!(came.iter().all(|came| *came));
        }
    }

    /// Segments of these streams in the order in which they are sent. The message is the position
    /// in the stream.
    fn delivery(streams: u32, of: &[u32]) -> Delivery {
        let mut delivery = Delivery::new(streams);
        let mut positions = vec![0; streams as usize];
        for stream in of {
            let position = &mut positions[*stream as usize];
            delivery.on_sent(Piece {
                stream: *stream,
                message: *position,
                payload: 1000,
                ends: true,
            });
            *position += 1;
        }
        delivery
    }

    /// What is delivered as each of these segments arrives: stream and position.
    fn come(delivery: &mut Delivery, numbers: &[u32]) -> Vec<Vec<(u32, u32)>> {
        let one = |number: &u32| {
            let came = delivery.on_data(*number);
            let next = || delivery.deliver(came?.stream);
            std::iter::from_fn(next)
                .map(|p| (p.stream, p.message))
                .collect()
        };
        numbers.iter().map(one).collect()
    }

    #[test]
    fn one_stream_is_delivered_in_order_despite_reordering() {
        let mut delivery = delivery(1, &[0; 5]);
        let delivered = come(&mut delivery, &[1, 3, 0, 1, 3, 2, 0, 4]);
        let counts: Vec<usize> = delivered.iter().map(Vec::len).collect();
        assert_eq!(counts, [0, 0, 2, 0, 0, 2, 0, 1]);
        let order: Vec<u32> = delivered.into_iter().flatten().map(|(_, p)| p).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_hole_in_one_stream_delays_no_other_stream() {
        // Sent in turns: 0, 2, 4 on stream 0 and 1, 3, 5 on stream 1. The first is lost and arrives
        // last.
        let mut delivery = delivery(2, &[0, 1, 0, 1, 0, 1]);
        let delivered = come(&mut delivery, &[1, 2, 3, 4, 5, 0]);
        let expected = [
            vec![(1, 0)],
            vec![],
            vec![(1, 1)],
            vec![],
            vec![(1, 2)],
            vec![(0, 0), (0, 1), (0, 2)],
        ];
        assert_eq!(delivered, expected);
    }

    #[test]
    fn segments_that_were_never_sent_are_ignored() {
        let mut delivery = delivery(2, &[0]);
        assert_eq!(
            come(&mut delivery, &[1, NONE, 0]),
            [vec![], vec![], vec![(0, 0)]]
        );
        for message in 1..3 {
            delivery.on_sent(Piece {
                stream: 0,
                message,
                payload: 1,
                ends: true,
            });
        }
        assert_eq!(come(&mut delivery, &[2, 1]), [vec![], vec![(0, 1), (0, 2)]]);
        assert!(delivery.sent.is_empty(), "delivered segments are removed");
    }
}
