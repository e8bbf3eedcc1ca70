//! A link with the packets that are on it.

use super::helper;
use super::polled_link::PolledSide;
use crate::network::{Helped, NamedLink};
use crate::packet::{Flags, Packet};
use whimbrel_net::{Counters, DropCause, Fate, Link, Ring};
use whimbrel_units::Time;

/// A link with the packets that are on it, in the order in which they leave it.
///
/// The fields are in this order in memory: all but `link` share a cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Pipe {
    /// Decides what happens to a packet.
    pub link: Link,
    packets: Ring<Packet>,
    /// Whether `link` decides, and is plain.
    plain: bool,
    /// If set, a polled link decides instead of `link` when packets leave.
    pub polled: Option<PolledSide>,
    /// A helper sees what leaves the link.
    pub watched: bool,
    /// When the last of the packets leaves.
    last: Time,
    /// [`Self::came_out_bytes`] at the last sample.
    pub sampled_bytes: u64,
    /// The helper that sees what enters the link.
    pub entry: Option<Helped>,
    /// The helper that sees what leaves it.
    pub exit: Option<Helped>,
}

/// What happens to a packet that is offered to a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It leaves the link at this time.
    Leaves(Time),
    /// The link drops it.
    Dropped(DropCause),
}

impl Pipe {
    /// An empty link. `seed` is for its random losses and errors.
    pub fn new(link: &NamedLink, polled: Option<PolledSide>, seed: u64) -> Self {
        let (entry, exit) = helper::of(link.helped);
        let link = Link::new(&link.spec, seed);
        Self {
            plain: polled.is_none() && link.is_plain() && entry.is_none(),
            watched: exit.is_some(),
            entry,
            exit,
            link,
            polled,
            packets: Ring::default(),
            last: Time::ZERO,
            sampled_bytes: 0,
        }
    }

    /// Whether [`Self::offer_plain`] decides what happens to packets.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Decides what happens to a packet. If it leaves the link, the caller must [`Self::hold`] it
    /// here, or put it on the next link.
    ///
    /// Nearly every packet passes it on every link. Observed runs are a second caller, so the
    /// compiler would not inline it by itself.
    #[inline(always)]
    pub fn offer_plain(&mut self, now: Time, packet: &Packet) -> Offered {
        match self.link.offer_plain(now, u32::from(packet.size)) {
            Err(cause) => Offered::Dropped(cause),
            Ok(at) => Offered::Leaves(at),
        }
    }

    /// The same for a link of any kind.
    #[inline(never)]
    pub fn offer(&mut self, now: Time, packet: &mut Packet) -> Offered {
        let ect = packet.flags.has(Flags::ECT);
        match self.link.offer(now, u32::from(packet.size), ect) {
            Fate::Dropped(cause) => Offered::Dropped(cause),
            Fate::Delivered {
                at,
                corrupted,
                marked,
            } => {
                packet.pass(corrupted, marked);
                Offered::Leaves(at)
            }
        }
    }

    /// Keeps a packet, which is at `hop` of its route, until it leaves at `at`. Returns true if it
    /// is the next to leave.
    #[inline]
    pub fn hold(&mut self, at: Time, hop: u8, packet: &Packet) -> bool {
        // A packet overtakes others only if the delay became smaller.
        if at < self.last && !self.packets.is_empty() {
            return self.overtake(Packet { at, hop, ..*packet });
        }
        self.last = at;
        self.hold_in_order(at, hop, packet)
    }

    /// The same for a packet that leaves after those that are on the link, as on each link that is
    /// [plain](Self::is_plain).
    #[inline(always)]
    pub fn hold_in_order(&mut self, at: Time, hop: u8, packet: &Packet) -> bool {
        let first = self.packets.is_empty();
        let kept = self.packets.push_place();
        *kept = *packet;
        kept.at = at;
        kept.hop = hop;
        first
    }

    /// Keeps a packet that leaves before some that are already on the link. Returns true if it is
    /// the next to leave.
    #[cold]
    fn overtake(&mut self, packet: Packet) -> bool {
        let later = |p: &&Packet| p.at > packet.at;
        let behind = self.packets.iter_back().take_while(later).count();
        self.packets.insert_before_last(behind, packet);
        behind + 1 == self.packets.len()
    }

    /// Packets that have left the link, of those that it delivers.
    pub fn came_out(&self, counters: &Counters) -> u64 {
        counters.delivered - self.packets.len() as u64
    }

    /// Their size in bytes.
    pub fn came_out_bytes(&self, counters: &Counters) -> u64 {
        let here = self.packets.iter_back().map(|p| u64::from(p.size));
        counters.delivered_bytes.get() - here.sum::<u64>()
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.packets.front().map(|p| p.at)
    }

    /// Removes the next packet.
    #[inline]
    pub fn leave(&mut self) -> Option<Packet> {
        let packet = *self.packets.front()?;
        self.packets.drop_front();
        Some(packet)
    }

    /// Packets on the link.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
}
