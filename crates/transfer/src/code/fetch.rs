//! The receiver: a server of its own until the files are here.

use super::carried::for_receiver;
use super::meeting::Meeting;
use super::{Code, lan};
use crate::client::ClientOptions;
use crate::credentials::identity::Identity;
use crate::error::Error;
use crate::server::users::Users;
use crate::server::{Event, ServeOptions, Server};
use crate::storage::{Storage, StorageOptions};
use std::future::pending;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use whimbrel_units::{Bytes, Duration as Span};

/// Words that nobody offers are wrong words, most likely: so long they are looked for on this
/// network although the meeting server does not know them.
const NEAR: Duration = Duration::from_secs(3);

/// Options of [`fetch`].
#[derive(Debug)]
pub struct FetchOptions {
    /// The sender's words.
    pub code: Code,
    /// Where the files go; it is created in a directory that exists.
    pub directory: PathBuf,
    /// Replace files that are different.
    pub overwrite: bool,
    /// How to reach a server at which the ends meet; only its address is used.
    pub meet: Option<ClientOptions>,
    /// Let the sender find this end on this network.
    pub lan: bool,
}

/// What arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Time from the first request to the last answer.
    pub took: Span,
}

/// Waits for the sender who has the same words, and stores what it sends. `on_note` gets what
/// happens meanwhile. When `stop` completes, the transfer ends; what has arrived stays for the next
/// code.
///
/// # Errors
/// If the words are not the sender's, nobody waits with them at the meeting server, or the
/// directory cannot be used.
pub async fn fetch(
    options: FetchOptions,
    mut on_note: impl FnMut(String),
    stop: impl Future<Output = ()>,
) -> Result<Fetched, Error> {
    if options.directory.symlink_metadata().is_err() {
        Storage::create(&options.directory, StorageOptions::default())?;
    }
    let server = bind(&options)?;
    let port = server.local_addr()?.port();
    let announced = options.lan.then(|| lan::announce(&options.code, port));
    let (events, mut happened) = mpsc::unbounded_channel();
    let (end, ended) = oneshot::channel::<()>();
    let serving = async {
        let on_event = move |event| drop(events.send(event));
        server.run(on_event, async { drop(ended.await) }).await;
    };
    let meeting = async {
        let Some(options_of_meeting) = &options.meet else {
            return pending().await;
        };
        let error = match Meeting::join(options_of_meeting, options.code.place()).await {
            Ok(meeting) => {
                let carried = for_receiver(meeting, (Ipv4Addr::LOCALHOST, port).into()).await;
                let closed = || "it was closed".to_owned();
                let why = carried.err().map_or_else(closed, |e| e.to_string());
                Error::Lost(format!("the meeting server carries it no more: {why}"))
            }
            Err(error) => error,
        };
        // The sender may come directly, or has just done so.
        if options.lan {
            sleep(NEAR).await;
        }
        error
    };
    // Large files are stored one by one, before the tree that they belong to.
    let mut large = (0, Bytes::ZERO);
    let work = async {
        tokio::pin!(meeting, stop);
        let mut begun = false;
        loop {
            tokio::select! {
                Some(event) = happened.recv() => match event {
                    Event::Stored { bytes, .. } => large = (large.0 + 1, large.1 + bytes),
                    Event::StoredTree { files, bytes, took, .. } => {
                        return Ok(Fetched { files, bytes, took });
                    }
                    Event::Introduced { .. } => {
                        begun = true;
                        on_note("the sender has the same words".to_owned());
                    }
                    Event::Failed { error: error @ Error::Code(_), .. } => return Err(error),
                    Event::Failed { error, .. } if begun => on_note(error.to_string()),
                    _ => {}
                },
                // On this network the transfer goes on without it.
                error = &mut meeting, if !(begun && options.lan) => return Err(error),
                () = &mut stop => return Err(Error::Stopped),
            }
        }
    };
    // The server ends by itself only if its socket is lost.
    let work = async {
        let result = work.await;
        end.send(()).ok();
        result
    };
    let (result, ()) = tokio::join!(work, serving);
    drop(announced);
    // The server answers before it reports, so the last report may follow that of the tree.
    while let Ok(event) = happened.try_recv() {
        if let Event::Stored { bytes, .. } = event {
            large = (large.0 + 1, large.1 + bytes);
        }
    }
    result.map(|tree| Fetched {
        files: tree.files + large.0,
        bytes: tree.bytes + large.1,
        ..tree
    })
}

fn bind(options: &FetchOptions) -> Result<Server, Error> {
    let identity = Identity::ephemeral()?;
    let of = |address| ServeOptions {
        overwrite: options.overwrite,
        tcp: false,
        users: Some(Users::default()),
        code: Some(options.code.clone()),
        ..ServeOptions::new(&options.directory, address)
    };
    let any = (Ipv6Addr::UNSPECIFIED, 0).into();
    match Server::bind(of(any), &identity) {
        // A machine without IPv6.
        Err(Error::Socket { .. }) => Server::bind(of((Ipv4Addr::UNSPECIFIED, 0).into()), &identity),
        bound => bound,
    }
}
