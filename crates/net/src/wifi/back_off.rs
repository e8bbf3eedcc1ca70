//! The back-off: when a station may send, after AIFS and a random number of idle slots.
//!
//! IEEE Std 802.11-2016, 10.22.2.2 and 10.22.2.4 (EDCA). After the channel becomes idle, slots
//! begin at the end of AIFS. At the beginning of each slot, a station with a counter of zero sends,
//! any other station counts down by one. So the slot in which another station begins counts too (in
//! the older DCF it does not), as in Bianchi's model. While the channel stays idle, slots continue,
//! and an arriving frame waits for the next one.
//!
//! The counter is drawn from 0 to CW after each access, whether or not another frame waits
//! (post-back-off), and when a frame arrives while the channel is busy and the counter is zero. CW
//! is doubled (2 CW + 1, up to its maximum) after an access without acknowledgment. It is reset to
//! the minimum after an acknowledgment or at the retry limit.

use super::spec::WifiSpec;
use rand::{Rng, RngExt};
use whimbrel_units::{Duration, Time};

/// The back-off of one station.
#[derive(Debug, Clone)]
pub(super) struct BackOff {
    slot: Duration,
    cw_min: u16,
    cw_max: u16,
    retry_limit: u8,
    cw: u16,
    /// Consecutive accesses without acknowledgment.
    failures: u8,
    /// When the first slot since the last access begins.
    slots_begin: Time,
    /// Remaining slots, counted from there.
    counter: u64,
}

impl BackOff {
    pub fn new(spec: &WifiSpec, slot: Duration) -> Self {
        Self {
            slot,
            cw_min: spec.cw_min,
            cw_max: spec.cw_max.max(spec.cw_min),
            retry_limit: spec.retry_limit.max(1),
            cw: spec.cw_min,
            failures: 0,
            slots_begin: Time::ZERO,
            counter: 0,
        }
    }

    /// When a station with a frame sends it if the channel stays idle; not before `now`.
    #[inline]
    pub fn expires(&self, now: Time) -> Time {
        let passed = now.since(self.slots_begin).as_nanos();
        let next = passed.div_ceil(self.slot.as_nanos());
        self.begin_of(self.counter.max(next))
    }

    fn begin_of(&self, slot: u64) -> Time {
        let ns = self.slot.as_nanos().saturating_mul(slot);
        self.slots_begin + Duration::from_nanos(ns)
    }

    /// The channel has become busy, which the station noticed at `noticed`: counts down the slots
    /// that began before. `wants`: the station has a frame to send, which arrived too late for its
    /// slot.
    pub fn freeze(&mut self, noticed: Time, wants: bool, rng: &mut impl Rng) {
        let passed = noticed.since(self.slots_begin).as_nanos();
        let counted = passed.div_ceil(self.slot.as_nanos());
        if self.counter >= counted {
            self.counter -= counted;
        } else {
            self.counter = 0;
            if wants {
                self.draw(rng);
            }
        }
    }

    /// A frame arrived while the channel was busy.
    pub fn frame_came_while_busy(&mut self, rng: &mut impl Rng) {
        if self.counter == 0 {
            self.draw(rng);
        }
    }

    /// The station's access was acknowledged.
    pub fn succeeded(&mut self, rng: &mut impl Rng) {
        self.failures = 0;
        self.cw = self.cw_min;
        self.draw(rng);
    }

    /// The station's access was not acknowledged.
    pub fn failed(&mut self, rng: &mut impl Rng) {
        self.failures += 1;
        if self.failures >= self.retry_limit {
            self.failures = 0;
            self.cw = self.cw_min;
        } else {
            self.cw = self.cw.saturating_mul(2).saturating_add(1).min(self.cw_max);
        }
        self.draw(rng);
    }

    /// Slots begin again at this time.
    pub fn resume(&mut self, at: Time) {
        self.slots_begin = at;
    }

    fn draw(&mut self, rng: &mut impl Rng) {
        self.counter = rng.random_range(0..=u64::from(self.cw));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use whimbrel_units::Rate;

    const fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn back_off(counter: u64) -> BackOff {
        let spec = WifiSpec::at(Rate::from_bits_per_sec(65_000_000)).expect("a rate");
        let mut back_off = BackOff::new(&spec, Duration::from_micros(9));
        back_off.resume(us(100));
        back_off.counter = counter;
        back_off
    }

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    #[test]
    fn a_counter_of_five_expires_after_five_slots() {
        assert_eq!(back_off(5).expires(us(50)), us(145));
        assert_eq!(back_off(0).expires(us(50)), us(100));
        // Long after, the station sends in the next slot: 100 + 100 x 9 = 1000.
        assert_eq!(back_off(5).expires(us(992)), us(1000));
        assert_eq!(back_off(5).expires(us(1000)), us(1000));
        assert_eq!(back_off(u64::MAX).expires(Time::MAX), Time::MAX);
    }

    #[test]
    fn the_slot_of_another_access_counts_and_its_airtime_does_not() {
        // The other station begins at 118, in the third slot, and is noticed at 127: 100, 109 and
        // 118 count.
        let mut back_off = back_off(5);
        back_off.freeze(us(127), true, &mut rng());
        back_off.resume(us(1000));
        assert_eq!(back_off.expires(us(900)), us(1018));
        // AIFS is before the first slot and does not count.
        back_off.freeze(us(999), true, &mut rng());
        assert_eq!(back_off.expires(us(900)), us(1018));
    }

    #[test]
    fn the_window_doubles_to_1023_and_resets_after_the_seventh_failure() {
        let mut back_off = back_off(0);
        let mut windows = vec![back_off.cw];
        for _ in 0..7 {
            back_off.failed(&mut rng());
            windows.push(back_off.cw);
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 15]);
        back_off.failed(&mut rng());
        back_off.succeeded(&mut rng());
        assert_eq!((back_off.cw, back_off.failures), (15, 0));
    }

    #[test]
    fn a_frame_on_a_busy_channel_draws_only_if_the_counter_is_zero() {
        let mut rng = rng();
        let mut counted = back_off(3);
        counted.frame_came_while_busy(&mut rng);
        assert_eq!(counted.counter, 3);
        let drawn = (0..1600).map(|i| {
            let mut back_off = back_off(0);
            if i % 2 == 0 {
                back_off.frame_came_while_busy(&mut rng);
            } else {
                // It arrived after the last slot had begun and before the other access was noticed.
                back_off.freeze(us(127), true, &mut rng);
            }
            back_off.counter
        });
        // Uniform from 0 to 15: 100 each, standard deviation 9.7.
        let mut times = [0_i32; 16];
        drawn.for_each(|counter| times[counter as usize] += 1);
        assert!(times.iter().all(|n| (n - 100).abs() < 45), "{times:?}");
        let mut nothing = back_off(0);
        nothing.freeze(us(127), false, &mut rng);
        assert_eq!(nothing.counter, 0);
    }
}
