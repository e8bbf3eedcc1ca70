#!/usr/bin/env python3
"""Which mistakes in the code of transfers the tests notice.

    tools/mutants.py [--list] [--only N,N...] [--page]

Puts all mistakes of tools/mutants.toml into a copy of the tree, each behind a switch, and builds
the tests of `whimbrel-transfer` once. Runs each test to see which places of mistakes it comes to,
and then, with one mistake after the other switched on, the tests that come to its place, the quick
ones first, until one fails. That test must fail again. Prints it, and for each part of the code how
many mistakes are noticed. Fails if less than 95 % are.

A mistake that changes nothing that anyone could see has the reason as `equivalent` in the list. It
is not run.

What tests come to is remembered beside the copy, for as long as the programs stay the same, and so
is the result of each mistake. With --page, writes docs/planted-faults.md from these results.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "crates/transfer/src/"
# Seconds that a test may take with a mistake, and so many times what it takes without: one that
# waits for ever is noticed.
LEAST, TIMES = 30, 5
# Tests at once: many of them wait most of the time.
AT_ONCE = 6
# Not run: one plants mistakes itself, and one takes long and comes to no other places than others.
LEFT_OUT = {
    "world::storage::tests::lives_notice_each_mistake_that_is_planted",
    "world::tests::a_busy_server_serves_well",
}
# The parts of the code that are counted, by the beginning of a file's name.
PARTS = [
    ("storage/", "storage"),
    ("file_sender/", "sending"),
    ("client/upload/", "sending"),
    ("file_receiver/", "receiving"),
    ("client/download/", "receiving"),
    ("server/", "server"),
]
# What the kinds of mistakes make of a text.
KINDS = {
    "skip": "if !ON {{ {} }}",
    "ok": "(if ON {{ Ok(()) }} else {{ {} }})",
    "never": "(!ON && ({}))",
    "always": "(ON || ({}))",
}
# What the page of results begins with.
PAGE = """# Planted faults

`tools/mutants.py` plants mistakes in the code of transfers and runs the tests with one mistake at a
time. A test that fails has noticed it. Mistakes that no test notices show what the tests do not
check. [tools/mutants.toml](../tools/mutants.toml) lists all of them; `tools/mutants.py --page`
writes this page from the results of the last run of each.

The code is `whimbrel-transfer`, with its unit tests, simulated worlds and tests over loopback.
*Sending* and *receiving* are those of files, on a client and on a server. An equivalent mistake
changes nothing that a user, a peer or a test could observe.

"""
# What was planted by hand follows from here on in the page, and stays as it is.
BY_HAND = "\n## Planted by hand"
# The switch, which notes in a file who asks for it. It draws no random numbers: simulated lives
# must stay the same.
SWITCH = """
#[allow(dead_code, missing_docs)]
mod mutants {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};

    static ON: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    static SEEN: LazyLock<Option<Mutex<(File, BTreeSet<u32>)>>> = LazyLock::new(|| {
        let path = std::env::var_os("MUTANTS_SEEN")?;
        let file = File::options().append(true).create(true).open(path).ok()?;
        Some(Mutex::new((file, BTreeSet::new())))
    });

    pub fn on(number: u32) -> bool {
        if let Some(Ok(mut seen)) = SEEN.as_ref().map(Mutex::lock)
            && seen.1.insert(number)
        {
            writeln!(seen.0, "{number}").ok();
        }
        *ON == number
    }
}
"""


class Mistake(typing.NamedTuple):
    """A mistake: where, what it does, the old text and the new one."""

    source: str
    what: str
    old: str
    new: str
    # The reason that no test can notice it.
    equivalent: str | None

    @property
    def part(self):
        """The part of the code to which its file belongs."""
        starts = (part for start, part in PARTS if self.source.startswith(start))
        return next(starts, "the rest")

    @property
    def key(self):
        """What its result is remembered under. Another text is another mistake."""
        text = hashlib.sha256(f"{self.old}\0{self.new}".encode()).hexdigest()
        return f"{self.source}: {self.what} {text[:16]}"


def mutants():
    """All mistakes."""
    with open(ROOT / "tools/mutants.toml", "rb") as file:
        for source, entries in tomllib.load(file).items():
            for entry in entries:
                kind = next((kind for kind in KINDS if kind in entry), "old")
                old = entry[kind]
                new = KINDS[kind].format(old) if kind in KINDS else entry["new"]
                yield Mistake(source, entry["what"], old, new, entry.get("equivalent"))


def copy(tree):
    """Copies the tree as it is now."""
    tree.mkdir(parents=True, exist_ok=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    sources = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    command = ["rsync", "-a", "--from0", "--files-from=-", f"{ROOT}/", f"{tree}/"]
    subprocess.run(command, input=sources, check=True)


def apply(tree, all_of_them):
    """Puts all mistakes into the copy. Ends with those that do not fit the code any more."""
    texts, missing = {}, []
    # The longest text first: a place may have several mistakes, one within the other.
    by_length = sorted(enumerate(all_of_them, 1), key=lambda mistake: -len(mistake[1].old))
    for number, (source, _, old, new, _) in by_length:
        text = texts.get(source) or (ROOT / SOURCE / source).read_text()
        if old not in text:
            missing.append(f"{number}: `{old.strip()}` is not in {source}")
        new = re.sub(r"\bON\b", f"crate::mutants::on({number})", new)
        texts[source] = text.replace(old, new, 1)
    if missing:
        sys.exit("\n".join(missing))
    library = (ROOT / SOURCE / "lib.rs").read_text()
    texts["lib.rs"] = "#![allow(unused_parens)]\n" + texts.get("lib.rs", library) + SWITCH
    # A feature, so that what is built has a name of its own in the target directory.
    manifest = (ROOT / SOURCE / "../Cargo.toml").read_text()
    texts["../Cargo.toml"] = manifest + "\n[features]\nmutants = []\n"
    for source, text in texts.items():
        (tree / SOURCE / source).write_text(text)


def build(tree, target):
    """The programs of the unit tests and of those over loopback."""
    command = ["cargo", "test", "--locked", "-p", "whimbrel-transfer", "--lib"]
    command += ["--features", "mutants", "--test", "transfer", "--no-run"]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    done = subprocess.run(
        command, cwd=tree, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    programs = re.findall(r"Executable .*\((.*)\)", done.stderr)
    if done.returncode != 0 or len(programs) != 2:
        sys.exit(done.stderr)
    return [str(tree / program) for program in programs]


def run(test, cwd, limit, over=None, **environment):
    """Whether a test is passed; None if it does not end, or is `over` before."""
    program, name = test
    with subprocess.Popen(
        [program, "--exact", name],
        cwd=cwd,
        env=dict(os.environ, **environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + limit
        while time.monotonic() < end and not (over and over.is_set()):
            try:
                return process.wait(0.2) == 0
            except subprocess.TimeoutExpired:
                pass
        os.killpg(process.pid, signal.SIGKILL)
        return None


class Tests:
    """All tests, what each comes to, and how long it takes."""

    def __init__(self, programs, cwd, remembered):
        self.cwd = cwd
        self.seen = {}
        names = []
        state = hashlib.sha256()
        for program in programs:
            state.update(pathlib.Path(program).read_bytes())
            listed = subprocess.run(
                [program, "--list"], cwd=cwd, capture_output=True, text=True, check=True
            ).stdout
            found = re.findall(r"^(\S+): test$", listed, re.MULTILINE)
            names += [(program, name) for name in found if name not in LEFT_OUT]
        known = json.loads(remembered.read_text()) if remembered.exists() else {}
        if known.get("programs") == state.hexdigest():
            for program, name, took, numbers in known["tests"]:
                self.seen[program, name] = (took, set(numbers))
            return
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            failed = [name for name in pool.map(self.look, names) if name]
        if failed:
            sys.exit(f"without any mistake {', '.join(failed)} fails")
        tests = [(*test, took, sorted(numbers)) for test, (took, numbers) in self.seen.items()]
        remembered.write_text(json.dumps({"programs": state.hexdigest(), "tests": tests}))

    def look(self, test):
        """Runs a test without a mistake. Returns its name if it fails."""
        with tempfile.TemporaryDirectory() as temporary:
            seen = pathlib.Path(temporary) / "seen"
            # Tests give up the rights of root.
            seen.touch()
            seen.chmod(0o666)
            os.chmod(temporary, 0o711)
            # A machine with much other work makes tests fail by chance.
            for _ in range(2):
                began = time.monotonic()
                passed = run(test, self.cwd, 900, MUTANTS_SEEN=str(seen))
                took = time.monotonic() - began
                if passed:
                    break
            numbers = set(map(int, seen.read_text().split()))
        self.seen[test] = (took, numbers)
        return None if passed else test[1]

    def notice(self, number):
        """The test that notices a mistake; None if none does."""
        tests = sorted((took, test) for test, (took, seen) in self.seen.items() if number in seen)
        found = threading.Event()
        noticed = []

        def attempt(timed):
            took, test = timed
            limit = max(LEAST, TIMES * took)
            for _ in range(2):
                passed = None
                if not found.is_set():
                    passed = run(test, self.cwd, limit, over=found, MUTANT=str(number))
                if passed or found.is_set():
                    return
                # One that waited so long has shown enough.
                if passed is None:
                    break
            noticed.append(test[1])
            found.set()

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(attempt, tests))
        return noticed[0] if noticed else None


def page(all_of_them, results):
    """The page of the documentation: what was planted, and what the tests do not notice."""
    kinds = ("planted", "noticed", "equivalent", "not noticed", "not run")
    parts = collections.defaultdict(lambda: dict.fromkeys(kinds, 0))
    unnoticed, equivalent = [], []
    for mistake in all_of_them:
        line = f"| `{mistake.source}` | {mistake.what} |"
        if mistake.equivalent:
            kind = "equivalent"
            equivalent.append(f"{line} {mistake.equivalent} |")
        elif mistake.key not in results:
            kind = "not run"
        elif results[mistake.key]:
            kind = "noticed"
        else:
            kind = "not noticed"
            unnoticed.append(line)
        parts[mistake.part]["planted"] += 1
        parts[mistake.part][kind] += 1
    lines = ["| part | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    for part in [*dict.fromkeys(part for _, part in PARTS), "the rest"]:
        counts = " | ".join(str(parts[part][kind]) for kind in kinds)
        lines.append(f"| {part} | {counts} |")
    table = ["| file | mistake |", "|---|---|", *unnoticed]
    lines += ["", "## Not noticed", "", *(table if unnoticed else ["None of those that were run."])]
    if equivalent:
        lines += ["", "## Equivalent", "", "| file | mistake | why it changes nothing |"]
        lines += ["|---|---|---|", *equivalent]
    return PAGE + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the mistakes")
    parser.add_argument("--only", help="numbers of mistakes, such as 1,7,20-30")
    parser.add_argument("--tree", default="target/mutants", help="where the copy is")
    parser.add_argument("--target", default="target/mutants/target", help="where it is built")
    parser.add_argument("--page", action="store_true", help="write the page of results")
    args = parser.parse_args()
    all_of_them = list(mutants())
    if args.list:
        for number, mistake in enumerate(all_of_them, 1):
            print(f"{number:3} {mistake.source}: {mistake.what}")
        return
    tree, target = (ROOT / args.tree).resolve(), (ROOT / args.target).resolve()
    remembered = tree / "results.json"
    results = json.loads(remembered.read_text()) if remembered.exists() else {}
    if args.page:
        path = ROOT / "docs/planted-faults.md"
        _, heading, by_hand = path.read_text().partition(BY_HAND)
        path.write_text(page(all_of_them, results) + heading + by_hand)
        return
    copy(tree)
    apply(tree, all_of_them)
    tests = Tests(build(tree, target), tree / "crates/transfer", tree / "tests.json")
    wanted = range(1, len(all_of_them) + 1)
    if args.only:
        ends = [part.partition("-") for part in args.only.split(",")]
        wanted = [n for first, _, last in ends for n in range(int(first), int(last or first) + 1)]
    unnoticed = []
    parts = collections.defaultdict(lambda: [0, 0])
    for number in wanted:
        mistake = all_of_them[number - 1]
        if mistake.equivalent:
            continue
        began = time.monotonic()
        noticed = tests.notice(number)
        results[mistake.key] = noticed
        remembered.write_text(json.dumps(results, indent=1))
        line = f"{mistake.source}: {mistake.what}: {noticed or 'NOTHING'}"
        print(f"{number:3} {time.monotonic() - began:4.0f} s {line}", flush=True)
        parts[mistake.part][0] += bool(noticed)
        parts[mistake.part][1] += 1
        if not noticed:
            unnoticed.append(number)
    for part, (found, made) in parts.items():
        print(f"{part}: {found} of {made}")
    made = sum(made for _, made in parts.values())
    print(f"{made - len(unnoticed)} of {made} noticed; not: {unnoticed}")
    sys.exit(0 if len(unnoticed) <= 0.05 * made else 1)


if __name__ == "__main__":
    main()
