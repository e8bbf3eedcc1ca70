//! One simulated run, packet by packet, or a measured connection, in standard formats.
//!
//! * [`pcapng()`]: a capture, as `tcpdump` takes it at one of the ends, for Wireshark, `tshark` and
//!   `tcptrace`.
//! * [`qlog()`]: a log of each connection, as a QUIC endpoint writes it, for qlog's tools.
//! * [`measured()`]: the same for a real TCP connection, without packets.
//!
//! The first two also have the truth: which link dropped a packet and why, and the causes of the
//! losses that a controller classified. A capture has it in comments on packets, a log in events of
//! its own.
//!
//! A simulated run is deterministic, so it can be run twice: first to collect the fates of lost
//! packets, then to write each packet with its fate. Packets are not kept in memory in between.

mod address;
mod measured;
mod pcapng;
mod qlog;
mod wire;

pub use measured::measured;
pub use pcapng::{MOST_PACKETS, pcapng};
pub use qlog::{Dialect, MOST_LOGS, TRUTH, qlog};

use whimbrel_net::DropCause;
use whimbrel_sim::Network;
use whimbrel_sim::observe::{End, Event, Fate, Finding, Truth, What};

/// The end at which a run is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vantage {
    /// The hosts that open the connections: they send data and receive acknowledgments.
    #[default]
    Sender,
    /// The hosts that accept the connections.
    Receiver,
}

impl Vantage {
    /// The end of each flow that is observed.
    const fn end(self) -> End {
        match self {
            Self::Sender => End::Near,
            Self::Receiver => End::Far,
        }
    }

    /// Its name.
    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    /// The packet of an event, if it is sent or received at this end.
    fn sees(self, event: &Event) -> Option<&whimbrel_sim::observe::Packet> {
        match &event.what {
            What::Sent(packet) if packet.from == self.end() => Some(packet),
            What::Arrived(packet) if packet.from != self.end() => Some(packet),
            _ => None,
        }
    }
}

/// A trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The output failed.
    #[error("the trace cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// Too many packets.
    #[error(
        "a trace of {packets} packets is too large: {most} is the maximum; make the run shorter"
    )]
    TooLong {
        /// Their number.
        packets: u64,
        /// The maximum.
        most: u64,
    },
    /// Too many flows.
    #[error("the run has {flows} flows, and {what} has room for {most}; trace a run with fewer")]
    TooManyFlows {
        /// Their number.
        flows: usize,
        /// The kind of trace.
        what: &'static str,
        /// The maximum.
        most: usize,
    },
}

/// The fate of a lost packet as text.
fn fate(network: &Network, fate: Fate) -> String {
    match fate {
        Fate::Dropped { link, cause } => {
            format!(
                "dropped on {}: {}",
                link_name(network, link.0),
                cause_word(cause)
            )
        }
        Fate::Corrupted => "corrupted on the way: thrown away at its end".to_owned(),
    }
}

fn link_name(network: &Network, link: u32) -> String {
    let link = network.links.get(link as usize);
    link.map_or("an unknown link".to_owned(), |link| link.name.to_string())
}

const fn cause_word(cause: DropCause) -> &'static str {
    match cause {
        DropCause::QueueOverflow => "queue overflow",
        DropCause::Early => "early drop",
        DropCause::Random => "random loss",
        DropCause::Outage => "outage",
        DropCause::Contention => "contention",
    }
}

const fn truth_word(truth: Truth) -> &'static str {
    match truth {
        Truth::NothingLost => "nothing lost",
        Truth::Random => "random",
        Truth::Congestion => "congestion",
    }
}

const fn finding_word(by: Finding) -> &'static str {
    match by {
        Finding::Duplicates => "duplicate acknowledgments",
        Finding::Rack => "RACK",
        Finding::Timeout => "the retransmission timer",
    }
}
