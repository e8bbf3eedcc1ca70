//! TCP Hybla: a long path grows as fast in seconds as a short one.
//!
//! C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22(5), 2004.
//!
//! With `rho = RTT/RTT0`, at least 1, RTT0 = 25 ms the round-trip time of the connection that it wants to equal:
//!
//! * slow start: `cwnd += 2^rho - 1` segments per ACK
//! * congestion avoidance: `cwnd += rho^2/cwnd` per ACK
//! * loss and timeout: Reno's
//! * initial ssthresh: Hoe's estimate, rate of the first ACKs times RTT (J. Hoe, ACM SIGCOMM 1996)
//! * packets leave spaced by RTT/cwnd
//!
//! **The physics.** Reno's rate is cwnd/RTT and cwnd grows once per RTT, so that its rate grows with 1/RTT^2: over a
//! satellite of 600 ms it takes 24^2 times as long as at 25 ms. To send at the same rate it needs rho times the window,
//! and to get there in the same time rho^2 times the growth per round trip. Its mean window is rho*1.22/sqrt(p), so
//! that its rate, 1.22/(RTT0*sqrt(p)), does not depend on the RTT.
//!
//! **When.** Satellites, and random losses on them. **When not.** 2^rho - 1 per ACK is for connections whose ssthresh
//! is known: at 600 ms it is 16 million segments for the first ACK, the window that the reference connection would have
//! after 24 round trips of slow start. So slow start is Reno's until the estimate is made, and then one ACK brings the
//! window to it; where the estimate is wrong, so is the window. On its own link it probes with rho^2 segments a round
//! trip, 576 at 600 ms, and a queue shorter than that overflows by as much.
//!
//! Units: windows are bytes, rho has none.
//!
//! Where the source leaves room, or was not at hand (the equations were checked against Linux' tcp_hybla.c and ns-3's
//! TcpHybla, the list of its parts against a page about it; the paper itself could not be read):
//! * RTT is the least one, as in ns-3: with its own queue rho would grow, and with it the queue.
//! * growth counts segments acknowledged, not ACKs, at most two per ACK in slow start (RFC 3465).
//! * the estimate is made at the fourth ACK, from the bytes and the time since the first, and the spacing of a flight
//!   that left at once is the bottleneck's. A sender that paces its first window measures its own pace; its estimate is
//!   low, and rho^2 must do the rest. Acknowledgments that come at one instant, or while the window is not used,
//!   measure nothing.
//! * the initial window is the transport's, not rho segments (Linux) or rho times it: the first ACKs outgrow both.
//! * after a timeout cwnd is one segment, and one ACK may bring it back to ssthresh; the spacing keeps that from being
//!   a burst.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What can be set of it, under whatever name it runs.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "RTT0",
        default: Value::Number(25.0),
        range: (1.0, 1_000.0),
        meaning: "round-trip time of the connection it wants to equal, ms",
    },
    Parameter {
        name: "pacing",
        default: Value::Switch(true),
        range: (0.0, 0.0),
        meaning: "space packets by RTT/cwnd",
    },
];

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "hybla",
    code: code!("algorithms/loss/hybla.rs"),
    summary: "Reno whose window grows on a satellite as fast in seconds as on a path of 25 ms",
    citation: "C. Caini, R. Firrincieli, \"TCP Hybla: a TCP enhancement for heterogeneous networks\", Int. J. Satellite \
               Communications and Networking 22(5), 2004",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: PARAMETERS,
    build: |setup, values| {
        let rule = Hybla::new(values.number("RTT0"), values.switch("pacing"));
        Box::new(WindowController::new(setup, Aimd(rule)))
    },
};

/// ACKs from which Hoe's estimate is made, besides the first.
const TRAIN: u32 = 3;

/// What of it is not Reno's.
#[derive(Debug, Clone)]
pub(crate) struct Hybla {
    rtt0: Duration,
    pacing: bool,
    /// RTT/RTT0, at least 1.
    rho: f64,
    srtt: Duration,
    /// The first ACKs, once there is one.
    train: Option<Train>,
}

/// What Hoe's estimate is made from.
#[derive(Debug, Clone, Copy)]
struct Train {
    /// When the first ACK came.
    began: Time,
    /// Bytes acknowledged since, without the first ACK's.
    acked: u64,
    /// ACKs since.
    acks: u32,
}

impl Hybla {
    /// `rtt0` is RTT0 in ms, at least 1; with `pacing` packets leave spaced by RTT/cwnd.
    pub fn new(rtt0: f64, pacing: bool) -> Self {
        Self {
            rtt0: Duration::from_secs_f64(rtt0 / 1e3),
            pacing,
            rho: 1.0,
            srtt: Duration::ZERO,
            train: None,
        }
    }

    /// Slow start to a known ssthresh: `2^rho - 1` for each of so many bytes that count.
    pub fn leap(&self, window: &mut Window, counted: u64) {
        // A power too large for a float is infinite, and the integer then saturates.
        let grow = (counted as f64 * (self.rho.exp2() - 1.0)) as u64;
        window.cwnd = window.cwnd.saturating_add(grow).min(window.ssthresh);
    }

    /// Hoe's estimate of what the path holds, bytes, once there is one.
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
        self.rho = (ack.min_rtt.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0);
        if !window.in_initial_slow_start() {
            return;
        }
        if !Window::may_grow(ack) {
            // The spacing is then the application's.
            self.train = None;
        } else if let Some(capacity) = self.estimate(ack) {
            window.end_slow_start();
            window.ssthresh = window.ssthresh.max(capacity);
        }
    }

    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if window.in_initial_slow_start() {
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
        let spec: Spec = "hybla".parse().expect("in the table");
        spec.build(&setup(segments))
    }

    /// In congestion avoidance with half of these segments.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut law = hybla(segments);
        law.on_loss(&loss(&*law, Time::ZERO));
        law
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
            let mut law = avoiding(40_000);
            Path::new(Duration::from_millis(ms)).round(&mut *law);
            let grown = segments(&*law) - 20_000.0;
            // 576 of 20,000 slow the growth of one round trip by half of 3 %.
            assert!((grown / added - 1.0).abs() < 0.02, "{ms} ms: {grown}");
        }
    }

    #[test]
    fn its_mean_window_is_rho_times_renos_so_that_its_rate_does_not_depend_on_the_rtt() {
        // RFC 9438 table 1, column "Reno": 38 at 1/1000, 120 at 1/10,000.
        for (ms, packets, expected) in [(25, 1_000, 38.0), (100, 1_000, 152.0), (50, 10_000, 240.0)]
        {
            let mut path = Path::new(Duration::from_millis(ms));
            let mean = path.mean_window(&mut *hybla(10), packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "{ms} ms: {mean}");
        }
    }

    #[test]
    fn slow_start_to_a_known_threshold_grows_by_two_to_the_rho_less_one_per_ack() {
        let rtt = Duration::from_millis(100);
        let mut law = hybla(400);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        // rho = 4: 15 segments for each segment.
        for expected in [16.0, 31.0, 46.0] {
            law.on_ack(&ack(0, rtt));
            assert_eq!(segments(&*law), expected);
        }
        for _ in 0..20 {
            law.on_ack(&ack(0, rtt));
        }
        assert!(
            (200.0..201.0).contains(&segments(&*law)),
            "it stops at ssthresh"
        );
    }

    #[test]
    fn a_satellite_of_any_length_overflows_nothing() {
        for rtt in [
            Duration::from_millis(800),
            Duration::from_secs(3_000),
            Duration::MAX,
        ] {
            let mut law = hybla(400);
            law.on_timeout(&timeout(&*law, Time::ZERO));
            law.on_ack(&ack(0, rtt));
            assert_eq!(segments(&*law), 200.0, "one ACK brings it to ssthresh");
            law.on_ack(&ack(0, rtt));
            assert!(law.cwnd() >= Bytes::new(200 * MSS));
        }
    }

    #[test]
    fn the_first_acks_say_where_slow_start_ends() {
        // ACKs of a segment every 2 ms on a path of 600 ms: 500 kB/s, of which the path holds 300 segments.
        let rtt = Duration::from_millis(600);
        let mut law = hybla(10);
        for (i, expected) in [11.0, 12.0, 13.0].into_iter().enumerate() {
            law.on_ack(&ack(600 + 2 * i as u64, rtt));
            assert_eq!(segments(&*law), expected, "as Reno until it is known");
            assert_eq!(law.ssthresh(), None);
        }
        law.on_ack(&ack(606, rtt));
        assert_eq!(law.ssthresh(), Some(Bytes::new(300 * MSS)));
        assert_eq!(segments(&*law), 300.0);
        assert_eq!(law.phase(), "congestion avoidance");
    }

    #[test]
    fn acks_that_come_at_one_instant_measure_nothing() {
        let mut law = hybla(10);
        for _ in 0..10 {
            law.on_ack(&ack(600, Duration::from_millis(600)));
        }
        assert_eq!(segments(&*law), 20.0);
        assert_eq!(law.ssthresh(), None);
    }

    #[test]
    fn what_an_application_spaced_says_nothing_of_the_path() {
        let rtt = Duration::from_millis(600);
        let mut law = hybla(10);
        for i in 0..10 {
            law.on_ack(&Ack {
                cwnd_limited: i % 3 != 0,
                ..ack(600 + 100 * i, rtt)
            });
        }
        assert_eq!(law.ssthresh(), None);
    }

    #[test]
    fn packets_are_spaced_by_rtt_over_cwnd() {
        let mut law = hybla(10);
        assert_eq!(law.pacing_rate(), None, "before an RTT is known");
        law.on_ack(&ack(100, Duration::from_millis(100)));
        // 11 segments of 1000 bytes in 100 ms.
        assert_eq!(law.pacing_rate(), Some(Rate::from_bytes_per_sec(110_000)));
        let spec: Spec = "hybla?pacing=false".parse().expect("valid");
        let mut bursty = spec.build(&setup(10));
        bursty.on_ack(&ack(100, Duration::from_millis(100)));
        assert_eq!(bursty.pacing_rate(), None);
    }

    #[test]
    fn on_a_satellite_with_random_losses_it_sends_several_times_what_reno_does() {
        // 10 Mbit/s, 500 ms, one packet in 1000 lost: Reno's 38 segments are 0.6 Mbit/s; 20 times that is more than
        // the link, 625 packets, which fills with little room to lose in.
        let run = |law: Box<dyn Controller>| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 625);
            link.loss = 1e-3;
            link.add(law, Duration::from_millis(500));
            link.run(Duration::from_secs(100));
            link.flows[0].rate_since(0, Duration::from_secs(100))
        };
        let (ours, reno) = (run(hybla(10)), run(Box::new(newreno(10))));
        assert!(reno.as_bits_per_sec() < 1_500_000, "{reno}");
        assert!(ours.as_bits_per_sec() > 7_000_000, "{ours}");
    }
}
