//! What users may do and store, and extended attributes.

use crate::common::{ScratchDirectory, Service, limits, remove, upload};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::future::pending;
use std::path::PathBuf;
use whimbrel_cc::fairness::Priority;
use whimbrel_transfer::users::{Rights, TokenEntry, User, Users};
use whimbrel_transfer::{
    Error, GetOptions, Outcome, Reason, RemotePath, SendOptions, ServeOptions, Token, get,
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
    // What replaces a file needs space beside it; then the old one's is free, as a removed one's is.
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
    let what = |token| GetOptions {
        client: options(token).client,
        paths: vec![name("data")],
        directory: here.clone(),
        overwrite: false,
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
    service.stop().await;
}
