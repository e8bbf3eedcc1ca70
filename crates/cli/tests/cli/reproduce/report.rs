//! `--report DIR` and `--print-scenario`.

use super::*;
use std::path::Path;

#[test]
fn a_report_has_the_page_the_results_and_the_files() {
    let place = Place::new();
    place.write(
        "paper/s.toml",
        &SCENARIO.replace("\"10 Mbit/s\"", "{ trace = \"traces/t\" }"),
    );
    place.write("paper/traces/t", "1\n2\n");
    let shared = EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1);
    place.write("paper/fig-2.toml", &shared);
    let folder = place.at("a/report");
    let folder = folder.to_str().expect("UTF-8");
    let all = place.json(&format!("--report '{folder}'"));
    let read = |name: &str| fs::read_to_string(Path::new(folder).join(name)).expect(name);
    let results = list_of(&read("results.json"));
    assert_eq!(results, all);
    let csv = read("results.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 2);
    assert!(lines[0].starts_with("id,place,label,unit,paper,measured,measured_stddev,difference,"));
    assert!(
        lines[2].starts_with("paper/fig-1,Fig 1,CERL's RTT,ms,1000,"),
        "{}",
        lines[2]
    );
    for name in [
        "paper/fig-1.toml",
        "paper/fig-2.toml",
        "paper/s.toml",
        "paper/traces/t",
    ] {
        let own = fs::read_to_string(place.at("experiments").join(name)).expect(name);
        assert_eq!(read(&format!("experiments/{name}")), own);
    }
    let page = read("index.html");
    assert_contains(
        &page,
        &[
            "paper/fig-2",
            "CERL is faster than NewReno on a lossy link",
            "does not hold",
            "1 of 2 right; wrong: CERL",
            "experiments/paper/s.toml",
            "crates/cc/src/classifiers/cerl.rs",
            "\"kind\":\"beside\"",
        ],
    );

    // The copies can be run, and stored results make a report without a run.
    let copies = Path::new(folder).join("experiments");
    let second = place.at("second");
    let output = command()
        .args(words("reproduce --json --experiments"))
        .arg(&copies)
        .arg("--keep")
        .arg(place.at("keep"))
        .arg("--report")
        .arg(&second)
        .output()
        .expect("the command runs");
    let again = list_of(&stdout(&output));
    assert!(again.iter().all(|one| one["kept"].is_string()));
    assert_eq!(timeless(&again), timeless(&all));
    let page = fs::read_to_string(second.join("index.html")).expect("a page");
    assert!(
        page.contains("\"kind\":\"beside\""),
        "figures are stored, too"
    );
    // No temporary file is left.
    for folder in [Path::new(folder), &second, &place.at("keep/reproduced")] {
        for name in names(folder) {
            assert!(!name.starts_with('.'), "{name}");
        }
    }
}

#[test]
fn an_unwritable_report_fails_before_any_run() {
    let place = Place::new();
    // The run would take hours.
    place.write(
        "paper/fig-1.toml",
        &format!("{EXPERIMENT}{}", SCENARIO.replace("20 s", "600000 s")),
    );
    fs::write(place.at("file"), "").expect("written");
    let folder = place.at("file/report");
    let folder = folder.to_str().expect("UTF-8");
    let output = place.output(&format!("--report '{folder}'"));
    let error = fails(&output, 1);
    assert!(
        error.contains(&format!("cannot write to {folder}")),
        "{error}"
    );
}

#[test]
fn files_are_printed_with_their_paths() {
    let place = Place::new();
    place.write("paper/s.toml", SCENARIO);
    place.write(
        "paper/fig-2.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    let printed = place.run("paper/fig-2 --print-scenario");
    let path = |name: &str| place.at("experiments").join(name).display().to_string();
    assert!(printed.starts_with(&format!(
        "# {}\n{}",
        path("paper/fig-2.toml"),
        EXPERIMENT.lines().next().expect("one")
    )));
    assert!(
        printed.ends_with(&format!("# {}\n{SCENARIO}\n", path("paper/s.toml"))),
        "{printed}"
    );
    // The output is a scenario if the experiment has its own scenario.
    let alone = place.run("paper/fig-1 --print-scenario");
    let piped = place.at("printed.toml");
    fs::write(&piped, alone).expect("written");
    let sim = command().arg("sim").arg(piped).output();
    stdout(&sim.expect("the command runs"));
}

/// All files of a folder and the folders below it, by path.
fn files(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").display();
                found.insert(name.to_string(), fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn a_second_run_writes_the_same_artifact() {
    let place = Place::new();
    let shared = format!("{EXPERIMENT}{SCENARIO}");
    place.write("paper/fig-2.toml", &shared);
    let folders = [place.at("first"), place.at("second")];
    for (folder, threads) in folders.iter().zip(["1", "2"]) {
        let folder = folder.to_str().expect("UTF-8");
        place.run(&["--artifact", folder, "--again", "--threads", threads]);
    }
    let [first, second] = folders.map(|folder| files(&folder));
    assert_eq!(first, second);
    let manifest: Value = serde_json::from_slice(&first["artifact.json"]).expect("JSON");
    let compiler = manifest["compiler"].as_str().expect("text");
    assert!(compiler.starts_with("rustc "), "{compiler}");
    assert_eq!(
        manifest["dependencies_blake3"].as_str().map(str::len),
        Some(64)
    );
    let hashes = manifest["blake3"].as_object().expect("an object");
    assert_eq!(hashes.len() + 1, first.len(), "each other file is listed");
    for (name, hash) in hashes {
        assert_eq!(*hash, blake3::hash(&first[name]).to_string(), "{name}");
    }
    let runs = &manifest["scenarios"]["paper/fig-2"];
    assert!(!runs["seeds"].as_array().expect("a list").is_empty());
    // Another seed is another artefact.
    let other = place.at("other");
    let folder = other.to_str().expect("UTF-8");
    place.run(&["--artifact", folder, "--seeds", "2"]);
    assert_ne!(files(&other)["results.json"], first["results.json"]);
}
