//! Reads the figures of a page that [`html`](crate::html()) wrote, so that they can be drawn again
//! in another form.

use crate::figure::{Figure, Plot};
use serde::Deserialize;
use std::collections::HashMap;

/// What begins a figure's data, and what ends it: the data itself has no `<`.
const BEGIN: &str = "<script type=\"application/json\">";
const END: &str = "</script>";
/// What begins a figure.
const FIGURE: &str = "<figure id=\"";

/// A figure, or a reference to one with the same plot.
#[derive(Deserialize)]
#[serde(untagged)]
enum Saved {
    Own(Figure),
    Same {
        title: String,
        caption: String,
        same: String,
    },
}

/// The figures of a page, in order, each with the id of its link.
///
/// # Errors
/// Why the text is not such a page.
pub fn figures_of_page(page: &str) -> Result<Vec<Figure>, String> {
    let mut all: Vec<Figure> = Vec::new();
    let mut plots: HashMap<String, Plot> = HashMap::new();
    for part in page.split(FIGURE).skip(1) {
        let (id, rest) = part.split_once('"').ok_or("a figure has no id")?;
        let data = rest
            .split_once(BEGIN)
            .and_then(|(_, rest)| rest.split_once(END));
        let (data, _) = data.ok_or_else(|| format!("the figure `{id}` has no data"))?;
        let saved = serde_json::from_str(data).map_err(|error| {
            format!("the data of the figure `{id}` cannot be read: {error}; make the page again")
        })?;
        let figure = match saved {
            Saved::Own(figure) => Figure {
                id: id.to_owned(),
                ..figure
            },
            Saved::Same {
                title,
                caption,
                same,
            } => Figure {
                id: id.to_owned(),
                title,
                caption,
                plot: plots.get(&same).cloned().ok_or_else(|| {
                    format!("the figure `{id}` refers to `{same}`, which is missing")
                })?,
            },
        };
        plots.insert(figure.id.clone(), figure.plot.clone());
        all.push(figure);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Form, Panel, Series};
    use crate::page::{Page, Section};
    use proptest::prelude::*;

    fn figure(id: &str, label: &str) -> Figure {
        Figure {
            id: id.to_owned(),
            title: format!("title of {id}"),
            caption: "a < b </script> & \"c\"".to_owned(),
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels: vec![Panel {
                    y: Axis::new("rate", "Mbit/s"),
                    series: vec![Series {
                        protocol: Some("cubic".to_owned()),
                        label: label.to_owned(),
                        form: Form::Line,
                        points: vec![[0.0, 1.0], [1.0, 2.5]],
                        spread: Vec::new(),
                        notes: Vec::new(),
                    }],
                }],
            },
        }
    }

    #[test]
    fn the_figures_of_a_page_are_read_back() {
        // The second has the plot of the first, which the page has once.
        let figures = vec![
            figure("a/1", "x"),
            figure("b", "x"),
            figure("c", "</script>"),
        ];
        let section = |id: &str, figures| Section {
            id: id.to_owned(),
            title: id.to_owned(),
            figures,
            ..Section::default()
        };
        let report = Page {
            title: "t".to_owned(),
            summary: String::new(),
            made: Vec::new(),
            sections: vec![section("s", figures.clone())],
        };
        let mut page = Vec::new();
        crate::html(&report, &mut page).expect("written");
        let page = String::from_utf8(page).expect("UTF-8");
        assert_eq!(figures_of_page(&page), Ok(figures));
        assert_eq!(figures_of_page("<html></html>"), Ok(Vec::new()));
        let broken = "<figure id=\"a\"><script type=\"application/json\">{}</script>";
        let error = figures_of_page(broken).expect_err("no figure");
        assert!(
            error.starts_with("the data of the figure `a` cannot be read"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn no_page_makes_the_reader_fail_otherwise(text in ".{0,200}") {
            let _ = figures_of_page(&text);
            let _ = figures_of_page(&format!("{FIGURE}{text}{BEGIN}{text}{END}"));
        }
    }
}
