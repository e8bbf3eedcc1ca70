//! docs/reference/json.md names every field that commands print with `--json`.

use super::support::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of all fields. Those with a dot are keys of a scenario.
fn fields(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                if !name.contains('.') {
                    found.insert(name.clone());
                }
                fields(inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| fields(inner, found)),
        _ => {}
    }
}

/// The words in backticks and in bold of the page, and of those that it refers to.
fn documented() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut words = BTreeSet::new();
    for page in ["json.md", "scenario-keys.md", "formats.md"] {
        let text = fs::read_to_string(root.join(page)).expect(page);
        let text = match text.split_once("\n## Results\n") {
            Some((_, results)) => results.to_owned(),
            None => text,
        };
        let between = |c: char| !(c.is_alphanumeric() || c == '_');
        for mark in ["`", "**"] {
            let marked = text.split(mark).skip(1).step_by(2);
            let marked = marked.flat_map(|one| one.split(between));
            words.extend(marked.map(str::to_owned));
        }
    }
    words
}

#[test]
fn the_page_has_every_field() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("rate.csv"), "0,10\n1,20\n2,5\n3,8\n").expect("written");
    fs::write(path.join("file"), "some data").expect("written");
    for name in ["tree", "got"] {
        fs::create_dir(path.join(name)).expect("made");
    }
    fs::write(path.join("tree/a"), "a").expect("written");
    let mut found = BTreeSet::new();
    let allowed = "--listen 127.0.0.1:0 --allow-read --allow-remove";
    let mut server = Server::start(path, allowed);
    fields(&server.listening, &mut found);
    let host = server.address.clone();
    let client = |line: &str| format!("{} --identity id --json", line.replace("HOST", &host));
    for line in [
        "compare --controllers cerl --duration 1s --seeds 1 --json".to_owned(),
        "controllers --json".to_owned(),
        "trace rate.csv --json".to_owned(),
        "model --seeds 0 --points 1 --json".to_owned(),
        "reproduce --list --json".to_owned(),
        client("send file HOST"),
        client("send tree HOST"),
        client("ls HOST"),
        client("get HOST:file got"),
        client("rm HOST:file"),
        client("measure HOST --time 0.3"),
    ] {
        let output = whimbrel_in(path, &line);
        assert!(output.status.success(), "{line}: {output:?}");
        // One object, or one on each line.
        let printed = text(&output.stdout);
        match serde_json::from_str(&printed) {
            Ok(value) => fields(&value, &mut found),
            Err(_) => printed
                .lines()
                .for_each(|line| fields(&parse(line), &mut found)),
        }
    }
    for _ in 0..4 {
        fields(&server.event().expect("an event"), &mut found);
    }
    // One of each command: they printed what they should.
    for name in [
        "discrimination",
        "persistence",
        "chain",
        "verdicts",
        "modified_s",
        "rttvar",
    ] {
        assert!(found.contains(name), "{name} was not printed");
    }
    let missing: Vec<_> = found.difference(&documented()).cloned().collect();
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "not in docs/reference/json.md"
    );
}
