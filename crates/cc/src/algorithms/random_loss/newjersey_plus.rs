//! TCP New Jersey+: New Jersey that trusts the greater of two estimates and pushes on after a random loss.
//!
//! J. Kim, J. Koo, H. Choo, "TCP NJ+: Packet Loss Differentiated Transmission Mechanism Robust to High BER Environments",
//! NETWORKING 2007, LNCS 4479. Only its abstract could be read; what stands here is from T. Saedi, "Congestion
//! Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 2.2.9 with its two
//! listings.
//!
//! * `Rs_n` and `Rr_n`: equation 2.6 of New Jersey (`newjersey.rs`), by the times when ACKs came to the sender and by those
//!   when data came to the receiver; `R_n = max(Rs_n, Rr_n)`
//! * loss without a mark: `ssthresh = ownd_n`, and cwnd grows by one segment
//! * all else is New Jersey's, timeouts too
//!
//! **The physics.** Traffic on the way there spreads data, and on the way back ACKs; each lowers one estimate between
//! bunches and raises it in them. The greater of the two is what arrived at one end in the last round trip, at the best
//! end: it errs upwards. With ssthresh at ownd a window that is lower returns there in slow start.
//!
//! **When it works, and when not.** As New Jersey: routers have to mark. Random losses end its slow start, which New
//! Jersey's do not; but where nothing is marked each loss even adds a segment, the overflow's too.
//!
//! **Where it departs.** The segment is not added when the loss is found but with the first ACK that may make a window grow:
//! news of a loss is no reason to send more, and the growth must be earned as any other (RFC 7661). Losses that come
//! before such an ACK add one together. Without the receiver's clock both estimates are the same.

use crate::algorithms::random_loss::newjersey::NewJersey;
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newjersey+",
    code: code!(
        "algorithms/random_loss/newjersey_plus.rs",
        "algorithms/random_loss/newjersey.rs"
    ),
    summary: "New Jersey by the greater of two estimates, which grows by a segment at each random loss",
    citation: "J. Kim, J. Koo, H. Choo, \"TCP NJ+: Packet Loss Differentiated Transmission Mechanism Robust to High BER \
               Environments\", NETWORKING 2007, LNCS 4479",
    family: Family::RandomLoss,
    driven_by: DrivenBy::LossesAndRate,
    feed: Feed::Acknowledgments,
    parameters: &[],
    build: |setup, _| {
        Box::new(
            WindowController::new(setup, NewJersey::plus())
                .with_transport_features(TransportFeatures::MARKS),
        )
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{Ack, Controller, Loss, LossResponse, Verdict};
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    /// When the i-th came, in milliseconds.
    type Times = fn(u64) -> u64;

    /// Has heard ACKs for 200 segments a second at these times, in milliseconds, for data that arrived at those: with an
    /// RTT of 100 ms, 20 segments in a round trip.
    fn measuring(window: u64, came: Times, arrived: Times) -> WindowController<NewJersey> {
        let mut law = WindowController::new(&setup(window), NewJersey::plus());
        for i in 0..2000 {
            law.on_ack(&Ack {
                now: Time::ZERO + Duration::from_millis(came(i)),
                receiver_time: Some(Time::ZERO + Duration::from_millis(arrived(i))),
                cwnd_limited: false,
                ..ACK
            });
        }
        law
    }

    fn even(i: u64) -> u64 {
        5 * i
    }

    /// Ten at once every 50 ms; just after, 29 segments seem to come in a round trip (see New Jersey's test).
    fn bunched(i: u64) -> u64 {
        i / 10 * 50
    }

    fn lose(law: &mut WindowController<NewJersey>, ece: bool) -> LossResponse {
        law.on_loss(&Loss {
            ece,
            ..loss(law, Time::ZERO)
        })
    }

    #[test]
    fn the_greater_of_the_two_estimates_counts() {
        let ways: [(Times, Times, f64); 3] = [
            (even, even, 20.0),
            (bunched, even, 29.0),
            (even, bunched, 29.0),
        ];
        for (came, arrived, expected) in ways {
            let mut law = measuring(40, came, arrived);
            lose(&mut law, true);
            let left = segments(&law);
            assert!((left / expected - 1.0).abs() < 0.005, "{left}");
        }
    }

    #[test]
    fn a_random_loss_sets_ssthresh_and_adds_a_segment_with_the_next_ack_that_may_grow() {
        let mut law = measuring(30, even, even);
        let response = lose(&mut law, false);
        assert_eq!(
            (response.reduced, response.verdict),
            (false, Some(Verdict::Random))
        );
        let ssthresh = law.ssthresh().expect("set").get();
        assert!((19_900..=20_100).contains(&ssthresh), "{ssthresh}");
        assert_eq!(segments(&law), 30.0);
        law.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(segments(&law), 30.0, "not earned");
        law.on_ack(&ACK);
        assert_eq!(segments(&law), 31.0);
        law.on_ack(&ACK);
        assert_eq!(segments(&law), 31.0, "once; the rest is Reno's");
    }

    #[test]
    fn a_small_window_returns_to_the_estimate_in_slow_start() {
        let mut law = measuring(10, even, even);
        lose(&mut law, false);
        assert_eq!(law.phase(), "slow start");
        // One for the loss and one for each ACK; in congestion avoidance it would be about one for all.
        for _ in 0..5 {
            law.on_ack(&Ack {
                receiver_time: None,
                ..ACK
            });
        }
        assert_eq!(segments(&law), 16.0);
    }

    #[test]
    fn a_reduction_or_a_timeout_takes_back_the_segment_that_was_not_yet_added() {
        let mut law = measuring(30, even, even);
        lose(&mut law, false);
        lose(&mut law, true);
        let left = law.cwnd();
        assert!((19_900..=20_100).contains(&left.get()), "{left}");
        law.on_ack(&ACK);
        assert_eq!(law.cwnd(), left);

        let mut law = measuring(30, even, even);
        lose(&mut law, false);
        law.on_timeout(&timeout(&law, Time::ZERO));
        let left = law.cwnd();
        law.on_ack(&ACK);
        assert!(law.cwnd() - left < Bytes::new(MSS));
    }
}
