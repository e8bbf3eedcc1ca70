//! Mirrors remove nothing unless everything else is as it should be.

use crate::common::trees::{everything, got, may_read, sent, sent_with_news, to_get};
use crate::common::{ScratchDirectory, Service, visible};
use std::fs;
use whimbrel_transfer::{DeleteOptions, Error, GetOptions, Outcome, TreeOptions};

/// Removes any number.
const DELETE: Option<DeleteOptions> = Some(DeleteOptions { max: None });

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_on_the_server_removes_nothing_if_a_file_failed() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let top = scratch.subdirectory("tree");
    fs::write(top.join("a"), "new").expect("written");
    fs::write(top.join("b"), "b").expect("written");
    let there = service.directory.join("tree");
    fs::create_dir(&there).expect("created");
    // It must stay, so the new one fails.
    fs::write(there.join("a"), "older").expect("written");
    fs::write(there.join("extra"), "extra").expect("written");
    let mirror = || TreeOptions {
        delete: DELETE,
        ..everything(&service, &[&top])
    };
    let (report, stored) = sent_with_news(mirror()).await;
    assert!(
        matches!(report.error, Some(Error::NothingRemoved { .. })),
        "{report:?}"
    );
    assert_eq!((report.removed, report.outcome), (0, Outcome::NotStored));
    assert_eq!(visible(&there), ["a", "b", "extra"]);
    assert_eq!(stored, ["tree/b"], "and a is not said to be stored");
    fs::remove_file(there.join("a")).expect("removed");
    let report = sent(mirror()).await;
    assert_eq!((report.removed, report.outcome), (1, Outcome::Stored));
    assert_eq!(visible(&there), ["a", "b"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_here_removes_nothing_if_a_file_failed() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let there = service.directory.join("tree");
    fs::create_dir(&there).expect("created");
    fs::write(there.join("a"), "new").expect("written");
    fs::write(there.join("b"), "b").expect("written");
    let here = scratch.subdirectory("here");
    fs::create_dir(here.join("tree")).expect("created");
    fs::write(here.join("tree/a"), "older").expect("written");
    fs::write(here.join("tree/extra"), "extra").expect("written");
    let mirror = || GetOptions {
        delete: DELETE,
        ..to_get(&service, &["tree"], &here)
    };
    let report = got(mirror()).await;
    assert!(
        matches!(report.error, Some(Error::NothingRemoved { .. })),
        "{report:?}"
    );
    assert_eq!((report.removed, report.outcome), (0, Outcome::NotStored));
    assert_eq!(visible(&here.join("tree")), ["a", "b", "extra"]);
    fs::remove_file(here.join("tree/a")).expect("removed");
    let report = got(mirror()).await;
    assert_eq!((report.removed, report.outcome), (1, Outcome::Stored));
    assert_eq!(visible(&here.join("tree")), ["a", "b"]);
    service.stop().await;
}
