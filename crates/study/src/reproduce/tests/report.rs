//! Reports, artifacts, and files that are printed.

use super::*;
use std::path::Path;

#[test]
fn a_report_has_the_page_the_results_and_the_files() {
    let folders = Folders::new();
    folders.write(
        "paper/s.toml",
        &SCENARIO.replace("\"10 Mbit/s\"", "{ trace = \"traces/t\" }"),
    );
    folders.write("paper/traces/t", "1\n2\n");
    let shared = EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1);
    folders.write("paper/fig-2.toml", &shared);
    let folder = folders.at("a/report");
    let report = |request: &Request, folder: &Path| {
        fs::create_dir_all(folder).expect("a folder");
        let written = folders.reproduced(request, |_, all| {
            write_folder(folder, all, Vec::new()).expect("written");
            as_json(all)
        });
        written.expect("results")
    };
    let all = report(&folders.request(""), &folder);
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    let results: Vec<Value> = serde_json::from_str(&read("results.json")).expect("JSON");
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
        let own = fs::read_to_string(folders.at("experiments").join(name)).expect(name);
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
    let second = folders.at("second");
    let copies = Request {
        experiments: Some(folder.join("experiments")),
        ..Request::default()
    };
    let again = report(&copies, &second);
    assert!(again.iter().all(|one| one["kept"].is_string()));
    assert_eq!(timeless(&again), timeless(&all));
    let page = fs::read_to_string(second.join("index.html")).expect("a page");
    assert!(
        page.contains("\"kind\":\"beside\""),
        "figures are stored, too"
    );
    // No temporary file is left.
    for folder in [&folder, &second, &folders.at("keep/reproduced")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            assert!(!name.to_string_lossy().starts_with('.'), "{name:?}");
        }
    }
}

#[test]
fn files_are_printed_with_their_paths() {
    let folders = Folders::new();
    folders.write("paper/s.toml", SCENARIO);
    folders.write(
        "paper/fig-2.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    let found = folders.request("paper/fig-2").find().expect("found");
    let printed = text::files(&found).expect("files");
    let path = |name: &str| folders.at("experiments").join(name).display().to_string();
    assert!(printed.starts_with(&format!(
        "# {}\n{}",
        path("paper/fig-2.toml"),
        EXPERIMENT.lines().next().expect("one")
    )));
    assert!(
        printed.ends_with(&format!("# {}\n{SCENARIO}\n", path("paper/s.toml"))),
        "{printed}"
    );
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
    let folders = Folders::new();
    let shared = format!("{EXPERIMENT}{SCENARIO}");
    folders.write("paper/fig-2.toml", &shared);
    let artifact = |name: &str, request: &Request| {
        let folder = folders.at(name);
        fs::create_dir_all(&folder).expect("a folder");
        let written = folders.reproduced(request, |plan, all| {
            write_artifact(&folder, all, plan.seeds.as_ref()).expect("written");
        });
        written.expect("results");
        files(&folder)
    };
    let [first, second] = [("first", 1), ("second", 2)].map(|(name, threads)| {
        let request = Request {
            again: true,
            threads: NonZeroUsize::new(threads),
            ..folders.request("")
        };
        artifact(name, &request)
    });
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
    let other = Request {
        seeds: Some(2),
        ..folders.request("")
    };
    assert_ne!(
        artifact("other", &other)["results.json"],
        first["results.json"]
    );
}
