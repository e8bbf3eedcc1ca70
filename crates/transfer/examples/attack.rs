//! A client with a token that uses as much of a server's memory as it can: a load for
//! `bench/attacks.py`.
//!
//! ```text
//! attack HOST:PORT KIND CONNECTIONS SECONDS     # the token in WHIMBREL_TOKEN
//! ```
//!
//! | kind | what each connection does |
//! |---|---|
//! | `tree` | sends packs of 1 MiB without end |
//! | `crumbs` | sends files in chunks of one byte |
//! | `chunks` | sends 16 files in chunks of 256 KiB |
//! | `probes` | sends probes, 64 at once |
//! | `readers` | gets the file `data`, 128 times at once, and reads nothing |
//! | `hashes` | gets the sparse file `large`, 100 times at once, and leaves after a second |
//! | `listings` | requests listings, and reads nothing |
//! | `strangers` | connects again and again, shows no token, and fills what it may |

#[path = "../tests/transfer/common/raw.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod raw;

use bytes::{Bytes, BytesMut};
use noq::{Connection, RecvStream, SendStream, TransportConfig, VarInt};
use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use whimbrel_transfer::Token;
use whimbrel_transfer::wire::{
    ChunkHeader, FileTime, Kind, Message, Metadata, PROBE, PackEntry, PackReader, Put, VERSION,
};

const MIB: usize = 1 << 20;

type Failure = Box<dyn Error + Send + Sync>;

/// Numbers that no other file of the attack has.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, kind, connections, seconds] = &arguments[..] else {
        return Err("write HOST:PORT KIND CONNECTIONS SECONDS".into());
    };
    let token: Token = std::env::var("WHIMBREL_TOKEN")?.parse()?;
    let (server, seconds): (SocketAddr, f64) = (server.parse()?, seconds.parse()?);
    let sent = Arc::new(AtomicU64::new(0));
    let mut attacking = JoinSet::new();
    for _ in 0..connections.parse::<usize>()? {
        let (token, kind, sent) = (token.clone(), kind.clone(), Arc::clone(&sent));
        attacking.spawn(async move {
            loop {
                // The server closes a connection as it likes; the next one goes on.
                let ended = attack(server, &token, &kind, &sent).await;
                if let Err(error) = ended {
                    writeln!(std::io::stderr(), "{error}").ok();
                }
                sleep(Duration::from_millis(50)).await;
            }
        });
    }
    let ended = async { while attacking.join_next().await.is_some() {} };
    timeout(Duration::from_secs_f64(seconds), ended).await.ok();
    attacking.shutdown().await;
    writeln!(std::io::stdout(), "{}", sent.load(Ordering::Relaxed))?;
    Ok(())
}

/// One connection, until it ends.
async fn attack(
    server: SocketAddr,
    token: &Token,
    kind: &str,
    sent: &Arc<AtomicU64>,
) -> Result<(), Failure> {
    let endpoint = raw::endpoint([127, 0, 0, 1].into());
    // What is not taken stays with the server.
    let window = match kind {
        "readers" => VarInt::from_u32(64 << 10),
        _ => VarInt::MAX,
    };
    let mut transport = TransportConfig::default();
    transport
        .keep_alive_interval(Some(Duration::from_millis(500)))
        .send_window(64 << 20)
        .receive_window(window)
        .stream_receive_window(window)
        .max_concurrent_uni_streams(VarInt::from_u32(1 << 16));
    let connecting = endpoint.connect_with(raw::trusting(transport), server, "x")?;
    let connection = connecting.await?;
    if kind == "strangers" {
        return stranger(&connection).await;
    }
    let version = VERSION;
    let token = token.clone();
    let (_send, mut receive) = request(&connection, &Message::Hello { version, token }).await?;
    let Message::Welcome { .. } = read(&mut receive).await? else {
        return Err("not welcome".into());
    };
    let mut requests = JoinSet::new();
    for _ in 0..requests_of(kind) {
        let (connection, kind, sent) = (connection.clone(), kind.to_owned(), Arc::clone(sent));
        requests.spawn(async move { one(&connection, &kind, &sent).await });
    }
    while let Some(done) = requests.join_next().await {
        done??;
    }
    Ok(())
}

/// Requests of a connection at once.
fn requests_of(kind: &str) -> usize {
    match kind {
        "tree" => 4,
        "crumbs" | "chunks" => 16,
        "probes" => 64,
        "readers" => 128,
        _ => 100,
    }
}

/// One request, until it ends.
async fn one(connection: &Connection, kind: &str, sent: &Arc<AtomicU64>) -> Result<(), Failure> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("attack-{}-{number}", std::process::id());
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    match kind {
        "tree" => {
            let path = name.into_bytes();
            let (_send, mut receive) =
                request(connection, &Message::Tree { id, path, bytes: 0 }).await?;
            let transfer = accepted(&mut receive).await?;
            for pack in 0.. {
                let bytes = pack_of(pack);
                let header = ChunkHeader {
                    transfer,
                    offset: pack,
                    length: bytes.len() as u32,
                };
                stream(connection, header, &bytes, sent).await?;
            }
        }
        "crumbs" | "chunks" => {
            let put = Message::Put(Put {
                id,
                path: name.into_bytes(),
                // No disk is too small for each of them.
                size: Some(1 << 32),
                metadata: Metadata::plain(Kind::File),
            });
            let (_send, mut receive) = request(connection, &put).await?;
            let transfer = accepted(&mut receive).await?;
            let (length, step) = match kind {
                // Every other byte, so that no range of the file grows.
                "crumbs" => (1, 2),
                _ => (256 << 10, 256 << 10),
            };
            let data = vec![7; length];
            for chunk in 0u64.. {
                let header = ChunkHeader {
                    transfer,
                    offset: chunk * step as u64,
                    length: length as u32,
                };
                stream(connection, header, &data, sent).await?;
            }
        }
        "probes" => {
            let target = PROBE.to_owned();
            let pipe = Message::Pipe {
                answers: number,
                target,
            };
            let (_send, mut receive) = request(connection, &pipe).await?;
            let transfer = accepted(&mut receive).await?;
            // A chunk that is never there keeps those behind it waiting.
            let data = vec![7; MIB];
            for chunk in 1u64.. {
                let header = ChunkHeader {
                    transfer,
                    offset: chunk,
                    length: 0,
                };
                stream(connection, header, &data, sent).await?;
            }
        }
        "readers" | "hashes" => {
            let path = match kind {
                "readers" => b"data".to_vec(),
                _ => b"large".to_vec(),
            };
            let (mut send, mut receive) = request(connection, &Message::Get { path }).await?;
            loop {
                match read(&mut receive).await? {
                    Message::Put(_) => break,
                    Message::Queued { .. } => {}
                    other => return Err(format!("no file: {other:?}").into()),
                }
            }
            let accept = Message::Accepted {
                transfer: number,
                have: Vec::new(),
            };
            send.write_all(&accept.encode()).await?;
            if kind == "hashes" {
                sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
            connection.closed().await;
        }
        "listings" => {
            let list = Message::List {
                path: Vec::new(),
                recursive: true,
            };
            let _streams = request(connection, &list).await?;
            connection.closed().await;
        }
        _ => return Err(format!("unknown kind `{kind}`").into()),
    }
    Ok(())
}

/// Fills what a connection without a token may fill.
async fn stranger(connection: &Connection) -> Result<(), Failure> {
    let mut filled = Vec::new();
    for _ in 0..8 {
        let (mut send, receive) = connection.open_bi().await?;
        // A message that never ends.
        timeout(Duration::from_secs(1), send.write_all(&[0; 16 << 10]))
            .await
            .ok();
        filled.push((send, receive));
    }
    connection.closed().await;
    Ok(())
}

/// A pack with one file.
fn pack_of(number: u64) -> Bytes {
    let mut pack = BytesMut::new();
    let entry = PackEntry {
        path: format!("file-{number}").into_bytes(),
        metadata: Metadata {
            modified: Some(FileTime {
                seconds: 0,
                nanoseconds: 0,
            }),
            ..Metadata::plain(Kind::File)
        },
        content: vec![number as u8; MIB - 200].into(),
    };
    entry.encode(&mut pack);
    PackReader::seal(pack)
}

async fn stream(
    connection: &Connection,
    header: ChunkHeader,
    data: &[u8],
    sent: &Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(&header.encode()).await?;
    stream.write_all(data).await?;
    stream.finish()?;
    sent.fetch_add(data.len() as u64, Ordering::Relaxed);
    Ok(())
}

async fn request(
    connection: &Connection,
    message: &Message,
) -> Result<(SendStream, RecvStream), Failure> {
    let (mut send, receive) = connection.open_bi().await?;
    send.write_all(&message.encode()).await?;
    Ok((send, receive))
}

async fn read(receive: &mut RecvStream) -> Result<Message, Failure> {
    let mut length = [0; 4];
    receive.read_exact(&mut length).await?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    receive.read_exact(&mut body).await?;
    Ok(Message::decode(&body)?)
}

async fn accepted(receive: &mut RecvStream) -> Result<u64, Failure> {
    loop {
        match read(receive).await? {
            Message::Accepted { transfer, .. } => return Ok(transfer),
            Message::Queued { .. } => {}
            other => return Err(format!("not accepted: {other:?}").into()),
        }
    }
}
