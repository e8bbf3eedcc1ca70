//! The fixed point: how long a queue a flow of a given rate wants to see.
//!
//! A flow of x packets a second aims at the queueing delay `q = a/sqrt(x)`. Flows of one bottleneck
//! see the same q, so all have `x = (a/q)^2`: the same rate, whatever their RTT. With n flows on a
//! path of C packets a second each has C/n, and the queue is
//!
//! * in time: `q = a*sqrt(n/C)`; with a = 0.1 and 50 Mbit/s 1.5 ms for one flow, 4.9 ms for ten
//! * in packets: `C*q = a*sqrt(n*C)`: it grows with the root of the number of flows, not with the
//!   number as FAST's (alpha packets for each) or Vegas'
//!
//! **Priority** w means `a*sqrt(w)`: then `x = w*(a/q)^2`, rates in proportion to w.
//!
//! **Why a root.** The rate must be readable from the delay. "Starvation in End-to-End Congestion
//! Control" (V. Arun, M. Alizadeh, H. Balakrishnan, SIGCOMM 2022) shows that two flows whose delay
//! measurements differ by more than the range of delays that the algorithm maps its rates to can
//! have any ratio of rates. With q the true queue and e the error of one flow, the ratio is
//! `(q/(q - e))^2` here. With 1/x (Vegas, Copa, FAST: q = alpha/x) it is `q/(q - e)`, but q itself
//! falls as 1/C and is lost in the noise of fast paths: 0.1 ms at 1 Gbit/s for ten packets. The
//! root keeps 1 ms at 100 Mbit/s, and 11 ms at 1 Mbit/s, so a factor of 100 in rate spans 10 ms.
//!
//! Units: seconds, packets.

/// The target of one flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    a: f64,
}

impl Target {
    pub fn new(a: f64) -> Self {
        Self { a }
    }

    /// The queueing delay that a flow of `rate` packets per second wants.
    pub fn delay(&self, rate: f64) -> f64 {
        self.a / rate.max(1e-3).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_at_the_fixed_point() {
        // 50 Mbit/s in packets of 1448 bytes are 4316 packets per second.
        let delay = Target::new(0.1).delay(4316.0);
        assert!((delay - 0.001522).abs() < 1e-6, "{delay}");
        // Ten flows: the root of ten as much.
        let ten = Target::new(0.1).delay(431.6);
        assert!((ten / delay - 10f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn at_one_delay_rates_are_in_proportion_to_priorities() {
        let of_priority = |w: f64| Target::new(0.1 * w.sqrt());
        for w in [1.0, 2.0, 8.0] {
            let delay = of_priority(w).delay(1000.0 * w);
            assert!((delay - of_priority(1.0).delay(1000.0)).abs() < 1e-12);
        }
    }
}
