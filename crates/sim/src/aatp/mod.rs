//! AATP's transport: a connection of its own over datagrams, bulk data in paced bursts, each answered by a selective
//! acknowledgment, with a bandwidth estimate from packet trains at the start.
//!
//! A. Briones, A. Mallorqui, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over Fairly Shared Heterogeneous
//! Long Fat Networks", Electronics 10(9), 987, 2021, sections 4 and 5. The numbers in brackets are its equations'.
//!
//! How fast it sends is the controller's ([`whimbrel_cc`]: `aatp`, `enhanced-aatp`). Everything that the paper leaves open
//! is decided where it matters, and said there: [`trains`] (the bandwidth), [`source`] (bursts, outages, resending), [`sink`]
//! (when a burst is over), [`node`] (who shares), [`wire`] (the bytes).

mod arrival;
mod ledger;
mod letter;
mod node;
mod sink;
mod source;
mod trains;
mod wire;

pub(crate) use node::Node;

use crate::engine::mail::Outbox;
use crate::network::AatpFlow;
use sink::Sink;
use source::Source;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Time};
use wire::Message;

/// The least size of a full packet on the wire.
pub(crate) const SMALLEST_PACKET: u64 = wire::SMALLEST_PACKET as u64;

/// What a full packet of this size on the wire, at least [`SMALLEST_PACKET`], carries.
pub(crate) fn payload(packet: Bytes) -> Bytes {
    Bytes::new(packet.get() - u64::from(wire::DATA_HEADER))
}

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    flow: u32,
    pub source: Source,
    pub sink: Sink,
    /// Index of the node that receives it.
    pub destination: usize,
}

impl Connection {
    /// `seed` is for its law.
    pub fn new(flow: u32, spec: &AatpFlow, seed: u64) -> Self {
        Self {
            flow,
            source: Source::new(flow, spec, seed),
            sink: Sink::new(flow),
            destination: spec.destination,
        }
    }

    /// Bytes arrived intact at an end: 0 is the source, 1 the sink. What is no message of this connection is thrown
    /// away.
    pub fn on_bytes(
        &mut self,
        now: Time,
        end: usize,
        bytes: &[u8],
        node: &mut Node,
        out: &mut Outbox<'_>,
    ) {
        let Some(message) = self.read(bytes) else {
            return;
        };
        if end == 0 {
            self.source.on_message(now, message, out);
        } else {
            self.sink.on_message(now, message, node, out);
        }
    }

    /// Does what the timers of an end ask for.
    pub fn on_timer(&mut self, now: Time, end: usize, node: &mut Node, out: &mut Outbox<'_>) {
        if end == 0 {
            self.source.on_timer(now, out);
        } else {
            self.sink.on_timer(now, node, out);
        }
    }

    /// When the next timer of an end is due.
    pub fn deadline(&self, end: usize) -> Option<Time> {
        if end == 0 {
            self.source.deadline()
        } else {
            self.sink.deadline()
        }
    }

    /// Notes what really became of a packet that the near end sent.
    pub fn note_drop(&mut self, bytes: &[u8], cause: DropCause) {
        if let Some(Message::Data(data)) = self.read(bytes) {
            self.source.note_drop(data.burst, cause);
        }
    }

    /// Whether all that was to be sent has arrived.
    pub fn is_complete(&self) -> bool {
        self.source
            .total()
            .is_some_and(|total| self.sink.delivered().0 >= total)
    }

    /// Payload that arrived, each byte counted once.
    pub fn payload_delivered(&self) -> u64 {
        let (packets, with_last) = self.sink.delivered();
        self.source.payload(packets, with_last)
    }

    fn read(&self, bytes: &[u8]) -> Option<Message> {
        let (connection, message) = Message::decode(bytes).ok()?;
        (connection == self.flow).then_some(message)
    }
}
