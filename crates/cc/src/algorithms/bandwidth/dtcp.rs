//! D-TCP: grows towards the bandwidth it has learned, and gives up no more than what is beyond it.
//!
//! M. R. Kanagarathinam, S. Singh, I. Sandeep, A. Roy, N. Saxena, "D-TCP: Dynamic TCP Congestion Control Algorithm for Next
//! Generation Mobile Networks", IEEE CCNC 2018. Neither it nor its successor ("NexGen D-TCP", IEEE Access 8, 2020) was to
//! be had beyond the abstract, nor any implementation. The abstract says: the available bandwidth is learned; a congestion
//! control factor N derived from it; N makes adaptive increase and adaptive decrease of the window (AIAD); on congestion the
//! window does not fall multiplicatively or steeply, is then taken back to where it was by the learned bandwidth, and stays
//! there longer than a legacy law's would.
//!
//! **The equations are ours**, the plainest that do what the abstract says:
//!
//! * B: the greatest delivery rate of the last `rounds` round trips
//! * `N = (B*RTT_min - cwnd)`, segments: how much more than the window the path itself holds; below 0: how much waits
//! * growth: `cwnd += max(1, N)/cwnd` for each ACK: the gap closes to 1/e in a round trip, and at B the window is Reno's
//! * loss: `cwnd -= max(1, min(-N, cwnd/2))`: down to what the path holds, by no more than Reno; by one segment if it is
//!   below that already
//! * timeout: `ssthresh = max(B*RTT_min, half of the flight)`; slow start is Reno's
//!
//! Units: windows in bytes, N in segments, B in bits per second.
//!
//! **The physics.** What a flow gets delivered per minimum round trip fills the path without a queue. A window beyond it only
//! queues; a loss there drains the queue and leaves the link busy. A loss below it is no overflow of this flow's making.
//!
//! **When it works.** Random losses on a path that was filled within the last `rounds` round trips; one flow or few.
//!
//! **When not.**
//! * **The estimate confirms itself.** B is what the window let through. A window cut before the path was ever full (a random
//!   loss in slow start) is what B then says the path holds, and growth is one segment a round trip.
//! * **Beside other flows** it takes what they leave, and gives back its queue only: AIAD does not converge to equal shares.
//! * **Acknowledgments that come in bursts** raise B above the link's rate; the window then ends where the queue overflows,
//!   and a loss costs one segment.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::windowed_max::WindowedMax;
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::{Duration, Rate};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "d-tcp",
    code: code!("algorithms/bandwidth/dtcp.rs"),
    summary: "Grows towards the bandwidth it has learned and falls back to it, not below",
    citation: "M. R. Kanagarathinam et al., \"D-TCP: Dynamic TCP Congestion Control Algorithm for Next Generation Mobile \
               Networks\", IEEE CCNC 2018",
    family: Family::Bandwidth,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[Parameter {
        name: "rounds",
        default: Value::Number(10.0),
        range: (1.0, 1e6),
        meaning: "round trips over which the greatest delivery rate counts",
    }],
    build: |setup, values| {
        let dtcp = Dtcp {
            memory: values.number("rounds") as u64,
            rounds: 0,
            bandwidth: WindowedMax::default(),
            min_rtt: Duration::ZERO,
        };
        Box::new(WindowController::new(setup, dtcp))
    },
};

/// D-TCP's rule.
#[derive(Debug, Clone)]
struct Dtcp {
    /// Round trips.
    memory: u64,
    /// Round trips so far.
    rounds: u64,
    /// B, bits per second.
    bandwidth: WindowedMax,
    min_rtt: Duration,
}

impl Dtcp {
    fn learn(&mut self, ack: &Ack) {
        self.rounds = self.rounds.saturating_add(u64::from(ack.round_start));
        self.min_rtt = ack.min_rtt;
        if let Some(rate) = ack.delivery_rate.map(Rate::as_bits_per_sec) {
            // What the application did not ask for says nothing of what the path would have passed.
            if !ack.app_limited || rate > self.bandwidth.get() {
                self.bandwidth.update(self.memory, self.rounds, rate);
            }
        }
    }

    /// What the path holds, bytes; 0 before anything was learned.
    fn path(&self) -> u64 {
        Rate::from_bits_per_sec(self.bandwidth.get())
            .bytes_in(self.min_rtt)
            .get()
    }
}

impl Rule for Dtcp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.learn(ack);
        let acked = slow_start(window, ack);
        let gap = self.path().saturating_sub(window.cwnd);
        window.grow(acked, (gap as f64 / window.mss as f64).max(1.0));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let flight = window.flight(loss.in_flight);
        // Nothing learned: all of it may be beyond the path.
        let beyond = flight.saturating_sub(self.path());
        window.reduce_to(flight - beyond.min(flight / 2).max(window.mss.min(flight)));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        let held = self.path().min(window.cwnd);
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
    }

    /// Has learned that the path holds so many segments in its 100 ms.
    fn learned(segments: u64, holds: u64) -> Box<dyn Controller> {
        let mut law = built(segments);
        law.on_ack(&Ack {
            delivery_rate: Some(Rate::from_bytes_per_sec(holds * MSS * 10)),
            in_recovery: true,
            ..ACK
        });
        law
    }

    fn after_loss(segments_before: u64, holds: u64) -> f64 {
        let mut law = learned(segments_before, holds);
        assert_eq!(law.on_loss(&loss(&*law, Time::ZERO)), LossResponse::REDUCED);
        segments(&*law)
    }

    #[test]
    fn a_loss_costs_what_is_beyond_the_path_one_segment_at_least_and_half_at_most() {
        assert_eq!(after_loss(130, 100), 100.0);
        assert_eq!(after_loss(300, 100), 150.0);
        assert_eq!(after_loss(80, 100), 79.0);
        assert_eq!(after_loss(100, 100), 99.0);
        assert_eq!(after_loss(40, 0), 20.0, "nothing learned: Reno");
    }

    #[test]
    fn the_gap_to_the_path_closes_to_1_over_e_in_a_round_trip() {
        let mut law = learned(100, 200);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 99.0);
        Path::new(Duration::from_millis(100)).round(&mut *law);
        // 99 ACKs while the window grows from 99 to some 150: fewer than a round of it. From 101 missing,
        // dw/da = (200 - w)/w gives 200*ln(101/(200 - w)) - (w - 99) = 99, w = 154.
        assert!(
            (152.0..156.0).contains(&segments(&*law)),
            "{}",
            segments(&*law)
        );
    }

    #[test]
    fn at_the_path_it_grows_as_reno() {
        let mut law = learned(40, 10);
        law.on_loss(&loss(&*law, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(100));
        path.rounds_for(&mut *law, path.rtt * 5);
        assert!(
            (24.0..=25.0).contains(&segments(&*law)),
            "{}",
            segments(&*law)
        );
    }

    #[test]
    fn what_was_learned_is_forgotten_after_ten_round_trips() {
        for (rounds, expected) in [(10, 99.0), (11, 80.0)] {
            let mut law = learned(100, 100);
            for _ in 0..rounds {
                law.on_ack(&Ack {
                    delivery_rate: Some(Rate::from_bytes_per_sec(80 * MSS * 10)),
                    round_start: true,
                    in_recovery: true,
                    ..ACK
                });
            }
            law.on_loss(&loss(&*law, Time::ZERO));
            assert_eq!(segments(&*law), expected, "{rounds}");
        }
    }

    #[test]
    fn what_an_application_held_back_teaches_only_more() {
        for (holds, expected) in [(50, 99.0), (300, 99.0)] {
            let mut law = learned(100, 100);
            for round_start in [true; 3] {
                law.on_ack(&Ack {
                    delivery_rate: Some(Rate::from_bytes_per_sec(holds * MSS * 10)),
                    app_limited: true,
                    round_start,
                    in_recovery: true,
                    ..ACK
                });
            }
            law.on_loss(&loss(&*law, Time::ZERO));
            assert_eq!(segments(&*law), expected, "{holds}");
        }
    }

    #[test]
    fn after_a_timeout_slow_start_leads_to_the_path() {
        let mut law = learned(100, 80);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 1.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(80 * MSS)));
    }

    #[test]
    fn random_loss_on_a_path_once_filled_leaves_the_link_busy() {
        // 8 Mbit/s, 100 ms: 100 packets. Reno's mean window at 1 % is 12.
        let rate = Rate::from_bits_per_sec(8_000_000);
        let mut path = Bottleneck::new(rate, 50);
        path.add(built(10), Duration::from_millis(100));
        path.run(Duration::from_secs(20));
        path.loss = 0.01;
        let (before, span) = (path.flows[0].delivered, Duration::from_secs(60));
        let (_, most) = path.run(span);
        let got = path.flows[0].rate_since(before, span).as_bits_per_sec();
        assert!(got > 7_000_000, "{got}");
        assert!(most <= 51);
    }
}
