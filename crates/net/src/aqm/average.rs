//! The averaged length of a queue, as in RED.
//!
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993, section 4 and figure 2:
//! * a packet arrives: `avg <- (1 - w)*avg + w*q`
//! * after an idle time, before that: `m = idle/s`, `avg <- (1 - w)^m * avg`; s is the time that
//!   the link takes for a packet
//!
//! The physics: the average moves with arrivals, and none come while the link is idle. So the m
//! packets are counted that could have passed an empty queue. The figure has the second line
//! instead of the first. Here, as in ns-2's `red.cc` (`estimator(..., m + 1, ...)`) and in ns-3,
//! both are applied: after an idle time too short for one packet the figure would leave the average
//! unchanged, and with w = 1 it would never forget. m is a whole number, as there.

use whimbrel_units::Duration;

/// The averaged length of a queue, in the queue's unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Average {
    /// w, from 0 to 1.
    weight: f64,
    /// s.
    packet_time: Duration,
    value: f64,
}

impl Average {
    pub fn new(weight: f64, packet_time: Duration) -> Self {
        Self {
            weight: weight.clamp(0.0, 1.0),
            packet_time,
            value: 0.0,
        }
    }

    /// Counts an arriving packet that finds a queue of length `queue` and ends an idle time of
    /// length `idle`. Returns the average.
    pub fn arrive(&mut self, queue: f64, idle: Duration) -> f64 {
        // Zero stays zero: the common case for a short queue.
        if self.value != 0.0 {
            let missed = idle
                .as_nanos()
                .checked_div(self.packet_time.as_nanos())
                .unwrap_or(idle.as_nanos());
            self.value *= power(1.0 - self.weight, missed);
        }
        self.value += self.weight * (queue - self.value);
        self.value
    }
}

/// `base^exponent` by squaring: the standard library's power may differ in the last bit between
/// machines.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_moves_the_average_by_equation_3_of_the_paper() {
        // Equation 3: after queues of 1, 2, ... L packets, avg = L + 1 + ((1-w)^(L+1) - 1)/w.
        let mut average = Average::new(0.001, Duration::from_millis(1));
        let mut last = 0.0;
        for queue in 1..=1000 {
            last = average.arrive(f64::from(queue), Duration::ZERO);
        }
        // 1001 + (0.999^1001 - 1)/0.001: 0.999^1001 = 0.367328.
        assert!((last - 368.33).abs() < 0.01, "{last}");
        // Section 4.2: with a weight of 0.0042 or less a burst of 50 packets stays below an average
        // of 5.
        let mut average = Average::new(0.0042, Duration::from_millis(1));
        for queue in 1..=50 {
            last = average.arrive(f64::from(queue), Duration::ZERO);
        }
        assert!((4.9..5.05).contains(&last), "{last}");
    }

    #[test]
    fn idle_time_counts_as_the_packets_that_could_have_passed() {
        let mut average = Average::new(0.5, Duration::from_millis(1));
        assert_eq!(average.arrive(16.0, Duration::ZERO), 8.0);
        // The time of two and a half packets: 8/4, and the arrival itself halves once more.
        assert_eq!(average.arrive(0.0, Duration::from_micros(2_500)), 1.0);
        // Less than a packet's time: only the arrival counts.
        assert_eq!(average.arrive(0.0, Duration::from_micros(999)), 0.5);
    }

    #[test]
    fn weight_one_is_the_queue_itself_and_weight_zero_never_moves() {
        let mut now = Average::new(1.0, Duration::from_millis(1));
        assert_eq!(now.arrive(7.0, Duration::ZERO), 7.0);
        assert_eq!(now.arrive(3.0, Duration::from_nanos(5)), 3.0);
        let mut never = Average::new(0.0, Duration::from_millis(1));
        assert_eq!(never.arrive(7.0, Duration::MAX), 0.0);
        let mut no_rate = Average::new(0.5, Duration::ZERO);
        no_rate.arrive(1e9, Duration::ZERO);
        assert!(no_rate.arrive(0.0, Duration::MAX) < 1e-300);
    }
}
