//! What a client does with files on the server: get, list and remove them.

mod get;
mod packs;

pub use get::{GetOptions, GetReport, get};

use crate::send::{Attempts, ClientSession, SendOptions, Task, Update};
use crate::wire::{Entry, Message};
use crate::{Error, RemotePath, close, framing};

/// The entries at a path of the server, or of the user's directory; with `recursive` also what is
/// below. A file is its own only entry, with an empty path.
///
/// # Errors
/// If there is nothing, the token does not permit it, or the server cannot be reached.
pub async fn list(
    options: SendOptions,
    path: Option<RemotePath>,
    recursive: bool,
    stop: impl Future<Output = ()>,
) -> Result<Vec<Entry>, Error> {
    let mut task = List { path, recursive };
    run(&options, &mut task, stop).await
}

/// Removes what is at a path of the server; with `recursive` also a directory that is not empty.
/// Returns the number of files and directories removed.
///
/// # Errors
/// If there is nothing, the token does not permit it, or the server cannot be reached.
pub async fn remove(
    options: SendOptions,
    path: RemotePath,
    recursive: bool,
    stop: impl Future<Output = ()>,
) -> Result<u64, Error> {
    let mut task = Remove { path, recursive };
    run(&options, &mut task, stop).await
}

async fn run<T: Task>(
    options: &SendOptions,
    task: &mut T,
    stop: impl Future<Output = ()>,
) -> Result<T::Done, Error> {
    let progress = |_| crate::Progress { bytes: 0, size: 0 };
    let (_, result) = Attempts::run(options, task, progress, &mut |_: Update| (), stop).await;
    result
}

struct List {
    path: Option<RemotePath>,
    recursive: bool,
}

impl Task for List {
    type Done = Vec<Entry>;

    async fn attempt(&mut self, session: &ClientSession) -> Result<Vec<Entry>, Error> {
        entries(session, self.path.as_ref(), self.recursive).await
    }
}

struct Remove {
    path: RemotePath,
    recursive: bool,
}

impl Task for Remove {
    type Done = u64;

    async fn attempt(&mut self, session: &ClientSession) -> Result<u64, Error> {
        let streams = session.connection.open_bi().await;
        let (mut send, mut receive) = streams.map_err(|e| Error::Lost(close::text(&e)))?;
        let request = Message::Remove {
            path: self.path.as_bytes().to_vec(),
            recursive: self.recursive,
        };
        framing::write(&mut send, &request).await?;
        match framing::read(&mut receive).await? {
            Message::Removed { count } => Ok(count),
            other => Err(refusal(other)),
        }
    }
}

/// The entries at a path of the server.
async fn entries(
    session: &ClientSession,
    path: Option<&RemotePath>,
    recursive: bool,
) -> Result<Vec<Entry>, Error> {
    let streams = session.connection.open_bi().await;
    let (mut send, mut receive) = streams.map_err(|e| Error::Lost(close::text(&e)))?;
    let request = Message::List {
        path: path.map_or_else(Vec::new, |path| path.as_bytes().to_vec()),
        recursive,
    };
    framing::write(&mut send, &request).await?;
    let mut all = Vec::new();
    loop {
        match framing::read(&mut receive).await? {
            Message::Entries { entries, last } => {
                all.extend(entries);
                if last {
                    return Ok(all);
                }
            }
            other => return Err(refusal(other)),
        }
    }
}

/// An error of this computer's storage, which is not the server's.
fn here(error: Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Here(refusal),
        other => other,
    }
}

/// The error of an answer that is not the expected one.
fn refusal(message: Message) -> Error {
    match message {
        Message::Refused(refusal) => Error::Refused(refusal),
        _ => Error::Protocol("an unexpected message".to_owned()),
    }
}
