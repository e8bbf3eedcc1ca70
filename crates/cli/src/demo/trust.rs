//! When a measurement of the demonstration cannot be trusted: the emulator or the machine did not
//! keep up, or the result lies outside of what the simulator predicts.

use super::host::Host;
use super::measure::Measurement;
use super::predict::Prediction;
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
    host: &Host,
) -> Vec<String> {
    let mut found = of_machine(measured, rtt, host);
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

/// The reasons that have nothing to do with a prediction.
pub fn of_machine(measured: &Measurement, rtt: Duration, host: &Host) -> Vec<String> {
    let mut found = Vec::new();
    let path = &measured.path;
    let late = path.lateness_p99_s();
    // Timers of an idle machine are a tenth of a millisecond late.
    if late > (LATE_SHARE * rtt.as_secs_f64()).max(1e-3) {
        found.push(format!(
            "the emulated path was late: 1 packet in 100 by {:.1} ms or more",
            late * 1e3
        ));
    }
    match path.missed_packets() {
        0 => {}
        missed => found.push(format!("the emulated path missed {missed} packets")),
    }
    if let Some(tcp) = &path.tcp {
        if tcp.fallbacks > 0 {
            found.push(format!(
                "{} connections went to the kernel's fallback algorithm",
                tcp.fallbacks
            ));
        }
        if tcp.dropped_events > 0 {
            found.push(format!(
                "{} events of the connection were lost",
                tcp.dropped_events
            ));
        }
    }
    if let Some(share) = host.used_by_others.filter(|share| *share > BUSY_SHARE) {
        found.push(format!(
            "the machine was busy: other programs used {:.0} % of its processors",
            share * 100.0
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::measure::{Lateness, LinuxReport, PathDirection, PathReport};
    use whimbrel_units::Bytes;

    const IDLE: Host = Host {
        used_by_others: Some(0.02),
    };

    fn measurement(goodput_bps: f64, p99: f64, missed: u64) -> Measurement {
        let direction = |p99, missed| PathDirection {
            lateness_s: Lateness { p99 },
            lost_before_the_path: Some(missed),
            lost_for_memory: 0,
        };
        let path = PathReport {
            forward: direction(p99, 0),
            backward: direction(0.0, missed),
            tcp: None,
        };
        Measurement::of(goodput_bps, path)
    }

    fn of(measured: &Measurement, host: &Host) -> Vec<String> {
        let predicted = Prediction {
            size: Bytes::new(1 << 20),
            goodput_bps: 20e6,
            range_bps: (10e6, 30e6),
            longest: Duration::from_secs(1),
            delivered: Vec::new(),
            rtts: Vec::new(),
            lost: 0.0,
        };
        warnings(measured, &predicted, Duration::from_millis(100), host)
    }

    #[test]
    fn an_idle_machine_and_a_result_in_range_give_no_warning() {
        assert_eq!(of(&measurement(20e6, 0.000_2, 0), &IDLE), [""; 0]);
        assert_eq!(of(&measurement(9.1e6, 0.000_2, 0), &IDLE), [""; 0]);
    }

    #[test]
    fn each_reason_is_reported_with_its_number() {
        let cases = [
            (measurement(20e6, 0.012, 0), IDLE, "12.0 ms"),
            (measurement(20e6, 0.0, 7), IDLE, "missed 7 packets"),
            (measurement(8e6, 0.0, 0), IDLE, "10.00 to 30.00"),
            (measurement(34e6, 0.0, 0), IDLE, "outside"),
        ];
        for (measured, host, says) in cases {
            let found = of(&measured, &host);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
        let mut fallen = measurement(20e6, 0.0, 0);
        fallen.path.tcp = Some(LinuxReport {
            fallbacks: 1,
            dropped_events: 3,
        });
        let found = of(&fallen, &IDLE);
        assert!(
            found.len() == 2 && found[0].contains("fallback") && found[1].contains("3 events"),
            "{found:?}"
        );
        let busy = Host {
            used_by_others: Some(0.8),
        };
        let found = of(&measurement(20e6, 0.0, 0), &busy);
        assert!(found[0].contains("80 %"), "{found:?}");
    }

    #[test]
    fn a_system_that_does_not_report_its_load_gives_no_warning() {
        let unknown = Host {
            used_by_others: None,
        };
        assert_eq!(of(&measurement(20e6, 0.0, 0), &unknown), [""; 0]);
    }
}
