//! The consumer of a ring buffer (`BPF_MAP_TYPE_RINGBUF`), as `Documentation/bpf/ringbuf.rst` of
//! the kernel states the layout.

use super::memory::{Memory, page_size};
use super::object::Map;
use super::sync::fence;
use crate::error::LinuxError;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// The record is not complete yet.
const BUSY: u32 = 1 << 31;
/// The program discarded the record.
const DISCARDED: u32 = 1 << 30;
/// Bytes in front of each record.
const HEADER: usize = 8;

/// A ring buffer that this process reads. A ring has one consumer.
#[derive(Debug)]
pub(crate) struct Ring {
    fd: OwnedFd,
    /// The consumer's position, which this process writes.
    consumer: Memory,
    /// The producer's position in the first page, then the data twice in a row, so that no record
    /// is broken at the end.
    producer: Memory,
    size: usize,
    data: usize,
    /// The consumer's position.
    position: usize,
}

impl Ring {
    pub(crate) fn new(map: &Map) -> Result<Self, LinuxError> {
        let doing = "mapping a BPF ring buffer into memory";
        let page = page_size();
        let size = map.max_entries();
        if !size.is_power_of_two() {
            return Err(LinuxError::Object(
                "a ring buffer's size is not a power of two".into(),
            ));
        }
        let fd = map
            .fd()
            .try_clone_to_owned()
            .map_err(LinuxError::os(doing))?;
        let consumer = Memory::new(map.fd(), 0, page, true).map_err(LinuxError::os(doing))?;
        let producer =
            Memory::new(map.fd(), page, page + 2 * size, false).map_err(LinuxError::os(doing))?;
        Ok(Self::of(fd, consumer, producer, size, page))
    }

    /// The ring in this memory: `size` bytes, from `data` on.
    pub(super) fn of(
        fd: OwnedFd,
        consumer: Memory,
        producer: Memory,
        size: usize,
        data: usize,
    ) -> Self {
        let position = consumer.position();
        let position = position.map_or(0, |position| position.load(Ordering::Relaxed));
        Self {
            fd,
            consumer,
            producer,
            size,
            data,
            position,
        }
    }

    /// Passes each complete record to `take`, oldest first, and returns their number. Takes no more
    /// than one ring's content, so that it ends even if records keep coming.
    pub(crate) fn consume(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let (Some(consumer), Some(producer)) = (self.consumer.position(), self.producer.position())
        else {
            return 0;
        };
        let mut records = 0;
        let mut bytes = 0;
        while bytes < self.size {
            let mut end = producer.load(Ordering::Acquire);
            if self.position == end {
                // The kernel wakes a consumer only if it has read everything before a record. If
                // the position written last were still on its way while the kernel looks, neither
                // side would see the other's write.
                fence(Ordering::SeqCst);
                end = producer.load(Ordering::Acquire);
                if self.position == end {
                    break;
                }
            }
            let at = self.data + (self.position & (self.size - 1));
            let Some(header) = self.producer.header(at) else {
                break;
            };
            let header = header.load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !DISCARDED) as usize;
            if length > self.size {
                break;
            }
            if header & DISCARDED == 0
                && let Some(record) = self.producer.at(at + HEADER)
            {
                // SAFETY: the record lies within the mapping, as `at` is in the first copy of the
                // data and the length is at most one copy's; the kernel does not change it until
                // the consumer's position has passed it.
                take(unsafe { std::slice::from_raw_parts(record, length) });
                records += 1;
            }
            let step = (length + HEADER).next_multiple_of(8);
            bytes += step;
            self.position = self.position.wrapping_add(step);
            consumer.store(self.position, Ordering::Release);
        }
        records
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
