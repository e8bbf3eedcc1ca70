//! The algorithms that use the receiver's times declare it, and no others.

use whimbrel_cc::registry::{self, Spec};
use whimbrel_cc::{Ack, AtSending, Loss, LossResponse, Setup, Signal};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const MSS: Bytes = Bytes::new(1000);
const RTT: Duration = Duration::from_millis(100);
/// Acknowledgments per round trip.
const ROUND: u64 = 20;

/// What an algorithm answers: its window, its pacing rate, and its response to a loss.
type Answer = (Bytes, Option<Rate>, Option<LossResponse>);

/// All answers of an algorithm. Acknowledgments arrive four at a time, and data in the first half
/// of each round trip: the receiver's clock sees a bandwidth that the sender's does not.
fn answers(spec: &Spec, receiver_times: bool) -> Vec<Answer> {
    let built = spec.build(&Setup {
        mss: MSS,
        initial_window: MSS.times(ROUND),
        paced: false,
        ssthresh: Some(MSS.times(ROUND)),
        growth: Default::default(),
        seed: 1,
        time_of_day: Default::default(),
        saved: None,
    });
    let mut controller = built.expect("fed acknowledgments");
    let mut answers = Vec::new();
    for i in 0..ROUND * 20 {
        let sent = Time::ZERO + RTT * i / ROUND;
        let arrived = Time::ZERO + RTT * (i / ROUND) + RTT * (i % ROUND) / (2 * ROUND);
        // Four arrive at the time of the last of them.
        let now = Time::ZERO + RTT * (i / 4 * 4 + 3) / ROUND + RTT;
        controller.on_ack(&Ack {
            now,
            acked: MSS,
            rtt: Some(now.since(sent)),
            srtt: RTT,
            min_rtt: RTT,
            in_flight: MSS.times(ROUND),
            delivered: MSS.times(i + 1),
            delivery_rate: None,
            app_limited: false,
            cwnd_limited: true,
            in_recovery: false,
            round_start: i % ROUND == 0,
            receiver_time: receiver_times.then_some(arrived),
            lost: Bytes::ZERO,
            newest: Some(AtSending {
                sent,
                in_flight: MSS.times(ROUND),
                delivered: MSS.times(i.saturating_sub(ROUND)),
                lost: Bytes::ZERO,
                app_limited: false,
                retransmitted: false,
            }),
            ece: false,
        });
        let signal = match i {
            150 => Some(Signal::Loss),
            350 => Some(Signal::Ecn),
            _ => None,
        };
        let response = signal.map(|signal| {
            controller.on_loss(&Loss {
                now,
                signal,
                in_flight: MSS.times(ROUND),
                lost: MSS,
                lost_order: i,
                next_order: i + ROUND,
                sent,
                ece: signal == Signal::Ecn,
                truth: None,
            })
        });
        answers.push((controller.cwnd(), controller.pacing_rate(), response));
    }
    answers
}

#[test]
fn an_algorithm_declares_receiver_times_if_and_only_if_it_uses_them() {
    let fed = registry::CONTROLLERS.iter().filter(|e| !e.is_fed_bursts());
    let alone = fed.map(|e| e.name.to_owned());
    let with = |e: &&registry::ClassifierEntry| format!("newreno+{}", e.name);
    let on_reno = registry::CLASSIFIERS.iter().map(with);
    for name in alone.chain(on_reno) {
        let spec: Spec = name.parse().expect("registered");
        let differ = answers(&spec, true) != answers(&spec, false);
        let declared = spec.transport_features().receiver_times;
        assert_eq!(declared, differ, "{name}: declared, differ");
    }
}

#[test]
fn a_classifier_adds_its_requirement_to_that_of_the_algorithm() {
    let features = |name: &str| {
        let spec: Spec = name.parse().expect("registered");
        spec.transport_features()
    };
    assert!(features("cubic+ltd").receiver_times);
    assert!(features("cubic+jitter-or-level").receiver_times);
    assert!(!features("cubic+cerl").receiver_times);
    let both = features("sctp+ltd");
    assert!(both.receiver_times && both.streams && !both.nack);
}
