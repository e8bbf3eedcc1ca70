//! Proportional rate reduction (RFC 6937): lets the flight shrink to ssthresh evenly over a recovery
//! instead of stopping and then bursting. With the slow start reduction bound (PRR-SSRB).

/// One recovery's count. All in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    ssthresh: u32,
    /// RecoverFS: the flight when the recovery began.
    flight: u32,
    delivered: u32,
    out: u32,
    /// How many may be sent for the acknowledgment at hand.
    allowance: u32,
}

impl Prr {
    /// Begins a recovery. The first retransmission goes out whatever the count says (RFC 6937 section 3).
    pub fn begin(ssthresh: u32, flight: u32) -> Self {
        Self {
            ssthresh,
            flight: flight.max(1),
            delivered: 0,
            out: 0,
            allowance: 1,
        }
    }

    /// An acknowledgment delivered so many segments, and so many are in flight now.
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32) {
        self.delivered += delivered;
        self.allowance = if in_flight > self.ssthresh {
            let share = u64::from(self.delivered) * u64::from(self.ssthresh);
            (share.div_ceil(u64::from(self.flight)) as u32).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + 1;
            (self.ssthresh - in_flight).min(bound)
        };
        // The first retransmission again, when it could not leave at once.
        if self.out == 0 {
            self.allowance = self.allowance.max(1);
        }
    }

    /// How many may be sent now.
    pub fn allowance(&self) -> u32 {
        self.allowance
    }

    /// One was sent.
    pub fn on_sent(&mut self) {
        self.out += 1;
        self.allowance = self.allowance.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_of_twenty_sends_on_every_second_ack() {
        // The example of RFC 6937 section 3: cwnd 20, one loss, ssthresh 10: transmissions
        // are spread over the round trip, one for every two acknowledgments.
        let mut prr = Prr::begin(10, 20);
        let mut in_flight = 19;
        let mut sent = vec![];
        for ack in 1..=19 {
            in_flight -= 1;
            prr.on_ack(1, in_flight);
            while prr.allowance() > 0 {
                prr.on_sent();
                in_flight += 1;
                sent.push(ack);
            }
        }
        assert_eq!(in_flight, 10, "the flight ends at ssthresh");
        assert_eq!(sent.len(), 10, "{sent:?}");
        // Even to the end, where the flight has come down to ssthresh and the bound takes over.
        assert_eq!(sent[..8], [1, 3, 5, 7, 9, 11, 13, 15]);
    }

    #[test]
    fn after_heavy_loss_it_grows_back_like_slow_start() {
        // 15 of 20 lost: the flight is far below ssthresh 10 and grows by one per ACK besides what left.
        let mut prr = Prr::begin(10, 20);
        let mut in_flight = 5;
        for _ in 0..5 {
            in_flight -= 1;
            prr.on_ack(1, in_flight);
            let mut burst = 0;
            while prr.allowance() > 0 {
                prr.on_sent();
                in_flight += 1;
                burst += 1;
            }
            assert!(burst <= 2, "never more than one beyond what was delivered");
        }
        assert!(in_flight <= 10);
    }
}
