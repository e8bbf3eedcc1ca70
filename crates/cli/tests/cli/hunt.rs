//! `whimbrel hunt`.

use super::support::*;
use std::fs;
use tempfile::TempDir;

/// A hunt of some seconds for a weakness that many paths show.
const SHORT: &str = "hunt newreno --against bbr --families bottleneck --evaluations 12 --seeds 1 \
                     --fresh 2";

#[test]
fn what_is_found_is_saved_as_a_point_that_rank_reads() {
    let folder = TempDir::new().expect("a folder");
    let args = format!("{SHORT} --save weak --report weak.html --plot weak.svg");
    let text = stdout(&whimbrel_in(folder.path(), &args));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_contains(&text, &["newreno has the score 0."]);
    assert_contains(&text, &["Saved: weak"]);
    for (file, has) in [
        ("weak.html", "Where newreno does worst"),
        ("weak.svg", "over time"),
    ] {
        let content = fs::read_to_string(folder.path().join(file)).expect("written");
        assert!(content.contains(has), "{file}");
    }
    let args = words("rank --points weak --controllers newreno,bbr --seeds 1 --keep kept --json");
    let ranked = json(&whimbrel_in(folder.path(), &args));
    assert_eq!(list(&ranked["points"])[0]["id"], "newreno-bottleneck");
    let table = list(&ranked["table"]);
    assert_eq!(table[0]["algorithm"], "bbr", "{ranked}");
}

#[test]
fn the_json_has_families_and_finds() {
    let found = json(&whimbrel(&format!("{SHORT} --json")));
    assert_eq!(found["name"], "newreno");
    let families = list(&found["families"]);
    assert_eq!((families.len(), &families[0]["seed_count"]), (1, &2.into()));
    let find = &list(&found["finds"])[0];
    assert!(find["ratio"].as_f64().expect("a ratio") < 0.9);
    let scenario = find["scenario"].as_str().expect("a file");
    assert!(
        scenario.starts_with("[point]\nclass = \"A\"\n"),
        "{scenario}"
    );
    assert!(list(&find["sentences"]).len() == 2);
}

#[test]
fn wrong_hunts_name_the_nearest_word() {
    all_refused(
        "",
        &[
            ("hunt cubik", "did you mean `cubic`?"),
            (
                "hunt cubic --families wify",
                "unknown family `wify`, did you mean `wifi`?",
            ),
            (
                "hunt cubic --against cubic",
                "against: name another algorithm than `cubic`",
            ),
            ("hunt --classifier cubic", "classifies no losses"),
            ("hunt cubic --minutes 0", "must be above 0"),
        ],
    );
    let text = stdout(&whimbrel("hunt --list"));
    assert!(text.contains("cellular: a generated cellular path, both ways"));
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}
