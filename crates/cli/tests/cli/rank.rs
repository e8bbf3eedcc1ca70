//! `whimbrel rank` and `whimbrel advise`. The tests of `study::rank` check what rankings have.

use super::support::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A folder with two short points.
fn points() -> tempfile::TempDir {
    let folder = folder();
    let point = |class, loss| {
        let text = include_str!("../../../study/src/testing/point.toml");
        text.replace("CLASS", class).replace("LOSS", loss)
    };
    fs::write(folder.path().join("x1.toml"), point("A", "1 %")).expect("written");
    fs::write(folder.path().join("x2.toml"), point("C", "0 %")).expect("written");
    folder
}

/// Ranks on these points, with a folder of stored results of their own.
fn rank(folder: &Path, more: &str) -> Output {
    let points = folder.display();
    whimbrel(&format!(
        "rank --points '{points}' --keep '{points}/kept' --controllers cubic,bbr --seeds 2 {more}"
    ))
}

#[test]
fn a_ranking_is_stored_and_gives_the_same_again() {
    let folder = points();
    let first = json(&rank(folder.path(), "--json"));
    let kept = names(&folder.path().join("kept/ranked"));
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(json(&rank(folder.path(), "--json")), first);
    assert_eq!(json(&rank(folder.path(), "--json --again")), first);
    let one = json(&rank(folder.path(), "--json --classes c"));
    assert_eq!(list(&one["points"]).len(), 1);
    let (saved, scores) = (
        path_in(&folder, "saved.json"),
        path_in(&folder, "scores.csv"),
    );
    let both = format!("--save '{saved}' --save 'scores={scores}'");
    stdout(&rank(folder.path(), &both));
    let rows = fs::read_to_string(scores).expect("CSV");
    assert_eq!(rows.lines().count(), 1 + 2 * 2, "{rows}");
    let known = rank(folder.path(), &format!("--known '{saved}' --json"));
    assert_eq!(json(&known)["table"], first["table"]);
}

/// `tools/ranking.py` writes the tables of `docs/ranking.md`.
#[test]
fn a_page_keeps_the_earlier_scores_of_those_that_were_not_run() {
    if !Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        println!("skipped: no python3");
        return;
    }
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    for name in ["tools", "docs"] {
        fs::create_dir(path(name)).expect("made");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/ranking.py");
    fs::copy(script, path("tools/ranking.py")).expect("copied");
    let earlier = "## Matrix version 1\n\n\
                   | 1 | `bbr` | 0.7 | 0.7 |\n| 2 | `vegas` | 0.5 | 0.500 |\n\
                   \n## The method\n\nBy hand.\n";
    fs::write(path("docs/ranking.md"), earlier).expect("written");
    let ranking = serde_json::json!({
        "version": 2,
        "points": [{ "id": "a01", "class": "A", "claim": "Loss." }],
        "table": [
            { "algorithm": "bbr", "classes": { "A": 0.9 } },
            { "algorithm": "cubic", "classes": { "A": 0.25 } },
        ],
        "scores": [
            { "point": "a01", "algorithm": "cubic", "score": 0.25, "seed_count": 5 },
            { "point": "a01", "algorithm": "bbr", "score": 0.9, "seed_count": 5 },
        ],
    });
    fs::write(path("r.json"), ranking.to_string()).expect("written");
    let made = Command::new("python3")
        .arg(path("tools/ranking.py"))
        .arg(path("r.json"))
        .args(["--version", "whimbrel 1"])
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{made:?}");
    let page = fs::read_to_string(path("docs/ranking.md")).expect("a page");
    let (new, old) = page.split_once("## Matrix version 1").expect("both tables");
    let rows = |text: &str| -> Vec<String> {
        let rows = text
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains("| `"));
        rows.map(str::to_owned).collect()
    };
    let bbr = "| 1 | `bbr` | 0.900 | **0.900** |";
    assert_eq!(rows(new), [bbr, "| 2 | `cubic` | 0.250 | 0.250 |"]);
    let (old, best) = old
        .split_once("## The best at each point")
        .expect("it follows");
    let vegas = "| 2 | `vegas`† | 0.500 | 0.500 |";
    assert_eq!(rows(old), [bbr, vegas, "| 3 | `cubic` | 0.250 | 0.250 |"]);
    assert_contains(
        best,
        &["| Loss. | `bbr` | 0.900 | `cubic` | 0.250 |", "By hand."],
    );
}

#[test]
fn the_table_fits_80_columns_and_the_page_names_all() {
    let folder = points();
    let page = path_in(&folder, "page.html");
    let text = stdout(&rank(
        folder.path(),
        &format!("--detail --report '{page}' --curves"),
    ));
    assert_contains(
        &text,
        &[
            "algorithm",
            "best at each",
            "of ideal",
            "A: random loss",
            "±",
        ],
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let page = fs::read_to_string(page).expect("a page");
    assert_contains(
        &page,
        &["Scores by class", "cubic", "A full link.", "point/x2/time"],
    );
}

#[test]
fn mistakes_of_rank_say_what_to_do() {
    let folder = points();
    let bad = rank(folder.path(), "--classes Z");
    assert!(fails(&bad, 2).contains("the classes are A (random loss), B (fades)"));
    let none = rank(folder.path(), "--only y");
    assert!(fails(&none, 2).contains("leave none of the 2 points"));
    let none = fails(&rank(folder.path(), "--classes A,G"), 2);
    assert_contains(&none, &["--classes: G (short transfers): no point of"]);
    let later = fails(&whimbrel("rank --controllers cubic --classes D,H"), 2);
    let expected =
        "--classes: H (cellular paths): matrix version 1 does not have it; version 2 does";
    assert_contains(&later, &[expected]);
    let file = path_in(&folder, "x1.toml");
    let known = rank(folder.path(), &format!("--known '{file}'"));
    assert!(fails(&known, 2).contains("no runs of a ranking as JSON"));
    fs::write(
        &file,
        "[point]\nclas = \"A\"\n[link.L]\n[[flow]]\nroute = [\"L\"]\n",
    )
    .expect("written");
    let wrong = fails(&rank(folder.path(), ""), 2);
    assert_contains(&wrong, &["x1.toml:1: point: `score` is missing"]);
}

#[test]
fn the_advice_is_three_sentences_and_a_table() {
    let args = "advise --rate 5Mbit/s --rtt 40ms --loss 1% --neighbours cubic:2";
    let text = stdout(&whimbrel(args));
    let (sentences, table) = text.split_once("\n\n").expect("two parts");
    assert_contains(
        sentences,
        &[
            "Use ",
            "that the path carries",
            "times CUBIC's",
            "run it today",
        ],
    );
    let flat = sentences.replace('\n', " ");
    assert_contains(&flat, &["Beside 2 cubic flows, ", "and those keep"]);
    assert!(
        table.lines().count() >= 6 && table.contains("cubic"),
        "{table}"
    );
    let all = json(&whimbrel(&format!("{args} --json")));
    let best = all["use"].as_str().expect("a name");
    assert!(
        sentences.contains(&format!("Use {best}:")),
        "{best}\n{text}"
    );
    // A further one names algorithms that are as good.
    assert!((3..=4).contains(&list(&all["sentences"]).len()));
    let error = refused("advise --rtt 40ms", "");
    assert_contains(&error, &["--rate"]);
}

#[test]
fn the_advice_does_not_starve_beside_cubic() {
    // Delay-based algorithms fill this path with the shortest queue, and get a sixth of a fair
    // share beside CUBIC.
    let args = ["advise", "--rate", "20Mbit/s", "--rtt", "40ms", "--json"];
    let all = json(&whimbrel(&args));
    let first = &all["table"][0];
    assert!(number(first, "/share") >= 0.4, "{first}");
    assert!(number(first, "/neighbours_keep") >= 0.7, "{first}");
    let gain = all["sentences"][1].as_str().expect("a sentence");
    assert!(
        gain.starts_with("CUBIC delivers as much, with a queue of "),
        "{gain}"
    );
}

#[test]
fn the_advice_for_a_file_has_its_time() {
    let args = words("advise --rate 5Mbit/s --rtt 40ms --size 2MB --json");
    let all = json(&whimbrel(&args));
    let first = &all["table"][0];
    // 2 MB at 5 Mbit/s take 3.2 s, and headers and the start a little more.
    let seconds = number(first, "/file_seconds");
    assert!((3.2..6.0).contains(&seconds), "{seconds}");
    let last = all["sentences"][3].as_str().expect("a sentence");
    assert!(last.starts_with("A file of 2 MB takes "), "{last}");
}

#[test]
fn advice_for_a_server_measures_the_path_first() {
    if !allowed("link --quiet -- true") {
        return;
    }
    let folder = folder();
    let state = path_in(&folder, "state");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    let serve = |more: &str| {
        let inbox = path_in(&folder, "");
        format!("exec '{own}' serve '{inbox}' --identity '{state}' {more}")
    };
    let link = words("link --quiet --rate 10Mbit/s --rtt 40ms --queue '1 bdp' --far");
    let advise = format!("-- '{own}' advise 10.77.0.2 --identity '{state}' --json --probe-time");
    let run =
        |far: &str, time: &str| whimbrel(&[&link[..], &[far], &words(&advise), &[time]].concat());
    let output = run(&serve(""), "300ms");
    let error = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(2),
        "0.3 s are too short: {error}"
    );
    assert_contains(&error, &["so there is no advice", "--probe-time"]);
    let output = run(&serve(""), "12s");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let all = parse(&text(&output.stdout));
    let rate = number(&all, "/path/rate_bps");
    // A busy machine fills a part of the link.
    assert!((1e5..11e6).contains(&rate), "{rate}");
    let (low, high) = (
        number(&all, "/path/rate_interval_bps/0"),
        number(&all, "/path/rate_interval_bps/1"),
    );
    assert!(low <= rate && rate <= high, "{low} {rate} {high}");
    assert!(number(&all, "/path/rtt_ms") >= 40.0);
    assert!(number(&all, "/path/loss_interval/1") < 0.05);
    assert!(all["use"].is_string());
    // A server may refuse.
    let output = run(&serve("--max-probe 0B"), "300ms");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let error = text(&output.stderr);
    assert_contains(&error, &["does not permit measuring", "advise --rate"]);
}

#[test]
fn a_path_on_which_nothing_arrives_has_no_advice() {
    let none = fails(&whimbrel("advise --rate 1Mbit/s --rtt 10ms --loss 100%"), 2);
    assert_contains(&none, &["--loss: nothing comes through"]);
}
