//! The sender: shows words, and sends to the receiver that proves to have them.

use super::carried::{for_sender, loopback};
use super::lan;
use super::meeting::Meeting;
use crate::client::{
    ClientOptions, Connected, Dial, ServerAddress, TreeOptions, TreeReport, Update, fingerprint_of,
    send_tree,
};
use crate::connection::over_tcp::TransportChoice;
use crate::connection::{close, parameters};
use crate::error::Error;
use crate::token::Token;
use crate::words::{Code, LIFETIME, pake};
use noq_proto::VarInt;
use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_units::Duration as Span;

/// Ends that have met at a server may also be on one network: so long that one is preferred.
const NEAR: Duration = Duration::from_millis(1500);
/// A receiver that can be reached answers within this time. Of a NAT that lets nothing in before
/// something went out, the second packet of the handshake passes, after a second.
const CONNECT: Span = Span::from_secs(4);
/// Codes that are tried until one is free at the server.
const TRIES: usize = 16;

/// Options of [`offer`].
#[derive(Debug, Clone)]
pub struct OfferOptions {
    /// What to send and how. The receiver is found, so the server, the fingerprint and the token in
    /// it are not used.
    pub tree: TreeOptions,
    /// A server at which the ends meet if they are not on one network.
    pub meet: Option<ServerAddress>,
    /// Look for the receiver on this network.
    pub lan: bool,
    /// Reach the receiver directly also if they have met at the server, through the NATs before
    /// both where these let it be: each end learns the other one's address.
    pub direct: bool,
}

/// Chooses words, calls `on_code` with them, waits for a receiver who proves to have them, and
/// sends. When `stop` completes, the transfer ends.
///
/// # Errors
/// If nobody comes within an hour, somebody comes with other words, or the meeting server cannot be
/// reached.
pub async fn offer(
    options: OfferOptions,
    on_code: impl FnOnce(&Code),
    on_update: impl FnMut(Update),
    stop: impl Future<Output = ()>,
) -> Result<TreeReport, Error> {
    let OfferOptions {
        mut tree,
        meet,
        lan,
        direct,
    } = options;
    tokio::pin!(stop);
    // Dropped at the end, which ends the meeting.
    let mut carrying = JoinSet::new();
    let finding = async {
        let (code, meeting) = register(&tree.client, meet, direct).await?;
        on_code(&code);
        let found = find(&tree.client, &code, meeting, lan, &mut carrying);
        let late = |_| Error::Code("nobody came for the files within an hour".to_owned());
        timeout(LIFETIME, found).await.map_err(late)?
    };
    tree.client = tokio::select! {
        found = finding => found?,
        () = &mut stop => return Err(Error::Stopped),
    };
    Ok(send_tree(tree, on_update, stop).await)
}

/// Words whose first one is free at the server.
async fn register(
    client: &ClientOptions,
    meet: Option<ServerAddress>,
    direct: bool,
) -> Result<(Code, Option<Meeting>), Error> {
    let Some(server) = meet else {
        return Ok((Code::random()?, None));
    };
    let options = ClientOptions {
        server,
        ..client.clone()
    };
    for _ in 0..TRIES {
        let code = Code::random()?;
        if let Some(meeting) = Meeting::offer(&options, code.place(), direct).await? {
            return Ok((code, Some(meeting)));
        }
    }
    let text = format!("{}: too many senders wait there", options.server);
    Err(Error::Code(text))
}

/// Waits for the receiver. Returns how to reach it.
async fn find(
    client: &ClientOptions,
    code: &Code,
    meeting: Option<Meeting>,
    lan: bool,
    carrying: &mut JoinSet<()>,
) -> Result<ClientOptions, Error> {
    let mut near = lan.then(|| lan::search(code));
    let meeting = async {
        match meeting {
            Some(meeting) => meeting.met().await,
            None => pending().await,
        }
    };
    tokio::pin!(meeting);
    loop {
        tokio::select! {
            addresses = next(&mut near) => {
                if let Some(known) = first_of(client, &addresses, code).await? {
                    return Ok(known);
                }
            }
            met = &mut meeting => {
                let met = met?;
                if lan
                    && let Ok(addresses) = timeout(NEAR, next(&mut near)).await
                    && let Some(known) = first_of(client, &addresses, code).await?
                {
                    return Ok(known);
                }
                if let Some(other) = met.other {
                    let from_there = ClientOptions {
                        endpoint: Some(met.endpoint.clone()),
                        ..client.clone()
                    };
                    if let Some(known) = first_of(&from_there, &[other], code).await? {
                        return Ok(known);
                    }
                }
                let here = |e| Error::Code(format!("cannot open a socket on loopback: {e}"));
                let socket = loopback().await.map_err(here)?;
                let address = socket.local_addr().map_err(here)?;
                carrying.spawn(for_sender(met, socket));
                return introduce(client, address, code).await;
            }
        }
    }
}

async fn next(near: &mut Option<mpsc::Receiver<Vec<SocketAddr>>>) -> Vec<SocketAddr> {
    if let Some(searching) = near
        && let Some(addresses) = searching.recv().await
    {
        return addresses;
    }
    pending().await
}

/// The first address at which the receiver is.
async fn first_of(
    client: &ClientOptions,
    addresses: &[SocketAddr],
    code: &Code,
) -> Result<Option<ClientOptions>, Error> {
    for address in addresses {
        match introduce(client, *address, code).await {
            Ok(known) => return Ok(Some(known)),
            // The code is used up.
            Err(error @ Error::Code(_)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Proves to the receiver at an address that this end has the words, and checks that it has them.
async fn introduce(
    client: &ClientOptions,
    address: SocketAddr,
    code: &Code,
) -> Result<ClientOptions, Error> {
    let (known, connected) = connect(client, address).await?;
    let proved = pake::prove(&connected.connection, code).await;
    let done = VarInt::from_u32(close::DONE);
    connected.connection.close(done, b"");
    // What is said last must not be overtaken by the end of the meeting that carries it. The socket
    // of the meeting itself remains.
    if client.endpoint.is_none() {
        timeout(Duration::from_secs(1), connected.endpoint.wait_idle())
            .await
            .ok();
    }
    Ok(ClientOptions {
        token: proved?,
        ..known
    })
}

/// Connects to the end at an address.
pub(super) async fn connect(
    client: &ClientOptions,
    address: SocketAddr,
) -> Result<(ClientOptions, Connected), Error> {
    let unknown = ClientOptions {
        server: ServerAddress {
            host: address.ip().to_string(),
            port: address.port(),
        },
        token: Token::random()?,
        fingerprint: None,
        known_hosts: None,
        known_paths: None,
        connect: CONNECT,
        transport: TransportChoice::Quic,
        ..client.clone()
    };
    // What it is worth turns out with the words.
    let fingerprint = fingerprint_of(&unknown).await?;
    let known = ClientOptions {
        fingerprint: Some(fingerprint),
        ..unknown
    };
    let dial = Dial::new(&known, parameters::client(known.idle));
    let connected = dial.connect(&|| known.factory()).await?;
    Ok((known, connected))
}
