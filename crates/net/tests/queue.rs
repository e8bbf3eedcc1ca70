//! DropTail: which packets wait, and which find the buffer full.

mod common;

use common::{at_rate, mbit, ms};
use std::sync::Arc;
use whimbrel_net::{Backlog, DropCause, Fate, Link, LinkSpec, QueueLimit, ServiceSpec, Trace};
use whimbrel_units::{Bytes, Time};

const FULL: Fate = Fate::Dropped(DropCause::QueueOverflow);

fn limited(queue: QueueLimit) -> LinkSpec {
    LinkSpec {
        queue,
        ..at_rate(mbit(1))
    }
}

fn taken(link: &mut Link, now: Time, sizes: &[u32]) -> Vec<bool> {
    sizes
        .iter()
        .map(|size| link.offer(now, *size, true) != FULL)
        .collect()
}

#[test]
fn the_packet_in_service_is_not_in_the_queue() {
    let mut link = Link::new(&limited(QueueLimit::Packets(2)), 1);
    assert_eq!(
        taken(&mut link, ms(0), &[1500; 4]),
        [true, true, true, false]
    );
    assert_eq!(
        link.backlog(ms(0)),
        Backlog {
            packets: 2,
            bytes: Bytes::new(3000)
        }
    );
    // At 12 ms the first has left and the second begins: one place.
    assert_eq!(link.backlog(Time::from_nanos(11_999_999)).packets, 2);
    assert_eq!(taken(&mut link, ms(12), &[1500; 2]), [true, false]);
    assert_eq!(link.counters().queue_overflow, 2);
    assert_eq!(link.counters().most_waiting, 2);
}

#[test]
fn a_buffer_of_zero_packets_serves_one_at_a_time() {
    let mut link = Link::new(&limited(QueueLimit::Packets(0)), 1);
    assert_eq!(taken(&mut link, ms(0), &[1500, 1500]), [true, false]);
    assert_eq!(taken(&mut link, ms(12), &[1500, 1500]), [true, false]);
}

#[test]
fn a_buffer_in_bytes_accepts_small_packets_where_large_do_not_fit() {
    let mut link = Link::new(&limited(QueueLimit::Bytes(Bytes::new(3000))), 1);
    // One in service; 1500 + 1000 wait; 501 do not fit, 500 do; then it is full.
    let sizes = [9000, 1500, 1000, 501, 500, 1];
    assert_eq!(
        taken(&mut link, ms(0), &sizes),
        [true, true, true, false, true, false]
    );
    assert_eq!(link.backlog(ms(0)).bytes, Bytes::new(3000));
}

#[test]
fn a_packet_larger_than_the_buffer_passes_an_idle_link() {
    let mut link = Link::new(&limited(QueueLimit::Bytes(Bytes::new(100))), 1);
    assert_eq!(
        taken(&mut link, ms(0), &[1500, 1500, 100]),
        [true, false, true]
    );
}

#[test]
fn an_unlimited_link_never_overflows() {
    let spec = LinkSpec {
        service: ServiceSpec::Unlimited,
        ..limited(QueueLimit::Packets(0))
    };
    assert_eq!(
        taken(&mut Link::new(&spec, 1), ms(0), &[1500; 3]),
        [true; 3]
    );
}

#[test]
fn on_a_trace_a_packet_waits_for_its_opportunity() {
    // As in mahimahi with `--uplink-queue-args=packets=2`.
    let trace = Arc::new(Trace::parse("10\n20\n30\n").expect("a trace"));
    let spec = LinkSpec {
        service: ServiceSpec::Trace(trace),
        ..limited(QueueLimit::Packets(2))
    };
    let mut link = Link::new(&spec, 1);
    assert_eq!(taken(&mut link, ms(1), &[1500; 3]), [true, true, false]);
    // 10 ms takes the first whole and 4 bytes of the second, which is then in transit: two places.
    assert_eq!(taken(&mut link, ms(11), &[1500; 3]), [true, true, false]);
}
