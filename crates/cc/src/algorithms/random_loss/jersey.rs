//! TCP Jersey: the first of the New Jersey family, with the sender's clock.
//!
//! K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for Wireless IP Communications", IEEE JSAC 22(4), 2004.
//! The paper was not available. The code follows its accounts in T. Saedi, "Congestion Control
//! Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 2.2.8, and in
//! A. Briones et al., Electronics 10, 987, section 3, and the implementation of V. Jain, S. Jain and
//! M. Tahiliani for ns-3.
//!
//! * bandwidth: `R_n = (RTT*R_{n-1} + L_n)/((t_n - t_{n-1}) + RTT)`, t_n the arrival of
//!   acknowledgment n
//! * optimal window `ownd = R_n*RTT`; rate control: `ssthresh = ownd`, `cwnd = min(cwnd, ownd)`
//! * congestion warning: routers mark every packet while their average queue is long
//! * an acknowledgment or a loss with a mark: rate control; a loss without one: retransmission only
//! * timeout: `ssthresh = ownd`, one segment
//!
//! Units: bytes, seconds.
//!
//! **Physics, limits.** Those of `newjersey.rs`, which differs in two points: it measures by the
//! receiver's clock, so that acknowledgments that are bunched or lost on the way back do not count,
//! and it leaves more than a segment after a timeout without a mark. Here bunched acknowledgments
//! raise R for a round trip. Where routers do not mark, no loss reduces the window: beside a queue
//! that only drops, the window grows without bound and most packets are lost.
//!
//! **Choices where the source is silent.** As in `newjersey.rs`. After a timeout the window is one
//! segment, as in ns-3's implementation.

use crate::algorithms::random_loss::newjersey::NewJersey;
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "jersey",
    code: code!(
        "algorithms/random_loss/jersey.rs",
        "algorithms/random_loss/newjersey.rs"
    ),
    summary: "Reno that reduces the window only on ECN marks, to the rate of its acknowledgments \
              times the RTT",
    citation: "K. Xu, Y. Tian, N. Ansari, \"TCP-Jersey for Wireless IP Communications\", IEEE JSAC \
               22(4), 2004",
    parameters: &[],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::LossesAndRate,
        build: |setup, _| {
            Box::new(
                WindowController::new(setup, NewJersey::jersey())
                    .with_transport_features(TransportFeatures::MARKS),
            )
        },
    },
    look: Look::of(45, 9),
    ..Entry::BLANK
};

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Loss, Verdict};
    use crate::testing::{ACK, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    #[test]
    fn the_clock_is_the_senders_and_a_timeout_leaves_a_segment() {
        // 200 segments a second by the acknowledgments: ownd is 20 segments at 100 ms. The
        // receiver's clock, by which they came twice as fast, does not count.
        let mut controller = built("jersey", 40);
        for i in 0..2000 {
            controller.on_ack(&Ack {
                now: Time::ZERO + Duration::from_micros(5000 * i),
                receiver_time: Some(Time::ZERO + Duration::from_micros(2500 * i)),
                cwnd_limited: false,
                ..ACK
            });
        }
        let unmarked = controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(unmarked.verdict, Some(Verdict::Random));
        assert_eq!(segments(&*controller), 40.0);
        let marked = Loss {
            ece: true,
            ..loss(&*controller, Time::ZERO)
        };
        assert!(controller.on_loss(&marked).reduced);
        assert!((segments(&*controller) - 20.0).abs() < 0.05);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(controller.cwnd(), Bytes::new(MSS));
        let ssthresh = controller.ssthresh().expect("set").get();
        assert!((ssthresh as f64 / 20_000.0 - 1.0).abs() < 0.01);
    }
}
