//! The inverse square root law: what halving against growing by one packet a round trip comes to.
//!
//! M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", ACM
//! SIGCOMM CCR 27(3), 1997: equation (3) `BW = MSS/RTT * C/sqrt(p)` and the constants C of its table of derived values.
//! The paper is known and was not read again; the two square roots follow from the cycle below, the constants of random
//! losses are the paper's, and a test that draws losses finds the greater one.
//!
//! **The physics.** The window saws between W/2 and W, one packet more each RTT, W/2 RTTs long: `3/8*W^2` packets for one
//! loss, so `p = 8/(3*W^2)`, and `3/4*W` packets each RTT in the mean: `sqrt(3/2)/sqrt(p)`. If only every second packet is
//! acknowledged and each acknowledgment counts for one, the window grows half as fast, and C is `sqrt(3/4)`. Where
//! losses are drawn at random instead of coming regularly, C is a little greater: a window is lost from more often the
//! greater it is, and long cycles gain more than short ones lose.
//!
//! **When it works.** Windows of some ten packets that the path itself does not limit, p below about 1 %.
//! **When not.** It knows no link rate, no greatest window, and no timeout: at 10 % it promises three times what PFTK does.
//!
//! Units: seconds, packets per second.

use whimbrel_units::Probability;

/// Who is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// Every packet.
    Every,
    /// Every second one, and the sender counts acknowledgments, not what they acknowledge.
    Delayed,
}

/// How losses come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// Every 1/p packets exactly one.
    Periodic,
    /// Each packet by itself.
    Random,
}

/// Packets per second, equation (3); `rtt` in seconds, above 0. Without losses, or without time, infinite.
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
        // RFC 3649 section 1, known and not read again: 1500 bytes, 100 ms, 83 333 packets in the mean, at most one loss in 5 000 000 000.
        let rate = mathis(0.1, p(2e-10), Acks::Every, Losses::Periodic);
        let gbit = rate * 1500.0 * 8.0 / 1e9;
        assert!((gbit - 10.0).abs() < 0.5, "{gbit}");
    }

    /// A window that grows by its share with each packet and is halved by every packet that is lost.
    #[test]
    fn drawn_losses_give_the_constant_of_random_losses() {
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
