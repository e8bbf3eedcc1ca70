//! Single scenes: one client, its server, and a network that fails, in virtual time.

use super::scene::Scene;
use crate::client::{
    DeleteOptions, Filter, GetOptions, GetReport, ListOptions, Outcome, RemoveOptions, SendOptions,
    TreeOptions, Update, get, list, remove, send_tree, transfer,
};
use crate::connection::pair::link;
use crate::credentials::known_paths::KnownPaths;
use crate::error::Error;
use crate::file_sender::SMALL;
use crate::lock::lock;
use crate::path::RemotePath;
use crate::scratch_directory::{Unprivileged, file_names};
use crate::server::users::{Rights, User, Users};
use crate::server::{Event, ServeOptions};
use crate::simulated::calls::{self, World};
use crate::simulated::disk::{Disk, Order};
use crate::simulated::network::{self, CLIENT, SERVER};
use crate::simulated::random::Random;
use crate::simulated::slow;
use crate::storage::{Lock, Storage, StorageOptions};
use crate::wire::Reason;
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::sleep;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Duration as Span, Rate};

/// Counts the bytes that have arrived, of the attempt that has brought the most.
fn count(bytes: &Cell<u64>, update: &Update) {
    if let Update::Progress(progress) = update {
        bytes.set(bytes.get().max(progress.bytes));
    }
}

/// Waits until so many bytes have arrived.
async fn arrived(arrived: &Cell<u64>, bytes: u64) {
    while arrived.get() < bytes {
        sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn many_outages_with_progress_between_them_end_no_transfer() {
    Scene::play(None, async |scene: Scene| {
        const SIZE: u64 = 6_000_000;
        let file = scene.scratch.file("a", SIZE as usize);
        let bytes = Cell::new(0);
        let waits = RefCell::new(Vec::new());
        let on_update = |update| {
            count(&bytes, &update);
            if let Update::Interrupted { wait, .. } = update {
                waits.borrow_mut().push((bytes.get(), wait));
            }
        };
        let outages = async {
            for n in 1..=4 {
                arrived(&bytes, n * 1_200_000).await;
                network::set_dark(SERVER, true);
                sleep(Duration::from_secs(40)).await;
                network::set_dark(SERVER, false);
            }
        };
        // Less than all outages together.
        let options = scene.send(&file, Some(Span::from_secs(80)));
        let sending = transfer(options, on_update, pending());
        let (report, ()) = tokio::join!(sending, outages);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        assert!(report.resumed_bytes < SIZE, "{}", report.resumed_bytes);
        assert!(report.sent_bytes < 2 * SIZE, "{}", report.sent_bytes);
        // The summary is that of all connections.
        let summary = report.result.expect("stored");
        assert!(summary.seconds > 160.0, "{} s", summary.seconds);
        assert!(
            summary.sent_packets > SIZE / 1452,
            "{}",
            summary.sent_packets
        );
        // The first attempt after each outage is made soon.
        let mut before = 0;
        for (at, wait) in waits.into_inner() {
            if at > before + 500_000 {
                assert!(wait < Span::from_secs(1), "{wait} after {at} bytes");
            } else {
                // What an attempt has done does not count for the next one.
                assert!(wait > Span::from_millis(700), "{wait} after {at} bytes");
            }
            before = at;
        }
        assert!(before > 4_000_000, "{before}");
    });
}

#[test]
fn what_happens_to_paths_and_hosts_meanwhile_ends_no_transfer() {
    type Event = (&'static str, fn(bool));
    let all: [Event; 5] = [
        ("packets of more than 1280 bytes vanish", |on| {
            network::set_largest(if on { 1280 } else { u32::MAX });
        }),
        ("every fifth is doubled, late or damaged", |on| {
            network::set_mangles(if on { 5 } else { 0 });
        }),
        ("the server gets no processor", |on| {
            network::set_stalled(SERVER, on);
        }),
        ("the client gets none", |on| {
            network::set_stalled(CLIENT, on)
        }),
        ("the client is elsewhere", |on| {
            network::move_host(CLIENT, on)
        }),
    ];
    for (what, happens) in all {
        Scene::play(None, async |scene: Scene| {
            const SIZE: u64 = 6_000_000;
            let file = scene.scratch.file("a", SIZE as usize);
            let bytes = Cell::new(0);
            let meanwhile = async {
                arrived(&bytes, SIZE / 3).await;
                happens(true);
                sleep(Duration::from_secs(4)).await;
                happens(false);
            };
            let options = scene.send(&file, Some(Span::from_secs(80)));
            let sending = transfer(options, |update| count(&bytes, &update), pending());
            let (report, ()) = tokio::join!(sending, meanwhile);
            assert_eq!(
                report.outcome,
                Outcome::Stored,
                "{what}: {:?}",
                report.result
            );
            assert_eq!(report.retries, 0, "{what}");
        });
    }
}

/// A file that was compared and found different is not stored before it is sent.
#[test]
fn a_file_that_differed_and_was_not_sent_is_said_not_to_be_stored() {
    Scene::play(None, async |scene: Scene| {
        let file = scene.scratch.file("a", 8_000_000);
        let other = scene.scratch.file("stored/a", 8_000_000);
        // As long, as old, and not the same.
        for path in [&file, &other] {
            let opened = std::fs::File::options().write(true).open(path);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            opened.expect("opened").set_modified(time).expect("set");
        }
        let bytes = Cell::new(0);
        let on_update = |update| count(&bytes, &update);
        let outage = async {
            arrived(&bytes, 1_000_000).await;
            network::set_dark(SERVER, true);
        };
        // So that the end has not been announced when the connection is given up.
        let options = SendOptions {
            bandwidth: Some(Rate::from_bits_per_sec(4_000_000)),
            ..scene.send(&file, None)
        };
        let sending = transfer(options, on_update, pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert!(report.result.is_err());
        assert_eq!(report.outcome, Outcome::NotStored);
    });
}

#[test]
fn a_stream_whose_answer_was_lost_is_stored_and_not_sent_again() {
    Scene::play(None, async |scene: Scene| {
        let outage = async {
            scene.stores_unheard(3_000_000).await;
            network::set_dark(SERVER, false);
        };
        let sending = transfer(scene.stream(3_000_000), |_| (), pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        assert!(
            report.retries > 0 && report.sent_bytes == 3_000_000,
            "{report:?}"
        );
    });
}

/// A busy life (seed 52) found this: the client reported `not stored`.
#[test]
fn a_file_whose_answer_was_lost_may_be_stored_though_the_next_attempt_is_refused() {
    Scene::play(None, async |scene: Scene| {
        let outage = async {
            scene.stores_unheard(3_000_000).await;
            // Meanwhile the user loses the right to store anything.
            let reads = Rights {
                read: true,
                ..Rights::default()
            };
            let reader = User::owner(scene.identity.token(), reads, Priority::HIGHEST);
            scene.server.set_users(Users::new([reader]));
            network::set_dark(SERVER, false);
        };
        let sending = transfer(scene.stream(3_000_000), |_| (), pending());
        let (report, ()) = tokio::join!(sending, outage);
        let Err(Error::Refused(refusal)) = &report.result else {
            panic!("{:?}", report.result)
        };
        assert_eq!(refusal.reason, Reason::Rights);
        assert_eq!(report.outcome, Outcome::Unknown);
    });
}

/// The server finds the file, and cannot flush it. Busy lives (seeds 4203 and 4473 with pauses of
/// 300 s) found this: the client reported `not stored`.
#[test]
fn a_file_whose_answer_was_lost_may_be_stored_though_the_disk_is_full_now() {
    Scene::play(None, async |scene: Scene| {
        let outage = async {
            scene.stores_unheard(3_000_000).await;
            let disk = Disk::new(Order::Journal, &scene.scratch.path().join("stored"));
            calls::replace(Some(World::new(disk, Random::new(0))));
            calls::with(|world| world.full = true);
            network::set_dark(SERVER, false);
        };
        let sending = transfer(scene.stream(3_000_000), |_| (), pending());
        let (report, ()) = tokio::join!(sending, outage);
        calls::replace(None);
        let Err(Error::Refused(refusal)) = &report.result else {
            panic!("{:?}", report.result)
        };
        assert_eq!(refusal.reason, Reason::Internal, "{refusal}");
        assert_eq!(report.outcome, Outcome::Unknown);
    });
}

#[test]
fn a_removal_whose_answer_was_lost_is_no_failure() {
    let removes = |user: &mut User| user.rights.remove = true;
    Scene::play_for(removes, async |scene: Scene| {
        let removal = || RemoveOptions {
            client: scene.client(Some(Span::from_secs(60))),
            path: "a".parse().expect("a path"),
            recursive: false,
        };
        let there = scene.scratch.file("stored/a", 10);
        let outage = async {
            // The server removes the file while its answers are lost.
            slow::set(Duration::from_secs(4));
            sleep(Duration::from_secs(1)).await;
            network::set_dark(SERVER, true);
            assert!(there.exists(), "too late");
            sleep(Duration::from_secs(20)).await;
            assert!(!there.exists(), "too early");
            network::set_dark(SERVER, false);
        };
        let (removed, ()) = tokio::join!(remove(removal(), pending()), outage);
        assert_eq!(removed.expect("removed"), None);
        // It was not there before the first attempt.
        let again = remove(removal(), pending()).await;
        assert!(
            matches!(&again, Err(Error::Refused(refusal)) if refusal.reason == Reason::Missing),
            "{again:?}"
        );
    });
}

/// The server flushes the files that an attempt found when that attempt ends. If the machine
/// crashes before, they may be gone, and the next attempt must ask again. A busy life (seed 1811
/// with pauses of 300 s) found this.
#[test]
fn a_file_of_a_tree_that_was_found_and_lost_again_is_not_said_to_be_stored() {
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        scene.scratch.file("tree/a", 10);
        let options = || {
            let client = scene.client(Some(Span::from_secs(80)));
            TreeOptions::new(client, vec![tree.join("")])
        };
        let report = send_tree(options(), |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
        scene.scratch.file("tree/b", 3_000_000);
        let there = scene.scratch.path().join("stored/a");
        let bytes = Cell::new(0);
        let outage = async {
            arrived(&bytes, 1_000_000).await;
            network::set_dark(SERVER, true);
            std::fs::remove_file(&there).expect("it was found");
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        };
        let sending = send_tree(options(), |update| count(&bytes, &update), pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
        assert!(report.retries > 0 && there.exists(), "{report:?}");
        assert_eq!((report.sent_files, report.unchanged_files), (2, 0));
    });
}

#[test]
fn a_stream_of_which_the_server_lost_a_part_is_said_to_be_lost() {
    Scene::play(None, async |scene: Scene| {
        let bytes = Cell::new(0);
        let on_update = |update| count(&bytes, &update);
        let outage = async {
            arrived(&bytes, 2_000_000).await;
            network::set_dark(SERVER, true);
            for name in file_names(&scene.scratch.path().join("stored")) {
                let path = scene.scratch.path().join("stored").join(name);
                std::fs::remove_file(path).expect("removed");
            }
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        };
        let sending = transfer(scene.stream(3_000_000), on_update, pending());
        let (report, ()) = tokio::join!(sending, outage);
        let Err(Error::Refused(refusal)) = &report.result else {
            panic!("not refused: {:?}", report.result)
        };
        assert_eq!(refusal.reason, Reason::Corrupt, "{refusal}");
        assert_eq!(report.outcome, Outcome::NotStored);
    });
}

/// A thread of a transfer that has just ended may still use its file.
#[test]
fn the_file_of_a_transfer_that_has_just_ended_is_waited_for() {
    Scene::play(None, async |scene: Scene| {
        let stored = scene.scratch.path().join("stored");
        let storage = Storage::open(&stored, StorageOptions::default()).expect("opened");
        let name = RemotePath::new("a").expect("a path");
        for (held, stored) in [(2, true), (20, false)] {
            let file = scene.scratch.file("a", 1000 * held as usize);
            let Ok(Lock::Ours(used)) = storage.partial(User::OWNER, &name) else {
                panic!("it is free")
            };
            let release = async {
                sleep(Duration::from_secs(held)).await;
                drop(used);
            };
            let sending = transfer(scene.send(&file, None), |_| (), pending());
            let (report, ()) = tokio::join!(sending, release);
            assert_eq!(report.result.is_ok(), stored, "{:?}", report.result);
        }
    });
}

/// Gets files, while the network fails `outages` times. In each of them `work` is done.
async fn got(
    scene: &Scene,
    names: &[&str],
    rate: Option<Rate>,
    (outages, work): (u64, impl Fn(u64)),
) -> GetReport {
    let path = |name: &&str| Some(RemotePath::new(name).expect("a path"));
    let options = GetOptions {
        bandwidth: rate,
        ..GetOptions::new(
            scene.client(Some(Span::from_secs(80))),
            names.iter().map(path).collect(),
            scene.scratch.subdirectory("got"),
        )
    };
    let bytes = Cell::new(0);
    let on_update = |update| count(&bytes, &update);
    let outages = async {
        for n in 1..=outages {
            arrived(&bytes, n * 1_300_000).await;
            network::set_dark(SERVER, true);
            work(n);
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        }
    };
    let (report, ()) = tokio::join!(get(options, on_update, pending()), outages);
    report
}

/// While they are created the client has no request open, for longer than the server keeps such a
/// connection.
#[test]
fn directories_are_created_here_however_long_that_takes() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.subdirectory("stored/tree/empty");
        scene.scratch.file("stored/tree/file", 1000);
        let tree = vec![Some(RemotePath::new("tree").expect("a path"))];
        let client = scene.client(Some(Span::from_secs(80)));
        let options = GetOptions::new(client, tree, scene.scratch.subdirectory("got"));
        let file = scene.scratch.path().join("got/tree/file");
        let slow_down = async {
            while !file.exists() {
                sleep(Duration::from_millis(1)).await;
            }
            slow::set(Duration::from_secs(3000));
        };
        let (report, ()) = tokio::join!(get(options, |_| (), pending()), slow_down);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!(report.seconds > 180.0, "{} s", report.seconds);
        assert!(scene.scratch.path().join("got/tree/empty").is_dir());
    });
}

/// The server hears of a file that must stay, and the connection goes on.
#[test]
fn a_file_that_cannot_be_stored_here_disturbs_no_other() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 2_000_000);
        scene.scratch.file("stored/b", 4_000_000);
        scene.scratch.subdirectory("got");
        scene.scratch.file("got/a", 1_000_000);
        let report = got(&scene, &["a", "b"], None, (0, |_| ())).await;
        assert_eq!((report.failures.len(), report.stored_files), (1, 1));
        assert_eq!(report.retries, 0, "{report:?}");
    });
}

/// For longer than a silent connection lives.
#[test]
fn a_client_waits_while_the_server_stores() {
    Scene::play(None, async |scene: Scene| {
        let file = scene.scratch.file("a", 1000);
        slow::set(Duration::from_secs(20));
        let report = transfer(scene.send(&file, None), |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        assert_eq!(report.retries, 0);
    });
}

#[test]
fn what_is_in_an_excluded_directory_is_not_got() {
    Scene::play(None, async |scene: Scene| {
        for directory in ["stored/tree", "stored/tree/closed"] {
            scene.scratch.subdirectory(directory);
            scene.scratch.file(&format!("{directory}/file"), 10);
        }
        let tree = vec![Some(RemotePath::new("tree").expect("a path"))];
        let options = GetOptions {
            filter: Filter::new(&[], &["closed".to_owned()]).expect("a pattern"),
            ..GetOptions::new(scene.client(None), tree, scene.scratch.subdirectory("got"))
        };
        let report = get(options, |_| (), pending()).await;
        assert_eq!((report.files, report.outcome), (1, Outcome::Stored));
        assert!(!scene.scratch.path().join("got/tree/closed").exists());
    });
}

#[test]
fn a_link_that_cannot_be_made_here_is_reported() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.subdirectory("stored/tree");
        let link = scene.scratch.path().join("stored/tree/link");
        std::os::unix::fs::symlink("file", link).expect("made");
        scene.scratch.subdirectory("got");
        scene.scratch.subdirectory("got/tree");
        scene.scratch.file("got/tree/link", 10);
        let report = got(&scene, &["tree"], None, (0, |_| ())).await;
        let failed: Vec<_> = report.failures.iter().map(|(path, _)| path).collect();
        assert_eq!(failed, ["tree/link"]);
        assert_eq!(report.outcome, Outcome::NotStored, "{report:?}");
    });
}

#[test]
fn a_file_that_does_not_fit_the_quota_leaves_nothing() {
    Scene::play(Some(1_000_000), async |scene: Scene| {
        let file = scene.scratch.file("a", 4_000_000);
        let report = transfer(scene.send(&file, None), |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::NotStored, "{:?}", report.result);
        let left = file_names(&scene.scratch.path().join("stored"));
        assert!(left.is_empty(), "{left:?}");
    });
}

/// With one name here, too.
#[test]
fn of_two_files_with_one_name_the_first_is_got() {
    Scene::play(None, async |scene: Scene| {
        for directory in ["x", "y"] {
            scene.scratch.subdirectory(&format!("stored/{directory}"));
            scene
                .scratch
                .file(&format!("stored/{directory}/file"), 1000);
        }
        let names = ["x/file", "y/file", "x/file"];
        let report = got(&scene, &names, None, (0, |_| ())).await;
        assert_eq!(report.outcome, Outcome::NotStored, "{report:?}");
        let why = "it would have the same name here as `x/file`".to_owned();
        assert_eq!(report.failures, [("y/file".to_owned(), why)]);
        assert_eq!((report.files, report.stored_files), (1, 1));
        let content = |path| std::fs::read(scene.scratch.path().join(path)).expect("there");
        assert_eq!(content("got/file"), content("stored/x/file"));
    });
}

#[test]
fn what_was_got_before_an_outage_is_not_got_again() {
    Scene::play(None, async |scene: Scene| {
        let names = ["a", "b", "large"];
        for (name, size) in names.into_iter().zip([300_000, 300_000, 4_000_000]) {
            scene.scratch.file(&format!("stored/{name}"), size);
        }
        let got_at = |name| scene.scratch.path().join("got").join(name);
        // The user takes a file away that is complete.
        let taken = RefCell::new(Vec::new());
        let take = |outage| {
            if outage == 1 {
                *taken.borrow_mut() = std::fs::read(got_at("a")).expect("complete");
                std::fs::remove_file(got_at("a")).expect("removed");
            }
        };
        let report = got(&scene, &names, None, (3, take)).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!(report.retries >= 3, "{}", report.retries);
        assert!(report.received_bytes < 6_000_000, "{report:?}");
        // Nothing was there before, but for what came shortly before an outage and was not counted.
        assert!(report.resumed_bytes < 1_000_000, "{report:?}");
        assert!(!got_at("a").exists(), "it is got again");
        std::fs::write(got_at("a"), taken.into_inner()).expect("written");
        for name in names {
            let stored = scene.scratch.path().join("stored").join(name);
            let same = std::fs::read(got_at(name)).ok() == std::fs::read(stored).ok();
            assert!(same, "{name}");
        }
    });
}

#[test]
fn a_file_is_got_no_faster_than_wanted() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 4_000_000);
        let rate = Some(Rate::from_bits_per_sec(4_000_000));
        let report = got(&scene, &["a"], rate, (0, |_| ())).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!((7.0..12.0).contains(&report.seconds), "{}", report.seconds);
    });
}

#[test]
fn files_of_a_tree_whose_answers_were_lost_are_not_sent_again() {
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for n in 0..12 {
            scene.scratch.file(&format!("tree/{n}"), 250_000);
        }
        let stored = scene.scratch.path().join("stored");
        let outage = async {
            // Some files are written. They get their names while the answers are lost.
            slow::set(Duration::from_secs(2));
            let written = || {
                let mut names = file_names(&stored).into_iter();
                names.any(|name| {
                    name.ends_with(".tmp") && !file_names(&stored.join(name)).is_empty()
                })
            };
            while !written() {
                sleep(Duration::from_millis(1)).await;
            }
            network::set_dark(SERVER, true);
            sleep(Duration::from_secs(8)).await;
            network::set_dark(SERVER, false);
        };
        let client = scene.client(Some(Span::from_secs(80)));
        let options = TreeOptions::new(client, vec![tree.join("")]);
        let sending = send_tree(options, |_| (), pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert_eq!(report.sent_files + report.unchanged_files, 12);
        assert!(report.unchanged_files > 0, "{report:?}");
    });
}

#[test]
fn directories_in_directories_keep_their_times() {
    Scene::play(None, async |scene: Scene| {
        let directories = ["d/e/f", "d/e", "d"];
        let tree = scene.scratch.subdirectory("tree");
        scene.scratch.subdirectory("tree/d/e/f");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for name in directories {
            let opened = std::fs::File::open(tree.join(name)).expect("opened");
            opened.set_modified(time).expect("set");
        }
        let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
        let report = send_tree(options, |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        for name in directories {
            let found = std::fs::metadata(scene.scratch.path().join("stored").join(name));
            assert_eq!(found.expect("stored").modified().ok(), Some(time), "{name}");
        }
    });
}

#[test]
fn a_large_file_of_a_tree_that_cannot_be_stored_is_reported() {
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for (name, size) in [("small", 1000), ("large", 1_000_000), ("other", 1_000_000)] {
            scene.scratch.file(&format!("tree/{name}"), size);
        }
        // It is in the way.
        scene.scratch.subdirectory("stored/large/d");
        let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
        let report = send_tree(options, |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::NotStored);
        assert_eq!(
            (report.sent_files, report.failures.len()),
            (2, 1),
            "{report:?}"
        );
        for name in ["small", "other"] {
            assert!(
                scene.scratch.path().join("stored").join(name).is_file(),
                "{name}"
            );
        }
    });
}

/// What was got of an earlier, longer version is not the end of the present one.
#[test]
fn a_file_that_has_become_shorter_is_got_as_it_is() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 4_000_000);
        let shorten = |_| drop(scene.scratch.file("stored/a", 1_000_000));
        let report = got(&scene, &["a"], None, (1, shorten)).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        let content = |directory: &str| {
            let path = scene.scratch.path().join(directory).join("a");
            std::fs::read(path).expect("there")
        };
        assert!(content("got") == content("stored"));
    });
}

#[test]
fn a_file_that_always_changes_is_not_got_for_ever() {
    Scene::play(None, async |scene: Scene| {
        let stored = scene.scratch.file("stored/a", 1_000_000);
        let changing = async {
            for n in 0u64.. {
                sleep(Duration::from_millis(50)).await;
                let file = std::fs::File::options().write(true).open(&stored);
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(n);
                file.expect("opened").set_modified(time).expect("set");
            }
        };
        let getting = got(&scene, &["a"], None, (0, |_| ()));
        let report = tokio::select! {
            report = getting => report,
            () = changing => return,
            () = sleep(Duration::from_secs(600)) => panic!("it is got for ever"),
        };
        assert_eq!(report.outcome, Outcome::NotStored);
        assert!(!scene.scratch.path().join("got/a").exists());
    });
}

/// What lies behind a gap goes to its place at once, and all of it is sent once.
#[test]
fn a_file_arrives_over_a_path_with_loss_at_the_first_attempt() {
    Scene::play_with_loss(0.05, async |scene: Scene| {
        const SIZE: u64 = 6_000_000;
        let file = scene.scratch.file("a", SIZE as usize);
        let report = transfer(scene.send(&file, None), |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        assert_eq!((report.sent_bytes, report.resumed_bytes), (SIZE, 0));
    });
}

/// A server remembers what the path to a client carried (RFC 9959).
#[test]
fn the_second_get_over_a_satellite_ends_2_9_round_trips_sooner() {
    Scene::play_over(link(20_000_000, 300, 1_500_000), async |scene: Scene| {
        scene.scratch.file("stored/large", 20_000_000);
        scene.scratch.file("stored/small", 1_000_000);
        let get = async |name: &str, folder: &str| {
            let path = RemotePath::new(name).expect("a path");
            let into = scene.scratch.subdirectory(folder);
            let begun = tokio::time::Instant::now();
            let report = get(
                GetOptions::new(scene.client(None), vec![Some(path)], into),
                |_| (),
                pending(),
            )
            .await;
            assert_eq!((report.files, report.received_bytes > 0), (1, true));
            begun.elapsed()
        };
        let first = get("small", "a").await;
        get("large", "b").await;
        let again = get("small", "c").await;
        let saved = first.saturating_sub(again);
        assert!(
            saved > Duration::from_millis(29 * 60),
            "{first:?}, {again:?}"
        );
    });
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_wanted() {
    Scene::play(None, async |scene: Scene| {
        network::set_dark(SERVER, true);
        let mut options = scene.send(&scene.scratch.file("a", 10), None);
        options.client.connect = Span::from_secs(3);
        let begun = tokio::time::Instant::now();
        let report = transfer(options, |_| (), pending()).await;
        assert!(matches!(report.result, Err(Error::Connect { .. })));
        let took = begun.elapsed();
        assert!((3..4).contains(&took.as_secs()), "{took:?}");
    });
}

/// A client remembers what the path to a server carried.
#[test]
fn the_second_send_over_a_satellite_ends_a_round_trip_sooner() {
    Scene::play_over(link(20_000_000, 300, 1_500_000), async |scene: Scene| {
        let paths = KnownPaths::at(scene.scratch.path().join("paths"));
        let send = async |name: &str, size| {
            let mut options = scene.send(&scene.scratch.file(name, size), None);
            options.client.known_paths = Some(paths.clone());
            let begun = tokio::time::Instant::now();
            let report = transfer(options, |_| (), pending()).await;
            assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
            begun.elapsed()
        };
        let first = send("a", 1_000_000).await;
        send("b", 20_000_000).await;
        let again = send("c", 1_000_000).await;
        let saved = first.saturating_sub(again);
        assert!(saved > Duration::from_millis(600), "{first:?}, {again:?}");
    });
}

/// What could not be listed at first may be listed later.
#[test]
fn what_an_attempt_could_not_list_is_listed_again() {
    Scene::play(None, async |scene: Scene| {
        // No client can name this.
        for directory in ["a", "b"] {
            scene.scratch.subdirectory(&format!("stored/{directory}"));
        }
        let odd = scene.scratch.file("stored/a/odd\nname", 10);
        let long = "x".repeat(100);
        for n in 0..3000 {
            scene.scratch.file(&format!("stored/b/{n}{long}"), 1);
        }
        let outage = async {
            // The second listing is under way.
            while network::sent().0 < 150 {
                sleep(Duration::from_millis(1)).await;
            }
            network::set_dark(SERVER, true);
            std::fs::remove_file(&odd).expect("removed");
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        };
        let path = |name| Some(RemotePath::new(name).expect("a path"));
        let options = GetOptions {
            dry_run: true,
            ..GetOptions::new(
                scene.client(Some(Span::from_secs(80))),
                vec![path("a"), path("b")],
                scene.scratch.subdirectory("got"),
            )
        };
        let (report, ()) = tokio::join!(get(options, |_| (), pending()), outage);
        assert!(report.error.is_none() && report.failures.is_empty());
        assert_eq!(report.would_get.len(), 3000);
        assert!(report.retries > 0 && report.files == 3000, "{report:?}");
    });
}

#[test]
fn a_directory_that_the_server_cannot_read_is_not_listed_as_empty() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.unreadable("stored/closed");
        // The server works in this thread, too.
        let user = Unprivileged::begin();
        let options = ListOptions {
            client: scene.client(None),
            path: Some(RemotePath::new("closed").expect("a path")),
            recursive: true,
        };
        let listed = list(options, pending()).await;
        drop(user);
        assert!(matches!(listed, Err(Error::Refused(_))), "{listed:?}");
    });
}

/// Somebody else may have written them just now.
#[test]
fn files_that_are_there_are_flushed_before_they_count() {
    /// Flushes of a disk with this directory.
    async fn flushes<T>(directory: &Path, work: impl Future<Output = T>) -> (T, u64) {
        let disk = Disk::new(Order::Journal, directory);
        calls::replace(Some(World::new(disk, Random::new(0))));
        let done = work.await;
        let world = calls::replace(None).expect("it is there");
        (done, world.flushes)
    }
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for name in ["a", "b"] {
            scene.scratch.file(&format!("tree/{name}"), 1000);
        }
        let send = || {
            let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
            send_tree(options, |_| (), pending())
        };
        assert_eq!(send().await.sent_files, 2);
        let stored = scene.scratch.path().join("stored");
        let (report, flushes_there) = flushes(&stored, send()).await;
        assert_eq!((report.unchanged_files, report.sent_files), (2, 0));
        assert!(flushes_there > 0);
        let get = || got(&scene, &["a", "b"], None, (0, |_| ()));
        assert_eq!(get().await.outcome, Outcome::Stored);
        let here = scene.scratch.path().join("got");
        let (report, flushes_here) = flushes(&here, get()).await;
        assert_eq!(
            (report.outcome, report.resumed_bytes),
            (Outcome::Stored, 2000)
        );
        assert!(flushes_here > 0);
    });
}

#[test]
fn a_small_file_that_the_server_cannot_read_fails_alone() {
    Scene::play(None, async |scene: Scene| {
        let names = ["a", "b", "c"];
        for name in names {
            scene.scratch.file(&format!("stored/{name}"), 1000);
        }
        let here = scene.scratch.subdirectory("got");
        let set = |path: &Path, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("set");
        };
        set(&scene.scratch.path().join("stored/b"), 0o000);
        // Both ends work in this thread.
        set(&here, 0o777);
        let user = Unprivileged::begin();
        let report = got(&scene, &names, None, (0, |_| ())).await;
        drop(user);
        assert_eq!(report.outcome, Outcome::NotStored);
        let failed: Vec<_> = report.failures.iter().map(|(name, _)| name).collect();
        assert_eq!(failed, ["b"], "{report:?}");
        assert_eq!(file_names(&here), ["a", "c"]);
    });
}

#[test]
fn a_user_who_stops_a_transfer_between_two_attempts_is_heard() {
    Scene::play(None, async |scene: Scene| {
        network::set_dark(SERVER, true);
        let file = scene.scratch.file("a", 10);
        // When a long wait began.
        let waits = Cell::new(None);
        let on_update = |update| match update {
            Update::Interrupted { wait, .. } if wait > Span::from_secs(5) => {
                waits.set(Some(tokio::time::Instant::now()));
            }
            _ => {}
        };
        let stop = async {
            while waits.get().is_none() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let options = scene.send(&file, Some(Span::from_secs(600)));
        let report = transfer(options, on_update, stop).await;
        assert!(matches!(report.result, Err(Error::Stopped)));
        let took = waits.get().expect("it waited").elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    });
}

/// What is a small file and what a large one is decided in several places.
#[test]
fn files_around_the_size_of_a_small_one_are_sent_and_got() {
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        let sizes = [SMALL - 1, SMALL, SMALL + 1];
        for size in sizes {
            scene.scratch.file(&format!("tree/{size}"), size as usize);
        }
        let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
        let report = send_tree(options, |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert_eq!((report.sent_files, report.unchanged_files), (3, 0));
        let names = sizes.map(|size| size.to_string());
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let report = got(&scene, &names, None, (0, |_| ())).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert_eq!(report.stored_files, 3);
        for name in names {
            let sent = std::fs::read(tree.join(name)).expect("there");
            for place in ["stored", "got"] {
                let found = std::fs::read(scene.scratch.path().join(place).join(name));
                assert!(found.expect("there") == sent, "{place}/{name}");
            }
        }
    });
}

#[test]
fn a_tree_is_sent_no_faster_than_wanted() {
    for (files, size) in [(12, 200_000), (2, 1_200_000)] {
        Scene::play(None, async |scene: Scene| {
            let tree = scene.scratch.subdirectory("tree");
            for n in 0..files {
                scene.scratch.file(&format!("tree/{n}"), size);
            }
            let options = TreeOptions {
                bandwidth: Some(Rate::from_bits_per_sec(2_000_000)),
                ..TreeOptions::new(scene.client(None), vec![tree.join("")])
            };
            let report = send_tree(options, |_| (), pending()).await;
            assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
            assert!((8.0..12.0).contains(&report.seconds), "{}", report.seconds);
        });
    }
}

#[test]
fn a_dry_run_of_a_mirror_removes_nothing() {
    Scene::play(None, async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for name in ["tree/a", "stored/a", "stored/old"] {
            scene.scratch.file(name, 10);
        }
        let options = TreeOptions {
            delete: Some(DeleteOptions::default()),
            dry_run: true,
            ..TreeOptions::new(scene.client(None), vec![tree.join("")])
        };
        let report = send_tree(options, |_| (), pending()).await;
        assert!(report.error.is_none(), "{:?}", report.error);
        assert_eq!(
            (report.removed, report.would_remove),
            (1, vec!["old".to_owned()])
        );
        assert!(scene.scratch.path().join("stored/old").exists());
        assert_eq!(report.outcome, Outcome::NotStored);
    });
}

/// A client may ask for a higher priority than its user has.
#[test]
fn the_priority_of_a_client_is_at_most_that_of_its_user() {
    let lowest = |user: &mut User| user.max_priority = Priority::LOWEST;
    Scene::play_for(lowest, async |scene: Scene| {
        let mut options = scene.send(&scene.scratch.file("a", 2_000_000), None);
        options.client.controller = "enhanced-aatp".parse().expect("it shares by priority");
        options.client.priority = Priority::HIGHEST;
        let report = transfer(options, |_| (), pending()).await;
        let summary = report.result.expect("stored");
        let granted = summary.bursts.and_then(|bursts| bursts.priority);
        assert_eq!(granted, Some(Priority::LOWEST.get()));
    });
}

/// The server takes a connection that is closed before for a transfer that failed.
#[test]
fn the_server_knows_that_a_file_is_got_when_the_client_ends() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 300_000);
        let report = got(&scene, &["a"], None, (0, |_| ())).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        sleep(Duration::from_secs(1)).await;
        let events = lock(&scene.events);
        assert!(matches!(events[..], [Event::Sent { .. }]), "{events:?}");
    });
}

/// What was on its way when the connection was lost counts as sent.
#[test]
fn large_files_of_a_tree_are_one_transfer_over_all_connections() {
    Scene::play(None, async |scene: Scene| {
        const SIZE: usize = 2_000_000;
        let tree = scene.scratch.subdirectory("tree");
        for n in 0..3 {
            scene.scratch.file(&format!("tree/{n}"), SIZE);
        }
        let bytes = Cell::new(0);
        let on_update = |update| count(&bytes, &update);
        let outage = async {
            arrived(&bytes, 3_000_000).await;
            network::set_dark(SERVER, true);
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        };
        let client = scene.client(Some(Span::from_secs(80)));
        let options = TreeOptions::new(client, vec![tree.join("")]);
        let sending = send_tree(options, on_update, pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!(
            report.retries > 0 && report.resumed_bytes > 500_000,
            "{report:?}"
        );
        assert!(report.sent_bytes >= 3 * SIZE as u64, "{report:?}");
    });
}

/// A server ends a connection without requests, and what it has sent may take longer to arrive.
#[test]
fn small_files_are_got_however_long_they_are_on_their_way() {
    let soon = |options: &mut ServeOptions| options.limits.idle = Span::from_secs(5);
    Scene::play_at(soon, async |scene: Scene| {
        network::set_links(link(200_000, 20, 200_000));
        let names: Vec<_> = (0..10).map(|n| n.to_string()).collect();
        for name in &names {
            scene.scratch.file(&format!("stored/{name}"), 50_000);
        }
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let report = got(&scene, &names, None, (0, |_| ())).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!(report.retries == 0 && report.seconds > 15.0, "{report:?}");
    });
}
