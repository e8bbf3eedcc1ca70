//! The consumer of a ring buffer over ordinary files, with the kernel's half written down here as
//! `Documentation/bpf/ringbuf.rst` of the kernel has it.

use super::memory::{Memory, page_size};
use super::ring::Ring;
use nix::sys::memfd::{MFdFlags, memfd_create};
use proptest::prelude::*;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEADER: usize = 8;
const SIZE: usize = 1024;

/// The kernel's half of a ring.
struct Kernel {
    consumer: File,
    producer: File,
    position: usize,
}

impl Kernel {
    fn new() -> (Self, Ring) {
        let file = |length: usize| {
            let file = memfd_create("ring", MFdFlags::MFD_CLOEXEC).expect("memory");
            let file = File::from(file);
            file.set_len(length as u64).expect("its length");
            file
        };
        let page = page_size();
        let (consumer, producer) = (file(page), file(page + 2 * SIZE));
        let memory = |file: &File, length, writable| {
            Memory::new(file.as_fd(), 0, length, writable).expect("mapped")
        };
        let ring = Ring::of(
            consumer.try_clone().expect("a descriptor").into(),
            memory(&consumer, page, true),
            memory(&producer, page + 2 * SIZE, false),
            SIZE,
            page,
        );
        let kernel = Self {
            consumer,
            producer,
            position: 0,
        };
        (kernel, ring)
    }

    fn consumed(&self) -> usize {
        let mut position = [0; 8];
        let read = self.consumer.read_exact_at(&mut position, 0);
        read.expect("a position");
        usize::from_ne_bytes(position)
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        for (place, byte) in bytes.iter().enumerate() {
            // The data is there twice in a row.
            let at = page_size() + (at + place) % SIZE;
            for at in [at, at + SIZE] {
                let written = self.producer.write_all_at(&[*byte], at as u64);
                written.expect("written");
            }
        }
    }

    /// Reserves and fills a record. Returns where, unless the ring is full.
    fn put(&mut self, flags: u32, record: &[u8]) -> Option<usize> {
        let step = (record.len() + HEADER).next_multiple_of(8);
        if self.position + step - self.consumed() > SIZE {
            return None;
        }
        let at = self.position;
        self.write(at + HEADER, record);
        self.write(at, &(record.len() as u32 | flags).to_ne_bytes());
        self.position += step;
        let position = self.position.to_ne_bytes();
        let written = self.producer.write_all_at(&position, 0);
        written.expect("written");
        Some(at)
    }
}

/// All complete records.
fn consume(ring: &mut Ring) -> Vec<Vec<u8>> {
    let mut taken = Vec::new();
    let count = ring.consume(|record| taken.push(record.to_vec()));
    assert_eq!(count, taken.len());
    taken
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each record is taken once, whole and in order, wherever the ring's end is, and its room is
    /// free then.
    #[test]
    fn records_are_taken_as_they_were_written(
        records in prop::collection::vec((0usize..200, prop::bool::weighted(0.2), prop::bool::weighted(0.3)), 1..60),
    ) {
        let (mut kernel, mut ring) = Kernel::new();
        let (mut written, mut taken) = (Vec::new(), Vec::new());
        for (number, (length, discarded, look)) in records.into_iter().enumerate() {
            let record: Vec<u8> = (0..length).map(|at| (number + at) as u8).collect();
            let flags = if discarded { DISCARDED } else { 0 };
            if kernel.put(flags, &record).is_none() {
                taken.extend(consume(&mut ring));
                prop_assert_eq!(kernel.consumed(), kernel.position);
                prop_assert!(kernel.put(flags, &record).is_some());
            }
            if !discarded {
                written.push(record);
            }
            if look {
                taken.extend(consume(&mut ring));
            }
        }
        taken.extend(consume(&mut ring));
        prop_assert_eq!(taken, written);
    }
}

#[test]
fn a_record_that_is_not_complete_holds_up_those_behind_it() {
    let (mut kernel, mut ring) = Kernel::new();
    kernel.put(0, b"first").expect("room");
    let at = kernel.put(BUSY, b"second").expect("room");
    kernel.put(0, b"third").expect("room");
    assert_eq!(consume(&mut ring), [b"first".to_vec()]);
    assert_eq!(consume(&mut ring), [[0; 0]; 0]);
    kernel.write(at, &6u32.to_ne_bytes());
    assert_eq!(consume(&mut ring), [b"second".to_vec(), b"third".to_vec()]);
}

#[test]
fn records_that_keep_coming_do_not_keep_the_consumer() {
    let (mut kernel, mut ring) = Kernel::new();
    kernel.put(0, &[0; 8]).expect("room");
    let mut most = 10 * SIZE;
    let count = ring.consume(|_| {
        most -= 1;
        if most > 0 {
            kernel.put(0, &[0; 8]).expect("room");
        }
    });
    assert_eq!(count, SIZE / 16);
}
