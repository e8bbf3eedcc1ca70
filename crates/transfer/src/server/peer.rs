//! A connection at which somebody arrived: its slot, and how the server answers there.

use super::shared::{OnEvent, Shared};
use super::shares::Held;
use crate::connection::framing;
use crate::error::Error;
use crate::wire::{Message, Reason};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use whimbrel_quic::endpoint::SendStream;

/// Time for an answer to arrive, before the operator learns of the event.
const ANSWER: Duration = Duration::from_secs(5);

/// Completes when a stranger must leave.
pub(super) type Leave = oneshot::Receiver<()>;

/// The connection of one client.
#[derive(Clone)]
pub(super) struct Peer {
    pub shared: Arc<Shared>,
    pub address: SocketAddr,
    pub on_event: OnEvent,
    pub slot: Arc<Slot>,
}

impl Peer {
    /// The connection of a newcomer with this number among the strangers.
    pub fn new(shared: Arc<Shared>, number: u64, address: SocketAddr, on_event: OnEvent) -> Self {
        let slot = Arc::new(Slot {
            shared: Arc::clone(&shared),
            number,
            admitted: OnceLock::new(),
        });
        Self {
            shared,
            address,
            on_event,
            slot,
        }
    }

    /// Sends a refusal, and waits until it has arrived.
    pub async fn refuse(&self, send: &mut SendStream, error: &Error) {
        self.answer(send, &Message::Refused(error.for_peer())).await;
    }

    /// Sends the last message of a request, and waits until it has arrived: the operator may stop
    /// the server upon the event that follows.
    pub async fn answer(&self, send: &mut SendStream, message: &Message) {
        let sending = async {
            framing::write(send, message).await.ok();
            send.finish().ok();
            send.stopped().await.ok();
        };
        timeout(ANSWER, sending).await.ok();
    }
}

/// The slot of a connection: among the strangers, and then among the authenticated clients.
/// Dropped, it is free.
pub(super) struct Slot {
    shared: Arc<Shared>,
    /// Its number among the strangers.
    number: u64,
    admitted: OnceLock<Held>,
}

impl Slot {
    /// The client is authenticated as `user`. Fails if too many are connected.
    pub fn admit(&self, user: &str) -> Result<(), Error> {
        let several = self.shared.users().are_several();
        let held = self.shared.connections.take(user, several).ok_or_else(|| {
            let text = "too many clients are connected; try again later";
            Error::refused(Reason::Busy, text)
        })?;
        self.admitted.set(held).ok();
        self.shared.strangers().leave(self.number);
        Ok(())
    }

    /// Whether the client is authenticated.
    pub fn is_admitted(&self) -> bool {
        self.admitted.get().is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.strangers().leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use crate::server::Limits;
    use crate::server::shares::Shares;
    use crate::server::users::{Rights, User, Users};
    use crate::storage::{Storage, StorageOptions};
    use crate::token::Token;
    use whimbrel_cc::fairness::Priority;

    /// However many connections it has, and from wherever.
    #[test]
    fn one_user_leaves_connections_to_others() {
        let scratch = ScratchDirectory::new();
        let storage = Storage::open(scratch.path(), StorageOptions::default()).expect("opened");
        let user = |name: &str| {
            let token = Token::random().expect("randomness");
            User {
                name: name.to_owned(),
                ..User::owner(&token, Rights::default(), Priority::HIGHEST)
            }
        };
        let users = Users::new(["alice", "bob"].map(user));
        let shared = Arc::new(Shared {
            connections: Shares::new(4),
            ..Shared::new(storage, users, Limits::default())
        });
        let slot = |number| Slot {
            shared: Arc::clone(&shared),
            number,
            admitted: OnceLock::new(),
        };
        let slots: Vec<_> = (0..5).map(slot).collect();
        let admit = |number: usize, user| slots[number].admit(user).is_ok();
        assert!(admit(0, "alice") && admit(1, "alice") && !admit(2, "alice"));
        assert!(admit(3, "bob") && admit(4, "bob"));
    }
}
