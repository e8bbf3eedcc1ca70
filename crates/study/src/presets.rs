//! Presets of scenarios, as text.

use crate::Error;
use std::collections::BTreeSet;
use whimbrel_sim::scenario::presets::{PRESETS, Preset};

/// All presets with the source of each value.
///
/// # Errors
/// If a preset is malformed, which a test excludes.
pub fn list() -> Result<String, Error> {
    let mut text =
        "Presets for `preset = \"NAME\"` in [run]. A key beside it overrides its value.\n"
            .to_owned();
    for preset in PRESETS {
        text += &format!("\n{}: {}\n", preset.name, preset.summary()?);
        text += &values(preset, "  ")?;
    }
    Ok(text)
}

/// What the presets set that a scenario file names, as comments.
///
/// # Errors
/// As [`list`].
pub fn explain(scenario: &str) -> Result<String, Error> {
    let lines = scenario.lines().map(str::trim_start);
    let named: BTreeSet<&str> = lines
        .filter(|line| line.starts_with("preset") || line.starts_with("\"run.preset\""))
        .flat_map(|line| line.split('"'))
        .collect();
    let named = PRESETS
        .into_iter()
        .filter(|preset| named.contains(preset.name));
    named
        .map(|preset| {
            let values = values(preset, "#   ")?;
            Ok(format!("# preset = \"{}\" sets:\n{values}", preset.name))
        })
        .collect()
}

fn values(preset: Preset, indent: &str) -> Result<String, Error> {
    let line = |value: whimbrel_sim::scenario::presets::PresetValue| {
        let (key, value, source) = (value.key, value.value, value.source);
        format!("{indent}{key} = {value}\n{indent}    {source}\n")
    };
    Ok(preset.values()?.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_followed_by_what_its_preset_sets() {
        let text = explain("[run]\npreset = \"riverbed\"\n").expect("its values");
        assert!(text.starts_with("# preset = \"riverbed\" sets:\n#   mss = \"1460 B\"\n"));
        let none = explain("[run]\nseeds = 3 # not riverbed\n").expect("nothing");
        assert!(none.is_empty());
    }
}
