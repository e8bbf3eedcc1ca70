//! Values that change at set times.

use whimbrel_units::Time;

/// A value in steps: each step holds from its time until the next step.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule<T> {
    /// The first step begins at time zero; times strictly increase.
    steps: Vec<(Time, T)>,
}

impl<T: Copy> Schedule<T> {
    /// A value that never changes.
    pub fn constant(value: T) -> Self {
        Self {
            steps: vec![(Time::ZERO, value)],
        }
    }

    /// A schedule of these steps.
    ///
    /// # Errors
    /// If there is no step, the first step does not begin at zero, or the times do not increase.
    pub fn steps(steps: Vec<(Time, T)>) -> Result<Self, &'static str> {
        match steps.first() {
            None => return Err("a schedule needs at least one step"),
            Some((start, _)) if *start != Time::ZERO => {
                return Err("the first step of a schedule must begin at 0 s");
            }
            Some(_) => {}
        }
        if steps.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("the steps of a schedule must be in order of time");
        }
        Ok(Self { steps })
    }

    /// All steps, in order.
    pub fn all(&self) -> &[(Time, T)] {
        &self.steps
    }

    /// Whether the value never changes.
    pub fn is_constant(&self) -> bool {
        self.steps.len() == 1
    }

    fn begin_of(&self, step: usize) -> Option<Time> {
        self.steps.get(step).map(|(time, _)| *time)
    }
}

/// Reads a schedule at times that never go back, at a constant cost per reading: it accesses the
/// schedule only when a step ends.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<T> {
    /// The value of the last reading, and when it ends.
    value: T,
    until: Option<Time>,
    /// Index of the next step.
    next: usize,
    schedule: Schedule<T>,
}

impl<T: Copy> Cursor<T> {
    pub fn new(schedule: Schedule<T>) -> Self {
        Self {
            value: schedule.steps[0].1,
            until: schedule.begin_of(1),
            next: 1,
            schedule,
        }
    }

    /// The value in force at `now`.
    #[inline]
    pub fn at(&mut self, now: Time) -> T {
        while self.until.is_some_and(|end| end <= now) {
            self.value = self.schedule.steps[self.next].1;
            self.next += 1;
            self.until = self.schedule.begin_of(self.next);
        }
        self.value
    }

    /// When the value of the last reading ends; `None` if it never does.
    pub fn until(&self) -> Option<Time> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn each_step_holds_from_its_time_until_the_next() {
        let schedule =
            Schedule::steps(vec![(s(0), 'a'), (s(2), 'b'), (s(3), 'c')]).expect("in order");
        let mut cursor = Cursor::new(schedule);
        assert_eq!((cursor.at(s(0)), cursor.until()), ('a', Some(s(2))));
        assert_eq!(cursor.at(Time::from_nanos(1_999_999_999)), 'a');
        assert_eq!((cursor.at(s(2)), cursor.until()), ('b', Some(s(3))));
        assert_eq!((cursor.at(s(900)), cursor.until()), ('c', None));
    }

    #[test]
    fn a_reading_after_a_long_pause_skips_steps() {
        let schedule =
            Schedule::steps(vec![(s(0), 'a'), (s(2), 'b'), (s(3), 'c')]).expect("in order");
        assert_eq!(Cursor::new(schedule).at(Time::MAX), 'c');
    }

    #[test]
    fn invalid_steps_are_refused() {
        assert!(Schedule::<u8>::steps(vec![]).is_err());
        assert!(Schedule::steps(vec![(s(1), 1)]).is_err());
        assert!(Schedule::steps(vec![(s(0), 1), (s(2), 2), (s(2), 3)]).is_err());
        assert!(Schedule::steps(vec![(s(0), 1), (s(2), 2), (s(1), 3)]).is_err());
    }
}
