//! Figures for a page that is not a report: pictures for wide and narrow windows, their words, and
//! the colours of the dark page. They look as in a report.

use crate::figure::Figure;
use crate::svg::{self, Looks};
use std::collections::BTreeSet;

/// The style of a report's page. A page with embedded figures needs its rules for `.chart`,
/// `.plot`, `.figure` and `.tip`.
pub const PAGE_STYLE: &str = include_str!("../assets/page.css");

/// The part of the page's script that makes figures answer the pointer and keys. It belongs into a
/// scope of its own, in front of the page's own script, which gives each `figure.figure` a
/// `Figure`. The page needs elements with the ids `tip` and `announce`.
pub const FIGURE_SCRIPT: &str = concat!(
    include_str!("../assets/values.js"),
    include_str!("../assets/figure.js"),
);

/// Draws figures that share their colours.
pub struct Embedded {
    looks: Looks,
}

impl Embedded {
    /// For figures of these protocols. A protocol has the same colour in each figure, whichever
    /// of the others the figure has.
    pub fn new<'a>(protocols: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            looks: Looks::of_protocols(protocols.into_iter().collect()),
        }
    }

    /// The plot of a figure as two SVG images, `plot wide` and `plot narrow`, of which the page's
    /// style shows one. Title and caption are left to the page.
    pub fn picture(&self, figure: &Figure) -> String {
        svg::svg_in_page(&figure.plot, &self.looks)
    }

    /// The plot in words: each series with its range.
    pub fn words(&self, figure: &Figure) -> String {
        svg::in_words(&figure.plot)
    }

    /// A protocol's line and mark as a small image.
    pub fn swatch(&self, protocol: &str) -> String {
        svg::swatch(&self.looks, protocol)
    }

    /// Rules of CSS that give these pictures the colours of the dark page, below the elements that
    /// `scope` selects.
    pub fn dark_rules<'a>(
        &self,
        pictures: impl IntoIterator<Item = &'a str>,
        scope: &str,
    ) -> String {
        let used: BTreeSet<&str> = pictures.into_iter().flat_map(svg::colours).collect();
        svg::dark_rules(&self.looks, scope, &used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Form, Panel, Plot, Series};

    fn figure(protocols: &[&str]) -> Figure {
        let series = |name: &&str| Series {
            protocol: Some((*name).to_owned()),
            label: (*name).to_owned(),
            form: Form::Line,
            points: vec![[0.0, 1.0], [1.0, 2.0]],
            spread: Vec::new(),
            notes: Vec::new(),
        };
        Figure {
            id: "f".to_owned(),
            title: "F".to_owned(),
            caption: String::new(),
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels: vec![Panel {
                    y: Axis::new("rate", "bit/s"),
                    series: protocols.iter().map(series).collect(),
                }],
            },
        }
    }

    #[test]
    fn a_protocol_keeps_its_colour_when_others_join() {
        let all = ["cubic", "cubic?C=1", "bbr"];
        let embedded = Embedded::new(all);
        let swatch = embedded.swatch("cubic?C=1");
        let colour = svg::colours(&swatch).next().expect("a colour");
        for some in [&all[1..2], &all[..2], &all[..]] {
            let picture = embedded.picture(&figure(some));
            assert!(picture.contains(colour), "{some:?}");
            assert!(picture.contains("plot wide") && picture.contains("plot narrow"));
        }
    }

    #[test]
    fn each_colour_has_one_on_the_dark_page() {
        let embedded = Embedded::new(["cubic"]);
        let picture = embedded.picture(&figure(&["cubic"]));
        let rules = embedded.dark_rules([picture.as_str()], ".dark .plot");
        let swatch = embedded.swatch("cubic");
        let colour = svg::colours(&swatch).next().expect("a colour");
        assert!(
            rules.contains(&format!(".dark .plot [stroke=\"{colour}\"]")),
            "{rules}"
        );
    }
}
