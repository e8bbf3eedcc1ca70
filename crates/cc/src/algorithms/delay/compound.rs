//! Compound TCP: Reno's window, and on top of it one that follows the delay.
//!
//! K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", IEEE
//! INFOCOM 2006; M. Sridharan, K. Tan, D. Bansal, D. Thaler, draft-sridharan-tcpm-ctcp-02, 2008.
//!
//! The window is `win = cwnd + dwnd`. Per ACK `cwnd += 1/win`, and once a round trip, in congestion avoidance, with
//! `diff = win*(RTT - base)/RTT` the packets that wait in queues:
//!
//! * `diff < gamma`: `dwnd += alpha*win^k - 1`, if that is above nothing
//! * else: `dwnd -= zeta*diff`, not below nothing
//! * loss: `win -= beta*win`, of which `cwnd` is half of what it was and dwnd the rest, `win*(1 - beta) - cwnd/2`
//! * below W_low, and in slow start, dwnd does not grow; a timeout leaves none of it
//!
//! **The physics.** On an idle path win grows by alpha*win^k a round trip, which makes its response function p^-0.8,
//! near HighSpeed's. As soon as gamma packets wait, dwnd gives way, and what is left is Reno, which loses to nobody and
//! takes from nobody what Reno would not.
//!
//! **When.** Long fast paths with queues longer than gamma. **When not.** With a queue shorter than gamma packets the
//! delay is never noticed: each climb ends in a loss. A base that is too long (a path that became longer, a queue that
//! stood before the flow began) or too short misleads it as it does Vegas.
//!
//! Units: windows are bytes; gamma, diff and W_low are in segments.
//!
//! Where the sources leave room: the RTT of diff is the mean of the round trip that ended (Linux' patch of 2006: its
//! least). W_low is the draft's 38 segments, and zeta that patch's 1 (another simulation has 0.03). Nothing is
//! changed while losses are repaired or the window is not used. gamma is fixed: its tuning by what Reno would queue
//! (the draft's and TUBE's) is optional there and not part of this. The paper's equations are as the Linux patch and
//! two more programs after the draft have them; its text and the draft's could not be read in full.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{RoundRtt, queued};
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "compound",
    code: code!("algorithms/delay/compound.rs"),
    summary: "Reno with a second window on top that grows fast on an idle path and gives way to queues",
    citation: "K. Tan, J. Song, Q. Zhang, M. Sridharan, \"A Compound TCP Approach for High-speed and Long Distance \
               Networks\", IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    family: Family::Delay,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "alpha",
            default: Value::Number(0.125),
            range: (0.0, 10.0),
            meaning: "how much the delay window grows in a round trip: alpha*win^k - 1 segments",
        },
        Parameter {
            name: "beta",
            default: Value::Number(0.5),
            range: (0.01, 0.9),
            meaning: "share of the window that a loss takes",
        },
        Parameter {
            name: "k",
            default: Value::Number(0.75),
            range: (0.0, 1.0),
            meaning: "exponent of that growth",
        },
        Parameter {
            name: "gamma",
            default: Value::Number(30.0),
            range: (1.0, 10_000.0),
            meaning: "packets waiting from which the delay window gives way, segments",
        },
        Parameter {
            name: "zeta",
            default: Value::Number(1.0),
            range: (0.001, 10.0),
            meaning: "how much it gives way: segments for each packet waiting",
        },
        Parameter {
            name: "W_low",
            default: Value::Number(38.0),
            range: (0.0, 1_000.0),
            meaning: "below this window the delay window does not grow, segments",
        },
    ],
    build: |setup, values| {
        let rule = Compound {
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            k: values.number("k"),
            gamma: values.number("gamma"),
            zeta: values.number("zeta"),
            w_low: values.number("W_low"),
            dwnd: 0,
            rounds: RoundRtt::default(),
        };
        Box::new(WindowController::new(setup, Aimd(rule)))
    },
};

#[derive(Debug, Clone)]
struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    /// Segments.
    gamma: f64,
    zeta: f64,
    /// Segments.
    w_low: f64,
    /// The part of the window that follows the delay, bytes: all of it at most.
    dwnd: u64,
    rounds: RoundRtt,
}

impl Compound {
    fn grow(&mut self, window: &mut Window) {
        let win = window.segments();
        if win < self.w_low {
            return;
        }
        let segments = self.alpha * win.powf(self.k) - 1.0;
        let grown = window
            .cwnd
            .saturating_add((segments * window.mss as f64) as u64);
        self.dwnd += grown - window.cwnd;
        window.cwnd = grown;
    }

    fn give_way(&mut self, window: &mut Window, diff: f64) {
        let less = ((self.zeta * diff * window.mss as f64) as u64).min(self.dwnd);
        self.dwnd -= less;
        window.cwnd = (window.cwnd - less).max(window.mss);
        if window.in_slow_start() {
            // The threshold was of the whole window; it is not the losses' part that fell below it.
            window.end_slow_start();
        }
    }
}

impl IncreaseDecrease for Compound {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // A loss while the window was not used takes more of it than of its parts.
        self.dwnd = self.dwnd.min(window.cwnd);
        let Some(round) = self.rounds.on_ack(ack) else {
            return;
        };
        if window.in_slow_start() || !Window::may_grow(ack) {
            return;
        }
        let diff = queued(window.cwnd, round.base, round.mean) / window.mss as f64;
        if diff < self.gamma {
            self.grow(window);
        } else {
            self.give_way(window, diff);
        }
    }

    fn increase(&self, _: &Window) -> f64 {
        RENO_INCREASE
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        let losses = window.cwnd.saturating_sub(self.dwnd);
        let left = (window.cwnd as f64 * (1.0 - self.beta)) as u64;
        self.dwnd = left.saturating_sub(losses / 2);
        self.beta
    }

    fn on_timeout(&mut self) {
        self.dwnd = 0;
    }

    fn on_spurious(&mut self, before: &Self) {
        self.dwnd = before.dwnd;
    }

    fn phase(&self, _: &Window) -> &'static str {
        if self.dwnd > 0 {
            "delay window open"
        } else {
            "congestion avoidance"
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, Loss};
    use crate::testing::{ACK, Bottleneck, MSS, Path, built, loss, newreno, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    /// In congestion avoidance with half of these segments.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut law = built("compound", segments);
        law.on_loss(&loss(&*law, Time::ZERO));
        law
    }

    /// A round trip's end: its RTT was so much, on a path of 100 ms. Nothing is acknowledged.
    fn judged(law: &mut dyn Controller, ms: u64) {
        let ack = Ack {
            acked: Bytes::ZERO,
            rtt: Some(Duration::from_millis(ms)),
            ..ACK
        };
        law.on_ack(&ack);
        law.on_ack(&Ack {
            rtt: None,
            round_start: true,
            ..ack
        });
    }

    #[test]
    fn on_an_idle_path_a_round_trip_adds_an_eighth_of_win_to_the_three_quarters() {
        // 256^0.75/8 - 1 = 7; 10,000^0.75/8 - 1 = 124.
        for (win, added) in [(256.0, 7.0), (10_000.0, 124.0)] {
            let mut law = avoiding(2 * win as u64);
            judged(&mut *law, 100);
            assert!((segments(&*law) - win - added).abs() < 0.01);
            assert_eq!(law.phase(), "delay window open");
        }
        // Below 38 segments not at all; Reno's one is per ACK, and none came.
        let mut small = avoiding(74);
        judged(&mut *small, 100);
        assert_eq!(segments(&*small), 37.0);
    }

    #[test]
    fn thirty_packets_waiting_make_the_delay_window_give_way_by_as_many() {
        let mut law = avoiding(20_000);
        judged(&mut *law, 100);
        let open = segments(&*law);
        // 10,124 segments; 29 and 31 of them wait at 100.287 and 100.307 ms. 101 ms: 100.2.
        judged(&mut *law, 101);
        assert!((open - segments(&*law) - 100.2).abs() < 0.2);
        // There are 23.8 left to give; Reno's 10,000 stay however long the queue.
        for _ in 0..3 {
            judged(&mut *law, 200);
            assert!((segments(&*law) - 10_000.0).abs() < 0.01);
        }
        assert_eq!(law.phase(), "congestion avoidance");
        Path::new(RTT).round(&mut *law);
        assert!(
            (10_000.9..10_001.0).contains(&segments(&*law)),
            "not in slow start below the last threshold"
        );
    }

    #[test]
    fn a_loss_halves_both_windows() {
        let mut law = avoiding(20_000);
        judged(&mut *law, 100);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert!((segments(&*law) - 5_062.0).abs() < 0.01);
        // Of 124 are 62 left: win/2 - cwnd/2.
        judged(&mut *law, 200);
        assert!((segments(&*law) - 5_000.0).abs() < 0.01);
        law.on_spurious(Time::ZERO);
        assert!((segments(&*law) - 10_124.0).abs() < 0.01);
        judged(&mut *law, 200);
        assert!((segments(&*law) - 10_000.0).abs() < 0.01, "with its part");
    }

    #[test]
    fn a_loss_while_the_window_was_not_used_leaves_no_more_to_give_than_there_is() {
        let mut law = built("compound?zeta=10&alpha=10", 20_000);
        law.on_loss(&loss(&*law, Time::ZERO));
        judged(&mut *law, 100);
        assert!(segments(&*law) > 19_000.0);
        law.on_loss(&Loss {
            in_flight: Bytes::new(100 * MSS),
            ..loss(&*law, Time::ZERO)
        });
        assert_eq!(segments(&*law), 50.0);
        judged(&mut *law, 1_000);
        assert_eq!(segments(&*law), 1.0);
    }

    #[test]
    fn a_timeout_closes_the_delay_window() {
        let mut law = avoiding(20_000);
        judged(&mut *law, 100);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 1.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(5_062 * MSS)));
        judged(&mut *law, 100);
        assert_eq!(segments(&*law), 1.0, "nor does it open in slow start");
    }

    #[test]
    fn on_an_idle_path_the_mean_window_goes_with_p_to_the_minus_four_fifths() {
        // dw/dt = w^0.75/8 a round trip, from W/2 to W: N = W^1.25*(1 - 2^-1.25)/0.15625 packets in
        // W^0.25*(1 - 2^-0.25)/0.03125 round trips. N = 1e4: W = 555, mean 405; N = 1e5: 2553.
        for (packets, expected, epochs) in [(10_000, 405.0, 20), (100_000, 2_553.0, 10)] {
            let mut law = built("compound", 10);
            let mean = Path::new(RTT).mean_window(&mut *law, packets, epochs);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn alone_it_fills_a_link_faster_than_reno_and_queues_less() {
        // 80 Mbit/s and 100 ms: 1000 packets, and 500 may wait. After the overshoot of slow start Reno is 300 round
        // trips, 30 s, from a full link.
        let run = |law: Box<dyn Controller>| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(80_000_000), 500);
            link.add(law, RTT);
            link.run(Duration::from_secs(10));
            let before = link.flows[0].delivered;
            let (queue, _) = link.run(Duration::from_secs(40));
            let rate = link.flows[0].rate_since(before, Duration::from_secs(40));
            (rate.as_bits_per_sec() as f64 / 1e6, queue)
        };
        let (ours, reno) = (run(built("compound", 10)), run(Box::new(newreno(10))));
        assert!(ours.0 > 78.0, "{ours:?} {reno:?}");
        assert!(ours.0 > reno.0 + 1.0, "{ours:?} {reno:?}");
    }
}
