//! What the kernel's half (`bpf/`) and this process exchange. `bpf/wire.h` mirrors every structure
//! here; both sides carry [`VERSION`], and a test compares the layouts.

/// Version of all structures here. An object with another version is refused.
pub const VERSION: u32 = 1;

/// Connections that can be controlled at once. More go to the fallback algorithm.
pub const SLOTS: usize = 16_384;

/// One event of one connection.
///
/// Counts of packets are those of Linux's `struct tcp_sock`: segments of at most one MSS. Sequence
/// numbers are 32-bit and wrap.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Event {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub time: u64,
    /// Index of the connection's command.
    pub slot: u32,
    /// Distinguishes the connections that use a slot one after the other.
    pub generation: u32,
    /// Number of this event among the connection's events, from 1. A gap is an event that found
    /// the ring full.
    pub number: u32,
    /// What happened: a [`kind`].
    pub kind: u8,
    /// `icsk_ca_state`: a [`ca_state`].
    pub ca_state: u8,
    /// The states entered since the event before, one bit each.
    pub states_entered: u8,
    /// A combination of [`flag`]s.
    pub flags: u8,
    /// The kernel's `FLAG_*` of the acknowledgment (`net/ipv4/tcp_input.c`).
    pub ack_flags: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Packets newly delivered by this acknowledgment, cumulatively or selectively.
    pub acked: u32,
    /// Packets delivered on this connection so far.
    pub delivered: u32,
    /// Packets marked lost on this connection so far.
    pub lost: u32,
    /// Packets in flight after this event.
    pub in_flight: u32,
    /// Packets in flight before it.
    pub prior_in_flight: u32,
    /// The window that the kernel used until now, packets.
    pub cwnd: u32,
    /// The maximum number of packets in flight in the last round trip.
    pub max_packets_out: u32,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u32,
    /// RTT sample of this acknowledgment, microseconds; [`NO_RTT`] if it has none.
    pub rtt_us: u32,
    /// Packets delivered over `rate_interval_us`; 0 if no rate was measured.
    pub rate_delivered: u32,
    /// Interval of the delivery rate sample, microseconds; 0 if no rate was measured.
    pub rate_interval_us: u32,
    /// `delivered` when the newest acknowledged packet was sent.
    pub prior_delivered: u32,
    /// The first unacknowledged sequence number.
    pub snd_una: u32,
    /// The next sequence number to send.
    pub snd_nxt: u32,
    /// Data segments sent so far, retransmissions included.
    pub segments_out: u32,
    /// Segments retransmitted so far.
    pub retransmitted: u32,
    /// Consecutive retransmission timeouts (`icsk_retransmits`).
    pub backoff: u32,
    /// The newest timestamp value received (TSval of RFC 7323); 0 without timestamps.
    pub rcv_tsval: u32,
    /// The first segment that is lost and not retransmitted yet, if [`flag::LOST_KNOWN`].
    pub lost_seq: u32,
    /// The sequence number behind it.
    pub lost_end: u32,
    /// When the segment at `lost_seq` was last sent, `CLOCK_MONOTONIC` nanoseconds; 0 if unknown.
    pub lost_sent: u64,
    /// When the newest acknowledged packet was sent, `CLOCK_MONOTONIC` microseconds.
    pub newest_sent_us: u64,
    /// Time from the event that a command answers until the kernel applied the command,
    /// nanoseconds; 0 if no new command was applied.
    pub applied_after: u64,
    /// Bytes received in order so far.
    pub received: u64,
}

/// The first event of a connection, with everything that does not change. It replaces
/// [`kind::START`]'s [`Event`] in the ring: `event` comes first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Start {
    /// The state of the new connection.
    pub event: Event,
    /// Addresses as IPv6; an IPv4 address is mapped (`::ffff:0:0/96`), as RFC 4291 has it.
    pub local: [u8; 16],
    /// The peer's address, in the same form.
    pub remote: [u8; 16],
    /// Local port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// What the kernel adds to its clock to make a timestamp value (`tsoffset`).
    pub timestamp_offset: u32,
    /// Timestamps (RFC 7323) are in use.
    pub timestamps: u8,
    /// Timestamps count microseconds, not milliseconds.
    pub timestamps_us: u8,
    /// Explicit congestion notification (RFC 3168) is in use.
    pub ecn: u8,
    /// Fills the structure.
    pub reserved: [u8; 5],
}

impl Event {
    /// The event at the beginning of a record of the ring; `None` if the record is too short.
    pub fn read(record: &[u8]) -> Option<Self> {
        read(record)
    }
}

impl Start {
    /// The first event of a connection, if the record is one; `None` if it is too short.
    pub fn read(record: &[u8]) -> Option<Self> {
        read(record)
    }

    /// The record as it lies in the ring.
    pub fn bytes(&self) -> &[u8] {
        let start: *const Self = self;
        // SAFETY: the structure has no padding, and the slice lives no longer than it.
        unsafe { std::slice::from_raw_parts(start.cast(), size_of::<Self>()) }
    }
}

impl Nack {
    /// A record of the ring of negative acknowledgments; `None` if it is too short.
    pub fn read(record: &[u8]) -> Option<Self> {
        read(record)
    }
}

/// Structures of integers without padding that matters: every pattern of bits is a value.
trait Plain: Copy {}
impl Plain for Event {}
impl Plain for Start {}
impl Plain for Nack {}

fn read<T: Plain>(record: &[u8]) -> Option<T> {
    // SAFETY: the length is checked, the read needs no alignment, and every pattern of bits is a
    // value of `T`.
    (record.len() >= size_of::<T>())
        .then(|| unsafe { record.as_ptr().cast::<T>().read_unaligned() })
}

/// What a sender received from a receiver that verifies checksums: one negative acknowledgment. The
/// program at the sender's traffic control writes it into a ring of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Nack {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub time: u64,
    /// The sender's own address, as in [`Start::local`].
    pub local: [u8; 16],
    /// The receiver's address, in the same form.
    pub remote: [u8; 16],
    /// The sender's own port.
    pub local_port: u16,
    /// The receiver's port.
    pub remote_port: u16,
    /// Sequence number of the corrupted segment.
    pub seq: u32,
    /// The echoed timestamp (TSecr of RFC 7323); 0 without timestamps.
    pub echo: u32,
    /// Whether the NACK has a timestamp.
    pub timestamps: u32,
}

/// What a controller answers. User space writes it, the kernel reads it. One cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Command {
    /// Generation in the upper half, window in packets in the lower half: one word, never torn.
    pub window: u64,
    /// Pacing rate, bytes per second; 0: the kernel does not pace.
    pub pacing: u64,
    /// Slow start threshold, packets. For information only.
    pub ssthresh: u64,
    /// Number of reductions so far, shifted left by one; the lowest bit: the last reduction's
    /// recovery is under way, and proportional rate reduction (RFC 9937) applies.
    pub reduction: u64,
    /// Time of the event that it answers.
    pub answers: u64,
    /// The answer to the next acknowledgment, in advance: the window in packets after one that
    /// delivers one packet (lowest 16 bits), or more (next 16 bits), if it ends nothing and reveals
    /// no loss. 0: none.
    pub ahead: u64,
    /// The pacing rates that belong to the two windows of `ahead`, bytes per second; 0: none.
    pub ahead_pacing: [u64; 2],
}

/// Shared state of one instance.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Control {
    /// When this process was last alive, `CLOCK_MONOTONIC` nanoseconds.
    pub heartbeat: u64,
    /// The silence after which connections go to the fallback algorithm, nanoseconds.
    pub silence: u64,
    /// Events written.
    pub events: u64,
    /// Events lost because the ring was full.
    pub dropped: u64,
    /// Connections handed to the fallback algorithm because this process was silent.
    pub fallbacks: u64,
    /// Connections handed to it because all slots were in use.
    pub refused: u64,
    /// Windows or rates outside of their range that were clamped.
    pub clamped: u64,
    /// 1: this process sleeps, and the next event wakes it.
    pub sleeping: u64,
    /// Connections for which the algorithm was chosen by their cgroup.
    pub chosen: u64,
    /// Connections for which the kernel refused that choice.
    pub not_chosen: u64,
}

/// A range of remote addresses, in network byte order, as IPv6.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Network {
    /// The address, with all bits outside of the mask zero.
    pub address: [u8; 16],
    /// The bits that must agree.
    pub mask: [u8; 16],
}

/// Which connections of a cgroup are chosen: those with one of the ports (local or remote) and in
/// one of the networks. Without ports, or without networks, all are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rules {
    /// How many of `port` are set.
    pub ports: u32,
    /// How many of `network` are set.
    pub networks: u32,
    /// Ports.
    pub port: [u16; MAX_RULES],
    /// Remote networks.
    pub network: [Network; MAX_RULES],
}

/// Maximum number of ports, and of networks, of [`Rules`].
pub const MAX_RULES: usize = 16;

/// Kinds of events.
pub mod kind {
    /// A connection begins.
    pub const START: u8 = 1;
    /// An acknowledgment arrived.
    pub const ACK: u8 = 2;
    /// The retransmission timer fired.
    pub const TIMEOUT: u8 = 3;
    /// The last reduction proves to be spurious.
    pub const SPURIOUS: u8 = 4;
    /// The connection ends, or leaves the algorithm.
    pub const END: u8 = 5;
    /// Sending resumes after everything was acknowledged.
    pub const RESUME: u8 = 6;
}

/// Flags of an event.
pub mod flag {
    /// The window limited sending.
    pub const CWND_LIMITED: u8 = 1;
    /// The application limited the delivery rate.
    pub const APP_LIMITED: u8 = 2;
    /// `lost_seq` is known.
    pub const LOST_KNOWN: u8 = 4;
    /// The newest acknowledged packet was a retransmission.
    pub const RETRANSMISSION: u8 = 8;
    /// The connection was handed to the fallback algorithm.
    pub const FALLBACK: u8 = 16;
}

/// States of Linux's congestion control machine (`enum tcp_ca_state`).
pub mod ca_state {
    /// Nothing is suspicious.
    pub const OPEN: u8 = 0;
    /// Duplicate or selective acknowledgments have arrived.
    pub const DISORDER: u8 = 1;
    /// The window was reduced for a mark or a local drop.
    pub const CWR: u8 = 2;
    /// Fast recovery.
    pub const RECOVERY: u8 = 3;
    /// The retransmission timer fired.
    pub const LOSS: u8 = 4;
}

/// [`Event::rtt_us`] of an acknowledgment without a sample.
pub const NO_RTT: u32 = u32::MAX;

/// FLAG_ECE of `net/ipv4/tcp_input.c`: the acknowledgment carries ECN-Echo.
pub const ACK_ECE: u32 = 0x40;

/// FLAG_SND_UNA_ADVANCED of `net/ipv4/tcp_input.c`.
pub const ACK_ADVANCED: u32 = 0x400;

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
