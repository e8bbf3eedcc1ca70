//! Rights that differ between directories.

use crate::common::client::{RawClient, read_message, refused};
use crate::common::scratch_directory::file_names;
use crate::common::trees::{got, sent, to_get};
use crate::common::{ScratchDirectory, Service, limits, list, remove, upload};
use std::fs;
use whimbrel_cc::fairness::Priority;
use whimbrel_transfer::users::{Rights, RightsIn, User, Users};
use whimbrel_transfer::wire::Message;
use whimbrel_transfer::{
    Error, Identity, Outcome, Reason, RemotePath, SendOptions, SendSource, ServeOptions,
    TreeOptions,
};

fn path(text: &str) -> RemotePath {
    text.parse().expect("a path")
}

/// May store files everywhere, but only read those in `out`, all but `out/secret`, where nothing is
/// permitted; and may remove what is in `in`.
fn serve(scratch: &ScratchDirectory) -> Service {
    let rights = |read, write, remove| Rights {
        read,
        write,
        remove,
    };
    let identity = Identity::load_or_create(&scratch.path().join("identity"));
    let identity = identity.expect("an identity");
    let user = User {
        rights_in: RightsIn::new([
            (path("out"), rights(true, false, false)),
            (path("out/secret"), Rights::default()),
            (path("in"), rights(false, true, true)),
            (path("in/kept"), rights(false, true, false)),
        ]),
        ..User::owner(
            identity.token(),
            rights(false, true, false),
            Priority::HIGHEST,
        )
    };
    let stored = scratch.subdirectory("stored");
    for folder in ["out/a", "out/secret", "in/kept", "outer"] {
        fs::create_dir_all(stored.join(folder)).expect("created");
    }
    for file in [
        "x",
        "out/x",
        "out/y",
        "out/a/x",
        "out/secret/x",
        "in/x",
        "in/kept/x",
        "outer/x",
    ] {
        fs::write(stored.join(file), file).expect("written");
    }
    let options = ServeOptions {
        users: Some(Users::new([user])),
        limits: limits(),
        ..ServeOptions::new(stored, ([127, 0, 0, 1], 0).into())
    };
    Service::of(scratch, options)
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Refused(refusal)) if refusal.reason == Reason::Rights)
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_stored_where_the_token_permits_it() {
    let scratch = ScratchDirectory::new();
    let service = serve(&scratch);
    for (to, permitted) in [
        ("new", true),
        ("in/new", true),
        ("outer/new", true),
        ("out/new", false),
        ("out/a/new", false),
        ("out/secret/new", false),
    ] {
        let content = std::io::Cursor::new(vec![7; 1000]);
        let options = SendOptions {
            name: Some(to.to_owned()),
            ..SendOptions::new(service.client(), SendSource::stream(content))
        };
        let result = upload(options).await;
        assert_eq!(result.is_ok(), permitted, "{to}");
        assert_eq!(is_refused(result), !permitted, "{to}");
        assert_eq!(service.directory.join(to).exists(), permitted, "{to}");
    }
    // A tree with small files in several directories.
    let top = scratch.subdirectory("top");
    for folder in ["in", "out"] {
        fs::create_dir(top.join(folder)).expect("created");
        fs::write(top.join(folder).join("small"), "small").expect("written");
    }
    let sources = vec![top.join("in"), top.join("out")];
    let report = sent(TreeOptions::new(service.client(), sources)).await;
    assert_eq!(report.outcome, Outcome::NotStored, "{report:?}");
    assert!(service.directory.join("in/small").exists());
    assert!(!service.directory.join("out/small").exists());
    // Nothing is said of a file that is there already with this time.
    let same = top.join("out/x");
    fs::write(&same, "out/x").expect("written");
    let time = fs::metadata(service.directory.join("out/x")).and_then(|m| m.modified());
    let file = fs::File::options().write(true).open(&same).expect("there");
    file.set_modified(time.expect("there")).expect("set");
    fs::remove_file(top.join("out/small")).expect("there");
    let report = sent(TreeOptions::new(service.client(), vec![top.join("out")])).await;
    assert_eq!(
        (report.outcome, report.unchanged_files),
        (Outcome::NotStored, 0)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_and_got_where_the_token_permits_it() {
    let scratch = ScratchDirectory::new();
    let service = serve(&scratch);
    let listing = list(service.client(), None, true).await.expect("listed");
    let names = |entries: Vec<Vec<u8>>| -> Vec<String> {
        let mut names: Vec<_> = (entries.into_iter())
            .map(|path| String::from_utf8(path).expect("text"))
            .collect();
        names.sort();
        names
    };
    let entries = listing
        .entries
        .into_iter()
        .map(|entry| entry.path)
        .collect();
    assert_eq!(
        names(entries),
        ["out", "out/a", "out/a/x", "out/x", "out/y"]
    );
    let unread = listing
        .unread
        .into_iter()
        .map(|unread| unread.path)
        .collect();
    assert_eq!(names(unread), ["out/secret"]);
    for (at, permitted) in [
        ("out/x", true),
        ("out/secret", false),
        ("in", false),
        ("x", false),
    ] {
        let listed = list(service.client(), Some(path(at)), true).await;
        assert_eq!(listed.is_ok(), permitted, "{at}: {listed:?}");
        assert_eq!(is_refused(listed), !permitted, "{at}");
    }
    // One file, and several small ones.
    let here = scratch.subdirectory("here");
    let report = got(to_get(&service, &["out/x"], &here)).await;
    assert_eq!(report.outcome, Outcome::Stored, "{report:?}");
    let report = got(to_get(&service, &["out"], &here)).await;
    let failed: Vec<&str> = report.failures.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(failed, ["out/secret"], "{report:?}");
    assert_eq!(file_names(&here.join("out")), ["a", "x", "y"]);
    // A client that requests what is not listed.
    let raw = RawClient::connect(&service).await;
    let many = Message::GetMany { transfer: 1 };
    let (mut send, mut receive) = raw.send_message(&many).await;
    let paths = [&b"out/x"[..], b"out/secret/x"]
        .map(<[u8]>::to_vec)
        .to_vec();
    let wanted = Message::Wanted { paths, last: true };
    send.write_all(&wanted.encode()).await.expect("written");
    match read_message(&mut receive).await {
        Message::Unsent { failures } => {
            assert_eq!((failures.len(), failures[0].index), (1, 1));
            assert_eq!(failures[0].refusal.reason, Reason::Rights);
        }
        other => panic!("{other:?}"),
    }
    let get = Message::Get {
        path: b"out/secret/x".to_vec(),
    };
    let (_send, mut receive) = raw.send_message(&get).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Rights);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_removed_where_the_token_permits_it() {
    let scratch = ScratchDirectory::new();
    let service = serve(&scratch);
    for (at, recursive, permitted) in [
        ("x", false, false),
        ("out/x", false, false),
        ("in/kept/x", false, false),
        // It has a directory from which nothing may be removed.
        ("in", true, false),
        ("in/x", false, true),
    ] {
        let removed = remove(service.client(), path(at), recursive).await;
        assert_eq!(removed.is_ok(), permitted, "{at}: {removed:?}");
        assert_eq!(is_refused(removed), !permitted, "{at}");
    }
    assert!(service.directory.join("in/kept/x").exists());
    service.stop().await;
}
