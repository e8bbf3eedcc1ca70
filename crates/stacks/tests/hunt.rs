//! The search for the path on which a stack does worst.

use std::num::NonZeroUsize;
use std::sync::Arc;
use whimbrel_stacks::runner::StackRunner;
use whimbrel_study::Unobserved;
use whimbrel_study::hunt::{Request, Target, hunt};

#[test]
fn a_hunt_on_a_stack_finds_the_same_on_any_number_of_threads() {
    let with = |threads: usize| {
        let request = Request {
            // The family whose paths carry the fewest packets.
            families: vec!["cellular".to_owned()],
            evaluations: 2,
            seeds: 1,
            fresh: 1,
            // What makes a path simpler is the simulator's, and has its own tests.
            finds: 0,
            threads: NonZeroUsize::new(threads),
            runner: Some(Arc::new(StackRunner)),
            ..Request::new(Target::Algorithm {
                name: "noq:newreno".to_owned(),
                against: vec!["sim:bbr".to_owned()],
            })
        };
        let found = hunt(&request, &Unobserved).expect("a hunt");
        assert!(found.evaluations >= 2);
        found.json().to_string()
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn a_hunt_refuses_an_unknown_sender() {
    let request = Request {
        families: vec!["bottleneck".to_owned()],
        evaluations: 2,
        runner: Some(Arc::new(StackRunner)),
        ..Request::new(Target::Algorithm {
            name: "noq:cubik".to_owned(),
            against: vec!["sim:bbr".to_owned()],
        })
    };
    let error = hunt(&request, &Unobserved).expect_err("no such controller");
    assert!(format!("{error}").contains("cubik"), "{error}");
}
