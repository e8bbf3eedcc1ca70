//! What a connection sends next: one datagram, or several that one system call can send.
//!
//! noq makes packets; the feedback decides how many at a time and which must leave alone. When it
//! permits one at a time that need not leave at once, consecutive datagrams of equal size to the
//! same address are collected here, so that the kernel still gets many in one call (UDP GSO).
//!
//! A connection that was closed says so in each packet number space that has keys (RFC 9000 section
//! 10.2.3), and noq is done with that only when one call got as far as the highest of them. A
//! client's Initial packet fills its datagram, so a call that may make one datagram never gets
//! there, and each further call makes another Initial packet, without end. Such calls are given
//! room for all spaces, and what they make is bounded.

use super::outgoing::{Held, Outgoing};
use super::quantum::Bucket;
use super::state::State;
use crate::feedback::Permission;
use noq_proto::{PathId, Transmit};
use std::num::NonZeroUsize;
use std::time::Instant;

/// Maximum size of the datagrams that one system call sends, bytes: what one UDP datagram over IPv4
/// may carry.
const MAX_BATCH: usize = 65_507;

/// Number of packet number spaces: Initial, Handshake and application data.
const SPACES: NonZeroUsize = NonZeroUsize::new(3).unwrap();

impl State {
    /// Makes what leaves next, at most `max_segments` datagrams. Its bytes replace those in
    /// `buffer`. `None` if there is nothing to send now.
    pub(super) fn next_transmit(
        &mut self,
        now: Instant,
        max_segments: NonZeroUsize,
        buffer: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
    ) -> Option<Outgoing> {
        buffer.clear();
        if self.proto.is_closed() {
            return self.next_of_closed(now, max_segments, buffer);
        }
        if self.quantum.is_waiting(now) && !self.feedback.is_urgent() {
            return None;
        }
        let mut batch = self.take_held(buffer);
        loop {
            let permission = self.permit(now);
            let single = permission.exact || permission.max_datagrams == NonZeroUsize::MIN;
            if batch.is_some() && (permission.exact || !single) {
                self.permission = Some(permission);
                return batch;
            }
            let Some(collected) = &mut batch else {
                let max = if single {
                    NonZeroUsize::MIN
                } else {
                    permission.max_datagrams.min(max_segments)
                };
                let (transmit, link) = self.poll_transmit(now, max, buffer)?;
                let first = Outgoing::new(&transmit, link, permission.exact);
                if permission.exact || !single || max_segments == NonZeroUsize::MIN {
                    return Some(first);
                }
                batch = Some(first);
                continue;
            };
            if self.quantum.is_waiting(now) {
                self.permission = Some(permission);
                return batch;
            }
            scratch.clear();
            let Some((transmit, link)) = self.poll_transmit(now, NonZeroUsize::MIN, scratch) else {
                return batch;
            };
            let segment = collected.segment_size.unwrap_or(buffer.len());
            let fits = buffer.len() + transmit.size <= MAX_BATCH && transmit.size <= segment;
            if !fits || !collected.goes_with(&transmit, link) {
                let data = scratch[..transmit.size].to_vec();
                let outgoing = Outgoing::new(&transmit, link, false);
                self.held.push_back(Held { outgoing, data });
                return batch;
            }
            buffer.extend_from_slice(&scratch[..transmit.size]);
            collected.segment_size = Some(segment);
            let full = collected.datagrams(buffer.len()) >= max_segments.get();
            if full || transmit.size < segment {
                return batch;
            }
        }
    }

    /// What was made before and could not leave, or that the connection was closed: at most one
    /// datagram for each packet number space after each arrival.
    fn next_of_closed(
        &mut self,
        now: Instant,
        max_segments: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<Outgoing> {
        if let Some(held) = self.take_held(buffer) {
            return Some(held);
        }
        if self.farewells >= SPACES.get() {
            return None;
        }
        let (transmit, link) = self.poll_proto(now, SPACES, buffer)?;
        let mut first = Outgoing::new(&transmit, link, false);
        let made = first.datagrams(buffer.len());
        self.farewells += made;
        self.feedback.log_datagram(now, buffer);
        if made > max_segments.get() {
            let segment = first.segment_size.take().unwrap_or(buffer.len());
            for data in buffer[segment..].chunks(segment) {
                self.held.push_back(Held {
                    outgoing: first,
                    data: data.to_vec(),
                });
            }
            buffer.truncate(segment);
        }
        Some(first)
    }

    fn take_held(&mut self, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let held = self.held.pop_front()?;
        buffer.extend_from_slice(&held.data);
        Some(held.outgoing)
    }

    fn permit(&mut self, now: Instant) -> Permission {
        match self.permission.take() {
            Some(permission) => permission,
            None => self
                .feedback
                .before_transmit(now, &mut self.proto.datagrams()),
        }
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        max: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<(Transmit, usize)> {
        // The kernel takes no more than one IP packet can hold.
        let max = if max == NonZeroUsize::MIN {
            max
        } else {
            max.min(NonZeroUsize::new(MAX_BATCH / self.mtu()).unwrap_or(NonZeroUsize::MIN))
        };
        // One path that is full must not hold up another.
        let controller = match &self.paths {
            Some(_) => None,
            None => self.proto.congestion_state(PathId::ZERO),
        };
        let packet = self.mtu() as u64;
        let bucket = controller.and_then(|it| Bucket::of(&it.metrics(), packet));
        let room = self.quantum.room(now, bucket);
        let max = room.map_or(max, |room| max.min(room));
        let transmit = self.poll_proto(now, max, buffer);
        let queue_empty = self.proto.datagrams().send_buffer_space() >= self.full_space;
        let size = transmit.as_ref().map(|(t, _)| t.size);
        if let (Some(bucket), Some(size)) = (bucket, size) {
            self.quantum.after_transmit(now, size as u64, bucket);
        }
        self.feedback.after_transmit(now, size, queue_empty);
        if let Some(size) = size {
            let begin = buffer.len().saturating_sub(size);
            self.feedback.log_datagram(now, &buffer[begin..]);
        }
        transmit
    }

    fn poll_proto(
        &mut self,
        now: Instant,
        max: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<(Transmit, usize)> {
        match &mut self.paths {
            Some(paths) => paths.poll_transmit(now, &mut self.proto, max, buffer),
            None => {
                let made = self.proto.poll_transmit(now, max, buffer)?;
                Some((made, 0))
            }
        }
    }

    /// Upper bound on the size of this connection's datagrams, bytes.
    fn mtu(&self) -> usize {
        usize::from(self.proto.current_mtu()).max(1)
    }
}
