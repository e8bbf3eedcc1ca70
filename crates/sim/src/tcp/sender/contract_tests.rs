//! The calls that a controller receives for arbitrary acknowledgments and timers.

use super::Sender;
use crate::network::{Nack, Recovery, TcpSettings};
use crate::packet::{Block, Flags, Packet};
use crate::seed::Draw;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use whimbrel_cc::Spec;
use whimbrel_cc::connection::contract::{CallChecker, CallLog};
use whimbrel_units::{Duration, Time};

/// An event of a sender. Numbers of segments are relative to the first unacknowledged one.
#[derive(Debug, Clone)]
enum Event {
    Ack {
        advance: u32,
        gap: u32,
        sacked: u32,
        /// A DSACK for the newest acknowledged segment.
        dsack: bool,
        marked: bool,
        /// Age of the segment whose time is echoed, milliseconds.
        age: u64,
    },
    Nack(u32),
    Timer,
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (0u32..8, 0u32..10, 0u32..8, 0u8..10, 0u8..6, 0u64..300);
    prop_oneof![
        8 => ack.prop_map(|(advance, gap, sacked, dsack, marked, age)| Event::Ack {
            advance,
            gap,
            sacked,
            dsack: dsack == 0,
            marked: marked == 0,
            age,
        }),
        1 => (0u32..20).prop_map(Event::Nack),
        1 => Just(Event::Timer),
    ]
}

/// A sender of `controller`, and the check of its calls.
fn sender(controller: &str, recovery: Recovery, nack: Nack) -> (Sender, CallLog) {
    let spec: Spec = controller.parse().expect("registered");
    let built = Arc::new(Mutex::new(None));
    let log = Arc::clone(&built);
    // The check is around the whole algorithm, its loss classifier included.
    let any: Spec = "newreno".parse().expect("registered");
    let checked = any.made_by(Arc::new(move |setup| {
        let (checker, calls) = CallChecker::new(spec.build(setup).expect("fed acknowledgments"));
        *log.lock().expect("one thread") = Some(calls);
        Box::new(checker)
    }));
    let settings = TcpSettings {
        recovery,
        ecn: Some(true),
        ..TcpSettings::default()
    };
    let mut sender = Sender::new(&checked, None, &settings, nack, Draw::of(1, 0));
    sender.on_handshake(Some(Duration::from_millis(100)));
    let log = built.lock().expect("one thread").take();
    (sender, log.expect("built"))
}

fn packet(now: Time, age: u64, ack: u32) -> Packet {
    Packet {
        at: now,
        sent: now,
        echo: now - Duration::from_millis(age),
        path_id: 0,
        seg: 0,
        ack,
        size: 52,
        hop: 0,
        flags: Flags::BACKWARD,
        sacks: [Block::default(); 3],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The sender calls any algorithm as `whimbrel_cc::connection` says.
    #[test]
    fn algorithms_are_called_in_the_order_of_the_contract(
        events in prop::collection::vec((event(), 0u64..80), 1..150),
        nack in any::<bool>(),
    ) {
        let modes = [Recovery::NewReno, Recovery::Sack, Recovery::Fack, Recovery::Rack];
        let nack = if nack { Nack::On } else { Nack::Off };
        for (name, recovery) in ["cubic", "tahoe", "reno", "newreno+cerl", "bbr3", "whimbrel"]
            .into_iter()
            .flat_map(|name| modes.map(|recovery| (name, recovery)))
        {
            let (mut sender, log) = sender(name, recovery, nack);
            let mut now = Time::ZERO + Duration::from_secs(1);
            while sender.next_one(now).is_some() {}
            for (event, wait) in &events {
                now += Duration::from_millis(*wait);
                let (una, next) = (sender.board.una(), sender.board.next());
                match *event {
                    Event::Ack { advance, gap, sacked, dsack, marked, age } => {
                        let ack = (una + advance).min(next);
                        let start = (ack + 1 + gap).min(next);
                        let mut packet = packet(now, age, ack);
                        let block = Block { start, end: (start + sacked).min(next) };
                        if dsack {
                            packet.sacks = [
                                Block { start: ack.saturating_sub(1), end: ack },
                                block,
                                Block::default(),
                            ];
                        } else {
                            packet.sacks[0] = block;
                        }
                        packet.flags = packet
                            .flags
                            .with_if(dsack, Flags::DSACK)
                            .with_if(marked, Flags::ECE);
                        sender.on_ack(now, &packet);
                    }
                    Event::Nack(ahead) => {
                        sender.on_nack(now, &packet(now, 100, una.wrapping_add(ahead)));
                    }
                    Event::Timer => {
                        let due = sender.deadline(now);
                        if due < Time::MAX {
                            now = now.max(due);
                            sender.on_timer(now);
                        }
                    }
                }
                log.next_event();
                while sender.next_one(now).is_some() {}
            }
            prop_assert_eq!(log.violations().into_iter().next(), None, "{} {:?}", name, recovery);
        }
    }
}
