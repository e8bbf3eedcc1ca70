//! Directories and many files, in both directions.

use crate::common::scratch_directory::file_names;
use crate::common::trees::{everything, fetched, got, may_read, sent, to_get};
use crate::common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, list, remove, visible};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use whimbrel_transfer::{
    DeleteOptions, Error, Event, Filter, GetOptions, GetReport, Outcome, Reason, RemotePath, Retry,
    TreeOptions, Update, send_tree,
};
use whimbrel_units::{Duration as Span, Rate};

/// Everything below a directory: the path, and the content, mode and time, or a link's target.
type Content = BTreeMap<PathBuf, (Vec<u8>, u32, i64)>;

fn content(top: &Path) -> Content {
    let mut all = Content::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("there");
            let below = path.strip_prefix(top).expect("below").to_owned();
            let (data, mode, time) = if metadata.is_dir() {
                folders.push(path);
                (Vec::new(), metadata.mode(), metadata.mtime())
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                (target.as_os_str().as_bytes().to_vec(), 0, 0)
            } else {
                (
                    fs::read(&path).expect("a file"),
                    metadata.mode(),
                    metadata.mtime(),
                )
            };
            all.insert(below, (data, mode, time));
        }
    }
    all
}

/// A tree with everything that is difficult.
fn make_tree(scratch: &ScratchDirectory) -> PathBuf {
    let top = scratch.subdirectory("tree");
    for folder in ["a/b/c", "empty", ".hidden"] {
        fs::create_dir_all(top.join(folder)).expect("created");
    }
    let odd = OsString::from_vec(b"not \xff UTF-8".to_vec());
    for (name, size) in [
        ("a/small", 5),
        ("a/b/none", 0),
        ("a/b/c/medium", 100_000),
        (".hidden/config", 10),
        ("a/large", 3_000_001),
        ("a/b/Ein Brief \u{1f600}", 300_000),
    ] {
        let mut data = vec![0; size];
        let hasher = blake3::hash(name.as_bytes());
        blake3::Hasher::new_keyed(hasher.as_bytes())
            .finalize_xof()
            .fill(&mut data);
        fs::write(top.join(name), data).expect("written");
    }
    fs::write(top.join("a").join(odd), "odd").expect("written");
    fs::set_permissions(top.join("a/small"), fs::Permissions::from_mode(0o750)).expect("set");
    symlink("../small", top.join("a/b/link")).expect("created");
    symlink("/etc/passwd", top.join("a/out")).expect("created");
    symlink("../../tree-2/x", top.join("a/sideways")).expect("created");
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in ["a/small", "a/large", "empty"] {
        fs::File::open(top.join(path))
            .expect("there")
            .set_modified(old)
            .expect("set");
    }
    top
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_arrives_with_modes_times_and_links() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let top = make_tree(&scratch);
    let report = sent(everything(&service, &[&top])).await;
    assert!(
        report.error.is_none() && report.failures.is_empty(),
        "{report:?}"
    );
    assert_eq!(report.outcome, Outcome::Stored);
    assert_eq!(
        (report.files, report.sent_files, report.unchanged_files),
        (7, 7, 0)
    );
    let mut skipped: Vec<&str> = report.skipped.iter().map(|(path, _)| &**path).collect();
    skipped.sort_unstable();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(skipped[0].ends_with("a/out") && skipped[1].ends_with("a/sideways"));
    let mut here = content(&top);
    here.remove(Path::new("a/out"));
    here.remove(Path::new("a/sideways"));
    let there = content(&service.directory.join("tree"));
    assert_eq!(
        there.keys().collect::<Vec<_>>(),
        here.keys().collect::<Vec<_>>()
    );
    for (path, (data, mode, time)) in &here {
        let (stored, stored_mode, stored_time) = &there[path];
        assert!(stored == data, "{}", path.display());
        assert_eq!(stored_mode | 0o022, mode | 0o022, "{}", path.display());
        assert_eq!(stored_time, time, "{}", path.display());
    }
    assert_eq!(file_names(&service.directory), ["tree"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_files_are_not_sent_and_changed_ones_are() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits(), true);
    let top = make_tree(&scratch);
    sent(everything(&service, &[&top])).await;
    let again = sent(everything(&service, &[&top])).await;
    assert_eq!(
        (again.sent_files, again.unchanged_files, again.sent_bytes),
        (0, 7, 0)
    );
    // Another content with the same size and time is found with --checksum only.
    let path = top.join("a/small");
    let time = fs::metadata(&path)
        .expect("there")
        .modified()
        .expect("a time");
    fs::write(&path, "other").expect("written");
    fs::File::open(&path)
        .expect("there")
        .set_modified(time)
        .expect("set");
    fs::write(top.join("a/b/none"), "something").expect("written");
    let again = sent(everything(&service, &[&top])).await;
    assert_eq!((again.sent_files, again.sent_bytes), (1, 9), "{again:?}");
    let checked = TreeOptions {
        checksum: true,
        ..everything(&service, &[&top])
    };
    let dry = TreeOptions {
        dry_run: true,
        ..checked.clone()
    };
    let dry = sent(dry).await;
    assert_eq!((dry.sent_files, dry.would_send.len()), (1, 1), "{dry:?}");
    assert!(dry.would_send[0].ends_with("a/small"));
    let again = sent(checked).await;
    assert_eq!((again.sent_files, again.unchanged_files), (1, 6));
    assert_eq!(
        fs::read(service.directory.join("tree/a/small")).expect("stored"),
        b"other"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_files_are_kept_and_the_others_are_stored() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let top = make_tree(&scratch);
    let there = service.directory.join("tree/a");
    fs::create_dir_all(&there).expect("created");
    fs::write(there.join("small"), "older").expect("written");
    let report = sent(everything(&service, &[&top])).await;
    assert_eq!(report.outcome, Outcome::NotStored);
    let [(path, why)] = &report.failures[..] else {
        panic!("{report:?}")
    };
    assert!(path.ends_with("a/small") && why.contains("exists"), "{why}");
    assert_eq!(fs::read(there.join("small")).expect("kept"), b"older");
    assert_eq!(report.sent_files, 6);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_and_directories_choose_files_and_places() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let top = make_tree(&scratch);
    let text = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let filter = Filter::new(&text(&["small", "medium", "none"]), &text(&["c"]));
    let inside = PathBuf::from(format!("{}/", top.display()));
    let tree = TreeOptions {
        directory: Some("in/box".parse().expect("a path")),
        filter: filter.expect("patterns"),
        ..everything(&service, &[&inside])
    };
    sent(tree).await;
    let there = content(&service.directory.join("in/box"));
    let files: Vec<_> = there
        .keys()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, ["a", "a/b", "a/b/none", "a/small"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_files_go_below_a_directory_and_not_to_the_top() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let top = scratch.subdirectory("tree");
    fs::write(top.join(".profile"), "x").expect("written");
    fs::write(top.join("plain"), "y").expect("written");
    let inside = PathBuf::from(format!("{}/", top.display()));
    let report = sent(everything(&service, &[&inside])).await;
    let [(path, why)] = &report.failures[..] else {
        panic!("{report:?}")
    };
    assert!(path.ends_with(".profile") && why.contains("dot"), "{why}");
    assert_eq!(file_names(&service.directory), ["plain"]);
    let tree = TreeOptions {
        directory: Some("box".parse().expect("a path")),
        ..everything(&service, &[&inside])
    };
    let report = sent(tree).await;
    assert!(report.failures.is_empty(), "{report:?}");
    assert_eq!(
        file_names(&service.directory.join("box")),
        [".profile", "plain"]
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_the_server_is_not_followed() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits(), true);
    let outside = scratch.subdirectory("outside");
    fs::write(outside.join("small"), "precious").expect("written");
    let top = make_tree(&scratch);
    fs::create_dir(service.directory.join("tree")).expect("created");
    symlink(&outside, service.directory.join("tree/a")).expect("created");
    let report = sent(everything(&service, &[&top])).await;
    assert!(!report.failures.is_empty(), "{report:?}");
    assert_eq!(file_names(&outside), ["small"]);
    assert_eq!(fs::read(outside.join("small")).expect("kept"), b"precious");
    service.stop().await;
}

/// Streams overtake each other: packs arrive in any order.
#[tokio::test(flavor = "multi_thread")]
async fn many_packs_arrive_at_once() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let top = scratch.subdirectory("many");
    for n in 0..300usize {
        fs::write(top.join(format!("{n}")), vec![n as u8; 200_000 + n]).expect("written");
    }
    let report = sent(everything(&service, &[&top])).await;
    assert!(
        report.error.is_none() && report.failures.is_empty(),
        "{report:?}"
    );
    assert_eq!((report.sent_files, report.sent_bytes), (300, report.bytes));
    assert_eq!(content(&service.directory.join("many")).len(), 300);
    service.stop().await;
}

/// Interrupted again and again, a tree is complete in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_tree_survives_interruptions() {
    let scratch = ScratchDirectory::new();
    let mut service = Service::start(&scratch);
    let (address, directory) = (service.address, service.directory.clone());
    let top = scratch.subdirectory("many");
    for n in 0..2000 {
        let folder = top.join(format!("{}", n % 20));
        fs::create_dir_all(&folder).expect("created");
        fs::write(folder.join(format!("{n}")), vec![n as u8; 2000 + n]).expect("written");
    }
    fs::write(top.join("large"), vec![7; 9_000_000]).expect("written");
    let mut tree = everything(&service, &[&top]);
    tree.bandwidth = Some(Rate::from_bits_per_sec(80_000_000));
    tree.client.retry = Some(Retry {
        limit: Some(Span::from_secs(40)),
        from_start: false,
    });
    let (news, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let sending = tokio::spawn(async move {
        let watch = move |update| {
            if matches!(update, Update::Interrupted { .. } | Update::Progress(_)) {
                news.send(update).ok();
            }
        };
        send_tree(tree, watch, std::future::pending()).await
    });
    for stop in 1..=2 {
        // 15 MB at 10 MB/s.
        let passes =
            |update: &Update| matches!(update, Update::Progress(p) if p.bytes > stop * 3_000_000);
        while !passes(&heard.recv().await.expect("it goes on")) {}
        service.stop().await;
        let interrupted = |update: &Update| matches!(update, Update::Interrupted { .. });
        while !interrupted(&heard.recv().await.expect("it ends")) {}
        service = Service::listening(&scratch, address);
    }
    let report = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time");
    let report = report.expect("no panic");
    assert!(
        report.error.is_none() && report.failures.is_empty(),
        "{report:?}"
    );
    assert!(report.retries >= 2, "{}", report.retries);
    assert_eq!(content(&directory.join("many")).len(), content(&top).len());
    for (path, (data, ..)) in content(&top) {
        if top.join(&path).is_file() {
            assert!(fs::read(directory.join("many").join(&path)).expect("stored") == data);
        }
    }
    assert_eq!(file_names(&directory), ["many"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_comes_back_as_it_was() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = make_tree(&scratch);
    sent(everything(&service, &[&top])).await;
    let all = scratch.subdirectory("all");
    let whole = fetched(&service, &[""], &all, false).await;
    assert_eq!(whole.outcome, Outcome::Stored, "{whole:?}");
    assert_eq!(
        content(&all.join("tree")),
        content(&service.directory.join("tree"))
    );
    let here = scratch.subdirectory("here");
    let report = fetched(&service, &["tree"], &here, false).await;
    assert!(
        report.error.is_none() && report.failures.is_empty(),
        "{report:?}"
    );
    assert_eq!((report.files, report.received_bytes), (7, report.bytes));
    assert_eq!(
        content(&here.join("tree")),
        content(&service.directory.join("tree"))
    );
    assert_eq!(visible(&here), ["tree"]);
    // Again: everything is there. With another content: refused or replaced.
    let report = fetched(&service, &["tree"], &here, false).await;
    assert_eq!(
        (report.received_bytes, report.resumed_bytes),
        (0, report.bytes)
    );
    fs::write(here.join("tree/a/large"), "another").expect("written");
    let report = fetched(&service, &["tree/a/large"], &here.join("tree/a"), false).await;
    assert_eq!(
        (report.failures.len(), report.outcome),
        (1, Outcome::NotStored)
    );
    let report = fetched(&service, &["tree/a/large"], &here.join("tree/a"), true).await;
    assert!(
        report.failures.is_empty() && report.error.is_none(),
        "{report:?}"
    );
    assert_eq!(
        fs::metadata(here.join("tree/a/large"))
            .expect("there")
            .len(),
        3_000_001
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_and_a_missing_directory_mean_what_they_do_to_rsync() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = make_tree(&scratch);
    sent(everything(&service, &[&top])).await;
    let stored = service.directory.join("tree");
    let new = |name: &str| scratch.path().join(name);
    let all_here = |report: &GetReport| {
        assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
        assert_eq!(
            (report.stored_files, report.stored_bytes),
            (report.files, report.bytes)
        );
    };
    // The directory with its name, or its content; the destination is made.
    all_here(&fetched(&service, &["tree"], &new("with"), false).await);
    assert_eq!(content(&new("with/tree")), content(&stored));
    all_here(&fetched(&service, &["tree/a/"], &new("content"), false).await);
    assert_eq!(content(&new("content")), content(&stored.join("a")));
    // A second time it exists, and the same command changes nothing.
    let again = fetched(&service, &["tree/a/"], &new("content"), false).await;
    all_here(&again);
    assert_eq!(again.received_bytes, 0);
    // One file gets another name; with a slash, or in a directory that exists, it keeps its own.
    all_here(&fetched(&service, &["tree/a/large"], &new("copy"), false).await);
    assert_eq!(fs::metadata(new("copy")).expect("there").len(), 3_000_001);
    all_here(&fetched(&service, &["tree/a/large"], &new("into/"), false).await);
    all_here(&fetched(&service, &["tree/a/large"], &new("with"), false).await);
    assert!(new("into/large").is_file() && new("with/large").is_file());
    // A name that exists is replaced only on demand.
    fs::write(new("copy"), "another").expect("written");
    let kept = fetched(&service, &["tree/a/large"], &new("copy"), false).await;
    assert_eq!(
        (kept.stored_files, kept.stored_bytes, kept.files),
        (0, 0, 1)
    );
    assert_eq!(fs::read(new("copy")).expect("there"), b"another");
    all_here(&fetched(&service, &["tree/a/large"], &new("copy"), true).await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_cannot_be_is_refused_and_a_dry_run_makes_none() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = make_tree(&scratch);
    sent(everything(&service, &[&top])).await;
    let new = |name: &str| scratch.path().join(name);
    fs::write(new("file"), "text").expect("written");
    for (path, to, part) in [
        ("tree", "missing/x", "missing: cannot find this directory"),
        (
            "tree/",
            "file",
            "file: cannot store files in this directory",
        ),
        ("tree", "file", "file: cannot store files in this directory"),
        (
            "tree/a/large",
            "file/",
            "file: cannot store files in this directory",
        ),
        ("tree/a/large/", "x", "leave out the slash"),
    ] {
        let report = fetched(&service, &[path], &new(to), false).await;
        let error = report.error.map_or(String::new(), |e| e.to_string());
        assert!(error.contains(part), "{path} to {to}: {error}");
    }
    assert!(!new("missing").exists() && !new("x").exists());
    assert_eq!(fs::read(new("file")).expect("there"), b"text");
    // Nothing is made, and all is named under its new place.
    let options = GetOptions {
        dry_run: true,
        delete: Some(DeleteOptions::default()),
        ..to_get(&service, &["tree/a/"], &new("dry"))
    };
    let report = got(options).await;
    assert!(report.error.is_none() && report.removed == 0, "{report:?}");
    assert!(report.would_get.contains(&"large".to_owned()), "{report:?}");
    // What would be here is not here.
    assert_eq!(report.outcome, Outcome::NotStored, "{report:?}");
    assert!(!new("dry").exists());
    // What the server calls `.bashrc` does not get to the top.
    fs::create_dir(service.directory.join("home")).expect("made");
    fs::write(service.directory.join("home/.bashrc"), "run").expect("written");
    let report = fetched(&service, &["home/"], &new("home"), false).await;
    assert_eq!(report.stored_files, 0);
    assert!(report.failures[0].1.contains("hidden files"), "{report:?}");
    let whole = fetched(&service, &["home"], &new("home"), false).await;
    assert_eq!(whole.outcome, Outcome::Stored, "{whole:?}");
    assert!(new("home/home/.bashrc").is_file());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_files_are_not_counted_as_stored_and_a_dry_run_is_no_failure() {
    let scratch = ScratchDirectory::new();
    let mut service = Service::start(&scratch);
    let top = scratch.subdirectory("tree");
    fs::write(top.join("large"), vec![1; 1_000_000]).expect("written");
    fs::write(top.join("small"), vec![2; 1000]).expect("written");
    let first = sent(everything(&service, &[&top])).await;
    assert_eq!((first.stored_bytes, first.sent_files), (1_001_000, 2));
    // The server replaces nothing.
    fs::write(top.join("large"), vec![3; 1_000_001]).expect("written");
    fs::write(top.join("new"), vec![4; 30]).expect("written");
    let dry = TreeOptions {
        dry_run: true,
        ..everything(&service, &[&top])
    };
    let dry = sent(dry).await;
    assert!(dry.error.is_none() && dry.would_send.len() == 2, "{dry:?}");
    let second = sent(everything(&service, &[&top])).await;
    assert_eq!(second.outcome, Outcome::NotStored);
    assert_eq!((second.stored_bytes, second.bytes), (1030, 1_001_031));
    let mut failed = Vec::new();
    while let Ok(event) = service.events.try_recv() {
        if matches!(event, Event::Failed { .. }) {
            failed.push(event.line());
        }
    }
    assert_eq!(failed.len(), 1, "that of `large` alone: {failed:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_files_are_got_in_packs() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let there = service.directory.join("many");
    for number in 0..2500usize {
        let folder = there.join(format!("{}", number / 100));
        fs::create_dir_all(&folder).expect("made");
        let data = vec![number as u8; (number * 37) % 9000];
        fs::write(folder.join(format!("f{number}")), data).expect("written");
    }
    // The largest small file, and one that is larger.
    fs::write(there.join("small"), vec![1; 256 << 10]).expect("written");
    fs::write(there.join("large"), vec![2; (256 << 10) + 1]).expect("written");
    // One that is different here.
    let here = scratch.subdirectory("here");
    fs::create_dir_all(here.join("many/3")).expect("made");
    fs::write(here.join("many/3/f301"), "mine").expect("written");
    let report = fetched(&service, &["many"], &here, false).await;
    assert!(report.error.is_none(), "{report:?}");
    let failed: Vec<&str> = report.failures.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(failed, ["many/3/f301"]);
    assert_eq!(fs::read(here.join("many/3/f301")).expect("there"), b"mine");
    let report = fetched(&service, &["many"], &here, true).await;
    assert!(
        report.error.is_none() && report.failures.is_empty(),
        "{report:?}"
    );
    // Only what was different.
    assert_eq!(report.received_bytes, (301 * 37) % 9000);
    let same = |(path, data): (&PathBuf, &(Vec<u8>, u32, i64))| (path.clone(), data.0.clone());
    let (one, other) = (content(&there), content(&here.join("many")));
    assert!(one.iter().map(same).eq(other.iter().map(same)));
    assert_eq!(visible(&here), ["many"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_and_removed() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = make_tree(&scratch);
    sent(everything(&service, &[&top])).await;
    let options = || service.client();
    let path = |text: &str| text.parse::<RemotePath>().expect("a path");
    let all = list(options(), None, true).await.expect("listed");
    assert_eq!(all.entries.len(), content(&service.directory).len());
    let some = list(options(), Some(path("tree/a")), false)
        .await
        .expect("listed");
    assert!(
        some.entries
            .iter()
            .any(|entry| entry.path == b"small" && entry.remote.size == 5)
    );
    let Err(Error::Refused(refusal)) = list(options(), Some(path("none")), false).await else {
        panic!("listed")
    };
    assert_eq!(refusal.reason, Reason::Missing);
    assert!(remove(options(), path("tree/a"), false).await.is_err());
    assert_eq!(
        remove(options(), path("tree/a/small"), false)
            .await
            .expect("gone"),
        1
    );
    let before = content(&service.directory).len() as u64;
    assert_eq!(
        remove(options(), path("tree"), true).await.expect("gone"),
        before
    );
    assert!(visible(&service.directory).is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_nothing_is_read_or_removed() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    fs::write(service.directory.join("secret"), "x").expect("written");
    let options = || service.client();
    let path: RemotePath = "secret".parse().expect("a path");
    for error in [
        list(options(), None, true).await.expect_err("no right"),
        remove(options(), path, false).await.expect_err("no right"),
        fetched(&service, &["secret"], &scratch.subdirectory("here"), false)
            .await
            .error
            .expect("no right"),
    ] {
        let Error::Refused(refusal) = error else {
            panic!("{error}")
        };
        assert_eq!(refusal.reason, Reason::Rights);
    }
    assert_eq!(file_names(&service.directory), ["secret"]);
    service.stop().await;
}

/// What cannot be got is named: a transfer that leaves it out is not complete.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_no_client_can_use_are_reported() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let folder = service.directory.join("folder");
    fs::create_dir_all(&folder).expect("created");
    for name in ["good", "bad\nname", ".whimbrel-mine"] {
        fs::write(folder.join(name), "x").expect("written");
    }
    let listing = list(service.client(), None, true).await.expect("listed");
    let unread = listing.unread.iter().map(|unread| unread.path.clone());
    let expected = [&b"folder/.whimbrel-mine"[..], b"folder/bad\nname"];
    assert_eq!(unread.collect::<Vec<_>>(), expected);
    assert_eq!(listing.entries.len(), 2);
    let report = fetched(&service, &["folder"], &scratch.subdirectory("here"), false).await;
    assert_eq!(report.failures.len(), 2, "{report:?}");
    assert_eq!(report.outcome, Outcome::NotStored);
    // A client leaves its own such files out, and says so.
    let tree = everything(&service, &[&folder]);
    let report = sent(tree).await;
    let skipped = |(path, _): &(String, String)| path.ends_with("/.whimbrel-mine");
    assert!(report.skipped.iter().any(skipped), "{report:?}");
    service.stop().await;
}

/// Directories of the tree in [`with_few_descriptors`], each with a file.
const FOLDERS: usize = 600;

#[test]
fn a_wide_tree_needs_few_descriptors() {
    let run = "ulimit -n 200 && exec \"$0\" --exact trees::with_few_descriptors --ignored";
    let status = std::process::Command::new("sh")
        .args(["-c", run])
        .arg(std::env::current_exe().expect("this"))
        .status();
    assert!(status.expect("it runs").success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_wide_tree_needs_few_descriptors, with a limit of its own"]
async fn with_few_descriptors() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = scratch.subdirectory("wide");
    for n in 0..FOLDERS {
        fs::create_dir(top.join(n.to_string())).expect("created");
        fs::write(top.join(n.to_string()).join("file"), n.to_string()).expect("written");
    }
    let report = sent(everything(&service, &[&top])).await;
    assert!(report.error.is_none(), "{:?}", report.error);
    assert_eq!(
        (report.sent_files, report.failures.len()),
        (FOLDERS as u64, 0)
    );
    let listing = list(service.client(), None, true).await.expect("listed");
    assert_eq!(listing.entries.len(), 1 + 2 * FOLDERS);
    assert!(listing.unread.is_empty());
    let here = scratch.subdirectory("here");
    let report = fetched(&service, &["wide"], &here, false).await;
    assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
    assert_eq!(content(&here).len(), 1 + 2 * FOLDERS);
    service.stop().await;
}
