//! One file: from the request to the answer.

use super::claims::Key;
use super::incoming::{Entry, IncomingPath};
use super::options::Event;
use super::request::may_write_at;
use super::session::Session;
use super::stored_files::HASHING;
use crate::blocking::blocking;
use crate::cancel::Cancel;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::file_receiver::{Received, Receiver};
use crate::path::RemotePath;
use crate::storage::{ENTRY, Found, Lock, Partial, busy};
use crate::wire::{FileTime, Kind, Message, Put, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use whimbrel_quic::endpoint::{RecvStream, SendStream};
use whimbrel_units::Bytes;

/// Time for the lock of a transfer that has ended to become free.
const UNLOCK: Duration = Duration::from_secs(5);
/// Time between two attempts.
const RETRY: Duration = Duration::from_millis(20);

impl Session {
    /// Stores a file that the client offers.
    pub(super) async fn put(self, put: Put, mut send: SendStream, mut receive: RecvStream) {
        let started = Instant::now();
        let name = RemotePath::new(&put.path);
        let path = match &name {
            Ok(path) => path.clone(),
            Err(e) => {
                let error = Error::refused(Reason::Name, e.to_string());
                return self.failed(&mut send, None, error).await;
            }
        };
        match self.store(&put, &path, &mut send, &mut receive).await {
            Ok(Received { size, hash }) => {
                let stored = Message::Stored { bytes: size, hash };
                self.peer.answer(&mut send, &stored).await;
                (self.peer.on_event)(Event::Stored {
                    peer: self.remote_user(),
                    key_exchange: KeyExchange::of(&self.connection),
                    name: path,
                    bytes: Bytes::new(size),
                    took: started.elapsed().into(),
                    hash,
                });
            }
            Err(error) => self.failed(&mut send, Some(path), error).await,
        }
    }

    async fn store(
        &self,
        put: &Put,
        path: &RemotePath,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Received, Error> {
        let shared = &self.peer.shared;
        may_write_at(&self.client.user, path)?;
        let max = shared.max_file();
        if put.size.is_some_and(|size| size > max) {
            let (size, max) = (Bytes::new(put.size.unwrap_or(0)), Bytes::new(max));
            let text = format!("the file is {size}, this server accepts up to {max}");
            return Err(Error::refused(Reason::TooLarge, text));
        }
        if put.metadata.kind != Kind::File {
            return Err(Error::Protocol("a file of another type".to_owned()));
        }
        let _place = self.place(send).await?;
        let key = (self.client.user.name.clone(), path.clone());
        let received = Arc::new(AtomicU64::new(0));
        let claim = tokio::select! {
            claim = shared.claims.claim(key.clone(), put.id, Arc::clone(&received)) => claim,
            reason = self.connection.closed() => return Err(close::lost(reason)),
        };
        let claim = claim.ok_or_else(|| busy(path))?;
        let same = self.same(put, path, &key, send, receive);
        if let Some(found) = self.while_it_moves(HASHING, same).await? {
            return Ok(found);
        }
        let partial = Arc::new(self.lock(path).await?);
        let opened = Arc::clone(&partial);
        let size = put.size;
        let have = blocking(move || {
            // What an earlier version of the file had behind the end.
            if let Some(size) = size {
                opened.set_len(size)?;
            }
            opened.have()
        })
        .await?;
        let there = have.bytes();
        let needed = size.map_or(0, |size| size - there.min(size));
        if let Err(error) = self.client.storage.check_space(needed) {
            self.note_full(&error);
            if there == 0 {
                partial.remove();
            }
            return Err(error);
        }
        received.store(there, Ordering::Relaxed);
        let usage = &shared.usage;
        let beside = ENTRY + put.metadata.attribute_bytes();
        let reservation = usage
            .reserve(&self.client, needed + beside, there, Arc::clone(&received))
            .await;
        if reservation.is_err() && there == 0 {
            partial.remove();
        }
        let reservation = Arc::new(reservation?);
        let growing = Arc::clone(&reservation);
        let max_size = size.unwrap_or(max);
        let (route, streams) = self.route()?;
        let accepted = Message::Accepted {
            transfer: route.transfer,
            have: have.iter().map(|range| (range.start, range.end)).collect(),
        };
        framing::write_within(shared.limits.stall.into(), send, &accepted).await?;
        let _listed = shared.incoming.add(Entry {
            peer: self.peer.address,
            flow: Box::new({
                let connection = self.connection.clone();
                move || connection.flow()
            }),
            paths: Box::new({
                let connection = self.connection.clone();
                move || IncomingPath::of(&connection)
            }),
            name: path.clone(),
            size,
            received: Arc::clone(&received),
            started: Instant::now(),
        });
        let (places, user) = (Arc::clone(&shared.places), self.client.user.name.clone());
        let receiver = Receiver {
            partial: Arc::clone(&partial),
            turns: self.turns.clone(),
            size,
            max_size,
            received: Arc::clone(&received),
            stall: shared.limits.stall.into(),
            pace: None,
            grow: Box::new(move |reached| growing.grow(reached + beside)),
            others_wait: Box::new(move || places.is_contended(&user)),
        };
        let complete = tokio::select! {
            complete = receiver.run(send, receive, streams) => complete,
            () = claim.taken_over() => {
                let text = "the same file is sent over another connection";
                return Err(Error::refused(Reason::Cancelled, text));
            }
            // Report the lost connection here, so that the log shows the file's name.
            reason = self.connection.closed() => Err(close::lost(reason)),
        };
        if let Err(error) = &complete {
            self.note_full(error);
            // Neither it nor the other files of its tree, which the client gives up, must keep the
            // disk full.
            if self.disk_full.load(Ordering::Relaxed) {
                partial.remove();
            }
        }
        let complete = complete?;
        // From here on the file will be stored, even if nobody waits for the answer.
        claim.storing();
        let (storage, path, metadata) = (
            self.client.storage.clone(),
            path.clone(),
            put.metadata.clone(),
        );
        let (id, claims) = (put.id, Arc::clone(&shared.claims));
        let storing = tokio::spawn(async move {
            blocking(move || {
                let replaced = storage.counted(&path)?;
                partial.store(&path, &metadata)?;
                reservation.stored(complete.size + beside, replaced);
                Ok(())
            })
            .await?;
            claims.remember(key, id, complete.size, complete.hash);
            drop(claim);
            Ok::<_, Error>(complete)
        });
        storing.await.map_err(|_| Error::Stopped)?
    }

    /// Remembers that a file of this connection was refused because the disk is full.
    fn note_full(&self, error: &Error) {
        if error.for_peer().reason == Reason::DiskFull {
            self.disk_full.store(true, Ordering::Relaxed);
        }
    }

    /// Handles a file that is there already: the same content is stored without sending it, other
    /// content is refused unless files are replaced. `None` if it is to be sent.
    async fn same(
        &self,
        put: &Put,
        path: &RemotePath,
        key: &Key,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Option<Received>, Error> {
        let storage = &self.client.storage;
        let Some(found) = storage.look_up(path)? else {
            return Ok(None);
        };
        let exists = || storage.exists_error(path);
        if found.kind != Kind::File {
            return Err(exists());
        }
        let recalled = self.peer.shared.claims.recall(key, put.id);
        let recalled = recalled.filter(|(size, _)| *size == found.size);
        let comparable = recalled.is_some()
            || put.size == Some(found.size)
                && (!storage.overwrites() || same_time(&found, put.metadata.modified));
        if comparable {
            framing::write(send, &Message::Present).await?;
            let message = tokio::select! {
                message = framing::read(receive) => message?,
                reason = self.connection.closed() => return Err(close::lost(reason)),
            };
            let finish = match message {
                Message::Finish(finish) => finish,
                Message::Refused(refusal) => return Err(Error::Refused(refusal)),
                _ => return Err(Error::Protocol("an unexpected message".to_owned())),
            };
            let (storage, path, cancel) = (storage.clone(), path.clone(), Cancel::default());
            let _end = cancel.on_drop();
            let (size, hash) = (found.size, finish.hash);
            let comparing = move || storage.has(&path, size, hash, &cancel);
            if finish.size == size && self.turns.hash(comparing).await? {
                return Ok(Some(Received { size, hash }));
            }
        }
        if storage.overwrites() {
            Ok(None)
        } else {
            Err(exists())
        }
    }

    /// Opens the incomplete file. A thread of a transfer that has just ended may still hold it.
    async fn lock(&self, path: &RemotePath) -> Result<Partial, Error> {
        let deadline = tokio::time::Instant::now() + UNLOCK;
        loop {
            match self.client.storage.partial(&self.client.user.name, path)? {
                Lock::Ours(partial) => return Ok(partial),
                Lock::Taken if tokio::time::Instant::now() >= deadline => return Err(busy(path)),
                Lock::Taken => sleep(RETRY).await,
            }
        }
    }
}

fn same_time(found: &Found, modified: Option<FileTime>) -> bool {
    modified == Some(found.modified)
}
