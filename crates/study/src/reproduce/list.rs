//! The experiments as a list, with the known run times of their scenarios.

use super::{Task, by_paper, duration, paper_title};
use crate::emphasis::bold;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use whimbrel_report::hanging;

/// The list as JSON; `seconds`: the run times of scenarios, by their ids.
pub fn json(tasks: &[Task], seconds: &BTreeMap<String, f64>) -> Value {
    tasks.iter().map(|task| object(task, seconds)).collect()
}

fn object(task: &Task, seconds: &BTreeMap<String, f64>) -> Value {
    let experiment = &task.experiment;
    let cached = task.cached.as_ref();
    json!({
        "id": experiment.id,
        "paper": experiment.paper,
        "beyond": experiment.beyond,
        "place": experiment.place,
        "claim": experiment.claim,
        "scenario": experiment.scenario_id,
        "seconds": seconds.get(&experiment.scenario_id),
        "verdict": cached.map(|cached| cached.assessment.verdict),
        "kept": cached.map(|cached| cached.at),
        "missing_traces": experiment.missing_traces,
    })
}

/// The list as a table for each paper.
pub fn table(tasks: &[Task], seconds: &BTreeMap<String, f64>) -> String {
    let any_cached = tasks.iter().any(|task| task.cached.is_some());
    let mut heads = vec!["id", "where", "claim", "seconds"];
    if any_cached {
        heads.push("verdict");
    }
    let heads: Vec<String> = heads.into_iter().map(str::to_owned).collect();
    let mut text = String::new();
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for group in by_paper(tasks, |task| {
        let experiment = &task.experiment;
        (&experiment.id, &experiment.paper, experiment.beyond)
    }) {
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
            if any_cached {
                let verdict = task.cached.as_ref().map(|cached| cached.assessment.verdict);
                line.push(verdict.map_or(String::new(), |verdict| verdict.to_string()));
            }
            line
        };
        let lines: Vec<Vec<String>> = group.iter().map(|task| line(task)).collect();
        let first = &group[0].experiment;
        text += &bold(&hanging(&paper_title(&first.paper, first.beyond), 0));
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
        "In brackets: shares the runs of an experiment above and takes no additional time."
    } else {
        ""
    };
    let unknown = match scenarios.len() - known.len() {
        0 => String::new(),
        1 => ", and 1 scenario has no known run time (?)".to_owned(),
        n => format!(", and {n} scenarios have no known run time (?)"),
    };
    let all = known.iter().fold(0.0, |sum, seconds| sum + seconds);
    let total = format!(
        "Experiments: {experiments}. Total run time: {}{unknown}.",
        duration(all)
    );
    let lines = [
        "Run times are those of two cores, or of this machine if it has run the experiment.",
        shared,
        &total,
        "Run one with `whimbrel reproduce ID`, or all of a paper with the word before the slash.",
    ];
    let shown = lines.iter().filter(|line| !line.is_empty());
    shown.map(|line| hanging(line, 0) + "\n").collect()
}
