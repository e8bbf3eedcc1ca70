//! When a measurement cannot be trusted: the emulator or the machine did not
//! keep up, or the result lies outside of what the simulator predicts.

use super::{Load, Measurement};
use crate::prediction::Prediction;
use whimbrel_units::Duration;

/// One packet in a hundred may be this part of the round-trip time late.
const LATE_SHARE: f64 = 0.05;
/// Other programs may use this part of the processors.
const BUSY_SHARE: f64 = 0.25;
/// The predicted range is that of 21 seeds. A measurement may lie this far beyond its ends.
const RANGE_SLACK: f64 = 0.1;

/// Reasons not to trust a measurement, in words for a person; empty if there are none.
pub fn warnings(
    measured: &Measurement,
    predicted: &Prediction,
    rtt: Duration,
    load: Load,
) -> Vec<String> {
    let mut found = Vec::new();
    let path = &measured.path;
    // Timers of an idle machine are a tenth of a millisecond late.
    if path.late_p99_s > (LATE_SHARE * rtt.as_secs_f64()).max(1e-3) {
        let ms = path.late_p99_s * 1e3;
        found.push(format!(
            "the emulated path was late: 1 packet in 100 by {ms:.1} ms or more"
        ));
    }
    for (count, what) in [
        (path.missed, "packets missed the emulated path"),
        (
            path.fallbacks,
            "connections went to the kernel's fallback algorithm",
        ),
        (path.dropped_events, "events of the connection were lost"),
    ] {
        if count > 0 {
            found.push(format!("{count} {what}"));
        }
    }
    if let Some(part) = load.filter(|part| *part > BUSY_SHARE) {
        found.push(format!(
            "the machine was busy: other programs used {:.0} % of its processors",
            part * 100.0
        ));
    }
    let (low, high) = predicted.range_bps;
    let expected = low * (1.0 - RANGE_SLACK)..=high * (1.0 + RANGE_SLACK);
    if !expected.contains(&measured.goodput_bps) {
        found.push(format!(
            "the result is outside of the predicted range, {:.2} to {:.2} Mbit/s",
            low / 1e6,
            high / 1e6
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::PathQuality;

    fn of(goodput_bps: f64, path: PathQuality, load: Load) -> Vec<String> {
        let measured = Measurement {
            goodput_bps,
            path,
            ..Measurement::default()
        };
        let predicted = Prediction {
            size: whimbrel_units::Bytes::new(1 << 20),
            goodput_bps: 20e6,
            range_bps: (10e6, 30e6),
            longest: Duration::from_secs(1),
            delivered: Vec::new(),
            rtts: Vec::new(),
            lost: 0.0,
        };
        warnings(&measured, &predicted, Duration::from_millis(100), load)
    }

    #[test]
    fn an_idle_machine_and_a_result_in_range_give_no_warning() {
        let path = PathQuality {
            late_p99_s: 0.000_2,
            ..PathQuality::default()
        };
        for (goodput, load) in [(20e6, Some(0.02)), (9.1e6, Some(0.02)), (20e6, None)] {
            assert_eq!(of(goodput, path, load), [""; 0]);
        }
    }

    #[test]
    fn each_reason_is_reported_with_its_number() {
        let good = PathQuality::default();
        let late = PathQuality {
            late_p99_s: 0.012,
            ..good
        };
        let missed = PathQuality { missed: 7, ..good };
        let fallen = PathQuality {
            fallbacks: 1,
            ..good
        };
        let dropped = PathQuality {
            dropped_events: 3,
            ..good
        };
        for (goodput, path, load, says) in [
            (20e6, late, None, "12.0 ms"),
            (20e6, missed, None, "7 packets missed"),
            (20e6, fallen, None, "fallback"),
            (20e6, dropped, None, "3 events"),
            (20e6, good, Some(0.8), "80 %"),
            (8e6, good, None, "10.00 to 30.00"),
            (34e6, good, None, "outside"),
        ] {
            let found = of(goodput, path, load);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
    }
}
