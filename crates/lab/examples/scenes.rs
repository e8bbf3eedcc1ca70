//! Prints the numbers of each scene of the tour.
use std::sync::atomic::AtomicBool;
use whimbrel_lab::play::{Event, Request};
use whimbrel_lab::recordings::Recordings;
use whimbrel_lab::tour::SCENES;

fn main() {
    for scene in SCENES {
        println!("== {} {}", scene.id, scene.state);
        let state = scene.state().expect("a state");
        let request = Request::new(&state, &Recordings::default()).expect("valid");
        let mut names = Vec::new();
        let mut bytes = 0;
        request.play(&AtomicBool::new(false), |event| {
            bytes += serde_json::to_string(&event).expect("json").len();
            match event {
                Event::Begin { algorithms, .. } => names = algorithms,
                Event::Row { index, numbers: n } => println!(
                    "  {:14} {:6.2} Mbit/s  nb {:?} util {:.2} wait {:.1} ms p95 {:?} loss {:.4} to {} jain {:?} acc {:?} pc {:?}",
                    names[index], n.goodput_bps / 1e6, n.neighbours_bps.map(|b| b / 1e6), n.utilization.unwrap_or(0.0),
                    n.queue_delay_s * 1e3, n.rtt_p95_s.map(|s| s * 1e3), n.loss, n.timeouts, n.jain, n.accuracy, n.path_changes
                ),
                Event::Pictures { figures, .. } => println!("  pictures {}", figures.len()),
                Event::End { summary, took_ms } => println!("  {summary} {took_ms} ms {bytes} B"),
                Event::Stopped { why } => println!("  {why}"),
            }
            true
        });
    }
}
