//! What the handles of an endpoint share with its driver.

use super::clock::Clock;
use super::core::Core;
use super::inbox::Inbox;
use super::links::Links;
use super::prepared::Prepared;
use super::socket::Socket;
use super::waiters::{self, Topic};
use noq_proto::ServerConfig;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

/// Makes the configuration of each connection that a server accepts.
pub(crate) type Prepare = dyn Fn(SocketAddr) -> Prepared<Arc<ServerConfig>> + Send + Sync;

/// What handles, connections' attempts and the driver share.
pub(crate) struct EndpointShared {
    core: Mutex<Core>,
    pub inbox: Arc<Inbox>,
    pub clock: Clock,
    pub prepare: Option<Arc<Prepare>>,
    local: Mutex<SocketAddr>,
    /// A socket that the driver shall use from now on.
    replacement: Mutex<Option<Socket>>,
    /// Links that the driver shall use from now on.
    links: Mutex<Option<Links>>,
    /// The interfaces of the links that the driver uses.
    link_names: Mutex<Vec<String>>,
}

impl EndpointShared {
    pub fn new(
        core: Core,
        inbox: Arc<Inbox>,
        clock: Clock,
        prepare: Option<Arc<Prepare>>,
        local: SocketAddr,
    ) -> Self {
        Self {
            core: Mutex::new(core),
            inbox,
            clock,
            prepare,
            local: Mutex::new(local),
            replacement: Mutex::new(None),
            links: Mutex::new(None),
            link_names: Mutex::default(),
        }
    }

    /// A panic while the lock was held was contained, so poisoning is ignored.
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        waiters::lock(&self.core)
    }

    /// The address of the socket; of an endpoint that the application carries, that of the peer.
    pub fn local_addr(&self) -> SocketAddr {
        *waiters::lock(&self.local)
    }

    /// The driver has moved to a socket with this address.
    pub fn set_local_addr(&self, local: SocketAddr) {
        *waiters::lock(&self.local) = local;
    }

    /// The driver shall move to this socket, which has the address `local`.
    pub fn replace(&self, local: SocketAddr, socket: Socket) {
        self.set_local_addr(local);
        *waiters::lock(&self.replacement) = Some(socket);
    }

    /// Takes the socket that shall replace the present one.
    pub fn take_replacement(&self) -> Option<Socket> {
        waiters::lock(&self.replacement).take()
    }

    /// The driver shall use these links.
    pub fn use_links(&self, links: Links) {
        self.set_link_names(links.devices());
        *waiters::lock(&self.links) = Some(links);
    }

    /// Takes the links that shall be used from now on.
    pub fn take_links(&self) -> Option<Links> {
        waiters::lock(&self.links).take()
    }

    /// The driver uses the links of these interfaces.
    pub fn set_link_names(&self, names: &[String]) {
        *waiters::lock(&self.link_names) = names.to_vec();
    }

    /// The interfaces of the links in use.
    pub fn link_names(&self) -> Vec<String> {
        waiters::lock(&self.link_names).clone()
    }

    /// Calls the core, then wakes the tasks that this concerns.
    pub fn call<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let (result, woken) = {
            let mut core = self.lock();
            let result = work(&mut core);
            (result, core.take_woken())
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// Waits until `attempt` succeeds.
    pub async fn wait<T>(&self, topic: Topic, attempt: impl FnMut(&mut Core) -> Option<T>) -> T {
        waiters::wait(&self.core, topic, attempt).await
    }
}

impl fmt::Debug for EndpointShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}
