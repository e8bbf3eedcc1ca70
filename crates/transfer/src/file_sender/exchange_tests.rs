//! What a sender does with the answers of a receiver, which the test plays.

use super::*;
use crate::blocks::{BLOCK_LOG, FINE_LOG, subtree};
use crate::connection::framing::{read, write};
use crate::connection::pair::Pair;
use crate::scratch_directory::ScratchDirectory;
use crate::wire::{CHUNK_HEADER, Kind, Metadata};
use std::fs::OpenOptions;
use std::io::Cursor;
use std::ops::Range;
use tokio::time::Instant;

/// The receiver.
struct Peer {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
}

impl Peer {
    async fn next(&mut self) -> Message {
        read(&mut self.receive).await.expect("a message")
    }

    async fn say(&mut self, message: Message) {
        write(&mut self.send, &message).await.expect("sent");
    }

    /// Accepts the file, of which these parts are there.
    async fn accept(&mut self, have: &[(u64, u64)]) {
        let have = have.to_vec();
        self.say(Message::Accepted { transfer: 7, have }).await;
    }

    async fn finish(&mut self) -> Finish {
        match self.next().await {
            Message::Finish(finish) => finish,
            other => panic!("not the end: {other:?}"),
        }
    }

    async fn request(&mut self) -> (u8, u64, u32) {
        match self.next().await {
            Message::HashRequest { log, first, count } => (log, first, count),
            other => panic!("no request: {other:?}"),
        }
    }

    async fn hashes(&mut self, log: u8, first: u64, hashes: Vec<[u8; 32]>) {
        self.say(Message::Hashes { log, first, hashes }).await;
    }

    /// The next chunk.
    async fn chunk(&self) -> Range<u64> {
        let mut stream = self.connection.accept_uni().await.expect("a stream");
        let mut header = [0; CHUNK_HEADER];
        stream.read_exact(&mut header).await.expect("a header");
        let header = ChunkHeader::decode(header);
        let data = stream.read_to_end(CHUNK as usize).await.expect("data");
        assert_eq!((header.transfer, header.length), (7, data.len() as u32));
        header.offset..header.offset + data.len() as u64
    }
}

/// A sender on the client's end of a pair, without a limit of its rate and without callbacks.
fn sending<'a>(
    pair: &'a Pair,
    turns: &'a Turns,
    source: &'a Arc<Source>,
    account: &'a Arc<Account>,
) -> Sending<'a> {
    Sending {
        connection: &pair.client,
        turns,
        source,
        account,
        pace: None,
        priority: 1000,
        on_queued: &|_| (),
        on_announced: &|_| (),
    }
}

/// Sends a source to a receiver that has got the offer.
async fn send(
    pair: &Pair,
    source: Source,
    receiver: impl AsyncFnOnce(&mut Peer),
) -> Result<Sent, Error> {
    let source = Arc::new(source);
    let (turns, account) = (Turns::default(), Arc::default());
    let put = Put {
        id: [1; 16],
        path: b"a".to_vec(),
        size: source.size(),
        metadata: Metadata::plain(Kind::File),
    };
    let sending = async {
        let (mut send, mut receive) = pair.client.open_bi().await.expect("a stream");
        let sending = sending(pair, &turns, &source, &account);
        sending.run(put, &mut send, &mut receive).await
    };
    let receiving = async {
        let (send, receive) = pair.server.accept_bi().await.expect("a stream");
        let connection = pair.server.clone();
        let mut peer = Peer {
            connection,
            send,
            receive,
        };
        assert!(matches!(peer.next().await, Message::Put(_)));
        receiver(&mut peer).await;
        peer
    };
    tokio::join!(sending, receiving).0
}

fn file(scratch: &ScratchDirectory, size: u64) -> (Source, Vec<u8>) {
    let path = scratch.file("a", size as usize);
    let file = FileSource::at_once(open_regular(&path).expect("opened"), &path);
    let content = std::fs::read(&path).expect("read");
    (Source::File(file.expect("inspected")), content)
}

#[test]
fn only_the_confirmation_of_this_file_is_believed() {
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        for (more, other, stored) in [(0, false, true), (1, false, false), (0, true, false)] {
            let (source, _) = file(&scratch, 1000);
            let sent = send(&pair, source, async |peer| {
                peer.accept(&[]).await;
                assert_eq!(peer.chunk().await, 0..1000);
                let finish = peer.finish().await;
                let bytes = finish.size + more;
                let hash = match other {
                    true => blake3::hash(b"other"),
                    false => finish.hash,
                };
                peer.say(Message::Stored { bytes, hash }).await;
            });
            let sent = sent.await;
            match stored {
                true => assert!(matches!(sent, Ok(Sent::Stored { size: 1000, .. }))),
                false => assert!(matches!(sent, Err(Error::Protocol(_))), "{sent:?}"),
            }
        }
    });
}

/// It changed without a trace, or a disk failed: the next attempt finds out where.
#[test]
fn a_file_that_arrived_with_another_hash_is_to_be_sent_again() {
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let (source, _) = file(&scratch, 1000);
        let sent = send(&pair, source, async |peer| {
            peer.accept(&[]).await;
            peer.chunk().await;
            peer.finish().await;
            let refusal = Refusal::new(Reason::Corrupt, "another hash");
            peer.say(Message::Refused(refusal)).await;
        });
        let sent = sent.await;
        assert!(matches!(sent, Ok(Sent::Changed)), "{sent:?}");
    });
}

#[test]
fn the_receiver_learns_that_the_sender_cannot_read_its_file() {
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let path = scratch.file("a", 1000);
        let file = OpenOptions::new().write(true).open(&path).expect("opened");
        let source = FileSource::at_once(file, &path).expect("inspected");
        let sent = send(&pair, Source::File(source), async |peer| {
            peer.accept(&[]).await;
            match peer.next().await {
                Message::Refused(refusal) => assert_eq!(refusal.reason, Reason::Cancelled),
                other => panic!("{other:?}"),
            }
        });
        let sent = sent.await;
        assert!(matches!(sent, Err(Error::File { .. })), "{sent:?}");
    });
}

/// Of what is there, whole parts of the source are compared; all else is sent.
#[test]
fn each_byte_that_the_receiver_does_not_have_is_sent_once() {
    const PART: u64 = 1 << FINE_LOG;
    const SIZE: u64 = 3 * PART;
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        // In the second case the receiver has more than there is.
        for (have, missing) in [
            ((PART, 2 * PART), vec![0..PART, 2 * PART..SIZE]),
            ((0, 3 * CHUNK), vec![]),
        ] {
            let (source, content) = file(&scratch, SIZE);
            let sent = send(&pair, source, async |peer| {
                peer.accept(&[have]).await;
                let (log, first, count) = peer.request().await;
                let last = subtree(SIZE, log, first + u64::from(count) - 1);
                assert!(!last.is_empty(), "there is no such part");
                let hash = |index| {
                    let range = subtree(SIZE, log, index);
                    let part = &content[range.start as usize..range.end as usize];
                    hash_subtree(SIZE, &range, part)
                };
                let hashes = (first..first + u64::from(count)).map(hash).collect();
                peer.hashes(log, first, hashes).await;
                let mut chunks = Vec::new();
                for _ in &missing {
                    chunks.push(peer.chunk().await);
                }
                assert_eq!(chunks, missing);
                let Finish { size, chunks, hash } = peer.finish().await;
                assert_eq!((size, chunks), (SIZE, missing.len() as u64));
                peer.say(Message::Stored { bytes: size, hash }).await;
            });
            let sent = sent.await;
            assert!(matches!(sent, Ok(Sent::Stored { .. })), "{sent:?}");
        }
    });
}

/// The sender knows the hashes of blocks only: it cannot read again what was written.
#[test]
fn of_a_stream_whole_blocks_are_compared() {
    Pair::play(100_000_000, async |pair: Pair| {
        let content = vec![1; CHUNK as usize + (1 << 18)];
        let stream = StreamSource::new(Box::new(Cursor::new(content)));
        // An earlier attempt has read both blocks.
        for at in [0, CHUNK] {
            let Following::Read(reader) = stream.next(at).await else {
                panic!("read before")
            };
            stream.read(reader).expect("read");
        }
        let ours = stream.hash(0).expect("read");
        let sent = send(&pair, Source::Stream(stream), async |peer| {
            peer.accept(&[(0, CHUNK + (1 << 17))]).await;
            assert_eq!(peer.request().await, (BLOCK_LOG, 0, 1));
            peer.hashes(BLOCK_LOG, 0, vec![ours]).await;
            assert_eq!(peer.chunk().await, CHUNK..CHUNK + (1 << 18));
            let Finish { size, hash, .. } = peer.finish().await;
            peer.say(Message::Stored { bytes: size, hash }).await;
        });
        let sent = sent.await;
        assert!(matches!(sent, Ok(Sent::Stored { .. })), "{sent:?}");
    });
}

/// So what is lost is repaired soon, and little is written behind gaps.
#[test]
fn the_oldest_chunk_is_complete_first() {
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let (source, _) = file(&scratch, 6 * CHUNK);
        let sent = send(&pair, source, async |peer| {
            peer.accept(&[]).await;
            let begun = Instant::now();
            assert_eq!(peer.chunk().await, 0..CHUNK);
            // A chunk takes 0.84 s, all of them 5 s.
            assert!(begun.elapsed() < Duration::from_millis(2000));
            for n in 1..6 {
                assert_eq!(peer.chunk().await, n * CHUNK..(n + 1) * CHUNK);
            }
            let Finish { size, hash, .. } = peer.finish().await;
            peer.say(Message::Stored { bytes: size, hash }).await;
        });
        let sent = sent.await;
        assert!(matches!(sent, Ok(Sent::Stored { .. })), "{sent:?}");
    });
}

#[test]
fn questions_do_not_wait_behind_data() {
    Pair::play(10_000_000, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let (source, _) = file(&scratch, 6 * CHUNK);
        let sent = send(&pair, source, async |peer| {
            // The last block is there, and differs.
            peer.accept(&[(5 * CHUNK, 6 * CHUNK)]).await;
            assert_eq!(peer.request().await, (BLOCK_LOG, 5, 1));
            // The link has work for seconds.
            let first = peer.chunk().await;
            assert_eq!(first, 0..CHUNK);
            let asked = Instant::now();
            peer.hashes(BLOCK_LOG, 5, vec![[0; 32]]).await;
            assert_eq!(peer.request().await, (FINE_LOG, 5 * 16, 16));
            let took = asked.elapsed();
            assert!(took < Duration::from_millis(1500), "{took:?}");
            peer.connection.close(0u32.into(), b"");
        });
        assert!(sent.await.is_err());
    });
}

/// What was read ahead takes memory until then.
#[test]
fn the_turn_of_a_chunk_lasts_until_quic_has_it() {
    Pair::play_with_window(10_000_000, 64 << 10, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        let source = Arc::new(file(&scratch, 10).0);
        let (turns, account) = (Turns::default(), Arc::default());
        let sending = Sending {
            priority: 0,
            ..sending(&pair, &turns, &source, &account)
        };
        let turn = Arc::new(tokio::sync::Semaphore::new(1));
        let permit = Arc::clone(&turn).try_acquire_owned().expect("free");
        let (to, chunks) = mpsc::channel(1);
        let ahead: Ahead = (0, vec![7; CHUNK as usize].into(), permit);
        to.try_send(ahead).expect("there is room");
        let sent = sending.send_chunks(7, chunks);
        tokio::pin!(sent);
        // The receiver takes none of it.
        assert!(timeout(Duration::from_secs(10), &mut sent).await.is_err());
        assert_eq!(turn.available_permits(), 0);
    });
}

/// The streams of a transfer that failed end before the receiver has said why.
#[test]
fn the_reason_of_a_receiver_that_stops_the_streams_is_waited_for() {
    Pair::play_with_window(10_000_000, 64 << 10, async |pair: Pair| {
        let scratch = ScratchDirectory::in_memory();
        // As long as that, and no longer.
        for (after, heard) in [(500, true), (10_000, false)] {
            let (source, _) = file(&scratch, 2 * CHUNK);
            let sent = send(&pair, source, async |peer| {
                peer.accept(&[]).await;
                let stream = peer.connection.accept_uni().await;
                stream.expect("a stream").stop(7u32.into()).expect("open");
                tokio::time::sleep(Duration::from_millis(after)).await;
                let refusal = Refusal::new(Reason::DiskFull, "no room");
                write(&mut peer.send, &Message::Refused(refusal)).await.ok();
            });
            let sent = sent.await;
            match heard {
                true => assert!(matches!(sent, Err(Error::Refused(_))), "{sent:?}"),
                false => assert!(matches!(sent, Err(Error::Lost(_))), "{sent:?}"),
            }
        }
    });
}
