//! Rankings from the request to the table, the sentences, and the saved results.

use super::*;
use crate::Unobserved;
use crate::cache::RANKED;
use crate::table_file;
use crate::testing::{Notes, list, number};
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
