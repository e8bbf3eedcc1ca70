//! `--delete`, `--dry-run`, `-v` and `-q` of `send` and `get`.

use super::support::*;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const SERVE: &str = "--listen 127.0.0.1:0 --overwrite --allow-read --allow-remove";

/// Writes files, whose directories are made; each contains its name.
fn write(folder: &Path, paths: &[&str]) {
    for path in paths {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, path.to_string_lossy().as_bytes()).expect("written");
    }
}

/// All paths below a folder, sorted; directories end with a slash.
fn tree(folder: &Path) -> String {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let below = path
                .strip_prefix(folder)
                .expect("below")
                .display()
                .to_string();
            found.push(if path.is_dir() {
                format!("{below}/")
            } else {
                below
            });
            if path.is_dir() {
                left.push(path);
            }
        }
    }
    found.sort();
    found.join(" ")
}

/// One way to copy `from` below a folder to `to`; the command without its flags.
struct Way {
    command: String,
    from: &'static str,
    to: &'static str,
}

fn ways(address: &str) -> [Way; 2] {
    [
        Way {
            command: format!("send here/d/ {address}:d/ --identity id"),
            from: "here/d",
            to: "in/d",
        },
        Way {
            command: format!("get {address}:d here --identity id --overwrite"),
            from: "in/d",
            to: "here/d",
        },
    ]
}

#[test]
fn what_the_source_does_not_have_is_removed() {
    let folder = folder();
    let path = folder.path();
    let server = Server::start(path, SERVE);
    for Way { command, from, to } in ways(&server.address) {
        // Not the server's own directory, which it holds open.
        for side in ["here/d", "in/d"] {
            fs::remove_dir_all(path.join(side)).ok();
        }
        write(&path.join(from), &["a", "sub/b"]);
        write(
            &path.join(to),
            &["old/x", "old/deep/y", "sub/c", "keep.log"],
        );
        let run = |flags: &str| whimbrel_in(path, &format!("{command} {flags}"));
        let before = tree(&path.join(to));
        // Nothing happens in a dry run, or if it would be too much.
        let dry = stdout(&run("--delete --exclude '*.log' --dry-run"));
        let doomed = ["d/old/deep/y", "d/old/deep", "d/old/x", "d/old", "d/sub/c"];
        for name in doomed {
            assert_contains(&dry, &[&format!("would remove {name}\n")]);
        }
        assert!(!dry.contains("keep.log"), "{dry}");
        assert_eq!(tree(&path.join(to)), before);
        let output = run("--delete --max-delete 5 --quiet");
        let error = fails(&output, 1);
        assert_contains(
            &error,
            &[
                "6 removals are more than the maximum of 5",
                "--max-delete 6 permits it",
            ],
        );
        let all = "a keep.log old/ old/deep/ old/deep/y old/x sub/ sub/b sub/c";
        assert_eq!(tree(&path.join(to)), all);
        // Removed and named; what is excluded stays.
        let output = run("--delete --exclude '*.log' --verbose");
        let said = stdout(&output);
        for name in doomed {
            assert_contains(&said, &[&format!("removed {name}\n")]);
        }
        assert_contains(&said, &["removed 5 files and directories"]);
        assert_eq!(tree(&path.join(to)), "a keep.log sub/ sub/b");
        // Quiet: no word about success.
        assert_eq!(stdout(&run("--delete --quiet")), "");
        assert_eq!(tree(&path.join(to)), "a sub/ sub/b");
        assert_eq!(json(&run("--delete --json"))["removed"], 0);
        // An empty source is probably a disk that is not mounted.
        fs::remove_dir_all(path.join(from)).expect("removed");
        fs::create_dir(path.join(from)).expect("made");
        let error = fails(&run("--delete"), 1);
        assert_contains(
            &error,
            &["nothing was removed", "--max-delete 3 permits it"],
        );
        assert_eq!(tree(&path.join(to)), "a sub/ sub/b");
        stdout(&run("--delete --max-delete 3"));
        assert_eq!(tree(&path.join(to)), "");
    }
}

#[test]
fn nothing_is_removed_in_doubt_or_without_permission() {
    let folder = folder();
    let path = folder.path();
    write(path, &["here/d/a", "in/d/a", "in/d/old"]);
    let server = Server::start(path, "--listen 127.0.0.1:0 --overwrite --allow-read");
    let send = format!("send here/d/ {}:d/ --delete --identity id", server.address);
    let output = whimbrel_in(path, &send);
    assert_contains(&fails(&output, 3), &["does not permit removing files"]);
    assert_eq!(tree(&path.join("in/d")), "a old");
    // A name that no client can use: what is there is not known.
    write(path, &["in/d/.whimbrel-x", "here/d/old"]);
    let get = format!("get {}:d here --delete --identity id", server.address);
    let output = whimbrel_in(path, &get);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_contains(
        &text(&output.stderr),
        &["nothing was removed", "could not be listed"],
    );
    assert_eq!(tree(&path.join("here/d")), "a old");
    // Nor does a list of it succeed.
    let output = whimbrel_in(path, &format!("ls {}:d --identity id", server.address));
    assert_contains(&text(&output.stdout), &[" a\n", " old\n"]);
    assert_contains(&text(&output.stderr), &["not listed: "]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    all_refused(
        "",
        &[
            ("send f h --max-delete 3", "--delete"),
            ("get h:x --max-delete 3", "--delete"),
            ("send f h -v -q", "cannot be used with"),
            // What has no effect with three words.
            ("send f --words --qlog d", "--qlog is for a HOST"),
            (
                "send f --words --token-file t",
                "--token-file is for a HOST",
            ),
            (
                "get apple-river-stone --require-pq",
                "--require-pq is for HOST:PATH",
            ),
            (
                "get apple-river-stone --retry-for 1s",
                "--retry-for is for HOST:PATH",
            ),
            (
                "get apple-river-stone --identity d",
                "--identity is for HOST:PATH",
            ),
        ],
    );
}

#[test]
fn three_words_that_fail_are_an_object_with_the_error() {
    let folder = folder();
    let path = folder.path();
    write(path, &["f"]);
    // A server at which none may meet.
    let server = Server::start(path, "--listen 127.0.0.1:0");
    for line in ["get apple-river-stone", "send f --words"] {
        let line = format!("{line} --meet {} --no-lan --json", server.address);
        let output = whimbrel_in(path, &line);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let value = parse(&text(&output.stdout));
        assert_eq!(value["outcome"], "not stored");
        assert_contains(value["error"].as_str().expect("a text"), &["nobody meet"]);
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_begins() {
    let folder = folder();
    let path = folder.path();
    write(path, &["d/a", "d/b"]);
    fs::write(path.join("d/c"), vec![1; 2_000_000]).expect("written");
    let server = Server::start(path, &format!("{SERVE} --keep-free '1000 TB'"));
    let output = whimbrel_in(path, &format!("send d/ {} --identity id", server.address));
    assert_contains(
        &fails(&output, 3),
        &["more do not fit", "the server's disk"],
    );
    assert_eq!(tree(&path.join("in")), "");
}

#[test]
fn get_keeps_to_a_rate_and_to_a_choice() {
    let folder = folder();
    let path = folder.path();
    write(
        path,
        &["in/d/a.txt", "in/d/b.tmp", "in/d/sub/c.txt", "here/x"],
    );
    fs::write(path.join("in/d/large"), vec![7; 1_500_000]).expect("written");
    let server = Server::start(path, SERVE);
    let run = |flags: &str| {
        let get = format!("get {}:d here --identity id {flags}", server.address);
        whimbrel_in(path, &get)
    };
    let dry = stdout(&run("--exclude '*.tmp' --exclude large -n"));
    assert_contains(&dry, &["d/a.txt\nd/sub/c.txt\nwould get 2 of 2 files: "]);
    assert_eq!(tree(&path.join("here")), "x");
    stdout(&run("--include '*.txt'"));
    assert_eq!(tree(&path.join("here")), "d/ d/a.txt d/sub/ d/sub/c.txt x");
    // 12 Mbit at 16 Mbit/s.
    let begun = Instant::now();
    stdout(&run("--bwlimit '16 Mbit/s'"));
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(600), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn get_puts_files_where_rsync_and_scp_would() {
    let folder = folder();
    let path = folder.path();
    write(path, &["in/d/a", "in/d/sub/b"]);
    let server = Server::start(path, SERVE);
    let get = |what: &str, to: &str| {
        let get = format!("get {}:{what} {to} --identity id", server.address);
        whimbrel_in(path, &get)
    };
    for (what, to, found) in [
        ("d", "with", "with/d/ with/d/a with/d/sub/ with/d/sub/b"),
        ("d/", "content", "content/a content/sub/ content/sub/b"),
        ("d/a", "renamed", "renamed"),
        ("d/a", "kept/", "kept/a"),
    ] {
        stdout(&get(what, to));
        let all = tree(path);
        assert!(all.contains(found), "{what} {to}: {all}");
    }
    let lost = fails(&get("d/", "no/such"), 1);
    assert_contains(
        &lost,
        &["no: cannot find this directory", "only the last directory"],
    );
    let taken = fails(&get("d/", "renamed"), 1);
    assert_contains(&taken, &["renamed: cannot store files in this directory"]);
    let file = fails(&get("d/a/", "x"), 1);
    assert_contains(&file, &["`d/a` is a file", "leave out the slash"]);
}

#[test]
fn a_port_written_as_a_path_and_a_missing_token_get_a_way_out() {
    let folder = folder();
    let path = folder.path();
    write(path, &["in/a", "f"]);
    let server = Server::start(path, SERVE);
    // Nothing listens at this address.
    let note = "for port 4477 write 127.0.0.9:4477:a";
    for command in ["get", "ls", "rm", "send f"] {
        let place = format!("{command} 127.0.0.9:4477/a --identity id");
        let output = whimbrel_in(path, &place);
        assert_contains(&fails(&output, 1), &["cannot connect", note]);
    }
    let output = whimbrel_in(path, &format!("send f {} --identity new", server.address));
    let error = fails(&output, 2);
    assert_contains(
        &error,
        &[
            "a token is required",
            "WHIMBREL_TOKEN",
            "the file `token`",
            "--fingerprint",
        ],
    );
    let known = format!("ls {} --identity new --token-file id/token", server.address);
    let output = whimbrel_in(path, &known);
    assert_contains(&fails(&output, 4), &["is not known", "whimbrel key show"]);
}
