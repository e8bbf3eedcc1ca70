//! Lists and removes files on a server.

use super::attempts::{Attempts, Task};
use super::options::{ClientOptions, Measurement};
use super::session::ClientSession;
use super::update::Update;
use crate::connection::framing;
use crate::error::Error;
use crate::path::RemotePath;
use crate::wire::{Entry, Message, Reason, Unread};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::StreamExt;
use whimbrel_units::Bytes;

/// What to list.
#[derive(Debug, Clone)]
pub struct ListOptions {
    /// The server.
    pub client: ClientOptions,
    /// The file or directory; `None` is the user's own directory.
    pub path: Option<RemotePath>,
    /// Also what is below directories.
    pub recursive: bool,
}

/// What to remove.
#[derive(Debug, Clone)]
pub struct RemoveOptions {
    /// The server.
    pub client: ClientOptions,
    /// The file or directory.
    pub path: RemotePath,
    /// Also a directory that is not empty.
    pub recursive: bool,
}

/// What is at a path of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The entries. A file is its own only entry, with an empty path.
    pub entries: Vec<Entry>,
    /// What the server could not read, or what has a name that cannot be written.
    pub unread: Vec<Unread>,
}

/// Removals that are requested at the same time.
const REMOVALS: usize = 64;
/// What a listing may take, bytes: about 3 million entries.
const MAX_LISTING: usize = 512 << 20;

/// Lists what is at a path of the server.
///
/// # Errors
/// If there is nothing, the token does not permit it, or the server cannot be reached.
pub async fn list(options: ListOptions, stop: impl Future<Output = ()>) -> Result<Listing, Error> {
    let client = options.client.clone();
    run(&client, List(options), stop).await
}

/// Removes what is at a path of the server. Returns the number of files and directories removed;
/// `None` if the server's answer was lost with a connection, and all is gone.
///
/// # Errors
/// If there is nothing, the token does not permit it, or the server cannot be reached.
pub async fn remove(
    options: RemoveOptions,
    stop: impl Future<Output = ()>,
) -> Result<Option<u64>, Error> {
    let client = options.client.clone();
    let asked = false;
    run(&client, Remove { options, asked }, stop).await
}

async fn run<T: Task>(
    client: &ClientOptions,
    mut task: T,
    stop: impl Future<Output = ()>,
) -> Result<T::Done, Error> {
    let news = |_| Vec::new();
    let nothing = Measurement::default();
    let on_update = &mut |_: Update| ();
    let running = Attempts::run(client, &nothing, &mut task, news, on_update, stop);
    running.await.1
}

struct List(ListOptions);

impl Task for List {
    type Done = Listing;

    fn attempt<'a>(
        &'a mut self,
        session: &'a ClientSession,
    ) -> BoxFuture<'a, Result<Listing, Error>> {
        entries(session, self.0.path.as_ref(), self.0.recursive).boxed()
    }
}

struct Remove {
    options: RemoveOptions,
    /// An attempt has asked for it before.
    asked: bool,
}

impl Task for Remove {
    type Done = Option<u64>;

    fn attempt<'a>(
        &'a mut self,
        session: &'a ClientSession,
    ) -> BoxFuture<'a, Result<Option<u64>, Error>> {
        let again = std::mem::replace(&mut self.asked, true);
        let RemoveOptions {
            path, recursive, ..
        } = &self.options;
        let work = async move {
            match remove_one(session, path, *recursive).await {
                // The previous attempt has removed it, or another client has.
                Err(Error::Refused(refusal)) if again && refusal.reason == Reason::Missing => {
                    Ok(None)
                }
                result => result.map(Some),
            }
        };
        work.boxed()
    }
}

/// Removes what is at a path of the server. Returns the number of files and directories.
async fn remove_one(
    session: &ClientSession,
    path: &RemotePath,
    recursive: bool,
) -> Result<u64, Error> {
    let path = path.as_bytes().to_vec();
    let request = Message::Remove { path, recursive };
    let (_send, mut receive) = framing::request(&session.connection, &request).await?;
    match framing::read(&mut receive).await? {
        Message::Removed { count } => Ok(count),
        other => Err(framing::unexpected(other)),
    }
}

/// Removes a file or an empty directory.
async fn remove_empty(
    session: &ClientSession,
    path: RemotePath,
) -> (RemotePath, Result<u64, Error>) {
    let result = remove_one(session, &path, false).await;
    (path, result)
}

/// Removes what is at these paths of the server, the deepest of which come first; several at once.
/// Directories must be empty by then. Calls `each` for what was removed. Returns what could not be,
/// and why.
pub(super) async fn remove_all(
    session: &ClientSession,
    paths: Vec<RemotePath>,
    mut each: impl FnMut(&RemotePath),
) -> Result<Vec<(String, String)>, Error> {
    let mut failures = Vec::new();
    for level in paths.chunk_by(|a, b| a.depth() == b.depth()) {
        let removing = futures::stream::iter(level.to_vec());
        let mut removing = removing
            .map(|path| remove_empty(session, path))
            .buffer_unordered(REMOVALS);
        while let Some((path, result)) = removing.next().await {
            match result {
                Ok(_) => each(&path),
                Err(Error::Refused(refusal)) => match refusal.reason {
                    // Another client removed it.
                    Reason::Missing => {}
                    Reason::Rights | Reason::Stopping => return Err(Error::Refused(refusal)),
                    _ => failures.push((path.to_string(), refusal.to_string())),
                },
                Err(error) => return Err(error),
            }
        }
    }
    Ok(failures)
}

/// The entries at a path of the server.
pub(super) async fn entries(
    session: &ClientSession,
    path: Option<&RemotePath>,
    recursive: bool,
) -> Result<Listing, Error> {
    entries_within(session, path, recursive, MAX_LISTING).await
}

/// How much memory an entry takes, bytes.
fn taken(entry: &Entry) -> usize {
    128 * (1 + entry.remote.metadata.attributes.len()) + entry.encoded_len()
}

/// The entries at a path of the server, which may take so many bytes.
async fn entries_within(
    session: &ClientSession,
    path: Option<&RemotePath>,
    recursive: bool,
    most: usize,
) -> Result<Listing, Error> {
    let request = Message::List {
        path: path.map_or_else(Vec::new, |path| path.as_bytes().to_vec()),
        recursive,
    };
    let (_send, mut receive) = framing::request(&session.connection, &request).await?;
    let (mut all, mut size) = (Listing::default(), 0);
    loop {
        match framing::read(&mut receive).await? {
            Message::Entries {
                entries,
                unread,
                last,
            } => {
                size += entries.iter().map(taken).sum::<usize>();
                size += unread.iter().map(|u| 128 + u.encoded_len()).sum::<usize>();
                if size > most {
                    let most = Bytes::new(most as u64);
                    let text = format!("the listing has more than {most}; list parts of it");
                    return Err(Error::Protocol(text));
                }
                all.entries.extend(entries);
                all.unread.extend(unread);
                if last {
                    return Ok(all);
                }
            }
            other => return Err(framing::unexpected(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::pair::Pair;
    use crate::wire::{Attribute, Kind, Metadata, Remote};
    use std::time::Duration;
    use tokio::time::timeout;

    /// Gets a listing that the server sends in these numbers of entries, each with attributes of
    /// this length.
    async fn listed(
        pair: &Pair,
        messages: &[usize],
        attributes: usize,
        most: usize,
    ) -> Result<Listing, Error> {
        let session = ClientSession::of(pair);
        let attribute = Attribute {
            name: b"user.a".to_vec(),
            value: vec![b'x'; attributes],
        };
        let serving = async {
            let (mut send, mut receive) = pair.server.accept_bi().await.expect("asked");
            framing::read(&mut receive).await.expect("a request");
            for (number, count) in messages.iter().enumerate() {
                let remote = Remote {
                    size: 1,
                    metadata: Metadata {
                        attributes: vec![attribute.clone(); attributes.min(1)],
                        ..Metadata::plain(Kind::File)
                    },
                };
                let entry = |n: usize| Entry {
                    path: n.to_string().into_bytes(),
                    remote: remote.clone(),
                    target: Vec::new(),
                };
                let message = Message::Entries {
                    entries: (0..*count).map(entry).collect(),
                    unread: Vec::new(),
                    last: number + 1 == messages.len(),
                };
                framing::write(&mut send, &message).await.ok();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            listing = entries_within(&session, None, true, most) => listing,
            () = serving => unreachable!("it has no end"),
        }
    }

    #[test]
    fn a_directory_is_removed_after_what_is_in_it() {
        Pair::play(1_000_000_000, async |pair: Pair| {
            let session = ClientSession::of(&pair);
            let paths = ["a/b", "a"].map(|path| path.parse().expect("a path"));
            let serving = async {
                let mut kept = Vec::new();
                for name in ["a/b", "a"] {
                    let (mut send, mut receive) = pair.server.accept_bi().await.expect("asked");
                    let request = framing::read(&mut receive).await.expect("a request");
                    assert!(
                        matches!(&request, Message::Remove { path, .. } if path == name.as_bytes()),
                        "{request:?}"
                    );
                    let early = timeout(Duration::from_secs(1), pair.server.accept_bi()).await;
                    assert!(early.is_err(), "before {name} is removed");
                    let removed = Message::Removed { count: 1 };
                    framing::write(&mut send, &removed).await.expect("sent");
                    kept.push((send, receive));
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                failed = remove_all(&session, paths.to_vec(), |_| ()) => {
                    assert!(failed.expect("removed").is_empty());
                }
                () = serving => unreachable!("it has no end"),
            }
        });
    }

    /// However many messages bring it.
    #[test]
    fn a_listing_is_bounded() {
        Pair::play(1_000_000_000, async |pair: Pair| {
            let fits = listed(&pair, &[20, 20, 20], 0, 60 * 256)
                .await
                .expect("it fits");
            assert_eq!(fits.entries.len(), 60);
            for (attributes, most) in [(0, 60 * 128), (2000, 60 * 2000)] {
                let long = listed(&pair, &[20, 20, 20], attributes, most).await;
                let text = long.expect_err("it is too long").to_string();
                assert!(text.contains("list parts of it"), "{text}");
            }
        });
    }
}
