//! Memory that kernel and process share under loom, which tries all orders in which they may run
//! and see each other's writes, up to a bound on how often they are interrupted.
//!
//! The modules are compiled a second time here, with memory of loom's atomics. The kernel's half is
//! written down here as `Documentation/bpf/ringbuf.rst` of the kernel and `bpf/whimbrel.bpf.c` have
//! it.

#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "compiled a second time, of which the tests use a part"
)]
#[path = "ring.rs"]
mod ring;
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "compiled a second time, of which the tests use a part"
)]
#[path = "shared.rs"]
mod shared;

use super::object;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU64, fence};
}

mod memory {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
    use std::io;
    use std::os::fd::BorrowedFd;

    pub(super) use super::super::memory::page_size;

    /// Bytes of a record with its header, and records in a ring.
    pub(super) const RECORD: usize = 16;
    pub(super) const RECORDS: usize = 2;
    /// Words of a control, or of a command and more.
    pub(super) const WORDS: usize = 10;

    /// What is in a piece of memory: a position and records, or words.
    #[derive(Debug, Default)]
    pub(super) struct Cells {
        pub position: AtomicUsize,
        pub headers: [AtomicU32; RECORDS],
        pub records: [UnsafeCell<[u8; 8]>; RECORDS],
        pub words: [AtomicU64; WORDS],
    }

    #[derive(Debug, Clone)]
    pub(super) struct Memory(pub Arc<Cells>);

    impl Memory {
        pub(super) fn new(_: BorrowedFd<'_>, _: usize, _: usize, _: bool) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn position(&self) -> Option<&AtomicUsize> {
            Some(&self.0.position)
        }

        pub(super) fn header(&self, offset: usize) -> Option<&AtomicU32> {
            self.0.headers.get(offset / RECORD)
        }

        pub(super) fn word(&self, offset: usize) -> Option<&AtomicU64> {
            self.0.words.get(offset / 8)
        }

        /// A record. loom fails if the kernel may be writing it.
        pub(super) fn at(&self, offset: usize) -> Option<*mut u8> {
            let record = self.0.records.get(offset / RECORD)?;
            Some(record.with(|record| record.cast_mut().cast()))
        }
    }
}

use crate::wire::{Command, Control};
use loom::sync::atomic::{AtomicU64, fence};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;
use memory::{Cells, Memory, RECORD, RECORDS, WORDS};
use ring::Ring;
use shared::{Commands, SharedControl};
use std::fs::File;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// How often a thread is interrupted where it need not wait.
const INTERRUPTIONS: usize = 2;
/// A record that the kernel has not completed, and the length of one.
const BUSY: u32 = 1 << 31;
const LENGTH: u32 = 8;

/// Tries all orders. A thread that waits for ever is an error.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(INTERRUPTIONS);
    builder.check(model);
}

/// What kernel and process share: the two pages of positions with the data, and the control.
#[derive(Clone)]
struct Both {
    consumer: Memory,
    producer: Memory,
    control: Memory,
    /// The lock of the kernel's half: bytes that are reserved.
    reserved: Arc<Mutex<usize>>,
    /// Those who wait for the ring.
    waiting: Arc<Notify>,
}

impl Both {
    fn new() -> Self {
        let memory = || Memory(Arc::new(Cells::default()));
        Self {
            consumer: memory(),
            producer: memory(),
            control: memory(),
            reserved: Arc::new(Mutex::new(0)),
            waiting: Arc::new(Notify::new()),
        }
    }

    fn sleeping(&self) -> &AtomicU64 {
        &self.control.0.words[offset_of!(Control, sleeping) / 8]
    }

    /// The kernel writes a record. `asleep`: it wakes a process that says that it sleeps, or else
    /// one that has read all before.
    fn report(&self, asleep: bool) {
        let at = {
            let mut reserved = self.reserved.lock().expect("no panic");
            let at = *reserved;
            let header = self.producer.header(at).expect("there is room");
            header.store(BUSY | LENGTH, Ordering::Relaxed);
            *reserved += RECORD;
            let position = &self.producer.0.position;
            position.store(*reserved, Ordering::Release);
            at
        };
        let record = &self.producer.0.records[at / RECORD];
        // SAFETY: no other thread writes this record, and loom fails if one reads it now.
        record.with_mut(|record| unsafe { *record = [1; 8] });
        // Events are counted by an atomic operation.
        fence(Ordering::SeqCst);
        let sleeps = asleep && self.sleeping().load(Ordering::Relaxed) != 0;
        if sleeps {
            self.sleeping().store(0, Ordering::Relaxed);
        }
        let header = &self.producer.0.headers[at / RECORD];
        header.swap(LENGTH, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let read = self.consumer.0.position.load(Ordering::Acquire);
        if sleeps || !asleep && read == at {
            self.waiting.notify();
        }
    }

    /// The process waits for the ring, as poll(2) does: not if there is something in it.
    fn wait(&self) {
        let end = self.producer.0.position.load(Ordering::Acquire);
        if end == self.consumer.0.position.load(Ordering::Acquire) {
            self.waiting.wait();
        } else {
            thread::yield_now();
        }
    }
}

fn all_records_arrive(asleep: bool) {
    check(move || {
        let both = Both::new();
        for _ in 0..RECORDS {
            let both = both.clone();
            thread::spawn(move || both.report(asleep));
        }
        let fd = File::open("/dev/null").expect("it is there").into();
        let (consumer, producer) = (both.consumer.clone(), both.producer.clone());
        let mut ring = Ring::of(fd, consumer, producer, RECORDS * RECORD, 0);
        let control = SharedControl::of(both.control.clone(), WORDS);
        let mut taken = 0;
        loop {
            taken += ring.consume(|record| assert_eq!(record, [1; 8]));
            if taken == RECORDS {
                return;
            }
            if asleep {
                control.set_sleeping(true);
            }
            both.wait();
            if asleep {
                control.set_sleeping(false);
            }
        }
    });
}

#[test]
fn no_event_is_lost_on_a_process_that_sleeps() {
    all_records_arrive(true);
}

#[test]
fn no_record_is_lost_on_a_process_that_has_read_all() {
    all_records_arrive(false);
}

/// A command whose words are all the same, but for the window, which names it.
fn command(number: u64) -> Command {
    Command {
        window: number,
        pacing: number,
        ssthresh: number,
        reduction: number,
        answers: number,
        ahead: number,
        ahead_pacing: [number; 2],
    }
}

#[test]
fn a_command_is_not_older_than_its_window_and_its_answer_not_torn() {
    check(|| {
        let memory = Memory(Arc::new(Cells::default()));
        let kernel = memory.clone();
        let commands = Commands::of(memory, WORDS);
        commands.write(0, &command(1));
        let writing = thread::spawn(move || commands.write(0, &command(2)));
        // The kernel reads in this order, on processors that keep it.
        let read = |offset: usize| kernel.0.words[offset / 8].load(Ordering::Acquire);
        let ahead = read(offset_of!(Command, ahead));
        let window = read(offset_of!(Command, window));
        let pacing = read(offset_of!(Command, pacing));
        let answers = read(offset_of!(Command, answers));
        let ahead_pacing = read(offset_of!(Command, ahead_pacing));
        let again = read(offset_of!(Command, ahead));
        assert!(pacing >= window && answers >= window);
        if ahead == again && ahead != 0 {
            assert_eq!((answers, ahead_pacing), (ahead, ahead));
        }
        writing.join().expect("no panic");
    });
}
