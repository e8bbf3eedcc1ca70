//! A path that became longer, told from a queue that became longer: by how the round-trip time rose.
//!
//! Whimbrel's own. The need for it is Srinivasan and Garcia-Luna-Aceves' (TCP-RTA, 2022, section 6: "to clearly differentiate
//! between longer RTTs due to real congestion versus due to topology change").
//!
//! **The physics.** Let a queue be served at the rate C. Of two packets of which the second is sent `ds` later, with X bytes
//! sent after the first up to it, the second waits longer by at most `X/C - ds`: a queue can only hold what somebody sent. In
//! slow start, which sends at 2C, the round-trip time so rises by `ds`: a ramp. A path that becomes longer by J adds J between
//! one packet and the next: a step. And a path that stands still for J (a blackout of a hand-over) adds J too, but only to
//! what was sent before its acknowledgments stopped: the next flight takes as long as ever.
//!
//! * suspicion: a sample exceeds the greatest of the last 8 by more than `max(X/C, ds) + margin`: what was sent itself explains
//!   X/C, and somebody else's slow start `ds`
//! * margin: 1/8 of that greatest, at least 5 ms, at least what 14 600 bytes take at C: the first flight of somebody else's
//!   connection (RFC 6928), which may have come between. Less than an eighth would change the window by less than that
//! * certainty: no sample comes back to within the margin of the old ones, up to the third of those sent more than 1.25 of the
//!   old round-trip time after the first suspicious one, and more than 200 ms. By then the sender has heard of the new
//!   path, or of the end of the blackout; Starlink's hand-overs hold packets for up to 100 ms (the trace of LeoCC, 2025).
//! * the new path: the least of the last 8 samples; its rate: that of the last train of 8 acknowledgments or more, none of which
//!   came later than the margin after the one before it
//! * a shorter path: three samples in a row below the least of the path, and below what the last sample that was not leaves by
//!   `X/C - ds`, both by 1/8 of the least, 5 ms at least. Nothing is faster than the empty path; but whether that was ever
//!   seen empty, who knows: so a queue that drained because less was sent is no shorter path, only a better idea of this one.
//!
//! **When it works.** Whether the step is 20 ms or 600, comes with losses, or with another capacity. **When not.** A longer path
//! is overlooked while the old one's queue held more than the step: the flight then fills the new path as it filled the
//! queue, and no window needs to change, unless losses take it down just then. A hand-over that holds packets for longer than that
//! looks like a longer path until it is over; then the path looks shorter again. On a path whose empty round-trip time was never
//! seen, the end of somebody else's queue looks like a shorter path.
//!
//! Samples that are under suspicion are not passed on: a blackout is no queue either. Units: bytes, times.

use crate::estimators::max_rate::MaxRate;
use crate::interface::{Ack, AtSending};
use crate::path_change::{Change, Heard, PathChange};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Share of the round-trip time that is no step.
const SHARE: u64 = 8;

/// A step is longer than this.
const LEAST: Duration = Duration::from_millis(5);

/// The first flight of another connection (RFC 6928).
const FOREIGN: Bytes = Bytes::new(14_600);

/// Samples in a row that settle a question: TCP-RTA's number.
const IN_A_ROW: u32 = 3;

/// Old round-trip times after which what was sent knows of the change.
const FEEDBACK: f64 = 1.25;

/// For how long a hand-over may hold packets: twice what Starlink's do.
const HELD: Duration = Duration::from_millis(200);

/// Samples that say how long a path takes now.
const RECENT: usize = 8;

/// Acknowledgments that make a train.
const TRAIN: u32 = 8;

/// Watches how the round-trip time came to be what it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttStep {
    rate: MaxRate,
    /// Least round-trip time of the present path.
    base: Option<Duration>,
    recent: Recent,
    /// The last sample of the path.
    last: Option<(Sent, Duration)>,
    suspicion: Option<Suspicion>,
    shorter: Option<Shorter>,
}

/// Samples in a row that no packet of this path can have.
#[derive(Debug, Clone, Copy)]
struct Shorter {
    samples: u32,
    greatest: Duration,
    /// What the path delivered before the first of them.
    rate: Option<Rate>,
}

/// When a packet was sent, and how much had been sent up to it.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    total: u64,
}

impl Sent {
    fn of(newest: AtSending) -> Self {
        let total = newest.delivered.get().saturating_add(newest.lost.get());
        Self {
            at: newest.sent,
            total: total.saturating_add(newest.in_flight.get()),
        }
    }
}

/// The path may have become longer.
#[derive(Debug, Clone, Copy)]
struct Suspicion {
    /// What it took before.
    before: Duration,
    /// A sample not above this clears it.
    level: Duration,
    /// What was sent after this knows of the change.
    feedback: Time,
    /// Samples of what was sent after that.
    after: u32,
    samples: Recent,
    train: Train,
}

/// The last samples.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    samples: [Duration; RECENT],
    next: usize,
    count: usize,
}

impl Recent {
    fn push(&mut self, rtt: Duration) {
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % RECENT;
        self.count = (self.count + 1).min(RECENT);
    }

    fn least(&self) -> Option<Duration> {
        self.samples[..self.count].iter().min().copied()
    }

    fn greatest(&self) -> Option<Duration> {
        self.samples[..self.count].iter().max().copied()
    }
}

/// Acknowledgments that came one behind the other.
#[derive(Debug, Clone, Copy)]
struct Train {
    /// A longer silence ends it.
    gap: Duration,
    began: Time,
    last: Time,
    /// Bytes acknowledged since it began, without its first acknowledgment's.
    acked: u64,
    acks: u32,
    /// The rate of the last that was long enough.
    rate: Option<Rate>,
}

impl Train {
    fn new(now: Time, gap: Duration) -> Self {
        Self {
            gap,
            began: now,
            last: now,
            acked: 0,
            acks: 1,
            rate: None,
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.now.since(self.last) > self.gap {
            let rate = self.rate;
            *self = Self {
                rate,
                ..Self::new(ack.now, self.gap)
            };
            return;
        }
        self.last = ack.now;
        self.acked = self.acked.saturating_add(ack.acked.get());
        self.acks = self.acks.saturating_add(1);
        let span = ack.now.since(self.began);
        if self.acks >= TRAIN && !span.is_zero() {
            self.rate = Some(Rate::over(Bytes::new(self.acked), span));
        }
    }
}

/// The greatest change of the round-trip time that is none of the path.
fn no_step(rtt: Duration) -> Duration {
    (rtt / SHARE).max(LEAST)
}

impl RttStep {
    /// Least round-trip time of the present path, once a sample was taken.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// X/C and ds since the last sample of the path, for a packet sent at `sent`.
    fn passed(&self, rate: Rate, sent: Sent) -> Option<(Duration, Duration)> {
        let (last, _) = self.last?;
        let bytes = Bytes::new(sent.total.saturating_sub(last.total));
        Some((rate.time_for(bytes), sent.at.since(last.at)))
    }

    /// Whether a sample below all of this path is its own queue that has drained.
    fn drained(&self, rtt: Duration, base: Duration, sent: Sent) -> bool {
        let (Some(rate), Some((_, last))) = (self.rate.get(), self.last) else {
            return true;
        };
        let Some((filled, served)) = self.passed(rate, sent) else {
            return true;
        };
        let left = last.saturating_add(filled) - served;
        rtt.saturating_add(no_step(base)) >= left
    }

    /// The suspicion that this sample gives rise to.
    fn suspect(&self, ack: &Ack, rtt: Duration, sent: Sent) -> Option<Suspicion> {
        let (least, greatest) = (self.recent.least()?, self.recent.greatest()?);
        let rate = self.rate.get()?;
        let (filled, served) = self.passed(rate, sent)?;
        let margin = no_step(greatest).max(rate.time_for(FOREIGN));
        let step = rtt - greatest;
        if step <= filled.max(served).saturating_add(margin) {
            return None;
        }
        let mut samples = Recent::default();
        samples.push(rtt);
        Some(Suspicion {
            before: least,
            level: greatest.saturating_add(margin),
            feedback: sent.at + greatest.mul_f64(FEEDBACK).max(HELD),
            after: 0,
            samples,
            train: Train::new(ack.now, margin),
        })
    }

    /// The present path is this one.
    fn settle(
        &mut self,
        base: Duration,
        samples: Recent,
        last: (Sent, Duration),
        rate: Option<Rate>,
    ) {
        self.last = Some(last);
        self.base = Some(base);
        self.recent = samples;
        self.rate = MaxRate::of(rate);
        self.suspicion = None;
        self.shorter = None;
    }

    /// A sample below all of this path.
    fn on_shorter(&mut self, rtt: Duration, base: Duration, sent: Sent) -> Heard {
        let rate = self.rate.get();
        let shorter = self.shorter.get_or_insert(Shorter {
            samples: 0,
            greatest: rtt,
            rate,
        });
        shorter.samples += 1;
        shorter.greatest = shorter.greatest.max(rtt);
        let Shorter {
            samples,
            greatest: to,
            rate,
        } = *shorter;
        if samples < IN_A_ROW {
            return Heard::sample(None);
        }
        let mut recent = Recent::default();
        recent.push(to);
        self.settle(to, recent, (sent, rtt), rate);
        let change = Change {
            from: base,
            to,
            rate,
        };
        Heard::change(rtt, change)
    }

    /// A sample while there is a suspicion.
    fn on_suspected(&mut self, ack: &Ack, rtt: Duration, sent: Sent, mut it: Suspicion) -> Heard {
        if rtt <= it.level {
            self.suspicion = None;
            self.recent.push(rtt);
            self.last = Some((sent, rtt));
            return Heard::sample(Some(rtt));
        }
        it.samples.push(rtt);
        it.train.on_ack(ack);
        it.after += u32::from(sent.at > it.feedback);
        self.suspicion = Some(it);
        if it.after < IN_A_ROW {
            return Heard::sample(None);
        }
        let to = it.samples.least().unwrap_or(rtt);
        let old = self.rate.get();
        let rate = it.train.rate;
        let believed = rate.map_or(old, |rate| Some(old.map_or(rate, |old| old.min(rate))));
        self.settle(to, it.samples, (sent, rtt), believed);
        let change = Change {
            from: it.before,
            to,
            rate,
        };
        Heard::change(rtt, change)
    }
}

impl PathChange for RttStep {
    fn on_ack(&mut self, ack: &Ack) -> Heard {
        self.rate.on_ack(ack);
        let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) else {
            return Heard::sample(ack.rtt);
        };
        let sent = Sent::of(newest);
        let base = *self.base.get_or_insert(rtt);
        if base > rtt.saturating_add(no_step(base)) && !self.drained(rtt, base, sent) {
            return self.on_shorter(rtt, base, sent);
        }
        self.shorter = None;
        self.base = Some(base.min(rtt));
        if let Some(suspicion) = self.suspicion {
            return self.on_suspected(ack, rtt, sent, suspicion);
        }
        self.suspicion = self.suspect(ack, rtt, sent);
        if self.suspicion.is_some() {
            return Heard::sample(None);
        }
        self.recent.push(rtt);
        self.last = Some((sent, rtt));
        Heard::sample(Some(rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, MSS};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A sender of a packet of 1000 bytes a millisecond, on a path that carries as much.
    #[derive(Default)]
    struct Sender {
        step: RttStep,
        changes: Vec<Change>,
        /// Round-trip times that were passed on, ms.
        heard: Vec<u64>,
        /// Sent so far.
        total: u64,
    }

    impl Sender {
        /// The packet that was sent at `sent` ms took `rtt` ms, and `packets` were sent since the one before.
        fn packet(&mut self, sent: u64, rtt: u64, packets: u64) {
            self.total += packets * MSS;
            let at = Time::ZERO + ms(sent);
            let heard = self.step.on_ack(&Ack {
                now: at + ms(rtt),
                rtt: Some(ms(rtt)),
                delivery_rate: Some(Rate::from_bytes_per_sec(1_000_000)),
                round_start: true,
                newest: Some(AtSending {
                    sent: at,
                    in_flight: Bytes::new(MSS),
                    delivered: Bytes::new(self.total - MSS),
                    lost: Bytes::ZERO,
                    app_limited: false,
                }),
                ..ACK
            });
            self.changes.extend(heard.change);
            self.heard
                .extend(heard.rtt.map(|rtt| rtt.as_nanos() / 1_000_000));
        }

        /// Packets sent each millisecond of the span, which take so long.
        fn packets(&mut self, span: std::ops::Range<u64>, rtt: impl Fn(u64) -> u64) {
            for sent in span {
                self.packet(sent, rtt(sent), 1);
            }
        }
    }

    #[test]
    fn a_step_that_stays_is_a_longer_path_once_the_sender_has_heard_of_it() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // 1.25 * 60 ms are less than 200. What was sent later than that after the first knows of it: packets 401, 402 and,
        // the third, 403.
        sender.packets(200..403, |_| 80);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.heard, [60; 200]);
        sender.packets(403..600, |_| 80);
        let change = Change {
            from: ms(60),
            to: ms(80),
            rate: Some(Rate::from_bytes_per_sec(1_000_000)),
        };
        assert_eq!(sender.changes, [change]);
        assert_eq!(sender.step.base(), Some(ms(80)));
        assert_eq!(sender.heard.len(), 200 + 197);
    }

    #[test]
    fn a_long_path_waits_for_what_knows_of_its_change() {
        let mut sender = Sender::default();
        sender.packets(0..800, |_| 400);
        // 1.25 * 400 ms are more than 200: packets 1301, 1302 and 1303.
        sender.packets(800..1303, |_| 500);
        assert_eq!(sender.changes, []);
        sender.packet(1303, 500, 1);
        assert_eq!(sender.changes.len(), 1);
    }

    #[test]
    fn a_queue_that_slow_start_fills_is_a_ramp_to_whatever_height() {
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 50);
        // Two packets a millisecond where one leaves: a millisecond more with each.
        for i in 0..1_200 {
            sender.packet(100 + i, 50 + i, 2);
        }
        sender.packets(1_300..5_000, |_| 1_250);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.heard.len(), 100 + 1_200 + 3_700);
    }

    #[test]
    fn a_burst_waits_for_itself_and_for_the_first_flight_of_another() {
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 50);
        // A flight of 40 packets at once after 30 ms of silence: the last waits for 40 ms. A foreign one of 14 ms.
        for i in 0..40 {
            sender.packet(130, 50 + i, 1);
        }
        sender.packets(170..300, |_| 90);
        sender.packets(300..600, |_| 104);
        assert_eq!(sender.changes, []);
        // 30 ms more are neither.
        sender.packets(600..900, |_| 134);
        assert_eq!(sender.changes.len(), 1);
    }

    #[test]
    fn a_blackout_holds_one_flight_and_is_no_longer_path() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // Still for 100 ms. The acknowledgments of what had passed before come for 60 ms and let as much out, which all
        // waits for 100 ms; then nothing is sent for 100 ms; then the path is as ever.
        sender.packets(200..260, |_| 160);
        sender.packets(360..600, |_| 60);
        assert_eq!(sender.changes, []);
        assert!(sender.heard.iter().all(|rtt| *rtt == 60));
        assert_eq!(sender.heard.len(), 200 + 240);
    }

    #[test]
    fn packets_that_overtake_are_a_shorter_path_and_three_are_enough() {
        let mut sender = Sender::default();
        sender.packets(0..700, |_| 600);
        sender.packets(700..702, |_| 50);
        assert_eq!(sender.changes, []);
        sender.packet(702, 51, 1);
        let change = Change {
            from: ms(600),
            to: ms(51),
            rate: Some(Rate::from_bytes_per_sec(1_000_000)),
        };
        assert_eq!(sender.changes, [change]);
        assert_eq!(sender.step.base(), Some(ms(51)));
    }

    #[test]
    fn a_queue_that_drains_tells_more_of_the_path_but_not_of_another() {
        let mut sender = Sender::default();
        // It begins behind a queue of 300 ms that was there before, and does not know. One packet in two milliseconds:
        // half a millisecond less with each millisecond.
        sender.packets(0..100, |_| 350);
        for i in 1..=300 {
            sender.packet(100 + 2 * i, 350 - i, 1);
        }
        assert_eq!(sender.changes, []);
        assert_eq!(sender.step.base(), Some(ms(50)));
        // Nothing sent for 400 ms, and it is empty at once.
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 350);
        sender.packets(500..600, |_| 50);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.step.base(), Some(ms(50)));
    }

    #[test]
    fn random_delays_are_no_steps() {
        let mut random = crate::building_blocks::splitmix::SplitMix64::new(7);
        let mut sender = Sender::default();
        for sent in 0..20_000 {
            let jitter = random.below(30);
            sender.packet(sent, 60 + jitter, 1);
        }
        assert_eq!(sender.changes, []);
    }

    #[test]
    fn acknowledgments_that_come_at_half_the_rate_say_that_the_longer_path_carries_half() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // Those sent within the next 60 ms pass a bottleneck that takes 2 ms for each; then they are sent so.
        for i in 0..60 {
            sender.packet(200 + i, 600 + i, 1);
        }
        for i in 0..60 {
            sender.packet(320 + 2 * i, 600, 1);
        }
        assert_eq!(sender.changes.len(), 1);
        let rate = sender.changes[0].rate.map(Rate::as_bytes_per_sec);
        // An acknowledgment of 1000 bytes in 2 ms.
        assert!(
            rate.is_some_and(|rate| (490_000..=510_000).contains(&rate)),
            "{rate:?}"
        );
    }
}
