//! The requirements of RFC 9959, section by section.

use super::*;
use crate::interface::Signal;
use crate::registry::Spec;
use crate::testing::{ACK, MSS, setup};
use whimbrel_units::Duration;

const RTT: Duration = Duration::from_millis(100);

/// A path that acknowledges what the test says, and the controller on it.
struct Path {
    controller: Box<dyn Controller>,
    now: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
}

fn path(text: &str, saved: u64, saved_rtt: Duration) -> Path {
    let spec: Spec = text.parse().expect("known");
    let saved = SavedPath {
        cwnd: Bytes::new(saved * MSS),
        rtt: saved_rtt,
    };
    let setup = Setup {
        saved: Some(saved),
        ..setup(10)
    };
    Path {
        controller: spec.build(&setup).expect("fed acknowledgments"),
        now: Time::ZERO,
        delivered: 0,
        lost: 0,
        in_flight: 0,
    }
}

impl Path {
    /// Sends until the window is full; segments.
    fn send(&mut self) -> u64 {
        let before = self.in_flight;
        while self.in_flight + MSS <= self.controller.cwnd().get() {
            self.in_flight += MSS;
            let (size, in_flight) = (Bytes::new(MSS), Bytes::new(self.in_flight));
            self.controller.on_sent(self.now, size, in_flight);
        }
        (self.in_flight - before) / MSS
    }

    fn ack_of(&mut self, segments: u64, rtt: Duration) -> Ack {
        self.delivered += segments * MSS;
        self.in_flight -= segments * MSS;
        Ack {
            now: self.now,
            acked: Bytes::new(segments * MSS),
            rtt: Some(rtt),
            srtt: RTT,
            min_rtt: RTT,
            in_flight: Bytes::new(self.in_flight),
            delivered: Bytes::new(self.delivered),
            lost: Bytes::new(self.lost),
            ..ACK
        }
    }

    fn ack(&mut self, segments: u64) {
        let ack = self.ack_of(segments, RTT);
        self.controller.on_ack(&ack);
    }

    fn lose(&mut self, segments: u64) -> LossResponse {
        let in_flight = Bytes::new(self.in_flight);
        self.lost += segments * MSS;
        self.in_flight -= segments * MSS;
        self.controller.on_loss(&Loss {
            now: self.now,
            signal: Signal::Loss,
            in_flight,
            lost: Bytes::new(self.lost),
            lost_order: 0,
            next_order: 1,
            sent: Time::ZERO,
            ece: false,
            truth: None,
        })
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    fn segments(&self) -> u64 {
        self.controller.cwnd().get() / MSS
    }

    /// To the Unvalidated Phase: the initial window is sent and acknowledged.
    fn jump(mut self) -> Self {
        assert_eq!(self.send(), 10);
        self.wait(RTT);
        self.ack(10);
        assert_eq!(self.controller.phase(), "unvalidated");
        self
    }
}

#[test]
fn section_3_2_the_initial_window_is_sent_and_acknowledged_before_anything_else() {
    let mut path = path("cubic", 600, RTT);
    assert_eq!(
        (path.segments(), path.controller.phase()),
        (10, "reconnaissance")
    );
    path.send();
    path.wait(RTT);
    path.ack(9);
    assert_eq!(path.controller.phase(), "reconnaissance");
    path.ack(1);
    assert_eq!(path.controller.phase(), "unvalidated");
}

#[test]
fn section_3_2_a_sender_with_too_little_data_stays_in_reconnaissance() {
    let mut path = path("cubic", 600, RTT);
    path.send();
    path.wait(RTT);
    let ack = path.ack_of(10, RTT);
    path.controller.on_ack(&Ack {
        app_limited: true,
        cwnd_limited: false,
        ..ack
    });
    assert_eq!(path.controller.phase(), "reconnaissance");
}

#[test]
fn section_3_2_congestion_in_reconnaissance_ends_careful_resume() {
    let mut lossy = path("cubic", 600, RTT);
    lossy.send();
    lossy.wait(RTT);
    assert!(lossy.lose(1).reduced);
    lossy.ack(9);
    assert_eq!(
        lossy.segments(),
        7,
        "cubic's own answer, 0.7 of ten segments"
    );
    let mut marked = path("cubic", 600, RTT);
    marked.send();
    marked.wait(RTT);
    let ack = marked.ack_of(10, RTT);
    marked.controller.on_ack(&Ack { ece: true, ..ack });
    assert!(marked.segments() <= 20 && marked.controller.phase() != "unvalidated");
}

#[test]
fn section_3_2_an_rtt_below_half_or_above_ten_times_the_saved_one_is_another_path() {
    let ms = Duration::from_millis;
    for (saved, confirmed) in [
        (9, false),
        (10, true),
        (100, true),
        (200, true),
        (201, false),
    ] {
        let mut path = path("newreno", 600, ms(saved));
        path.send();
        path.wait(RTT);
        path.ack(10);
        let phase = path.controller.phase();
        assert_eq!(phase == "unvalidated", confirmed, "{saved} ms: {phase}");
    }
}

#[test]
fn section_3_3_the_window_is_never_more_than_half_of_the_saved_one() {
    for saved in [121, 130, 600, 10_000] {
        let mut path = path("newreno", saved, RTT).jump();
        let mut most = path.segments();
        while ["unvalidated", "validating"].contains(&path.controller.phase()) {
            path.wait(Duration::from_millis(1));
            path.send();
            path.ack(1);
            most = most.max(path.segments());
        }
        assert!(most <= saved / 2 + 1, "{most} of {saved}");
    }
}

#[test]
fn section_3_3_a_memory_below_the_window_is_of_no_use() {
    let mut path = path("newreno", 60, RTT);
    path.send();
    path.wait(RTT);
    path.ack(10);
    assert!(path.segments() > 10);
    assert_eq!(path.controller.phase(), "slow start");
}

#[test]
fn section_3_3_unvalidated_packets_are_paced_over_a_round_trip() {
    let path = path("newreno", 600, RTT).jump();
    assert_eq!(path.segments(), 100);
    let rate = path.controller.pacing_rate().expect("paced");
    assert_eq!(rate, Rate::over(Bytes::new(100 * MSS), RTT));
}

#[test]
fn section_3_3_too_little_data_to_fill_the_pipe_ends_in_the_window_that_was_seen_to_pass() {
    let mut path = path("newreno", 600, RTT).jump();
    // Five segments more, and no others.
    path.in_flight += 5 * MSS;
    path.controller
        .on_sent(path.now, Bytes::new(MSS), Bytes::new(path.in_flight));
    path.wait(RTT);
    path.ack(5);
    assert_eq!(
        (path.segments(), path.controller.phase()),
        (5, "slow start")
    );
}

#[test]
fn section_3_4_the_first_unvalidated_packet_begins_validation_and_the_last_ends_it() {
    let mut path = path("newreno", 600, RTT).jump();
    assert_eq!(path.send(), 100);
    path.wait(RTT);
    path.ack(1);
    assert_eq!(
        (path.segments(), path.controller.phase()),
        (99, "validating")
    );
    for _ in 0..98 {
        path.ack(1);
    }
    assert_eq!(
        (path.segments(), path.controller.phase()),
        (300, "validating")
    );
    path.ack(1);
    assert_eq!(
        (path.segments(), path.controller.phase()),
        (300, "slow start")
    );
}

#[test]
fn section_3_4_a_queue_stops_the_growth_and_its_rate_is_the_slow_start_threshold() {
    let mut path = path("newreno", 600, RTT).jump();
    path.send();
    path.wait(RTT);
    path.ack(1);
    let before = path.segments();
    // One segment each 2 ms, with a queue: 50 segments in 100 ms.
    while path.controller.phase() == "validating" {
        path.wait(Duration::from_millis(2));
        let ack = path.ack_of(1, Duration::from_millis(120));
        path.controller.on_ack(&ack);
        assert!(path.segments() <= before, "{}", path.segments());
    }
    assert_eq!(
        (path.segments(), path.controller.ssthresh()),
        (50, Some(path.controller.cwnd()))
    );
}

/// The receive window or the kernel let a burst go at once, and nothing for the rest of the round
/// trip: what was acknowledged in it is not what the path carries.
#[test]
fn a_queue_that_is_gone_says_nothing_about_the_path() {
    let mut path = path("newreno", 600, RTT).jump();
    path.send();
    path.wait(RTT);
    path.ack(1);
    for _ in 0..LATE {
        let ack = path.ack_of(10, Duration::from_millis(120));
        path.controller.on_ack(&ack);
    }
    assert_eq!(path.segments(), 49, "half of what is in flight");
    path.wait(RTT);
    path.ack(59);
    assert_eq!(path.controller.phase(), "slow start");
    assert_eq!(path.controller.ssthresh(), None);
}

#[test]
fn section_3_5_a_loss_halves_what_passed_and_forgets_the_rest() {
    for validating in [false, true] {
        let mut path = path("cubic+cerl", 600, RTT).jump();
        path.send();
        path.wait(RTT);
        // PipeSize: what was in flight at the jump (none), and what was acknowledged since.
        let passed = if validating { 40 } else { 0 };
        if validating {
            (0..40).for_each(|_| path.ack(1));
        }
        let response = path.lose(10);
        assert!(response.reduced, "also with a loss classifier");
        assert_eq!(response.verdict, Some(Verdict::Congestion));
        assert_eq!(path.controller.phase(), "safe retreat");
        assert_eq!(path.segments(), (passed / 2).max(1));
        // The window stays, PipeSize grows.
        let before = path.segments();
        path.ack(5);
        assert_eq!(path.segments(), before);
        let pipe = Bytes::new((passed + 5) * MSS);
        assert_eq!(path.controller.ssthresh(), Some(pipe));
        path.ack(100 - 10 - 5 - passed);
        assert!(
            path.controller.phase() != "safe retreat",
            "the last unvalidated packet"
        );
        let ssthresh = path.controller.ssthresh().map(Bytes::get);
        assert_eq!(ssthresh, Some(90 * MSS), "PipeSize");
    }
}

#[test]
fn a_timeout_is_the_algorithms_own() {
    for acked in [0, 1] {
        let mut path = path("newreno", 600, RTT).jump();
        path.send();
        path.wait(RTT);
        path.ack(acked);
        path.controller.on_timeout(&Timeout {
            now: path.now,
            in_flight: Bytes::new(path.in_flight),
            repeated: false,
            next_order: 110,
        });
        assert_eq!(path.segments(), 1);
        assert_eq!(path.controller.phase(), "slow start");
    }
}

#[test]
fn the_observer_saves_what_was_delivered_in_a_round_trip_without_the_queue() {
    let mut observer = Observer::default();
    let mut ack = Ack {
        min_rtt: RTT,
        ..ACK
    };
    assert_eq!(observer.path(), None);
    // 10 MB/s, in round trips of 200 ms, half of which is a queue.
    for round in 0..20 {
        ack.now = Time::ZERO + Duration::from_millis(200 * round);
        ack.delivered = Bytes::new(2_000_000 * round);
        ack.round_start = true;
        ack.app_limited = round == 3;
        observer.on_ack(&ack);
        assert_eq!(observer.is_settled(), round >= 10);
    }
    let cwnd = Bytes::new(1_000_000);
    assert_eq!(observer.path(), Some(SavedPath { cwnd, rtt: RTT }));
}
