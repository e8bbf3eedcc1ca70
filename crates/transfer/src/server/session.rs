//! The connection of one client: its requests and its data streams.

use super::{OnEvent, Shared};
use crate::close;
use crate::receive::ChunkStream;
use crate::wire::{CHUNK_HEADER, read_chunk_header};
use noq_proto::VarInt;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Incoming, RecvStream};

/// The connection of one client.
#[derive(Clone)]
pub(super) struct Peer {
    pub shared: Arc<Shared>,
    pub address: SocketAddr,
    pub on_event: OnEvent,
}

/// For each transfer of a connection, the channel for its chunk streams.
pub(super) type Routes = Arc<Mutex<HashMap<u64, mpsc::Sender<ChunkStream>>>>;

pub(super) fn routes(routes: &Routes) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<ChunkStream>>> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    pub async fn serve(self, incoming: Incoming) {
        let limits = self.shared.limits;
        let Ok(connecting) = incoming.accept() else {
            return;
        };
        let Ok(Ok(connection)) = timeout(limits.handshake.into(), connecting).await else {
            return;
        };
        let shared_routes = Routes::default();
        let mut requests = JoinSet::new();
        let mut data = JoinSet::new();
        let mut number = 0;
        let mut request_timeout: Duration = limits.handshake.into();
        loop {
            tokio::select! {
                stream = connection.accept_bi() => {
                    let Ok(streams) = stream else { break };
                    number += 1;
                    let routes = Arc::clone(&shared_routes);
                    let connection = connection.clone();
                    requests.spawn(self.clone().request(connection, streams, number, routes));
                }
                stream = connection.accept_uni() => {
                    let Ok(stream) = stream else { break };
                    data.spawn(route(stream, Arc::clone(&shared_routes), limits.stall.into()));
                }
                Some(_) = requests.join_next() => request_timeout = limits.idle.into(),
                Some(_) = data.join_next() => {}
                () = tokio::time::sleep(request_timeout), if requests.is_empty() => {
                    connection.close(VarInt::from_u32(close::IDLE), b"no request arrived");
                    return;
                }
            }
        }
        // The connection is closed. Each request notices that too and has an event to report.
        while requests.join_next().await.is_some() {}
    }
}

/// Reads the header of a stream and passes the stream to its transfer. A stream for an unknown
/// transfer is dropped, which makes its sender stop: streams of a transfer that has just failed may
/// still arrive.
async fn route(mut stream: RecvStream, shared_routes: Routes, header_timeout: Duration) {
    let mut header = [0; CHUNK_HEADER];
    let Ok(Ok(())) = timeout(header_timeout, stream.read_exact(&mut header)).await else {
        return;
    };
    let (transfer, index) = read_chunk_header(header);
    let route = routes(&shared_routes).get(&transfer).cloned();
    if let Some(route) = route {
        route.send((index, stream)).await.ok();
    }
}
