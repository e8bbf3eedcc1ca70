//! A report as one HTML page that needs no network and no other file.
//!
//! Headings, claims, tables and files are plain HTML and need no scripts. A figure is its data as
//! JSON, which the page's scripts draw when it comes into view (`assets/js`, with Apache ECharts).
//! The Content-Security-Policy allows no request and no script except these two, identified by
//! their hashes, so no text of a report can become a script.

use crate::figure::{Figure, Plot};
use crate::page::{Fact, Report, Section, Source, Table};
use crate::style::{self, Style};
use askama::Template;
use data_encoding::BASE64;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

const ECHARTS: &str = include_str!("../assets/echarts-6.1.0.min.js");
const CSS: &str = include_str!("../assets/page.css");
/// The page's own script: all files in one scope, each after those that it uses.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("../assets/js/format.js"),
    include_str!("../assets/js/style.js"),
    include_str!("../assets/js/shapes.js"),
    include_str!("../assets/js/panels.js"),
    include_str!("../assets/js/multiples.js"),
    include_str!("../assets/js/heat.js"),
    include_str!("../assets/js/confusion.js"),
    include_str!("../assets/js/beside.js"),
    include_str!("../assets/js/data.js"),
    include_str!("../assets/js/tip.js"),
    include_str!("../assets/js/chart.js"),
    include_str!("../assets/js/filter.js"),
    include_str!("../assets/js/page.js"),
    "})();\n"
);
/// Looks of a protocol on the page: one for each label that it has in a figure.
const LOOKS: usize = 8;
/// A cell with at most this many characters stays in one line.
const SHORT: usize = 24;

/// Writes the page.
///
/// # Errors
/// If the writer fails.
pub fn html(report: &Report, mut to: impl std::io::Write) -> std::io::Result<()> {
    let page = Page::new(report)?;
    page.write_into(&mut to).map_err(std::io::Error::other)?;
    to.flush()
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    policy: String,
    css: &'static str,
    echarts: &'static str,
    script: &'static str,
    protocols: String,
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
    /// Estimated height in pixels, so that the page does not jump when the figure is drawn.
    height: usize,
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

/// A protocol's looks on this page.
#[derive(serde::Serialize)]
struct ProtocolView<'a> {
    name: &'a str,
    /// Its algorithm, under which the page's filter lists it.
    algorithm: &'a str,
    looks: Vec<Style>,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> std::io::Result<Self> {
        let mut ids = Ids::default();
        let section_ids: Vec<String> = report.sections.iter().map(|s| ids.free(&s.id)).collect();
        let mut sources: Vec<SourceView<'a>> = Vec::new();
        let mut by_text: HashMap<&str, usize> = HashMap::new();
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
            let figures = figures.map(|figure| FigureView::new(figure, &mut ids, &mut drawn));
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
        Ok(Self {
            report,
            policy: policy(),
            css: CSS,
            echarts: ECHARTS,
            script: SCRIPT,
            protocols: protocols(report)?,
            verdicts: report.sections.iter().any(|s| s.finding.is_some()),
            groups: groups(views),
            sources,
        })
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
        ids: &mut Ids,
        drawn: &mut HashMap<String, String>,
    ) -> std::io::Result<Self> {
        // The height that the scripts give it, with one line of legend.
        let height = match &figure.plot {
            Plot::Panels { panels, .. } => {
                let panel = match panels.len() {
                    1 => 260,
                    2 => 180,
                    _ => 140,
                };
                66 + (panel + 44) * panels.len()
            }
            Plot::Heat { y, maps, .. } => 54 + (86 + 28 * y.values.len()) * maps.len().div_ceil(2),
            Plot::Confusion { matrices } => 196 * matrices.len().div_ceil(3),
            Plot::Beside { rows, .. } => 100 + 26 * rows.len(),
        };
        let id = ids.free(&figure.id);
        let same = match drawn.entry(json(&figure.plot)?) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(new) => {
                new.insert(id.clone());
                None
            }
        };
        let data = match &same {
            None => json(figure)?,
            Some(first) => json(&SameFigure {
                id: &figure.id,
                title: &figure.title,
                caption: &figure.caption,
                same: first,
            })?,
        };
        Ok(Self {
            id,
            figure,
            json: data,
            height: height.clamp(120, 4000),
        })
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
    "main",
    "made",
    "verdicts",
    "sources",
    "filter",
    "contents",
    "protocols",
];

/// All protocols of the figures with their looks, those that are compared most often first.
fn protocols(report: &Report) -> std::io::Result<String> {
    let figures = report.sections.iter().flat_map(|s| &s.figures);
    let names: BTreeSet<&str> = figures.flat_map(Figure::protocols).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| style::rank(name));
    let views = style::variants(&names).into_iter().map(|(name, first)| {
        let looks = (0..LOOKS).map(|i| style::style(name, first + i)).collect();
        let algorithm = style::algorithm(name).unwrap_or(name);
        ProtocolView {
            name,
            algorithm,
            looks,
        }
    });
    json(&views.collect::<Vec<_>>())
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
        "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(ECHARTS),
        hash(SCRIPT)
    )
}
