//! What RFC 8985 and RFC 9293 say of a sender, event by event.

use super::Sender;
use crate::network::{Nack, Recovery, TcpSettings};
use crate::packet::{Flags, Packet};
use crate::seed::Draw;
use whimbrel_units::{Bytes, Duration, Time};

const MSS: u64 = 1448;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(1_000 + ms)
}

/// A NewReno sender of so many segments, with up to ten of them in flight since 0 ms and an RTT of
/// 100 ms.
fn sender(segments: u64, recovery: Recovery) -> Sender {
    let settings = TcpSettings {
        recovery,
        ..TcpSettings::default()
    };
    let newreno = "newreno".parse().expect("registered");
    let size = Some(Bytes::new(segments * MSS));
    let mut sender = Sender::new(&newreno, size, &settings, Nack::Off, Draw::of(1, 0));
    sender.on_handshake(Some(Duration::from_millis(100)));
    assert_eq!(leave(&mut sender, at(0)).len() as u64, segments.min(10));
    sender
}

/// All segments that are sent now.
fn leave(sender: &mut Sender, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_one(now).map(|sent| sent.seg)).collect()
}

/// An acknowledgment for what was sent 100 ms before, with these SACK blocks, the first of which
/// reports a duplicate if `dsack`. Returns what is sent for it.
fn ack(sender: &mut Sender, now: Time, ack: u32, dsack: bool, sacks: &[(u32, u32)]) -> Vec<u32> {
    let flags = Flags::BACKWARD.with_if(dsack, Flags::DSACK);
    let mut packet = Packet::new(now, 0, 52, flags);
    (packet.ack, packet.echo) = (ack, now - Duration::from_millis(100));
    for (place, (start, end)) in packet.sacks.iter_mut().zip(sacks) {
        (place.start, place.end) = (*start, *end);
    }
    sender.on_ack(now, &packet);
    leave(sender, now)
}

/// RFC 8985 section 7.2: two round trips, and as much longer as a single segment may wait for its
/// acknowledgment; not later than the retransmission timer.
#[test]
fn a_probe_waits_for_the_acknowledgment_of_a_single_segment() {
    for (segments, wait) in [(1, 400), (2, 200), (5, 200)] {
        let mut sender = sender(segments, Recovery::Rack);
        assert_eq!(sender.deadline(at(0)), at(wait), "{segments} segments");
        sender.on_timer(at(wait));
        // Without new data the last segment is sent again, once.
        assert_eq!(leave(&mut sender, at(wait)), [segments as u32 - 1]);
        assert!(sender.deadline(at(wait)) >= at(wait + 1_000), "RFC 6298");
    }
}

/// RFC 8985 section 6.2 step 4: however many duplicates a round trip reports, the window grows by
/// one step.
#[test]
fn the_reordering_window_grows_once_in_a_round_trip() {
    let mut sender = sender(1_000, Recovery::Rack);
    for n in 1..=4 {
        ack(&mut sender, at(100), n, true, &[(n - 1, n)]);
    }
    assert_eq!(sender.rack.multiplier(), 2);
    // The next one begins when what had been sent then is acknowledged, and lasts as long.
    let next = sender.board.next();
    for n in [next - 2, next - 1] {
        ack(&mut sender, at(200), n, true, &[(n - 1, n)]);
        assert_eq!(sender.rack.multiplier(), 3);
    }
}

/// RFC 9293 section 3.10.7.4: an acknowledgment of what was never sent is dropped.
#[test]
fn an_acknowledgment_of_what_was_never_sent_changes_nothing() {
    for recovery in [
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Fack,
        Recovery::Rack,
    ] {
        let mut sender = sender(1_000, recovery);
        let before = (sender.una(), sender.in_flight(), sender.effective_cwnd());
        assert_eq!(ack(&mut sender, at(100), 11, false, &[]), [0; 0]);
        let after = (sender.una(), sender.in_flight(), sender.effective_cwnd());
        assert_eq!(after, before, "{recovery:?}");
        assert!(!ack(&mut sender, at(101), 10, false, &[]).is_empty());
    }
}
