//! Results as text: a table of 80 columns, JSON, CSV.

use serde::Serialize;
use whimbrel_stacks::catalog::STACKS;
use whimbrel_stacks::runs::{Played, Run};

/// The marks of a Markdown page between which results are written.
pub const BEGIN: &str = "<!-- results: begin -->";
/// See [`BEGIN`].
pub const END: &str = "<!-- results: end -->";

/// The stacks of this build.
pub fn list() -> String {
    let mut text = String::new();
    for stack in STACKS {
        let name = format!("{} {} ", stack.name, stack.version);
        let missing = stack
            .missing()
            .map_or(String::new(), |how| format!(" (not built: {how})"));
        text += &format!("{name:<22}{}{missing}\n", stack.summary);
        text += &format!("{:<22}{}\n", "", stack.controllers.join(", "));
    }
    text
}

/// All runs as JSON.
///
/// # Errors
/// None: all values can be written.
pub fn json(played: &[Played]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Runs<'a> {
        runs: Vec<&'a Run>,
    }
    let runs = played.iter().map(|played| &played.run).collect();
    serde_json::to_string_pretty(&Runs { runs })
}

/// A row for each sender at each point: means over the seeds.
pub fn table(played: &[Played]) -> String {
    let mut text = format!(
        "{:<24}{:>8}{:>7}{:>9}{:>7}{:>9}{:>7}{:>7}\n",
        "sender", "goodput", "ideal", "queue", "lost", "spurious", "hand", "cpu"
    );
    text += &format!(
        "{:<24}{:>8}{:>7}{:>9}{:>7}{:>9}{:>7}{:>7}\n",
        "", "Mbit/s", "%", "ms", "%", "%", "ms", "us"
    );
    let mut point = "";
    for group in groups(played) {
        let Some(first) = group.first() else {
            continue;
        };
        if first.point != point {
            point = &first.point;
            if point != "path" {
                text += &format!("point {point}\n");
            }
        }
        text += &row(first, &group);
    }
    text
}

fn row(first: &Run, group: &[&Run]) -> String {
    let name = format!("{}:{}", first.stack, first.controller);
    let panicked = group.iter().filter(|run| run.panicked).count();
    if panicked > 0 {
        return format!(
            "{name:<24} panicked in {panicked} of {} runs\n",
            group.len()
        );
    }
    let mean = |get: fn(&Run) -> f64| mean(group.iter().map(|run| get(run)));
    let maybe = |get: fn(&Run) -> Option<f64>, digits: usize| {
        let all: Option<Vec<f64>> = group.iter().map(|run| get(run)).collect();
        all.map_or("-".to_owned(), |all| {
            format!("{:.digits$}", self::mean(all.into_iter()))
        })
    };
    let sent = |run: &Run| run.packets_sent.max(1) as f64;
    let spurious = group
        .iter()
        .map(|run| run.spurious.map(|n| 100.0 * n as f64 / sent(run)))
        .collect::<Option<Vec<f64>>>()
        .map_or("-".to_owned(), |all| {
            format!("{:.2}", self::mean(all.into_iter()))
        });
    let lost = self::mean(
        group
            .iter()
            .map(|run| 100.0 * run.packets_lost as f64 / sent(run)),
    );
    let ended = if group.iter().any(|run| run.failed) {
        "  connection ended"
    } else {
        ""
    };
    format!(
        "{name:<24}{:>8.2}{:>7.1}{:>9.1}{lost:>7.2}{spurious:>9}{:>7}{:>7.1}{ended}\n",
        mean(|run| run.goodput_bps) / 1e6,
        mean(|run| run.efficiency) * 100.0,
        mean(|run| run.queue_ms),
        maybe(|run| run.handshake_ms, 1),
        mean(|run| run.cpu_us_per_packet),
    )
}

/// The runs of each sender at each point, in order.
fn groups(played: &[Played]) -> Vec<Vec<&Run>> {
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for Played { run, .. } in played {
        let same = |other: &&Run| {
            (&other.stack, &other.controller, &other.point)
                == (&run.stack, &run.controller, &run.point)
        };
        match groups.last_mut().filter(|group| group.iter().all(same)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

/// Windows over time as CSV.
pub fn windows(played: &[Played]) -> String {
    let mut text = "sender,point,seed,time_s,cwnd_bytes,in_flight_bytes,pacing_bps,srtt_ms,\
                    delivered_bytes,taken_for_lost\n"
        .to_owned();
    for Played { run, samples, .. } in played {
        for sample in samples {
            let pacing = sample.pacing_rate.map(|rate| rate.as_bits_per_sec());
            text += &format!(
                "{}:{},{},{},{:.3},{},{},{},{:.3},{},{}\n",
                run.stack,
                run.controller,
                run.point,
                run.seed,
                sample.at.as_secs_f64(),
                sample.cwnd.get(),
                sample.in_flight.get(),
                pacing.map_or(String::new(), |rate| rate.to_string()),
                sample.srtt.as_secs_f64() * 1e3,
                sample.delivered.get(),
                sample.retransmits,
            );
        }
    }
    text
}

/// A page with these results between its marks; `None` if it has no marks.
pub fn replace(page: &str, results: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{results}\n{END}{tail}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run that ended in a panic if `panicked`.
    pub fn run(controller: &str, seed: u64, panicked: bool) -> Played {
        Played {
            run: Run {
                stack: "noq".to_owned(),
                version: "1".to_owned(),
                controller: controller.to_owned(),
                point: "path".to_owned(),
                seed,
                goodput_bps: 8e6,
                efficiency: 0.5,
                packets_sent: 100,
                packet_bytes: 1500.0,
                payload_bytes: 1448.0,
                failed: panicked,
                panicked,
                cpu_us_per_packet: 1.0,
                ..Run::default()
            },
            measures: None,
            samples: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_panicked_is_in_the_table_and_in_the_json() {
        let played = [
            run("cubic", 1, false),
            run("bbr", 1, false),
            run("bbr", 2, true),
        ];
        let text = table(&played);
        assert!(
            text.contains("noq:bbr                  panicked in 1 of 2 runs\n"),
            "{text}"
        );
        assert!(
            text.contains("noq:cubic                   8.00   50.0"),
            "{text}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&json(&played).expect("JSON")).expect("JSON");
        let runs = json["runs"].as_array().expect("a list");
        let panicked: Vec<bool> = runs.iter().map(|run| run["panicked"] == true).collect();
        assert_eq!(panicked, [false, false, true]);
    }

    #[test]
    fn results_replace_what_is_between_the_marks() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replace(&page, "new").expect("it has marks");
        assert!(
            new.starts_with("before") && new.ends_with("after\n"),
            "{new}"
        );
        assert!(new.contains("new") && !new.contains("old"), "{new}");
        assert_eq!(replace(&new, "new"), Some(new.clone()));
        assert_eq!(replace("no marks", "new"), None);
    }
}
