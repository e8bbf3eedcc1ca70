//! A printed scenario reads as the same scenario.

use super::*;
use std::fs;
use std::path::PathBuf;

/// Asserts that the first point of a file, printed, is the same network. Returns the printed file.
fn assert_same(text: &str, path: &Path) -> String {
    let spec = |text: &str| {
        let document = Document::parse(text, path).expect("TOML");
        ScenarioSpec::read(&document).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let network = |spec: &ScenarioSpec| {
        let scenario = Scenario::new(spec).unwrap_or_else(|error| panic!("{error}\n{spec}"));
        let point = &scenario.points()[0];
        format!("{:?} {:?}", point.seeds(), point.network(3))
    };
    let read = spec(text);
    let printed = read.to_string();
    assert_eq!(network(&spec(&printed)), network(&read), "{printed}");
    printed
}

#[test]
fn scenarios_of_all_kinds_are_printed() {
    for text in [DESIGN, SHARED, SEVERAL, MESSAGES, MINIMAL] {
        let printed = assert_same(text, Path::new("scenario.toml"));
        assert_eq!(assert_same(&printed, Path::new("scenario.toml")), printed);
    }
}

#[test]
fn presets_settings_and_odd_names_are_printed() {
    let settings = "recovery = \"newreno\"\nmss = \"1000 B\"\npacing = 1.25\necn = true\n\
                    coarse_timer = \"100 ms\"\nforged_nacks = { rate = 50 }\nnack = \"on\"\n\
                    circuit_breaker = \"2 s\"\nquick_acks = 16\nseeds = [3, 9]\nsample = \"1 s\"\n";
    let text = format!(
        "[link.\"a b\"]\nrate = \"1 Mbit/s\"\nreverse = {{ delay = \"3 ms\", loss = \"same\" }}\n\
         [[flow]]\nname = \"x \\\"y\\\"\"\nroute = [\"a b*\"]\nsize = \"1 GB\"\n\
         with = {{ sctp = {{ streams = 2, min_rto = \"2 s\" }} }}\n\
         [[flow]]\nkind = \"udp\"\nrate = \"1 kbit/s\"\non = \"1 s\"\noff = \"2 s\"\n\
         route = [\"a b\"]\nback = [\"a b\"]\n[run]\npreset = \"ns-2.35\"\n{settings}"
    );
    assert_same(&text, Path::new("scenario.toml"));
}

#[test]
fn every_point_of_the_matrix_is_printed() {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../experiments/matrix"
    ));
    let mut printed = 0;
    for entry in fs::read_dir(folder).expect("the matrix") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.contains("[point]") {
            assert_same(&text, &path);
            printed += 1;
        }
    }
    assert!(printed > 40, "{printed} points");
}
