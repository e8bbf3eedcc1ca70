//! One attempt to send a tree, over one connection.

use super::pack::{Packed, pack_all};
use super::{Item, State, TreeJob};
use crate::blocking::{Task, blocking};
use crate::blocks::{BlockHashes, hash_subtree};
use crate::client::listing::{entries, remove_all};
use crate::client::mirror::Mirror;
use crate::client::session::ClientSession;
use crate::client::upload::file::Job;
use crate::connection::framing;
use crate::connection::framing::Control;
use crate::error::Error;
use crate::file_sender::{Account, FileSource, SMALL, open_regular, send_stream};
use crate::path::{RemotePath, printable};
use crate::wire::{CheckedFile, ChunkHeader, Failure, Finish, Kind, MAX_MESSAGE, Message, Reason};
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{Mutex, mpsc};
use whimbrel_quic::endpoint::SendStream;

/// Files in one question, at most.
const QUESTION: usize = 500;
/// Questions without an answer, at most.
const QUESTIONS: usize = 32;
/// Large files that are sent at the same time.
const LARGE: usize = 8;
/// Packs that are read ahead.
const READ_AHEAD: usize = 4;
/// The priority of large files' chunks: behind all packs of the usual trees.
const LARGE_PRIORITY: i32 = -(1 << 24);

impl TreeJob {
    pub(super) async fn exchange(&mut self, session: &ClientSession) -> Result<(), Error> {
        let connection = &session.connection;
        let path = self
            .options
            .directory
            .as_ref()
            .map_or_else(Vec::new, |d| d.as_bytes().to_vec());
        let request = Message::Tree {
            id: self.id,
            path,
            bytes: self.bytes,
        };
        let (mut send, mut receive) = framing::request(connection, &request).await?;
        let mut control = Control::new(&mut receive);
        let (transfer, any) = loop {
            match control.next().await? {
                Message::Queued { position } => session.queued.store(position, Ordering::Relaxed),
                Message::Accepted { transfer, have } => break (transfer, !have.is_empty()),
                other => return Err(framing::unexpected(other)),
            }
        };
        self.begin_attempt();
        if any || self.attempts > 1 {
            self.check(&mut send, &mut control).await?;
        }
        let files = self.open_items(|item| item.metadata.kind == Kind::File);
        if self.options.dry_run {
            let shown = |n: &usize| printable(self.items[*n].local.as_os_str().as_bytes());
            self.would_send = files.iter().map(shown).collect();
            // The server takes a request without an end for a transfer that failed.
            self.finish(0, &mut send, &mut control).await?;
            return self.mirror(session).await;
        }
        let small = self.open_items(|item| match item.metadata.kind {
            Kind::File => item.size <= SMALL,
            kind => kind == Kind::Link,
        });
        let mut packs = 0;
        let large: Vec<usize> = files
            .into_iter()
            .filter(|n| self.items[*n].size > SMALL)
            .collect();
        self.send_all(session, transfer, small, large, &mut control, &mut packs)
            .await?;
        // Directories last and the deepest first: their times change with what is stored in them.
        let mut directories = self.open_items(|item| item.metadata.kind == Kind::Directory);
        directories.reverse();
        self.send_all(
            session,
            transfer,
            directories,
            Vec::new(),
            &mut control,
            &mut packs,
        )
        .await?;
        self.finish(packs, &mut send, &mut control).await?;
        self.mirror(session).await
    }

    /// Ends the request, of which so many packs were sent, and waits until they are stored.
    async fn finish(
        &self,
        packs: u64,
        send: &mut SendStream,
        control: &mut Control<'_>,
    ) -> Result<(), Error> {
        let finish = Finish {
            size: self.bytes,
            chunks: packs,
            hash: blake3::Hash::from_bytes([0; 32]),
        };
        framing::write(send, &Message::Finish(finish)).await?;
        send.finish().ok();
        match control.next().await? {
            Message::Stored { .. } => Ok(()),
            other => Err(framing::unexpected(other)),
        }
    }

    /// Removes on the server what the sources do not have, if that is wanted.
    async fn mirror(&mut self, session: &ClientSession) -> Result<(), Error> {
        let Some(options) = self.options.delete else {
            return Ok(());
        };
        if !self.failures.is_empty() {
            let (count, done) = (self.failures.len(), "read or sent");
            return Err(Error::could_not(count, done));
        }
        let directory = self.options.directory.as_ref();
        let whole = |path: &[u8]| match (directory, path.is_empty()) {
            (directory, true) => Ok(directory.cloned()),
            (Some(directory), false) => directory.join(path).map(Some),
            (None, false) => RemotePath::new(path).map(Some),
        };
        let present = self
            .present
            .iter()
            .flat_map(|path| whole(path).ok().flatten());
        let present = present.map(|path| path.as_bytes().to_vec()).collect();
        let mut mirror = Mirror::new(options, &self.options.filter, &present);
        for root in &self.roots {
            let root = whole(root).map_err(|e| Error::nothing_removed(e.to_string()))?;
            match entries(session, root.as_ref(), true).await {
                Ok(listing) => mirror.add(root.as_ref(), &listing)?,
                // There is no such directory yet.
                Err(Error::Refused(refusal)) if refusal.reason == Reason::Missing => {}
                Err(error) => return Err(error),
            }
        }
        let plan = mirror.plan()?;
        if self.options.dry_run {
            self.removed = plan.len() as u64;
            self.would_remove = plan.iter().map(RemotePath::to_string).collect();
            return Ok(());
        }
        let (news, removed) = (&self.news, &mut self.removed);
        let failures = remove_all(session, plan, |path| {
            *removed += 1;
            news.removed(path.to_string());
        });
        self.failures.append(&mut failures.await?);
        Ok(())
    }

    /// Files stored over earlier connections count for the progress. Files that they found on the
    /// server are asked for again: the server flushes them at the end of a request, and until then
    /// a crash of its machine may remove them.
    fn begin_attempt(&mut self) {
        self.attempts += 1;
        let found = self.states.iter_mut().filter(|s| **s == State::Unchanged);
        let found = found.map(|state| *state = State::Open).count();
        self.news.not_ended(found as u64);
        self.unchanged_bytes.store(0, Ordering::Relaxed);
        let stored = self
            .items
            .iter()
            .zip(&self.states)
            .filter(|(_, s)| **s == State::Stored);
        let stored: u64 = stored.map(|(item, _)| item.size).sum();
        self.stored_bytes.store(stored, Ordering::Relaxed);
    }

    fn open_items(&self, is_wanted: impl Fn(&Item) -> bool) -> Vec<usize> {
        let open = |n: &usize| self.states[*n] == State::Open && is_wanted(&self.items[*n]);
        (0..self.items.len()).filter(open).collect()
    }

    /// Asks the server which files it has.
    async fn check(
        &mut self,
        send: &mut SendStream,
        control: &mut Control<'_>,
    ) -> Result<(), Error> {
        let mut open = self
            .open_items(|item| item.metadata.kind == Kind::File)
            .into_iter();
        let mut asked: VecDeque<Vec<usize>> = VecDeque::new();
        let mut more = true;
        while more || !asked.is_empty() {
            while more && asked.len() < QUESTIONS {
                let (mut numbers, mut files, mut length) = (Vec::new(), Vec::new(), 0);
                while numbers.len() < QUESTION && length < MAX_MESSAGE - 8192 {
                    let Some(number) = open.next() else {
                        more = false;
                        break;
                    };
                    match self.question(number).await {
                        Ok(file) => {
                            length += file.encoded_len();
                            numbers.push(number);
                            files.push(file);
                        }
                        Err(error) => self.fail(number, error.to_string()),
                    }
                }
                if !numbers.is_empty() {
                    framing::write(send, &Message::Check { files }).await?;
                    asked.push_back(numbers);
                }
            }
            let Some(numbers) = asked.pop_front() else {
                break;
            };
            match control.next().await? {
                Message::Need { needed } if needed.len() == numbers.len() => {
                    for (number, needed) in numbers.into_iter().zip(needed) {
                        if !needed {
                            self.news.unchanged(1);
                            self.states[number] = State::Unchanged;
                            let size = self.items[number].size;
                            self.unchanged_bytes.fetch_add(size, Ordering::Relaxed);
                        }
                    }
                }
                other => return Err(framing::unexpected(other)),
            }
        }
        Ok(())
    }

    async fn question(&self, number: usize) -> Result<CheckedFile, Error> {
        let item = &self.items[number];
        let mut file = CheckedFile {
            path: item.path.clone(),
            size: item.size,
            modified: item.metadata.modified,
            hash: None,
        };
        if self.options.checksum {
            let local = item.local.clone();
            let (size, hash) = blocking(move || hash(&local)).await?;
            (file.size, file.hash) = (size, Some(*hash.as_bytes()));
        }
        Ok(file)
    }

    /// Sends packs of `small` items and the `large` files, and waits until all are stored.
    async fn send_all(
        &mut self,
        session: &ClientSession,
        transfer: u64,
        small: Vec<usize>,
        large: Vec<usize>,
        control: &mut Control<'_>,
        packs: &mut u64,
    ) -> Result<(), Error> {
        let items: Vec<_> = small.iter().map(|n| (*n, self.items[*n].clone())).collect();
        let attributes = self.options.attributes;
        let (read, mut to_send) = mpsc::channel(READ_AHEAD);
        let mut reader = Task::start(pack_all(items, attributes, read));
        let (begun, mut on_the_way) = mpsc::unbounded_channel();
        let (account, pace) = (self.account.clone(), self.pace.clone());
        let first = *packs;
        let sending = async {
            let mut next = first;
            while let Some(packed) = to_send.recv().await {
                let pack = match packed {
                    Packed::Pack(pack) => pack,
                    Packed::Failed(number, why) => {
                        begun.send((None, vec![(number, why)])).ok();
                        continue;
                    }
                };
                let items = pack.items.into_iter().map(|n| (n, String::new())).collect();
                begun.send((Some(next), items)).ok();
                let header = ChunkHeader {
                    transfer,
                    offset: next,
                    length: pack.content.len() as u32,
                };
                let priority = i32::try_from(next).map_or(i32::MIN, |n| -n);
                let connection = &session.connection;
                let (content, pace) = (pack.content, pace.as_deref());
                // What frames the files does not count.
                let whole = Account::default();
                send_stream(connection, header, content, priority, pace, &whole).await?;
                account.hand(pack.bytes);
                next += 1;
            }
            Ok::<_, Error>(next)
        };
        // Kept beside what sends them: a lost connection ends that, and the next one goes on.
        let mut jobs = Vec::new();
        for number in large {
            match self.take_large(number) {
                Ok(job) => jobs.push((number, Arc::new(Mutex::new(job)))),
                Err(error) => self.fail(number, error.to_string()),
            }
        }
        let mut waiting = jobs.clone().into_iter();
        let send_large = |(number, job): (usize, Arc<Mutex<Job>>)| async move {
            let result = job.lock().await.send(session).await;
            (number, result)
        };
        let mut running = FuturesUnordered::new();
        let mut open: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut all_sent: Option<u64> = None;
        tokio::pin!(sending);
        let result = loop {
            while running.len() < LARGE
                && let Some(job) = waiting.next()
            {
                running.push(send_large(job));
            }
            if let Some(packs) = all_sent
                && open.is_empty()
                && running.is_empty()
                && on_the_way.is_empty()
            {
                break Ok(packs);
            }
            tokio::select! {
                biased;
                Some((pack, items)) = on_the_way.recv() => match pack {
                    Some(pack) => {
                        open.insert(pack, items.into_iter().map(|(number, _)| number).collect());
                    }
                    None => {
                        for (number, why) in items {
                            self.fail(number, why);
                        }
                    }
                },
                message = control.next() => match message {
                    Ok(Message::Packed { pack, failures }) => {
                        let Some(items) = open.remove(&pack) else {
                            break Err(Error::Protocol("an answer to no pack".to_owned()));
                        };
                        self.packed(&items, failures);
                    }
                    Ok(other) => break Err(framing::unexpected(other)),
                    Err(error) => break Err(error),
                },
                Some((number, result)) = running.next() => match result {
                    Ok(_) => self.stored(number),
                    Err(Error::Refused(refusal)) if refusal.reason == Reason::DiskFull => {
                        let file = printable(&self.items[number].path);
                        let text = format!("{file}: {refusal}");
                        break Err(Error::refused(Reason::DiskFull, text));
                    }
                    Err(error) if concerns_all(&error) => break Err(error),
                    Err(error) => self.fail(number, error.to_string()),
                },
                result = &mut sending, if all_sent.is_none() => match result {
                    Ok(packs) => all_sent = Some(packs),
                    Err(error) => break Err(error),
                },
            }
        };
        drop((running, waiting));
        for (number, job) in jobs {
            let job = Arc::into_inner(job).map(Mutex::into_inner);
            self.large.extend(job.map(|job| (number, job)));
        }
        *packs = result?;
        reader.end().await.ok_or(Error::Stopped)?
    }

    /// The transfer of a large file, begun or new.
    fn take_large(&mut self, number: usize) -> Result<Job, Error> {
        if let Some(job) = self.large.remove(&number) {
            return Ok(job);
        }
        let name = self.remote(number)?;
        let mut job = Job::of(
            self.items[number].local.clone(),
            name,
            self.options.attributes,
        )?;
        job.pace = self.pace.clone();
        // The oldest first, as the chunks of one file.
        job.priority = LARGE_PRIORITY - i32::try_from(number).unwrap_or(1 << 20).min(1 << 20);
        Ok(job)
    }

    /// Takes over the answer to a pack.
    fn packed(&mut self, items: &[usize], failures: Vec<Failure>) {
        let failed: HashSet<u32> = failures.iter().map(|failure| failure.index).collect();
        for (_, number) in (0..)
            .zip(items)
            .filter(|(index, _)| !failed.contains(index))
        {
            self.stored(*number);
        }
        for failure in failures {
            if let Some(number) = items.get(failure.index as usize) {
                let text = failure.refusal.text;
                let why = if text.is_empty() {
                    "the server could not store it".into()
                } else {
                    text
                };
                self.fail(*number, why);
            }
        }
    }
}

/// Whether an error of one file ends the whole transfer.
fn concerns_all(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) => matches!(
            refusal.reason,
            Reason::DiskFull | Reason::Rights | Reason::Stopping
        ),
        Error::File { .. } | Error::Changed(_) => false,
        _ => true,
    }
}

/// Size and hash of a local file.
fn hash(path: &std::path::Path) -> Result<(u64, blake3::Hash), Error> {
    let file = FileSource::at_once(open_regular(path)?, path)?;
    let mut hashes = BlockHashes::new(file.size());
    for block in 0..hashes.count() {
        let range = hashes.range(block);
        let data = file
            .read(&range)?
            .ok_or_else(|| Error::Changed(path.to_owned()))?;
        let hash = hash_subtree(hashes.size(), &range, &data);
        hashes.set(block, Some(hash));
    }
    let root = hashes.root().ok_or(Error::Stopped)?;
    Ok((file.size(), root))
}
