//! The events that an observer receives, on paths that can be calculated by hand.

use std::path::Path;
use whimbrel_sim::observe::{Content, Data, End, Event, Fate, Finding, Observer, Segment, What};
use whimbrel_sim::run_observed;
use whimbrel_sim::scenario::Scenario;
use whimbrel_units::Time;

#[derive(Default)]
struct Events(Vec<Event>);

impl Observer for Events {
    fn on_event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// 12 Mbit/s and 10 ms each way: a full packet takes 1 ms, one of 52 bytes 34,666 ns (fractions of
/// a nanosecond are cut off).
fn events(loss: &str, segments: u32) -> Vec<Event> {
    let text = format!(
        "[link.L]\nrate = \"12 Mbit/s\"\ndelay = \"10 ms\"\nloss = {loss}\n[[flow]]\ncontroller = \"newreno\"\n\
         route = [\"L\"]\nsize = \"{} B\"\n[run]\nduration = \"20 s\"\nrecovery = \"rack\"\n",
        1448 * segments
    );
    let scenario = Scenario::parse(&text, Path::new("test")).expect("a scenario");
    let mut events = Events::default();
    run_observed(&scenario.points()[0].network(1), &mut events);
    events.0
}

/// Packets that are sent or arrive: the time, whether they are sent, the end, and the segment.
fn packets(events: &[Event]) -> Vec<(u64, bool, End, Segment)> {
    let of = |event: &Event| match &event.what {
        What::Sent(packet) | What::Arrived(packet) => {
            let Content::Segment(segment) = &packet.content else {
                panic!("a segment");
            };
            let leaves = matches!(&event.what, What::Sent(_));
            Some((event.at.as_nanos(), leaves, packet.from, segment.clone()))
        }
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn a_short_flow_is_reported_packet_by_packet() {
    let packets = packets(&events("\"0 %\"", 3));
    let times: Vec<(u64, bool, End)> = packets
        .iter()
        .map(|(at, leaves, from, _)| (*at, *leaves, *from))
        .collect();
    use End::{Far, Near};
    let answered = 2 * 10_034_666;
    let expected = [
        (0, true, Near),
        (10_034_666, false, Near),
        (10_034_666, true, Far),
        (answered, false, Far),
        (answered, true, Near),
        (answered, true, Near),
        (answered, true, Near),
        (answered + 11_000_000, false, Near),
        (answered + 12_000_000, false, Near),
        // Every second segment is acknowledged.
        (answered + 12_000_000, true, Far),
        // The run ends with the last segment.
        (answered + 13_000_000, false, Near),
    ];
    assert_eq!(times, expected);
    let segment = |at: usize| &packets[at].3;
    assert!(segment(0).syn && segment(0).ack.is_none());
    assert!(segment(2).syn && segment(2).ack == Some(0));
    let data = |offset: u64, last: bool| {
        Some(Data {
            offset,
            length: 1448,
            again: false,
            last,
        })
    };
    assert_eq!(segment(4).data, data(0, false));
    assert_eq!(segment(6).data, data(2896, true));
    assert_eq!((segment(9).ack, segment(9).data), (Some(2896), None));
    // It echoes the first of the two segments that it acknowledges (RFC 7323 section 4.3), which
    // was sent at the end of the handshake.
    assert_eq!(segment(9).echo, Some(Time::from_nanos(answered)));
}

#[test]
fn a_loss_is_reported_with_its_cause_and_how_it_was_detected() {
    // A packet that leaves the service of the link at 21 ms is lost: the first of twenty segments,
    // sent at 20.069332 ms.
    let events = events("{ drops = [\"21 ms\"] }", 20);
    let dropped = events.iter().find_map(|event| match &event.what {
        What::Dropped(packet, fate) => Some((event.at, packet.id, *fate)),
        _ => None,
    });
    let (at, id, fate) = dropped.expect("one is dropped");
    assert!(matches!(fate, Fate::Dropped { .. }), "{fate:?}");
    assert_eq!(at.as_nanos(), 20_069_332);
    let lost: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Lost(lost) => Some((event.at, lost)),
            _ => None,
        })
        .collect();
    let [(found, lost)] = lost.as_slice() else {
        panic!("one is found lost: {lost:?}");
    };
    assert_eq!(
        (lost.id, lost.by, lost.end),
        (Some(id), Finding::Rack, End::Near)
    );
    // Not before a segment that was sent later has arrived and is acknowledged.
    assert!(found.as_nanos() > 20_069_332 + 20_000_000);
    let again = packets(&events)
        .into_iter()
        .find(|(_, leaves, _, segment)| *leaves && segment.data.is_some_and(|data| data.again));
    let (at, _, _, segment) = again.expect("it is retransmitted");
    assert_eq!(at, found.as_nanos());
    assert_eq!(segment.data.map(|data| data.offset), Some(lost.offset));
    let judged = events
        .iter()
        .filter(|event| matches!(event.what, What::Judged(_)));
    assert_eq!(judged.count(), 1);
}
