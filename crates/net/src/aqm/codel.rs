//! CoDel: drops or marks at the head, when packets have waited too long for too long.
//!
//! K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018, section
//! 5.
//!
//! For each packet that is taken from the queue:
//! * it waited less than the *target*, or no more than one packet's bytes are left behind it: all is well
//! * the first one for which that is not so starts the clock; after an *interval* without a good one, dropping begins: this
//!   one is dropped and the next is taken
//! * while dropping, the next drop is due an `interval/sqrt(count)` after the last was due, count the drops of this episode
//! * one good packet ends the episode. If the next one begins within 16 intervals, it goes on from as many drops
//!   as the last one needed, `count - lastcount`; else from 1
//! * what is ECN-capable is marked instead of dropped
//!
//! **The physics.** A queue is there to take bursts: then its delay falls back soon. Delay that has not once been below the
//! target for as long as a round trip is a standing queue, which serves nobody. TCP's rate falls with one over the
//! square root of its loss rate, so drops at distances of `interval/sqrt(count)` slow it down linearly. Measured in time,
//! the same two numbers fit any rate.
//!
//! **When not.** With many flows, or ones that do not slow down, the drops come too slowly and the queue stays above the
//! target for long. It needs round trips of about the interval: much longer ones get too little. A link that takes longer
//! than the target for one packet is held to one packet waiting.
//!
//! **Marks.** The RFC leaves them to implementations; here, as in Linux (`codel_impl.h`): a mark counts as a drop, and the
//! marked packet is the one that leaves, so there is at most one a turn.
//!
//! **Sources.** The RFC's pseudo-code as it stands in ns-2's `codel.cc` by its authors and in Linux, whose rule for count
//! it adopted; both were read, the RFC's own text only in parts. Where they part, the RFC: a drop is due at
//! `now >= first_above` (Linux: `>`), the square root is exact (Linux: approximated), the bytes are an MTU (ns-2: the
//! largest packet seen).

use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// Controlled delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// Waiting time that a standing queue may have (RFC 8289 section 4.3: 5 ms).
    pub target: Duration,
    /// How long it may have more: about a round trip (section 4.4: 100 ms).
    pub interval: Duration,
    /// Bytes that may always wait: the largest packet of the link.
    pub mtu: Bytes,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// When it came.
    pub since: Time,
    pub size: u32,
    /// It may be marked.
    pub ect: bool,
}

/// Packets that wait, first in, first out.
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

    fn pop(&mut self) -> Option<Waiting> {
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

/// CoDel at work.
#[derive(Debug, Clone)]
pub(crate) struct Law {
    codel: CoDel,
    /// When an interval without a good packet will be over; `None`: the last packet was good.
    first_above: Option<Time>,
    dropping: bool,
    /// When the next drop is due.
    drop_next: Time,
    /// Drops since dropping began.
    count: u32,
    /// `count` when it began.
    last_count: u32,
}

impl Law {
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

    /// Takes the packet that leaves next, if one does; tells of those that are dropped before it.
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
                    self.drop_next = self.law(self.drop_next);
                    break;
                }
                head.into_iter().for_each(&mut dropped);
                (head, bad) = self.take(now, fifo);
                self.dropping = bad;
                if bad {
                    self.drop_next = self.law(self.drop_next);
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

    /// Dropping begins.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let needed = self.count.saturating_sub(self.last_count);
        // Divided, not multiplied: an interval may be as long as time.
        let lately = now.since(self.drop_next) / 16 < self.codel.interval;
        self.count = if needed > 1 && lately { needed } else { 1 };
        self.drop_next = self.law(now);
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
            // At the end of time no interval is over: there packets are that never come out.
            Some(first_above) => now >= first_above && first_above < Time::MAX,
        };
        (Some(packet), bad)
    }

    /// The control law: when the drop after the one at `from` is due.
    fn law(&self, from: Time) -> Time {
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

    fn law() -> Law {
        Law::new(CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1500),
        })
    }

    fn at(ms: f64) -> Time {
        Time::from_nanos((ms * MS as f64) as u64)
    }

    /// A queue in which every packet has waited 20 ms: one is taken each millisecond while one comes, so many on top
    /// for those that are dropped. Gives the milliseconds at which packets were dropped, and those at which they were
    /// marked.
    fn standing(law: &mut Law, from: u64, until: u64, ect: bool) -> (Vec<u64>, Vec<u64>) {
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
            let taken = law
                .dequeue(now, &mut fifo, |_| drops.push(ms))
                .expect("one");
            if taken.marked {
                marks.push(ms);
            }
        }
        (drops, marks)
    }

    /// Drops at 1100, 1200, then 1100 + 100*(1 + 1/sqrt 2), + 1/sqrt 3 and so on: 1270.7, 1328.4, 1378.4, 1423.2,
    /// 1464.0, 1501.8, each at the next packet.
    const BY_HAND: [u64; 8] = [1_100, 1_200, 1_271, 1_329, 1_379, 1_424, 1_464, 1_502];

    #[test]
    fn the_first_drop_comes_an_interval_after_the_target_was_exceeded_and_the_next_by_the_square_root()
     {
        assert_eq!(standing(&mut law(), 1_000, 1_503, false).0, BY_HAND);
    }

    #[test]
    fn who_can_be_marked_is_marked_at_the_same_times_and_nobody_is_dropped() {
        let (drops, marks) = standing(&mut law(), 1_000, 1_503, true);
        assert_eq!((drops, marks), (vec![], BY_HAND.to_vec()));
    }

    #[test]
    fn one_good_packet_ends_it_and_the_next_time_it_goes_on_from_the_same_rate() {
        let mut law = law();
        standing(&mut law, 1_000, 1_503, false);
        assert_eq!(law.count, 8);
        let mut fifo = Fifo::default();
        for since in [1_502.0, 1_500.0, 1_500.0] {
            fifo.push(Waiting {
                since: at(since),
                size: 1500,
                ect: false,
            });
        }
        law.dequeue(at(1_503.0), &mut fifo, |_| panic!("it waited 1 ms"));
        assert!(!law.dropping);
        // Above again from 1510 on: drops from 1610 on, 8 - 1 = 7 of them in the last episode, so the next follows
        // after 100/sqrt 7 = 37.8, then sqrt 8: 35.4.
        let (drops, _) = standing(&mut law, 1_510, 1_700, false);
        assert_eq!(drops, [1_610, 1_648, 1_684]);
    }

    #[test]
    fn after_sixteen_intervals_it_begins_anew() {
        let mut law = law();
        standing(&mut law, 1_000, 1_503, false);
        let mut fifo = Fifo::default();
        fifo.push(Waiting {
            since: at(1_503.0),
            size: 1500,
            ect: false,
        });
        law.dequeue(at(1_503.0), &mut fifo, |_| panic!("it did not wait"));
        // The next drop would have been due at 1537.2; 16 intervals later is 3137.2.
        let (drops, _) = standing(&mut law, 3_040, 3_245, false);
        assert_eq!(drops, [3_140, 3_240]);
    }

    #[test]
    fn a_packet_with_no_more_than_one_behind_it_is_never_dropped() {
        let mut law = law();
        let mut fifo = Fifo::default();
        for ms in 0..1_000 {
            while fifo.len() < 2 {
                fifo.push(Waiting {
                    since: Time::ZERO,
                    size: 1500,
                    ect: false,
                });
            }
            law.dequeue(Time::from_nanos(ms * MS), &mut fifo, |_| {
                panic!("one is behind it")
            });
        }
        assert_eq!(law.first_above, None);
    }

    #[test]
    fn drops_that_are_overdue_happen_at_once() {
        let mut law = law();
        standing(&mut law, 1_000, 1_101, false);
        // Nothing was taken for a while. Due by 1280: 1200 and 1270.7.
        let mut fifo = Fifo::default();
        for _ in 0..20 {
            fifo.push(Waiting {
                since: at(1_000.0),
                size: 1500,
                ect: false,
            });
        }
        let mut drops = 0;
        law.dequeue(at(1_280.0), &mut fifo, |_| drops += 1);
        assert_eq!((drops, fifo.len()), (2, 17));
    }

    #[test]
    fn an_empty_queue_gives_nothing_and_ends_the_dropping() {
        let mut law = law();
        standing(&mut law, 1_000, 1_300, false);
        assert!(law.dropping);
        assert_eq!(law.dequeue(at(1_300.0), &mut Fifo::default(), |_| ()), None);
        assert!(!law.dropping && law.first_above.is_none());
    }

    #[test]
    fn odd_numbers_end_as_well() {
        let mut law = Law::new(CoDel {
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
        while law.dequeue(Time::MAX, &mut fifo, |_| ()).is_some() {}
        assert_eq!((fifo.len(), fifo.bytes()), (0, 0));
    }
}
