//! `--report FILE.html`: the figures of the page, read back from it.

use super::support::*;
use serde_json::Value;
use std::fs;

/// The data of the figures of a page, in order.
fn figures(page: &str) -> Vec<Value> {
    let scripts = page.split("<script type=\"application/json\">").skip(1);
    let data = scripts.filter_map(|piece| piece.split_once("</script>"));
    data.map(|(text, _)| parse(text)).collect()
}

fn ids(figures: &[Value]) -> Vec<&str> {
    figures.iter().filter_map(|f| f["id"].as_str()).collect()
}

/// A page written with these arguments.
fn made(args: &str) -> String {
    let folder = folder();
    let output = whimbrel_in(folder.path(), &format!("{args} --report page.html"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(names(folder.path()), ["page.html"], "nothing else is left");
    fs::read_to_string(folder.path().join("page.html")).expect("a page")
}

const COMPARE: &str = "compare --loss 0%,1% --duration 3s --controllers newreno,cerl";

#[test]
fn a_comparison_has_the_figures_of_its_runs() {
    let page = made(COMPARE);
    let all = figures(&page);
    let expected = [
        "over-loss",
        "time",
        "tradeoff",
        "tradeoff-2",
        "sequence",
        "rtt-cdf",
        "delay-cdf",
        "confusion",
    ];
    assert_eq!(ids(&all), expected, "in this order");
    let capacity = &all[1]["plot"]["panels"][1]["series"][0];
    assert_eq!(capacity["form"], "shade");
    assert_eq!(
        capacity["points"],
        serde_json::json!([[0.0, 50.0], [3.0, 50.0]])
    );
    // The command line, and its scenario.
    assert!(page.contains("whimbrel compare --loss 0%,1% --duration 3s"));
    assert!(page.contains("controller") && page.contains("[link.L]"));
    // The answer first, how it was made last.
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("The highest goodput of 2 algorithms on 2 paths") < place("id=\"ranking\""));
    assert!(place("id=\"ranking\"") < place("id=\"over-loss\""));
    assert!(place("id=\"confusion\"") < place("id=\"made\""));
}

#[test]
fn a_page_says_which_algorithms_its_curves_leave_out() {
    let many: Vec<String> = (10..24).map(|i| format!("cubic?C=0.{i}")).collect();
    let page = made(&format!(
        "compare --duration 1s --rate 2Mbit/s --controllers {}",
        many.join(",")
    ));
    let all = figures(&page);
    let parts: Vec<&Value> = all
        .iter()
        .filter(|f| f["id"].as_str().is_some_and(|id| id.starts_with("time")))
        .collect();
    assert_eq!(parts.len(), 3, "four algorithms each");
    for part in parts {
        let caption = part["caption"].as_str().expect("a caption");
        assert_contains(caption, &["12 of 14 algorithms are drawn over time"]);
    }
}

#[test]
fn figures_of_a_page_become_files_for_a_paper() {
    let folder = folder();
    let all = format!("{COMPARE} --report page.html");
    let output = whimbrel_in(folder.path(), &all);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figure = |more: &str| whimbrel_in(folder.path(), &format!("figure page.html {more}"));
    let listed = stdout(&figure(""));
    assert_contains(
        &listed,
        &["over-loss", "confusion", "whimbrel figure page.html NAME"],
    );
    let saved = figure("--all --out svgs --format svg --font-size 10pt");
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    let files = names(&folder.path().join("svgs"));
    assert_eq!(
        files.len(),
        figures(&fs::read_to_string(folder.path().join("page.html")).expect("a page")).len()
    );
    let svg = fs::read_to_string(folder.path().join("svgs/time.svg")).expect("a picture");
    assert_contains(&svg, &["width=\"88mm\"", "font-family=\"'Helvetica'"]);
    let pdf = figure("time --format pdf --width 180mm");
    if text(&pdf.stderr).contains("has no fonts") {
        println!("skipped: no fonts");
    } else {
        assert!(pdf.status.success(), "{}", text(&pdf.stderr));
        let bytes = fs::read(folder.path().join("time.pdf")).expect("a file");
        assert!(bytes.starts_with(b"%PDF-1."));
    }
    let error = fails(&figure("tim"), 2);
    assert_contains(&error, &["unknown figure `tim`, did you mean `time`?"]);
    let error = fails(&figure("time --font 'No Such Font'"), 2);
    assert_contains(&error, &["no font"]);
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let on = |threads: &str| figures(&made(&format!("{COMPARE} --threads {threads}")));
    assert_eq!(on("1"), on("2"));
}

#[test]
fn runs_with_samples_are_not_run_again() {
    let folder = folder();
    let scenario = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"10 packets\"\n[[flow]]\nroute = [\"L\"]\n\
                [run]\nduration = \"4 s\"\nsample = \"500 ms\"\n";
    fs::write(folder.path().join("path.toml"), scenario).expect("written");
    let output = whimbrel_in(
        folder.path(),
        &["sim", "path.toml", "--report", "page.html"],
    );
    assert!(output.status.success());
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let all = figures(&page);
    let window = &all[0]["plot"]["panels"][0]["series"][0]["points"];
    // Every 500 ms for 4 s, as in the file.
    assert_eq!(
        (ids(&all)[0], window.as_array().map(Vec::len)),
        ("time", Some(8))
    );
}

#[test]
fn an_unwritable_page_fails_before_any_run() {
    let folder = folder();
    // 10000 simulated seconds would take minutes.
    let args = words("compare --duration 10000s --report nowhere/page.html");
    let output = whimbrel_in(folder.path(), &args);
    let error = fails(&output, 1);
    assert_contains(&error, &["cannot write nowhere/page.html"]);
}
