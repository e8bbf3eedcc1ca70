//! A fraction over up to four swept keys, as heat maps in small multiples.

use crate::figure::{Axis, Categories, Figure, Heat, Plot};

/// A swept key: its name and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatAxis {
    /// May be empty.
    pub name: String,
    /// One for each cell along the axis; not empty.
    pub values: Vec<String>,
}

impl HeatAxis {
    /// An axis of one cell without a name.
    pub fn none() -> Self {
        Self {
            name: String::new(),
            values: vec![String::new()],
        }
    }
}

/// A controller's fractions over four axes.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// The controller.
    pub protocol: String,
    /// The first is horizontal and the second vertical in each map; the others differ from map to
    /// map.
    pub axes: [HeatAxis; 4],
    /// Fractions from 0 to 1, the first axis varying fastest; `None` where there is none. Cells
    /// that are missing at the end have none either.
    pub cells: Vec<Option<f64>>,
}

/// A map in percent for each controller and each pair of values of the last two axes; all
/// controllers have the same axes. `None` if there is no controller.
pub fn heat_maps(title: &str, value: &str, all: &[HeatMap]) -> Option<Figure> {
    let [x, y, ..] = &all.first()?.axes;
    let categories = |axis: &HeatAxis| Categories {
        label: axis.name.clone(),
        values: axis.values.clone(),
    };
    Some(Figure {
        id: "heat-maps".to_owned(),
        title: title.to_owned(),
        caption: String::new(),
        plot: Plot::Heat {
            x: categories(x),
            y: categories(y),
            value: Axis::new(value, "%"),
            maps: all.iter().flat_map(maps).collect(),
        },
    })
}

fn maps(of: &HeatMap) -> Vec<Heat> {
    let [x, y, z, w] = &of.axes;
    let size = x.values.len() * y.values.len();
    let named = |axis: &HeatAxis, value: &str| format!("{} {value}", axis.name).trim().to_owned();
    let mut maps = Vec::new();
    for last in &w.values {
        for third in &z.values {
            let first = maps.len() * size;
            let cell = |i: usize| Some(100.0 * of.cells.get(first + i).copied().flatten()?);
            let label = [of.protocol.clone(), named(z, third), named(w, last)];
            let label: Vec<String> = label.into_iter().filter(|text| !text.is_empty()).collect();
            maps.push(Heat {
                protocol: Some(of.protocol.clone()),
                label: label.join(", "),
                cells: (0..size).map(cell).collect(),
            });
        }
    }
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[&str]) -> HeatAxis {
        HeatAxis {
            name: name.to_owned(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        }
    }

    #[test]
    fn each_fraction_is_in_the_cell_of_its_values() {
        let cerl = HeatMap {
            protocol: "cerl".to_owned(),
            axes: [
                axis("loss", &["0 %", "1 %"]),
                axis("delay", &["10 ms", "50 ms"]),
                axis("queue", &["1 bdp", "4 bdp"]),
                HeatAxis::none(),
            ],
            cells: [0.01, 0.02, 0.03, 0.04, 0.05, 1.0]
                .into_iter()
                .map(Some)
                .chain([None])
                .collect(),
        };
        let figure = heat_maps("A title", "mistakes", &[cerl]);
        let Some(Plot::Heat { x, y, maps, .. }) = figure.map(|figure| figure.plot) else {
            panic!("no heat maps");
        };
        assert_eq!((x.label.as_str(), y.values[1].as_str()), ("loss", "50 ms"));
        let labels: Vec<&str> = maps.iter().map(|map| map.label.as_str()).collect();
        assert_eq!(labels, ["cerl, queue 1 bdp", "cerl, queue 4 bdp"]);
        assert_eq!(maps[0].cells, [1.0, 2.0, 3.0, 4.0].map(Some));
        assert_eq!(maps[1].cells, [Some(5.0), Some(100.0), None, None]);
        assert_eq!(heat_maps("", "", &[]), None);
    }
}
