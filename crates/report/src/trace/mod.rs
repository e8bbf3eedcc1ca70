//! One simulated run, packet by packet, in the formats that others read.
//!
//! * [`pcapng()`]: a capture, as `tcpdump` would take it at one of the ends, for Wireshark, `tshark` and `tcptrace`.
//! * [`qlog()`]: a log of each connection, as a QUIC endpoint would write it, for qlog's tools.
//!
//! Both hold the truth besides: which link dropped a packet and why, and what the losses were that a controller judged. A
//! capture has it in comments on packets, a log in events of its own.
//!
//! A run is the same each time it is played. So nothing is kept in memory until it is known what becomes of it: where a
//! packet's fate is to stand beside the packet, the run is played twice, first to learn the fates of those that are lost.

mod address;
mod pcapng;
mod qlog;
mod wire;

pub use pcapng::{MOST_PACKETS, pcapng};
pub use qlog::{Dialect, MOST_LOGS, TRUTH, qlog};

use whimbrel_net::DropCause;
use whimbrel_sim::Network;
use whimbrel_sim::observe::{End, Event, Fate, Finding, Truth, What};

/// From where a run is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vantage {
    /// From the hosts that open the connections: data as it leaves, acknowledgments as they come.
    #[default]
    Sender,
    /// From the hosts that answer.
    Receiver,
}

impl Vantage {
    /// The end of each flow that is seen.
    const fn end(self) -> End {
        match self {
            Self::Sender => End::Near,
            Self::Receiver => End::Far,
        }
    }

    /// What people call it.
    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    /// The packet that passes here, if one does.
    fn sees(self, event: &Event) -> Option<&whimbrel_sim::observe::Packet> {
        match &event.what {
            What::Sent(packet) if packet.from == self.end() => Some(packet),
            What::Arrived(packet) if packet.from != self.end() => Some(packet),
            _ => None,
        }
    }
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// So many packets pass.
    #[error(
        "{packets} packets pass there, and a trace of more than {most} is too large to be looked at; make the run shorter"
    )]
    TooLong {
        /// How many.
        packets: u64,
        /// How many may.
        most: u64,
    },
    /// So many flows there are.
    #[error("the run has {flows} flows, and {what} has room for {most}; trace a run with fewer")]
    TooManyFlows {
        /// How many.
        flows: usize,
        /// What is written.
        what: &'static str,
        /// How many it has room for.
        most: usize,
    },
}

/// What became of a packet that was lost, in words.
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

fn link_name(network: &Network, link: u32) -> &str {
    network
        .links
        .get(link as usize)
        .map_or("an unknown link", |link| &link.name)
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
