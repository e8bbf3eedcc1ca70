//! What a reader does with chunks of a pipe that the test sends.

use super::stream::PipeReader;
use crate::blocks::CHUNK;
use crate::connection::pair::Pair;
use crate::connection::routes::Routes;
use crate::error::Error;
use crate::wire::ChunkHeader;
use std::time::Duration;

/// Sends chunks, each with an index, the length in its header and its content. Returns what is read
/// until the end.
async fn read(pair: &Pair, chunks: &[(u64, u32, usize)]) -> Result<usize, Error> {
    let routes = Routes::default();
    let (route, streams) = routes.open(1).expect("the first");
    let mut reader = PipeReader::new(streams);
    let sending = async {
        let mut open = Vec::new();
        for &(offset, length, size) in chunks {
            let header = ChunkHeader {
                transfer: route.transfer,
                offset,
                length,
            };
            let mut stream = pair.client.open_uni().await.expect("a stream");
            stream.write_all(&header.encode()).await.expect("sent");
            stream.write_all(&vec![7; size]).await.ok();
            stream.finish().ok();
            open.push(stream);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut all = 0;
        while let Some(data) = reader.read().await? {
            all += data.len();
        }
        Ok(all)
    };
    tokio::select! {
        read = tokio::time::timeout(Duration::from_secs(60), reading) => read.expect("it ends"),
        () = sending => unreachable!("it has no end"),
        error = routes.accept(&pair.server, Duration::from_secs(10)) => Err(error),
    }
}

#[test]
fn a_pipe_ends_behind_a_chunk_that_is_not_full() {
    Pair::play(1_000_000_000, async |pair: Pair| {
        const ALL: usize = CHUNK as usize;
        let one = read(&pair, &[(0, 0, 5)]).await;
        assert_eq!(one.expect("read"), 5);
        // A full one is not the last.
        let two = read(&pair, &[(0, 0, ALL), (1, 0, 0)]).await;
        assert_eq!(two.expect("read"), ALL);
        let swapped = read(&pair, &[(1, 0, 3), (0, 0, ALL)]).await;
        assert_eq!(swapped.expect("read"), ALL + 3);
    });
}

#[test]
fn chunks_of_a_pipe_that_are_wrong_end_it() {
    Pair::play(1_000_000_000, async |pair: Pair| {
        const ALL: usize = CHUNK as usize;
        for (wrong, chunks) in [
            ("too long", &[(0, 0, ALL + 1)][..]),
            ("again", &[(0, 0, ALL), (0, 0, 1)][..]),
            ("twice before its turn", &[(2, 0, 1), (2, 0, 1)][..]),
            ("of a file", &[(0, 5, 5)][..]),
        ] {
            let result = read(&pair, chunks).await;
            assert!(
                matches!(result, Err(Error::Protocol(_))),
                "{wrong}: {result:?}"
            );
        }
    });
}
