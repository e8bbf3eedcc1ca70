//! Rankings from the request to the table, the sentences, and the saved results.

use super::*;
use crate::Unobserved;
use crate::cache::RANKED;
use crate::table_file;
use crate::testing::{Notes, list, number};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with two short points.
fn points() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let point = |class, loss| {
        let text = include_str!("../testing/point.toml");
        text.replace("CLASS", class).replace("LOSS", loss)
    };
    fs::write(folder.path().join("x1.toml"), point("A", "1 %")).expect("written");
    fs::write(folder.path().join("x2.toml"), point("C", "0 %")).expect("written");
    folder
}

/// CUBIC and BBR on these points with two seeds.
fn request(points: &Path) -> Request {
    let choice = |name: &str| name.parse::<Choice>().expect("an algorithm");
    Request {
        controllers: ["cubic", "bbr"].map(choice).to_vec(),
        seeds: 2,
        points: Some(points.to_owned()),
        ..Request::default()
    }
}

/// The ranking, with stored results in a folder of their own.
fn ranked(request: &Request, keep: &Path) -> Ranking {
    let cache = Cache::open_to_write(Some(keep), RANKED).expect("a cache");
    rank(request, Some(&cache), &Unobserved).expect("a ranking")
}

/// Saves as `rank --save` does.
fn save(ranking: &Ranking, file: &str) {
    let wanted = [file_to_save(file).expect("a file")];
    for (save, file) in table_file::open(&wanted).expect("opened") {
        ranking.save(save, file, Vec::new()).expect("saved");
    }
}

#[test]
fn the_json_of_a_ranking_has_points_a_table_and_scores() {
    let folder = points();
    let ranking = ranked(&request(folder.path()), &folder.path().join("kept"));
    let all = ranking.json();
    let keys: Vec<&String> = all.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["version", "points", "table", "scores"]);
    assert_eq!(all["points"][1]["id"], "x2");
    assert_eq!(all["points"][1]["class"], "C");
    assert_eq!(list(&all["table"]).len(), 2);
    let first = &all["table"][0];
    let mean = (number(first, "/classes/A") + number(first, "/classes/C")) / 2.0;
    assert!((number(first, "/all") - mean).abs() < 1e-9, "{first}");
    for score in list(&all["scores"]) {
        let [score, low, high] = ["/score", "/low", "/high"].map(|path| number(score, path));
        assert!((0.0..=1.0).contains(&score) && low <= score && score <= high);
    }
    assert_eq!(list(&all["scores"]).len(), 4);
    assert_eq!(all["scores"][0]["seed_count"], 2);
}

#[test]
fn known_results_join_the_table_unless_their_points_have_changed() {
    let folder = points();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (saved, csv, scores) = (at("saved.json"), at("saved.csv"), at("scores.csv"));
    let ranking = ranked(&request(folder.path()), &folder.path().join("kept"));
    save(&ranking, &saved);
    save(&ranking, &csv);
    let lines = fs::read_to_string(csv).expect("CSV");
    assert_eq!(lines.lines().count(), 1 + 2 * 2 * 2, "{lines}");
    assert!(
        lines.starts_with("point,content,algorithm,seed,rate,"),
        "{lines}"
    );
    save(&ranking, &format!("scores={scores}"));
    let text = fs::read_to_string(scores).expect("CSV");
    assert!(
        text.starts_with("algorithm,point,class,goal,seed_count,score,low,high,"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1 + 2 * 2, "{text}");
    let other = Request {
        controllers: vec!["newreno".parse().expect("an algorithm")],
        known: Some(saved.into()),
        ..request(folder.path())
    };
    let keep = folder.path().join("k");
    let all = ranked(&other, &keep).json();
    assert_eq!(list(&all["table"]).len(), 3);
    let stored = fs::read_dir(keep.join("ranked")).expect("a folder");
    assert_eq!(stored.count(), 2, "only newreno ran");
    let path = folder.path().join("x1.toml");
    let text = fs::read_to_string(&path)
        .expect("a point")
        .replace("5 s", "6 s");
    fs::write(path, text).expect("written");
    let notes = Notes::default();
    rank(&other, None, &notes).expect("a ranking");
    let notes = notes.0.into_inner().expect("no panic");
    assert!(
        notes
            .iter()
            .any(|note| note.contains("these points have changed")),
        "{notes:?}"
    );
}

#[test]
fn whether_an_algorithm_is_fair_is_said_in_sentences() {
    let folder = points();
    let own = fs::read_to_string(folder.path().join("x2.toml"))
        .expect("a point")
        .replace("class = \"C\"", "class = \"D\"")
        .replace("\"fill\"", "\"own\"")
        .replace("A full link.", "Three flows: equal shares.")
        .replace("name = \"t\"", "name = \"t\"\ncount = 3");
    fs::write(folder.path().join("x3.toml"), own).expect("written");
    let sentences = |letter: &str| {
        let request = Request {
            classes: vec![class(letter).expect("a class")],
            ..request(folder.path())
        };
        text::fairness(&ranked(&request, &folder.path().join("kept")))
    };
    let shown = sentences("D");
    for words in [
        "cubic: Among its own kind Jain's index is ",
        "(median of 1 point; 1: equal shares)",
        "at x3 (Three flows).",
    ] {
        assert!(shown.replace('\n', " ").contains(words), "{shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    // Nothing is shared at the other points.
    assert!(!sentences("A").contains("own kind"));
}

#[test]
fn a_trace_with_another_content_is_another_path() {
    let folder = points();
    let at = |name: &str| folder.path().join(name);
    fs::remove_file(at("x2.toml")).expect("removed");
    let text = fs::read_to_string(at("x1.toml")).expect("a point");
    let text = text.replace("\"5 Mbit/s\"", "{ trace = \"r.trace\" }");
    fs::write(at("x1.toml"), text).expect("written");
    // A packet each millisecond or each fourth one: 12 and 3 Mbit/s.
    fs::write(at("r.trace"), "1\n").expect("written");
    let saved = at("saved.json");
    let fast = ranked(&request(folder.path()), &at("kept"));
    save(&fast, &saved.display().to_string());
    fs::write(at("r.trace"), "4\n").expect("written");
    let rate = |ranking: &Ranking| ranking.league.cells[0].mean.rate;
    let slow = ranked(&request(folder.path()), &at("kept"));
    assert!(
        rate(&slow) < 3e6 && rate(&fast) > 3e6,
        "not what was stored"
    );
    let notes = Notes::default();
    let known = Request {
        known: Some(saved),
        ..request(folder.path())
    };
    assert!(rank(&known, None, &notes).is_err(), "no run is known there");
    let notes = notes.0.into_inner().expect("no panic");
    assert!(notes[0].contains("have changed"), "{notes:?}");
}

#[test]
fn known_results_of_another_number_of_seeds_are_not_said_to_have_the_wanted_one() {
    let folder = points();
    let saved = folder.path().join("saved.json");
    let ranking = ranked(&request(folder.path()), &folder.path().join("kept"));
    let heading = |ranking: &Ranking, seeds| {
        let table = text::table(ranking, seeds);
        table.lines().next().unwrap_or_default().to_owned()
    };
    let first = heading(&ranking, 2);
    assert!(first.ends_with(" points, 2 seeds"), "{first}");
    save(&ranking, &saved.display().to_string());
    let more = Request {
        controllers: vec!["newreno".parse().expect("an algorithm")],
        seeds: 1,
        known: Some(saved),
        ..request(folder.path())
    };
    let ranking = ranked(&more, &folder.path().join("kept"));
    let first = heading(&ranking, 1);
    assert!(first.ends_with(" 1 to 2 seeds"), "{first}");
    // The algorithms with two have an interval.
    assert_eq!(text::table(&ranking, 1).matches('±').count(), 6);
}

#[test]
fn a_cell_says_how_many_of_its_runs_were_stopped() {
    let folder = points();
    let mut ranking = ranked(&request(folder.path()), &folder.path().join("kept"));
    let aim = ranking.library.points[0].aim;
    let cell = &mut ranking.league.cells[0];
    assert!(!measured(cell, &aim).contains("stopped"));
    (cell.stopped, cell.mean.stopped) = (1, Some(1.25));
    let text = measured(cell, &aim);
    assert!(text.ends_with(", 1 of 2 stopped after 1.2 s"), "{text}");
    cell.stopped = 2;
    let text = measured(cell, &aim);
    assert!(text.ends_with(" RTT, stopped after 1.2 s"), "{text}");
    // A page names the files that were read.
    let page = ranking.page(Vec::new(), Vec::new());
    let sources = page.sections.iter().flat_map(|section| &section.sources);
    let paths: Vec<&str> = sources.map(|source| source.path.as_str()).collect();
    let path = folder.path().join("x1.toml").display().to_string();
    assert!(paths.contains(&path.as_str()), "{paths:?}");
}

#[test]
fn a_run_that_a_file_has_twice_is_not_two_runs() {
    let folder = points();
    let saved = folder.path().join("saved.json");
    let ranking = ranked(&request(folder.path()), &folder.path().join("kept"));
    save(&ranking, &saved.display().to_string());
    let text = fs::read_to_string(&saved).expect("JSON");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    let runs = all["runs"].as_array_mut().expect("a list");
    let first = runs[0].clone();
    runs.push(first);
    fs::write(&saved, all.to_string()).expect("written");
    let known = Request {
        known: Some(saved),
        ..request(folder.path())
    };
    let error = rank(&known, None, &Unobserved).expect_err("twice").text();
    assert!(
        error.contains("two runs of `bbr` at `x1` with the seed 1"),
        "{error}"
    );
}
