//! TCP Hybla: the rate of a flow with a long RTT grows as fast in seconds as that of a flow with a
//! short one.
//!
//! C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
//! International Journal of Satellite Communications and Networking 22(5), 2004.
//!
//! With `rho = RTT/RTT0`, at least 1, where RTT0 = 25 ms is the RTT of the reference connection:
//!
//! * slow start: `cwnd += 2^rho - 1` segments per ACK
//! * congestion avoidance: `cwnd += rho^2/cwnd` per ACK
//! * loss and timeout: as in Reno
//! * initial ssthresh: Hoe's estimate, the rate of the first ACKs times the RTT (J. Hoe, ACM
//!   SIGCOMM 1996)
//! * pacing: packets are spaced by RTT/cwnd
//!
//! **Physics.** Reno sends at cwnd/RTT and cwnd grows once per RTT, so its rate grows with 1/RTT^2:
//! over a satellite with 600 ms it takes 24^2 times as long as at 25 ms. To send at the same rate a
//! flow needs rho times the window, and to get there in the same time rho^2 times the growth per
//! round trip. The mean window is rho*1.22/sqrt(p), so the rate, 1.22/(RTT0*sqrt(p)), does not
//! depend on the RTT.
//!
//! **When it works.** Satellite links, and random losses on them.
//!
//! **Limits.** 2^rho - 1 per ACK suits connections with a known ssthresh. At 600 ms it is 16
//! million segments for the first ACK, the window that the reference connection would have after 24
//! round trips of slow start. Slow start is therefore Reno's until the estimate exists; then one
//! ACK raises the window to it. A wrong estimate gives a wrong window. Congestion avoidance probes
//! with rho^2 segments per round trip, 576 at 600 ms, and a smaller buffer overflows by the
//! difference.
//!
//! Units: windows are bytes, rho has none.
//!
//! **Departures, and choices where the source is silent.** The paper was not available. The
//! equations were checked against Linux's tcp_hybla.c and ns-3's TcpHybla, the list of parts
//! against a secondary source.
//! * RTT is the minimum RTT, as in ns-3. With the smoothed RTT the flow's own queue would raise
//!   rho, and rho the queue.
//! * Growth counts segments acknowledged, not ACKs, and at most two per ACK in slow start (RFC
//!   3465).
//! * The estimate is made at the fourth ACK, from the bytes and the time since the first. The
//!   spacing of a flight that left at once is that of the bottleneck. A sender that paces its first
//!   window measures its own pace; its estimate is low, and rho^2 must make up for it. ACKs that
//!   arrive at one instant, or while the window is not used, measure nothing.
//! * `linux=true` is Linux's tcp_hybla: growth for each ACK, so that with delayed ACKs it grows
//!   half as fast; rho from the lowest smoothed RTT, in steps of 1/8; no estimate of ssthresh and
//!   no pacing. Its initial window of rho segments is left to the transport. `estimate=false` with
//!   `RTT0=50` and `pacing=false` is ns-3's TcpHybla.
//! * The transport sets the initial window. It is not rho segments (Linux) or rho times the window:
//!   the first ACKs outgrow both.
//! * After a timeout cwnd is one segment, and one ACK may bring it back to ssthresh. Pacing
//!   prevents a burst.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::Ack;
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Growth, Look, Parameter, Setup, code,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const RTT0: Parameter = Parameter {
    name: "RTT0",
    domain: Domain::Number {
        default: 25.0,
        range: (1.0, 1_000.0),
    },
    meaning: "RTT of the reference connection, ms (ns-3: 50)",
};

const PACING: Parameter = Parameter {
    name: "pacing",
    domain: Domain::Switch(true),
    meaning: "space packets by RTT/cwnd",
};

const ESTIMATE: Parameter = Parameter {
    name: "estimate",
    domain: Domain::Switch(true),
    meaning: "initial ssthresh by Hoe's estimate; without it (ns-3, Linux) the first slow start \
              grows by 2^rho - 1 too",
};

const LINUX: Parameter = Parameter {
    name: "linux",
    domain: Domain::Switch(false),
    meaning: "as Linux's tcp_hybla: growth for each acknowledgment, rho from the lowest smoothed \
              RTT in steps of 1/8, neither estimate nor pacing",
};

/// The parameters, shared by all variants.
pub(crate) const PARAMETERS: &[Parameter] = &[RTT0, PACING];

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "hybla",
    code: code!("algorithms/loss/hybla.rs"),
    summary: "Reno whose rate grows on a satellite link as fast in seconds as on a path with 25 ms",
    citation: "C. Caini, R. Firrincieli, \"TCP Hybla: a TCP enhancement for heterogeneous \
               networks\", Int. J. Satellite Communications and Networking 22(5), 2004",
    parameters: &[RTT0, PACING, ESTIMATE, LINUX],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let linux = values.switch("linux");
            let rule = Hybla {
                estimates: values.switch("estimate") && !linux,
                linux,
                ..Hybla::new(values.number("RTT0"), values.switch("pacing") && !linux)
            };
            let growth = match linux {
                true => Growth::Acknowledgments,
                false => setup.growth,
            };
            let setup = Setup { growth, ..*setup };
            Box::new(WindowController::new(&setup, Aimd(rule)))
        },
    },
    kernel: Some("hybla"),
    look: Look::of(19, 4),
    ..Entry::BLANK
};

/// Number of ACKs after the first from which Hoe's estimate is made.
const TRAIN: u32 = 3;

/// The part that differs from Reno.
#[derive(Debug, Clone)]
pub(crate) struct Hybla {
    rtt0: Duration,
    pacing: bool,
    /// Hoe's estimate sets the initial ssthresh.
    estimates: bool,
    /// Linux's choices.
    linux: bool,
    /// The lowest smoothed RTT, for Linux's rho.
    lowest: Duration,
    /// RTT/RTT0, at least 1.
    rho: f64,
    srtt: Duration,
    /// The first ACKs; `None` before the first.
    train: Option<Train>,
}

/// The data for Hoe's estimate.
#[derive(Debug, Clone, Copy)]
struct Train {
    /// Arrival time of the first ACK.
    began: Time,
    /// Bytes acknowledged since, without those of the first ACK.
    acked: u64,
    /// Number of ACKs since.
    acks: u32,
}

impl Hybla {
    /// `rtt0` is RTT0 in ms, at least 1. With `pacing`, packets are spaced by RTT/cwnd.
    pub fn new(rtt0: f64, pacing: bool) -> Self {
        Self {
            rtt0: Duration::from_secs_f64(rtt0 / 1e3),
            pacing,
            estimates: true,
            linux: false,
            lowest: Duration::MAX,
            rho: 1.0,
            srtt: Duration::ZERO,
            train: None,
        }
    }

    /// Slow start to a known ssthresh: grows by `2^rho - 1` for each of `counted` bytes.
    pub fn leap(&self, window: &mut Window, counted: u64) {
        // Too large a power is infinite as a float, and the integer then saturates.
        let grow = (counted as f64 * (self.rho.exp2() - 1.0)) as u64;
        window.cwnd = window.cwnd.saturating_add(grow).min(window.ssthresh);
    }

    /// Hoe's estimate of the path's capacity, bytes; `None` until it exists.
    fn estimate(&mut self, ack: &Ack) -> Option<u64> {
        let Some(train) = &mut self.train else {
            self.train = Some(Train {
                began: ack.now,
                acked: 0,
                acks: 0,
            });
            return None;
        };
        train.acked = train.acked.saturating_add(ack.acked.get());
        train.acks = train.acks.saturating_add(1);
        let span = ack.now.since(train.began);
        if train.acks < TRAIN || span.is_zero() {
            return None;
        }
        let rate = Rate::over(Bytes::new(train.acked), span);
        Some(rate.bytes_in(ack.min_rtt).get())
    }
}

impl IncreaseDecrease for Hybla {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt;
        self.lowest = self.lowest.min(ack.srtt);
        let ratio = |rtt: Duration| rtt.as_secs_f64() / self.rtt0.as_secs_f64();
        self.rho = match self.linux {
            true => (8.0 * ratio(self.lowest)).floor() / 8.0,
            false => ratio(ack.min_rtt),
        }
        .max(1.0);
        if !self.estimates || !window.in_initial_slow_start() {
            return;
        }
        if !Window::may_grow(ack) {
            // The spacing of the ACKs is then that of the application.
            self.train = None;
        } else if let Some(capacity) = self.estimate(ack) {
            window.end_slow_start();
            window.ssthresh = window.ssthresh.max(capacity);
        }
    }

    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if self.estimates && window.in_initial_slow_start() {
            return window.slow_start(acked, SLOW_START_LIMIT);
        }
        let counted = window.limited(acked, SLOW_START_LIMIT);
        self.leap(window, counted);
        0
    }

    fn increase(&self, _: &Window) -> f64 {
        self.rho * self.rho
    }

    fn decrease(&mut self, _: &Window) -> f64 {
        RENO_DECREASE
    }

    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        if !self.pacing || self.srtt.is_zero() {
            return None;
        }
        Some(Rate::over(Bytes::new(window.cwnd), self.srtt)).filter(|rate| *rate > Rate::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller};
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, Path, loss, newreno, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn hybla(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "hybla".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    /// A controller in congestion avoidance with half of `segments` segments.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut controller = hybla(segments);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    fn ack(ms: u64, rtt: Duration) -> Ack {
        Ack {
            now: Time::from_nanos(ms * 1_000_000),
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            ..ACK
        }
    }

    #[test]
    fn a_round_trip_adds_rho_squared_segments() {
        // 25 ms or less: Reno. 100 ms: 16. 600 ms: 576.
        for (ms, added) in [(10, 1.0), (25, 1.0), (100, 16.0), (600, 576.0)] {
            let mut controller = avoiding(40_000);
            Path::new(Duration::from_millis(ms)).round(&mut *controller);
            let grown = segments(&*controller) - 20_000.0;
            // 576 of 20,000 segments reduce the growth over one round trip by half of 3 %.
            assert!((grown / added - 1.0).abs() < 0.02, "{ms} ms: {grown}");
        }
    }

    #[test]
    fn the_mean_window_is_rho_times_renos() {
        // RFC 9438 table 1, column "Reno": 38 at 1/1000, 120 at 1/10,000.
        for (ms, packets, expected) in [(25, 1_000, 38.0), (100, 1_000, 152.0), (50, 10_000, 240.0)]
        {
            let mut path = Path::new(Duration::from_millis(ms));
            let mean = path.mean_window(&mut *hybla(10), packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "{ms} ms: {mean}");
        }
    }

    #[test]
    fn slow_start_to_a_known_ssthresh_grows_by_two_to_the_rho() {
        let rtt = Duration::from_millis(100);
        let mut controller = hybla(400);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        // rho = 4: 15 segments for each segment.
        for expected in [16.0, 31.0, 46.0] {
            controller.on_ack(&ack(0, rtt));
            assert_eq!(segments(&*controller), expected);
        }
        for _ in 0..20 {
            controller.on_ack(&ack(0, rtt));
        }
        assert!(
            (200.0..201.0).contains(&segments(&*controller)),
            "it stops at ssthresh"
        );
    }

    #[test]
    fn no_rtt_is_long_enough_for_an_overflow() {
        for rtt in [
            Duration::from_millis(800),
            Duration::from_secs(3_000),
            Duration::MAX,
        ] {
            let mut controller = hybla(400);
            controller.on_timeout(&timeout(&*controller, Time::ZERO));
            controller.on_ack(&ack(0, rtt));
            assert_eq!(
                segments(&*controller),
                200.0,
                "one ACK raises it to ssthresh"
            );
            controller.on_ack(&ack(0, rtt));
            assert!(controller.cwnd() >= Bytes::new(200 * MSS));
        }
    }

    #[test]
    fn the_first_acks_determine_where_slow_start_ends() {
        // ACKs of one segment every 2 ms on a path with 600 ms: 500 kB/s, and 300 segments in
        // flight.
        let rtt = Duration::from_millis(600);
        let mut controller = hybla(10);
        for (i, expected) in [11.0, 12.0, 13.0].into_iter().enumerate() {
            controller.on_ack(&ack(600 + 2 * i as u64, rtt));
            assert_eq!(
                segments(&*controller),
                expected,
                "as Reno until ssthresh is known"
            );
            assert_eq!(controller.ssthresh(), None);
        }
        controller.on_ack(&ack(606, rtt));
        assert_eq!(controller.ssthresh(), Some(Bytes::new(300 * MSS)));
        assert_eq!(segments(&*controller), 300.0);
        assert_eq!(controller.phase(), "congestion avoidance");
    }

    #[test]
    fn acks_at_one_instant_measure_nothing() {
        let mut controller = hybla(10);
        for _ in 0..10 {
            controller.on_ack(&ack(600, Duration::from_millis(600)));
        }
        assert_eq!(segments(&*controller), 20.0);
        assert_eq!(controller.ssthresh(), None);
    }

    #[test]
    fn acks_spaced_by_the_application_measure_nothing() {
        let rtt = Duration::from_millis(600);
        let mut controller = hybla(10);
        for i in 0..10 {
            controller.on_ack(&Ack {
                cwnd_limited: i % 3 != 0,
                ..ack(600 + 100 * i, rtt)
            });
        }
        assert_eq!(controller.ssthresh(), None);
    }

    #[test]
    fn packets_are_spaced_by_rtt_over_cwnd() {
        let mut controller = hybla(10);
        assert_eq!(controller.pacing_rate(), None, "before an RTT is known");
        controller.on_ack(&ack(100, Duration::from_millis(100)));
        // 11 segments of 1000 bytes in 100 ms.
        assert_eq!(
            controller.pacing_rate(),
            Some(Rate::from_bytes_per_sec(110_000))
        );
        let spec: Spec = "hybla?pacing=false".parse().expect("valid");
        let mut bursty = spec.build(&setup(10)).expect("fed acknowledgments");
        bursty.on_ack(&ack(100, Duration::from_millis(100)));
        assert_eq!(bursty.pacing_rate(), None);
    }

    #[test]
    fn with_random_losses_on_a_satellite_link_it_outperforms_reno() {
        // 10 Mbit/s, 500 ms, one packet in 1000 lost: Reno's 38 segments are 0.6 Mbit/s. 20 times
        // that exceeds the link's 625 packets, which the flow fills almost completely.
        let run = |controller: Box<dyn Controller>| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 625);
            link.loss = 1e-3;
            link.add(controller, Duration::from_millis(500));
            link.run(Duration::from_secs(100));
            link.flows[0].rate_since(0, Duration::from_secs(100))
        };
        let (ours, reno) = (run(hybla(10)), run(Box::new(newreno(10))));
        assert!(reno.as_bits_per_sec() < 1_500_000, "{reno}");
        assert!(ours.as_bits_per_sec() > 7_000_000, "{ours}");
    }

    #[test]
    fn linux_grows_for_each_ack_and_without_an_estimate() {
        let rtt = Duration::from_millis(104);
        let stretch = |ms| Ack {
            acked: Bytes::new(2 * MSS),
            ..ack(ms, rtt)
        };
        let spec: Spec = "hybla?linux=true".parse().expect("valid");
        let mut controller = spec.build(&setup(10)).expect("fed acknowledgments");
        // rho = 104/25 = 4.16, in steps of 1/8: 4.125. Slow start: 2^4.125 - 1 = 16.448 segments
        // for an ACK of two.
        controller.on_ack(&stretch(104));
        assert!((segments(&*controller) - 26.448).abs() < 0.01);
        assert_eq!(controller.ssthresh(), None, "no estimate");
        assert_eq!(controller.pacing_rate(), None);
        // Congestion avoidance: rho^2 = 17.016 segments for as many ACKs as the window has
        // segments.
        let mut controller = spec.build(&setup(400)).expect("fed acknowledgments");
        controller.on_loss(&loss(&*controller, Time::ZERO));
        for i in 0..200 {
            controller.on_ack(&stretch(i));
        }
        let grown = segments(&*controller) - 200.0;
        assert!((grown - 17.0).abs() < 0.8, "{grown}");
    }
}
