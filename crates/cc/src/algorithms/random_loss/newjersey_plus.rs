//! TCP New Jersey+: New Jersey that uses the greater of two estimates and grows after a random
//! loss.
//!
//! J. Kim, J. Koo, H. Choo, "TCP NJ+: Packet Loss Differentiated Transmission Mechanism Robust to
//! High BER Environments", NETWORKING 2007, LNCS 4479. Only its abstract was available. The code
//! follows T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead
//! University, 2019, section 2.2.9 and its two listings.
//!
//! * `Rs_n` and `Rr_n`: equation 2.6 of New Jersey (`newjersey.rs`), with the arrival times of ACKs
//!   at the sender and of data at the receiver; `R_n = max(Rs_n, Rr_n)`
//! * loss without a mark: `ssthresh = ownd_n`, and cwnd grows by one segment
//! * all other rules are New Jersey's, timeouts included
//!
//! **Physics.** Traffic on the forward path spreads data, and on the return path ACKs. Each lowers
//! one estimate between bunches and raises it within them. The greater one is what arrived at one
//! end in the last round trip, at the better end: it errs upwards. With ssthresh at ownd, a smaller
//! window returns there in slow start.
//!
//! **When it works, and limits.** As New Jersey: routers have to mark. Random losses end its slow
//! start, which New Jersey's do not. Where no packets are marked, each loss adds a segment, also
//! that of an overflow.
//!
//! **Departures.** The segment is not added when the loss is found but with the first ACK that may
//! let the window grow: a loss is no reason to send more, and this growth is subject to the same
//! conditions as any other (RFC 7661). Losses before such an ACK add one segment together. Without
//! receiver times both estimates are the same.

use crate::algorithms::random_loss::newjersey::{KEEPS, Keeps, NewJersey};
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newjersey-plus",
    code: code!(
        "algorithms/random_loss/newjersey_plus.rs",
        "algorithms/random_loss/newjersey.rs"
    ),
    summary: "New Jersey with the greater of two estimates; grows by one segment at each random \
              loss",
    citation: "J. Kim, J. Koo, H. Choo, \"TCP NJ+: Packet Loss Differentiated Transmission \
               Mechanism Robust to High BER Environments\", NETWORKING 2007, LNCS 4479",
    parameters: &[KEEPS],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::LossesAndRate,
        build: |setup, values| {
            Box::new(
                WindowController::new(setup, NewJersey::plus(Keeps::of(values)))
                    .with_transport_features(
                        TransportFeatures::MARKS.union(TransportFeatures::RECEIVER_TIMES),
                    ),
            )
        },
    },
    old_name: Some("newjersey+"),
    look: Look::of(17, 7),
    without_receiver_clock: Some("it measured rates by the arrival of acknowledgments"),
    ..Entry::BLANK
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{Ack, Controller, Loss, LossResponse, Verdict};
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    /// The time of the i-th arrival, in milliseconds.
    type Times = fn(u64) -> u64;

    /// A controller that has received ACKs for 200 segments per second at the times `came`, for
    /// data that arrived at the times `arrived`: with an RTT of 100 ms, 20 segments per round trip.
    fn measuring(window: u64, came: Times, arrived: Times) -> WindowController<NewJersey> {
        let mut controller =
            WindowController::new(&setup(window), NewJersey::plus(Keeps::Estimates));
        for i in 0..2000 {
            controller.on_ack(&Ack {
                now: Time::ZERO + Duration::from_millis(came(i)),
                receiver_time: Some(Time::ZERO + Duration::from_millis(arrived(i))),
                cwnd_limited: false,
                ..ACK
            });
        }
        controller
    }

    fn even(i: u64) -> u64 {
        5 * i
    }

    /// Ten at once every 50 ms; just after, the estimate is 29 segments per round trip (see New
    /// Jersey's test).
    fn bunched(i: u64) -> u64 {
        i / 10 * 50
    }

    fn lose(controller: &mut WindowController<NewJersey>, ece: bool) -> LossResponse {
        controller.on_loss(&Loss {
            ece,
            ..loss(controller, Time::ZERO)
        })
    }

    #[test]
    fn the_greater_of_two_estimates_is_used() {
        let ways: [(Times, Times, f64); 3] = [
            (even, even, 20.0),
            (bunched, even, 29.0),
            (even, bunched, 29.0),
        ];
        for (came, arrived, expected) in ways {
            let mut controller = measuring(40, came, arrived);
            lose(&mut controller, true);
            let left = segments(&controller);
            assert!((left / expected - 1.0).abs() < 0.005, "{left}");
        }
    }

    #[test]
    fn a_random_loss_sets_ssthresh_and_adds_one_segment_later() {
        let mut controller = measuring(30, even, even);
        let response = lose(&mut controller, false);
        assert_eq!(
            (response.reduced, response.verdict),
            (false, Some(Verdict::Random))
        );
        let ssthresh = controller.ssthresh().expect("set").get();
        assert!((19_900..=20_100).contains(&ssthresh), "{ssthresh}");
        assert_eq!(segments(&controller), 30.0);
        controller.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(
            segments(&controller),
            30.0,
            "this ACK may not grow the window"
        );
        controller.on_ack(&ACK);
        assert_eq!(segments(&controller), 31.0);
        controller.on_ack(&ACK);
        assert_eq!(
            segments(&controller),
            31.0,
            "only once; then growth is Reno's"
        );
    }

    #[test]
    fn a_small_window_returns_to_the_estimate_in_slow_start() {
        let mut controller = measuring(10, even, even);
        lose(&mut controller, false);
        assert_eq!(controller.phase(), "slow start");
        // One for the loss and one for each ACK; in congestion avoidance it would be about one for
        // all.
        for _ in 0..5 {
            controller.on_ack(&Ack {
                receiver_time: None,
                ..ACK
            });
        }
        assert_eq!(segments(&controller), 16.0);
    }

    #[test]
    fn a_reduction_or_a_timeout_cancels_the_pending_segment() {
        let mut controller = measuring(30, even, even);
        lose(&mut controller, false);
        lose(&mut controller, true);
        let left = controller.cwnd();
        assert!((19_900..=20_100).contains(&left.get()), "{left}");
        controller.on_ack(&ACK);
        assert_eq!(controller.cwnd(), left);

        let mut controller = measuring(30, even, even);
        lose(&mut controller, false);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        let left = controller.cwnd();
        controller.on_ack(&ACK);
        assert!(controller.cwnd() - left < Bytes::new(MSS));
    }
}
