#!/usr/bin/env python3
"""Makes a web site of the documentation, as files that need no server and nothing from elsewhere.

tools/site.py [--out target/site]

MkDocs writes the pages. A link to a file of the source leads to a copy of it, one to a directory to
its README or a list of what is in it. `target/ranking.html` and `target/report`, which `make rank`
and `make pictures` write, become part of the site if they are there. The command fails if a link
leads nowhere, or a page loads something from another host.
"""

import argparse
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)#\s]+)([^)]*\))")
ITEM = re.compile(r"^(?:[*-] |.*\| )?\[[^\]]+\]\(([^)#]+\.md)\)")
# Headings of the index that have a menu of their own.
MENUS = {"Reference", "The papers", "How it is built"}
REPORTS = {"ranking.html": "The ranking, with heat maps", "report/index.html": "All experiments"}
CONFIG = """site_name: Whimbrel
docs_dir: {pages}
site_dir: {out}
use_directory_urls: false
theme:
  name: mkdocs
  highlightjs: false
  color_mode: auto
  navigation_depth: 2
  nav_style: dark
extra_css: [site.css]
extra_javascript: [sort.js]
plugins: [search]
markdown_extensions: [tables, fenced_code, toc, attr_list, sane_lists]
validation: {{nav: {{omitted_files: ignore}}, links: {{anchors: warn, not_found: warn}}}}
nav:
{nav}"""
# Wide tables and pictures: a narrow window scrolls the table and not the page.
STYLE = """table { display: block; overflow-x: auto; max-width: 100%; }
img { max-width: 100%; height: auto; background: #fff; }
code { overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
td code { white-space: nowrap; }
button.sort { all: unset; cursor: pointer; }
button.sort:hover { text-decoration: underline; }
button.sort:focus-visible { outline: 2px solid; outline-offset: 2px; }
th[aria-sort=ascending] .sort::after { content: ' ↑'; }
th[aria-sort=descending] .sort::after { content: ' ↓'; }
"""


class Site:
    """The pages that are written so far, below `pages`."""

    def __init__(self, pages):
        self.pages = pages
        self.done = set()

    def page(self, path):
        """Copies a page, and what it links to."""
        if path in self.done:
            return
        self.done.add(path)
        text = (ROOT / path).read_text()
        to = self.pages / path
        to.parent.mkdir(parents=True, exist_ok=True)
        blocks = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
        for at in range(0, len(blocks), 2):
            blocks[at] = LINK.sub(lambda link: self.link(path, link), blocks[at])
        to.write_text("".join(blocks))

    def link(self, page, link):
        target = link[2]
        if ":" in target:
            return link[0]
        path = pathlib.Path(os.path.normpath(page.parent / target))
        whole = ROOT / path
        if path.suffix == ".md" and whole.is_file():
            self.page(path)
        elif whole.is_dir():
            target = f"{target.rstrip('/')}/{self.directory(path)}"
        elif path.suffix in {".svg", ".png"} and whole.is_file():
            self.copy(path, path)
        elif whole.is_file():
            self.copy(path, path.with_name(path.name + ".txt"))
            target += ".txt"
        return link[1] + target + link[3]

    def directory(self, path):
        """The page of a directory: its README, or a list."""
        if (ROOT / path / "README.md").is_file():
            self.page(path / "README.md")
            return "README.md"
        to = self.pages / path / "files.md"
        if path not in self.done:
            self.done.add(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            names = sorted(file.name for file in (ROOT / path).iterdir() if file.is_file())
            for name in names:
                self.copy(path / name, path / (name + ".txt"))
            lines = [f"* [{name}]({name}.txt)" for name in names]
            to.write_text(f"# {path}\n\n" + "\n".join(lines) + "\n")
        return "files.md"

    def copy(self, path, to):
        (self.pages / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, self.pages / to)


def navigation(reports):
    """The pages in the order of the index: guides, and the groups that have a menu of their own."""
    groups, group = {"Guides": []}, "Guides"
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        if line.startswith("## "):
            group = line[3:] if line[3:] in MENUS else "Guides"
        elif item := ITEM.match(line):
            path = os.path.normpath(os.path.join("docs", item[1]))
            groups.setdefault(group, []).append(path)
    lines = ["- Whimbrel: README.md", "- Index: docs/README.md"]
    for name, pages in groups.items():
        lines += [f"- {name}:", *(f"  - {page}" for page in pages)]
    if reports:
        lines += ["- Reports:", *(f'  - "{REPORTS[name]}": {name}' for name in reports)]
    return "\n".join(lines) + "\n"


class Outside(html.parser.HTMLParser):
    """Finds what a page loads from other hosts."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        loaded = values.get("src") or (tag == "link" and values.get("href")) or ""
        if re.match(r"(https?:)?//", loaded) and values.get("rel") != "canonical":
            self.found.append(loaded)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=ROOT / "target/site", type=pathlib.Path)
    out = parser.parse_args().out.resolve()
    work = ROOT / "target/site-pages"
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "pages"
    site = Site(pages)
    site.page(pathlib.Path("README.md"))
    for path in sorted((ROOT / "docs").rglob("*.md")):
        site.page(path.relative_to(ROOT))
    reports = [name for name in REPORTS if (ROOT / "target" / name).is_file()]
    for name in reports:
        source = ROOT / "target" / name
        if source.parent.name == "report":
            shutil.copytree(source.parent, pages / "report", dirs_exist_ok=True)
        else:
            shutil.copyfile(source, pages / name)
    (pages / "site.css").write_text(STYLE)
    # In a scope of its own: the theme has names, too.
    script = (ROOT / "crates/report/assets/sort.js").read_text()
    (pages / "sort.js").write_text("(() => {\n'use strict';\n" + script + "})();\n")
    config = work / "mkdocs.yml"
    config.write_text(CONFIG.format(pages=pages, out=out, nav=navigation(reports)))
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--clean", "--strict", "-f", str(config)]
    if subprocess.run(mkdocs, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode:
        sys.exit("tools/site.py: the pages have links that lead nowhere")
    bad = []
    for path in out.rglob("*.html"):
        found = Outside()
        found.feed(path.read_text())
        bad += [f"{path.relative_to(out)}: {one}" for one in found.found]
    if bad:
        sys.exit("tools/site.py: loaded from other hosts:\n" + "\n".join(bad))
    print(f"{len(list(out.rglob('*.html')))} pages in {out}")


if __name__ == "__main__":
    main()
