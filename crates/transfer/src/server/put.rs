//! One file: from the request to the answer.

use super::Event;
use super::session::{Peer, Routes, routes};
use crate::chunks::{Chunks, MAX_CHUNKS};
use crate::incoming::Entry;
use crate::receive::Upload;
use crate::transport::STREAMS;
use crate::wire::{Message, Put, Reason, VERSION};
use crate::{CHUNK, Error, FileName, close, framing, transport};
use noq_proto::VarInt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};
use whimbrel_units::Bytes;

impl Peer {
    /// Handles one file, from the request to the answer.
    pub(super) async fn request(
        self,
        connection: Connection,
        (mut send, mut receive): (SendStream, RecvStream),
        number: u64,
        shared_routes: Routes,
    ) {
        let started = Instant::now();
        let mut name = None;
        let work = self.put(
            &connection,
            &mut send,
            &mut receive,
            number,
            &shared_routes,
            &mut name,
        );
        let result = tokio::select! {
            result = work => result,
            // Report the lost connection here, so that the log shows the file's name.
            reason = connection.closed() => Err(Error::Lost(close::text(&reason))),
        };
        routes(&shared_routes).remove(&number);
        let (answer, event) = match (result, name) {
            (Ok((bytes, hash)), Some(name)) => {
                let took = started.elapsed().into();
                let event = Event::Stored {
                    peer: self.address,
                    name,
                    bytes: Bytes::new(bytes),
                    took,
                    hash,
                };
                (Message::Stored { bytes, hash }, event)
            }
            (Ok(_), None) => return,
            (Err(error), name) => {
                let answer = Message::Refused(error.for_peer());
                (
                    answer,
                    Event::Failed {
                        peer: self.address,
                        name,
                        error,
                    },
                )
            }
        };
        let send_answer = async {
            framing::write(&mut send, &answer).await.ok();
            send.finish().ok();
            send.stopped().await.ok();
        };
        // Wait until the answer has arrived: the operator may stop the server upon the event.
        timeout(Duration::from_secs(5), send_answer).await.ok();
        let code = match &event {
            Event::Failed {
                error: Error::Refused(r),
                ..
            } if r.reason == Reason::Token => Some(close::TOKEN),
            Event::Failed {
                error: Error::Protocol(_),
                ..
            } => Some(close::PROTOCOL),
            _ => None,
        };
        if let Some(code) = code {
            connection.close(VarInt::from_u32(code), b"");
        }
        (self.on_event)(event);
    }

    async fn put(
        &self,
        connection: &Connection,
        send: &mut SendStream,
        receive: &mut RecvStream,
        number: u64,
        shared_routes: &Routes,
        name: &mut Option<FileName>,
    ) -> Result<(u64, blake3::Hash), Error> {
        let limits = &self.shared.limits;
        let too_late = |_| Error::refused(Reason::Stalled, "the request did not arrive in time");
        let request = timeout(limits.handshake.into(), framing::read(receive))
            .await
            .map_err(too_late)??;
        let Message::Put(put) = request else {
            return Err(Error::Protocol("an unexpected message".to_owned()));
        };
        let size = put.size;
        let file_name = self.authorize(put)?;
        transport::admit(connection);
        connection.admit(self.shared.max_priority);
        let uploads = self.shared.uploads.clone();
        uploads.check(name.insert(file_name.clone()))?;
        // Further streams wait until the transfer accepts them.
        let (route, streams) = mpsc::channel(STREAMS as usize);
        {
            let mut routes = routes(shared_routes);
            if routes.len() >= limits.transfers {
                let text = format!("a connection may carry {} files at once", limits.transfers);
                return Err(Error::refused(Reason::Busy, text));
            }
            routes.insert(number, route);
        }
        let directory = uploads.clone();
        let part = tokio::task::spawn_blocking(move || directory.create(size))
            .await
            .map_err(|_| Error::Stopped)??;
        framing::write(send, &Message::Accepted { transfer: number }).await?;
        let received = Arc::new(AtomicU64::new(0));
        let _listed = self.shared.incoming.add(Entry {
            peer: self.address,
            flow: Box::new({
                let connection = connection.clone();
                move || connection.flow()
            }),
            name: file_name.clone(),
            size,
            received: Arc::clone(&received),
            started: Instant::now(),
        });
        let upload = Upload {
            uploads,
            received,
            name: file_name,
            part: Arc::new(part),
            chunks: Chunks::of(size),
            stall: limits.stall.into(),
        };
        Ok((size, upload.run(receive, streams).await?))
    }

    /// Whether this client may store this file. The token is checked first.
    fn authorize(&self, put: Put) -> Result<FileName, Error> {
        if self.shared.users.authenticate(&put.token).is_none() {
            self.shared
                .guard()
                .record_failure(self.address.ip(), Instant::now());
            let text = "the token is wrong; `whimbrel serve` prints the right one when it starts";
            return Err(Error::refused(Reason::Token, text));
        }
        if put.version != VERSION {
            let text = format!(
                "this server speaks version {VERSION}, not {}; update the older program",
                put.version
            );
            return Err(Error::refused(Reason::Version, text));
        }
        let name =
            FileName::new(&put.name).map_err(|e| Error::refused(Reason::Name, e.to_string()))?;
        let max = self.shared.limits.file.get().min(MAX_CHUNKS * CHUNK);
        if put.size > max {
            let (size, max) = (Bytes::new(put.size), Bytes::new(max));
            let text = format!("the file is {size}, this server accepts up to {max} (--max-size)");
            return Err(Error::refused(Reason::TooLarge, text));
        }
        Ok(name)
    }
}
