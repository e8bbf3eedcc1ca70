//! Many small files: packs, written and synchronized in batches.

use super::options::Event;
use super::request::{base, below, may_write_at};
use super::session::Session;
use super::shared::Shared;
use super::usage::Reservation;
use super::users::User;
use crate::blocking::{Task, blocking, in_batches};
use crate::cancel::Cancel;
use crate::connection::framing::Control;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::file_receiver::read_pack;
use crate::path::RemotePath;
use crate::ranges::RangeSet;
use crate::storage::{Directories, ENTRY, Stage, Staged, Storage, hash_file};
use crate::turns::Turns;
use crate::wire::{CheckedFile, Failure, Finish, MAX_LIST, MAX_PACK, Message, PackReader, Reason};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use whimbrel_quic::endpoint::{Kept, RecvStream, SendStream};

/// Packs of a tree that are read at once. What they take is bounded by the connection's window: a
/// pack counts until it is written, and its files until they have their names.
const READING: usize = 64;
/// Packs of a tree that are written at the same time.
const WRITERS: usize = 4;
/// Memory of a file that is written and has no name yet, beside its path, bytes.
const PER_FILE: u64 = 256;
/// Packs that wait to be synchronized, at most.
const WRITTEN: usize = 64;
/// Answers that wait to be sent.
const ANSWERS: usize = 64;

/// A pack whose files are written but have no names yet.
struct Written {
    pack: u64,
    files: Vec<(u32, Staged)>,
    failures: Vec<Failure>,
    /// Room for the files, until they are counted as stored.
    reserved: Reservation,
    /// The memory of this list.
    kept: Kept,
}

/// A pack whose files are to be written.
struct Writing {
    pack: u64,
    /// Its memory.
    kept: Kept,
    base: Option<RemotePath>,
    user: Arc<User>,
    stage: Arc<Stage>,
    cancel: Cancel,
}

/// What a tree has stored.
#[derive(Debug, Default)]
struct Count {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Session {
    /// Stores the files of a tree.
    pub(super) async fn tree(
        self,
        path: Vec<u8>,
        bytes: u64,
        mut send: SendStream,
        mut receive: RecvStream,
    ) {
        let started = Instant::now();
        let base = match base(&path) {
            Ok(base) => base,
            Err(error) => return self.failed(&mut send, None, error).await,
        };
        let count = Arc::new(Count::default());
        let packs = self.packs(base.clone(), bytes, &count, &mut send, &mut receive);
        match self.while_it_moves(1, packs).await {
            Ok(finish) => {
                let bytes = count.bytes.load(Ordering::Relaxed);
                let hash = finish.hash;
                self.peer
                    .answer(&mut send, &Message::Stored { bytes, hash })
                    .await;
                (self.peer.on_event)(Event::StoredTree {
                    peer: self.remote_user(),
                    key_exchange: KeyExchange::of(&self.connection),
                    name: base,
                    files: count.files.load(Ordering::Relaxed),
                    bytes: whimbrel_units::Bytes::new(bytes),
                    took: started.elapsed().into(),
                });
            }
            Err(error) => self.failed(&mut send, base, error).await,
        }
    }

    async fn packs(
        &self,
        base: Option<RemotePath>,
        bytes: u64,
        count: &Arc<Count>,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Finish, Error> {
        self.may_write(base.as_ref().map_or(b"", RemotePath::as_bytes))?;
        let _place = self.place(send).await?;
        let (route, mut streams) = self.route()?;
        let (storage, directory) = (self.client.storage.clone(), base.clone());
        let stage = blocking(move || {
            let any = match storage.lister(directory.as_ref(), false) {
                Ok(mut lister) => lister.next()?.is_some(),
                Err(Error::Refused(refusal)) if refusal.reason == Reason::Missing => false,
                Err(error) => return Err(error),
            };
            Ok((Arc::new(storage.stage()?), any, storage.partial_bytes()))
        });
        let (stage, any, partial) = stage.await?;
        // Where files exist already, what is missing follows from the client's questions.
        if !any {
            self.check_room(bytes.saturating_sub(partial)).await?;
        }
        let accepted = Message::Accepted {
            transfer: route.transfer,
            have: if any { vec![(0, 1)] } else { Vec::new() },
        };
        framing::write(send, &accepted).await?;
        let (answers, mut answer) = mpsc::channel(ANSWERS);
        let (written, to_commit) = mpsc::channel(WRITTEN);
        let committer = {
            let (stage, answers, count) = (Arc::clone(&stage), answers.clone(), Arc::clone(count));
            let (shared, user) = (Arc::clone(&self.peer.shared), Arc::clone(&self.client.user));
            let grown = move |growth| shared.usage.changed(&user, growth);
            let name = move |batch| name(&stage, batch, &count, &grown);
            // What is written gets its names also if the client leaves.
            tokio::spawn(in_batches(to_commit, WRITTEN, answers, name))
        };
        let mut committer = Some(committer);
        let cancel = Cancel::default();
        let _end = cancel.on_drop();
        let (checks, to_check) = mpsc::channel::<Vec<CheckedFile>>(ANSWERS);
        let checker = {
            let (storage, base, answers) =
                (self.client.storage.clone(), base.clone(), answers.clone());
            let (turns, cancel) = (self.turns.clone(), cancel.clone());
            let place = (storage, base, Arc::clone(&self.client.user));
            Task::start(check_all(place, turns, to_check, answers, cancel))
        };
        let mut written = Some(written);
        let mut packs: JoinSet<Result<(), Error>> = JoinSet::new();
        let permits = Arc::new(Semaphore::new(WRITERS));
        let mut control = Control::new(receive);
        let mut seen = RangeSet::default();
        let mut packed = 0u64;
        let mut finish: Option<Finish> = None;
        // Files that are not sent because they are there.
        let mut found = false;
        // What the needed files take beside those that they replace, bytes. What interrupted
        // transfers left may be a part of it.
        let mut growth = 0u64;
        loop {
            if let Some(finish) = finish
                && packed >= finish.chunks
            {
                written = None;
                if let Some(committer) = committer.take() {
                    committer.await.map_err(|_| Error::Stopped)?;
                }
                drop((written, checker));
                if found {
                    let storage = self.client.storage.clone();
                    blocking(move || storage.flush()).await?;
                }
                return Ok(finish);
            }
            tokio::select! {
                Some((header, stream)) = streams.recv(), if packs.len() < READING => {
                    // Streams overtake each other.
                    let number = header.offset..header.offset.saturating_add(1);
                    if !(1..=MAX_PACK).contains(&(header.length as usize))
                        || number.is_empty()
                        || seen.overlaps(&number)
                    {
                        let text = "a pack that is too long or was sent already";
                        return Err(Error::Protocol(text.to_owned()));
                    }
                    seen.insert(number);
                    let Some(written) = written.clone() else { continue };
                    let (session, stage) = (self.clone(), Arc::clone(&stage));
                    let (base, permits) = (base.clone(), Arc::clone(&permits));
                    let cancel = cancel.clone();
                    packs.spawn(async move {
                        let (pack, kept) = read_pack((header, stream), None).await?;
                        let _permit = permits.acquire().await;
                        let user = Arc::clone(&session.client.user);
                        let pack_number = header.offset;
                        let writing = Writing { pack: pack_number, kept, base, user, stage, cancel };
                        written.send(session.write_pack(writing, pack).await?).await
                            .map_err(|_| Error::Stopped)
                    });
                }
                Some(done) = packs.join_next() => done.map_err(|_| Error::Stopped)??,
                Some((message, more)) = answer.recv() => {
                    growth = growth.saturating_add(more);
                    if more > 0 {
                        self.check_room(growth.saturating_sub(partial)).await?;
                    }
                    packed += u64::from(matches!(message, Message::Packed { .. }));
                    found |= matches!(&message, Message::Need { needed } if needed.contains(&false));
                    framing::write(send, &message).await?;
                }
                message = control.next(), if finish.is_none() => match message? {
                    Message::Check { files } => {
                        let full = |_| Error::Protocol("too many questions at once".to_owned());
                        checks.try_send(files).map_err(full)?;
                    }
                    Message::Finish(announced) => finish = Some(announced),
                    _ => return Err(Error::Protocol("an unexpected message".to_owned())),
                },
                reason = self.connection.closed() => return Err(close::lost(reason)),
            }
        }
    }

    /// Whether so many more bytes fit the disk and the user's quota.
    async fn check_room(&self, needed: u64) -> Result<(), Error> {
        if needed > 0 {
            self.client.storage.check_space(needed)?;
            let usage = &self.peer.shared.usage;
            drop(
                usage
                    .reserve(&self.client, needed, 0, Arc::default())
                    .await?,
            );
        }
        Ok(())
    }

    /// Writes the files of a pack under hidden names.
    async fn write_pack(&self, writing: Writing, content: Bytes) -> Result<Written, Error> {
        let storage = self.client.storage.clone();
        storage.check_space(content.len() as u64)?;
        let shared: &Shared = &self.peer.shared;
        // What is stored in the end is counted when it has its name.
        let entries = PackReader::open(content.clone()).map_or(0, Iterator::count);
        let needed = content.len() as u64 + entries as u64 * ENTRY;
        let reserved = shared
            .usage
            .reserve(&self.client, needed, 0, Arc::default())
            .await?;
        // Whoever has left may leave as many packs behind as all may write at once.
        let permit = Arc::clone(&shared.writers).acquire_owned().await;
        blocking(move || {
            let written = writing.write(content, reserved);
            drop(permit);
            written
        })
        .await
    }
}

impl Writing {
    fn write(mut self, content: Bytes, reserved: Reservation) -> Result<Written, Error> {
        let reader = PackReader::open(content).ok_or_else(|| {
            let text = "a pack does not have its hash; send it again";
            Error::refused(Reason::Corrupt, text)
        })?;
        let (mut files, mut failures) = (Vec::new(), Vec::new());
        let mut directories = Directories::new();
        let mut memory = 0;
        for (index, entry) in (0..).zip(reader) {
            self.cancel.check()?;
            let entry = entry.map_err(|e| Error::Protocol(e.to_string()))?;
            memory += entry.path.len() as u64 + PER_FILE;
            let path = below(self.base.as_ref(), &entry.path).and_then(|path| {
                may_write_at(&self.user, &path)?;
                Ok(path)
            });
            let result = path.and_then(|path| self.stage.write(&path, &entry, &mut directories));
            match result {
                Ok(Some(staged)) => files.push((index, staged)),
                Ok(None) => {}
                // A full disk concerns all files.
                Err(error @ Error::File { .. }) => return Err(error),
                Err(error) => failures.push(Failure {
                    index,
                    refusal: error.for_peer(),
                }),
            }
        }
        self.kept.set(memory);
        Ok(Written {
            pack: self.pack,
            files,
            failures,
            reserved,
            kept: self.kept,
        })
    }
}

/// Gives the files of some packs their names, all at once. Returns the answers.
fn name(
    stage: &Stage,
    batch: Vec<Written>,
    count: &Count,
    grown: impl Fn(i64),
) -> Vec<(Message, u64)> {
    let files = batch.iter().flat_map(|pack| &pack.files);
    let files: Vec<&Staged> = files.map(|(_, file)| file).collect();
    let results = stage.commit(&files);
    let mut results = results.into_iter();
    let mut messages = Vec::new();
    for mut pack in batch {
        let mut growth = 0;
        for ((index, file), result) in pack.files.into_iter().zip(&mut results) {
            match result {
                Ok(()) => {
                    count.files.fetch_add(1, Ordering::Relaxed);
                    count.bytes.fetch_add(file.bytes(), Ordering::Relaxed);
                    growth += file.growth();
                }
                Err(error) => pack.failures.push(Failure {
                    index,
                    refusal: error.for_peer(),
                }),
            }
        }
        grown(growth);
        drop((pack.reserved, pack.kept));
        messages.push((packed(pack.pack, pack.failures), 0));
    }
    messages
}

/// The answer to a pack. Texts are left out where the message would be too long.
fn packed(pack: u64, mut failures: Vec<Failure>) -> Message {
    const TEXTS: usize = 40;
    // A pack has at most 1 MiB, but its entries may be tiny.
    failures.truncate(MAX_LIST);
    for failure in failures.iter_mut().skip(TEXTS) {
        failure.refusal.text.clear();
    }
    Message::Packed { pack, failures }
}

/// Answers which files are needed, and how much more they take than what they replace.
async fn check_all(
    (storage, base, user): (Storage, Option<RemotePath>, Arc<User>),
    turns: Turns,
    mut questions: mpsc::Receiver<Vec<CheckedFile>>,
    answers: mpsc::Sender<(Message, u64)>,
    cancel: Cancel,
) {
    let mut directories = Directories::new();
    while let Some(files) = questions.recv().await {
        let (storage, base, cancel) = (storage.clone(), base.clone(), cancel.clone());
        let user = Arc::clone(&user);
        let checking = turns.hash(move || {
            let place = (&storage, base.as_ref(), &*user);
            let answer = check(place, &files, &mut directories, &cancel);
            Ok((answer, directories))
        });
        let Ok((answer, remembered)) = checking.await else {
            return;
        };
        directories = remembered;
        if answers.send(answer).await.is_err() {
            return;
        }
    }
}

/// The answer to one question.
fn check(
    (storage, base, user): (&Storage, Option<&RemotePath>, &User),
    files: &[CheckedFile],
    directories: &mut Directories,
    cancel: &Cancel,
) -> (Message, u64) {
    let mut growth = 0u64;
    let mut there = |file: &CheckedFile| {
        let path = below(base, &file.path).ok()?;
        // Whoever may not store a file does not learn whether it is there.
        user.rights_at(path.as_bytes()).write.then_some(())?;
        growth = growth.saturating_add(file.size);
        let found = storage.find(&path, directories).ok()??;
        growth -= file.size.min(found.size);
        if found.kind != crate::wire::Kind::File || found.size != file.size {
            return None;
        }
        match file.hash {
            Some(hash) => {
                let opened = storage.open_file(&path).ok()?;
                let own = hash_file(&opened, found.size, cancel).ok()?;
                (*own.as_bytes() == hash).then_some(())
            }
            None => (file.modified == Some(found.modified)).then_some(()),
        }
    };
    // What cannot be looked up is needed; storing it gives the reason.
    let needed = files.iter().map(|file| there(file).is_none()).collect();
    (Message::Need { needed }, growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{MAX_MESSAGE, Refusal};

    #[test]
    fn the_answer_to_a_pack_fits_a_message_however_many_files_failed() {
        let failure = |index| Failure {
            index,
            refusal: Refusal::new(Reason::Exists, "é".repeat(1000)),
        };
        let answer = packed(7, (0..1000).map(failure).collect());
        assert!(answer.encode().len() <= MAX_MESSAGE);
        let Message::Packed { pack: 7, failures } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(failures.len(), 1000);
        assert!(!failures[0].refusal.text.is_empty());
    }
}
