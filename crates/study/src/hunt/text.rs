//! What a hunt found, and the families of paths, as text.

use super::{FAMILIES, Hunt, WEAK, lines, sentences};
use std::fmt::Write as _;
use std::path::Path;
use whimbrel_report::{fill, text_table};

/// The families with the ranges of what varies.
pub fn list() -> String {
    let mut text = String::new();
    for family in FAMILIES {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}: {}", family.name, family.summary);
        let ranges: Vec<String> = family.knobs.iter().map(|knob| knob.range()).collect();
        let _ = writeln!(text, "{}\n", fill(&ranges.join("; "), "; "));
    }
    text + "What stands in [brackets] may be left out.\n"
}

/// What was found; `saved`: where its points are, if they are files.
pub fn text(found: &Hunt, saved: Option<&Path>) -> String {
    let columns = [
        ("family", false),
        ("paths", true),
        ("searched", true),
        ("ratio", true),
        ("best other", false),
    ];
    let rows: Vec<Vec<String>> = lines(found).iter().map(|line| line.to_vec()).collect();
    let mut text = text_table(&columns, &rows);
    let limit = if found.out_of_time {
        "; the time is over"
    } else {
        ""
    };
    let _ = writeln!(text, "\n{} paths were tried{limit}.", found.evaluations);
    if found.finds.is_empty() {
        let name = found.target.name();
        let _ = writeln!(
            text,
            "On none of them {name} has less than {WEAK} of the best."
        );
    }
    for find in &found.finds {
        let _ = writeln!(text);
        for sentence in sentences(&found.target, find) {
            let _ = writeln!(text, "{}", fill(&sentence, " "));
        }
        if saved.is_none() {
            let _ = writeln!(text, "\n{}", find.point.text.trim_end());
        }
    }
    if let Some(path) = saved.filter(|_| !found.finds.is_empty()) {
        let _ = writeln!(text, "\nSaved: {}", path.display());
    }
    text
}
