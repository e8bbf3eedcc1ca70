//! A full disk: both sides report it, and no file is left.
//!
//! The test needs a small file system and therefore the right to mount one. It runs itself again in
//! a separate mount namespace, and is skipped where that is not allowed.

use crate::common::scratch_directory::file_names;
use crate::common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, upload};
use std::path::{Path, PathBuf};
use std::process::Command;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::{
    Error, Event, GetOptions, Reason, RemotePath, SendOptions, SendSource, TreeOptions, get,
    send_tree,
};

const SMALL: &str = "WHIMBREL_TEST_SMALL_DISK";

#[test]
fn both_sides_report_a_full_disk_and_no_file_is_left() {
    let scratch = ScratchDirectory::new();
    let disk = scratch.subdirectory("disk");
    let script = "mount -t tmpfs -o size=4m none \"$1\" || exit 77
        exec \"$2\" --exact disk::child --ignored";
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&disk)
        .arg(std::env::current_exe().expect("this"))
        .env(SMALL, &disk)
        .status();
    match status.map(|s| s.code()) {
        Ok(Some(0)) => {}
        Ok(Some(1 | 77)) if file_names(&disk).is_empty() && !may_mount() => {
            eprintln!("skipped: no right to mount")
        }
        other => panic!("{other:?}"),
    }
}

fn may_mount() -> bool {
    let status = Command::new("unshare").args(["--mount", "true"]).status();
    status.is_ok_and(|s| s.success())
}

/// Not a test by itself: the part that runs on the small disk.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by both_sides_report_a_full_disk_and_no_file_is_left"]
async fn child() {
    let Some(disk) = std::env::var_os(SMALL).map(PathBuf::from) else {
        return;
    };
    let scratch = ScratchDirectory::new();
    let mut service = Service::in_directory(&scratch, disk.clone(), limits(), false);
    upload(service.options(&scratch.file("fits", 1_000_000)))
        .await
        .expect("stored");
    let Event::Stored { .. } = service.event().await else {
        panic!("not stored")
    };
    let error = upload(service.options(&scratch.file("large", 8_000_000)))
        .await
        .expect_err("full");
    let Error::Refused(refusal) = error else {
        panic!("not refused: {error}")
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
    assert!(refusal.text.contains("8 MB"), "{}", refusal.text);
    let Event::Failed { error, .. } = service.event().await else {
        panic!("not failed")
    };
    assert!(error.to_string().contains("left"), "{error}");
    assert_eq!(file_names(&disk), ["fits"]);
    // Each of the two files fits alone: the disk fills up while they are written.
    let (first, second) = (
        scratch.file("first", 2_500_000),
        scratch.file("second", 2_500_000),
    );
    let (first, second) = tokio::join!(
        upload(service.options(&first)),
        upload(service.options(&second))
    );
    for refused in [first, second].into_iter().filter_map(Result::err) {
        let Error::Refused(refusal) = refused else {
            panic!("not refused: {refused}")
        };
        assert_eq!(refusal.reason, Reason::DiskFull);
        assert!(
            !service.directory.join("second").exists() || !service.directory.join("first").exists()
        );
    }
    for name in ["first", "second"] {
        std::fs::remove_file(disk.join(name)).ok();
    }
    assert_eq!(file_names(&disk), ["fits"]);
    upload(service.options(&scratch.file("small", 1_000_000)))
        .await
        .expect("enough space");
    stream_onto(&service, &disk).await;
    tree_onto(&service, &scratch).await;
    service.stop().await;
    let parts = file_names(&disk);
    assert!(
        parts.iter().all(|name| !name.ends_with(".part")),
        "{parts:?}"
    );
    std::fs::remove_dir_all(disk.join("tree")).ok();
    get_onto(&scratch, &disk).await;
}

/// The size of a stream is known at its end, so the disk fills up while it is written.
async fn stream_onto(service: &Service, disk: &Path) {
    let before = file_names(disk);
    let content = std::io::Cursor::new(vec![7; 8_000_000]);
    let sending = SendOptions {
        name: Some("stream".to_owned()),
        ..SendOptions::new(service.client(), SendSource::stream(content))
    };
    let error = upload(sending).await.expect_err("full");
    let Error::Refused(refusal) = error else {
        panic!("not refused: {error}")
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
    // The server answers before it has removed the file.
    let removed = async {
        while file_names(disk) != before {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let removed = tokio::time::timeout(TEST_TIMEOUT, removed).await;
    assert!(removed.is_ok(), "{:?}", file_names(disk));
}

/// A tree whose files fit one by one, but not together: what arrived of those that are given up
/// does not stay.
async fn tree_onto(service: &Service, scratch: &ScratchDirectory) {
    let top = scratch.subdirectory("tree");
    for name in ["a", "b", "c", "d"] {
        std::fs::write(top.join(name), vec![name.as_bytes()[0]; 1_500_000]).expect("written");
    }
    let tree = TreeOptions::new(service.client(), vec![top]);
    let report = send_tree(tree, |_| (), std::future::pending()).await;
    let Some(Error::Refused(refusal)) = report.error else {
        panic!("not full: {:?}", report.error)
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
}

/// The disk of a client that gets files is full: it says whose disk, and ends no other transfer.
async fn get_onto(scratch: &ScratchDirectory, disk: &Path) {
    let rights = Rights {
        read: true,
        ..Rights::default()
    };
    let service = Service::with_rights(scratch, rights);
    let size = |n: usize| vec![n as u8; n];
    std::fs::write(service.directory.join("large"), size(8_000_000)).expect("written");
    std::fs::write(service.directory.join("other"), size(300_000)).expect("written");
    let before = file_names(disk);
    let fetch = |names: &[&str]| {
        let path = |name: &&str| Some(RemotePath::new(name).expect("a path"));
        let names = names.iter().map(path).collect();
        let options = GetOptions::new(service.client(), names, disk.to_owned());
        get(options, |_| (), std::future::pending())
    };
    let report = fetch(&["large"]).await;
    let Some(Error::Here(refusal)) = report.error else {
        panic!("not full: {:?}", report.error)
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
    assert!(refusal.text.contains("the disk here"), "{}", refusal.text);
    assert_eq!(file_names(disk), before, "nothing is left");
    // A version here makes the new one no cheaper: both are there until one replaces the other.
    std::fs::write(disk.join("middle"), size(1_000_000)).expect("written");
    std::fs::write(service.directory.join("middle"), size(1_500_000)).expect("written");
    let path = Some(RemotePath::new("middle").expect("a path"));
    let options = GetOptions {
        overwrite: true,
        ..GetOptions::new(service.client(), vec![path], disk.to_owned())
    };
    let report = get(options, |_| (), std::future::pending()).await;
    let Some(Error::Here(refusal)) = report.error else {
        panic!("not full: {report:?}")
    };
    assert!(refusal.text.starts_with("1.5 MB more"), "{}", refusal.text);
    assert_eq!(report.received_bytes, 0);
    std::fs::remove_file(disk.join("middle")).expect("here");
    assert_eq!(file_names(disk), before, "nothing is left");
    // A file that cannot be stored does not end the connection of the others.
    std::fs::create_dir(disk.join("other")).expect("made");
    std::fs::write(disk.join("other/x"), "x").expect("written");
    std::fs::write(service.directory.join("third"), size(400_000)).expect("written");
    let report = fetch(&["other", "third"]).await;
    assert!(report.error.is_none(), "{:?}", report.error);
    assert_eq!(report.retries, 0);
    let [(name, why)] = &report.failures[..] else {
        panic!("one failure: {:?}", report.failures)
    };
    assert!(
        name == "other" && why.contains("is a directory here"),
        "{name}: {why}"
    );
    assert_eq!(
        std::fs::read(disk.join("third")).expect("here"),
        size(400_000)
    );
    service.stop().await;
}
