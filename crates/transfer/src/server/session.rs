//! The connection of one client: who it is, its requests and its data streams.

use super::client::Client;
use super::meetings::Stranger;
use super::options::{Event, RemoteUser};
use super::peer::{Leave, Peer};
use super::queue::QueuePlace;
use super::shared::{Deadline, Shared};
use super::users::{Rights, User, Users};
use crate::connection::routes::Routes;
use crate::connection::{close, framing, parameters};
use crate::error::Error;
use crate::lock::lock;
use crate::token::Token;
use crate::turns::Turns;
use crate::wire::{MAX_FIRST_MESSAGE, Message, Reason, VERSION};
use crate::words::pake;
use noq_proto::VarInt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::endpoint::{Connection, Incoming, RecvStream, SendStream};

/// After this time at the latest the clock is read again: it may have been set.
const CLOCK: Duration = Duration::from_secs(60);

/// A connection and its client.
#[derive(Clone)]
pub(super) struct Session {
    pub peer: Peer,
    pub client: Client,
    pub connection: Connection,
    pub routes: Routes,
    /// What its transfers may do at once.
    pub turns: Turns,
    place: Arc<Mutex<Weak<QueuePlace>>>,
    /// The disk became full for a file of this connection.
    pub disk_full: Arc<AtomicBool>,
}

/// The client of a connection, once it is authenticated.
type Authenticated = watch::Receiver<Option<Client>>;

impl Peer {
    /// Serves the client until the connection ends. A client that is not authenticated in time, or
    /// must leave, is disconnected, whatever it has sent.
    pub async fn serve(self, incoming: Incoming, mut leave: Leave, deadline: Deadline) {
        let limits = self.shared.limits;
        let Ok(connecting) = incoming.accept() else {
            return;
        };
        let connected = tokio::select! {
            connected = timeout_at(deadline, connecting) => connected,
            _ = &mut leave => return,
        };
        let Ok(Ok(connection)) = connected else {
            return;
        };
        let counted = Counted(&self.shared, connection.clone());
        let (shared_routes, turns) = (Routes::default(), Turns::default());
        let place = Arc::new(Mutex::new(Weak::new()));
        let disk_full = Arc::new(AtomicBool::new(false));
        let mut requests = JoinSet::new();
        let mut data = JoinSet::new();
        let (client, authenticated) = watch::channel(None);
        let mut client = Some(client);
        let mut request_timeout: Duration = limits.handshake.into();
        let mut left = false;
        let revoked = self.revoked(authenticated.clone());
        tokio::pin!(revoked);
        loop {
            tokio::select! {
                stream = connection.accept_bi() => {
                    let Ok(streams) = stream else { break };
                    match client.take() {
                        Some(client) => {
                            let connection = connection.clone();
                            requests.spawn(self.clone().hello(connection, streams, client));
                        }
                        None => {
                            let (peer, routes) = (self.clone(), shared_routes.clone());
                            let (connection, place) = (connection.clone(), Arc::clone(&place));
                            let (disk_full, turns) = (Arc::clone(&disk_full), turns.clone());
                            let authenticated = authenticated.clone();
                            requests.spawn(async move {
                                let Some(client) = wait_for(authenticated).await else {
                                    return;
                                };
                                let session = Session {
                                    peer,
                                    client,
                                    connection,
                                    routes,
                                    turns,
                                    place,
                                    disk_full,
                                };
                                session.request(streams).await;
                            });
                        }
                    }
                }
                stream = connection.accept_uni() => {
                    let Ok(stream) = stream else { break };
                    let routes = shared_routes.clone();
                    data.spawn(routes.pass(stream, limits.stall.into()));
                }
                Some(_) = requests.join_next() => request_timeout = limits.idle.into(),
                Some(_) = data.join_next() => {}
                () = sleep_until(deadline), if !self.slot.is_admitted() => {
                    // Who was admitted meanwhile stays.
                    if self.slot.is_admitted() {
                        continue;
                    }
                    connection.close(VarInt::from_u32(close::IDLE), b"no token arrived in time");
                    break;
                }
                _ = &mut leave, if !self.slot.is_admitted() && !left => {
                    left = true;
                    // Who has shown a token meanwhile stays.
                    if !self.slot.is_admitted() {
                        let reason = b"others without a token need the place; try again";
                        connection.close(VarInt::from_u32(close::IDLE), reason);
                        break;
                    }
                }
                (user, code, text) = &mut revoked => {
                    connection.close(VarInt::from_u32(code), text.as_bytes());
                    (self.on_event)(Event::Failed {
                        peer: RemoteUser { address: self.address, user: Some(user) },
                        name: None,
                        error: Error::refused(Reason::Token, text),
                    });
                    break;
                }
                () = tokio::time::sleep(request_timeout), if requests.is_empty() => {
                    connection.close(VarInt::from_u32(close::IDLE), b"no request arrived");
                    return;
                }
            }
        }
        // The connection is closed. Each request notices that too and has an event to report.
        while requests.join_next().await.is_some() {}
        drop(counted);
    }

    /// Authenticates the client.
    async fn hello(
        self,
        connection: Connection,
        (mut send, mut receive): (SendStream, RecvStream),
        client: watch::Sender<Option<Client>>,
    ) {
        let first = match self.first(&mut receive).await {
            Ok(Message::Meet {
                version,
                place,
                sender,
                direct,
            }) if version == VERSION => {
                let stranger = Stranger { sender, direct };
                return self
                    .meet(connection, (send, receive), place, stranger)
                    .await;
            }
            Ok(Message::Code { version, message }) if version == VERSION => {
                return self.check_code(connection, (send, receive), &message).await;
            }
            first => first,
        };
        match first.and_then(|first| self.authenticate(first)) {
            Ok(found) => {
                parameters::admit_requests(&connection);
                let max_size = self.shared.max_file();
                let welcome = Message::Welcome {
                    version: VERSION,
                    max_size,
                };
                // Requests of the same flight begin.
                client.send_replace(Some(found));
                framing::write(&mut send, &welcome).await.ok();
                send.finish().ok();
            }
            // A stranger who is gone is not worth a line in the log.
            Err(Error::Lost(_)) => {}
            Err(error) => {
                self.refuse(&mut send, &error).await;
                let code = match &error {
                    Error::Refused(r) if r.reason == Reason::Token => close::TOKEN,
                    _ => close::PROTOCOL,
                };
                connection.close(VarInt::from_u32(code), b"");
                (self.on_event)(Event::Failed {
                    peer: RemoteUser {
                        address: self.address,
                        user: None,
                    },
                    name: None,
                    error,
                });
            }
        }
    }

    /// The first message of a client.
    async fn first(&self, receive: &mut RecvStream) -> Result<Message, Error> {
        let too_late = |_| Error::refused(Reason::Stalled, "the request did not arrive in time");
        let reading = framing::read_at_most(receive, MAX_FIRST_MESSAGE);
        let message = timeout(self.shared.limits.handshake.into(), reading).await;
        message.map_err(too_late)?
    }

    /// Lets a client who proves to have the code's words become the owner.
    async fn check_code(
        &self,
        connection: Connection,
        (mut send, mut receive): (SendStream, RecvStream),
        message: &[u8],
    ) {
        let peer = RemoteUser {
            address: self.address,
            user: None,
        };
        let code = lock(&self.shared.code).take();
        let token = match code {
            Some(code) => pake::check(&connection, code, message, &mut send, &mut receive).await,
            None => {
                let text = "nobody waits here with a code, or somebody has tried it already";
                Err(Error::refused(Reason::Token, text))
            }
        };
        match token {
            Ok(token) => {
                let owner = introduced(&token);
                self.shared
                    .users
                    .send_replace(Arc::new(Users::new([owner])));
                let max_size = self.shared.max_file();
                let version = VERSION;
                let welcome = Message::Welcome { version, max_size };
                self.answer(&mut send, &welcome).await;
                (self.on_event)(Event::Introduced { peer });
            }
            Err(error) => {
                self.refuse(&mut send, &error).await;
                connection.close(VarInt::from_u32(close::TOKEN), b"");
                (self.on_event)(Event::Failed {
                    peer,
                    name: None,
                    error,
                });
            }
        }
    }

    fn authenticate(&self, first: Message) -> Result<Client, Error> {
        let (version, token) = match first {
            Message::Hello { version, token } => (version, token),
            Message::Code { version, .. } | Message::Meet { version, .. } => {
                return Err(other_version(version));
            }
            _ => return Err(Error::Protocol("an unexpected message".to_owned())),
        };
        let users = self.shared.users();
        let user = match users.authenticate(&token, SystemTime::now()) {
            Ok(user) => user,
            Err(denied) => {
                let now = Instant::now();
                self.shared
                    .strangers()
                    .record_wrong_token(self.address.ip(), now);
                return Err(Error::refused(Reason::Token, denied.text()));
            }
        };
        if version != VERSION {
            return Err(other_version(version));
        }
        let storage = self.shared.storage_of(&user)?;
        let (shared, owner) = (Arc::clone(&self.shared), Arc::clone(&user));
        let storage = storage.counting(move |bytes| shared.usage.changed(&owner, bytes as i64));
        self.slot.admit(&user.name)?;
        Ok(Client {
            user,
            token: token.hash(),
            storage,
        })
    }

    /// Waits until the client's token is not valid any more, or permits something else than when
    /// it was shown. Returns the user's name, and code and reason for the client.
    async fn revoked(&self, authenticated: Authenticated) -> (String, u32, &'static str) {
        let Some(client) = wait_for(authenticated).await else {
            return pending().await;
        };
        let mut users = self.shared.users.subscribe();
        let (code, text) = loop {
            let now = SystemTime::now();
            let found = users.borrow_and_update().find(&client.token, now);
            let end = match found {
                Err(denied) => break (close::TOKEN, denied.text()),
                Ok((user, _)) if !user.may_the_same(&client.user) => {
                    // The client connects again.
                    break (close::IDLE, "what this token permits has changed");
                }
                Ok((_, end)) => end,
            };
            let left = end.map_or(CLOCK, |end| end.duration_since(now).unwrap_or_default());
            tokio::select! {
                changed = users.changed() => if changed.is_err() {
                    return pending().await;
                },
                () = sleep(left.min(CLOCK)), if end.is_some() => {}
            }
        };
        (client.user.name.clone(), code, text)
    }
}

/// Who has the same words: may store files, and no more.
fn introduced(token: &Token) -> User {
    let rights = Rights {
        write: true,
        ..Rights::default()
    };
    User::owner(token, rights, Priority::HIGHEST)
}

fn other_version(version: u16) -> Error {
    let text =
        format!("this server speaks version {VERSION}, not {version}; update the older program");
    Error::refused(Reason::Version, text)
}

/// Adds the packets of a connection to the server's when it is dropped.
struct Counted<'a>(&'a Shared, Connection);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let stats = self.1.stats();
        let counts = &self.0.counts;
        counts
            .sent_packets
            .fetch_add(stats.sent_packets, Ordering::Relaxed);
        counts
            .lost_packets
            .fetch_add(stats.lost_packets, Ordering::Relaxed);
    }
}

/// Waits for the client. `None` if it is not authenticated.
async fn wait_for(mut authenticated: Authenticated) -> Option<Client> {
    let client = authenticated.wait_for(Option::is_some).await.ok()?;
    client.clone()
}

impl Session {
    /// Handles one request, from its first message to the answer.
    async fn request(self, (mut send, mut receive): (SendStream, RecvStream)) {
        let limits = self.peer.shared.limits;
        let too_late = |_| Error::refused(Reason::Stalled, "the request did not arrive in time");
        let message = timeout(limits.handshake.into(), framing::read(&mut receive)).await;
        let message = message.map_err(too_late).and_then(|message| message);
        let error = match message {
            Ok(Message::Put(put)) => return self.put(put, send, receive).await,
            Ok(Message::Tree { path, bytes, .. }) => {
                return self.tree(path, bytes, send, receive).await;
            }
            Ok(Message::Get { path }) => return self.get(path, send, receive).await,
            Ok(Message::GetMany { transfer }) => {
                return self.get_many(transfer, send, receive).await;
            }
            Ok(Message::List { path, recursive }) => return self.list(path, recursive, send).await,
            Ok(Message::Pipe { answers, target }) => return self.pipe(answers, target, send).await,
            Ok(Message::Remove { path, recursive }) => {
                return self.remove(path, recursive, send).await;
            }
            Ok(_) => Error::Protocol("an unexpected message".to_owned()),
            Err(error) => error,
        };
        self.failed(&mut send, None, error).await;
    }

    /// Tells both the client and the operator why a request failed.
    pub async fn failed(
        &self,
        send: &mut SendStream,
        name: Option<crate::path::RemotePath>,
        error: Error,
    ) {
        self.peer.refuse(send, &error).await;
        // A stream says only that the connection is lost; the connection knows the reason.
        let error = match (error, self.connection.close_reason()) {
            (Error::Lost(_), Some(reason)) => close::lost(reason),
            (error, _) => error,
        };
        if let Error::Protocol(_) = &error {
            self.connection
                .close(VarInt::from_u32(close::PROTOCOL), b"");
        }
        (self.peer.on_event)(Event::Failed {
            peer: self.remote_user(),
            name,
            error,
        });
    }

    /// Who the client is, for events.
    pub fn remote_user(&self) -> RemoteUser {
        RemoteUser {
            address: self.peer.address,
            user: Some(self.client.user.name.clone()),
        }
    }

    /// Whether the connection has a place, and does not wait for one.
    pub fn has_place(&self) -> bool {
        let place = self.place.try_lock();
        place.is_ok_and(|place| place.strong_count() > 0)
    }

    /// A place among the transfers, which all transfers of a connection share. The client learns
    /// how many wait before it.
    pub async fn place(&self, send: &mut SendStream) -> Result<Arc<QueuePlace>, Error> {
        let mut place = self.place.lock().await;
        if let Some(place) = place.upgrade() {
            return Ok(place);
        }
        let (position, mut positions) = watch::channel(0);
        let shared = &self.peer.shared;
        let several = shared.users().are_several();
        // A client that does not read must not hold up the others: it gets its turn anyway.
        let telling = async {
            while positions.changed().await.is_ok() {
                let position = *positions.borrow_and_update();
                framing::write(send, &Message::Queued { position }).await?;
            }
            Ok(())
        };
        tokio::pin!(telling);
        let taken = {
            let taking = shared
                .places
                .take(&self.client.user.name, several, &position);
            tokio::pin!(taking);
            tokio::select! {
                biased;
                taken = &mut taking => taken,
                told = &mut telling => return told.and(Err(Error::Stopped)),
                reason = self.connection.closed() => return Err(close::lost(reason)),
            }
        };
        let text = "too many transfers wait for this server; try again later";
        let taken = Arc::new(taken.ok_or_else(|| Error::refused(Reason::Busy, text))?);
        // Half a message is not left behind.
        drop(position);
        framing::within(shared.limits.stall.into(), telling).await?;
        *place = Arc::downgrade(&taken);
        parameters::admit(&self.connection);
        self.connection.admit(self.client.user.max_priority);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::users::RightsIn;

    #[test]
    fn who_has_the_words_may_store_and_nothing_else() {
        let user = introduced(&Token::random().expect("randomness"));
        let Rights {
            read,
            write,
            remove,
        } = user.rights;
        assert_eq!((read, write, remove), (false, true, false));
        assert!(user.connect.is_empty() && user.rights_in == RightsIn::default());
    }
}
