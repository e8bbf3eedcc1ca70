//! The table of an adaptive algorithm: which congestion control for which round-trip times, as
//! users write it.
//!
//! `CONTROLLER:DOWN:UP:CONTROLLER`, and so on: `rta-newreno:500:800:rta-hybla:1500:2000:cubic` is
//! NewReno up to 800 ms, then Hybla, and CUBIC above 2000 ms; back to Hybla below 1500 ms and to
//! NewReno below 500 ms. A single controller is a table too: for an algorithm that only follows
//! steps.

use crate::interface::Controller;
use crate::path_change::three_samples::{Bound, Bounds};
use crate::registry::entry::{ChosenController, ParseController, Setup};
use std::sync::Arc;
use whimbrel_units::{Bytes, Duration};

/// The maximum round-trip time of a bound, ms.
const MAX_BOUND: f64 = 60_000.0;

/// Controllers, and the bounds between them.
#[derive(Debug, Clone)]
pub(crate) struct Ranges {
    /// At least one.
    controllers: Vec<Arc<dyn ChosenController>>,
    pub bounds: Bounds,
}

impl Ranges {
    /// Reads a table.
    ///
    /// # Errors
    /// If the table is not valid: why, for the user.
    pub fn read(text: &str, parse: ParseController) -> Result<Self, String> {
        let mut parts = text.split(':');
        let mut controllers = vec![controller(parts.next().unwrap_or_default(), parse)?];
        let mut bounds: Vec<Bound> = Vec::new();
        while let Some(down) = parts.next() {
            let (Some(up), Some(next)) = (parts.next(), parts.next()) else {
                return Err(format!(
                    "`{text}` must be written CONTROLLER:DOWN:UP:CONTROLLER, with DOWN and UP in \
                     ms, such as `newreno:500:800:hybla`"
                ));
            };
            let bound = Bound {
                down: milliseconds(down)?,
                up: milliseconds(up)?,
            };
            if bound.down > bound.up {
                return Err(format!(
                    "the bound to go back, {down} ms, must not exceed the bound to go on, {up} ms"
                ));
            }
            if let Some(before) = bounds.last()
                && (bound.down <= before.down || bound.up <= before.up)
            {
                return Err(format!("{down}:{up} must lie above the bounds before it"));
            }
            bounds.push(bound);
            controllers.push(controller(next, parse)?);
        }
        let bounds = Bounds(bounds);
        Ok(Self {
            controllers,
            bounds,
        })
    }

    /// Checks a table.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn check(text: &str, parse: ParseController) -> Result<(), String> {
        Self::read(text, parse).map(|_| ())
    }

    /// Builds the controller of a range, for a path that begins now.
    pub fn build(&self, range: usize, setup: &Setup) -> Box<dyn Controller> {
        let last = self.controllers.len() - 1;
        self.controllers[range.min(last)].build(setup)
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(ms) if ms > 0.0 && ms <= MAX_BOUND => Ok(Duration::from_secs_f64(ms / 1e3)),
        _ => Err(format!(
            "`{text}` must be a number of milliseconds, more than 0 and at most {MAX_BOUND}"
        )),
    }
}

/// A controller that a table may contain: it does not itself change with the path.
fn controller(text: &str, parse: ParseController) -> Result<Arc<dyn ChosenController>, String> {
    let chosen = parse(text)?;
    let probe = Setup {
        mss: Bytes::new(1448),
        initial_window: Bytes::new(14_480),
        paced: false,
        ssthresh: None,
        growth: Default::default(),
        seed: 0,
        time_of_day: Default::default(),
        saved: None,
    };
    if chosen.build(&probe).path_changes().is_some() {
        return Err(format!(
            "`{chosen}` changes with the path itself; name the controllers that it switches between"
        ));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{parse_controller, setup};

    #[test]
    fn a_table_lists_controllers_and_the_rtt_bounds_between_them() {
        let ranges = Ranges::read(
            "rta-newreno:500:800:rta-hybla:1500:2000:cubic?hystart=false",
            parse_controller,
        )
        .expect("valid");
        let ms = Duration::from_millis;
        for (handshake, range) in [(50, 0), (800, 0), (801, 1), (2_000, 1), (2_001, 2)] {
            assert_eq!(ranges.bounds.first(ms(handshake)), range);
        }
        let phases = [0, 1, 2].map(|range| ranges.build(range, &setup(10)).phase());
        assert_eq!(
            phases,
            ["slow start (NewReno)", "slow start (Hybla)", "slow start"]
        );
        assert_eq!(Ranges::check("bbr", parse_controller), Ok(()));
    }

    #[test]
    fn errors_in_a_table_are_explained() {
        for (wrong, why) in [
            ("newreno:500:800", "CONTROLLER:DOWN:UP:CONTROLLER"),
            ("newreno:500", "CONTROLLER:DOWN:UP:CONTROLLER"),
            ("newreno:500:800:hybly", "did you mean `hybla`?"),
            ("newreno:800:500:hybla", "must not exceed"),
            (
                "newreno:500:800:hybla:400:900:cubic",
                "above the bounds before it",
            ),
            (
                "newreno:500:800:hybla:600:800:cubic",
                "above the bounds before it",
            ),
            ("newreno:0:800:hybla", "more than 0"),
            ("newreno:NaN:800:hybla", "more than 0"),
            ("newreno:500:inf:hybla", "more than 0"),
            ("newreno:5:8:aatp", "is fed reports on bursts"),
            ("rta:5:8:cubic", "changes with the path itself"),
            ("cubic:5:8:rta-plus", "changes with the path itself"),
        ] {
            let error = Ranges::check(wrong, parse_controller).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
