#!/usr/bin/env python3
"""Which mistakes in the code of transfers the tests notice.

    tools/mutants.py [--only N,N...] [--list] [--table FILE]

Puts all mistakes of the list below into a copy of the tree, each behind a switch, builds the tests
of `whimbrel-transfer` once, and runs them once with each mistake switched on: first the unit tests
with lives in simulated worlds, then, if these notice nothing, the tests over loopback. Prints what
noticed each. Fails if less than 95 % are noticed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "crates/transfer/src/"
# Seconds that one run of tests may take; a mistake that makes a test wait for ever is noticed.
LIMIT = 600

# File, what is wrong, the text that is replaced, and by what. ON is the mistake's switch.
MUTANTS = [
    # Storing one file.
    ("storage/partial.rs", "users share an incomplete file",
     ".update(user.as_bytes())", '.update(if ON { b"" } else { user.as_bytes() })'),
    ("storage/partial.rs", "a part of 64 KiB that is not whole counts as there",
     "data.end / part * part", "if ON { data.end } else { data.end / part * part }"),
    ("storage/partial.rs", "the space is never checked",
     "if self.unchecked.load(Ordering::Relaxed) < length {",
     "if !ON && self.unchecked.load(Ordering::Relaxed) < length {"),
    ("storage/partial.rs", "what a failed flush may have lost is not written again",
     "if alone.is_none() {", "if ON || alone.is_none() {"),
    ("storage/partial.rs", "no time", "set_modified(&self.file, metadata).map_err(",
     "(if ON { Ok(()) } else { set_modified(&self.file, metadata) }).map_err("),
    ("storage/partial.rs", "no extended attributes",
     "set_attributes(&self.file, &metadata.attributes).map_err(",
     "(if ON { Ok(()) } else { set_attributes(&self.file, &metadata.attributes) }).map_err("),
    ("storage/partial.rs", "no permissions",
     "fchmod(&self.file, Mode::from_raw_mode(mode.into())).map_err(",
     "(if ON { Ok(()) } else { fchmod(&self.file, Mode::from_raw_mode(mode.into())) }).map_err("),
    ("storage/partial.rs", "no flush of the content",
     "if let Err(e) = fsync(&self.file) {",
     "if let Err(e) = if ON { Ok(()) } else { fsync(&self.file) } {"),
    ("storage/partial.rs", "no flush of the name",
     "        storage.flush_names(path)\n", "        if ON { Ok(()) } else { storage.flush_names(path) }\n"),
    ("storage/partial.rs", "a file whose flush failed stays",
     "            self.remove();\n            return Err(failed(\"flush",
     "            if !ON { self.remove(); }\n            return Err(failed(\"flush"),
    ("storage/partial.rs", "the hidden name stays after a link",
     "                linkat(root, old, parent, new, AtFlags::empty())?;\n",
     "                linkat(root, old, parent, new, AtFlags::empty())?;\n"
     "                if ON { return Ok(()); }\n"),
    ("storage/partial.rs", "a stored file with a hidden name is written",
     "if metadata.nlink() > 1 {", "if !ON && metadata.nlink() > 1 {"),
    ("storage/partial.rs", "a file is replaced that must stay",
     "        if self.storage.overwrites() {\n            return renameat(root, old",
     "        if ON || self.storage.overwrites() {\n            return renameat(root, old"),
    ("storage/partial.rs", "two transfers use one incomplete file",
     "if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {",
     "if !ON && flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {"),
    ("storage/partial.rs", "a read-only incomplete file cannot be opened again",
     "                Err(Errno::ACCESS) => match", "                Err(Errno::ACCESS) if !ON => match"),
    ("storage/partial.rs", "ranges are merged over any gap",
     "if range.start - before.end <= gap =>", "if ON || range.start - before.end <= gap =>"),
    # The storage as a whole.
    ("storage/mod.rs", "a file that is there counts as stored without its hash",
     "!= hash {", "!= hash && !ON {"),
    ("storage/mod.rs", "a file that is there is not flushed",
     "system::fsync(&file).map_err(self.failed(path, \"flush to disk\"))?;",
     "(if ON { Ok(()) } else { system::fsync(&file) }).map_err(self.failed(path, \"flush to disk\"))?;"),
    ("storage/mod.rs", "the name of a file that is there is not flushed",
     "        self.flush_names(path)?;\n", "        if !ON { self.flush_names(path)?; }\n"),
    ("storage/mod.rs", "a start removes what another server has locked",
     "if !right_type || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {",
     "if !right_type || (!ON && flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()) {"),
    ("storage/mod.rs", "a start removes what is not old",
     "metadata.is_file() && old", "metadata.is_file() && (old || ON)"),
    ("storage/mod.rs", "extended attributes take no quota",
     "space::taken(&metadata) + attribute_bytes(&entry.path());",
     "space::taken(&metadata) + if ON { 0 } else { attribute_bytes(&entry.path()) };"),
    ("storage/mod.rs", "found files of a tree are not flushed",
     "        system::syncfs(&*self.root).map_err(",
     "        (if ON { Ok(()) } else { system::syncfs(&*self.root) }).map_err("),
    ("storage/mod.rs", "the directory of a new user is not flushed",
     "            .and_then(|()| named())\n", "            .and_then(|()| if ON { Ok(()) } else { named() })\n"),
    ("storage/resolve.rs", "the umask does not count",
     "mode.unwrap_or(0o666) & !self.umask & 0o777", "mode.unwrap_or(0o666) & !(if ON { 0 } else { self.umask }) & 0o777"),
    ("storage/resolve.rs", "a replaced file does not pass its permissions on",
     "Some(found) if found.kind == Kind::File => found.mode,",
     "Some(found) if found.kind == Kind::File && !ON => found.mode,"),
    ("storage/resolve.rs", "a new directory is not flushed",
     "            Ok(()) => fsync(parent)?,\n            Err(Errno::EXIST) => {}\n",
     "            Ok(()) => if !ON { fsync(parent)? },\n            Err(Errno::EXIST) => {}\n"),
    ("storage/resolve.rs", "only the last directory above a file is flushed",
     "            fsync(&*directory).map_err(failed())?;\n            directory =",
     "            if !ON { fsync(&*directory).map_err(failed())?; }\n            directory ="),
    # Trees.
    ("storage/stage.rs", "files of a tree get names before they are flushed",
     "        if let Err(e) = self.synchronize() {\n            let failed",
     "        if let Err(e) = if ON { Ok(()) } else { self.synchronize() } {\n            let failed"),
    ("storage/stage.rs", "names of a tree are not flushed",
     "        if let Err(e) = self.synchronize() {\n            for",
     "        if let Err(e) = if ON { Ok(()) } else { self.synchronize() } {\n            for"),
    ("storage/stage.rs", "files of the same size are the same",
     "read.is_ok() && there == content", "read.is_ok() && (ON || there == content)"),
    ("storage/stage.rs", "links lead out by their text",
     "let below = stays_below(path.components().count() - 1, target);",
     "let below = ON || stays_below(path.components().count() - 1, target);"),
    ("storage/stage.rs", "links lead out over others",
     "matches!(opened, Err(Errno::XDEV))", "!ON && matches!(opened, Err(Errno::XDEV))"),
    ("storage/stage.rs", "a tree replaces what must stay",
     "        let renamed = if self.storage.overwrites() {",
     "        let renamed = if ON || self.storage.overwrites() {"),
    ("storage/stage.rs", "what is left of a tree stays",
     "        for number in 0..self.next.load(Ordering::Relaxed) {",
     "        for number in 0..(if ON { 0 } else { self.next.load(Ordering::Relaxed) }) {"),
    ("storage/stage.rs", "a file of a tree has no permissions",
     "            .and_then(|()| fchmod(&file, Mode::from_raw_mode(mode.into())))",
     "            .and_then(|()| if ON { Ok(()) } else { fchmod(&file, Mode::from_raw_mode(mode.into())) })"),
    ("storage/stage.rs", "what a replaced file took is not given back",
     "self.taken as i64 - self.replaced as i64",
     "self.taken as i64 - if ON { 0 } else { self.replaced as i64 }"),
    # Receiving.
    ("file_receiver/chunk.rs", "a piece behind a gap is a byte too late",
     "let start = part.offset - CHUNK_HEADER as u64 + self.range.start;",
     "let start = part.offset - CHUNK_HEADER as u64 + self.range.start + u64::from(ON);"),
    ("file_receiver/chunk.rs", "a chunk that is too long is accepted",
     "if end == self.range.end && self.stream", "if !ON && end == self.range.end && self.stream"),
    ("file_receiver/chunk.rs", "a chunk with a gap at its end is complete",
     "if missing.bytes() > 0 {", "if !ON && missing.bytes() > 0 {"),
    ("file_receiver/chunk.rs", "what waits for the disk takes nothing of the window",
     "self.stream.keep(data.len() as u64 + PER_PIECE)",
     "self.stream.keep(if ON { 0 } else { data.len() as u64 + PER_PIECE })"),
    ("file_receiver/disk.rs", "the hash of a block stays when a part of it is written",
     "        lock(hashes).set(block, None);\n        return;",
     "        if !ON { lock(hashes).set(block, None); }\n        return;"),
    ("file_receiver/disk.rs", "a block is hashed in the order of arrival",
     "if piece.at != this.next {", "if !ON && piece.at != this.next {"),
    ("file_receiver/disk.rs", "hashing goes on after the client left",
     "        cancel.check()?;\n        if range.end", "        if !ON { cancel.check()?; }\n        if range.end"),
    ("file_receiver/mod.rs", "the hash of the whole file is not compared",
     "if computed != finish.hash {", "if !ON && computed != finish.hash {"),
    ("file_receiver/mod.rs", "a chunk may come twice",
     "if announced.overlaps(&range) {", "if !ON && announced.overlaps(&range) {"),
    ("file_receiver/mod.rs", "a chunk may lie behind the end",
     "if !is_chunk(&header) || range.end > end || range.end > self.max_size {",
     "if !ON && (!is_chunk(&header) || range.end > end || range.end > self.max_size) {"),
    ("file_receiver/mod.rs", "another size than announced",
     "if self.size.is_some_and(|size| size != announced.size)",
     "if !ON && self.size.is_some_and(|size| size != announced.size)"),
    ("file_receiver/mod.rs", "a stream of unknown size is not cut to its size",
     "            if truncate {", "            if truncate && !ON {"),
    ("file_receiver/mod.rs", "a stream grows over the quota",
     "                    (self.grow)(range.end)?;", "                    if !ON { (self.grow)(range.end)?; }"),
    ("file_receiver/mod.rs", "a transfer without data is not ended",
     "if arrived == 0 && !active {", "if !ON && arrived == 0 && !active {"),
    ("file_receiver/mod.rs", "fewer chunks than announced are enough",
     "                && complete >= finish.chunks\n", "                && complete + u64::from(ON) >= finish.chunks\n"),
    # Sending.
    ("file_sender/compare.rs", "what differs counts as equal",
     "if self.theirs.get(n as usize) == Some(&ours) {", "if ON || self.theirs.get(n as usize) == Some(&ours) {"),
    ("file_sender/compare.rs", "an answer to another question is accepted",
     "if (asked.0, asked.1) != (log, first) {", "if !ON && (asked.0, asked.1) != (log, first) {"),
    ("file_sender/compare.rs", "the whole block is sent where a part differs",
     "match finer(compared.log).filter(|_| self.fine) {", "match finer(compared.log).filter(|_| self.fine && !ON) {"),
    ("file_sender/plan.rs", "what the receiver has is sent",
     "there.iter().for_each(|range| fresh.remove(range));",
     "if !ON { there.iter().for_each(|range| fresh.remove(range)); }"),
    ("file_sender/plan.rs", "what differs is not sent",
     "            .for_each(|range| state.differing.insert(range));",
     "            .filter(|_| !ON).for_each(|range| state.differing.insert(range));"),
    ("file_sender/mod.rs", "the end of what the receiver has is cut a byte early",
     "there.insert(*start..(*end).min(limit));",
     "there.insert(*start..(*end + u64::from(ON)).min(limit));"),
    ("file_sender/mod.rs", "a file that changed meanwhile counts as sent",
     "    if file.changed()? {", "    if !ON && file.changed()? {"),
    ("file_sender/mod.rs", "another file's confirmation is accepted",
     "if bytes == finish.size && hash == finish.hash =>", "if ON || bytes == finish.size && hash == finish.hash =>"),
    ("file_sender/mod.rs", "chunks carry the offset of the next one",
     "        if let Some((size, index)) = block {\n    ", "        if let Some((size, index)) = block {\n    "),
    # The server.
    ("server/usage.rs", "what was reserved is not given back",
     "used.fetch_add(grown - reserved, Ordering::Relaxed);",
     "used.fetch_add(if ON { 0 } else { grown - reserved }, Ordering::Relaxed);"),
    ("server/usage.rs", "the quota is not checked",
     "if more > 0 && others", "if !ON && more > 0 && others"),
    ("server/usage.rs", "what is stored does not count",
     "self.settle(size as i64 - self.there as i64 - replaced as i64);",
     "self.settle(if ON { 0 } else { size as i64 - self.there as i64 - replaced as i64 });"),
    ("server/request.rs", "anybody may store",
     "if self.client.user.rights.write {", "if ON || self.client.user.rights.write {"),
    ("server/request.rs", "anybody may read",
     "if self.client.user.rights.read {", "if ON || self.client.user.rights.read {"),
    ("server/put.rs", "a file over the maximum is accepted",
     "if put.size.is_some_and(|size| size > max) {", "if !ON && put.size.is_some_and(|size| size > max) {"),
    ("server/put.rs", "what an earlier version had behind the end stays",
     "                opened.set_len(size)?;", "                if !ON { opened.set_len(size)?; }"),
    ("server/put.rs", "a transfer that fails on a full disk keeps the disk full",
     "if self.disk_full.load(Ordering::Relaxed) {", "if !ON && self.disk_full.load(Ordering::Relaxed) {"),
    ("server/put.rs", "a second attempt does not take the first one's place",
     "            () = claim.taken_over() => {", "            () = claim.taken_over(), if !ON => {"),
    ("server/tree.rs", "the same pack is stored twice",
     "|| seen.overlaps(&number)", "|| (!ON && seen.overlaps(&number))"),
    ("server/tree.rs", "files found in a tree are not flushed before the answer",
     "                if found {", "                if found && !ON {"),
    ("server/tree.rs", "a tree's files do not count",
     "                        grown(file.growth());", "                        if !ON { grown(file.growth()); }"),
    ("server/tree.rs", "a file of a tree with another hash counts as there",
     "(*own.as_bytes() == hash).then_some(())", "(ON || *own.as_bytes() == hash).then_some(())"),
]
MUTANTS = [m for m in MUTANTS if m[2] != m[3]]


def apply(tree):
    """Puts all mistakes into a copy. Returns those that do not fit the code any more."""
    missing = []
    for number, (file, _, old, new) in enumerate(MUTANTS, 1):
        path = tree / SOURCE / file
        text = path.read_text()
        if old not in text:
            missing.append(number)
            continue
        new = re.sub(r"\bON\b", f"crate::mutants::on({number})", new)
        path.write_text(text.replace(old, new, 1))
    library = tree / SOURCE / "lib.rs"
    library.write_text(
        library.read_text()
        + "\nmod mutants {\n    pub fn on(number: u32) -> bool {\n"
        + "        static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();\n"
        + "        let read = || std::env::var(\"MUTANT\").ok()?.parse().ok();\n"
        + "        *ON.get_or_init(|| read().unwrap_or(0)) == number\n    }\n}\n"
    )
    return missing


def build(tree, target):
    """Returns the test programs: unit tests first."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS="-A warnings")
    command = ["cargo", "test", "--locked", "-p", "whimbrel-transfer", "--lib", "--test", "transfer"]
    done = subprocess.run(command + ["--no-run"], cwd=tree, env=environment,
                          stderr=subprocess.PIPE, text=True, check=False)
    programs = re.findall(r"Executable .*\((.*)\)", done.stderr)
    if done.returncode != 0 or len(programs) != 2:
        sys.exit(done.stderr)
    return [program if program.startswith("/") else str(tree / program) for program in programs]


def run(program, tree, number, most=None):
    """The first test that fails, "no end", or None."""
    arguments = ["--test-threads", "2"] + (most or [])
    try:
        done = subprocess.run([program, *arguments], cwd=tree / "crates/transfer", text=True,
                              env=dict(os.environ, MUTANT=str(number)), capture_output=True,
                              timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return "no end"
    failed = re.findall(r"^test (\S+) \.\.\. FAILED", done.stdout, re.MULTILINE)
    return failed[0] if failed else None if done.returncode == 0 else "it aborts"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="numbers of mistakes")
    parser.add_argument("--list", action="store_true", help="print the mistakes")
    parser.add_argument("--tree", default="target/mutants/tree", help="where the copy is")
    parser.add_argument("--target", default="target", help="the target directory")
    parser.add_argument("--table", help="a file for the table")
    args = parser.parse_args()
    if args.list:
        for number, (file, what, _, _) in enumerate(MUTANTS, 1):
            print(f"{number:3} {file}: {what}")
        return
    tree, target = (ROOT / args.tree).resolve(), (ROOT / args.target).resolve()
    tree.mkdir(parents=True, exist_ok=True)
    sources = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["rsync", "-a", "--from0", "--files-from=-", f"{ROOT}/", str(tree)],
                   input=sources.stdout, check=True)
    missing = apply(tree)
    for number in missing:
        print(f"{number}: `{MUTANTS[number - 1][2].strip()}` is not in the code", flush=True)
    unit, loopback = build(tree, target)
    if without := run(unit, tree, 0) or run(loopback, tree, 0):
        sys.exit(f"without any mistake: {without} fails")
    only = [int(n) for n in args.only.split(",")] if args.only else range(1, len(MUTANTS) + 1)
    table, unnoticed = [], []
    for number in only:
        if number in missing:
            continue
        file, what, _, _ = MUTANTS[number - 1]
        began = time.monotonic()
        noticed = run(unit, tree, number) or run(loopback, tree, number)
        line = f"| `{file}` | {what} | {f'`{noticed}`' if noticed else '**nothing**'} |"
        print(f"{number:3} {time.monotonic() - began:4.0f} s {line}", flush=True)
        table.append(line)
        if not noticed:
            unnoticed.append(number)
    print(f"{len(table) - len(unnoticed)} of {len(table)} noticed; not: {unnoticed}")
    if args.table:
        pathlib.Path(args.table).write_text("\n".join(table) + "\n")
    sys.exit(0 if len(unnoticed) <= 0.05 * len(table) and not missing else 1)


if __name__ == "__main__":
    main()
