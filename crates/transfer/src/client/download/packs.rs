//! Gets many small files in packs: without a round trip for each.

use super::item::{Counts, Item, STALL};
use crate::blocking::{blocking, in_batches};
use crate::client::session::ClientSession;
use crate::connection::framing::Control;
use crate::connection::routes::{ChunkStream, Routes};
use crate::connection::{close, framing};
use crate::error::Error;
use crate::file_receiver::read_pack;
use crate::file_sender::Pace;
use crate::storage::{Directories, Stage, Staged, Storage};
use crate::wire::{Finish, MAX_LIST, MAX_MESSAGE, Message, PackReader, Reason};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_quic::endpoint::Kept;

/// Paths in one request, at most.
const PATHS: usize = 500;
/// Packs that wait to be named.
const WRITTEN: usize = 16;
/// Packs that are read at once; the others wait in the connection's window.
const READING: usize = 64;
/// Packs that are written at once.
const WRITERS: usize = 4;

/// What became of a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is here.
    Stored,
    /// It is not, and why.
    Failed(Error),
    /// It is not small, or changes all the time: it must be downloaded as a file of its own.
    Alone,
}

/// A pack whose files are written but have no names yet; files that were not written, and why.
struct Written {
    files: Vec<(usize, Option<Staged>)>,
    failures: Vec<(usize, Error)>,
}

/// Gets `items`, which have a number each. Calls `done` for each of them, unless it fails as a
/// whole.
pub(super) async fn get_small(
    session: &ClientSession,
    routes: &Routes,
    storage: &Storage,
    counts: &Arc<Counts>,
    (items, pace): (Vec<(usize, Item)>, Option<Arc<Pace>>),
    mut done: impl FnMut(usize, Outcome),
) -> Result<(), Error> {
    if items.is_empty() {
        return Ok(());
    }
    let streams = session.connection.open_bi().await;
    let (mut send, mut receive) = streams.map_err(close::lost)?;
    send.set_priority(i32::MAX).ok();
    let (route, mut packs) = routes.open(usize::MAX).ok_or(Error::Stopped)?;
    let transfer = route.transfer;
    let lists = lists(&items);
    let asking = async move {
        framing::write(&mut send, &Message::GetMany { transfer }).await?;
        for list in lists {
            framing::write(&mut send, &list).await?;
        }
        // Kept: the end of the stream says that the client has all.
        Ok::<_, Error>(send)
    };
    let index: HashMap<Vec<u8>, usize> = items
        .iter()
        .enumerate()
        .map(|(n, (_, item))| (item.remote.as_bytes().to_vec(), n))
        .collect();
    let (index, locals) = (Arc::new(index), Arc::new(items));
    let stage_in = storage.clone();
    let stage = blocking(move || stage_in.stage()).await;
    let stage = Arc::new(stage.map_err(Error::here)?);
    let (written, to_commit) = mpsc::channel(WRITTEN);
    let (committed, mut finished) = mpsc::channel(WRITTEN);
    // What is written gets its names also if the connection is lost.
    let committer = {
        let stage = Arc::clone(&stage);
        let name = move |batch| name(&stage, batch);
        tokio::spawn(in_batches(to_commit, WRITTEN, committed, name))
    };
    let mut open = vec![true; locals.len()];
    let mut finish: Option<Finish> = None;
    let mut stored_packs = 0;
    let mut tasks: JoinSet<Result<(), Error>> = JoinSet::new();
    let writers = Arc::new(Semaphore::new(WRITERS));
    let mut control = Control::new(&mut receive);
    tokio::pin!(asking);
    let mut asked = None;
    loop {
        if let Some(finish) = finish
            && stored_packs >= finish.chunks
        {
            break;
        }
        tokio::select! {
            Some(stream) = packs.recv(), if tasks.len() < READING => {
                let (storage, counts) = (storage.clone(), Arc::clone(counts));
                let (index, items) = (Arc::clone(&index), Arc::clone(&locals));
                let (stage, written) = (Arc::clone(&stage), written.clone());
                let (writers, pace) = (Arc::clone(&writers), pace.clone());
                tasks.spawn(async move {
                    let (pack, kept) = receive_pack(stream, pace.as_deref()).await?;
                    let _writer = writers.acquire().await;
                    let work = blocking(move || {
                        let written = write(&storage, &stage, pack, &index, &items, &counts);
                        drop(kept);
                        written
                    });
                    let result = work.await?;
                    written.send(result).await.map_err(|_| Error::Stopped)
                });
            }
            Some(task) = tasks.join_next() => task.map_err(|_| Error::Stopped)??,
            Some(results) = finished.recv() => {
                stored_packs += 1;
                for (n, result) in results {
                    if let Some((number, _)) = locals.get(n)
                        && std::mem::take(&mut open[n])
                    {
                        done(*number, result.map_or_else(Outcome::Failed, |()| Outcome::Stored));
                    }
                }
            }
            message = control.next(), if finish.is_none() => match message? {
                Message::Queued { position } => session.queued.store(position, Ordering::Relaxed),
                Message::Unsent { failures } => for failure in failures {
                    let n = failure.index as usize;
                    let Some((number, _)) = locals.get(n) else {
                        return Err(Error::Protocol("a file that was not requested".to_owned()));
                    };
                    if std::mem::take(&mut open[n]) {
                        done(*number, match failure.refusal.reason {
                            Reason::Changed => Outcome::Alone,
                            _ => Outcome::Failed(Error::Refused(failure.refusal)),
                        });
                    }
                },
                Message::Finish(end) => finish = Some(end),
                other => return Err(framing::unexpected(other)),
            },
            result = &mut asking, if asked.is_none() => asked = Some(result?),
        }
    }
    drop((written, route));
    committer.await.map_err(|_| Error::Stopped)?;
    for (n, _) in open.iter().enumerate().filter(|(_, open)| **open) {
        done(locals[n].0, Outcome::Alone);
    }
    Ok(())
}

/// The requests for all paths.
fn lists(items: &[(usize, Item)]) -> Vec<Message> {
    let mut lists = Vec::new();
    let (mut paths, mut length) = (Vec::new(), 0);
    for (n, (_, item)) in items.iter().enumerate() {
        let path = item.remote.as_bytes().to_vec();
        length += path.len() + 2;
        paths.push(path);
        let last = n + 1 == items.len();
        if last || paths.len() >= PATHS.min(MAX_LIST) || length > MAX_MESSAGE - 8192 {
            let paths = std::mem::take(&mut paths);
            lists.push(Message::Wanted { paths, last });
            length = 0;
        }
    }
    lists
}

async fn receive_pack(stream: ChunkStream, pace: Option<&Pace>) -> Result<(Bytes, Kept), Error> {
    if !(1..=crate::wire::MAX_PACK).contains(&(stream.0.length as usize)) {
        return Err(Error::Protocol("a pack that is too long".to_owned()));
    }
    let silent = |_| Error::Lost("the server is silent".to_owned());
    timeout(STALL, read_pack(stream, pace))
        .await
        .map_err(silent)?
}

/// Writes the files of a pack under hidden names.
fn write(
    storage: &Storage,
    stage: &Stage,
    pack: Bytes,
    index: &HashMap<Vec<u8>, usize>,
    items: &[(usize, Item)],
    counts: &Counts,
) -> Result<Written, Error> {
    storage
        .check_space(pack.len() as u64)
        .map_err(Error::here)?;
    let reader = PackReader::open(pack);
    let reader = reader.ok_or_else(|| Error::Lost("a pack does not have its hash".to_owned()))?;
    let mut directories = Directories::new();
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for entry in reader {
        let entry = entry.map_err(|e| Error::Protocol(e.to_string()))?;
        let Some((n, (_, item))) = index
            .get(&entry.path)
            .and_then(|n| Some((*n, items.get(*n)?)))
        else {
            return Err(Error::Protocol("a file that was not requested".to_owned()));
        };
        counts.received(item, entry.content.len() as u64);
        match stage.write(&item.local, &entry, &mut directories) {
            Ok(staged) => files.push((n, staged)),
            // A full disk concerns all files.
            Err(error @ Error::File { .. }) => return Err(error),
            Err(error) => failures.push((n, error.here())),
        }
    }
    Ok(Written { files, failures })
}

/// Files by their number, and what became of them.
type Named = Vec<(usize, Result<(), Error>)>;

/// Gives the files of some packs their names, all at once.
fn name(stage: &Stage, batch: Vec<Written>) -> Vec<Named> {
    let files = batch.iter().flat_map(|pack| &pack.files);
    let staged: Vec<&Staged> = files.filter_map(|(_, staged)| staged.as_ref()).collect();
    let mut results = stage.commit(&staged).into_iter();
    let mut packs = Vec::new();
    for pack in batch {
        let failures = pack.failures.into_iter();
        let mut all: Named = failures.map(|(n, e)| (n, Err(e))).collect();
        for (n, staged) in pack.files {
            let result = match staged {
                Some(_) => results
                    .next()
                    .unwrap_or(Err(Error::Stopped))
                    .map_err(Error::here),
                // It was here with this content.
                None => Ok(()),
            };
            all.push((n, result));
        }
        packs.push(all);
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_sender::testing::pack_of;
    use crate::path::RemotePath;
    use crate::scratch_directory::{ScratchDirectory, file_names};
    use crate::storage::StorageOptions;
    use crate::wire::{Kind, Metadata};

    /// Writes a pack of small files with these paths, of which `a`, `b` and `c` were requested.
    fn written(scratch: &ScratchDirectory, paths: &[&str]) -> Result<Written, Error> {
        let storage = Storage::open(scratch.path(), StorageOptions::default()).expect("opened");
        let stage = storage.stage().expect("created");
        let (mut items, mut index) = (Vec::new(), HashMap::new());
        for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
            let path = RemotePath::new(name).expect("a path");
            let metadata = Metadata::plain(Kind::File);
            items.push((n, Item::new(path.clone(), path, 4, metadata, Vec::new())));
            index.insert(name.as_bytes().to_vec(), n);
        }
        let pack = pack_of(paths.iter().copied(), b"text");
        write(&storage, &stage, pack, &index, &items, &Counts::default())
    }

    #[test]
    fn requests_for_many_long_paths_fit_messages() {
        let item = |n: usize| {
            let path = format!("{n:03}/{}/{}", "x".repeat(250), "y".repeat(250));
            let path = RemotePath::new(path).expect("a path");
            let metadata = Metadata::plain(Kind::File);
            (n, Item::new(path.clone(), path, 4, metadata, Vec::new()))
        };
        let lists = lists(&(0..900).map(item).collect::<Vec<_>>());
        assert!(lists.iter().all(|list| list.encode().len() <= MAX_MESSAGE));
        let wanted = lists.iter().map(|list| match list {
            Message::Wanted { paths, last } => (paths.len(), *last),
            other => panic!("{other:?}"),
        });
        let (counts, last): (Vec<_>, Vec<_>) = wanted.unzip();
        assert_eq!(counts.iter().sum::<usize>(), 900);
        assert!(counts.len() < 20, "{counts:?}");
        assert_eq!(last.iter().position(|last| *last), Some(counts.len() - 1));
    }

    #[test]
    fn only_files_that_were_requested_are_written() {
        let scratch = ScratchDirectory::new();
        let Written { files, failures } = written(&scratch, &["b", "a"]).expect("written");
        let numbers: Vec<_> = files.iter().map(|(n, _)| *n).collect();
        assert_eq!((numbers, failures.len()), (vec![1, 0], 0));
        let result = written(&scratch, &["a", "d"]);
        assert!(matches!(result, Err(Error::Protocol(_))));
        assert!(!file_names(scratch.path()).contains(&"d".to_owned()));
    }

    #[test]
    fn a_file_that_cannot_be_written_fails_alone() {
        let scratch = ScratchDirectory::new();
        // Something else is in the way, and nothing is replaced.
        scratch.subdirectory("b");
        let Written { files, failures } = written(&scratch, &["a", "b", "c"]).expect("written");
        let numbers: Vec<_> = files.iter().map(|(n, _)| *n).collect();
        assert_eq!(numbers, [0, 2]);
        assert!(
            matches!(&failures[..], [(1, Error::Here(_))]),
            "{failures:?}"
        );
    }
}
