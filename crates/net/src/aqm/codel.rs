//! CoDel: drops or marks at the head of the queue when packets have waited too long for too long.
//!
//! K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management",
//! RFC 8289, 2018, section 5.
//!
//! For each packet taken from the queue:
//! * The packet is good if it waited less than the *target*, or if at most one packet's bytes
//!   remain behind it.
//! * The first packet that is not good starts the clock. After an *interval* without a good packet,
//!   dropping begins: this packet is dropped and the next one taken.
//! * While dropping, the next drop is due `interval/sqrt(count)` after the last one was due; count
//!   is the number of drops in this episode.
//! * One good packet ends the episode. If the next episode begins within 16 intervals, its count
//!   starts at the number of drops of the last one, `count - lastcount`; otherwise at 1.
//! * An ECN-capable packet is marked instead of dropped.
//!
//! **The physics.** A queue exists to absorb bursts; its delay then falls again soon. If the delay
//! has not been below the target once during a round trip, the queue is a standing queue, which is
//! of no use. TCP's rate falls with one over the square root of its loss rate, so drops at
//! distances of `interval/sqrt(count)` slow it down linearly. Because they are times, the same two
//! parameters fit any rate.
//!
//! **When it does not work.** With many flows, or flows that do not slow down, the drops come too
//! slowly, and the queue stays above the target for long. CoDel is made for round-trip times of
//! about the interval; flows with much longer ones get too little. A link that takes longer than
//! the target for one packet keeps at most one packet waiting.
//!
//! **Marks.** The RFC leaves them to implementations. Here, as in Linux (`codel_impl.h`), a mark
//! counts as a drop, and the marked packet is the one that leaves, so one turn marks at most one
//! packet.
//!
//! **Sources.** The RFC's pseudo-code as it stands in ns-2's `codel.cc`, by its authors, and in
//! Linux, whose rule for count the RFC adopted. Both were read, the RFC's own text only in parts.
//! Where they differ, this follows the RFC: a drop is due at `now >= first_above` (Linux: `>`), the
//! square root is exact (Linux: approximated), and the bytes are an MTU (ns-2: the largest packet
//! seen).

use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// Controlled delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// The waiting time that a standing queue may have (RFC 8289 section 4.3: 5 ms).
    pub target: Duration,
    /// For how long packets may wait longer than the target: about one round-trip time (section
    /// 4.4: 100 ms).
    pub interval: Duration,
    /// Bytes that may always wait: the size of the link's largest packet.
    pub mtu: Bytes,
}

/// A waiting packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// When it arrived.
    pub since: Time,
    pub size: u32,
    /// It is ECN-capable: it may be marked.
    pub ect: bool,
}

/// The waiting packets, first in, first out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fifo {
    packets: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    pub fn first(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A packet that leaves the queue for the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub packet: Waiting,
    pub marked: bool,
}

/// CoDel's state for one queue.
#[derive(Debug, Clone)]
pub(crate) struct CodelState {
    codel: CoDel,
    /// When an interval without a good packet ends; `None` if the last packet was good.
    first_above: Option<Time>,
    dropping: bool,
    /// When the next drop is due.
    drop_next: Time,
    /// Drops in this episode.
    count: u32,
    /// `count` at the episode's begin.
    last_count: u32,
}

impl CodelState {
    pub fn new(codel: CoDel) -> Self {
        Self {
            codel,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Takes the packet that leaves next, if any. Calls `dropped` with each packet dropped before
    /// it.
    pub fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Taken> {
        let mut marked = false;
        let (mut head, mut bad) = self.take(now, fifo);
        if self.dropping {
            self.dropping = bad;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                marked = head.is_some_and(|packet| packet.ect);
                if marked {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                head.into_iter().for_each(&mut dropped);
                (head, bad) = self.take(now, fifo);
                self.dropping = bad;
                if bad {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if bad {
            marked = head.is_some_and(|packet| packet.ect);
            if !marked {
                head.into_iter().for_each(&mut dropped);
                (head, _) = self.take(now, fifo);
            }
            self.begin(now);
        }
        head.map(|packet| Taken { packet, marked })
    }

    /// Begins an episode of dropping.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let needed = self.count.saturating_sub(self.last_count);
        // Divides the time: 16 times the longest interval would overflow.
        let lately = now.since(self.drop_next) / 16 < self.codel.interval;
        self.count = if needed > 1 && lately { needed } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// The next packet, and whether it may be dropped.
    fn take(&mut self, now: Time, fifo: &mut Fifo) -> (Option<Waiting>, bool) {
        let Some(packet) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let good =
            now.since(packet.since) < self.codel.target || fifo.bytes <= self.codel.mtu.get();
        let bad = match self.first_above {
            _ if good => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + self.codel.interval);
                false
            }
            // At the end of time no interval ends: packets there never come out.
            Some(first_above) => now >= first_above && first_above < Time::MAX,
        };
        (Some(packet), bad)
    }

    /// RFC 8289's control law: when the drop after the one at `from` is due.
    fn control_law(&self, from: Time) -> Time {
        from + self
            .codel
            .interval
            .mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn codel() -> CodelState {
        CodelState::new(CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1500),
        })
    }

    fn at(ms: f64) -> Time {
        Time::from_nanos((ms * MS as f64) as u64)
    }

    /// A queue in which every packet has waited 20 ms. Each millisecond one packet is taken, and
    /// the queue is filled again. Returns the milliseconds at which packets were dropped, and at
    /// which marked.
    fn standing(codel: &mut CodelState, from: u64, until: u64, ect: bool) -> (Vec<u64>, Vec<u64>) {
        let (mut drops, mut marks) = (vec![], vec![]);
        let mut fifo = Fifo::default();
        for ms in from..until {
            while fifo.len() < 20 {
                fifo.push(Waiting {
                    since: Time::from_nanos(ms.saturating_sub(20) * MS),
                    size: 1500,
                    ect,
                });
            }
            let now = Time::from_nanos(ms * MS);
            let taken = codel
                .dequeue(now, &mut fifo, |_| drops.push(ms))
                .expect("one");
            if taken.marked {
                marks.push(ms);
            }
        }
        (drops, marks)
    }

    /// Drops at 1100, 1200, then 1100 + 100*(1 + 1/sqrt 2), + 1/sqrt 3 and so on: 1270.7, 1328.4,
    /// 1378.4, 1423.2, 1464.0, 1501.8, each at the next packet.
    const BY_HAND: [u64; 8] = [1_100, 1_200, 1_271, 1_329, 1_379, 1_424, 1_464, 1_502];

    #[test]
    fn drops_begin_after_an_interval_and_follow_the_square_root() {
        assert_eq!(standing(&mut codel(), 1_000, 1_503, false).0, BY_HAND);
    }

    #[test]
    fn ecn_capable_packets_are_marked_at_the_same_times_and_not_dropped() {
        let (drops, marks) = standing(&mut codel(), 1_000, 1_503, true);
        assert_eq!((drops, marks), (vec![], BY_HAND.to_vec()));
    }

    #[test]
    fn a_good_packet_ends_an_episode_and_the_next_resumes_its_rate() {
        let mut codel = codel();
        standing(&mut codel, 1_000, 1_503, false);
        assert_eq!(codel.count, 8);
        let mut fifo = Fifo::default();
        for since in [1_502.0, 1_500.0, 1_500.0] {
            fifo.push(Waiting {
                since: at(since),
                size: 1500,
                ect: false,
            });
        }
        codel.dequeue(at(1_503.0), &mut fifo, |_| panic!("it waited 1 ms"));
        assert!(!codel.dropping);
        // Above the target again from 1510 on, so drops begin at 1610. The last episode had 8 - 1 =
        // 7 drops, so the next one follows after 100/sqrt 7 = 37.8, then 100/sqrt 8 = 35.4.
        let (drops, _) = standing(&mut codel, 1_510, 1_700, false);
        assert_eq!(drops, [1_610, 1_648, 1_684]);
    }

    #[test]
    fn after_sixteen_intervals_the_count_starts_at_one() {
        let mut codel = codel();
        standing(&mut codel, 1_000, 1_503, false);
        let mut fifo = Fifo::default();
        fifo.push(Waiting {
            since: at(1_503.0),
            size: 1500,
            ect: false,
        });
        codel.dequeue(at(1_503.0), &mut fifo, |_| panic!("it did not wait"));
        // The next drop would have been due at 1537.2; 16 intervals later is 3137.2.
        let (drops, _) = standing(&mut codel, 3_040, 3_245, false);
        assert_eq!(drops, [3_140, 3_240]);
    }

    #[test]
    fn a_packet_with_no_more_than_one_behind_it_is_never_dropped() {
        let mut codel = codel();
        let mut fifo = Fifo::default();
        for ms in 0..1_000 {
            while fifo.len() < 2 {
                fifo.push(Waiting {
                    since: Time::ZERO,
                    size: 1500,
                    ect: false,
                });
            }
            codel.dequeue(Time::from_nanos(ms * MS), &mut fifo, |_| {
                panic!("one is behind it")
            });
        }
        assert_eq!(codel.first_above, None);
    }

    #[test]
    fn overdue_drops_happen_at_once() {
        let mut codel = codel();
        standing(&mut codel, 1_000, 1_101, false);
        // No packet was taken for a while. The drops of 1200 and 1270.7 are due by 1280.
        let mut fifo = Fifo::default();
        for _ in 0..20 {
            fifo.push(Waiting {
                since: at(1_000.0),
                size: 1500,
                ect: false,
            });
        }
        let mut drops = 0;
        codel.dequeue(at(1_280.0), &mut fifo, |_| drops += 1);
        assert_eq!((drops, fifo.len()), (2, 17));
    }

    #[test]
    fn an_empty_queue_ends_the_dropping() {
        let mut codel = codel();
        standing(&mut codel, 1_000, 1_300, false);
        assert!(codel.dropping);
        assert_eq!(
            codel.dequeue(at(1_300.0), &mut Fifo::default(), |_| ()),
            None
        );
        assert!(!codel.dropping && codel.first_above.is_none());
    }

    #[test]
    fn zero_parameters_and_extreme_sizes_terminate() {
        let mut codel = CodelState::new(CoDel {
            target: Duration::ZERO,
            interval: Duration::ZERO,
            mtu: Bytes::ZERO,
        });
        let mut fifo = Fifo::default();
        for size in [0, u32::MAX, 1, 0, 7] {
            fifo.push(Waiting {
                since: Time::ZERO,
                size,
                ect: size == 7,
            });
        }
        while codel.dequeue(Time::MAX, &mut fifo, |_| ()).is_some() {}
        assert_eq!((fifo.len(), fifo.bytes()), (0, 0));
    }
}
