//! Two clocks of one machine: the kernel stamps arriving packets with one, the driver reads the
//! other.
//!
//! A packet is processed after it arrived, so the offset between the clocks is at most what a
//! packet shows, and the minimum over many packets is nearly exact. The kernel's clock may be
//! stepped (it is the time of day): an offset that is wrong by more than a second is measured anew.

use whimbrel_units::{Duration, Time};

/// A larger difference is a step of a clock, not a delay of the driver.
const STEP: Duration = Duration::from_secs(1);

/// The offset from the kernel's clock to the driver's.
#[derive(Debug, Default)]
pub(crate) struct ClockOffset(Option<i128>);

impl ClockOffset {
    /// A packet that arrived at `arrived` is processed at `now`.
    pub fn observe(&mut self, now: Time, arrived: Time) {
        let seen = i128::from(now.as_nanos()) - i128::from(arrived.as_nanos());
        let stepped = |offset: i128| (seen - offset).unsigned_abs() > u128::from(STEP.as_nanos());
        self.0 = match self.0 {
            Some(offset) if !stepped(offset) => Some(offset.min(seen)),
            _ => Some(seen),
        };
    }

    /// A time of arrival by the driver's clock.
    pub fn to_local(&self, arrived: Time) -> Time {
        shift(arrived, self.0.unwrap_or(0))
    }

    /// A time of the driver by the kernel's clock.
    pub fn to_arrival(&self, now: Time) -> Time {
        shift(now, -self.0.unwrap_or(0))
    }
}

fn shift(time: Time, by: i128) -> Time {
    let nanos = (i128::from(time.as_nanos()) + by).clamp(0, i128::from(u64::MAX));
    Time::from_nanos(nanos as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn the_shortest_delay_gives_the_offset_and_a_step_is_noticed() {
        let mut clock = ClockOffset::default();
        clock.observe(ms(105), ms(5000));
        clock.observe(ms(201), ms(5100));
        clock.observe(ms(350), ms(5200));
        assert_eq!(clock.to_local(ms(5300)), ms(401));
        assert_eq!(clock.to_arrival(ms(401)), ms(5300));
        clock.observe(ms(500), ms(2000));
        assert_eq!(clock.to_local(ms(2100)), ms(600));
    }
}
