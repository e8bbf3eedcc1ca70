//! `whimbrel controllers`.

use super::support::*;
use serde_json::Value;

#[test]
fn controllers_have_citations_and_parameters() {
    let all = json(&whimbrel("controllers --json"));
    let cerl = list(&all)
        .iter()
        .find(|c| c["name"] == "cerl")
        .expect("CERL");
    assert!(
        cerl["citation"]
            .as_str()
            .expect("a string")
            .contains("El-Ocla")
    );
    assert_eq!(cerl["parameters"][0]["name"], "A");
    assert_eq!(cerl["parameters"][0]["default"], 0.55);
    assert_eq!(
        (&cerl["kind"], &cerl["carried_by"]),
        (
            &Value::from("controller"),
            &serde_json::json!(["tcp", "quic", "linux"])
        )
    );
    let of_kind = |name: &str, kind: &str| {
        let mut entries = list(&all).iter();
        entries.any(|c| c["name"] == name && c["kind"] == kind)
    };
    assert!(of_kind("cerl", "discriminator"));
    assert!(of_kind("enhanced-aatp", "controller"));
    let shown = stdout(&whimbrel(&["controllers"]));
    assert_contains(
        &shown,
        &[
            "?A=0.55  (0 to 1)",
            "in the simulator and over QUIC; not on TCP",
            "Combine one with any controller",
        ],
    );
}

#[test]
fn an_algorithm_is_shown_with_its_code() {
    let run = |args: &str| whimbrel(&format!("controllers {args}"));
    let code = stdout(&run("cerl --code"));
    assert!(
        code.starts_with("// crates/cc/src/classifiers/cerl.rs\n\n//! TCP CERL"),
        "{code}"
    );
    let both = stdout(&run("cubic+cerl --code"));
    assert!(
        both.starts_with("// crates/cc/src/algorithms/loss/cubic.rs\n")
            && both.contains("\n// crates/cc/src/classifiers/cerl.rs\n")
    );
    let shown = stdout(&run("cerl?A=0.6"));
    assert!(
        shown.contains("crates/cc/src/classifiers/cerl.rs")
            && shown.contains("?A=0.55")
            && !shown.contains("cubic "),
        "{shown}"
    );
    // A loss classifier that is not a controller.
    assert!(stdout(&run("ltd")).contains("crates/cc/src/classifiers/jitter.rs"));
    let entries = json(&run("cerl --json"));
    assert_eq!(list(&entries).len(), 1);
    assert_eq!(
        [&entries[0]["name"], &entries[0]["code"][0]["path"]],
        ["cerl", "crates/cc/src/classifiers/cerl.rs"]
    );
    let error = fails(&run("cerk"), 2);
    assert_contains(&error, &["unknown controller `cerk`, did you mean `cerl`?"]);
    assert!(fails(&run("--code"), 2).contains("<NAME>"));
}
