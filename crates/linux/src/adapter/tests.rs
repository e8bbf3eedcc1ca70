//! The adapter on made-up events: which calls the algorithm receives, and the commands.

use super::*;
use crate::wire::{ACK_ADVANCED, ACK_ECE};
use crate::wire::{NO_RTT, ca_state, flag};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use whimbrel_cc::connection::contract::CallChecker;
use whimbrel_cc::registry::CONTROLLERS;
use whimbrel_cc::{Ack, FastRecovery, Loss, LossResponse, LostPacket, Signal, Timeout};

const MSS: u32 = 1000;
const ISN: u32 = u32::MAX - 20_000; // sequence numbers wrap in every test

#[derive(Debug, Clone, PartialEq)]
enum Call {
    Sent,
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
    recovery: FastRecovery,
    cwnd: u64,
}

impl Recorder {
    fn note(&self, call: Call) {
        self.calls.lock().expect("one thread").push(call);
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, _now: Time, _size: Bytes, _in_flight: Bytes) {
        self.note(Call::Sent);
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
    fn fast_recovery(&self) -> FastRecovery {
        self.recovery
    }
    fn phase(&self) -> &'static str {
        "recording"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        // The adapter also calls a copy, for predictions; only the original's calls count.
        Box::new(Self {
            calls: Arc::default(),
            ..self.clone()
        })
    }
}

/// A connection with a recording algorithm.
struct Connection {
    adapter: Adapter,
    calls: Arc<Mutex<Vec<Call>>>,
    event: Event,
}

impl Connection {
    fn new(response: LossResponse, recovery: FastRecovery) -> Self {
        let event = Event {
            time: 5_000_000_000,
            generation: 7,
            number: 1,
            kind: kind::START,
            mss: MSS,
            cwnd: 10,
            snd_una: ISN,
            snd_nxt: ISN,
            rtt_us: NO_RTT,
            ..Event::default()
        };
        let calls = Arc::<Mutex<Vec<Call>>>::default();
        let recorder = Recorder {
            calls: Arc::clone(&calls),
            response,
            recovery,
            cwnd: 10_500,
        };
        let start = Start {
            event,
            ..Start::default()
        };
        Self {
            adapter: Adapter::with_controller(Box::new(recorder), &start),
            calls,
            event,
        }
    }

    fn reducing() -> Self {
        Self::new(LossResponse::REDUCED, FastRecovery::UntilRepaired)
    }

    /// The next event, 10 ms later. `una` and `nxt` are packets since the beginning. Returns the
    /// calls that it causes.
    fn event(&mut self, una: u32, nxt: u32, change: impl FnOnce(&mut Event)) -> Vec<Call> {
        let before = self.event;
        self.event = Event {
            time: before.time + 10_000_000,
            number: before.number + 1,
            kind: kind::ACK,
            ca_state: ca_state::OPEN,
            states_entered: 0,
            flags: 0,
            ack_flags: ACK_ADVANCED,
            rtt_us: NO_RTT,
            acked: 0,
            snd_una: ISN.wrapping_add(una * MSS),
            snd_nxt: ISN.wrapping_add(nxt * MSS),
            in_flight: nxt - una,
            prior_in_flight: nxt - una,
            ..before
        };
        change(&mut self.event);
        self.adapter.on_event(&self.event);
        std::mem::take(&mut *self.calls.lock().expect("one thread"))
    }

    /// An acknowledgment of new data.
    fn ack(&mut self, una: u32, nxt: u32) -> Vec<Call> {
        self.event(una, nxt, |event| {
            event.acked = 1;
            event.delivered += 1;
        })
    }

    /// An acknowledgment that reveals the loss of the first unacknowledged packet.
    fn loss(&mut self, una: u32, nxt: u32) -> Vec<Call> {
        self.event(una, nxt, |event| {
            event.acked = 1;
            event.delivered += 1;
            event.lost += 1;
            event.ca_state = ca_state::RECOVERY;
            event.states_entered = 1 << ca_state::RECOVERY;
        })
    }
}

fn losses(calls: &[Call]) -> usize {
    let is_loss = |call: &&Call| matches!(call, Call::Loss(_));
    calls.iter().filter(is_loss).count()
}

#[test]
fn losses_belong_to_a_reduction_until_its_flight_is_acknowledged() {
    let mut c = Connection::reducing();
    c.ack(1, 20);
    let calls = c.loss(1, 20);
    assert!(matches!(
        calls[..],
        [
            Call::PacketLost(_),
            Call::Loss(_),
            Call::Ack(Ack {
                in_recovery: true,
                ..
            })
        ]
    ));
    assert_eq!(c.adapter.command().reduction, 1 << 1 | 1);
    assert_eq!(losses(&c.loss(5, 25)), 0, "sent before the reduction");
    assert_eq!(c.adapter.command().reduction, 1 << 1 | 1);
    let calls = c.ack(20, 30);
    assert_eq!(calls[0], Call::RecoveryEnd);
    assert!(matches!(
        calls[1],
        Call::Ack(Ack {
            in_recovery: true,
            ..
        })
    ));
    assert_eq!(c.adapter.command().reduction, 1 << 1);
    assert!(matches!(
        c.ack(21, 31)[0],
        Call::Ack(Ack {
            in_recovery: false,
            ..
        })
    ));
}

#[test]
fn a_loss_in_the_ack_that_ends_an_episode_begins_another() {
    let mut c = Connection::reducing();
    c.loss(0, 10);
    let calls = c.loss(10, 30);
    assert!(matches!(
        calls[..],
        [
            Call::PacketLost(_),
            Call::Loss(_),
            Call::Ack(Ack {
                in_recovery: true,
                ..
            })
        ]
    ));
    assert_eq!(c.adapter.command().reduction, 2 << 1 | 1);
}

#[test]
fn a_loss_that_keeps_the_window_does_not_stop_growth() {
    let mut c = Connection::new(LossResponse::KEPT, FastRecovery::UntilRepaired);
    let calls = c.loss(0, 10);
    assert!(matches!(
        calls[2],
        Call::Ack(Ack {
            in_recovery: false,
            ..
        })
    ));
    assert_eq!(c.adapter.command().reduction, 0);
    // Further losses of the same flight are judged anew.
    assert_eq!(losses(&c.loss(1, 12)), 1);
    assert_eq!(c.adapter.state().episodes.episodes, 2);
    assert_eq!(c.adapter.state().episodes.reductions, 0);
}

#[test]
fn no_loss_is_reported_between_a_timeout_and_its_repair() {
    let mut c = Connection::reducing();
    c.ack(1, 10);
    let calls = c.event(1, 10, |event| {
        event.kind = kind::TIMEOUT;
        event.lost += 9;
    });
    assert!(matches!(
        calls[0],
        Call::Timeout(Timeout {
            repeated: false,
            ..
        })
    ));
    assert_eq!(calls.len(), 10, "nine lost packets");
    assert_eq!(losses(&c.loss(2, 10)), 0);
    assert_eq!(
        c.adapter.command().reduction & 1,
        0,
        "slow start, not a recovery"
    );
    let calls = c.ack(10, 20);
    assert_eq!(calls[0], Call::RecoveryEnd);
    assert_eq!(losses(&c.loss(10, 20)), 1);
}

#[test]
fn a_second_timeout_of_the_same_data_is_a_repetition() {
    let mut c = Connection::reducing();
    let timeout = |c: &mut Connection, una| {
        let calls = c.event(una, 10, |event| event.kind = kind::TIMEOUT);
        matches!(calls[0], Call::Timeout(Timeout { repeated: true, .. }))
    };
    assert!(!timeout(&mut c, 1));
    assert!(timeout(&mut c, 1));
    assert!(!timeout(&mut c, 2));
}

#[test]
fn without_fast_recovery_a_loss_restarts_as_a_timeout_does() {
    let mut c = Connection::new(LossResponse::REDUCED, FastRecovery::Never);
    c.loss(0, 10);
    assert_eq!(c.adapter.command().reduction, 1 << 1, "no rate reduction");
    assert_eq!(losses(&c.loss(1, 10)), 0);
    assert!(matches!(
        c.ack(2, 10)[0],
        Call::Ack(Ack {
            in_recovery: false,
            ..
        })
    ));
    assert_eq!(c.ack(10, 20)[0], Call::RecoveryEnd);
}

#[test]
fn a_spurious_reduction_is_undone_and_ends() {
    let mut c = Connection::reducing();
    c.loss(0, 10);
    let calls = c.event(1, 10, |event| event.kind = kind::SPURIOUS);
    assert_eq!(calls, [Call::Spurious]);
    assert_eq!(c.adapter.command().reduction & 1, 0);
    assert_eq!(losses(&c.loss(1, 10)), 1, "the next loss is a new episode");
}

#[test]
fn a_mark_is_congestion_and_a_local_drop_is_a_loss() {
    let entered = |c: &mut Connection, ack_flags| {
        let calls = c.event(1, 10, |event| {
            event.states_entered = 1 << ca_state::CWR;
            event.ack_flags = ack_flags;
        });
        match calls[..] {
            [Call::Loss(loss)] => loss.signal,
            _ => panic!("{calls:?}"),
        }
    };
    assert_eq!(entered(&mut Connection::reducing(), ACK_ECE), Signal::Ecn);
    assert_eq!(entered(&mut Connection::reducing(), 0), Signal::Loss);
}

#[test]
fn a_duplicate_acknowledgment_stops_growth_before_the_loss_is_certain() {
    let mut c = Connection::reducing();
    c.ack(1, 10);
    let calls = c.event(1, 10, |event| {
        event.acked = 1;
        event.ca_state = ca_state::DISORDER;
    });
    assert!(matches!(
        calls[..],
        [Call::Ack(Ack {
            in_recovery: true,
            ..
        })]
    ));
}

#[test]
fn an_acknowledgment_that_delivers_nothing_is_no_ack_event() {
    let mut c = Connection::reducing();
    assert_eq!(c.event(0, 10, |event| event.ack_flags = 0), []);
}

#[test]
fn sent_packets_are_reported_with_the_next_event() {
    let mut c = Connection::reducing();
    let calls = c.event(0, 3, |event| event.segments_out = 3);
    assert_eq!(calls, [Call::Sent, Call::Sent, Call::Sent]);
}

#[test]
fn a_round_trip_ends_with_data_sent_after_it_began() {
    let mut c = Connection::reducing();
    let mut begins = |delivered, prior| {
        let calls = c.event(delivered, delivered + 10, |event| {
            event.acked = 1;
            event.delivered = delivered;
            event.prior_delivered = prior;
        });
        matches!(
            calls[..],
            [Call::Ack(Ack {
                round_start: true,
                ..
            })]
        )
    };
    assert!(begins(1, 0));
    assert!(!begins(2, 0), "sent before the round began");
    assert!(begins(11, 1));
}

#[test]
fn a_new_segment_size_counts_from_then_on() {
    let mut c = Connection::reducing();
    c.ack(1, 10);
    let calls = c.event(2, 10, |event| {
        event.mss = 500;
        event.acked = 1;
        event.delivered += 1;
    });
    assert_eq!(calls[0], Call::Mss(500));
    let Call::Ack(ack) = calls[1] else {
        panic!("{calls:?}")
    };
    assert_eq!((ack.acked.get(), ack.delivered.get()), (500, 1500));
    assert_eq!(c.adapter.command().window as u32, 21, "10,500 bytes");
}

#[test]
fn a_hole_that_the_kernel_shows_is_the_place_of_the_loss() {
    let mut c = Connection::reducing();
    c.ack(1, 10);
    let sent = c.event.time;
    let calls = c.event(1, 10, |event| {
        event.lost += 1;
        event.flags = flag::LOST_KNOWN;
        event.lost_seq = ISN.wrapping_add(3 * MSS);
        event.lost_end = ISN.wrapping_add(4 * MSS);
        event.lost_sent = sent;
    });
    let Call::Loss(loss) = calls[1] else {
        panic!("{calls:?}")
    };
    assert_eq!(loss.next_order - loss.lost_order, u64::from(7 * MSS));
    assert_eq!(loss.sent, Time::from_nanos(10_000_000));
}

#[test]
fn the_flight_at_a_loss_is_the_window_if_the_window_was_the_limit() {
    let flight = |flags| {
        let mut c = Connection::reducing();
        let calls = c.event(1, 9, |event| {
            event.flags = flags;
            event.cwnd = 10;
            event.lost += 1;
        });
        let Call::Loss(loss) = calls[1] else {
            panic!("{calls:?}")
        };
        loss.in_flight.get() / u64::from(MSS)
    };
    assert_eq!(flight(flag::CWND_LIMITED), 10);
    assert_eq!(flight(0), 8);
}

#[test]
fn events_that_the_kernel_could_not_deliver_are_counted() {
    let mut c = Connection::reducing();
    c.event(1, 10, |event| event.number += 5);
    c.event(2, 10, |_| {});
    assert_eq!(c.adapter.dropped_events(), 5);
}

#[test]
fn goodput_counts_sequence_numbers() {
    let mut c = Connection::reducing();
    c.event(25, 40, |event| {
        event.acked = 1;
        event.segments_out = 40;
    });
    assert_eq!(c.adapter.state().state.delivered.get(), 25 * u64::from(MSS));
    assert_eq!(c.adapter.active(), Duration::from_millis(10));
    assert!(c.adapter.is_unfinished());
}

#[test]
fn data_is_unfinished_from_its_sending_to_its_acknowledgment() {
    let mut c = Connection::reducing();
    assert!(!c.adapter.is_unfinished());
    c.event(0, 0, |event| event.kind = kind::RESUME);
    assert!(
        c.adapter.is_unfinished(),
        "the kernel has not counted it yet"
    );
    c.ack(1, 2);
    assert!(c.adapter.is_unfinished());
    c.ack(2, 2);
    assert!(!c.adapter.is_unfinished());
}

fn events() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(
        prop::collection::vec(any::<u8>(), size_of::<Start>()),
        1..40,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_algorithm_panics_on_arbitrary_events(records in events()) {
        for entry in CONTROLLERS.iter().filter(|e| !e.is_fed_bursts()) {
            let spec: Spec = entry.name.parse().expect("an algorithm of the table");
            let start = Start::read(&records[0]).expect("long enough");
            let mut adapter = Adapter::new(&spec, &start, 1, Default::default());
            for record in &records {
                let mut event = Event::read(record).expect("long enough");
                // All kinds, and acknowledgments most often.
                event.kind %= 8;
                adapter.on_event(&event);
                let command = adapter.command();
                prop_assert!(command.window as u32 >= 1, "{}", entry.name);
                prop_assert!(command.ssthresh >= 2, "{}", entry.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any events of the kernel in order of time, the adapter calls any algorithm as
    /// `whimbrel_cc::connection` says.
    #[test]
    fn algorithms_are_called_in_the_order_of_the_contract(
        records in events(),
        steps in prop::collection::vec((0u32..4, 0u32..6, 0u32..4, 0u64..100_000_000), 40),
    ) {
        for name in ["cubic", "tahoe", "newreno+cerl", "bbr3", "whimbrel"] {
            let spec: Spec = name.parse().expect("an algorithm of the table");
            let mut start = Start::read(&records[0]).expect("long enough");
            start.event.kind = kind::START;
            start.event.snd_nxt = start.event.snd_una;
            let controller = spec.build(&Adapter::setup(&start, 1, Default::default()));
            let controller = controller.expect("fed acknowledgments");
            let (checker, log) = CallChecker::new(controller);
            let mut adapter = Adapter::with_controller(Box::new(checker), &start);
            let mut before = start.event;
            for (record, (acked, sent, lost, wait)) in records.iter().zip(&steps) {
                let mut event = Event::read(record).expect("long enough");
                event.kind %= 8;
                event.time = before.time.saturating_add(*wait);
                // Arbitrary values, or a connection that makes progress.
                if !event.number.is_multiple_of(4) {
                    event.mss = before.mss;
                    event.snd_una = before.snd_una.wrapping_add(acked * MSS);
                    event.snd_nxt = before.snd_nxt.wrapping_add(sent * MSS);
                    event.delivered = before.delivered.wrapping_add(*acked);
                    event.lost = before.lost.wrapping_add(*lost);
                }
                adapter.on_event(&event);
                log.next_event();
                before = event;
            }
            prop_assert_eq!(log.violations().into_iter().next(), None, "{}", name);
        }
    }
}
