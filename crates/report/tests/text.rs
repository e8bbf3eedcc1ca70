//! The page without a browser: it contains every text, and no text becomes markup or a script.

use proptest::prelude::*;
use std::fmt::Write;
use whimbrel_report::figure::{Axis, Figure, Form, Panel, Plot, Series};
use whimbrel_report::page::{Page, Section, Source};

/// Arbitrary texts, with pieces of markup.
fn text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "</script>",
        "<!--",
        "-->",
        "<script>",
        "]]>",
        "\"",
        "'",
        "&amp;",
        "&",
        "<",
        ">",
        "\u{2028}",
        "\u{202e}",
        "🐦",
        "{{ x }}",
        "{% if %}",
        "\\u003c",
        "\\",
        "\n",
    ]);
    let piece = prop_oneof![nasty.prop_map(str::to_owned), "\\PC{0,12}"];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn report(texts: &[String; 6]) -> Page {
    let [title, section, label, caption, file, protocol] = texts.clone();
    let series = Series {
        protocol: Some(protocol),
        label,
        form: Form::Line,
        points: vec![[0.0, 1.0]],
        spread: Vec::new(),
        notes: Vec::new(),
    };
    let figure = Figure {
        id: section.clone(),
        title: title.clone(),
        caption,
        plot: Plot::Panels {
            x: Axis::new("time", "s"),
            panels: vec![Panel {
                y: Axis::new("rate", "bit/s"),
                series: vec![series],
            }],
        },
    };
    Page {
        title,
        summary: String::new(),
        made: Vec::new(),
        sections: vec![Section {
            id: section.clone(),
            title: section,
            group: String::new(),
            text: Vec::new(),
            facts: Vec::new(),
            finding: None,
            tables: Vec::new(),
            figures: vec![figure],
            sources: vec![Source {
                title: "scenario".to_owned(),
                path: file.clone(),
                text: file,
            }],
        }],
    }
}

fn page(report: &Page) -> String {
    let mut page = Vec::new();
    whimbrel_report::html(report, &mut page).expect("a page");
    String::from_utf8(page).expect("text")
}

/// The text between these two, from `from` on.
fn between<'a>(page: &'a str, from: &str, start: &str, end: &str) -> &'a str {
    let after = &page[page.find(from).expect(from) + from.len()..];
    let after = &after[after.find(start).expect(start) + start.len()..];
    &after[..after.find(end).expect(end)]
}

/// How the page escapes characters: by their numbers.
const IN_THE_PAGE: [(&str, &str); 5] = [
    ("&#60;", "<"),
    ("&#62;", ">"),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#38;", "&"),
];
/// How its pictures do: by their names.
const IN_A_PICTURE: [(&str, &str); 5] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#10;", "\n"),
    ("&amp;", "&"),
];

/// The text as a browser reads it.
fn unescaped(html: &str, escapes: [(&str, &str); 5]) -> String {
    let plain = |text: String, (escaped, plain): (&str, &str)| text.replace(escaped, plain);
    escapes.into_iter().fold(html.to_owned(), plain)
}

proptest! {
    #[test]
    fn any_text_is_held_and_ends_nothing(texts in prop::array::uniform6(text())) {
        let report = report(&texts);
        let page = page(&report);
        // A page of the same shape with harmless texts has as many elements of these kinds.
        let plain = page_of_letters();
        for element in ["<script", "</script", "<h2", "<figure ", "<details", "<pre"] {
            let own = |page: &str| {
                let before = page.find("<body>").expect("a body");
                // The libraries' code is the same on both.
                page[before..].matches(element).count()
            };
            prop_assert_eq!(own(&page), own(&plain), "{}", element);
        }
        // Scripts read the original text.
        let json = between(&page, "<figcaption>", "<script type=\"application/json\">", "</script>");
        let read: Figure = serde_json::from_str(json).expect("JSON");
        prop_assert_eq!(&read, &report.sections[0].figures[0]);
        let protocol = between(&page, "<g class=\"series\"", "data-p=\"", "\"");
        prop_assert_eq!(unescaped(protocol, IN_A_PICTURE), texts[5].as_str());
        // So do people.
        let title = between(&page, "<main", "<h1>", "</h1>");
        prop_assert_eq!(unescaped(title, IN_THE_PAGE), texts[0].as_str());
        let code = between(&page, "<pre", "<code>", "</code>");
        prop_assert_eq!(unescaped(code, IN_THE_PAGE), texts[4].as_str());
    }
}

fn page_of_letters() -> String {
    page(&report(&["a", "b", "c", "d", "e", "f"].map(str::to_owned)))
}

#[test]
fn a_page_can_have_a_megabyte_in_every_field() {
    let long = "0123456789 <&>\" ".repeat(65_536);
    let report = report(&std::array::from_fn(|_| long.clone()));
    let page = page(&report);
    let json = between(
        &page,
        "<figcaption>",
        "<script type=\"application/json\">",
        "</script>",
    );
    let read: Figure = serde_json::from_str(json).expect("JSON");
    assert_eq!(read, report.sections[0].figures[0]);
}

#[test]
fn equal_texts_are_kept_once_and_equal_names_get_different_links() {
    let mut report = report(&["a", "fig 1", "c", "d", "the only text", "f"].map(str::to_owned));
    report.sections.push(report.sections[0].clone());
    report.sections[1].sources[0].path = "elsewhere".to_owned();
    let page = page(&report);
    assert_eq!(page.matches("<code>the only text</code>").count(), 1);
    assert!(
        page.contains("<code>the only text, elsewhere</code>"),
        "both paths"
    );
    // Two sections and two figures have the same name.
    for id in ["fig-1", "fig-1-2", "fig-1-3", "fig-1-4"] {
        let mut attribute = String::new();
        write!(attribute, " id=\"{id}\"").expect("a string");
        assert_eq!(page.matches(&attribute).count(), 1, "{id}");
    }
}
