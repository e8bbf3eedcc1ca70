//! Pictures of small figures: texts, colours and marks are where they belong.

use super::*;
use crate::figure::{Axis, BesideRow, Categories, Form, Heat, Matrix, Panel, Series};
use crate::style;

fn series(protocol: Option<&str>, label: &str, form: Form, points: Vec<[f64; 2]>) -> Series {
    Series {
        protocol: protocol.map(str::to_owned),
        label: label.to_owned(),
        form,
        points,
        spread: Vec::new(),
        notes: Vec::new(),
    }
}

fn figure(plot: Plot) -> Figure {
    Figure {
        id: "id".to_owned(),
        title: "A title".to_owned(),
        caption: "A caption.".to_owned(),
        plot,
    }
}

fn panels(x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    figure(Plot::Panels {
        x,
        panels: vec![Panel { y, series }],
    })
}

fn drawn(figure: Figure) -> String {
    let svg = svg(&[figure]);
    for broken in ["NaN", "inf"] {
        assert!(!svg.contains(broken), "{broken} in {svg}");
    }
    svg
}

fn has(svg: &str, words: &[&str]) {
    for word in words {
        assert!(svg.contains(word), "no {word} in {svg}");
    }
}

/// How many elements of this kind have this attribute.
fn count(svg: &str, element: &str, attribute: &str) -> usize {
    let open = format!("<{element} ");
    svg.lines()
        .filter(|line| line.starts_with(&open) && line.contains(attribute))
        .count()
}

/// Number of lines with this attribute; marks have a filling.
fn curves(svg: &str, attribute: &str) -> usize {
    svg.lines()
        .filter(|line| line.starts_with("<path ") && line.contains(" fill=\"none\""))
        .filter(|line| line.contains(attribute))
        .count()
}

/// Number of marks with this attribute: they are put in their place by a transformation.
fn marks(svg: &str, attribute: &str) -> usize {
    svg.lines()
        .filter(|line| line.starts_with("<path ") && line.contains(" transform="))
        .filter(|line| line.contains(attribute))
        .count()
}

/// The place of the text that is exactly this.
fn place(svg: &str, text: &str) -> [f64; 2] {
    let end = format!(">{text}</text>");
    let line = svg
        .lines()
        .find(|line| line.ends_with(&end))
        .expect("the text");
    let value = |name: &str| {
        let rest = line
            .split(&format!(" {name}=\""))
            .nth(1)
            .expect("an attribute");
        rest.split('"')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    [value("x"), value("y")]
}

#[test]
fn panels_have_titles_axes_with_units_and_a_legend() {
    let line = |protocol: &str| {
        let points = (0..100).map(|i| [f64::from(i), 1500.0 * f64::from(i)]);
        series(Some(protocol), protocol, Form::Line, points.collect())
    };
    let marks = series(
        Some("cubic"),
        "cubic, loss",
        Form::Marks,
        vec![[5.0, 9000.0]],
    );
    let all = vec![line("cubic"), line("newreno"), marks];
    let svg = drawn(panels(
        Axis::new("time", "s"),
        Axis::new("window", "B"),
        all,
    ));
    let words = [
        "A title",
        "A caption.",
        "time (s)",
        "window (kB)",
        ">cubic<",
        ">newreno<",
    ];
    has(&svg, &words);
    has(&svg, &["#ff5d10", "#0126ac", ">100<", "cubic, loss"]);
    assert_eq!(
        curves(&svg, "stroke=\"#ff5d10\""),
        2,
        "the line and its sample"
    );
}

#[test]
fn what_several_lines_have_beside_them_is_in_the_legend_once() {
    let of = |protocol: &str| {
        let points = vec![[0.0, 1.0], [1.0, 2.0]];
        let label = format!("{protocol}, predicted");
        [
            series(Some(protocol), protocol, Form::Line, points.clone()),
            series(Some(protocol), &label, Form::Dashed, points),
        ]
    };
    let all = [of("cubic"), of("bbr")].concat();
    let svg = drawn(panels(Axis::new("x", ""), Axis::new("y", ""), all));
    // Dashes mean "predicted" here, so the lines have none, whatever their protocols' style is.
    assert_eq!(curves(&svg, "stroke-dasharray"), 3);
    has(&svg, &[">predicted</text>"]);
    assert!(!svg.contains("cubic, predicted"));
    assert_eq!(curves(&svg, "stroke-dasharray=\"2 3\""), 3);
}

#[test]
fn a_logarithmic_axis_leaves_out_what_is_not_above_zero() {
    let x = Axis {
        log: true,
        ..Axis::new("loss", "")
    };
    let points = vec![[0.0, 1.0], [0.001, 2.0], [0.1, 4.0]];
    let all = vec![series(Some("cubic"), "cubic", Form::MarkedLine, points)];
    let svg = drawn(panels(x, Axis::new("y", ""), all));
    let fill = format!("fill=\"{}\"", style::style("cubic", 0).light);
    assert_eq!(marks(&svg, &fill), 3, "two points and the legend's sample");
    let [a, b] = [place(&svg, "0.001"), place(&svg, "0.1")];
    let between = place(&svg, "0.01");
    assert!(
        (between[0] - (a[0] + b[0]) / 2.0).abs() < 1.0,
        "equal ratios are equal distances"
    );
}

#[test]
fn stacks_lie_on_top_of_each_other() {
    let of = |label: &str, share: f64| {
        series(
            Some("cubic"),
            label,
            Form::Stack,
            vec![[0.0, share], [1.0, share]],
        )
    };
    let all = vec![of("a", 25.0), of("b", 75.0)];
    let svg = drawn(panels(Axis::new("time", "s"), Axis::new("share", "%"), all));
    has(&svg, &["share (%)", ">100<"]);
    assert_eq!(count(&svg, "polygon", "fill-opacity=\"0.75\""), 2);
}

#[test]
fn heat_maps_show_each_number_in_its_cell() {
    let categories = |label: &str, values: &[&str]| Categories {
        label: label.to_owned(),
        values: values.iter().map(|v| (*v).to_owned()).collect(),
    };
    let svg = drawn(figure(Plot::Heat {
        x: categories("loss", &["0 %", "1 %"]),
        y: categories("delay", &["10 ms", "50 ms"]),
        value: Axis::new("goodput", "Mbit/s"),
        maps: vec![Heat {
            protocol: Some("cerl".to_owned()),
            label: "cerl".to_owned(),
            cells: vec![Some(1.5), Some(2.5), Some(3.5), None],
        }],
    }));
    has(
        &svg,
        &[
            "goodput (Mbit/s)",
            "loss",
            "50 ms",
            ">–<",
            "#440154",
            "#fde725",
        ],
    );
    // The scale of colours has its ends, 1.5 and 3.5, too.
    let (second, dash) = (place(&svg, "2.5"), place(&svg, "–"));
    assert_eq!(second[0], dash[0], "the same loss");
    assert!(dash[1] < second[1], "the second row is above the first");
}

#[test]
fn an_inverse_scale_of_colours_has_its_maximum_at_the_left() {
    let ends = |inverse| {
        let values = || Categories {
            label: "loss".to_owned(),
            values: vec!["0 %".to_owned(), "1 %".to_owned()],
        };
        let svg = drawn(figure(Plot::Heat {
            x: values(),
            y: values(),
            value: Axis {
                inverse,
                ..Axis::new("delay", "")
            },
            maps: vec![Heat {
                protocol: None,
                label: String::new(),
                cells: vec![Some(1.5), Some(2.0), Some(3.0), Some(3.5)],
            }],
        }));
        let first = svg.find("#440154").expect("the darkest colour");
        let dark_is_left = first < svg.find("#fde725").expect("the lightest colour");
        (place(&svg, "1.5")[0] < place(&svg, "3.5")[0], dark_is_left)
    };
    // The darkest colour is that of the minimum in both.
    assert_eq!(ends(false), (true, true));
    assert_eq!(ends(true), (false, false));
}

#[test]
fn a_confusion_matrix_has_counts_and_the_part_of_each_row() {
    let svg = drawn(figure(Plot::Confusion {
        matrices: vec![Matrix {
            protocol: "cerl".to_owned(),
            label: "cerl".to_owned(),
            congestion_as_congestion: 90,
            congestion_as_random: 10,
            random_as_congestion: 0,
            random_as_random: 0,
            spurious: 3,
            brier: Some(0.1),
        }],
    }));
    has(
        &svg,
        &[
            ">90<",
            ">90\u{202f}%<",
            ">10\u{202f}%<",
            ">none<",
            ">3<",
            "classified as",
        ],
    );
    has(&svg, &[">Brier score 0.100<"]);
}

#[test]
fn a_papers_numbers_are_hollow_and_ours_are_filled() {
    let row = |label: &str, paper: f64, measured: Option<f64>| BesideRow {
        label: label.to_owned(),
        protocol: Some("cubic".to_owned()),
        paper: Some(paper),
        measured,
        spread: measured.map(|_| 0.5),
        expected: [Some(0.8 * paper), Some(1.2 * paper)],
        right: measured.map(|measured| (measured / paper - 1.0).abs() <= 0.2),
    };
    let beside = |rows| {
        drawn(figure(Plot::Beside {
            value: Axis::new("gain", "%"),
            rows,
        }))
    };
    let svg = beside(vec![row("a", 10.0, Some(12.5)), row("b", 20.0, None)]);
    has(&svg, &["gain (%)", ">×1.25<", ">12.5 ± 0.5<", ">–<"]);
    // 12.5 is not within 20 % of 10; nothing decides about the other.
    has(&svg, &[">\u{2717}<", ">?<"]);
    assert_eq!(count(&svg, "rect", "fill=\"#e3eee6\""), 2, "a band each");
    assert_eq!(marks(&svg, "stroke=\"#ff5d10\""), 2, "hollow");
    assert_eq!(marks(&svg, "fill=\"#ff5d10\""), 1, "filled");
    let svg = beside(vec![row("a", 0.1, Some(0.2)), row("b", 500.0, Some(400.0))]);
    has(&svg, &["logarithmic"]);
    let svg = beside(vec![
        row("a", -0.1, Some(0.2)),
        row("b", 500.0, Some(400.0)),
    ]);
    assert!(!svg.contains("logarithmic") && !svg.contains("own scale"));
}

#[test]
fn figures_without_values_are_drawn_as_empty_axes() {
    let svg = drawn(panels(Axis::new("x", "s"), Axis::new("y", "B"), Vec::new()));
    has(&svg, &["x (s)", "y (B)"]);
    drawn(figure(Plot::Heat {
        x: Categories {
            label: String::new(),
            values: Vec::new(),
        },
        y: Categories {
            label: String::new(),
            values: Vec::new(),
        },
        value: Axis::new("", ""),
        maps: Vec::new(),
    }));
    drawn(figure(Plot::Beside {
        value: Axis::new("", ""),
        rows: Vec::new(),
    }));
    drawn(figure(Plot::Confusion {
        matrices: Vec::new(),
    }));
}

#[test]
fn up_to_eight_lines_have_names_at_their_ends() {
    let line = |i: usize| {
        let name = format!("cubic?C=0.{i}");
        let points = vec![[0.0, 1.0], [10.0, 1.0 + i as f64 * 1e-3]];
        series(Some(&name), &format!("line {i}"), Form::Line, points)
    };
    let axes = || (Axis::new("x", "s"), Axis::new("y", "B"));
    let width = |width_mm| {
        let figure = panels(axes().0, axes().1, (0..3).map(line).collect());
        let print = super::Print {
            width_mm,
            font: "Arial".to_owned(),
            font_pt: 8.0,
            titles: false,
        };
        super::svg_for_print(&figure, std::slice::from_ref(&figure), &print)
    };
    // A column of a paper has no room for them; no name is cut.
    assert_eq!(width(88.0).matches(">line 1<").count(), 1);
    assert_eq!(width(180.0).matches(">line 1<").count(), 2);
    let with = |n: usize| drawn(panels(axes().0, axes().1, (0..n).map(line).collect()));
    let svg = with(3);
    // In the legend, and at the end.
    assert_eq!(svg.matches(">line 1<").count(), 2);
    assert_eq!(with(9).matches(">line 1<").count(), 1);
    assert_eq!(with(1).matches(">line 0<").count(), 1);
    // Nine lines have a small panel each, with the eight others in grey.
    let small = with(9);
    assert_eq!(
        small.matches("#c9d0d6\" stroke-width=\"0.7\"").count(),
        9 * 8,
        "{small}"
    );
    // Names keep a distance although the lines end at nearly the same height.
    let mut heights: Vec<f64> = svg
        .split("<text ")
        .filter(|part| {
            part.contains(">line ") && part.contains("fill=\"#") && !part.contains("#1d2329")
        })
        .filter_map(|part| part.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    heights.sort_by(f64::total_cmp);
    assert_eq!(heights.len(), 3, "{svg}");
    assert!(
        heights.windows(2).all(|pair| pair[1] - pair[0] >= 12.9),
        "{heights:?}"
    );
}

#[test]
fn a_picture_for_paper_has_its_width_font_and_size() {
    let line = series(
        Some("cubic"),
        "cubic",
        Form::Line,
        vec![[0.0, 1.0], [10.0, 2.0]],
    );
    let figure = panels(Axis::new("x", "s"), Axis::new("y", "B"), vec![line]);
    let print = super::Print {
        width_mm: 88.0,
        font: "Times New Roman".to_owned(),
        font_pt: 9.0,
        titles: false,
    };
    let svg = super::svg_for_print(&figure, std::slice::from_ref(&figure), &print);
    has(
        &svg,
        &["width=\"88mm\"", "font-family=\"'Times New Roman', "],
    );
    // Text of 12 pixels has 9 points: a pixel is 0.75 points, and 88 mm are 249.45 points.
    let width = svg
        .split("viewBox=\"0 0 ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let width: f64 = width.expect("a box").parse().expect("a number");
    assert!((width * 0.75 - 88.0 / 25.4 * 72.0).abs() < 0.1, "{width}");
    assert!(!svg.contains(&figure.title));
    let titled = super::svg_for_print(
        &figure,
        std::slice::from_ref(&figure),
        &super::Print {
            titles: true,
            ..print
        },
    );
    assert!(titled.contains(figure.title.split(' ').next().expect("a word")));
}

#[test]
fn a_protocol_has_one_style_in_all_figures_of_a_page() {
    let of = |name: &str| {
        let points = vec![[0.0, 1.0], [10.0, 2.0]];
        let line = series(Some(name), name, Form::Line, points);
        panels(Axis::new("x", "s"), Axis::new("y", "B"), vec![line])
    };
    let page = [of("cubic"), of("cubic?C=0.6")];
    let looks = Looks::new(&page);
    let print = super::Print {
        width_mm: 88.0,
        font: "Arial".to_owned(),
        font_pt: 8.0,
        titles: false,
    };
    let colour = looks.of(Some("cubic?C=0.6"), 0).colour.to_string();
    let alone = super::svg_for_print(&page[1], &page, &print);
    assert!(alone.contains(&colour), "no {colour} in {alone}");
    assert!(super::svg_in_page(&page[1].plot, &looks).contains(&colour));
}

#[test]
fn a_page_has_each_picture_twice_with_what_its_script_reads() {
    let points = vec![[0.0, 1.0], [10.0, 2.0]];
    let line = series(Some("cubic \"<1>"), "a", Form::Line, points);
    let figure = panels(Axis::new("x", "s"), Axis::new("y", "B"), vec![line]);
    let looks = Looks::new([&figure]);
    let pictures = super::svg_in_page(&figure.plot, &looks);
    assert_eq!(pictures.matches("<svg ").count(), 2);
    let protocol = "data-p=\"cubic &quot;&lt;1&gt;\"";
    has(
        &pictures,
        &[
            "data-panel=\"{&quot;panel&quot;:0",
            protocol,
            "class=\"ticks x\"",
        ],
    );
    assert_eq!(
        pictures.matches("<g").count(),
        pictures.matches("</g>").count()
    );
    // Other pictures have none of it.
    assert!(!svg(&[figure]).contains("data-"));
    let used = super::colours(&pictures).collect();
    let rules = super::dark_rules(&looks, ".plot", &used);
    has(&rules, &[".plot [stroke=\"#c9d0d6\"]{stroke:#454e57}"]);
    assert!(!rules.contains("#1a7f4b"), "a colour that no picture has");
}

#[test]
fn a_figure_in_words_has_the_range_of_each_series() {
    let points = vec![[0.0, 1e6], [10.0, 2e6]];
    let line = series(Some("cubic"), "cubic", Form::Line, points);
    let figure = panels(Axis::new("x", "s"), Axis::new("rate", "bit/s"), vec![line]);
    let words = super::in_words(&figure.plot);
    assert_eq!(words, "cubic, rate 1 Mbit/s to 2 Mbit/s");
}
