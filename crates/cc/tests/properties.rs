//! What holds for every algorithm of the registry, whatever happens to it.

use proptest::prelude::*;
use whimbrel_cc::registry::{self, Spec};
use whimbrel_cc::{Ack, Controller, Loss, Setup, Signal, Timeout};
use whimbrel_units::{Bytes, Duration, Time};

/// Something a transport may tell, with numbers it may get wrong.
#[derive(Debug, Clone)]
enum Event {
    Sent {
        after: u64,
        size: u64,
        in_flight: u64,
    },
    Ack {
        after: u64,
        ack: Ack,
    },
    Loss {
        after: u64,
        loss: Loss,
    },
    RecoveryEnd,
    Timeout {
        after: u64,
        timeout: Timeout,
    },
    Spurious,
    Mss(u64),
}

/// Numbers of every size, the greatest and zero among them.
fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0u32..64).prop_flat_map(|bits| 0..=(u64::MAX >> bits)),
        4 => 0u64..100_000,
        1 => Just(0),
        1 => Just(u64::MAX),
    ]
}

/// Spans in nanoseconds: mostly milliseconds, now and then centuries.
fn any_span() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0u64..200_000_000, 1 => any_size()]
}

prop_compose! {
    fn any_ack()(
        after in any_span(),
        (acked, in_flight, delivered) in (any_size(), any_size(), any_size()),
        (rtt, srtt, min_rtt) in (prop::option::of(any_span()), any_span(), any_span()),
        (app_limited, cwnd_limited) in (any::<bool>(), prop::bool::weighted(0.8)),
        (in_recovery, round_start) in (prop::bool::weighted(0.2), any::<bool>()),
    ) -> Event {
        let ack = Ack {
            now: Time::ZERO,
            acked: Bytes::new(acked),
            rtt: rtt.map(Duration::from_nanos),
            srtt: Duration::from_nanos(srtt),
            min_rtt: Duration::from_nanos(min_rtt),
            in_flight: Bytes::new(in_flight),
            delivered: Bytes::new(delivered),
            delivery_rate: None,
            app_limited,
            cwnd_limited,
            in_recovery,
            round_start,
            receiver_time: None,
            lost: Bytes::ZERO,
            newest: None,
        };
        Event::Ack { after, ack }
    }
}

prop_compose! {
    fn any_loss()(
        after in any_span(),
        ecn in prop::bool::weighted(0.2),
        (in_flight, lost) in (any_size(), any_size()),
        (lost_order, next_order, sent) in (0u64..1000, 0u64..1000, any_size()),
    ) -> Event {
        let loss = Loss {
            now: Time::ZERO,
            signal: if ecn { Signal::Ecn } else { Signal::Loss },
            in_flight: Bytes::new(in_flight),
            lost: Bytes::new(lost),
            lost_order,
            next_order,
            sent: Time::from_nanos(sent),
        };
        Event::Loss { after, loss }
    }
}

prop_compose! {
    fn any_timeout()(
        after in any_span(),
        in_flight in any_size(),
        repeated in any::<bool>(),
        next_order in 0u64..1000,
    ) -> Event {
        let in_flight = Bytes::new(in_flight);
        Event::Timeout { after, timeout: Timeout { now: Time::ZERO, in_flight, repeated, next_order } }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => any_ack(),
        2 => any_loss(),
        1 => any_timeout(),
        1 => Just(Event::Spurious),
        1 => Just(Event::RecoveryEnd),
        1 => prop_oneof![500u64..10_000, any_size()].prop_map(Event::Mss),
        2 => (any_span(), any_size(), any_size())
            .prop_map(|(after, size, in_flight)| Event::Sent { after, size, in_flight }),
    ]
}

fn any_setup() -> impl Strategy<Value = Setup> {
    (1u64..10_000, 1u64..1_000, any::<bool>()).prop_map(|(mss, segments, paced)| Setup {
        mss: Bytes::new(mss),
        initial_window: Bytes::new(mss * segments),
        paced,
        seed: 1,
    })
}

/// A way of every algorithm: as it is, and with each of its switches turned.
fn all_specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for entry in registry::ALL {
        specs.push(entry.name.to_owned());
        for parameter in entry.parameters {
            if let registry::Value::Switch(on) = parameter.default {
                specs.push(format!("{}?{}={}", entry.name, parameter.name, !on));
            }
        }
    }
    specs
        .iter()
        .map(|text| text.parse().expect("from the table"))
        .collect()
}

/// A connection with its clock and segment size.
#[derive(Clone)]
struct Connection {
    controller: Box<dyn Controller>,
    now: Time,
    mss: u64,
}

impl Connection {
    fn new(spec: &Spec, setup: &Setup) -> Self {
        Self {
            controller: spec.build(setup),
            now: Time::ZERO,
            mss: setup.mss.get(),
        }
    }

    fn pass(&mut self, after: u64) -> Time {
        self.now += Duration::from_nanos(after);
        self.now
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::Sent {
                after,
                size,
                in_flight,
            } => {
                let now = self.pass(*after);
                self.controller
                    .on_sent(now, Bytes::new(*size), Bytes::new(*in_flight));
            }
            Event::Ack { after, ack } => {
                let now = self.pass(*after);
                self.controller.on_ack(&Ack { now, ..*ack });
            }
            Event::Loss { after, loss } => {
                let now = self.pass(*after);
                self.controller.on_loss(&Loss { now, ..*loss });
            }
            Event::RecoveryEnd => self.controller.on_recovery_end(self.now),
            Event::Timeout { after, timeout } => {
                let now = self.pass(*after);
                self.controller.on_timeout(&Timeout { now, ..*timeout });
            }
            Event::Spurious => self.controller.on_spurious(self.now),
            Event::Mss(mss) => {
                self.mss = *mss;
                self.controller.on_mss(Bytes::new(*mss));
            }
        }
    }

    fn seen(&self) -> (Bytes, Option<Bytes>, &'static str) {
        (
            self.controller.cwnd(),
            self.controller.ssthresh(),
            self.controller.phase(),
        )
    }
}

proptest! {
    #[test]
    fn the_window_is_never_below_one_segment_nor_ssthresh_below_two(
        setup in any_setup(),
        events in prop::collection::vec(any_event(), 1..200),
    ) {
        for spec in all_specs() {
            let mut connection = Connection::new(&spec, &setup);
            for event in &events {
                connection.tell(event);
                let (cwnd, ssthresh, phase) = connection.seen();
                let mss = connection.mss;
                prop_assert!(cwnd.get() >= mss.max(1), "{spec}: {cwnd} after {event:?}");
                if let Some(ssthresh) = ssthresh {
                    prop_assert!(ssthresh.get() >= mss.saturating_mul(2), "{spec}: {ssthresh}");
                }
                prop_assert!(!phase.is_empty());
            }
        }
    }

    #[test]
    fn only_acks_and_taken_back_mistakes_raise_the_window(
        setup in any_setup(),
        events in prop::collection::vec(any_event(), 1..200),
    ) {
        for spec in all_specs() {
            let mut connection = Connection::new(&spec, &setup);
            for event in &events {
                let before = connection.controller.cwnd();
                connection.tell(event);
                let after = connection.controller.cwnd();
                match event {
                    Event::Ack { ack, .. } => {
                        prop_assert!(after >= before, "{spec}: shrank on an ACK");
                        if ack.in_recovery || !ack.cwnd_limited {
                            prop_assert_eq!(after, before, "{}: growth must be earned", spec);
                        }
                    }
                    Event::Spurious => prop_assert!(after >= before, "{spec}"),
                    Event::Mss(mss) => prop_assert!(after == before || after.get() == *mss, "{spec}"),
                    Event::Timeout { .. } => {
                        prop_assert_eq!(after.get(), connection.mss.max(1), "{}", spec);
                    }
                    _ => prop_assert!(after <= before, "{spec}: {before} to {after}"),
                }
            }
        }
    }

    #[test]
    fn the_answer_to_a_loss_says_whether_the_window_was_reduced(
        setup in any_setup(),
        events in prop::collection::vec(any_event(), 1..200),
    ) {
        for spec in all_specs() {
            let mut connection = Connection::new(&spec, &setup);
            for event in &events {
                let Event::Loss { after, loss } = event else {
                    connection.tell(event);
                    continue;
                };
                let now = connection.pass(*after);
                let before = (connection.controller.cwnd(), connection.controller.ssthresh());
                let response = connection.controller.on_loss(&Loss { now, ..*loss });
                if !response.reduced {
                    let after = (connection.controller.cwnd(), connection.controller.ssthresh());
                    prop_assert_eq!(after, before, "{}", spec);
                }
            }
        }
    }

    #[test]
    fn a_copy_behaves_as_the_original_and_so_does_a_second_run(
        setup in any_setup(),
        events in prop::collection::vec(any_event(), 2..200),
        share in 0.0..1.0f64,
    ) {
        let fork = (events.len() as f64 * share) as usize;
        for spec in all_specs() {
            let mut original = Connection::new(&spec, &setup);
            let mut again = Connection::new(&spec, &setup);
            for event in &events[..fork] {
                original.tell(event);
                again.tell(event);
            }
            let mut copy = original.clone();
            for event in &events[fork..] {
                original.tell(event);
                again.tell(event);
                copy.tell(event);
                prop_assert_eq!(copy.seen(), original.seen(), "{}", spec);
                prop_assert_eq!(again.seen(), original.seen(), "{}", spec);
            }
        }
    }
}
