//! Three words, over a meeting server.

use super::common::*;
use std::fs;
use std::sync::Mutex;
use tokio::sync::oneshot;
use whimbrel_transfer::{
    ClientOptions, Code, Error, FetchOptions, Fetched, OfferOptions, ServeOptions, ServerAddress,
    Token, TreeOptions, TreeReport, default_controller, fetch, offer,
};

/// A server at which strangers meet.
fn meeting(scratch: &ScratchDirectory) -> Service {
    let options = ServeOptions {
        meet: true,
        limits: limits(),
        ..ServeOptions::new(scratch.subdirectory("stored"), ([127, 0, 0, 1], 0).into())
    };
    Service::of(scratch, options)
}

fn at(service: &Service) -> ClientOptions {
    let server = ServerAddress {
        host: service.address.ip().to_string(),
        port: service.address.port(),
    };
    ClientOptions::new(
        server,
        Token::random().expect("randomness"),
        default_controller(),
    )
}

/// Offers a folder; `with` changes the words that the receiver uses. `direct`: what the sender and
/// the receiver permit.
async fn exchange(
    scratch: &ScratchDirectory,
    service: &Service,
    direct: (bool, bool),
    with: impl Fn(Code) -> Code,
) -> (Result<TreeReport, Error>, Result<Fetched, Error>) {
    let source = scratch.subdirectory("source");
    fs::create_dir_all(source.join("sub")).expect("made");
    fs::write(source.join("a"), b"small").expect("written");
    fs::write(source.join("sub/b"), vec![7; 3_000_000]).expect("written");
    let directory = scratch.subdirectory("got");
    let meet = at(service);
    let options = OfferOptions {
        tree: TreeOptions::new(meet.clone(), vec![source.join("")]),
        meet: Some(meet.server.clone()),
        lan: false,
        direct: direct.0,
    };
    let (code, known) = oneshot::channel();
    let code = Mutex::new(Some(code));
    let on_code = |code_shown: &Code| {
        let code = code.lock().expect("no panic").take().expect("once");
        code.send(code_shown.clone()).ok();
    };
    let offering = offer(options, on_code, |_| (), std::future::pending());
    let fetching = async {
        let options = FetchOptions {
            code: with(known.await.expect("words")),
            directory,
            overwrite: false,
            meet: Some(meet.clone()),
            lan: false,
            direct: direct.1,
        };
        fetch(options, |_| (), std::future::pending()).await
    };
    let both = async { tokio::join!(offering, fetching) };
    tokio::time::timeout(TEST_TIMEOUT, both)
        .await
        .expect("in time")
}

/// Directly if both ends permit that the other one learns their address.
#[tokio::test(flavor = "multi_thread")]
async fn files_arrive_by_three_words() {
    for direct in [(false, false), (true, false), (false, true), (true, true)] {
        let scratch = ScratchDirectory::new();
        let service = meeting(&scratch);
        let (sent, got) = exchange(&scratch, &service, direct, |code| code).await;
        let sent = sent.expect("sent");
        assert!(sent.error.is_none(), "{sent:?}");
        let got = got.expect("got");
        assert_eq!((got.files, got.bytes.get()), (2, 3_000_005));
        assert_eq!(got.direct, direct == (true, true));
        let read = |name: &str| fs::read(scratch.path().join("got").join(name)).expect("there");
        assert_eq!(read("a"), b"small");
        assert_eq!(read("sub/b"), vec![7; 3_000_000]);
    }
}

/// Other words with the same first one: both ends learn it, and nothing arrives.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_words_end_both_ends() {
    for direct in [(false, false), (true, true)] {
        wrong_words(direct).await;
    }
}

async fn wrong_words(direct: (bool, bool)) {
    let scratch = ScratchDirectory::new();
    let service = meeting(&scratch);
    let wrong = |code: Code| {
        let text = code.to_string();
        let (first, _) = text.split_once('-').expect("words");
        let other = format!("{first}-zoo-zoo").parse().expect("words");
        assert_ne!(code, other, "one in four million");
        other
    };
    let (sent, got) = exchange(&scratch, &service, direct, wrong).await;
    for error in [
        sent.expect_err("wrong words"),
        got.expect_err("wrong words"),
    ] {
        let text = error.to_string();
        assert!(text.contains("the words are not the sender's"), "{text}");
    }
    let arrived = fs::read_dir(scratch.path().join("got")).expect("a folder");
    assert_eq!(arrived.count(), 0);
    // Nobody waits under these words now.
    let unknown = FetchOptions {
        code: "zoo-zoo-zoo".parse().expect("words"),
        directory: scratch.subdirectory("more"),
        overwrite: false,
        meet: Some(at(&service)),
        lan: false,
        direct: false,
    };
    let error = fetch(unknown, |_| (), std::future::pending())
        .await
        .expect_err("nobody");
    assert!(
        error.to_string().contains("no sender waits here"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_lets_strangers_meet_only_if_its_operator_wants() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let options = FetchOptions {
        code: "act-zoo-able".parse().expect("words"),
        directory: scratch.subdirectory("got"),
        overwrite: false,
        meet: Some(at(&service)),
        lan: false,
        direct: false,
    };
    let fetched = fetch(options, |_| (), std::future::pending()).await;
    let error = fetched.expect_err("refused").to_string();
    assert!(error.contains("its operator can allow it"), "{error}");
}
