//! What a client may do with stored files: get, list and remove them.

use super::listing::Visible;
use super::options::Event;
use super::request::{below, may_read_at};
use super::session::Session;
use crate::blocking::blocking;
use crate::connection::framing;
use crate::connection::key_exchange::KeyExchange;
use crate::error::Error;
use crate::file_sender::{Account, FileSource, Sending, Sent, Source};
use crate::path::RemotePath;
use crate::storage::Listed;
use crate::wire::{Entry, MAX_LIST, MAX_MESSAGE, Message, Put, Reason, Unread};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whimbrel_quic::endpoint::{RecvStream, SendStream};
use whimbrel_units::Bytes;

/// Entries that are looked at in one go.
const LISTED: usize = 1024;
/// Periods without data while both sides may hash.
pub(super) const HASHING: u32 = 5;

impl Session {
    /// Sends a file that the client requests.
    pub(super) async fn get(self, path: Vec<u8>, mut send: SendStream, mut receive: RecvStream) {
        let started = Instant::now();
        let path = match below(None, &path) {
            Ok(path) => path,
            Err(error) => return self.failed(&mut send, None, error).await,
        };
        let sending = self.send_file(&path, &mut send, &mut receive);
        match self.while_it_moves(HASHING, sending).await {
            Ok((size, hash)) => (self.peer.on_event)(Event::Sent {
                peer: self.remote_user(),
                key_exchange: KeyExchange::of(&self.connection),
                name: path,
                bytes: Bytes::new(size),
                took: started.elapsed().into(),
                hash,
            }),
            Err(error) => self.failed(&mut send, Some(path), error).await,
        }
    }

    async fn send_file(
        &self,
        path: &RemotePath,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<(u64, blake3::Hash), Error> {
        may_read_at(&self.client.user, path)?;
        let _place = self.place(send).await?;
        let (storage, wanted) = (self.client.storage.clone(), path.clone());
        let file = blocking(move || storage.open_file(&wanted)).await?;
        let file = FileSource::new(file, &self.client.storage.shown(path)).await?;
        let put = Put {
            id: [0; 16],
            path: path.as_bytes().to_vec(),
            size: Some(file.size()),
            metadata: file.metadata(true)?,
        };
        let source = Arc::new(Source::File(file));
        match self.offer(put, &source, send, receive).await? {
            Sent::Stored { size, hash } => Ok((size, hash)),
            // The client asks again, and compares what it has.
            Sent::Changed => {
                let text = format!("`{path}` changed while it was read");
                Err(Error::refused(Reason::Changed, text))
            }
        }
    }

    async fn offer(
        &self,
        put: Put,
        source: &Arc<Source>,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Sent, Error> {
        let sending = Sending {
            connection: &self.connection,
            turns: &self.turns,
            source,
            account: &Arc::<Account>::default(),
            pace: None,
            priority: 0,
            on_queued: &|_| (),
            on_announced: &|_| (),
        };
        sending.run(put, send, receive).await
    }

    /// Lists a directory.
    pub(super) async fn list(self, path: Vec<u8>, recursive: bool, mut send: SendStream) {
        if let Err(error) = self.entries(&path, recursive, &mut send).await {
            self.failed(&mut send, below(None, &path).ok(), error).await;
        }
    }

    async fn entries(
        &self,
        path: &[u8],
        recursive: bool,
        send: &mut SendStream,
    ) -> Result<(), Error> {
        self.may_read(path)?;
        let path = if path.is_empty() {
            None
        } else {
            Some(below(None, path)?)
        };
        let shared = &self.peer.shared;
        let several = shared.users().are_several();
        let _place = shared
            .listings
            .take(&self.client.user.name, several)
            .ok_or_else(|| {
                let text = "too many listings are under way; try again later";
                Error::refused(Reason::Busy, text)
            })?;
        // Whoever does not read holds the place no longer than this.
        let stall: Duration = shared.limits.stall.into();
        let storage = self.client.storage.clone();
        let visible = Visible::new(Arc::clone(&self.client.user), path.as_ref());
        let mut lister = blocking(move || storage.lister(path.as_ref(), recursive)).await?;
        let (mut batch, mut length) = ((Vec::new(), Vec::new()), 0);
        loop {
            let found;
            (lister, found) = blocking(move || {
                let found = lister.some(LISTED)?;
                Ok((lister, found))
            })
            .await?;
            if found.is_empty() {
                break;
            }
            for found in found.into_iter().filter_map(|found| visible.of(found)) {
                let more = match &found {
                    Listed::Entry(entry) => entry.encoded_len(),
                    Listed::Unread(unread) => unread.encoded_len(),
                };
                if length + more > MAX_MESSAGE - 64 || batch.0.len() + batch.1.len() >= MAX_LIST {
                    let message = entries_of(&mut batch, false);
                    framing::write_within(stall, send, &message).await?;
                    length = 0;
                }
                length += more;
                match found {
                    Listed::Entry(entry) => batch.0.push(entry),
                    Listed::Unread(unread) => batch.1.push(unread),
                }
            }
        }
        framing::write_within(stall, send, &entries_of(&mut batch, true)).await?;
        send.finish().ok();
        Ok(())
    }

    /// Whether the client may remove what is at a path, with all that is below it or without.
    fn may_remove(&self, path: &RemotePath, recursive: bool) -> bool {
        let user = &self.client.user;
        match recursive {
            true => user.may_everywhere(path.as_bytes(), |rights| rights.remove),
            false => user.rights_at(path.as_bytes()).remove,
        }
    }

    /// Removes a file or directory.
    pub(super) async fn remove(self, path: Vec<u8>, recursive: bool, mut send: SendStream) {
        let name = below(None, &path);
        let removed = match &name {
            Ok(path) if self.may_remove(path, recursive) => {
                let (storage, path) = (self.client.storage.clone(), path.clone());
                let (shared, user) = (Arc::clone(&self.peer.shared), Arc::clone(&self.client.user));
                blocking(move || {
                    let mut freed = 0;
                    let removed = storage.remove(&path, recursive, &mut freed);
                    shared.usage.changed(&user, -(freed as i64));
                    removed
                })
                .await
            }
            Ok(_) => {
                let text = "this token does not permit removing files here";
                Err(Error::refused(Reason::Rights, text))
            }
            Err(_) => below(None, &path).map(|_| 0),
        };
        match (removed, name) {
            (Ok(count), Ok(name)) => {
                self.peer
                    .answer(&mut send, &Message::Removed { count })
                    .await;
                (self.peer.on_event)(Event::Removed {
                    peer: self.remote_user(),
                    name,
                    count,
                });
            }
            (Err(error), name) => self.failed(&mut send, name.ok(), error).await,
            (Ok(_), Err(_)) => {}
        }
    }
}

fn entries_of(batch: &mut (Vec<Entry>, Vec<Unread>), last: bool) -> Message {
    let (entries, unread) = std::mem::take(batch);
    Message::Entries {
        entries,
        unread,
        last,
    }
}
