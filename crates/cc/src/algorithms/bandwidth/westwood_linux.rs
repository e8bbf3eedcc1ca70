//! Westwood+ as Linux implements it (`net/ipv4/tcp_westwood.c` of Linux 6.1): chosen with
//! `westwood-plus?linux=true`.
//!
//! * sample: the bytes acknowledged since the last sample, over the time since then, which is
//!   longer than one RTT and than 50 ms
//! * filter: twice `x_k = 7/8*x_{k-1} + 1/8*input`; the first sample sets both
//! * loss: `ssthresh = cwnd/2` (Reno's), and recovery shrinks the flight towards it
//! * end of recovery: `cwnd = ssthresh = max(BWE*RTTmin, 2 segments)`, up or down
//! * timeout: `ssthresh = max(BWE*RTTmin, 2 segments)`, and RTTmin starts again with the next
//!   sample; until then the old one counts
//!
//! **Physics.** Against the paper's algorithm (`westwood_plus.rs`) a recovery costs more: for a
//! round trip the flight is halved. Afterwards the window may be above the half, as in the paper,
//! but the estimate has seen the halved flight, and two filters follow it. Where losses come in
//! every round trip, the window is lower than the paper's.
//!
//! Units: bytes, seconds.

use crate::building_blocks::rule::{Rule, grow_as_reno, half};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use whimbrel_units::{Duration, Time};

/// The minimum time of a sample: TCP_WESTWOOD_RTT_MIN.
const SAMPLE: Duration = Duration::from_millis(50);

/// The rule of Linux's Westwood+.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinuxWestwood {
    /// Both filters, bytes per second; `None` before the first sample.
    filtered: Option<(f64, f64)>,
    /// When the present sample began.
    began: Option<Time>,
    /// Bytes acknowledged since.
    acked: u64,
    /// RTTmin; `None` before the first RTT sample.
    min_rtt: Option<Duration>,
    /// The next sample replaces RTTmin: `reset_rtt_min`.
    forgets: bool,
    /// The window was reduced for a loss that is being repaired.
    recovering: bool,
}

impl LinuxWestwood {
    fn measure(&mut self, ack: &Ack) {
        let rtt = ack.rtt.unwrap_or(ack.srtt);
        if let Some(sample) = ack.rtt {
            let known = self.min_rtt.filter(|_| !self.forgets);
            self.min_rtt = Some(known.map_or(sample, |min| min.min(sample)));
            self.forgets = false;
        }
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return;
        };
        self.acked = self.acked.saturating_add(ack.acked.get());
        let took = ack.now.since(began);
        if took <= rtt.max(SAMPLE) {
            return;
        }
        self.began = Some(ack.now);
        let sample = std::mem::take(&mut self.acked) as f64 / took.as_secs_f64();
        let filter = |old: f64, new: f64| (7.0 * old + new) / 8.0;
        self.filtered = Some(match self.filtered {
            None => (sample, sample),
            Some((first, second)) => {
                let first = filter(first, sample);
                (first, filter(second, first))
            }
        });
    }

    /// BWE*RTTmin, bytes.
    fn measured_window(&self) -> u64 {
        let rate = self.filtered.map_or(0.0, |(_, second)| second);
        (rate * self.min_rtt.unwrap_or_default().as_secs_f64()) as u64
    }
}

impl Rule for LinuxWestwood {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        // What was counted before a recovery may exceed the window after it.
        if Window::may_grow(ack) {
            grow_as_reno(window, ack, SLOW_START_LIMIT);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        self.recovering = true;
        LossResponse::REDUCED
    }

    fn on_recovery_end(&mut self, window: &mut Window, _: Time) {
        if std::mem::take(&mut self.recovering) {
            window.set_ssthresh(self.measured_window());
            window.cwnd = window.ssthresh;
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Timeout) {
        window.collapse(Some(self.measured_window()));
        self.forgets = true;
        self.recovering = false;
    }

    fn on_spurious(&mut self, _: &Self) {
        self.recovering = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller};
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    fn acks(controller: &mut dyn Controller, acks: &[(u64, u64)]) {
        let rtt = Duration::from_millis(100);
        for &(ms, segments) in acks {
            controller.on_ack(&Ack {
                now: Time::ZERO + Duration::from_millis(ms),
                acked: Bytes::new(segments * MSS),
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                in_recovery: true,
                ..ACK
            });
        }
    }

    #[test]
    fn recovery_goes_to_the_half_and_ends_at_the_measured_window() {
        let spec: Spec = "westwood-plus?linux=true"
            .parse()
            .expect("a known controller");
        let mut controller = spec.build(&setup(40)).expect("fed acknowledgments");
        // 30 segments in 101 ms, then 10 in 101 ms: the first filter is (7*297.03 + 99.01)/8 =
        // 272.28 segments per second, the second (7*297.03 + 272.28)/8 = 293.94. In RTTmin: 29.39.
        acks(&mut *controller, &[(0, 1), (101, 30), (202, 10)]);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 20.0, "Reno's half");
        controller.on_recovery_end(Time::ZERO);
        assert!((segments(&*controller) - 29.39).abs() < 0.01);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        let ssthresh = controller.ssthresh().map(|bytes| bytes.get() as f64);
        assert!((ssthresh.unwrap_or(0.0) / MSS as f64 - 29.39).abs() < 0.01);
        // The end of a repair without a reduction changes nothing.
        controller.on_recovery_end(Time::ZERO);
        assert_eq!(segments(&*controller), 1.0);
    }

    #[test]
    fn after_a_timeout_the_old_minimum_counts_until_there_is_a_sample() {
        let spec: Spec = "westwood-plus?linux=true"
            .parse()
            .expect("a known controller");
        let mut controller = spec.build(&setup(40)).expect("fed acknowledgments");
        acks(&mut *controller, &[(0, 1), (101, 30), (202, 10)]);
        let ssthresh = |controller: &dyn Controller| {
            let ssthresh = controller.ssthresh().map(|bytes| bytes.get() as f64);
            ssthresh.unwrap_or(0.0) / MSS as f64
        };
        // Two timeouts, and in between nothing but retransmitted data, which has no RTT: 29.39
        // segments, as above.
        for _ in 0..2 {
            controller.on_timeout(&timeout(&*controller, Time::ZERO));
            assert!((ssthresh(&*controller) - 29.39).abs() < 0.01);
        }
        // The next sample is the new minimum, though it is longer: 293.94 * 0.2 s.
        controller.on_ack(&Ack {
            now: Time::ZERO + Duration::from_millis(210),
            rtt: Some(Duration::from_millis(200)),
            in_recovery: true,
            ..ACK
        });
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert!((ssthresh(&*controller) - 58.79).abs() < 0.01);
    }
}
