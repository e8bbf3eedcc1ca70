//! Whole connections of the stacks of this build on one path, in virtual time.

use std::path::Path;
use whimbrel_rank::{Library, MatrixPoint};
use whimbrel_stacks::application::Application;
use whimbrel_stacks::catalog::Sender;
use whimbrel_stacks::play::{Run, Task, play};

/// 10 s of 20 Mbit/s, 40 ms and 1 BDP, with this random loss.
fn path(loss: &str) -> MatrixPoint {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        r#"
        [point]
        class = "A"
        claim = "a bulk transfer fills the link"
        flows = ["t"]
        score = "fill"
        rtt = "40 ms"
        goal = 0.95
        queue = 1.0
        lost = "{loss}"

        [link.L]
        rate = "20 Mbit/s"
        delay = "20 ms"
        queue = "1 bdp"
        loss = "{loss}"

        [[flow]]
        name = "t"
        route = ["L"]

        [run]
        duration = "10 s"
        "#
    );
    let file: &Path = &folder.path().join("p01.toml");
    std::fs::write(file, text).expect("a file");
    let library = Library::folder(folder.path()).expect("a point");
    library.points.first().expect("one").clone()
}

/// All senders of a family or of a stack, with two seeds.
fn runs(point: &MatrixPoint, senders: &str, threads: usize) -> Vec<Run> {
    let senders = Sender::all_of(senders).expect("senders");
    let tasks: Vec<Task<'_>> = senders
        .into_iter()
        .flat_map(|sender| {
            [1, 2].map(|seed| Task {
                point,
                sender: sender.clone(),
                seed,
                application: Application::default(),
                sample: None,
            })
        })
        .collect();
    let played = play(&tasks, threads, |_| ()).expect("runs");
    let without_time = |run: Run| Run {
        cpu_us_per_packet: 0.0,
        ..run
    };
    played
        .into_iter()
        .map(|one| without_time(one.run))
        .collect()
}

#[test]
fn cubic_of_each_quic_stack_fills_a_clean_link() {
    for run in runs(&path("0 %"), "all:cubic", 2) {
        // smoltcp has no SACK; its page says so.
        if run.stack == "smoltcp" {
            continue;
        }
        let rate = run.goodput_bps / 20e6;
        assert!((0.9..0.98).contains(&rate), "{run:?}");
        assert!(
            !run.failed && run.packets_lost == run.packets_dropped,
            "{run:?}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_number_of_threads() {
    let path = path("0.5 %");
    let all = runs(&path, "all", 1);
    assert_eq!(all, runs(&path, "all", 2));
    let other = |run: &Run| {
        all.iter()
            .any(|one| one.seed != run.seed && one.packets_lost != run.packets_lost)
    };
    assert!(
        all.iter().all(other),
        "the seed decides which packets are lost"
    );
}
