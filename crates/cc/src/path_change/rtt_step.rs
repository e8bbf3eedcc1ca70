//! Distinguishes a longer path from a longer queue by the way in which the round-trip time rises.
//!
//! Whimbrel's own. Srinivasan and Garcia-Luna-Aceves state the need for it (TCP-RTA, 2022, section
//! 6: "to clearly differentiate between longer RTTs due to real congestion versus due to topology
//! change").
//!
//! **The physics.** Let a queue be served at the rate C, and let two packets be sent `ds` apart,
//! with X bytes sent after the first up to and including the second. The second waits longer than
//! the first by at most `X/C - ds`, because a queue contains only what was sent. In slow start,
//! which sends at 2C, the round-trip time therefore rises by `ds`: a ramp. A path that becomes
//! longer by J adds J between one packet and the next: a step. A path that stops for J (a blackout
//! during a handover) adds J too, but only to the packets sent before its acknowledgments stopped:
//! the next flight has the old round-trip time.
//!
//! * suspicion: a sample exceeds the maximum of the last 8 by more than `max(X/C, ds) + margin`:
//!   the sender's own data explains X/C, and another flow's slow start `ds`
//! * margin: 1/8 of that maximum, at least 5 ms, and at least the time of 14 600 bytes at C: the
//!   first flight of another connection (RFC 6928), which may have arrived in between. A step of
//!   less than an eighth would change the window by less than an eighth
//! * confirmation: no sample returns to within the margin of the old ones, until three samples of
//!   packets that were sent more than 1.25 old round-trip times, and more than 200 ms, after the
//!   first suspicious one. By then the sender has feedback from the new path, or from after the
//!   blackout; Starlink's handovers hold packets for up to 100 ms (LeoCC's trace, 2025)
//! * the new path: the minimum of the last 8 samples; its rate: that of the last train of at least
//!   8 acknowledgments, each of which arrived within the margin after the one before it
//! * a shorter path: three samples in a row below the minimum of the path, and below the queue that
//!   the last regular sample and `X/C - ds` leave, both by 1/8 of the minimum, at least 5 ms. No
//!   packet is faster than the path without queues. But that base RTT may never have been measured:
//!   a queue that drains because less was sent is not a shorter path, only a better estimate of
//!   this one
//!
//! **When it works.** For steps from 20 ms to 600 ms, with losses, or with a change of capacity.
//! **When not.** It misses a longer path while the queue of the old one held more than the step:
//! the flight then fills the new path as it filled the queue, and no window needs to change, unless
//! losses reduce it just then. A handover that holds packets for longer than 200 ms looks like a
//! longer path until its end; then the path looks shorter again. If the base RTT was never
//! measured, the end of another flow's queue looks like a shorter path.
//!
//! Suspicious samples are not passed on: a blackout is not a queue either. Units: bytes, times.

use crate::estimators::max_rate::MaxRate;
use crate::interface::{Ack, AtSending};
use crate::path_change::{Change, Observation, PathChange};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The RTT noise floor is the round-trip time divided by this.
const NOISE_DIVISOR: u64 = 8;

/// The minimum of the RTT noise floor.
const MIN_NOISE: Duration = Duration::from_millis(5);

/// The first flight of another connection (RFC 6928).
const FIRST_FLIGHT: Bytes = Bytes::new(14_600);

/// Samples in a row that confirm a change: TCP-RTA's number.
const IN_A_ROW: u32 = 3;

/// Old round-trip times after which packets carry feedback from the new path.
const FEEDBACK: f64 = 1.25;

/// The maximum time for which a handover may hold packets: twice Starlink's.
const MAX_BLACKOUT: Duration = Duration::from_millis(200);

/// Number of samples that describe the present round-trip time.
const RECENT: usize = 8;

/// Minimum number of acknowledgments in a train.
const TRAIN: u32 = 8;

/// Detects steps of the round-trip time.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttStep {
    rate: MaxRate,
    /// Minimum round-trip time of the present path.
    base: Option<Duration>,
    recent: Recent,
    /// The last regular sample of the path.
    last: Option<(Sent, Duration)>,
    suspicion: Option<Suspicion>,
    shorter: Option<Shorter>,
}

/// Samples in a row that are too short for this path.
#[derive(Debug, Clone, Copy)]
struct Shorter {
    samples: u32,
    max: Duration,
    /// The delivery rate of the path before the first of them.
    rate: Option<Rate>,
}

/// The time at which a packet was sent, and the number of bytes sent up to it.
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

/// The state of a suspicion that the path has become longer.
#[derive(Debug, Clone, Copy)]
struct Suspicion {
    /// The round-trip time before.
    before: Duration,
    /// A sample at or below this ends the suspicion.
    level: Duration,
    /// Packets sent after this carry feedback from the new path.
    feedback: Time,
    /// The number of samples of such packets.
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

    fn min(&self) -> Option<Duration> {
        self.samples[..self.count].iter().min().copied()
    }

    fn max(&self) -> Option<Duration> {
        self.samples[..self.count].iter().max().copied()
    }
}

/// Acknowledgments in quick succession.
#[derive(Debug, Clone, Copy)]
struct Train {
    /// A longer pause ends the train.
    gap: Duration,
    began: Time,
    last: Time,
    /// Bytes acknowledged since it began, without those of its first acknowledgment.
    acked: u64,
    acks: u32,
    /// The rate of the last train that was long enough.
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

/// RTT noise floor.
fn noise_floor(rtt: Duration) -> Duration {
    (rtt / NOISE_DIVISOR).max(MIN_NOISE)
}

impl RttStep {
    /// Minimum round-trip time of the present path, after the first sample.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// From now on all samples are longer by this: the caller had left out a part of the path whose
    /// change it has just learned of. Not while a suspicion is open.
    pub fn lengthen(&mut self, by: Duration) {
        self.base = self.base.map(|base| base.saturating_add(by));
        self.last = self.last.map(|(sent, rtt)| (sent, rtt.saturating_add(by)));
        for sample in &mut self.recent.samples {
            *sample = sample.saturating_add(by);
        }
    }

    /// X/C and ds since the last regular sample, for a packet sent at `sent`.
    fn passed(&self, rate: Rate, sent: Sent) -> Option<(Duration, Duration)> {
        let (last, _) = self.last?;
        let bytes = Bytes::new(sent.total.saturating_sub(last.total));
        Some((rate.time_for(bytes), sent.at.since(last.at)))
    }

    /// Whether a sample below all others of this path is explained by its queue draining.
    #[cold]
    #[inline(never)]
    fn drained(&self, rtt: Duration, base: Duration, sent: Sent) -> bool {
        let (Some(rate), Some((_, last))) = (self.rate.get(), self.last) else {
            return true;
        };
        let Some((filled, served)) = self.passed(rate, sent) else {
            return true;
        };
        let left = last.saturating_add(filled) - served;
        rtt.saturating_add(noise_floor(base)) >= left
    }

    /// Whether this sample is so little above the latest one that it cannot cause a suspicion: the
    /// maximum of the last ones is at least the latest, and the margin at least [`MIN_NOISE`]. So
    /// nearly all samples need neither that maximum nor X/C.
    #[inline]
    fn is_ordinary(&self, rtt: Duration) -> bool {
        self.last
            .is_some_and(|(_, last)| rtt <= last.saturating_add(MIN_NOISE))
    }

    /// Returns a suspicion if this sample causes one.
    #[cold]
    #[inline(never)]
    fn suspect(&self, ack: &Ack, rtt: Duration, sent: Sent) -> Option<Suspicion> {
        let (min, max) = (self.recent.min()?, self.recent.max()?);
        let rate = self.rate.get()?;
        let (filled, served) = self.passed(rate, sent)?;
        let margin = noise_floor(max).max(rate.time_for(FIRST_FLIGHT));
        let step = rtt - max;
        if step <= filled.max(served).saturating_add(margin) {
            return None;
        }
        let mut samples = Recent::default();
        samples.push(rtt);
        Some(Suspicion {
            before: min,
            level: max.saturating_add(margin),
            feedback: sent.at + max.mul_f64(FEEDBACK).max(MAX_BLACKOUT),
            after: 0,
            samples,
            train: Train::new(ack.now, margin),
        })
    }

    /// Sets the present path.
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

    /// Processes a sample that is too short for this path.
    #[cold]
    #[inline(never)]
    fn on_shorter(&mut self, rtt: Duration, base: Duration, sent: Sent) -> Observation {
        let rate = self.rate.get();
        let shorter = self.shorter.get_or_insert(Shorter {
            samples: 0,
            max: rtt,
            rate,
        });
        shorter.samples += 1;
        shorter.max = shorter.max.max(rtt);
        let Shorter {
            samples,
            max: to,
            rate,
        } = *shorter;
        if samples < IN_A_ROW {
            return Observation::sample(None);
        }
        let mut recent = Recent::default();
        recent.push(to);
        self.settle(to, recent, (sent, rtt), rate);
        let change = Change {
            from: base,
            to,
            rate,
        };
        Observation::change(rtt, change)
    }

    /// Processes a sample during a suspicion.
    #[cold]
    #[inline(never)]
    fn on_suspected(
        &mut self,
        ack: &Ack,
        rtt: Duration,
        sent: Sent,
        mut it: Suspicion,
    ) -> Observation {
        if rtt <= it.level {
            self.suspicion = None;
            self.recent.push(rtt);
            self.last = Some((sent, rtt));
            return Observation::sample(Some(rtt));
        }
        it.samples.push(rtt);
        it.train.on_ack(ack);
        it.after += u32::from(sent.at > it.feedback);
        self.suspicion = Some(it);
        if it.after < IN_A_ROW {
            return Observation::sample(None);
        }
        let to = it.samples.min().unwrap_or(rtt);
        let old = self.rate.get();
        let rate = it.train.rate;
        let believed = rate.map_or(old, |rate| Some(old.map_or(rate, |old| old.min(rate))));
        self.settle(to, it.samples, (sent, rtt), believed);
        let change = Change {
            from: it.before,
            to,
            rate,
        };
        Observation::change(rtt, change)
    }

    /// Processes an acknowledgment whose RTT sample, for this purpose, is `rtt` instead of its own.
    #[inline]
    pub fn on_sample(&mut self, ack: &Ack, rtt: Option<Duration>) -> Observation {
        self.rate.on_ack(ack);
        let (Some(rtt), Some(newest)) = (rtt, ack.newest) else {
            return Observation::sample(rtt);
        };
        let sent = Sent::of(newest);
        let base = *self.base.get_or_insert(rtt);
        if base > rtt.saturating_add(noise_floor(base)) && !self.drained(rtt, base, sent) {
            return self.on_shorter(rtt, base, sent);
        }
        self.shorter = None;
        self.base = Some(base.min(rtt));
        if let Some(suspicion) = self.suspicion {
            return self.on_suspected(ack, rtt, sent, suspicion);
        }
        if !self.is_ordinary(rtt)
            && let Some(suspicion) = self.suspect(ack, rtt, sent)
        {
            self.suspicion = Some(suspicion);
            return Observation::sample(None);
        }
        self.recent.push(rtt);
        self.last = Some((sent, rtt));
        Observation::sample(Some(rtt))
    }
}

impl PathChange for RttStep {
    fn on_ack(&mut self, ack: &Ack) -> Observation {
        self.on_sample(ack, ack.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, MSS};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A sender of one packet of 1000 bytes per millisecond, on a path of that capacity.
    #[derive(Default)]
    struct Sender {
        step: RttStep,
        changes: Vec<Change>,
        /// Round-trip times that were passed on, ms.
        passed_on: Vec<u64>,
        /// Bytes sent so far.
        total: u64,
    }

    impl Sender {
        /// The packet sent at `sent` ms has an RTT of `rtt` ms; `packets` were sent since the last
        /// one.
        fn packet(&mut self, sent: u64, rtt: u64, packets: u64) {
            self.total += packets * MSS;
            let at = Time::ZERO + ms(sent);
            let observed = self.step.on_ack(&Ack {
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
                    retransmitted: false,
                }),
                ..ACK
            });
            self.changes.extend(observed.change);
            self.passed_on
                .extend(observed.rtt.map(|rtt| rtt.as_nanos() / 1_000_000));
        }

        /// One packet per millisecond of the interval, with these RTTs.
        fn packets(&mut self, span: std::ops::Range<u64>, rtt: impl Fn(u64) -> u64) {
            for sent in span {
                self.packet(sent, rtt(sent), 1);
            }
        }
    }

    #[test]
    fn a_part_that_was_left_out_is_no_step() {
        let mut sender = Sender::default();
        sender.packets(0..400, |_| 50);
        sender.step.lengthen(ms(100));
        sender.packets(400..1000, |_| 150);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.step.base(), Some(ms(150)));
    }

    #[test]
    fn a_lasting_step_is_a_longer_path_once_there_is_feedback() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // 1.25 * 60 ms is less than 200 ms. Packets sent more than 200 ms after the first one carry
        // feedback: 401, 402 and, the third, 403.
        sender.packets(200..403, |_| 80);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.passed_on, [60; 200]);
        sender.packets(403..600, |_| 80);
        let change = Change {
            from: ms(60),
            to: ms(80),
            rate: Some(Rate::from_bytes_per_sec(1_000_000)),
        };
        assert_eq!(sender.changes, [change]);
        assert_eq!(sender.step.base(), Some(ms(80)));
        assert_eq!(sender.passed_on.len(), 200 + 197);
    }

    #[test]
    fn a_long_path_is_confirmed_after_1_25_round_trip_times() {
        let mut sender = Sender::default();
        sender.packets(0..800, |_| 400);
        // 1.25 * 400 ms is more than 200 ms: packets 1301, 1302 and 1303.
        sender.packets(800..1303, |_| 500);
        assert_eq!(sender.changes, []);
        sender.packet(1303, 500, 1);
        assert_eq!(sender.changes.len(), 1);
    }

    #[test]
    fn a_queue_that_slow_start_fills_is_a_ramp_of_any_height() {
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 50);
        // Two packets per millisecond where one leaves: one millisecond more with each.
        for i in 0..1_200 {
            sender.packet(100 + i, 50 + i, 2);
        }
        sender.packets(1_300..5_000, |_| 1_250);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.passed_on.len(), 100 + 1_200 + 3_700);
    }

    #[test]
    fn bursts_of_this_and_another_flow_are_not_steps() {
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 50);
        // 40 packets at once after a pause of 30 ms: the last waits for 40 ms. Then another flow's
        // burst of 14 ms.
        for i in 0..40 {
            sender.packet(130, 50 + i, 1);
        }
        sender.packets(170..300, |_| 90);
        sender.packets(300..600, |_| 104);
        assert_eq!(sender.changes, []);
        // 30 ms more are explained by neither.
        sender.packets(600..900, |_| 134);
        assert_eq!(sender.changes.len(), 1);
    }

    #[test]
    fn a_blackout_holds_one_flight_and_is_not_a_longer_path() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // The path stops for 100 ms. Acknowledgments of earlier packets arrive for 60 ms and
        // release as many packets, which all wait for 100 ms; then nothing is sent for 100 ms; then
        // the path is as before.
        sender.packets(200..260, |_| 160);
        sender.packets(360..600, |_| 60);
        assert_eq!(sender.changes, []);
        assert!(sender.passed_on.iter().all(|rtt| *rtt == 60));
        assert_eq!(sender.passed_on.len(), 200 + 240);
    }

    #[test]
    fn three_packets_that_overtake_are_a_shorter_path() {
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
    fn a_draining_queue_improves_the_estimate_and_is_not_a_new_path() {
        let mut sender = Sender::default();
        // The flow begins behind an existing queue of 300 ms. One packet every two milliseconds:
        // half a millisecond less with each millisecond.
        sender.packets(0..100, |_| 350);
        for i in 1..=300 {
            sender.packet(100 + 2 * i, 350 - i, 1);
        }
        assert_eq!(sender.changes, []);
        assert_eq!(sender.step.base(), Some(ms(50)));
        // After a pause of 400 ms the queue is empty at once.
        let mut sender = Sender::default();
        sender.packets(0..100, |_| 350);
        sender.packets(500..600, |_| 50);
        assert_eq!(sender.changes, []);
        assert_eq!(sender.step.base(), Some(ms(50)));
    }

    #[test]
    fn random_delays_are_not_steps() {
        let mut random = crate::building_blocks::splitmix::SplitMix64::new(7);
        let mut sender = Sender::default();
        for sent in 0..20_000 {
            let jitter = random.below(30);
            sender.packet(sent, 60 + jitter, 1);
        }
        assert_eq!(sender.changes, []);
    }

    #[test]
    fn acknowledgments_at_half_the_rate_show_a_path_of_half_the_rate() {
        let mut sender = Sender::default();
        sender.packets(0..200, |_| 60);
        // Packets of the next 60 ms pass a bottleneck that takes 2 ms for each; then the sender
        // sends at that rate.
        for i in 0..60 {
            sender.packet(200 + i, 600 + i, 1);
        }
        for i in 0..60 {
            sender.packet(320 + 2 * i, 600, 1);
        }
        assert_eq!(sender.changes.len(), 1);
        let rate = sender.changes[0].rate.map(Rate::as_bytes_per_sec);
        // An acknowledgment of 1000 bytes every 2 ms.
        assert!(
            rate.is_some_and(|rate| (490_000..=510_000).contains(&rate)),
            "{rate:?}"
        );
    }
}
