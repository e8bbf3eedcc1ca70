//! The window between a loss and its answer in the kernel's half (`bpf/hold.h`).

use crate::bpf::object::Program;
use crate::function_tests::{program, run};
use proptest::prelude::*;

/// A loss, as `struct hold_test` has it.
#[derive(Debug, Clone, Copy)]
struct Lost {
    paced: bool,
    cwnd: u32,
    /// After the acknowledgment that reveals the loss.
    flight: u32,
    acked: u32,
    newly_lost: u32,
    /// By a later acknowledgment, before there is an answer.
    then_lost: u32,
}

/// The windows after the first and after the second acknowledgment.
fn windows(program: &Program, lost: &Lost) -> (u32, u32) {
    let words = run(
        program,
        [
            u32::from(lost.paced),
            lost.cwnd,
            lost.flight,
            lost.acked,
            lost.newly_lost,
            lost.then_lost,
            0,
            0,
        ],
    );
    (words[6], words[7])
}

/// A batch of acknowledgments has delivered 80 packets that pacing, if there is any, has not
/// replaced yet.
const BATCH: Lost = Lost {
    paced: true,
    cwnd: 290,
    flight: 207,
    acked: 2,
    newly_lost: 1,
    then_lost: 2,
};

#[test]
fn a_paced_sender_keeps_its_window_through_a_batch_of_acknowledgments() {
    let Some(program) = program("whim_hold_test") else {
        return;
    };
    assert_eq!(windows(&program, &BATCH), (289, 287));
}

#[test]
fn without_pacing_the_flight_does_not_grow() {
    let Some(program) = program("whim_hold_test") else {
        return;
    };
    let lost = Lost {
        paced: false,
        ..BATCH
    };
    assert_eq!(windows(&program, &lost), (209, 207));
}

#[test]
fn it_never_closes_the_window_nor_exceeds_what_was_allowed() {
    let Some(program) = program("whim_hold_test") else {
        return;
    };
    let packets = || prop_oneof![0u32..20, 0u32..2000, 0u32..1_000_000];
    let counts = (packets(), packets(), packets(), packets(), packets());
    proptest!(|((cwnd, flight, acked, newly_lost, then_lost) in counts, paced in any::<bool>())| {
        let lost = Lost { paced, cwnd, flight, acked, newly_lost, then_lost };
        let (begins, reduced) = windows(&program, &lost);
        prop_assert!(reduced >= 1 && begins >= reduced);
        prop_assert!(begins <= cwnd.max(flight + acked.max(1)));
    });
}
