//! What becomes of files that are here already when a client gets them.

use crate::common::scratch_directory::file_names;
use crate::common::trees::{fetched, may_read};
use crate::common::{ScratchDirectory, Service};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use whimbrel_transfer::Outcome;

/// Larger than files that come in packs.
const LARGE: usize = 3_000_000;

fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = fs::File::options().write(true).open(path).expect("there");
    file.set_modified(time).expect("set");
}

/// It could not be stored, so its data would be received for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_received_of_a_file_that_must_stay() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    fs::write(service.directory.join("large"), vec![1; LARGE]).expect("written");
    let here = scratch.subdirectory("here");
    for mine in [vec![2; 10], vec![2; LARGE]] {
        fs::write(here.join("large"), &mine).expect("written");
        set_time(&here.join("large"), 1_000_000_000);
        let report = fetched(&service, &["large"], &here, false).await;
        let [(name, why)] = &report.failures[..] else {
            panic!("{report:?}")
        };
        assert!(name == "large" && why.contains("exists"), "{why}");
        assert_eq!(report.outcome, Outcome::NotStored);
        assert_eq!((report.received_bytes, report.resumed_bytes), (0, 0));
        assert_eq!(fs::read(here.join("large")).expect("here"), mine);
        assert_eq!(file_names(&here), ["large"]);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_same_size_is_the_same_by_its_time_or_its_hash_only() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let here = scratch.subdirectory("here");
    // The small ones come in packs.
    for (name, size) in [("a", 10), ("b", 10), ("large", LARGE)] {
        let there = service.directory.join(name);
        fs::write(&there, vec![1; size]).expect("written");
        set_time(&there, 1_000_000_000);
        // A second later, and a nanosecond.
        fs::write(here.join(name), vec![2; size]).expect("written");
        set_time(&here.join(name), 1_000_000_001);
    }
    let soon = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 1);
    let file = fs::File::options().write(true).open(here.join("b"));
    file.and_then(|b| b.set_modified(soon)).expect("set");
    let names = ["a", "b", "large"];
    let report = fetched(&service, &names, &here, true).await;
    assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
    assert_eq!(report.received_bytes, LARGE as u64 + 20);
    for name in names {
        let content = |top: &Path| fs::read(top.join(name)).expect("there");
        assert!(content(&here) == content(&service.directory), "{name}");
    }
    // The same content with another time: only its hash is needed.
    set_time(&here.join("large"), 1_000_000_002);
    let report = fetched(&service, &["large"], &here, true).await;
    assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
    assert_eq!(
        (report.received_bytes, report.resumed_bytes),
        (0, LARGE as u64)
    );
    service.stop().await;
}

/// They do not travel, but were not here before either.
#[tokio::test(flavor = "multi_thread")]
async fn holes_do_not_count_as_what_was_here() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, may_read());
    let here = scratch.subdirectory("here");
    let file = fs::File::create(service.directory.join("sparse")).expect("created");
    file.set_len(LARGE as u64).expect("set");
    drop(file);
    let report = fetched(&service, &["sparse"], &here, false).await;
    assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
    assert_eq!(report.resumed_bytes, 0);
    assert!(report.received_bytes < LARGE as u64, "{report:?}");
    let again = fetched(&service, &["sparse"], &here, false).await;
    assert_eq!(
        (again.received_bytes, again.resumed_bytes),
        (0, LARGE as u64)
    );
    service.stop().await;
}
