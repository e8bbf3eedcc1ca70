//! The trace of a TCP connection over one path for an observer: segments as bytes, the packet that
//! last carried each, the findings of the senders, and changes of their state.

use super::{Note, Sender, segments};
use crate::network::{Recovery, TcpFlow};
use crate::observe::{Data, End, Finding, Judged, Lost, Segment, SenderState, What};
use crate::packet::{Block, Flags, Packet};
use std::collections::VecDeque;
use std::ops::Range;
use whimbrel_units::Time;

/// The trace of a connection over one path, or of one path of a multipath connection.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The data of the near end, then of the far end.
    ways: [Way; 2],
    /// Header of every packet without SACK blocks, in bytes.
    header: u32,
    /// The last segment. `None`: endless, or a path of a multipath connection.
    last: Option<u32>,
    is_multipath: bool,
    recovery: Recovery,
}

/// The data of one end: the byte offsets of its segments, and the packets that carried them.
#[derive(Debug, Default)]
struct Way {
    /// Segments that were sent at least once.
    segments: u32,
    /// Runs of segments of the same size.
    runs: Vec<Run>,
    /// The last packet of each segment from `first` on.
    ids: VecDeque<u64>,
    first: u32,
    /// The state that was last reported.
    state: Option<SenderState>,
}

/// Consecutive segments of the same size.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    offset: u64,
    payload: u32,
}

impl Run {
    fn offset(self, segment: u32) -> u64 {
        self.offset + u64::from(segment - self.first) * u64::from(self.payload)
    }
}

impl Way {
    fn run(&self, segment: u32) -> Option<Run> {
        let after = self.runs.partition_point(|run| run.first <= segment);
        Some(self.runs[after.checked_sub(1)?])
    }

    /// The first byte of a segment, or of the one that would follow the last.
    fn offset(&self, segment: u32) -> u64 {
        self.run(segment).map_or(0, |run| run.offset(segment))
    }

    fn bytes(&self, block: Block) -> Range<u64> {
        self.offset(block.start)..self.offset(block.end)
    }

    /// Packet `id` leaves with a segment. Returns whether the segment was sent before.
    fn send(&mut self, segment: u32, payload: u32, id: u64) -> bool {
        let again = segment < self.segments;
        if again {
            let place = segment.checked_sub(self.first).map(|place| place as usize);
            if let Some(known) = place.and_then(|place| self.ids.get_mut(place)) {
                *known = id;
            }
        } else {
            if self.runs.last().is_none_or(|run| run.payload != payload) {
                self.runs.push(Run {
                    first: segment,
                    offset: self.offset(segment),
                    payload,
                });
            }
            self.segments = segment + 1;
            self.ids.push_back(id);
        }
        again
    }

    fn id(&self, segment: u32) -> Option<u64> {
        let place = segment.checked_sub(self.first)?;
        self.ids.get(place as usize).copied()
    }

    /// Forgets the packets of all segments below `una`: they are acknowledged.
    fn forget_below(&mut self, una: u32) {
        while self.first < una && self.ids.pop_front().is_some() {
            self.first += 1;
        }
    }
}

impl Trace {
    /// The trace of a connection, or of one path of a multipath connection.
    pub fn new(spec: &TcpFlow, is_multipath: bool) -> Self {
        let (total, _) = segments(spec.size, spec.settings.mss);
        Self {
            ways: [Way::default(), Way::default()],
            header: spec.settings.header.get() as u32,
            last: spec
                .size
                .filter(|_| !is_multipath)
                .and(total.checked_sub(1)),
            is_multipath,
            recovery: spec.settings.recovery,
        }
    }

    /// The content of packet `id`, which leaves.
    pub fn segment(&mut self, packet: &Packet, id: u64) -> Segment {
        let (end, flags) = (packet.sender(), packet.flags);
        let syn = flags.opens();
        let carries = flags.has(Flags::DATA);
        let data = carries.then(|| {
            let header = self.header + u32::from(packet.sack_bytes());
            let length = u32::from(packet.size).saturating_sub(header);
            let way = &mut self.ways[end.index()];
            let again = way.send(packet.seg, length, id);
            Data {
                offset: way.offset(packet.seg),
                length,
                again,
                last: self.last == Some(packet.seg),
            }
        });
        let own = &self.ways[end.index()];
        let next = data.map_or(own.offset(own.segments), |data| data.offset);
        let peer = &self.ways[end.other().index()];
        let (ack, nack) = match () {
            () if flags.is_nack() => (None, Some(peer.offset(packet.nacked_segment()))),
            () if syn => ((end == End::Far).then_some(0), None),
            () if carries && self.is_multipath => (Some(0), None),
            () => (Some(peer.offset(packet.ack)), None),
        };
        let of_connection = match carries {
            true => packet.connection_segment(),
            false => packet.data_ack(),
        };
        let blocks = packet.sacks.iter().filter(|block| !block.is_empty());
        Segment {
            syn,
            next,
            data,
            ack,
            nack,
            sacks: blocks.map(|block| peer.bytes(*block)).collect(),
            dsack: flags.has(Flags::DSACK),
            echo: (packet.echo > Time::ZERO).then_some(packet.echo),
            ece: flags.has(Flags::ECE),
            cwr: carries && flags.has(Flags::CWR),
            of_connection: (self.is_multipath && !syn).then_some(of_connection),
        }
    }

    /// Reports the findings of the sender of an end since the last call.
    pub fn findings(&mut self, end: End, sender: &mut Sender, report: &mut dyn FnMut(What)) {
        let mut by = match self.recovery {
            Recovery::NewReno | Recovery::Sack | Recovery::Fack => Finding::Duplicates,
            Recovery::Rack => Finding::Rack,
        };
        let way = &mut self.ways[end.index()];
        for note in sender.take_notes() {
            report(match note {
                Note::Lost(segment, truth) => What::Lost(Lost {
                    end,
                    id: way.id(segment),
                    offset: way.offset(segment),
                    length: way.run(segment).map_or(0, |run| run.payload),
                    by,
                    truth,
                }),
                Note::Judged(segment, truth, response) => What::Judged(Judged {
                    end,
                    id: way.id(segment),
                    verdict: response.verdict,
                    confidence: response.confidence,
                    truth,
                    reduced: response.reduced,
                }),
                Note::TimedOut => {
                    by = Finding::Timeout;
                    What::TimedOut(end)
                }
                Note::TakenBack => What::TakenBack(end),
            });
        }
        way.forget_below(sender.una());
    }

    /// Whether the state of an end differs from the one that was last reported; it is noted.
    pub fn is_new(&mut self, state: SenderState) -> bool {
        self.ways[state.end.index()].state.replace(state) != Some(state)
    }
}
