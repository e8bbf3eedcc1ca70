//! What a fade costs: its length, and the wait for the next retransmission after it.

use crate::*;

/// When the fade begins, in milliseconds: the flow fills the link by then, and its estimate of the
/// RTT variation has forgotten the beginning.
const BEGINS: f64 = 40_000.0;

/// From the end of a fade of both directions until new data arrives, in milliseconds.
fn idle(controller: &str, settings: TcpSettings, fade_s: f64, delay: f64) -> f64 {
    let mut network = path(1_000_000, settings.recovery);
    tcp(&mut network).controller = controller.parse().expect("registered");
    tcp(&mut network).settings = settings;
    network.sample = Some(ms(20.0));
    network.duration = Duration::from_secs(120);
    let ends = BEGINS + fade_s * 1000.0;
    for link in &mut network.links {
        link.spec.queue = QueueLimit::Packets(100);
        link.spec.delay = Delay::constant(ms(delay));
        link.spec.loss.outages = vec![Outage {
            from: at(BEGINS),
            to: at(ends),
        }];
    }
    let (_, flow) = play(&network);
    // The last packets before the fade have arrived by the middle of it.
    let middle = at((BEGINS + ends) / 2.0);
    let before = flow.samples.iter().rfind(|s| s.at < middle);
    let before = before.expect("sampled").delivered;
    let back = flow.samples.iter().find(|s| s.delivered > before);
    let back = back.expect("it continues").at;
    back.as_secs_f64() * 1000.0 - ends
}

fn settings(min_rto: f64, max_rto: f64) -> TcpSettings {
    TcpSettings {
        min_rto: ms(min_rto),
        max_rto: ms(max_rto),
        ..TcpSettings::default()
    }
}

#[test]
fn with_a_capped_back_off_a_fade_costs_at_most_a_second_more() {
    for controller in ["newreno", "cubic", "bbr", "vegas", "cerl"] {
        for recovery in ALL {
            for fade in [5.0, 10.0, 30.0] {
                let settings = TcpSettings {
                    recovery,
                    ..settings(200.0, 1000.0)
                };
                let idle = idle(controller, settings, fade, 50.0);
                // The segment that gets through needs 51.2 ms; samples are 20 ms apart.
                assert!(
                    idle <= 1000.0 + 72.0,
                    "{controller} {recovery:?}: idle for {idle} ms after a fade of {fade} s"
                );
            }
        }
    }
}

#[test]
fn without_a_cap_a_fade_costs_up_to_its_length_more() {
    // The last acknowledgment arrives up to a round trip after the fade begins: what has passed the
    // link arrives. The n-th retransmission is 2^n - 1 timeouts of a second later.
    for (fade, timeouts) in [(5.0, 7.0), (10.0, 15.0), (30.0, 31.0)] {
        let settings = TcpSettings {
            recovery: Recovery::Sack,
            ..settings(1000.0, 60_000.0)
        };
        let idle = idle("cubic", settings, fade, 50.0);
        let expected = (timeouts - fade) * 1000.0;
        assert!(
            (expected..expected + 250.0).contains(&idle),
            "idle for {idle} ms after a fade of {fade} s, {expected} expected"
        );
    }
}

#[test]
fn a_cap_below_the_round_trip_time_causes_no_spurious_timeouts() {
    // A round trip of 1.6 s, and a cap of a second.
    for recovery in ALL {
        let mut network = path(2000, recovery);
        for link in &mut network.links {
            link.spec.delay = Delay::constant(ms(800.0));
        }
        tcp(&mut network).settings = TcpSettings {
            recovery,
            ..settings(200.0, 1000.0)
        };
        let (_, flow) = play(&network);
        let handshake = "the timeout is a second before the first sample";
        assert!(
            flow.timeouts <= 1,
            "{recovery:?}: {}, {handshake}",
            flow.timeouts
        );
    }
    let idle = idle("cubic", settings(200.0, 1000.0), 30.0, 800.0);
    // A timeout of SRTT + 4 RTTVAR, with up to 120 ms of queue, and the way to the receiver.
    let rtt = 1600.0 + 120.0;
    assert!(idle < rtt + 1000.0 + 800.0, "idle for {idle} ms");
}

#[test]
fn a_round_trip_that_rises_above_the_cap_is_learned() {
    // From 0.1 s to 3 s during the transfer. Without timestamps no retransmitted segment gives a
    // sample (Karn's rule), and a timeout that stayed at a second would retransmit all of them for
    // ever.
    let transfer = |timestamps, max_rto| {
        let mut network = path(3000, Recovery::Sack);
        let steps = vec![(at(0.0), ms(50.0)), (at(2000.0), ms(1500.0))];
        for link in &mut network.links {
            link.spec.delay = Delay::steps(Schedule::steps(steps.clone()).expect("in order"));
        }
        tcp(&mut network).settings = TcpSettings {
            recovery: Recovery::Sack,
            timestamps,
            ..settings(200.0, max_rto)
        };
        play(&network).1
    };
    for timestamps in [true, false] {
        let (capped, standard) = (transfer(timestamps, 1000.0), transfer(timestamps, 60_000.0));
        let later = completion(&capped) - completion(&standard);
        assert!(later < 3000.0, "{later} ms later, timestamps {timestamps}");
        assert!(
            capped.timeouts <= standard.timeouts + 3,
            "{}",
            capped.timeouts
        );
    }
}

#[test]
fn probes_in_silence_find_a_path_that_is_back_within_a_quarter_second() {
    for controller in ["newreno", "cubic", "bbr", "whimbrel"] {
        for fade in [1.0, 5.0, 10.0, 30.0] {
            let settings = TcpSettings {
                probes_in_silence: Some(true),
                ..settings(1000.0, 60_000.0)
            };
            let idle = idle(controller, settings, fade, 50.0);
            // A probe's interval, and half a round trip with a packet; samples are 20 ms apart.
            assert!(
                idle <= 250.0 + 50.0 + PACKET + 20.0,
                "{controller}: idle for {idle} ms after a fade of {fade} s"
            );
        }
    }
}

/// A segment and its retransmission are lost, and all others are SACKed, the last one too.
#[test]
fn a_probe_in_silence_repeats_what_was_lost_twice() {
    let lasts = |probes| {
        let text = format!(
            "[link.L]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n\
             loss = {{ drops = [\"105 ms\", \"150 ms\"] }}\n\
             [[flow]]\nroute = [\"L\"]\ncontroller = \"cubic\"\nsize = \"14 kB\"\n\
             probes_in_silence = {probes}\n[run]\nduration = \"9 s\"\n"
        );
        let scenario = Scenario::parse(&text, Path::new("twice.toml")).expect("a scenario");
        let flow = &run(&scenario.points()[0].network(1)).flows[0];
        (completion(flow), flow.timeouts)
    };
    let (timer, probed) = (lasts(false), lasts(true));
    assert!(
        timer.0 > 1200.0 && timer.1 == 1,
        "{timer:?}: the timeout of a second"
    );
    assert!(probed.0 < 700.0 && probed.1 == 0, "{probed:?}");
}
