//! `whimbrel reproduce --list`: what there is.

use super::Task;
use super::text::{bold, duration};
use super::told::by_paper;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Prints all, with the seconds that their scenarios take as far as is known.
pub fn print(tasks: &[Task], seconds: &BTreeMap<String, f64>, as_json: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if as_json {
        let all: Vec<Value> = tasks.iter().map(|task| object(task, seconds)).collect();
        serde_json::to_writer_pretty(&mut out, &all)?;
        return writeln!(out);
    }
    write!(out, "{}", table(tasks, seconds))
}

fn object(task: &Task, seconds: &BTreeMap<String, f64>) -> Value {
    let experiment = &task.experiment;
    let kept = task.kept.as_ref();
    json!({
        "id": experiment.id,
        "paper": experiment.paper,
        "place": experiment.place,
        "claim": experiment.claim,
        "scenario": experiment.scenario_id,
        "seconds": seconds.get(&experiment.scenario_id),
        "verdict": kept.map(|kept| kept.judgement.verdict),
        "kept": kept.map(|kept| kept.at),
        "missing_traces": experiment.missing_traces,
    })
}

fn table(tasks: &[Task], seconds: &BTreeMap<String, f64>) -> String {
    let any_kept = tasks.iter().any(|task| task.kept.is_some());
    let mut heads = vec!["id", "where", "what it shows", "seconds"];
    if any_kept {
        heads.push("here");
    }
    let heads: Vec<String> = heads.into_iter().map(str::to_owned).collect();
    let mut text = String::new();
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for group in by_paper(tasks, |t| &t.experiment.id, |t| &t.experiment.paper) {
        let mut line = |task: &'_ Task| {
            let experiment = &task.experiment;
            let first = listed.insert(experiment.scenario_id.clone());
            let known = seconds.get(&experiment.scenario_id);
            let seconds = known.map_or("?".to_owned(), |seconds| format!("{seconds:.1}"));
            let seconds = if !experiment.missing_traces.is_empty() {
                "needs a trace".to_owned()
            } else if first {
                seconds
            } else {
                format!("({seconds})")
            };
            let mut line = vec![
                experiment.id.clone(),
                experiment.place.clone(),
                experiment.claim.clone(),
                seconds,
            ];
            if any_kept {
                let verdict = task.kept.as_ref().map(|kept| kept.judgement.verdict);
                line.push(verdict.map_or(String::new(), |verdict| verdict.to_string()));
            }
            line
        };
        let lines: Vec<Vec<String>> = group.iter().map(|task| line(task)).collect();
        text += &bold(&group[0].experiment.paper);
        text += "\n";
        text += &whimbrel_report::wrapped(&heads, &[false, false, false, true, false], &lines);
        text += "\n";
    }
    text + &ending(tasks.len(), &listed, seconds)
}

fn ending(
    experiments: usize,
    scenarios: &BTreeSet<String>,
    seconds: &BTreeMap<String, f64>,
) -> String {
    let known: Vec<f64> = scenarios
        .iter()
        .filter_map(|id| seconds.get(id).copied())
        .collect();
    let shared = if scenarios.len() < experiments {
        "In brackets: shares the runs of one above, and takes no time beside it.\n"
    } else {
        ""
    };
    let unknown = match scenarios.len() - known.len() {
        0 => String::new(),
        n => format!(" and {n} that nobody has timed (?)"),
    };
    let all = known.iter().fold(0.0, |sum, seconds| sum + seconds);
    format!(
        "Seconds are those of two cores, or of this machine where it has run it.\n{shared}Experiments: {experiments}. All together \
         take {}{unknown}.\nRun one with `whimbrel reproduce ID`, a paper with the word before the slash.\n",
        duration(all)
    )
}
