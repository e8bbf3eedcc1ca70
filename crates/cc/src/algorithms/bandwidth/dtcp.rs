//! D-TCP: grows towards the learned bandwidth, and gives up only what exceeds it.
//!
//! M. R. Kanagarathinam, S. Singh, I. Sandeep, A. Roy, N. Saxena, "D-TCP: Dynamic TCP Congestion
//! Control Algorithm for Next Generation Mobile Networks", IEEE CCNC 2018. Of this paper and its
//! successor ("NexGen D-TCP", IEEE Access 8, 2020) only the abstracts were available, and no
//! implementation. The abstract states: the available bandwidth is learned; a congestion control
//! factor N is derived from it; N makes adaptive increase and adaptive decrease of the window
//! (AIAD); on congestion the window does not fall multiplicatively or steeply, is then taken back
//! to where it was by the learned bandwidth, and stays there longer than with a legacy algorithm.
//!
//! **The equations are ours**, the simplest that do what the abstract states:
//!
//! * B: the maximum delivery rate of the last `rounds` round trips
//! * `N = (B*RTT_min - cwnd)`, segments: the unused capacity of the path; below 0: the packets in
//!   the queue
//! * growth: `cwnd += max(1, N)/cwnd` per ACK: the gap closes to 1/e in a round trip, and at B
//!   growth is Reno's
//! * loss: `cwnd -= max(1, min(-N, cwnd/2))`: down to the path's capacity, at most by half, and by
//!   one segment if the window is already below the capacity
//! * timeout: `ssthresh = max(B*RTT_min, half of the flight)`; slow start is Reno's
//!
//! Units: windows in bytes, N in segments, B in bits per second.
//!
//! **Physics.** The data delivered per minimum round trip fills the path without a queue. A larger
//! window only adds to the queue; a loss then drains the queue and keeps the link busy. A loss
//! below the capacity is no overflow caused by this flow.
//!
//! **When it works.** Random losses on a path that was filled within the last `rounds` round trips;
//! one flow or few.
//!
//! **Limits.**
//! * **The estimate confirms itself.** B is what the window allowed. If the window is cut before
//!   the path was ever full (a random loss in slow start), B takes the reduced window for the
//!   capacity, and growth is one segment per round trip.
//! * **Beside other flows** it takes what they leave and gives back only its own queue: AIAD does
//!   not converge to equal shares.
//! * **Bursts of ACKs** raise B above the link's rate. The window then ends where the queue
//!   overflows, and a loss costs one segment.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::windowed_max::WindowedMax;
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::{Duration, Rate};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "d-tcp",
    code: code!("algorithms/bandwidth/dtcp.rs"),
    summary: "Grows towards the learned bandwidth; a loss reduces the window to it, not below \
              (equations ours, after the abstract)",
    citation: "M. R. Kanagarathinam et al., \"D-TCP: Dynamic TCP Congestion Control Algorithm for \
               Next Generation Mobile Networks\", IEEE CCNC 2018",
    parameters: &[Parameter {
        name: "rounds",
        domain: Domain::Number {
            default: 10.0,
            range: (1.0, 1e6),
        },
        meaning: "round trips over which the maximum delivery rate is taken",
    }],
    feed: Feed::Acknowledgments {
        family: Family::Bandwidth,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let dtcp = Dtcp {
                memory: values.number("rounds") as u64,
                rounds: 0,
                bandwidth: WindowedMax::default(),
                min_rtt: Duration::ZERO,
            };
            Box::new(WindowController::new(setup, dtcp))
        },
    },
    look: Look::of(36, 4),
    ..Entry::BLANK
};

/// The rule of D-TCP.
#[derive(Debug, Clone)]
struct Dtcp {
    /// Window of the maximum filter, round trips.
    memory: u64,
    /// Round trips so far.
    rounds: u64,
    /// B, bits per second.
    bandwidth: WindowedMax,
    min_rtt: Duration,
}

impl Dtcp {
    fn measure(&mut self, ack: &Ack) {
        self.rounds = self.rounds.saturating_add(u64::from(ack.round_start));
        self.min_rtt = ack.min_rtt;
        if let Some(rate) = ack.delivery_rate.map(Rate::as_bits_per_sec) {
            // The rate of an application-limited flow is only a lower bound of the path's rate.
            if !ack.app_limited || rate > self.bandwidth.get() {
                self.bandwidth.update(self.memory, self.rounds, rate);
            }
        }
    }

    /// The path's capacity, bytes; 0 before the first measurement.
    fn capacity(&self) -> u64 {
        Rate::from_bits_per_sec(self.bandwidth.get())
            .bytes_in(self.min_rtt)
            .get()
    }
}

impl Rule for Dtcp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        let acked = slow_start(window, ack);
        let gap = self.capacity().saturating_sub(window.cwnd);
        window.grow(acked, (gap as f64 / window.mss as f64).max(1.0));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let flight = window.flight(loss.in_flight);
        // Before the first measurement all of it may exceed the capacity.
        let beyond = flight.saturating_sub(self.capacity());
        window.reduce_to(flight - beyond.min(flight / 2).max(window.mss.min(flight)));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        let held = self.capacity().min(window.cwnd);
        window.collapse(Some(held.max(half(window, timeout.in_flight))));
    }

    fn phase(&self, _: &Window) -> &'static str {
        "adaptive increase"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Time};

    fn built(segments: u64) -> Box<dyn Controller> {
        "d-tcp"
            .parse::<Spec>()
            .expect("valid")
            .build(&setup(segments))
            .expect("fed acknowledgments")
    }

    /// A controller that has measured a capacity of `holds` segments in its 100 ms.
    fn learned(segments: u64, holds: u64) -> Box<dyn Controller> {
        let mut controller = built(segments);
        controller.on_ack(&Ack {
            delivery_rate: Some(Rate::from_bytes_per_sec(holds * MSS * 10)),
            in_recovery: true,
            ..ACK
        });
        controller
    }

    fn after_loss(segments_before: u64, holds: u64) -> f64 {
        let mut controller = learned(segments_before, holds);
        assert_eq!(
            controller.on_loss(&loss(&*controller, Time::ZERO)),
            LossResponse::REDUCED
        );
        segments(&*controller)
    }

    #[test]
    fn a_loss_costs_the_excess_within_one_segment_and_a_half() {
        assert_eq!(after_loss(130, 100), 100.0);
        assert_eq!(after_loss(300, 100), 150.0);
        assert_eq!(after_loss(80, 100), 79.0);
        assert_eq!(after_loss(100, 100), 99.0);
        assert_eq!(after_loss(40, 0), 20.0, "nothing measured: Reno");
    }

    #[test]
    fn the_gap_to_the_capacity_closes_to_1_over_e_per_round_trip() {
        let mut controller = learned(100, 200);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 99.0);
        Path::new(Duration::from_millis(100)).round(&mut *controller);
        // 99 ACKs while the window grows from 99 to about 150, which is less than a round of it.
        // From a gap of 101, dw/da = (200 - w)/w gives 200*ln(101/(200 - w)) - (w - 99) = 99, w =
        // 154.
        assert!(
            (152.0..156.0).contains(&segments(&*controller)),
            "{}",
            segments(&*controller)
        );
    }

    #[test]
    fn at_the_capacity_it_grows_as_reno() {
        let mut controller = learned(40, 10);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(100));
        path.rounds_for(&mut *controller, path.rtt * 5);
        assert!(
            (24.0..=25.0).contains(&segments(&*controller)),
            "{}",
            segments(&*controller)
        );
    }

    #[test]
    fn a_measurement_is_forgotten_after_ten_round_trips() {
        for (rounds, expected) in [(10, 99.0), (11, 80.0)] {
            let mut controller = learned(100, 100);
            for _ in 0..rounds {
                controller.on_ack(&Ack {
                    delivery_rate: Some(Rate::from_bytes_per_sec(80 * MSS * 10)),
                    round_start: true,
                    in_recovery: true,
                    ..ACK
                });
            }
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), expected, "{rounds}");
        }
    }

    #[test]
    fn application_limited_rates_count_only_if_they_are_higher() {
        for (holds, expected) in [(50, 99.0), (300, 99.0)] {
            let mut controller = learned(100, 100);
            for round_start in [true; 3] {
                controller.on_ack(&Ack {
                    delivery_rate: Some(Rate::from_bytes_per_sec(holds * MSS * 10)),
                    app_limited: true,
                    round_start,
                    in_recovery: true,
                    ..ACK
                });
            }
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), expected, "{holds}");
        }
    }

    #[test]
    fn after_a_timeout_slow_start_leads_to_the_capacity() {
        let mut controller = learned(100, 80);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(80 * MSS)));
    }

    #[test]
    fn random_loss_on_a_path_once_filled_keeps_the_link_busy() {
        // 8 Mbit/s, 100 ms: 100 packets. Reno's mean window at 1 % is 12.
        let rate = Rate::from_bits_per_sec(8_000_000);
        let mut path = Bottleneck::new(rate, 50);
        path.add(built(10), Duration::from_millis(100));
        path.run(Duration::from_secs(20));
        path.loss = 0.01;
        let (before, span) = (path.flows[0].delivered, Duration::from_secs(60));
        let (_, max) = path.run(span);
        let got = path.flows[0].rate_since(before, span).as_bits_per_sec();
        assert!(got > 7_000_000, "{got}");
        assert!(max <= 51);
    }
}
