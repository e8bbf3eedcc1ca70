//! PFTK: throughput of a Reno flow with retransmission timeouts and a maximum window.
//!
//! J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput: A Simple Model and its
//! Empirical Validation", SIGCOMM 1998: the full equation (31) with (13), (24) and (28), and the
//! approximation (32). The sources that were read are GÉANT's description of (31) and its parts for
//! b = 2 (wiki.geant.org, "TCP throughput"), which uses the numbers (13), (28) and (31), and the
//! approximation in Linux's `tfrc_equation.c` (after RFC 3448, now RFC 5348 section 3.1) and in
//! ns-2's `formula.h`. The rest is known and was not read again.
//!
//! * (13) `E[W] = (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2)`: the mean window at a loss
//! * (24) `Q(w) = min(1, (1-(1-p)^3)*(1+(1-p)^3*(1-(1-p)^(w-3))) / (1-(1-p)^w))`: the fraction of
//!   losses that end in a timeout, because fewer than three duplicate acknowledgments arrive
//! * (28) `f(p) = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6`: the timeout doubles, six times
//! * (31), `E[W] < W_m`: `((1-p)/p + E[W] + Q/(1-p)) / (RTT*(b/2*E[W]+1) + Q*T0*f/(1-p))`
//! * (31), else: `((1-p)/p + W_m + Q/(1-p)) / (RTT*(b/8*W_m + (1-p)/(p*W_m) + 2) + Q*T0*f/(1-p))`
//! * (32) `min(W_m/RTT, 1/(RTT*sqrt(2bp/3) + T0*min(1, 3*sqrt(3bp/8))*p*(1+32p^2)))`
//!
//! **The physics.** The numerator is the number of packets sent in a cycle: the 1/p packets up to
//! the loss, one more window until it is detected, and the retransmissions of timeouts. The
//! denominator is the duration of the cycle: the window grows from half of E[W] by 1/b per RTT;
//! plus timeouts.
//!
//! **When it works.** Reno with correlated losses: after the first loss in a round all following
//! packets of that round are lost too. **When not.** Independent losses hit fewer packets of a
//! round, and SACK repairs several in one round, so there are fewer timeouts than (24) predicts. A
//! link of finite rate appears only as W_m. (31) counts packets that are **sent**, not those that
//! arrive: the difference is the fraction p, and retransmissions by timeouts.
//!
//! The exponent w - 3 of (24) is set to 0 if the window is below 3: then Q is 1.
//! Units: seconds, packets, packets per second.

use whimbrel_units::Probability;

/// The parameters of a sender and its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sender {
    /// Round-trip time in seconds; above 0.
    pub rtt: f64,
    /// T0: the first retransmission timeout in seconds; 0 or more.
    pub first_timeout: f64,
    /// b: packets per acknowledgment; 1 or more.
    pub packets_per_ack: f64,
    /// W_m: the maximum window in packets; 1 or more, infinite if there is none.
    pub max_window: f64,
}

/// The full equation (31): packets sent per second. Without losses, W_m per RTT.
pub fn pftk(sender: &Sender, p: Probability) -> f64 {
    let Sender {
        rtt,
        first_timeout: t0,
        packets_per_ack: b,
        max_window: w_m,
    } = *sender;
    let p = p.get();
    if p <= 0.0 {
        return w_m / rtt;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let arrives = 1.0 - p;
    let offset = (2.0 + b) / (3.0 * b);
    let e_w = offset + (8.0 * arrives / (3.0 * b * p) + offset * offset).sqrt();
    let w = e_w.min(w_m);
    let timeouts = to_timeout(p, w) / arrives;
    let sent = arrives / p + w + timeouts;
    let rounds = if e_w < w_m {
        b / 2.0 * w + 1.0
    } else {
        b / 8.0 * w + arrives / (p * w) + 2.0
    };
    sent / (rtt * rounds + timeouts * t0 * backed_off(p))
}

/// (24) Q(w): the fraction of losses that end in a timeout.
fn to_timeout(p: f64, w: f64) -> f64 {
    let all = |packets: f64| (1.0 - p).powf(packets);
    let q = (1.0 - all(3.0)) * (1.0 + all(3.0) * (1.0 - all((w - 3.0).max(0.0)))) / (1.0 - all(w));
    q.min(1.0)
}

/// (28) f(p): the mean length of a sequence of timeouts in units of T0, times 1 - p.
fn backed_off(p: f64) -> f64 {
    let doubled = |sum: f64, k: i32| sum + 0.5 * (2.0 * p).powi(k);
    (1..=6).fold(1.0, doubled)
}

/// The approximation (32): packets per second.
pub fn pftk_short(sender: &Sender, p: Probability) -> f64 {
    let Sender {
        rtt,
        first_timeout: t0,
        packets_per_ack: b,
        max_window: w_m,
    } = *sender;
    let p = p.get();
    let timeout = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    (w_m / rtt).min(1.0 / (rtt * (2.0 * b * p / 3.0).sqrt() + t0 * timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(share: f64) -> Probability {
        Probability::new(share).expect("a probability")
    }

    #[test]
    fn the_timeout_doubles_six_times() {
        // f(1/2) = 1 + 6 x 1/2, f(1) = 1 + 1 + 2 + 4 + 8 + 16 + 32.
        assert!((backed_off(0.5) - 4.0).abs() < 1e-12);
        assert!((backed_off(1.0) - 64.0).abs() < 1e-12);
    }

    #[test]
    fn the_full_equation_at_2_percent_with_delayed_acks() {
        // b = 2: E[W] = 2/3*(1 + sqrt(3*49 + 1)) = 8.7770; Q = 0.058808*1.103680/0.162488 =
        // 0.39944, over 0.98 0.40759; f = 1.020833. (49 + 8.7770 + 0.4076) / (0.1*9.7770 +
        // 0.40759*1.020833) = 58.185/1.39378 = 41.746.
        let sender = Sender {
            rtt: 0.1,
            first_timeout: 1.0,
            packets_per_ack: 2.0,
            max_window: f64::INFINITY,
        };
        assert!((pftk(&sender, p(0.02)) - 41.746).abs() < 2e-3);
        // W_m = 6: Q = 0.058808*1.055350/0.114158 = 0.54366, over 0.98 0.55475;
        // (49 + 6 + 0.5548) / (0.1*(1.5 + 49/6 + 2) + 0.55475*1.020833) = 55.555/1.73298 = 32.057.
        let limited = Sender {
            max_window: 6.0,
            ..sender
        };
        assert!((pftk(&limited, p(0.02)) - 32.057).abs() < 2e-3);
    }

    #[test]
    fn the_approximation_is_the_equation_of_tfrc() {
        // RFC 5348 section 3.1 with b = 1, t_RTO = 4 R is s/(R*f(p)); Linux tabulates f in its
        // `tfrc_equation.c`. f(0.01 %) = 0.008172, f(1 %) = 0.089021, f(5 %) = 0.271305, in units
        // of 10^-6. From 3*sqrt(3p/8) = 1 on, at p = 29.6 %, the RFC leaves out the minimum that
        // (32) takes.
        let sender = Sender {
            rtt: 1.0,
            first_timeout: 4.0,
            packets_per_ack: 1.0,
            max_window: f64::INFINITY,
        };
        for (share, f) in [
            (1e-4, 8172.0),
            (1e-2, 89_021.0),
            (5e-2, 271_305.0),
            (0.1, 564_939.0),
        ] {
            let found = 1e6 / pftk_short(&sender, p(share));
            assert!((found - f).abs() <= 1.0, "{share}: {found}");
        }
    }

    #[test]
    fn for_rare_losses_pftk_equals_the_square_root_formula() {
        use crate::{Acks, Losses, mathis};
        let sender = Sender {
            rtt: 0.1,
            first_timeout: 1.0,
            packets_per_ack: 1.0,
            max_window: f64::INFINITY,
        };
        let formula = mathis(0.1, p(1e-8), Acks::Every, Losses::Periodic);
        for found in [pftk(&sender, p(1e-8)), pftk_short(&sender, p(1e-8))] {
            assert!((found / formula - 1.0).abs() < 1e-3, "{found} {formula}");
        }
        // At 10 %: E[W] = 1 + sqrt(25) = 6, Q = 0.271*1.19756/0.468559 = 0.69263: two of three
        // losses are timeouts of one second. (9 + 6 + 0.7696) / (0.1*4 + 0.7696*1.124992) =
        // 15.7696/1.26579 = 12.458, less than a third of the 38.7 of the square root formula.
        assert!(mathis(0.1, p(0.1), Acks::Every, Losses::Periodic) > 38.0);
        assert!((pftk(&sender, p(0.1)) - 12.458).abs() < 2e-3);
    }

    #[test]
    fn loss_probabilities_of_zero_and_one_are_valid() {
        let sender = Sender {
            rtt: 0.1,
            first_timeout: 1.0,
            packets_per_ack: 1.0,
            max_window: 20.0,
        };
        assert_eq!(pftk(&sender, Probability::ZERO), 200.0);
        assert_eq!(pftk_short(&sender, Probability::ZERO), 200.0);
        assert_eq!(pftk(&sender, Probability::ONE), 0.0);
        for share in [1e-300, 1e-12, 0.5, 0.999_999] {
            let rate = pftk(&sender, p(share));
            assert!(rate.is_finite() && rate > 0.0, "{share}: {rate}");
        }
    }
}
