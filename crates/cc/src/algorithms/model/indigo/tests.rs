//! The network against PyTorch's scores, and what the algorithm does with them.

use super::*;
use crate::interface::AtSending;
use crate::registry::Spec;
use crate::registry::entry::Setup;
use crate::testing::{ACK, MSS, built, setup, timeout};

/// Steps of one sequence: nine inputs, and PyTorch's five scores, by `train/indigo.py`.
const VECTORS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/data/indigo/vectors.txt"
));

#[test]
fn the_network_gives_pytorchs_scores() {
    let mut memory = Memory::NEW;
    let mut steps = 0;
    let mut actions = [0; ACTIONS];
    for line in VECTORS.lines() {
        let numbers: Vec<f32> = line
            .split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect();
        let (input, expected) = numbers.split_at(INPUTS);
        let scores = memory.step(&WEIGHTS, input.try_into().expect("nine inputs"));
        assert_eq!(expected.len(), ACTIONS);
        for (score, expected) in scores.iter().zip(expected) {
            let error = (score - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-5, "step {steps}: {scores:?}, not {expected}");
        }
        let best = (0..ACTIONS).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        actions[best.expect("five")] += 1;
        steps += 1;
    }
    assert_eq!(steps, 200);
    // The sequence decides something.
    assert!(
        actions.iter().filter(|n| **n > 0).count() >= 3,
        "{actions:?}"
    );
}

#[test]
fn the_file_of_weights_has_all_of_them() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/indigo/weights.f32");
    let length = std::fs::metadata(file).expect("a file").len();
    assert_eq!(length, 4 * network::WEIGHTS as u64);
    assert!(WEIGHTS.is_finite());
}

#[test]
fn missing_weights_are_zero() {
    let mut memory = Memory::NEW;
    let scores = memory.step(&Weights::new(&[]), &[1.0; INPUTS]);
    assert_eq!(scores, [0.0; ACTIONS]);
}

#[test]
fn actions_change_the_window_as_in_the_paper() {
    let after = [0, 1, 2, 3, 4].map(|action| act(100.0, action));
    assert_eq!(after, [50.0, 90.0, 100.0, 110.0, 200.0]);
    assert_eq!((act(3.0, 0), act(3.0, 1)), (2.0, 2.0));
    assert_eq!(act(20_000.0, 4), 25_000.0);
}

#[test]
fn inputs_are_logarithms_and_the_last_action() {
    let mut features = Features::default();
    (
        features.delay_ms,
        features.delivery_mbps,
        features.send_mbps,
    ) = (0.0, 1.0, 99.0);
    let (ln2, ln100) = (2f32.ln(), 100f32.ln());
    let expected = [0.0, ln2, ln100, ln100, 0.0, 0.0, 0.0, 1.0, 0.0];
    assert_eq!(input(&features, 100.0, 3), expected);
}

/// An acknowledgment `rtt` ms after its packet was sent, of a flow with `in_flight` packets.
fn ack(ms: u64, delivered: u64, in_flight: u64, rtt: u64) -> Ack {
    Ack {
        now: Time::from_nanos(ms * 1_000_000),
        rtt: Some(Duration::from_millis(rtt)),
        min_rtt: Duration::from_millis(80),
        in_flight: Bytes::new(in_flight * MSS),
        delivered: Bytes::new(delivered * MSS),
        lost: Bytes::new(2 * MSS),
        newest: Some(AtSending {
            sent: Time::from_nanos(ms.saturating_sub(rtt) * 1_000_000),
            in_flight: Bytes::new(10 * MSS),
            delivered: Bytes::new(50 * MSS),
            lost: Bytes::new(MSS),
            app_limited: false,
            retransmitted: false,
        }),
        ..ACK
    }
}

#[test]
fn averages_are_those_of_the_paper() {
    let mut features = Features::default();
    // Without a sample nothing changes.
    features.on_ack(&Ack {
        rtt: None,
        ..ack(0, 70, 12, 100)
    });
    features.on_ack(&Ack {
        newest: None,
        ..ack(0, 70, 12, 100)
    });
    assert_eq!(features.send_mbps, 0.0);
    // 20 packets of 1000 bytes are delivered in 100 ms: 1.6 Mbit/s. Sent: 70 + 2 + 12 packets less
    // 50 + 1 + 10, 23 in all: 1.84 Mbit/s.
    features.on_ack(&ack(100, 70, 12, 100));
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");
    close(features.delay_ms, 20.0);
    close(features.delivery_mbps, 1.6);
    close(features.send_mbps, 1.84);
    // The next sample, of 30 packets in 200 ms and 120 ms of queue, counts an eighth.
    features.on_ack(&ack(200, 80, 2, 200));
    close(features.delay_ms, 20.0 + (120.0 - 20.0) / 8.0);
    close(features.delivery_mbps, 1.6 + (1.2 - 1.6) / 8.0);
    close(features.send_mbps, 1.84 + (23.0 * 0.04 - 1.84) / 8.0);
}

#[test]
fn it_acts_once_in_ten_milliseconds_and_only_at_acknowledgments() {
    let mut indigo = built("indigo", 10);
    let mut changes = Vec::new();
    for ms in (1..=100).chain([500, 501, 502]) {
        let before = indigo.cwnd();
        indigo.on_ack(&ack(ms, 70, 12, 100));
        if indigo.cwnd() != before {
            changes.push(ms);
        }
    }
    assert!(!changes.is_empty() && changes.iter().all(|ms| ms % 10 == 1 || *ms == 500));
    assert!(indigo.cwnd() >= Bytes::new(2 * MSS));
}

#[test]
fn a_timeout_halves_the_window_and_a_loss_keeps_it() {
    let mut indigo = built("indigo", 100);
    let event = crate::testing::loss(&*indigo, Time::ZERO);
    assert_eq!(indigo.on_loss(&event), LossResponse::KEPT);
    assert_eq!(indigo.cwnd(), Bytes::new(100 * MSS));
    let event = timeout(&*indigo, Time::ZERO);
    indigo.on_timeout(&event);
    assert_eq!(indigo.cwnd(), Bytes::new(50 * MSS));
}

#[test]
fn a_transport_that_paces_sends_at_once() {
    let entry = "indigo".parse::<Spec>().expect("valid");
    let paced = |paced| {
        let built = entry.build(&Setup { paced, ..setup(10) });
        built.expect("fed acknowledgments")
    };
    assert_eq!(paced(false).pacing_rate(), None);
    // A packet of 1500 bytes in 12 ns.
    let rate = paced(true).pacing_rate().expect("a rate");
    assert!(rate.time_for(Bytes::new(1500)) <= Duration::from_nanos(12));
}
