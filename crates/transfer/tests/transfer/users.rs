//! What users may do and store, and extended attributes.

use crate::common::{ScratchDirectory, Service, limits, remove, report, upload};
use futures::future::join_all;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;
use whimbrel_cc::fairness::Priority;
use whimbrel_transfer::users::{Rights, TokenEntry, User, Users};
use whimbrel_transfer::{
    Error, GetOptions, Limits, Outcome, Progress, Reason, RemotePath, SendOptions, SendSource,
    ServeOptions, Token, TreeOptions, get, send_tree,
};

const ALL: Rights = Rights {
    read: true,
    write: true,
    remove: true,
};

fn token() -> Token {
    Token::random().expect("randomness")
}

/// A user with these tokens and a directory of its own.
fn user(name: &str, tokens: &[&Token], rights: Rights, quota: Option<u64>) -> User {
    let entry = |token: &&Token| TokenEntry {
        hash: token.hash(),
        expires: None,
    };
    User {
        name: name.to_owned(),
        tokens: tokens.iter().map(entry).collect(),
        directory: PathBuf::from(name),
        quota,
        ..User::owner(tokens[0], rights, Priority::HIGHEST)
    }
}

fn serve(scratch: &ScratchDirectory, users: impl IntoIterator<Item = User>) -> Service {
    let directory = scratch.subdirectory("stored");
    let options = ServeOptions {
        users: Some(Users::new(users)),
        limits: limits(),
        overwrite: true,
        ..ServeOptions::new(directory, ([127, 0, 0, 1], 0).into())
    };
    Service::of(scratch, options)
}

fn reason(error: &Error) -> Option<Reason> {
    match error {
        Error::Refused(refusal) => Some(refusal.reason),
        _ => None,
    }
}

fn name(text: &str) -> RemotePath {
    RemotePath::new(text.as_bytes()).expect("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_its_transfer_at_once_and_no_other() {
    let scratch = ScratchDirectory::new();
    let (old, new, other) = (token(), token(), token());
    let alice = |tokens: &[&Token]| user("alice", tokens, ALL, None);
    let bob = || user("bob", &[&other], ALL, None);
    let service = serve(&scratch, [alice(&[&old]), bob()]);
    let slowly = |name: &str, token: &Token| {
        let mut options = service.options(&scratch.file(name, 4_000_000));
        options.client.token = token.clone();
        options.bandwidth = Some("8 Mbit/s".parse().expect("a rate"));
        options
    };
    let under_way = Arc::new(AtomicU64::new(0));
    let send = |options: SendOptions| {
        let (under_way, mut counted) = (Arc::clone(&under_way), false);
        let progress = move |progress: Progress| {
            if progress.bytes > 100_000 && !std::mem::replace(&mut counted, true) {
                under_way.fetch_add(1, Ordering::Relaxed);
            }
        };
        tokio::spawn(whimbrel_transfer::send(options, progress, pending()))
    };
    let both = |count| {
        let under_way = Arc::clone(&under_way);
        async move {
            while under_way.load(Ordering::Relaxed) < count {
                sleep(Duration::from_millis(5)).await;
            }
        }
    };
    let (revoked, kept) = (send(slowly("a", &old)), send(slowly("b", &other)));
    both(2).await;
    // The old token stays beside the new one: nothing ends.
    service
        .server
        .set_users(Users::new([alice(&[&old, &new]), bob()]));
    let third = send(slowly("c", &new));
    both(3).await;
    assert!(!revoked.is_finished(), "it has two tokens");
    service
        .server
        .set_users(Users::new([alice(&[&new]), bob()]));
    let error = revoked.await.expect("no panic").expect_err("revoked");
    assert_eq!(reason(&error), Some(Reason::Token), "{error}");
    assert!(
        !kept.is_finished() && !third.is_finished(),
        "it ends at once"
    );
    kept.await.expect("no panic").expect("not concerned");
    third.await.expect("no panic").expect("the new token");
    assert!(!scratch.path().join("stored/alice/a").exists());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_counts_all_files_of_a_user_under_all_tokens() {
    let scratch = ScratchDirectory::new();
    let (old, new, other) = (token(), token(), token());
    let service = serve(
        &scratch,
        [
            user("alice", &[&old, &new], ALL, Some(1_000_000)),
            user("bob", &[&other], ALL, None),
        ],
    );
    let file = |name: &str, size| scratch.file(name, size);
    let options = |file: &PathBuf, token: &Token| {
        let mut options = service.options(file);
        options.client.token = token.clone();
        options
    };
    let (first, second) = (file("first", 600_000), file("second", 600_000));
    upload(options(&first, &old)).await.expect("it fits");
    let error = upload(options(&second, &new)).await.expect_err("too much");
    assert_eq!(reason(&error), Some(Reason::Quota), "{error}");
    assert!(error.to_string().contains("1 MB"), "{error}");
    upload(options(&second, &other)).await.expect("no quota");
    // What replaces a file needs space beside it; then the old one's is free, as a removed one's
    // is.
    upload(options(&file("first", 300_000), &new))
        .await
        .expect("it fits");
    upload(options(&second, &old)).await.expect("it fits now");
    let removing = remove(options(&first, &old).client, name("first"), false);
    assert_eq!(removing.await.expect("allowed"), 1);
    upload(options(&file("third", 350_000), &new))
        .await
        .expect("it fits now");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_those_of_the_token() {
    let scratch = ScratchDirectory::new();
    let (reader, writer) = (token(), token());
    let shared = |name: &str, token: &Token, rights| User {
        directory: PathBuf::from("shared"),
        ..user(name, &[token], rights, None)
    };
    let read = Rights {
        read: true,
        ..Rights::default()
    };
    let write = Rights {
        write: true,
        ..Rights::default()
    };
    let service = serve(
        &scratch,
        [shared("r", &reader, read), shared("w", &writer, write)],
    );
    let file = scratch.file("data", 70_000);
    let options = |token: &Token| {
        let mut options = service.options(&file);
        options.client.token = token.clone();
        options
    };
    let error = upload(options(&reader)).await.expect_err("read only");
    assert_eq!(reason(&error), Some(Reason::Rights), "{error}");
    upload(options(&writer)).await.expect("stored");
    let here = scratch.subdirectory("here");
    let what = |token| {
        GetOptions::new(
            options(token).client,
            vec![Some(name("data"))],
            here.clone(),
        )
    };
    let refused = get(what(&writer), |_| (), pending()).await;
    let error = refused.error.expect("write only");
    assert_eq!(reason(&error), Some(Reason::Rights), "{error}");
    assert!(!here.join("data").exists());
    let got = get(what(&reader), |_| (), pending()).await;
    assert_eq!(got.outcome, Outcome::Stored, "{got:?}");
    assert!(std::fs::read(here.join("data")).ok() == std::fs::read(&file).ok());
    for token in [&reader, &writer] {
        let removing = remove(options(token).client, name("data"), false);
        let error = removing.await.expect_err("neither may");
        assert_eq!(reason(&error), Some(Reason::Rights), "{error}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn extended_attributes_arrive_where_asked() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let (with, without) = (scratch.file("with", 5000), scratch.file("without", 5000));
    for file in [&with, &without] {
        if setxattr(file, "user.origin", b"camera 7", XattrFlags::empty()).is_err() {
            // This file system has none.
            return;
        }
    }
    let options = SendOptions {
        attributes: true,
        ..service.options(&with)
    };
    upload(options).await.expect("stored");
    upload(service.options(&without)).await.expect("stored");
    let mut value = [0; 64];
    let stored = |name: &str| service.directory.join(name);
    let length = getxattr(stored("with"), "user.origin", &mut value).expect("kept");
    assert_eq!(&value[..length], b"camera 7");
    assert!(getxattr(stored("without"), "user.origin", &mut value).is_err());
    // Small files of a tree, too.
    let tree = scratch.subdirectory("tree");
    std::fs::write(tree.join("small"), "x").expect("written");
    let flags = XattrFlags::empty();
    setxattr(tree.join("small"), "user.origin", b"camera 8", flags).expect("set");
    for (attributes, expected) in [(true, &b"camera 8"[..]), (false, b"")] {
        let directory = Some(name(if attributes { "with-all" } else { "plain" }));
        let options = TreeOptions {
            attributes,
            directory,
            ..TreeOptions::new(service.client(), vec![tree.join("")])
        };
        let place = options.directory.clone().expect("a directory");
        let report = send_tree(options, |_| (), pending()).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        let small = stored(&place.to_string()).join("small");
        let length = getxattr(small, "user.origin", &mut value).unwrap_or(0);
        assert_eq!(&value[..length], expected);
    }
    service.stop().await;
}

/// Streams, whose sizes nobody knows before their end, share a quota while they arrive.
#[tokio::test(flavor = "multi_thread")]
async fn streams_at_once_keep_the_quota() {
    let scratch = ScratchDirectory::new();
    let alice = token();
    let service = serve(&scratch, [user("alice", &[&alice], ALL, Some(3_000_000))]);
    let file = scratch.file("data", 2_000_000);
    let sending = (0..6).map(|n| {
        let mut options = service.options(&file);
        options.client.token = alice.clone();
        options.source = SendSource::stream(std::fs::File::open(&file).expect("a file"));
        options.name = Some(format!("stream-{n}"));
        upload(options)
    });
    let results = join_all(sending).await;
    assert!(results.iter().filter(|result| result.is_ok()).count() <= 1);
    let stored = service
        .directory
        .join("alice")
        .read_dir()
        .expect("a directory");
    let bytes: u64 = stored
        .map(|e| e.expect("an entry").metadata().expect("there").len())
        .sum();
    assert!(bytes <= 3_000_000, "{bytes}");
    service.stop().await;
}

/// What was sent before an interruption takes quota, and is not lost when more does not fit.
#[tokio::test(flavor = "multi_thread")]
async fn what_interrupted_transfers_sent_counts_and_stays() {
    let scratch = ScratchDirectory::new();
    let alice = token();
    let service = serve(&scratch, [user("alice", &[&alice], ALL, Some(4_500_000))]);
    let options = |file: &PathBuf| {
        let mut options = service.options(file);
        options.client.token = alice.clone();
        options
    };
    let file = scratch.file("data", 4_000_000);
    for enough in [1_500_000, 3_000_000] {
        let mut slowly = options(&file);
        slowly.bandwidth = Some("20 Mbit/s".parse().expect("a rate"));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let mut stop = Some(stop);
        let progress = move |progress: Progress| {
            if progress.bytes > enough {
                stop.take().map(|stop| stop.send(()).ok());
            }
        };
        let stopped = async { stopped.await.unwrap_or_default() };
        let sending = whimbrel_transfer::send(slowly, progress, stopped).await;
        assert!(matches!(sending, Err(Error::Stopped)), "{sending:?}");
        while !service.server.receiving().transfers.is_empty() {
            tokio::task::yield_now().await;
        }
    }
    let other = scratch.file("other", 2_500_000);
    let error = upload(options(&other)).await.expect_err("too much");
    assert_eq!(reason(&error), Some(Reason::Quota), "{error}");
    // A later version of the file is too large.
    scratch.file("data", 5_000_000);
    let error = upload(options(&file)).await.expect_err("too much");
    assert_eq!(reason(&error), Some(Reason::Quota), "{error}");
    scratch.file("data", 4_000_000);
    let stored = report(options(&file)).await;
    assert!(stored.result.is_ok(), "{:?}", stored.result);
    assert!(stored.resumed_bytes > 2_000_000, "{}", stored.resumed_bytes);
    service.stop().await;
}

/// Files without content, and what is removed in between, do not get around a quota.
#[tokio::test(flavor = "multi_thread")]
async fn empty_files_and_removals_keep_the_quota() {
    let scratch = ScratchDirectory::new();
    let alice = token();
    let service = serve(&scratch, [user("alice", &[&alice], ALL, Some(5_000))]);
    let options = |file: &PathBuf| {
        let mut options = service.options(file);
        options.client.token = alice.clone();
        options
    };
    let mut stored = 0;
    for n in 0..30 {
        let file = scratch.file(&format!("empty-{n}"), 0);
        match upload(options(&file)).await {
            Ok(_) => stored += 1,
            Err(error) => assert_eq!(reason(&error), Some(Reason::Quota), "{error}"),
        }
    }
    assert!((1..10).contains(&stored), "{stored}");
    let any = options(&scratch.path().join("empty-0")).client;
    remove(any, name("empty-0"), false).await.expect("removed");
    for (n, fits) in [(40, true), (41, false)] {
        let file = scratch.file(&format!("empty-{n}"), 0);
        assert_eq!(upload(options(&file)).await.is_ok(), fits, "{n}");
    }
    service.stop().await;
}

/// One user's slow transfers take half of the places at most.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_takes_all_places_leaves_some_to_others() {
    let scratch = ScratchDirectory::new();
    let (alice, bob) = (token(), token());
    let users = [
        user("alice", &[&alice], ALL, None),
        user("bob", &[&bob], ALL, None),
    ];
    let options = ServeOptions {
        users: Some(Users::new(users)),
        limits: Limits {
            connections: 4,
            ..limits()
        },
        ..ServeOptions::new(scratch.subdirectory("stored"), ([127, 0, 0, 1], 0).into())
    };
    let service = Service::of(&scratch, options);
    let mut hoard = tokio::task::JoinSet::new();
    for n in 0..8 {
        let mut options = service.options(&scratch.file(&format!("slow-{n}"), 2_000_000));
        options.client.token = alice.clone();
        options.bandwidth = Some(whimbrel_units::Rate::from_bits_per_sec(16_000));
        hoard.spawn(upload(options));
    }
    let arriving = async {
        while service.server.receiving().transfers.len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::common::TEST_TIMEOUT, arriving)
        .await
        .expect("two of them are served");
    let mut options = service.options(&scratch.file("quick", 100_000));
    options.client.token = bob;
    upload(options).await.expect("bob is served");
    hoard.shutdown().await;
    service.stop().await;
}

/// Two users with one directory store the same path: neither waits for the other, nor continues
/// what it sent.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_two_users_with_the_same_path_are_two_transfers() {
    let scratch = ScratchDirectory::new();
    let (first, second) = (token(), token());
    let shared = |name: &str, token: &Token| User {
        directory: PathBuf::from("shared"),
        ..user(name, &[token], ALL, None)
    };
    let service = serve(&scratch, [shared("alice", &first), shared("bob", &second)]);
    let options = |content: u8, token: &Token| {
        let data = std::io::Cursor::new(vec![content; 2_000_000]);
        let mut options = SendOptions {
            name: Some("same".to_owned()),
            ..SendOptions::new(service.client(), SendSource::stream(data))
        };
        options.client.token = token.clone();
        options
    };
    let mut slowly = options(1, &first);
    slowly.bandwidth = Some("4 Mbit/s".parse().expect("a rate"));
    let begun = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&begun);
    let progress = move |p: Progress| counted.store(p.bytes, Ordering::Relaxed);
    let slow = tokio::spawn(whimbrel_transfer::send(slowly, progress, pending()));
    while begun.load(Ordering::Relaxed) < 200_000 {
        sleep(Duration::from_millis(5)).await;
    }
    upload(options(2, &second)).await.expect("stored");
    assert!(!slow.is_finished(), "it goes on");
    let stored = || std::fs::read(service.directory.join("shared/same")).expect("stored");
    assert!(stored() == vec![2; 2_000_000]);
    slow.await.expect("no panic").expect("stored");
    assert!(stored() == vec![1; 2_000_000]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_ends_its_transfer() {
    let scratch = ScratchDirectory::new();
    let short = token();
    let alice = user("alice", &[&short], ALL, None);
    let service = serve(&scratch, [alice.clone()]);
    let mut options = service.options(&scratch.file("a", 4_000_000));
    options.client.token = short.clone();
    options.bandwidth = Some("2 Mbit/s".parse().expect("a rate"));
    let begun = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&begun);
    let progress = move |p: Progress| counted.store(p.bytes, Ordering::Relaxed);
    let sending = tokio::spawn(whimbrel_transfer::send(options, progress, pending()));
    while begun.load(Ordering::Relaxed) < 50_000 {
        sleep(Duration::from_millis(5)).await;
    }
    // From now on the token has an end, half a second away.
    let mut ends = alice;
    ends.tokens[0].expires = Some(std::time::SystemTime::now() + Duration::from_millis(500));
    service.server.set_users(Users::new([ends]));
    let ended = tokio::time::timeout(Duration::from_secs(8), sending).await;
    let error = ended.expect("before all is sent").expect("no panic");
    let error = error.expect_err("expired");
    assert_eq!(reason(&error), Some(Reason::Token), "{error}");
    service.stop().await;
}
