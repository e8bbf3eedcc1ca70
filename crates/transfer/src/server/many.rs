//! Many small files that a client requests: read into packs.

use super::options::Event;
use super::request::{below, may_read_at};
use super::session::Session;
use super::users::User;
use crate::blocking::blocking;
use crate::connection::framing::Control;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::file_sender::{Account, Pack, Packing, read_small, send_stream};
use crate::storage::Storage;
use crate::turns::Turns;
use crate::wire::{
    ChunkHeader, Failure, Finish, MAX_LIST, MAX_MESSAGE, Message, PackEntry, Reason,
};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use whimbrel_quic::endpoint::{RecvStream, SendStream};
use whimbrel_units::Bytes;

/// Lists of paths that wait to be read.
const LISTS: usize = 4;
/// Packs that are read ahead.
const READ_AHEAD: usize = 4;
/// Failures in one message: their texts must fit.
const FAILURES: usize = 40;

/// What was read.
enum Found {
    Pack(Pack<()>, OwnedSemaphorePermit),
    Failed(Failure),
}

impl Session {
    /// Sends the files that the client lists, in packs with the client's number.
    pub(super) async fn get_many(
        self,
        transfer: u64,
        mut send: SendStream,
        mut receive: RecvStream,
    ) {
        let started = Instant::now();
        let sending = self.send_packs(transfer, &mut send, &mut receive);
        match self.while_it_moves(1, sending).await {
            Ok((files, bytes)) => (self.peer.on_event)(Event::SentTree {
                peer: self.remote_user(),
                key_exchange: KeyExchange::of(&self.connection),
                files,
                bytes: Bytes::new(bytes),
                took: started.elapsed().into(),
            }),
            Err(error) => self.failed(&mut send, None, error).await,
        }
    }

    /// Returns the number of files and their bytes.
    async fn send_packs(
        &self,
        transfer: u64,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<(u64, u64), Error> {
        self.may_read(b"")?;
        let _place = self.place(send).await?;
        let storage = self.client.storage.clone();
        let (lists, to_read) = mpsc::channel::<Vec<Vec<u8>>>(LISTS);
        let (found, mut to_send) = mpsc::channel(READ_AHEAD);
        let user = Arc::clone(&self.client.user);
        let reading = read_all((storage, user), to_read, self.turns.clone(), found);
        // More lists are read while packs wait for the path.
        let asking = async {
            let mut control = Control::new(receive);
            loop {
                let Message::Wanted { paths, last } = control.next().await? else {
                    return Err(Error::Protocol("an unexpected message".to_owned()));
                };
                if lists.send(paths).await.is_err() || last {
                    break;
                }
            }
            drop(lists);
            Ok(())
        };
        let sending = async {
            let (mut packs, mut files, mut bytes) = (0, 0, 0);
            let mut failures = Vec::new();
            while let Some(found) = to_send.recv().await {
                let (pack, _turn) = match found {
                    Found::Pack(pack, turn) => (pack, turn),
                    Found::Failed(failure) => {
                        failures.push(failure);
                        if failures.len() >= FAILURES.min(MAX_LIST) {
                            let failures = std::mem::take(&mut failures);
                            framing::write(send, &Message::Unsent { failures }).await?;
                        }
                        continue;
                    }
                };
                let header = ChunkHeader {
                    transfer,
                    offset: packs,
                    length: pack.content.len() as u32,
                };
                let priority = i32::try_from(packs).map_or(i32::MIN, |n| -n);
                let account = Account::default();
                let content = pack.content;
                send_stream(&self.connection, header, content, priority, None, &account).await?;
                packs += 1;
                files += pack.items.len() as u64;
                bytes += pack.bytes;
            }
            if !failures.is_empty() {
                framing::write(send, &Message::Unsent { failures }).await?;
            }
            let finish = Finish {
                size: bytes,
                chunks: packs,
                hash: blake3::Hash::from_bytes([0; 32]),
            };
            framing::write(send, &Message::Finish(finish)).await?;
            send.finish().ok();
            Ok((files, bytes))
        };
        let all = async {
            let ((), (), sent) = tokio::try_join!(reading, asking, sending)?;
            Ok::<_, Error>(sent)
        };
        let sent = tokio::select! {
            sent = all => sent?,
            reason = self.connection.closed() => return Err(close::lost(reason)),
        };
        // The client ends the stream when it has all. Until then the request lasts: a connection
        // without one is ended, whatever is on its way.
        let has_all = async { while let Ok(Some(_)) = receive.read_chunk(MAX_MESSAGE).await {} };
        tokio::select! {
            () = has_all => {}
            _ = self.connection.closed() => {}
        }
        Ok(sent)
    }
}

/// Reads files into packs.
async fn read_all(
    (storage, user): (Storage, Arc<User>),
    mut lists: mpsc::Receiver<Vec<Vec<u8>>>,
    turns: Turns,
    to: mpsc::Sender<Found>,
) -> Result<(), Error> {
    let mut packing = Packing::new();
    let mut index = 0u32;
    // Kept from one pack to the next: of what is read, some waits for more.
    let mut turn = None;
    while let Some(paths) = lists.recv().await {
        let mut paths = paths.into_iter();
        loop {
            if turn.is_none() {
                turn = Some(turns.ahead().await?);
            }
            let (storage, user) = (storage.clone(), Arc::clone(&user));
            let read;
            (packing, paths, read, index) = blocking(move || {
                let read = read_some((&storage, &user), &mut packing, &mut paths, &mut index);
                Ok((packing, paths, read, index))
            })
            .await?;
            let found = match (read, turn.take()) {
                (Read::Pack(pack), Some(turn)) => Found::Pack(pack, turn),
                (Read::Failed(failure), kept) => {
                    turn = kept;
                    Found::Failed(failure)
                }
                (Read::All, kept) => {
                    turn = kept;
                    break;
                }
                (Read::Pack(_), None) => return Err(Error::Stopped),
            };
            to.send(found).await.map_err(|_| Error::Stopped)?;
        }
    }
    if let (Some(last), Some(turn)) = (packing.finish(), turn) {
        let last = Found::Pack(last, turn);
        to.send(last).await.map_err(|_| Error::Stopped)?;
    }
    Ok(())
}

/// What some of the listed files are.
enum Read {
    /// A full pack.
    Pack(Pack<()>),
    /// One that cannot be read.
    Failed(Failure),
    /// All are read.
    All,
}

/// Reads files until a pack is full or one cannot be read. Blocks.
fn read_some(
    from: (&Storage, &User),
    packing: &mut Packing<()>,
    paths: &mut std::vec::IntoIter<Vec<u8>>,
    index: &mut u32,
) -> Read {
    for path in paths {
        let this = *index;
        *index = this.saturating_add(1);
        match read(from, path) {
            Ok(entry) => {
                if let Some(pack) = packing.add((), &entry) {
                    return Read::Pack(pack);
                }
            }
            Err(error) => {
                let refusal = match &error {
                    Error::Changed(_) => {
                        crate::wire::Refusal::new(Reason::Changed, "it changes or is long")
                    }
                    error => error.for_peer(),
                };
                return Read::Failed(Failure {
                    index: this,
                    refusal,
                });
            }
        }
    }
    Read::All
}

fn read((storage, user): (&Storage, &User), path: Vec<u8>) -> Result<PackEntry, Error> {
    let file = below(None, &path)?;
    may_read_at(user, &file)?;
    let shown = storage.shown(&file);
    let (metadata, content) = read_small(|| storage.open_file(&file), &shown, true)?;
    Ok(PackEntry {
        path,
        metadata,
        content,
    })
}
