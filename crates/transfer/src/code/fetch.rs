//! The receiver: a server of its own until the files are here.

use super::carried::for_receiver;
use super::meeting::Meeting;
use super::{lan, punch};
use crate::client::ClientOptions;
use crate::credentials::identity::Identity;
use crate::error::Error;
use crate::server::users::Users;
use crate::server::{Event, ServeOptions, Server};
use crate::storage::{Storage, StorageOptions};
use crate::words::Code;
use std::future::pending;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use whimbrel_units::{Bytes, Duration as Span};

/// Words that nobody offers are most likely wrong: they are looked for so long on this
/// network although the meeting server does not know them. And so long after the end of a meeting
/// a sender may turn out to have come directly.
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
    /// Let the sender reach this end directly also if they have met at the server, through the NATs
    /// before both where these let it be: each end learns the other one's address.
    pub direct: bool,
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
    /// Whether it came from the sender, not over the meeting server.
    pub direct: bool,
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
    // Whether the meeting server has carried anything.
    let carried = AtomicBool::new(false);
    let direct = || !carried.load(Ordering::Relaxed);
    let meeting = async {
        match &options.meet {
            Some(client) => meet(client, &options, (&server, port), &carried).await,
            None => pending().await,
        }
    };
    // Large files are stored one by one, before the tree that they belong to.
    let mut large = (0, Bytes::ZERO);
    let work = async {
        tokio::pin!(meeting, stop);
        let (mut begun, mut parted) = (false, false);
        loop {
            tokio::select! {
                Some(event) = happened.recv() => match event {
                    Event::Stored { bytes, .. } => large = (large.0 + 1, large.1 + bytes),
                    Event::StoredTree { files, bytes, took, .. } => {
                        return Ok(Fetched { files, bytes, took, direct: direct() });
                    }
                    Event::Introduced { peer } => {
                        begun = true;
                        on_note(match (direct(), peer.address.ip().to_canonical()) {
                            (true, ip) => format!("the sender at {ip} has the same words"),
                            (false, _) => "the sender has the same words; the meeting server \
                                           carries what it sends".to_owned(),
                        });
                    }
                    Event::Failed { error: error @ Error::Code(_), .. } => return Err(error),
                    Event::Failed { error, .. } if begun => on_note(error.to_string()),
                    _ => {}
                },
                error = &mut meeting, if !parted => match begun && direct() {
                    // The transfer goes on without it.
                    true => parted = true,
                    false => return Err(error),
                },
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

/// Meets the sender at the server of `client`, and carries what comes over it to `server` here, at
/// `port`. Returns why that has ended.
async fn meet(
    client: &ClientOptions,
    options: &FetchOptions,
    (server, port): (&Server, u16),
    carried: &AtomicBool,
) -> Error {
    let client = ClientOptions {
        endpoint: options.direct.then(|| server.endpoint().clone()),
        ..client.clone()
    };
    let meeting = match Meeting::join(&client, options.code.place(), options.direct).await {
        Ok(meeting) => meeting,
        Err(error) => {
            if options.lan {
                sleep(NEAR).await;
            }
            return error;
        }
    };
    let other = meeting.other;
    let opening = async {
        if let Some(other) = other {
            punch::open_way(server.endpoint(), other).await;
        }
        pending().await
    };
    let ended = tokio::select! {
        ended = for_receiver(meeting, (Ipv4Addr::LOCALHOST, port).into(), carried) => ended,
        ended = opening => ended,
    };
    // The sender may have come directly just now.
    if options.lan || other.is_some() {
        sleep(NEAR).await;
    }
    let why = ended
        .err()
        .map_or_else(|| "it was closed".to_owned(), |e| e.to_string());
    Error::Lost(format!("the meeting server carries it no more: {why}"))
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
