//! Mistakes over the grid, as a heat map.

use super::result::{Axis, Judged, Mistake};
use whimbrel_report::figures::{HeatAxis, HeatMap};
use whimbrel_sim::Confusion;
use whimbrel_sim::scenario::Parameter;

/// The number of axes of a map.
const AXES: usize = 4;

impl Judged {
    /// How often a mistake is made, over the first four swept keys: the first from left to right,
    /// the second downwards, the third and fourth from panel to panel. All values of further keys
    /// are taken together.
    pub fn heat(&self, mistake: Mistake) -> HeatMap {
        let shown: Vec<&Axis> = self.axes.iter().take(AXES).collect();
        let length = |i: usize| shown.get(i).map_or(1, |axis| axis.values.len());
        let mut decisions = vec![Confusion::default(); (0..AXES).map(length).product()];
        for cell in &self.cells {
            let at = |(axis, p): (&&Axis, &Parameter)| {
                let value = p.value.to_string();
                let place = axis.values.iter().position(|known| known.value == value);
                place.unwrap_or_default()
            };
            let places: Vec<usize> = shown.iter().zip(&cell.parameters).map(at).collect();
            let index = (0..AXES).rev().fold(0, |index, i| {
                index * length(i) + places.get(i).copied().unwrap_or_default()
            });
            decisions[index] += cell.decisions;
        }
        let axis = |i: usize| {
            shown.get(i).map_or_else(HeatAxis::none, |axis| HeatAxis {
                name: axis.name.clone(),
                values: axis.values.iter().map(|v| v.value.clone()).collect(),
            })
        };
        HeatMap {
            protocol: self.controller.to_string(),
            axes: [axis(0), axis(1), axis(2), axis(3)],
            cells: decisions.iter().map(|d| mistake.share(d)).collect(),
        }
    }
}
