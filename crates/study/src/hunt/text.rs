//! What a hunt found, and the families of paths, as text.

use super::{FAMILIES, Hunt, Target, WEAK, lines, sentences};
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
    if let Some(sentence) = nothing(found) {
        let _ = writeln!(text, "{}", fill(&sentence, " "));
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

/// That no family has a weakness. Only the worst path of each has been run with fresh seeds: of the
/// others nothing is known but what the search saw.
pub fn nothing(found: &Hunt) -> Option<String> {
    let weak = |ratio: f64| ratio < WEAK;
    let none = !found.families.iter().any(|one| weak(one.confirmed.ratio()));
    let name = found.target.name();
    let what = match found.target {
        Target::Algorithm { .. } => format!("{name} has {WEAK} of the score of the best or more"),
        Target::Classifier { .. } => format!(
            "the balanced accuracy of {name} is {WEAK} or more, or there are too few decisions"
        ),
    };
    none.then(|| format!("On the worst path of each family, with fresh seeds, {what}."))
}
