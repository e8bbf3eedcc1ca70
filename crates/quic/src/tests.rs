//! Behaviour of the adapter: calls as noq makes them, and what the algorithm receives.

use crate::adapter::Renew;
use crate::control::Control;
use crate::{Adapter, Monitor};
use noq_proto::congestion::Controller as _;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use whimbrel_cc::connection::EpisodeCounts;
use whimbrel_cc::connection::contract::CallChecker;
use whimbrel_cc::{
    Ack, AtSending, Loss, LossResponse, LostPacket, Setup, Signal, Timeout, Verdict,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const MTU: u64 = 1200;

#[derive(Debug, Clone, PartialEq)]
enum Call {
    Sent(u64),
    Ack(Ack),
    PacketLost(LostPacket),
    Loss(Loss),
    RecoveryEnd,
    Timeout(Timeout),
    Spurious,
    Mss(u64),
}

/// Records the calls that it receives.
#[derive(Debug, Clone)]
struct Recorder {
    calls: Arc<Mutex<Vec<Call>>>,
    response: LossResponse,
    pacing: Option<Rate>,
    cwnd: u64,
}

impl Recorder {
    fn note(&self, call: Call) {
        self.calls.lock().expect("one thread").push(call);
    }
}

impl whimbrel_cc::Controller for Recorder {
    fn on_sent(&mut self, _now: Time, _size: Bytes, in_flight: Bytes) {
        self.note(Call::Sent(in_flight.get()));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.note(Call::Ack(*ack));
    }
    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.note(Call::PacketLost(*lost));
    }
    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        self.note(Call::Loss(*loss));
        self.response
    }
    fn on_recovery_end(&mut self, _now: Time) {
        self.note(Call::RecoveryEnd);
    }
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.note(Call::Timeout(*timeout));
    }
    fn on_spurious(&mut self, _now: Time) {
        self.note(Call::Spurious);
    }
    fn on_mss(&mut self, mss: Bytes) {
        self.note(Call::Mss(mss.get()));
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
    fn phase(&self) -> &'static str {
        "recording"
    }
    fn clone_box(&self) -> Box<dyn whimbrel_cc::Controller> {
        Box::new(self.clone())
    }
}

/// An adapter over a recorder, driven in milliseconds; packet `n` has number `n`.
struct Bench {
    adapter: Adapter,
    monitor: Monitor,
    calls: Arc<Mutex<Vec<Call>>>,
    origin: Instant,
    sent: Vec<u64>,
    in_flight: u64,
}

impl Bench {
    fn new(response: LossResponse) -> Self {
        Self::of(|r| r.response = response)
    }

    fn of(set: impl FnOnce(&mut Recorder)) -> Self {
        Self::sharing(Control::default(), set)
    }

    /// The same, whose adapter shares `control` with a driver.
    fn sharing(control: Control, set: impl FnOnce(&mut Recorder)) -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let mut controller = Recorder {
            calls: Arc::clone(&calls),
            response: LossResponse::REDUCED,
            pacing: None,
            cwnd: 10 * MTU,
        };
        set(&mut controller);
        let setup = setup();
        let origin = Instant::now();
        let monitor = Monitor::default();
        let renewed = controller.clone();
        let renew = Renew(Arc::new(move |_| Box::new(renewed.clone())));
        let adapter = Adapter::with_control(
            Box::new(controller),
            &setup,
            origin,
            monitor.clone(),
            control,
            Some(renew),
        );
        Self {
            adapter,
            monitor,
            calls,
            origin,
            sent: Vec::new(),
            in_flight: 0,
        }
    }

    fn at(&self, ms: u64) -> Instant {
        self.origin + std::time::Duration::from_millis(ms)
    }

    fn send(&mut self, ms: u64, packets: u64) {
        for _ in 0..packets {
            let number = self.sent.len() as u64;
            self.adapter.on_packet_sent(self.at(ms), MTU as u16, number);
            self.sent.push(ms);
            self.in_flight += MTU;
        }
    }

    /// Does what noq does with an ACK frame: reports the packets one by one, then the end.
    fn ack(&mut self, ms: u64, numbers: impl IntoIterator<Item = u64>) {
        let mut largest = None;
        for n in numbers {
            let sent = self.at(self.sent[n as usize]);
            self.adapter.packet_acked(self.at(ms), sent, MTU, n);
            self.in_flight -= MTU;
            largest = largest.max(Some(n));
        }
        self.adapter
            .on_end_acks(self.at(ms), self.in_flight, false, largest);
    }

    /// Does what noq does when it declares packets lost.
    fn lose(&mut self, ms: u64, numbers: &[u64], persistent: bool) {
        for n in numbers {
            self.adapter.on_packet_lost(MTU as u16, *n, self.at(ms));
            self.in_flight -= MTU;
        }
        let largest = *numbers.iter().max().expect("a packet");
        let bytes = MTU * numbers.len() as u64;
        let sent = self.at(self.sent[largest as usize]);
        self.adapter
            .on_congestion_event(self.at(ms), sent, persistent, false, bytes, largest);
    }

    /// Queries the window, as noq does, and returns the calls received since the last time.
    fn all_calls(&mut self) -> Vec<Call> {
        self.adapter.window();
        std::mem::take(&mut *self.calls.lock().expect("one thread"))
    }

    /// The same without the calls for single packets sent and lost.
    fn calls(&mut self) -> Vec<Call> {
        let all = self.all_calls().into_iter();
        all.filter(|c| !matches!(c, Call::Sent(_) | Call::PacketLost(_)))
            .collect()
    }

    fn episodes(&self) -> EpisodeCounts {
        self.monitor.snapshot().episodes
    }
}

fn setup() -> Setup {
    Setup {
        mss: Bytes::new(MTU),
        initial_window: Bytes::new(10 * MTU),
        paced: true,
        ssthresh: None,
        growth: Default::default(),
        seed: 1,
        time_of_day: Default::default(),
        saved: None,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn acks(calls: &[Call]) -> Vec<Ack> {
    calls
        .iter()
        .filter_map(|c| if let Call::Ack(a) = c { Some(*a) } else { None })
        .collect()
}

fn losses(calls: &[Call]) -> Vec<Loss> {
    calls
        .iter()
        .filter_map(|c| {
            if let Call::Loss(l) = c {
                Some(*l)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn an_ack_frame_gives_one_call_with_all_its_packets() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 2);
    b.send(10, 2);
    b.ack(110, [0, 1, 2]);
    let calls = b.calls();
    let [Call::Ack(ack)] = calls[..] else {
        panic!("{calls:?}")
    };
    assert_eq!(ack.now, Time::ZERO + ms(110));
    assert_eq!(ack.acked, Bytes::new(3 * MTU));
    assert_eq!(
        ack.rtt,
        Some(ms(100)),
        "of the newest packet, sent at 10 ms"
    );
    assert_eq!(ack.srtt, ms(100));
    assert_eq!(ack.min_rtt, ms(100));
    assert_eq!(ack.in_flight, Bytes::new(MTU));
    assert_eq!(ack.delivered, Bytes::new(3 * MTU));
    assert!(ack.round_start && !ack.in_recovery && !ack.app_limited);
}

#[test]
fn an_older_packet_acknowledged_late_gives_no_rtt_sample() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 3);
    b.ack(100, [1, 2]);
    b.ack(130, [0]);
    let acks = acks(&b.calls());
    assert_eq!(
        acks.iter().map(|a| a.rtt).collect::<Vec<_>>(),
        [Some(ms(100)), None]
    );
    assert_eq!(acks[1].delivered, Bytes::new(3 * MTU));
}

#[test]
fn a_loss_is_reported_before_the_acknowledgment_that_reveals_it() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 12); // The window is 10.
    b.ack(100, [1, 2, 3]);
    b.lose(100, &[0], false);
    let calls = b.calls();
    let [Call::Loss(loss), Call::Ack(ack)] = calls[..] else {
        panic!("{calls:?}")
    };
    assert_eq!(
        loss.in_flight,
        Bytes::new(12 * MTU),
        "before the loss and the acknowledgment are taken off"
    );
    assert_eq!(
        (loss.lost, loss.lost_order, loss.next_order),
        (Bytes::new(MTU), 0, 12)
    );
    assert_eq!((loss.now, loss.sent), (Time::ZERO + ms(100), Time::ZERO));
    assert_eq!(loss.signal, Signal::Loss);
    assert!(ack.in_recovery, "RFC 9002 section 7.3.2: no growth");
    assert_eq!(
        ack.in_flight,
        Bytes::new(8 * MTU),
        "after the loss is taken off"
    );
}

/// RFC 9002 section 7.3.2: a recovery period covers all packets sent before it began, and ends with
/// the acknowledgment of a packet sent after that.
#[test]
fn an_episode_is_reported_once_and_ends_with_a_later_packet() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 10);
    b.ack(100, [3]);
    b.lose(100, &[0], false);
    b.lose(100, &[1, 2], false);
    b.send(101, 3); // 10, 11, 12
    b.ack(110, [7]);
    b.lose(110, &[4, 5], false);
    let calls = b.calls();
    assert_eq!(losses(&calls).len(), 1, "{calls:?}");
    assert!(!calls.contains(&Call::RecoveryEnd));
    b.ack(201, [10]);
    let calls = b.calls();
    let [Call::RecoveryEnd, Call::Ack(ack)] = calls[..] else {
        panic!("{calls:?}")
    };
    assert!(!ack.in_recovery);
    // A packet sent before the episode began belongs to it even after it ended.
    b.lose(202, &[6], false);
    assert!(b.calls().is_empty());
    // A packet sent later begins a new episode.
    b.lose(203, &[11], false);
    assert_eq!(losses(&b.calls()).len(), 1);
    assert_eq!((b.episodes().episodes, b.episodes().reductions), (2, 2));
    assert_eq!(b.monitor.snapshot().state.lost, Bytes::new(7 * MTU));
}

#[test]
fn a_loss_that_keeps_the_window_does_not_stop_growth() {
    let random = LossResponse {
        reduced: false,
        verdict: Some(Verdict::Random),
        confidence: None,
    };
    let mut b = Bench::new(random);
    b.send(0, 6);
    b.ack(100, [1, 2]);
    b.lose(100, &[0], false);
    // A loss of the same flight.
    b.ack(101, [4]);
    b.lose(101, &[3], false);
    b.send(102, 1);
    b.ack(202, [6]);
    let calls = b.calls();
    assert_eq!(losses(&calls).len(), 2, "{calls:?}");
    assert!(acks(&calls).iter().all(|a| !a.in_recovery));
    // Packet 6 was sent after both.
    let [.., Call::RecoveryEnd, Call::Ack(_)] = calls[..] else {
        panic!("{calls:?}")
    };
    let ends = calls.iter().filter(|c| **c == Call::RecoveryEnd).count();
    assert_eq!(ends, 1, "{calls:?}");
    let s = b.episodes();
    assert_eq!((s.episodes, s.reductions), (2, 0));
    assert_eq!(s.verdicts.map(|v| (v.congestion, v.random)), Some((0, 2)));
}

#[test]
fn an_episode_that_kept_the_window_ends_after_its_last_loss() {
    let mut b = Bench::new(LossResponse::KEPT);
    b.send(0, 4); // 0 to 3
    b.ack(100, [1]);
    b.lose(100, &[0], false);
    b.send(101, 1); // 4
    b.ack(110, [3]);
    b.lose(110, &[2], false);
    b.send(111, 1); // 5
    b.ack(201, [4]);
    let calls = b.calls();
    assert_eq!(losses(&calls).len(), 2, "{calls:?}");
    assert!(
        !calls.contains(&Call::RecoveryEnd),
        "4 was sent before 2 was lost"
    );
    b.ack(211, [5]);
    let calls = b.calls();
    let [Call::RecoveryEnd, Call::Ack(_)] = calls[..] else {
        panic!("{calls:?}")
    };
}

#[test]
fn a_lost_packet_is_reported_with_the_counts_at_its_sending() {
    let mut b = Bench::new(LossResponse::KEPT);
    b.send(0, 2); // 0, 1
    b.send(10, 4); // 2 to 5
    b.ack(100, [0]);
    b.send(100, 1); // 6
    b.ack(120, [5]);
    b.lose(120, &[1, 2], false);
    b.ack(200, [6]);
    let calls = b.all_calls();
    let calls: Vec<&Call> = calls
        .iter()
        .filter(|c| !matches!(c, Call::Sent(_)))
        .collect();
    let [
        Call::Ack(first),
        Call::PacketLost(one),
        Call::PacketLost(two),
        Call::Loss(_),
        Call::Ack(second),
        Call::Ack(third),
    ] = calls[..]
    else {
        panic!("{calls:?}")
    };
    let at = |sent, packets| AtSending {
        sent: Time::ZERO + ms(sent),
        in_flight: Bytes::new(packets * MTU),
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        app_limited: false,
        retransmitted: false,
    };
    assert_eq!((one.size, one.lost), (Bytes::new(MTU), Bytes::new(MTU)));
    assert_eq!(one.at, at(0, 2), "itself included");
    assert_eq!((two.lost, two.at), (Bytes::new(2 * MTU), at(10, 3)));
    assert_eq!(
        (one.now, two.now),
        (Time::ZERO + ms(120), Time::ZERO + ms(120))
    );
    assert_eq!((first.lost, first.newest), (Bytes::ZERO, Some(at(0, 1))));
    assert_eq!(
        (second.lost, second.newest),
        (Bytes::new(2 * MTU), Some(at(10, 6)))
    );
    // Sent after packet 0 was delivered, with 1 to 5 in flight, before the losses were known.
    let newest = AtSending {
        delivered: Bytes::new(MTU),
        ..at(100, 6)
    };
    assert_eq!(
        (third.lost, third.newest),
        (Bytes::new(2 * MTU), Some(newest))
    );
}

#[test]
fn persistent_congestion_is_a_timeout_and_no_loss() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 10);
    b.ack(900, [9]);
    b.lose(900, &[0, 1, 2, 3, 4, 5, 6, 7, 8], true);
    b.send(901, 2);
    b.ack(1001, [10]);
    let calls = b.calls();
    let [
        Call::Timeout(t),
        Call::Ack(old),
        Call::RecoveryEnd,
        Call::Ack(new),
    ] = calls[..]
    else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (t.in_flight, t.repeated, t.next_order),
        (Bytes::new(10 * MTU), false, 10)
    );
    assert!(!old.in_recovery && !new.in_recovery);
    assert_eq!(b.episodes().timeouts, 1);
}

#[test]
fn marks_are_an_episode_without_a_loss() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 4);
    b.ack(100, [0, 1]);
    b.adapter
        .on_congestion_event(b.at(100), b.at(0), false, true, 0, 1);
    b.ack(101, [2]);
    b.adapter
        .on_congestion_event(b.at(101), b.at(0), false, true, 0, 2);
    let calls = b.calls();
    let [loss] = losses(&calls)[..] else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (loss.signal, loss.lost, loss.lost_order),
        (Signal::Ecn, Bytes::ZERO, 1)
    );
    assert_eq!(b.episodes().marked, 1);
    b.adapter.on_spurious_congestion_event();
    assert!(
        !b.calls().contains(&Call::Spurious),
        "a mark is never spurious"
    );
}

#[test]
fn what_is_saved_of_a_path_is_not_that_of_another() {
    let control = Control::default();
    let mut b = Bench::sharing(control.clone(), |_| ());
    // Four packets in each round trip of 100 ms.
    for round in 0..5 {
        b.send(100 * round, 4);
        b.ack(100 * round + 100, 4 * round..4 * round + 4);
    }
    b.calls();
    let saved = b.monitor.snapshot().path.expect("some round trips");
    control.lock().moved = true;
    b.calls();
    // Forty in each of 10 ms.
    for round in 0..50 {
        b.send(600 + 10 * round, 40);
        let first = 20 + 40 * round;
        b.ack(610 + 10 * round, first..first + 40);
    }
    b.calls();
    assert_eq!(b.monitor.snapshot().path, Some(saved));
}

#[test]
fn reordering_taken_for_loss_is_undone_once() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 6);
    b.ack(100, [3]);
    b.lose(100, &[0], false);
    b.adapter.on_spurious_congestion_event();
    b.adapter.on_spurious_congestion_event();
    b.ack(102, [4]);
    let calls = b.calls();
    assert_eq!(calls.iter().filter(|c| **c == Call::Spurious).count(), 1);
    assert!(!acks(&calls).last().expect("an acknowledgment").in_recovery);
    assert_eq!(b.episodes().spurious, 1);
}

#[test]
fn rounds_are_counted_by_packets_sent_after_they_began() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 4);
    b.ack(100, [0]); // round 1 begins; it ends with packet 4
    b.send(100, 2); // 4, 5
    b.ack(101, [1, 2]);
    b.ack(102, [3]);
    b.ack(200, [4]); // round 2
    b.ack(201, [5]);
    let starts: Vec<bool> = acks(&b.calls()).iter().map(|a| a.round_start).collect();
    assert_eq!(starts, [true, false, false, true, false]);
}

#[test]
fn a_window_used_in_this_or_the_last_round_may_grow() {
    let mut b = Bench::new(LossResponse::REDUCED); // ten packets of window
    b.send(0, 2);
    b.ack(100, [0]);
    assert!(!acks(&b.calls())[0].cwnd_limited, "two of ten packets");
    b.send(100, 1);
    b.adapter.on_cwnd_limited();
    b.ack(101, [1]);
    assert!(acks(&b.calls())[0].cwnd_limited, "limited by the window");
    b.ack(200, [2]); // a round begins
    b.send(200, 1);
    assert!(acks(&b.calls())[0].cwnd_limited);
    b.ack(300, [3]); // another, in which the window was not used
    assert!(acks(&b.calls())[0].cwnd_limited, "the round before used it");
    b.send(300, 1);
    b.ack(400, [4]);
    b.send(400, 1);
    b.ack(500, [5]);
    assert!(!acks(&b.calls())[1].cwnd_limited);
    b.send(500, 5); // half of the window, limited by pacing only
    b.ack(600, [6]);
    assert!(acks(&b.calls())[0].cwnd_limited);
}

#[test]
fn the_delivery_rate_is_what_the_path_delivered() {
    let mut b = Bench::new(LossResponse::REDUCED);
    for t in 0..300 {
        if t >= 100 {
            b.ack(t, [t - 100]);
        }
        b.send(t, 1);
    }
    // 1200 bytes per millisecond.
    let last = *acks(&b.calls()).last().expect("acknowledgments");
    assert_eq!(last.delivery_rate, Some(Rate::from_bits_per_sec(9_600_000)));
}

/// A bottleneck that forwards one packet per millisecond (9.6 Mbit/s), with 40 ms of delay: the
/// bandwidth-delay product is 41 packets. The test sends as noq does: window, pacing, an ACK frame
/// per packet.
#[test]
fn bbr_finds_the_rate_of_the_path() {
    // With a buffer of a tenth of the bandwidth-delay product, BBRv1 loses what the buffer cannot
    // hold when it probes with 5/4 of its rate: 6 packets in each of the 12 cycles of 8 round
    // trips, and more until it learns of the loss. BBRv3 stays at 0.85 of the 45 packets that fit:
    // 93 % of the rate.
    for (controller, room, min_delivered, lost_range) in [
        ("bbr", 200, 3_900, 0..=0),
        ("bbr3", 200, 3_800, 0..=0),
        ("bbr", 4, 3_900, 72..=200),
        ("bbr3", 4, 3_450, 1..=40),
    ] {
        let spec: whimbrel_cc::Spec = controller.parse().expect("a known controller");
        let (delivered, in_flight, lost) = drive(&spec, room);
        assert!(
            delivered >= min_delivered,
            "{controller}, {room}: {delivered} of 4000"
        );
        assert!(
            (41..=82).contains(&in_flight),
            "{controller}, {room}: {in_flight}"
        );
        assert!(lost_range.contains(&lost), "{controller}, {room}: {lost}");
    }
}

/// Runs an algorithm for 8 s. Returns the packets delivered, the maximum in flight and the packets
/// lost, all of the last 4 s.
fn drive(spec: &whimbrel_cc::Spec, room: usize) -> (u64, u64, u64) {
    let setup = setup();
    let mut b = Bench::new(LossResponse::KEPT);
    let controller = spec.build(&setup).expect("fed acknowledgments");
    b.adapter = Adapter::new(controller, &setup, b.origin, b.monitor.clone());
    let mut queue = VecDeque::new();
    let mut acks: VecDeque<(u64, u64)> = VecDeque::new();
    let mut unacknowledged: VecDeque<u64> = VecDeque::new();
    let (mut delivered, mut max_in_flight, mut lost, mut credit) = (0, 0, 0, 0.0);
    for now in 0..8_000 {
        let counts = now >= 4_000;
        while let Some((_, number)) = acks.front().copied().filter(|(at, _)| *at <= now) {
            acks.pop_front();
            b.ack(now, [number]);
            delivered += u64::from(counts);
            // Packets arrive in order: three later ones show a loss (RFC 9002 section 6.1.1).
            unacknowledged.retain(|n| *n != number);
            let gone: Vec<u64> = unacknowledged
                .iter()
                .copied()
                .filter(|n| n + 3 <= number)
                .collect();
            if !gone.is_empty() {
                b.lose(now, &gone, false);
                unacknowledged.retain(|n| n + 3 > number);
                lost += if counts { gone.len() as u64 } else { 0 };
            }
        }
        let rate = b.adapter.metrics().pacing_rate.expect("a pacing rate") as f64;
        credit = f64::min(credit + rate / 1000.0, 10.0 * MTU as f64);
        while credit >= MTU as f64 && b.in_flight + MTU <= b.adapter.window() {
            credit -= MTU as f64;
            let number = b.sent.len() as u64;
            b.send(now, 1);
            unacknowledged.push_back(number);
            if queue.len() <= room {
                queue.push_back(number);
            }
        }
        if b.in_flight + MTU > b.adapter.window() {
            b.adapter.on_cwnd_limited();
        }
        max_in_flight = max_in_flight.max(if counts { b.in_flight / MTU } else { 0 });
        if let Some(number) = queue.pop_front() {
            acks.push_back((now + 40, number));
        }
    }
    (delivered, max_in_flight, lost)
}

#[test]
fn noq_gets_window_and_pacing_rate_in_its_units() {
    let mut b = Bench::of(|r| r.pacing = Some(Rate::from_bits_per_sec(80_000_000)));
    let metrics = b.adapter.metrics();
    assert_eq!(metrics.congestion_window, 10 * MTU);
    assert_eq!(metrics.pacing_rate, Some(10_000_000), "bytes per second");
    assert_eq!(metrics.send_quantum, Some(10_000), "a millisecond's worth");
    b.adapter.on_mtu_update(1452);
    b.adapter.on_mtu_update(1452);
    assert_eq!(b.calls(), [Call::Mss(1452)]);
    // RFC 9002 section 7.2: never below two datagrams.
    let mut tiny = Bench::of(|r| r.cwnd = 1);
    assert_eq!(tiny.adapter.window(), 2 * MTU);
    // RFC 9002 section 7.7: the first flight need not be paced.
    assert_eq!(tiny.adapter.metrics().pacing_rate, Some(1_000_000_000));
    tiny.send(0, 1);
    tiny.ack(100, [0]);
    assert_eq!(tiny.adapter.metrics().pacing_rate, None);
}

#[test]
fn the_bytes_in_flight_that_noq_reports_count() {
    let mut b = Bench::new(LossResponse::REDUCED);
    b.send(0, 3);
    b.adapter.packet_acked(b.at(100), b.at(0), MTU, 0);
    b.adapter.on_end_acks(b.at(100), 500, false, Some(0)); // a space was discarded meanwhile
    assert_eq!(acks(&b.calls())[0].in_flight, Bytes::new(500));
    b.send(101, 1);
    assert!(
        b.calls
            .lock()
            .expect("one thread")
            .contains(&Call::Sent(500 + MTU))
    );
}

#[test]
fn samples_are_spaced_and_limited_in_number() {
    let monitor = Monitor::sampling(ms(100));
    let path = monitor.open_path();
    for t in 0..100_000u64 {
        path.update(|s| s.state.time = Time::ZERO + ms(t * 50));
    }
    let samples = monitor.samples();
    assert_eq!(samples[1].time.since(samples[0].time), ms(100));
    for t in 0..200_000u64 {
        path.update(|s| s.state.time = Time::ZERO + ms(5_000_000 + t * 100));
    }
    assert!(monitor.samples().len() <= 60_000);
}

proptest! {
    /// For any order of noq's calls: no panic, and at most one episode per round trip.
    #[test]
    fn any_sequence_of_calls_is_handled(
        calls in prop::collection::vec((0u8..8, 0u64..40, 0u64..30), 1..200)
    ) {
        let mut b = Bench::new(LossResponse::REDUCED);
        let mut t = 0;
        for (what, number, wait) in calls {
            t += wait;
            let (now, then) = (b.at(t), b.at(t.saturating_sub(number)));
            match what {
                0..3 => b.send(t, number % 5),
                3 => b.adapter.packet_acked(now, then, MTU, number),
                4 => b.adapter.on_end_acks(now, number * MTU, wait % 2 == 0, Some(number)),
                5 => b.adapter.on_packet_lost(MTU as u16, number, now),
                6 => {
                    let (persistent, ecn) = (wait % 5 == 0, wait % 7 == 0);
                    b.adapter.on_congestion_event(now, then, persistent, ecn, MTU, number);
                }
                _ => b.adapter.on_spurious_congestion_event(),
            }
            b.adapter.metrics();
        }
        let mut end = 0;
        for call in b.calls() {
            match call {
                Call::Loss(l) => { prop_assert!(l.lost_order >= end); end = l.next_order; }
                Call::Timeout(l) => { end = l.next_order; }
                _ => {}
            }
        }
    }
}

/// An event of a connection, for the check of the calls.
#[derive(Debug, Clone)]
enum Event {
    Send(u64),
    /// One ACK frame: what it acknowledges of the oldest packets in flight, how many packets it
    /// shows to be lost, whether they establish persistent congestion, and whether it has a mark.
    Ack {
        skip: usize,
        acked: usize,
        lost: usize,
        persistent: bool,
        marked: bool,
    },
    LossTimer(usize),
    Spurious,
    Mtu(u16),
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (0usize..4, 1usize..6, 0usize..4, 0u8..8, 0u8..5);
    prop_oneof![
        4 => (1u64..12).prop_map(Event::Send),
        6 => ack.prop_map(|(skip, acked, lost, persistent, marked)| Event::Ack {
            skip,
            acked,
            lost,
            persistent: persistent == 0,
            marked: marked == 0,
        }),
        1 => (1usize..4).prop_map(Event::LossTimer),
        1 => Just(Event::Spurious),
        1 => (1200u16..1500).prop_map(Event::Mtu),
    ]
}

proptest! {
    /// The adapter calls any algorithm as `whimbrel_cc::connection` says.
    #[test]
    fn algorithms_are_called_in_the_order_of_the_contract(
        events in prop::collection::vec((event(), 0u64..80), 1..150)
    ) {
        for name in ["cubic", "tahoe", "newreno+cerl", "bbr3", "whimbrel"] {
            let mut b = Bench::new(LossResponse::REDUCED);
            let spec: whimbrel_cc::Spec = name.parse().expect("registered");
            let setup = setup();
            let (checker, log) = CallChecker::new(spec.build(&setup).expect("fed acknowledgments"));
            b.adapter = Adapter::new(Box::new(checker), &setup, b.origin, b.monitor.clone());
            let mut unacknowledged: Vec<u64> = Vec::new();
            let mut t = 0;
            for (event, wait) in events.clone() {
                t += wait;
                let now = b.at(t);
                match event {
                    Event::Send(packets) => {
                        let first = b.sent.len() as u64;
                        b.send(t, packets);
                        unacknowledged.extend(first..first + packets);
                    }
                    Event::Ack { skip, acked, lost, persistent, marked } => {
                        let from = skip.min(unacknowledged.len());
                        let to = (from + acked).min(unacknowledged.len());
                        let numbers: Vec<u64> = unacknowledged.drain(from..to).collect();
                        let Some(newest) = numbers.last().copied() else { continue };
                        b.ack(t, numbers);
                        let gone: Vec<u64> = unacknowledged.drain(..lost.min(from)).collect();
                        if !gone.is_empty() {
                            b.lose(t, &gone, persistent);
                        }
                        if marked {
                            let sent = b.at(b.sent[newest as usize]);
                            b.adapter.on_congestion_event(now, sent, false, true, 0, newest);
                        }
                    }
                    Event::LossTimer(lost) => {
                        let gone = lost.min(unacknowledged.len());
                        let gone: Vec<u64> = unacknowledged.drain(..gone).collect();
                        if !gone.is_empty() {
                            b.lose(t, &gone, false);
                        }
                    }
                    Event::Spurious => b.adapter.on_spurious_congestion_event(),
                    Event::Mtu(mtu) => b.adapter.on_mtu_update(mtu),
                }
                b.adapter.window();
                log.next_event();
            }
            prop_assert_eq!(log.violations().into_iter().next(), None, "{}", name);
        }
    }
}
