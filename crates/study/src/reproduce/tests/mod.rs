//! Short experiments from the request to the verdict, the stored result, and the report.

mod lists;
mod report;
mod stored;
mod verdicts;

use super::*;
use crate::Unobserved;
use crate::cache::REPRODUCED;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// CERL and NewReno under random loss.
const EXPERIMENT: &str = r#"
[experiment]
paper = "A paper"
place = "Fig 1"
claim = "CERL is faster than NewReno on a lossy link"
measure = "total goodput"
tolerance = "10 %"
[[experiment.row]]
label = "{over}"
where = { "flow.controller" = "cerl" }
over = { "flow.controller" = "newreno" }
above = 50
[[experiment.row]]
label = "CERL's RTT"
where = { "flow.controller" = "cerl" }
measure = "rtt mean"
paper = 1000
"#;

const SCENARIO: &str = include_str!("../../testing/lossy.toml");

/// A folder with experiments, and a folder with stored results.
struct Folders(TempDir);

impl Folders {
    /// With the experiment `paper/fig-1`.
    fn new() -> Self {
        let folders = Self(tempfile::tempdir().expect("a folder"));
        folders.write("paper/fig-1.toml", &format!("{EXPERIMENT}{SCENARIO}"));
        folders
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at("experiments").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Experiments by their ids.
    fn request(&self, ids: &str) -> Request {
        Request {
            ids: ids.split_whitespace().map(str::to_owned).collect(),
            experiments: Some(self.at("experiments")),
            ..Request::default()
        }
    }

    fn cache(&self) -> Cache {
        Cache::open_to_write(Some(&self.at("keep")), REPRODUCED).expect("a cache")
    }

    /// Runs what is requested, and shows the results.
    fn reproduced<T>(
        &self,
        request: &Request,
        show: impl FnOnce(&Plan, &[ExperimentResult<'_>]) -> T,
    ) -> Result<T, Error> {
        let cache = self.cache();
        let found = request.find()?.runnable(&Unobserved)?;
        let plan = request.plan(found, Some(&cache))?;
        let all = reproduce(&plan, Some(&cache), &Unobserved, |_| Ok(()))?;
        Ok(show(&plan, &all))
    }

    /// The results as JSON.
    fn results(&self, request: &Request) -> Vec<Value> {
        let results = self.reproduced(request, |_, all| as_json(all));
        results.expect("results")
    }

    fn json(&self, ids: &str) -> Vec<Value> {
        self.results(&self.request(ids))
    }

    /// The results as text, without colours.
    fn text(&self, ids: &str) -> String {
        let text = self.reproduced(&self.request(ids), |_, all| {
            all.iter().map(text::experiment).collect::<String>() + &text::end(all)
        });
        plain_text(&text.expect("results"))
    }

    /// Why the request fails.
    fn error(&self, ids: &str) -> String {
        let error = self.reproduced(&self.request(ids), |_, _| ());
        error.expect_err(ids).text()
    }

    /// The plan of a list.
    fn plan(&self, ids: &str) -> Result<Plan, Error> {
        let request = self.request(ids);
        request.plan(request.find()?, Some(&self.cache()))
    }

    /// The list as JSON, and as text.
    fn list(&self, ids: &str) -> (Vec<Value>, String) {
        let Plan {
            tasks, expected, ..
        } = self.plan(ids).expect("a list");
        let Value::Array(all) = list::json(&tasks, &expected) else {
            panic!("a list");
        };
        (all, plain_text(&list::table(&tasks, &expected)))
    }

    /// The files of the stored results.
    fn stored(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("keep/reproduced")).expect("a folder");
        entries.map(|entry| entry.expect("one").path()).collect()
    }
}

/// The results as JSON.
fn as_json(all: &[ExperimentResult<'_>]) -> Vec<Value> {
    let mut bytes = Vec::new();
    json(all, &mut bytes).expect("written");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The results without their times.
fn timeless(all: &[Value]) -> Vec<Value> {
    let mut all = all.to_vec();
    for result in &mut all {
        let result = result.as_object_mut().expect("an object");
        result.remove("seconds").expect("seconds");
        result.remove("kept").expect("a time, or null");
    }
    all
}

/// The text without escape sequences that set colours.
fn plain_text(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    plain
}

/// Asserts that a text contains all of these words.
fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}
