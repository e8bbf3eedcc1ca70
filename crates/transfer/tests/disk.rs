//! A disk that fills up: both sides say so, and nothing is left.
//!
//! Needs a small file system, hence the right to mount one. The test runs itself again in a mount namespace of
//! its own and is skipped where that is not allowed.

mod common;

use common::{Scratch, Service, bring, limits, names};
use std::path::PathBuf;
use std::process::Command;
use whimbrel_transfer::{Error, Event, Reason};

const SMALL: &str = "WHIMBREL_TEST_SMALL_DISK";

#[test]
fn a_full_disk_is_told_to_both_sides_and_leaves_nothing() {
    let scratch = Scratch::new();
    let disk = scratch.sub("disk");
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
        Ok(Some(1 | 77)) if names(&disk).is_empty() && !may_mount() => {
            eprintln!("skipped: may not mount")
        }
        other => panic!("{other:?}"),
    }
}

fn may_mount() -> bool {
    let status = Command::new("unshare").args(["--mount", "true"]).status();
    status.is_ok_and(|s| s.success())
}

/// Not a test of its own: what is done on the small disk.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_full_disk_is_told_to_both_sides_and_leaves_nothing"]
async fn child() {
    let Some(disk) = std::env::var_os(SMALL).map(PathBuf::from) else {
        return;
    };
    let scratch = Scratch::new();
    let mut service = Service::in_directory(&scratch, disk.clone(), limits(), false);
    bring(service.options(&scratch.file("fits", 1_000_000)))
        .await
        .expect("stored");
    let Event::Stored { .. } = service.event().await else {
        panic!("not stored")
    };
    let error = bring(service.options(&scratch.file("large", 8_000_000)))
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
    assert_eq!(names(&disk), ["fits"]);
    // Two that fit one by one: the disk fills up while they are written.
    let (first, second) = (
        scratch.file("first", 2_500_000),
        scratch.file("second", 2_500_000),
    );
    let (first, second) = tokio::join!(
        bring(service.options(&first)),
        bring(service.options(&second))
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
    assert_eq!(names(&disk), ["fits"]);
    bring(service.options(&scratch.file("small", 1_000_000)))
        .await
        .expect("there is room for this");
    service.stop().await;
}
