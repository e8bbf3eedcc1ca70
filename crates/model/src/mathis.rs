//! The inverse square root formula: the throughput that results from halving the window and growing
//! it by one packet per round trip.
//!
//! M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion
//! Avoidance Algorithm", ACM SIGCOMM CCR 27(3), 1997: equation (3) `BW = MSS/RTT * C/sqrt(p)` and
//! the constants C of its table of derived values. The paper is known and was not read again. The
//! two square roots follow from the cycle below; the constants for random losses are the paper's,
//! and a test with random losses confirms the greater one.
//!
//! **The physics.** The window oscillates between W/2 and W and grows by one packet per RTT, for
//! W/2 RTTs: `3/8*W^2` packets for one loss, so `p = 8/(3*W^2)`, and on average `3/4*W` packets per
//! RTT: `sqrt(3/2)/sqrt(p)`. If only every second packet is acknowledged and each acknowledgment
//! counts for one, the window grows half as fast, and C is `sqrt(3/4)`. With random instead of
//! periodic losses C is a little greater: a large window is hit more often than a small one, and
//! long cycles gain more than short ones lose.
//!
//! **When it works.** Windows of at least about ten packets that the path does not limit, and p
//! below about 1 %. **When not.** It includes no link rate, no maximum window and no timeouts: at
//! 10 % loss it predicts three times as much as PFTK.
//!
//! Units: seconds, packets per second.

use whimbrel_units::Probability;

/// Which packets are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// Every packet.
    Every,
    /// Every second packet; the sender counts acknowledgments, not acknowledged packets.
    Delayed,
}

/// The process of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// Exactly one of every 1/p packets.
    Periodic,
    /// Each packet independently.
    Random,
}

/// The throughput in packets per second, equation (3). `rtt` is in seconds. Infinite if `p` or
/// `rtt` is 0.
pub fn mathis(rtt: f64, p: Probability, acks: Acks, losses: Losses) -> f64 {
    let c: f64 = match (losses, acks) {
        (Losses::Periodic, Acks::Every) => 1.5_f64.sqrt(),
        (Losses::Periodic, Acks::Delayed) => 0.75_f64.sqrt(),
        (Losses::Random, Acks::Every) => 1.31,
        (Losses::Random, Acks::Delayed) => 0.93,
    };
    c / (rtt * p.get().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(share: f64) -> Probability {
        Probability::new(share).expect("a probability")
    }

    #[test]
    fn the_constants_are_those_of_the_papers_table() {
        let c = |acks, losses| mathis(1.0, Probability::ONE, acks, losses);
        let rounded = |c: f64| (c * 100.0).round() / 100.0;
        assert_eq!(rounded(c(Acks::Every, Losses::Periodic)), 1.22);
        assert_eq!(rounded(c(Acks::Delayed, Losses::Periodic)), 0.87);
        assert_eq!(rounded(c(Acks::Every, Losses::Random)), 1.31);
        assert_eq!(rounded(c(Acks::Delayed, Losses::Random)), 0.93);
    }

    #[test]
    fn rfc_3649_needs_a_loss_in_five_billion_packets_for_10_gbit() {
        // RFC 3649 section 1, known and not read again: 1500 bytes, 100 ms, an average window of 83
        // 333 packets, at most one loss in 5 000 000 000.
        let rate = mathis(0.1, p(2e-10), Acks::Every, Losses::Periodic);
        let gbit = rate * 1500.0 * 8.0 / 1e9;
        assert!((gbit - 10.0).abs() < 0.5, "{gbit}");
    }

    /// A window that grows by 1/window with each packet and is halved by each lost packet.
    #[test]
    fn random_losses_give_the_constant_of_the_paper() {
        let p = 1e-4;
        let mut state = 1_u64;
        let (mut window, mut time, mut packets) = (100.0_f64, 0.0, 0.0);
        for _ in 0..20_000_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let lost = ((state >> 11) as f64) < p * (1_u64 << 53) as f64;
            time += 1.0 / window;
            packets += 1.0;
            window = if lost {
                window / 2.0
            } else {
                window + 1.0 / window
            };
        }
        let c = packets / time * p.sqrt();
        assert!((c - 1.31).abs() < 0.03, "{c}");
    }
}
