//! The default mode: a short queue at the fixed point of `target.rs`.
//!
//! Per round trip, spread over its acknowledgments,
//!
//! * `W <- W + gain*(W*T/RTT + x*q(x) - W)`, with the rate x = W/RTT and the standing RTT:
//!   FAST's rule (C. Jin, D. Wei, S. Low, INFOCOM 2004) with alpha = x*q(x). It is at rest where
//!   `RTT - T = q(x)`.
//! * While the queue is shorter than half of the target, the path has room. After three such round
//!   trips the step doubles with each one, up to half of the window: a path that has become
//!   ten times faster is filled in about ten round trips. Near the window of the
//!   last round trip without room it waits for [`NEAR_PATIENCE`] of them: such room is what a
//!   drain, or the loss of another flow, leaves for a moment, and a short buffer has no place for
//!   more.
//! * When fast growth has made a queue, it ends as startup does, by Little's law.
//! * Never more than [`HEADROOM`] times what the path delivers in an RTT (twice while the step
//!   doubles): a window that the path does not answer grows no further.

/// Round trips with room after which the step doubles.
const PATIENCE: u32 = 3;

/// The same while the window is within a factor of [`NEAR`] of the last one without room; no more
/// than take [`NEAR_TIME`], s.
const NEAR_PATIENCE: u32 = 8;
const NEAR_TIME: f64 = 1.0;
const NEAR: f64 = 1.2;

/// Largest growth in a round trip, windows.
const MAX_GROWTH: f64 = 0.5;

/// Window over what was delivered in a round trip, and that while the step doubles.
const HEADROOM: (f64, f64) = (1.25, 2.0);

/// Round trips after startup in which the queue that it has left shows the rate of the path.
/// Little's law at its end has averaged over a time in which the path was not full.
const SETTLING: u32 = 4;

/// The state of the default mode. A drain or a push interrupts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cruise {
    velocity: f64,
    calm: u32,
    /// Of [`SETTLING`], round trips to come.
    settling: u32,
}

impl Cruise {
    pub fn new() -> Self {
        Self {
            velocity: 1.0,
            calm: 0,
            settling: 0,
        }
    }

    /// On a path with known room: the step doubles at once.
    pub fn with_room() -> Self {
        Self {
            calm: u32::MAX,
            ..Self::new()
        }
    }

    /// The same on a path whose rate startup has found.
    pub fn after_startup() -> Self {
        Self {
            settling: SETTLING,
            ..Self::with_room()
        }
    }

    /// The step is small again.
    pub fn slow_down(&mut self) {
        *self = Self {
            settling: self.settling,
            ..Self::new()
        };
    }

    /// Round trips of `rtt` with room after which the step doubles. `settled`: the last window
    /// without room.
    pub fn patience(window: f64, settled: f64, rtt: f64) -> u32 {
        let near = window < NEAR * settled && settled < NEAR * window;
        match near {
            true => ((NEAR_TIME / rtt) as u32).clamp(PATIENCE, NEAR_PATIENCE),
            false => PATIENCE,
        }
    }

    /// Ends a round trip; `room`: the queue is shorter than half of its target, and the window was
    /// used; `patience`: round trips with room after which the step doubles. Returns whether it was
    /// one of the first after startup.
    pub fn on_round(&mut self, room: bool, patience: u32) -> bool {
        let settling = self.settling > 0;
        self.settling = self.settling.saturating_sub(1);
        if !room {
            self.slow_down();
            return settling;
        }
        self.calm = self.calm.saturating_add(1);
        if self.calm >= patience {
            self.velocity = (2.0 * self.velocity).min(1e9);
        }
        settling
    }

    /// What a round trip adds to the window W whose target is `target`. `room` as above, now;
    /// `used`: the flow uses its window; `least`: what it adds with room at least, windows.
    pub fn step(
        &self,
        window: f64,
        target: f64,
        gain: f64,
        (room, used): (bool, bool),
        least: f64,
    ) -> f64 {
        let missing = target - window;
        if missing <= 0.0 {
            return gain * missing;
        }
        match (used, room) {
            (false, _) => 0.0,
            (true, true) => {
                let step = (missing * self.velocity).min(MAX_GROWTH * window);
                step.max(least * window)
            }
            (true, false) => gain * missing,
        }
    }

    /// Whether the step is doubling.
    pub fn is_fast(&self) -> bool {
        self.velocity > 1.0
    }

    /// The headroom of the window over what the path delivers.
    pub fn headroom(&self) -> f64 {
        match self.is_fast() {
            true => HEADROOM.1,
            false => HEADROOM.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_doubles_after_three_rounds_with_room() {
        let mut cruise = Cruise::new();
        let steps: Vec<f64> = (0..6)
            .map(|_| {
                cruise.on_round(true, PATIENCE);
                cruise.step(1000.0, 1006.0, 0.5, (true, true), 0.0)
            })
            .collect();
        assert_eq!(steps, [6.0, 6.0, 12.0, 24.0, 48.0, 96.0]);
        assert_eq!(
            cruise.step(100.0, 106.0, 0.5, (true, true), 0.0),
            50.0,
            "at most half"
        );
        cruise.on_round(false, PATIENCE);
        assert_eq!(cruise.step(1000.0, 1006.0, 0.5, (false, true), 0.0), 3.0);
    }

    #[test]
    fn near_the_last_window_without_room_it_waits_longer() {
        for (settled, rtt, patience) in [
            (0.0, 0.05, 3),
            (830.0, 0.05, 3),
            (840.0, 0.05, 8),
            (1190.0, 0.05, 8),
            (1201.0, 0.05, 3),
            (1000.0, 0.2, 5),
            (1000.0, 0.6, 3),
        ] {
            let rounds = Cruise::patience(1000.0, settled, rtt);
            assert_eq!(rounds, patience, "{settled}, {rtt}");
            let mut cruise = Cruise::new();
            let fast = (1..20).find(|_| {
                cruise.on_round(true, rounds);
                cruise.is_fast()
            });
            assert_eq!(fast, Some(patience));
        }
    }

    #[test]
    fn an_unused_window_does_not_grow_but_it_shrinks() {
        let cruise = Cruise::new();
        assert_eq!(cruise.step(1000.0, 1100.0, 0.5, (true, false), 0.0), 0.0);
        assert_eq!(cruise.step(1000.0, 900.0, 0.5, (false, false), 0.0), -50.0);
    }
}
