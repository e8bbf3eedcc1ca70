//! Whether the mistakes that `tools/mutants.py` plants fit the code. The tool is run rarely, and a
//! mistake whose text is gone would be found only then.

use std::collections::HashMap;
use std::path::Path;

/// The keys that have the text of a mistake as it stands in the code.
const TEXTS: [&str; 5] = ["old", "skip", "ok", "never", "always"];

#[test]
fn each_listed_mistake_fits_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = root.join("../../tools/mutants.toml");
    let list = std::fs::read_to_string(list).expect("the list of mistakes");
    let list: HashMap<String, Vec<HashMap<String, String>>> =
        toml::from_str(&list).expect("files, each with its mistakes");
    let mut gone = Vec::new();
    for (file, mistakes) in &list {
        let code = std::fs::read_to_string(root.join("src").join(file)).unwrap_or_default();
        for mistake in mistakes {
            let text = TEXTS.iter().find_map(|key| mistake.get(*key));
            if text.is_none_or(|text| !code.contains(text.as_str())) {
                gone.push(format!("{file}: {:?}", mistake.get("what")));
            }
        }
    }
    assert!(list.len() > 50, "{} files", list.len());
    assert!(gone.is_empty(), "they do not fit:\n{}", gone.join("\n"));
}
