//! The first run in a process shows what the same run shows later. This file has one test, so that
//! no other test runs before it.

use whimbrel_rank::{Library, Version};
use whimbrel_stacks::application::Application;
use whimbrel_stacks::catalog::Sender;
use whimbrel_stacks::runs::{Run, Task, run_tasks};

#[test]
fn the_first_run_in_a_process_shows_what_the_same_shows_later() {
    let library = Library::matrix(Version::Two).expect("the matrix");
    let point = library.points.iter().find(|point| point.id == "b01");
    let point = point.expect("a point with outages");
    let run = |sender: &Sender| -> Run {
        let task = Task {
            point,
            sender: sender.clone(),
            seed: 1,
            application: Application::default(),
            sample: None,
        };
        let played = run_tasks(&[task], 1, |_| ()).expect("a run");
        let run = played.into_iter().next().expect("one run").run;
        Run {
            cpu_us_per_packet: 0.0,
            ..run
        }
    };
    // Both use BoringSSL; the first of this build is the first in this process.
    for name in ["quiche:cubic", "tquic:cubic"] {
        for sender in Sender::all_of(name).unwrap_or_default() {
            assert_eq!(run(&sender), run(&sender), "{name}");
        }
    }
}
