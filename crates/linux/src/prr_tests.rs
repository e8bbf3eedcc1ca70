//! The rate reduction of the kernel's half (`bpf/prr.h`) beside RFC 9937, written down a second
//! time, on arbitrary recoveries.

use crate::bpf::object::Program;
use crate::function_tests::{program, run};
use proptest::prelude::*;

/// One acknowledgment of a recovery, as `struct prr_test` has it.
#[derive(Debug, Clone, Copy)]
struct Ack {
    delivered: u32,
    flight_at_begin: u32,
    target: u32,
    flight: u32,
    acked: u32,
    out: i32,
    safe: bool,
}

/// The window that the kernel's half sets.
fn window(program: &Program, ack: &Ack) -> u32 {
    let words = run(
        program,
        [
            ack.delivered,
            ack.flight_at_begin,
            ack.target,
            ack.flight,
            ack.acked,
            ack.out as u32,
            u32::from(ack.safe),
            0,
        ],
    );
    assert_eq!(words[0], ack.delivered + ack.acked, "prr_delivered");
    words[7]
}

/// Section 6 of RFC 9937, in packets; at least one packet.
fn rfc(ack: &Ack) -> u32 {
    let delivered = i64::from(ack.delivered + ack.acked);
    let out = i64::from(ack.out.max(0));
    let (flight, target) = (i64::from(ack.flight), i64::from(ack.target));
    let mut send = if flight > target {
        (delivered as u64 * target as u64).div_ceil(u64::from(ack.flight_at_begin)) as i64 - out
    } else {
        let conserving = (delivered - out).max(i64::from(ack.acked)) + i64::from(ack.safe);
        conserving.min(target - flight)
    };
    if out == 0 && send <= 0 {
        send = 1; // the fast retransmission
    }
    (flight + send.max(0)).max(1) as u32
}

fn acks() -> impl Strategy<Value = Ack> {
    let packets = || prop_oneof![0u32..20, 0u32..2000, 0u32..1_000_000];
    let counts = (packets(), packets(), packets(), packets(), packets());
    (counts, -5i32..2000, any::<bool>()).prop_map(
        |((delivered, begin, target, flight, acked), out, safe)| Ack {
            delivered,
            flight_at_begin: begin.max(1),
            target: target.max(1),
            flight,
            acked,
            out,
            safe,
        },
    )
}

#[test]
fn rate_reduction_is_that_of_the_rfc_and_never_closes_the_window() {
    let Some(program) = program("whim_prr_test") else {
        return;
    };
    proptest!(|(ack in acks())| {
        let window = window(&program, &ack);
        prop_assert_eq!(window, rfc(&ack));
        prop_assert!(window >= 1);
    });
}

#[test]
fn with_nothing_in_flight_the_window_stays_open() {
    let Some(program) = program("whim_prr_test") else {
        return;
    };
    // A duplicate acknowledgment after everything in flight was marked lost. A window of zero here
    // is what the kernel warns of if the reduction then proves spurious.
    let ack = Ack {
        delivered: 3,
        flight_at_begin: 10,
        target: 5,
        flight: 0,
        acked: 0,
        out: 4,
        safe: false,
    };
    assert_eq!(window(&program, &ack), 1);
}

#[test]
fn one_loss_of_twenty_sends_on_every_second_acknowledgment() {
    let Some(program) = program("whim_prr_test") else {
        return;
    };
    // Figure 1 of RFC 6937: a window of 20, one loss, ssthresh 10.
    let (mut flight, mut out, mut sent) = (19, 0, Vec::new());
    for delivered in 0..19 {
        flight -= 1;
        let ack = Ack {
            delivered,
            flight_at_begin: 20,
            target: 10,
            flight,
            acked: 1,
            out,
            safe: false,
        };
        let allowed = window(&program, &ack) - flight;
        sent.push(allowed);
        out += allowed as i32;
        flight += allowed;
    }
    // Until the flight has reached ssthresh.
    assert_eq!(sent[..16], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    assert_eq!(flight, 10);
}
