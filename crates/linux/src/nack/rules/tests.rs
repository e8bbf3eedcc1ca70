use super::*;
use proptest::prelude::*;

const MSS: u32 = 1448;
/// Microseconds between two acknowledgments.
const STEP: u64 = 2_400;
const RTT: u64 = 140_000;
const OFFSET: u32 = 77_000;

/// A connection with `FLIGHT` segments in flight: each step acknowledges one and sends one.
struct Path {
    nacks: Nacks,
    event: Event,
    timestamps: bool,
}

const FLIGHT: u32 = 58;

impl Path {
    fn new(timestamps: bool) -> Self {
        let event = Event {
            time: 1_000_000_000,
            mss: MSS,
            snd_una: 5,
            snd_nxt: 5,
            rtt_us: crate::wire::NO_RTT,
            ..Event::default()
        };
        let start = Start {
            event,
            timestamps: timestamps.into(),
            timestamp_offset: OFFSET,
            ..Start::default()
        };
        let mut path = Self {
            nacks: Nacks::new(&start),
            event,
            timestamps,
        };
        // A flight without acknowledgments, then a full window of them.
        for _ in 0..FLIGHT {
            path.step(0, 1);
        }
        for _ in 0..FLIGHT {
            path.step(1, 1);
        }
        path
    }

    fn now(&self) -> u64 {
        self.event.time / 1000
    }

    /// One acknowledgment of `acked` segments; then `sent` more are sent.
    fn step(&mut self, acked: u32, sent: u32) -> bool {
        self.event.time += STEP * 1000;
        self.event.kind = kind::ACK;
        self.event.snd_una += acked * MSS;
        self.event.delivered += acked;
        if acked > 0 {
            self.event.rtt_us = RTT as u32;
            self.event.newest_sent_us = self.now() - RTT;
        }
        let excused = self.nacks.observe(&self.event);
        self.event.snd_nxt += sent * MSS;
        excused
    }

    /// An acknowledgment that delivers a segment behind a hole.
    fn selective(&mut self, lost: u32, named: Option<u32>) -> bool {
        self.event.time += STEP * 1000;
        self.event.delivered += 1;
        self.event.lost += lost;
        self.event.newest_sent_us += STEP;
        self.event.flags = 0;
        if let Some(seq) = named {
            self.event.flags = flag::LOST_KNOWN;
            self.event.lost_seq = seq;
            self.event.lost_end = seq.wrapping_add(MSS);
        }
        let excused = self.nacks.observe(&self.event);
        self.event.flags = 0;
        self.event.retransmitted += lost;
        self.event.snd_nxt += MSS;
        excused
    }

    /// The time at which segment `index` of the flight was sent.
    fn sent(&self, index: u32) -> u64 {
        // The last step acknowledged the segment before the first one.
        self.event.newest_sent_us + STEP * (u64::from(index) + 1)
    }

    /// The NACK that arrives now for a transmission at `sent`.
    fn nack(&self, seq: u32, sent: u64) -> Nack {
        Nack {
            time: self.event.time + 1000,
            seq,
            echo: match self.timestamps {
                true => ((sent / 1000) as u32).wrapping_add(OFFSET),
                false => 0,
            },
            timestamps: self.timestamps.into(),
            ..Nack::default()
        }
    }

    fn first(&self) -> u32 {
        self.event.snd_una
    }

    /// Segment 0 of the flight is corrupted, and its NACK arrives in time.
    fn corrupted(&mut self) -> u32 {
        let seq = self.first();
        let nack = self.nack(seq, self.sent(0));
        self.nacks.received(&nack);
        seq
    }

    /// Passes an event that changes nothing; returns whether exactly one more NACK was accepted.
    fn accepts(&mut self, nack: &Nack) -> bool {
        let before = self.nacks.counts();
        self.nacks.received(nack);
        self.event.time = self.event.time.max(nack.time) + 1000;
        self.nacks.observe(&self.event);
        let after = self.nacks.counts();
        assert_eq!(
            after.accepted + after.refused,
            before.accepted + before.refused + 1
        );
        after.accepted > before.accepted
    }
}

#[test]
fn a_nacked_segment_s_loss_is_excused_once() {
    for timestamps in [true, false] {
        let mut path = Path::new(timestamps);
        let seq = path.corrupted();
        assert!(!path.selective(0, None));
        assert!(!path.selective(0, None));
        assert!(path.selective(1, Some(seq)));
        // Lost again, without a NACK.
        assert!(!path.selective(1, Some(seq)));
        let counts = path.nacks.counts();
        assert_eq!(
            (counts.accepted, counts.excused, counts.mistaken),
            (1, 1, 0)
        );
    }
}

#[test]
fn a_loss_without_nack_is_not_excused() {
    let mut path = Path::new(true);
    path.corrupted();
    let other = path.first() + 3 * MSS;
    assert!(!path.selective(1, Some(other)));
    assert!(!path.selective(1, None));
}

#[test]
fn a_nack_must_name_a_segment_in_flight() {
    for timestamps in [true, false] {
        let mut path = Path::new(timestamps);
        let (first, sent) = (path.first(), path.sent(0));
        for wrong in [first - MSS, first + (1 << 14), path.event.snd_nxt] {
            assert!(
                !path.accepts(&path.nack(wrong, sent)),
                "{wrong} {timestamps}"
            );
        }
        assert!(path.accepts(&path.nack(first, sent)));
        assert!(!path.accepts(&path.nack(first, sent)), "the same one again");
    }
}

#[test]
fn a_nack_between_the_beginnings_of_segments_excuses_only_what_the_kernel_names() {
    let between = 96;
    let mut path = Path::new(false);
    assert!(!path.accepts(&path.nack(path.first() + between, path.sent(0))));
    // The number was corrupted: nothing begins there.
    let mut path = Path::new(true);
    let seq = path.first() + between;
    assert!(path.accepts(&path.nack(seq, path.sent(0))));
    path.selective(0, None);
    assert!(!path.selective(1, Some(path.first())));
    path.step(1, 1);
    assert_eq!(path.nacks.counts().mistaken, 0);
    // The application had written less than a segment.
    let mut path = Path::new(true);
    let seq = path.first() + between;
    assert!(path.accepts(&path.nack(seq, path.sent(0))));
    path.selective(0, None);
    assert!(path.selective(1, Some(seq)));
}

#[test]
fn a_nack_within_half_the_minimum_rtt_is_too_soon() {
    for timestamps in [true, false] {
        let mut path = Path::new(timestamps);
        let index = FLIGHT - 10;
        let nack = path.nack(path.first() + index * MSS, path.sent(index));
        assert!(!path.accepts(&nack), "{timestamps}");
        let nack = path.nack(path.first() + 5 * MSS, path.sent(5));
        assert!(path.accepts(&nack), "{timestamps}");
    }
}

#[test]
fn a_nack_after_later_data_is_too_late() {
    for timestamps in [true, false] {
        let mut path = Path::new(timestamps);
        let (seq, sent) = (path.first(), path.sent(0));
        for _ in 0..3 {
            path.selective(0, None);
        }
        assert!(!path.accepts(&path.nack(seq, sent)), "{timestamps}");
    }
}

#[test]
fn a_nack_that_arrived_in_time_counts_even_if_it_is_read_later() {
    let mut path = Path::new(true);
    let nack = path.nack(path.first(), path.sent(0));
    for _ in 0..3 {
        path.selective(0, None);
    }
    path.nacks.received(&nack);
    assert!(path.selective(1, Some(nack.seq)));
}

#[test]
fn a_nack_of_an_earlier_transmission_is_refused() {
    let mut path = Path::new(true);
    let seq = path.corrupted();
    let first = path.sent(0);
    path.selective(0, None);
    assert!(path.selective(1, Some(seq)));
    let again = path.now();
    for _ in 0..FLIGHT {
        path.selective(0, None);
    }
    assert!(!path.accepts(&path.nack(seq, first)));
    // The retransmission's own.
    path.event.newest_sent_us = again;
    let mut path_newest = path;
    path_newest.nacks.newest.clear();
    let nack = path_newest.nack(seq, again);
    assert!(path_newest.accepts(&nack));
    assert!(path_newest.selective(1, Some(seq)));
}

#[test]
fn without_timestamps_a_suspect_segment_is_not_nacked() {
    let mut path = Path::new(false);
    // Something else was lost, so anything in flight may have been retransmitted.
    path.selective(1, Some(path.first() + MSS));
    assert!(!path.accepts(&path.nack(path.first() + 20 * MSS, path.sent(20))));
    let mut path = Path::new(true);
    path.selective(1, Some(path.first() + MSS));
    assert!(path.accepts(&path.nack(path.first() + 20 * MSS, path.sent(19))));
}

#[test]
fn a_wrong_timestamp_is_refused() {
    let mut path = Path::new(true);
    let (seq, sent) = (path.first(), path.sent(0));
    for wrong in [0, sent - 20_000, sent + 20_000, path.now() + 10_000] {
        assert!(!path.accepts(&path.nack(seq, wrong)), "{wrong}");
    }
    let without = Nack {
        timestamps: 0,
        ..path.nack(seq, sent)
    };
    assert!(!path.accepts(&without));
    assert!(path.accepts(&path.nack(seq, sent)));
}

#[test]
fn several_losses_in_one_event_need_as_many_nacks() {
    for known in 0..=3 {
        let mut path = Path::new(true);
        let (first, sent) = (path.first(), path.sent(0));
        for index in 0..known {
            let nack = path.nack(first + index * MSS, sent + u64::from(index) * STEP);
            path.nacks.received(&nack);
        }
        for _ in 0..4 {
            assert!(!path.selective(0, None));
        }
        assert_eq!(path.selective(3, Some(first)), known == 3, "{known}");
        assert_eq!(path.nacks.counts().mistaken, 0);
    }
}

#[test]
fn a_nack_of_a_segment_that_cannot_be_lost_yet_excuses_no_other() {
    let mut path = Path::new(true);
    let (first, sent) = (path.first(), path.sent(0));
    path.nacks.received(&path.nack(first, sent));
    // Sent much later than anything that has arrived.
    path.nacks
        .received(&path.nack(first + 20 * MSS, path.sent(20)));
    path.selective(0, None);
    path.selective(0, None);
    assert_eq!(path.nacks.counts().accepted, 2);
    assert!(!path.selective(2, Some(first)));
}

#[test]
fn after_a_false_nack_none_is_accepted_and_nothing_excused() {
    for timestamps in [true, false] {
        let mut path = Path::new(timestamps);
        path.corrupted();
        let (second, sent) = (path.first() + MSS, path.sent(1));
        path.nacks.received(&path.nack(second, sent));
        // The first one arrives although nothing was retransmitted.
        path.step(1, 1);
        assert_eq!(path.nacks.counts().mistaken, 1, "{timestamps}");
        assert!(!path.selective(1, Some(second)));
        let nack = path.nack(path.first() + 5 * MSS, path.sent(5));
        assert!(!path.accepts(&nack));
    }
}

#[test]
fn an_original_that_arrives_right_after_its_loss_reveals_a_false_nack() {
    let mut path = Path::new(true);
    let seq = path.corrupted();
    path.selective(0, None);
    assert!(path.selective(1, Some(seq)));
    let newest = path.event.newest_sent_us;
    path.step(4, 1);
    path.event.newest_sent_us = newest;
    assert_eq!(path.nacks.counts().mistaken, 1);
}

#[test]
fn a_retransmission_that_arrives_a_round_trip_later_does_not() {
    let mut path = Path::new(true);
    let seq = path.corrupted();
    path.selective(0, None);
    assert!(path.selective(1, Some(seq)));
    for _ in 0..FLIGHT {
        path.selective(0, None);
    }
    path.step(FLIGHT, 1);
    assert_eq!(path.nacks.counts().mistaken, 0);
}

#[test]
fn a_nacked_segment_among_unknown_losses_is_not_taken_for_false() {
    let mut path = Path::new(true);
    let first = path.first();
    path.nacks.received(&path.nack(first + MSS, path.sent(1)));
    path.selective(0, None);
    path.selective(0, None);
    // The first segment is lost without a NACK, the second is corrupted.
    assert!(!path.selective(2, Some(first)));
    for _ in 0..FLIGHT {
        path.selective(0, None);
    }
    path.step(FLIGHT, 1);
    assert_eq!(path.nacks.counts().mistaken, 0);
}

#[test]
fn a_tail_loss_probe_is_not_taken_for_a_false_nack() {
    let mut path = Path::new(true);
    path.event.time += 1000;
    path.nacks.observe(&path.event);
    let last = path.event.snd_nxt - MSS;
    // Everything else arrives; the last segment is corrupted.
    while path.first() != last {
        path.step(1, 0);
    }
    let sent = path.now() - RTT + STEP;
    path.event.newest_sent_us = path.now() - RTT;
    path.nacks.received(&path.nack(last, sent));
    path.step(0, 0);
    assert_eq!(path.nacks.counts().accepted, 1);
    path.event.retransmitted += 1;
    for _ in 0..FLIGHT {
        path.step(0, 0);
    }
    path.step(1, 0);
    assert_eq!(path.nacks.counts().mistaken, 0);
}

#[test]
fn the_timer_forgets_all_nacks() {
    let mut path = Path::new(true);
    let seq = path.corrupted();
    path.selective(0, None);
    path.event.kind = kind::TIMEOUT;
    path.event.lost += FLIGHT;
    path.event.time += 1000;
    assert!(!path.nacks.observe(&path.event));
    path.event.kind = kind::ACK;
    assert!(!path.selective(1, Some(seq)));
}

#[test]
fn after_a_timeout_anything_in_flight_may_have_been_retransmitted() {
    for (fired, accepted) in [(false, true), (true, false)] {
        let mut path = Path::new(false);
        let nack = path.nack(path.first(), path.sent(0));
        if fired {
            path.event.kind = kind::TIMEOUT;
            path.event.lost += FLIGHT;
            path.nacks.observe(&path.event);
            path.event.kind = kind::ACK;
        }
        assert_eq!(path.accepts(&nack), accepted, "{fired}");
    }
}

#[test]
fn ten_nacks_are_accepted_then_one_for_every_two_intact_segments() {
    let mut path = Path::new(true);
    let (first, sent) = (path.first(), path.sent(0));
    for index in 0..20 {
        let nack = path.nack(first + index * MSS, sent + u64::from(index) * STEP);
        path.nacks.received(&nack);
    }
    path.event.time += 2000;
    path.nacks.observe(&path.event);
    assert_eq!(path.nacks.counts().accepted, 10);
    path.event.delivered += 4;
    path.event.time += 1000;
    path.nacks.observe(&path.event);
    for index in 10..13 {
        let nack = path.nack(first + index * MSS, sent + u64::from(index) * STEP);
        path.accepts(&nack);
    }
    assert_eq!(path.nacks.counts().accepted, 12);
}

#[derive(Debug, Clone)]
enum Step {
    Event(Event),
    Nack(Nack),
}

/// Events and NACKs with numbers and times near each other, and some with any.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let near = |base: u32| {
        let segment = (0..60_u32).prop_map(move |n| base.wrapping_add(n * MSS));
        prop_oneof![8 => segment, 1 => any::<u32>()]
    };
    let time = prop_oneof![8 => 0..400_000_000_u64, 1 => any::<u64>()];
    let base = u32::MAX - 30 * MSS;
    let event = (
        (time.clone(), 1..7_u8, any::<u8>(), 0..50_u32, 0..100_u32),
        (
            near(base),
            near(base),
            near(base),
            0..500_000_u64,
            0..200_000_u32,
            0..3000_u32,
        ),
    )
        .prop_map(
            |((time, kind, flags, delivered, lost), (una, next, hole, newest, rtt, mss))| {
                Step::Event(Event {
                    time,
                    kind,
                    flags,
                    delivered,
                    lost,
                    retransmitted: lost,
                    snd_una: una,
                    snd_nxt: next,
                    lost_seq: hole,
                    newest_sent_us: newest,
                    rtt_us: rtt,
                    mss,
                    ..Event::default()
                })
            },
        );
    let nack = (
        time,
        near(base),
        prop_oneof![0..500_u32, any::<u32>()],
        0..2_u32,
    )
        .prop_map(|(time, seq, echo, timestamps)| {
            Step::Nack(Nack {
                time,
                seq,
                echo,
                timestamps,
                ..Nack::default()
            })
        });
    prop::collection::vec(prop_oneof![event, nack], 0..300)
}

proptest! {
    #[test]
    fn arbitrary_nacks_excuse_only_what_was_nacked(
        steps in steps(),
        timestamps in 0..2_u8,
        micro in 0..2_u8,
    ) {
        let start = Start { timestamps, timestamps_us: micro, ..Start::default() };
        let mut nacks = Nacks::new(&start);
        let mut named = std::collections::HashSet::new();
        let mut received = 0;
        for step in steps {
            match step {
                Step::Nack(nack) => {
                    named.insert(nack.seq);
                    received += 1;
                    nacks.received(&nack);
                }
                Step::Event(event) => {
                    if nacks.observe(&event) {
                        prop_assert!(named.contains(&event.lost_seq));
                        prop_assert!(event.flags & flag::LOST_KNOWN != 0);
                    }
                }
            }
            let counts = nacks.counts();
            prop_assert!(counts.excused <= counts.accepted);
            prop_assert!(counts.accepted + counts.refused <= received);
            prop_assert!(nacks.accepted.len() <= Nacks::MAX_REMEMBERED);
            prop_assert!(nacks.pending.len() <= Nacks::MAX_PENDING);
            prop_assert!(nacks.newest.len() <= Nacks::MAX_EVENTS);
        }
    }

    /// Of segments that are missing one after the other, those that were corrupted are excused.
    #[test]
    fn honest_nacks_excuse_all_corruption_and_no_congestion(
        corrupted in prop::collection::vec(any::<bool>(), 1..10),
        timestamps in any::<bool>(),
    ) {
        let mut path = Path::new(timestamps);
        let (first, sent) = (path.first(), path.sent(0));
        let missing: Vec<u32> = (0..).take(corrupted.len()).collect();
        for (index, _) in missing.iter().zip(&corrupted).filter(|(_, corrupted)| **corrupted) {
            let nack = path.nack(first + index * MSS, sent + u64::from(*index) * STEP);
            path.nacks.received(&nack);
        }
        for _ in &missing {
            prop_assert!(!path.selective(0, None));
        }
        for (index, corrupted) in missing.iter().zip(corrupted) {
            prop_assert_eq!(path.selective(1, Some(first + index * MSS)), corrupted);
        }
        for _ in 0..FLIGHT {
            path.selective(0, None);
        }
        path.step(FLIGHT, 1);
        prop_assert_eq!(path.nacks.counts().mistaken, 0);
    }
}
