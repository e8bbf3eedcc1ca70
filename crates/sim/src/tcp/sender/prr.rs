//! Proportional rate reduction: the flight shrinks to ssthresh evenly over a recovery, instead of a
//! pause followed by a burst.
//!
//! M. Mathis, N. Cardwell, Y. Cheng, N. Dukkipati, "Proportional Rate Reduction (PRR)", RFC 9937,
//! 2025, section 6.
//!
//! * above ssthresh: `sent = ceil(prr_delivered*ssthresh/RecoverFS)`, counted over the recovery
//! * at or below it: `max(prr_delivered - prr_out, DeliveredData)`, one sent for one delivered
//!   (PRR-CRB), and one more on a SafeACK (PRR-SSRB), up to ssthresh
//!
//! **The physics.** The rate at which data arrives is the rate of the path at that moment. While
//! new losses are found, the queue is full, and sending more than is delivered would cause more
//! drops: after slow start the flight that overflowed the queue may be far above what fits, and so
//! may be ssthresh. An acknowledgment that advances and shows no further loss (SafeACK) indicates
//! room. RFC 6937 has no SafeACK, and its PRR-SSRB always allows one more: this equals treating
//! every acknowledgment as safe.

/// The counts of one recovery, in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    ssthresh: u32,
    /// RecoverFS: the flight before the acknowledgment that began the recovery.
    flight: u32,
    delivered: u32,
    out: u32,
    /// How many may still be sent for the current acknowledgment.
    allowance: u32,
}

impl Prr {
    /// Begins a recovery. The first retransmission is always allowed.
    pub fn begin(ssthresh: u32, flight: u32) -> Self {
        Self {
            ssthresh,
            flight: flight.max(1),
            delivered: 0,
            out: 0,
            allowance: 1,
        }
    }

    /// Invoked for an acknowledgment that delivered this many segments; `in_flight` are in flight
    /// afterwards. `safe`: it advanced and showed no further loss.
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, safe: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        self.allowance = if in_flight > self.ssthresh {
            let share = u64::from(self.delivered) * u64::from(self.ssthresh);
            (share.div_ceil(u64::from(self.flight)) as u32).saturating_sub(self.out)
        } else {
            let conserving = self.delivered.saturating_sub(self.out).max(delivered);
            (self.ssthresh - in_flight).min(conserving + u32::from(safe))
        };
        // The first retransmission stays allowed until it is sent.
        if self.out == 0 {
            self.allowance = self.allowance.max(1);
        }
    }

    /// How many segments may be sent now.
    pub fn allowance(&self) -> u32 {
        self.allowance
    }

    /// Invoked when a segment is sent.
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
        // Figure 1 of RFC 6937: cwnd 20, one loss, ssthresh 10. Transmissions are spread over the
        // round trip, one for every two acknowledgments.
        let mut prr = Prr::begin(10, 20);
        let mut in_flight = 19;
        let mut sent = vec![];
        for ack in 1..=19 {
            in_flight -= 1;
            prr.on_ack(1, in_flight, false);
            while prr.allowance() > 0 {
                prr.on_sent();
                in_flight += 1;
                sent.push(ack);
            }
        }
        assert_eq!(in_flight, 10, "the flight ends at ssthresh");
        assert_eq!(sent.len(), 10, "{sent:?}");
        // Evenly spread until the flight is down to ssthresh, where the bound applies.
        assert_eq!(sent[..8], [1, 3, 5, 7, 9, 11, 13, 15]);
    }

    /// The flight after each of ten acknowledgments of one segment. With each of the first `lossy`
    /// of them one more loss is found.
    fn flights(mut in_flight: u32, lossy: usize) -> Vec<u32> {
        let mut prr = Prr::begin(10, 20);
        let mut after = vec![];
        for ack in 0..10 {
            in_flight -= 1 + u32::from(ack < lossy);
            prr.on_ack(1, in_flight, ack >= lossy);
            while prr.allowance() > 0 {
                prr.on_sent();
                in_flight += 1;
            }
            after.push(in_flight);
        }
        after
    }

    #[test]
    fn below_ssthresh_two_leave_per_ack_once_no_losses_are_found() {
        // ssthresh is 10, and 9 are in flight after the first losses: the queue is still full. Four
        // acknowledgments each deliver one, find one lost and let one leave: the flight shrinks by
        // one each time. Then each lets two leave, until 10 are in flight again.
        assert_eq!(flights(9, 4), [8, 7, 6, 5, 6, 7, 8, 9, 10, 10]);
        // Without further losses it is slow start from the beginning.
        assert_eq!(flights(5, 0), [6, 7, 8, 9, 10, 10, 10, 10, 10, 10]);
    }

    #[test]
    fn an_ack_that_delivers_nothing_allows_nothing() {
        let mut prr = Prr::begin(10, 20);
        prr.on_sent();
        for _ in 0..5 {
            prr.on_ack(0, 5, true);
        }
        assert_eq!(prr.allowance(), 0);
    }
}
