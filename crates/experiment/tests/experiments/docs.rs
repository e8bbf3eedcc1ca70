//! The pages of docs/: every experiment is on its paper's page, and every link leads to a file.

use super::root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use whimbrel_experiment::Library;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The page in docs/ for a folder of experiments.
fn page_of(paper: &str) -> &'static str {
    match paper {
        "baselines" => "baselines.md",
        "cerl" => "cerl.md",
        "emfast" => "emfast.md",
        "enhanced-aatp" => "enhanced-aatp.md",
        "rta" => "tcp-rta.md",
        "tcp-nack" => "tcp-nack.md",
        other => panic!("add the page in docs/ for experiments/{other} here"),
    }
}

#[test]
fn every_experiment_is_on_the_page_of_its_paper() {
    let index = text(&root().join("docs/README.md"));
    for experiment in Library::Embedded.experiments("").expect("experiments") {
        let id = &experiment.id;
        let (paper, _) = id.split_once('/').expect("PAPER/NAME");
        let page = page_of(paper);
        let link = format!("](../experiments/{id}.toml)");
        assert!(
            text(&root().join("docs").join(page)).contains(&link),
            "docs/{page} has no link to {id}; write [`{id}`{link} where it describes the figure"
        );
        assert!(index.contains(page), "docs/README.md has no link to {page}");
    }
}

/// The ids of the experiments that a line links to, in order.
fn ids(line: &str) -> Vec<&str> {
    let links = line.split("](../experiments/").skip(1);
    links
        .filter_map(|rest| rest.split_once(".toml)"))
        .map(|(id, _)| id)
        .collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The result of each experiment in docs/results.md, as the pages state it: "in part (6 of 12)".
fn results() -> BTreeMap<String, String> {
    let page = text(&root().join("docs/results.md"));
    let lines = page.lines().filter(|line| line.starts_with("| ["));
    lines
        .filter_map(|line| {
            let cells = cells(line);
            let (verdict, why) = (cells.get(3)?, cells.get(4)?);
            let (count, _) = why.split_once(" right")?;
            // The reason for which a claim contradicts itself, or cannot be decided, comes first.
            let count = count.rsplit("; ").next()?;
            let id = ids(line).first().copied()?;
            Some((id.to_owned(), format!("{verdict} ({count})")))
        })
        .collect()
}

#[test]
fn pages_state_the_verdicts_of_the_results() {
    let results = results();
    let mut seen = 0;
    for page in [
        "cerl.md",
        "emfast.md",
        "enhanced-aatp.md",
        "tcp-nack.md",
        "tcp-rta.md",
    ] {
        let text = text(&root().join("docs").join(page));
        for line in text.lines().filter(|line| line.starts_with("| ")) {
            let cells = cells(line);
            let ids = ids(line);
            let [.., stated] = cells.as_slice() else {
                continue;
            };
            // Lines that only list scenarios have no verdict.
            if ids.is_empty() || cells.len() < 5 {
                continue;
            }
            let measured = ids.iter().map(|id| {
                let missing =
                    || panic!("docs/results.md has no result for {id}: run `make results`");
                results.get(*id).map_or_else(missing, String::as_str)
            });
            let measured: Vec<&str> = measured.collect();
            assert_eq!(
                stated.trim_end_matches(':'),
                measured.join(", "),
                "docs/{page}, {}",
                ids.join(", ")
            );
            seen += ids.len();
        }
    }
    assert!(seen > 80, "only {seen} verdicts were found");
}

/// The targets of the links and images of a page, without links to the web or within the page.
fn links(page: &str) -> Vec<&str> {
    let targets = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

/// The Markdown files of a folder and of all folders below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_relative_link_and_image_exists() {
    let mut pages = pages(&root().join("docs"));
    pages.push(root().join("README.md"));
    pages.push(root().join("referee/README.md"));
    let mut seen = 0;
    for page in pages {
        let folder = page.parent().expect("a folder").to_owned();
        for link in links(&text(&page)) {
            assert!(
                folder.join(link).exists(),
                "{} links to {link}, which does not exist",
                page.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} links were found");
}

#[test]
fn the_index_links_to_every_page() {
    let docs = root().join("docs");
    let index = text(&docs.join("README.md"));
    let linked: Vec<PathBuf> = links(&index).iter().map(|link| docs.join(link)).collect();
    for page in pages(&docs) {
        assert!(
            page == docs.join("README.md") || linked.contains(&page),
            "docs/README.md does not link to {}",
            page.display()
        );
    }
}
