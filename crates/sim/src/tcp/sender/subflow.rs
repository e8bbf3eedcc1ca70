//! What a sender has besides if its connection decides what it sends: which data its segments carry, and, if it is one path of
//! several (RFC 8684), what its law is told of the others.
//!
//! A subflow's own sequence numbers, recovery and window are those of any sender. It has nothing to send of its own: its
//! connection offers it data, one segment at a time, and it takes what it may send. Which data a segment carries (the
//! mapping of RFC 8684 section 3.3.1) stays the same however often the segment is sent.

use super::Sender;
use std::collections::VecDeque;
use whimbrel_cc::Sibling;
use whimbrel_units::Duration;

/// Which data of its connection a segment carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Its number among the segments of the connection.
    pub data: u32,
    /// Its bytes.
    pub payload: u32,
}

/// A segment that left a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub mapping: Mapping,
    /// It took what was offered; otherwise it was sent again.
    pub is_new: bool,
}

/// A path of a connection that decides what is sent.
#[derive(Debug)]
pub(super) struct Subflow {
    /// What the segments from `first` on carry, and whether another path was asked to carry it too.
    carried: VecDeque<(Mapping, bool)>,
    first: u32,
    /// What the next new segment would carry.
    offered: Option<Mapping>,
    /// What it knows of the others, if it is one path of several.
    siblings: Option<Siblings>,
}

/// One path of several.
#[derive(Debug)]
struct Siblings {
    /// All paths of the connection, and which of them this is.
    paths: Vec<Sibling>,
    own: usize,
    /// Least RTT sample of the round trip under way, and of the last whole one.
    least: Option<Duration>,
    round_rtt: Duration,
}

impl Subflow {
    fn mapping(&self, seg: u32) -> Option<Mapping> {
        let at = seg.checked_sub(self.first)? as usize;
        self.carried.get(at).map(|(mapping, _)| *mapping)
    }

    /// Bytes that a segment carries; if it is the next new one, it takes what was offered. All below `una` is
    /// acknowledged, and forgotten.
    pub(super) fn payload(&mut self, seg: u32, una: u32) -> u32 {
        while self.first < una && !self.carried.is_empty() {
            self.carried.pop_front();
            self.first += 1;
        }
        if seg == self.first + self.carried.len() as u32
            && let Some(mapping) = self.offered.take()
        {
            self.carried.push_back((mapping, false));
        }
        self.mapping(seg).map_or(0, |mapping| mapping.payload)
    }
}

impl Sender {
    /// Makes it path `own` of so many. The receive window is the connection's.
    pub fn govern(mut self, own: usize, paths: usize) -> Self {
        self.total = 0;
        self.window = u32::MAX;
        let siblings = (paths > 1).then(|| Siblings {
            paths: vec![self.sibling(); paths],
            own,
            least: None,
            round_rtt: Duration::ZERO,
        });
        self.subflow = Some(Box::new(Subflow {
            carried: VecDeque::new(),
            first: 0,
            offered: None,
            siblings,
        }));
        self
    }

    fn siblings_mut(&mut self) -> Option<&mut Siblings> {
        self.subflow.as_mut().and_then(|s| s.siblings.as_mut())
    }

    /// What the laws of other paths may know of this one.
    pub fn sibling(&self) -> Sibling {
        Sibling {
            cwnd: self.controller.cwnd(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            round_rtt: self
                .subflow
                .as_ref()
                .and_then(|subflow| subflow.siblings.as_ref())
                .map_or(Duration::ZERO, |siblings| siblings.round_rtt),
        }
    }

    /// How another path stands now.
    pub fn set_sibling(&mut self, path: usize, sibling: Sibling) {
        if let Some(place) = self.siblings_mut().and_then(|s| s.paths.get_mut(path)) {
            *place = sibling;
        }
    }

    /// Tells the law how all paths stand, before it hears of an acknowledgment. With one path it is told nothing.
    pub(super) fn tell_siblings(&mut self, sample: Option<Duration>, round_start: bool) {
        let mut now = self.sibling();
        let Some(siblings) = self.subflow.as_mut().and_then(|s| s.siblings.as_mut()) else {
            return;
        };
        if round_start {
            siblings.round_rtt = siblings.least.take().unwrap_or(siblings.round_rtt);
            now.round_rtt = siblings.round_rtt;
        }
        if let Some(rtt) = sample {
            siblings.least = Some(siblings.least.map_or(rtt, |least| least.min(rtt)));
        }
        siblings.paths[siblings.own] = now;
        self.controller.on_siblings(&siblings.paths, siblings.own);
    }

    /// There is this to send, if anything is. Stands until the next offer.
    pub fn offer(&mut self, offer: Option<Mapping>) {
        self.total = self.board.next().saturating_add(u32::from(offer.is_some()));
        if let Some(subflow) = &mut self.subflow {
            subflow.offered = offer;
        }
    }

    /// What a segment that just left carries.
    pub fn left(&self, seg: u32) -> Left {
        let subflow = self.subflow.as_ref();
        Left {
            mapping: subflow.and_then(|s| s.mapping(seg)).unwrap_or(Mapping {
                data: 0,
                payload: 0,
            }),
            is_new: !self.board.get(seg).retransmitted(),
        }
    }

    /// Whether the other end is not known to have a segment.
    pub fn misses(&self, seg: u32) -> bool {
        self.board.holds(seg) && !self.board.get(seg).sacked
    }

    /// All that the other end is not known to have and no other path was asked to carry, which is asked now: `ask` is
    /// called for each segment and what it carries.
    pub fn hand_over(&mut self, mut ask: impl FnMut(u32, Mapping)) {
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        for (seg, (mapping, asked)) in (subflow.first..).zip(&mut subflow.carried) {
            if !*asked && self.board.holds(seg) && !self.board.get(seg).sacked {
                *asked = true;
                ask(seg, *mapping);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Nack, TcpSettings};
    use whimbrel_units::Time;

    fn sender() -> Sender {
        let newreno = "newreno".parse().expect("registered");
        Sender::new(&newreno, None, &TcpSettings::default(), Nack::Off, 1).govern(0, 2)
    }

    #[test]
    fn a_segment_carries_what_was_offered_when_it_first_left() {
        let mut sender = sender();
        assert_eq!(sender.next_segment(Time::ZERO), None, "nothing of its own");
        let full = Mapping {
            data: 7,
            payload: 1448,
        };
        let short = Mapping {
            data: 9,
            payload: 500,
        };
        for (seg, mapping) in [(0, full), (1, short)] {
            sender.offer(Some(mapping));
            let sent = sender.next_segment(Time::ZERO).expect("the window is open");
            // Headers of 52 bytes.
            assert_eq!((sent.seg, sent.size), (seg, mapping.payload + 52));
            let is_new = true;
            assert_eq!(sender.left(seg), Left { mapping, is_new });
            assert_eq!(
                sender.next_segment(Time::ZERO),
                None,
                "one offer, one segment"
            );
        }
        // The timer fires after a second: the first segment goes again, as it was, whatever is offered.
        let later = Time::ZERO + Duration::from_secs(5);
        sender.on_timer(later);
        sender.offer(Some(short));
        let again = sender.next_segment(later).expect("one may leave");
        assert_eq!((again.seg, again.size), (0, 1500));
        let left = sender.left(0);
        assert_eq!((left.mapping, left.is_new), (full, false));
    }

    #[test]
    fn a_law_with_one_path_is_told_of_no_siblings() {
        let newreno = "newreno".parse().expect("registered");
        let alone = Sender::new(&newreno, None, &TcpSettings::default(), Nack::Off, 1).govern(0, 1);
        let knows = |sender: &Sender| {
            sender
                .subflow
                .as_ref()
                .is_some_and(|s| s.siblings.is_some())
        };
        assert!(!knows(&alone) && knows(&sender()));
    }

    #[test]
    fn what_is_under_way_is_handed_over_once() {
        let mut sender = sender();
        let send = |data, sender: &mut Sender| {
            sender.offer(Some(Mapping {
                data,
                payload: 1448,
            }));
            sender.next_segment(Time::ZERO).expect("the window is open");
        };
        let handed = |sender: &mut Sender| {
            let mut all = Vec::new();
            sender.hand_over(|seg, mapping| all.push((seg, mapping.data)));
            all
        };
        send(3, &mut sender);
        send(5, &mut sender);
        assert_eq!(handed(&mut sender), [(0, 3), (1, 5)]);
        send(6, &mut sender);
        assert_eq!(handed(&mut sender), [(2, 6)]);
        assert_eq!(handed(&mut sender), []);
    }

    #[test]
    fn the_round_trip_time_that_siblings_see_is_the_least_of_the_last_whole_round() {
        let mut sender = sender();
        let seen: Vec<u64> = [(30, true), (20, false), (50, true), (60, false), (40, true)]
            .map(|(rtt, round_start)| {
                sender.tell_siblings(Some(Duration::from_millis(rtt)), round_start);
                sender.sibling().round_rtt.as_nanos() / 1_000_000
            })
            .to_vec();
        // None is over until the third sample begins the second, whose least is 50.
        assert_eq!(seen, [0, 0, 20, 20, 50]);
    }
}
