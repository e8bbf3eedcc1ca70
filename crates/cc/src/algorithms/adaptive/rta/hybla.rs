//! TCP-RTA's side for satellites: Hybla that keeps two thirds.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion Control Strategy in TCP",
//! University of California, Santa Cruz, 2022: Algorithm 2 lines 6 to 12, Algorithm 3 lines 2 to 8 and 30 to 35,
//! enhancement 3. With `rho = RTT/RTT0`, at least 1, RTT0 = 25 ms:
//!
//! * slow start: `cwnd = min(cwnd + (2^rho - 1)*MSS, ssthresh)` per ACK
//! * congestion avoidance: `rho^2/W` segments for each segment acknowledged, parts of which add up
//! * loss: `ssthresh = 2/3 * bytes in flight`, `cwnd = ssthresh`
//!
//! **The physics**, and when it works: `hybla.rs`, whose code it shares. At 800 ms rho is 32, and one ACK of slow start brings any window
//! to ssthresh. Its place is behind a hand-over, which knows what the path holds; there ssthresh is known.
//!
//! Units: bytes. Where it departs, or the source is silent: without a threshold slow start waits for Hoe's estimate, as Hybla
//! does by its own authors; the listing has no threshold then, and its first ACK would open the window without bound. The counter
//! is of bytes, not of whole segments. A timeout leaves two thirds as threshold as well (ns-3 asks one function for both).
//! Packets are spaced by RTT/cwnd as Hybla's are, which the listing does not say and a window that opens at once needs.

use crate::algorithms::loss::hybla;
use crate::algorithms::loss::hybla::Hybla;
use crate::building_blocks::aimd::{Aimd, IncreaseDecrease};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};
use whimbrel_units::Rate;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-hybla",
    code: code!(
        "algorithms/adaptive/rta/hybla.rs",
        "algorithms/loss/hybla.rs"
    ),
    summary: "TCP-RTA's Hybla alone: a loss leaves two thirds",
    citation: super::CITATION,
    family: Family::Adaptive,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: hybla::PARAMETERS,
    build: |setup, values| {
        let hybla = Hybla::new(values.number("RTT0"), values.switch("pacing"));
        Box::new(WindowController::new(setup, Aimd(RtaHybla(hybla))))
    },
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

    /// With ten segments on a path that holds so many bytes.
    fn known(bytes: u64) -> Box<dyn Controller> {
        let spec: Spec = "rta-hybla".parse().expect("in the table");
        let ssthresh = Some(Bytes::new(bytes));
        spec.build(&Setup {
            ssthresh,
            ..setup(10)
        })
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
    fn slow_start_adds_two_to_the_rho_less_one_segments_per_ack_however_much_it_acknowledges() {
        // 100 ms: rho = 4.
        let mut law = known(1_000 * MSS);
        law.on_ack(&Ack {
            acked: Bytes::new(2 * MSS),
            ..ack(Duration::from_millis(100))
        });
        assert_eq!((segments(&*law), law.phase()), (25.0, "slow start (Hybla)"));
    }

    #[test]
    fn one_ack_of_a_satellite_brings_any_window_to_its_threshold_and_overflows_nothing() {
        // rho of 32 (800 ms), 64 (1.6 s) and a million (25,000 s); the greatest threshold there is but one.
        for rtt in [800, 1_600, 25_000_000].map(Duration::from_millis) {
            for threshold in [500_000, 1 << 40] {
                let mut law = known(threshold);
                law.on_ack(&ack(rtt));
                assert_eq!(law.cwnd(), Bytes::new(threshold), "{rtt}");
                assert_eq!(law.phase(), "congestion avoidance (Hybla)");
            }
            let mut law = known(u64::MAX - 1);
            for _ in 0..3 {
                law.on_ack(&ack(rtt));
                law.on_timeout(&timeout(&*law, Time::ZERO));
                assert_eq!(law.cwnd(), Bytes::new(MSS));
            }
        }
        // 2^32 - 1 segments of 1000 bytes, and the ten it began with.
        let mut law = known(u64::MAX - 1);
        law.on_ack(&ack(Duration::from_millis(800)));
        assert_eq!(law.cwnd(), Bytes::new(4_294_967_305_000));
    }

    #[test]
    fn a_round_trip_adds_rho_squared_segments_and_a_loss_leaves_two_thirds() {
        let mut law = built("rta-hybla", 30_000);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert!((segments(&*law) - 20_000.0).abs() < 0.01);
        Path::new(Duration::from_millis(600)).round(&mut *law);
        // rho = 24: 576, less what the growth of the round trip itself takes, half of 576/20,000 of it.
        let grown = segments(&*law) - 20_000.0;
        assert!((grown - 568.0).abs() < 2.0, "{grown}");
    }
}
