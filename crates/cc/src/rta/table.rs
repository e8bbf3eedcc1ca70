//! The table of a law that adapts: which congestion control for which round-trip times, as people write it.
//!
//! `LAW:DOWN:UP:LAW`, and so on: `rta-newreno:500:800:rta-hybla:1500:2000:cubic` is NewReno up to 800 ms, then Hybla, above 2000
//! ms CUBIC; back below 1500 and below 500. A single law is a table too: for a law that only follows steps.

use crate::Controller;
use crate::registry::{Feed, Setup, Spec};
use crate::three_samples::{Bound, Bounds};
use whimbrel_units::{Bytes, Duration};

/// Longest round-trip time that a bound can be, ms.
const LONGEST: f64 = 60_000.0;

/// Laws, and the bounds between them.
#[derive(Debug, Clone)]
pub(crate) struct Ranges {
    /// At least one.
    laws: Vec<Spec>,
    pub bounds: Bounds,
}

impl Ranges {
    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong with it, for the person who wrote it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let mut laws = vec![law(parts.next().unwrap_or_default())?];
        let mut bounds: Vec<Bound> = Vec::new();
        while let Some(down) = parts.next() {
            let (Some(up), Some(next)) = (parts.next(), parts.next()) else {
                return Err(format!(
                    "`{text}` must be written LAW:DOWN:UP:LAW, with DOWN and UP in ms, such as `newreno:500:800:hybla`"
                ));
            };
            let bound = Bound {
                down: milliseconds(down)?,
                up: milliseconds(up)?,
            };
            if bound.down > bound.up {
                return Err(format!(
                    "one goes back below {down} ms and on above {up} ms: the first must not be greater"
                ));
            }
            if let Some(before) = bounds.last()
                && (bound.down <= before.down || bound.up <= before.up)
            {
                return Err(format!("{down}:{up} must lie above the bounds before it"));
            }
            bounds.push(bound);
            laws.push(law(next)?);
        }
        let bounds = Bounds(bounds);
        Ok(Self { laws, bounds })
    }

    /// What is wrong with a table, if anything is.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn check(text: &str) -> Result<(), String> {
        Self::read(text).map(|_| ())
    }

    /// The law of a range, for a path that begins now.
    pub fn build(&self, range: usize, setup: &Setup) -> Box<dyn Controller> {
        let last = self.laws.len() - 1;
        self.laws[range.min(last)].build(setup)
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(ms) if ms > 0.0 && ms <= LONGEST => Ok(Duration::from_secs_f64(ms / 1e3)),
        _ => Err(format!(
            "`{text}` must be a number of milliseconds, more than 0 and up to {LONGEST}"
        )),
    }
}

/// A law that may stand in a table: it lives on acknowledgments, and does not itself change with the path.
fn law(text: &str) -> Result<Spec, String> {
    let spec: Spec = text.parse().map_err(|error| format!("{error}"))?;
    if spec.entry().feed != Feed::Acknowledgments {
        return Err(format!(
            "`{spec}` lives on bursts; only laws of acknowledgments can take over from each other"
        ));
    }
    let asked = Setup {
        mss: Bytes::new(1448),
        initial_window: Bytes::new(14_480),
        paced: false,
        ssthresh: None,
        seed: 0,
    };
    if spec.build(&asked).path_changes().is_some() {
        return Err(format!(
            "`{spec}` changes with the path itself; name the laws that it changes between"
        ));
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::setup;

    #[test]
    fn a_table_is_laws_and_the_round_trip_times_between_them() {
        let ranges = Ranges::read("rta-newreno:500:800:rta-hybla:1500:2000:cubic?hystart=false")
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
        assert_eq!(Ranges::check("bbr"), Ok(()));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said() {
        for (wrong, why) in [
            ("newreno:500:800", "LAW:DOWN:UP:LAW"),
            ("newreno:500", "LAW:DOWN:UP:LAW"),
            ("newreno:500:800:hybly", "did you mean `hybla`?"),
            ("newreno:800:500:hybla", "must not be greater"),
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
            ("newreno:5:8:aatp", "lives on bursts"),
            ("rta:5:8:cubic", "changes with the path itself"),
            ("cubic:5:8:rta-plus", "changes with the path itself"),
        ] {
            let error = Ranges::check(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
