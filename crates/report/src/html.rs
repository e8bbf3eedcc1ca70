//! A report as one HTML page that needs no network and no other file.
//!
//! Headings, claims, tables, files and [pictures](mod@crate::svg) are plain HTML and SVG and need
//! no script. One small script (`assets`) shows values under the pointer, zooms, and hides
//! protocols; it reads each figure's data, which the page has as JSON. The Content-Security-Policy
//! allows no request and no script except this one, identified by its hash, so no text of a report
//! can become a script.

use crate::embedded::PAGE_STYLE;
use crate::figure::Figure;
use crate::page::{Fact, Page, Section, Source, Table};
use crate::style;
use crate::svg::{self, Looks};
use askama::Template;
use data_encoding::BASE64;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The page's script: all files in one scope, each after those that it uses.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("../assets/values.js"),
    include_str!("../assets/figure.js"),
    include_str!("../assets/sort.js"),
    include_str!("../assets/page.js"),
    "})();\n"
);
/// The line in the head of each page by which it is recognized.
pub const GENERATOR: &str = r#"<meta name="generator" content="Whimbrel">"#;
/// A cell with at most this many characters stays in one line.
const SHORT: usize = 24;

/// Writes the page.
///
/// # Errors
/// If the writer fails.
pub fn html(report: &Page, mut to: impl std::io::Write) -> std::io::Result<()> {
    let page = PageTemplate::new(report)?;
    page.write_into(&mut to).map_err(std::io::Error::other)?;
    to.flush()
}

#[derive(Template)]
#[template(path = "report.html")]
struct PageTemplate<'a> {
    report: &'a Page,
    generator: &'static str,
    policy: String,
    css: &'static str,
    /// Colours of the pictures on the dark page: as the system wants it, and as the reader does.
    dark: [String; 2],
    script: &'static str,
    /// Boxes of the filter; empty with fewer than two protocols.
    filter: Vec<FilterBox<'a>>,
    groups: Vec<Group<'a>>,
    verdicts: bool,
    sources: Vec<SourceView<'a>>,
}

/// Sections under one heading of the table of contents.
struct Group<'a> {
    name: &'a str,
    /// `3 hold, 1 in part`; empty if there is no finding.
    counts: String,
    sections: Vec<SectionView<'a>>,
}

struct SectionView<'a> {
    id: String,
    section: &'a Section,
    verdict: Option<ResultBadge<'a>>,
    figures: Vec<FigureView<'a>>,
    sources: Vec<SourceLink<'a>>,
}

impl SectionView<'_> {
    fn facts(&self) -> &[Fact] {
        &self.section.facts
    }

    fn tables(&self) -> &[Table] {
        &self.section.tables
    }
}

/// The result of a claim as a word and a sign, not as a colour alone.
struct ResultBadge<'a> {
    word: &'a str,
    sign: &'static str,
    class: &'static str,
}

impl<'a> ResultBadge<'a> {
    fn new(word: &'a str) -> Self {
        let (sign, class) = match word {
            "holds" => ("✓", "holds"),
            "in part" => ("◐", "part"),
            "does not hold" => ("✗", "fails"),
            _ => ("•", "other"),
        };
        Self { word, sign, class }
    }
}

struct FigureView<'a> {
    id: String,
    figure: &'a Figure,
    json: String,
    /// The figure in words.
    words: String,
    /// Its pictures for wide and narrow windows, unless another figure has the same.
    svg: String,
    /// Id of that figure; or empty.
    same: String,
}

/// A figure with the same plot as another one on the page.
#[derive(serde::Serialize)]
struct SameFigure<'a> {
    id: &'a str,
    title: &'a str,
    caption: &'a str,
    /// The id of that figure.
    same: &'a str,
}

struct SourceLink<'a> {
    id: String,
    source: &'a Source,
    /// The file's name, if several sources have the same title.
    file: Option<&'a str>,
}

/// A text with all its paths.
struct SourceView<'a> {
    id: String,
    title: &'a str,
    paths: Vec<&'a str>,
    text: &'a str,
    /// Link and title of the sections that use it.
    used_by: Vec<(String, &'a str)>,
}

/// An algorithm in the filter, with the protocols that are variants of it.
struct FilterBox<'a> {
    algorithm: &'a str,
    /// Name and sample of each.
    members: Vec<(&'a str, String)>,
}

impl<'a> PageTemplate<'a> {
    fn new(report: &'a Page) -> std::io::Result<Self> {
        let mut ids = Ids::default();
        let section_ids: Vec<String> = report.sections.iter().map(|s| ids.free(&s.id)).collect();
        let mut sources: Vec<SourceView<'a>> = Vec::new();
        let mut by_text: HashMap<&str, usize> = HashMap::new();
        let looks = Looks::new(report.sections.iter().flat_map(|s| &s.figures));
        let mut drawn: HashMap<String, String> = HashMap::new();
        let mut views = Vec::new();
        for (section, id) in report.sections.iter().zip(section_ids) {
            let mut links: Vec<SourceLink<'a>> = Vec::new();
            for source in &section.sources {
                let at = *by_text.entry(&source.text).or_insert_with(|| {
                    sources.push(SourceView {
                        id: ids.free(&format!("source/{}", source.path)),
                        title: &source.title,
                        paths: Vec::new(),
                        text: &source.text,
                        used_by: Vec::new(),
                    });
                    sources.len() - 1
                });
                let kept = &mut sources[at];
                if !kept.paths.contains(&source.path.as_str()) {
                    kept.paths.push(&source.path);
                }
                if kept.used_by.last().is_none_or(|(by, _)| *by != id) {
                    kept.used_by.push((id.clone(), &section.title));
                }
                let same =
                    |link: &SourceLink<'_>| link.id == kept.id && link.source.title == source.title;
                if !links.iter().any(same) {
                    links.push(SourceLink {
                        id: kept.id.clone(),
                        source,
                        file: None,
                    });
                }
            }
            let titles: Vec<&str> = links
                .iter()
                .map(|link| link.source.title.as_str())
                .collect();
            for link in &mut links {
                let doubled = titles
                    .iter()
                    .filter(|title| **title == link.source.title)
                    .count()
                    > 1;
                link.file = doubled
                    .then(|| link.source.path.rsplit('/').next())
                    .flatten();
            }
            let figures = section.figures.iter();
            let figures =
                figures.map(|figure| FigureView::new(figure, &looks, &mut ids, &mut drawn));
            views.push(SectionView {
                id,
                section,
                verdict: section
                    .finding
                    .as_ref()
                    .map(|f| ResultBadge::new(&f.verdict)),
                figures: figures.collect::<std::io::Result<_>>()?,
                sources: links,
            });
        }
        let filter = filter(report, &looks);
        let swatches = filter.iter().flat_map(|one| &one.members);
        let pictures = views.iter().flat_map(|view| &view.figures);
        let pictures = pictures.map(|figure| &figure.svg);
        let used: BTreeSet<&str> = pictures
            .chain(swatches.map(|(_, swatch)| swatch))
            .flat_map(|svg| svg::colours(svg))
            .collect();
        let dark = [":not([data-theme=light])", "[data-theme=dark]"];
        let dark = dark.map(|theme| {
            let scope = format!(":root{theme} :is(.plot,.swatch)");
            svg::dark_rules(&looks, &scope, &used)
        });
        Ok(Self {
            report,
            generator: GENERATOR,
            policy: policy(),
            css: PAGE_STYLE,
            dark,
            script: SCRIPT,
            filter,
            verdicts: report.sections.iter().any(|s| s.finding.is_some()),
            groups: groups(views),
            sources,
        })
    }

    fn rich(&self, text: &str) -> String {
        rich(text)
    }

    fn is_number(&self, table: &Table, column: &usize) -> bool {
        table.columns.get(*column).is_some_and(|c| c.number)
    }

    /// Whether a cell stays in one line: a name must not be broken at its hyphens.
    fn is_short(&self, cell: &str) -> bool {
        cell.chars().count() <= SHORT
    }
}

impl<'a> FigureView<'a> {
    /// `drawn` maps the plots of earlier figures to their ids: experiments that share runs have
    /// equal plots.
    fn new(
        figure: &'a Figure,
        looks: &Looks,
        ids: &mut Ids,
        drawn: &mut HashMap<String, String>,
    ) -> std::io::Result<Self> {
        let id = ids.free(&figure.id);
        let words = svg::in_words(&figure.plot);
        match drawn.entry(json(&figure.plot)?) {
            Entry::Occupied(first) => Ok(Self {
                id,
                figure,
                json: json(&SameFigure {
                    id: &figure.id,
                    title: &figure.title,
                    caption: &figure.caption,
                    same: first.get(),
                })?,
                words,
                svg: String::new(),
                same: first.get().clone(),
            }),
            Entry::Vacant(new) => {
                new.insert(id.clone());
                Ok(Self {
                    id,
                    figure,
                    json: json(figure)?,
                    words,
                    svg: svg::svg_in_page(&figure.plot, looks),
                    same: String::new(),
                })
            }
        }
    }
}

/// Sections grouped under their headings.
fn groups(views: Vec<SectionView<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for view in views {
        match groups.last_mut() {
            Some(last) if last.name == view.section.group => last.sections.push(view),
            _ => groups.push(Group {
                name: &view.section.group,
                counts: String::new(),
                sections: vec![view],
            }),
        }
    }
    for group in &mut groups {
        group.counts = counts(&group.sections);
    }
    groups
}

/// `3 hold, 1 in part, 0 do not hold`, and the number of others.
fn counts(sections: &[SectionView<'_>]) -> String {
    let words: Vec<&str> = sections
        .iter()
        .filter_map(|s| s.verdict.as_ref().map(|verdict| verdict.word))
        .collect();
    if words.is_empty() {
        return String::new();
    }
    let count = |word: &str| words.iter().filter(|w| **w == word).count();
    let known = [
        ("holds", "hold"),
        ("in part", "in part"),
        ("does not hold", "do not hold"),
    ];
    let mut said: Vec<String> = known
        .iter()
        .map(|(word, many)| match count(word) {
            1 => format!("1 {word}"),
            n => format!("{n} {many}"),
        })
        .collect();
    let other = words.len() - known.iter().map(|(word, _)| count(word)).sum::<usize>();
    if other > 0 {
        said.push(format!("{other} not judged"));
    }
    said.join(", ")
}

/// Unique names for links, of characters that need no escaping.
#[derive(Default)]
struct Ids(HashSet<String>);

impl Ids {
    fn free(&mut self, wanted: &str) -> String {
        // Ids are at most 100 characters, however long the name is.
        let plain: String = wanted
            .chars()
            .take(100)
            .map(|c| match c {
                c if c.is_ascii_alphanumeric() || "-_./".contains(c) => c,
                _ => '-',
            })
            .collect();
        let plain = if plain.is_empty() || RESERVED.contains(&plain.as_str()) {
            format!("{plain}-1")
        } else {
            plain
        };
        let mut id = plain.clone();
        let mut n = 1;
        while !self.0.insert(id.clone()) {
            n += 1;
            id = format!("{plain}-{n}");
        }
        id
    }
}

/// Ids of the page itself.
const RESERVED: [&str; 7] = [
    "main", "made", "verdicts", "sources", "filter", "contents", "announce",
];

/// The protocols of the figures under their algorithms, those that are compared most often first.
fn filter<'a>(report: &'a Page, looks: &Looks) -> Vec<FilterBox<'a>> {
    let figures = report.sections.iter().flat_map(|s| &s.figures);
    let names: BTreeSet<&str> = figures.flat_map(Figure::protocols).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| style::rank(name));
    let mut boxes: Vec<FilterBox<'a>> = Vec::new();
    if names.len() < 2 {
        return boxes;
    }
    for name in names {
        let algorithm = style::algorithm(name).unwrap_or(name);
        let member = (name, svg::swatch(looks, name));
        match boxes.iter_mut().find(|one| one.algorithm == algorithm) {
            Some(known) => known.members.push(member),
            None => boxes.push(FilterBox {
                algorithm,
                members: vec![member],
            }),
        }
    }
    boxes
}

/// A text as HTML, with code between backticks as code.
fn rich(text: &str) -> String {
    let mut parts = text.split('`');
    let mut html = escape(parts.next().unwrap_or_default());
    while let Some(code) = parts.next() {
        match parts.next() {
            Some(after) => {
                html += &format!("<code>{}</code>{}", escape(code), escape(after));
            }
            // A single backtick is one.
            None => html += &format!("`{}", escape(code)),
        }
    }
    html
}

fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            c => html.push(c),
        }
    }
    html
}

/// JSON for an HTML element: without `<`, so that it cannot end the element.
fn json(value: &impl serde::Serialize) -> std::io::Result<String> {
    let text = serde_json::to_string(value).map_err(std::io::Error::from)?;
    Ok(text.replace('<', "\\u003c"))
}

fn policy() -> String {
    let hash = |script: &str| {
        let hash = ring::digest::digest(&ring::digest::SHA256, script.as_bytes());
        format!("'sha256-{}'", BASE64.encode(hash.as_ref()))
    };
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_between_backticks_is_code_and_nothing_is_markup() {
        for (text, html) in [
            ("a `b` c", "a <code>b</code> c"),
            ("`<b>` & `c`", "<code>&lt;b&gt;</code> &amp; <code>c</code>"),
            ("a ` b", "a ` b"),
            ("", ""),
        ] {
            assert_eq!(rich(text), html);
        }
    }

    #[test]
    fn a_source_names_every_section_that_uses_it() {
        let section = |id: &str| Section {
            id: id.to_owned(),
            title: format!("Section {id}"),
            sources: vec![Source {
                title: "scenario".to_owned(),
                path: "p.toml".to_owned(),
                text: "[link.L]".to_owned(),
            }],
            ..Section::default()
        };
        let page = Page {
            title: String::new(),
            summary: String::new(),
            made: Vec::new(),
            sections: vec![section("a"), section("b")],
        };
        let page = PageTemplate::new(&page).expect("a page");
        let [source] = page.sources.as_slice() else {
            panic!("one text")
        };
        let titles: Vec<&str> = source.used_by.iter().map(|(_, title)| *title).collect();
        assert_eq!(titles, ["Section a", "Section b"]);
    }
}
