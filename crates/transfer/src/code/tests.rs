//! Attacks on the proof.

use super::offer;
use crate::client::{ClientOptions, Connected, ServerAddress};
use crate::connection::{framing, parameters, udp};
use crate::credentials::identity::Identity;
use crate::credentials::tls;
use crate::defaults::default_controller;
use crate::error::Error;
use crate::scratch_directory::ScratchDirectory;
use crate::server::users::Users;
use crate::server::{Event, ServeOptions, Server};
use crate::token::Token;
use crate::wire::Message;
use crate::words::{Code, pake};
use noq_proto::{EndpointConfig, ServerConfig};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{self, Connection, Endpoint, RecvStream, SendStream};
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_units::Duration as Span;

/// A receiver that waits for these words, and what happens there.
struct Receiver {
    address: SocketAddr,
    events: mpsc::UnboundedReceiver<Event>,
    _directory: ScratchDirectory,
}

impl Receiver {
    fn start(code: &Code) -> Self {
        let directory = ScratchDirectory::new();
        let options = ServeOptions {
            tcp: false,
            users: Some(Users::default()),
            code: Some(code.clone()),
            ..ServeOptions::new(directory.path(), ([127, 0, 0, 1], 0).into())
        };
        let identity = Identity::ephemeral().expect("a key");
        let server = Server::bind(options, &identity).expect("bound");
        let address = server.local_addr().expect("bound");
        let (to, events) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let on_event = move |event| drop(to.send(event));
            server.run(on_event, pending()).await;
        });
        Self {
            address,
            events,
            _directory: directory,
        }
    }

    /// Whether the first proof was right.
    async fn introduced(&mut self) -> bool {
        let event = timeout(Duration::from_secs(20), self.events.recv()).await;
        match event.expect("in time").expect("an event") {
            Event::Introduced { .. } => true,
            Event::Failed { error, .. } => {
                assert!(matches!(error, Error::Code(_)), "{error}");
                false
            }
            other => panic!("{other:?}"),
        }
    }
}

fn client() -> ClientOptions {
    let nowhere = ServerAddress {
        host: String::new(),
        port: 0,
    };
    let token = Token::random().expect("randomness");
    ClientOptions::new(nowhere, token, default_controller())
}

async fn connect(to: SocketAddr) -> Connected {
    offer::connect(&client(), to).await.expect("connected").1
}

fn words(text: &str) -> Code {
    text.parse().expect("words")
}

#[tokio::test]
async fn the_same_words_make_both_ends_known_and_others_do_not() {
    for (theirs, same) in [("act-zoo-able", true), ("act-zoo-about", false)] {
        let code = words("act-zoo-able");
        let mut receiver = Receiver::start(&code);
        let connected = connect(receiver.address).await;
        let proved = pake::prove(&connected.connection, &words(theirs)).await;
        assert_eq!(proved.is_ok(), same);
        assert_eq!(receiver.introduced().await, same);
        // One guess: now not even the right words help.
        let again = connect(receiver.address).await;
        let second = pake::prove(&again.connection, &code).await;
        assert!(second.is_err(), "used up");
    }
}

/// A server of somebody else, with a key of its own.
fn stranger() -> (Endpoint, SocketAddr) {
    let identity = Identity::ephemeral().expect("a key");
    let crypto = tls::server_config(&identity, AcceptedGroups::default()).expect("valid");
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(parameters::server(Span::from_secs(30))));
    let socket = udp::open(([127, 0, 0, 1], 0).into()).expect("a socket");
    let server = endpoint::Server::new(config);
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(server), socket);
    let endpoint = endpoint.expect("an endpoint");
    let address = endpoint.local_addr().expect("bound");
    (endpoint, address)
}

/// The first request of a client that stays. Clients look at the certificate first and come again.
async fn request(endpoint: &Endpoint) -> (Connection, SendStream, RecvStream) {
    loop {
        let incoming = endpoint.accept().await.expect("open");
        let Ok(connecting) = incoming.accept() else {
            continue;
        };
        let Ok(connection) = connecting.await else {
            continue;
        };
        if let Ok((send, receive)) = connection.accept_bi().await {
            return (connection, send, receive);
        }
    }
}

/// Both ends have the right words, and somebody between them ends their TLS sessions and passes on
/// what they say.
#[tokio::test]
async fn somebody_in_the_middle_of_two_sessions_gets_nothing() {
    let code = words("act-zoo-able");
    let mut receiver = Receiver::start(&code);
    let (middle, address) = stranger();
    let to = receiver.address;
    let passing = tokio::spawn(async move {
        let (_kept, mut to_sender, mut from_sender) = request(&middle).await;
        let first = framing::read(&mut from_sender).await.expect("a message");
        let onward = connect(to).await;
        let (mut to_receiver, mut from_receiver) = framing::request(&onward.connection, &first)
            .await
            .expect("open");
        let answer = framing::read(&mut from_receiver).await.expect("an answer");
        assert!(matches!(answer, Message::CodeAnswer { .. }));
        framing::write(&mut to_sender, &answer)
            .await
            .expect("passed on");
        let last = framing::read(&mut from_sender).await.expect("a message");
        // The sender shows no proof.
        assert!(matches!(last, Message::Refused(_)), "{last:?}");
        framing::write(&mut to_receiver, &last)
            .await
            .expect("passed on");
        framing::read(&mut from_receiver).await.ok();
    });
    let connected = connect(address).await;
    let proved = pake::prove(&connected.connection, &code).await;
    assert!(matches!(proved, Err(Error::Code(_))), "{proved:?}");
    assert!(!receiver.introduced().await);
    passing.await.expect("it passed on");
}

/// What an honest sender said once is repeated to a receiver that waits for the same words.
#[tokio::test]
async fn a_recorded_proof_is_worth_nothing_later() {
    let code = words("act-zoo-able");
    let (recorder, address) = stranger();
    let mut first = Receiver::start(&code);
    let to = first.address;
    // Somebody who has the words, and keeps what was said.
    let recording = tokio::spawn(async move {
        let (_kept, _send, mut receive) = request(&recorder).await;
        framing::read(&mut receive).await.expect("a message")
    });
    let connected = connect(address).await;
    let _ = timeout(
        Duration::from_secs(2),
        pake::prove(&connected.connection, &code),
    )
    .await;
    let recorded = recording.await.expect("recorded");
    let replayed = connect(to).await;
    let (mut send, mut receive) = framing::request(&replayed.connection, &recorded)
        .await
        .expect("open");
    let Message::CodeAnswer { proof, .. } = framing::read(&mut receive).await.expect("an answer")
    else {
        panic!("no answer")
    };
    // The only proof that is known of this session is the receiver's own.
    let reflected = Message::CodeProof { proof };
    framing::write(&mut send, &reflected).await.expect("sent");
    let answer = framing::read(&mut receive).await;
    assert!(!matches!(answer, Ok(Message::Welcome { .. })), "{answer:?}");
    assert!(!first.introduced().await);
}
