//! Any messages, and their bytes.

use super::*;
use proptest::prelude::*;
use whimbrel_cc::burst_transport::trains::MAX_TRAIN;
use whimbrel_cc::burst_transport::{MAX_PACKETS, bounded_rate};

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
        held in any::<u64>().prop_map(Duration::from_nanos),
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
    let granted = (any_rate(), any_rate()).prop_map(|(bandwidth, allocated)| Granted {
        bandwidth,
        allocated,
    });
    let granted = prop::option::of(granted).boxed();
    let ack = (any::<u32>(), 0..MAX_PARTS).prop_map(|(burst, part)| AckOf { burst, part });
    let data = (
        any::<[u32; 2]>(),
        1..=MAX_PACKETS,
        any::<[u64; 2]>(),
        prop::option::of(ack.clone()),
    );
    let data = data.prop_flat_map(|([sequence, burst], count, [interval, sent], ack)| {
        (0..count).prop_map(move |index| {
            let place = BurstPacket {
                burst,
                index,
                count,
                interval: Duration::from_nanos(interval),
                sent,
            };
            Message::Data(Data {
                sequence,
                place,
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
    fn a_message_has_the_length_of_its_bytes(message in any_message()) {
        prop_assert_eq!(message.encode(7).len() as u32, message.length());
    }
}

#[test]
fn a_packet_of_1500_bytes_holds_a_report_with_173_gaps() {
    assert_eq!(DATA_HEADER, 71);
    assert_eq!(gaps_that_fit(1500), 173);
}
