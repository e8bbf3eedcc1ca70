//! What a server answers to a client that the test plays.

use super::scene::{Scene, open};
use crate::blocks::FINE_LOG;
use crate::client::{ClientOptions, ClientSession, Dial, PipeClient, transfer};
use crate::connection::{close, framing, parameters};
use crate::error::Error;
use crate::file_sender::testing::{pack_of, send_pack};
use crate::lock::lock;
use crate::server::users::User;
use crate::server::{Event, ServeOptions};
use crate::simulated::calls::{self, World};
use crate::simulated::disk::{Disk, Order};
use crate::simulated::random::Random;
use crate::simulated::{slow, system};
use crate::storage::KeepFree;
use crate::token::Token;
use crate::wire::{Kind, Message, Metadata, PROBE, Put, Reason, SOURCE, VERSION};
use futures::future::join_all;
use noq_proto::VarInt;
use std::future::pending;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};
use whimbrel_quic::endpoint::{RecvStream, SendStream};
use whimbrel_units::Duration as Span;

/// The first answer to a request. While the streams are kept, the request goes on.
struct Answered(Message, (SendStream, RecvStream));

/// Makes a request.
async fn ask(session: &ClientSession, message: Message) -> Answered {
    let asked = framing::request(&session.connection, &message).await;
    let (send, mut receive) = asked.expect("sent");
    let answer = framing::read(&mut receive).await.expect("an answer");
    Answered(answer, (send, receive))
}

/// Offers a file of 10 bytes.
fn put(name: &str) -> Message {
    Message::Put(Put {
        id: [9; 16],
        path: name.as_bytes().to_vec(),
        size: Some(10),
        metadata: Metadata::plain(Kind::File),
    })
}

/// Asks for a measurement of the path.
fn probe() -> Message {
    let (answers, target) = (1, PROBE.to_owned());
    Message::Pipe { answers, target }
}

fn is_refused(answer: &Message, reason: Reason) -> bool {
    matches!(answer, Message::Refused(refusal) if refusal.reason == reason)
}

/// Whoever offers another one learns that at once, and not when that is over.
#[test]
fn a_file_that_is_being_stored_is_not_taken_over() {
    Scene::play(None, async |scene: Scene| {
        let other = async {
            let session = scene.session().await;
            slow::set(Duration::from_secs(2));
            scene.has_all_of(3_000_000).await;
            ask(&session, put("a")).await.0
        };
        let sending = transfer(scene.stream(3_000_000), |_| (), pending());
        let (report, answer) = tokio::join!(sending, other);
        assert!(is_refused(&answer, Reason::Busy), "{answer:?}");
        assert!(report.result.is_ok(), "{:?}", report.result);
    });
}

#[test]
fn nothing_of_a_pack_is_written_after_its_client_has_left() {
    Scene::play(None, async |scene: Scene| {
        let disk = Disk::new(Order::Journal, &scene.scratch.path().join("stored"));
        let session = scene.session().await;
        calls::replace(Some(World::new(disk, Random::new(0))));
        let (id, path, bytes) = ([9; 16], Vec::new(), 1000);
        let tree = ask(&session, Message::Tree { id, path, bytes }).await;
        let Message::Accepted { transfer, .. } = tree.0 else {
            panic!("{:?}", tree.0)
        };
        // It waits for the disk while the client leaves.
        slow::set(Duration::from_secs(600));
        let pack = pack_of((0..1000).map(|n| n.to_string()), b"x");
        send_pack(&session.connection, transfer, pack).await;
        sleep(Duration::from_secs(1)).await;
        session.connection.close(VarInt::from_u32(close::DONE), b"");
        let calls = || calls::with(|world| world.calls).expect("it is there");
        let before = calls();
        sleep(Duration::from_secs(1200)).await;
        let more = calls() - before;
        calls::replace(None);
        assert!(more < 100, "{more} calls");
    });
}

#[test]
fn a_refusal_that_arrives_after_an_error_is_the_reason() {
    Scene::play(None, async |scene: Scene| {
        let wrong = ClientOptions {
            token: Token::random().expect("randomness"),
            ..scene.client(None)
        };
        let session = open(wrong).await.expect("connected");
        let lost = async { Err::<(), _>(Error::Lost("a stream".to_owned())) };
        let ended = session.run(lost).await;
        assert!(
            matches!(&ended, Err(Error::Refused(refusal)) if refusal.reason == Reason::Token),
            "{ended:?}"
        );
    });
}

/// It would wait for a second for a connection that nobody ends.
#[test]
fn a_client_that_has_ended_its_connection_leaves_at_once() {
    Scene::play(None, async |scene: Scene| {
        let session = scene.session().await;
        let began = Instant::now();
        session.close().await;
        assert!(began.elapsed() < Duration::from_millis(900));
    });
}

/// Although the connection is alive.
#[test]
fn a_client_without_requests_is_disconnected() {
    Scene::play(None, async |scene: Scene| {
        let session = scene.session().await;
        let began = Instant::now();
        let reason = session.connection.closed().await;
        assert!(close::is(&reason, close::IDLE), "{reason}");
        let took = began.elapsed();
        assert!((179..185).contains(&took.as_secs()), "{took:?}");
    });
}

/// A clock that is set forward ends what has expired within a minute.
#[test]
fn a_token_expires_by_the_clock_as_it_is() {
    let hour = Duration::from_secs(3600);
    let expires = |user: &mut User| user.tokens[0].expires = Some(SystemTime::now() + hour);
    Scene::play_for(expires, async |scene: Scene| {
        let session = scene.session().await;
        system::pass(2 * hour);
        let began = Instant::now();
        let reason = session.connection.closed().await;
        assert!(close::is(&reason, close::TOKEN), "{reason}");
        let took = began.elapsed();
        assert!(took <= Duration::from_secs(61), "{took:?}");
    });
}

#[test]
fn a_probe_waits_for_its_turn_as_a_transfer_does() {
    let one_place = |options: &mut ServeOptions| options.limits.connections = 1;
    Scene::play_at(one_place, async |scene: Scene| {
        let (first, second) = (scene.session().await, scene.session().await);
        let sending = ask(&first, put("a")).await;
        assert!(
            matches!(sending.0, Message::Accepted { .. }),
            "{:?}",
            sending.0
        );
        let waits = ask(&second, probe()).await;
        assert!(
            matches!(waits.0, Message::Queued { position: 1 }),
            "{:?}",
            waits.0
        );
    });
}

/// Makes a request without reading any answer.
async fn shout(session: &ClientSession, message: Message) -> (SendStream, RecvStream) {
    let asked = framing::request(&session.connection, &message).await;
    asked.expect("sent")
}

/// Waits until the queue moves, and returns the answer after that.
async fn behind(answered: Answered) -> Message {
    let Answered(mut answer, (_send, mut receive)) = answered;
    while let Message::Queued { .. } = answer {
        let next = timeout(Duration::from_secs(130), framing::read(&mut receive));
        answer = next.await.expect("in time").expect("an answer");
    }
    answer
}

/// The message that says how many wait before it is not read, and then the answer.
#[test]
fn a_client_that_reads_nothing_keeps_nobody_in_the_queue() {
    let one_place = |options: &mut ServeOptions| options.limits.connections = 1;
    Scene::play_at(one_place, async |scene: Scene| {
        let (first, last) = (scene.session().await, scene.session().await);
        let deaf = scene.deaf_session(1).await;
        let sending = ask(&first, put("a")).await;
        assert!(matches!(sending.0, Message::Accepted { .. }));
        let _silent = shout(&deaf, put("b")).await;
        sleep(Duration::from_secs(1)).await;
        let waits = ask(&last, put("c")).await;
        assert!(matches!(waits.0, Message::Queued { position: 2 }));
        first.connection.close(VarInt::from_u32(close::DONE), b"");
        let answer = behind(waits).await;
        assert!(matches!(answer, Message::Accepted { .. }), "{answer:?}");
    });
}

/// It may read the first answer, and none to its questions.
#[test]
fn a_client_that_reads_no_hashes_keeps_its_place_for_a_minute() {
    let one_place = |options: &mut ServeOptions| options.limits.connections = 1;
    Scene::play_at(one_place, async |scene: Scene| {
        let deaf = scene.deaf_session(30).await;
        let Answered(answer, (mut send, _receive)) = ask(&deaf, put("a")).await;
        assert!(matches!(answer, Message::Accepted { .. }), "{answer:?}");
        let (log, first, count) = (FINE_LOG, 0, 1);
        for _ in 0..4 {
            let question = Message::HashRequest { log, first, count };
            framing::write(&mut send, &question).await.expect("written");
        }
        let waits = ask(&scene.session().await, put("b")).await;
        let answer = behind(waits).await;
        assert!(matches!(answer, Message::Accepted { .. }), "{answer:?}");
    });
}

#[test]
fn listings_that_nobody_reads_end() {
    Scene::play(None, async |scene: Scene| {
        let deaf = scene.deaf_session(1).await;
        let list = || Message::List {
            path: Vec::new(),
            recursive: false,
        };
        let silent = join_all((0..16).map(|_| shout(&deaf, list()))).await;
        let session = scene.session().await;
        sleep(Duration::from_secs(1)).await;
        let full = ask(&session, list()).await.0;
        assert!(is_refused(&full, Reason::Busy), "{full:?}");
        sleep(Duration::from_secs(61)).await;
        let listed = ask(&session, list()).await.0;
        assert!(matches!(listed, Message::Entries { .. }), "{listed:?}");
        drop(silent);
    });
}

#[test]
fn so_many_pipes_are_open_at_once() {
    Scene::play(None, async |scene: Scene| {
        let mut sessions = Vec::new();
        let mut all = Vec::new();
        for _ in 0..5 {
            let session = scene.session().await;
            all.extend(join_all((0..52).map(|_| ask(&session, probe()))).await);
            sessions.push(session);
        }
        let busy = all
            .iter()
            .filter(|answered| is_refused(&answered.0, Reason::Busy))
            .count();
        assert_eq!((all.len(), busy), (260, 4));
        // Those of a client that has left are free.
        sessions[0]
            .connection
            .close(VarInt::from_u32(close::DONE), b"");
        sleep(Duration::from_secs(1)).await;
        let next = ask(&sessions[4], probe()).await;
        assert!(matches!(next.0, Message::Accepted { .. }), "{:?}", next.0);
    });
}

#[test]
fn many_wrong_tokens_slow_their_address_down() {
    Scene::play(None, async |scene: Scene| {
        let wrong = || ClientOptions {
            token: Token::random().expect("randomness"),
            ..scene.client(None)
        };
        for _ in 0..100 {
            let session = open(wrong()).await.expect("connected");
            session.welcomed().await.expect_err("the token is wrong");
        }
        let ignored = || scene.server.counts().ignored;
        assert_eq!(ignored(), 0);
        let began = Instant::now();
        let connected = join_all((0..4).map(|_| open(wrong()))).await;
        assert!(ignored() > 0 && began.elapsed() > Duration::from_millis(500));
        assert!(connected.iter().all(Result::is_ok), "they are not shut out");
        // Nor is a client with a token slowed down, behind the same address.
        let (before, began) = (ignored(), Instant::now());
        scene.session().await;
        assert!(ignored() == before && began.elapsed() < Duration::from_millis(500));
    });
}

/// A client may say that it sends less than it does.
#[test]
fn packs_leave_free_what_shall_stay_free() {
    let all = |options: &mut ServeOptions| {
        options.keep_free = KeepFree::Bytes(whimbrel_units::Bytes::new(1 << 60));
    };
    Scene::play_at(all, async |scene: Scene| {
        let session = scene.session().await;
        let (id, path, bytes) = ([9; 16], Vec::new(), 0);
        let Answered(answer, (_send, mut receive)) =
            ask(&session, Message::Tree { id, path, bytes }).await;
        let Message::Accepted { transfer, .. } = answer else {
            panic!("{answer:?}")
        };
        send_pack(&session.connection, transfer, pack_of(["0"], b"x")).await;
        let answer = framing::read(&mut receive).await.expect("an answer");
        assert!(is_refused(&answer, Reason::DiskFull), "{answer:?}");
    });
}

#[test]
fn a_request_that_says_nothing_is_not_waited_for() {
    Scene::play(None, async |scene: Scene| {
        let session = scene.session().await;
        let streams = session.connection.open_bi().await;
        let (mut send, mut receive) = streams.expect("a stream");
        send.write_all(&[0; 3]).await.expect("sent");
        let answer = timeout(Duration::from_secs(60), framing::read(&mut receive)).await;
        let answer = answer.expect("in time").expect("an answer");
        assert!(is_refused(&answer, Reason::Stalled), "{answer:?}");
    });
}

#[test]
fn the_transfers_of_a_connection_share_its_place() {
    let one_place = |options: &mut ServeOptions| options.limits.connections = 1;
    Scene::play_at(one_place, async |scene: Scene| {
        scene.scratch.file("stored/there", 10);
        let session = scene.session().await;
        let mut all = Vec::new();
        for name in ["a", "b"] {
            let answered = ask(&session, put(name)).await;
            assert!(
                matches!(answered.0, Message::Accepted { .. }),
                "{:?}",
                answered.0
            );
            all.push(answered);
        }
        // Who gets a file needs a place, too.
        let path = b"there".to_vec();
        let got = ask(&session, Message::Get { path: path.clone() }).await;
        assert!(matches!(got.0, Message::Put(_)), "{:?}", got.0);
        let waits = ask(&scene.session().await, Message::Get { path }).await;
        assert!(
            matches!(waits.0, Message::Queued { position: 1 }),
            "{:?}",
            waits.0
        );
    });
}

/// The operator may stop the server upon the event.
#[test]
fn a_client_has_its_answer_before_the_operator_hears_of_it() {
    Scene::play_for(
        |user| user.rights.remove = true,
        async |scene: Scene| {
            scene.scratch.file("stored/a", 10);
            let (path, recursive) = (b"a".to_vec(), false);
            let session = scene.session().await;
            let removed = ask(&session, Message::Remove { path, recursive }).await.0;
            assert!(
                matches!(removed, Message::Removed { count: 1 }),
                "{removed:?}"
            );
            assert!(lock(&scene.events).is_empty(), "{:?}", scene.events);
            sleep(Duration::from_secs(1)).await;
            let events = lock(&scene.events);
            assert!(matches!(events[..], [Event::Removed { .. }]), "{events:?}");
        },
    );
}

/// Over all lists.
#[test]
fn a_file_that_cannot_be_sent_has_the_number_of_its_request() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 10);
        let session = scene.session().await;
        let transfer = 1;
        let (mut send, mut receive) = shout(&session, Message::GetMany { transfer }).await;
        for (name, last) in [("a", false), ("missing", true)] {
            let paths = vec![name.as_bytes().to_vec()];
            let list = Message::Wanted { paths, last };
            framing::write(&mut send, &list).await.expect("sent");
        }
        let answer = framing::read(&mut receive).await.expect("an answer");
        let Message::Unsent { failures } = answer else {
            panic!("{answer:?}")
        };
        let numbers: Vec<_> = failures.iter().map(|failure| failure.index).collect();
        assert_eq!(numbers, [1]);
    });
}

/// It stays connected, and answers nothing.
#[test]
fn a_measurement_without_streams_or_reader_keeps_its_place_for_two_minutes() {
    let one_place = |options: &mut ServeOptions| options.limits.connections = 1;
    for target in [PROBE, SOURCE, ""] {
        Scene::play_at(one_place, async |scene: Scene| {
            let closed = match target {
                "" => scene.deaf_session(1).await,
                _ => scene.closed_session().await,
            };
            let target = if target.is_empty() { PROBE } else { target };
            let (answers, target) = (1, target.to_owned());
            let _streams = shout(&closed, Message::Pipe { answers, target }).await;
            sleep(Duration::from_secs(1)).await;
            let waits = ask(&scene.session().await, put("a")).await;
            assert!(matches!(waits.0, Message::Queued { .. }), "{:?}", waits.0);
            let answer = behind(waits).await;
            assert!(matches!(answer, Message::Accepted { .. }), "{answer:?}");
        });
    }
}

#[test]
fn a_source_ends() {
    let little = |options: &mut ServeOptions| {
        options.limits.probe = whimbrel_units::Bytes::new(1_000_000);
    };
    Scene::play_at(little, async |scene: Scene| {
        let client = PipeClient::connect(scene.client(None)).await;
        let client = client.expect("connected");
        // The client does not say that it has enough.
        let (_near, far) = tokio::io::duplex(1);
        let pipe = client.pipe(SOURCE, far, tokio::io::sink());
        let ended = timeout(Duration::from_secs(50), pipe).await;
        let (carried, status) = ended.expect("in time").expect("carried");
        assert_eq!(status, 0);
        assert!(
            (1_000_000..1_100_000).contains(&carried.received),
            "{carried:?}"
        );
    });
}

/// Tries to meet a sender who does not wait.
async fn meet(scene: &Scene) {
    let options = ClientOptions {
        token: Token::random().expect("randomness"),
        ..scene.client(None)
    };
    let parameters = parameters::piping_client(Span::from_secs(60));
    let connecting = Dial::new(&options, parameters);
    let connected = connecting.connect(&|| options.factory()).await;
    let connected = connected.expect("connected");
    let request = Message::Meet {
        version: VERSION,
        place: 7,
        sender: false,
        direct: false,
    };
    let asked = framing::request(&connected.connection, &request).await;
    let (_send, mut receive) = asked.expect("sent");
    let answer = framing::read(&mut receive).await.expect("an answer");
    assert!(is_refused(&answer, Reason::Missing), "{answer:?}");
}

#[test]
fn who_tries_words_is_slowed_down() {
    let lets_meet = |options: &mut ServeOptions| options.meet = true;
    Scene::play_at(lets_meet, async |scene: Scene| {
        for _ in 0..100 {
            meet(&scene).await;
        }
        let ignored = || scene.server.counts().ignored;
        assert_eq!(ignored(), 0);
        join_all((0..4).map(|_| meet(&scene))).await;
        assert!(ignored() > 0);
    });
}
