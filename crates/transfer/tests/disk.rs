//! A full disk: both sides report it, and no file is left.
//!
//! The test needs a small file system and therefore the right to mount one. It runs itself again in
//! a separate mount namespace, and is skipped where that is not allowed.

mod common;

use common::scratch_directory::file_names;
use common::{ScratchDirectory, Service, limits, upload};
use std::path::PathBuf;
use std::process::Command;
use whimbrel_transfer::{Error, Event, Reason};

const SMALL: &str = "WHIMBREL_TEST_SMALL_DISK";

#[test]
fn both_sides_report_a_full_disk_and_no_file_is_left() {
    let scratch = ScratchDirectory::new();
    let disk = scratch.subdirectory("disk");
    let script =
        "mount -t tmpfs -o size=4m none \"$1\" || exit 77; exec \"$2\" --exact child --ignored";
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
    service.stop().await;
}
