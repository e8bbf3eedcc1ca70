//! What an experiment's scenario sets, for people.

use crate::Experiment;

impl Experiment {
    /// What its scenario sets, as it was written: of each link, flow and so on a name and a line, in the order of the file.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.document.settings()
    }

    /// The algorithms that take part, as its scenario names them, in the order in which they come up.
    pub fn controllers(&self) -> Vec<String> {
        // The scenario was checked when the experiment was read.
        let scenario = self.scenario(&[]).ok();
        let mut all: Vec<String> = Vec::new();
        for point in scenario.iter().flat_map(|scenario| scenario.points()) {
            for name in point.controllers() {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
        }
        all
    }
}
