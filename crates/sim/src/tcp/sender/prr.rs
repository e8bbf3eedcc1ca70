//! Proportional rate reduction: lets the flight shrink to ssthresh evenly over a recovery instead of stopping
//! and then bursting.
//!
//! M. Mathis, N. Cardwell, Y. Cheng, N. Dukkipati, "Proportional Rate Reduction (PRR)", RFC 9937, 2025, section 6.
//!
//! * above ssthresh: `sent = ceil(prr_delivered*ssthresh/RecoverFS)`, counted over the recovery
//! * at or below it: `max(prr_delivered - prr_out, DeliveredData)`, one sent for one delivered (PRR-CRB), and one
//!   more on a SafeACK (PRR-SSRB), as far as ssthresh allows
//!
//! **The physics.** The rate at which data arrives is what the path carries at the moment. While losses still come to
//! light the queue is full, and more than one for one would be dropped as well: after a slow start the flight that
//! overflowed the queue may be far above what fits, and so may be ssthresh. An acknowledgment that advances and shows no
//! further loss (SafeACK) says that there is room. RFC 6937 knew no SafeACK, and its PRR-SSRB always allowed one
//! more: that is every acknowledgment taken for a safe one.

/// One recovery's count. All in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    ssthresh: u32,
    /// RecoverFS: the flight when the recovery began, before the acknowledgment that began it.
    flight: u32,
    delivered: u32,
    out: u32,
    /// How many may be sent for the acknowledgment at hand.
    allowance: u32,
}

impl Prr {
    /// Begins a recovery. The first retransmission goes out whatever the count says.
    pub fn begin(ssthresh: u32, flight: u32) -> Self {
        Self {
            ssthresh,
            flight: flight.max(1),
            delivered: 0,
            out: 0,
            allowance: 1,
        }
    }

    /// An acknowledgment delivered so many segments, and so many are in flight now. `safe`: it advanced and no further
    /// loss was found with it.
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
        // As figure 1 of RFC 6937 has it: cwnd 20, one loss, ssthresh 10: transmissions
        // are spread over the round trip, one for every two acknowledgments.
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
        // Even to the end, where the flight has come down to ssthresh and the bound takes over.
        assert_eq!(sent[..8], [1, 3, 5, 7, 9, 11, 13, 15]);
    }

    /// The flights after each of ten acknowledgments of one segment, of which the first `lossy` find one more lost.
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
    fn below_ssthresh_it_sends_one_for_one_while_losses_are_found_and_two_for_one_after() {
        // ssthresh is 10, and all of the losses leave 9 in flight: the queue is as full as it was.
        // Four acknowledgments each deliver one, find one lost and let one leave: one less in flight each time.
        // Then each lets two leave, until there are 10 in flight again.
        assert_eq!(flights(9, 4), [8, 7, 6, 5, 6, 7, 8, 9, 10, 10]);
        // Without any news of loss it is slow start from the first on.
        assert_eq!(flights(5, 0), [6, 7, 8, 9, 10, 10, 10, 10, 10, 10]);
    }

    #[test]
    fn an_acknowledgment_that_delivers_nothing_lets_nothing_leave() {
        let mut prr = Prr::begin(10, 20);
        prr.on_sent();
        for _ in 0..5 {
            prr.on_ack(0, 5, true);
        }
        assert_eq!(prr.allowance(), 0);
    }
}
