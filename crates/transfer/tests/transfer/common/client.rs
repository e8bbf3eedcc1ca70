//! A client that the test plays.

use super::raw;
use super::{Service, TEST_TIMEOUT};
use noq::{Connection, Endpoint, RecvStream, SendStream};
use std::net::SocketAddr;
use tokio::time::timeout;
use whimbrel_transfer::Token;
use whimbrel_transfer::wire::{
    ChunkHeader, Finish, Kind, Message, Metadata, Put, Refusal, VERSION,
};

/// A client that writes protocol messages directly.
pub struct RawClient {
    pub connection: Connection,
    _endpoint: Endpoint,
}

impl RawClient {
    /// A client that has shown the token.
    pub async fn connect(service: &Service) -> Self {
        let raw = Self::stranger(service.address, noq::TransportConfig::default()).await;
        raw.welcomed(service).await;
        raw
    }

    /// Shows the token.
    pub async fn welcomed(&self, service: &Service) {
        let (_send, mut receive) = self.hello(service.identity.token().clone()).await;
        let Message::Welcome { .. } = read_message(&mut receive).await else {
            panic!("not welcome")
        };
    }

    /// Shows a token.
    pub async fn hello(&self, token: Token) -> (SendStream, RecvStream) {
        let version = VERSION;
        self.send_message(&Message::Hello { version, token }).await
    }

    /// A client that has shown no token.
    pub async fn stranger(to: SocketAddr, transport: noq::TransportConfig) -> Self {
        let config = raw::trusting(transport);
        let endpoint = raw::endpoint([127, 0, 0, 1].into());
        let connection = endpoint
            .connect_with(config, to, "x")
            .expect("a valid configuration")
            .await
            .expect("connected");
        Self {
            connection,
            _endpoint: endpoint,
        }
    }

    /// Offers a file.
    pub async fn put(&self, name: &str, size: u64) -> (SendStream, RecvStream) {
        self.send_message(&Message::Put(Put {
            id: rand_id(),
            path: name.as_bytes().to_vec(),
            size: Some(size),
            metadata: Metadata::plain(Kind::File),
        }))
        .await
    }

    /// Sends a message on a stream of its own.
    pub async fn send_message(&self, message: &Message) -> (SendStream, RecvStream) {
        let (mut send, receive) = self.connection.open_bi().await.expect("open");
        send.write_all(&message.encode()).await.expect("written");
        (send, receive)
    }

    /// Sends a chunk stream. The server may stop it at any time, so errors are ignored.
    pub async fn chunk(&self, transfer: u64, offset: u64, data: &[u8]) {
        self.stream(header(transfer, offset, data.len()), data)
            .await;
    }

    /// Sends a chunk stream with any header.
    pub async fn stream(&self, header: ChunkHeader, data: &[u8]) {
        let mut stream = self.connection.open_uni().await.expect("open");
        stream.write_all(&header.encode()).await.ok();
        stream.write_all(data).await.ok();
        stream.finish().ok();
    }
}

/// The header of a chunk.
pub fn header(transfer: u64, offset: u64, length: usize) -> ChunkHeader {
    ChunkHeader {
        transfer,
        offset,
        length: length as u32,
    }
}

/// The end of a file with this content.
pub fn finish(data: &[u8], chunks: u64) -> Message {
    Message::Finish(Finish {
        size: data.len() as u64,
        chunks,
        hash: blake3::hash(data),
    })
}

/// A number that no other transfer of these tests has.
pub fn rand_id() -> [u8; 16] {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&next.to_be_bytes());
    id
}

/// The next message.
pub async fn read_message(receive: &mut RecvStream) -> Message {
    let reading = async {
        let mut length = [0; 4];
        receive.read_exact(&mut length).await.expect("an answer");
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        receive.read_exact(&mut body).await.expect("an answer");
        Message::decode(&body).expect("a message")
    };
    timeout(TEST_TIMEOUT, reading).await.expect("in time")
}

/// The next message, which is a refusal.
pub async fn refused(receive: &mut RecvStream) -> Refusal {
    match read_message(receive).await {
        Message::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// The number of the transfer of a request that is accepted.
pub async fn accepted(receive: &mut RecvStream) -> u64 {
    match read_message(receive).await {
        Message::Accepted { transfer, .. } => transfer,
        other => panic!("not accepted: {other:?}"),
    }
}
