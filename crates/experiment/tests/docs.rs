//! The way from a paper to its experiments and back: every experiment stands in its paper's page, and every link leads somewhere.

use std::path::{Path, PathBuf};
use whimbrel_experiment::Library;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The page of a paper, by the folder of its experiments.
fn page_of(paper: &str) -> &'static str {
    match paper {
        "cerl" => "cerl.md",
        "emfast" => "emfast.md",
        "enhanced-aatp" => "enhanced-aatp.md",
        "rta" => "tcp-rta.md",
        "tcp-nack" => "tcp-nack.md",
        other => panic!("which page of docs/ is experiments/{other}'s? say it here"),
    }
}

#[test]
fn every_experiment_stands_in_its_papers_page() {
    let index = text(&root().join("docs/README.md"));
    for experiment in Library::Embedded.experiments("").expect("experiments") {
        let id = &experiment.id;
        let (paper, _) = id.split_once('/').expect("PAPER/NAME");
        let page = page_of(paper);
        let link = format!("](../experiments/{id}.toml)");
        assert!(
            text(&root().join("docs").join(page)).contains(&link),
            "docs/{page} does not lead to {id}; write [`{id}`{link} where its figure stands"
        );
        assert!(
            index.contains(page),
            "docs/README.md does not lead to {page}"
        );
    }
}

/// Where `[text](target)` leads in a page, other than to the web or to a place in the page itself.
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

#[test]
fn every_link_leads_to_a_file() {
    let docs = std::fs::read_dir(root().join("docs")).expect("docs");
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.push(root().join("README.md"));
    let mut seen = 0;
    for page in pages {
        let folder = page.parent().expect("a folder").to_owned();
        for link in links(&text(&page)) {
            assert!(
                folder.join(link).exists(),
                "{} leads to {link}, which is not there",
                page.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} links were found");
}
