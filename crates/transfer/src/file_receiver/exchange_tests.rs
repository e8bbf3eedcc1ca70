//! What a receiver does with the messages and streams of a sender, which the test plays.

use super::tests::partial;
use super::*;
use crate::connection::framing::{read, write};
use crate::connection::pair::Pair;
use crate::connection::routes::{Route, Routes};
use crate::scratch_directory::ScratchDirectory;
use crate::simulated::slow;
use crate::storage::KeepFree;
use crate::wire::ChunkHeader;
use tokio::time::sleep;
use whimbrel_quic::endpoint::Connection;

/// The sender.
struct Peer {
    connection: Connection,
    send: SendStream,
    _answers: RecvStream,
    transfer: u64,
    /// What has arrived at the receiver.
    received: Arc<AtomicU64>,
}

impl Peer {
    async fn say(&mut self, message: Message) {
        write(&mut self.send, &message).await.expect("sent");
    }

    /// Announces the end of a file with this content.
    async fn finish(&mut self, content: &[u8], chunks: u64) {
        let (size, hash) = (content.len() as u64, blake3::hash(content));
        self.say(Message::Finish(Finish { size, chunks, hash }))
            .await;
    }

    /// A stream with the header of a chunk.
    async fn stream(&self, offset: u64, length: usize) -> SendStream {
        let header = ChunkHeader {
            transfer: self.transfer,
            offset,
            length: length as u32,
        };
        let mut stream = self.connection.open_uni().await.expect("a stream");
        stream.write_all(&header.encode()).await.expect("sent");
        stream
    }

    /// A chunk.
    async fn chunk(&self, offset: u64, data: &[u8]) {
        let mut stream = self.stream(offset, data.len()).await;
        stream.write_all(data).await.expect("sent");
        stream.finish().expect("open");
    }

    /// Waits until so much has arrived.
    async fn arrived(&self, bytes: u64) {
        while self.received.load(Ordering::Relaxed) < bytes {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Receives a file from a sender that the receiver has accepted. The sender's part ends with the
/// receiver's.
async fn receive(
    pair: &Pair,
    receiver: &Receiver,
    sender: impl AsyncFnOnce(&mut Peer),
) -> Result<Received, Error> {
    let (mut send, receive) = pair.client.open_bi().await.expect("a stream");
    let queued = Message::Queued { position: 1 };
    write(&mut send, &queued).await.expect("sent");
    let (mut answers, mut control) = pair.server.accept_bi().await.expect("a stream");
    read(&mut control).await.expect("a message");
    let routes = Routes::default();
    let (Route { transfer, .. }, streams) = &mut routes.open(1).expect("the first");
    let streams = std::mem::replace(streams, mpsc::channel(1).1);
    let mut peer = Peer {
        connection: pair.client.clone(),
        send,
        _answers: receive,
        transfer: *transfer,
        received: Arc::clone(&receiver.received),
    };
    let receiving = receiver.run(&mut answers, &mut control, streams);
    let sending = async {
        sender(&mut peer).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        result = receiving => result,
        () = sending => unreachable!("it has no end"),
        error = routes.accept(&pair.server, Duration::from_secs(10)) => Err(error),
    }
}

/// A receiver of a file of this size, or of a stream of up to 1 GiB.
fn receiver(scratch: &ScratchDirectory, size: Option<u64>) -> Receiver {
    Receiver {
        partial: partial(scratch, KeepFree::default()),
        turns: Turns::default(),
        size,
        max_size: size.unwrap_or(1 << 30),
        received: Arc::default(),
        stall: Duration::from_secs(30),
        grow: Box::new(|_| Ok(())),
        pace: None,
        others_wait: Box::new(|| false),
    }
}

fn is_violation(result: &Result<Received, Error>) -> bool {
    matches!(result, Err(Error::Protocol(_)))
}

#[test]
fn chunks_are_as_long_as_their_headers_say_also_behind_gaps() {
    Pair::play(100_000_000, async |pair: Pair| {
        for (rest, stored) in [(5, true), (4, false), (6, false)] {
            let scratch = ScratchDirectory::in_memory();
            let receiver = receiver(&scratch, Some(10));
            let result = receive(&pair, &receiver, async |peer| {
                let mut stream = peer.stream(0, 10).await;
                stream.write_all(&[7; 5]).await.expect("sent");
                // So the receiver reads what arrives in any order.
                sleep(Duration::from_secs(1)).await;
                stream.write_all(&vec![7; rest]).await.expect("sent");
                stream.finish().expect("open");
                peer.finish(&[7; 10], 1).await;
            });
            let result = result.await;
            assert_eq!(result.is_ok(), stored, "{rest}: {result:?}");
            assert_eq!(is_violation(&result), !stored, "{rest}: {result:?}");
        }
    });
}

#[test]
fn the_end_counts_all_chunks() {
    Pair::play(100_000_000, async |pair: Pair| {
        for (chunks, stored) in [(2, true), (1, false)] {
            let scratch = ScratchDirectory::in_memory();
            let receiver = receiver(&scratch, Some(10));
            let result = receive(&pair, &receiver, async |peer| {
                peer.chunk(0, &[7; 5]).await;
                peer.chunk(5, &[7; 5]).await;
                peer.arrived(10).await;
                sleep(Duration::from_secs(1)).await;
                peer.finish(&[7; 10], chunks).await;
            });
            let result = result.await;
            assert_eq!(result.is_ok(), stored, "{result:?}");
            assert_eq!(is_violation(&result), !stored, "{result:?}");
        }
    });
}

#[test]
fn a_stream_ends_where_its_sender_says_and_within_the_largest_size() {
    Pair::play(100_000_000, async |pair: Pair| {
        for (size, stored) in [(100, true), (101, false)] {
            let scratch = ScratchDirectory::in_memory();
            let receiver = Receiver {
                max_size: 100,
                ..receiver(&scratch, None)
            };
            // An earlier attempt has left more.
            receiver.partial.set_len(1000).expect("set");
            let result = receive(&pair, &receiver, async |peer| {
                peer.finish(&vec![0; size], 0).await;
            });
            let result = result.await;
            assert_eq!(result.is_ok(), stored, "{result:?}");
            assert_eq!(is_violation(&result), !stored, "{result:?}");
            let length = receiver.partial.len().expect("inspected");
            assert_eq!(length, if stored { 100 } else { 1000 });
        }
    });
}

#[test]
fn a_file_with_another_hash_is_refused_whether_its_size_is_known_or_not() {
    Pair::play(100_000_000, async |pair: Pair| {
        for size in [Some(10), None] {
            let scratch = ScratchDirectory::in_memory();
            let receiver = receiver(&scratch, size);
            let result = receive(&pair, &receiver, async |peer| {
                peer.chunk(0, &[7; 10]).await;
                peer.finish(&[8; 10], 1).await;
            });
            let result = result.await.expect_err("refused");
            assert_eq!(result.for_peer().reason, Reason::Corrupt);
        }
    });
}

/// What is behind a gap waits for the disk, and not for a pause of its sender.
#[test]
fn what_arrives_in_any_order_is_written_while_more_arrives() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let receiver = receiver(&scratch, Some(100));
        let result = receive(&pair, &receiver, async |peer| {
            let mut stream = peer.stream(0, 100).await;
            // So the receiver reads what arrives in any order.
            sleep(Duration::from_secs(1)).await;
            for _ in 0..50 {
                stream.write_all(&[7]).await.expect("sent");
                sleep(Duration::from_millis(20)).await;
            }
            let mut written = [0; 10];
            let read = receiver.partial.read_at(&mut written, 0);
            assert!(read.is_ok() && written == [7; 10], "{written:?}");
            stream.write_all(&[7; 50]).await.expect("sent");
            stream.finish().expect("open");
            peer.finish(&[7; 100], 1).await;
        });
        result.await.expect("received");
    });
}

#[test]
fn a_slow_disk_is_no_silent_sender() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let stall = Duration::from_secs(10);
        let receiver = Receiver {
            stall,
            ..receiver(&scratch, Some(200_000))
        };
        let began = tokio::time::Instant::now();
        let result = receive(&pair, &receiver, async |peer| {
            slow::set(stall);
            for n in 0..200 {
                peer.chunk(1000 * n, &[7; 1000]).await;
            }
            // The end comes when all is written.
            while receiver.partial.len().expect("inspected") < 200_000 {
                sleep(Duration::from_millis(10)).await;
            }
            peer.finish(&[7; 200_000], 200).await;
        });
        result.await.expect("received");
        let took = began.elapsed();
        assert!(took > 3 * stall, "the disk was not slow: {took:?}");
    });
}

#[test]
fn so_many_requests_for_hashes_wait() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let receiver = receiver(&scratch, Some(10));
        let result = receive(&pair, &receiver, async |peer| {
            slow::set(Duration::from_secs(3600));
            let (log, first, count) = (16, 0, 1);
            for _ in 0..REQUESTS {
                peer.say(Message::HashRequest { log, first, count }).await;
            }
            // The first may be under way.
            sleep(Duration::from_secs(1)).await;
            for _ in 0..2 {
                peer.say(Message::HashRequest { log, first, count }).await;
            }
        });
        let result = result.await;
        assert!(is_violation(&result), "{result:?}");
    });
}

#[test]
fn so_many_chunks_are_read_at_once() {
    Pair::play(100_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let receiver = receiver(&scratch, Some(1000));
        let most = CHUNKS as u64;
        let result = receive(&pair, &receiver, async |peer| {
            let mut open = Vec::new();
            for n in 0..most + 10 {
                let mut stream = peer.stream(2 * n, 2).await;
                stream.write_all(&[7]).await.expect("sent");
                open.push(stream);
            }
            sleep(Duration::from_secs(5)).await;
            assert_eq!(peer.received.load(Ordering::Relaxed), most);
            // The next one takes the place of one that ends.
            open[0].write_all(&[7]).await.expect("sent");
            open[0].finish().expect("open");
            peer.arrived(most + 2).await;
            let text = "enough";
            let refusal = crate::wire::Refusal::new(Reason::Cancelled, text);
            peer.say(Message::Refused(refusal)).await;
            // A stream that is dropped ends.
            std::future::pending::<()>().await;
            drop(open);
        });
        let result = result.await;
        assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    });
}

#[test]
fn a_pack_has_its_length_and_counts_while_it_is_kept() {
    const WINDOW: u32 = 1 << 20;
    Pair::play_with_window(1_000_000_000, WINDOW, async |pair: Pair| {
        let header = |length: usize| ChunkHeader {
            transfer: 1,
            offset: 0,
            length: length as u32,
        };
        let pack = async |header, length: usize| {
            let mut stream = pair.client.open_uni().await.expect("a stream");
            stream.write_all(&vec![7; length]).await.expect("sent");
            stream.finish().expect("open");
            let stream = pair.server.accept_uni().await.expect("a stream");
            read_pack((header, stream), None).await
        };
        for length in [999, 1001] {
            let result = pack(header(1000), length).await;
            assert!(matches!(result, Err(Error::Protocol(_))), "{length}");
        }
        let length = 900_000;
        let (content, kept) = pack(header(length), length).await.expect("received");
        assert_eq!(content.len(), length);
        // What is kept leaves little room.
        let mut more = pair.client.open_uni().await.expect("a stream");
        let data = vec![7; 800_000];
        let sent = async {
            more.write_all(&data).await.expect("sent");
            more.finish().expect("open");
            more.stopped().await
        };
        tokio::pin!(sent);
        let wait = Duration::from_secs(10);
        assert!(tokio::time::timeout(wait, &mut sent).await.is_err());
        drop(kept);
        let sent = tokio::time::timeout(wait, sent).await;
        sent.expect("there is room").ok();
    });
}

/// However a chunk arrives, what waits for the disk leaves the sender less of the window.
#[test]
fn what_waits_for_a_slow_disk_is_at_most_the_window() {
    const WINDOW: u32 = 4 << 20;
    const CHUNK: usize = 1 << 20;
    // In order, and with a pause after which data is read in any order.
    for pause in [0, 1] {
        Pair::play_with_window(1_000_000_000, WINDOW, async |pair: Pair| {
            let scratch = ScratchDirectory::in_memory();
            let receiver = receiver(&scratch, Some(1 << 30));
            let result = receive(&pair, &receiver, async |peer| {
                slow::set(Duration::from_secs(3600));
                let data = vec![7; CHUNK];
                let sending = (0..32).map(|n| {
                    let (peer, data) = (&*peer, &data);
                    async move {
                        let mut stream = peer.stream(n * CHUNK as u64, CHUNK).await;
                        stream.write_all(&data[..1]).await.expect("sent");
                        sleep(Duration::from_secs(pause)).await;
                        stream.write_all(&data[1..]).await.ok();
                        std::future::pending::<()>().await;
                    }
                });
                let sending = futures::future::join_all(sending);
                tokio::pin!(sending);
                let waiting = tokio::time::timeout(Duration::from_secs(10), &mut sending).await;
                assert!(waiting.is_err(), "nothing ends");
                let (arrived, most) = (peer.received.load(Ordering::Relaxed), u64::from(WINDOW));
                assert!(arrived > most / 2, "{arrived} after {pause}");
                // A step of the window, and what each chunk has read before it counts.
                assert!(arrived < most + most / 2, "{arrived} after {pause}");
                sending.await;
            });
            let result = tokio::time::timeout(Duration::from_secs(20), result).await;
            assert!(result.is_err(), "the disk is not so fast: {result:?}");
        });
    }
}

#[test]
fn a_file_comes_in_so_many_parts() {
    let mut announced = Announced::default();
    let mut next = 0;
    let mut add = |start: Option<u64>| {
        let start = start.unwrap_or(next);
        next = next.max(start + 2);
        announced.add(start..start + 1)
    };
    for _ in 0..FREE_RANGES {
        assert_eq!(add(None).expect("free"), 0);
    }
    assert_eq!(add(None).expect("one more"), PER_RANGE);
    assert!(add(Some(4)).is_err(), "it has come");
    for _ in FREE_RANGES + 1..MAX_RANGES {
        add(None).expect("not too many");
    }
    assert!(add(None).is_err());
}

/// A hole at its end takes no chunk.
#[test]
fn a_stream_ends_within_what_its_user_may_store() {
    Pair::play(100_000_000, async |pair: Pair| {
        for (size, fits) in [(100, true), (101, false)] {
            let scratch = ScratchDirectory::in_memory();
            let full = || Error::refused(Reason::Quota, "too much");
            let receiver = Receiver {
                grow: Box::new(move |size| (size <= 100).then_some(()).ok_or_else(full)),
                ..receiver(&scratch, None)
            };
            let result = receive(&pair, &receiver, async |peer| {
                peer.chunk(0, &[7; 10]).await;
                let content = [vec![7; 10], vec![0; size - 10]].concat();
                peer.finish(&content, 1).await;
            });
            let result = result.await;
            assert_eq!(result.is_ok(), fits, "{size}: {result:?}");
        }
    });
}
