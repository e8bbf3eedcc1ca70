//! The transport of AATP: connections of its own over datagrams. It sends bulk data in paced
//! bursts, each answered by a selective acknowledgment, and estimates the bandwidth from packet
//! trains when it starts.
//!
//! A. Briones, A. Mallorqui, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 10(9), 987, 2021, sections 4 and 5.
//! Numbers in parentheses are equations of the paper.
//!
//! The controller decides how fast it sends ([`whimbrel_cc`]: `aatp`, `enhanced-aatp`). What the
//! paper leaves open is decided, and explained, in [`whimbrel_cc::burst_transport`] (bandwidth, the
//! pace of a burst, shares; what any transport of bursts needs), [`source`] (outages,
//! retransmission), [`sink`] (when a burst is over) and [`wire`] (the bytes).

mod flow;
mod ledger;
mod node;
mod outbox;
mod parts;
mod sink;
mod source;
mod wire;

pub(crate) use node::Nodes;
pub(crate) use wire::payload;

use crate::in_flight::InFlight;
use crate::network::{AatpFlow, Network};
use crate::observe::SenderState;
use crate::outcome::LossCounts;
use crate::packet::Packet;
use crate::seed::Draw;
use node::Node;
use outbox::Outbox;
use sink::Sink;
use source::Source;
use whimbrel_units::Time;
use wire::Message;

/// The minimum size of a full packet on the wire.
pub(crate) const MIN_PACKET: u64 = wire::MIN_PACKET as u64;

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    spec: &'a AatpFlow,
    path_id: u32,
    source: Source,
    sink: Sink,
    messages: InFlight<Message>,
    lost: LossCounts,
    /// The state that was last reported to an observer.
    state: Option<SenderState>,
}

impl<'a> Connection<'a> {
    /// The connection of flow `index`.
    pub fn new(network: &Network, index: usize, spec: &'a AatpFlow) -> Self {
        let draw = Draw::of(network.seed, index);
        Self::with_draw(index as u32, spec, draw)
    }

    /// `draw` is for its controller.
    fn with_draw(path_id: u32, spec: &'a AatpFlow, draw: Draw) -> Self {
        Self {
            spec,
            path_id,
            source: Source::new(path_id, spec, draw),
            sink: Sink::new(path_id),
            messages: InFlight::default(),
            lost: LossCounts::default(),
            state: None,
        }
    }

    fn start(&mut self, now: Time, packets: &mut Vec<Packet>) {
        let messages = &mut self.messages;
        self.source.start(now, &mut Outbox { packets, messages });
    }

    /// A message arrived intact at an end: 0 is the source, 1 the sink.
    fn on_message(
        &mut self,
        now: Time,
        end: usize,
        message: Message,
        node: &mut Node,
        packets: &mut Vec<Packet>,
    ) {
        let messages = &mut self.messages;
        let out = &mut Outbox { packets, messages };
        if end == 0 {
            self.source.on_message(now, message, out);
        } else {
            self.sink.on_message(now, message, node, out);
        }
    }

    /// Handles the timers of an end.
    fn on_due(&mut self, now: Time, end: usize, node: &mut Node, packets: &mut Vec<Packet>) {
        let messages = &mut self.messages;
        let out = &mut Outbox { packets, messages };
        if end == 0 {
            self.source.on_timer(now, out);
        } else {
            self.sink.on_timer(now, node, out);
        }
    }

    /// When the next timer of an end is due.
    fn due(&self, end: usize) -> Option<Time> {
        if end == 0 {
            self.source.deadline()
        } else {
            self.sink.deadline()
        }
    }

    /// Payload that arrived, each byte counted once.
    fn payload_delivered(&self) -> u64 {
        let (packets, with_last) = self.sink.delivered();
        self.source.payload(packets, with_last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{AatpSettings, Destination};
    use proptest::prelude::*;
    use whimbrel_cc::fairness::{Adapter, Priority};
    use whimbrel_units::{Duration, Rate};

    /// Timers that the test plays between two messages. A sender at a high rate has more; what is
    /// due then is made up for with the next message.
    const MAX_TIMERS: usize = 200;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        /// For any messages of a peer in any order, neither end panics, sends forever in one
        /// instant, or plans a burst beyond its bounds.
        #[test]
        fn no_messages_of_a_peer_do_harm(
            messages in prop::collection::vec((0u64..2_000_000, 0usize..2, wire::tests::any_message()), 1..60),
            known in prop::option::of(1u64..u64::MAX),
            breaker in any::<bool>(),
        ) {
            let spec = AatpFlow {
                controller: "enhanced-aatp".parse().expect("registered"),
                size: None,
                priority: Priority::LOWEST,
                destination: 0,
                settings: AatpSettings {
                    circuit_breaker: breaker.then_some(Duration::from_secs(1)),
                    reestimate: Some(Duration::from_millis(100)),
                    ..AatpSettings::default()
                },
            };
            let mut node = Node::new(&Destination {
                name: "node".to_owned(),
                is_copy: false,
                adapter: Adapter::default(),
                bandwidth: known.map(Rate::from_bits_per_sec),
            });
            let mut connection = Connection::with_draw(7, &spec, Draw::of(1, 7));
            let (mut now, mut packets) = (Time::ZERO, Vec::new());
            connection.start(now, &mut packets);
            for (after, end, message) in messages {
                let until = now + Duration::from_micros(after);
                let mut behind = true;
                for _ in 0..MAX_TIMERS {
                    let due = (0..2).filter_map(|end| Some((connection.due(end)?, end))).min();
                    let Some((at, due)) = due.filter(|(at, _)| *at <= until) else {
                        behind = false;
                        break;
                    };
                    now = now.max(at);
                    connection.on_due(now, due, &mut node, &mut packets);
                }
                now = until;
                let before = packets.len();
                connection.on_message(now, end, message, &mut node, &mut packets);
                let sent = packets.len() - before;
                prop_assert!(behind || sent < 1100, "{} packets", sent);
                for packet in packets.drain(..) {
                    connection.messages.take(&packet);
                }
            }
        }
    }
}
