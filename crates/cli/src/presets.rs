//! Presets of scenarios, as text.

use anyhow::Context;
use std::collections::BTreeSet;
use std::io::Write;
use whimbrel_sim::scenario::presets::{PRESETS, Preset};

/// Prints all presets with the source of each value.
pub fn list(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "Presets for `preset = \"NAME\"` in [run]. A key beside it overrides its value."
    )?;
    for preset in PRESETS {
        let summary = preset.summary().context("a preset is malformed")?;
        writeln!(out, "\n{}: {summary}", preset.name)?;
        print(out, preset, "  ")?;
    }
    Ok(())
}

/// Prints, as comments, what the presets set that a scenario file names.
pub fn explain(out: &mut impl Write, scenario: &str) -> anyhow::Result<()> {
    let lines = scenario.lines().map(str::trim_start);
    let named: BTreeSet<&str> = lines
        .filter(|line| line.starts_with("preset") || line.starts_with("\"run.preset\""))
        .flat_map(|line| line.split('"'))
        .collect();
    for preset in PRESETS
        .into_iter()
        .filter(|preset| named.contains(preset.name))
    {
        writeln!(out, "# preset = \"{}\" sets:", preset.name)?;
        print(out, preset, "#   ")?;
    }
    Ok(())
}

fn print(out: &mut impl Write, preset: Preset, indent: &str) -> anyhow::Result<()> {
    for value in preset.values().context("a preset is malformed")? {
        let set = format!("{} = {}", value.key, value.value);
        writeln!(out, "{indent}{set}\n{indent}    {}", value.source)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_followed_by_what_its_preset_sets() {
        let mut out = Vec::new();
        explain(&mut out, "[run]\npreset = \"riverbed\"\n").expect("written");
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("# preset = \"riverbed\" sets:\n#   mss = \"1460 B\"\n"));
        let mut none = Vec::new();
        explain(&mut none, "[run]\nseeds = 3 # not riverbed\n").expect("written");
        assert!(none.is_empty());
    }
}
