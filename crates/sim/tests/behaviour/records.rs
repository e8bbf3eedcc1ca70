//! What a run records: verdicts, loss episodes and samples.

use crate::*;

#[test]
fn verdicts_are_compared_with_the_causes_of_drops() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    tcp(&mut network).controller = "cerl".parse().expect("registered");
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    network.links[0].spec.loss.random = Probability::new(0.001).expect("a probability");
    let (_, flow) = play(&network);
    let c = flow.discrimination.expect("CERL classifies losses");
    let judged = c.congestion_as_congestion
        + c.congestion_as_random
        + c.random_as_congestion
        + c.random_as_random
        + c.spurious;
    assert_eq!(judged, flow.loss_episodes);
    assert!(flow.lost.queue_overflow > 0 && flow.lost.random > 0);
    assert!(
        c.congestion_as_congestion > 0 && c.random_as_random > 0,
        "{c:?}"
    );
    // CERL is designed for one bottleneck with a queue of 1 BDP.
    assert!(c.accuracy().is_some_and(|a| a > 0.8), "{c:?}");
    // CERL is always sure.
    let wrong = c.congestion_as_random + c.random_as_congestion;
    assert_eq!(c.squared_error, wrong as f64);
}

#[test]
fn a_graded_confidence_gives_a_brier_score_between_those_of_verdicts() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    tcp(&mut network).controller = "whimbrel".parse().expect("registered");
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(20_000));
    network.links[0].spec.loss.random = Probability::new(0.01).expect("a probability");
    let (_, flow) = play(&network);
    let c = flow.discrimination.expect("Whimbrel classifies losses");
    let brier = c.brier().expect("losses");
    assert!((0.0..=1.0).contains(&brier), "{c:?}");
    // Some of its confidences are neither 0 nor 1.
    let wrong = (c.congestion_as_random + c.random_as_congestion) as f64;
    assert!((c.squared_error - wrong).abs() > 1e-3, "{c:?}");
}

#[test]
fn an_episode_lasts_from_the_third_duplicate_to_the_full_ack() {
    let mut network = path(40, Recovery::NewReno);
    network.sample = Some(ms(10.0));
    network.links[0].spec.loss.drops = vec![at(leaves(3))];
    let (_, flow) = play(&network);
    let [episode] = flow.episodes.as_slice() else {
        panic!("{:?}", flow.episodes)
    };
    // Segments 4 to 6 cause the duplicates; an acknowledgment of 52 bytes takes 0.0416 ms.
    let third = leaves(6) + 50.0 + 0.0416 + 50.0;
    assert!(
        (episode.at.as_secs_f64() * 1e3 - third).abs() < 0.001,
        "{episode:?}"
    );
    // Segments 1 and 2 were acknowledged together: the window is 12 segments, and 12 are in flight
    // without those of limited transmit.
    assert_eq!(episode.cwnd, Bytes::new(12 * MSS));
    assert_eq!(episode.in_flight, Bytes::new(12 * MSS));
    assert!(episode.reduced && !episode.timeout);
    // Two segments of limited transmit are ahead of the retransmission in the queue; its
    // acknowledgment covers all of them.
    let ended = episode.ended.expect("it ends").as_secs_f64() * 1e3;
    assert!(
        (ended - third - (3.0 * PACKET + 100.0416)).abs() < 0.001,
        "{ended}"
    );
    // The window is 6 afterwards: samples show the window of the controller without inflation.
    let during = flow.samples.iter().filter(|s| {
        let ms = s.at.as_secs_f64() * 1e3;
        ms > third && ms < ended
    });
    let windows: Vec<u64> = during.map(|s| s.cwnd.get() / MSS).collect();
    assert_eq!(windows, vec![6; windows.len()]);
    assert!(windows.len() > 5);
    network.sample = None;
    assert_eq!(play(&network).1.episodes, []);
}

#[test]
fn a_timeout_is_an_episode_that_lasts_during_an_outage() {
    let mut network = path(10_000, Recovery::Rack);
    network.sample = Some(ms(100.0));
    network.duration = Duration::from_secs(15);
    network.links[0].spec.loss.outages = vec![Outage {
        from: at(1000.0),
        to: at(90_000.0),
    }];
    let (_, flow) = play(&network);
    let timeouts: Vec<_> = flow.episodes.iter().filter(|e| e.timeout).collect();
    assert_eq!(timeouts.len() as u64, flow.timeouts);
    assert!(timeouts.len() >= 2, "{timeouts:?}");
    assert!(timeouts.iter().all(|e| e.ended.is_none() && e.reduced));
    assert_eq!(
        flow.episodes.len() as u64,
        flow.timeouts + flow.loss_episodes
    );
}

#[test]
fn ack_spacing_on_a_full_link_is_that_of_the_packets() {
    for (ack_every, spacing) in [(1, PACKET), (2, 2.0 * PACKET)] {
        let mut network = path(100_000, Recovery::Rack);
        tcp(&mut network).settings.ack_every = ack_every;
        network.sample = Some(ms(777.0));
        network.duration = Duration::from_secs(5);
        let (_, flow) = play(&network);
        let samples: Vec<_> = flow.samples.iter().skip(2).collect();
        assert!(samples.len() > 3);
        for sample in samples {
            let found = sample.ack_spacing.expect("there were two").as_millis_f64();
            assert!((found - spacing).abs() < 1e-5, "{found}");
        }
        // 10 Mbit/s from 0.15 s to the end: the sent bytes are those plus the queue.
        let last = flow.samples.last().expect("sampled");
        assert!(last.sent.get() as f64 > 10e6 / 8.0 * (last.at.as_secs_f64() - 0.6));
        assert!(last.sent <= flow.sent_on_wire);
    }
}
