//! TCP-RTA's controller for satellite paths: Hybla that keeps two thirds.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion
//! Control Strategy in TCP", University of California, Santa Cruz, 2022: Algorithm 2 lines 6 to 12,
//! Algorithm 3 lines 2 to 8 and 30 to 35, enhancement 3. With `rho = RTT/RTT0`, at least 1, RTT0 =
//! 25 ms:
//!
//! * slow start: `cwnd = min(cwnd + (2^rho - 1)*MSS, ssthresh)` per ACK
//! * congestion avoidance: `rho^2/W` segments for each segment acknowledged, fractions carried over
//! * loss: `ssthresh = 2/3 * bytes in flight`, `cwnd = ssthresh`
//!
//! **Physics**, and when it works: see `algorithms/loss/hybla.rs`, whose code it shares. At 800 ms
//! rho is 32, and one ACK of slow start raises any window to ssthresh. It is meant to be used after
//! a handover, where the capacity, and thus ssthresh, is known.
//!
//! Units: bytes.
//!
//! **Departures, and choices where the source is silent.** Without ssthresh, slow start waits for
//! Hoe's estimate, as in Hybla by its own authors; the listing has no ssthresh then, and its first
//! ACK would open the window without bound. The counter is in bytes, not in whole segments. A
//! timeout keeps two thirds as ssthresh as well (ns-3 uses one function for both). Packets are
//! spaced by RTT/cwnd as in Hybla; the listing does not mention this, but a window that opens at
//! once needs it.

use crate::algorithms::loss::hybla;
use crate::algorithms::loss::hybla::Hybla;
use crate::building_blocks::aimd::{Aimd, IncreaseDecrease};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};
use whimbrel_units::Rate;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-hybla",
    code: code!(
        "algorithms/adaptive/rta/hybla.rs",
        "algorithms/loss/hybla.rs"
    ),
    summary: "TCP-RTA's Hybla alone: a loss leaves two thirds",
    citation: super::CITATION,
    parameters: hybla::PARAMETERS,
    feed: Feed::Acknowledgments {
        family: Family::Adaptive,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let hybla = Hybla::new(values.number("RTT0"), values.switch("pacing"));
            Box::new(WindowController::new(setup, Aimd(RtaHybla(hybla))))
        },
    },
    look: Look::of(28, 10),
    ..Entry::BLANK
};

#[derive(Debug, Clone)]
struct RtaHybla(Hybla);

impl IncreaseDecrease for RtaHybla {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
    }

    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if window.in_initial_slow_start() {
            return self.0.slow_start(window, acked);
        }
        self.0.leap(window, window.mss);
        0
    }

    fn increase(&self, window: &Window) -> f64 {
        self.0.increase(window)
    }

    fn decrease(&mut self, _: &Window) -> f64 {
        1.0 / 3.0
    }

    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        self.0.pacing_rate(window)
    }

    fn slow_start_phase(&self, _: &Window) -> &'static str {
        "slow start (Hybla)"
    }

    fn phase(&self, _: &Window) -> &'static str {
        "congestion avoidance (Hybla)"
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller};
    use crate::registry::Spec;
    use crate::registry::entry::Setup;
    use crate::testing::{ACK, MSS, Path, built, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    /// A controller with ten segments on a path that holds `bytes` bytes.
    fn known(bytes: u64) -> Box<dyn Controller> {
        let spec: Spec = "rta-hybla".parse().expect("a known controller");
        let ssthresh = Some(Bytes::new(bytes));
        let setup = Setup {
            ssthresh,
            ..setup(10)
        };
        spec.build(&setup).expect("fed acknowledgments")
    }

    fn ack(rtt: Duration) -> Ack {
        Ack {
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            ..ACK
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_minus_one_segments_per_ack() {
        // 100 ms: rho = 4.
        let mut controller = known(1_000 * MSS);
        controller.on_ack(&Ack {
            acked: Bytes::new(2 * MSS),
            ..ack(Duration::from_millis(100))
        });
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (25.0, "slow start (Hybla)")
        );
    }

    #[test]
    fn one_ack_on_a_satellite_path_reaches_any_threshold() {
        // rho of 32 (800 ms), 64 (1.6 s) and a million (25,000 s), with the maximum threshold minus
        // one.
        for rtt in [800, 1_600, 25_000_000].map(Duration::from_millis) {
            for threshold in [500_000, 1 << 40] {
                let mut controller = known(threshold);
                controller.on_ack(&ack(rtt));
                assert_eq!(controller.cwnd(), Bytes::new(threshold), "{rtt}");
                assert_eq!(controller.phase(), "congestion avoidance (Hybla)");
            }
            let mut controller = known(u64::MAX - 1);
            for _ in 0..3 {
                controller.on_ack(&ack(rtt));
                controller.on_timeout(&timeout(&*controller, Time::ZERO));
                assert_eq!(controller.cwnd(), Bytes::new(MSS));
            }
        }
        // 2^32 - 1 segments of 1000 bytes, and the initial ten.
        let mut controller = known(u64::MAX - 1);
        controller.on_ack(&ack(Duration::from_millis(800)));
        assert_eq!(controller.cwnd(), Bytes::new(4_294_967_305_000));
    }

    #[test]
    fn growth_is_rho_squared_and_a_loss_leaves_two_thirds() {
        let mut controller = built("rta-hybla", 30_000);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert!((segments(&*controller) - 20_000.0).abs() < 0.01);
        Path::new(Duration::from_millis(600)).round(&mut *controller);
        // rho = 24: 576, reduced by half of 576/20,000 because the window grows during the round
        // trip.
        let grown = segments(&*controller) - 20_000.0;
        assert!((grown - 568.0).abs() < 2.0, "{grown}");
    }
}
