//! Messages are decoded as they were encoded, and other bytes are rejected.

use super::*;
use proptest::prelude::*;

fn coded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(7, &mut bytes);
    bytes
}

prop_compose! {
    fn any_gaps(count: u32)(cuts in prop::collection::btree_set(0..count, 0..40)) -> Vec<(u32, u32)> {
        // Every second span between cuts is missing.
        let cuts: Vec<u32> = cuts.into_iter().collect();
        cuts.chunks_exact(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
    }
}

/// A rate that decoding leaves as it is.
fn any_rate() -> impl Strategy<Value = Rate> {
    any::<u64>().prop_map(bounded_rate)
}

prop_compose! {
    fn any_sack()(count in 1..MAX_PACKETS)(
        (count, gaps) in (Just(count), any_gaps(count)),
        (burst, parts, again) in (any::<u32>(), 1..=MAX_PARTS, any::<bool>()),
        (received, lost_bursts) in (0..=count, any::<u32>()),
        spans in prop::option::of(any::<(u64, u64)>()),
        held in any::<u64>(),
        share in prop::option::of((any_rate(), any_rate(), 0.0..=1.0f64, -1e9..1e9f64)),
    ) -> Sack {
        let share = share.map(|(allocated, delivered, fairness, adapter)| {
            Share { allocated, delivered, fairness, adapter }
        });
        let spans = spans.map(|(sent, received)| Spans {
            sent: Duration::from_nanos(sent),
            received: Duration::from_nanos(received),
        });
        let part = parts - 1;
        Sack { burst, part, parts, again, count, received, lost_bursts, spans, held, share, gaps }
    }
}

pub(in crate::aatp) fn any_message() -> impl Strategy<Value = Message> {
    let granted = (any::<u64>(), any::<u64>()).prop_map(|(bandwidth, allocated)| Granted {
        bandwidth,
        allocated,
    });
    let ack = (any::<u32>(), 0..MAX_PARTS).prop_map(|(burst, part)| AckOf { burst, part });
    let data = (
        any::<[u32; 2]>(),
        1..=MAX_PACKETS,
        any::<[u64; 2]>(),
        prop::option::of(ack.clone()),
    );
    let data = data.prop_flat_map(|([sequence, burst], count, [interval, sent], ack)| {
        (0..count).prop_map(move |index| {
            Message::Data(Data {
                sequence,
                burst,
                index,
                count,
                interval,
                sent,
                ack,
            })
        })
    });
    prop_oneof![
        (1u8..=8, MIN_PACKET..=u16::MAX, 1..=u32::MAX).prop_map(|(priority, packet, packets)| {
            Message::Open(Open {
                priority: Priority::new(priority).expect("1 to 8"),
                packet,
                packets,
            })
        }),
        granted.clone().prop_map(Message::Accept),
        (any::<u32>(), 2..=MAX_TRAIN).prop_flat_map(|(number, count)| (0..count).prop_map(
            move |index| Message::Train(Train {
                number,
                index,
                count
            })
        )),
        (any::<u32>(), any::<u8>(), granted).prop_map(|(number, measured, granted)| {
            Message::TrainReport(TrainReport {
                number,
                measured,
                granted,
            })
        }),
        data,
        any_sack().prop_map(Message::Sack),
        ack.prop_map(Message::Ack),
        Just(Message::Probe),
        Just(Message::ProbeAnswer),
        Just(Message::Close),
        Just(Message::Closed),
    ]
}

proptest! {
    #[test]
    fn messages_are_decoded_as_encoded(message in any_message()) {
        prop_assert_eq!(Message::decode(&coded(&message)), Ok((7, message)));
    }

    #[test]
    fn any_bytes_are_rejected_or_decode_to_a_message(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0u8..16,
    ) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = VERSION << 4 | kind;
        }
        if let Ok((connection, message)) = Message::decode(&bytes) {
            let mut again = Vec::new();
            message.encode(connection, &mut again);
            // A NaN or an unused field is not kept, so compare the decoded messages.
            prop_assert_eq!(Message::decode(&again), Ok((connection, message)));
        }
    }

    #[test]
    fn a_cut_message_is_rejected_and_a_damaged_one_does_not_panic(
        message in any_message(),
        cut in any::<prop::sample::Index>(),
        (at, bit) in (any::<prop::sample::Index>(), 0u8..8),
    ) {
        let bytes = coded(&message);
        prop_assert!(Message::decode(&bytes[..cut.index(bytes.len())]).is_err());
        let mut damaged = bytes.clone();
        let at = at.index(bytes.len());
        damaged[at] ^= 1 << bit;
        let _ = Message::decode(&damaged);
    }
}

#[test]
fn sizes_are_as_in_the_table() {
    let data = Data {
        sequence: 1,
        burst: 2,
        index: 3,
        count: 4,
        interval: 5,
        sent: 6,
        ack: None,
    };
    assert_eq!(coded(&Message::Data(data)).len(), 43);
    assert_eq!(DATA_HEADER, 71);
    let sack = Sack {
        burst: 1,
        part: 0,
        parts: 1,
        again: false,
        count: 10,
        received: 8,
        lost_bursts: 0,
        spans: Some(Spans {
            sent: Duration::from_nanos(1),
            received: Duration::from_nanos(2),
        }),
        held: 3,
        share: None,
        gaps: vec![(2, 1), (5, 1)],
    };
    let bytes = coded(&Message::Sack(sack));
    assert_eq!(bytes.len() as u32 + IP_AND_UDP, SACK_FIXED + 2 * GAP);
    // A packet of 1500 bytes holds a SACK with 173 gaps.
    assert_eq!(gaps_that_fit(1500), 173);
}

#[test]
fn invalid_fields_are_rejected() {
    let mut open = coded(&Message::Open(Open {
        priority: Priority::HIGHEST,
        packet: 1500,
        packets: 1,
    }));
    assert!(Message::decode(&open).is_ok());
    open[5] = 9;
    assert_eq!(Message::decode(&open), Err(WireError::Range));
    open[5] = 8;
    open.push(0);
    assert_eq!(Message::decode(&open), Err(WireError::Long));
    open[0] = 0x20;
    assert_eq!(Message::decode(&open), Err(WireError::Unknown));
    let gap = |gaps| {
        let sack = Sack {
            burst: 1,
            part: 0,
            parts: 1,
            again: false,
            count: 10,
            received: 8,
            lost_bursts: 0,
            spans: None,
            held: 0,
            share: None,
            gaps,
        };
        Message::decode(&coded(&Message::Sack(sack))).map(|_| ())
    };
    assert_eq!(gap(vec![(0, 1), (9, 1)]), Ok(()));
    for wrong in [
        vec![(9, 2)],
        vec![(0, 0)],
        vec![(3, 2), (4, 1)],
        vec![(0, u32::MAX)],
    ] {
        assert_eq!(gap(wrong.clone()), Err(WireError::Range), "{wrong:?}");
    }
}
