//! The state of a sender that is a subflow of a multipath connection: which data its segments
//! carry, and, if there are several paths (RFC 8684), what its controller knows of the others.
//!
//! A subflow has the sequence numbers, recovery and window of any sender, but no data of its own:
//! the connection offers it one segment of data at a time, and it takes the data when it may send.
//! The data that a segment carries (the mapping of RFC 8684 section 3.3.1) stays the same in every
//! retransmission.

use super::Sender;
use std::collections::VecDeque;
use whimbrel_cc::Sibling;
use whimbrel_units::Duration;

/// Which data of its connection a segment carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Its segment number in the connection.
    pub data: u32,
    /// Its size in bytes.
    pub payload: u32,
}

/// A segment that a subflow sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departed {
    /// The data that it carries.
    pub mapping: Mapping,
    /// It carries newly offered data; otherwise it is a retransmission.
    pub is_new: bool,
}

/// The subflow state of a sender.
#[derive(Debug)]
pub(super) struct Subflow {
    /// The data of the segments from `first` on, and whether it was handed over to other paths.
    carried: VecDeque<(Mapping, bool)>,
    first: u32,
    /// The data that the next new segment would carry.
    offered: Option<Mapping>,
    /// What it knows of the other paths; `None`: there are none.
    siblings: Option<Siblings>,
}

/// What one of several paths knows of all paths.
#[derive(Debug)]
struct Siblings {
    /// All paths of the connection; `own` is the index of this one.
    paths: Vec<Sibling>,
    own: usize,
    /// Minimum RTT sample of the current round trip.
    round_min: Option<Duration>,
    /// Minimum RTT sample of the last complete round trip.
    round_rtt: Duration,
}

impl Subflow {
    fn mapping(&self, seg: u32) -> Option<Mapping> {
        let at = seg.checked_sub(self.first)? as usize;
        self.carried.get(at).map(|(mapping, _)| *mapping)
    }

    /// The payload of a segment in bytes. The next new segment takes the offered data. Segments
    /// below `una` are acknowledged and forgotten.
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
    /// Makes it path `own` of a multipath connection with this number of `paths`. The connection
    /// applies the receive window.
    pub fn multipath(mut self, own: usize, paths: usize) -> Self {
        self.total = 0;
        self.window = u32::MAX;
        let siblings = (paths > 1).then(|| Siblings {
            paths: vec![self.sibling(); paths],
            own,
            round_min: None,
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

    /// What the controllers of other paths may know of this path.
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

    /// Updates what is known of another path.
    pub fn set_sibling(&mut self, path: usize, sibling: Sibling) {
        if let Some(place) = self.siblings_mut().and_then(|s| s.paths.get_mut(path)) {
            *place = sibling;
        }
    }

    /// Reports the state of all paths to the controller, before it is notified of an
    /// acknowledgment. Does nothing if there is one path only.
    pub(super) fn tell_siblings(&mut self, sample: Option<Duration>, round_start: bool) {
        let mut now = self.sibling();
        let Some(siblings) = self.subflow.as_mut().and_then(|s| s.siblings.as_mut()) else {
            return;
        };
        if round_start {
            siblings.round_rtt = siblings.round_min.take().unwrap_or(siblings.round_rtt);
            now.round_rtt = siblings.round_rtt;
        }
        if let Some(rtt) = sample {
            siblings.round_min = Some(siblings.round_min.map_or(rtt, |min| min.min(rtt)));
        }
        siblings.paths[siblings.own] = now;
        self.controller.on_siblings(&siblings.paths, siblings.own);
    }

    /// Offers data to send; `None`: there is none. The offer is valid until the next one.
    pub fn offer(&mut self, offer: Option<Mapping>) {
        self.total = self.board.next().saturating_add(u32::from(offer.is_some()));
        if let Some(subflow) = &mut self.subflow {
            subflow.offered = offer;
        }
    }

    /// The segment that was just sent.
    pub fn departed(&self, seg: u32) -> Departed {
        let subflow = self.subflow.as_ref();
        Departed {
            mapping: subflow.and_then(|s| s.mapping(seg)).unwrap_or(Mapping {
                data: 0,
                payload: 0,
            }),
            is_new: !self.board.get(seg).retransmitted(),
        }
    }

    /// Whether the peer is not known to have a segment.
    pub fn misses(&self, seg: u32) -> bool {
        self.board.holds(seg) && !self.board.get(seg).sacked
    }

    /// Hands over to other paths all data that the peer is not known to have and that was not
    /// handed over before. `take` is called with each segment and its data.
    pub fn hand_over(&mut self, mut take: impl FnMut(u32, Mapping)) {
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        for (seg, (mapping, handed)) in (subflow.first..).zip(&mut subflow.carried) {
            if !*handed && self.board.holds(seg) && !self.board.get(seg).sacked {
                *handed = true;
                take(seg, *mapping);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Nack, TcpSettings};
    use crate::seed::Draw;
    use whimbrel_units::Time;

    fn sender() -> Sender {
        let newreno = "newreno".parse().expect("registered");
        Sender::new(
            &newreno,
            None,
            &TcpSettings::default(),
            Nack::Off,
            Draw::of(1, 0),
        )
        .multipath(0, 2)
    }

    #[test]
    fn a_segment_keeps_the_data_it_was_first_sent_with() {
        let mut sender = sender();
        assert_eq!(
            sender.next_one(Time::ZERO),
            None,
            "it has no data of its own"
        );
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
            let sent = sender.next_one(Time::ZERO).expect("the window is open");
            // Headers of 52 bytes.
            assert_eq!((sent.seg, sent.size), (seg, mapping.payload + 52));
            let is_new = true;
            assert_eq!(sender.departed(seg), Departed { mapping, is_new });
            assert_eq!(sender.next_one(Time::ZERO), None, "one offer, one segment");
        }
        // After a timeout the first segment is retransmitted with its own data, not the offered
        // data.
        let later = Time::ZERO + Duration::from_secs(5);
        sender.on_timer(later);
        sender.offer(Some(short));
        let again = sender.next_one(later).expect("one may leave");
        assert_eq!((again.seg, again.size), (0, 1500));
        let sent = sender.departed(0);
        assert_eq!((sent.mapping, sent.is_new), (full, false));
    }

    #[test]
    fn a_connection_with_one_path_has_no_siblings() {
        let newreno = "newreno".parse().expect("registered");
        let alone = Sender::new(
            &newreno,
            None,
            &TcpSettings::default(),
            Nack::Off,
            Draw::of(1, 0),
        )
        .multipath(0, 1);
        let knows = |sender: &Sender| {
            sender
                .subflow
                .as_ref()
                .is_some_and(|s| s.siblings.is_some())
        };
        assert!(!knows(&alone) && knows(&sender()));
    }

    #[test]
    fn data_in_flight_is_handed_over_once() {
        let mut sender = sender();
        let send = |data, sender: &mut Sender| {
            sender.offer(Some(Mapping {
                data,
                payload: 1448,
            }));
            sender.next_one(Time::ZERO).expect("the window is open");
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
    fn siblings_see_the_minimum_rtt_of_the_last_complete_round() {
        let mut sender = sender();
        let seen: Vec<u64> = [(30, true), (20, false), (50, true), (60, false), (40, true)]
            .map(|(rtt, round_start)| {
                sender.tell_siblings(Some(Duration::from_millis(rtt)), round_start);
                sender.sibling().round_rtt.as_nanos() / 1_000_000
            })
            .to_vec();
        // The first complete round ends with the third sample; the minimum of the second one is 50.
        assert_eq!(seen, [0, 0, 20, 20, 50]);
    }
}
