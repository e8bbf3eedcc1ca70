//! What a NACK means to a sender: one segment arrived corrupted.
//!
//! * It is believed of a segment that is in flight, not sooner than half of the least round trip after that was last sent (no
//!   answer is faster, so what is replayed finds its segment sent again too lately), and not after something that was sent later
//!   arrived: the receiver saw it corrupted before that came. Who learns from the gap that a segment was lost is too late.
//! * It echoes the corrupted segment's time (RFC 7323), which tells it from a NACK for an earlier transmission: that one may
//!   come when the next is already under way. Without timestamps none is believed of what was sent again for anything but a
//!   NACK: as long as each transmission was NACKed before the next, there is no doubt about which one is meant.
//! * The segment is sent again at once, whatever the window says: it has left the network. Proportional rate reduction does not
//!   count it either. A paced sender sends it as the next packet.
//! * cwnd and ssthresh stay, no law hears of it.
//! * The segment is remembered as NACKed until it is acknowledged or its timer fires. The hole that it leaves makes duplicate
//!   acknowledgments for a round trip, which would begin a recovery and make all that was gained undone: the hole is excused.
//!   Duplicate acknowledgments for it say no more than that packets have left the network. Without SACK each then lets
//!   another leave, as in a recovery; with SACK the window grows by what they deliver.
//! * Other holes are not excused: a segment that did not arrive at all is congestion, whatever lies beside it.
//!
//! Who forges a NACK in time cannot know what will be lost, so mostly names a segment that arrives intact. That shows: its
//! acknowledgment comes sooner than what was sent again could have caused it, or echoes an earlier time. Such a sender has
//! been lied to, and believes no more NACKs. What is left to an attacker is to make a connection what it would be without
//! NACKs. A receiver that lies about its own losses, and holds back what would give it away, is not found out; it could always
//! have taken more than its share (S. Savage et al., "TCP Congestion Control with a Misbehaving Receiver", 1999, known and
//! not read again).
//!
//! When the segment is lost again: corrupted again, a second NACK tells. Otherwise its hole stays excused until the timer
//! fires. RACK is better off: it judges the segment that was sent again by its own time, needs nothing to be excused, and
//! finds the second loss when something that left later has arrived. That one was no corruption, so it is a loss as any.
//!
//! With [`Nack::Unsuppressed`] nothing is excused: the segment is sent again at once, and then the duplicate acknowledgments
//! begin a recovery, as they do in a kernel that was taught the first and nothing of the second. The hole is not sent a
//! second time.

use super::Sender;
use super::delivery::Delivery;
use super::scoreboard::{Again, Scoreboard};
use crate::engine::packet::Packet;
use crate::network::Nack;
use crate::outcome::{NackCounts, Truth};
use crate::tcp::nack::Allowance;
use std::collections::VecDeque;
use whimbrel_units::{Duration, Time};

/// What a sender remembers of NACKs.
#[derive(Debug)]
pub(super) struct Nacks {
    allowance: Allowance,
    /// Holes that were NACKed begin no recovery.
    pub excuses: bool,
    /// A NACK proved to be false: no more are believed.
    deceived: bool,
    /// The last transmission, in their order, that is known to have arrived.
    newest: Option<u32>,
    /// Segments to be sent again at once, in the order of their NACKs; entries go stale and are checked when taken.
    owed: VecDeque<u32>,
    pub counts: NackCounts,
}

impl Nacks {
    /// Nothing, if NACKs are off.
    pub fn new(nack: Nack) -> Option<Box<Self>> {
        (nack != Nack::Off).then(|| {
            Box::new(Self {
                allowance: Allowance::new(),
                excuses: nack == Nack::On,
                deceived: false,
                newest: None,
                owed: VecDeque::new(),
                counts: NackCounts::default(),
            })
        })
    }

    /// Whether this segment waits to be sent again.
    pub fn waits(&self, seg: u32) -> bool {
        self.owed.contains(&seg)
    }

    /// Whether a segment waits to be sent again.
    pub fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The next segment to be sent again at once.
    #[inline]
    pub fn take(&mut self, board: &Scoreboard) -> Option<u32> {
        while let Some(seg) = self.owed.pop_front() {
            if board.holds(seg) && board.get(seg).lost {
                return Some(seg);
            }
        }
        None
    }
}

impl Sender {
    /// A NACK arrived.
    pub fn on_nack(&mut self, now: Time, packet: &Packet) {
        let seg = packet.nacked_segment();
        let believed = self.believes(now, seg, packet.echo);
        let Some(nacks) = &mut self.nacks else {
            return;
        };
        if believed {
            nacks.counts.accepted += 1;
            nacks.owed.push_back(seg);
            self.board.mark_nacked(seg);
        } else {
            nacks.counts.refused += 1;
        }
    }

    /// What became of NACKs, if it knows them.
    pub fn nacks(&self) -> Option<NackCounts> {
        self.nacks.as_ref().map(|nacks| nacks.counts)
    }

    fn believes(&mut self, now: Time, seg: u32, echo: Time) -> bool {
        let soonest = self.soonest();
        let Some(nacks) = self.nacks.as_mut().filter(|_| self.board.holds(seg)) else {
            return false;
        };
        let segment = self.board.get(seg);
        let in_flight = !segment.sacked && !segment.lost;
        let later = |newest: u32| newest.wrapping_sub(segment.transmission) as i32 > 0;
        // Without SACK: more have arrived beyond the first hole than lie between it and this one.
        let arrived = self.duplicates.arrived(self.phase.is_calm());
        let passed =
            !segment.retransmitted() && arrived > (seg - self.board.una()).saturating_sub(1);
        let of_earlier = match self.timestamps {
            true => echo < segment.sent,
            false => segment.again == Again::Resent,
        };
        let too_soon = now.since(segment.sent) < soonest;
        let too_late = nacks.newest.is_some_and(later) || passed;
        let believable = in_flight && !of_earlier && !too_soon && !too_late;
        believable && !nacks.deceived && nacks.allowance.take()
    }

    /// No answer comes sooner after what it answers. The least round trip that was measured may have a delayed acknowledgment
    /// in it, and a queue that was never empty; so much that half of it is too long, it is taken not to have.
    fn soonest(&self) -> Duration {
        self.rtt.min_rtt() / 2
    }

    /// An acknowledgment delivered something; before it, all below `una` was acknowledged.
    pub(super) fn nacks_on_delivery(
        &mut self,
        now: Time,
        packet: &Packet,
        una: u32,
        delivery: &Delivery,
    ) {
        let soonest = self.soonest();
        let Some(nacks) = &mut self.nacks else {
            return;
        };
        nacks.allowance.earn(delivery.segments);
        if let Some(newest) = delivery.newest.map(|segment| segment.transmission)
            && nacks
                .newest
                .is_none_or(|known| newest.wrapping_sub(known) as i32 > 0)
        {
            nacks.newest = Some(newest);
        }
        if let Some((seg, sent)) = delivery.nacked {
            let too_soon = now.since(sent) < soonest;
            // What fills the first hole has its time echoed (RFC 7323 section 4.3).
            let of_original = self.timestamps && seg == una && packet.echo < sent;
            if too_soon || of_original {
                nacks.deceived = true;
                nacks.excuses = false;
                nacks.counts.mistaken += 1;
            }
        }
    }

    /// What became of the transmission that was NACKed, if a segment in flight was NACKed.
    #[inline]
    pub(super) fn nacked(&self, seg: u32) -> Option<Truth> {
        let known = self.nacks.is_some() && self.board.holds(seg);
        known.then(|| self.board.get(seg).nacked()).flatten()
    }

    /// Whether the hole that a segment leaves begins no recovery, because the segment was NACKed.
    #[inline]
    pub(super) fn excuses(&self, seg: u32) -> bool {
        let excuses = self.nacks.as_ref().is_some_and(|nacks| nacks.excuses);
        excuses && self.nacked(seg).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::packet::{Block, Flags};
    use crate::network::{Recovery, TcpSettings};
    use crate::tcp::sender::Phase;
    use proptest::prelude::*;
    use std::ops::Range;
    use whimbrel_net::DropCause;
    use whimbrel_units::Bytes;

    const MSS: u64 = 1448;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(1_000 + ms)
    }

    /// Ten segments in flight since 0 ms on a path of 100 ms, under NewReno's law.
    fn sender(nack: Nack, recovery: Recovery) -> Sender {
        let settings = TcpSettings {
            recovery,
            ..TcpSettings::default()
        };
        let newreno = "newreno".parse().expect("registered");
        let mut sender = Sender::new(&newreno, None, &settings, nack, 1);
        sender.on_handshake(Some(Duration::from_millis(100)));
        assert_eq!(leave(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
        sender
    }

    /// All that leaves now.
    fn leave(sender: &mut Sender, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| sender.next_segment(now).map(|sent| sent.seg)).collect()
    }

    /// An acknowledgment with one SACK block arrives, and answers what was sent 100 ms before.
    fn ack(sender: &mut Sender, now: Time, ack: u32, sacked: Range<u32>) -> Vec<u32> {
        echoing(sender, now, now - Duration::from_millis(100), ack, sacked)
    }

    /// The same, for what was sent at `echo`.
    fn echoing(
        sender: &mut Sender,
        now: Time,
        echo: Time,
        ack: u32,
        sacked: Range<u32>,
    ) -> Vec<u32> {
        let mut packet = packet(now, echo, ack);
        packet.sacks[0] = Block {
            start: sacked.start,
            end: sacked.end,
        };
        sender.on_ack(now, &packet);
        leave(sender, now)
    }

    fn packet(now: Time, echo: Time, ack: u32) -> Packet {
        Packet {
            at: now,
            sent: now,
            echo,
            lane: 0,
            seg: 0,
            ack,
            size: 52,
            hop: 0,
            flags: Flags::BACKWARD,
            sacks: [Block::default(); 3],
        }
    }

    /// A NACK arrives that answers the last transmission, or pretends to.
    fn tell(sender: &mut Sender, now: Time, seg: u32) {
        sender.on_nack(now, &packet(now, now, seg));
    }

    fn nack(sender: &mut Sender, now: Time, seg: u32) -> Vec<u32> {
        tell(sender, now, seg);
        leave(sender, now)
    }

    /// Window, threshold and flight, in segments.
    fn state(sender: &Sender) -> (u64, Option<u64>, u64) {
        let ssthresh = sender.controller.ssthresh();
        (
            sender.controller.cwnd().get() / MSS,
            ssthresh.map(|bytes| bytes.get() / MSS),
            sender.in_flight().get() / MSS,
        )
    }

    fn counts(sender: &Sender) -> (u64, u64, u64) {
        let counts = sender.nacks().expect("it knows them");
        (counts.accepted, counts.refused, counts.resent)
    }

    const ALL: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];

    #[test]
    fn a_nacked_segment_leaves_at_once_and_window_threshold_and_flight_are_as_they_were() {
        for recovery in ALL {
            let mut sender = sender(Nack::On, recovery);
            assert_eq!(nack(&mut sender, at(100), 3), [3], "{recovery:?}");
            assert_eq!(state(&sender), (10, None, 10));
            assert_eq!(counts(&sender), (1, 0, 1));
            assert_eq!(sender.counters.retransmits, 1);
        }
    }

    #[test]
    fn a_nack_for_what_is_not_in_flight_or_comes_too_soon_or_again_does_nothing() {
        let mut sender = sender(Nack::On, Recovery::Sack);
        assert_eq!(nack(&mut sender, at(49), 3), [], "no answer is so fast");
        ack(&mut sender, at(100), 1, 2..3);
        let before = state(&sender);
        // 0 is acknowledged, 2 has arrived, and so 1 would have been told of before; 30 was not sent.
        for seg in [0, 1, 2, 30, u32::MAX] {
            assert_eq!(nack(&mut sender, at(110), seg), [], "{seg}");
        }
        assert_eq!(nack(&mut sender, at(110), 3), [3]);
        assert_eq!(nack(&mut sender, at(159), 3), [], "it was just sent again");
        assert_eq!(
            nack(&mut sender, at(210), 3),
            [3],
            "it came corrupted again"
        );
        assert_eq!((state(&sender), counts(&sender)), (before, (2, 7, 2)));
    }

    #[test]
    fn a_timeout_that_was_a_mistake_forgets_no_segment_that_was_nacked_before() {
        let mut sender = sender(Nack::On, Recovery::Rack);
        assert_eq!(nack(&mut sender, at(100), 3), [3]);
        sender.on_timer(at(5_000));
        assert_eq!(leave(&mut sender, at(5_000)), [0]);
        // What was sent first arrives at last: nothing was lost.
        let sent = echoing(&mut sender, at(5_001), at(0), 1, 0..0);
        assert_eq!(sender.counters.spurious, 1);
        assert_eq!(
            sender.board.lost(),
            0,
            "lost, and in no queue: never sent again"
        );
        assert!(sent.iter().all(|seg| *seg >= 10), "{sent:?}");
    }

    #[test]
    fn a_sender_that_knows_no_nacks_believes_none() {
        let mut sender = sender(Nack::Off, Recovery::Rack);
        assert_eq!(nack(&mut sender, at(100), 3), []);
        assert_eq!(state(&sender), (10, None, 10));
        assert_eq!(sender.nacks(), None);
    }

    #[test]
    fn without_sack_each_duplicate_of_a_nacked_hole_lets_one_leave_and_nothing_is_halved() {
        let mut sender = sender(Nack::On, Recovery::NewReno);
        assert_eq!(nack(&mut sender, at(100), 0), [0]);
        for duplicate in 1..10 {
            let sent = ack(&mut sender, at(100 + duplicate), 0, 0..0);
            assert_eq!(sent, [9 + duplicate as u32]);
        }
        // Segment 0 fills the hole: of ten that this acknowledges slow start counts two. 10 to 18 are in flight.
        assert_eq!(ack(&mut sender, at(200), 10, 0..0), [19, 20, 21]);
        assert_eq!(state(&sender), (12, None, 12));
        assert!(matches!(sender.phase, Phase::Open));
    }

    #[test]
    fn duplicates_too_many_let_more_leave_for_a_round_trip_and_no_longer() {
        let mut sender = sender(Nack::On, Recovery::NewReno);
        nack(&mut sender, at(100), 0);
        // Twelve, of nine segments beyond the hole: 21 are sent in all.
        for duplicate in 1..13 {
            ack(&mut sender, at(100 + duplicate), 0, 0..0);
        }
        assert_eq!(sender.board.next(), 22);
        ack(&mut sender, at(200), 10, 0..0);
        // Twelve of the window and the three too many.
        assert_eq!(state(&sender), (12, None, 15));
        ack(&mut sender, at(203), 22, 0..0);
        let (window, _, flight) = state(&sender);
        assert_eq!((window, flight), (14, 14));
    }

    #[test]
    fn with_sack_the_window_grows_by_what_arrives_beyond_a_nacked_hole() {
        for recovery in [Recovery::Sack, Recovery::Rack] {
            let mut sender = sender(Nack::On, recovery);
            assert_eq!(nack(&mut sender, at(100), 0), [0]);
            for (duplicate, sent) in [(1, [10, 11]), (2, [12, 13]), (3, [14, 15])] {
                // One more in its place, and one by which slow start grows.
                let all = ack(&mut sender, at(100 + duplicate), 0, 1..1 + duplicate as u32);
                assert_eq!(all, sent, "{recovery:?}");
            }
            assert_eq!(state(&sender), (13, None, 13));
            assert!(matches!(sender.phase, Phase::Open));
        }
    }

    #[test]
    fn unsuppressed_the_duplicates_halve_the_window_and_the_hole_is_sent_once() {
        for recovery in ALL {
            let mut sender = sender(Nack::Unsuppressed, recovery);
            sender.note_drop(0, at(0), DropCause::Random);
            assert_eq!(nack(&mut sender, at(100), 0), [0]);
            let mut sent = Vec::new();
            for duplicate in 1..10 {
                let sacked = 1..1 + duplicate as u32;
                sent.extend(ack(&mut sender, at(100 + duplicate), 0, sacked));
            }
            assert_eq!(state(&sender).1, Some(5), "{recovery:?}");
            assert_eq!(sender.counters.episodes, 1);
            assert!(!sent.contains(&0), "{recovery:?}: {sent:?}");
            ack(&mut sender, at(200), 10, 0..0);
            assert_eq!(state(&sender).0, 5);
        }
    }

    #[test]
    fn a_lost_segment_beside_a_corrupted_one_halves_the_window_as_ever() {
        // 0 comes corrupted and 4 not at all: 1 to 3 and 5 to 9 arrive.
        for recovery in [Recovery::Sack, Recovery::Rack] {
            let mut sender = sender(Nack::On, recovery);
            assert_eq!(nack(&mut sender, at(100), 0), [0]);
            ack(&mut sender, at(101), 0, 1..4);
            assert_eq!(sender.counters.episodes, 0);
            ack(&mut sender, at(102), 0, 5..8);
            // Slow start grew by 2 for the first three; the flight was 12 when 4 was found lost.
            assert_eq!(
                (sender.counters.episodes, state(&sender).1),
                (1, Some(6)),
                "{recovery:?}"
            );
        }
    }

    #[test]
    fn without_sack_the_lost_one_is_found_once_the_corrupted_one_is_there() {
        let mut sender = sender(Nack::On, Recovery::NewReno);
        nack(&mut sender, at(100), 0);
        // 1 to 3 and 5 to 9 let 10 to 17 leave.
        for duplicate in 1..9 {
            ack(&mut sender, at(100 + duplicate), 0, 0..0);
        }
        // 0 is there, 4 is missing; 4 to 17 are not acknowledged, of which 5 have arrived. Slow start: 12.
        assert_eq!(ack(&mut sender, at(200), 4, 0..0), [18, 19, 20]);
        assert_eq!(state(&sender).0, 12);
        assert_eq!(ack(&mut sender, at(201), 4, 0..0).len(), 1);
        assert_eq!(ack(&mut sender, at(202), 4, 0..0).len(), 1);
        assert_eq!(sender.counters.episodes, 0);
        // The third duplicate: 4 goes again, and the window is half of twelve.
        assert!(ack(&mut sender, at(203), 4, 0..0).contains(&4));
        assert_eq!((sender.counters.episodes, state(&sender).1), (1, Some(6)));
    }

    #[test]
    fn rack_finds_that_what_was_sent_again_was_lost_and_takes_it_for_a_loss() {
        let mut sender = sender(Nack::On, Recovery::Rack);
        nack(&mut sender, at(100), 0);
        ack(&mut sender, at(101), 0, 1..10);
        assert_eq!(sender.counters.episodes, 0);
        // What left at 101 ms, after segment 0, has arrived; segment 0 has not.
        ack(&mut sender, at(201), 0, 1..13);
        assert_eq!(sender.counters.episodes, 1);
    }

    #[test]
    fn a_nacked_segment_that_is_lost_again_waits_for_the_timer_in_the_other_modes() {
        for recovery in [Recovery::NewReno, Recovery::Sack] {
            let mut sender = sender(Nack::On, recovery);
            nack(&mut sender, at(100), 0);
            for duplicate in 1..10 {
                ack(&mut sender, at(100 + duplicate), 0, 1..1 + duplicate as u32);
            }
            ack(&mut sender, at(300), 0, 1..15);
            assert_eq!((sender.counters.episodes, state(&sender).1), (0, None));
            // The least timeout is a second, from when it was sent again.
            assert_eq!(sender.deadline(at(300)), Some(at(1100)), "{recovery:?}");
            sender.on_timer(at(1100));
            assert_eq!(leave(&mut sender, at(1100)), [0]);
            assert_eq!((state(&sender).0, sender.counters.timeouts), (1, 1));
        }
    }

    #[test]
    fn a_nack_for_an_earlier_transmission_is_told_from_one_for_the_last() {
        let mut sender = sender(Nack::On, Recovery::Sack);
        assert_eq!(nack(&mut sender, at(100), 3), [3]);
        for (echo, sent) in [(at(0), vec![]), (at(100), vec![3])] {
            sender.on_nack(at(250), &packet(at(250), echo, 3));
            assert_eq!(leave(&mut sender, at(250)), sent);
        }
    }

    #[test]
    fn without_sack_a_nack_is_too_late_when_more_duplicates_came_than_segments_lie_before_it() {
        let mut sender = sender(Nack::On, Recovery::NewReno);
        // One segment beyond the hole at 0 has arrived: it may be 1, and not what lies beyond 2.
        ack(&mut sender, at(101), 0, 0..0);
        assert_eq!(nack(&mut sender, at(101), 0), []);
        assert_eq!(nack(&mut sender, at(101), 1), []);
        assert_eq!(nack(&mut sender, at(101), 2), [2]);
    }

    #[test]
    fn a_nack_for_what_arrived_shows_and_none_is_believed_after_it() {
        // Sent again at 100 ms; an acknowledgment 1 ms later is of the original.
        let mut sender = sender(Nack::On, Recovery::Rack);
        nack(&mut sender, at(100), 3);
        ack(&mut sender, at(101), 5, 0..0);
        assert_eq!(sender.nacks().expect("it knows them").mistaken, 1);
        assert_eq!(nack(&mut sender, at(150), 7), []);
        assert_eq!(counts(&sender), (1, 1, 1));
    }

    #[test]
    fn behind_a_long_queue_the_echoed_time_shows_it() {
        // Round trips of 260 ms for once: a whole least one after segment 0 was sent again at 150 ms.
        for (echo, mistaken) in [(at(0), 1), (at(150), 0)] {
            let mut sender = sender(Nack::On, Recovery::Rack);
            nack(&mut sender, at(150), 0);
            echoing(&mut sender, at(260), echo, 1, 0..0);
            assert_eq!(sender.nacks().expect("it knows them").mistaken, mistaken);
        }
    }

    #[test]
    fn a_paced_sender_sends_it_next() {
        let settings = TcpSettings {
            pacing: Some(1.25),
            initial_window: 40,
            ..TcpSettings::default()
        };
        let newreno = "newreno".parse().expect("registered");
        let mut sender = Sender::new(&newreno, None, &settings, Nack::On, 1);
        sender.on_handshake(Some(Duration::from_millis(100)));
        // 1.25 windows of 40 in 100 ms, 10 ms of it at once: three packets of 1500 bytes, then one each 2.07 ms.
        assert_eq!(leave(&mut sender, at(0)), [0, 1, 2]);
        for step in 1..50 {
            leave(&mut sender, at(2 * step));
        }
        // Paced slow start grows the window to 50, which leaves room for twenty; 10 ms of it are four.
        assert_eq!(ack(&mut sender, at(200), 10, 0..0), [40, 41, 42, 43]);
        tell(&mut sender, at(200), 12);
        tell(&mut sender, at(200), 11);
        assert_eq!(leave(&mut sender, at(200)), []);
        let sent = (201..206).flat_map(|now| leave(&mut sender, at(now)));
        assert_eq!(sent.collect::<Vec<_>>(), [12, 11, 44]);
    }

    /// What may come to a sender.
    #[derive(Debug, Clone)]
    enum Event {
        Nack(u32),
        Ack(u32, u32, u32),
        Timer,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (0u32..60).prop_map(Event::Nack),
            1 => any::<u32>().prop_map(Event::Nack),
            4 => (0u32..6, 0u32..30, 0u32..6).prop_map(|(ack, gap, sacked)| Event::Ack(ack, gap, sacked)),
            1 => Just(Event::Timer),
        ]
    }

    proptest! {
        /// Whatever NACKs come, a NACK changes neither window nor flight, and what they make the sender send is bounded by what
        /// arrives. The scoreboard is checked with each acknowledgment besides.
        #[test]
        fn no_nack_opens_the_window_or_costs_more_than_the_allowance(
            events in prop::collection::vec((event(), 0u64..80), 1..200),
            mode in 0usize..3,
            suppressed in any::<bool>(),
        ) {
            let nack = if suppressed { Nack::On } else { Nack::Unsuppressed };
            let mut sender = sender(nack, ALL[mode]);
            let mut now = at(0);
            for (event, wait) in events {
                now += Duration::from_millis(wait);
                let una = sender.board.una();
                match event {
                    Event::Nack(ahead) => {
                        let before = state(&sender);
                        tell(&mut sender, now, una.wrapping_add(ahead));
                        prop_assert_eq!((state(&sender).0, state(&sender).1), (before.0, before.1));
                        let owed = counts(&sender).0 - counts(&sender).2;
                        prop_assert_eq!(state(&sender).2 + owed, before.2);
                        let sent = sender.next_segment(now);
                        prop_assert!(owed == 0 || sent.is_some_and(|sent| sent.seg == una + ahead));
                        prop_assert!(owed == 0 || state(&sender) == before);
                        leave(&mut sender, now);
                    }
                    Event::Ack(advance, gap, sacked) => {
                        let next = sender.board.next();
                        let acked = (una + advance).min(next);
                        let start = (acked + 1 + gap).min(next);
                        ack(&mut sender, now, acked, start..(start + sacked).min(next));
                    }
                    Event::Timer => {
                        sender.on_timer(now);
                        leave(&mut sender, now);
                    }
                }
            }
            let arrived = sender.rate.delivered().get() / MSS;
            prop_assert!(counts(&sender).2 <= 10 + arrived / 2);
            prop_assert!(sender.controller.cwnd() >= Bytes::new(MSS));
        }
    }
}
