//! Sweeps whose runs are played in parts, by any process on any machine.

use crate::cache::hash;
use whimbrel_sim::scenario::Scenario;

/// The key of a sweep: a hash over everything that determines the files of its parts. That is the
/// source of the simulator, the scenario with its traces, the settings that override the text, what
/// the files hold, and the number of runs in each.
pub fn key(
    scenario: &Scenario,
    text: &str,
    settings: &[String],
    content: &str,
    size: usize,
) -> String {
    let traces = scenario.traces().to_le_bytes();
    let size = (size as u64).to_le_bytes();
    let parts: [&[u8]; 5] = [
        whimbrel_sim::SOURCE.as_bytes(),
        text.as_bytes(),
        &traces,
        content.as_bytes(),
        &size,
    ];
    let settings = settings.iter().map(String::as_bytes);
    hash(parts.into_iter().chain(settings)).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn anything_that_changes_the_runs_changes_the_key() {
        let text = "[link.L]\nrate = \"1 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\n\
                    [run]\nduration = \"1 s\"\n";
        let scenario = Scenario::parse(text, Path::new("test")).expect("valid");
        let settings = ["run.seeds=3".to_owned()];
        let keys = [
            key(&scenario, text, &[], "flows", 2),
            key(&scenario, text, &settings, "flows", 2),
            key(&scenario, text, &[], "runs", 2),
            key(&scenario, text, &[], "flows", 3),
            key(&scenario, "", &[], "flows", 2),
        ];
        for (i, one) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(one), "{i}");
        }
    }
}
