//! Helpers for the tests of AATP: OC-3 at 20 ms, the paper's bottleneck.

use crate::interface::{Bandwidth, BurstController, BurstReport, Spans};
use crate::registry::Spec;
use crate::registry::entry::Setup;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Net rate of the link.
pub(super) const OC3: Rate = Rate::from_bits_per_sec(148_608_000);
/// Bits of a packet of 1500 bytes, the size of all packets in these tests.
pub(super) const PACKET_BITS: f64 = 12_000.0;
/// T_burst.
pub(super) const INTERVAL: Duration = Duration::from_millis(20);

/// A controller from the registry without any input yet.
pub(super) fn built(spec: &str) -> Box<dyn BurstController> {
    let setup = Setup {
        mss: Bytes::new(1460),
        initial_window: Bytes::new(14_600),
        paced: true,
        ssthresh: None,
        growth: Default::default(),
        seed: 1,
        time_of_day: Default::default(),
        saved: None,
    };
    let spec: Spec = spec.parse().expect("valid");
    spec.build_for_bursts(&setup).expect("of this family")
}

/// An initial bandwidth estimate.
pub(super) fn estimate(rate: Rate) -> Bandwidth {
    Bandwidth {
        now: Time::ZERO,
        rate,
        packet: Bytes::new(1500),
        allocated: None,
        restart: true,
        exact: true,
    }
}

/// A controller from the registry that starts on a link of `rate`.
pub(super) fn started(spec: &str, rate: Rate) -> Box<dyn BurstController> {
    let mut controller = built(spec);
    controller.on_bandwidth(&estimate(rate));
    controller
}

/// A burst of 100 packets that arrived completely and with the spacing it was sent with.
pub(super) const BURST: BurstReport = BurstReport {
    now: Time::ZERO,
    packets: 100,
    received: 100,
    lost_before: 0,
    interval: INTERVAL,
    increase: 0.0,
    spans: Some(Spans {
        sent: Duration::from_millis(18),
        received: Duration::from_millis(18),
    }),
    rtt: Some(INTERVAL),
    srtt: INTERVAL,
    min_rtt: INTERVAL,
    noise: 0.0,
    share: None,
};

/// The sending rate, packets per second.
pub(super) fn packets_per_sec(controller: &dyn BurstController) -> f64 {
    bits_per_sec(controller) / PACKET_BITS
}

/// The sending rate, bit/s.
pub(super) fn bits_per_sec(controller: &dyn BurstController) -> f64 {
    controller.plan().expect("started").rate.as_bits_per_sec() as f64
}

/// The increase of the last decision, packets in the next burst.
pub(super) fn increase(controller: &dyn BurstController) -> f64 {
    controller.plan().expect("started").increase
}

/// Checks equality within a thousandth, relative or of 1.
pub(super) fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-3 * expected.abs().min(1.0),
        "{found}, not {expected}"
    );
}
