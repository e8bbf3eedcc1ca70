//! Measuring how many events a second are answered: a program of the kernel's half writes made-up
//! events, as a connection would that is never the limit.

use super::Agent;
use crate::bpf::object::Kind;
use crate::clock::monotonic;
use crate::error::LinuxError;
use crate::wire::{Event, Start, kind};
use whimbrel_units::Duration;

/// The generation of the made-up connection. Real ones are below 2^31.
const GENERATION: u32 = u32::MAX;
/// Events written by one call, so that the ring is never the limit.
const BATCH: u32 = 50_000;
/// The smallest packet that the kernel accepts for such a run.
const PACKET: [u8; 64] = [0; 64];

/// What a flood of events measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flood {
    /// Events written and answered.
    pub events: u64,
    /// The time from the first one to the last answer.
    pub elapsed: Duration,
    /// Events lost because the ring was full.
    pub dropped: u64,
}

impl Agent {
    /// Writes at least `events` made-up events of one connection and waits until all are answered.
    /// For measuring, without real connections: their first slot is used.
    ///
    /// # Errors
    /// If the kernel refuses to run the program.
    pub fn flood(&self, events: u64) -> Result<Flood, LinuxError> {
        let doing = "running the program that writes events";
        let program = self.datapath.object().program("whim_flood", Kind::Xdp)?;
        let before = self.dropped();
        let began = monotonic();
        self.shared.state().table.on_record(&start(began));
        let mut written = 0;
        while written < events {
            program
                .test_runs(&PACKET, BATCH)
                .map_err(LinuxError::os(doing))?;
            written += u64::from(BATCH);
            // The ring holds two batches.
            while self.answered() + u64::from(BATCH) < written && self.dropped() == before {
                std::thread::yield_now();
            }
        }
        let dropped = self.dropped() - before;
        while self.answered() < written - dropped {
            std::thread::yield_now();
        }
        Ok(Flood {
            events: written,
            elapsed: Duration::from_nanos(monotonic() - began),
            dropped,
        })
    }

    fn dropped(&self) -> u64 {
        self.datapath.control().read().dropped
    }

    /// Events answered, if all of them come from one flood.
    fn answered(&self) -> u64 {
        self.shared.state().latency.count()
    }
}

fn start(now: u64) -> Vec<u8> {
    let start = Start {
        event: Event {
            time: now,
            generation: GENERATION,
            kind: kind::START,
            mss: 1448,
            cwnd: 10,
            ..Event::default()
        },
        ..Start::default()
    };
    start.bytes().to_vec()
}
