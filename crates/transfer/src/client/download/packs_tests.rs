//! Small files from a server that the test plays.

use super::item::{Item, STALL};
use super::packs::{Outcome, get_small};
use crate::client::ClientSession;
use crate::connection::framing;
use crate::connection::pair::Pair;
use crate::connection::parameters;
use crate::connection::routes::Routes;
use crate::error::Error;
use crate::file_sender::testing::{pack_of, send_pack};
use crate::path::RemotePath;
use crate::scratch_directory::ScratchDirectory;
use crate::storage::{Storage, StorageOptions};
use crate::wire::{ChunkHeader, Finish, Kind, Message, Metadata};
use std::sync::Arc;
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// Waits for a request for small files. Returns its streams and the client's number of it.
async fn asked(server: &Connection) -> (SendStream, RecvStream, u64) {
    let (answers, mut requests) = server.accept_bi().await.expect("asked");
    let request = framing::read(&mut requests).await.expect("a request");
    let Message::GetMany { transfer } = request else {
        panic!("{request:?}")
    };
    (answers, requests, transfer)
}

/// It is alive, and yet the rest of a pack does not come.
#[test]
fn a_server_that_is_silent_in_a_pack_is_not_waited_for_without_end() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let storage = Storage::open(scratch.path(), StorageOptions::default());
        let storage = storage.expect("opened");
        let session = ClientSession::of(&pair);
        let path = RemotePath::new("a").expect("a path");
        let metadata = Metadata::plain(Kind::File);
        let item = Item::new(path.clone(), path, 4, metadata, Vec::new());
        let serving = async {
            let (mut answers, _requests, transfer) = asked(&pair.server).await;
            let (offset, length) = (0, 100);
            let header = ChunkHeader {
                transfer,
                offset,
                length,
            };
            let mut stream = pair.server.open_uni().await.expect("a stream");
            stream.write_all(&header.encode()).await.expect("sent");
            stream.write_all(&[7; 50]).await.expect("sent");
            loop {
                tokio::time::sleep(STALL / 10).await;
                let alive = Message::Queued { position: 1 };
                framing::write(&mut answers, &alive).await.ok();
            }
        };
        let routes = Routes::default();
        parameters::admit(&session.connection);
        let counts = Arc::default();
        let items = (vec![(0, item)], None);
        let getting = get_small(&session, &routes, &storage, &counts, items, |_, _| ());
        let getting = tokio::time::timeout(2 * STALL, getting);
        tokio::select! {
            result = getting => {
                let result = result.expect("in time");
                assert!(matches!(result, Err(Error::Lost(_))), "{result:?}");
            }
            () = serving => unreachable!("it has no end"),
            error = routes.accept(&session.connection, STALL) => panic!("{error}"),
        }
    });
}

/// The server says nothing of one file and is done.
#[test]
fn a_small_file_that_the_server_leaves_out_is_got_alone() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let storage = Storage::open(scratch.path(), StorageOptions::default());
        let storage = storage.expect("opened");
        let session = ClientSession::of(&pair);
        let items = ["a", "b"].map(|name| {
            let path = RemotePath::new(name).expect("a path");
            let metadata = Metadata::plain(Kind::File);
            Item::new(path.clone(), path, 4, metadata, Vec::new())
        });
        let serving = async {
            let (mut answers, mut requests, transfer) = asked(&pair.server).await;
            framing::read(&mut requests).await.expect("the paths");
            send_pack(&pair.server, transfer, pack_of(["a"], b"text")).await;
            let (size, chunks) = (4, 1);
            let hash = blake3::Hash::from_bytes([0; 32]);
            let finish = Message::Finish(Finish { size, chunks, hash });
            framing::write(&mut answers, &finish).await.expect("sent");
            std::future::pending::<()>().await;
        };
        let routes = Routes::default();
        parameters::admit(&session.connection);
        let mut outcomes = Vec::new();
        let items = (7..).zip(items).collect();
        let counts = Arc::default();
        let getting = get_small(&session, &routes, &storage, &counts, (items, None), {
            |number, outcome| outcomes.push((number, outcome))
        });
        tokio::select! {
            result = getting => result.expect("got"),
            () = serving => unreachable!("it has no end"),
            error = routes.accept(&session.connection, STALL) => panic!("{error}"),
        }
        assert!(
            matches!(outcomes[..], [(7, Outcome::Stored), (8, Outcome::Alone)]),
            "{outcomes:?}"
        );
    });
}
