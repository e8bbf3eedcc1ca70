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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::mail::Mail;
    use crate::network::{AatpSettings, Destination};
    use proptest::prelude::*;
    use whimbrel_cc::fairness::{Adapter, Priority};
    use whimbrel_units::{Duration, Rate};

    /// Timers that an end may ask for between two messages before the test looks away: a fast rate is no mistake. What
    /// is then due is made up for with the next message.
    const MOST_TIMERS: usize = 200;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        /// Whatever a peer says, in whatever order, neither end panics, sends without end in an instant, or plans a
        /// burst beyond its bounds.
        #[test]
        fn no_words_of_a_peer_do_harm(
            words in prop::collection::vec((0u64..2_000_000, 0usize..2, wire::tests::any_message()), 1..60),
            known in prop::option::of(1u64..u64::MAX),
            breaker in any::<bool>(),
        ) {
            let spec = AatpFlow {
                controller: "enhanced-aatp".parse().expect("registered"),
                size: None,
                priority: Priority::LEAST,
                destination: 0,
                settings: AatpSettings {
                    circuit_breaker: breaker.then_some(Duration::from_secs(1)),
                    reestimate: Some(Duration::from_millis(100)),
                    ..AatpSettings::default()
                },
            };
            let mut node = Node::new(&Destination {
                name: "node".to_owned(),
                adapter: Adapter::default(),
                bandwidth: known.map(Rate::from_bits_per_sec),
            });
            let mut connection = Connection::new(7, &spec, 1);
            let (mut mail, mut packets) = (Mail::default(), Vec::new());
            let mut now = Time::ZERO;
            let mut out = Outbox { packets: &mut packets, mail: &mut mail };
            connection.source.start(now, &mut out);
            for (after, end, message) in words {
                let until = now + Duration::from_micros(after);
                let mut behind = true;
                for _ in 0..MOST_TIMERS {
                    let due = (0..2).filter_map(|end| Some((connection.deadline(end)?, end))).min();
                    let Some((at, due)) = due.filter(|(at, _)| *at <= until) else {
                        behind = false;
                        break;
                    };
                    now = now.max(at);
                    let mut out = Outbox { packets: &mut packets, mail: &mut mail };
                    connection.on_timer(now, due, &mut node, &mut out);
                }
                now = until;
                let mut bytes = Vec::new();
                message.encode(7, &mut bytes);
                let before = packets.len();
                let mut out = Outbox { packets: &mut packets, mail: &mut mail };
                connection.on_bytes(now, end, &bytes, &mut node, &mut out);
                let sent = packets.len() - before;
                prop_assert!(behind || sent < 1100, "{} packets", sent);
                for packet in packets.drain(..) {
                    mail.burn(packet.seg, None);
                }
            }
        }
    }
}
