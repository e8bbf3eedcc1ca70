//! A user with a quota sends directories.

use super::scene::Scene;
use crate::client::{Outcome, RemoveOptions, TreeOptions, TreeReport, remove, send_tree, transfer};
use crate::error::Error;
use crate::scratch_directory::file_names;
use crate::server::users::User;
use crate::simulated::network;
use crate::wire::Reason;
use std::fs;
use std::future::pending;
use std::os::unix::fs::symlink;

/// What the user's files may take, bytes.
const QUOTA: u64 = 5_000_000;
/// The size of a small file, bytes.
const SIZE: usize = 250_000;

/// Sends a directory with this name and so many files, each with this byte as its content.
async fn send(scene: &Scene, name: &str, files: usize, content: u8) -> TreeReport {
    let tree = scene.scratch.subdirectory(name);
    for n in 0..files {
        fs::write(tree.join(format!("{name}-{n}")), [content; SIZE]).expect("written");
    }
    let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
    send_tree(options, |_| (), pending()).await
}

/// What the stored files take, bytes.
fn stored(scene: &Scene) -> u64 {
    let stored = scene.scratch.path().join("stored");
    let visible = file_names(&stored)
        .into_iter()
        .filter(|name| !name.starts_with('.'));
    let size = |name| fs::metadata(stored.join(name)).expect("there").len();
    visible.map(size).sum()
}

fn is_over_quota(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::Refused(refusal)) if refusal.reason == Reason::Quota)
}

/// The old files make room for the new ones, one after the other.
#[test]
fn a_tree_that_replaces_another_needs_no_room_for_both() {
    Scene::play(Some(QUOTA), async |scene: Scene| {
        for round in 1..=3 {
            let report = send(&scene, "tree", 12, round).await;
            assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
            assert_eq!(report.sent_files, 12);
        }
    });
}

#[test]
fn files_of_a_tree_count() {
    Scene::play(Some(QUOTA), async |scene: Scene| {
        let report = send(&scene, "tree", 12, 1).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        let file = scene.scratch.file("more", 2_100_000);
        let report = transfer(scene.send(&file, None), |_| (), pending()).await;
        assert!(is_over_quota(report.result.as_ref().err()), "{report:?}");
        let file = scene.scratch.file("less", 1_800_000);
        let report = transfer(scene.send(&file, None), |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
    });
}

/// Each of them fits alone.
#[test]
fn trees_at_once_share_the_quota() {
    Scene::play(Some(QUOTA), async |scene: Scene| {
        let (a, b) = tokio::join!(send(&scene, "a", 12, 1), send(&scene, "b", 12, 2));
        assert!(is_over_quota(a.error.as_ref()) || is_over_quota(b.error.as_ref()));
        assert!(stored(&scene) <= QUOTA, "{}", stored(&scene));
    });
}

/// Also where files exist already, so that only the client knows what it would send.
#[test]
fn a_tree_that_does_not_fit_is_refused_before_it_is_sent() {
    for there in [false, true] {
        Scene::play(Some(QUOTA), async |scene: Scene| {
            if there {
                scene.scratch.file("stored/there", 10);
            }
            let report = send(&scene, "tree", 24, 1).await;
            assert!(is_over_quota(report.error.as_ref()), "{report:?}");
            assert!(stored(&scene) <= 10, "{}", stored(&scene));
            let (datagrams, _) = network::sent();
            assert!(datagrams < 1000, "{datagrams}");
        });
    }
}

/// The user has a quota and may remove files.
fn removing(user: &mut User) {
    user.quota = Some(QUOTA);
    user.rights.remove = true;
}

/// What a directory or a link frees when it is removed, it took when it was made.
#[test]
fn directories_and_links_that_come_and_go_free_no_quota() {
    Scene::play_for(removing, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for n in 0..300 {
            scene.scratch.subdirectory(&format!("tree/d/{n}"));
            symlink("0", tree.join(format!("d/link-{n}"))).expect("linked");
        }
        for _ in 0..4 {
            let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
            let report = send_tree(options, |_| (), pending()).await;
            assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
            let options = RemoveOptions {
                client: scene.client(None),
                path: "d".parse().expect("a path"),
                recursive: true,
            };
            assert_eq!(remove(options, pending()).await.ok(), Some(Some(601)));
        }
        for (size, fits) in [(QUOTA as usize, false), (QUOTA as usize - 10_000, true)] {
            let file = scene.scratch.file(&format!("{size}"), size);
            let report = transfer(scene.send(&file, None), |_| (), pending()).await;
            assert_eq!(
                report.outcome == Outcome::Stored,
                fits,
                "{:?}",
                report.result
            );
        }
    });
}

/// What a removal has removed before it fails does not count any more.
#[test]
fn a_removal_that_fails_in_the_middle_frees_what_is_gone() {
    Scene::play_for(removing, async |scene: Scene| {
        for n in 0..12 {
            scene.scratch.subdirectory("stored/d");
            scene.scratch.file(&format!("stored/d/{n}"), SIZE);
        }
        // The server's own; it keeps its directory.
        let own = format!("stored/d/.whimbrel-{}.part", "0".repeat(32));
        scene.scratch.file(&own, 0);
        let send = async |name: &str, size| {
            let file = scene.scratch.file(name, size);
            transfer(scene.send(&file, None), |_| (), pending()).await
        };
        let report = send("less", 10).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        let options = RemoveOptions {
            client: scene.client(None),
            path: "d".parse().expect("a path"),
            recursive: true,
        };
        let removed = remove(options, pending()).await;
        removed.expect_err("it is not empty");
        let report = send("more", 4_500_000).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
    });
}
